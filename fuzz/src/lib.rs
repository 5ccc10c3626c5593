//! What reads the files and texts of others, as functions of bytes that must come back:
//! with an answer or an error, never a panic, and in bounded memory and time.
//!
//! Fuzzers call them (`fuzz_targets`), and `crates/memscape-cli/tests/inputs.rs` does with
//! mutations of real files.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use memscape::explore::{Control, Expression, Question, Store, StudyFile, Sweep, Table, digest};
use memscape::ndp::activity::{Profile, Trace};
use memscape::papers::claims::Published;
use memscape::papers::predictions;
use memscape::parameters;
use memscape::prelude::{Space, study};
use memscape::study::{CatalogError, File, Find, PresetError};
use memscape::systems::registry;

/// Who reads what.
#[derive(Clone, Copy)]
pub struct Surface {
    /// What it is called.
    pub name: &'static str,
    /// Reads bytes.
    pub read: fn(&[u8]),
    /// Real input, to begin from.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

/// Everything that reads what others wrote.
pub static SURFACES: [Surface; 11] = [
    Surface { name: "study_file", read: study_file, seeds: study_files },
    Surface { name: "description", read: description, seeds: descriptions },
    Surface { name: "config_json", read: config_json, seeds: configs },
    Surface { name: "gguf", read: gguf, seeds: gguf_files },
    Surface { name: "claims", read: claims, seeds: published },
    Surface { name: "measured", read: measured, seeds: measurements },
    Surface { name: "npz", read: npz, seeds: recordings },
    Surface { name: "formula", read: formula, seeds: formulas },
    Surface { name: "store", read: store, seeds: stores },
    Surface { name: "table", read: table, seeds: tables },
    Surface { name: "arguments", read: arguments, seeds: commands },
];

/// Only looks whether there is something to do.
struct Stopped;

impl Control for Stopped {
    fn cancelled(&self) -> bool {
        true
    }
}

/// A study file, up to the point where its sweep, search or sensitivity would begin.
pub fn study_file(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(file) = StudyFile::parse(text) else { return };
    if let Some(search) = &file.search {
        let _ = (search.objectives(), search.strategy());
    }
    let Ok(study) = study(&file.study) else { return };
    let Ok(sweep) = file.sweep(study) else { return };
    // What a large grid takes is what was asked for.
    if sweep.points().is_ok_and(|it| it <= MOST_POINTS) && study.sweep(&sweep, &Stopped).is_ok() {
        let _ = Question::of(study, &sweep);
    }
}

const MOST_POINTS: u64 = 100_000;

/// A description of hardware, a model or a platform, of whichever kind it is.
pub fn description(bytes: &[u8]) {
    let file = File { name: "given.toml".to_owned(), bytes: bytes.to_vec() };
    let by_name: Find<'_> = &|catalog, name| Ok(catalog.find_plain(name)?.clone());
    for catalog in registry().catalogs() {
        match catalog.read(std::slice::from_ref(&file)) {
            Ok(form) => drop(catalog.complete(form, by_name)),
            // The same for all of them.
            Err(CatalogError::Preset(PresetError::Toml(_) | PresetError::Value { .. })) => return,
            Err(_) => {}
        }
    }
}

/// A model as Hugging Face publishes it, and what it takes then.
pub fn config_json(bytes: &[u8]) {
    let file = File { name: "config.json".to_owned(), bytes: bytes.to_vec() };
    let by_name: Find<'_> = &|catalog, name| Ok(catalog.find_plain(name)?.clone());
    let models = registry().catalog("model").expect("there are models");
    let Ok(form) = models.read(&[file]) else { return };
    let Ok(model) = models.complete(form, by_name) else { return };
    let asked = parameters! { "model" => model.parameters, "prompt_tokens" => 16 };
    let _ = study("cxl.inference").expect("it is built in").run(&asked);
}

/// A model as llama.cpp stores it, and what it takes then.
pub fn gguf(bytes: &[u8]) {
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let path = folder.path().join("given.gguf");
    std::fs::write(&path, bytes).expect("as above");
    let asked = parameters! { "model" => path.to_str().expect("a plain name"), "prompt_tokens" => 16 };
    let _ = study("cxl.inference").expect("it is built in").run(&asked);
}

/// A model of one layer, by the format's description.
fn gguf_files() -> Vec<Vec<u8>> {
    const TEXT: u32 = 8;
    const NUMBER: u32 = 4;
    const LIST: u32 = 9;
    let text = |it: &str| [&(it.len() as u64).to_le_bytes()[..], it.as_bytes()].concat();
    let key = |name: &str, kind: u32, value: &[u8]| [&text(name)[..], &kind.to_le_bytes(), value].concat();
    let number = |name: &str, value: u32| key(&format!("llama.{name}"), NUMBER, &value.to_le_bytes());
    let words = [&TEXT.to_le_bytes()[..], &2_u64.to_le_bytes(), &text("a"), &text("b")].concat();
    let keys = [
        key("general.architecture", TEXT, &text("llama")),
        number("block_count", 1),
        number("context_length", 64),
        number("embedding_length", 64),
        number("feed_forward_length", 128),
        number("attention.head_count", 4),
        number("attention.head_count_kv", 2),
        key("tokenizer.ggml.tokens", LIST, &words),
    ];
    // Types 0 and 2 are binary32, and blocks of 32 weights in 18 bytes.
    let matrices: [(&str, &[u64]); 13] = [
        ("token_embd", &[64, 32]),
        ("blk.0.attn_norm", &[64]),
        ("blk.0.attn_q", &[64, 64]),
        ("blk.0.attn_k", &[64, 32]),
        ("blk.0.attn_v", &[64, 32]),
        ("blk.0.attn_output", &[64, 64]),
        ("blk.0.ffn_norm", &[64]),
        ("blk.0.ffn_gate", &[64, 128]),
        ("blk.0.ffn_up", &[64, 128]),
        ("blk.0.ffn_down", &[128, 64]),
        ("output_norm", &[64]),
        ("output", &[64, 32]),
        ("rope_freqs", &[8]),
    ];
    let mut file = [&b"GGUF"[..], &3_u32.to_le_bytes(), &(matrices.len() as u64).to_le_bytes()].concat();
    file.extend((keys.len() as u64).to_le_bytes());
    file.extend(keys.concat());
    let mut offset = 0_u64;
    for (name, extents) in matrices {
        let plain = extents.len() == 1;
        file.extend(text(&format!("{name}.weight")));
        file.extend(u32::try_from(extents.len()).expect("two at most").to_le_bytes());
        file.extend(extents.iter().flat_map(|it| it.to_le_bytes()));
        file.extend(if plain { 0_u32 } else { 2 }.to_le_bytes());
        file.extend(offset.to_le_bytes());
        let weights: u64 = extents.iter().product();
        offset = (offset + if plain { 4 * weights } else { 18 * weights / 32 }).next_multiple_of(32);
    }
    let head = file.len().next_multiple_of(32);
    file.resize(head + usize::try_from(offset).expect("a small file"), 0);
    vec![file]
}

/// A claims file.
pub fn claims(bytes: &[u8]) {
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = Published::parse(text, "given.toml");
    }
}

/// Measurements that are held against predictions.
pub fn measured(bytes: &[u8]) {
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = predictions::score(text);
    }
}

/// A recording, as a sequence and as a profile.
pub fn npz(bytes: &[u8]) {
    let _ = (Trace::from_npz(bytes), Profile::from_npz(bytes));
}

/// A constraint, parsed and held against two points.
pub fn formula(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if Expression::parse(text).is_err() {
        return;
    }
    let space = Space::default().axis("memory.banks_per_channel", [8, 16]).constraint(text);
    let base = parameters! { "model" => "opt-125m", "gemv" => "qkv" };
    let _ = study("pim.gemv").expect("it is built in").sweep(&Sweep::of(base).through(space), &());
}

const ASKED: &str = "study = \"cxl.inference\"\n[axes]\nprompt_tokens = [16, 32, 64]\n";

/// One file of a store beside the others as they were, with a name that its checksum fits if it holds
/// rows: the first byte says which. Then the store is checked, listed, read and asked.
pub fn store(bytes: &[u8]) {
    let Some((first, bytes)) = bytes.split_first() else { return };
    let files = of_a_store();
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    for (index, (name, whole)) in files.iter().enumerate() {
        let changed = index == usize::from(*first) % files.len();
        let name = match name.rsplit_once('-') {
            Some((address, _)) if changed => format!("{address}-{}.parquet", digest(bytes)),
            _ => name.clone(),
        };
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().expect("it is in a folder")).expect("as above");
        std::fs::write(path, if changed { bytes } else { whole }).expect("as above");
    }
    let Ok(store) = Store::open(folder.path()) else { return };
    for run in store.runs().into_iter().flatten() {
        let _ = store.table(&run, &());
    }
    let asked = StudyFile::parse(ASKED).expect("a study file");
    let study = study(&asked.study).expect("it is built in");
    let sweep = asked.sweep(study).expect("a sweep");
    let _ = (store.sweep(study, &sweep, &()), store.verify(&()));
}

/// The files of a store with one run, and their names in it.
fn of_a_store() -> &'static [(String, Vec<u8>)] {
    static FILES: OnceLock<Vec<(String, Vec<u8>)>> = OnceLock::new();
    FILES.get_or_init(|| {
        let asked = StudyFile::parse(ASKED).expect("a study file");
        let study = study(&asked.study).expect("it is built in");
        let folder = tempfile::tempdir().expect("there is room for temporary files");
        let store = Store::open(folder.path()).expect("an empty folder");
        store.fill(study, &asked.sweep(study).expect("a sweep"), &()).expect("rows");
        let found = below(folder.path());
        let name =
            |path: &PathBuf| path.strip_prefix(folder.path()).ok().and_then(Path::to_str).map(str::to_owned);
        found.iter().filter_map(|it| Some((name(it)?, std::fs::read(it).ok()?))).collect()
    })
}

fn stores() -> Vec<Vec<u8>> {
    let numbered = of_a_store().iter().zip(0_u8..);
    numbered.map(|((_, bytes), index)| [&[index][..], bytes].concat()).collect()
}

/// A table in Parquet.
pub fn table(bytes: &[u8]) {
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let path = folder.path().join("given.parquet");
    std::fs::write(&path, bytes).expect("as above");
    let _ = Table::read_parquet(&path);
}

/// Lines as the arguments of a command that takes no time.
pub fn arguments(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let arguments: Vec<&str> = text.lines().collect();
    if matches!(arguments.first(), Some(&("run" | "describe" | "presets" | "schema" | "studies" | "show"))) {
        let named = std::iter::once("memscape").chain(arguments);
        memscape_cli::run(named, &mut Vec::new(), &mut Vec::new());
    }
}

/// The repository, from which seeds are read.
fn repository() -> &'static Path {
    // Seen from here, and from the tests' crate.
    let own = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let crates = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    if own.join("data").is_dir() { own } else { crates }
}

/// All files below a folder that end so, in the order of their names.
fn files(folder: &str, ending: &str) -> Vec<Vec<u8>> {
    let mut found = below(&repository().join(folder));
    found.retain(|it| it.extension().is_some_and(|it| it == ending));
    assert!(!found.is_empty(), "there is no .{ending} in {folder}");
    found.iter().map(|it| std::fs::read(it).expect("it is there")).collect()
}

/// All files below a folder, in the order of their names.
fn below(folder: &Path) -> Vec<PathBuf> {
    let (mut found, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder).unwrap_or_else(|it| panic!("{}: {it}", folder.display()));
        for path in entries.map(|it| it.expect("it was listed").path()) {
            if path.is_dir() { folders.push(path) } else { found.push(path) }
        }
    }
    found.sort();
    found
}

fn study_files() -> Vec<Vec<u8>> {
    let small = [
        ASKED,
        "study = \"pim.gemv\"\nconstraints = [\"pim.registers <= 64 and time_ns < 1e9\"]\n[base]\nmodel = \"opt-125m\"\n\
         [axes]\n\"pim.registers\" = { from = 8, to = 32, step = 8 }\nsplit_k = { values = [1, 2], when = \"true\" }\n\
         [[zip]]\n\"memory.trcd_ns\" = [10, 20]\n\"memory.trp_ns\" = [10, 20]\n[search]\nminimize = [\"time_ns\"]\n",
        "study = \"npu.gemm\"\noutput = \"a.csv\"\n[sample]\nmethod = \"sobol\"\ncount = 8\nseed = 1\n[sample.ranges]\n\
         m = { min = 64, max = 4096, integer = true, log = true }\n[sensitivity]\nof = [\"time_ns\"]\nmethod = \"morris\"\n",
    ];
    files("data/spaces", "toml").into_iter().chain(small.map(|it| it.as_bytes().to_vec())).collect()
}

fn descriptions() -> Vec<Vec<u8>> {
    ["data/hardware", "data/models", "data/platforms"].into_iter().flat_map(|it| files(it, "toml")).collect()
}

fn configs() -> Vec<Vec<u8>> {
    let all = [
        r#"{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 2048, "intermediate_size": 8192,
            "num_attention_heads": 32, "num_hidden_layers": 16, "num_key_value_heads": 8, "head_dim": 64, "vocab_size": 128256,
            "tie_word_embeddings": true, "hidden_act": "silu", "max_position_embeddings": 131072, "torch_dtype": "bfloat16"}"#,
        r#"{"architectures": ["OPTForCausalLM"], "model_type": "opt", "hidden_size": 768, "ffn_dim": 3072,
            "num_attention_heads": 12, "num_hidden_layers": 12, "word_embed_proj_dim": 768, "vocab_size": 50272,
            "activation_function": "relu", "do_layer_norm_before": true, "max_position_embeddings": 2048}"#,
        r#"{"architectures": ["MixtralForCausalLM"], "model_type": "mixtral", "hidden_size": 4096, "intermediate_size": 14336,
            "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8, "num_local_experts": 8,
            "num_experts_per_tok": 2, "sliding_window": null, "vocab_size": 32000, "hidden_act": "silu"}"#,
    ];
    all.map(|it| it.as_bytes().to_vec()).into()
}

fn published() -> Vec<Vec<u8>> {
    files("data/published", "toml")
}

fn measurements() -> Vec<Vec<u8>> {
    let of =
        |id: &str| format!("[[measured]]\nid = \"{id}\"\nvalue = 12.5\nsource = \"me, on my machine\"\n");
    let said = predictions::said().expect("it is built in");
    vec![
        of(&said[0].id).into_bytes(),
        said.iter().take(9).map(|it| of(&it.id)).collect::<String>().into_bytes(),
    ]
}

fn recordings() -> Vec<Vec<u8>> {
    // Small ones of the same form are quicker to go through.
    let array = |name: &str, dtype: &str, shape: &str, data: &[u8]| {
        let header = format!("{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}\n");
        let length = u16::try_from(header.len()).expect("it is short").to_le_bytes();
        let npy = [b"\x93NUMPY\x01\x00".as_slice(), &length, header.as_bytes(), data].concat();
        (format!("{name}.npy"), npy)
    };
    let trace = [
        array("qkv", "|u1", "(2, 1, 1)", &[5, 128]),
        array("mlp", "|u1", "(2, 1, 2)", &[1, 0, 0, 128]),
        array("n_prefill", "<i8", "()", &1_i64.to_le_bytes()),
        array("meta", "<U2", "()", &[b'{', 0, 0, 0, b'}', 0, 0, 0]),
    ];
    let shares = [0.5_f32.to_le_bytes(); 8].concat();
    let parents = [255; 32];
    let profile = [
        array("qkv_freq", "<f4", "(1, 8)", &shares),
        array("qkv_parents", "<u2", "(1, 8, 2)", &parents),
        array("mlp_freq", "<f4", "(1, 8)", &shares),
        array("mlp_parents", "<u2", "(1, 8, 2)", &parents),
    ];
    vec![stored(&trace), stored(&profile), files("data/traces", "npz").remove(0)]
}

/// A ZIP archive of these files, uncompressed.
fn stored(files: &[(String, Vec<u8>)]) -> Vec<u8> {
    let (mut out, mut directory) = (Vec::new(), Vec::new());
    let word = |it: usize| u32::try_from(it).expect("it is small").to_le_bytes();
    let half = |it: usize| u16::try_from(it).expect("it is small").to_le_bytes();
    for (name, data) in files {
        let (size, length) = (word(data.len()), half(name.len()));
        let about =
            [&[20, 0, 0, 0, 0, 0, 0, 0, 33, 0][..], &crc(data).to_le_bytes(), &size, &size, &length].concat();
        let offset = word(out.len());
        directory
            .extend([b"PK\x01\x02\x14\x00".as_slice(), &about, &[0; 12], &offset, name.as_bytes()].concat());
        out.extend([b"PK\x03\x04".as_slice(), &about, &[0, 0], name.as_bytes(), data].concat());
    }
    let (count, start, size) = (half(files.len()), word(out.len()), word(directory.len()));
    [&out[..], &directory, b"PK\x05\x06\0\0\0\0", &count, &count, &size, &start, &[0, 0]].concat()
}

/// The checksum of ZIP.
fn crc(data: &[u8]) -> u32 {
    !data.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0xEDB8_8320 & (crc & 1).wrapping_neg()))
    })
}

fn formulas() -> Vec<Vec<u8>> {
    let all = [
        "pim.registers * memory.banks_per_channel <= 512 and time_ns < 1e9",
        "not (placement == 'pimnast') or split_k in [1, 2, 4] and feasible != null",
        "max(1, min(2, abs(-pim.registers ** 2 // 3 % 5))) + sqrt(log2(8)) / floor(2.5) > answer.speedup",
        "`memory.trcd_ns` not in [10, 2.5e-3, \"text\"] or round(ceil(log10(100))) == -1",
    ];
    all.map(|it| it.as_bytes().to_vec()).into()
}

fn tables() -> Vec<Vec<u8>> {
    let asked = StudyFile::parse(ASKED).expect("a study file");
    let study = study(&asked.study).expect("it is built in");
    let table = study.sweep(&asked.sweep(study).expect("a sweep"), &()).expect("rows");
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let path = folder.path().join("table.parquet");
    table.write_parquet(&path).expect("as above");
    vec![std::fs::read(&path).expect("as above")]
}

fn commands() -> Vec<Vec<u8>> {
    let all = [
        "run\npim.gemv\nmodel=opt-125m\ngemv=fc1\nmemory.banks_per_channel=32",
        "run\ncxl.inference\nmodel={ base = \"opt-1.3b\", layers = 3 }\nprompt_tokens=16",
        "describe\nlpddr5-6400\n--diff\nlpddr5x-8533",
        "presets\nmemory",
        "schema\nmemory",
        "run\nnpu.gemm\nm=1024\nprecision=int8-int16\n--json",
    ];
    all.map(|it| it.as_bytes().to_vec()).into()
}
