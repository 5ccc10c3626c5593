//! Is what is said to bind a step what shortens it, and is it there at all?

use memscape_ndp::InferenceStudy;
use memscape_study::{BoundBy, Study};
use serde_json::{Value, json};

use crate::common::{answer, gpu};

/// GPU and DIMMs, or the host, are level: what shortens one takes work off the other. The GPU's
/// bandwidth is most of the rate of both.
#[test]
fn a_level_block_is_bound_by_the_side_that_does_most_of_it() {
    let phi = [("model", json!("phi-3-mini")), ("batch", json!(12))];
    let gemma =
        [("model", json!("gemma-3-27b")), ("format", json!("q8_0")), ("system", json!("hermes-host"))];
    let mut int4 = phi.to_vec();
    int4.push(("format", json!("int4")));
    let mut walked = phi.to_vec();
    walked.extend([("engine", json!("events")), ("generated_tokens", json!(8))]);
    for base in [&phi[..], &gemma, &int4, &walked] {
        let first = answer(base);
        let gain = |change: (&str, Value)| {
            let with = [base, &[change]].concat();
            first.headline.token_ns / answer(&with).headline.token_ns
        };
        let bandwidth = gain(("gpu.bandwidth_gb_s", json!(2.0 * 936.0)));
        let others = [
            ("dimm.multipliers", json!(512)),
            ("gpu.fp16_tops", json!(660.0)),
            ("host.dispatch_us", json!(0.35)),
        ];
        for other in others {
            assert!(bandwidth > gain(other.clone()), "{base:?}: {other:?}");
        }
        assert_eq!(first.headline.bound_by, BoundBy::DramBandwidth, "{base:?}");
    }
}

/// Where the DIMMs are the slower side and the GPU holds nothing more of what is read, only they count.
#[test]
fn a_block_that_is_not_level_is_bound_by_its_slower_side() {
    let base = [("batch", json!(16)), ("hot_share", json!(0.02))];
    let first = answer(&base);
    assert!(first.cold_ns > first.gpu_ns * 1.2);
    assert_eq!(first.headline.bound_by, BoundBy::Compute);
    let with = |change| answer(&[&base[..], &[change]].concat()).headline.token_ns;
    let [multipliers, bandwidth] =
        [("dimm.multipliers", json!(512)), ("gpu.bandwidth_gb_s", json!(2.0 * 936.0))].map(with);
    assert!(multipliers < bandwidth, "{multipliers} {bandwidth}");
}

/// A query meets every key and every value, which takes a GPU multiplications.
#[test]
fn attention_of_gpus_is_never_faster_than_its_multiplications() {
    for (system, gpus) in [("tensorrt-llm", 4), ("accelerate", 1)] {
        let base = [
            ("system", json!(system)),
            ("model", json!("opt-6.7b")),
            ("gpus", json!(gpus)),
            ("batch", json!(8)),
            ("prompt_tokens", json!(2048)),
        ];
        let fast = answer(&base);
        let slow = answer(&[&base[..], &[("gpu.fp16_tops", json!(0.1))]].concat());
        // 32 layers of 4096 features; half of 0.1 TOPS are multiplications, of which half is reached.
        let macs = 2.0 * 4096.0 * 32.0 * 8.0 * 2048.0;
        assert!(slow.attention_ns >= macs / (25.0 * f64::from(gpus)), "{system}: {}", slow.attention_ns);
        assert!(slow.attention_ns > fast.attention_ns * 10.0, "{system}");
        assert_eq!(slow.headline.bound_by, BoundBy::Compute);
    }
}

/// A GPU that holds and multiplies all weights leaves the DIMMs attention alone: they have no sums of
/// blocks to bring together, and units at banks need no inputs of blocks.
#[test]
fn nothing_is_merged_that_no_dimm_multiplied() {
    let base = [("model", json!("llama-2-7b")), ("system", json!("hermes-base")), ("batch", json!(256))];
    let pim = serde_json::to_value(memscape_ndp::hardware::MACHINES.get("hermes-pim")).unwrap();
    for dimm in [serde_json::to_value(InferenceStudy::default().dimm).unwrap(), pim["dimm"].clone()] {
        let found = answer(&[&base[..], &[("dimm", dimm.clone()), ("dimms", json!(16))]].concat());
        assert_eq!(found.gpu_read_share, 1.0);
        // Of 32 layers: two launches of 5 us with 5 us there and back, and inputs and sums of both blocks over PCIe.
        let activations = 256.0 * 2.0 * f64::from(4096 + 3 * 4096 + 4096 + 4096) / 64.0;
        let expected = 32.0 * (2.0 * 15e3 + activations);
        assert!(
            (found.communication_ns / expected - 1.0).abs() < 1e-9,
            "{} {expected}",
            found.communication_ns
        );
        assert_eq!(found.headline.energy.energy_link_j, Some(0.0));
    }
}

/// Banks that multiply all weights faster than the GPU leave it nothing: no step waits for it, however long that takes.
#[test]
fn a_gpu_that_multiplies_nothing_is_not_waited_for() {
    let pim = serde_json::to_value(memscape_ndp::hardware::MACHINES.get("hermes-pim")).unwrap();
    let of = |sync_us: f64, model: &str| {
        answer(&[
            ("model", json!(model)),
            ("system", json!("hermes-base")),
            ("dimm", pim["dimm"].clone()),
            ("dimms", json!(16)),
            ("overhead.sync_us", json!(sync_us)),
        ])
    };
    for model in ["qwen3-1.7b", "llama-2-7b"] {
        let (never, long) = (of(0.0, model), of(50.0, model));
        assert!(long.gpu_read_share <= 0.0 && long.gpu_ns <= 0.0, "{model}");
        assert!(never.headline.token_ns.total_cmp(&long.headline.token_ns).is_eq(), "{model}");
        assert_ne!(long.headline.bound_by, BoundBy::Synchronisation, "{model}");
    }
}

/// Weights of a model of Llama's kind that are multiplied: matrices of all layers, and the head.
fn multiplied([layers, hidden, kv, ffn, vocabulary]: [u64; 5]) -> f64 {
    (layers * hidden * (2 * hidden + 2 * kv + 3 * ffn) + vocabulary * hidden) as f64
}

const LLAMA_70B: [u64; 5] = [80, 8192, 1024, 28672, 32000];

/// A prompt brings what is multiplied and not held; embeddings are looked up where they lie.
#[test]
fn embeddings_do_not_go_to_the_gpu() {
    let (llama, usable) =
        (2.0 * multiplied(LLAMA_70B), 24e9 * InferenceStudy::default().overhead.gpu_usable.as_f64());
    for system in ["hermes", "hermes-host", "hermes-base"] {
        let found = answer(&[("system", json!(system))]).headline.ttft_s;
        let expected = (llama - usable) / 64e9;
        assert!((found / expected - 1.0).abs() < 1e-6, "{system}: {found} {expected}");
        let qwen = [("system", json!(system)), ("model", json!("qwen2.5-7b")), ("gpu", gpu("a100-40gb"))];
        // It fits: two bytes of each weight are read once, the table of 17.03 ms over PCIe is not.
        let reads = 2.0 * multiplied([28, 3584, 512, 18944, 152_064]) / (1555e9 * 0.85);
        let found = answer(&qwen).headline.ttft_s;
        assert!(found > reads && found < reads * 1.1, "{system}: {found} {reads}");
    }
    // A step of Accelerate: two passes of a thread, then the bus, over what does not fit beside the cache. Tokens attend
    // to 129 to 256 of the context.
    let study = InferenceStudy::default();
    let found = answer(&[("system", json!("accelerate"))]).communication_ns;
    let [cache, read] = [256.0, 192.5].map(|tokens| 80.0 * 4.0 * 1024.0 * tokens);
    let away = (1.0 - usable / (llama + cache)) * (llama + read);
    let expected = away * (2.0 / study.host.copy_gb_s.as_f64() + 1.0 / 64.0);
    assert!((found / expected - 1.0).abs() < 1e-9, "{found} {expected}");
}

/// What goes to the GPU is read where it lies: by one rank of one DIMM, or by a host that reaches 4 GB/s.
#[test]
fn nothing_goes_to_the_gpu_faster_than_it_is_read() {
    let usable = 24e9 * InferenceStudy::default().overhead.gpu_usable.as_f64();
    let missing = 2.0 * multiplied(LLAMA_70B) - usable;
    let close = |found: f64, expected: f64, what: &str| {
        assert!((found / expected - 1.0).abs() < 1e-6, "{what}: {found} {expected}");
    };
    // Keys and values of 128 tokens reach the same memory meanwhile.
    let cache = 80.0 * 4.0 * 1024.0 * 128.0;
    for system in ["hermes", "hermes-base"] {
        let one = [
            ("dimms", json!(1)),
            ("dimm.capacity_gb", json!(256)),
            ("dimm.ranks", json!(1)),
            ("system", json!(system)),
        ];
        let found = answer(&one);
        close(found.headline.ttft_s, (missing + cache) / (found.dimm_bandwidth_gb_s * 1e9), system);
        // A thread writes and reads it again.
        let found =
            answer(&[&one[..], &[("prompt", json!("pageable")), ("host.copy_gb_s", json!(1e6))]].concat());
        close(found.headline.ttft_s, (3.0 * missing + cache) / (found.dimm_bandwidth_gb_s * 1e9), system);
    }
    let slow = |system| answer(&[("host.bandwidth_gb_s", json!(5)), ("system", json!(system))]);
    close(slow("hermes-host").headline.ttft_s, (missing + cache) / 4e9, "hermes-host");
    let opt = |system| {
        let found = answer(&[
            ("host.bandwidth_gb_s", json!(5)),
            ("system", json!(system)),
            ("model", json!("opt-66b")),
            ("host.copy_call_us", json!(1e5)),
        ]);
        assert_eq!(found.headline.bound_by, BoundBy::DramBandwidth, "{system}");
        // The others hide behind their transfers all that the GPU does.
        if system == "accelerate" { found.communication_ns } else { found.headline.token_ns }
    };
    // Accelerate reads and writes twice before the bus reads, the others once.
    close(opt("accelerate") / opt("flexgen"), 5.0 / 3.0, "passes");
    close(opt("deja-vu"), opt("flexgen"), "deja-vu");
    let [cache, read] = [256.0, 192.5].map(|tokens| 80.0 * 4.0 * 1024.0 * tokens);
    let away = (1.0 - usable / (missing + usable + cache)) * (missing + usable + read);
    close(slow("accelerate").communication_ns, 5.0 * away / 4.0, "accelerate");
}

/// Output projections, LM head and predictors of 16.6 GB are read whole: what does not fit comes for each token.
#[test]
fn what_deja_vu_reads_whole_is_on_the_gpu_or_comes_for_each_token() {
    let study = InferenceStudy::default();
    let of = |gb: f64, tokens: u32| {
        let [gb, tokens] = [("gpu.memory_gb", json!(gb)), ("generated_tokens", json!(tokens))];
        answer(&[("model", json!("opt-66b")), ("system", json!("deja-vu")), gb, tokens])
    };
    let more = 15e9 * study.overhead.gpu_usable.as_f64();
    let found = of(1.0, 1).communication_ns - of(16.0, 1).communication_ns;
    let expected = more * (1.0 / study.host.copy_gb_s.as_f64() + 1.0 / 64.0);
    assert!((found / expected - 1.0).abs() < 1e-9, "{found} {expected}");
    // A thread reads and writes it, the bus reads it: 2.46 pJ per bit of the pins.
    let io = |gb, tokens| of(gb, tokens).headline.energy.energy_io_j.unwrap();
    let of_step = |gb| io(gb, 2) - io(gb, 1);
    let (found, expected) = (of_step(1.0) - of_step(16.0), 3.0 * more * 8.0 * 2.46e-12);
    assert!((found / expected - 1.0).abs() < 1e-3, "{found} {expected}");
    // Where copying everything is faster, it still is what happens.
    let slow = |system| {
        let base = [("model", json!("opt-66b")), ("gpu.memory_gb", json!(1.0)), ("system", json!(system))];
        answer(&[&base[..], &[("host.copy_call_us", json!(1e5))]].concat()).headline.token_ns
    };
    assert_eq!(slow("deja-vu"), slow("flexgen"));
}

/// Gemma 3 1B has four query heads: of eight GPUs four multiply queries with keys, and values, of a prompt.
#[test]
fn a_prompts_attention_is_shared_by_no_more_gpus_than_there_are_heads() {
    let study = |gpus: u32| {
        let changes = [
            ("model", serde_json::to_value(memscape_workload::Model::named("gemma-3-1b").unwrap()).unwrap()),
            ("system", json!("tensorrt-llm")),
            ("gpu", gpu("a100-40gb")),
            ("gpus", json!(gpus)),
            ("prompt_tokens", json!(131_072)),
            ("generated_tokens", json!(1)),
        ];
        let mut tree = serde_json::to_value(InferenceStudy::default()).unwrap();
        for (key, value) in changes {
            tree[key] = value;
        }
        serde_json::from_value::<InferenceStudy>(tree).unwrap()
    };
    // 4 of 26 layers attend to all before, the others to 512; 1024 features of queries meet keys and values.
    let pairs = |tokens: f64| 0.5 * tokens * (tokens + 1.0);
    let seen = 4.0 * pairs(131_072.0) + 22.0 * (pairs(512.0) + (131_072.0 - 512.0) * 512.0);
    let one = 2.0 * 1024.0 * seen / (312e3 / 2.0 * 0.5);
    for (gpus, share) in [(2, 2.0), (4, 4.0), (8, 4.0)] {
        let study = study(gpus);
        let prompt =
            study.operators().unwrap().into_iter().filter(|it| it.pass == memscape_study::Pass::Prompt);
        let (attention, others): (Vec<_>, Vec<_>) =
            prompt.partition(|it| it.operator.starts_with("attention"));
        assert!((attention[0].time_ns() / (one / share) - 1.0).abs() < 1e-9, "{gpus}: {attention:?}");
        let all: f64 = attention.iter().chain(&others).map(memscape_study::OperatorCost::time_ns).sum();
        assert!((study.answer().unwrap().headline.ttft_s * 1e9 / all - 1.0).abs() < 1e-9, "{gpus}");
        // The rest is shared by all: matrices by their multiplications, the head's read; sums over PCIe are beside.
        let gpu_ns: f64 =
            others.iter().flat_map(|it| &it.parts).filter(|it| it.0 == "gpu").map(|it| it.1).sum();
        let weights = 26.0 * 1152.0 * (2.0 * 1024.0 + 2.0 * 256.0 + 3.0 * 6912.0);
        let head = 2.0 * 262_144.0 * 1152.0 / (study.gpu.bandwidth_gb_s.as_f64() * 0.85);
        let expected = (weights * 131_072.0 / (312e3 / 2.0 * 0.5) + head) / f64::from(gpus);
        assert!((gpu_ns / expected - 1.0).abs() < 1e-9, "{gpus}: {gpu_ns} {expected}");
    }
}

/// Sums of five GPUs go over eight hops of 35 us each, and bytes that take little beside: faster links gain
/// nothing. With free hops and long vectors they do; PCIe does not matter where there are links.
#[test]
fn hops_of_a_sum_are_no_bytes_on_the_bus() {
    let base = [("system", json!("tensorrt-llm")), ("gpu", gpu("a100-40gb")), ("gpus", json!(5))];
    let of = |changes: &[(&str, Value)]| answer(&[&base[..], changes].concat());
    let gain = |base: &[(&str, Value)], change: (&str, Value)| {
        of(base).headline.token_ns / of(&[base, &[change]].concat()).headline.token_ns
    };
    let bus = || ("gpu.link_gb_s", json!(6400));
    assert_eq!(of(&[]).headline.bound_by, BoundBy::Synchronisation);
    assert!(gain(&[], bus()) < 1.01 && gain(&[], ("overhead.hop_us", json!(0.35))) > 1.5);
    let wide = [("batch", json!(256)), ("overhead.hop_us", json!(0.01)), ("gpu.link_gb_s", json!(8))];
    assert_eq!(of(&wide).headline.bound_by, BoundBy::Link);
    let over_pcie = [&wide[..2], &[("gpu.link_gb_s", json!(null)), ("gpu.pcie_gb_s", json!(8))]].concat();
    assert_eq!(of(&over_pcie), of(&[&wide[..], &[("gpu.pcie_gb_s", json!(8))]].concat()));
    assert!(gain(&wide, ("overhead.hop_us", json!(0))) < 1.01 && gain(&wide, bus()) > 1.5);
}

/// Dense weights, predictors and the cache come first where active neurons are copied one by one; where all that does
/// not fit is copied whole, as FlexGen does, all have the same share of the room.
#[test]
fn deja_vu_tells_the_share_of_the_step_that_it_takes() {
    let study = InferenceStudy::default();
    let of = |system: &str, call_us: f64| {
        answer(&[
            ("system", json!(system)),
            ("model", json!("opt-30b")),
            ("host.copy_call_us", json!(call_us)),
        ])
        .hot_share_used
    };
    // 48 layers of 7168 features: three matrices of QKV and two of the network are sparse; the projection, the head
    // of 50272 words, and predictors from 7168 to 3 * 7168 + 28672 neurons are whole.
    let [layers, hidden] = [48.0, 7168.0];
    let sparse = layers * hidden * (3.0 * hidden + 2.0 * 4.0 * hidden);
    let predictors = study.overhead.predictor_rank.as_f64() * layers * 7.0 * hidden;
    let whole = layers * hidden * hidden + 50_272.0 * hidden + predictors;
    let cache = layers * 2.0 * hidden * 256.0;
    let room = 24e9 * study.overhead.gpu_usable.as_f64() / 2.0 - whole - cache;
    let found = of("deja-vu", study.host.copy_call_us.as_f64());
    assert!((found / (room / sparse) - 1.0).abs() < 0.01, "{found} {}", room / sparse);
    assert_eq!(of("deja-vu", 1e5), of("flexgen", 1e5));
}
