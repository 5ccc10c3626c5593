//! `config.json` files as published, hostile ones, and mutations of both.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

use memscape_workload::{HfConfigError, Llm, MODELS, Operator, Projections};

/// One published model.
struct Published {
    name: &'static str,
    config: &'static str,
    /// As printed: exact where every digit is given, else rounded.
    parameters: &'static str,
    /// What `parameters` counts beside the language model.
    beside: u64,
    /// Where `parameters` is from.
    source: &'static str,
}

macro_rules! published {
    ($($name:literal, $parameters:literal + $beside:expr, $source:expr;)*) => {
        [$(Published {
            name: $name,
            config: include_str!(concat!("configs/", $name, ".json")),
            parameters: $parameters,
            beside: $beside,
            source: $source,
        }),*]
    };
}

/// `safetensors.total` of the model's page on Hugging Face, as public code
/// quotes it.
const HUB: &str = "safetensors metadata, quoted in public code";

/// Shapes are those of the `config.json` files on Hugging Face (checked against
/// copies in public code, issues and logs), with most of their other keys.
#[rustfmt::skip]
const PUBLISHED: [Published; 27] = published! {
    "llama-2-7b", "6738415616" + 0, "total as PyTorch counts it; safetensors metadata add 2048 of rotary tables";
    "llama-2-70b", "68976648192" + 0, "total as PyTorch counts it; safetensors metadata add 5120 of rotary tables";
    "llama-3.1-8b", "8030261248" + 0, HUB;
    "llama-3.1-70b", "70553706496" + 0, HUB;
    "llama-3.2-1b", "1235814400" + 0, HUB;
    "llama-3.2-3b", "3212749824" + 0, HUB;
    "mistral-7b-v0.1", "7241732096" + 0, HUB;
    "mistral-7b-v0.3", "7248023552" + 0, HUB;
    "mistral-nemo", "12247782400" + 0, HUB;
    "mixtral-8x7b", "46702792704" + 0, HUB;
    "mixtral-8x22b", "140630071296" + 0, "instruct version: safetensors metadata, quoted in public code";
    "gpt-oss-20b", "20914757184" + 0, HUB;
    "qwen2.5-0.5b", "494032768" + 0, HUB;
    "qwen2.5-7b", "7615616512" + 0, HUB;
    "qwen2.5-14b", "14770033664" + 0, HUB;
    "qwen3-8b", "8190735360" + 0, HUB;
    "qwen3-30b-a3b", "30532122624" + 0, HUB;
    "gemma-2-2b", "2614341888" + 0, HUB;
    "gemma-2-9b", "9241705984" + 0, HUB;
    "gemma-2-27b", "27227128320" + 0, HUB;
    "gemma-3-1b", "999885952" + 0, HUB;
    "gemma-3-4b", "4300079472" + 419_816_304, "the same; vision tower and projector beside it";
    "phi-3-mini", "3821079552" + 0, HUB;
    "opt-350m", "331196416" + 0, "total as PyTorch counts it, in public code";
    "opt-6.7b", "6658473984" + 0, "PEFT's int8 example, less its adapters";
    "falcon-7b", "7217189760" + 65024 * 4544, "the same; the tied LM head is stored twice";
    "falcon-40b", "41835970560" + 65024 * 8192, "total_size of the checkpoint; the tied LM head is stored twice";
};

fn read(text: &str) -> Llm {
    Llm::from_hf_config(text).unwrap()
}

fn message(text: &str) -> String {
    Llm::from_hf_config(text).unwrap_err().to_string()
}

fn published(name: &str) -> Llm {
    read(PUBLISHED.iter().find(|it| it.name == name).unwrap().config)
}

/// The published file with some keys replaced.
fn with(name: &str, changes: &[(&str, &str)]) -> String {
    let config = PUBLISHED.iter().find(|it| it.name == name).unwrap().config;
    let mut keys: serde_json::Map<String, serde_json::Value> = serde_json::from_str(config).unwrap();
    for (key, value) in changes {
        if value.is_empty() {
            keys.remove(*key);
        } else {
            keys.insert((*key).to_owned(), serde_json::from_str(value).unwrap());
        }
    }
    serde_json::Value::Object(keys).to_string()
}

#[test]
fn published_parameter_counts() {
    for Published { name, config, parameters, beside, source } in &PUBLISHED {
        let count: crate::published::PublishedCount = parameters.parse().unwrap();
        let computed = read(config).parameters() + beside;
        assert!(count.agrees_with(computed), "{name}: {computed}, but {parameters} ({source})");
    }
}

/// Mistral AI, announcements of Mixtral 8x7B (2023: "46.7B total parameters but
/// only uses 12.9B parameters per token") and 8x22B (2024: "39B active
/// parameters out of 141B").
#[test]
fn published_active_parameters() {
    for (name, printed, unit) in [("mixtral-8x7b", 129, 100_000_000), ("mixtral-8x22b", 39, 1_000_000_000)] {
        let active = published(name).active_parameters();
        assert!(active.abs_diff(printed * unit) <= unit / 2, "{name}: {active}");
    }
    assert_eq!(published("llama-2-7b").active_parameters(), published("llama-2-7b").parameters());
}

/// A file describes what the built-in description of that model does.
#[test]
fn a_config_says_what_the_built_in_model_says() {
    let mut compared = 0;
    for it in &PUBLISHED {
        if let Ok(preset) = MODELS.find(it.name) {
            assert_eq!(read(it.config), preset.parameters, "{}", it.name);
            compared += 1;
        }
    }
    assert!(compared >= 10, "{compared}");
}

/// Windowed layers, and layers in all.
fn windows(text: &str) -> (u64, u32, Option<u32>) {
    let llm = read(text);
    (llm.window_layers(), llm.layers, llm.window.map(|it| it.tokens))
}

#[test]
fn windows_are_where_transformers_puts_them() {
    let plain = |name| windows(&with(name, &[]));
    assert_eq!(plain("mistral-7b-v0.1"), (32, 32, Some(4096)));
    assert_eq!(plain("mistral-7b-v0.3"), (0, 32, None));
    assert_eq!(windows(&with("mistral-7b-v0.3", &[("sliding_window", "")])), (32, 32, Some(4096)));
    assert_eq!(windows(&with("mixtral-8x7b", &[("sliding_window", "")])), (0, 32, None));
    assert_eq!(plain("qwen2.5-7b"), (0, 28, None));
    let uses = ("use_sliding_window", "true");
    assert_eq!(windows(&with("qwen2.5-14b", &[uses])), (0, 48, None), "max_window_layers is 48");
    let first = ("max_window_layers", "20");
    assert_eq!(windows(&with("qwen2.5-14b", &[uses, first])), (28, 48, Some(131_072)));
    assert_eq!(windows(&with("qwen2.5-14b", &[uses, ("max_window_layers", "")])), (20, 48, Some(131_072)));
    assert_eq!(windows(&with("qwen2.5-14b", &[uses, first, ("sliding_window", "null")])), (0, 48, None));
    assert_eq!(plain("gemma-2-9b"), (21, 42, Some(4096)));
    assert_eq!(plain("gemma-3-4b"), (29, 34, Some(1024)));
}

/// A list of layer types, as a function of the layer's number from 0.
fn layer_types(layers: u32, slides: impl Fn(u32) -> bool) -> String {
    let name = |it| if slides(it) { "sliding_attention" } else { "full_attention" };
    serde_json::to_string(&(0..layers).map(name).collect::<Vec<_>>()).unwrap()
}

#[test]
fn a_list_of_layer_types_is_the_pattern_it_shows() {
    let gemma = published("gemma-3-1b");
    let listed = |slides: &dyn Fn(u32) -> bool| {
        let list = layer_types(26, slides);
        let text = with("gemma-3-1b", &[("layer_types", &list), ("sliding_window_pattern", "")]);
        Llm::from_hf_config(&text).map(|it| it.window.map(|it| (it.global_every, it.global_first)))
    };
    let of = |slides: &dyn Fn(u32) -> bool| listed(slides).unwrap();
    assert_eq!(of(&|it| (it + 1) % 6 != 0), gemma.window.map(|it| (it.global_every, 0)));
    assert_eq!(of(&|_| false), None);
    assert_eq!(of(&|_| true), Some((0, 0)));
    assert_eq!(of(&|it| it >= 20), Some((0, 20)));
    assert_eq!(of(&|it| it > 1 && (it + 1) % 4 != 0), Some((4, 2)));
    assert_eq!(of(&|it| it != 25), Some((26, 0)));
    let error = listed(&|it| it != 3 && it != 9).unwrap_err().to_string();
    assert_eq!(
        error,
        "config.json: `layer_types` is a list with full_attention in 2 of 26 layers: 4, 10; it must be \
         full_attention in the first layers, in layers n, 2n, 3n, ... counted from 1, or in both"
    );
    // One layer in two, but the first of them.
    let error = listed(&|it| it % 2 == 1).unwrap_err().to_string();
    assert!(error.contains("full_attention in 13 of 26 layers: 1, 3, 5, 7, ...; it must be"), "{error}");
    let full = layer_types(36, |_| false);
    assert_eq!(windows(&with("qwen3-8b", &[("layer_types", &full)])), (0, 36, None));
    let some = layer_types(36, |it| it > 17);
    assert_eq!(
        message(&with("qwen3-8b", &[("layer_types", &some)])),
        "config.json: `use_sliding_window` is false; it must be set, since `layer_types` has sliding_attention"
    );
    let set = [("layer_types", some.as_str()), ("use_sliding_window", "true"), ("sliding_window", "512")];
    assert_eq!(windows(&with("qwen3-8b", &set)), (18, 36, Some(512)));
}

/// Expected key and a part of the message.
fn refused(text: &str, key: &str, part: &str) {
    let error = Llm::from_hf_config(text).unwrap_err();
    let named = match &error {
        HfConfigError::Missing { key, .. }
        | HfConfigError::Repeated { key }
        | HfConfigError::Value { key, .. } => *key,
        _ => "",
    };
    assert_eq!(named, key, "{error}");
    assert!(error.to_string().contains(part), "{error}");
}

#[test]
fn what_is_missing_or_wrong_is_named() {
    let bad = |changes: &[(&str, &str)], key, part| refused(&with("mixtral-8x7b", changes), key, part);
    for key in ["hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "vocab_size"]
    {
        bad(&[(key, "")], key, "is missing; a model of type mixtral needs it");
        bad(&[(key, "null")], key, "is missing");
        for value in
            ["-1", "0", "1.5", "4096.0", "1e99", "18446744073709551616", "\"32\"", "true", "[32]", "{}"]
        {
            bad(&[(key, value)], key, "it must be a whole number from 1 to ");
        }
    }
    bad(&[("num_hidden_layers", "4097")], "num_hidden_layers", "from 1 to 4096");
    bad(
        &[("num_key_value_heads", "5")],
        "num_key_value_heads",
        "is 5; it must be a divisor of `num_attention_heads`, which is 32",
    );
    let heads = [("num_attention_heads", "12"), ("num_key_value_heads", ""), ("head_dim", "64")];
    bad(&heads, "num_key_value_heads", "is missing, which transformers reads as 8; it must be a divisor");
    let heads = [("num_attention_heads", "33"), ("num_key_value_heads", "3")];
    bad(
        &heads,
        "num_attention_heads",
        "is 33; it must be a divisor of `hidden_size`, which is 4096, or `head_dim` be given",
    );
    bad(&[("head_dim", "1048576")], "head_dim", "from 1 to 524288");
    bad(
        &[("num_experts_per_tok", "9")],
        "num_experts_per_tok",
        "is 9; it must be at most `num_local_experts`, which is 8",
    );
    let few = [("num_experts_per_tok", ""), ("num_local_experts", "1")];
    bad(&few, "num_experts_per_tok", "is missing, which transformers reads as 2; it must be at most");
    bad(&[("num_local_experts", "1171")], "num_local_experts", "from 1 to 1170");
    bad(&[("num_local_experts", "0")], "num_local_experts", "is 0");
    bad(&[("hidden_act", "\"mish\"")], "hidden_act", "is \"mish\"; it must be relu, silu");
    bad(&[("tie_word_embeddings", "1")], "tie_word_embeddings", "is 1; it must be true or false");
    bad(&[("sliding_window", "\"no\"")], "sliding_window", "is \"no\"");

    refused(&with("gemma-2-2b", &[("sliding_window", "null")]), "sliding_window", "is null");
    refused(
        &with("gemma-2-2b", &[("layer_types", "[]")]),
        "layer_types",
        "is a list of 0; it must be one entry for each of the 26",
    );
    refused(&with("gemma-2-2b", &[("layer_types", "[7]")]), "layer_types", "is a list with 7");
    refused(&with("gemma-2-2b", &[("layer_types", "{}")]), "layer_types", "is an object");
    refused(&with("gemma-3-4b", &[("text_config", "")]), "text_config", "is missing");
    refused(
        &with("gemma-3-4b", &[("text_config", "[]")]),
        "text_config",
        "is a list of 0; it must be an object",
    );
    let other = r#"{"model_type": "llama"}"#;
    refused(&with("gemma-3-4b", &[("text_config", other)]), "model_type", "is \"llama\"");
    refused(
        &with("qwen2.5-7b", &[("use_sliding_window", "true"), ("max_window_layers", "-1")]),
        "max_window_layers",
        "is -1",
    );
    refused(
        &with("falcon-7b", &[("new_decoder_architecture", "true"), ("parallel_attn", "false")]),
        "parallel_attn",
        "true with",
    );
    refused(
        &with("falcon-7b", &[("num_ln_in_parallel_attn", "2")]),
        "num_ln_in_parallel_attn",
        "is 2; it must be 1 without",
    );
    refused(&with("falcon-7b", &[("hidden_size", "16777216")]), "hidden_size", "from 1 to 4194304");
    refused(&with("falcon-7b", &[("alibi", "true")]), "alibi", "must be false");
    refused(&with("falcon-40b", &[("num_kv_heads", "7")]), "num_kv_heads", "is 7");
    refused(
        &with("opt-6.7b", &[("max_position_embeddings", "16777215")]),
        "max_position_embeddings",
        "from 1 to 16777214",
    );

    let text = message(&with("llama-2-7b", &[("model_type", "\"deepseek_v3\"")]));
    assert!(
        text.contains("`model_type` is \"deepseek_v3\"; known are opt, llama, mistral, mixtral, qwen2"),
        "{text}"
    );
    assert!(message("[]").contains("expected an object, as the config.json of a model is one"));
}

#[test]
fn hostile_files_are_errors_at_once() {
    let start = Instant::now();
    let gemma = |inner: &str| format!(r#"{{"model_type": "gemma3_text", {inner}}}"#);

    let zeros = "0,".repeat(3_000_000);
    refused(&gemma(&format!(r#""layer_types": [{zeros}0]"#)), "layer_types", "is a list with 0");
    let names = "\"full_attention\",".repeat(1_000_000);
    refused(
        &gemma(&format!(r#""layer_types": [{names}"full_attention"]"#)),
        "layer_types",
        "is a list of 1000001; it must be",
    );
    refused(&gemma(&format!(r#""hidden_size": [{zeros}0]"#)), "hidden_size", "is a list of 3000001");
    // Passed over, not built.
    assert_eq!(read(&gemma(&format!(r#""id2label": [{zeros}0]"#))).layers, 26);

    let long = "x".repeat(10_000_000);
    for error in
        [gemma(&format!(r#""hidden_activation": "{long}""#)), format!(r#"{{"model_type": "{long}"}}"#)]
    {
        assert!(message(&error).len() < 300);
    }

    let deep = 5_000_000;
    let nested = format!("{}{}", "[".repeat(deep), "]".repeat(deep));
    assert_eq!(read(&gemma(&format!(r#""auto_map": {nested}"#))).layers, 26);
    refused(&gemma(&format!(r#""hidden_size": {nested}"#)), "hidden_size", "is a list of 1");
    refused(
        &gemma(&format!(r#""text_config": 1, "layer_types": {nested}"#)),
        "layer_types",
        "is a list with",
    );
    assert!(Llm::from_hf_config(&"[".repeat(deep)).is_err());
    assert!(Llm::from_hf_config(&gemma(&format!(r#""a": {}"#, "{\"a\":".repeat(deep)))).is_err());
    let mut configs = String::from(r#"{"model_type": "gemma3", "text_config": "#);
    write!(configs, "{}1{}", r#"{"text_config": "#.repeat(100_000), "}".repeat(100_001)).unwrap();
    assert_eq!(read(&configs).layers, 26, "an object in a nested config is no config");

    refused(&gemma(r#""hidden_size": 8, "hidden_size": 9"#), "hidden_size", "is given twice; keep one");
    refused(&gemma(r#""model_type": "opt""#), "model_type", "is given twice");
    let inner = r#"{"model_type": "gemma3", "text_config": {"vocab_size": 8, "vocab_size": 8}}"#;
    refused(inner, "vocab_size", "is given twice");
    assert!(Llm::from_hf_config(&gemma(r#""hidden_size": 1e999"#)).is_err());
    assert!(Llm::from_hf_config(&gemma(&format!(r#""hidden_size": {}"#, "9".repeat(100_000)))).is_err());

    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}

/// The largest numbers that each bound allows do not overflow together.
#[test]
fn the_largest_allowed_numbers_are_counted() {
    let big = "16777216";
    let layered = |layers| {
        [
            ("hidden_size", big),
            ("intermediate_size", "4096"),
            ("num_hidden_layers", layers),
            ("vocab_size", big),
            ("num_attention_heads", "4096"),
            ("num_key_value_heads", "4096"),
            ("head_dim", "4096"),
            ("num_local_experts", "4096"),
            ("num_experts_per_tok", "1"),
        ]
    };
    let llm = read(&with("mixtral-8x7b", &layered("32")));
    assert!(llm.parameters() > 1 << 55 && llm.active_parameters() < llm.parameters());
    exercise(&llm);
    let told = message(&with("mixtral-8x7b", &layered("4096")));
    assert!(told.contains("the model has 8071295094633791488 parameters; it must have at most"), "{told}");
}

/// Calls what a study would call; none may panic.
fn exercise(llm: &Llm) {
    llm.check().unwrap();
    assert!(llm.active_parameters() <= llm.parameters());
    let _ = llm.kv_cache_elements(1 << 20);
    for projections in [Projections::Merged, Projections::Separate] {
        assert!(llm.layer_gemvs(projections).count() >= 4);
        for tokens in [1, 77, 1 << 28] {
            let _ = llm.decode_operators(tokens, projections);
            let _ = llm.prefill_operators(tokens, projections);
        }
    }
}

/// A small generator, so that a failure can be had again.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 16).unwrap() % bound
    }
}

/// Values that somebody may write in place of a number or a name.
const ODD: [&str; 24] = [
    "0",
    "1",
    "2",
    "3",
    "7",
    "8",
    "-1",
    "1.5",
    "1e308",
    "-0",
    "4096",
    "4097",
    "16777216",
    "4294967295",
    "4294967296",
    "18446744073709551615",
    "18446744073709551616",
    "null",
    "true",
    "\"full_attention\"",
    "[]",
    "[\"sliding_attention\", \"full_attention\"]",
    "{}",
    "{\"model_type\": \"gemma3_text\"}",
];

#[test]
fn mutated_files_are_read_or_refused() {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let (mut read, mut refused) = (0, 0);
    for round in 0..10_000 {
        let config = PUBLISHED[round % PUBLISHED.len()].config;
        let mut bytes = config.as_bytes().to_vec();
        for _ in 0..=random.below(3) {
            let at = random.below(bytes.len());
            match random.below(6) {
                0 => bytes[at] = u8::try_from(random.below(256)).unwrap(),
                1 => drop(bytes.drain(at..(at + random.below(20)).min(bytes.len()))),
                2 => {
                    let copy = bytes[at..(at + random.below(60)).min(bytes.len())].to_vec();
                    bytes.splice(at..at, copy);
                }
                // The value after the next colon.
                _ => {
                    let Some(colon) = bytes[at..].iter().position(|it| *it == b':') else { continue };
                    let from = at + colon + 1;
                    let length = bytes[from..].iter().position(|it| b",}\n".contains(it)).unwrap_or(0);
                    bytes.splice(from..from + length, ODD[random.below(ODD.len())].bytes());
                }
            }
            if bytes.is_empty() {
                break;
            }
        }
        match Llm::from_hf_config(&String::from_utf8_lossy(&bytes)) {
            Ok(llm) => {
                exercise(&llm);
                read += 1;
            }
            Err(error) => {
                assert!(error.to_string().len() < 600, "{error}");
                refused += 1;
            }
        }
    }
    assert!(read > 1000 && refused > 1000, "{read} read, {refused} refused");
}

fn weights(operators: &[Operator], name: &str) -> u64 {
    operators.iter().filter(|it| it.name == name).map(|it| it.count * it.weight_elements).sum()
}

#[test]
fn a_token_reads_the_active_experts() {
    let mixtral = published("mixtral-8x7b");
    for projections in [Projections::Merged, Projections::Separate] {
        let decode = mixtral.decode_operators(100, projections).unwrap();
        let read = |it: &[Operator]| -> u64 {
            let of_layers = it.iter().filter(|it| it.name != "embedding");
            of_layers.map(|it| it.count * (it.weight_elements + it.vector_weight_elements)).sum()
        };
        assert_eq!(read(&decode) + mixtral.embedding_parameters(), mixtral.active_parameters());
        assert_eq!(weights(&decode, "router"), 32 * 8 * 4096);
        assert_eq!(weights(&decode, "down"), 32 * 2 * 4096 * 14336);
        assert_eq!(decode.iter().filter(|it| it.name == "down").count(), 1);
        let of_layer: u64 = mixtral.layer_gemvs(projections).map(|it| it.1.macs()).sum();
        let names: BTreeSet<_> = mixtral.layer_gemvs(projections).map(|it| it.0.name()).collect();
        let matrices: u64 = names.into_iter().map(|it| weights(&decode, it)).sum();
        assert_eq!(32 * of_layer, matrices);

        let long = mixtral.prefill_operators(500, projections).unwrap();
        assert_eq!(
            read(&long) + mixtral.embedding_parameters(),
            mixtral.parameters(),
            "a long prompt reads all"
        );
        let two = mixtral.prefill_operators(2, projections).unwrap();
        assert_eq!(weights(&two, "down"), 112 * 4096 * 14336, "3.5 experts per layer");
        let instances: Vec<_> =
            two.iter().filter(|it| it.name == "down").map(|it| (it.count, it.n)).collect();
        assert_eq!(instances, [(96, 1), (16, 2)]);
    }
}

#[test]
fn experts_do_not_change_what_a_prompt_computes() {
    let mixtral = published("mixtral-8x7b");
    let in_layers = |operators: Vec<Operator>| -> u64 {
        let layers = operators.iter().filter(|it| !["final_norm", "lm_head"].contains(&it.name));
        layers.map(Operator::total_operations).sum()
    };
    for tokens in [1, 2, 3, 10, 33] {
        let one_by_one: u64 = (1..=tokens)
            .map(|it| in_layers(mixtral.decode_operators(it, Projections::Merged).unwrap()))
            .sum();
        assert_eq!(in_layers(mixtral.prefill_operators(tokens, Projections::Merged).unwrap()), one_by_one);
    }
}

/// `intermediate_size` is of layers without experts, and transformers 5 counts experts under another key.
#[test]
fn experts_of_qwen3_have_a_width_of_their_own() {
    let qwen = published("qwen3-30b-a3b");
    assert_eq!((qwen.ffn_size, qwen.experts.map(|it| (it.count, it.active))), (768, Some((128, 8))));
    let text = |changes: &[(&str, &str)]| with("qwen3-30b-a3b", changes);
    let renamed = [("num_experts", ""), ("num_local_experts", "128"), ("mlp_only_layers", "null")];
    assert_eq!(read(&text(&renamed)), qwen);
    assert_eq!(
        read(&text(&[("moe_intermediate_size", ""), ("num_experts", "")])),
        qwen,
        "as transformers has it"
    );
    let error = |key, value| message(&text(&[(key, value)]));
    assert_eq!(
        error("mlp_only_layers", "[0]"),
        "config.json: `mlp_only_layers` is a list of 1; it must be an empty list: every layer has experts"
    );
    assert!(
        error("decoder_sparse_step", "2").starts_with("config.json: `decoder_sparse_step` is 2; it must be")
    );
    assert!(error("num_experts_per_tok", "129").ends_with("at most `num_experts`, which is 128"));
    let windows = windows(&text(&[("use_sliding_window", "true"), ("sliding_window", "512")]));
    assert_eq!(windows, (48, 48, Some(512)), "every layer's");
}

/// One expert that is always taken is a dense model and its router.
#[test]
fn a_llama_has_no_experts() {
    let of = |count: &str| Llm::from_hf_config(&with("llama-3.1-8b", &[("num_local_experts", count)]));
    assert_eq!(of("1").unwrap(), of("null").unwrap());
    assert_eq!(
        of("8").unwrap_err().to_string(),
        "config.json: `num_local_experts` is 8; it must be 1 or absent, since a llama has no experts; a mixture of them \
         is of `model_type` mixtral, qwen3_moe or gpt_oss"
    );
    for (name, key) in [
        ("llama-3.1-8b", "n_routed_experts"),
        ("qwen2.5-0.5b", "num_experts"),
        ("gemma-2-2b", "num_local_experts"),
    ] {
        let error = Llm::from_hf_config(&with(name, &[(key, "64")])).unwrap_err().to_string();
        assert!(error.contains(&format!("`{key}` is 64; it must be 1 or absent")), "{name}: {error}");
    }
    let nested = r#"{"model_type": "gemma3", "text_config": {"num_experts": 64, "hidden_size": 2560}}"#;
    assert!(message(nested).contains("`num_experts` is 64; it must be 1 or absent"), "{}", message(nested));
    // Of a family that is not known, nothing is said of experts.
    let unknown = [("model_type", "\"deepseek_v3\""), ("n_routed_experts", "256")];
    let error = message(&with("llama-3.1-8b", &unknown));
    assert!(error.contains("deepseek_v3") && !error.contains("experts"), "{error}");
}

#[test]
fn one_expert_is_a_dense_model() {
    let one = read(&with("mixtral-8x7b", &[("num_local_experts", "1"), ("num_experts_per_tok", "1")]));
    let dense = Llm { experts: None, ..one };
    assert_eq!(one.parameters(), dense.parameters() + 32 * 4096);
    let extra = ["router", "routing", "expert_sum"];
    let mut operators = one.prefill_operators(9, Projections::Separate).unwrap();
    operators.retain(|it| !extra.contains(&it.name));
    assert_eq!(operators, dense.prefill_operators(9, Projections::Separate).unwrap());
}

/// Where a report says another than the file, its source tells.
#[test]
fn contexts_are_those_of_the_files() {
    let mut held = 0;
    for it in &PUBLISHED {
        let config: serde_json::Value = serde_json::from_str(it.config).unwrap();
        let inner = config.get("text_config").unwrap_or(&config);
        let Some(printed) = inner.get("max_position_embeddings") else { continue };
        let Ok(preset) = MODELS.find(it.name) else { continue };
        let source = &preset.sources["facts.context_tokens"];
        let said = preset.facts["context_tokens"] == *printed || source.contains(&printed.to_string());
        assert!(said, "{}: {printed} printed, {source}", it.name);
        held += 1;
    }
    assert!(held >= 15, "{held}");
}
