//! The same question asked of all platforms.

use std::fs;

use memscape_systems::compare::{Workload, compare, platform, platforms};
use memscape_systems::operators::operators;
use memscape_systems::study;
use serde_json::{Value, json};

#[test]
fn every_platform_answers_for_a_small_model_and_says_what_it_takes_for_granted() {
    let workload = Workload { prompt_tokens: 64, generated_tokens: 16, ..Workload::of("llama-3.2-1b") };
    let table = compare(&workload, &platforms(), &()).unwrap();
    assert!(table.is_complete());
    let errors: Vec<_> = table.text("error").unwrap().into_iter().flatten().collect();
    assert!(errors.is_empty(), "{errors:?}");
    let positive = |column: &str| table.f64(column).unwrap().iter().all(|it| it.is_some_and(|it| it > 0.0));
    for column in ["ttft_s", "token_ns", "total_s", "tokens_per_s", "memory_bytes", "memory_limit_bytes"] {
        assert!(positive(column), "{column}");
    }
    assert!(table.text("assumptions").unwrap().iter().all(|it| it.as_ref().is_some_and(|it| !it.is_empty())));
}

/// A row is the answer of the study that anybody may ask.
#[test]
fn a_row_is_what_its_study_says() {
    let workload = Workload { formats: vec!["int8".to_owned()], ..Workload::of("opt-6.7b") };
    let table = compare(&workload, &[platform(&json!("pimnast")).unwrap()], &()).unwrap();
    let asked = json!({
        "model": "opt-6.7b", "format": "int8", "prompt_tokens": 1920, "generated_tokens": 128, "refresh": true,
    });
    let Value::Object(asked) = asked else { unreachable!() };
    let row = study("pim.inference").unwrap().run(&asked).unwrap();
    let said = row.iter().find(|it| it.0 == "total_s").and_then(|it| it.1.as_f64());
    assert_eq!(table.f64("total_s").unwrap(), [said]);
}

#[test]
fn what_a_platform_cannot_hold_is_a_row_with_the_reason() {
    let table = compare(&Workload::of("llama-2-70b"), &platforms(), &()).unwrap();
    let refused = table.text("error").unwrap().into_iter().flatten().collect::<Vec<_>>();
    assert!(refused.len() >= 6 && refused.len() < platforms().len(), "{refused:?}");
    let nameless: Vec<_> = refused.iter().filter(|it| !it.contains("memory")).collect();
    assert!(nameless.is_empty(), "a refusal for want of room says of which memory: {nameless:?}");
}

/// The kernel that is fastest for 4-bit blocks knows no others.
#[test]
fn a_platform_may_try_several_and_answers_with_the_fastest() {
    let sg2042 = platform(&json!("sg2042")).unwrap();
    let formats = ["q4_0", "q8_0", "fp16"].map(str::to_owned).to_vec();
    let workload =
        Workload { formats, prompt_tokens: 64, generated_tokens: 16, ..Workload::of("llama-3.2-1b") };
    let table = compare(&workload, std::slice::from_ref(&sg2042), &()).unwrap();
    let said = table.text("assumptions").unwrap();
    for (row, total) in table.f64("total_s").unwrap().iter().enumerate() {
        let total = total.unwrap_or_else(|| panic!("{:?}", table.text("error").unwrap()[row]));
        for kernel in ["default", "vector", "simple", "complex"] {
            let mut alone = sg2042.clone();
            alone.parameters.fastest_of["kernel"] = json!([kernel]);
            let one = Workload { formats: vec![workload.formats[row].clone()], ..workload.clone() };
            let other = compare(&one, &[alone], &()).unwrap().f64("total_s").unwrap()[0];
            assert!(other.is_none_or(|it| it >= total), "{kernel}");
        }
        assert!(said[row].as_ref().unwrap().contains("kernel = "));
    }
    for bad in [json!([]), json!("vector"), json!(vec!["vector"; 257])] {
        let mut none = sg2042.clone();
        none.parameters.fastest_of["kernel"] = bad;
        let error = compare(&workload, &[none], &()).unwrap().text("error").unwrap().swap_remove(0).unwrap();
        assert!(error.contains("256 combinations are tried at most"), "{error}");
    }
}

/// One choice of registers is too many; with those that do, the memory is too small.
#[test]
fn a_refused_platform_says_what_no_choice_mends() {
    let pim = [platform(&json!("pimnast")).unwrap()];
    let formats = vec!["q4_0".to_owned()];
    let workload = Workload { formats, prompt_tokens: 4096, ..Workload::of("qwen2.5-72b") };
    let error = compare(&workload, &pim, &()).unwrap().text("error").unwrap().swap_remove(0).unwrap();
    assert!(error.contains("`memory` has 16 GiB") && !error.contains("input_registers"), "{error}");
}

#[test]
fn what_is_given_is_never_overridden_by_what_is_tried() {
    let threads = |table: &str, value: Value| json!({ "base": "sg2042", "parameters": { table: { "threads": value } } });
    let error = platform(&threads("given", json!(4))).unwrap_err().to_string();
    assert_eq!(
        error,
        "`platform.given.threads` = 4: `fastest_of` varies it; to hold it, write `fastest_of.\"threads\" = [4]` in its place"
    );
    let held = platform(&threads("fastest_of", json!([4]))).unwrap();
    assert_eq!(held.name, "sg2042: threads = [4]");
    let workload = Workload { prompt_tokens: 64, generated_tokens: 16, ..Workload::of("llama-3.2-1b") };
    let table = compare(&workload, &[held, platform(&json!("sg2042")).unwrap()], &()).unwrap();
    let total = table.f64("total_s").unwrap();
    assert!(total[1].unwrap() < total[0].unwrap(), "{total:?}");
    for it in platforms() {
        let tried = &it.parameters.fastest_of;
        assert!(it.parameters.given.keys().all(|path| !tried.contains_key(path)), "{}", it.name);
    }
}

/// They would be overridden, and a row would tell of what was not asked.
#[test]
fn a_platform_whose_study_does_not_fit_is_named() {
    let own = json!({ "machine": "own", "study": "ondevice.prefill", "format": "int8" });
    let own = [platform(&own).unwrap()];
    let workload = Workload::of("llama-3.2-1b");
    let told = compare(&workload, &own, &()).unwrap_err().to_string();
    let expected = "whose study is `ondevice.prefill`: there is no parameter `generated_tokens`";
    assert!(told.contains(expected) && told.contains("`*.inference`"), "{told}");
    assert_eq!(operators(&workload, &own, &()).unwrap_err().to_string(), told);
}

#[test]
fn what_a_comparison_asks_is_not_for_a_platform_to_say() {
    let changed =
        |table: &str, changes: Value| json!({ "base": "pimnast", "parameters": { table: changes } });
    let error = |table, changes| platform(&changed(table, changes)).unwrap_err().to_string();
    assert_eq!(
        error("fastest_of", json!({ "format": ["int4", "int8"] })),
        "`platform.fastest_of.format` = [\"int4\",\"int8\"]: a comparison asks the same of all platforms; give it to \
         the comparison, or to the platform as `format` beside `given`"
    );
    for path in Workload::PARAMETERS {
        let said = error("given", json!({ path: 4 }));
        assert!(said.starts_with(&format!("`platform.given.{path}` = 4: a comparison asks")), "{said}");
    }
    let own = platform(&json!({ "base": "pimnast", "parameters": { "format": "int4" } })).unwrap();
    let table =
        compare(&Workload { prompt_tokens: 16, ..Workload::of("llama-3.2-1b") }, &[own], &()).unwrap();
    assert_eq!(table.text("format").unwrap(), [Some("int4".to_owned())]);
}

#[test]
fn more_tokens_than_the_model_is_made_for_are_a_row_that_says_so() {
    let soc = [platform(&json!("soc-lpddr5x")).unwrap()];
    let said = |prompt_tokens: u64| {
        let workload = Workload { prompt_tokens, ..Workload::of("opt-125m") };
        compare(&workload, &soc, &()).unwrap().text("error").unwrap().swap_remove(0)
    };
    assert_eq!(said(1920), None);
    assert!(said(1921).unwrap().contains("2049 tokens, but the model has a context of 2048"));
}

#[test]
fn what_changes_a_model_has_its_context() {
    let soc = [platform(&json!("soc-lpddr5x")).unwrap()];
    let said = |facts: Value| {
        let model = json!({ "base": "llama-2-7b", "parameters": { "layers": 8 }, "facts": facts });
        let workload = Workload { model, prompt_tokens: 4096, ..Workload::of("llama-2-7b") };
        compare(&workload, &soc, &()).unwrap().text("error").unwrap().remove(0)
    };
    assert!(said(json!({})).unwrap().contains("but the model has a context of 4096"));
    assert_eq!(said(json!({ "context_tokens": 8192 })), None);
}

#[test]
fn a_processor_without_pim_takes_formats_that_pim_does_not() {
    let platforms = ["phone-cpu", "sherpa-ddb"].map(|it| platform(&json!(it)).unwrap());
    let formats = ["int8", "q8_0", "q4_0", "mx-int4-b32"].map(str::to_owned).to_vec();
    let workload = Workload { formats, ..Workload::of("llama-3.2-1b") };
    let table = compare(&workload, &platforms, &()).unwrap();
    let (tokens, errors) = (table.f64("token_ns").unwrap(), table.text("error").unwrap());
    let bound = |row: usize| tokens[row].unwrap();
    assert!(bound(0) < bound(1) && bound(1) > bound(2) && bound(2) >= bound(3), "{tokens:?}");
    assert_eq!(tokens[4..].iter().flatten().count(), 1);
    let error = errors[5].clone().unwrap();
    assert_eq!(
        error,
        "`format` is q8_0; PIM blocks have no scale factors, so use fp32, bf16, fp16, int8 or int4"
    );
}

#[test]
fn a_config_json_says_how_long_its_contexts_are() {
    let config = |positions: Value| {
        json!({
            "model_type": "llama", "hidden_size": 2048, "intermediate_size": 8192, "num_attention_heads": 32,
            "num_hidden_layers": 16, "vocab_size": 32000, "max_position_embeddings": positions,
        })
    };
    let said = |model: Value| {
        let workload = Workload { model, ..Workload::of("") };
        compare(&workload, &[platform(&json!("soc-lpddr5x")).unwrap()], &())
            .unwrap()
            .text("error")
            .unwrap()
            .swap_remove(0)
    };
    assert!(said(config(json!(2047))).unwrap().contains("2048 tokens, but the model has a context of 2047"));
    assert_eq!((said(config(json!(2048))), said(config(Value::Null))), (None, None));
}

#[test]
fn a_platform_of_ones_own_changes_one_that_is_built_in() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("faster.toml");
    fs::write(&file, "base = \"npu-xdna2\"\n[parameters.given]\n\"device.dram.read_gb_s\" = 80\n").unwrap();
    let own = platform(&json!(file.to_str().unwrap())).unwrap();
    assert_eq!((own.name.as_str(), own.parameters.study.as_str()), ("faster", "npu.inference"));
    let table =
        compare(&Workload::of("llama-3.2-1b"), &[platform(&json!("npu-xdna2")).unwrap(), own], &()).unwrap();
    let times = table.f64("token_ns").unwrap();
    assert!(times[1] < times[0], "{times:?}");
    let inline = json!({ "base": "npu-xdna2", "parameters": { "given": { "device.clock_mhz": 900 } } });
    assert_eq!(platform(&inline).unwrap().parameters.given["device.clock_mhz"], 900);
}

/// Files that a platform names are seen from its folder, from a base's in another folder too; never from where the
/// program runs.
#[test]
fn a_platform_names_files_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    write("parts/slow.toml", "base = \"xdna2\"\n[parameters]\ndram.read_gb_s = 20\n");
    write("parts/npu.toml", "base = \"npu-xdna2\"\n[parameters.given]\ndevice = \"slow.toml\"\n");
    let based =
        write("based.toml", "base = \"parts/npu.toml\"\n[parameters.given]\n\"device.clock_mhz\" = 1500\n");
    let tried = "base = \"npu-xdna2\"\n[parameters.fastest_of]\ndevice = [\"parts/slow.toml\", \"xdna2\"]\n";
    let tried = write("tried.toml", tried);
    let asked = [based.as_str(), &tried, "npu-xdna2"].map(|it| platform(&json!(it)).unwrap());
    let table = compare(&Workload::of("llama-3.2-1b"), &asked, &()).unwrap();
    let times = table.f64("token_ns").unwrap();
    assert!(times[0] > times[1] && times[1] == times[2], "{times:?}");
    let missing = write("missing.toml", "base = \"npu-xdna2\"\n[parameters.given]\ndevice = \"none.toml\"\n");
    let answer = compare(&Workload::of("llama-3.2-1b"), &[platform(&json!(missing)).unwrap()], &());
    let said = answer.map_or_else(|it| it.to_string(), |it| it.text("error").unwrap()[0].clone().unwrap());
    assert!(said.contains(folder.path().join("none.toml").to_str().unwrap()), "{said}");
}

#[test]
fn what_no_platform_could_mend_is_an_error() {
    let all = platforms();
    let error = |workload: &Workload| compare(workload, &all, &()).unwrap_err().to_string();
    assert!(error(&Workload::of("llama-3.2-2b")).contains("did you mean"));
    assert!(error(&Workload { prompt_tokens: 0, ..Workload::of("opt-125m") }).contains("prompt_tokens"));
    let formats = ["int8", "fp16", "int8"].map(str::to_owned).to_vec();
    assert!(error(&Workload { formats, ..Workload::of("opt-125m") }).contains("int8: it is there twice"));
    assert!(platform(&json!("npu-xdna3")).unwrap_err().to_string().contains("npu-xdna2"));
    let unknown = json!({ "base": "sg2042", "parameters": { "given": { "thread": 8 } } });
    let unknown = compare(&Workload::of("opt-125m"), &[platform(&unknown).unwrap()], &()).unwrap_err();
    assert!(unknown.to_string().contains("threads"), "{unknown}");
}
