//! The study `npu.workload`: all weight products of a prompt, one after the other.

use std::num::{NonZeroU8, NonZeroU16, NonZeroU64};

use memscape_study::{CostEngine, Recorder, Slot, Span, Study, StudyError};
use memscape_units::{Nanoseconds, Picoseconds};
use memscape_workload::{Gemv, Matrix, Model, Projections};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hardware::device::Device;
use crate::hardware::precision::Precision;
use crate::mapping::design::{BLayout, BdReconfiguration, DramSharing};
use crate::mapping::tile::{L1Rule, OutputBuffers};
use crate::study::balance::BalanceStudy;
use crate::study::gemm::{GemmAnswer, GemmStudy};
use crate::study::slots::{self, DEFAULT_MODEL};

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
    pub prompt_tokens_per_s: f64,
    /// Share of the computed operations that were asked for
    pub useful_share: f64,
    /// Time of the slowest kind of product over all of its kind in a prompt
    pub slowest_ns: f64,
    /// The slowest kind of product
    pub slowest: Matrix,
}

/// Why a prompt has no time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WorkloadError {
    /// A model whose tokens go different ways.
    #[error(
        "`model` has {count} experts, but how many tokens each of them multiplies is not modelled here; use a \
         model without experts"
    )]
    Experts {
        /// Experts of a layer.
        count: u32,
    },
    /// A prompt that no clock can follow.
    #[error(
        "all products of the prompt take longer than a timeline's clock can follow (half a year); use fewer \
         `prompt_tokens`"
    )]
    TooLong,
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

/// What the array is configured for: a change of it takes time.
type Configuration = ([u64; 3], [NonZeroU16; 4]);

/// One kind of product.
struct Product {
    matrix: Matrix,
    /// How often it is computed in a prompt.
    count: u64,
    /// Operations asked for, all together.
    operations: f64,
    /// Those computed.
    computed: f64,
    /// One of them.
    time: Nanoseconds,
    configuration: Configuration,
}

/// The kinds of products of a prompt: those of a layer in their order, then the head.
struct Products {
    layers: u64,
    layer: Vec<Product>,
    head: Option<Product>,
}

impl Products {
    fn kinds(&self) -> impl Iterator<Item = &Product> {
        self.layer.iter().chain(&self.head)
    }

    /// All products, layer after layer, then the head; each with the number of its layer.
    fn sequence(&self) -> impl Iterator<Item = (u64, &Product)> {
        let layers = (0..self.layers).flat_map(|layer| self.layer.iter().map(move |it| (layer, it)));
        layers.chain(self.head.iter().map(|it| (self.layers, it)))
    }

    /// How often the array is configured anew. The first design is there already.
    fn reconfigurations(&self) -> u64 {
        let differ = |one: Option<&Product>, other: Option<&Product>| {
            one.zip(other).is_some_and(|it| it.0.configuration != it.1.configuration)
        };
        let inside = self.layer.windows(2).filter(|it| differ(it.first(), it.last())).count() as u64;
        let around = u64::from(differ(self.layer.last(), self.layer.first()));
        let at_head = u64::from(differ(self.layer.last(), self.head.as_ref()));
        self.layers * inside + (self.layers - 1) * around + at_head
    }
}

impl WorkloadStudy {
    fn products(&self) -> Result<Products, StudyError> {
        if let Some(experts) = self.model.experts {
            return Err(WorkloadError::Experts { count: experts.count }.into());
        }
        let layers = u64::from(self.model.layers);
        let layer = self.model.layer_gemvs(self.projections);
        let layer = layer.map(|(matrix, weights)| self.product(matrix, weights, self.prompt_tokens, layers));
        let layer = layer.collect::<Result<_, _>>()?;
        let head = || self.product(Matrix::LmHead, self.model.gemv(Matrix::LmHead)?, NonZeroU64::MIN, 1);
        let head = if self.lm_head { Some(head()?) } else { None };
        Ok(Products { layers, layer, head })
    }

    #[expect(clippy::cast_precision_loss, reason = "counts and operations stay far below 2^53 in ratio")]
    fn product(
        &self,
        matrix: Matrix,
        weights: Gemv,
        tokens: NonZeroU64,
        count: u64,
    ) -> Result<Product, StudyError> {
        let gemm = self.gemm(tokens, weights)?;
        let GemmAnswer { time_ns, useful_share, .. } = gemm.answer()?;
        let operations = 2.0 * count as f64 * tokens.get() as f64 * weights.macs() as f64;
        let configuration = match self.strategy {
            Strategy::OneDesign => ([0; 3], [NonZeroU16::MIN; 4]),
            Strategy::Reconfigured => (gemm.size(), [NonZeroU16::MIN; 4]),
            Strategy::BestPerSize => ([0; 3], [gemm.m_ct, gemm.k_ct, gemm.n_ct, gemm.k_mt]),
        };
        let (computed, time) = (operations / useful_share, Nanoseconds::new(time_ns)?);
        Ok(Product { matrix, count, operations, computed, time, configuration })
    }

    /// Tells what the array does when: product after product, and what configures it in
    /// between.
    fn record(&self, recorder: &mut dyn Recorder) -> Result<(), StudyError> {
        let products = self.products()?;
        let reconfiguration = self.device.reconfiguration_ns.to_picoseconds();
        let mut at_most = products
            .kinds()
            .map(|it| it.time.to_picoseconds().0.checked_add(reconfiguration.0)?.checked_mul(it.count));
        at_most.try_fold(0, |sum: u64, it| sum.checked_add(it?)).ok_or(WorkloadError::TooLong)?;

        let configuring = recorder.track("array", "configuration");
        let multiplying = recorder.track("array", "products");
        let (mut now, mut loaded) = (Picoseconds::ZERO, None);
        for (layer, product) in products.sequence() {
            let mut span = |track, name, time| {
                let (start, end) = (now, now + time);
                recorder.span(track, Span { name, category: "", start, end, details: &[("layer", layer)] });
                now = end;
            };
            if loaded.is_some_and(|it| it != product.configuration) {
                span(configuring, "configure", reconfiguration);
            }
            loaded = Some(product.configuration);
            span(multiplying, product.matrix.name(), product.time.to_picoseconds());
        }
        Ok(())
    }
}

impl Study for WorkloadStudy {
    const NAME: &'static str = "npu.workload";
    const SUMMARY: &'static str = "All weight products of a language model's prompt on a Ryzen AI NPU";
    type Answer = WorkloadAnswer;

    const SUMS: &'static [(&'static str, &'static [&'static str])] =
        &[("time_ns", &["gemm_ns", "reconfiguration_ns"])];

    const TIMELINE: Option<fn(&Self, &mut dyn Recorder) -> Result<(), StudyError>> = Some(Self::record);

    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
    fn answer(&self) -> Result<WorkloadAnswer, StudyError> {
        let products = self.products()?;
        let (mut gemms, mut operations, mut computed) = (Nanoseconds::ZERO, 0.0, 0.0);
        let mut slowest = (Nanoseconds::ZERO, Matrix::LmHead);
        for it in products.kinds() {
            let time = it.time * it.count as f64;
            gemms += time;
            operations += it.operations;
            computed += it.computed;
            if slowest.0 < time {
                slowest = (time, it.matrix);
            }
        }
        let reconfigurations = products.reconfigurations();
        let reconfiguration = self.device.reconfiguration_ns * reconfigurations as f64;
        let time_ns = (gemms + reconfiguration).as_f64();
        Ok(WorkloadAnswer {
            time_ns,
            gemm_ns: gemms.as_f64(),
            reconfiguration_ns: reconfiguration.as_f64(),
            reconfigurations,
            gemms: products.kinds().map(|it| it.count).sum(),
            tops: operations / time_ns * 1e-3,
            prompt_tokens_per_s: self.prompt_tokens.get() as f64 / time_ns * 1e9,
            useful_share: operations / computed,
            slowest_ns: slowest.0.as_f64(),
            slowest: slowest.1,
        })
    }

    fn slots() -> Vec<Slot> {
        vec![slots::model(), slots::design(), slots::device()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_with_experts_is_refused() {
        let llama = WorkloadStudy::default().model;
        let experts = memscape_workload::Experts { count: 8, active: 2 };
        let model = Model::of(memscape_workload::Llm { experts: Some(experts), ..*llama }).unwrap();
        let error = WorkloadStudy { model, ..WorkloadStudy::default() }.answer().unwrap_err();
        assert!(error.to_string().starts_with("`model` has 8 experts, but"), "{error}");
    }
}
