//! Writes the beginning of GGUF files, by the specification and by nothing of the reader's.

use std::collections::BTreeMap;
use std::io::Read;

use memscape_study::{Folder, Opened};
use memscape_workload::{Activation, Block, GgmlType, Llm, Norm};

/// A key's value.
#[derive(Clone)]
pub enum Held {
    U8(u8),
    U16(u16),
    I32(i32),
    U32(u32),
    F32(f32),
    Bool(bool),
    Text(String),
    Texts(Vec<String>),
    Numbers(Vec<i32>),
    /// Its type and its bytes, whatever they are.
    Raw(u32, Vec<u8>),
}

/// A file in the making.
#[derive(Clone)]
pub struct Writer {
    pub version: u32,
    pub keys: Vec<(String, Held)>,
    /// Name, extents (columns first), type.
    pub tensors: Vec<(String, Vec<u64>, GgmlType)>,
    pub alignment: u64,
}

impl Writer {
    pub fn new(keys: Vec<(String, Held)>) -> Self {
        Self { version: 3, keys, tensors: Vec::new(), alignment: 32 }
    }

    /// A model as llama.cpp converts it, its tensors of the types that `kind` says by name and
    /// layer. The vocabulary is there, as long as that of `words`.
    pub fn model(architecture: &str, llm: &Llm, words: u32, kind: impl Fn(&str, u32) -> GgmlType) -> Self {
        let own = |key: &str| format!("{architecture}.{key}");
        let text = |it: &str| Held::Text(it.to_owned());
        let mut keys = vec![
            ("general.architecture".to_owned(), text(architecture)),
            ("general.name".to_owned(), text("A Model")),
            ("general.file_type".to_owned(), Held::U32(15)),
            (own("block_count"), Held::U32(llm.layers)),
            (own("context_length"), Held::U32(8192)),
            (own("embedding_length"), Held::U32(llm.hidden_size)),
            (
                own("feed_forward_length"),
                Held::U32(if architecture == "qwen3moe" { 6144 } else { llm.ffn_size }),
            ),
            (own("attention.head_count"), Held::U32(llm.heads)),
            (own("attention.layer_norm_rms_epsilon"), Held::F32(1e-5)),
            (
                "tokenizer.ggml.tokens".to_owned(),
                Held::Texts((0..words).map(|it| format!("<{it}>")).collect()),
            ),
            ("tokenizer.ggml.token_type".to_owned(), Held::Numbers(vec![1; words as usize])),
            ("tokenizer.ggml.add_bos_token".to_owned(), Held::Bool(true)),
        ];
        if llm.kv_heads != llm.heads {
            keys.push((own("attention.head_count_kv"), Held::U32(llm.kv_heads)));
        }
        if llm.head_dim * llm.heads != llm.hidden_size {
            keys.push((own("attention.key_length"), Held::U32(llm.head_dim)));
            keys.push((own("attention.value_length"), Held::U32(llm.head_dim)));
        }
        if let Some(window) = llm.window {
            keys.push((own("attention.sliding_window"), Held::U32(window.tokens)));
        }
        if let Some(experts) = llm.experts {
            keys.push((own("expert_count"), Held::U32(experts.count)));
            keys.push((own("expert_used_count"), Held::U32(experts.active)));
            // Mixtral has no other networks, so that its files say it once.
            if architecture != "llama" {
                keys.push((own("expert_feed_forward_length"), Held::U32(llm.ffn_size)));
            }
        }
        let mut file = Self::new(keys);
        let (hidden, vocabulary) = (u64::from(llm.hidden_size), u64::from(llm.vocab_size));
        file.tensor("token_embd.weight", &[hidden, vocabulary], &kind);
        for layer in 0..llm.layers {
            file.layer(architecture, llm, layer, &kind);
        }
        file.norm("output_norm", hidden, llm.norm, &kind);
        if !llm.tied_embeddings {
            file.tensor("output.weight", &[hidden, vocabulary], &kind);
        }
        assert!(llm.gated == (llm.activation != Activation::Gelu || llm.block == Block::SandwichNorm));
        file
    }

    fn layer(&mut self, architecture: &str, llm: &Llm, layer: u32, kind: &impl Fn(&str, u32) -> GgmlType) {
        let (hidden, ffn) = (u64::from(llm.hidden_size), u64::from(llm.ffn_size));
        let (q, kv) = (llm.q_size(), llm.kv_size());
        let name = |it: &str| format!("blk.{layer}.{it}");
        let stacks = architecture == "phi3" || architecture == "falcon";
        let of_attention: &[(&str, u64)] = if stacks {
            &[("attn_qkv", q + 2 * kv)]
        } else {
            &[("attn_q", q), ("attn_k", kv), ("attn_v", kv)]
        };
        for (it, rows) in of_attention {
            self.tensor(&name(&format!("{it}.weight")), &[hidden, *rows], kind);
            if llm.qkv_bias {
                self.tensor(&name(&format!("{it}.bias")), &[*rows], kind);
            }
        }
        self.tensor(&name("attn_output.weight"), &[q, hidden], kind);
        if let Some(experts) = llm.experts {
            let count = u64::from(experts.count);
            self.tensor(&name("ffn_gate_inp.weight"), &[hidden, count], kind);
            self.tensor(&name("ffn_gate_exps.weight"), &[hidden, ffn, count], kind);
            self.tensor(&name("ffn_up_exps.weight"), &[hidden, ffn, count], kind);
            self.tensor(&name("ffn_down_exps.weight"), &[ffn, hidden, count], kind);
        } else {
            if llm.gated && architecture != "phi3" {
                self.tensor(&name("ffn_gate.weight"), &[hidden, ffn], kind);
            }
            let up = if architecture == "phi3" { 2 * ffn } else { ffn };
            self.tensor(&name("ffn_up.weight"), &[hidden, up], kind);
            self.tensor(&name("ffn_down.weight"), &[ffn, hidden], kind);
        }
        let norms: &[&str] = match llm.block {
            Block::SandwichNorm => &["attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm"],
            Block::Parallel => &["attn_norm", "attn_norm_2"],
            Block::ParallelSharedNorm => &["attn_norm"],
            Block::PreNorm | Block::PostNorm => &["attn_norm", "ffn_norm"],
        };
        for it in norms {
            self.norm(&name(it), hidden, llm.norm, kind);
        }
        if llm.qk_norm {
            for it in ["attn_q_norm", "attn_k_norm"] {
                self.norm(&name(it), llm.head_dim.into(), llm.norm, kind);
            }
        }
    }

    fn norm(&mut self, name: &str, width: u64, norm: Norm, kind: &impl Fn(&str, u32) -> GgmlType) {
        self.tensor(&format!("{name}.weight"), &[width], kind);
        if norm == Norm::Layer {
            self.tensor(&format!("{name}.bias"), &[width], kind);
        }
    }

    /// A vector and a router are always of binary32.
    fn tensor(&mut self, name: &str, extents: &[u64], kind: &impl Fn(&str, u32) -> GgmlType) {
        let plain = extents.len() == 1 || name.ends_with("ffn_gate_inp.weight");
        let mut parts = name.trim_start_matches("blk.").split('.');
        let layer = parts.next().and_then(|it| it.parse().ok()).unwrap_or(0);
        let matrix = name.trim_end_matches(".weight").rsplit('.').next().unwrap();
        let kind = if plain { GgmlType::F32 } else { kind(matrix, layer) };
        self.tensors.push((name.to_owned(), extents.to_vec(), kind));
    }

    /// Where a tensor stands in the list.
    pub fn place(&self, name: &str) -> usize {
        self.tensors.iter().position(|it| it.0 == name).unwrap_or_else(|| panic!("{name}"))
    }

    pub fn set(&mut self, key: &str, value: Held) {
        self.keys.retain(|it| it.0 != key);
        self.keys.push((key.to_owned(), value));
    }

    pub fn bytes_of(extents: &[u64], kind: GgmlType) -> u64 {
        extents.iter().product::<u64>() / kind.block_elements() * kind.block_bytes()
    }

    /// The bytes before the data, and the length of the whole file.
    pub fn write(&self) -> (Vec<u8>, u64) {
        let mut out = b"GGUF".to_vec();
        out.extend(self.version.to_le_bytes());
        out.extend((self.tensors.len() as u64).to_le_bytes());
        out.extend((self.keys.len() as u64).to_le_bytes());
        for (key, value) in &self.keys {
            text(&mut out, key);
            held(&mut out, value);
        }
        let mut offset = 0_u64;
        for (name, extents, kind) in &self.tensors {
            text(&mut out, name);
            out.extend(u32::try_from(extents.len()).unwrap().to_le_bytes());
            out.extend(extents.iter().flat_map(|it| it.to_le_bytes()));
            out.extend(kind.id().to_le_bytes());
            out.extend(offset.to_le_bytes());
            offset += Self::bytes_of(extents, *kind).next_multiple_of(self.alignment);
        }
        out.resize(out.len().next_multiple_of(usize::try_from(self.alignment).unwrap()), 0);
        let length = out.len() as u64 + offset;
        (out, length)
    }
}

fn text(out: &mut Vec<u8>, text: &str) {
    out.extend((text.len() as u64).to_le_bytes());
    out.extend(text.as_bytes());
}

fn held(out: &mut Vec<u8>, value: &Held) {
    let kind = |out: &mut Vec<u8>, id: u32| out.extend(id.to_le_bytes());
    match value {
        Held::U8(it) => {
            kind(out, 0);
            out.push(*it);
        }
        Held::U16(it) => {
            kind(out, 2);
            out.extend(it.to_le_bytes());
        }
        Held::U32(it) => {
            kind(out, 4);
            out.extend(it.to_le_bytes());
        }
        Held::I32(it) => {
            kind(out, 5);
            out.extend(it.to_le_bytes());
        }
        Held::F32(it) => {
            kind(out, 6);
            out.extend(it.to_le_bytes());
        }
        Held::Bool(it) => {
            kind(out, 7);
            out.push((*it).into());
        }
        Held::Text(it) => {
            kind(out, 8);
            text(out, it);
        }
        Held::Texts(all) => {
            kind(out, 9);
            kind(out, 8);
            out.extend((all.len() as u64).to_le_bytes());
            for it in all {
                text(out, it);
            }
        }
        Held::Numbers(all) => {
            kind(out, 9);
            kind(out, 5);
            out.extend((all.len() as u64).to_le_bytes());
            out.extend(all.iter().flat_map(|it| it.to_le_bytes()));
        }
        Held::Raw(id, bytes) => {
            kind(out, *id);
            out.extend(bytes);
        }
    }
}

/// Files in memory: the bytes at their beginning, and how long they are said to be. What lies
/// between is not there: who reads it gets an error.
#[derive(Default)]
pub struct Files(BTreeMap<String, (Vec<u8>, u64)>);

impl Files {
    pub fn with(mut self, name: &str, (bytes, length): (Vec<u8>, u64)) -> Self {
        self.0.insert(name.to_owned(), (bytes, length));
        self
    }
}

impl Folder for Files {
    fn open(&self, name: &str) -> Result<Opened<'_>, String> {
        if name.contains(['/', '\\']) || name == ".." {
            return Err(format!("`{name}` is not the name of a file beside it"));
        }
        let (bytes, length) = self.0.get(name).ok_or("there is no such file")?;
        Ok(Opened { length: *length, bytes: Box::new(Beginning(bytes)) })
    }
}

/// Bytes, after which there are none to read.
struct Beginning<'a>(&'a [u8]);

impl Read for Beginning<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        if self.0.is_empty() && !into.is_empty() {
            return Err(std::io::Error::other("the data of tensors was read"));
        }
        self.0.read(into)
    }
}
