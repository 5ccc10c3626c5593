//! How much DRAM each way of keeping the weights takes.

use memscape_dram::{Dims, Dram, DramError};
use memscape_units::Bytes;
use memscape_workload::{Format, Gemv, Llm, Matrix, NoSuchMatrix};

use crate::hardware::PimBlocks;
use crate::mapping::Scheme;
use crate::mapping::layout::{Layout, LayoutError, Placement};
use crate::mapping::stages::{StageError, layer_matrices, least_buffer_bytes};

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

/// How the PIM-aware copy is padded. A row tile has as many rows as the lanes of all
/// PIM units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Padding {
    /// Row tiles to whose multiple the layers' matrices are padded.
    pub layer_tiles: u32,
    /// Row tiles to whose multiple the LM head is padded.
    pub lm_head_tiles: u32,
    /// Whether an input embedding of its own, which only the host reads, is in it.
    pub copies_embedding: bool,
}

impl Default for Padding {
    /// That of the paper's Sec. 6: 80 MB for Llama 3.2 1B.
    fn default() -> Self {
        Self { layer_tiles: 1, lm_head_tiles: 8, copies_embedding: true }
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
        let Keeping { format, scheme, padding, .. } = *keeping;
        let tile_rows = tile_rows(keeping, memory, pim)?;
        let added = padding_bytes(model, format, padding, tile_rows)?;
        let weights = format.storage_bytes(model.parameters()).0;
        let embedding = format.storage_bytes(model.embedding_parameters()).0;
        let unused = if model.tied_embeddings || padding.copies_embedding { 0 } else { embedding };
        let pim_aware = weights + added - unused;
        let (host, pim, buffers) = match scheme {
            Scheme::WeightDuplication => (weights, pim_aware, 0),
            Scheme::FacilO | Scheme::NonCacheableGemm => (unused, pim_aware, 0),
            Scheme::Ddb => (unused, pim_aware, 2),
            Scheme::Owr => (unused, pim_aware, 1),
            Scheme::CacheableGemm => (weights, 0, 0),
        };
        let (one_buffer, buffer_suffices) = buffer(model, keeping)?;
        Ok(Self {
            host: Bytes(host),
            pim: Bytes(pim),
            buffers: Bytes(buffers * one_buffer),
            one_buffer: Bytes(one_buffer),
            buffer_suffices,
            weights: Bytes(weights),
            padding: Bytes(added),
            duplication: Bytes(weights + pim_aware),
            tile_rows,
        })
    }

    /// What the scheme takes in all.
    #[must_use]
    pub fn total(&self) -> Bytes {
        self.host + self.pim + self.buffers
    }
}

/// Rows of a row tile on this memory.
fn tile_rows(keeping: &Keeping, memory: &Dram, pim: &PimBlocks) -> Result<u64, FootprintError> {
    memory.check()?;
    let burst_bits = 8 * u64::from(memory.column_bytes());
    // One row fits any memory, and all that is asked of it is the tile.
    let tile = Layout::on(
        Dims::of(memory).ungrouped(),
        burst_bits,
        Gemv::new(1, 1).expect("not empty"),
        keeping.format.element(),
        keeping.placement,
        pim,
        0,
    )?;
    Ok(tile.tile_rows())
}

/// Bytes of the rows that matrices are padded with.
fn padding_bytes(
    model: &Llm,
    format: Format,
    padding: Padding,
    tile_rows: u64,
) -> Result<u64, FootprintError> {
    let of = |gemv: Gemv, tiles: u32| {
        let to = tile_rows * u64::from(tiles);
        let rows = gemv.m().div_ceil(to) * to - gemv.m();
        rows * format.storage_bytes(gemv.k()).0
    };
    let layer: u64 = layer_matrices(model)?.iter().map(|it| of(it.1, padding.layer_tiles)).sum();
    let lm_head = of(model.gemv(Matrix::LmHead)?, padding.lm_head_tiles);
    Ok(layer * u64::from(model.layers) + lm_head)
}

/// Bytes of one cacheable buffer, and whether it holds what it must.
fn buffer(model: &Llm, keeping: &Keeping) -> Result<(u64, bool), FootprintError> {
    let single = least_buffer_bytes(model, keeping.format, false)?;
    let double = least_buffer_bytes(model, keeping.format, true)?;
    let have = match (keeping.buffer, keeping.scheme) {
        (Some(given), _) => given.0,
        // The paper gives double buffering two buffers of one matrix each, which must
        // hold the matrices of attention together.
        (None, Scheme::Ddb) => single.max(double),
        (None, _) => single,
    };
    let needed = match keeping.scheme {
        Scheme::Ddb => double,
        Scheme::Owr => single,
        _ => 0,
    };
    Ok((have, needed <= have))
}
