//! Hermes and what it is compared with, on machines and workloads of no paper: what can be said
//! of them without the model.

use memscape_explore::{Parameters, Row};
use memscape_systems::study;
use serde_json::{Value, json};

fn ask(given: &Value) -> Row {
    let parameters: Parameters = given.as_object().unwrap().clone();
    study("ndp.inference").unwrap().run(&parameters).unwrap_or_else(|it| panic!("{given}: {it}"))
}

fn of(row: &Row, column: &str) -> f64 {
    row.iter().find(|it| it.0 == column).unwrap().1.as_f64().unwrap()
}

fn number(column: &str, given: &Value) -> f64 {
    of(&ask(given), column)
}

fn with(base: &Value, changes: &Value) -> Value {
    let mut all = base.as_object().unwrap().clone();
    all.extend(changes.as_object().unwrap().clone());
    Value::Object(all)
}

/// 13.3 GB of weights and 73 GB of keys and values do not fit 24 GB: the rest crosses the bus for each token.
#[test]
fn keys_and_values_beyond_a_gpu_cross_the_bus() {
    let base = json!({"model": "opt-6.7b", "batch": 64, "prompt_tokens": 2048, "generated_tokens": 128});
    for system in ["flexgen", "accelerate", "deja-vu"] {
        let row = ask(&with(&base, &json!({"system": system})));
        let away = of(&row, "memory_bytes") - 24e9 - 2.0 * 64.0 * 64.0 * 4096.0 * 2.0 * 32.0;
        assert!(of(&row, "token_ns") > away / 64.0, "{system}");
    }
}

/// Five of six layers of Gemma 3 keep 1024 tokens.
#[test]
fn a_window_bounds_cache_and_attention() {
    let long = json!({"model": "gemma-3-27b", "prompt_tokens": 131_072, "generated_tokens": 128});
    let weights = number("memory_bytes", &with(&long, &json!({"prompt_tokens": 1, "generated_tokens": 1})));
    let [layers, global, token] = [62.0, 10.0, 2.0 * 2.0 * 16.0 * 128.0];
    let cache = token * (global * 131_200.0 + (layers - global) * 1024.0);
    let found = number("memory_bytes", &long) - weights;
    assert!((found / cache - 1.0).abs() < 1e-3, "{found} of {cache}");
    let attention = |tokens: u64| number("attention_ns", &with(&long, &json!({"prompt_tokens": tokens})));
    let growth = attention(131_072) / attention(65_536);
    assert!((1.8..2.0).contains(&growth), "{growth}");
}

/// OPT-1.3B has 32 heads of 64: as many scores as a model of 32 heads of 128.
#[test]
fn scores_are_of_the_heads_that_a_model_has() {
    let base = json!({
        "hardware": "hermes-pim", "model": "opt-1.3b", "batch": 16, "prompt_tokens": 1984, "generated_tokens": 64
    });
    let narrow = number("attention_ns", &base);
    let wide = number(
        "attention_ns",
        &with(&base, &json!({"model.heads": 16, "model.kv_heads": 16, "model.head_dim": 128})),
    );
    assert!(narrow > 1.3 * wide, "{narrow} {wide}");
}

/// Time over what the GPU holds has several valleys where units stand at banks; none is passed by, so that fewer
/// sequences are done no later.
#[test]
fn fewer_sequences_are_done_no_later_at_banks() {
    let of = |batch: u32| {
        let row = ask(&json!({
            "hardware": "hermes-pim", "model": "llama-2-7b", "prompt_tokens": 50, "generated_tokens": 20, "batch": batch
        }));
        ["total_s", "energy_j"].map(|it| of(&row, it))
    };
    let all = [40, 44, 46, 47, 48].map(of);
    assert!(all.is_sorted_by(|a, b| a[0] <= b[0]), "{all:?}");
    // From here on they are in one valley.
    assert!(all[1..].is_sorted_by(|a, b| a[1] <= b[1]), "{all:?}");
}

/// The GPU makes 6.4 GB of keys and values that DIMMs read.
#[test]
fn keys_and_values_of_a_prompt_go_to_the_dimms() {
    for system in ["hermes", "hermes-base", "hermes-host"] {
        let row = ask(&json!({
            "system": system, "model": "opt-1.3b", "batch": 64, "prompt_tokens": 512, "generated_tokens": 1,
            "gpu.pcie_gb_s": 8
        }));
        let floor = 24.0 * 4.0 * 2048.0 * 512.0 * 64.0 / 8e9;
        assert!(of(&row, "ttft_s") >= floor, "{system}: {} of {floor}", of(&row, "ttft_s"));
    }
}

/// Twice as many sequences are twice as much to multiply.
#[test]
fn a_host_computes_in_time() {
    let cold = |batch: u32| {
        number(
            "cold_ns",
            &json!({
                "system": "hermes-host", "model": "llama-3.1-70b", "batch": batch, "prompt_tokens": 16, "generated_tokens": 16
            }),
        )
    };
    let growth = cold(4096) / cold(2048);
    assert!((1.9..2.1).contains(&growth), "{growth}");
    let units = |count: u32| {
        number(
            "attention_ns",
            &json!({
                "system": "hermes-host", "model": "opt-66b", "batch": 8, "prompt_tokens": 1920, "dimm.activation_units": count
            }),
        )
    };
    assert_eq!(units(256).to_bits(), units(1).to_bits(), "its DIMMs are plain");
}

/// What the GPU holds anyway is not brought to it, in time or in energy.
#[test]
fn a_prompt_takes_the_energy_of_what_it_brings() {
    let base = json!({"model": "opt-6.7b", "prompt_tokens": 1, "generated_tokens": 1});
    let prompt = |system: &str| {
        let row = ask(&with(&base, &json!({"system": system})));
        of(&row, "energy_j") - of(&row, "token_energy_j")
    };
    let (ours, plain) = (prompt("hermes"), prompt("hermes-base"));
    assert!((ours / plain - 1.0).abs() < 0.02, "{ours} {plain}");
}

/// Sums that leave modules of PIM slower than anything else are what binds.
#[test]
fn pins_of_modules_bind() {
    for system in ["hermes", "hermes-base"] {
        let row = ask(&json!({
            "hardware": "hermes-pim", "model": "llama-2-13b", "system": system, "dimm.units.channel_gb_s": 0.01
        }));
        let bound_by = &row.iter().find(|it| it.0 == "bound_by").unwrap().1;
        assert_eq!(bound_by.as_str(), Some("link"), "{system}");
    }
}

/// A table of 152 000 embeddings is looked up, and the head meets one position.
#[test]
fn a_prompt_multiplies_layers() {
    let base = json!({"model": "qwen2.5-0.5b", "prompt_tokens": 4096, "batch": 16});
    let small = number("ttft_s", &base);
    let large = number("ttft_s", &with(&base, &json!({"model.vocab_size": 1_000_000})));
    assert!(large < 1.01 * small, "{small} {large}");
}

/// What crosses the bus is a part of what there is.
#[test]
fn the_bus_is_not_busier_than_always() {
    for (model, batch, gb_s) in [("opt-1.3b", 16, 1.0), ("opt-13b", 4, 0.05)] {
        let row = ask(&json!({"model": model, "batch": batch, "gpu.pcie_gb_s": gb_s, "dimms": 16}));
        assert!(of(&row, "pcie_share") <= 1.0 && of(&row, "pcie_run_share") <= 1.0, "{model}");
    }
}

/// Eight heads of keys and values are read by eight GPUs; more hold copies.
#[test]
fn heads_are_not_divided() {
    let attention = |gpus: u32| {
        number(
            "attention_ns",
            &json!({
                "model": "llama-2-70b", "system": "tensorrt-llm", "gpu": "a100-40gb", "prompt_tokens": 32_768, "gpus": gpus,
                "overhead.gpu_usable": 1.0
            }),
        )
    };
    assert!(attention(4) > 1.9 * attention(8));
    assert_eq!(attention(8).to_bits(), attention(64).to_bits());
}

/// As many GPUs as an error says would do, do; where more only bring copies, none do.
#[test]
fn gpus_that_would_do_do() {
    let base = json!({
        "model": "opt-6.7b", "system": "tensorrt-llm", "model.kv_heads": 4, "batch": 64, "overhead.gpu_usable": 1.0
    });
    let run = |tokens: u32, gpus: u32| {
        let given = with(&base, &json!({"prompt_tokens": tokens, "gpus": gpus}));
        study("ndp.inference").unwrap().run(given.as_object().unwrap()).map_err(|it| it.to_string())
    };
    for tokens in [6_000, 18_000, 21_500] {
        let told = run(tokens, 1).unwrap_err();
        let count = told.split("short; ").nth(1).unwrap().split(' ').next().unwrap();
        let count: u32 = count.parse().unwrap_or_else(|_| panic!("{told}"));
        assert!(run(tokens, count).is_ok() && run(tokens, count - 1).is_err(), "{tokens}: {told}");
    }
    assert!(run(24_000, 1).unwrap_err().contains("not even 1024 GPUs would do: raise `gpu.memory_gb`"));
}

/// Before the exchange has settled, and before the first window ends, tokens take longer than the mean
/// of all: a closed form of means was a third too fast.
#[test]
fn a_short_reply_is_what_its_walk_is() {
    for (given, within) in [
        (json!({"model": "opt-66b", "generated_tokens": 4}), 0.06),
        (json!({"model": "opt-66b", "generated_tokens": 16}), 0.06),
        (json!({"model": "llama-2-70b", "generated_tokens": 4}), 0.06),
        (json!({"model": "opt-30b", "dimm.clock_ghz": 0.015_625, "generated_tokens": 16}), 0.1),
        (json!({"model": "opt-13b", "remap.window": 320}), 0.06),
    ] {
        let time = |engine: &str| number("token_ns", &with(&given, &json!({"engine": engine})));
        let (closed, walked) = (time("closed"), time("events"));
        assert!((closed / walked - 1.0).abs() < within, "{given}: {closed} and {walked}");
    }
}
