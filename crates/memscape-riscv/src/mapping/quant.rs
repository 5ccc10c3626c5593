//! ggml's blocks: Q4_0 and Q8_0, 32 weights with one fp16 scale, bit for bit; of others, their size.

use half::f16;
use memscape_study::Implied;
use memscape_workload::{FileType, GgmlType, Llm, PartialBlocks, Projections, WeightFormat};
use schemars::{Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serializer};

/// Weights per block.
pub const BLOCK: usize = 32;
/// Bytes of a Q4_0 block: the scale, then sixteen bytes of nibbles.
pub const Q4_0_BYTES: usize = 18;
/// Bytes of a Q8_0 block: the scale, then 32 signed bytes.
pub const Q8_0_BYTES: usize = 34;

/// How ggml's code on this machine takes weights, narrowest first. Those of `q4_k`, `q5_k` and `q6_k` come in blocks of
/// 256.
pub const CODED: [GgmlType; 7] = [
    GgmlType::Q4_0,
    GgmlType::Q4K,
    GgmlType::Q5K,
    GgmlType::Q6K,
    GgmlType::Q8_0,
    GgmlType::F16,
    GgmlType::F32,
];

/// What `format` calls a type: plain numbers as it does everywhere.
#[must_use]
pub const fn format_name(kind: GgmlType) -> &'static str {
    match kind {
        GgmlType::F16 => "fp16",
        GgmlType::F32 => "fp32",
        _ => kind.name(),
    }
}

/// A format that no code here takes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "llama.cpp has no code here for weights stored as `{0}`; there are q4_0, q4_k, q5_k, q6_k, q8_0, fp16 and fp32"
)]
pub struct NoCode(pub String);

/// One of [`CODED`] by the name that `format` has everywhere.
pub mod coded {
    use super::{CODED, Deserialize, Deserializer, GgmlType, NoCode, Schema, SchemaGenerator, Serializer};
    use super::{format_name, json_schema};

    /// Reads one.
    ///
    /// # Errors
    /// [`NoCode`] lists them.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<GgmlType, D::Error> {
        let name = String::deserialize(deserializer)?;
        let found = CODED.into_iter().find(|it| format_name(*it) == name);
        found.ok_or_else(|| serde::de::Error::custom(NoCode(name)))
    }

    /// Writes one.
    ///
    /// # Errors
    /// Those of the serializer.
    pub fn serialize<S: Serializer>(kind: &GgmlType, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(format_name(*kind))
    }

    /// The names.
    #[must_use]
    pub fn schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "enum": CODED.map(format_name) })
    }
}

/// # Errors
/// [`NoCode`] lists [`CODED`] if the type is none of them.
pub fn check_format(kind: GgmlType) -> Result<(), NoCode> {
    if CODED.contains(&kind) { Ok(()) } else { Err(NoCode(kind.to_string())) }
}

/// Why a model's weights are not stored so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FormatError {
    /// No code takes what llama.cpp stores one of its matrices in.
    #[error(
        "llama.cpp stores `{matrix}` of this model as {kind} in a file of {file}, since its rows of {columns} are no whole \
         blocks of 256, and there is no code for that here; give `format` = \"q4_0\" or \"q8_0\""
    )]
    Code {
        /// The file.
        file: FileType,
        /// The matrix.
        matrix: &'static str,
        /// Its type there.
        kind: GgmlType,
        /// Weights of one of its rows.
        columns: u64,
    },
    /// Rows that are no whole blocks.
    #[error(transparent)]
    Blocks(#[from] PartialBlocks),
}

/// A model's matrices in a file whose types there is code for.
///
/// # Errors
/// [`FormatError`] names the matrix that there is none for.
pub fn check_stored(file: FileType, model: &Llm, projections: Projections) -> Result<(), FormatError> {
    if let Some((matrix, shape, kind, _)) =
        file.matrices(model, projections).find(|it| !CODED.contains(&it.2))
    {
        return Err(FormatError::Code { file, matrix: matrix.name(), kind, columns: shape.k() });
    }
    Ok(file.fits(model, projections)?)
}

/// Numbers of a row as it is stored: padded to whole blocks, unless the format has none.
#[must_use]
pub const fn stored_columns(columns: u64, kind: GgmlType) -> u64 {
    columns.next_multiple_of(kind.block_elements())
}

/// Bytes of a matrix of so many rows and columns.
#[must_use]
pub const fn matrix_bytes(rows: u64, columns: u64, kind: GgmlType) -> u64 {
    let blocks = columns.div_ceil(kind.block_elements());
    rows.saturating_mul(blocks.saturating_mul(kind.block_bytes()))
}

/// What inputs are made of where they meet weights of a type.
///
/// # Source
/// ggml, `vec_dot_type` of each type.
#[must_use]
pub const fn input_type(kind: GgmlType) -> GgmlType {
    match kind {
        GgmlType::F16 | GgmlType::F32 => kind,
        _ if kind.block_elements() > BLOCK as u64 => GgmlType::Q8K,
        _ => GgmlType::Q8_0,
    }
}

/// The file that a model's description is of; other files than [`FileType`] are refused by this name.
pub const FILE_FORMAT: Implied =
    Implied { parameter: "format", value: |model| Some(FileType::called_in(model)?.into()) };

/// llama.cpp's own code, for a file that the thesis' kernels are not written for.
pub const FILE_KERNEL: Implied = Implied {
    parameter: "kernel",
    value: |model| {
        let ours = FileType::of_described(model)? == FileType::Q4_0;
        (!ours).then(|| "default".into())
    },
};

/// Bytes of the file that llama.cpp maps, as the model says of its own file, if it is of that type.
#[must_use]
pub fn file_bytes(model: &Llm, file: FileType) -> u64 {
    match WeightFormat::Stored.of(model) {
        Ok(weights) if FileType::of_model(model) == Some(file) => weights.total_bytes().0,
        _ => file.total_bytes(model),
    }
}

/// Why numbers cannot be quantised, or bytes are no blocks.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum QuantError {
    /// Not whole blocks.
    #[error("{given} {what} are no whole number of blocks of {block}; pad them")]
    Length {
        /// What was counted.
        what: &'static str,
        /// How many.
        given: usize,
        /// A block's.
        block: usize,
    },
    /// NaN or infinite.
    #[error("weight {index} is {value}; only finite numbers can be quantised")]
    NotFinite {
        /// Which one.
        index: usize,
        /// The number.
        value: f32,
    },
    /// A scale beyond fp16.
    #[error(
        "block {block} reaches {largest:e}, so its scale exceeds the 65504 of fp16; rescale the weights below {limit:e}"
    )]
    Scale {
        /// Which block.
        block: usize,
        /// Its largest magnitude.
        largest: f32,
        /// What the format holds.
        limit: f32,
    },
}

/// Quantises to Q4_0: `18` bytes per 32 weights.
///
/// The scale is the weight of largest magnitude over -8, so that weight itself
/// becomes -8; the others round half up. Byte `j` holds weight `j` in its low
/// nibble and weight `16 + j` in the high one.
///
/// # Errors
/// [`QuantError`] for NaN, infinities, scales beyond fp16 and partial blocks.
///
/// # Source
/// ggml, `quantize_row_q4_0_reference`, and the `gguf` Python package, to the bit.
/// Differs from them: where `1 / d` overflows (weights below 1e-37), which C leaves
/// undefined, every weight of the block is zero.
///
/// # Example
/// ```
/// use memscape_riscv::quant::{dequantise_q4_0, quantise_q4_0};
/// let weights: Vec<f32> = (0..32).map(|it| it as f32 - 16.0).collect();
/// let bytes = quantise_q4_0(&weights)?;
/// assert_eq!(bytes.len(), 18);
/// assert_eq!(dequantise_q4_0(&bytes)?[..4], [-16.0, -14.0, -14.0, -12.0]);
/// # Ok::<(), memscape_riscv::quant::QuantError>(())
/// ```
pub fn quantise_q4_0(weights: &[f32]) -> Result<Vec<u8>, QuantError> {
    let mut bytes = Vec::with_capacity(weights.len() / BLOCK * Q4_0_BYTES);
    for (index, block) in blocks(weights)?.enumerate() {
        // The first of equals, as ggml's comparison keeps it.
        let largest =
            block.iter().fold(0.0_f32, |largest, it| if it.abs() > largest.abs() { *it } else { largest });
        let scale = largest / -8.0;
        bytes.extend(scale_bytes(scale, index, largest, 8.0)?);
        let inverse = inverse(scale);
        // Two roundings, as C without contraction: a fused multiply-add would differ.
        #[expect(clippy::suboptimal_flops, reason = "bit-compatible")]
        let nibble = |weight: f32| (weight * inverse + 8.5).trunc().clamp(0.0, 15.0);
        let (low, high) = block.split_at(BLOCK / 2);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole, from 0 to 15")]
        bytes.extend(low.iter().zip(high).map(|(low, high)| nibble(*low) as u8 | (nibble(*high) as u8) << 4));
    }
    Ok(bytes)
}

/// Quantises to Q8_0: `34` bytes per 32 weights. The scale is the largest
/// magnitude over 127; weights round to nearest, halves away from zero.
///
/// # Errors
/// As [`quantise_q4_0`].
///
/// # Source
/// ggml, `quantize_row_q8_0_reference`.
pub fn quantise_q8_0(weights: &[f32]) -> Result<Vec<u8>, QuantError> {
    let mut bytes = Vec::with_capacity(weights.len() / BLOCK * Q8_0_BYTES);
    for (index, block) in blocks(weights)?.enumerate() {
        let largest = block.iter().fold(0.0_f32, |largest, it| largest.max(it.abs()));
        let scale = largest / 127.0;
        bytes.extend(scale_bytes(scale, index, largest, 127.0)?);
        let inverse = inverse(scale);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates at 127")]
        bytes.extend(block.iter().map(|it| (it * inverse).round() as i8 as u8));
    }
    Ok(bytes)
}

/// The weights of Q4_0 blocks.
///
/// # Errors
/// [`QuantError::Length`] for partial blocks.
///
/// # Source
/// ggml, `dequantize_row_q4_0`.
pub fn dequantise_q4_0(bytes: &[u8]) -> Result<Vec<f32>, QuantError> {
    let mut weights = Vec::with_capacity(bytes.len() / Q4_0_BYTES * BLOCK);
    for block in chunks::<Q4_0_BYTES>(bytes)? {
        let scale = f16::from_le_bytes([block[0], block[1]]).to_f32();
        let weight = |nibble: u8| f32::from(nibble.cast_signed() - 8) * scale;
        weights.extend(block[2..].iter().map(|it| weight(it & 0xf)));
        weights.extend(block[2..].iter().map(|it| weight(it >> 4)));
    }
    Ok(weights)
}

/// The weights of Q8_0 blocks.
///
/// # Errors
/// [`QuantError::Length`] for partial blocks.
///
/// # Source
/// ggml, `dequantize_row_q8_0`.
pub fn dequantise_q8_0(bytes: &[u8]) -> Result<Vec<f32>, QuantError> {
    let mut weights = Vec::with_capacity(bytes.len() / Q8_0_BYTES * BLOCK);
    for block in chunks::<Q8_0_BYTES>(bytes)? {
        let scale = f16::from_le_bytes([block[0], block[1]]).to_f32();
        weights.extend(block[2..].iter().map(|it| f32::from(it.cast_signed()) * scale));
    }
    Ok(weights)
}

fn blocks(weights: &[f32]) -> Result<impl Iterator<Item = &[f32; BLOCK]>, QuantError> {
    let (blocks, rest) = weights.as_chunks();
    if !rest.is_empty() {
        return Err(QuantError::Length { what: "weights", given: weights.len(), block: BLOCK });
    }
    match weights.iter().position(|it| !it.is_finite()) {
        Some(index) => Err(QuantError::NotFinite { index, value: weights[index] }),
        None => Ok(blocks.iter()),
    }
}

fn chunks<const N: usize>(bytes: &[u8]) -> Result<&[[u8; N]], QuantError> {
    match bytes.as_chunks() {
        (blocks, []) => Ok(blocks),
        _ => Err(QuantError::Length { what: "bytes", given: bytes.len(), block: N }),
    }
}

fn scale_bytes(scale: f32, block: usize, largest: f32, steps: f32) -> Result<[u8; 2], QuantError> {
    let half = f16::from_f32(scale);
    if half.is_finite() {
        Ok(half.to_le_bytes())
    } else {
        Err(QuantError::Scale { block, largest: largest.abs(), limit: 65504.0 * steps })
    }
}

/// `1 / scale`, or 0 where there is none.
fn inverse(scale: f32) -> f32 {
    let inverse = 1.0 / scale;
    if inverse.is_finite() { inverse } else { 0.0 }
}
