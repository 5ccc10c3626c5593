//! Language models as data.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;
use std::str::FromStr;

use memscape_study::{Catalog, Foreign, Unknown};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A decoder-only transformer, as its authors published it.
///
/// Widths are in elements. What follows from these numbers is a method, never a
/// field that could disagree.
///
/// ```
/// use memscape_workload::MODELS;
/// let model = MODELS.find("OPT-350M")?;
/// assert_eq!(model.name, "opt-350m");
/// assert_eq!(model.parameters.embedding_size, 512);
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
    /// Width of the feed-forward network.
    pub ffn_size: u32,
    /// Whether the feed-forward network is gated: three matrices (gate, up,
    /// down) instead of two (fc1, fc2).
    pub gated: bool,
    /// The feed-forward network's activation function.
    pub activation: Activation,
    /// Rows of the token embedding, padding included.
    pub vocab_size: u32,
    /// Width of the token embedding. Where it is not `hidden_size`, two
    /// projections (in and out) stand between them.
    pub embedding_size: u32,
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
    /// Whether the feed-forward matrices have biases.
    pub ffn_bias: bool,
    /// Sliding-window attention; absent if every layer attends to everything.
    #[serde(default)]
    pub window: Option<Window>,
    /// The parameter count that was published, to check this description.
    #[serde(default)]
    pub published_parameters: Option<PublishedCount>,
    /// What `published_parameters` counts beside the language model: a vision
    /// tower, or a second copy of a tied matrix.
    #[serde(default)]
    pub published_extra_parameters: u64,
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
}

impl Llm {
    /// Checks that the numbers belong together. Built-in models and
    /// [`Llm::from_hf_config`] have been; the other methods may panic on
    /// numbers that do not pass.
    ///
    /// # Errors
    /// [`ModelError`] names the field at fault.
    pub fn check(&self) -> Result<(), ModelError> {
        /// Keeps every count of parameters within 64 bits.
        const MAX_WIDTH: u32 = 1 << 24;
        const MAX_LAYERS: u32 = 1 << 12;
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
        within("embedding_size", self.embedding_size, 1, MAX_WIDTH)?;
        within("learned_positions", self.learned_positions, 0, MAX_WIDTH)?;
        if let Some(window) = self.window {
            within("window.tokens", window.tokens, 1, u32::MAX)?;
        }
        if self.heads.is_multiple_of(self.kv_heads) {
            Ok(())
        } else {
            Err(ModelError::HeadGroups { heads: self.heads, kv_heads: self.kv_heads })
        }
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
        self.embedding_size != self.hidden_size
    }

    /// Layers that attend through a sliding window.
    #[must_use]
    pub fn window_layers(&self) -> u64 {
        let layers = u64::from(self.layers);
        match self.window {
            None => 0,
            Some(Window { global_every: 0, .. }) => layers,
            Some(window) => layers - layers / u64::from(window.global_every),
        }
    }

    /// Key and value elements that the cache holds after `tokens`, a window's
    /// layers holding no more than the window.
    #[must_use]
    pub fn kv_cache_elements(&self, tokens: u64) -> u64 {
        let windowed = self.window.map_or(tokens, |it| tokens.min(it.tokens.into()));
        let global_layers = u64::from(self.layers) - self.window_layers();
        2 * self.kv_size() * (global_layers * tokens + self.window_layers() * windowed)
    }

    /// Parameters of one layer's matrices.
    #[must_use]
    pub fn layer_matrix_parameters(&self) -> u64 {
        let hidden = u64::from(self.hidden_size);
        let ffn_matrices = if self.gated { 3 } else { 2 };
        hidden * (2 * self.q_size() + 2 * self.kv_size() + ffn_matrices * u64::from(self.ffn_size))
    }

    /// Parameters of one layer's norms and biases.
    #[must_use]
    pub fn layer_vector_parameters(&self) -> u64 {
        let hidden = u64::from(self.hidden_size);
        let norms = self.block.norms() * hidden * self.norm.parameters_per_element();
        let qk_norms = 2 * u64::from(self.head_dim) * self.norm.parameters_per_element();
        let ffn_inner = u64::from(self.ffn_size) * if self.gated { 2 } else { 1 };
        [
            (true, norms),
            (self.qk_norm, qk_norms),
            (self.qkv_bias, self.q_size() + 2 * self.kv_size()),
            (self.out_bias, hidden),
            (self.ffn_bias, ffn_inner + hidden),
        ]
        .iter()
        .map(|&(present, parameters)| if present { parameters } else { 0 })
        .sum()
    }

    /// Parameters of the token embedding, which is the LM head too if tied.
    #[must_use]
    pub fn embedding_parameters(&self) -> u64 {
        u64::from(self.vocab_size) * u64::from(self.embedding_size)
    }

    /// All parameters, a tied embedding counted once.
    #[must_use]
    pub fn parameters(&self) -> u64 {
        let hidden = u64::from(self.hidden_size);
        let layer = self.layer_matrix_parameters() + self.layer_vector_parameters();
        let tables = self.embedding_parameters() * if self.tied_embeddings { 1 } else { 2 };
        let positions = u64::from(self.learned_positions) * hidden;
        let projections =
            if self.projects_embedding() { 2 * hidden * u64::from(self.embedding_size) } else { 0 };
        let final_norm = if self.final_norm { hidden * self.norm.parameters_per_element() } else { 0 };
        tables + positions + projections + u64::from(self.layers) * layer + final_norm
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
    /// Query heads that cannot share the key-value heads evenly.
    #[error("{heads} query heads cannot share {kv_heads} key-value heads; `kv_heads` must divide `heads`")]
    HeadGroups {
        /// Query heads.
        heads: u32,
        /// Key-value heads.
        kv_heads: u32,
    },
}

/// A parameter count as it was printed: to the last digit (`125239296`), or
/// rounded (`6.7B`, `350M`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct PublishedCount {
    /// The count in units of the last printed digit.
    digits: u64,
    /// The unit of the last printed digit, a power of ten.
    unit: u64,
}

impl PublishedCount {
    /// Whether every digit is known.
    #[must_use]
    pub const fn is_exact(self) -> bool {
        self.unit == 1
    }

    /// Whether `parameters` would be printed so.
    #[must_use]
    pub const fn agrees_with(self, parameters: u64) -> bool {
        // Either way of rounding a tie.
        (self.digits * self.unit).abs_diff(parameters) <= self.unit / 2
    }
}

impl FromStr for PublishedCount {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || format!("`{text}` is not a parameter count; write for example 125239296, 350M or 6.7B");
        let (number, power) = match text.strip_suffix(['M', 'B']) {
            None => (text, 0),
            Some(number) => (number, if text.ends_with('M') { 6 } else { 9 }),
        };
        let (whole, decimals) = number.split_once('.').unwrap_or((number, ""));
        let places = u32::try_from(decimals.len()).ok().filter(|it| *it <= power).ok_or_else(bad)?;
        let digits: u64 = format!("{whole}{decimals}").parse().map_err(|_| bad())?;
        let unit = 10_u64.pow(power - places);
        digits.checked_mul(unit).ok_or_else(bad)?;
        Ok(Self { digits, unit })
    }
}

impl TryFrom<String> for PublishedCount {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<PublishedCount> for String {
    fn from(it: PublishedCount) -> Self {
        it.to_string()
    }
}

impl fmt::Display for PublishedCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (letter, power) = match self.unit {
            1 => return self.digits.fmt(f),
            unit if unit <= 1_000_000 => ('M', 1_000_000 / unit),
            unit => ('B', 1_000_000_000 / unit),
        };
        write!(f, "{}", self.digits / power)?;
        if power > 1 {
            let places = power.ilog10() as usize;
            write!(f, ".{:0places$}", self.digits % power)?;
        }
        write!(f, "{letter}")
    }
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
/// A user's own can also be the `config.json` of Hugging Face.
pub static MODELS: Catalog<Llm> = Catalog::new("model", "language models", FILES)
    .with_foreign(&HF_CONFIG)
    .checked_by(|it| it.check().map_err(|error| error.to_string()));

static HF_CONFIG: Foreign = Foreign {
    extension: "json",
    what: "config.json",
    recognises: |table| table.contains_key("model_type"),
    read: |text| {
        let llm = Llm::from_hf_config(text).map_err(|it| it.to_string())?;
        serde_json::to_value(llm).map_err(|it| it.to_string())
    },
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
    "llama-3.2-1b",
    "llama-3.2-3b",
    "falcon-40b",
    "phi-3-mini",
    "qwen3-0.6b",
    "qwen3-1.7b",
    "qwen3-4b",
    "qwen3-8b",
    "qwen3-14b",
    "qwen3-32b",
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

    /// The count was published by others; where only rounded digits could be
    /// confirmed (OPT-13B, 30B and 66B), half a unit of the last one is all
    /// they can say.
    #[test]
    fn published_parameter_counts() {
        for model in MODELS.all() {
            let llm = &model.parameters;
            let published = llm.published_parameters.unwrap_or_else(|| panic!("{}", model.name));
            let computed = llm.parameters() + llm.published_extra_parameters;
            assert!(published.agrees_with(computed), "{}: {published} but {computed}", model.name);
            let rounded = ["opt-13b", "opt-30b", "opt-66b"].contains(&model.name.as_str());
            assert_eq!(published.is_exact(), !rounded, "{}", model.name);
        }
    }

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
            embedding_size: largest - 1,
            learned_positions: largest,
            gated: true,
            ..*opt
        };
        huge.check().unwrap();
        assert!(huge.parameters() > 1 << 60, "and no overflow");
    }

    proptest! {
        #[test]
        fn a_published_count_prints_as_written(digits in 1..99_999_u64, form in 0..4_u32) {
            let text = match form {
                0 => digits.to_string(),
                1 => format!("{digits}M"),
                2 => format!("{digits}B"),
                _ => format!("{}.{}B", digits / 10, digits % 10),
            };
            let count: PublishedCount = text.parse().unwrap();
            prop_assert_eq!(count.to_string(), text);
        }
    }

    #[test]
    fn a_rounded_count_agrees_within_its_digits() {
        let count: PublishedCount = "6.7B".parse().unwrap();
        assert!(count.agrees_with(6_658_473_984) && !count.agrees_with(6_600_000_000));
        for bad in ["", "B", "6.7", "1.2.3B", "-1", "6.7GB"] {
            assert!(bad.parse::<PublishedCount>().is_err(), "{bad}");
        }
    }
}
