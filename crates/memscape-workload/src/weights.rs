//! How many bytes a model's weights take, where only their size counts.

use std::fmt;
use std::str::FromStr;

use memscape_study::Implied;
use memscape_units::{Bytes, float};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::Value;

use crate::file_type::{FileType, PartialBlocks};
use crate::format::Format;
use crate::ggml::GgmlType;
use crate::matrices::{Matrix, Projections};
use crate::model::Llm;
use crate::operators::Operator;
use crate::stored::Stored;

/// How weights are stored, for systems to which only their size matters: a [`Format`], a type
/// of ggml, a mixture that llama.cpp's quantiser makes, or `stored`: each matrix as the model's file has it.
///
/// ```
/// use memscape_workload::{Model, WeightFormat};
/// let model = Model::named("llama-3.1-8b")?;
/// let format: WeightFormat = "q4_k".parse()?;
/// assert_eq!(format.of(&model)?.total_bytes().0, 4_517_021_952);
/// assert_eq!(
///     WeightFormat::Stored.of(&model).unwrap_err().to_string(),
///     "`format` is `stored`, but the model does not say how its weights are stored, as a GGUF file does; give a \
///      format such as `q4_0`",
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WeightFormat {
    /// All in one format.
    Format(Format),
    /// All in one type of ggml that is no [`Format`].
    Ggml(GgmlType),
    /// As llama.cpp's quantiser mixes them: one of [`FileType::MIXTURES`].
    File(FileType),
    /// As the model's file has them.
    Stored,
}

/// The name of [`WeightFormat::Stored`].
const STORED: &str = "stored";

/// `stored`, for a model whose file says how its weights are.
pub const AS_STORED: Implied =
    Implied { parameter: "format", value: |model| Stored::of(model).map(|_| STORED.into()) };

/// The model does not say how its weights are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "`format` is `stored`, but the model does not say how its weights are stored, as a GGUF file does; give a format \
     such as `q4_0`"
)]
pub struct NotStored;

/// Why a model's weights are not stored so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WeightsError {
    /// It is up to the model, which does not say.
    #[error(transparent)]
    NotStored(#[from] NotStored),
    /// Blocks that its rows are not made of.
    #[error(transparent)]
    Blocks(#[from] PartialBlocks),
}

/// A text that is no [`WeightFormat`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{given}` is not how weights are stored; allowed are `stored` (as the model's file has them), int4, int8, fp16, \
     bf16, fp32, mx-ELEMENT-bBLOCK[-sBITS] such as mx-int8-b32, llama.cpp's mixtures: {}, and ggml's types: {}",
    FileType::MIXTURES.map(FileType::name).join(", "), ggml_names().collect::<Vec<_>>().join(", ")
)]
pub struct WeightFormatError {
    /// The text as given.
    pub given: String,
}

/// ggml's quantised types, which `stored` files mix.
fn ggml_names() -> impl Iterator<Item = &'static str> {
    GgmlType::ALL.iter().filter(|it| it.block_elements() > 1).map(|it| it.name())
}

impl Stored {
    /// What a description of a model says of it.
    fn of(model: &Value) -> Option<Self> {
        serde_json::from_value(model.get("stored")?.clone()).ok()
    }
}

impl From<Format> for WeightFormat {
    fn from(format: Format) -> Self {
        Self::Format(format)
    }
}

impl WeightFormat {
    /// Bits of a weight, the mean over full blocks, and of most weights in a mixture; none if it is up to the model.
    #[must_use]
    pub const fn mean_bits(self) -> Option<f64> {
        match self {
            Self::Format(format) => Some(format.bits_per_element()),
            Self::Ggml(kind) => Some(kind.bits_per_element()),
            Self::File(it) => Some(it.main().bits_per_element()),
            Self::Stored => None,
        }
    }

    /// Whether a model's matrices can be stored so: where ggml's blocks lie within a row, rows are
    /// whole blocks. Blocks that are none of ggml's may be padded.
    ///
    /// # Errors
    /// [`PartialBlocks`] names the matrix, and what llama.cpp takes instead.
    pub fn fits(self, model: &Llm) -> Result<(), PartialBlocks> {
        let kind = match self {
            Self::Format(Format::Q4_0) => GgmlType::Q4_0,
            Self::Format(Format::Q8_0) => GgmlType::Q8_0,
            Self::Ggml(kind) => kind,
            Self::File(it) => return it.fits(model, model.file_projections()),
            // A file's rows are whole blocks, or it is not read.
            Self::Format(_) | Self::Stored => return Ok(()),
        };
        let Some((matrix, columns)) = cut(model, kind) else { return Ok(()) };
        let instead = kind.fallback().filter(|it| cut(model, *it).is_none());
        Err(PartialBlocks { format: kind, block: kind.block_elements(), matrix, columns, instead })
    }

    /// A model's weights stored so.
    ///
    /// # Errors
    /// [`WeightsError`] if it is up to the model, which does not say, or if rows are no whole
    /// blocks.
    pub fn of(self, model: &Llm) -> Result<Weights<'_>, WeightsError> {
        self.fits(model)?;
        let stored = match self {
            Self::Format(format) => Each::Format(format),
            Self::Ggml(kind) => Each::Ggml(kind),
            Self::File(it) => Each::Stored(it.stored(model)),
            Self::Stored => Each::Stored(model.stored.ok_or(NotStored)?),
        };
        Ok(Weights { model, stored })
    }
}

/// The first matrix whose rows blocks of a type do not divide, and their length. A router stays
/// in single precision.
fn cut(model: &Llm, kind: GgmlType) -> Option<(Matrix, u64)> {
    let layer = model.layer_matrices(Projections::Separate).map(|it| (it.0, it.1));
    let beside = Matrix::OUTSIDE.into_iter().filter_map(|it| Some((it, model.gemv(it).ok()?)));
    layer
        .chain(beside)
        .filter(|it| it.0 != Matrix::Router)
        .map(|(matrix, shape)| (matrix, shape.k()))
        .find(|(_, columns)| !columns.is_multiple_of(kind.block_elements()))
}

impl FromStr for WeightFormat {
    type Err = WeightFormatError;

    fn from_str(text: &str) -> Result<Self, WeightFormatError> {
        if text == STORED {
            return Ok(Self::Stored);
        }
        if let Ok(format) = text.parse() {
            return Ok(Self::Format(format));
        }
        if let Some(it) = FileType::MIXTURES.into_iter().find(|it| it.name() == text) {
            return Ok(Self::File(it));
        }
        let ggml = text.parse::<GgmlType>().ok().filter(|it| it.block_elements() > 1);
        ggml.map(Self::Ggml).ok_or_else(|| WeightFormatError { given: text.to_owned() })
    }
}

impl fmt::Display for WeightFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Format(format) => format.fmt(f),
            Self::Ggml(kind) => kind.fmt(f),
            Self::File(it) => it.fmt(f),
            Self::Stored => f.write_str(STORED),
        }
    }
}

impl Serialize for WeightFormat {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Format(format) => format.serialize(serializer),
            Self::Ggml(kind) => serializer.serialize_str(kind.name()),
            Self::File(it) => serializer.serialize_str(it.name()),
            Self::Stored => serializer.serialize_str(STORED),
        }
    }
}

impl<'de> Deserialize<'de> for WeightFormat {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = WeightFormat;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("how weights are stored, for example \"int8\", \"q4_k\" or \"stored\"")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<WeightFormat, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Visitor)
    }
}

impl JsonSchema for WeightFormat {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "WeightFormat".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let ggml: Vec<&str> = ggml_names().collect();
        let pattern = format!(
            "^(stored|int4|int8|fp16|bf16|fp32|{}|{}|mx-(int4|int8|fp16|bf16|fp32)-b[0-9]+(-s[0-9]+)?)$",
            FileType::MIXTURES.map(FileType::name).join("|"),
            ggml.join("|")
        );
        let examples = ["int4", "int8", "fp16", "bf16", "fp32", "q4_0", "q8_0", "q4_k", "q4_k_m", "stored"];
        json_schema!({ "type": "string", "pattern": pattern, "examples": examples })
    }
}

/// A model's weights, and how each is stored.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weights<'a> {
    model: &'a Llm,
    stored: Each,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Each {
    Format(Format),
    Ggml(GgmlType),
    Stored(Stored),
}

impl Weights<'_> {
    /// Bits of so many weights of one matrix; a started block counts whole.
    #[must_use]
    pub fn matrix_bits(&self, matrix: Matrix, elements: u64) -> u64 {
        self.bits(elements, |it| self.mean(it, matrix))
    }

    /// Bits of the weights that one instance of an operator reads, norms and biases left out.
    #[must_use]
    pub fn operator_bits(&self, operator: &Operator) -> u64 {
        match Matrix::ALL.into_iter().find(|it| it.name() == operator.name) {
            Some(matrix) => self.matrix_bits(matrix, operator.weight_elements),
            // Rows of the embedding, or none.
            None => self.bits(operator.weight_elements, |it| it.embedding_bits),
        }
    }

    /// Bits of one layer's matrices, of experts those that a token passes through.
    #[must_use]
    pub fn token_layer_bits(&self) -> u64 {
        let matrices = self.model.layer_gemvs(Projections::Separate);
        matrices.map(|(matrix, gemv)| self.matrix_bits(matrix, gemv.macs())).sum()
    }

    /// Bytes of one layer's matrices, those of all experts included; norms and biases left out.
    #[must_use]
    pub fn layer_bytes(&self) -> Bytes {
        let layer = self.model.layer_matrix_parameters();
        match self.stored {
            Each::Stored(stored) => whole(self.stored_layer(&stored)),
            _ => bytes(self.bits(layer, |it| it.up_bits)),
        }
    }

    /// Bytes of the token embedding, and of the LM head unless they are one.
    #[must_use]
    pub fn table_bytes(&self) -> Bytes {
        let (table, tied) = (self.model.embedding_parameters(), self.model.tied_embeddings);
        match self.stored {
            Each::Stored(it) => {
                let head = if tied { 0.0 } else { it.lm_head_bits };
                whole(float(table) * (it.embedding_bits + head))
            }
            _ => bytes(self.bits(table * if tied { 1 } else { 2 }, |it| it.embedding_bits)),
        }
    }

    /// Bytes of all parameters.
    #[must_use]
    pub fn total_bytes(&self) -> Bytes {
        match self.stored {
            Each::Stored(stored) => whole(self.stored_total(&stored)),
            _ => bytes(self.bits(self.model.parameters(), |it| it.up_bits)),
        }
    }

    /// Bits of a weight, the mean over all parameters.
    #[must_use]
    pub fn mean_bits(&self) -> f64 {
        match self.stored {
            Each::Format(format) => format.bits_per_element(),
            Each::Ggml(kind) => kind.bits_per_element(),
            Each::Stored(stored) => self.stored_total(&stored) / float(self.model.parameters()),
        }
    }

    fn bits(&self, count: u64, mean: impl Fn(&Stored) -> f64) -> u64 {
        match &self.stored {
            Each::Format(format) => format.storage_bits(count),
            Each::Ggml(kind) => kind.storage_bits(count),
            Each::Stored(stored) => rounded(float(count) * mean(stored)),
        }
    }

    /// Mean bits of a matrix, of a stacked one over its parts.
    fn mean(&self, it: &Stored, matrix: Matrix) -> f64 {
        match matrix {
            Matrix::Qkv => {
                let (q, kv) = (float(self.model.q_size()), float(self.model.kv_size()));
                (q * it.q_bits + kv * (it.k_bits + it.v_bits)) / (q + 2.0 * kv)
            }
            Matrix::Q => it.q_bits,
            Matrix::K => it.k_bits,
            Matrix::V => it.v_bits,
            Matrix::Out => it.out_bits,
            Matrix::Router => it.router_bits(),
            Matrix::GateUp => f64::midpoint(it.gate_bits(), it.up_bits),
            Matrix::Gate => it.gate_bits(),
            Matrix::Fc1 | Matrix::Up => it.up_bits,
            Matrix::Fc2 | Matrix::Down => it.down_bits,
            Matrix::ProjectIn | Matrix::ProjectOut => it.embedding_bits,
            // One that is the embedding is stored once.
            Matrix::LmHead if self.model.tied_embeddings => it.embedding_bits,
            Matrix::LmHead => it.lm_head_bits,
        }
    }

    /// Bits of one layer's matrices. Sums of whole numbers, whatever the means are, so that
    /// rounding at the end is exact.
    fn stored_layer(&self, it: &Stored) -> f64 {
        let model = self.model;
        let (hidden, ffn) = (f64::from(model.hidden_size), f64::from(model.ffn_size));
        let (q, kv) = (float(model.q_size()), float(model.kv_size()));
        let gate = if model.gated { it.gate_bits() } else { 0.0 };
        let router = model.experts.map_or(0.0, |experts| f64::from(experts.count) * it.router_bits());
        hidden
            * (q * (it.q_bits + it.out_bits)
                + kv * (it.k_bits + it.v_bits)
                + router
                + float(model.ffn_count()) * ffn * (gate + it.up_bits + it.down_bits))
    }

    /// Bits of everything.
    fn stored_total(&self, it: &Stored) -> f64 {
        let model = self.model;
        let (layers, hidden) = (f64::from(model.layers), f64::from(model.hidden_size));
        let table = float(model.embedding_parameters());
        let head = if model.tied_embeddings { 0.0 } else { table * it.lm_head_bits };
        let beside = f64::from(model.learned_positions) * hidden
            + if model.projects_embedding() {
                2.0 * hidden * f64::from(model.embedding_width())
            } else {
                0.0
            };
        let norm = if model.final_norm { hidden * float(model.norm.parameters_per_element()) } else { 0.0 };
        let vectors = layers * float(model.layer_vector_parameters()) + norm;
        (table + beside) * it.embedding_bits
            + head
            + layers * self.stored_layer(it)
            + vectors * it.vector_bits
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "never negative; `as` saturates")]
fn rounded(bits: f64) -> u64 {
    bits.round() as u64
}

fn whole(bits: f64) -> Bytes {
    bytes(rounded(bits))
}

const fn bytes(bits: u64) -> Bytes {
    Bytes(bits.div_ceil(8))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Model;

    fn stored(model: &Llm, bits: f64) -> Llm {
        let stored = Stored {
            main: GgmlType::Q8_0,
            embedding_bits: bits,
            lm_head_bits: bits,
            q_bits: bits,
            k_bits: bits,
            v_bits: bits,
            out_bits: bits,
            router_bits: None,
            gate_bits: None,
            up_bits: bits,
            down_bits: bits,
            vector_bits: bits,
        };
        Llm { stored: Some(stored), ..*model }
    }

    /// A file that stores everything in one type is as large as that type says, part by part.
    #[test]
    fn one_type_everywhere_is_that_type() {
        for model in Model::all() {
            let described = stored(&model, 16.0);
            let (given, found) = (
                WeightFormat::Format(Format::FP16).of(&model).unwrap(),
                WeightFormat::Stored.of(&described).unwrap(),
            );
            let name = model.name().unwrap();
            assert_eq!(found.total_bytes(), given.total_bytes(), "{name}");
            assert_eq!(found.layer_bytes(), given.layer_bytes(), "{name}");
            assert_eq!(found.table_bytes(), given.table_bytes(), "{name}");
            assert_eq!(found.token_layer_bits(), given.token_layer_bits(), "{name}");
            assert!((found.mean_bits() - 16.0).abs() < 1e-9, "{name}");
            for operator in model.decode_operators(64, Projections::Merged).unwrap() {
                let (found, given) = (found.operator_bits(&operator), given.operator_bits(&operator));
                assert_eq!(found, given, "{name}: {}", operator.name);
            }
        }
    }

    /// What a token reads of the layers and what is beside them is the whole model.
    #[test]
    fn parts_sum_to_the_whole() {
        let llama = stored(&Model::named("llama-3.1-8b").unwrap(), 4.5);
        let mut mixed = llama.stored.unwrap();
        (mixed.v_bits, mixed.down_bits, mixed.lm_head_bits) = (5.53125, 6.5625, 6.5625);
        (mixed.gate_bits, mixed.vector_bits) = (Some(3.4375), 32.0);
        let llama = Llm { stored: Some(mixed), ..llama };
        let weights = WeightFormat::Stored.of(&llama).unwrap();
        let layers = u64::from(llama.layers);
        assert_eq!(weights.token_layer_bits(), weights.layer_bytes().0 * 8);
        let vectors = layers * llama.layer_vector_parameters() + u64::from(llama.hidden_size);
        let sum = layers * weights.layer_bytes().0 + weights.table_bytes().0 + 4 * vectors;
        assert_eq!(weights.total_bytes().0, sum);
        let merged: u64 = llama
            .layer_gemvs(Projections::Merged)
            .map(|(matrix, gemv)| weights.matrix_bits(matrix, gemv.macs()))
            .sum();
        assert_eq!(merged, weights.token_layer_bits());
    }

    /// What a file says of itself adds up to its bytes.
    #[test]
    fn means_add_up_to_the_file() {
        for model in Model::all() {
            for it in FileType::ALL {
                let told = Llm { stored: Some(it.stored(&model)), ..*model };
                let told = WeightFormat::Stored.of(&told).unwrap().total_bytes().0;
                let file = it.total_bytes(&model);
                // Learned positions are in single precision, of which a file says nothing.
                let positions = u64::from(model.learned_positions) * u64::from(model.hidden_size) * 4;
                assert!(told.abs_diff(file) <= positions.max(1), "{model} {it}: {told} {file}");
            }
        }
    }

    /// What ggml cannot hold is refused, with what it holds instead.
    #[test]
    fn rows_are_whole_blocks_of_ggml() {
        let fits = |model: &Llm, format: &str| {
            format.parse::<WeightFormat>().unwrap().of(model).map(|_| ()).map_err(|it| it.to_string())
        };
        let qwen = &Model::named("qwen2.5-0.5b").unwrap();
        assert_eq!(
            fits(qwen, "q4_k").unwrap_err(),
            "`format` is q4_k, whose blocks are 256 weights of one row, but a row of the model's `q` has 896; llama.cpp \
             stores such a matrix as q5_0: give `format` = \"q5_0\", or the model's GGUF file, which says how each one \
             is stored"
        );
        for format in ["q5_0", "q4_0", "q8_0", "mxfp4", "fp16", "mx-int8-b256"] {
            assert_eq!(fits(qwen, format), Ok(()), "{format}");
        }
        let odd = Llm { hidden_size: 2047, ..*Model::named("llama-3.2-1b").unwrap() };
        let error = fits(&odd, "q4_0").unwrap_err();
        assert!(
            error.contains("of the model's `q` has 2047; no block divides it: give `format` = \"fp16\""),
            "{error}"
        );
        assert!(fits(&odd, "q6_k").unwrap_err().contains("no block divides it"));
        assert_eq!(fits(&odd, "fp16"), Ok(()));
        // A matrix of the feed-forward network alone.
        let narrow = Llm { ffn_size: 8224, ..*Model::named("llama-3.2-1b").unwrap() };
        assert!(
            fits(&narrow, "iq3_s")
                .unwrap_err()
                .contains("`down` has 8224; llama.cpp stores such a matrix as iq4_nl")
        );
        let llama = &Model::named("llama-3.1-8b").unwrap();
        for kind in ggml_names() {
            assert_eq!(fits(llama, kind), Ok(()), "{kind}");
        }
        // The router of two experts has rows as long as the others.
        assert_eq!(fits(&Model::named("mixtral-8x7b").unwrap(), "q4_k"), Ok(()));
    }

    #[test]
    fn a_name_is_a_format_or_a_type_of_ggml() {
        let read = |text: &str| text.parse::<WeightFormat>();
        assert_eq!(read("stored"), Ok(WeightFormat::Stored));
        assert_eq!(read("q4_0"), Ok(Format::Q4_0.into()));
        assert_eq!(read("iq4_xs"), Ok(WeightFormat::Ggml(GgmlType::Iq4Xs)));
        for bad in ["", "Q4_K", "f32", "i8", "store"] {
            let error = read(bad).unwrap_err().to_string();
            assert!(error.contains("`stored`") && error.contains("q6_k"), "{error}");
        }
        for name in ["stored", "int8", "q4_0", "mx-int8-b32", "q6_k", "mxfp4"] {
            let format: WeightFormat = serde_json::from_str(&format!("\"{name}\"")).unwrap();
            assert_eq!(serde_json::to_string(&format).unwrap(), format!("\"{name}\""));
        }
    }

    #[test]
    fn means_that_no_type_has_are_refused() {
        let opt = Model::named("opt-125m").unwrap();
        for bad in [0.0, -1.0, 64.5, f64::NAN] {
            let error = stored(&opt, bad).check().unwrap_err().to_string();
            assert!(error.starts_with("`stored.embedding_bits` is "), "{error}");
        }
        stored(&opt, 64.0).check().unwrap();
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[a-z0-9_-]{0,12}") {
            if let Ok(format) = text.parse::<WeightFormat>() {
                prop_assert_eq!(format.to_string(), text);
            }
        }
    }
}
