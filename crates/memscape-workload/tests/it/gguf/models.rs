//! Files of every known architecture.

use memscape_workload::{Experts, GgmlType, Gguf, GgufError, Llm, MODELS, Norm, WeightFormat, Window};
use serde_json::json;

use crate::gguf::writer::{Files, Held, Writer};

fn read(file: &Writer) -> Result<Llm, GgufError> {
    let files = Files::default().with("it.gguf", file.write());
    Llm::from_gguf("it.gguf", &files).map(|it| it.0)
}

fn preset(name: &str) -> Llm {
    MODELS.find(name).unwrap().parameters
}

/// What llama.cpp calls a built-in model's architecture.
fn architecture(name: &str) -> Option<&'static str> {
    let by_name = [
        ("llama", "llama"),
        ("mistral", "llama"),
        ("mixtral", "llama"),
        ("qwen2", "qwen2"),
        ("qwen3-30b-a3b", "qwen3moe"),
        ("qwen3", "qwen3"),
        ("gemma-3", "gemma3"),
        ("phi-3", "phi3"),
        ("falcon", "falcon"),
    ];
    by_name.iter().find(|it| name.starts_with(it.0)).map(|it| it.1)
}

const Q4: fn(&str, u32) -> GgmlType = |_, _| GgmlType::Q4_0;

#[test]
fn a_file_describes_what_the_preset_does() {
    let mut read_ones = 0;
    for model in MODELS.all() {
        let Some(architecture) = architecture(&model.name) else { continue };
        let file = Writer::model(architecture, &model.parameters, 3, Q4);
        let found = read(&file).unwrap_or_else(|it| panic!("{}: {it}", model.name));
        // llama.cpp passes over Phi-3's window, which its files give all the same.
        let window = model.parameters.window.filter(|_| architecture != "phi3");
        assert_eq!(Llm { stored: None, ..found }, Llm { window, ..model.parameters }, "{}", model.name);
        let weights: u64 = file.tensors.iter().map(|it| it.1.iter().product::<u64>()).sum();
        assert_eq!(found.parameters(), weights, "{}", model.name);
        let bytes: u64 = file.tensors.iter().map(|it| Writer::bytes_of(&it.1, it.2)).sum();
        let stored = WeightFormat::Stored.of(&found).unwrap();
        assert_eq!(stored.total_bytes().0, bytes, "{}", model.name);
        read_ones += 1;
    }
    assert!(read_ones >= 25, "{read_ones}");
}

#[test]
fn other_members_of_a_family_are_read_too() {
    let falcon = preset("falcon-40b");
    let falcon_7b = Llm {
        layers: 32,
        hidden_size: 4544,
        embedding_size: None,
        heads: 71,
        kv_heads: 1,
        ffn_size: 18176,
        block: memscape_workload::Block::ParallelSharedNorm,
        ..falcon
    };
    let gemma = preset("gemma-3-4b");
    let gemma_2 = Llm {
        qk_norm: false,
        window: Some(Window { tokens: 4096, global_every: 2, global_first: 0 }),
        ..gemma
    };
    for (architecture, llm) in [("falcon", falcon_7b), ("gemma2", gemma_2)] {
        let kind = |_: &str, _| GgmlType::Bf16;
        assert_eq!(
            read(&Writer::model(architecture, &llm, 3, kind)).map(|it| Llm { stored: None, ..it }),
            Ok(llm)
        );
    }
    // Without the key: what llama.cpp takes.
    let mut file = Writer::model("gemma2", &gemma_2, 3, Q4);
    file.keys.retain(|it| !it.0.ends_with("sliding_window"));
    assert_eq!(read(&file).unwrap().window.unwrap().tokens, 4096);
    let mut file = Writer::model("gemma3", &gemma, 3, Q4);
    file.keys.retain(|it| !it.0.ends_with("sliding_window"));
    assert_eq!(read(&file).unwrap().window, None);
}

/// llama.cpp's mixture for `Q4_K_M`: more bits for some layers' values and down projections,
/// and for the LM head.
fn q4_k_m(layers: u32) -> impl Fn(&str, u32) -> GgmlType {
    move |matrix, layer| {
        let first = layers / 8;
        let more = layer < first || layer >= 7 * layers / 8 || (layer - first) % 3 == 2;
        match matrix {
            "output" => GgmlType::Q6K,
            "attn_v" | "ffn_down" if more => GgmlType::Q6K,
            _ => GgmlType::Q4K,
        }
    }
}

/// What llama.cpp prints of these files as `model size`: in GiB, and in bits a weight.
#[test]
fn published_sizes_of_files() {
    let q4_0 = |matrix: &str, _: u32| if matrix == "output" { GgmlType::Q6K } else { GgmlType::Q4_0 };
    let size = |name: &str, kind: &dyn Fn(&str, u32) -> GgmlType| {
        let llm = read(&Writer::model("llama", &preset(name), 3, kind)).unwrap();
        let weights = WeightFormat::Stored.of(&llm).unwrap();
        #[expect(clippy::cast_precision_loss, reason = "two digits are printed")]
        let gib = weights.total_bytes().0 as f64 / f64::from(1 << 30);
        format!("{gib:.2} GiB ({:.2} BPW)", weights.mean_bits())
    };
    assert_eq!(size("llama-3.1-8b", &q4_k_m(32)), "4.58 GiB (4.89 BPW)");
    assert_eq!(size("llama-2-7b", &q4_k_m(32)), "3.80 GiB (4.84 BPW)");
    assert_eq!(size("llama-2-7b", &q4_0), "3.56 GiB (4.54 BPW)");
}

#[test]
fn each_matrix_is_stored_as_its_tensors_are() {
    let llama = preset("llama-3.1-8b");
    let mut file = Writer::model("llama", &llama, 3, q4_k_m(32));
    file.tensors.push(("rope_freqs.weight".to_owned(), vec![64], GgmlType::F32));
    let files = Files::default().with("Llama-3.1-8B.Q4_K_M.gguf", file.write());
    let (llm, about) = Llm::from_gguf("Llama-3.1-8B.Q4_K_M.gguf", &files).unwrap();
    let stored = llm.stored.unwrap();
    assert_eq!(stored.main, GgmlType::Q4K);
    let bits = [stored.q_bits, stored.v_bits, stored.down_bits, stored.lm_head_bits, stored.vector_bits];
    assert_eq!(bits.map(|it| it.to_string()), ["4.5", "5.53125", "5.53125", "6.5625", "32"]);
    assert_eq!((stored.router_bits, stored.gate_bits), (None, Some(4.5)));
    assert_eq!(about.name(), "Llama-3.1-8B.Q4_K_M");
    assert_eq!(about.to_string(), "A Model, mostly q4_k: 4.89 bits a weight, read from GGUF");
    let facts = about.facts();
    assert_eq!(facts["parameters"], json!(8_030_261_248_u64));
    assert_eq!(facts["tensors"], json!(292));
    assert_eq!(facts["types"]["q6_k"]["tensors"], json!(33));
    assert_eq!(facts["layers"]["attn_q"], json!("q4_k"));
    let values = "q4_k: 4-5, 7-8, 10-11, 13-14, 16-17, 19-20, 22-23, 25-26; q6_k: 0-3, 6, 9, 12, 15, 18, 21, 24, 27-31";
    assert_eq!(facts["layers"]["attn_v"], json!(values));
    let beside: u64 = facts["tensor_bytes"].as_u64().unwrap();
    assert_eq!(beside, WeightFormat::Stored.of(&llm).unwrap().total_bytes().0 + 256, "rotary factors beside");
}

/// As of a `config.json`: what is stretched after it was counted counts.
#[test]
fn a_context_is_what_positions_reach() {
    let file = |keys: &[(&str, Held)]| {
        let mut file = Writer::model("qwen2", &preset("qwen2.5-7b"), 3, Q4);
        for (key, value) in keys {
            file.set(&format!("qwen2.{key}"), value.clone());
        }
        let files = Files::default().with("it.gguf", file.write());
        Llm::from_gguf("it.gguf", &files).map(|it| it.1.facts()["context_tokens"].clone())
    };
    let scaled = |kind: &str, factor: f32| {
        [
            ("context_length", Held::U32(32_768)),
            ("rope.scaling.type", Held::Text(kind.to_owned())),
            ("rope.scaling.factor", Held::F32(factor)),
            ("rope.scaling.original_context_length", Held::U32(8192)),
        ]
    };
    assert_eq!(file(&[]), Ok(json!(8192)));
    assert_eq!(file(&scaled("yarn", 8.0)), Ok(json!(65_536)), "eight times what it was");
    assert_eq!(file(&scaled("yarn", 4.0)), Ok(json!(32_768)), "counted already");
    assert_eq!(file(&scaled("yarn", 4.0)[..3]), Ok(json!(131_072)), "from what is written");
    assert_eq!(file(&scaled("linear", 2.5)), Ok(json!(81_920)));
    assert_eq!(file(&scaled("linear", 0.0)), Ok(json!(32_768)), "no factor");
    for kind in ["none", "longrope"] {
        assert_eq!(file(&scaled(kind, 4.0)), Ok(json!(32_768)), "{kind}");
    }
    let text = file(&scaled("yarn", 0.1)).unwrap_err().to_string();
    assert_eq!(text, "`qwen2.rope.scaling.factor` is 0.1; it must be a number from 1 to 16777216");
    // Gemma 3 counts what it stretched.
    let mut gemma = Writer::model("gemma3", &preset("gemma-3-4b"), 3, Q4);
    gemma.set("gemma3.rope.scaling.factor", Held::F32(8.0));
    let files = Files::default().with("it.gguf", gemma.write());
    assert_eq!(Llm::from_gguf("it.gguf", &files).unwrap().1.facts()["context_tokens"], json!(8192));
}

#[test]
fn both_versions_and_any_width_of_numbers_are_read() {
    let mut file = Writer::model("llama", &preset("llama-3.2-1b"), 1000, Q4);
    let expected = read(&file).unwrap();
    file.version = 2;
    file.alignment = 64;
    file.set("general.alignment", Held::U32(64));
    file.set("llama.block_count", Held::U8(16));
    file.set("llama.attention.head_count", Held::U16(32));
    file.set("llama.attention.head_count_kv", Held::I32(8));
    // A list of two lists of one number each.
    let nested = [9_u32.to_le_bytes(), 2_u32.to_le_bytes(), [0; 4]].concat();
    let inner = [5_u32.to_le_bytes(), 1_u32.to_le_bytes(), [0; 4], 7_u32.to_le_bytes()].concat();
    file.set("a.list", Held::Raw(9, [nested, inner.clone(), inner].concat()));
    assert_eq!(read(&file).unwrap(), expected);
}

#[test]
fn experts_are_counted_with_their_router() {
    let mixtral = preset("mixtral-8x7b");
    let mut file = Writer::model("llama", &mixtral, 3, Q4);
    let found = read(&file).unwrap();
    assert_eq!(found.experts, Some(Experts { count: 8, active: 2 }));
    assert_eq!(found.stored.unwrap().router_bits, Some(32.0));
    file.set("llama.expert_used_count", Held::U32(9));
    assert_eq!(read(&file).unwrap_err().to_string(), "`experts.active` is 9; it must be from 1 to 8");
    let one = |it: &mut Writer, from: &str, to: &str| {
        let place = it.place(from);
        it.tensors[place].0 = to.to_owned();
    };
    file.set("llama.expert_used_count", Held::U32(2));
    one(&mut file, "blk.0.ffn_gate_exps.weight", "blk.0.ffn_gate.0.weight");
    let error = read(&file).unwrap_err().to_string();
    assert!(error.ends_with("until April 2024: convert the model again"), "{error}");
}

#[test]
fn a_split_file_is_one_model() {
    let whole = Writer::model("llama", &preset("llama-3.2-1b"), 3, Q4);
    let count = |files: u16, number: u16| {
        [
            ("split.no".to_owned(), Held::U16(number)),
            ("split.count".to_owned(), Held::U16(files)),
            ("split.tensors.count".to_owned(), Held::I32(i32::try_from(whole.tensors.len()).unwrap())),
        ]
    };
    let mut parts: Vec<Writer> = whole
        .tensors
        .chunks(50)
        .map(|it| Writer { keys: Vec::new(), tensors: it.to_vec(), ..whole.clone() })
        .collect();
    let files = u16::try_from(parts.len()).unwrap();
    assert_eq!(files, 3);
    parts[0].keys.clone_from(&whole.keys);
    for (number, it) in (0..).zip(&mut parts) {
        it.keys.extend(count(files, number));
    }
    let name = |at: usize| format!("it-{at:05}-of-00003.gguf");
    let folder = |parts: &[Writer]| {
        parts.iter().enumerate().fold(Files::default(), |all, (at, it)| all.with(&name(at + 1), it.write()))
    };
    let expected = read(&whole).unwrap();
    for at in 1..=3 {
        let (found, about) = Llm::from_gguf(&name(at), &folder(&parts)).unwrap();
        assert_eq!(found, expected, "by part {at}");
        assert_eq!(about.name(), "it");
        assert!(about.to_string().ends_with("read from 3 GGUF files"), "{about}");
        assert_eq!(about.facts()["files"], json!(3));
    }
    assert_eq!(Gguf::read(&name(2), &folder(&parts)).unwrap().files, 3);

    let error = |given: &str, files: &Files| Llm::from_gguf(given, files).unwrap_err().to_string();
    assert_eq!(error(&name(1), &folder(&parts[..2])), "part `it-00003-of-00003.gguf`: there is no such file");
    let renamed = Files::default().with("it.gguf", parts[0].write());
    let text = error("it.gguf", &renamed);
    assert!(text.starts_with("part `it.gguf`: it is one of 3 files, but its name is not"), "{text}");
    // Names that would leave the folder are not even made.
    for bad in
        ["../it-00001-of-00003.gguf", "a/it-00001-of-00003.gguf", "it-00000-of-00003.gguf", "it-1-of-3.gguf"]
    {
        let text = error(bad, &Files::default().with(bad, parts[0].write()));
        assert!(text.contains("is not"), "{bad}: {text}");
    }
    let mut swapped = parts.clone();
    swapped.swap(1, 2);
    let text = error(&name(1), &folder(&swapped));
    assert!(text.starts_with("part `it-00002-of-00003.gguf`: `split.no` is 2; it must be 1,"), "{text}");
    let mut twice = parts.clone();
    twice[1].tensors.push(parts[2].tensors[0].clone());
    let text = error(&name(1), &folder(&twice));
    assert!(text.starts_with("tensor `") && text.ends_with("is there twice"), "{text}");
    let mut fewer = parts.clone();
    fewer[2].tensors.pop();
    let text = error(&name(1), &folder(&fewer));
    assert!(text.starts_with("`split.tensors.count` is 146; it must be 145,"), "{text}");
    let mut many = parts;
    many[0].set("split.count", Held::U16(u16::MAX));
    let text = error(&name(1), &folder(&many));
    assert_eq!(text, "`split.count` is 65535; it must be at most 1024");
}

#[test]
fn what_is_missing_or_wrong_is_told_by_its_name() {
    let file = Writer::model("qwen2", &preset("qwen2.5-0.5b"), 3, |_, _| GgmlType::F16);
    let with = |change: &dyn Fn(&mut Writer)| {
        let mut file = file.clone();
        change(&mut file);
        read(&file).unwrap_err().to_string()
    };
    let text = with(&|it| it.set("general.architecture", Held::Text("opt".to_owned())));
    assert!(
        text.starts_with("`general.architecture` is \"opt\"; known are llama (Llama, Mistral, Mixtral),"),
        "{text}"
    );
    let text = with(&|it| it.keys.retain(|it| it.0 != "general.architecture"));
    assert!(text.starts_with("`general.architecture` is missing; known are"), "{text}");
    let text = with(&|it| it.keys.retain(|it| it.0 != "qwen2.block_count"));
    assert_eq!(text, "`qwen2.block_count` is missing; a model of architecture qwen2 needs it");
    let text = with(&|it| it.set("qwen2.block_count", Held::I32(-1)));
    assert_eq!(
        text,
        "`qwen2.block_count` is -1; it must be a whole number from 1 to 4096, one for all layers"
    );
    let text = with(&|it| it.set("qwen2.feed_forward_length", Held::Numbers(vec![4864; 24])));
    assert!(
        text.starts_with("`qwen2.feed_forward_length` is a list of 24; it must be a whole number"),
        "{text}"
    );
    let text = with(&|it| it.set("qwen2.block_count", Held::U32(25)));
    assert_eq!(text, "tensor `blk.24.attn_q.weight` is missing; its shape would be 896 x 896");
    let text = with(&|it| it.set("qwen2.attention.head_count_kv", Held::U32(7)));
    assert_eq!(
        text,
        "tensor `blk.0.attn_k.weight` is of shape 896 x 128, but the model's keys and other tensors make it 896 x 448"
    );
    let text = with(&|it| it.set("qwen2.embedding_length", Held::U32(897)));
    assert_eq!(text, "`qwen2.embedding_length` is 897; it must be 896, as wide as `token_embd.weight`");
    let text = with(&|it| it.set("qwen2.attention.head_count", Held::U32(13)));
    assert!(
        text.starts_with("`qwen2.attention.head_count` is 13; it must be a divisor of 896, the width,"),
        "{text}"
    );
    let text = with(&|it| it.tensors.push(("blk.3.ssm_in.weight".to_owned(), vec![64, 3], GgmlType::F32)));
    assert_eq!(
        text,
        "tensor `blk.3.ssm_in.weight` of shape 64 x 3 is none of a model of architecture qwen2 as it is known here"
    );
    let text = with(&|it| it.tensors.retain(|it| it.0 != "token_embd.weight"));
    assert!(text.starts_with("tensor `token_embd.weight` is missing"), "{text}");
    // Biases of one projection only.
    let text = with(&|it| it.tensors.retain(|it| it.0 != "blk.7.attn_v.bias"));
    assert!(text.starts_with("tensor `blk.7.attn_v.bias` is missing"), "{text}");
    assert_eq!(preset("qwen2.5-0.5b").norm, Norm::Rms);
}
