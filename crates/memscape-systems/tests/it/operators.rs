//! The operators of a model, one by one, on all platforms.

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use memscape_explore::Table;
use memscape_study::Pass;
use memscape_systems::compare::{Workload, compare, platform, platforms};
use memscape_systems::operators::operators;
use memscape_systems::study;
use memscape_workload::{Model, Operator, Projections, Reply};
use serde_json::json;

fn sum(table: &Table, platform: &str, pass: &str) -> f64 {
    let rows = table.filter("platform", platform).unwrap().filter("pass", pass).unwrap();
    rows.f64("part_ns").unwrap().into_iter().flatten().sum()
}

/// Parts sum to the whole, and no operator is faster than its description allows.
#[test]
fn operators_sum_to_what_every_platform_answers() {
    // Wider than arrays multiply, too.
    let own: &[&str] = &[];
    for (model, batch, formats) in [
        ("llama-3.2-1b", 1, own),
        ("llama-3.2-1b", 6, own),
        ("opt-1.3b", 1, own),
        ("gemma-3-1b", 2, own),
        ("llama-3.2-1b", 1, &["fp32"]),
    ] {
        let formats = formats.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
        let least = if formats.is_empty() { 12 } else { 6 };
        let workload =
            Workload { prompt_tokens: 96, generated_tokens: 16, batch, formats, ..Workload::of(model) };
        let all = platforms();
        let (answers, told) =
            (compare(&workload, &all, &()).unwrap(), operators(&workload, &all, &()).unwrap());
        let [ttft, token] = ["ttft_s", "token_ns"].map(|it| answers.f64(it).unwrap());
        let mut checked = 0;
        for (row, name) in answers.text("platform").unwrap().into_iter().flatten().enumerate() {
            let (Some(ttft), Some(token)) = (ttft[row], token[row]) else { continue };
            for (pass, whole) in [("prompt", ttft * 1e9), ("token", token)] {
                let parts = sum(&told, &name, pass);
                // Each operator is rounded to the picosecond somewhere else than the whole.
                assert!(
                    (parts / whole - 1.0).abs() < 1e-4,
                    "{model} x {batch}, {name}: {pass} {parts} of {whole}"
                );
            }
            checked += 1;
        }
        assert!(checked > least, "{model}: only {checked} platforms answer");
        let names = told.text("platform").unwrap();
        let operators = told.text("operator").unwrap();
        let [times, least] = ["time_ns", "least_ns"].map(|it| told.f64(it).unwrap());
        for row in 0..told.height() {
            if let (Some(time), Some(least)) = (times[row], least[row]) {
                let (name, operator) = (&names[row], &operators[row]);
                assert!(
                    least <= time * (1.0 + 1e-6),
                    "{model} x {batch}, {name:?} {operator:?}: {time} below {least}"
                );
            }
        }
    }
}

#[test]
fn operators_have_the_work_that_the_model_says() {
    let soc = [platform(&json!("soc-lpddr5x")).unwrap()];
    let workload = Workload { prompt_tokens: 512, ..Workload::of("llama-3.2-1b") };
    let token = operators(&workload, &soc, &()).unwrap().filter("pass", "token").unwrap();
    let head = token.filter("operator", "lm_head").unwrap();
    // Two operations for each weight, which takes a byte.
    assert_eq!(head.f64("operations").unwrap(), [Some(2.0 * 128_256.0 * 2048.0)]);
    assert_eq!(head.f64("operations_per_byte").unwrap(), [Some(2.0)]);
    let scores = token.filter("operator", "attention_scores").unwrap();
    assert_eq!(scores.f64("operations").unwrap(), [Some(2.0 * 16.0 * 2048.0 * (512.0 + 64.0))]);
    let norms = token.filter("operator", "attention_norm").unwrap();
    assert_eq!(norms.f64("operations_per_byte").unwrap(), [None], "it reads no weights of matrices");
}

/// Layers with a window and experts are the model's, each once, however a study tells of them.
#[expect(clippy::cast_precision_loss, reason = "counts in ratio")]
#[test]
fn operations_of_a_pass_are_the_models_on_every_platform() {
    for model in ["gemma-3-1b", "phi-3-mini", "mixtral-8x7b", "gpt-oss-20b"] {
        let workload = Workload { prompt_tokens: 777, generated_tokens: 33, ..Workload::of(model) };
        let told = operators(&workload, &platforms(), &()).unwrap();
        let texts = ["platform", "pass", "operator"].map(|it| told.text(it).unwrap());
        let [operations, attained, allowed] =
            ["operations", "attained_gops", "allowed_gops"].map(|it| told.f64(it).unwrap());
        let mut sums: BTreeMap<(String, String), f64> = BTreeMap::new();
        let mut before = None;
        for row in 0..told.height() {
            let [Some(platform), Some(pass), Some(operator)] = texts.each_ref().map(|it| it[row].clone())
            else {
                continue;
            };
            if let (Some(attained), Some(allowed)) = (attained[row], allowed[row]) {
                assert!(
                    attained <= allowed * 1.000_001,
                    "{model}, {platform}: {pass} {operator} {attained} of {allowed}"
                );
            }
            // A row for each part of an operator.
            let here = Some((platform.clone(), pass.clone(), operator.clone()));
            if here != before {
                *sums.entry((pass, platform)).or_default() += operations[row].unwrap_or(0.0);
            }
            before = here;
        }
        assert!(!sums.is_empty(), "{model} has no platform");
        let own = Model::named(model).unwrap();
        let reply = Reply { prompt: 777, tokens: NonZeroU64::new(33).unwrap() };
        let prompt = own.prefill_operators(777, Projections::Merged).unwrap();
        let token = own.reply_operators(reply, Projections::Merged).unwrap();
        let whole = |it: &[Operator]| it.iter().map(|it| it.count as f64 * it.operations as f64).sum::<f64>();
        for ((pass, platform), sum) in sums {
            let whole = if pass == "prompt" { whole(&prompt) } else { whole(&token) };
            // Some studies leave out what is not multiplied, such as norms.
            assert!(
                (0.96..1.000_001).contains(&(sum / whole)),
                "{model}, {platform}: {pass} {sum} of {whole}"
            );
        }
    }
}

#[test]
fn a_platform_that_cannot_run_the_model_has_a_row_that_says_why() {
    let npu = [platform(&json!("npu-xdna2")).unwrap()];
    let table = operators(&Workload::of("llama-2-70b"), &npu, &()).unwrap();
    assert_eq!(table.height(), 1);
    assert!(table.text("error").unwrap()[0].as_ref().unwrap().contains("memory"));
}

/// A processor reads weights once, whatever the batch; a PIM command has one vector.
#[test]
fn batches_share_the_weights_where_a_system_can() {
    let names = ["soc-lpddr5x", "phone-cpu", "pimnast", "sherpa-duplicated"];
    let platforms = names.map(|it| platform(&json!(it)).unwrap());
    let of = |batch| {
        let workload =
            Workload { prompt_tokens: 64, generated_tokens: 8, batch, ..Workload::of("llama-3.2-1b") };
        compare(&workload, &platforms, &()).unwrap().f64("token_ns").unwrap()
    };
    let (one, eight) = (of(1), of(8));
    let times = |at: usize| eight[at].unwrap() / one[at].unwrap();
    assert!(times(0) < 1.5, "{} {}", names[0], times(0));
    assert!(times(1) < 4.0, "{} {}", names[1], times(1));
    assert!(times(2) > 3.0 && times(2) < 8.0, "{} {}", names[2], times(2));
    // What the host hands over it hands over once.
    assert!(times(3) > 4.0 && times(3) < 8.0, "{} {}", names[3], times(3));
}

/// Inputs and sums of units at banks cross pins, and take time and energy there.
#[test]
fn what_units_at_banks_need_is_billed() {
    let of = |given: serde_json::Value| {
        let base = json!({ "base": "hermes-pim", "parameters": { "given": given } });
        let workload = Workload { prompt_tokens: 128, generated_tokens: 32, ..Workload::of("llama-2-13b") };
        let table = compare(&workload, &[platform(&base).unwrap()], &()).unwrap();
        assert_eq!(table.text("error").unwrap(), [None]);
        ["token_ns", "energy_j"].map(|it| table.f64(it).unwrap()[0].unwrap())
    };
    let [time, joules] = of(json!({}));
    let [free_time, in_buffer] = of(json!({ "dimm.units": "null" }));
    let [_, free_joules] = of(json!({ "dimm.units.carried_pj_per_bit.value": 0.0 }));
    let [fast_time, _] = of(json!({ "dimm.units.channel_gb_s": 1e6 }));
    assert!(time > 1.02 * free_time && joules > free_joules, "{time} {free_time} {joules} {free_joules}");
    assert!((fast_time / free_time - 1.0).abs() < 1e-3, "{fast_time} {free_time}");
    assert!(in_buffer > joules, "a unit in the buffer reads over pins: {in_buffer} {joules}");
}

/// Each sequence of a batch looks up embeddings of its own.
#[test]
fn embeddings_are_looked_up_for_each_sequence() {
    let embedding = |batch: u32, tokens: u32| {
        let given =
            json!({ "model": "llama-3.2-1b", "format": "fp16", "batch": batch, "prompt_tokens": tokens });
        let costs = study("npu.inference").unwrap().operators(&[given.as_object().unwrap()]).unwrap();
        costs.iter().find(|it| it.operator == "embedding" && it.pass == Pass::Prompt).unwrap().time_ns()
    };
    let (many, one) = (embedding(64, 100), embedding(1, 6400));
    assert!((many / one - 1.0).abs() < 1e-6, "{many} {one}");
}

/// Narrow weights are read as they are stored before they are multiplied wide, by products as by what streams.
#[test]
fn narrow_weights_lower_the_energy_of_a_prompt_on_an_array() {
    for (name, own) in [
        ("mixed.inference", json!({ "keeping": "facil-o", "cache": "in-place" })),
        ("npu.inference", json!({ "precision": "int8-int8" })),
    ] {
        let of = |format: &str, tokens: u64| {
            let mut given = own.as_object().unwrap().clone();
            let asked = json!({ "model": "llama-3.2-1b", "prompt_tokens": tokens, "generated_tokens": 1, "format": format });
            given.extend(asked.as_object().unwrap().clone());
            let row = study(name).unwrap().run(&given).unwrap();
            let of = |name: &str| row.iter().find(|it| it.0 == name).unwrap().1.as_f64().unwrap();
            [of("energy_low_j") - of("token_energy_low_j"), of("energy_high_j") - of("token_energy_high_j")]
        };
        let (wide, narrow) = (of("int8", 64), of("int4", 64));
        assert!(narrow.iter().zip(wide).all(|(it, wide)| *it < 0.7 * wide), "{name}: {narrow:?} {wide:?}");
        let (wide, narrow) = (of("int8", 512), of("int4", 512));
        assert!(narrow.iter().zip(wide).all(|(it, wide)| *it < 0.95 * wide), "{name}: {narrow:?} {wide:?}");
    }
}

/// Rows of quantised weights are whole blocks.
#[test]
fn rows_of_blocks_are_padded() {
    let bytes = |k: u32| {
        let given = json!({ "m": 4096, "k": k, "n": 1, "format": "q4_0" });
        let row = study("riscv.gemm").unwrap().run(given.as_object().unwrap()).unwrap();
        row.iter().find(|it| it.0 == "memory_bytes").unwrap().1.as_u64().unwrap()
    };
    // 18 bytes of 32 weights; unpacked weights, inputs and results have four each.
    let of = |k: u64, blocks: u64| 4096 * blocks * 18 + 4 * (4096 * k + k + 4096);
    assert_eq!([bytes(32), bytes(33), bytes(64)], [of(32, 1), of(33, 2), of(64, 2)]);
}
