//! Which type llama.cpp stores each matrix of a model in.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use memscape_units::float;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::Value;

use crate::ggml::GgmlType;
use crate::matrices::{Matrix, Projections};
use crate::model::Llm;
use crate::shape::Gemv;
use crate::stored::Stored;

/// What llama.cpp's quantiser is asked for: most weights are of one type, and those that matter more to
/// what the model says of a wider one.
///
/// # Source
/// llama.cpp, `llama_tensor_get_type` and `llama_model_quantize_internal`, without an importance matrix. Falcon, whose
/// language-model head is `q8_0` there and whose down projections have a rule of their own, is taken as any other model.
///
/// # Example
/// ```
/// use memscape_workload::{FileType, GgmlType, Matrix, Model};
/// let model = Model::named("llama-2-7b")?;
/// let head = |it: FileType| it.type_of(&model, Matrix::LmHead, 0);
/// assert_eq!((head(FileType::Q4_0), head(FileType::Q8_0)), (GgmlType::Q6K, GgmlType::Q8_0));
/// // The sizes that are published of both files: 3.83 and 4.08 GB.
/// let gb = |it: FileType| (it.total_bytes(&model) as f64 / 1e7).round() / 100.0;
/// assert_eq!((gb(FileType::Q4_0), gb(FileType::Q4KM)), (3.83, 4.08));
/// # Ok::<(), memscape_study::Unknown>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
pub enum FileType {
    /// Four bits and a scale; the language-model head in six.
    #[serde(rename = "q4_0")]
    Q4_0,
    /// Four bits in blocks of 256; the first values and down projections in five, the head in six.
    #[serde(rename = "q4_k_s")]
    Q4KS,
    /// The same with half of values and down projections in six.
    #[serde(rename = "q4_k_m")]
    Q4KM,
    /// Five bits in blocks of 256; the head in six.
    #[serde(rename = "q5_k_s")]
    Q5KS,
    /// The same with half of values and down projections in six.
    #[serde(rename = "q5_k_m")]
    Q5KM,
    /// Six bits in blocks of 256.
    #[serde(rename = "q6_k")]
    Q6K,
    /// Eight bits and a scale.
    #[serde(rename = "q8_0")]
    Q8_0,
    /// Half precision.
    #[serde(rename = "fp16")]
    Fp16,
    /// Single precision.
    #[serde(rename = "fp32")]
    Fp32,
}

impl FileType {
    /// All of them, narrowest first.
    pub const ALL: [Self; 9] = [
        Self::Q4_0,
        Self::Q4KS,
        Self::Q4KM,
        Self::Q5KS,
        Self::Q5KM,
        Self::Q6K,
        Self::Q8_0,
        Self::Fp16,
        Self::Fp32,
    ];

    /// Those that mix types by layer, which no type of ggml is named after.
    pub const MIXTURES: [Self; 4] = [Self::Q4KS, Self::Q4KM, Self::Q5KS, Self::Q5KM];

    /// The name, for example `q4_k_m`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Q4_0 => "q4_0",
            Self::Q4KS => "q4_k_s",
            Self::Q4KM => "q4_k_m",
            Self::Q5KS => "q5_k_s",
            Self::Q5KM => "q5_k_m",
            Self::Q6K => "q6_k",
            Self::Q8_0 => "q8_0",
            Self::Fp16 => "fp16",
            Self::Fp32 => "fp32",
        }
    }

    /// The type of most weights.
    #[must_use]
    pub const fn main(self) -> GgmlType {
        match self {
            Self::Q4_0 => GgmlType::Q4_0,
            Self::Q4KS | Self::Q4KM => GgmlType::Q4K,
            Self::Q5KS | Self::Q5KM => GgmlType::Q5K,
            Self::Q6K => GgmlType::Q6K,
            Self::Q8_0 => GgmlType::Q8_0,
            Self::Fp16 => GgmlType::F16,
            Self::Fp32 => GgmlType::F32,
        }
    }

    /// The file that a model's own is, if it says how its weights are stored: of those whose weights are mostly of the
    /// type that it says, the one that differs least from it in bits.
    #[must_use]
    pub fn of_model(model: &Llm) -> Option<Self> {
        let own = model.stored?;
        let away = |it: Self| it.stored(model).differs(&own);
        let alike = Self::ALL.into_iter().filter(|it| it.mostly(model) == own.main);
        alike.min_by(|a, b| away(*a).total_cmp(&away(*b)))
    }

    /// The same of a described model.
    #[must_use]
    pub fn of_described(model: &Value) -> Option<Self> {
        Self::of_model(&serde_json::from_value(model.clone()).ok()?)
    }

    /// What a described model's own file is called: one that is none of these by the type of most of its weights.
    #[must_use]
    pub fn called_in(model: &Value) -> Option<&'static str> {
        let model: Llm = serde_json::from_value(model.clone()).ok()?;
        let stored = model.stored?;
        Some(Self::of_model(&model).map_or_else(|| stored.main.name(), Self::name))
    }

    /// The type of most weights, the token embedding among them: what is taken instead of the one asked for may be most.
    fn mostly(self, model: &Llm) -> GgmlType {
        let mut weights = BTreeMap::new();
        for (_, shape, kind, matrices) in self.matrices(model, model.file_projections()) {
            *weights.entry(kind).or_insert(0) += matrices * shape.macs();
        }
        if !model.tied_embeddings {
            *weights.entry(self.table(model)).or_insert(0) += model.embedding_parameters();
        }
        weights.into_iter().max_by_key(|it| it.1).map_or(self.main(), |it| it.0)
    }

    /// The type of one matrix of one layer, counted from 0; any layer will do of a matrix beside them. Where its rows
    /// are no whole blocks, it is what llama.cpp takes in its place, if there is such a type.
    #[must_use]
    pub fn type_of(self, model: &Llm, matrix: Matrix, layer: u32) -> GgmlType {
        let kind = self.asked_for(model, matrix, layer);
        model.gemv(matrix).map_or(kind, |it| whole(kind, it.k()))
    }

    fn asked_for(self, model: &Llm, matrix: Matrix, layer: u32) -> GgmlType {
        let (main, layers) = (self.main(), model.layers);
        if matches!(self, Self::Fp16 | Self::Fp32) {
            return if matrix == Matrix::Router { GgmlType::F32 } else { main };
        }
        let eight_experts = model.experts.is_some_and(|it| it.count == 8);
        let more_bits = || {
            let eighth = layers / 8;
            let wide = layer < eighth || layer >= 7 * layers / 8 || (layer - eighth) % 3 == 2;
            wide && matches!(self, Self::Q4KM | Self::Q5KM)
        };
        match matrix {
            // Scores of experts are never quantised.
            Matrix::Router => GgmlType::F32,
            Matrix::LmHead if self == Self::Q8_0 => GgmlType::Q8_0,
            Matrix::LmHead => GgmlType::Q6K,
            Matrix::K | Matrix::V if eight_experts => GgmlType::Q8_0,
            Matrix::V | Matrix::Down | Matrix::Fc2 if more_bits() => GgmlType::Q6K,
            Matrix::V if self == Self::Q4KS && layer < 4 => GgmlType::Q5K,
            // The 70B models share values among eight heads.
            Matrix::V if main == GgmlType::Q4K && layers == 80 && model.heads != model.kv_heads => {
                GgmlType::Q5K
            }
            Matrix::Down | Matrix::Fc2 if self == Self::Q4KS && layer < layers / 8 => GgmlType::Q5K,
            Matrix::Out if eight_experts && main == GgmlType::Q4K => GgmlType::Q5K,
            Matrix::Qkv if self == Self::Q4KM => GgmlType::Q5K,
            Matrix::Qkv if self == Self::Q5KM => GgmlType::Q6K,
            _ => main,
        }
    }

    /// Whether layers may have different types of a matrix.
    fn varies(self, matrix: Matrix) -> bool {
        Self::MIXTURES.contains(&self) && matches!(matrix, Matrix::V | Matrix::Down | Matrix::Fc2)
    }

    /// In how many of these layers a matrix is of which type, in the order of types.
    #[must_use]
    pub fn types(self, model: &Llm, matrix: Matrix, layers: Range<u32>) -> Vec<(GgmlType, u64)> {
        if !self.varies(matrix) && !layers.is_empty() {
            return vec![(self.type_of(model, matrix, layers.start), layers.len() as u64)];
        }
        let mut found: Vec<(GgmlType, u64)> = Vec::with_capacity(2);
        for layer in layers {
            let kind = self.type_of(model, matrix, layer);
            match found.iter_mut().find(|it| it.0 == kind) {
                Some(it) => it.1 += 1,
                None => found.push((kind, 1)),
            }
        }
        found.sort_unstable();
        found
    }

    /// All matrices of a model that a file holds, each with its shape, its type, and how many there are of it; the token
    /// embedding is not among them, unless it is the language-model head.
    pub fn matrices(
        self,
        model: &Llm,
        projections: Projections,
    ) -> impl Iterator<Item = (Matrix, Gemv, GgmlType, u64)> {
        let of_layers = model.layer_matrices(projections).flat_map(move |(matrix, shape, each)| {
            let types = self.types(model, matrix, 0..model.layers);
            types.into_iter().map(move |(kind, layers)| (matrix, shape, kind, layers * each))
        });
        let beside = Matrix::OUTSIDE.into_iter().filter_map(move |matrix| {
            Some((matrix, model.gemv(matrix).ok()?, self.type_of(model, matrix, 0), 1))
        });
        of_layers.chain(beside)
    }

    /// What such a file takes, as the file itself would say: means over all layers.
    #[must_use]
    pub fn stored(self, model: &Llm) -> Stored {
        let merged = model.file_projections() == Projections::Merged;
        let mean = |matrices: &[Matrix]| {
            let there =
                matrices.iter().find(|it| model.gemv(**it).is_ok() && (merged || **it != Matrix::Qkv))?;
            let types = self.types(model, *there, 0..model.layers);
            let bits: f64 = types.iter().map(|(kind, layers)| kind.bits_per_element() * float(*layers)).sum();
            Some(bits / f64::from(model.layers))
        };
        let main = self.main().bits_per_element();
        let of = |matrices: &[Matrix]| mean(matrices).unwrap_or(main);
        let head = of(&[Matrix::LmHead]);
        Stored {
            main: self.mostly(model),
            embedding_bits: if model.tied_embeddings { head } else { self.table(model).bits_per_element() },
            lm_head_bits: head,
            q_bits: of(&[Matrix::Qkv, Matrix::Q]),
            k_bits: of(&[Matrix::Qkv, Matrix::K]),
            v_bits: of(&[Matrix::Qkv, Matrix::V]),
            out_bits: of(&[Matrix::Out]),
            router_bits: mean(&[Matrix::Router]),
            gate_bits: mean(&[Matrix::Gate]),
            up_bits: of(&[Matrix::Up, Matrix::Fc1]),
            down_bits: of(&[Matrix::Down, Matrix::Fc2]),
            vector_bits: 32.0,
        }
    }

    /// The type of a token embedding that is not the head, too.
    fn table(self, model: &Llm) -> GgmlType {
        whole(self.main(), model.embedding_width().into())
    }

    /// Whether all rows are whole blocks.
    ///
    /// # Errors
    /// [`PartialBlocks`] names the matrix.
    pub fn fits(self, model: &Llm, projections: Projections) -> Result<(), PartialBlocks> {
        let cut = |(matrix, shape, format, _): (Matrix, Gemv, GgmlType, u64)| {
            let (block, columns) = (format.block_elements(), shape.k());
            let error = PartialBlocks { format, block, matrix, columns, instead: None };
            (!columns.is_multiple_of(block)).then_some(error)
        };
        self.matrices(model, projections).find_map(cut).map_or(Ok(()), Err)
    }

    /// Bytes of the whole file, its description left out: norms, biases and learned positions in single precision.
    ///
    /// # Panics
    /// Above 2^56 weights in one matrix, which no checked model has.
    #[must_use]
    pub fn total_bytes(self, model: &Llm) -> u64 {
        let bytes = |kind: GgmlType, rows: u64, columns: u64| rows * kind.storage_bits(columns) / 8;
        let matrices: u64 = self
            .matrices(model, model.file_projections())
            .map(|(_, shape, kind, count)| count * bytes(kind, shape.m(), shape.k()))
            .sum();
        // One that is the head is stored once.
        let embedding = if model.tied_embeddings {
            0
        } else {
            bytes(self.table(model), model.vocab_size.into(), model.embedding_width().into())
        };
        let matrices_alone = u64::from(model.layers) * model.layer_matrix_parameters()
            + model.embedding_parameters() * if model.tied_embeddings { 1 } else { 2 }
            + if model.projects_embedding() {
                2 * u64::from(model.hidden_size) * u64::from(model.embedding_width())
            } else {
                0
            };
        matrices + embedding + 4 * (model.parameters() - matrices_alone)
    }
}

/// A type whose blocks divide rows of so many columns: this one, or what llama.cpp takes instead, if it has something.
const fn whole(kind: GgmlType, columns: u64) -> GgmlType {
    match kind.fallback() {
        _ if columns.is_multiple_of(kind.block_elements()) => kind,
        Some(instead) if columns.is_multiple_of(instead.block_elements()) => instead,
        Some(_) => GgmlType::F16,
        None => kind,
    }
}

/// Rows of a matrix that are no whole blocks of a type of ggml: no file has such a tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "`format` is {format}, whose blocks are {block} weights of one row, but a row of the model's `{matrix}` has \
     {columns}; {}",
    match instead {
        Some(it) => format!(
            "llama.cpp stores such a matrix as {it}: give `format` = \"{it}\", or the model's GGUF file, which says \
             how each one is stored"
        ),
        None => "no block divides it: give `format` = \"fp16\"".to_owned(),
    }
)]
pub struct PartialBlocks {
    /// The type.
    pub format: GgmlType,
    /// Weights of its blocks.
    pub block: u64,
    /// The first matrix whose rows they do not divide.
    pub matrix: Matrix,
    /// Weights of one of its rows.
    pub columns: u64,
    /// What llama.cpp takes instead, if that divides all rows.
    pub instead: Option<GgmlType>,
}

/// A text that is no [`FileType`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "llama.cpp has no code here for a file of `{given}`; give `format` as one of {}",
    FileType::ALL.map(FileType::name).join(", ")
)]
pub struct FileTypeError {
    /// The text as given.
    pub given: String,
}

impl FromStr for FileType {
    type Err = FileTypeError;

    fn from_str(text: &str) -> Result<Self, FileTypeError> {
        let found = Self::ALL.into_iter().find(|it| it.name() == text);
        found.ok_or_else(|| FileTypeError { given: text.to_owned() })
    }
}

impl<'de> Deserialize<'de> for FileType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

impl fmt::Display for FileType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Experts, Model};

    fn named(name: &str) -> Llm {
        *Model::named(name).unwrap()
    }

    /// Half of values and down projections have six bits: the first and the last eighth of the layers, and each third
    /// between.
    #[test]
    fn a_mixture_is_of_two_types() {
        let llama = named("llama-2-7b");
        let types = |matrix| FileType::Q4KM.types(&llama, matrix, 0..32);
        for matrix in [Matrix::V, Matrix::Down] {
            assert_eq!(types(matrix), [(GgmlType::Q4K, 16), (GgmlType::Q6K, 16)], "{matrix:?}");
        }
        for matrix in [Matrix::Q, Matrix::K, Matrix::Out, Matrix::Gate, Matrix::Up] {
            assert_eq!(types(matrix), [(GgmlType::Q4K, 32)], "{matrix:?}");
        }
        let wide: Vec<u32> =
            (0..32).filter(|it| FileType::Q4KM.type_of(&llama, Matrix::V, *it) == GgmlType::Q6K).collect();
        assert_eq!(wide, [0, 1, 2, 3, 6, 9, 12, 15, 18, 21, 24, 27, 28, 29, 30, 31]);
        assert_eq!(
            FileType::Q4KS.types(&llama, Matrix::Down, 0..32),
            [(GgmlType::Q4K, 28), (GgmlType::Q5K, 4)]
        );
    }

    /// Sizes that llama.cpp's own list of files prints for Llama 2, in GB: of 7B and of 70B.
    #[test]
    fn files_are_as_large_as_published() {
        let gb = |model: &str, it: FileType| {
            #[expect(clippy::cast_precision_loss, reason = "a few gigabytes")]
            let bytes = it.total_bytes(&named(model)) as f64;
            (bytes / 1e7).round() / 100.0
        };
        for (it, published) in [
            (FileType::Q4_0, 3.83),
            (FileType::Q4KS, 3.86),
            (FileType::Q4KM, 4.08),
            (FileType::Q5KS, 4.65),
            (FileType::Q5KM, 4.78),
            (FileType::Q6K, 5.53),
            (FileType::Q8_0, 7.16),
        ] {
            assert!((gb("llama-2-7b", it) - published).abs() < 0.006, "{it}: {}", gb("llama-2-7b", it));
        }
    }

    /// Phi-4, whose queries, keys and values are one matrix: sizes that a publisher of its files lists, in GB.
    #[test]
    fn merged_projections_have_types_of_their_own() {
        let phi = Llm {
            layers: 40,
            hidden_size: 5120,
            heads: 40,
            kv_heads: 10,
            head_dim: 128,
            ffn_size: 17920,
            vocab_size: 100_352,
            ..named("phi-3-mini")
        };
        for (it, published) in [
            (FileType::Q4KS, 8.44),
            (FileType::Q4KM, 9.05),
            (FileType::Q5KS, 10.15),
            (FileType::Q5KM, 10.60),
            (FileType::Q6K, 12.03),
        ] {
            let gb = float(it.total_bytes(&phi)) / 1e9;
            assert!((gb - published).abs() < 0.011, "{it}: {gb}");
        }
    }

    /// Rows that 256 does not divide are of the type that llama.cpp takes in place.
    #[test]
    fn partial_blocks_fall_back() {
        let qwen = named("qwen2.5-0.5b");
        assert_eq!(FileType::Q4KM.type_of(&qwen, Matrix::Q, 0), GgmlType::Q5_0);
        assert_eq!(FileType::Q4_0.type_of(&qwen, Matrix::LmHead, 0), GgmlType::Q8_0);
        assert_eq!(FileType::Q4_0.fits(&qwen, Projections::Separate), Ok(()));
        let odd = Llm { hidden_size: 2047, ..qwen };
        assert_eq!(FileType::Q6K.type_of(&odd, Matrix::Q, 0), GgmlType::F16);
        let error = FileType::Q4_0.fits(&odd, Projections::Separate).unwrap_err();
        assert_eq!((error.matrix, error.columns), (Matrix::Q, 2047));
    }

    #[test]
    fn experts_keep_keys_and_values_wide() {
        let mixtral = named("mixtral-8x7b");
        let of = |matrix| FileType::Q4KM.type_of(&mixtral, matrix, 5);
        assert_eq!([of(Matrix::K), of(Matrix::V)], [GgmlType::Q8_0; 2]);
        assert_eq!((of(Matrix::Out), of(Matrix::Router)), (GgmlType::Q5K, GgmlType::F32));
        let sixteen = Llm { experts: Some(Experts { count: 16, active: 2 }), ..mixtral };
        assert_eq!(FileType::Q4KM.type_of(&sixteen, Matrix::K, 5), GgmlType::Q4K);
    }

    #[test]
    fn a_file_is_known_by_its_types() {
        for it in FileType::ALL {
            assert_eq!(serde_json::to_string(&it).unwrap(), format!("\"{it}\""));
            // Also where blocks fall back, and where the embedding is most of a model.
            let large = Llm { layers: 8, vocab_size: 1 << 18, ..named("llama-3.2-1b") };
            for model in ["llama-2-7b", "gemma-3-1b", "qwen2.5-0.5b", "phi-3-mini", "mixtral-8x7b"]
                .map(named)
                .into_iter()
                .chain([large])
            {
                let found = FileType::of_model(&Llm { stored: Some(it.stored(&model)), ..model });
                assert_eq!(found, Some(it), "{:?}", model.hidden_size);
            }
        }
        let other = |main| Llm {
            stored: Some(Stored { main, ..FileType::Q4_0.stored(&named("opt-125m")) }),
            ..named("opt-125m")
        };
        assert_eq!(FileType::of_model(&other(GgmlType::Q2K)), None);
    }
}
