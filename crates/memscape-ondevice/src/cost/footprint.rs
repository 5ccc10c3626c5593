//! How much DRAM each way of keeping the weights takes.

use memscape_dram::{Dims, Dram, DramError, UNUSED_BY_ALL_BANKS};
use memscape_units::Bytes;
use memscape_workload::{
    Format, Gemv, Llm, Matrix, NoSuchMatrix, OperatorError, PartialBlocks, WeightFormat,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::attention::CACHE_ELEMENT_BYTES;
use super::gemv::GemvError;
use super::token::outer_matrices;
use crate::hardware::PimBlocks;
use crate::mapping::Scheme;
use crate::mapping::layout::{Layout, LayoutError, Placement};
use crate::mapping::stages::{StageError, layer_matrices, least_buffer_bytes};

/// Bytes of an activation, which stay at 16 bits as keys and values do.
const ACTIVATION_BYTES: u64 = 2;

/// How weights are kept.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Keeping {
    /// How weights are stored.
    pub format: Format,
    /// How weights in the PIM-aware layout are used by the host.
    pub scheme: Scheme,
    /// One cacheable buffer; what the scheme needs if none.
    pub buffer: Option<Bytes>,
    /// What the PIM-aware copy holds beyond what PIM needs.
    pub padding: Padding,
    /// Which elements share a burst.
    pub placement: Placement,
}

/// To what rows of a matrix in the PIM-aware layout are padded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PadTo {
    /// A multiple of the lanes of all PIM units: one output register of each is full.
    RowTile,
    /// A multiple of what all their output registers hold: every pass is full.
    OutputTile,
}

/// How the PIM-aware copy is padded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Padding {
    /// The layers' matrices.
    pub layers: PadTo,
    /// The LM head.
    pub lm_head: PadTo,
    /// Whether an input embedding of its own, which only the host reads, is in it.
    pub copies_embedding: bool,
}

impl Default for Padding {
    /// That of the paper's Sec. 6. Which tile is which matrix's is not printed: this is
    /// the pair that gives the 80 MB of Llama 3.2 1B.
    fn default() -> Self {
        Self { layers: PadTo::RowTile, lm_head: PadTo::OutputTile, copies_embedding: true }
    }
}

/// DRAM for weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Footprint {
    /// The host-friendly weights that the scheme keeps.
    pub host: Bytes,
    /// The PIM-aware weights that it keeps, padding included.
    pub pim: Bytes,
    /// Its cacheable buffers.
    pub buffers: Bytes,
    /// One cacheable buffer.
    pub one_buffer: Bytes,
    /// Whether that holds what is computed with at one time.
    pub buffer_suffices: bool,
    /// The weights as the model has them.
    pub weights: Bytes,
    /// What the PIM-aware layout adds.
    pub padding: Bytes,
    /// Where PIM writes the sums of a GEMV; all matrices take turns.
    pub sums: Bytes,
    /// The whole of weight duplication.
    pub duplication: Bytes,
    /// Rows of a row tile.
    pub tile_rows: u64,
}

/// Why weights cannot be kept.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FootprintError {
    /// The memory contradicts itself.
    #[error("`memory`: {0}")]
    Memory(#[from] DramError),
    /// No layout.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// The model has experts.
    #[error(transparent)]
    Stages(#[from] StageError),
    /// The model has no LM head.
    #[error(transparent)]
    Matrix(#[from] NoSuchMatrix),
}

/// Why a scheme cannot keep a model's weights, whatever the memory holds.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum KeptError {
    /// The model has experts.
    #[error(transparent)]
    Stages(#[from] StageError),
    /// Scale factors on PIM.
    #[error(transparent)]
    Lies(#[from] GemvError),
    /// Rows that are no whole blocks.
    #[error(transparent)]
    Blocks(#[from] PartialBlocks),
}

/// Whether a scheme can keep a model's weights in a format. Asked before what fits, since less of it
/// would not help.
///
/// # Errors
/// [`KeptError`] if the model has experts, PIM is to have scale factors, or rows are no whole blocks.
pub fn check_kept(scheme: Scheme, format: Format, model: &Llm) -> Result<(), KeptError> {
    layer_matrices(model)?;
    if scheme.decodes_on_pim() && format.scale().is_some() {
        return Err(GemvError::Scaled(format).into());
    }
    Ok(WeightFormat::from(format).fits(model)?)
}

/// More than the memory holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "weights, buffers and key-value cache take {need}{}, but `memory` has {have}: {} are missing; use a narrower \
     format, fewer tokens or sequences, more channels, banks or rows, or, where there are two copies of the weights, a \
     scheme that keeps one",
    if product.0 == 0 {
        String::new()
    } else {
        format!(" with {product} of inputs and results of the largest product")
    },
    Bytes(need.0.saturating_sub(have.0))
)]
pub struct DoesNotFit {
    /// Bytes asked for.
    pub need: Bytes,
    /// Of these, inputs and results of the prompt's largest product.
    pub product: Bytes,
    /// Bytes there are.
    pub have: Bytes,
}

/// What is kept and, on top of it, the largest product, if the memory has room for both.
///
/// # Errors
/// [`DoesNotFit`] if it has not.
pub fn fitting(kept: Bytes, product: Bytes, memory: &Dram) -> Result<Bytes, DoesNotFit> {
    let (need, have) = (Bytes(kept.0.saturating_add(product.0)), memory.capacity());
    if need <= have { Ok(need) } else { Err(DoesNotFit { need, product, have }) }
}

/// Bytes of the inputs and results of a prompt's largest product, of `batch` sequences together. Caches may
/// spare the DRAM their traffic, but not the room for them; saturates.
///
/// # Errors
/// [`OperatorError`] if the prompt is beyond what can be counted.
pub fn product_bytes(model: &Llm, tokens: u64, batch: u64) -> Result<Bytes, OperatorError> {
    let elements = model.product_elements(tokens)?;
    Ok(Bytes(elements.saturating_mul(ACTIVATION_BYTES).saturating_mul(batch)))
}

/// Bytes of the keys and values of so many tokens, in each of `batch` sequences;
/// saturates.
#[must_use]
pub fn cache_bytes(model: &Llm, tokens: u64, batch: u64) -> Bytes {
    let countable = tokens.checked_mul(model.kv_cache_elements(1)).is_some();
    let elements = if countable { model.kv_cache_elements(tokens) } else { u64::MAX };
    Bytes(elements.saturating_mul(CACHE_ELEMENT_BYTES).saturating_mul(batch))
}

/// What weights, buffers and PIM's sums take in all. A scheme without PIM keeps weights as
/// they are, whatever its blocks could hold.
///
/// # Errors
/// [`FootprintError`] says why they cannot be kept so.
pub fn kept_bytes(
    model: &Llm,
    keeping: &Keeping,
    memory: &Dram,
    pim: &PimBlocks,
) -> Result<Bytes, FootprintError> {
    if keeping.scheme.decodes_on_pim() {
        let it = Footprint::of(model, keeping, memory, pim)?;
        return Ok(Bytes(it.total().0.saturating_add(it.sums.0)));
    }
    memory.easing(UNUSED_BY_ALL_BANKS).check()?;
    Ok(keeping.format.storage_bytes(model.parameters()))
}

/// What a prefill of some layers keeps at least, padding left out; saturates.
#[must_use]
pub fn prefill_bytes(
    model: &Llm,
    layers: u64,
    format: Format,
    scheme: Scheme,
    one_buffer: Bytes,
    tokens: u64,
) -> Bytes {
    let layer = model.layer_matrix_parameters() + model.layer_vector_parameters();
    let idle = (u64::from(model.layers) - layers) * layer;
    let weights = format.storage_bytes(model.parameters() - idle).0;
    let kept = weights * scheme.copies() + one_buffer.0 * scheme.buffers();
    Bytes(kept.saturating_add(cache_bytes(&first_layers(model, layers), tokens, 1).0))
}

/// A model of the first layers of this one, which say what attention and its cache take: of windowed layers and
/// others as many as are among them.
pub(super) fn first_layers(model: &Llm, layers: u64) -> Llm {
    Llm { layers: u32::try_from(layers).unwrap_or(u32::MAX).min(model.layers), ..*model }
}

impl Footprint {
    /// What a model's weights take.
    ///
    /// # Errors
    /// [`FootprintError`] says why they cannot be kept so.
    pub fn of(
        model: &Llm,
        keeping: &Keeping,
        memory: &Dram,
        pim: &PimBlocks,
    ) -> Result<Self, FootprintError> {
        memory.easing(UNUSED_BY_ALL_BANKS).check()?;
        let Keeping { format, scheme, padding, .. } = *keeping;
        let layers = u64::from(model.layers);
        let matrices = layer_matrices(model)?.into_iter().map(|it| (it.1, padding.layers, layers));
        let outer = outer_matrices(model)?.into_iter().map(|(matrix, gemv)| match matrix {
            Matrix::LmHead => (gemv, padding.lm_head, 1),
            _ => (gemv, padding.layers, 1),
        });
        let (mut added, mut sum_rows, mut tile_rows) = (0_u64, 0, 0);
        for (gemv, to, count) in matrices.chain(outer) {
            let layout = layout(gemv, keeping, memory, pim)?;
            let padding = padding_bytes(&layout, gemv, to, format, memory);
            added = added.saturating_add(padding.saturating_mul(count));
            sum_rows = sum_rows.max(layout.sum_rows());
            tile_rows = layout.tile_rows();
        }
        let weights = format.storage_bytes(model.parameters()).0;
        let embedding = format.storage_bytes(model.embedding_parameters()).0;
        let unused = if model.tied_embeddings || padding.copies_embedding { 0 } else { embedding };
        let pim_aware = weights.saturating_add(added) - unused;
        let (host, pim) = match scheme {
            Scheme::WeightDuplication => (weights, pim_aware),
            Scheme::FacilO | Scheme::NonCacheableGemm | Scheme::Ddb | Scheme::Owr => (unused, pim_aware),
            Scheme::CacheableGemm => (weights, 0),
        };
        let (one_buffer, buffer_suffices) = buffer(model, keeping)?;
        Ok(Self {
            host: Bytes(host),
            pim: Bytes(pim),
            buffers: Bytes(scheme.buffers() * one_buffer),
            one_buffer: Bytes(one_buffer),
            buffer_suffices,
            weights: Bytes(weights),
            padding: Bytes(added),
            sums: Bytes(memory.row_of_all_banks().0.saturating_mul(sum_rows)),
            duplication: Bytes(weights.saturating_add(pim_aware)),
            tile_rows,
        })
    }

    /// What the scheme takes in all.
    #[must_use]
    pub fn total(&self) -> Bytes {
        Bytes(self.host.0.saturating_add(self.pim.0).saturating_add(self.buffers.0))
    }
}

/// A matrix on this memory, whether or not it has as many rows.
fn layout(gemv: Gemv, keeping: &Keeping, memory: &Dram, pim: &PimBlocks) -> Result<Layout, LayoutError> {
    let burst_bits = 8 * u64::from(memory.column_bytes());
    let dims = Dims { rows: u64::MAX, ..Dims::of(memory).ungrouped() };
    Layout::on(dims, burst_bits, gemv, keeping.format.element(), keeping.placement, pim, 0)
}

/// Bytes that a matrix takes beyond its own: its rows are padded to a multiple, and it begins in a DRAM row of
/// its own in every bank.
fn padding_bytes(layout: &Layout, gemv: Gemv, to: PadTo, format: Format, memory: &Dram) -> u64 {
    let lines = match to {
        PadTo::RowTile => 1,
        // No pass has more lines than the matrix gives a unit, whatever registers would hold.
        PadTo::OutputTile => layout.lines_per_pass.min(layout.unit_lines()),
    };
    let row = format.storage_bytes(gemv.k()).0;
    let padded = Layout { rows: gemv.m().next_multiple_of(layout.tile_rows() * lines), ..*layout };
    let begun = padded.end_row().saturating_mul(memory.row_of_all_banks().0);
    // Scale factors, which PIM has none of, lie between the elements.
    begun.max(padded.rows * row) - gemv.m() * row
}

/// Bytes of one cacheable buffer, and whether it holds what it must.
fn buffer(model: &Llm, keeping: &Keeping) -> Result<(u64, bool), FootprintError> {
    let single = least_buffer_bytes(model, keeping.format, false)?;
    let double = least_buffer_bytes(model, keeping.format, true)?;
    let have = match (keeping.buffer, keeping.scheme) {
        (Some(given), _) => given.0,
        // The paper gives double buffering two buffers of one matrix each, which must
        // hold the matrices of attention together.
        (None, Scheme::Ddb) => double,
        (None, _) => single,
    };
    let needed = match keeping.scheme {
        Scheme::Ddb => double,
        Scheme::Owr => single,
        _ => 0,
    };
    Ok((have, needed <= have))
}
