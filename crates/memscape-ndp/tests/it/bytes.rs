//! What moves takes as long as its bytes on the narrowest way, and what must fit is counted where it lies.

use memscape_ndp::{InferenceStudy, PartitionStudy};
use memscape_study::{Study, StudyError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::common::{answer, changed};

fn ask<S: Study + Default + Serialize + DeserializeOwned>(
    changes: &[(&str, Value)],
) -> Result<S::Answer, StudyError> {
    changed::<S>(changes).answer()
}

/// Phi-3-mini keeps 2047 tokens of a longer prompt, of 2 * 3072 numbers in each of 32 layers.
#[test]
fn a_prompt_leaves_no_more_keys_and_values_than_its_windows_keep() {
    let of = |pcie: f64| {
        answer(&[
            ("model", json!("phi-3-mini")),
            ("prompt_tokens", json!(4000)),
            ("generated_tokens", json!(16)),
            ("gpu.pcie_gb_s", json!(pcie)),
        ])
    };
    let kept = 2047.0 * 2.0 * 3072.0 * 2.0 * 32.0;
    let ttft = of(0.5).headline.ttft_s;
    assert!((ttft / (kept / 0.5e9) - 1.0).abs() < 0.01, "{ttft}");
}

/// Ranks are read at the same time inside a module; what leaves it shares one bus.
#[test]
fn weights_leave_a_module_no_faster_than_its_pins_carry() {
    let of = |dimms: u32, each: u32, units: Value| {
        let base = [("model", json!("opt-13b")), ("dimms", json!(dimms)), ("dimm.units", units)];
        answer(&[&base[..], &[("host.dimms_per_channel", json!(each))]].concat()).headline.ttft_s
    };
    let at_banks = |gb_s: f64, each: u32| of(8, each, json!({ "channels": 1, "channel_gb_s": gb_s }));
    assert!((at_banks(0.25, 1) / at_banks(0.5, 1) - 2.0).abs() < 1e-6);
    // Modules with channels of their own share none.
    assert_eq!(at_banks(0.25, 2), at_banks(0.25, 1));
    // One DDR4-3200 channel gives 25.6 GB/s, three more than PCIe takes.
    for each in [1, 2] {
        let channels = |it: u32| of(it * each, each, Value::Null);
        let (one, two, three) = (channels(1), channels(2), channels(3));
        assert!((one / two - 2.0).abs() < 1e-6, "{one} {two}");
        assert!(three < two && (three - channels(8)).abs() < 1e-9, "{two} {three}");
        assert_eq!(of(each + 1, each, Value::Null), two);
    }
}

/// A host reads plain DIMMs over the same pins: of one DDR4-3200 module 80 % of 25.6 GB/s, of eight in four channels
/// its own 89.6.
#[test]
fn a_host_reads_no_faster_than_the_pins_of_its_dimms_carry() {
    let of = |system: &str, dimms: u32, changes: &[(&str, Value)]| {
        let base = [
            ("system", json!(system)),
            ("model", json!("opt-6.7b")),
            ("dimm.capacity_gb", json!(256)),
            ("dimms", json!(dimms)),
            ("gpu.memory_gb", json!(4)),
            ("gpu.pcie_gb_s", json!(1000)),
            ("host.copy_gb_s", json!(1e6)),
            ("host.copy_call_us", json!(0)),
            // Accelerate computes beside.
            ("gpu.fp16_tops", json!(1e5)),
            ("gpu.bandwidth_gb_s", json!(1e5)),
            ("overhead.launch_us", json!(0)),
        ];
        answer(&[&base[..], changes].concat())
    };
    for system in ["hermes-host", "flexgen", "accelerate", "deja-vu"] {
        let ttft = |dimms: u32| of(system, dimms, &[]).headline.ttft_s;
        let (one, four, eight) = (ttft(1), ttft(4), ttft(8));
        assert!((one / four - 2.0).abs() < 1e-3, "{system}: {one} {four}");
        assert!((one / eight - 89.6 / 25.6).abs() < 1e-2, "{system}: {one} {eight}");
        assert_eq!(ttft(64), eight);
    }
    // The host's cores, too.
    let cold = |dimms: u32| of("hermes-host", dimms, &[("host.dispatch_us", json!(0))]).attention_ns;
    assert!((cold(1) / cold(4) - 2.0).abs() < 1e-2);
    let partition = |dimms: u32| {
        let model = serde_json::to_value(memscape_workload::Model::named("opt-1.3b").unwrap()).unwrap();
        let alone = [("hot_share", json!(0.0)), ("host.dispatch_us", json!(0)), ("dimms", json!(dimms))];
        let host = [("model", model), ("system", json!("hermes-host"))];
        ask::<PartitionStudy>(&[&alone[..], &host].concat()).unwrap().objective_ms
    };
    assert!((partition(1) / partition(8) - 89.6 / 25.6).abs() < 1e-6);
}

/// The partition knows the units of its DIMMs: their inputs and sums take time too.
#[test]
fn a_partition_counts_what_crosses_pins() {
    let pim = serde_json::to_value(memscape_ndp::hardware::MACHINES.get("hermes-pim")).unwrap();
    let units = |it: &Value| {
        let of = |name: &str| pim["dimm"][name].clone();
        let mut changes = vec![("hot_share", json!(0.0)), ("dimm.units", it.clone())];
        for (path, name) in [
            ("dimm.memory", "memory"),
            ("dimm.ranks", "ranks"),
            ("dimm.multipliers", "multipliers"),
            ("dimm.lanes", "lanes"),
            ("dimm.cycles_per_multiply", "cycles_per_multiply"),
            ("dimm.clock_ghz", "clock_ghz"),
        ] {
            changes.push((path, of(name)));
        }
        ask::<PartitionStudy>(&changes).unwrap().objective_ms
    };
    let (with, without) = (units(&pim["dimm"]["units"]), units(&Value::Null));
    assert!(with > without, "{with} {without}");
    let slow = units(&json!({ "channels": 1, "channel_gb_s": 1.0 }));
    assert!(slow > 1.5 * with, "{slow} {with}");
}

/// What units at banks read spares the pins; what the GPU or the host reads of the same modules does not.
#[test]
fn what_leaves_a_module_pays_for_its_pins() {
    let dimm =
        serde_json::to_value(memscape_ndp::hardware::MACHINES.get("hermes-pim")).unwrap()["dimm"].clone();
    let energy = |system: &str, dimm: Option<&Value>, path: &str, value: f64| {
        let mut changes =
            vec![("system", json!(system)), ("model", json!("opt-6.7b")), ("gpu.memory_gb", json!(4))];
        let path = format!("dimm.memory.energy.{path}.value");
        changes.extend(dimm.map(|it| ("dimm", it.clone())));
        changes.push((&path, json!(value)));
        answer(&changes).headline.energy
    };
    let io = |system: &str, dimm| energy(system, dimm, "io_pj_per_bit", 1.0).energy_io_j.unwrap();
    for system in ["flexgen", "accelerate", "hermes-host"] {
        let (plain, at_banks) = (io(system, None), io(system, Some(&dimm)));
        assert!((at_banks / plain - 1.0).abs() < 1e-9, "{system}: {at_banks} {plain}");
    }
    // Of what Hermes' units read, the share that is spent at the bank.
    let near = |share| energy("hermes", Some(&dimm), "bank_share", share).energy_access_j.unwrap();
    assert!(near(0.2) < near(0.4));
    let far = |share| energy("flexgen", Some(&dimm), "bank_share", share).energy_access_j.unwrap();
    assert_eq!(far(0.2), far(0.4));
}

/// Eight heads of keys and values over five GPUs: one has two of them, as of four.
#[test]
fn the_gpu_with_the_most_heads_is_waited_for() {
    let of = |gpus: u32| {
        answer(&[
            ("model", json!("llama-3.1-70b")),
            ("system", json!("tensorrt-llm")),
            ("gpu.memory_gb", json!(80.0)),
            ("gpus", json!(gpus)),
            ("prompt_tokens", json!(20_000)),
        ])
        .attention_ns
    };
    assert!((of(5) / of(4) - 1.0).abs() < 1e-9);
    assert!((of(8) / of(4) - 0.5).abs() < 1e-9);
    assert!(of(16) <= of(8));
}

/// 197 GB in 200 GB that software leaves, but one of five GPUs would have to hold a fifth of the weights and a quarter of the cache.
#[test]
fn the_fullest_gpu_must_hold_its_part() {
    let of = |gpus: u32| {
        ask::<InferenceStudy>(&[
            ("system", json!("tensorrt-llm")),
            ("gpu.memory_gb", json!(40.0)),
            ("overhead.gpu_usable", json!(1.0)),
            ("gpus", json!(gpus)),
            ("prompt_tokens", json!(180_000)),
            ("generated_tokens", json!(100)),
        ])
    };
    let told = of(5).unwrap_err().to_string();
    assert!(told.starts_with("the fullest of 5 GPUs would have to hold 42.3 GB"), "{told}");
    assert!(told.contains("2.3 GB short; 6 GPUs would do"), "{told}");
    assert!(of(6).is_ok());
}

/// The same card holds as much whichever software uses it: where weights and cache just fit, no system is ten times
/// as fast as another for what it leaves unsaid.
#[test]
fn every_software_leaves_as_much_of_a_card() {
    let of = |system: &str, tokens: u32| {
        ask::<InferenceStudy>(&[
            ("model", json!("opt-6.7b")),
            ("system", json!(system)),
            ("prompt_tokens", json!(tokens)),
            ("generated_tokens", json!(16)),
        ])
    };
    let ns = |system: &str| of(system, 13_500).unwrap().headline.token_ns;
    assert!((ns("accelerate") / ns("tensorrt-llm") - 1.0).abs() < 1e-3);
    assert!(of("accelerate", 16_000).unwrap().headline.token_ns > 4.0 * ns("accelerate"));
    let told = of("tensorrt-llm", 16_000).unwrap_err().to_string();
    assert!(told.contains("has 20.5 GB for them (`overhead.gpu_usable`)"), "{told}");
}

/// Sums of more DIMMs over slow links take longer than what they spare: the GPU, which holds all, computes alone.
#[test]
fn who_computes_without_sparsity_is_chosen_by_all_that_it_takes() {
    let of = |gb_s: f64, dimms: u32| {
        let base = [("model", json!("llama-2-7b")), ("system", json!("hermes-base"))];
        answer(&[&base[..], &[("link_gb_s", json!(gb_s)), ("dimms", json!(dimms))]].concat())
    };
    // Eighteen read faster than the GPU does, and still do over links of Hermes' speed.
    assert_eq!(of(25.0, 18).gpu_read_share, 0.0);
    let (slow, slower) = (of(1.0, 16), of(0.1, 16));
    assert_eq!((slow.gpu_read_share, slower.gpu_read_share), (1.0, 1.0));
    assert!((slower.headline.token_ns / slow.headline.token_ns - 1.0).abs() < 1e-9);
    assert!(of(1.0, 14).headline.token_ns >= slow.headline.token_ns);
}

/// Each sequence's inputs and sums cross the pins of units at banks, also of a neuron that is read once for all.
#[test]
fn what_is_carried_grows_with_sequences_where_reading_binds() {
    let cold = |batch: u32, gb_s: f64| {
        // Nearly all are active, and none on the GPU to speak of.
        answer(&[
            ("dimm.multipliers", json!(1_000_000)),
            ("dimm.units", json!({ "channels": 1, "channel_gb_s": gb_s })),
            ("density", json!(0.99)),
            ("hot_share", json!(1e-6)),
            ("batch", json!(batch)),
        ])
        .cold_ns
    };
    let carried = |batch: u32| cold(batch, 1.0) - cold(batch, 1e6);
    let grows = carried(4) / carried(1);
    assert!((grows / 4.0 - 1.0).abs() < 0.02, "{grows}");
}

/// The next layer's weights come while the GPU does all that it does for this one, attention and launches too:
/// a step whose transfer is longer takes as long as that, which Accelerate waits for beside.
#[test]
fn a_transfer_of_flexgen_hides_all_that_the_gpu_does() {
    let of = |system: &str| {
        answer(&[
            ("system", json!(system)),
            ("model", json!("opt-13b")),
            ("prompt_tokens", json!(1024)),
            ("batch", json!(8)),
            ("host.accelerate_passes", json!(1)),
        ])
    };
    let (flexgen, accelerate) = (of("flexgen"), of("accelerate"));
    let (token, transfer) = (flexgen.headline.token_ns, accelerate.communication_ns);
    assert!((token / transfer - 1.0).abs() < 1e-9, "{token} {transfer}");
    assert!(accelerate.headline.token_ns > token + accelerate.attention_ns);
    // Of what is hidden nothing is gained: the thread's pass binds it.
    assert_eq!(flexgen.headline.bound_by, memscape_study::BoundBy::Host);
}

/// A prompt's keys and values that the GPU has no room for pass through a thread's hands like weights: the bus
/// writes them, the thread reads and writes them again.
#[test]
fn energy_of_offloading_counts_the_prompts_keys_and_values() {
    let study = InferenceStudy::default();
    let found = answer(&[
        ("system", json!("flexgen")),
        ("model", json!("opt-6.7b")),
        ("prompt_tokens", json!(512)),
        ("generated_tokens", json!(1)),
        ("batch", json!(64)),
    ]);
    let away = 1.0 - found.hot_share_used;
    let of_token = away * 32.0 * 4.0 * 4096.0 * 64.0;
    let (back, read) = (of_token * 512.0, of_token * 512.5);
    // 2.46 pJ per bit of the pins.
    let crossed = found.headline.energy.energy_io_j.unwrap() / (8.0 * 2.46e-12);
    let step = found.headline.token_ns / (1.0 / study.host.copy_gb_s.as_f64() + 1.0 / 64.0);
    let expected = 3.0 * ((step - read) + back + step + of_token);
    assert!((crossed / expected - 1.0).abs() < 1e-3, "{crossed} {expected}");
}

/// Without launches, synchronisation or links to wait for, all communication is PCIe's: neurons that it brings later
/// than projections end, too.
#[test]
fn late_fetches_are_communication_over_pcie() {
    let found = answer(&[
        ("gpu.pcie_gb_s", json!(8)),
        ("gpu.bandwidth_gb_s", json!(4000)),
        ("overhead.sync_us", json!(0)),
        ("overhead.launch_us", json!(0)),
        ("link_gb_s", json!(1e4)),
    ]);
    let share = found.communication_ns / found.headline.token_ns;
    assert!(share > 0.05 && found.pcie_share > 0.99 * share, "{} {share}", found.pcie_share);
}

/// Bits are refreshed, however many ranks they are in; what a DIMM holds is a matter of its dies.
#[test]
fn refreshing_takes_energy_by_what_the_dimms_hold() {
    let of =
        |changes: &[(&str, Value)]| answer(&[&[("model", json!("llama-2-13b"))], changes].concat()).headline;
    let [once, larger] = [32, 128].map(|it| of(&[("dimm.capacity_gb", json!(it))]));
    let refresh_j = |it: &memscape_study::Headline| it.energy.energy_refresh_j.unwrap();
    assert_eq!(once.total_s, larger.total_s);
    assert!((refresh_j(&larger) / refresh_j(&once) - 4.0).abs() < 1e-9);
}

/// What costs nothing has no tokens per dollar.
#[test]
fn nothing_is_bought_for_nothing() {
    let free = answer(&[("gpu.price_usd", json!(0)), ("dimm.price_usd", json!(0))]);
    assert_eq!((free.headline.cost_usd, free.tokens_per_s_per_kusd), (Some(0.0), None));
}

/// Modules multiply, and pass each other what they have, only where they have units of their own to.
#[test]
fn a_host_leaves_modules_nothing_but_reading() {
    let takes = |system| {
        let it = answer(&[("model", json!("opt-350m")), ("system", json!(system))]).headline.energy;
        [it.energy_compute_j, it.energy_link_j].map(Option::unwrap)
    };
    assert!(takes("hermes").iter().all(|it| *it > 0.0));
    assert_eq!(takes("hermes-host"), [0.0; 2]);
}
