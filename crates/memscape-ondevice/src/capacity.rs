//! The study `ondevice.capacity`: how much DRAM each way of keeping the weights
//! takes (Fig. 4 and Fig. 9).

use std::num::{NonZeroU32, NonZeroU64};

use memscape_dram::{Dram, DramError};
use memscape_study::{PresetParameter, Study, StudyError};
use memscape_workload::{Format, Gemv, Matrix, ModelName};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::address::Dims;
use crate::hardware::{default_part, presets};
use crate::layout::{LayoutError, PimBlocks, Placement};
use crate::prefill::Scheme;
use crate::stages::{layer_matrices, least_buffer_bytes};

/// Bytes of DRAM for the weights of a model, by scheme.
///
/// The PIM-aware copy is padded so that every PIM unit has as many rows: matrices
/// of the layers to `layer_pad_tiles` row tiles, the LM head to
/// `lm_head_pad_tiles`. A row tile has as many rows as the lanes of all PIM units.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CapacityStudy {
    /// Language model
    pub model: ModelName,
    /// How weights are stored: `bf16`, `fp16`, `int8`, `int4`, or scaled blocks
    pub format: Format,
    /// How weights in the PIM-aware layout are used by the host
    pub scheme: Scheme,
    /// Bytes of one cacheable buffer; the layers' largest matrix if not given
    pub buffer_bytes: Option<NonZeroU64>,
    /// Row tiles to whose multiple the layers' matrices are padded
    pub layer_pad_tiles: NonZeroU32,
    /// Row tiles to whose multiple the LM head is padded: as many as there are output registers
    /// gives the 80 MB of Sec. 6
    pub lm_head_pad_tiles: NonZeroU32,
    /// Whether an input embedding of its own (untied) is kept in the PIM-aware copy too, which
    /// only the host reads
    pub pim_copies_embedding: bool,
    /// Which elements share a burst
    pub placement: Placement,
    /// The DRAM
    pub memory: Dram,
    /// The PIM blocks
    pub pim: PimBlocks,
}

/// What `ondevice.capacity` answers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct CapacityAnswer {
    /// Bytes that the scheme takes
    pub total_bytes: u64,
    /// Bytes of the host-friendly weights that it keeps
    pub host_bytes: u64,
    /// Bytes of the PIM-aware weights that it keeps, padding included
    pub pim_bytes: u64,
    /// Bytes of its cacheable buffers
    pub buffer_bytes: u64,
    /// Bytes of one cacheable buffer
    pub one_buffer_bytes: u64,
    /// Whether that holds what is computed with at one time
    pub buffer_suffices: bool,
    /// Bytes of the weights as the model has them
    pub weight_bytes: u64,
    /// Bytes that the PIM-aware layout adds
    pub padding_bytes: u64,
    /// Bytes of weight duplication (WD)
    pub duplication_bytes: u64,
    /// Share of weight duplication that the scheme saves
    pub saving: f64,
    /// Bytes of the DRAM
    pub dram_bytes: u64,
    /// Whether the scheme fits the DRAM
    pub fits: bool,
    /// Rows of a row tile
    pub tile_rows: u64,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CapacityError {
    /// The memory contradicts itself.
    #[error("`memory`: {0}")]
    Memory(#[from] DramError),
    /// No layout.
    #[error(transparent)]
    Layout(#[from] LayoutError),
}

impl Default for CapacityStudy {
    /// Llama 3.2 1B, double buffered, on the paper's phone.
    fn default() -> Self {
        let count = |it| NonZeroU32::new(it).expect("not zero");
        Self {
            model: "llama-3.2-1b".parse().expect("a built-in model"),
            format: Format::BF16,
            scheme: Scheme::Ddb,
            buffer_bytes: None,
            layer_pad_tiles: count(1),
            lm_head_pad_tiles: count(8),
            pim_copies_embedding: true,
            placement: Placement::ColumnBursts,
            memory: default_part("memory"),
            pim: default_part("pim"),
        }
    }
}

impl CapacityStudy {
    fn tile_rows(&self) -> Result<u64, CapacityError> {
        self.memory.check()?;
        let dims = Dims::of(&self.memory);
        let burst_bits = 8 * u64::from(self.memory.column_bytes.get());
        // One row fits any memory, and all that is asked of it is the tile.
        let tile = crate::layout::Layout::on(
            dims,
            burst_bits,
            Gemv::new(1, 1).expect("not empty"),
            self.format.element(),
            self.placement,
            &self.pim,
            0,
        )?;
        Ok(tile.tile_rows())
    }

    /// Bytes of the rows that a matrix is padded with.
    fn padding(&self, gemv: Gemv, tile_rows: u64, tiles: NonZeroU32) -> u64 {
        let to = tile_rows * u64::from(tiles.get());
        let rows = gemv.m().div_ceil(to) * to - gemv.m();
        rows * self.format.storage_bytes(gemv.k()).0
    }
}

impl Study for CapacityStudy {
    const NAME: &'static str = "ondevice.capacity";
    const SUMMARY: &'static str = "DRAM that a model's weights take, by way of keeping them for host and PIM";
    type Answer = CapacityAnswer;

    fn presets() -> Vec<PresetParameter> {
        presets!("memory", "pim")
    }

    #[expect(clippy::cast_precision_loss, reason = "bytes stay far below 2^53")]
    fn answer(&self) -> Result<CapacityAnswer, StudyError> {
        let (model, format) = (&self.model, self.format);
        let tile_rows = self.tile_rows().map_err(StudyError::from)?;
        let lm_head = model.gemv(Matrix::LmHead)?;
        let layers: u64 = layer_matrices(model)
            .iter()
            .map(|it| self.padding(it.1, tile_rows, self.layer_pad_tiles))
            .sum::<u64>()
            * u64::from(model.layers);
        let padding = layers + self.padding(lm_head, tile_rows, self.lm_head_pad_tiles);
        let weights = format.storage_bytes(model.parameters()).0;
        let embedding = format.storage_bytes(model.embedding_parameters()).0;
        let unused = if model.tied_embeddings || self.pim_copies_embedding { 0 } else { embedding };
        let pim = weights + padding - unused;

        let one_buffer =
            self.buffer_bytes.map_or_else(|| least_buffer_bytes(model, format, false), NonZeroU64::get);
        let (host_bytes, pim_bytes, buffers) = match self.scheme {
            Scheme::WeightDuplication => (weights, pim, 0),
            Scheme::FacilO | Scheme::NonCacheableGemm => (unused, pim, 0),
            Scheme::Ddb => (unused, pim, 2),
            Scheme::Owr => (unused, pim, 1),
            Scheme::CacheableGemm => (weights, 0, 0),
        };
        // The paper gives double buffering two buffers of one matrix each, which must
        // hold the matrices of attention together.
        let one_buffer = match (self.scheme, self.buffer_bytes) {
            (Scheme::Ddb, None) => one_buffer.max(least_buffer_bytes(model, format, true)),
            _ => one_buffer,
        };
        let suffices = match self.scheme {
            Scheme::Ddb => least_buffer_bytes(model, format, true) <= one_buffer,
            Scheme::Owr => least_buffer_bytes(model, format, false) <= one_buffer,
            _ => true,
        };
        let total = host_bytes + pim_bytes + buffers * one_buffer;
        let duplication = weights + pim;
        Ok(CapacityAnswer {
            total_bytes: total,
            host_bytes,
            pim_bytes,
            buffer_bytes: buffers * one_buffer,
            one_buffer_bytes: one_buffer,
            buffer_suffices: suffices,
            weight_bytes: weights,
            padding_bytes: padding,
            duplication_bytes: duplication,
            saving: 1.0 - total as f64 / duplication as f64,
            dram_bytes: self.memory.capacity().0,
            fits: total <= self.memory.capacity().0,
            tile_rows,
        })
    }
}
