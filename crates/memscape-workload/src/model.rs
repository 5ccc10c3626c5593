//! Language models as data.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;
use std::str::FromStr;

use memscape_study::{Catalog, Foreign, Found, Holds, Unknown};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::stored::Stored;

/// A decoder-only transformer, as its authors published it.
///
/// Widths are in elements. What follows from these numbers is a method, never a
/// field that could disagree.
///
/// ```
/// use memscape_workload::MODELS;
/// let model = MODELS.find("OPT-350M")?;
/// assert_eq!(model.name, "opt-350m");
/// assert_eq!(model.parameters.embedding_width(), 512);
/// assert_eq!(model.parameters.parameters(), 331_196_416);
/// # Ok::<(), memscape_study::Unknown>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "features that occur in any combination")]
pub struct Llm {
    /// Transformer layers.
    pub layers: u32,
    /// Width of the residual stream.
    pub hidden_size: u32,
    /// Query heads.
    pub heads: u32,
    /// Key-value heads; fewer than `heads` is grouped-query attention.
    pub kv_heads: u32,
    /// Width of one head. `heads * head_dim` need not be `hidden_size`.
    pub head_dim: u32,
    /// Width of the feed-forward network; of each expert if there are several.
    pub ffn_size: u32,
    /// Whether the feed-forward network is gated: three matrices (gate, up,
    /// down) instead of two (fc1, fc2).
    pub gated: bool,
    /// The feed-forward network's activation function.
    pub activation: Activation,
    /// Rows of the token embedding, padding included.
    pub vocab_size: u32,
    /// Width of the token embedding; absent if it is `hidden_size`. Where it is
    /// not, two projections (in and out) stand between them.
    #[serde(default)]
    pub embedding_size: Option<u32>,
    /// Whether the LM head is the token embedding.
    pub tied_embeddings: bool,
    /// Rows of the learned position embedding; 0 means rotary positions.
    pub learned_positions: u32,
    /// Which vectors are normalised, and how attention and feed-forward network
    /// follow each other.
    pub block: Block,
    /// How a vector is normalised.
    pub norm: Norm,
    /// Whether a norm follows the last layer.
    pub final_norm: bool,
    /// Whether queries and keys are normalised, head by head.
    pub qk_norm: bool,
    /// Whether the Q, K and V projections have biases.
    pub qkv_bias: bool,
    /// Whether the attention output projection has biases.
    pub out_bias: bool,
    /// Whether the feed-forward matrices, and the router of experts, have biases.
    pub ffn_bias: bool,
    /// Whether each head has a learned logit that takes attention from all
    /// tokens (a sink).
    #[serde(default)]
    pub sinks: bool,
    /// Whether a layer's file has Q, K and V as one matrix, and gate and up too if there is a
    /// gate (Phi-3, Falcon). llama.cpp multiplies with them as they are.
    #[serde(default)]
    pub stacked: bool,
    /// Sliding-window attention; absent if every layer attends to everything.
    #[serde(default)]
    pub window: Option<Window>,
    /// Mixture of experts; absent if a layer has one feed-forward network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub experts: Option<Experts>,
    /// How the model's file stores its weights; absent if it does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stored: Option<Stored>,
}

/// The activation function of a feed-forward network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Activation {
    /// `max(x, 0)`.
    Relu,
    /// Gaussian error linear unit, in its tanh form.
    Gelu,
    /// `x * sigmoid(x)`, also called swish.
    Silu,
}

/// How a layer is put together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Block {
    /// A norm before attention and one before the feed-forward network (most
    /// models).
    PreNorm,
    /// A norm after each, on the residual stream (OPT-350M).
    PostNorm,
    /// A norm before and one after each (Gemma 3).
    SandwichNorm,
    /// Attention and feed-forward network side by side, a norm before each
    /// (Falcon 40B).
    Parallel,
    /// Side by side, behind one norm (Falcon 7B).
    ParallelSharedNorm,
}

impl Block {
    /// Norms of one layer.
    #[must_use]
    pub const fn norms(self) -> u64 {
        match self {
            Self::PreNorm | Self::PostNorm | Self::Parallel => 2,
            Self::SandwichNorm => 4,
            Self::ParallelSharedNorm => 1,
        }
    }
}

/// How a vector is normalised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Norm {
    /// Mean and variance, with weights and biases.
    Layer,
    /// Root mean square, with weights.
    Rms,
}

impl Norm {
    /// Parameters per element of the vector.
    #[must_use]
    pub const fn parameters_per_element(self) -> u64 {
        match self {
            Self::Layer => 2,
            Self::Rms => 1,
        }
    }
}

/// Sliding-window attention: a token attends to the last few tokens only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Window {
    /// Tokens attended to, the current one included.
    pub tokens: u32,
    /// Every how many layers one attends to everything: 6 means layers 6, 12,
    /// 18, ...; 0 means none does.
    pub global_every: u32,
    /// The first layers, which attend to everything whatever `global_every`
    /// says.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub global_first: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
const fn is_zero(it: &u32) -> bool {
    *it == 0
}

/// Several feed-forward networks per layer, of which a router picks a few for
/// each token (Mixtral).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Experts {
    /// Experts of a layer, each of width `ffn_size`.
    pub count: u32,
    /// Experts that one token passes through.
    pub active: u32,
}

impl Experts {
    /// Experts that `tokens` tokens pass through at least once, over `layers`
    /// layers, of which each has its own.
    ///
    /// Which experts a text takes is the router's secret. Taken as uniform and
    /// independent, a token misses one expert with probability
    /// `1 - active / count`, so a layer expects to use
    /// `count * (1 - (1 - active / count)^tokens)` of them. The sum over the
    /// layers is rounded to a whole number. One token touches `active` per
    /// layer, a long prompt all.
    ///
    /// ```
    /// use memscape_workload::Experts;
    /// let mixtral = Experts { count: 8, active: 2 };
    /// assert_eq!(mixtral.touched(32, 1), 64);
    /// assert_eq!(mixtral.touched(32, 2), 112, "3.5 per layer");
    /// assert_eq!(mixtral.touched(32, 100), 256);
    /// ```
    #[must_use]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within the clamp")]
    pub fn touched(self, layers: u32, tokens: u64) -> u64 {
        // By squaring, so that every platform rounds alike.
        let (mut missed, mut square, mut left) =
            (1.0, 1.0 - f64::from(self.active) / f64::from(self.count), tokens);
        while left > 0 {
            if left % 2 == 1 {
                missed *= square;
            }
            square *= square;
            left /= 2;
        }
        let expected = f64::from(layers) * f64::from(self.count) * (1.0 - missed);
        let layers = u64::from(layers);
        let most = tokens.saturating_mul(self.active.into()).min(self.count.into());
        (expected.round() as u64).clamp(layers * most.min(self.active.into()), layers * most)
    }
}

/// The widest a model may be, and the most layers and experts it may have:
/// keeps every count of parameters within 64 bits.
pub(crate) const MAX_WIDTH: u32 = 1 << 24;
pub(crate) const MAX_LAYERS: u32 = 1 << 12;
pub(crate) const MAX_EXPERTS: u32 = 1 << 12;
/// The most parameters of a model: their bits are counted in 64 bits, whatever their format.
const MAX_PARAMETERS: u64 = 1 << 56;

impl Llm {
    /// Checks that the numbers belong together. Built-in models and
    /// [`Llm::from_hf_config`] have been; the other methods may panic on
    /// numbers that do not pass.
    ///
    /// # Errors
    /// [`ModelError`] names the field at fault.
    pub fn check(&self) -> Result<(), ModelError> {
        let within = |field, given: u32, min, max| {
            if (min..=max).contains(&given) {
                Ok(())
            } else {
                Err(ModelError::OutOfRange { field, given, min, max })
            }
        };
        within("layers", self.layers, 1, MAX_LAYERS)?;
        within("hidden_size", self.hidden_size, 1, MAX_WIDTH)?;
        within("heads", self.heads, 1, MAX_WIDTH)?;
        within("kv_heads", self.kv_heads, 1, self.heads)?;
        within("head_dim", self.head_dim, 1, MAX_WIDTH / self.heads)?;
        within("ffn_size", self.ffn_size, 1, MAX_WIDTH)?;
        within("vocab_size", self.vocab_size, 1, MAX_WIDTH)?;
        within("embedding_size", self.embedding_width(), 1, MAX_WIDTH)?;
        within("learned_positions", self.learned_positions, 0, MAX_WIDTH)?;
        if let Some(window) = self.window {
            within("window.tokens", window.tokens, 1, u32::MAX)?;
            within("window.global_first", window.global_first, 0, self.layers)?;
        }
        if let Some(experts) = self.experts {
            // All experts side by side are no wider than one network may be.
            within("experts.count", experts.count, 1, MAX_EXPERTS.min(MAX_WIDTH / self.ffn_size))?;
            within("experts.active", experts.active, 1, experts.count)?;
        }
        if let Some((field, given)) = self.stored.and_then(|it| it.fault()) {
            return Err(ModelError::Bits { field, given: given.to_string() });
        }
        let given = self.parameters();
        if MAX_PARAMETERS < given {
            return Err(ModelError::TooLarge { given, max: MAX_PARAMETERS });
        }
        if self.heads.is_multiple_of(self.kv_heads) {
            Ok(())
        } else {
            Err(ModelError::HeadGroups { heads: self.heads, kv_heads: self.kv_heads })
        }
    }

    /// Width of the token embedding: that of the residual stream unless given.
    #[must_use]
    pub fn embedding_width(&self) -> u32 {
        self.embedding_size.unwrap_or(self.hidden_size)
    }

    /// Width of the queries, `heads * head_dim`.
    #[must_use]
    pub fn q_size(&self) -> u64 {
        u64::from(self.heads) * u64::from(self.head_dim)
    }

    /// Width of the keys, and of the values: `kv_heads * head_dim`.
    #[must_use]
    pub fn kv_size(&self) -> u64 {
        u64::from(self.kv_heads) * u64::from(self.head_dim)
    }

    /// Query heads that share one key-value head.
    #[must_use]
    pub fn heads_per_kv_head(&self) -> u64 {
        u64::from(self.heads / self.kv_heads)
    }

    /// Whether positions rotate queries and keys.
    #[must_use]
    pub fn rotary(&self) -> bool {
        self.learned_positions == 0
    }

    /// Whether projections stand between embedding and layers.
    #[must_use]
    pub fn projects_embedding(&self) -> bool {
        self.embedding_width() != self.hidden_size
    }

    /// Layers that attend through a sliding window.
    #[must_use]
    pub fn window_layers(&self) -> u64 {
        let Some(window) = self.window else { return 0 };
        let global_until = |layer: u32| layer.checked_div(window.global_every).unwrap_or(0);
        let first = window.global_first.min(self.layers);
        u64::from(self.layers - first - (global_until(self.layers) - global_until(first)))
    }

    /// Key and value elements that the cache holds after `tokens`, a window's
    /// layers holding no more than the window; [`u64::MAX`] where they are more than that.
    #[must_use]
    pub fn kv_cache_elements(&self, tokens: u64) -> u64 {
        let windowed = self.window.map_or(tokens, |it| tokens.min(it.tokens.into()));
        let global_layers = u64::from(self.layers) - self.window_layers();
        let met = global_layers.saturating_mul(tokens).saturating_add(self.window_layers() * windowed);
        met.saturating_mul(2 * self.kv_size())
    }

    /// Feed-forward networks of one layer: its experts, or 1.
    #[must_use]
    pub fn ffn_count(&self) -> u64 {
        self.experts.map_or(1, |it| it.count.into())
    }

    /// Feed-forward networks of one layer that a token passes through: its
    /// active experts, or 1.
    #[must_use]
    pub fn active_ffn_count(&self) -> u64 {
        self.experts.map_or(1, |it| it.active.into())
    }

    /// Parameters of one layer's matrices, those of all experts and the router
    /// included.
    #[must_use]
    pub fn layer_matrix_parameters(&self) -> u64 {
        let hidden = u64::from(self.hidden_size);
        let router = self.experts.map_or(0, |it| it.count.into());
        hidden * (2 * self.q_size() + 2 * self.kv_size() + router)
            + self.ffn_count() * self.ffn_matrix_parameters()
    }

    /// Parameters of the matrices of one feed-forward network, or one expert.
    #[must_use]
    pub fn ffn_matrix_parameters(&self) -> u64 {
        let ffn_matrices = if self.gated { 3 } else { 2 };
        u64::from(self.hidden_size) * ffn_matrices * u64::from(self.ffn_size)
    }

    /// Biases of one feed-forward network, or one expert.
    fn ffn_vector_parameters(&self) -> u64 {
        let inner = u64::from(self.ffn_size) * if self.gated { 2 } else { 1 };
        if self.ffn_bias { inner + u64::from(self.hidden_size) } else { 0 }
    }

    /// Parameters of one layer's norms, biases and sinks.
    #[must_use]
    pub fn layer_vector_parameters(&self) -> u64 {
        let hidden = u64::from(self.hidden_size);
        let norms = self.block.norms() * hidden * self.norm.parameters_per_element();
        let qk_norms = 2 * u64::from(self.head_dim) * self.norm.parameters_per_element();
        [
            (true, norms),
            (self.qk_norm, qk_norms),
            (self.qkv_bias, self.q_size() + 2 * self.kv_size()),
            (self.out_bias, hidden),
            (self.sinks, u64::from(self.heads)),
            (self.ffn_bias, self.experts.map_or(0, |it| it.count.into())),
            (true, self.ffn_count() * self.ffn_vector_parameters()),
        ]
        .iter()
        .map(|&(present, parameters)| if present { parameters } else { 0 })
        .sum()
    }

    /// Parameters of the token embedding, which is the LM head too if tied.
    #[must_use]
    pub fn embedding_parameters(&self) -> u64 {
        u64::from(self.vocab_size) * u64::from(self.embedding_width())
    }

    /// All parameters, a tied embedding counted once, experts all counted.
    #[must_use]
    pub fn parameters(&self) -> u64 {
        let hidden = u64::from(self.hidden_size);
        let layer = self.layer_matrix_parameters() + self.layer_vector_parameters();
        let tables = self.embedding_parameters() * if self.tied_embeddings { 1 } else { 2 };
        let positions = u64::from(self.learned_positions) * hidden;
        let projections =
            if self.projects_embedding() { 2 * hidden * u64::from(self.embedding_width()) } else { 0 };
        let final_norm = if self.final_norm { hidden * self.norm.parameters_per_element() } else { 0 };
        tables + positions + projections + u64::from(self.layers) * layer + final_norm
    }

    /// The parameters that are there for one token: all but those of the
    /// experts that the router passes over. Embedding tables count whole, as
    /// authors count them (Mixtral 8x7B: 12.9B of 46.7B).
    #[must_use]
    pub fn active_parameters(&self) -> u64 {
        let passed_over = self.ffn_count() - self.active_ffn_count();
        let expert = self.ffn_matrix_parameters() + self.ffn_vector_parameters();
        self.parameters() - u64::from(self.layers) * passed_over * expert
    }
}

/// Why a description is not a model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// A number too small or too large.
    #[error("`{field}` is {given}; it must be from {min} to {max}")]
    OutOfRange {
        /// The field's dotted path.
        field: &'static str,
        /// Its value.
        given: u32,
        /// The smallest allowed.
        min: u32,
        /// The largest allowed.
        max: u32,
    },
    /// A mean width that no type of ggml has.
    #[error("`{field}` is {given}; it must be above 0, at most 64")]
    Bits {
        /// The field's dotted path.
        field: &'static str,
        /// Its value.
        given: String,
    },
    /// More parameters than are counted.
    #[error(
        "the model has {given} parameters; it must have at most {max}: take fewer `layers`, or a smaller \
         `hidden_size` or `ffn_size`"
    )]
    TooLarge {
        /// How many it has.
        given: u64,
        /// The most.
        max: u64,
    },
    /// Query heads that cannot share the key-value heads evenly.
    #[error("{heads} query heads cannot share {kv_heads} key-value heads; `kv_heads` must divide `heads`")]
    HeadGroups {
        /// Query heads.
        heads: u32,
        /// Key-value heads.
        kv_heads: u32,
    },
}

/// A model as a parameter of studies: written as a built-in name, or as a whole
/// [`Llm`]. It is read millions of times, so a name neither allocates nor parses.
///
/// ```
/// use memscape_workload::{Llm, Model};
/// let model: Model = serde_json::from_str("\"llama-2-70b\"")?;
/// assert_eq!(model.name(), Some("llama-2-70b"));
/// assert_eq!(model.heads_per_kv_head(), 8);
///
/// let deeper = Model::of(Llm { layers: 160, ..*model })?;
/// assert_eq!(deeper.name(), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Model(Llm);

impl Model {
    /// A model of one's own.
    ///
    /// # Errors
    /// [`ModelError`] names the field at fault.
    pub fn of(llm: Llm) -> Result<Self, ModelError> {
        llm.check()?;
        Ok(Self(llm))
    }

    /// The built-in model of this name, in any case.
    ///
    /// # Errors
    /// [`Unknown`] suggests the nearest name.
    pub fn named(name: &str) -> Result<Self, Unknown> {
        Ok(Self(MODELS.find(name)?.parameters))
    }

    /// All built-in models, family by family, smallest first.
    pub fn all() -> impl Iterator<Item = Self> {
        MODELS.all().iter().map(|it| Self(it.parameters))
    }

    /// What a built-in model is called, for example `opt-6.7b`.
    #[must_use]
    pub fn name(&self) -> Option<&'static str> {
        MODELS.all().iter().find(|it| it.parameters == self.0).map(|it| it.name.as_str())
    }
}

impl Deref for Model {
    type Target = Llm;
    fn deref(&self) -> &Llm {
        &self.0
    }
}

impl FromStr for Model {
    type Err = Unknown;
    fn from_str(name: &str) -> Result<Self, Unknown> {
        Self::named(name)
    }
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "a model of {} layers, {} wide", self.layers, self.hidden_size),
        }
    }
}

impl Serialize for Model {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.name() {
            Some(name) => serializer.serialize_str(name),
            None => self.0.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Model {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = Model;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a model, for example \"opt-6.7b\", or its description")
            }
            fn visit_str<E: de::Error>(self, name: &str) -> Result<Model, E> {
                name.parse().map_err(E::custom)
            }
            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<Model, A::Error> {
                let llm = Llm::deserialize(de::value::MapAccessDeserializer::new(map))?;
                Model::of(llm).map_err(de::Error::custom)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl JsonSchema for Model {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Model".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names: Vec<&str> = MODELS.names().collect();
        json_schema!({ "oneOf": [{ "enum": names }, { "type": "object" }] })
    }
}

/// Lists the files of `data/models/`.
macro_rules! embedded {
    ($($name:literal),* $(,)?) => {
        &[$(include_str!(concat!("../../../data/models/", $name, ".toml"))),*]
    };
}

/// Language models: those of `data/models/`, family by family, smallest first.
/// A user's own can also be the `config.json` of Hugging Face, or a GGUF file.
pub static MODELS: Catalog<Llm> = Catalog::new("model", "language models", FILES)
    .with_foreign(&[HF_CONFIG, GGUF])
    .inheriting(&["context_tokens"])
    .checked_by(|it| it.check().map_err(|error| error.to_string()));

const HF_CONFIG: Foreign = Foreign {
    extension: "json",
    what: "config.json",
    holds: Holds::Text {
        // Some of what models' own descriptions call otherwise.
        recognises: |table| {
            ["model_type", "architectures", "num_hidden_layers"].into_iter().any(|it| table.contains_key(it))
        },
        read: |text| {
            let (llm, context) = Llm::of_hf_config(text).map_err(|it| it.to_string())?;
            let facts = context.map(|it| ("context_tokens".to_owned(), it.into())).into_iter().collect();
            Ok((serde_json::to_value(llm).map_err(|it| it.to_string())?, facts))
        },
    },
};

const GGUF: Foreign = Foreign {
    extension: "gguf",
    what: "GGUF",
    holds: Holds::Beginning(|name, folder| {
        let (llm, about) = Llm::from_gguf(name, folder).map_err(|it| it.to_string())?;
        let parameters = serde_json::to_value(llm).map_err(|it| it.to_string())?;
        Ok(Found { name: about.name(), summary: about.to_string(), parameters, facts: about.facts() })
    }),
};

const FILES: &[&str] = embedded!(
    "opt-125m",
    "opt-350m",
    "opt-1.3b",
    "opt-2.7b",
    "opt-6.7b",
    "opt-13b",
    "opt-30b",
    "opt-66b",
    "llama-2-7b",
    "llama-2-13b",
    "llama-2-70b",
    "llama-3.1-8b",
    "llama-3.1-70b",
    "llama-3.2-1b",
    "llama-3.2-3b",
    "falcon-40b",
    "phi-3-mini",
    "mistral-7b-v0.3",
    "mixtral-8x7b",
    "gpt-oss-20b",
    "qwen2.5-0.5b",
    "qwen2.5-1.5b",
    "qwen2.5-3b",
    "qwen2.5-7b",
    "qwen2.5-14b",
    "qwen2.5-32b",
    "qwen2.5-72b",
    "qwen3-0.6b",
    "qwen3-1.7b",
    "qwen3-4b",
    "qwen3-8b",
    "qwen3-14b",
    "qwen3-32b",
    "qwen3-30b-a3b",
    "gemma-3-1b",
    "gemma-3-4b",
    "gemma-3-12b",
    "gemma-3-27b",
);

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    /// Gemma Team, "Gemma 3 Technical Report", 2025, table 1, in millions:
    /// embedding and non-embedding parameters of the language model.
    #[test]
    fn published_gemma_3_split() {
        for (name, non_embedding) in
            [("gemma-3-1b", 698), ("gemma-3-4b", 3209), ("gemma-3-12b", 10759), ("gemma-3-27b", 25600)]
        {
            let llm = &MODELS.find(name).unwrap().parameters;
            let computed = llm.parameters() - llm.embedding_parameters();
            // Printed to a million.
            assert!(computed.abs_diff(non_embedding * 1_000_000) <= 500_000, "{name}: {computed}");
        }
    }

    /// A model that passes its check has bits that can be counted in every format.
    #[test]
    fn no_model_has_more_bits_than_are_counted() {
        let llama = MODELS.find("llama-3.1-8b").unwrap().parameters;
        let wide = |layers| Llm {
            layers,
            heads: 1,
            kv_heads: 1,
            head_dim: MAX_WIDTH,
            hidden_size: MAX_WIDTH,
            ffn_size: MAX_WIDTH,
            ..llama
        };
        let told = wide(MAX_LAYERS).check().unwrap_err().to_string();
        assert!(
            told.contains("parameters; it must have at most 72057594037927936: take fewer `layers`"),
            "{told}"
        );
        let largest = (1..MAX_LAYERS).map(wide).take_while(|it| it.check().is_ok()).last().unwrap();
        assert!(largest.parameters() > MAX_PARAMETERS / 2);
        for format in ["fp32", "mx-int8-b32", "q8_0"] {
            let weights = format.parse::<crate::WeightFormat>().unwrap().of(&largest).unwrap();
            assert!(weights.total_bytes().0 >= largest.parameters(), "{format}");
        }
    }

    #[test]
    fn every_file_is_embedded_under_its_name_and_passes_its_check() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/models");
        let on_disk: BTreeSet<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|it| it.unwrap().file_name().into_string().unwrap())
            .filter_map(|it| it.strip_suffix(".toml").map(str::to_owned))
            .collect();
        let embedded: BTreeSet<String> = MODELS.names().map(str::to_owned).collect();
        assert_eq!(on_disk, embedded);
    }

    #[test]
    fn a_name_is_found_in_any_case_or_the_nearest_is_suggested() {
        assert_eq!(MODELS.find("OPT-6.7B").unwrap().name, "opt-6.7b");
        for (given, near) in [("opt-6.7", "opt-6.7b"), ("opt6.7b", "opt-6.7b"), ("Llama2-7b", "llama-2-7b")] {
            let error = MODELS.find(given).unwrap_err();
            assert_eq!(error.nearest.as_deref(), Some(near), "{given}");
        }
        let error = MODELS.find("resnet").unwrap_err().to_string();
        assert!(
            error.starts_with("there is no model `resnet`; there are `opt-125m`, `opt-350m`,"),
            "{error}"
        );
    }

    #[test]
    fn a_built_in_model_is_its_name_and_any_other_its_description() {
        for model in Model::all() {
            let json = serde_json::to_string(&model).unwrap();
            assert_eq!(json, format!("\"{}\"", model.name().unwrap()));
            assert_eq!(serde_json::from_str::<Model>(&json).unwrap(), model);
        }
        let own = Model::of(Llm { layers: 7, ..*Model::named("opt-125m").unwrap() }).unwrap();
        let json = serde_json::to_string(&own).unwrap();
        assert!(json.starts_with("{\"layers\":7"), "{json}");
        assert_eq!(serde_json::from_str::<Model>(&json).unwrap(), own);
        let error = serde_json::from_str::<Model>(&json.replace(":7,", ":0,")).unwrap_err().to_string();
        assert!(error.contains("`layers` is 0; it must be from 1 to 4096"), "{error}");
        let error = serde_json::from_str::<Model>("\"opt-6.7\"").unwrap_err().to_string();
        assert!(error.contains("did you mean `opt-6.7b`?"), "{error}");
    }

    #[test]
    fn windows_bound_the_cache_of_their_layers() {
        let gemma = &MODELS.find("gemma-3-27b").unwrap().parameters;
        assert_eq!(gemma.window_layers(), 52);
        let per_layer = 2 * 16 * 128;
        assert_eq!(gemma.kv_cache_elements(1024), 62 * per_layer * 1024);
        assert_eq!(gemma.kv_cache_elements(8192), per_layer * (10 * 8192 + 52 * 1024));
        let phi = &MODELS.find("phi-3-mini").unwrap().parameters;
        assert_eq!(phi.window_layers(), 32);
        assert_eq!(MODELS.find("opt-125m").unwrap().parameters.window_layers(), 0);
    }

    #[test]
    fn numbers_that_do_not_belong_together_are_refused() {
        let opt = &MODELS.find("opt-125m").unwrap().parameters;
        let error = Llm { heads: 0, ..*opt }.check().unwrap_err();
        assert_eq!(error.to_string(), "`heads` is 0; it must be from 1 to 16777216");
        let error = Llm { kv_heads: 5, ..*opt }.check().unwrap_err().to_string();
        assert!(error.starts_with("12 query heads cannot share 5 key-value heads"), "{error}");
        let largest = 1 << 24;
        let huge = Llm {
            layers: 1 << 12,
            hidden_size: largest,
            heads: 1,
            kv_heads: 1,
            head_dim: largest,
            ffn_size: largest,
            vocab_size: largest,
            embedding_size: Some(largest - 1),
            learned_positions: largest,
            gated: true,
            ..*opt
        };
        assert!(huge.parameters() > 1 << 60, "and no overflow");
        assert!(matches!(huge.check(), Err(ModelError::TooLarge { .. })));
        let experts = |count, active| Some(Experts { count, active });
        let error = Llm { experts: experts(2, 1), ..huge }.check().unwrap_err().to_string();
        assert_eq!(error, "`experts.count` is 2; it must be from 1 to 1");
        let mut many =
            Llm { layers: 8, ffn_size: 1 << 12, ffn_bias: true, experts: experts(1 << 12, 1), ..huge };
        many.check().unwrap();
        assert!(many.active_parameters() < many.parameters(), "and no overflow");
        many.experts = experts(8, 9);
        assert_eq!(many.check().unwrap_err().to_string(), "`experts.active` is 9; it must be from 1 to 8");
    }

    #[test]
    fn what_a_dense_model_does_not_have_is_not_written() {
        let text = serde_json::to_string(&MODELS.find("gemma-3-1b").unwrap().parameters).unwrap();
        assert!(text.contains("global_every") && !text.contains("global_first") && !text.contains("experts"));
    }

    proptest! {
        /// Never fewer than one token touches, never more than there are, and
        /// more tokens never touch fewer.
        #[test]
        fn experts_are_touched_within_bounds(count in 1..600_u32, share in 0.0..1.0_f64,
                                             layers in 1..100_u32, tokens in 1..5000_u64) {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below count")]
            let active = 1 + (share * f64::from(count - 1)) as u32;
            let experts = Experts { count, active };
            let touched = experts.touched(layers, tokens);
            prop_assert!(touched >= u64::from(layers * active) && touched <= u64::from(layers * count));
            prop_assert!(touched <= u64::from(layers) * tokens * u64::from(active));
            prop_assert!(experts.touched(layers, tokens + 1) >= touched);
            prop_assert_eq!(experts.touched(layers, 1), u64::from(layers * active));
            prop_assert_eq!(experts.touched(layers, 1 << 28), u64::from(layers * count));
        }
    }

    #[test]
    fn the_first_layers_may_be_global() {
        let gemma = &MODELS.find("gemma-3-27b").unwrap().parameters;
        let layers = |global_every, global_first| {
            let window = Some(Window { tokens: 1024, global_every, global_first });
            Llm { window, ..*gemma }.window_layers()
        };
        assert_eq!((layers(6, 0), layers(0, 0), layers(0, 28), layers(0, 62)), (52, 62, 34, 0));
        assert_eq!(layers(6, 7), 62 - 7 - 9, "layer 6 is counted once");
        let error = Llm { window: Some(Window { tokens: 1, global_every: 0, global_first: 63 }), ..*gemma };
        assert_eq!(
            error.check().unwrap_err().to_string(),
            "`window.global_first` is 63; it must be from 0 to 62"
        );
    }
}
