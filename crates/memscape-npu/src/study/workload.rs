//! The study `npu.workload`: all weight products of a prompt, one after the other.

use std::num::{NonZeroU8, NonZeroU16, NonZeroU64};

use memscape_study::{CostEngine, PresetParameter, Study, StudyError};
use memscape_workload::{Gemv, Matrix, ModelName, Projections};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::array::{BLayout, BdReconfiguration, DramSharing};
use crate::balance::BalanceStudy;
use crate::device::{Device, Precision};
use crate::gemm::{GemmAnswer, GemmStudy, presets};
use crate::kernel::{L1Rule, OutputBuffers};

/// The weight products of a language model's prompt on an NPU, layer by layer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkloadStudy {
    /// Language model
    pub model: ModelName,
    /// Tokens of the prompt: rows of A in every product of the layers
    pub prompt_tokens: NonZeroU64,
    /// Whether Q, K and V (and gate and up) are one matrix
    pub projections: Projections,
    /// Whether the language-model head of the last position is computed too
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
    /// Whether reading and writing DRAM share one bandwidth
    pub dram_sharing: DramSharing,
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
    /// The best tile for each size, found by exhaustive search, and the array configured anew in
    /// between
    BestPerSize,
}

/// What `npu.workload` answers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct WorkloadAnswer {
    /// Time of all products of the prompt
    pub time_ns: f64,
    /// Products alone, dispatch included
    pub gemm_ns: f64,
    /// Configuring the array anew
    pub reconfiguration_ns: f64,
    /// How often that is
    pub reconfigurations: u64,
    /// Products
    pub gemms: u64,
    /// Operations asked for, without padding, per second
    pub tops: f64,
    /// Tokens of the prompt per second, if only these products took time
    pub tokens_per_s: f64,
    /// Share of the computed operations that were asked for
    pub useful_share: f64,
    /// Time of the slowest kind of product over all of its kind in a prompt
    pub slowest_ns: f64,
    /// The slowest kind of product
    pub slowest: Matrix,
}

impl Default for WorkloadStudy {
    /// A prompt of 2048 tokens of Llama 3.2 1B in int8 on XDNA.
    fn default() -> Self {
        let gemm = GemmStudy::default();
        Self {
            model: "llama-3.2-1b".parse().expect("a built-in model"),
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
            dram_sharing: gemm.dram_sharing,
            engine: gemm.engine,
        }
    }
}

impl WorkloadStudy {
    /// The product of activations of so many tokens with one of the model's matrices.
    ///
    /// # Errors
    /// [`StudyError`] if no design fits.
    ///
    /// # Panics
    /// Never: a matrix has rows and columns, and L1 holds every tile found.
    pub fn gemm(&self, tokens: NonZeroU64, weights: Gemv) -> Result<GemmStudy, StudyError> {
        let some = |it: u64| NonZeroU64::new(it).expect("a matrix has rows and columns");
        let mut gemm = GemmStudy {
            m: tokens,
            k: some(weights.k()),
            n: some(weights.m()),
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
            dram_sharing: self.dram_sharing,
            measured_macs_per_cycle: None,
            engine: self.engine,
        };
        if self.strategy == Strategy::BestPerSize {
            let search = BalanceStudy {
                device: self.device,
                precision: self.precision,
                b_layout: self.b_layout,
                output_buffers: self.output_buffers,
                l1_rule: self.l1_rule,
                ..BalanceStudy::default()
            };
            let best = search.best(Some(gemm.size()))?.0;
            let small = |it: u32| u16::try_from(it).ok().and_then(NonZeroU16::new).expect("L1 holds it");
            let tile = best.kernel.tile;
            [gemm.m_ct, gemm.k_ct, gemm.n_ct, gemm.k_mt] = [tile.m, tile.k, tile.n, best.k_mt].map(small);
        }
        Ok(gemm)
    }
}

impl Study for WorkloadStudy {
    const NAME: &'static str = "npu.workload";
    const SUMMARY: &'static str = "All weight products of a language model's prompt on a Ryzen AI NPU";
    type Answer = WorkloadAnswer;

    fn presets() -> Vec<PresetParameter> {
        presets()
    }

    #[expect(clippy::cast_precision_loss, reason = "counts and operations stay far below 2^53 in ratio")]
    fn answer(&self) -> Result<WorkloadAnswer, StudyError> {
        let layers = u64::from(self.model.layers);
        let mut kinds: Vec<(Matrix, Gemv, NonZeroU64, u64)> = self
            .model
            .layer_gemvs(self.projections)
            .map(|(matrix, weights)| (matrix, weights, self.prompt_tokens, layers))
            .collect();
        let per_layer = kinds.len() as u64;
        if self.lm_head {
            kinds.push((Matrix::LmHead, self.model.gemv(Matrix::LmHead)?, NonZeroU64::MIN, 1));
        }

        let (mut gemm_ns, mut operations, mut computed) = (0.0, 0.0, 0.0);
        let mut slowest = (0.0, Matrix::LmHead);
        // The design of each kind of product: what changes it, changes the array.
        let mut loaded = Vec::with_capacity(kinds.len());
        for &(matrix, weights, tokens, count) in &kinds {
            let gemm = self.gemm(tokens, weights)?;
            let GemmAnswer { time_ns, useful_share, .. } = gemm.answer()?;
            let count = count as f64;
            let asked = 2.0 * count * tokens.get() as f64 * weights.macs() as f64;
            gemm_ns += count * time_ns;
            operations += asked;
            computed += asked / useful_share;
            if slowest.0 < count * time_ns {
                slowest = (count * time_ns, matrix);
            }
            loaded.push(match self.strategy {
                Strategy::OneDesign => ([0; 3], [NonZeroU16::MIN; 4]),
                Strategy::Reconfigured => (gemm.size(), [NonZeroU16::MIN; 4]),
                Strategy::BestPerSize => ([0; 3], [gemm.m_ct, gemm.k_ct, gemm.n_ct, gemm.k_mt]),
            });
        }
        // Layer after layer, then the head; the first design is there already.
        let (layer, head) = loaded.split_at(usize::try_from(per_layer).expect("a few kinds"));
        let inside = layer.windows(2).filter(|it| it[0] != it[1]).count() as u64;
        let around = u64::from(layer.first() != layer.last());
        let at_head = u64::from(head.first().is_some_and(|it| Some(it) != layer.last()));
        let reconfigurations = layers * inside + (layers - 1) * around + at_head;
        let reconfiguration_ns = reconfigurations as f64 * self.device.reconfiguration_ns.as_f64();
        let time_ns = gemm_ns + reconfiguration_ns;
        Ok(WorkloadAnswer {
            time_ns,
            gemm_ns,
            reconfiguration_ns,
            reconfigurations,
            gemms: kinds.iter().map(|it| it.3).sum(),
            tops: operations / time_ns * 1e-3,
            tokens_per_s: self.prompt_tokens.get() as f64 / time_ns * 1e9,
            useful_share: operations / computed,
            slowest_ns: slowest.0,
            slowest: slowest.1,
        })
    }
}
