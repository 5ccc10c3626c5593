//! GGUF files as the model of every system.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use memscape_explore::{Parameters, Sweep};
use memscape_study::Preset;
use memscape_systems::compare::{Workload, compare, platforms};
use memscape_systems::platform::Platform;
use memscape_systems::{registry, studies, study};
use memscape_workload::{GgmlType, Llm, MODELS, WeightFormat};
use serde_json::{Value, json};

#[path = "../../../memscape-workload/tests/it/gguf/writer.rs"]
#[expect(dead_code, reason = "shared with the reader's own tests")]
mod writer;

use writer::{Held, Writer};

fn tiny() -> Llm {
    let llama = MODELS.find("llama-3.2-1b").unwrap().parameters;
    Llm {
        layers: 4,
        hidden_size: 1024,
        heads: 16,
        kv_heads: 4,
        ffn_size: 4096,
        vocab_size: 32000,
        embedding_size: None,
        ..llama
    }
}

/// More bits for values and down projections, as K-quants have them.
fn mixed(matrix: &str, layer: u32) -> GgmlType {
    match (matrix, layer) {
        ("attn_v" | "ffn_down", 0 | 3) => GgmlType::Q6K,
        _ => GgmlType::Q4K,
    }
}

/// A file of its header, and of a hole as long as the tensors are.
fn save(path: &Path, file: &Writer) {
    let (bytes, length) = file.write();
    let mut out = File::create(path).unwrap();
    out.write_all(&bytes).unwrap();
    out.set_len(length).unwrap();
}

fn parameters(value: &Value) -> Parameters {
    value.as_object().unwrap().clone()
}

fn column(row: &[(String, Value)], name: &str) -> u64 {
    row.iter().find(|it| it.0 == name).unwrap().1.as_u64().unwrap()
}

#[test]
fn a_gguf_is_a_model_of_every_study() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tiny.Q4_K_M.gguf");
    save(&path, &Writer::model("llama", &tiny(), 100, mixed));
    let path = path.to_str().unwrap();
    let mut asked = 0;
    for study in studies().filter(|it| it.slots().iter().any(|it| it.path == "model")) {
        let run = |given: Value| study.run(&parameters(&given));
        let answer = run(json!({ "model": path })).unwrap_or_else(|it| panic!("{}: {it}", study.name()));
        // What it says of the weights holds unless a format is given.
        let implied = study.slots().iter().flat_map(|it| it.implied).any(|it| it.parameter == "format");
        if implied && !study.name().starts_with("riscv.") {
            assert_eq!(
                answer,
                run(json!({ "model": path, "format": "stored" })).unwrap(),
                "{}",
                study.name()
            );
            if study.name().ends_with(".inference") {
                let wider = run(json!({ "model": path, "format": "fp16" })).unwrap();
                assert_ne!(answer, wider, "{}", study.name());
            }
        }
        let axis = Sweep::default().axis("model", [json!("opt-125m"), json!(path)]);
        let table = study.sweep(&axis, &()).unwrap();
        assert_eq!(table.text("error").unwrap()[1], None, "{}", study.name());
        asked += 1;
    }
    assert!(asked >= 12, "{asked}");
}

/// llama.cpp multiplies with the tensors of the file: of Phi-3, with one of Q, K and V.
#[test]
fn stacked_tensors_are_multiplied_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("phi.gguf");
    let phi = Llm { stacked: true, ..tiny() };
    save(&path, &Writer::model("phi3", &phi, 100, |_, _| GgmlType::Q4_0));
    let path = path.to_str().unwrap();
    for study in studies().filter(|it| it.name() == "riscv.census" || it.name() == "riscv.inference") {
        for model in [path, "phi-3-mini", "falcon-40b", "llama-2-7b"] {
            let run = |given: Value| study.run(&parameters(&given)).unwrap();
            let [merged, separate] = ["merged", "separate"]
                .map(|it| run(json!({ "model": model, "format": "q4_0", "projections": it })));
            assert_ne!(merged, separate, "what is given holds");
            let own = if model.starts_with("llama") { separate } else { merged };
            assert_eq!(run(json!({ "model": model, "format": "q4_0" })), own, "{}: {model}", study.name());
        }
    }
}

/// What a description says of a parameter beside it holds whichever way the description is changed.
#[test]
fn a_field_by_path_says_as_much_as_in_a_description() {
    let study = study("riscv.inference").unwrap();
    let run = |given: Value| study.run(&parameters(&given)).unwrap();
    for (name, stacked) in [("phi-3-mini", false), ("llama-2-7b", true)] {
        let described = run(json!({ "model": { "base": name, "parameters": { "stacked": stacked } } }));
        assert_eq!(run(json!({ "model": name, "model.stacked": stacked })), described, "{name}");
        assert_ne!(run(json!({ "model": name })), described, "{name}");
        let sweep = Sweep::of(parameters(&json!({ "model": name }))).axis("model.stacked", [false, true]);
        let times = study.sweep(&sweep, &()).unwrap().f64("token_ns").unwrap();
        assert_ne!(times[0], times[1], "{name}");
        let separate = json!({ "model": name, "model.stacked": true, "projections": "separate" });
        assert_eq!(
            run(separate),
            run(json!({ "model": name, "projections": "separate" })),
            "what is given holds"
        );
    }
}

/// Bytes of the file, not of a format, are what must fit and what a token reads.
#[test]
fn stored_bytes_are_what_machines_hold_and_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tiny.gguf");
    save(&path, &Writer::model("llama", &tiny(), 100, mixed));
    let stored = described(&path);
    let total = WeightFormat::Stored.of(&stored).unwrap().total_bytes().0;
    // An NPU's memory holds the largest product of a prompt, too, in int8; an accelerator's in fp16.
    let product = 64 * (1024 + 2 * 4096);
    for (name, beside) in [("npu.inference", product), ("ndp.inference", 0), ("cxl.inference", 2 * product)] {
        let it = study(name).unwrap();
        let lengths = json!({ "prompt_tokens": 64, "generated_tokens": 64 });
        let with = |format: &str| {
            let given = json!({ "model": path, "format": format });
            column(&it.run_layers(&[&parameters(&lengths), &parameters(&given)]).unwrap(), "memory_bytes")
        };
        let cache = stored.kv_cache_elements(128) * 2;
        // What systems leave out, norms and biases, is a thousandth here.
        let found = with("stored") - cache - beside;
        assert!(found.abs_diff(total) < total / 500, "{name}: {found} of {total}");
        assert!(with("q4_k") < with("stored") && with("stored") < with("q6_k"), "{name}");
    }
    // An axis over formats goes over what the file says.
    let npu = study("npu.inference").unwrap();
    let sweep = Sweep::of(parameters(&json!({ "model": path }))).axis("format", ["stored", "q8_0", "fp16"]);
    let table = npu.sweep(&sweep, &()).unwrap();
    let times = table.f64("weights_ns").unwrap();
    assert!(times.windows(2).all(|it| it[0].unwrap() < it[1].unwrap()), "{times:?}");
    let alone = npu.run(&parameters(&json!({ "model": path }))).unwrap();
    let alone = alone.iter().find(|it| it.0 == "weights_ns").unwrap().1.as_f64();
    assert_eq!(times[0], alone);
}

fn described(path: &Path) -> Llm {
    let preset = registry().preset_in_file(path.to_str().unwrap()).unwrap();
    serde_json::from_value(preset.parameters).unwrap()
}

/// llama.cpp runs what its file holds, if there is code for it.
#[test]
fn riscv_takes_the_format_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let it = study("riscv.inference").unwrap();
    let answer = |kind: GgmlType, more: Value| {
        let path = folder.path().join(format!("{kind}.gguf"));
        save(&path, &Writer::model("llama", &tiny(), 10, |_, _| kind));
        it.run_layers(&[&parameters(&json!({ "model": path })), &parameters(&more)])
    };
    let four = answer(GgmlType::Q4_0, json!({})).unwrap();
    let eight = answer(GgmlType::Q8_0, json!({})).unwrap();
    assert!(column(&four, "memory_bytes") < column(&eight, "memory_bytes"));
    // llama.cpp's own code is all that there is for it.
    assert_eq!(eight, answer(GgmlType::Q8_0, json!({ "kernel": "default" })).unwrap());
    let error = answer(GgmlType::Q8_0, json!({ "kernel": "complex" })).unwrap_err().to_string();
    assert!(error.contains("does not multiply q8_0"), "{error}");
    let error = answer(GgmlType::Bf16, json!({})).unwrap_err().to_string();
    assert!(error.contains("no code here for a file of `bf16`; give `format`"), "{error}");
    let given = answer(GgmlType::Bf16, json!({ "format": "q4_0", "kernel": "default" })).unwrap();
    let named = json!({ "format": "q4_0", "kernel": "default" });
    assert_eq!(given, answer(GgmlType::F16, named).unwrap());
    // Mixtures are known by what most weights and down projections are stored in.
    let slightly = |matrix: &str, layer| match (matrix, layer) {
        ("ffn_down", 0) => GgmlType::Q5K,
        _ => GgmlType::Q4K,
    };
    let mixtures: [(&str, &dyn Fn(&str, u32) -> GgmlType); 2] = [("q4_k_m", &mixed), ("q4_k_s", &slightly)];
    for (format, types) in mixtures {
        let path = folder.path().join(format!("{format}.gguf"));
        save(&path, &Writer::model("llama", &tiny(), 10, types));
        let found = it.run(&parameters(&json!({ "model": path }))).unwrap();
        let given = json!({ "model": path, "format": format, "kernel": "default" });
        assert_eq!(found, it.run(&parameters(&given)).unwrap(), "{format}");
    }
}

#[test]
fn a_comparison_shows_what_each_platform_makes_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tiny.gguf");
    save(&path, &Writer::model("llama", &tiny(), 100, mixed));
    let ask = |formats: Vec<String>| {
        let all: Vec<Preset<Platform>> = platforms();
        let question = Workload { formats, prompt_tokens: 64, ..Workload::of(path.to_str().unwrap()) };
        compare(&question, &all, &()).unwrap()
    };
    let table = ask(Vec::new());
    let errors = table.text("error").unwrap();
    assert!(errors.iter().all(Option::is_none), "{errors:?}");
    let described = registry().preset_in_file(path.to_str().unwrap()).unwrap();
    let [names, studies, formats] = ["platform", "study", "format"].map(|it| table.text(it).unwrap());
    for ((name, study), format) in names.iter().zip(&studies).zip(&formats) {
        let (name, study) = (name.as_deref().unwrap(), study.as_deref().unwrap());
        let implied = memscape_systems::study(study).unwrap().slots().iter().flat_map(|it| it.implied);
        let stored = implied
            .filter(|it| it.parameter == "format")
            .any(|it| (it.value)(&described.parameters) == Some(json!("stored")));
        assert_eq!(format.as_deref() == Some("stored"), stored, "{name}: {format:?}");
    }
    let table = ask(vec!["q6_k".to_owned()]);
    let errors = table.text("error").unwrap();
    assert!(errors.iter().any(Option::is_some) && errors.iter().any(Option::is_none), "{errors:?}");
}

#[test]
fn a_description_says_how_each_matrix_is_stored() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tiny.Q4_K_M.gguf");
    save(&path, &Writer::model("llama", &tiny(), 100, mixed));
    let found = registry().preset_in_file(path.to_str().unwrap()).unwrap();
    assert_eq!(found.name, "tiny.Q4_K_M");
    assert_eq!(found.parameters["stored"]["v_bits"], json!(5.53125));
    assert_eq!(found.facts["layers"]["ffn_down"], json!("q4_k: 1-2; q6_k: 0, 3"));
    assert_eq!(found.source("stored.v_bits"), Some("GGUF"));
    // One of one's own that changes it.
    let own = folder.path().join("own.toml");
    std::fs::write(&own, "base = \"tiny.Q4_K_M.gguf\"\n[parameters]\nlayers = 8\nstored.v_bits = 8.5\n")
        .unwrap();
    let found = described(&own);
    assert_eq!((found.layers, found.stored.unwrap().v_bits.to_string()), (8, "8.5".to_owned()));
}

#[test]
fn files_that_are_none_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let error = |name: &str| {
        let model = folder.path().join(name);
        study("pim.gemv").unwrap().run(&parameters(&json!({ "model": model }))).unwrap_err().to_string()
    };
    assert!(error("missing.gguf").ends_with("there is no such file"), "{}", error("missing.gguf"));
    std::fs::create_dir(folder.path().join("folder.gguf")).unwrap();
    assert!(error("folder.gguf").contains("it is a folder; give a file"), "{}", error("folder.gguf"));
    let whole = Writer::model("llama", &tiny(), 100, mixed);
    let (bytes, length) = whole.write();
    std::fs::write(folder.path().join("cut.gguf"), &bytes[..bytes.len() / 2]).unwrap();
    assert!(error("cut.gguf").contains("is it complete?"), "{}", error("cut.gguf"));
    std::fs::write(folder.path().join("head.gguf"), &bytes).unwrap();
    assert!(error("head.gguf").contains(&format!("but the file has {}", bytes.len())), "{length}");
    // The message of who reads such files, wherever it is asked.
    let refused = registry().preset_in_file(folder.path().join("cut.gguf").to_str().unwrap());
    assert!(refused.unwrap_err().to_string().contains("is it complete?"));
    #[cfg(unix)]
    {
        let pipe = folder.path().join("pipe.gguf");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        assert!(error("pipe.gguf").ends_with("it is no plain file"), "{}", error("pipe.gguf"));
    }
}

#[test]
fn parts_of_a_split_file_lie_beside_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let whole = Writer::model("llama", &tiny(), 100, mixed);
    let half = whole.tensors.len() / 2;
    let name = |at: usize| folder.path().join(format!("tiny-{at:05}-of-00002.gguf"));
    for (at, tensors) in [&whole.tensors[..half], &whole.tensors[half..]].into_iter().enumerate() {
        let mut part = Writer { tensors: tensors.to_vec(), ..whole.clone() };
        if at > 0 {
            part.keys.clear();
        }
        part.set("split.count", Held::U16(2));
        part.set("split.no", Held::U16(u16::try_from(at).unwrap()));
        save(&name(at + 1), &part);
    }
    let one = folder.path().join("tiny.gguf");
    save(&one, &whole);
    assert_eq!(described(&name(1)), described(&one));
    assert_eq!(described(&name(2)), described(&one));
    // As download caches lay them out: links to files elsewhere.
    let blobs = tempfile::tempdir().unwrap();
    #[cfg(unix)]
    {
        for at in [1, 2] {
            let blob = blobs.path().join(at.to_string());
            std::fs::rename(name(at), &blob).unwrap();
            std::os::unix::fs::symlink(&blob, name(at)).unwrap();
        }
        assert_eq!(described(&name(1)), described(&one));
    }
    std::fs::remove_file(name(2)).unwrap();
    let error = registry().preset_in_file(name(1).to_str().unwrap()).unwrap_err().to_string();
    assert!(error.ends_with("part `tiny-00002-of-00002.gguf`: there is no such file"), "{error}");
}
