//! The study `ondevice.capacity`: how much DRAM each way of keeping the weights
//! takes (Fig. 4 and Fig. 9).

use std::num::NonZeroU64;

use memscape_dram::Dram;
use memscape_study::{Laws, Slot, Study, StudyError};
use memscape_units::Bytes;
use memscape_workload::{Format, Model};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{laws, slots};
use crate::cost::footprint::{Footprint, Keeping, PadTo, Padding, check_kept};
use crate::cost::gemv::format_on_phone;
use crate::hardware::PimBlocks;
use crate::mapping::Scheme;
use crate::mapping::layout::Placement;

/// Bytes of DRAM for the weights of a model, by scheme.
///
/// The PIM-aware copy is padded so that every PIM unit has as many rows. A row tile
/// has as many rows as the lanes of all PIM units, an output tile as their output
/// registers hold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CapacityStudy {
    /// Language model
    pub model: Model,
    /// How weights are stored: `bf16`, `fp16`, `int8`, `int4`, or scaled blocks
    #[serde(deserialize_with = "format_on_phone")]
    pub format: Format,
    /// How weights in the PIM-aware layout are used by the host
    pub scheme: Scheme,
    /// Bytes of one cacheable buffer; the layers' largest matrix if not given
    pub buffer_bytes: Option<NonZeroU64>,
    /// To what rows of the layers' matrices are padded
    pub layer_padding: PadTo,
    /// To what rows of the LM head are padded: `output-tile` gives the 80 MB of Sec. 6
    pub lm_head_padding: PadTo,
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

impl Default for CapacityStudy {
    /// Llama 3.2 1B, double buffered, on the paper's phone.
    fn default() -> Self {
        let (phone, padding) = (slots::phone(), Padding::default());
        Self {
            model: slots::model(),
            format: Format::BF16,
            scheme: Scheme::Ddb,
            buffer_bytes: None,
            layer_padding: padding.layers,
            lm_head_padding: padding.lm_head,
            pim_copies_embedding: padding.copies_embedding,
            placement: Placement::ColumnBursts,
            memory: phone.memory,
            pim: phone.pim,
        }
    }
}

impl CapacityStudy {
    fn keeping(&self) -> Keeping {
        Keeping {
            format: self.format,
            scheme: self.scheme,
            buffer: self.buffer_bytes.map(|it| Bytes(it.get())),
            padding: Padding {
                layers: self.layer_padding,
                lm_head: self.lm_head_padding,
                copies_embedding: self.pim_copies_embedding,
            },
            placement: self.placement,
        }
    }
}

impl Study for CapacityStudy {
    const NAME: &'static str = "ondevice.capacity";
    const SUMMARY: &'static str = "DRAM that a model's weights take, by way of keeping them for host and PIM";
    type Answer = CapacityAnswer;

    const SUMS: &'static [(&'static str, &'static [&'static str])] =
        &[("total_bytes", &["host_bytes", "pim_bytes", "buffer_bytes"])];

    const LAWS: Laws = laws::CAPACITY;

    fn slots() -> Vec<Slot> {
        slots::all()
    }

    #[expect(clippy::cast_precision_loss, reason = "bytes stay far below 2^53")]
    fn answer(&self) -> Result<CapacityAnswer, StudyError> {
        check_kept(self.scheme, self.format, &self.model)?;
        let it = Footprint::of(&self.model, &self.keeping(), &self.memory, &self.pim)?;
        let (total, capacity) = (it.total(), self.memory.capacity());
        Ok(CapacityAnswer {
            total_bytes: total.0,
            host_bytes: it.host.0,
            pim_bytes: it.pim.0,
            buffer_bytes: it.buffers.0,
            one_buffer_bytes: it.one_buffer.0,
            buffer_suffices: it.buffer_suffices,
            weight_bytes: it.weights.0,
            padding_bytes: it.padding.0,
            duplication_bytes: it.duplication.0,
            saving: 1.0 - total.0 as f64 / it.duplication.0 as f64,
            dram_bytes: capacity.0,
            fits: total <= capacity,
            tile_rows: it.tile_rows,
        })
    }
}
