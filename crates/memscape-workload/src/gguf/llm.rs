//! From a file's keys and tensors to a model.

use std::collections::HashSet;

use memscape_study::Folder;

use super::error::GgufError;
use super::file::Gguf;
use super::header::{Tensor, Value, in_words};
use super::summary::Summary;
use crate::context::{self, Stretched, reached};
use crate::ggml::GgmlType;
use crate::model::{Activation, Block, Experts, Llm, MAX_EXPERTS, MAX_LAYERS, MAX_WIDTH, Norm, Window};
use crate::stored::Stored;

impl Llm {
    /// Reads a model from the beginning of a GGUF file, or of all parts of one that is split:
    /// Llama (and what shares its architecture, such as Mistral and Mixtral), Qwen2 and 2.5,
    /// Qwen3 with and without experts, Gemma 2 and 3, Phi-3 and Falcon. How its weights are stored stands in
    /// [`Llm::stored`].
    ///
    /// Every tensor must be there in the shape that the keys and the others make it, and none
    /// beside, so that the parameters counted are those of the file. What only turns positions
    /// (`rope_freqs.weight`) is none of a model.
    ///
    /// # Errors
    /// [`GgufError`] names the key or the tensor at fault.
    ///
    /// # Source
    /// llama.cpp: names of tensors in `llama-arch.cpp`, shapes and windows where each
    /// architecture is loaded.
    pub fn from_gguf(name: &str, folder: &dyn Folder) -> Result<(Self, Summary), GgufError> {
        let file = Gguf::read(name, folder)?;
        let model = Model::new(&file)?;
        let mut llm = model.llm()?;
        llm.check()?;
        let stacked = model.stacked(&llm);
        // Studies know both or neither; no known architecture has one alone.
        llm.stacked = stacked.qkv && (stacked.gate_up || !llm.gated);
        let (parts, beside) = model.parts(&llm, stacked)?;
        llm.stored = Some(parts.stored(&file, llm.tied_embeddings));
        llm.check()?;
        let context = model.context()?;
        Ok((llm, Summary::new(&file, &llm, context, beside)))
    }
}

/// What an architecture says of all its models.
struct Family {
    norm: Norm,
    gated: bool,
    activation: Activation,
    /// Norms before and after attention and feed-forward network.
    sandwich: bool,
    window: Windows,
    /// The key of the width of the feed-forward network, or of each expert's.
    ffn_size: &'static str,
}

/// Which layers have the sliding window.
#[derive(Clone, Copy)]
enum Windows {
    /// None.
    None,
    /// All but every so many, unless the file says how many; as long as this, unless the file says how long.
    Alternate { every: u32, tokens: Option<u32> },
}

const LLAMA: Family = Family {
    norm: Norm::Rms,
    gated: true,
    activation: Activation::Silu,
    sandwich: false,
    window: Windows::None,
    ffn_size: "feed_forward_length",
};

/// llama.cpp attends to everything in models of architecture `llama`, Mistral among them,
/// and its files do not say otherwise. Those of `phi3` say how long the window is, and
/// llama.cpp passes over it (ggml-org/llama.cpp#13676).
const FAMILIES: &[(&str, Family)] = &[
    ("llama", LLAMA),
    ("qwen2", LLAMA),
    ("qwen3", LLAMA),
    ("qwen3moe", Family { ffn_size: "expert_feed_forward_length", ..LLAMA }),
    ("phi3", LLAMA),
    (
        "gemma2",
        Family {
            activation: Activation::Gelu,
            sandwich: true,
            window: Windows::Alternate { every: 2, tokens: Some(4096) },
            ..LLAMA
        },
    ),
    (
        "gemma3",
        Family {
            activation: Activation::Gelu,
            sandwich: true,
            window: Windows::Alternate { every: 6, tokens: None },
            ..LLAMA
        },
    ),
    ("falcon", Family { norm: Norm::Layer, gated: false, activation: Activation::Gelu, ..LLAMA }),
];

/// Matrices that a file stacks into one tensor.
#[derive(Clone, Copy)]
struct Stacked {
    /// Queries, keys and values.
    qkv: bool,
    /// Gate and up projection.
    gate_up: bool,
}

/// A file, read as a model of a family.
struct Model<'a> {
    file: &'a Gguf,
    architecture: &'a str,
    family: &'a Family,
}

impl<'a> Model<'a> {
    fn new(file: &'a Gguf) -> Result<Self, GgufError> {
        let architecture = file.architecture()?;
        let found = FAMILIES.iter().find(|it| it.0 == architecture);
        let Some((_, family)) = found else {
            return Err(GgufError::Architecture { given: format!("{architecture:?}") });
        };
        Ok(Self { file, architecture, family })
    }

    fn llm(&self) -> Result<Llm, GgufError> {
        let Family { norm, gated, activation, sandwich, .. } = *self.family;
        let embedding = self.table("token_embd.weight")?;
        let width = |extent: usize, what: &str| {
            u32::try_from(embedding.shape[extent]).ok().filter(|it| *it <= MAX_WIDTH).ok_or_else(|| {
                GgufError::Count {
                    what: format!("{what} of `token_embd.weight`"),
                    given: embedding.shape[extent].to_string(),
                    allowed: format!("at most {MAX_WIDTH}"),
                }
            })
        };
        let (hidden_size, vocab_size) = (width(0, "the width")?, width(1, "the number of rows")?);
        self.agrees("embedding_length", hidden_size, "as wide as `token_embd.weight`")?;
        let layers = self.number("block_count", MAX_LAYERS)?;
        let heads = self.number("attention.head_count", MAX_WIDTH)?;
        let kv_heads = self.optional("attention.head_count_kv", MAX_WIDTH)?.unwrap_or(heads);
        let head_dim = match self.optional("attention.key_length", MAX_WIDTH / heads)? {
            Some(given) => given,
            None if hidden_size.is_multiple_of(heads) => hidden_size / heads,
            None => {
                let allowed =
                    format!("a divisor of {hidden_size}, the width, or `attention.key_length` be given");
                return Err(self.wrong("attention.head_count", allowed));
            }
        };
        self.agrees("attention.value_length", head_dim, "as long as a key")?;
        let has = |name: &str| self.file.tensor(name).is_some();
        let first = |name: &str| has(&format!("blk.0.{name}"));
        let block = match (norm, sandwich) {
            (_, true) => Block::SandwichNorm,
            (Norm::Rms, false) => Block::PreNorm,
            (Norm::Layer, false) if first("attn_norm_2.weight") => Block::Parallel,
            (Norm::Layer, false) => Block::ParallelSharedNorm,
        };
        Ok(Llm {
            layers,
            hidden_size,
            heads,
            kv_heads,
            head_dim,
            ffn_size: self.number(self.family.ffn_size, MAX_WIDTH)?,
            gated,
            activation,
            vocab_size,
            embedding_size: None,
            tied_embeddings: !has("output.weight"),
            learned_positions: 0,
            block,
            norm,
            final_norm: true,
            qk_norm: first("attn_q_norm.weight"),
            qkv_bias: first("attn_q.bias") || first("attn_qkv.bias"),
            out_bias: first("attn_output.bias"),
            ffn_bias: first("ffn_down.bias"),
            sinks: false,
            stacked: false,
            window: self.window(layers)?,
            experts: self.experts()?,
            stored: None,
        })
    }

    fn experts(&self) -> Result<Option<Experts>, GgufError> {
        // Zero is as good as absent.
        let Some(count) = self.or_zero("expert_count", MAX_EXPERTS)? else { return Ok(None) };
        let active = self.number("expert_used_count", MAX_EXPERTS)?;
        Ok(Some(Experts { count, active }))
    }

    fn window(&self, layers: u32) -> Result<Option<Window>, GgufError> {
        const TOKENS: &str = "attention.sliding_window";
        match self.family.window {
            Windows::None => Ok(None),
            Windows::Alternate { every, tokens } => {
                let given = match self.value(TOKENS) {
                    None => tokens,
                    Some(_) => self.or_zero(TOKENS, u32::MAX)?,
                };
                let Some(tokens) = given else { return Ok(None) };
                let every = self.optional("attention.sliding_window_pattern", layers)?.unwrap_or(every);
                Ok(Some(Window { tokens, global_every: every, global_first: 0 }))
            }
        }
    }

    /// Tokens that positions reach, if the file says so; as of a `config.json`.
    fn context(&self) -> Result<Option<u64>, GgufError> {
        const FACTOR: &str = "rope.scaling.factor";
        let Some(written) = self.optional("context_length", u32::MAX)? else { return Ok(None) };
        let factor = match self.value(FACTOR) {
            None => return Ok(Some(written.into())),
            Some(Value::Real(number)) => Some(*number),
            Some(Value::Whole(number)) => u32::try_from(*number).ok().map(f64::from),
            Some(_) => None,
        };
        // llama.cpp scales linearly unless the file says how.
        let kind = match self.value("rope.scaling.type") {
            None => "linear",
            Some(Value::Text(name)) => name,
            Some(_) => return Err(self.wrong("rope.scaling.type", "the name of a scaling".to_owned())),
        };
        let from = match Stretched::of(self.architecture, Some(kind)) {
            Stretched::FromWritten => written,
            Stretched::FromOriginal => {
                self.optional("rope.scaling.original_context_length", u32::MAX)?.unwrap_or(written)
            }
            Stretched::Not => return Ok(Some(written.into())),
        };
        // Zero is as good as absent.
        let factor = match factor {
            Some(0.0) => 1.0,
            given => context::factor(given).map_err(|allowed| self.wrong(FACTOR, allowed))?,
        };
        Ok(Some(reached(written, from, factor)))
    }

    /// How the file stacks the matrices of the first layer.
    fn stacked(&self, llm: &Llm) -> Stacked {
        let first = |name: &str| self.file.tensor(&format!("blk.0.{name}.weight")).is_some();
        Stacked { qkv: first("attn_qkv"), gate_up: llm.gated && !first("ffn_gate") && llm.experts.is_none() }
    }

    /// Holds every tensor against the model, and adds up what each kind of matrix takes.
    fn parts(&self, llm: &Llm, stacked: Stacked) -> Result<(Parts, u64), GgufError> {
        let mut parts = Parts::default();
        let mut seen = HashSet::new();
        for layer in 0..llm.layers {
            each_of_layer(llm, stacked, &mut |part, name, shape| {
                self.take(&mut parts, &mut seen, part, format!("blk.{layer}.{name}"), shape)
            })?;
        }
        let hidden = u64::from(llm.hidden_size);
        let table = [hidden, llm.vocab_size.into(), 1];
        self.take(&mut parts, &mut seen, Part::Embedding, "token_embd.weight".to_owned(), table)?;
        if !llm.tied_embeddings {
            self.take(&mut parts, &mut seen, Part::LmHead, "output.weight".to_owned(), table)?;
        }
        for name in norm_names("output_norm", llm.norm) {
            self.take(&mut parts, &mut seen, Part::Vector, name, [hidden, 1, 1])?;
        }
        let mut beside = 0;
        for it in self.file.tensors.iter().filter(|it| !seen.contains(it.name.as_str())) {
            if !turns_positions(&it.name) {
                return Err(GgufError::Stray {
                    tensor: it.name.clone(),
                    given: it.shape_in_words(),
                    architecture: self.architecture.to_owned(),
                });
            }
            beside += it.bytes();
        }
        Ok((parts, beside))
    }

    fn take(
        &self,
        parts: &mut Parts,
        seen: &mut HashSet<&'a str>,
        part: Part,
        name: String,
        shape: [u64; 3],
    ) -> Result<(), GgufError> {
        let Some(found) = self.file.tensor(&name) else {
            let old = part == Part::Gate && self.file.tensor(&name.replace("_exps", ".0")).is_some();
            return Err(GgufError::MissingTensor {
                tensor: name,
                shape: in_words(&shape),
                hint: if old {
                    "; its experts are in tensors of their own, as llama.cpp wrote them until April 2024: convert the \
                     model again"
                } else {
                    ""
                },
            });
        };
        let [columns, rows, experts] = shape;
        if found.shape != [columns, rows, experts, 1] {
            let (given, shape) = (found.shape_in_words(), in_words(&shape));
            return Err(GgufError::Shape { tensor: name, given, shape });
        }
        seen.insert(found.name.as_str());
        parts.add(part, found);
        Ok(())
    }

    /// The matrix of this name.
    fn table(&self, name: &str) -> Result<&'a Tensor, GgufError> {
        let missing = || GgufError::MissingTensor {
            tensor: name.to_owned(),
            shape: "width x vocabulary".to_owned(),
            hint: "",
        };
        self.file.tensor(name).ok_or_else(missing)
    }

    fn value(&self, key: &str) -> Option<&Value> {
        self.file.key(&self.full(key))
    }

    fn full(&self, key: &str) -> String {
        format!("{}.{key}", self.architecture)
    }

    /// A number from 1 to `max`, if there is one.
    fn optional(&self, key: &str, max: u32) -> Result<Option<u32>, GgufError> {
        let Some(value) = self.value(key) else { return Ok(None) };
        let Value::Whole(number) = value else { return Err(self.wrong(key, whole(max))) };
        match u32::try_from(*number) {
            Ok(number) if (1..=max).contains(&number) => Ok(Some(number)),
            _ => Err(self.wrong(key, whole(max))),
        }
    }

    /// A number, of which 0 is none.
    fn or_zero(&self, key: &str, max: u32) -> Result<Option<u32>, GgufError> {
        if self.value(key) == Some(&Value::Whole(0)) { Ok(None) } else { self.optional(key, max) }
    }

    fn number(&self, key: &str, max: u32) -> Result<u32, GgufError> {
        self.optional(key, max)?.ok_or_else(|| GgufError::MissingKey {
            key: self.full(key),
            architecture: self.architecture.to_owned(),
        })
    }

    /// A key that may be absent, but not something else.
    fn agrees(&self, key: &str, expected: u32, why: &str) -> Result<(), GgufError> {
        match self.optional(key, MAX_WIDTH)? {
            Some(given) if given != expected => Err(self.wrong(key, format!("{expected}, {why}"))),
            _ => Ok(()),
        }
    }

    fn wrong(&self, key: &str, allowed: String) -> GgufError {
        let given = self.value(key).map_or("missing".to_owned(), Value::to_string);
        GgufError::Key { key: self.full(key), given, allowed }
    }
}

fn whole(max: u32) -> String {
    format!("a whole number from 1 to {max}, one for all layers")
}

/// Factors of rotary positions, which are no parameters.
fn turns_positions(name: &str) -> bool {
    matches!(name, "rope_freqs.weight" | "rope_factors_long.weight" | "rope_factors_short.weight")
        || name.starts_with("blk.") && name.ends_with(".attn_rot_embd.weight")
}

/// What a tensor is part of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Embedding,
    LmHead,
    Q,
    K,
    V,
    Qkv,
    Out,
    Router,
    Gate,
    Up,
    GateUp,
    Down,
    Vector,
}

/// Weights and bits of the tensors of each part.
#[derive(Default)]
struct Parts([(u64, u64); Part::Vector as usize + 1]);

impl Parts {
    fn add(&mut self, part: Part, tensor: &Tensor) {
        let (elements, bits) = &mut self.0[part as usize];
        // Of at most so many tensors of so many elements: below 2^70 only for files that no
        // disk holds, and their bytes are within the file's.
        *elements = elements.saturating_add(tensor.elements());
        *bits = bits.saturating_add(tensor.bytes().saturating_mul(8));
    }

    /// Mean bits of the first of these parts that the file has.
    #[expect(clippy::cast_precision_loss, reason = "bits of a file on a disk")]
    fn mean(&self, any: &[Part]) -> Option<f64> {
        any.iter().map(|it| self.0[*it as usize]).find(|it| it.0 > 0).map(|it| it.1 as f64 / it.0 as f64)
    }

    fn stored(&self, file: &Gguf, tied: bool) -> Stored {
        // Every part was found, or another stands for it.
        let mean = |any: &[Part]| self.mean(any).unwrap_or(f64::NAN);
        let head = if tied { Part::Embedding } else { Part::LmHead };
        Stored {
            main: main_type(file),
            embedding_bits: mean(&[Part::Embedding]),
            lm_head_bits: mean(&[head]),
            q_bits: mean(&[Part::Q, Part::Qkv]),
            k_bits: mean(&[Part::K, Part::Qkv]),
            v_bits: mean(&[Part::V, Part::Qkv]),
            out_bits: mean(&[Part::Out]),
            router_bits: self.mean(&[Part::Router]),
            gate_bits: self.mean(&[Part::Gate, Part::GateUp]),
            up_bits: mean(&[Part::Up, Part::GateUp]),
            down_bits: mean(&[Part::Down]),
            vector_bits: mean(&[Part::Vector]),
        }
    }
}

/// The type of most weights, of equally many that of the lower number.
fn main_type(file: &Gguf) -> GgmlType {
    let weights = |kind: GgmlType| -> u64 {
        let of_kind = file.tensors.iter().filter(|it| it.kind == kind);
        of_kind.map(Tensor::elements).fold(0, u64::saturating_add)
    };
    GgmlType::ALL.iter().rev().copied().max_by_key(|it| weights(*it)).unwrap_or(GgmlType::F32)
}

/// Tells of every tensor of one layer: what it is part of, its name below the layer's and its
/// shape.
fn each_of_layer(
    llm: &Llm,
    stacked: Stacked,
    see: &mut dyn FnMut(Part, &str, [u64; 3]) -> Result<(), GgufError>,
) -> Result<(), GgufError> {
    let (hidden, ffn) = (u64::from(llm.hidden_size), u64::from(llm.ffn_size));
    let (q, kv) = (llm.q_size(), llm.kv_size());
    let mut matrix = |part, name: &str, columns, rows, bias| {
        see(part, &format!("{name}.weight"), [columns, rows, 1])?;
        if bias { see(Part::Vector, &format!("{name}.bias"), [rows, 1, 1]) } else { Ok(()) }
    };
    if stacked.qkv {
        matrix(Part::Qkv, "attn_qkv", hidden, q + 2 * kv, llm.qkv_bias)?;
    } else {
        matrix(Part::Q, "attn_q", hidden, q, llm.qkv_bias)?;
        matrix(Part::K, "attn_k", hidden, kv, llm.qkv_bias)?;
        matrix(Part::V, "attn_v", hidden, kv, llm.qkv_bias)?;
    }
    matrix(Part::Out, "attn_output", q, hidden, llm.out_bias)?;
    if let Some(experts) = llm.experts {
        let count = u64::from(experts.count);
        matrix(Part::Router, "ffn_gate_inp", hidden, count, false)?;
        if llm.gated {
            see(Part::Gate, "ffn_gate_exps.weight", [hidden, ffn, count])?;
        }
        see(Part::Up, "ffn_up_exps.weight", [hidden, ffn, count])?;
        see(Part::Down, "ffn_down_exps.weight", [ffn, hidden, count])?;
    } else {
        if stacked.gate_up {
            matrix(Part::GateUp, "ffn_up", hidden, 2 * ffn, llm.ffn_bias)?;
        } else {
            if llm.gated {
                matrix(Part::Gate, "ffn_gate", hidden, ffn, llm.ffn_bias)?;
            }
            matrix(Part::Up, "ffn_up", hidden, ffn, llm.ffn_bias)?;
        }
        matrix(Part::Down, "ffn_down", ffn, hidden, llm.ffn_bias)?;
    }
    let norms: &[&str] = match llm.block {
        Block::PreNorm | Block::PostNorm => &["attn_norm", "ffn_norm"],
        Block::SandwichNorm => &["attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm"],
        Block::Parallel => &["attn_norm", "attn_norm_2"],
        Block::ParallelSharedNorm => &["attn_norm"],
    };
    for name in norms.iter().flat_map(|it| norm_names(it, llm.norm)) {
        see(Part::Vector, &name, [hidden, 1, 1])?;
    }
    if llm.qk_norm {
        for name in ["attn_q_norm", "attn_k_norm"].iter().flat_map(|it| norm_names(it, llm.norm)) {
            see(Part::Vector, &name, [llm.head_dim.into(), 1, 1])?;
        }
    }
    Ok(())
}

/// A norm's tensors.
fn norm_names(name: &str, norm: Norm) -> Vec<String> {
    let ends: &[&str] = match norm {
        Norm::Layer => &["weight", "bias"],
        Norm::Rms => &["weight"],
    };
    ends.iter().map(|it| format!("{name}.{it}")).collect()
}
