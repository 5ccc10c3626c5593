//! Do expected values say what a walk finds?

use std::num::NonZeroU32;

use memscape_ndp::hardware::Interleave;
use memscape_ndp::scheduler::{Exchange, Missed, Strategy};
use memscape_ndp::study::System;
use memscape_ndp::{ActivityAnswer, ActivityStudy, InferenceAnswer, InferenceStudy};
use memscape_study::{CostEngine, Study};
use memscape_units::GbPerS;
use memscape_workload::{Llm, Model};
use serde_json::{Value, json};

use crate::common::{answer, changed};

fn number(it: u32) -> NonZeroU32 {
    NonZeroU32::new(it).unwrap()
}

fn both(study: &InferenceStudy) -> (InferenceAnswer, InferenceAnswer) {
    let with = |engine| InferenceStudy { engine, ..study.clone() }.answer().unwrap();
    (with(CostEngine::Closed), with(CostEngine::Events))
}

/// How far the closed form is from a walk at most.
const WITHIN: f64 = 0.08;

fn check(study: &InferenceStudy) {
    let (closed, walked) = both(study);
    let error = closed.headline.token_ns / walked.headline.token_ns - 1.0;
    let InferenceStudy { model, strategy, batch, .. } = study;
    let name = model.map(|it| it.to_string()).unwrap_or_default();
    assert!(error.abs() <= WITHIN, "{name} {strategy:?} batch {batch}: {error}");
}

/// Every strategy, with the drift of prompts, where the GPU holds a tenth.
#[test]
fn agreement_of_all_strategies_with_drift() {
    for strategy in [
        Strategy::Random,
        Strategy::Partition,
        Strategy::Token,
        Strategy::Layer,
        Strategy::Adjustment,
        Strategy::Full,
        Strategy::Oracle,
    ] {
        for batch in [1, 4] {
            let model = Some(Model::named("opt-2.7b").unwrap());
            let hot_share = Some(0.1.try_into().unwrap());
            let base = InferenceStudy::default();
            check(&InferenceStudy { model, strategy, batch: number(batch), hot_share, ..base });
        }
    }
}

/// Batches up to 16, missed neurons late, and neurons placed one by one.
#[test]
fn agreement_of_batches_and_options() {
    let base = InferenceStudy {
        model: Some(Model::named("llama-3.2-1b").unwrap()),
        hot_share: Some(0.08.try_into().unwrap()),
        ..InferenceStudy::default()
    };
    for batch in [1, 2, 8, 16] {
        check(&InferenceStudy { batch: number(batch), ..base.clone() });
        check(&InferenceStudy { batch: number(batch), strategy: Strategy::Partition, ..base.clone() });
    }
    check(&InferenceStudy { missed: Missed::Late, ..base.clone() });
    check(&InferenceStudy { placement_groups: None, strategy: Strategy::Adjustment, ..base.clone() });
    check(&InferenceStudy { exchange: Exchange::Unchecked, ..base.clone() });
    check(&InferenceStudy { system: System::HermesHost, strategy: Strategy::Partition, ..base });
}

/// DIMMs of few multipliers, each with a group or two of neighbours: what they multiply, and not what they read, makes
/// them uneven. What an exchange by state alone takes of neighbours of one score, word by word, expected values do not know.
#[test]
fn agreement_where_many_dimms_multiply_for_many() {
    for (strategy, dimms, multipliers, within) in [
        (Strategy::Partition, 64, 8, 0.08),
        (Strategy::Full, 64, 8, 0.08),
        (Strategy::Token, 64, 8, 0.13),
        (Strategy::Token, 32, 16, 0.1),
    ] {
        let mut base = InferenceStudy {
            model: Some(Model::named("opt-13b").unwrap()),
            hot_share: Some(0.34.try_into().unwrap()),
            strategy,
            dimms: number(dimms),
            batch: number(8),
            prompt_tokens: number(32),
            generated_tokens: number(32),
            ..InferenceStudy::default()
        };
        base.dimm.multipliers = number(multipliers);
        let (closed, walked) = both(&base);
        let error = closed.headline.token_ns / walked.headline.token_ns - 1.0;
        assert!(error.abs() <= within, "{strategy:?} of {dimms} DIMMs of {multipliers}: {error}");
    }
}

/// A GPU whose launches take longer than DIMMs take for all: how much it holds makes no difference, nor is it lighter
/// on the fullest DIMM.
#[test]
fn agreement_where_dimms_compute_all() {
    let of = |engine: &str, hot_share: f64, seed: u64| {
        answer(&[
            ("model", json!("opt-350m")),
            ("generated_tokens", json!(200)),
            ("engine", json!(engine)),
            ("hot_share", json!(hot_share)),
            ("seed", json!(seed)),
        ])
    };
    let none = of("closed", 0.0, 0);
    for hot_share in [0.02, 0.1, 1.0] {
        let closed = of("closed", hot_share, 0);
        assert!(closed.gpu_read_share <= 0.0, "{hot_share}: {}", closed.gpu_read_share);
        let ratio = closed.headline.token_ns / none.headline.token_ns;
        assert!((ratio - 1.0).abs() < 1e-4, "{hot_share}: {ratio}");
        let walks = [0, 1, 2].map(|seed| of("events", hot_share, seed).imbalance);
        let excess = (closed.imbalance - 1.0) / (walks.iter().sum::<f64>() / 3.0 - 1.0);
        assert!((excess - 1.0).abs() < 0.1, "{hot_share}: {excess}");
    }
}

/// A fast GPU that holds most neurons: the few that are left to the DIMMs decide.
#[test]
fn agreement_where_little_is_cold() {
    let mut base = InferenceStudy {
        model: Some(Model::named("llama-3.2-1b").unwrap()),
        hot_share: Some(0.69.try_into().unwrap()),
        dimms: number(2),
        prompt_tokens: number(64),
        generated_tokens: number(32),
        ..InferenceStudy::default()
    };
    base.gpu.bandwidth_gb_s = GbPerS::new(3350.0).unwrap();
    for batch in [6, 10, 16] {
        check(&InferenceStudy { batch: number(batch), ..base.clone() });
    }
}

/// DIMMs that compute most of what a slow GPU holds: of all that is active each has a share of its own.
#[test]
fn agreement_where_dimms_compute_what_the_gpu_holds() {
    let mut base = InferenceStudy {
        model: Some(Model::named("opt-350m").unwrap()),
        hot_share: Some(0.7.try_into().unwrap()),
        prompt_tokens: number(32),
        generated_tokens: number(32),
        ..InferenceStudy::default()
    };
    base.gpu.bandwidth_gb_s = GbPerS::new(200.0).unwrap();
    for (strategy, dimms) in [(Strategy::Partition, 16), (Strategy::Token, 32), (Strategy::Full, 64)] {
        let (closed, walked) = both(&InferenceStudy { strategy, dimms: number(dimms), ..base.clone() });
        let error = closed.headline.token_ns / walked.headline.token_ns - 1.0;
        assert!(error.abs() <= 0.025, "{strategy:?} on {dimms}: {error}");
    }
}

/// OPT-13B nearly fits the GPU: the printed exchange makes it the slower side, and the
/// partition alone is faster.
#[test]
fn an_exchange_until_level_gains_where_the_printed_one_loses() {
    let rate = |strategy, exchange| {
        let model = Some(Model::named("opt-13b").unwrap());
        let study = InferenceStudy { model, strategy, exchange, ..InferenceStudy::default() };
        study.answer().unwrap().headline.tokens_per_s
    };
    let partition = rate(Strategy::Partition, Exchange::Unchecked);
    let printed = rate(Strategy::Adjustment, Exchange::Unchecked);
    let level = rate(Strategy::Adjustment, Exchange::UntilLevel);
    assert!(level >= printed.max(partition), "{printed} {partition} {level}");
    let offline = rate(Strategy::Partition, Exchange::UntilLevel);
    // What is exchanged is interpolated between shares of the GPU, what is not is exact.
    assert!(level >= offline * (1.0 - 1e-4) && offline >= rate(Strategy::Random, Exchange::UntilLevel));
}

#[test]
fn agreement_of_statistics() {
    let base = ActivityStudy {
        model: Some(Model::named("llama-2-13b").unwrap()),
        layers: Some(number(12)),
        ..ActivityStudy::default()
    };
    for distance in [1, 10, 25] {
        let with =
            |engine| ActivityStudy { engine, distance: number(distance), ..base.clone() }.answer().unwrap();
        let (closed, measured) = (with(CostEngine::Closed), with(CostEngine::Events));
        // One prompt's drift over twelve layers that share features is one draw of
        // a few thousand features: 3 % of the shares.
        for (name, closed, measured) in [
            ("density", closed.density, measured.density),
            ("overlap", closed.overlap, measured.overlap),
            ("top share", closed.top_share, measured.top_share),
            ("children", closed.child_given_parents.unwrap(), measured.child_given_parents.unwrap()),
            ("varied", closed.hot_varied, measured.hot_varied),
        ] {
            assert!((closed / measured - 1.0).abs() <= 0.06, "{name} at {distance}: {closed} {measured}");
        }
    }
}

/// Where few neurons are active, those that are so in most prompts are rare; and parents of few clusters are often of
/// one.
#[test]
fn agreement_of_statistics_at_the_edges() {
    let of = |density: f64, clusters: u32, engine: CostEngine, seed: u64| {
        let mut base = ActivityStudy {
            model: Some(Model::named("opt-1.3b").unwrap()),
            density: Some(density.try_into().unwrap()),
            engine,
            seed,
            ..ActivityStudy::default()
        };
        base.activity.clusters = number(clusters);
        base.answer().unwrap()
    };
    let mean = |density: f64, clusters: u32, pick: fn(&ActivityAnswer) -> f64| {
        (0..6).map(|seed| pick(&of(density, clusters, CostEngine::Events, seed))).sum::<f64>() / 6.0
    };
    for density in [0.01, 0.001, 0.99] {
        let closed = of(density, 64, CostEngine::Closed, 0).overlap;
        let measured = mean(density, 64, |it| it.overlap);
        assert!((closed / measured - 1.0).abs() < 0.04, "{density}: {closed} {measured}");
    }
    for clusters in [2, 8] {
        let children = |it: &ActivityAnswer| it.child_given_parents.unwrap();
        let closed = children(&of(0.1, clusters, CostEngine::Closed, 0));
        let measured = mean(0.1, clusters, children);
        assert!((closed / measured - 1.0).abs() < 0.08, "{clusters}: {closed} {measured}");
    }
    // The first layer has no parents, whoever asks; and a window of one token is a token.
    for engine in [CostEngine::Closed, CostEngine::Events] {
        let layers = Some(NonZeroU32::MIN);
        let one = ActivityStudy { engine, layers, window: NonZeroU32::MIN, ..ActivityStudy::default() };
        let one = one.answer().unwrap();
        assert_eq!((one.child_given_parents, one.window_imbalance), (None, one.token_imbalance));
    }
    // Nothing is foreseen where all neurons are alike, all where prompts change nothing.
    let mut alike = ActivityStudy::default();
    alike.activity.spread = 0.0;
    assert!((alike.answer().unwrap().hot_varied - 0.8).abs() < 1e-3);
    let mut fixed = ActivityStudy::default();
    fixed.activity.prompt_drift = 0.0.try_into().unwrap();
    fixed.activity.cluster_drift = fixed.activity.prompt_drift;
    let fixed = fixed.answer().unwrap();
    assert!(fixed.hot_varied.abs() < 1e-9 && fixed.child_given_parents.unwrap() > 0.99, "{fixed:?}");
}

/// Shards of a few active neurons have none of them, or several.
#[test]
fn agreement_of_nearly_empty_shards() {
    for (model, shards, density) in
        [("opt-125m", 1024, None), ("opt-125m", 8, Some(0.01)), ("llama-2-70b", 8, Some(0.01))]
    {
        let of = |engine, seed| {
            let study = ActivityStudy {
                model: Some(Model::named(model).unwrap()),
                shards: number(shards),
                density: density.map(|it: f64| it.try_into().unwrap()),
                layers: Some(number(8)),
                engine,
                seed,
                ..ActivityStudy::default()
            };
            study.answer().unwrap().token_imbalance
        };
        let mean = |engine| (0..4).map(|seed| of(engine, seed)).sum::<f64>() / 4.0;
        let (closed, measured) = (mean(CostEngine::Closed), mean(CostEngine::Events));
        assert!((closed / measured - 1.0).abs() < 0.15, "{model} {shards}: {closed} {measured}");
    }
}

/// Shards differ by the clusters that a prompt favours, by how active their neurons are, and by noise.
#[test]
fn agreement_of_uneven_shards() {
    for (shards, drift) in [(8, true), (64, true), (16, false)] {
        let mut base = ActivityStudy {
            model: Some(Model::named("llama-2-13b").unwrap()),
            shards: number(shards),
            generated_tokens: number(32),
            ..ActivityStudy::default()
        };
        if !drift {
            base.activity.cluster_drift = 0.0.try_into().unwrap();
        }
        let of = |engine, seed| ActivityStudy { engine, seed, ..base.clone() }.answer().unwrap();
        let [closed, measured] =
            [CostEngine::Closed, CostEngine::Events].map(|engine| [0, 1, 2].map(|seed| of(engine, seed)));
        // Clusters are three draws of 40 layers, of which the least and the most even are one each.
        let all: [(&str, fn(&ActivityAnswer) -> f64, f64); 4] = [
            ("token", |it| it.token_imbalance, 0.1),
            ("window", |it| it.window_imbalance, 0.1),
            ("least", |it| it.least_imbalance, 0.15),
            ("most", |it| it.most_imbalance, 0.25),
        ];
        for (name, pick, within) in all {
            let [closed, measured] = [&closed, &measured].map(|it| it.iter().map(pick).sum::<f64>());
            assert!((closed / measured - 1.0).abs() <= within, "{name} of {shards}: {closed} {measured}");
        }
    }
}

/// A walk does not depend on the number of threads.
#[test]
fn the_same_seed_gives_the_same_walk_on_any_number_of_threads() {
    let study = InferenceStudy {
        engine: CostEngine::Events,
        generated_tokens: number(16),
        model: Some(Model::named("opt-1.3b").unwrap()),
        ..InferenceStudy::default()
    };
    let on = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| study.answer().unwrap())
    };
    let one = on(1);
    assert_eq!(one, on(3));
    let other = InferenceStudy { seed: 1, ..study.clone() }.answer().unwrap();
    assert_ne!(one, other);
}

/// The bandwidth of a rank is the DRAM engine's, for both interleavings.
#[test]
fn agreement_of_a_rank_with_the_dram_engine() {
    use memscape_dram::{Engine as DramEngine, Kind, constraints, stream};
    let mut dimm = InferenceStudy::default().dimm;
    for (interleave, expected) in [(Interleave::RowByRow, 51.2), (Interleave::BankGroups, 102.4)] {
        dimm.interleave = interleave;
        let mut engine = DramEngine::new(dimm.memory.geometry(), &constraints(&dimm.memory)).unwrap();
        let reads = interleave.pattern().addresses(&dimm.memory).take(40_000).map(|it| Kind::Rd.at(it));
        let served = stream::serve(&mut engine, reads, 64, stream::Policy::InOrder, &mut ()).unwrap();
        let walked = served.bandwidth_gb_s(&dimm.memory).unwrap().as_f64() * f64::from(dimm.ranks.get());
        // The first access of a row, in another bank group, need not wait for tCCD_L. The engine was not asked for
        // refreshes: 350 of each 7800 ns.
        let between_refreshes = dimm.bandwidth_gb_s() / (1.0 - 350.0 / 7800.0);
        assert!((between_refreshes / expected - 1.0).abs() < 5e-3);
        // The first rows are opened with nothing to hide behind.
        assert!((walked / expected - 1.0).abs() < 0.01, "{interleave:?}: {walked}");
    }
}

#[test]
fn more_of_anything_is_never_slower_without_sparsity() {
    let base = InferenceStudy { system: System::HermesBase, ..InferenceStudy::default() };
    let rate = |it: &InferenceStudy| it.answer().unwrap().headline.tokens_per_s;
    let mut more = base.clone();
    more.dimms = number(16);
    assert!(rate(&more) > rate(&base));
    let mut more = base.clone();
    more.gpu.memory_gb = 48.0.try_into().unwrap();
    assert!(rate(&more) > rate(&base));
}

/// As printed, with batches that the DIMMs multiply longer than they read: what is placed is what the closed
/// form takes to be.
#[test]
fn agreement_as_printed_where_multiplying_binds() {
    let base = InferenceStudy {
        exchange: Exchange::Unchecked,
        prompt_tokens: number(32),
        generated_tokens: number(16),
        ..InferenceStudy::default()
    };
    let model = |it: &str| Some(Model::named(it).unwrap());
    for batch in [32, 64] {
        let (model, system) = (model("opt-350m"), System::HermesHost);
        check(&InferenceStudy { model, system, batch: number(batch), ..base.clone() });
    }
    let placed_for_multipliers = NonZeroU32::new(32);
    check(&InferenceStudy { model: model("gemma-3-1b"), batch: number(16), placed_for_multipliers, ..base });
}

/// What bounds the others is no slower than they are, however large the batch, and walks of it say the same.
#[test]
fn functional_the_oracle_of_a_batch_takes_what_is_multiplied_most() {
    let base =
        InferenceStudy { model: Some(Model::named("llama-2-13b").unwrap()), ..InferenceStudy::default() };
    for batch in [16, 64] {
        let step = |strategy| {
            let study = InferenceStudy { strategy, batch: number(batch), ..base.clone() };
            study.answer().unwrap().headline.token_ns
        };
        let oracle = step(Strategy::Oracle);
        for strategy in [Strategy::Full, Strategy::Partition, Strategy::Token] {
            assert!(oracle <= step(strategy), "batch {batch}: {oracle} {strategy:?} {}", step(strategy));
        }
    }
    let (model, hot_share) = (Some(Model::named("opt-350m").unwrap()), Some(0.1.try_into().unwrap()));
    let [prompt_tokens, generated_tokens] = [32, 16].map(number);
    let small = InferenceStudy { model, hot_share, prompt_tokens, generated_tokens, ..base };
    for batch in [16, 32] {
        check(&InferenceStudy { strategy: Strategy::Oracle, batch: number(batch), ..small.clone() });
    }
}

/// Blocks differ in how many neurons are active, and DIMMs with few groups in what is: what has no room on a
/// GPU, and the fullest DIMM, are matters of more than the mean and its deviation.
#[test]
fn agreement_where_loads_are_skewed() {
    let oracle =
        [("system", json!("hermes-host")), ("strategy", json!("oracle")), ("generated_tokens", json!(16))];
    let lumps = [
        ("generated_tokens", json!(16)),
        ("gpu.memory_gb", json!(4)),
        ("dimm.multipliers", json!(8)),
        ("strategy", json!("partition")),
    ];
    let cases: [(&[(&str, Value)], &[(&str, Value)]); 4] = [
        (&oracle, &[("model", json!("opt-13b")), ("hot_share", json!(0.11))]),
        (
            &oracle,
            &[
                ("model", json!("qwen2.5-0.5b")),
                ("density", json!(0.3)),
                ("gpu.memory_gb", json!(0.6)),
                ("gpu.bandwidth_gb_s", json!(2000)),
            ],
        ),
        (&lumps, &[("model", json!("llama-2-7b")), ("batch", json!(2)), ("dimms", json!(64))]),
        (&lumps, &[("model", json!("llama-3.2-1b")), ("dimms", json!(32))]),
    ];
    for (base, own) in cases {
        let of = |engine: &str, seed: u64| {
            let more = [("engine", json!(engine)), ("seed", json!(seed))];
            answer(&[base, own, &more].concat()).headline.token_ns
        };
        let walks = (of("events", 0) + of("events", 1) + of("events", 2)) / 3.0;
        let ratio = of("closed", 0) / walks;
        assert!((ratio - 1.0).abs() < 0.1, "{ratio}: {own:?}");
    }
}

/// By expected values as much is predicted right as on a walk, and as much is read and multiplied on either
/// side; moves are as many within a factor of three. An oracle knows what will be active.
#[test]
fn agreement_of_predictions() {
    let of = |strategy, batch| {
        both(&InferenceStudy {
            model: Some(Model::named("llama-3.2-1b").unwrap()),
            strategy,
            batch: number(batch),
            hot_share: Some(0.2.try_into().unwrap()),
            ..InferenceStudy::default()
        })
    };
    for batch in [1, 4] {
        let (closed, walked) = of(Strategy::Full, batch);
        let shares = |it: &InferenceAnswer| {
            let right = [it.prediction_accuracy, it.prediction_recall].map(Option::unwrap);
            [right[0], right[1], 1.0 - it.missed_share, it.cold_compute_share, it.gpu_read_share]
        };
        for (closed, walked) in shares(&closed).into_iter().zip(shares(&walked)) {
            assert!((0.1..0.99).contains(&closed) && (closed - walked).abs() < 0.01, "{closed} {walked}");
        }
        let moves = closed.moves_per_token / walked.moves_per_token;
        assert!((1.0 / 3.0..3.0).contains(&moves), "{batch}: {moves}");
    }
    let (closed, walked) = of(Strategy::Oracle, 1);
    for it in [closed, walked] {
        let told = (it.prediction_accuracy, it.prediction_recall, it.missed_share);
        assert_eq!(told, (Some(1.0), Some(1.0), 0.0));
    }
}

/// Nothing is fetched to a GPU that computes nothing of it.
#[test]
fn agreement_on_fetching_to_no_avail() {
    let own = [("model", json!("opt-1.3b")), ("format", json!("q4_0")), ("gpu.memory_gb", json!(0.5))];
    let (closed, walked) = both(&changed(&own));
    for it in [closed, walked] {
        assert!(it.gpu_read_share < 1e-4 && it.swaps_per_token <= 0.0, "{it:?}");
    }
    let some = [own[0].clone(), ("system", json!("hermes-host")), ("gpu.memory_gb", json!(1.0))];
    let (closed, walked) = both(&changed(&some));
    let told = [closed, walked].map(|it| (it.swaps_per_token, it.gpu_read_share, it.headline.token_ns));
    assert!(told.iter().all(|it| it.0 > 0.0), "{told:?}");
}

/// Neurons whose parents are active all through a prompt stay on the GPU: as many come and go as on a walk.
#[test]
fn agreement_on_what_is_fetched() {
    for (batch, hot_share) in [(1, 0.2), (2, 0.2), (4, 0.3)] {
        let own = [
            ("model", json!("opt-1.3b")),
            ("system", json!("hermes-host")),
            ("host.bandwidth_gb_s", json!(400)),
            ("gpu.pcie_gb_s", json!(200)),
            ("batch", json!(batch)),
            ("hot_share", json!(hot_share)),
            ("generated_tokens", json!(64)),
        ];
        let (closed, walked) = both(&changed(&own));
        let ratio = closed.swaps_per_token / walked.swaps_per_token;
        assert!(walked.swaps_per_token > 500.0 && (0.85..1.2).contains(&ratio), "{batch}: {ratio}");
    }
}

/// A token waits for the neurons that it fetches, not for as many as one may.
#[test]
fn agreement_on_waiting_for_what_is_fetched() {
    let own = [
        ("model", json!("opt-2.7b")),
        ("system", json!("hermes-host")),
        ("gpu.bandwidth_gb_s", json!(2000)),
        ("hot_share", json!(0.2)),
    ];
    let of = |gb_s: f64| both(&changed(&[&own[..], &[("gpu.pcie_gb_s", json!(gb_s))]].concat()));
    let (closed, walked) = of(4.0);
    let waited = |it: &InferenceAnswer| it.communication_ns / it.headline.token_ns;
    assert!(waited(&walked) > 0.1, "{}", waited(&walked));
    for part in [|it: &InferenceAnswer| it.communication_ns, |it: &InferenceAnswer| it.headline.token_ns] {
        let ratio = part(&closed) / part(&walked);
        assert!((0.9..1.1).contains(&ratio), "{ratio}");
    }
}

/// A pair that is within 5 % of level is left alone by expected values as on a walk, and nothing moves where nothing is
/// uneven.
#[test]
fn agreement_of_when_a_pair_stops() {
    let of = |stop: &str, threshold: u8| {
        let own = [
            ("model", json!("opt-1.3b")),
            ("remap.stop", json!(stop)),
            ("predictor.threshold", json!(threshold)),
        ];
        both(&changed(&own))
    };
    let moves = ["five-percent", "level"].map(|stop| {
        let (closed, walked) = of(stop, 15);
        let ratio = closed.moves_per_token / walked.moves_per_token;
        assert!((0.75..1.35).contains(&ratio), "{stop}: {ratio}");
        closed.moves_per_token
    });
    assert!(moves[0] < 0.8 * moves[1], "{moves:?}");
    let (closed, walked) = of("five-percent", 0);
    assert_eq!([closed.moves_per_token, walked.moves_per_token], [0.0; 2]);
}

/// Where DIMMs compute what the GPU holds, a window levels that as well: as many neurons move as on a walk, or
/// none if links are too slow for it. A GPU that holds all fetches none.
#[test]
fn agreement_where_the_gpu_holds_what_dimms_compute() {
    let base = InferenceStudy {
        model: Some(Model::named("llama-3.2-1b").unwrap()),
        prompt_tokens: number(64),
        ..InferenceStudy::default()
    };
    for (hot_share, tokens) in [(0.5, 6), (1.0, 6), (0.5, 20), (1.0, 20)] {
        let own = InferenceStudy {
            hot_share: Some(hot_share.try_into().unwrap()),
            generated_tokens: number(tokens),
            ..base.clone()
        };
        let (closed, walked) = both(&own);
        let moves = closed.moves_per_token / walked.moves_per_token;
        assert!(walked.moves_per_token > 100.0 && (0.6..1.6).contains(&moves), "{tokens}: {moves}");
        for it in [closed, walked] {
            assert_eq!(it.swaps_per_token > 0.0, it.hot_share_used < 1.0, "{tokens}");
        }
        for link_gb_s in [2.0, 4.0] {
            let (closed, walked) =
                both(&InferenceStudy { link_gb_s: GbPerS::new(link_gb_s).unwrap(), ..own.clone() });
            let ratio = closed.headline.token_ns / walked.headline.token_ns;
            assert!((ratio - 1.0).abs() < 0.05, "{tokens} tokens over {link_gb_s} GB/s: {ratio}");
        }
    }
}

/// Right after the prompt a model of one or two layers predicts little: only what is active all through the prompt,
/// since the first layer has no parents.
#[test]
fn agreement_of_few_layers() {
    for (layers, batch) in [(1, 3), (1, 8), (2, 3)] {
        let llm = Llm { layers, ..*Model::named("opt-1.3b").unwrap() };
        let study = InferenceStudy {
            model: Some(Model::of(llm).unwrap()),
            system: System::HermesHost,
            strategy: Strategy::Partition,
            batch: number(batch),
            hot_share: Some(0.25.try_into().unwrap()),
            generated_tokens: number(1),
            ..InferenceStudy::default()
        };
        let closed = study.answer().unwrap();
        let walks = [0, 1, 2].map(|seed| {
            InferenceStudy { engine: CostEngine::Events, seed, ..study.clone() }.answer().unwrap()
        });
        let mean = |of: &dyn Fn(&InferenceAnswer) -> f64| walks.iter().map(of).sum::<f64>() / 3.0;
        let ratio = closed.headline.token_ns / mean(&|it| it.headline.token_ns);
        assert!((ratio - 1.0).abs() < 0.05, "{layers}, {batch}: {ratio}");
        let recall = closed.prediction_recall.unwrap() - mean(&|it| it.prediction_recall.unwrap());
        assert!(recall.abs() < 0.02, "{layers}, {batch}: {recall}");
    }
}

/// What is active just outgrows the GPU, beside a host that is much slower: blocks of more than the mean leave to it
/// what those of less do not make up for, and what few prompts favour decides. Tokens wait for what they fetch, of which
/// expected values have up to a fifth too much.
#[test]
fn agreement_where_the_active_just_outgrow_the_gpu() {
    let base =
        [("system", json!("hermes-host")), ("prompt_tokens", json!(64)), ("generated_tokens", json!(32))];
    for (model, batch, hot_share) in
        [("qwen2.5-3b", 2, 0.3), ("llama-2-13b", 2, 0.3), ("opt-1.3b", 4, 0.3), ("opt-1.3b", 13, 0.5)]
    {
        let own = [("model", json!(model)), ("batch", json!(batch)), ("hot_share", json!(hot_share))];
        let of = |engine: &str, seed: u64| {
            let more = [("engine", json!(engine)), ("seed", json!(seed))];
            answer(&[&base, &own, &more[..]].concat()).headline.token_ns
        };
        let walks = [0, 1, 2].map(|seed| of("events", seed)).iter().sum::<f64>() / 3.0;
        let ratio = of("closed", 0) / walks;
        assert!((ratio - 1.0).abs() < 0.1, "{ratio}: {own:?}");
    }
}
