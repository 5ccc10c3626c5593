//! What `npu.workload` is asked: a prompt, and which design computes which product.

use std::num::{NonZeroU8, NonZeroU16, NonZeroU64};

use memscape_study::{CostEngine, StudyError};
use memscape_units::Bytes;
use memscape_workload::{Gemv, Model, Projections};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::best::{Designs, Obstacle};
use crate::hardware::device::Device;
use crate::hardware::precision::Precision;
use crate::mapping::chain::{ChainError, MAX_SIZE};
use crate::mapping::design::{BLayout, BdReconfiguration, Design};
use crate::mapping::tile::{L1Room, L1Rule, OutputBuffers};
use crate::study::gemm::GemmStudy;
use crate::study::memory::{Lent, MemoryGb};
use crate::study::slots::DEFAULT_MODEL;

/// The weight products of a language model's prompt on an NPU, layer by layer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkloadStudy {
    /// Language model
    pub model: Model,
    /// Tokens of the prompt: rows of A in every product of the layers
    pub prompt_tokens: NonZeroU64,
    /// Whether Q, K and V (and gate and up) are one matrix
    pub projections: Projections,
    /// Whether the language-model head of the last position is computed too, with the projection in front of it
    /// where a model has one
    pub lm_head: bool,
    /// Which design computes which product
    pub strategy: Strategy,
    /// The NPU
    pub device: Device,
    /// Types of inputs and output: `int8-int8`, `int8-int16`, `int8-int32`, `bf16-bf16`
    pub precision: Precision,
    /// Rows of A and C in L1; not for `best-per-size`
    pub m_ct: NonZeroU16,
    /// Columns of A and rows of B in L1; not for `best-per-size`
    pub k_ct: NonZeroU16,
    /// Columns of B and C in L1; not for `best-per-size`
    pub n_ct: NonZeroU16,
    /// Length of the reduction that memory tiles hold at once; not for `best-per-size`
    pub k_mt: NonZeroU16,
    /// How B lies in DRAM
    pub b_layout: BLayout,
    /// Buffers of C in L1
    pub output_buffers: OutputBuffers,
    /// Whether buffers may fill L1 to the last byte
    pub l1_rule: L1Rule,
    /// When the command processor rewrites buffer descriptors
    pub bd_reconfiguration: BdReconfiguration,
    /// Blocks of C submitted ahead: descriptors of each matrix in an interface tile
    pub bds_in_flight: NonZeroU8,
    /// Memory that the host lends for all weights as they are multiplied, and inputs and results of the largest product
    pub memory_gb: MemoryGb,
    /// Closed form, or event by event
    pub engine: CostEngine,
}

/// Which design computes which product.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// One for all sizes; only its loop counts change (Sec. 5.3.1)
    OneDesign,
    /// The same, but the array is configured anew whenever the size changes
    Reconfigured,
    /// The assignment of designs to kinds of products that takes the least time, of all that fit: the
    /// array is configured anew between kinds wherever that pays
    BestPerSize,
}

/// Why a prompt has no time.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum WorkloadError {
    /// More rows of a product than are modelled.
    #[error(
        "`prompt_tokens` is {tokens}, the rows of a product, which must be from 1 to {MAX_SIZE}; use fewer"
    )]
    Rows {
        /// As given.
        tokens: u64,
    },
    /// A prompt that no clock can follow.
    #[error(
        "all products of the prompt take longer than a timeline's clock can follow (half a year); use fewer \
         `prompt_tokens`"
    )]
    TooLong,
    /// No tile to choose from.
    #[error("no tile for `{precision}` fits L1: {room}")]
    NoTile {
        /// The precision.
        precision: Precision,
        /// What there is, and what the smallest takes.
        room: L1Room,
    },
    /// Tiles, but no step of any.
    #[error(
        "no design for `{precision}` fits memory tiles of {have}, though L1 holds its tiles; use more \
         `device.l2_bytes`"
    )]
    NoStep {
        /// The precision.
        precision: Precision,
        /// A memory tile.
        have: Bytes,
    },
    /// Designs, but none that can be programmed, most for addresses between words.
    #[error("no design for `{precision}` that memories hold can be programmed; of most, {why}")]
    Words {
        /// The precision.
        precision: Precision,
        /// The last of these.
        why: Box<ChainError>,
    },
    /// Designs, but no program.
    #[error(
        "no design for `{precision}` that memories hold fits the registers of buffer descriptors for every product; \
         use other `device.rows` or `device.columns`, or fewer `prompt_tokens`"
    )]
    NoDescriptors {
        /// The precision.
        precision: Precision,
    },
    /// Programs, but none that ends.
    #[error(
        "a product of {tokens} tokens takes longer than simulated clocks can follow (a day) whatever the design; use \
         fewer `prompt_tokens` or sequences, a faster `device.clock_mhz` or more `device.dram.read_gb_s`"
    )]
    NoTime {
        /// Tokens of all sequences.
        tokens: u64,
    },
}

impl WorkloadError {
    /// Why no design computes a prompt of such products.
    pub(in crate::study) fn no_design(of: &WorkloadStudy, obstacle: Obstacle) -> Self {
        let (device, precision) = (&of.device, of.precision);
        match obstacle {
            Obstacle::L1(room) => Self::NoTile { precision, room },
            Obstacle::L2 => Self::NoStep { precision, have: Bytes(device.l2_bytes.get().into()) },
            Obstacle::Granularity(why) => Self::Words { precision, why: Box::new(why) },
            Obstacle::Descriptors => Self::NoDescriptors { precision },
            Obstacle::Time => Self::NoTime { tokens: of.prompt_tokens.get() },
        }
    }
}

impl Default for WorkloadStudy {
    /// A prompt of 2048 tokens of Llama 3.2 1B in int8 on XDNA.
    fn default() -> Self {
        let gemm = GemmStudy::default();
        Self {
            model: Model::named(DEFAULT_MODEL).expect("a built-in model"),
            prompt_tokens: NonZeroU64::new(2048).expect("not zero"),
            projections: Projections::Merged,
            lm_head: true,
            strategy: Strategy::OneDesign,
            device: gemm.device,
            precision: gemm.precision,
            m_ct: gemm.m_ct,
            k_ct: gemm.k_ct,
            n_ct: gemm.n_ct,
            k_mt: gemm.k_mt,
            b_layout: gemm.b_layout,
            output_buffers: gemm.output_buffers,
            l1_rule: gemm.l1_rule,
            bd_reconfiguration: gemm.bd_reconfiguration,
            bds_in_flight: gemm.bds_in_flight,
            memory_gb: gemm.memory_gb,
            engine: gemm.engine,
        }
    }
}

impl WorkloadStudy {
    /// The product of activations of so many tokens with one of the model's matrices.
    ///
    /// # Panics
    /// Never: a matrix has rows and columns.
    #[must_use]
    pub fn gemm(&self, tokens: NonZeroU64, weights: Gemv) -> GemmStudy {
        let some = |it: u64| NonZeroU64::new(it).expect("a matrix has rows and columns");
        self.sized([tokens, some(weights.k()), some(weights.m())])
    }

    /// A product of this size.
    fn sized(&self, [m, k, n]: [NonZeroU64; 3]) -> GemmStudy {
        GemmStudy {
            m,
            k,
            n,
            device: self.device,
            precision: self.precision,
            m_ct: self.m_ct,
            k_ct: self.k_ct,
            n_ct: self.n_ct,
            k_mt: self.k_mt,
            b_layout: self.b_layout,
            output_buffers: self.output_buffers,
            l1_rule: self.l1_rule,
            bd_reconfiguration: self.bd_reconfiguration,
            bds_in_flight: self.bds_in_flight,
            memory_gb: self.memory_gb,
            measured_macs_per_cycle: None,
            engine: self.engine,
        }
    }

    /// The design that is given, whatever the size.
    pub(in crate::study) fn design(&self) -> Design {
        self.sized([NonZeroU64::MIN; 3]).design()
    }

    /// The same with one design for all products.
    pub(in crate::study) fn with_design(self, design: &Design) -> Self {
        let GemmStudy { m_ct, k_ct, n_ct, k_mt, .. } = self.sized([NonZeroU64::MIN; 3]).with_design(design);
        Self { strategy: Strategy::OneDesign, m_ct, k_ct, n_ct, k_mt, ..self }
    }

    /// What DRAM must hold: the model's weights and the largest product, the head for so many prompts.
    ///
    /// # Errors
    /// As of the products.
    pub(super) fn lent(&self, heads: NonZeroU64) -> Result<Lent, StudyError> {
        let weights = u128::from(self.model.parameters()) * u128::from(self.precision.input_bytes());
        Ok(self.memory_gb.lent(weights + u128::from(self.product_bytes(heads)?.0)))
    }

    /// Those that products choose from.
    pub(in crate::study) fn designs(&self) -> Designs<'_> {
        Designs { device: &self.device, base: self.design(), k_mt_steps: None, engine: self.engine }
    }
}
