//! What holds for every system, whichever are registered.

use std::collections::BTreeSet;

use memscape_explore::{DynStudy, Parameters, Space, Sweep, Uncertainty, uncertainty};
use memscape_study::Grade;
use memscape_systems::{registry, studies, study};
use rayon::prelude::*;
use serde_json::{Value, json};

fn parameters(value: &Value) -> Parameters {
    value.as_object().unwrap().clone()
}

/// Every registered study describes itself, and answers at its defaults.
#[test]
fn every_study_holds_together() {
    for study in studies() {
        let description = study.describe();
        assert!(!description.parameters.is_empty() && !description.columns.is_empty(), "{}", study.name());
        for it in &description.parameters {
            assert!(!it.meaning.is_empty(), "{}: `{}` has no doc comment", study.name(), it.path);
        }
        for it in &description.columns {
            assert!(!it.meaning.is_empty(), "{}: column `{}` has no doc comment", study.name(), it.name);
        }
        study.run(&Parameters::new()).unwrap_or_else(|it| panic!("{}: {it}", study.name()));
        // Each default is a value that can be given.
        let defaults = description.parameters.iter().map(|it| (it.path.clone(), it.default.clone()));
        study.run(&defaults.collect()).unwrap_or_else(|it| panic!("{}: {it}", study.name()));
    }
}

#[test]
fn parts_sum_to_the_whole() {
    for study in studies() {
        let row = study.run(&Parameters::new()).unwrap();
        let value = |column: &str| {
            let found = row.iter().find(|it| it.0 == column);
            found.unwrap_or_else(|| panic!("{}: no column `{column}`", study.name())).1.as_f64()
        };
        for (whole, parts) in study.sums() {
            let Some(total) = value(whole) else {
                assert!(parts.iter().all(|it| value(it).is_none()), "{}: parts of no {whole}", study.name());
                continue;
            };
            let sum: f64 = parts.iter().map(|it| value(it).unwrap()).sum();
            let off = (sum - total).abs();
            assert!(
                off <= 1e-9 * total.abs().max(1e-9),
                "{}: {whole} is {total}, its parts {sum}",
                study.name()
            );
        }
    }
}

/// One vocabulary: the headline columns stand in every `*.inference` study.
#[test]
fn every_inference_answers_the_same_columns() {
    let headline = [
        "ttft_s",
        "token_ns",
        "prompt_tokens_per_s",
        "generation_tokens_per_s",
        "total_s",
        "tokens_per_s",
        "memory_bytes",
        "memory_limit_bytes",
        "bound_by",
        "energy_j",
        "energy_low_j",
        "energy_high_j",
        "energy_boundary",
        "energy_grade",
        "energy_activate_j",
        "energy_access_j",
        "energy_io_j",
        "energy_compute_j",
        "energy_link_j",
        "energy_refresh_j",
        "energy_standby_j",
        "energy_per_token_j",
        "token_energy_j",
        "token_energy_low_j",
        "token_energy_high_j",
        "low_tokens_per_j",
        "high_tokens_per_j",
        "energy_package_limit_j",
        "cost_usd",
        "low_tokens_per_usd",
        "high_tokens_per_usd",
    ];
    let workload = ["model", "format", "prompt_tokens", "generated_tokens", "batch"];
    let mut found = 0;
    let platforms: Vec<&str> = registry()
        .presets()
        .filter(|it| it.0 == "platform")
        .filter_map(|it| it.1.parameters["study"].as_str())
        .collect();
    let answers = |it: &&dyn DynStudy| it.name().ends_with(".inference") || platforms.contains(&it.name());
    for study in studies().filter(answers) {
        let description = study.describe();
        let columns: Vec<&str> = description.columns.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(columns[..headline.len()], headline, "{}", study.name());
        for name in workload {
            assert!(description.parameters.iter().any(|it| it.path == name), "{}: `{name}`", study.name());
        }
        found += 1;
    }
    assert!(found >= 5, "{found}");
}

/// Each slot takes a name, a file and a table, and says what is wrong with others.
#[test]
fn every_slot_takes_a_description_of_ones_own() {
    let folder = tempfile::tempdir().unwrap();
    // The predictor walks every token for seconds; its slots are ndp.inference's.
    for study in studies().filter(|it| it.name() != "ndp.predictor") {
        let expected = study.run(&Parameters::new()).unwrap();
        for slot in study.slots() {
            let run = |value: Value| study.run(&Parameters::from_iter([(slot.path.to_owned(), value)]));
            let context = format!("{}: {}", study.name(), slot.path);
            if slot.catalog.takes().extensions.contains(&"toml") {
                let path = folder.path().join(format!("{}.toml", slot.path));
                std::fs::write(&path, format!("base = {:?}\n[parameters]\n", slot.default)).unwrap();
                let answer =
                    run(json!(path.to_str().unwrap())).unwrap_or_else(|it| panic!("{context}: {it}"));
                assert_eq!(answer, expected, "{context}");
                let inline = json!({ "base": slot.default, "parameters": {} });
                assert_eq!(run(inline).unwrap(), expected, "{context}");
            }
            let error = run(json!("no-such-thing")).unwrap_err().to_string();
            assert!(
                error.contains("there is no ") && error.contains("`no-such-thing`"),
                "{context}: {error}"
            );
            let missing = format!("missing.{}", slot.catalog.takes().extensions[0]);
            let error = run(json!(missing)).unwrap_err().to_string();
            assert!(error.contains("there is no such file"), "{context}: {error}");
        }
    }
}

/// What a study takes can be listed and described.
#[test]
fn every_catalog_of_a_slot_is_registered_under_a_name_of_its_own() {
    let named = registry().catalog_names();
    let distinct: BTreeSet<&str> = named.iter().map(|it| it.0.as_str()).collect();
    assert_eq!(distinct.len(), named.len(), "{distinct:?}");
    let of_systems = registry().systems().iter().flat_map(|it| it.catalogs.iter().copied());
    let of_slots = studies().flat_map(|it| it.slots().iter().map(|slot| slot.catalog));
    for catalog in of_systems.chain(of_slots) {
        let its = named.iter().filter(|it| it.1.is(catalog)).count();
        assert_eq!(its, 1, "{} of {}", catalog.kind(), catalog.presets()[0].name);
    }
}

/// A number that is known within a factor has its grade twice: for what is computed from it, and in its source.
#[test]
fn numbers_and_their_sources_say_one_grade() {
    let mut found = BTreeSet::new();
    for slot in studies().flat_map(|it| it.slots().iter()) {
        for preset in slot.catalog.presets() {
            for (path, grade) in grades("", &preset.parameters) {
                let said = preset.grade(&path).map(Grade::name);
                assert_eq!(said, Some(grade.as_str()), "{}: `{path}`", preset.name);
                found.insert((preset.name.clone(), path));
            }
        }
    }
    assert!(found.len() > 50, "{}", found.len());
}

fn grades(prefix: &str, value: &Value) -> Vec<(String, String)> {
    let Some(table) = value.as_object() else { return Vec::new() };
    let graded = table.get("within").and(table.get("grade")).and_then(Value::as_str);
    let own = graded.map(|it| (format!("{prefix}grade"), it.to_owned()));
    let below = table.iter().flat_map(|(key, it)| grades(&format!("{prefix}{key}."), it));
    own.into_iter().chain(below).collect()
}

const TINY: &str = r#"{
    "model_type": "llama", "hidden_size": 1024, "num_hidden_layers": 4, "num_attention_heads": 16,
    "num_key_value_heads": 4, "intermediate_size": 4096, "vocab_size": 32000, "tie_word_embeddings": true
}"#;

#[test]
fn a_config_json_is_a_model_of_every_study() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.json");
    std::fs::write(&path, TINY).unwrap();
    let path = path.to_str().unwrap();
    let inline: Value = serde_json::from_str(TINY).unwrap();
    let mut asked = 0;
    for study in studies().filter(|it| it.slots().iter().any(|it| it.path == "model")) {
        let run = |value: &Value| study.run(&Parameters::from_iter([("model".to_owned(), value.clone())]));
        let answer = run(&json!(path)).unwrap_or_else(|it| panic!("{}: {it}", study.name()));
        assert_eq!(answer, run(&inline).unwrap(), "{}", study.name());
        // On an axis, beside a built-in one.
        let table =
            study.sweep(&Sweep::default().axis("model", [json!("opt-125m"), json!(path)]), &()).unwrap();
        assert_eq!(table.text("error").unwrap()[1], None, "{}", study.name());
        asked += 1;
    }
    assert!(asked >= 12, "{asked}");
}

#[test]
fn a_field_of_a_model_can_be_changed_and_swept() {
    let study = study("pim.gemv").unwrap();
    let run = |value: Value| study.run(&parameters(&value));
    let wider = run(json!({ "model": "opt-125m", "model.ffn_size": 4096, "gemv": "fc1" })).unwrap();
    assert_eq!(wider.iter().find(|it| it.0 == "rows").unwrap().1, json!(4096));
    let sweep = Sweep::of(parameters(&json!({ "model": "opt-125m", "gemv": "fc1" })))
        .axis("model.ffn_size", [2048, 4096]);
    assert_eq!(study.sweep(&sweep, &()).unwrap().f64("rows").unwrap(), [Some(2048.0), Some(4096.0)]);
    let error = run(json!({ "model.layer": 3 })).unwrap_err().to_string();
    assert_eq!(error, "there is no parameter `model.layer`; did you mean `model.layers`?");
    // What another slot takes, or another word for how many.
    let inference = studies().find(|it| it.name() == "ndp.inference").unwrap();
    let error = |value: Value| inference.run(&parameters(&value)).unwrap_err().to_string();
    let told = error(json!({ "hardware": "rtx-4090" }));
    assert_eq!(told, "`hardware` = \"rtx-4090\": there is no ndp-machine `rtx-4090`; `gpu` takes that name");
    assert_eq!(
        error(json!({ "dimm_count": 4 })),
        "there is no parameter `dimm_count`; did you mean `dimms`?"
    );
    let error = run(json!({ "model.heads": 7 })).unwrap_err().to_string();
    assert_eq!(error, "`model.heads` = 7: `kv_heads` is 32; it must be from 1 to 7");
}

#[test]
fn a_table_and_a_name_merge() {
    let study = study("pim.gemv").unwrap();
    let expected =
        study.run(&parameters(&json!({ "memory": "lpddr5x-8533", "memory.channels": 16 }))).unwrap();
    let layers = [json!({ "memory": { "channels": 16 } }), json!({ "memory": "lpddr5x-8533" })];
    let layers: Vec<Parameters> = layers.iter().map(parameters).collect();
    assert_eq!(study.run_layers(&layers.iter().collect::<Vec<_>>()).unwrap(), expected);
    let below = Sweep::of(layers[0].clone()).axis("memory", ["lpddr5x-7500", "lpddr5x-8533"]);
    let table = study.sweep(&below, &()).unwrap();
    let time = expected.iter().find(|it| it.0 == "time_ns").unwrap().1.as_f64();
    assert_eq!(table.f64("time_ns").unwrap()[1], time);
}

#[test]
fn one_name_is_suggested_wherever_one_asks() {
    let nearest = "did you mean `opt-6.7b`?";
    let error = registry().preset("opt-6.6b").unwrap_err().to_string();
    assert!(error.contains(nearest), "{error}");
    let model = json!({ "model": "opt-6.6b" });
    for study in studies().filter(|it| it.slots().iter().any(|it| it.path == "model")) {
        let error = study.run(&parameters(&model)).unwrap_err().to_string();
        assert!(error.contains(nearest), "{}: {error}", study.name());
    }
}

#[test]
fn every_preset_has_a_source_for_every_number() {
    fn numbers(path: &str, value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(entries) => entries.iter().for_each(|(key, value)| {
                numbers(&if path.is_empty() { key.clone() } else { format!("{path}.{key}") }, value, found);
            }),
            Value::Number(_) => found.push(path.to_owned()),
            _ => (),
        }
    }
    let mut all = 0;
    for (kind, preset) in registry().presets() {
        let mut paths = Vec::new();
        numbers("", &preset.parameters, &mut paths);
        for path in &paths {
            assert!(preset.source(path).is_some(), "{kind} {}: `{path}`", preset.name);
        }
        all += paths.len();
    }
    assert!(all > 1000, "{all}");
}

/// Whoever has times tells them in each of its forms.
#[test]
fn every_timeline_can_be_written() {
    let mut told = 0;
    for study in studies() {
        for (form, _) in study.traces() {
            let mut out = Vec::new();
            match study.trace(&[&small(study.name())], form, &mut out) {
                Ok(()) => assert!(!out.is_empty(), "{} as {form}", study.name()),
                Err(error) => panic!("{} as {form}: {error}", study.name()),
            }
            told += 1;
        }
    }
    assert!(told >= 14, "{told}");
}

/// A question whose timeline is short.
fn small(study: &str) -> Parameters {
    parameters(&match study {
        "pim.gemv" => json!({ "m": 64, "k": 128 }),
        "ndp.inference" => json!({ "model": "opt-1.3b", "engine": "events", "generated_tokens": 2 }),
        _ => json!({}),
    })
}

/// What is known of energy has two ends and a boundary; rated powers are a limit beside it.
#[test]
fn every_platform_says_what_is_known_of_its_energy() {
    use memscape_systems::compare::{Workload, compare, platforms};
    let workload = Workload { prompt_tokens: 64, generated_tokens: 16, ..Workload::of("llama-3.2-1b") };
    let table = compare(&workload, &platforms(), &()).unwrap();
    let floats = |name: &str| match table.column(name).unwrap() {
        memscape_explore::Column::Float(it) => it,
        other => panic!("{name}: {other:?}"),
    };
    let [low, energy, high] = ["energy_low_j", "energy_j", "energy_high_j"].map(floats);
    let [limit, total] = ["energy_package_limit_j", "total_s"].map(floats);
    let per_joule = floats("low_tokens_per_j");
    let of_token = ["token_energy_low_j", "token_energy_j", "token_energy_high_j"].map(floats);
    let [names, boundaries, grades] =
        ["platform", "energy_boundary", "energy_grade"].map(|it| table.text(it).unwrap());
    let mut known = 0;
    for row in 0..table.height() {
        let name = names[row].as_deref().unwrap();
        let Some(total) = total[row] else { continue };
        if name == "a100-five" {
            assert_eq!(energy[row], None, "no source says what memory on boards takes");
            assert!((limit[row].unwrap() / (5.0 * 400.0 * total) - 1.0).abs() < 1e-9);
            continue;
        }
        let known_energy = |it: &Vec<Option<f64>>| {
            it[row].unwrap_or_else(|| panic!("{name} has no energy; where no source gives any, say so above"))
        };
        let [low, energy, high] = [&low, &energy, &high].map(known_energy);
        assert!(low <= energy && energy <= high, "{name}");
        // The prompt takes the rest.
        let whole = of_token.each_ref().map(|it| it[row].unwrap() * 16.0);
        for (reply, all) in whole.into_iter().zip([low, energy, high]) {
            assert!(0.0 < reply && reply < all, "{name}: {reply} of {all}");
        }
        // No memory of these machines takes more than some watts for each channel.
        assert!((0.01..100.0).contains(&(energy / total)), "{name}: {} W", energy / total);
        // Boards have memory of their own, of which nothing is known.
        let beside_a_board = boundaries[row].as_deref() == Some("modules");
        assert!(
            beside_a_board || boundaries[row].as_deref() == Some("device"),
            "{name}: {:?}",
            boundaries[row]
        );
        assert_eq!(per_joule[row].is_none(), beside_a_board, "{name}");
        assert!(grades[row].is_some(), "{name}");
        known += 1;
    }
    assert!(known >= 10, "{known}");
}

/// Energy stands in a table that a memory may lack, and its numbers are hardly known.
#[test]
fn what_commands_take_is_in_doubt() {
    for name in ["pim.inference", "npu.inference", "riscv.inference"] {
        let question = Uncertainty { of: vec!["energy_per_token_j".to_owned()], ..Uncertainty::default() };
        let table = uncertainty(study(name).unwrap(), &[], &Space::default(), &question, &()).unwrap();
        let of = |column: &str| table.f64(column).unwrap()[0].unwrap();
        assert!(of("from_priors") > 0.1 * of("value"), "{name}: {table:?}");
        assert!(of("low") < of("value") && of("value") < of("high"), "{name}: {table:?}");
    }
}

/// A number that is said to be known is not drawn, one that may be farther off spreads more.
#[test]
fn a_given_factor_is_how_far_a_number_may_be_off() {
    let tables = [
        "activate_pj_per_bit",
        "read_pj_per_bit",
        "write_pj_per_bit",
        "io_pj_per_bit",
        "refresh_nj_per_gbit",
        "standby_mw",
    ];
    let study = study("cxl.inference").unwrap();
    let of_energy = |of: Vec<String>, within: f64, space: &Space| {
        let path = |it: &&str| format!("expander.memory.energy.{it}.within");
        let base: Parameters = tables.iter().map(|it| (path(it), json!(within))).collect();
        let question = Uncertainty { of, draws: 40, ..Uncertainty::default() };
        uncertainty(study, &[base], space, &question, &())
    };
    let [known, near, far] = [1.0, 1.5, 3.0].map(|within| {
        let table = of_energy(vec!["energy_j".to_owned()], within, &Space::default()).unwrap();
        table.f64("from_priors").unwrap()[0].unwrap()
    });
    assert!(known == 0.0 && 0.0 < near && 2.0 * near < far, "{known} {near} {far}");
    let axis = Space::default().axis("expander.memory.energy.read_pj_per_bit.within", [1.0, 2.0]);
    let swept = of_energy(vec!["energy_j".to_owned()], 1.0, &axis).unwrap().f64("from_priors").unwrap();
    assert!(swept[0] == Some(0.0) && swept[1] > Some(0.0), "{swept:?}");
    let all = of_energy(Vec::new(), 1.5, &Space::default()).unwrap().text("of").unwrap();
    let has = |name: &str| all.iter().flatten().any(|it| it == name);
    assert!(has("energy_j") && !has("energy_low_j") && !has("token_energy_high_j"), "{all:?}");
}

/// An axis in such a table gives what its values do by themselves, and refuses what they refuse.
#[test]
fn a_table_that_may_be_missing_can_be_swept_into() {
    let study = study("npu.inference").unwrap();
    let path = "device.dram.energy.access_pj_per_bit.value";
    let swept =
        study.sweep(&Sweep::default().axis(path, vec![json!(3.0), json!(30.0), json!(-1.0)]), &()).unwrap();
    for (row, value) in [3.0, 30.0].into_iter().enumerate() {
        let alone = study.run(&parameters(&json!({ path: value }))).unwrap();
        let energy = alone.iter().find(|it| it.0 == "energy_j").unwrap().1.as_f64();
        assert_eq!(swept.f64("energy_j").unwrap()[row], energy);
    }
    let error = study.run(&parameters(&json!({ path: -1.0 }))).unwrap_err().to_string();
    assert_eq!(swept.text("error").unwrap()[2].as_deref(), Some(error.as_str()));
}

/// What else a number may be is itself possible.
#[test]
fn what_is_drawn_has_an_answer() {
    for study in studies().filter(|it| !it.laws().slow) {
        let Some(aim) = study.laws().aim else { continue };
        let question = Uncertainty { of: vec![aim.column.to_owned()], draws: 40, seed: 1 };
        let table = uncertainty(study, &[], &Space::default(), &question, &()).unwrap();
        let of = |column: &str| table.f64(column).unwrap()[0].unwrap();
        let is_sure = of("low").to_bits() == of("high").to_bits();
        assert!(is_sure || of("draws") > 39.5, "{}: {table:?}", study.name());
    }
}

/// What a memory takes of energy may be unknown, whatever else of it no answer depends on.
#[test]
fn a_memory_without_figures_of_energy_has_an_answer_without() {
    for (name, path) in [
        ("cxl.inference", "expander.memory.energy"),
        ("ndp.inference", "dimm.memory.energy"),
        ("ondevice.inference", "memory.energy"),
        ("riscv.inference", "memory.energy"),
    ] {
        let answer = study(name).unwrap().run(&parameters(&json!({ path: null }))).unwrap();
        let energy = &answer.iter().find(|it| it.0 == "energy_j").unwrap().1;
        assert_eq!(energy, &serde_json::Value::Null, "{name}");
    }
}

/// What is refused at one point for another reason says nothing of readings at others.
#[test]
fn readings_are_drawn_where_any_point_has_them() {
    let study = study("ndp.inference").unwrap();
    let given = [Parameters::from_iter([("model".to_owned(), json!("opt-13b"))])];
    let question = Uncertainty { of: vec!["tokens_per_s".to_owned()], draws: 20, seed: 0 };
    let draws = |dimms: &[u32]| {
        let space = Space::default().axis("dimms", dimms.iter().copied());
        let table = uncertainty(study, &given, &space, &question, &()).unwrap();
        table.f64("draws").unwrap().pop().flatten().unwrap()
    };
    assert_eq!(draws(&[5000, 8]).to_bits(), draws(&[8]).to_bits());
}

/// Stages of models keep what they found for the next point, which nobody can see.
#[test]
fn what_stages_keep_changes_no_answer() {
    // At its defaults a phone is slow only where its engine walks, and it keeps a token's GEMVs.
    for study in studies().filter(|it| !it.laws().slow || it.name().starts_with("ondevice.")) {
        for it in &study.describe().parameters {
            let more = match (it.default.as_u64(), it.default.as_f64()) {
                (Some(default), _) => json!(2 * default),
                (_, Some(default)) => json!(1.5 * default),
                _ => continue,
            };
            let given = Parameters::from_iter([(it.path.clone(), more)]);
            let ask = || study.run(&given).map_err(|it| it.to_string());
            let elsewhere = std::thread::scope(|scope| scope.spawn(ask).join().unwrap());
            assert_eq!(ask(), elsewhere, "{} {}", study.name(), it.path);
        }
    }
}

#[test]
fn what_a_machine_of_several_parts_has_of_calibrated_numbers_is_drawn() {
    for hardware in ["xdna-lpddr5x-pim", "xdna2-lpddr5x-pim"] {
        let given = Parameters::from_iter([
            ("hardware".to_owned(), json!(hardware)),
            ("model".to_owned(), json!("opt-125m")),
            ("prompt_tokens".to_owned(), json!(128)),
        ]);
        let question = Uncertainty { of: vec!["ttft_s".to_owned()], draws: 20, seed: 1 };
        let study = study("mixed.inference").unwrap();
        let table = uncertainty(study, &[given], &Space::default(), &question, &()).unwrap();
        assert!(table.f64("from_calibration").unwrap()[0].unwrap() > 0.0, "{hardware}: {table:?}");
    }
}

#[test]
fn a_sum_over_gpus_takes_hops() {
    let token = |model: &str, gpus: u64| {
        let given = [
            ("system", json!("tensorrt-llm")),
            ("gpu", json!("a100-40gb")),
            ("gpus", json!(gpus)),
            ("model", json!(model)),
        ];
        let given = given.map(|(path, value)| (path.to_owned(), value)).into_iter().collect();
        let row = study("ndp.inference").unwrap().run(&given).unwrap();
        let of = |name: &str| row.iter().find(|it| it.0 == name).unwrap().1.clone();
        (of("token_ns").as_f64().unwrap(), of("communication_ns").as_f64().unwrap(), of("bound_by"))
    };
    let (one, five, many) = (token("llama-3.2-1b", 1), token("llama-3.2-1b", 5), token("llama-3.2-1b", 64));
    assert!(one.1 == 0.0 && five.1 > 0.0, "one GPU tells nobody");
    assert!(many.0 > five.0 && many.2 == json!("synchronisation"), "{many:?}");
    assert!(token("llama-2-70b", 8).0 < token("llama-2-70b", 5).0, "a large model gains");
}

#[test]
fn a_prompt_is_not_read_faster_than_it_is_stored() {
    // Units beside banks add up numbers of 32 bits in no less.
    for (study_name, sums) in
        [("npu.inference", None), ("mixed.inference", Some(("pim.pim.sum_bits", json!(32))))]
    {
        let ttft = |format: &str| {
            let given =
                [("model", json!("llama-3.2-1b")), ("prompt_tokens", json!(1)), ("format", json!(format))];
            let given =
                given.into_iter().chain(sums.clone()).map(|(path, value)| (path.to_owned(), value)).collect();
            let row = study(study_name).unwrap().run(&given).unwrap();
            row.iter().find(|it| it.0 == "ttft_s").unwrap().1.as_f64().unwrap()
        };
        // 4.9 GB over 15.8 GB/s, whatever they are multiplied as.
        let (half, whole) = (ttft("fp16"), ttft("fp32"));
        assert!(whole > 0.31 && half > 0.155 && whole > 1.5 * half, "{study_name}: {half} {whole}");
    }
}

#[test]
fn a_row_that_waits_for_the_last_is_not_all_there_is() {
    let parts = |trc: f64| {
        let given = Parameters::from_iter([("memory.trc_ns".to_owned(), json!(trc))]);
        let row = study("pim.gemv").unwrap().run(&given).unwrap();
        ["mac_ns", "row_open_ns", "time_ns"]
            .map(|it| row.iter().find(|of| of.0 == it).unwrap().1.as_f64().unwrap())
    };
    let (below, at) = (parts(63.0), parts(64.0));
    assert!(
        (at[0] / below[0] - 1.0).abs() < 0.02 && (at[1] / below[1] - 1.0).abs() < 0.05,
        "{below:?} {at:?}"
    );
    // What waits is still told.
    let waiting = parts(2000.0);
    assert!(waiting[2] > at[2] && waiting[1] > 0.5 * (waiting[2] - at[2]), "{waiting:?}");
}

/// A number that a study answers.
fn number(name: &str, column: &str, given: &Value) -> f64 {
    let row = study(name).unwrap().run(&parameters(given)).unwrap();
    row.iter().find(|it| it.0 == column).unwrap().1.as_f64().unwrap()
}

#[test]
fn an_array_streams_no_faster_than_its_interface_tiles() {
    // Four columns of two channels, each four bytes a cycle.
    let bytes = |given: Value, gb_s: f64| number("npu.inference", "weights_ns", &given) * gb_s;
    let slow = bytes(json!({ "device.clock_mhz": 100 }), 3.2);
    let narrow = bytes(json!({ "device.dma_bytes_per_cycle": 1 }), 8.0);
    assert!((slow / narrow - 1.0).abs() < 1e-9 && slow > 0.6e9, "{slow} {narrow}");
}

#[test]
fn weights_wider_than_they_are_multiplied_are_read_for_each_row_of_blocks() {
    let weights = |format: &str| {
        let given = json!({ "design": "xdna2-int8-int8", "format": format });
        number("npu.inference", "prompt_weights_s", &given)
    };
    // Four rows of blocks, and the head once.
    assert!(
        weights("fp32") > (973.1e6 * 4.0 * 4.0 + 1.05e9) / 50e9 && weights("fp32") > 2.0 * weights("int8")
    );
}

#[test]
fn attention_is_as_fast_as_keys_and_values_are_wide() {
    let prompt = |format: &str, kv_bits: u32, tokens: u64| {
        let given = json!({
            "system": "soc", "model": "llama-3.2-1b", "format": format, "kv_bits": kv_bits, "prompt_tokens": tokens,
        });
        number("pim.inference", "ttft_s", &given)
    };
    // What grows with the square of the prompt is attention, whatever weights are stored as.
    let squares =
        |format: &str, kv_bits: u32| prompt(format, kv_bits, 100_000) - 2.0 * prompt(format, kv_bits, 50_000);
    let (narrow, wide) = (squares("int4", 16), squares("fp16", 16));
    assert!((narrow / wide - 1.0).abs() < 0.01, "{narrow} {wide}");
    assert!((squares("int4", 8) / narrow - 0.5).abs() < 0.01);
}

#[test]
fn a_head_on_pim_takes_the_rows_that_it_is_placed_in() {
    let bytes = |head: &str| {
        let given = json!({
            "lm_head": head, "model": "opt-125m", "memory.channels": 64, "memory.banks_per_channel": 64,
        });
        number("pim.inference", "memory_bytes", &given)
    };
    assert!(bytes("pim") > bytes("soc") + 10e6);
}

#[test]
fn a_gpu_holds_no_more_than_fits_whatever_share_is_asked_for() {
    let ttft = |share: Value| number("ndp.inference", "ttft_s", &json!({ "hot_share": share }));
    assert!((ttft(json!(1.0)) - ttft(Value::Null)).abs() < 1e-12 && ttft(json!(0.01)) >= ttft(json!(1.0)));
    let small = parameters(&json!({ "hot_share": 1.0, "gpu.memory_gb": 0.001 }));
    let error = study("ndp.inference").unwrap().run(&small).unwrap_err().to_string();
    assert!(error.contains("but the GPU can hold 0.00 GB"), "{error}");
}

#[test]
fn a_prompt_is_no_faster_than_its_kernels_are_launched() {
    for system in ["hermes", "accelerate", "tensorrt-llm"] {
        let given = json!({
            "system": system, "model": "opt-125m", "prompt_tokens": 1, "generated_tokens": 1,
            "overhead.launch_us": 1000, "gpus": 1,
        });
        assert!(number("ndp.inference", "ttft_s", &given) > 0.072 - 1e-9, "{system}");
    }
}

#[test]
fn weights_of_a_product_come_from_memory_once() {
    let product = |changes: Value| {
        let mut given = json!({ "m": 16384, "k": 8192, "n": 1, "threads": 64, "method": "listing" });
        given.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        number("riscv.gemm", "time_ns", &given)
    };
    // 512 MiB over 12.8 GB/s.
    assert!(product(json!({ "memory": "lpddr5-6400" })) > 41.9e6);
    assert!(product(json!({ "memory.data_rate_mt_s": 100 })) > 10.0 * product(json!({})));
    // What caches hold is not read again for each column.
    let columns = |n: u64| {
        number("riscv.gemm", "memory_ns", &json!({ "method": "openblas-gemv", "m": 256, "k": 256, "n": n }))
    };
    assert!((columns(16) / columns(1) - 1.0).abs() < 1e-9);
    let bound = parameters(&json!({
        "m": 131_072, "k": 98_304, "n": 1, "threads": 8, "policy": "bind-cores-memory", "bind_nodes": 1,
        "method": "openblas-gemv",
    }));
    assert!(study("riscv.gemm").unwrap().run(&bound).is_err(), "51.5 GB in a node of 34.4 GB");
}

#[test]
fn a_token_that_waits_for_memory_on_either_side_is_bound_by_it() {
    for (name, given) in [("pim.inference", json!({ "model": "opt-125m" })), ("mixed.inference", json!({}))] {
        let row = study(name).unwrap().run(&parameters(&given)).unwrap();
        assert_eq!(row.iter().find(|it| it.0 == "bound_by").unwrap().1, "dram-bandwidth", "{name}");
    }
}

#[test]
fn a_format_without_a_layout_on_pim_is_refused_wherever_there_is_one() {
    for name in ["ondevice.prefill", "ondevice.capacity", "ondevice.layout", "ondevice.inference"] {
        let error = study(name).unwrap().run(&parameters(&json!({ "format": "q4_0" }))).unwrap_err();
        assert!(error.to_string().contains("so use fp32, bf16, fp16, int8 or int4"), "{name}: {error}");
    }
    let cached = json!({ "format": "q4_0", "scheme": "cacheable-gemm" });
    assert!(number("ondevice.capacity", "total_bytes", &cached) > 0.0);
}

/// A refusal names what can be changed: no timing of a description that the study says is none of its parameters.
#[test]
fn a_refusal_names_parameters_alone() {
    let mut refused = 0;
    for study in studies() {
        let parameters = study.describe().parameters;
        let times = parameters.iter().filter(|it| it.path.ends_with("_ns"));
        let changes = times.flat_map(|it| {
            let now = it.default.as_f64().filter(|now| *now > 0.0);
            now.into_iter().flat_map(|now| [0.2, 5.0].map(|by| (it.path.clone(), json!(now * by))))
        });
        for (path, value) in changes {
            let Err(error) = study.run(&Parameters::from_iter([(path.clone(), value)])) else { continue };
            let error = error.to_string();
            refused += 1;
            let words = error.split(|it: char| !it.is_ascii_alphanumeric() && !"_.".contains(it));
            for word in words.filter(|it| it.ends_with("_ns")) {
                let is_one = |it: &memscape_explore::Parameter| {
                    it.path == word || it.path.ends_with(&format!(".{word}"))
                };
                assert!(
                    parameters.iter().any(is_one),
                    "{}: `{path}`: {error}: `{word}` is declared `unused`, so that no rule may ask it (`Dram::easing`)",
                    study.name()
                );
            }
        }
    }
    assert!(refused > 10, "{refused} refusals");
}

/// A memory's timings can be swept alone where nothing depends on those that they would contradict.
#[test]
fn a_timing_is_swept_without_those_that_nothing_depends_on() {
    let with = |name: &str, path: &str, ns: f64| number(name, "tokens_per_s", &json!({ path: ns }));
    // A longer precharge than all banks' of the preset, a shorter window than four of its activates.
    assert!(with("riscv.inference", "memory.trp_ns", 30.0) < with("riscv.inference", "memory.trp_ns", 13.75));
    assert!(with("pim.inference", "memory.tfaw_ns", 8.0) >= with("pim.inference", "memory.tfaw_ns", 20.0));
    assert!(
        with("ondevice.inference", "memory.tfaw_ns", 8.0)
            >= with("ondevice.inference", "memory.tfaw_ns", 20.0)
    );
    assert!(
        with("cxl.inference", "expander.memory.trefi_ns", 380.0)
            < with("cxl.inference", "expander.memory.trefi_ns", 7800.0)
    );
}

/// Embeddings narrower than the layers save a little of the head, and cost two projections of more weights, wherever a
/// model runs.
#[test]
fn embeddings_of_another_width_are_projected_everywhere() {
    let asked = studies().filter(|it| it.name().ends_with(".inference")).flat_map(|it| {
        let given = match it.name() {
            "ondevice.inference" => vec![json!({ "format": "bf16" })],
            "ndp.inference" => ["hermes", "tensorrt-llm"].map(|it| json!({ "system": it })).to_vec(),
            // The head of others is of Q6_K, which takes longer than the Q8_0 of rows that are no multiple of 256.
            "riscv.inference" => vec![json!({ "format": "q8_0", "kernel": "default" })],
            _ => vec![json!({})],
        };
        given.into_iter().map(|given| (it.name(), given))
    });
    for (name, mut given) in asked {
        let mut token_ns = |width: u32| {
            let model = json!({ "model": "llama-3.2-1b", "model.embedding_size": width });
            given.as_object_mut().unwrap().extend(model.as_object().unwrap().clone());
            given["prompt_tokens"] = json!(16);
            given["generated_tokens"] = json!(16);
            number(name, "token_ns", &given)
        };
        assert!(token_ns(2016) > token_ns(2048), "{name} {given}");
    }
}

/// As a store has it, and as a language has it that knows one kind of number.
#[test]
fn a_whole_number_is_the_same_with_a_point() {
    // A partition takes a second.
    let slow = |it: &&dyn DynStudy| ["ndp.partition", "ndp.predictor"].contains(&it.name());
    let asked: Vec<&dyn DynStudy> = studies().filter(|it| !slow(it)).collect();
    let unlike = |study: &dyn DynStudy| -> (usize, Vec<String>) {
        let parameters = study.describe().parameters;
        let whole: Vec<_> = parameters.iter().filter(|it| it.allowed.contains("whole number")).collect();
        let differs = |path: &str| {
            let at =
                |value: Value| study.run_layers(&[&Parameters::from_iter([(path.to_owned(), value)])]).ok();
            at(json!(4)) != at(json!(4.0))
        };
        let unlike = whole.iter().filter(|it| differs(&it.path));
        (whole.len(), unlike.map(|it| format!("{} {}", study.name(), it.path)).collect())
    };
    let all: Vec<_> = asked.into_par_iter().map(unlike).collect();
    let unlike: Vec<&String> = all.iter().flat_map(|it| &it.1).collect();
    assert!(unlike.is_empty(), "{unlike:?}");
    assert!(all.iter().map(|it| it.0).sum::<usize>() > 300);
}

/// What two papers' fits leave open does not go together.
#[test]
fn fits_are_drawn_independently() {
    let study = study("mixed.inference").unwrap();
    // Designs of one core are few.
    let asked = json!({ "model": "opt-125m", "prompt_tokens": 64, "generated_tokens": 16, "npu.rows": 1, "npu.columns": 1 });
    let base = parameters(&asked);
    let half = |of: String| {
        let question = Uncertainty { of: vec![of], draws: 400, ..Uncertainty::default() };
        let table =
            uncertainty(study, std::slice::from_ref(&base), &Space::default(), &question, &()).unwrap();
        table.f64("from_calibration").unwrap()[0].unwrap()
    };
    let paths = ["npu.pipeline_cycles", "pim.pim.host_turnaround_ns"];
    let [one, other] = paths.map(|it| half(it.to_owned()));
    for sign in ["+", "-"] {
        let both = half(format!("{} / {one} {sign} {} / {other}", paths[0], paths[1]));
        assert!((both - 2.0_f64.sqrt()).abs() < 0.2, "{sign} {both}");
    }
}
