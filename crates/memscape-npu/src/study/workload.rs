//! The study `npu.workload`: all weight products of a prompt, one after the other.

use std::num::{NonZeroU8, NonZeroU16, NonZeroU64};
use std::ops::Range;

use memscape_study::{
    Aim, Bound, CostEngine, Engines, Laws, OperatorCost, Pass, Recorder, Slot, Span, Study, StudyError, When,
    either, slower, unused,
};
use memscape_units::{Bytes, Nanoseconds, Picoseconds, UnitError};
use memscape_workload::{Gemv, Matrix, Model, Projections, Weights};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::best::{Demanded, Designs, Obstacle};
use crate::cost::kernel::Kernel;
use crate::cost::schedule::Bottleneck;
use crate::hardware::device::Device;
use crate::hardware::precision::Precision;
use crate::mapping::chain::{ChainError, MAX_SIZE};
use crate::mapping::design::{BLayout, BdReconfiguration, Design};
use crate::mapping::tile::{L1Room, L1Rule, OutputBuffers};
use crate::study::gemm::{GemmAnswer, GemmStudy};
use crate::study::laws;
use crate::study::occupancy::Occupancy;
use crate::study::pass::Streamed;
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
    /// What else the designs take
    #[serde(flatten)]
    pub occupancy: Occupancy,
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
    pub(super) fn no_design(of: &WorkloadStudy, obstacle: Obstacle) -> Self {
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
            measured_macs_per_cycle: None,
            engine: self.engine,
        }
    }

    /// The design that is given, whatever the size.
    pub(super) fn design(&self) -> Design {
        self.sized([NonZeroU64::MIN; 3]).design()
    }

    /// The same with one design for all products.
    pub(super) fn with_design(self, design: &Design) -> Self {
        let GemmStudy { m_ct, k_ct, n_ct, k_mt, .. } = self.sized([NonZeroU64::MIN; 3]).with_design(design);
        Self { strategy: Strategy::OneDesign, m_ct, k_ct, n_ct, k_mt, ..self }
    }

    /// Those that products choose from.
    pub(super) fn designs(&self) -> Designs<'_> {
        Designs { device: &self.device, base: self.design(), k_mt_steps: None, engine: self.engine }
    }
}

/// What some of a prompt's products take.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProductTraffic {
    /// Time on the array, dispatch included.
    pub time: Nanoseconds,
    /// Bytes of weights and activations read from DRAM, padding included: weights as they are stored.
    pub read_bytes: f64,
    /// Bytes of results written to it, padding included.
    pub written_bytes: f64,
    /// What of `read_bytes` and `written_bytes` crosses the bus: whole lines.
    pub bus_bytes: [f64; 2],
}

impl ProductTraffic {
    pub(super) const NONE: Self =
        Self { time: Nanoseconds::ZERO, read_bytes: 0.0, written_bytes: 0.0, bus_bytes: [0.0; 2] };

    /// Adds one that streams; its few results count as read.
    pub(super) fn stream(&mut self, it: &Streamed) -> Result<(), UnitError> {
        self.time += Nanoseconds::new(it.time())?;
        self.read_bytes += it.bytes;
        self.bus_bytes[0] += it.bytes;
        Ok(())
    }

    /// Bytes read and written: nothing but what is asked for, and whole lines.
    #[must_use]
    pub fn moved_bytes(&self) -> [f64; 2] {
        [self.read_bytes + self.written_bytes, self.bus_bytes.iter().sum()]
    }
}

/// A prompt's products, and what they take.
pub(super) struct Solved {
    pub(super) answer: WorkloadAnswer,
    /// Those of the layers, with what configures the array.
    pub(super) layers: ProductTraffic,
    /// Those outside of them, the head above all.
    pub(super) outside: ProductTraffic,
    /// Operations of the layers' products over their time, those of experts and what configures the array left
    /// out: each kind in the design that suits it best, where sizes have their own.
    pub(super) layer_tops: f64,
    /// The time of products that cores take longest for.
    pub(super) computing: Nanoseconds,
}

/// One kind of product.
#[derive(Debug, Clone, Copy)]
struct Product {
    matrix: Matrix,
    gemm: GemmStudy,
    /// How often it is computed in a prompt: in each layer, by each expert that some token meets.
    count: u64,
    /// Operations asked for, all together.
    operations: f64,
    /// What the array is configured for: a change of it takes time.
    configuration: usize,
    /// What all of it takes in the design that suits it best, where kinds need not share one.
    alone: Option<f64>,
    /// What a weight takes in DRAM over what it takes as it is multiplied.
    stored_share: f64,
}

impl Product {
    /// All of its kind.
    fn demanded(&self) -> Demanded {
        Demanded { size: self.gemm.size(), count: self.count, b_share: self.stored_share }
    }

    /// The product, its weights read as they are charged.
    fn answer(&self) -> Result<GemmAnswer, StudyError> {
        self.gemm.answer_with(self.stored_share)
    }

    /// Operations that the array is programmed for: of experts, as many for each as for the one that has most.
    #[expect(clippy::cast_precision_loss, reason = "operations stay far below 2^53 in ratio")]
    fn programmed(&self) -> f64 {
        let [m, k, n] = self.gemm.size();
        2.0 * self.count as f64 * m as f64 * k.saturating_mul(n) as f64
    }
}

/// The kinds of products of a prompt in their order: in front of the layers, those of a layer, then the head
/// with what is in front of it.
struct Products {
    layers: u64,
    kinds: Vec<Product>,
    /// How many of the kinds are in front of the layers.
    before: usize,
    /// How many are a layer's.
    per_layer: usize,
}

impl Products {
    /// Takes away those of some matrices.
    fn leave_out(&mut self, but: &[Matrix]) {
        let kept = |of: &[Product]| of.iter().filter(|it| !but.contains(&it.matrix)).count();
        let layer = self.before..self.before + self.per_layer;
        (self.before, self.per_layer) = (kept(&self.kinds[..self.before]), kept(&self.kinds[layer]));
        self.kinds.retain(|it| !but.contains(&it.matrix));
    }

    /// All products in their order, layer after layer; each with the number of its layer and of its kind.
    fn sequence(&self) -> impl Iterator<Item = (u64, usize)> {
        let behind = self.before + self.per_layer;
        let layers = (0..self.layers).flat_map(move |layer| (self.before..behind).map(move |it| (layer, it)));
        let outside = |kinds: Range<usize>, layer| kinds.map(move |it| (layer, it));
        outside(0..self.before, 0).chain(layers).chain(outside(behind..self.kinds.len(), self.layers))
    }

    /// How often a layer computes a kind of product: of experts, as evenly as whole numbers allow.
    fn instances(&self, kind: usize, layer: u64) -> u64 {
        let Product { count, matrix, .. } = self.kinds[kind];
        if Matrix::OUTSIDE.contains(&matrix) {
            return count;
        }
        count / self.layers + u64::from(layer < count % self.layers)
    }

    /// How often the array is configured anew if the kinds need these configurations. The first
    /// is there already.
    fn reconfigurations(&self, of: &[usize]) -> u64 {
        let (before, rest) = of.split_at(self.before);
        let (layer, behind) = rest.split_at(self.per_layer);
        let differ = |one: Option<&usize>, other: Option<&usize>| {
            u64::from(one.zip(other).is_some_and(|it| it.0 != it.1))
        };
        let inside = |it: &[usize]| it.windows(2).map(|it| differ(it.first(), it.last())).sum::<u64>();
        let around = differ(layer.last(), layer.first());
        let between = differ(before.last(), layer.first()) + differ(layer.last(), behind.first());
        inside(before) + self.layers * inside(layer) + (self.layers - 1) * around + inside(behind) + between
    }

    /// Gives kinds the designs that take the least time together, reconfiguration included:
    /// every way to share designs is tried, each with the best design for those that share it.
    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
    fn choose_designs(&mut self, study: &WorkloadStudy) -> Result<(), StudyError> {
        let (designs, reconfiguration) = (study.designs(), study.device.reconfiguration_ns);
        designs.base.check_channels(&study.device)?;
        let demanded: Vec<_> = self.kinds.iter().map(Product::demanded).collect();
        let shared = designs.shared(&demanded)?;
        let mut best: Option<(f64, Vec<usize>)> = None;
        each_partition(self.kinds.len(), &mut |groups| {
            let members = |group: usize| {
                groups.iter().enumerate().filter(|it| *it.1 == group).map(|it| 1 << it.0).sum::<usize>()
            };
            let count = groups.iter().max().map_or(0, |it| it + 1);
            let products = (0..count).map(|it| shared[members(it)].map_or(f64::INFINITY, |it| it.1));
            let changes = self.reconfigurations(groups) as f64 * reconfiguration.as_f64();
            let total = products.sum::<f64>() + changes;
            if total.is_finite() && best.as_ref().is_none_or(|it| total < it.0) {
                best = Some((total, groups.to_vec()));
            }
        });
        let Some((_, groups)) = best else {
            let obstacle = designs.obstacle(demanded.len(), |_, at| demanded[at].size)?;
            return Err(WorkloadError::no_design(study, obstacle).into());
        };
        for (at, kind) in self.kinds.iter_mut().enumerate() {
            let mates = groups.iter().enumerate().filter(|it| *it.1 == groups[at]).map(|it| 1 << it.0);
            let design = shared[mates.sum::<usize>()].map_or(designs.base, |it| it.0);
            kind.gemm = kind.gemm.with_design(&design);
            kind.configuration = groups[at];
            kind.alone = shared[1 << at].map(|it| it.1);
        }
        Ok(())
    }
}

/// Calls `visit` with every way to put so many things into groups: the group of each, numbered
/// in the order in which they begin.
fn each_partition(count: usize, visit: &mut impl FnMut(&[usize])) {
    fn go(groups: &mut Vec<usize>, count: usize, visit: &mut impl FnMut(&[usize])) {
        if groups.len() == count {
            return visit(groups);
        }
        let next = groups.iter().max().map_or(0, |it| it + 1);
        for group in 0..=next {
            groups.push(group);
            go(groups, count, visit);
            groups.pop();
        }
    }
    go(&mut Vec::with_capacity(count), count, visit);
}

impl WorkloadStudy {
    /// Bytes that inputs and results of a product take in DRAM, padding left out, where these are most.
    pub(super) fn product_bytes(&self, heads: NonZeroU64) -> Result<Bytes, StudyError> {
        let of = |bytes: u32, elements: u64| u128::from(bytes) * u128::from(elements);
        let Products { layers, kinds, .. } = self.kinds(heads, None)?;
        let most = kinds.into_iter().map(|Product { gemm, count, .. }| {
            let (inputs, results) = (self.precision.input_bytes(), self.precision.output_bytes());
            // All experts of a layer wait for each other between their matrices.
            let rows = u128::from(gemm.m.get()) * u128::from(count.div_ceil(layers));
            rows * (of(inputs, gemm.k.get()) + of(results, gemm.n.get()))
        });
        Ok(Bytes(u64::try_from(most.max().unwrap_or(0)).unwrap_or(u64::MAX)))
    }

    /// The products but for those of some matrices, each in its design.
    fn products(
        &self,
        heads: NonZeroU64,
        stored: Option<Weights<'_>>,
        but: &[Matrix],
    ) -> Result<Products, StudyError> {
        let mut products = self.kinds(heads, stored)?;
        products.leave_out(but);
        match self.strategy {
            Strategy::OneDesign => {}
            Strategy::Reconfigured => {
                let sizes: Vec<_> = products.kinds.iter().map(|it| it.gemm.size()).collect();
                for (kind, size) in products.kinds.iter_mut().zip(&sizes) {
                    kind.configuration = sizes.iter().position(|it| it == size).unwrap_or(0);
                }
            }
            Strategy::BestPerSize => products.choose_designs(self)?,
        }
        Ok(products)
    }

    /// The products as a search takes them, each with its matrix.
    pub(super) fn demanded(
        &self,
        heads: NonZeroU64,
        stored: Option<Weights<'_>>,
    ) -> Result<Vec<(&'static str, Demanded)>, StudyError> {
        let kinds = self.kinds(heads, stored)?.kinds;
        Ok(kinds.iter().map(|it| (it.matrix.name(), it.demanded())).collect())
    }

    /// The products in one design.
    #[expect(clippy::cast_precision_loss, reason = "operations stay far below 2^53 in ratio")]
    fn kinds(&self, heads: NonZeroU64, stored: Option<Weights<'_>>) -> Result<Products, StudyError> {
        if self.prompt_tokens.get() > MAX_SIZE {
            return Err(WorkloadError::Rows { tokens: self.prompt_tokens.get() }.into());
        }
        let kind = |matrix, weights: Gemv, rows: NonZeroU64, count: u64, visits: u64| {
            let gemm = self.gemm(rows, weights);
            let operations = 2.0 * visits as f64 * weights.macs() as f64;
            let stored_share = stored.map_or(1.0, |it| {
                let elements = weights.k().saturating_mul(weights.m());
                let multiplied = elements as f64 * f64::from(self.precision.input_bytes());
                it.matrix_bits(matrix, elements) as f64 / 8.0 / multiplied
            });
            Product { matrix, gemm, count, operations, configuration: 0, alone: None, stored_share }
        };
        let (layers, tokens) = (u64::from(self.model.layers), self.prompt_tokens);
        let of_all = |(matrix, weights), count| kind(matrix, weights, tokens, count, count * tokens.get());
        // Each expert multiplies the tokens that meet it, one more for some: all are given room for these.
        let [(fewer, each), (more, one_more)] = self.model.ffn_instances(tokens.get());
        let rows = NonZeroU64::new(if more > 0 { one_more } else { each }).unwrap_or(NonZeroU64::MIN);
        let of_ffn =
            |(matrix, weights)| kind(matrix, weights, rows, fewer + more, fewer * each + more * one_more);
        // Only models with embeddings of another size than the layers' have projections of them.
        let outside = |matrix| self.model.gemv(matrix).ok().map(|weights| (matrix, weights));
        let mut kinds: Vec<_> = outside(Matrix::ProjectIn).map(|it| of_all(it, 1)).into_iter().collect();
        let before = kinds.len();
        kinds.extend(self.model.layer_matrices(self.projections).map(|(matrix, weights, _)| {
            let it = (matrix, weights);
            if Matrix::FFN.contains(&matrix) { of_ffn(it) } else { of_all(it, layers) }
        }));
        let per_layer = kinds.len() - before;
        if self.lm_head {
            let last = Matrix::AFTER_LAYERS.into_iter().filter_map(outside);
            kinds.extend(last.map(|(matrix, weights)| kind(matrix, weights, heads, 1, heads.get())));
        }
        Ok(Products { layers, kinds, before, per_layer })
    }

    /// What the products take, but for those of some matrices. The head is asked for the last token of so many prompts;
    /// weights that are stored wider than they are multiplied are read so.
    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
    pub(super) fn solve(
        &self,
        heads: NonZeroU64,
        stored: Option<Weights<'_>>,
        but: &[Matrix],
    ) -> Result<Solved, StudyError> {
        let products = self.products(heads, stored, but)?;
        let (mut gemms, mut operations, mut computed) = (Nanoseconds::ZERO, 0.0, 0.0);
        let mut parts = [ProductTraffic::NONE; 2];
        let mut layers = (0.0, 0.0);
        let mut slowest = (Nanoseconds::ZERO, Matrix::LmHead);
        let mut computing = Nanoseconds::ZERO;
        for it in &products.kinds {
            let answer = it.answer()?;
            let GemmAnswer { time_ns, useful_share, dram_read_bytes, dram_write_bytes, .. } = answer;
            let count = it.count as f64;
            let time = Nanoseconds::new(time_ns)? * count;
            let outside = Matrix::OUTSIDE.contains(&it.matrix);
            let of = &mut parts[usize::from(outside)];
            of.time += time;
            of.read_bytes += count * dram_read_bytes;
            of.written_bytes += count * dram_write_bytes;
            let bus = it.gemm.bus_bytes(it.stored_share)?;
            of.bus_bytes = [0, 1].map(|it| of.bus_bytes[it] + count * bus[it]);
            // An expert's rows fill fewer of a block than a layer's.
            let of_experts = self.model.experts.is_some() && Matrix::FFN.contains(&it.matrix);
            if !outside && !of_experts {
                layers.0 += it.operations;
                // What else runs at the layers' rate reads no weights, however wide these are stored.
                layers.1 += if it.stored_share.total_cmp(&1.0).is_ne() {
                    self.in_its_design(it.gemm)?.answer_with(1.0)?.time_ns * count
                } else {
                    it.alone.unwrap_or(time.as_f64())
                };
            }
            gemms += time;
            if answer.bottleneck == Bottleneck::Compute {
                computing += time;
            }
            operations += it.operations;
            computed += it.programmed() / useful_share;
            if slowest.0 < time {
                slowest = (time, it.matrix);
            }
        }
        let configurations: Vec<_> = products.kinds.iter().map(|it| it.configuration).collect();
        let reconfigurations = products.reconfigurations(&configurations);
        let reconfiguration = self.device.reconfiguration_ns * reconfigurations as f64;
        let time_ns = (gemms + reconfiguration).as_f64();
        let [mut inside, outside] = parts;
        inside.time += reconfiguration;
        let answer = WorkloadAnswer {
            time_ns,
            gemm_ns: gemms.as_f64(),
            reconfiguration_ns: reconfiguration.as_f64(),
            reconfigurations,
            gemms: products.kinds.iter().map(|it| it.count).sum(),
            tops: operations / time_ns * 1e-3,
            prompt_tokens_per_s: self.prompt_tokens.get() as f64 / time_ns * 1e9,
            useful_share: operations / computed,
            slowest_ns: slowest.0.as_f64(),
            slowest: slowest.1,
            occupancy: Occupancy::of(&self.device, &self.design(), &self.device.mmul(self.precision)?),
        };
        let layer_tops = layers.0 / layers.1 * 1e-3;
        Ok(Solved { answer, layers: inside, outside, layer_tops, computing })
    }

    /// The kernel of least time for what DRAM brings nothing twice for: the given one, or of all that can compute the
    /// products; none if none is one to choose from.
    ///
    /// * `least`: what a kernel does not go below
    /// * `time`: what it takes, if it is one to choose from
    pub(super) fn least_kernel(
        &self,
        heads: NonZeroU64,
        least: impl Fn(&Kernel) -> f64,
        time: impl Fn(&Kernel) -> Option<f64>,
    ) -> Result<Option<Kernel>, StudyError> {
        let designs = self.designs();
        if self.strategy != Strategy::BestPerSize {
            let given = Kernel::new(&self.device, self.precision, designs.base.tile, self.output_buffers)?;
            return Ok(time(&given).map(|_| given));
        }
        let sizes: Vec<_> = self.kinds(heads, None)?.kinds.iter().map(|it| it.gemm.size()).collect();
        let best = designs.least_kernel(&sizes, least, time)?;
        if best.is_none() && designs.least_kernel(&sizes, |_| 0.0, |_| Some(0.0))?.is_none() {
            let obstacle = designs.obstacle(sizes.len(), |_, at| sizes[at])?;
            return Err(WorkloadError::no_design(self, obstacle).into());
        }
        Ok(best)
    }

    /// The most operations per second, in 10^12, that a kernel reaches which can compute the products.
    pub(super) fn fastest_tops(&self, heads: NonZeroU64) -> Result<f64, StudyError> {
        let per_mac = |it: &Kernel| it.macs_per_cycle().recip();
        let fastest = self.least_kernel(heads, per_mac, |it| Some(per_mac(it)))?;
        Ok(fastest.map_or(0.0, |it| self.device.tops(it.macs_per_cycle())))
    }

    /// What a product takes at least, its matrix read as it is stored; as wide as it is multiplied if
    /// nothing says.
    #[expect(clippy::cast_precision_loss, reason = "sizes are limited to 2^31")]
    fn floors_of(
        &self,
        matrix: Matrix,
        size: [u64; 3],
        stored: Option<Weights<'_>>,
    ) -> Result<laws::Floors, StudyError> {
        let mmul = self.device.mmul(self.precision)?;
        let elements = size[1].saturating_mul(size[2]);
        let bytes = stored.map(|it| it.matrix_bits(matrix, elements) as f64 / 8.0 / elements as f64);
        Ok(laws::Floors::of(&self.device, mmul, self.precision, size, bytes))
    }

    /// What the products of the layers take at least.
    pub(super) fn floors(&self, stored: Option<Weights<'_>>) -> Vec<Bound> {
        let floors = self.model.layer_gemvs(self.projections).map(|(matrix, weights)| {
            let size = [self.prompt_tokens.get(), weights.k(), weights.m()];
            self.floors_of(matrix, size, stored).map_or(0.0, |it| it.least())
        });
        let each = floors.sum::<f64>();
        let layers = f64::from(self.model.layers);
        vec![Bound::at_least("gemm_ns", each * layers, "products at the peak, or matrices once from DRAM")]
    }

    /// The kinds of products with what all of each take, by cause, and what configures the array. At
    /// least, each matrix is read once as it is stored.
    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
    pub(super) fn operators(
        &self,
        heads: NonZeroU64,
        stored: Option<Weights<'_>>,
        but: &[Matrix],
    ) -> Result<Vec<OperatorCost>, StudyError> {
        let products = self.products(heads, stored, but)?;
        let mut costs = Vec::new();
        for it in &products.kinds {
            let answer = it.answer()?;
            let floors = self.floors_of(it.matrix, it.gemm.size(), stored)?;
            let of = |ns: f64| Nanoseconds::new(ns.max(0.0)).map(|ns| ns * it.count as f64);
            let useful = answer.compute_ns * answer.useful_share;
            let parts = [
                ("compute_at_peak", of(floors.compute)?),
                ("kernel", of(useful - floors.compute)?),
                ("padding", of(answer.compute_ns - useful)?),
                ("input_wait", of(answer.input_wait_ns)?),
                ("output_wait", of(answer.output_wait_ns)?),
                ("epilogue", of(answer.epilogue_ns)?),
                ("dispatch", of(answer.dispatch_ns)?),
            ];
            costs.push(OperatorCost::new(Pass::Prompt, it.matrix.name(), of(floors.least())?, parts));
        }
        let configurations: Vec<_> = products.kinds.iter().map(|it| it.configuration).collect();
        let changes = products.reconfigurations(&configurations) as f64;
        let configuring = self.device.reconfiguration_ns * changes;
        let none = Nanoseconds::ZERO;
        costs.push(OperatorCost::new(
            Pass::Prompt,
            "reconfiguration",
            none,
            [("reconfiguration", configuring)],
        ));
        Ok(costs)
    }

    /// Tells what the array does when: product after product, and what configures it in
    /// between.
    fn record(&self, recorder: &mut dyn Recorder) -> Result<(), StudyError> {
        let products = self.products(NonZeroU64::MIN, None, &[])?;
        let time = |it: &Product| Ok(Nanoseconds::new(it.gemm.answer()?.time_ns)?.to_picoseconds());
        let times = products.kinds.iter().map(time).collect::<Result<Vec<_>, StudyError>>()?;
        let reconfiguration = self.device.reconfiguration_ns.to_picoseconds();
        let mut at_most = products
            .kinds
            .iter()
            .zip(&times)
            .map(|(it, time)| time.0.checked_add(reconfiguration.0)?.checked_mul(it.count));
        at_most.try_fold(0, |sum: u64, it| sum.checked_add(it?)).ok_or(WorkloadError::TooLong)?;

        let configuring = recorder.track("array", "configuration");
        let multiplying = recorder.track("array", "products");
        let (mut now, mut loaded) = (Picoseconds::ZERO, None);
        for (layer, kind) in products.sequence() {
            let product = &products.kinds[kind];
            let mut span = |track, name, time| {
                let (start, end) = (now, now + time);
                recorder.span(track, Span { name, category: "", start, end, details: &[("layer", layer)] });
                now = end;
            };
            if loaded.is_some_and(|it| it != product.configuration) {
                span(configuring, "configure", reconfiguration);
            }
            loaded = Some(product.configuration);
            span(multiplying, product.matrix.name(), times[kind] * products.instances(kind, layer));
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

    const LAWS: Laws = Laws {
        aim: Some(Aim::less("time_ns")),
        effects: &[
            laws::DEVICE,
            &[
                slower("prompt_tokens"),
                either("m_ct", laws::TILE).only(GIVEN),
                either("k_ct", laws::TILE).only(GIVEN),
                either("n_ct", laws::TILE).only(GIVEN),
                either("k_mt", laws::STEP).only(GIVEN),
                slower("device.reconfiguration_ns").only(&[When::is_not("strategy", &["one-design"])]),
                unused("device.dram.energy.*", laws::NO_ENERGY),
            ],
        ],
        engines: Some(Engines::closed_and_events(laws::ENGINES)),
        slow: true,
        ..Laws::NONE
    };

    const TIMELINE: Option<fn(&Self, &mut dyn Recorder) -> Result<(), StudyError>> = Some(Self::record);

    fn answer(&self) -> Result<WorkloadAnswer, StudyError> {
        Ok(self.solve(NonZeroU64::MIN, None, &[])?.answer)
    }

    fn bounds(&self) -> Vec<Bound> {
        self.floors(None)
    }

    fn slots() -> Vec<Slot> {
        vec![slots::model(), slots::design(), slots::device()]
    }
}

/// Where the design is given.
const GIVEN: &[When] = &[When::is_not("strategy", &["best-per-size"])];

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use memscape_units::GbPerS;

    use super::*;

    #[test]
    fn what_keeps_every_design_from_a_prompt_is_named() {
        let best = WorkloadStudy { strategy: Strategy::BestPerSize, ..WorkloadStudy::default() };
        let error = |change: fn(&mut WorkloadStudy)| {
            let mut study = WorkloadStudy { model: Model::named("opt-125m").unwrap(), ..best };
            change(&mut study);
            study.answer().unwrap_err().to_string()
        };
        let l1 = error(|it| it.device.l1_bytes = NonZeroU32::new(1200).unwrap());
        assert!(
            l1.contains("leaves 176 of `device.l1_bytes` = 1200, but the smallest takes 769 bytes"),
            "{l1}"
        );
        let l2 = error(|it| it.device.l2_bytes = NonZeroU32::new(1000).unwrap());
        assert!(l2.contains("memory tiles of 1000 B") && l2.contains("`device.l2_bytes`"), "{l2}");
        let rows = error(|it| it.prompt_tokens = NonZeroU64::new(3_000_000_000).unwrap());
        assert!(rows.starts_with("`prompt_tokens` is 3000000000"), "{rows}");
        let time = error(|it| {
            // Few tiles, so that trying them all takes little.
            it.device.l1_bytes = NonZeroU32::new(8192).unwrap();
            it.device.dram.read_gb_s = GbPerS::new(1e-9).unwrap();
        });
        assert!(time.contains("2048 tokens") && time.contains("`device.dram.read_gb_s`"), "{time}");
    }

    #[test]
    fn embeddings_of_another_size_are_projected() {
        let model = Model::named("opt-350m").unwrap();
        let of = |lm_head| {
            let products = WorkloadStudy { model, lm_head, ..WorkloadStudy::default() };
            (products, products.answer().unwrap())
        };
        let ((products, headless), (_, whole)) = (of(false), of(true));
        let time = |tokens: NonZeroU64, matrix| {
            products.gemm(tokens, model.gemv(matrix).unwrap()).answer().unwrap().time_ns
        };
        let layers: f64 = model
            .layer_gemvs(products.projections)
            .map(|it| 24.0 * products.gemm(products.prompt_tokens, it.1).answer().unwrap().time_ns)
            .sum();
        let inwards = time(products.prompt_tokens, Matrix::ProjectIn);
        let last = time(NonZeroU64::MIN, Matrix::ProjectOut) + time(NonZeroU64::MIN, Matrix::LmHead);
        assert!((headless.gemm_ns / (layers + inwards) - 1.0).abs() < 1e-9);
        assert!((whole.gemm_ns / (layers + inwards + last) - 1.0).abs() < 1e-9);
        assert_eq!(whole.gemms, headless.gemms + 2);
        // Q, K and V; out; two of the network; and one in front, one behind, one head.
        assert_eq!(headless.gemms, 24 * 4 + 1);
    }

    /// 1024 tokens meet all eight experts, two each.
    #[test]
    fn each_expert_multiplies_the_tokens_that_meet_it() {
        let products = WorkloadStudy {
            model: Model::named("mixtral-8x7b").unwrap(),
            prompt_tokens: NonZeroU64::new(1024).unwrap(),
            lm_head: false,
            ..WorkloadStudy::default()
        };
        let answer = products.answer().unwrap();
        let ns = |matrix, rows| {
            let rows = NonZeroU64::new(rows).unwrap();
            products.gemm(rows, products.model.gemv(matrix).unwrap()).answer().unwrap().time_ns
        };
        let once: f64 = [Matrix::Qkv, Matrix::Out, Matrix::Router].map(|it| ns(it, 1024)).iter().sum();
        let expert: f64 = [Matrix::GateUp, Matrix::Down].map(|it| ns(it, 256)).iter().sum();
        assert!((answer.gemm_ns / (32.0 * (once + 8.0 * expert)) - 1.0).abs() < 1e-9);
        assert_eq!(answer.gemms, 32 * (3 + 8 * 2));
        // As many operations as two networks, in blocks that are little more than half full.
        let each = products.model.layer_gemvs(products.projections).map(|it| it.1.macs()).sum::<u64>();
        let tops = 2.0 * 32.0 * 1024.0 * u32::try_from(each >> 10).map(f64::from).unwrap() * 1024.0;
        assert!((answer.tops * answer.time_ns * 1e3 / tops - 1.0).abs() < 1e-6);
        assert!(answer.useful_share < 0.7, "{}", answer.useful_share);
    }

    #[test]
    fn the_timeline_of_experts_lasts_as_long_as_they_take() {
        let model = Model::named("mixtral-8x7b").unwrap();
        for tokens in [1, 2, 5] {
            let prompt_tokens = NonZeroU64::new(tokens).unwrap();
            let study = WorkloadStudy { model, prompt_tokens, ..WorkloadStudy::default() };
            let products = study.products(NonZeroU64::MIN, None, &[]).unwrap();
            let told: u64 = products.sequence().map(|(layer, kind)| products.instances(kind, layer)).sum();
            assert_eq!(told, study.answer().unwrap().gemms);
        }
    }
}
