//! Does bad input say what was asked, what there is, and what to change?

use std::num::NonZeroU32;

use memscape_ndp::scheduler::Strategy;
use memscape_ndp::study::System;
use memscape_ndp::{ActivityStudy, InferenceAnswer, InferenceStudy, PartitionStudy, PredictorStudy};
use memscape_study::{CostEngine, More, Study};
use memscape_workload::{Experts, Llm, Model};
use serde_json::{Value, json};

use crate::common::{answer, changed};

/// The message of a study with parameters changed.
fn message(changes: &[(&str, Value)]) -> String {
    let mut tree = serde_json::to_value(InferenceStudy::default()).unwrap();
    for (path, value) in changes {
        let mut place = &mut tree;
        for key in path.split('.') {
            place = &mut place[key];
        }
        *place = value.clone();
    }
    match serde_json::from_value::<InferenceStudy>(tree) {
        Err(error) => error.to_string(),
        Ok(study) => {
            study.answer().map_or_else(|it| it.to_string(), |it| it.headline.tokens_per_s.to_string())
        }
    }
}

fn check(changes: &[(&str, Value)], expected: &str) {
    let found = message(changes);
    assert!(found.contains(expected), "{found}");
}

#[test]
fn a_model_that_does_not_fit_says_by_how_much() {
    check(
        &[("dimms", json!(4))],
        "weights and key-value cache take 138.0 GB, but 4 DIMMs of 34.4 GB hold 137.4 GB: 0.6 GB short; 5 DIMMs would do",
    );
    check(
        &[("gpu.memory_gb", json!(8))],
        "output projections and LM head take 11.26 GB, but the GPU can hold",
    );
    check(&[("system", json!("tensorrt-llm"))], "GPUs would do");
}

/// No study has the banks for a parameter.
#[test]
fn more_bank_groups_than_banks_are_refused() {
    let groups = |it: u32| message(&[("dimm.memory.bank_groups", json!(it))]);
    assert_eq!(
        groups(32),
        "`dimm.memory.bank_groups` is 32, but a rank of `dimm.memory` has 8 banks; give 8 groups at most, or another \
         `dimm.memory`"
    );
    assert!(groups(8).parse::<f64>().is_ok(), "{}", groups(8));
    let partition: PartitionStudy = changed(&[("dimm.memory.bank_groups", json!(32))]);
    assert!(partition.answer().unwrap_err().to_string().contains("give 8 groups at most"));
}

#[test]
fn numbers_out_of_range_are_refused() {
    check(&[("dimms", json!(0))], "expected a nonzero u32");
    check(&[("predictor.threshold", json!(-1))], "expected u32");
    check(&[("predictor.lambda", json!(16))], "16 does not fit the 4-bit states; it must be from 0 to 15");
    check(
        &[("activity.native_density", json!(1.5))],
        "1.5 is no share of active neurons; it must be above 0 and below 1",
    );
    check(&[("density", json!(0.0))], "0 is no share of active neurons; it must be above 0 and below 1");
    check(&[("gpu.memory_gb", json!(-1.0))], "-1 GB is not a capacity; it must be finite and at least 0");
    check(
        &[("activity.prompt_drift", json!(0.7)), ("activity.cluster_drift", json!(0.3))],
        "`activity.prompt_drift` 0.7 and `activity.cluster_drift` 0.3 are shares of one variance; their sum must stay \
         below 1: lower one of them",
    );
    check(&[("gpu.board_w", json!(0))], "0 W is no rated power; it must be above 0 and at most 1e9");
    check(&[("remap.window", json!(5000))], "5000 is no window; it must be from 1 to 4095 tokens");
    check(
        &[("overhead.gpu_bandwidth_efficiency", json!(0.0))],
        "0 is no efficiency; it must be above 0 and at most 1",
    );
    check(&[("overhead.sync_us", json!(1e15))], "days; parameters so far off say nothing");
    check(&[("gpus", json!(2))], "`gpus` is 2; only `system` tensorrt-llm uses more than one");
    check(&[("dimm.clock_ghz", json!(0.0))], "0 GHz is not a frequency; it must be finite and above 0");
}

#[test]
fn a_trace_must_be_that_of_the_model() {
    check(
        &[("trace", json!("relu-6m")), ("engine", json!("events"))],
        "`trace` relu-6m has 8 layers of 256 QKV inputs and 1024 feed-forward neurons, but llama-2-70b has 80 of 8192 \
         and 28672; set `model` to null to take the trace's own",
    );
    let own = [("trace", json!("relu-6m")), ("model", Value::Null)];
    check(&own, "`engine` closed knows the activity law only");
    let with =
        |more: (&'static str, Value)| [own[0].clone(), own[1].clone(), ("engine", json!("events")), more];
    check(
        &with(("batch", json!(5))),
        "`relu-6m` has 4 sequences, but 5 are asked for; lower `batch` or record more",
    );
    check(
        &with(("generated_tokens", json!(500))),
        "`relu-6m` has 128 generated tokens, but 500 are asked for",
    );
    check(
        &[("trace", json!("mine"))],
        "there is no recording `mine`; there are `relu-6m`; or give an .npz file, or a folder of them, in which \
         `profile.npz` is the profile",
    );
    check(&[("model", Value::Null)], "`model` is null, but there is no `trace` to take it from");
}

#[test]
fn a_mixture_of_experts_is_refused() {
    let llama = *memscape_workload::Model::named("llama-2-7b").unwrap();
    let mixtral = Llm { experts: Some(Experts { count: 8, active: 2 }), ..llama };
    let model = serde_json::to_value(mixtral).unwrap();
    check(
        &[("model", model)],
        "a model of 32 layers, 4096 wide is a mixture of 8 experts, but these systems are modelled for one \
         feed-forward network per layer; give a model without experts",
    );
}

#[test]
fn fewer_groups_than_dimms_are_not_expected_values() {
    check(
        &[("placement_groups", 4.into())],
        "`engine` closed takes every DIMM to have its share, but 4 groups over 8 DIMMs leave some with none; raise \
         `placement_groups` to 8 at least, or use `engine` events",
    );
}

#[test]
fn baselines_say_which_models_they_support() {
    check(
        &[("system", json!("flexgen"))],
        "FlexGen supports models with ReLU of their own (OPT) only; give such a `model`, for example \"opt-66b\", or \
         another `system`",
    );
    check(&[("system", json!("deja-vu"))], "Deja Vu supports models with ReLU of their own (OPT) only");
}

/// What does not fit is refused by all studies alike, however few layers are walked.
#[test]
fn a_predictor_of_a_model_that_does_not_fit_says_by_how_much() {
    let study = |model: &str, dimms, batch| PredictorStudy {
        model: Some(Model::named(model).unwrap()),
        dimms: NonZeroU32::new(dimms).unwrap(),
        batch: NonZeroU32::new(batch).unwrap(),
        layers: Some(NonZeroU32::MIN),
        ..PredictorStudy::default()
    };
    let message = |it: PredictorStudy| it.answer().unwrap_err().to_string();
    let found = message(study("llama-2-70b", 4, 1));
    assert!(found.contains("0.6 GB short; 5 DIMMs would do"), "{found}");
    // The cache of all layers, of which one is walked.
    let found = message(study("opt-66b", 5, 96));
    assert!(found.contains("weights and key-value cache take"), "{found}");
}

/// What is advised runs, and a tenth of a gigabyte less does not.
#[test]
fn advised_memory_of_a_gpu_suffices() {
    let given = |memory: f64, usable: f64| {
        message(&[("gpu.memory_gb", json!(memory)), ("overhead.gpu_usable", json!(usable))])
    };
    let usable = InferenceStudy::default().overhead.gpu_usable.as_f64();
    let found = given(11.3, usable);
    let advised = "1.63 GB short; give `gpu.memory_gb` = 13.3 at least, or `overhead.gpu_usable` = 0.997";
    assert!(found.ends_with(advised), "{found}");
    assert!(given(11.3, 0.997).parse::<f64>().is_ok());
    assert!(given(13.3, usable).parse::<f64>().is_ok());
    assert!(
        given(13.2, usable)
            .ends_with("give `gpu.memory_gb` = 13.3 at least, or `overhead.gpu_usable` = 0.854")
    );
    for tenths in 1..10 {
        let usable = f64::from(tenths) / 10.0;
        let found = given(1.0, usable);
        let enough = found.split("= ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
        assert!(given(enough, usable).parse::<f64>().is_ok(), "{usable}: {enough}");
    }
    // No share of so little memory does.
    assert!(given(11.2, usable).ends_with("give `gpu.memory_gb` = 13.3 at least"));
    // No memory helps.
    let found = given(24.0, 0.0);
    assert!(found.ends_with("11.26 GB short; raise `overhead.gpu_usable`"), "{found}");
}

/// Neurons and devices are counted before the neurons are made.
#[test]
fn more_neurons_and_devices_than_are_solved_are_refused_at_once() {
    let refused =
        |changes: &[(&str, Value)]| changed::<PartitionStudy>(changes).answer().unwrap_err().to_string();
    let found = refused(&[("dimms", json!(1024))]);
    assert_eq!(
        found,
        "2949120 neurons of `model` on 1025 devices are too many; their product may be at most 2000000000; give `dimms` \
         = 677 at most, or a `model` of fewer neurons"
    );
    let fewest = refused(&[("dimms", json!(678))]);
    assert!(fewest.contains("on 679 devices are too many"), "{fewest}");

    let llama = *Model::named("llama-2-70b").unwrap();
    let narrow = Llm { hidden_size: 1, ffn_size: 16_777_216, kv_heads: 1, ..llama };
    let started = std::time::Instant::now();
    let model = serde_json::to_value(narrow).unwrap();
    let found = refused(&[("model", model)]);
    assert!(found.ends_with("give a `model` of fewer neurons"), "{found}");
    assert!(started.elapsed().as_secs() < 5, "{:?}", started.elapsed());
}

/// More tokens do, for all that looks at several of them.
#[test]
fn too_few_tokens_for_statistics_say_how_many_do() {
    let base = ActivityStudy { model: Some(Model::named("opt-1.3b").unwrap()), ..ActivityStudy::default() };
    let number = |it: u32| NonZeroU32::new(it).unwrap();
    let few = ActivityStudy { generated_tokens: number(3), ..base.clone() };
    assert_eq!(
        few.answer().unwrap_err().to_string(),
        "`window` looks at 5 generated tokens together, but `generated_tokens` is 3; raise it to 5 at least, or lower \
         `window`"
    );
    assert!(ActivityStudy { generated_tokens: number(5), ..base.clone() }.answer().is_ok());
    let far = ActivityStudy { distance: number(7), ..few };
    let found = far.answer().unwrap_err().to_string();
    assert!(found.ends_with("raise it to 8 at least, or lower `distance`"), "{found}");
    assert!(ActivityStudy { generated_tokens: number(8), ..far }.answer().is_ok());
}

/// Where all are hot, all of this prompt's are among them.
#[test]
fn no_share_is_below_nothing() {
    let all = ActivityStudy { hot_fraction: 1.0.try_into().unwrap(), ..ActivityStudy::default() };
    assert_eq!(all.answer().unwrap().hot_varied, 0.0);
}

/// A ratio to a mean is no less than 1, and no more than what the fullest could have.
#[test]
fn shards_are_as_uneven_as_can_be() {
    let base = ActivityStudy { model: Some(Model::named("opt-1.3b").unwrap()), ..ActivityStudy::default() };
    let number = |it: u32| NonZeroU32::new(it).unwrap();
    let with = |shards| ActivityStudy { shards: number(shards), ..base.clone() }.answer().unwrap();
    // Where a cluster is cut, its parts differ by chance alone.
    let mut before = with(base.activity.clusters.get()).token_imbalance;
    for shards in [128, 256, 1024] {
        let here = with(shards);
        assert!((before..2.0 * before).contains(&here.token_imbalance), "{shards}: {here:?}");
        assert!((1.0..f64::from(shards)).contains(&here.most_imbalance), "{shards}: {here:?}");
        before = here.token_imbalance;
    }
    let layers = Some(NonZeroU32::MIN);
    let walked = ActivityStudy { engine: CostEngine::Events, layers, ..base };
    let all_hot = ActivityStudy { hot_fraction: 1.0.try_into().unwrap(), ..walked.clone() }.answer().unwrap();
    assert_eq!((all_hot.token_imbalance, all_hot.window_imbalance), (1.0, 1.0));
    let too_long = ActivityStudy { window: number(4000), ..walked }.answer().unwrap_err().to_string();
    assert!(too_long.contains("window"), "{too_long}");
}

/// States rise with how often a prompt's tokens activate a neuron.
#[test]
fn states_that_start_from_the_end_are_refused() {
    let mut study = InferenceStudy::default();
    study.predictor.start_low = 0.9.try_into().unwrap();
    study.predictor.start_high = 0.1.try_into().unwrap();
    let message = study.answer().unwrap_err().to_string();
    assert!(message.contains("`predictor.start_high` is 0.1, below the 0.9"), "{message}");
    study.predictor.start_high = study.predictor.start_low;
    assert!(study.answer().is_ok());
}

/// Of what there is none of, there is no share.
#[test]
fn predictions_of_nothing_have_no_precision() {
    let base = PredictorStudy {
        model: Some(Model::named("opt-125m").unwrap()),
        layers: NonZeroU32::new(4),
        generated_tokens: NonZeroU32::new(4).unwrap(),
        ..PredictorStudy::default()
    };
    let short = base.answer().unwrap();
    assert!(short.window_imbalance.is_none() && short.recall > Some(0.5), "{short:?}");
    let oracle = PredictorStudy { strategy: Strategy::Oracle, ..base.clone() }.answer().unwrap();
    assert_eq!((oracle.accuracy, oracle.recall, oracle.precision), (1.0, Some(1.0), Some(1.0)));
    let mut blind = base;
    blind.predictor.threshold = 28;
    let blind = blind.answer().unwrap();
    assert_eq!((blind.precision, blind.recall), (None, Some(0.0)), "{blind:?}");
}

/// Nor is there a time, a size or a speed of what a system does not have.
#[test]
fn what_a_system_has_not_is_null() {
    use System::{Accelerate, DejaVu, Flexgen, Hermes, HermesBase, HermesHost, TensorrtLlm};
    let names = |has: fn(&InferenceAnswer) -> bool| {
        let all = [Hermes, HermesBase, HermesHost, Accelerate, Flexgen, DejaVu, TensorrtLlm];
        let of = |it: &System| {
            answer(&[
                ("model", json!("opt-13b")),
                ("system", serde_json::to_value(it).unwrap()),
                ("gpus", json!(if *it == TensorrtLlm { 4 } else { 1 })),
            ])
        };
        all.into_iter().filter(|it| has(&of(it))).collect::<Vec<_>>()
    };
    assert_eq!(names(|it| it.mlp_ns.is_some()), [Hermes, HermesBase, HermesHost]);
    assert_eq!(names(|it| it.link_speedup.is_some()), [Hermes]);
    for still in [("dimms", json!(1)), ("strategy", json!("partition"))] {
        assert_eq!(answer(&[("model", json!("opt-1.3b")), still]).link_speedup, None);
    }
    assert_eq!(names(|it| it.state_table_kib.is_some()), [Hermes, HermesHost]);
    assert_eq!(names(|it| it.correlation_table_kib.is_some()), [Hermes, HermesHost]);
}

/// What other parameters give by themselves is none.
#[test]
fn what_follows_from_other_parameters_is_refused() {
    for path in ["dimm.memory.column_bytes", "dimm.memory.tck_ns"] {
        for laws in [InferenceStudy::LAWS, PartitionStudy::LAWS, PredictorStudy::LAWS] {
            assert!(matches!(laws.effect_on(path).unwrap().more, More::Unused(_)), "{path}");
        }
    }
}
