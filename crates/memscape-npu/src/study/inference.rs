//! The study `npu.inference`: a prompt and a reply on the NPU alone.

use std::fmt;
use std::num::{NonZeroU8, NonZeroU16, NonZeroU32, NonZeroU64};

use memscape_study::{
    Aim, Bound, Breakdown, CostEngine, Energy, EnergyColumns, Headline, Laws, Limited, OperatorCost, Part,
    Pass, Served, Slot, Study, StudyError, TraceFormat, When, either, neutral, operators_form, raises,
    slower, write_operators,
};
use memscape_units::{Bytes, Nanoseconds};
use memscape_workload::weights::AS_STORED;
use memscape_workload::{
    Format, Matrix, Model, Operator, OperatorKind, Projections, Reply, WeightFormat, Weights,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cost::kernel::Kernel;
use crate::hardware::device::Device;
use crate::hardware::precision::Precision;
use crate::mapping::chain::MAX_SIZE;
use crate::mapping::design::{BLayout, BdReconfiguration, Design};
use crate::mapping::designs::DESIGNS;
use crate::mapping::tile::{L1Rule, OutputBuffers};
use crate::study::attention::PromptAttention;
use crate::study::laws;
use crate::study::pass::{PassPart, Streamed, bound_by, part_of};
use crate::study::slots;
use crate::study::workload::{ProductTraffic, Solved, Strategy, WorkloadStudy};

/// A prompt, and a reply generated token by token, on an NPU.
///
/// The prompt's weight products are those of `npu.workload`. A generated token multiplies
/// every weight with one vector per sequence, which no tile can use again: it streams the
/// weights, as they are stored, through the array's way to DRAM, and the keys and values of
/// the context after them. Meanwhile cores multiply as fast as the design's kernel does, or, where
/// each size has the best design, the fastest kernel.
///
/// # Source
/// The published work times products only. What is between them is read so: attention runs
/// on the array, while a prompt is read as [`PromptAttention`] says; norms,
/// activations and residuals stream through the same port; cores widen stored weights as they
/// load them, beside multiplying.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InferenceStudy {
    /// Language model
    pub model: Model,
    /// How weights are stored: a format, a type of ggml such as `q4_k`, or `stored`, as the model's file
    /// has them, which holds for a GGUF file unless given
    pub format: WeightFormat,
    /// Tokens of the prompt
    #[schemars(range(min = 1, max = 16_777_216))]
    pub prompt_tokens: NonZeroU64,
    /// Tokens generated after it
    #[schemars(range(min = 1, max = 16_777_216))]
    pub generated_tokens: NonZeroU64,
    /// Sequences at the same time
    #[schemars(range(min = 1, max = 65_536))]
    pub batch: NonZeroU32,
    /// Width of one element of the key-value cache
    pub kv_bits: NonZeroU32,
    /// Width of one activation between operators
    pub activation_bits: NonZeroU32,
    /// Whether Q, K and V (and gate and up) are one matrix
    pub projections: Projections,
    /// How much of a generated token the host hands over at a time
    pub handed: Handed,
    /// Memory that the host lends the NPU
    pub memory_gb: MemoryGb,
    /// Which design computes which product of the prompt
    pub strategy: Strategy,
    /// How the array computes the prompt's attention
    pub prompt_attention: PromptAttention,
    /// The NPU
    pub device: Device,
    /// Types of a product's inputs and output: `int8-int8`, `int8-int16`, `int8-int32`, `bf16-bf16`
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
}

/// How much of a generated token the host hands over at a time: each takes the device's
/// `dispatch_ns`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Handed {
    /// Each product, and each layer's attention
    Operators,
    /// Each layer, and what follows the last; a layer with experts at two times, since descriptors have addresses
    /// of those that its router chooses
    Layers,
    /// All of the token; not with experts
    Token,
}

/// Memory in 10^9 bytes, above 0.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct MemoryGb(#[schemars(range(min = 0.001, max = MOST_GB), extend("unit" = "GB"))] f64);

impl MemoryGb {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "limited by the schema; `as` saturates"
    )]
    fn bytes(self) -> Bytes {
        Bytes((self.0 * 1e9) as u64)
    }

    /// The least that holds so many bytes, in whole thousandths; none that a user could give beyond the largest.
    #[expect(clippy::cast_precision_loss, reason = "above 2^53 there is none")]
    fn of(bytes: Bytes) -> Option<Self> {
        let least = bytes.0.div_ceil(1_000_000).max(1);
        // A thousandth is no binary fraction: the nearest may be a byte short.
        let mut near = [least, least.saturating_add(1)].map(|it| Self(it as f64 / 1e3)).into_iter();
        near.find(|it| it.bytes() >= bytes && it.0 <= MOST_GB)
    }
}

/// The largest `memory_gb`.
const MOST_GB: f64 = 1e6;

/// Bytes as a user gives them, to four digits.
struct Gb(Bytes);

impl fmt::Display for Gb {
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "clamped to few digits"
    )]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gb = self.0.0 as f64 * 1e-9;
        let digits = (3.0 - gb.max(1e-9).log10().floor()).clamp(0.0, 9.0) as usize;
        write!(f, "{gb:.digits$} GB")
    }
}

/// What `npu.inference` answers. A step is one token of each sequence.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct InferenceAnswer {
    /// What all systems answer; a step is the mean over the reply
    #[serde(flatten)]
    pub headline: Headline,
    /// Streaming and multiplying weights, per step
    pub weights_ns: f64,
    /// Streaming and multiplying keys and values, per step
    pub attention_ns: f64,
    /// Norms, activations and residuals, per step
    pub vector_ns: f64,
    /// Handing work over, per step
    pub dispatch_ns: f64,
    /// The prompt's products with weights, dispatch and reconfiguration included
    pub prompt_weights_s: f64,
    /// The prompt's attention
    pub prompt_attention_s: f64,
    /// The prompt's norms, activations and residuals
    pub prompt_vector_s: f64,
    /// Operations per second of the prompt's products, without padding
    pub prompt_tops: f64,
    /// Bytes that a step moves, weights as they are stored
    pub step_bytes: f64,
    /// Mean context of the generated tokens
    pub context_tokens: u64,
}

/// What the prompts of all sequences take of the array.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PromptCost {
    /// All products with weights: `layers` and `outside`.
    pub weights: Nanoseconds,
    /// Attention.
    pub attention: Nanoseconds,
    /// Norms, activations and residuals.
    pub vector: Nanoseconds,
    /// Operations of the products, without padding, in 10^12 per second.
    pub tops: f64,
    /// The rate of attention as one kernel, which is that of the layers' products.
    attention_tops: f64,
    /// The layers' products, with what configures the array.
    pub layers: ProductTraffic,
    /// Those of the head, and of what projects embeddings.
    pub outside: ProductTraffic,
    /// Bytes that attention and vectors move.
    pub other_bytes: f64,
}

impl PromptCost {
    /// All of it.
    fn total(&self) -> Nanoseconds {
        self.weights + self.attention + self.vector
    }

    /// Bytes that all of it moves: nothing but what is asked for, and whole lines.
    fn moved_bytes(&self) -> [f64; 2] {
        let [layers, outside] = [self.layers, self.outside].map(|it| it.moved_bytes());
        [0, 1].map(|it| layers[it] + outside[it] + self.other_bytes)
    }

    /// Bytes that it reads, in the same two ways; of what is no product, all that is moved.
    #[must_use]
    pub fn read_bytes(&self) -> [f64; 2] {
        let products = [self.layers, self.outside];
        let asked: f64 = products.iter().map(|it| it.read_bytes).sum();
        let lines: f64 = products.iter().map(|it| it.bus_bytes[0]).sum();
        [asked, lines].map(|it| it + self.other_bytes)
    }

    /// Bytes that its products write, in the same two ways.
    #[must_use]
    pub fn written_bytes(&self) -> [f64; 2] {
        let products = [self.layers, self.outside];
        [products.iter().map(|it| it.written_bytes).sum(), products.iter().map(|it| it.bus_bytes[1]).sum()]
    }
}

/// Who multiplies by what follows the layers, for the last token of each prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeadOn {
    /// The array.
    Array,
    /// A processor beside it.
    Processor,
}

/// Whether it follows the layers, and is asked for one token of a prompt.
fn follows_layers(it: &Operator) -> bool {
    Matrix::is_among(it.name, &Matrix::AFTER_LAYERS)
}

/// How the array multiplies with weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    /// As `npu.workload` has it: padded to whole tiles.
    Products,
    /// Streaming them past vectors, as in a step.
    Stream,
}

/// How the prompts of a study meet weights.
struct Plan {
    /// With the strategy that products take.
    study: InferenceStudy,
    /// Those of the layers but for experts, and what is in front of them.
    layers: By,
    /// Those of experts, each of which meets some of the tokens.
    experts: By,
    /// Those that follow, if the array multiplies with them.
    head: Option<By>,
}

impl Plan {
    /// How the prompts take the least time, and how long.
    ///
    /// Weights stream as past the vectors of a step where that takes less. Configuring the array for attention, or
    /// for what streams, may take longer than designs of their own gain: one for all is a way to share, too.
    fn best(asked: &InferenceStudy, head: HeadOn) -> Result<(Self, PromptCost), StudyError> {
        let of_layers = [(By::Products, By::Products), (By::Products, By::Stream), (By::Stream, By::Stream)];
        let heads: &[Option<By>] = match head {
            HeadOn::Array => &[Some(By::Products), Some(By::Stream)],
            HeadOn::Processor => &[None],
        };
        let shared = if asked.strategy == Strategy::BestPerSize { asked.sharing(head)? } else { Vec::new() };
        let mut best: Option<(Self, PromptCost)> = None;
        for study in [*asked].into_iter().chain(shared) {
            for (layers, experts) in of_layers {
                for head in heads.iter().copied() {
                    let plan = Self { study, layers, experts, head };
                    if !plan.is_way()? {
                        continue;
                    }
                    let cost = match plan.cost() {
                        Ok(cost) => cost,
                        // A design that cannot compute all of them is none to share.
                        Err(_) if study.strategy != asked.strategy => continue,
                        Err(error) => return Err(error),
                    };
                    if best.as_ref().is_none_or(|it| cost.total() < it.1.total()) {
                        best = Some((plan, cost));
                    }
                }
            }
        }
        Ok(best.expect("the first way has a cost or an error"))
    }

    /// What is computed as products, if anything is.
    fn products(&self) -> Option<WorkloadStudy> {
        let lm_head = self.head == Some(By::Products);
        (self.layers == By::Products).then(|| WorkloadStudy { lm_head, ..self.study.products() })
    }

    /// Matrices of layers that products leave out.
    fn streamed(&self) -> &'static [Matrix] {
        if self.experts == By::Stream && self.study.model.experts.is_some() { &Matrix::FFN } else { &[] }
    }

    /// The operators that stream.
    fn streaming(&self) -> Result<Vec<Operator>, StudyError> {
        let InferenceStudy { model, projections, .. } = self.study;
        let operators = model.prefill_operators(self.tokens(), projections)?;
        let streams = |it: &Operator| match it.kind {
            OperatorKind::Matrix if follows_layers(it) => self.head == Some(By::Stream),
            OperatorKind::Matrix if self.study.is_of_experts(it) => self.experts == By::Stream,
            OperatorKind::Matrix => self.layers == By::Stream,
            OperatorKind::Attention | OperatorKind::Vector => false,
        };
        Ok(operators.into_iter().filter(streams).collect())
    }

    fn streams(&self) -> Result<Vec<Streamed>, StudyError> {
        let streaming = self.streaming()?;
        match self.vectors().filter(|_| !streaming.is_empty()) {
            Some(vectors) => self.study.streams(&streaming, self.tokens(), &self.kernels(vectors)?),
            None => Ok(Vec::new()),
        }
    }

    const fn tokens(&self) -> u64 {
        self.study.prompt_tokens.get()
    }

    /// What it takes beside products and streams: configuring the array between these and products of other designs,
    /// and handing streams over.
    fn around(&self) -> Result<[Nanoseconds; 2], StudyError> {
        let streaming = self.streaming()?;
        if streaming.is_empty() {
            return Ok([Nanoseconds::ZERO; 2]);
        }
        let study = &self.study;
        let changes = match (self.layers, self.experts, self.head) {
            (By::Stream, ..) => 0.0,
            // To each layer's experts, and back from all but the last.
            (By::Products, By::Stream, _) if !self.streamed().is_empty() => {
                2.0 * f64::from(study.model.layers) - 1.0
            }
            (By::Products, ..) => 1.0,
        };
        let configuring = match study.strategy {
            Strategy::OneDesign => Nanoseconds::ZERO,
            Strategy::Reconfigured | Strategy::BestPerSize => study.device.reconfiguration_ns * changes,
        };
        Ok([configuring, study.dispatch_of(&streaming, self.tokens())])
    }

    /// How many vectors weights stream past, 0 if none do; nothing if it is no way at all.
    fn vectors(&self) -> Option<u64> {
        let study = &self.study;
        let heads = u64::from(study.batch.get());
        let tokens = self.tokens().saturating_mul(heads);
        match (self.layers, self.experts, self.head) {
            // One vector where many stream is no product.
            (By::Stream, _, Some(By::Products)) => None,
            (By::Stream, ..) => Some(tokens),
            (By::Products, By::Stream, _) if study.model.experts.is_none() => None,
            (By::Products, By::Stream, head) => {
                // As many as the expert meets that meets most.
                let [(_, each), (more, one_more)] = study.model.ffn_instances(tokens);
                let most = if more > 0 { one_more } else { each };
                Some(if head == Some(By::Stream) { most.max(heads) } else { most })
            }
            (By::Products, By::Products, Some(By::Stream)) => Some(heads),
            (By::Products, By::Products, _) => Some(0),
        }
    }

    /// The kernels past whose vectors weights may stream: no more than a block of rows. More are products as
    /// published.
    fn kernels(&self, vectors: u64) -> Result<Vec<Kernel>, StudyError> {
        let study = &self.study;
        let mut kernels = study.products().kernels(study.batch.into(), vectors)?;
        let rows = u64::from(study.device.rows.get());
        kernels.retain(|it| u64::from(it.tile.m) * rows >= vectors);
        Ok(kernels)
    }

    /// Whether it is a way at all.
    fn is_way(&self) -> Result<bool, StudyError> {
        match self.vectors() {
            None => Ok(false),
            Some(0) => Ok(true),
            Some(vectors) => Ok(!self.kernels(vectors)?.is_empty()),
        }
    }

    fn cost(&self) -> Result<PromptCost, StudyError> {
        let study = &self.study;
        let stored = study.format.of(&study.model)?;
        let heads = NonZeroU64::from(study.batch);
        let (mut layers, mut outside, mut operations, attention_tops) = if let Some(it) = self.products() {
            let Solved { answer, layers, outside, layer_tops, .. } =
                it.solve(heads, Some(stored), self.streamed())?;
            (layers, outside, answer.tops * answer.time_ns * 1e3, layer_tops)
        } else {
            let fastest = study.products().kernels(heads, 1)?;
            let reached = study.device.tops(fastest[0].macs_per_cycle());
            (ProductTraffic::NONE, ProductTraffic::NONE, 0.0, reached)
        };
        let of_layers = self.layers == By::Stream || !self.streamed().is_empty();
        for it in self.streams()? {
            let is_outside = Matrix::is_among(it.name, &Matrix::OUTSIDE);
            (if is_outside { &mut outside } else { &mut layers }).stream(&it)?;
            operations += it.operations;
        }
        let [configuring, handing] = self.around()?;
        (if of_layers { &mut layers } else { &mut outside }).time += configuring + handing;
        let weights = layers.time + outside.time;
        let tops = operations / weights.as_f64() * 1e-3;
        let (mut times, mut other_bytes) = ([0.0; 3], 0.0);
        for it in study.prompt_streams(stored, attention_tops)? {
            times[it.part.index()] += it.time();
            other_bytes += it.bytes;
        }
        let [_, attention, vector] = times.map(Nanoseconds::new);
        let (attention, vector) = (attention?, vector?);
        Ok(PromptCost { weights, attention, vector, tops, attention_tops, layers, outside, other_bytes })
    }
}

/// Why there is no reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InferenceError {
    /// More than the memory holds.
    #[error(
        "weights, key-value cache and the largest product take {}, {} of it for keys and values and {} for the product's \
         inputs and results, but `memory_gb` allows {}: {} are missing; use {}fewer bits, tokens or sequences",
        Gb(*need), Gb(*cache), Gb(*product), Gb(*have), Gb(Bytes(need.0.saturating_sub(have.0))),
        MemoryGb::of(*need).map(|it| format!("`memory_gb` = {} at least, or ", it.0)).unwrap_or_default()
    )]
    Memory {
        /// Weights, cache and product.
        need: Bytes,
        /// The cache.
        cache: Bytes,
        /// Inputs and results of the product that has most of them.
        product: Bytes,
        /// What there is.
        have: Bytes,
    },
    /// A token handed over before anyone knows what it takes.
    #[error(
        "`handed` = token, but which of the {count} experts of a layer a token meets is known when the layer's router \
         has answered; use `handed` = layers or operators, or a model without experts"
    )]
    HandedToken {
        /// Experts of a layer.
        count: u32,
    },
    /// More rows of a product than are modelled.
    #[error(
        "`prompt_tokens` = {prompt} of each of `batch` = {batch} sequences are {rows} rows of a product, which must be \
         from 1 to {MAX_SIZE}; use fewer of either"
    )]
    Rows {
        /// Tokens of a prompt.
        prompt: u64,
        /// Sequences.
        batch: u32,
        /// Tokens of all.
        rows: u128,
    },
}

impl Default for InferenceStudy {
    /// A prompt of 1920 tokens and a reply of 128 of Llama 3.2 1B in `q4_0`, multiplied as int8
    /// on XDNA.
    fn default() -> Self {
        let it = WorkloadStudy::default();
        let count = |value| NonZeroU32::new(value).expect("not zero");
        Self {
            model: it.model,
            format: Format::Q4_0.into(),
            prompt_tokens: count(1920).into(),
            generated_tokens: count(128).into(),
            batch: NonZeroU32::MIN,
            kv_bits: count(16),
            activation_bits: count(16),
            projections: it.projections,
            handed: Handed::Layers,
            memory_gb: MemoryGb(32.0),
            strategy: it.strategy,
            prompt_attention: PromptAttention::Fused,
            device: it.device,
            precision: it.precision,
            m_ct: it.m_ct,
            k_ct: it.k_ct,
            n_ct: it.n_ct,
            k_mt: it.k_mt,
            b_layout: it.b_layout,
            output_buffers: it.output_buffers,
            l1_rule: it.l1_rule,
            bd_reconfiguration: it.bd_reconfiguration,
            bds_in_flight: it.bds_in_flight,
        }
    }
}

impl InferenceStudy {
    /// Checks that the host can hand over what it does, and that the prompts of all sequences are no more rows than a
    /// product may have.
    fn check(&self) -> Result<(), InferenceError> {
        if let (Handed::Token, Some(experts)) = (self.handed, self.model.experts) {
            return Err(InferenceError::HandedToken { count: experts.count });
        }
        let (prompt, batch) = (self.prompt_tokens.get(), self.batch.get());
        let rows = u128::from(prompt) * u128::from(batch);
        if rows > MAX_SIZE.into() { Err(InferenceError::Rows { prompt, batch, rows }) } else { Ok(()) }
    }

    /// The prompts of all sequences as one product per matrix.
    #[must_use]
    pub fn products(&self) -> WorkloadStudy {
        let tokens = self.prompt_tokens.get().saturating_mul(self.batch.get().into());
        WorkloadStudy {
            model: self.model,
            prompt_tokens: NonZeroU64::new(tokens).unwrap_or(self.prompt_tokens),
            projections: self.projections,
            lm_head: true,
            strategy: self.strategy,
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
            engine: CostEngine::Closed,
        }
    }

    /// The same with one design for all that the prompts compute: each of those that suit its products best, and of
    /// those that are published.
    fn sharing(&self, head: HeadOn) -> Result<Vec<Self>, StudyError> {
        let products = WorkloadStudy { lm_head: head == HeadOn::Array, ..self.products() };
        let mut designs = products.chosen(self.batch.into(), Some(self.format.of(&self.model)?))?;
        if self.prompt_attention == PromptAttention::Products {
            let operators = self.model.prefill_operators(self.prompt_tokens.get(), self.projections)?;
            designs.extend(products.chosen_for_attention(&operators)?);
        }
        let published = DESIGNS.all().iter().map(|it| it.parameters);
        let published = published.filter(|it| it.precision == self.precision);
        let tiles = designs.iter().map(|it| [it.m_ct, it.k_ct, it.n_ct, it.k_mt]);
        let tiles = tiles.chain(published.map(|it| [it.m_ct, it.k_ct, it.n_ct, it.k_mt]));
        let with = |[m_ct, k_ct, n_ct, k_mt]: [NonZeroU16; 4]| Self {
            strategy: Strategy::OneDesign,
            m_ct,
            k_ct,
            n_ct,
            k_mt,
            ..*self
        };
        Ok(tiles.map(with).collect())
    }

    /// Inputs and results of the prompt's largest product, which DRAM holds while it is computed.
    ///
    /// # Errors
    /// As of `npu.workload`.
    pub fn product_bytes(&self) -> Result<Bytes, StudyError> {
        let products = self.products();
        let mut most = products.product_bytes(self.batch.into())?.0;
        if self.prompt_attention == PromptAttention::Products {
            let operators = self.model.prefill_operators(self.prompt_tokens.get(), self.projections)?;
            for it in operators.iter().filter(|it| it.kind == OperatorKind::Attention) {
                most = most.max(products.attention_product(it)?.bytes());
            }
        }
        Ok(Bytes(most))
    }

    /// Weights once, the keys and values of all sequences at their end, and the largest product.
    fn memory_bytes(&self, weights: Weights<'_>) -> Result<Bytes, StudyError> {
        let model = &self.model;
        let tokens = self.prompt_tokens.get().saturating_add(self.generated_tokens.get());
        let kv = u128::from(model.kv_cache_elements(tokens)) * u128::from(self.kv_bits.get());
        let cache = kv.div_ceil(8) * u128::from(self.batch.get());
        let cache = Bytes(u64::try_from(cache).unwrap_or(u64::MAX));
        let product = self.product_bytes()?;
        let need = weights.total_bytes().0.saturating_add(cache.0).saturating_add(product.0);
        let (need, have) = (Bytes(need), self.memory_gb.bytes());
        if need > have { Err(InferenceError::Memory { need, cache, product, have }.into()) } else { Ok(need) }
    }

    /// Bytes that one instance moves over the array's way to DRAM for all sequences, its matrix so often.
    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53 in ratio")]
    fn bytes(&self, stored: Weights<'_>, it: &Operator, times: f64) -> f64 {
        let sequences = f64::from(self.batch.get());
        // Each sequence looks up rows of its own.
        let times = if it.kind == OperatorKind::Matrix { times } else { sequences };
        let weights = times * stored.operator_bits(it) as f64;
        let kv = (it.kv_read_elements + it.kv_written_elements) as f64 * f64::from(self.kv_bits.get());
        let activations = (it.activation_read_elements + it.activation_written_elements) as f64;
        let vectors = it.vector_weight_elements as f64;
        let width = f64::from(self.activation_bits.get());
        (weights + vectors * width + sequences * (kv + activations * width)) / 8.0
    }

    /// How many matrices are read for each that so many tokens of one sequence meet: those of others meet other
    /// experts.
    fn reads(&self, it: &Operator, tokens: u64) -> f64 {
        self.model.weight_reads(it, tokens, self.batch.get().into())
    }

    /// One step: the slower of streaming and multiplying, operator after operator; the bytes moved, as of a prompt;
    /// and the time of operators that multiply for longer than they stream.
    fn step(&self) -> Result<(Breakdown<PassPart>, [f64; 2], Nanoseconds), StudyError> {
        let (mut times, mut moved) = ([0.0; 3], [0.0; 2]);
        let mut computing = 0.0;
        let streams = self.streams_of_step()?;
        let products = self.products_of_step(&streams)?;
        for it in streams.iter().filter(|it| products.is_none() || it.part != PassPart::Weights) {
            if it.compute > it.stream {
                computing += it.compute;
            }
            times[it.part.index()] += it.time();
            moved = moved.map(|all| all + it.bytes);
        }
        if let Some((_, solved)) = products {
            times[PassPart::Weights.index()] = solved.answer.time_ns;
            let [layers, outside] = [solved.layers, solved.outside].map(|it| it.moved_bytes());
            moved = [0, 1].map(|it| moved[it] + layers[it] + outside[it]);
            computing += solved.computing.as_f64();
        }
        let [weights, attention, vector] = times.map(Nanoseconds::new);
        let step = Breakdown::from_iter([
            (PassPart::Weights, weights?.to_picoseconds()),
            (PassPart::Attention, attention?.to_picoseconds()),
            (PassPart::Vector, vector?.to_picoseconds()),
            (PassPart::Dispatch, self.dispatch()?.to_picoseconds()),
        ]);
        Ok((step, moved, Nanoseconds::new(computing)?))
    }

    /// The products of a step whose weights stream several times past its vectors, if as many tokens of a prompt
    /// take less. The host hands over steps as `handed` says, whichever way they are computed.
    fn products_of_step(&self, streams: &[Streamed]) -> Result<Option<(WorkloadStudy, Solved)>, StudyError> {
        if streams.iter().all(|it| it.turns <= 1.0) {
            return Ok(None);
        }
        let mut products =
            WorkloadStudy { prompt_tokens: NonZeroU32::from(self.batch).into(), ..self.products() };
        products.device.dispatch_ns = Nanoseconds::ZERO;
        let solved = products.solve(self.batch.into(), Some(self.format.of(&self.model)?), &[])?;
        let weights = streams.iter().filter(|it| it.part == PassPart::Weights);
        let streaming: f64 = weights.map(Streamed::time).sum();
        Ok((solved.answer.time_ns < streaming).then_some((products, solved)))
    }

    /// The design past whose vectors weights stream: the one that is given, or of a kernel.
    fn design_of(&self, kernel: &Kernel) -> Result<Design, StudyError> {
        let head = self.model.gemv(Matrix::LmHead)?;
        let given = self.products().gemm(NonZeroU64::MIN, head).design();
        Ok(match self.strategy {
            Strategy::OneDesign | Strategy::Reconfigured => given,
            Strategy::BestPerSize => Design { tile: kernel.tile, k_mt: kernel.tile.k, ..given },
        })
    }

    /// Bytes of vectors that memory tiles hold beside what a design keeps there of B and C.
    fn room_for_vectors(&self, design: &Design) -> u64 {
        let kept = design.l2(&self.device);
        let each = u64::from(self.device.l2_bytes.get()).saturating_sub(kept.b + kept.c);
        u64::from(self.device.columns.get()) * each
    }

    /// What a step takes to be handed over.
    fn dispatch(&self) -> Result<Nanoseconds, StudyError> {
        let operators = self.model.reply_operators(self.reply(), self.projections)?;
        Ok(self.dispatch_of(&operators, 1))
    }

    /// What layers, and what follows them, take to be handed over where so many tokens of each sequence stream
    /// these operators.
    #[expect(clippy::cast_precision_loss, reason = "counts of operators")]
    fn dispatch_of(&self, operators: &[Operator], tokens: u64) -> Nanoseconds {
        let matrices = || operators.iter().filter(|it| it.kind == OperatorKind::Matrix);
        let layers = f64::from(self.model.layers);
        // The host hands over experts once their router has answered.
        let are_experts = matrices().any(|it| self.is_of_experts(it));
        let is_rest = |it: &Operator| !self.is_of_experts(it) && !Matrix::is_among(it.name, &Matrix::OUTSIDE);
        let rest = matrices().any(is_rest);
        let of = |any: bool| f64::from(u8::from(any));
        let dispatches = match self.handed {
            Handed::Operators => {
                matrices().map(|it| it.count as f64 * self.reads(it, tokens)).sum::<f64>() + of(rest) * layers
            }
            Handed::Layers => (of(rest) + of(are_experts)) * layers + of(matrices().any(follows_layers)),
            Handed::Token => 1.0,
        };
        self.device.dispatch_ns * dispatches
    }

    /// Whether it is a matrix of experts.
    fn is_of_experts(&self, it: &Operator) -> bool {
        self.model.experts.is_some() && Matrix::is_among(it.name, &Matrix::FFN)
    }

    /// What a step streams and multiplies, operator by operator.
    fn streams_of_step(&self) -> Result<Vec<Streamed>, StudyError> {
        let operators = self.model.reply_operators(self.reply(), self.projections)?;
        let kernels = self.products().kernels(self.batch.into(), self.batch.get().into())?;
        self.streams(&operators, 1, &kernels)
    }

    /// What streams past the vectors of so many tokens of each sequence, which memory tiles hold, and is multiplied
    /// with them, by the kernel that takes the least time.
    fn streams(
        &self,
        operators: &[Operator],
        tokens: u64,
        kernels: &[Kernel],
    ) -> Result<Vec<Streamed>, StudyError> {
        let mut best: Option<(f64, Vec<Streamed>)> = None;
        for kernel in kernels {
            let streams = self.streams_by(kernel, operators, tokens)?;
            let time = streams.iter().map(Streamed::time).sum();
            if best.as_ref().is_none_or(|it| time < it.0) {
                best = Some((time, streams));
            }
        }
        Ok(best.map(|it| it.1).unwrap_or_default())
    }

    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53 in ratio")]
    fn streams_by(
        &self,
        kernel: &Kernel,
        operators: &[Operator],
        tokens: u64,
    ) -> Result<Vec<Streamed>, StudyError> {
        let (batch, gb_s) = (f64::from(self.batch.get()), self.device.stream_gb_s());
        let stored = self.format.of(&self.model)?;
        let design = self.design_of(kernel)?;
        // Cores keep sums of a block's rows, memory tiles all inputs of these.
        let (rows, room) = (design.native(&self.device)[0], self.room_for_vectors(&design));
        let input = u64::from(self.precision.input_bytes());
        let peak = self.device.peak_tops(&kernel.mmul) * 1e3;
        let reached = self.device.tops(kernel.macs_per_cycle()) * 1e3;
        // One row of the instruction for each vector; the others multiply nothing.
        let r = f64::from(kernel.mmul.r.get());
        let rate = |vectors: f64| reached * vectors / ((vectors / r).ceil() * r);
        let stream = |it: &Operator| {
            let count = it.count as f64;
            let reads = self.reads(it, tokens);
            // Of a matrix, of as many tokens as meet it.
            let met = batch * it.n as f64 / reads;
            let turns = match it.kind {
                OperatorKind::Matrix => (met / (room / (it.k * input)).clamp(1, rows) as f64).ceil().max(1.0),
                OperatorKind::Attention | OperatorKind::Vector => 1.0,
            };
            let bytes = self.bytes(stored, it, turns * reads);
            let vectors = match it.kind {
                OperatorKind::Matrix => met / turns,
                // Heads that share keys and values.
                OperatorKind::Attention => it.n as f64,
                OperatorKind::Vector => r,
            };
            let operations = count * batch * it.operations as f64;
            Streamed {
                name: it.name,
                part: part_of(it.kind),
                operations,
                at_peak: operations / peak,
                compute: operations / rate(vectors.max(1.0)),
                stream: count * bytes / gb_s,
                bytes: count * bytes,
                turns,
            }
        };
        Ok(operators.iter().map(stream).collect())
    }

    /// What the prompts stream and multiply beside weights: attention at the rate of the layers' products, or as
    /// products of its own.
    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53 in ratio")]
    fn prompt_streams(&self, stored: Weights<'_>, layer_tops: f64) -> Result<Vec<Streamed>, StudyError> {
        let (batch, gb_s) = (f64::from(self.batch.get()), self.device.stream_gb_s());
        let peak = self.device.peak_tops(&self.device.mmul(self.precision)?) * 1e3;
        let operators = self.model.prefill_operators(self.prompt_tokens.get(), self.projections)?;
        let others = operators.into_iter().filter(|it| it.kind != OperatorKind::Matrix);
        let products = self.products();
        let by_products = self.prompt_attention == PromptAttention::Products;
        let stream = |it: Operator| {
            let (count, part) = (it.count as f64, part_of(it.kind));
            let operations = if part == PassPart::Attention { batch * it.operations as f64 } else { 0.0 };
            let mut bytes = count * self.bytes(stored, &it, 1.0);
            let mut compute = count * operations / (layer_tops * 1e3);
            if by_products && part == PassPart::Attention {
                let (time, moved) = products.attention(&it, self.batch)?;
                (compute, bytes) = (time.as_f64(), moved);
            } else if by_products {
                bytes += count * batch * self.score_bytes(&it);
            }
            Ok(Streamed {
                name: it.name,
                part,
                operations: count * operations,
                at_peak: count * operations / peak,
                compute,
                stream: bytes / gb_s,
                bytes,
                turns: 1.0,
            })
        };
        others.map(stream).collect()
    }

    /// Bytes that a softmax reads and writes where scores are results and inputs of products.
    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53 in ratio")]
    fn score_bytes(&self, it: &Operator) -> f64 {
        let [inputs, results] = [self.precision.input_bytes(), self.precision.output_bytes()].map(f64::from);
        it.score_read_elements as f64 * results + it.score_written_elements as f64 * inputs
    }

    /// Prompt and token, operator by operator.
    ///
    /// # Errors
    /// As of the study, but that nothing is refused for its size.
    pub fn operators(&self, head: HeadOn) -> Result<Vec<OperatorCost>, StudyError> {
        self.check()?;
        let stored = self.format.of(&self.model)?;
        let heads = NonZeroU64::from(self.batch);
        let none = Nanoseconds::ZERO;
        let (plan, PromptCost { attention_tops, .. }) = Plan::best(self, head)?;
        let mut costs = match plan.products() {
            Some(products) => products.operators(heads, Some(stored), plan.streamed())?,
            None => Vec::new(),
        };
        for it in plan.streams()?.iter().chain(&plan.study.prompt_streams(stored, attention_tops)?) {
            costs.push(it.told(Pass::Prompt)?);
        }
        let [configuring, handing] = plan.around()?;
        let around = [("reconfiguration", configuring), ("dispatch", handing)];
        costs.extend(around.map(|it| OperatorCost::new(Pass::Prompt, it.0, none, [it])));
        let streams = self.streams_of_step()?;
        let of_step = self.products_of_step(&streams)?;
        for it in streams.iter().filter(|it| of_step.is_none() || it.part != PassPart::Weights) {
            costs.push(it.told(Pass::Token)?);
        }
        if let Some((products, _)) = of_step {
            let of_token = |it| OperatorCost { pass: Pass::Token, ..it };
            costs.extend(products.operators(heads, Some(stored), &[])?.into_iter().map(of_token));
        }
        costs.push(OperatorCost::new(Pass::Token, "dispatch", none, [("dispatch", self.dispatch()?)]));
        Ok(costs)
    }

    /// What is generated. Time is linear in what each layer attends to, so that its mean gives the mean
    /// time.
    const fn reply(&self) -> Reply {
        Reply { prompt: self.prompt_tokens.get(), tokens: self.generated_tokens }
    }

    /// The prompts of all sequences on the array.
    ///
    /// # Errors
    /// As of `npu.workload`: a design that does not fit.
    pub fn prompt(&self, head: HeadOn) -> Result<PromptCost, StudyError> {
        self.check()?;
        Ok(Plan::best(self, head)?.1)
    }

    /// What the DRAM takes for the prompts, and for a step.
    fn energy(&self, prompt: ([f64; 2], Nanoseconds), step: ([f64; 2], Nanoseconds)) -> Option<[Energy; 2]> {
        let path = &self.device.dram;
        Some([path.energy_of(prompt.0, prompt.1)?, path.energy_of(step.0, step.1)?])
    }
}

impl Study for InferenceStudy {
    const NAME: &'static str = "npu.inference";
    const SUMMARY: &'static str = "A prompt and a reply of a language model on a Ryzen AI NPU";
    type Answer = InferenceAnswer;

    const SUMS: &'static [(&'static str, &'static [&'static str])] = &[
        ("token_ns", &["weights_ns", "attention_ns", "vector_ns", "dispatch_ns"]),
        ("ttft_s", &["prompt_weights_s", "prompt_attention_s", "prompt_vector_s"]),
        EnergyColumns::SUM,
    ];

    const TRACES: &'static [TraceFormat<Self>] =
        &[operators_form(|it: &Self, out| Ok(write_operators(&it.operators(HeadOn::Array)?, out)?))];

    const LAWS: Laws = Laws {
        aim: Some(Aim::less("total_s")),
        effects: &[
            laws::DEVICE,
            &[
                slower("prompt_tokens"),
                slower("generated_tokens"),
                slower("batch"),
                slower("kv_bits"),
                slower("activation_bits"),
                neutral("memory_gb"),
                either("m_ct", laws::TILE).only(GIVEN),
                either("k_ct", laws::TILE).only(GIVEN),
                either("n_ct", laws::TILE).only(GIVEN),
                either("k_mt", laws::STEP).only(GIVEN),
                slower("device.reconfiguration_ns").only(&[When::is_not("strategy", &["one-design"])]),
                neutral("device.dram.energy.*"),
            ],
        ],
        trends: &[&[
            raises("device.dram.energy.*", "energy_j"),
            raises("device.dram.energy.*", "energy_high_j"),
            raises("generated_tokens", "energy_j"),
        ]],
        slow: true,
        ..Laws::NONE
    };

    fn answer(&self) -> Result<InferenceAnswer, StudyError> {
        self.check()?;
        let memory = self.memory_bytes(self.format.of(&self.model)?)?;
        let (prompt_tokens, generated) = (self.prompt_tokens.get(), self.generated_tokens.get());
        let read = self.prompt(HeadOn::Array)?;
        let (step, moved, computing) = self.step()?;
        let PromptCost { weights, attention, vector, tops: prompt_tops, .. } = read;
        let (prompt, step_time) = (weights + attention + vector, Nanoseconds::new(step.total().as_ns())?);
        let headline = Headline::of(&Served {
            prompt_tokens,
            generated_tokens: generated,
            batch: self.batch.get().into(),
            prompt,
            step: step_time,
            memory_bytes: memory.0,
            memory_limit_bytes: Some(self.memory_gb.bytes().0),
            bound_by: bound_by(&self.device, &step, computing),
            energy: self.energy((read.moved_bytes(), prompt), (moved, step_time)),
            package_w: None,
            cost_usd: None,
        });
        Ok(InferenceAnswer {
            headline,
            weights_ns: step.ns(PassPart::Weights),
            attention_ns: step.ns(PassPart::Attention),
            vector_ns: step.ns(PassPart::Vector),
            dispatch_ns: step.ns(PassPart::Dispatch),
            prompt_weights_s: weights.as_f64() * 1e-9,
            prompt_attention_s: attention.as_f64() * 1e-9,
            prompt_vector_s: vector.as_f64() * 1e-9,
            prompt_tops,
            step_bytes: moved[0],
            context_tokens: self.reply().mean_context(),
        })
    }

    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53 in ratio")]
    fn bounds(&self) -> Vec<Bound> {
        let products = self.products().floors(self.format.of(&self.model).ok()).into_iter();
        let mut bounds: Vec<Bound> = products
            .filter_map(|it| match it.limit {
                Limited::AtLeast(ns) => Some(Bound::at_least("ttft_s", ns * 1e-9, it.why)),
                Limited::AtMost(_) => None,
            })
            .collect();
        if let Ok(stored) = self.format.of(&self.model) {
            let bytes = stored.token_layer_bits() as f64 / 8.0 * f64::from(self.model.layers);
            let floor = bytes / self.device.stream_gb_s();
            bounds.push(Bound::at_least(
                "token_ns",
                floor,
                "the layers' weights over the array's way to DRAM",
            ));
        }
        bounds.push(Bound::at_most("memory_bytes", self.memory_gb.bytes().0 as f64, "what the host lends"));
        bounds
    }

    fn slots() -> Vec<Slot> {
        vec![slots::model().implying(&[AS_STORED]), slots::design(), slots::device()]
    }
}

/// Where the design is given.
const GIVEN: &[When] = &[When::is_not("strategy", &["best-per-size"])];

#[cfg(test)]
mod tests;
