//! The study `npu.inference`: a prompt and a reply on the NPU alone.

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
pub struct MemoryGb(#[schemars(range(min = 0.001, max = 1e6), extend("unit" = "GB"))] f64);

impl MemoryGb {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "limited by the schema; `as` saturates"
    )]
    fn bytes(self) -> Bytes {
        Bytes((self.0 * 1e9) as u64)
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
    /// The layers' products, with what configures the array.
    pub layers: ProductTraffic,
    /// Those of the head, and of what projects embeddings.
    pub outside: ProductTraffic,
    /// Bytes that attention and vectors move.
    pub other_bytes: f64,
}

impl PromptCost {
    /// Bytes that all of it moves: with weights as they are stored, and whole lines of them as wide as they are
    /// multiplied where that is more.
    fn moved_bytes(&self) -> [f64; 2] {
        let [layers, outside] = [self.layers, self.outside].map(|it| it.moved_bytes());
        [0, 1].map(|it| layers[it] + outside[it] + self.other_bytes)
    }

    /// Bytes that it reads, in the same two ways; of what is no product, all that is moved.
    #[must_use]
    pub fn read_bytes(&self) -> [f64; 2] {
        let products = [self.layers, self.outside];
        let stored: f64 = products.iter().map(|it| it.stored_read_bytes).sum();
        let lines: f64 = products.iter().map(|it| it.bus_bytes[0]).sum();
        [stored, lines].map(|it| it + self.other_bytes)
    }

    /// Bytes that its products write, in the same two ways.
    #[must_use]
    pub fn written_bytes(&self) -> [f64; 2] {
        let products = [self.layers, self.outside];
        [products.iter().map(|it| it.written_bytes).sum(), products.iter().map(|it| it.bus_bytes[1]).sum()]
    }
}

/// Why there is no reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InferenceError {
    /// More than the memory holds.
    #[error(
        "weights, key-value cache and the largest product take {need}, {cache} of it for keys and values and {product} \
         for the product's inputs and results, but `memory_gb` allows {have}: {} are missing; use fewer bits, tokens \
         or sequences, or more memory",
        Bytes(need.0.saturating_sub(have.0))
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

    /// Bytes that one instance moves over the array's way to DRAM, for so many sequences.
    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53 in ratio")]
    fn bytes(&self, stored: Weights<'_>, it: &Operator, sequences: f64, turns: f64) -> f64 {
        // Matrices are read for all that meet them at once; each sequence looks up rows of its own.
        let times = if it.kind == OperatorKind::Matrix { turns * self.reads(it) } else { sequences };
        let weights = times * stored.operator_bits(it) as f64;
        let kv = (it.kv_read_elements + it.kv_written_elements) as f64 * f64::from(self.kv_bits.get());
        let activations = (it.activation_read_elements + it.activation_written_elements) as f64;
        let vectors = it.vector_weight_elements as f64;
        let width = f64::from(self.activation_bits.get());
        (weights + vectors * width + sequences * (kv + activations * width)) / 8.0
    }

    /// How many matrices a step reads for each that one sequence meets: tokens of others meet other experts.
    fn reads(&self, it: &Operator) -> f64 {
        self.model.weight_reads(it, 1, self.batch.get().into())
    }

    /// One step: the slower of streaming and multiplying, operator after operator; the bytes moved, as of a prompt;
    /// and the time of operators that multiply for longer than they stream.
    fn step(&self) -> Result<(Breakdown<PassPart>, [f64; 2], Nanoseconds), StudyError> {
        let (mut times, mut moved) = ([0.0; 3], [0.0; 2]);
        let mut computing = 0.0;
        let streams = self.streams()?;
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
    /// take less.
    fn products_of_step(&self, streams: &[Streamed]) -> Result<Option<(WorkloadStudy, Solved)>, StudyError> {
        if streams.iter().all(|it| it.turns <= 1.0) {
            return Ok(None);
        }
        let products =
            WorkloadStudy { prompt_tokens: NonZeroU32::from(self.batch).into(), ..self.products() };
        let solved = products.solve(self.batch.into(), Some(self.format.of(&self.model)?))?;
        let weights = streams.iter().filter(|it| it.part == PassPart::Weights);
        let streaming: f64 = weights.map(Streamed::time).sum();
        Ok((solved.answer.time_ns < streaming).then_some((products, solved)))
    }

    /// Bytes of vectors that memory tiles hold beside what a kernel's design keeps there of B and C.
    fn room_for_vectors(&self, kernel: &Kernel) -> Result<u64, StudyError> {
        let head = self.model.gemv(Matrix::LmHead)?;
        let given = self.products().gemm(NonZeroU64::MIN, head).design();
        let design = match self.strategy {
            Strategy::OneDesign | Strategy::Reconfigured => given,
            Strategy::BestPerSize => Design { tile: kernel.tile, k_mt: kernel.tile.k, ..given },
        };
        let kept = design.l2(&self.device);
        let each = u64::from(self.device.l2_bytes.get()).saturating_sub(kept.b + kept.c);
        Ok(u64::from(self.device.columns.get()) * each)
    }

    /// What a step takes to be handed over.
    #[expect(clippy::cast_precision_loss, reason = "counts of operators")]
    fn dispatch(&self) -> Result<Nanoseconds, StudyError> {
        let layers = f64::from(self.model.layers);
        let dispatches = match self.handed {
            Handed::Operators => {
                let operators = self.model.reply_operators(self.reply(), self.projections)?;
                let products = operators.iter().filter(|it| it.kind == OperatorKind::Matrix);
                products.map(|it| it.count as f64 * self.reads(it)).sum::<f64>() + layers
            }
            // The host hands over experts once their router has answered.
            Handed::Layers if self.model.experts.is_some() => 2.0 * layers + 1.0,
            Handed::Layers => layers + 1.0,
            Handed::Token => 1.0,
        };
        Ok(self.device.dispatch_ns * dispatches)
    }

    /// What a step streams and multiplies, operator by operator.
    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53 in ratio")]
    fn streams(&self) -> Result<Vec<Streamed>, StudyError> {
        let (batch, gb_s) = (f64::from(self.batch.get()), self.device.stream_gb_s());
        let stored = self.format.of(&self.model)?;
        let kernel = self.products().kernel(self.batch.into())?;
        let room = self.room_for_vectors(&kernel)?;
        let input = u64::from(self.precision.input_bytes());
        let peak = self.device.peak_tops(&kernel.mmul) * 1e3;
        let reached = self.device.tops(kernel.macs_per_cycle()) * 1e3;
        // One row of the instruction for each vector; the others multiply nothing.
        let r = f64::from(kernel.mmul.r.get());
        let rate = |vectors: f64| reached * vectors / ((vectors / r).ceil() * r);
        let mut streams = Vec::new();
        for it in self.model.reply_operators(self.reply(), self.projections)? {
            let count = it.count as f64;
            // Of a matrix, of as many sequences as meet it.
            let met = batch / self.reads(&it);
            let turns = match it.kind {
                OperatorKind::Matrix => (met / (room / (it.k * input)).max(1) as f64).ceil().max(1.0),
                OperatorKind::Attention | OperatorKind::Vector => 1.0,
            };
            let bytes = self.bytes(stored, &it, batch, turns);
            let vectors = match it.kind {
                OperatorKind::Matrix => met / turns,
                // Heads that share keys and values.
                OperatorKind::Attention => it.n as f64,
                OperatorKind::Vector => r,
            };
            let operations = count * batch * it.operations as f64;
            streams.push(Streamed {
                name: it.name,
                part: part_of(it.kind),
                at_peak: operations / peak,
                compute: operations / rate(vectors.max(1.0)),
                stream: count * bytes / gb_s,
                bytes: count * bytes,
                turns,
            });
        }
        Ok(streams)
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
            let mut bytes = count * self.bytes(stored, &it, batch, 1.0);
            let mut compute = count * operations / (layer_tops * 1e3);
            if by_products && part == PassPart::Attention {
                let (time, moved) = products.attention(&it, self.batch)?;
                (compute, bytes) = (time.as_f64(), moved);
            } else if by_products {
                bytes += count * batch * self.score_bytes(&it);
            }
            let at_peak = count * operations / peak;
            Ok(Streamed { name: it.name, part, at_peak, compute, stream: bytes / gb_s, bytes, turns: 1.0 })
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
    pub fn operators(&self) -> Result<Vec<OperatorCost>, StudyError> {
        self.check()?;
        let (products, stored) = (self.products(), self.format.of(&self.model)?);
        let heads = NonZeroU64::from(self.batch);
        let mut costs = products.operators(heads, Some(stored))?;
        let tops = products.solve(heads, Some(stored))?.layer_tops;
        for it in self.prompt_streams(stored, tops)? {
            costs.push(it.told(Pass::Prompt)?);
        }
        let streams = self.streams()?;
        let of_step = self.products_of_step(&streams)?;
        for it in streams.iter().filter(|it| of_step.is_none() || it.part != PassPart::Weights) {
            costs.push(it.told(Pass::Token)?);
        }
        if let Some((products, _)) = of_step {
            let of_token = |it| OperatorCost { pass: Pass::Token, ..it };
            costs.extend(products.operators(heads, Some(stored))?.into_iter().map(of_token));
        }
        let dispatch = [("dispatch", self.dispatch()?)];
        costs.push(OperatorCost::new(Pass::Token, "dispatch", Nanoseconds::ZERO, dispatch));
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
    pub fn prompt(&self) -> Result<PromptCost, StudyError> {
        self.check()?;
        let stored = self.format.of(&self.model)?;
        let solved = self.products().solve(self.batch.into(), Some(stored))?;
        let Solved { answer: products, layers, outside, layer_tops, .. } = solved;
        let (mut times, mut other_bytes) = ([products.time_ns, 0.0, 0.0], 0.0);
        for it in self.prompt_streams(stored, layer_tops)? {
            times[it.part.index()] += it.time();
            other_bytes += it.bytes;
        }
        let [weights, attention, vector] = times.map(Nanoseconds::new);
        let (weights, attention, vector) = (weights?, attention?, vector?);
        let tops = products.tops;
        Ok(PromptCost { weights, attention, vector, tops, layers, outside, other_bytes })
    }

    /// What the DRAM takes for the prompts, and for a step. The array is charged the time of weights as
    /// wide as they are multiplied; narrower ones may as well be read as they are stored.
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
        &[operators_form(|it: &Self, out| Ok(write_operators(&it.operators()?, out)?))];

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
        let read = self.prompt()?;
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
mod tests {
    use memscape_study::BoundBy;

    use super::*;
    use crate::study::search::SearchStudy;

    #[test]
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
    fn a_token_streams_every_weight_it_meets_once_and_the_cache_after_them() {
        let study = InferenceStudy::default();
        let of = |context: u64| {
            let prompt_tokens = NonZeroU64::new(context).unwrap();
            InferenceStudy { prompt_tokens, ..study }.answer().unwrap()
        };
        let (short, long) = (of(1024), of(2048));
        let port = study.device.dram.port_gb_s();
        let kv = study.model.kv_cache_elements(1024) as f64 * 2.0;
        assert!(((long.attention_ns - short.attention_ns) * port / kv - 1.0).abs() < 1e-3);
        // The head is the embedding, and a token looks up one row of it beside.
        let weights = study.format.of(&study.model).unwrap().total_bytes().0 as f64;
        assert!(
            (short.weights_ns * port / weights - 1.0).abs() < 5e-3,
            "{}",
            short.weights_ns * port / weights
        );
    }

    /// Of Gemma 3 1B 22 layers of 26 see no more than 512 tokens, which fill after half of the reply.
    #[test]
    fn a_reply_takes_as_long_as_its_tokens_one_by_one() {
        let of = |prompt: u64, generated: u64| {
            let study = InferenceStudy {
                model: Model::named("gemma-3-1b").unwrap(),
                prompt_tokens: NonZeroU64::new(prompt).unwrap(),
                generated_tokens: NonZeroU64::new(generated).unwrap(),
                batch: NonZeroU32::new(32).unwrap(),
                ..InferenceStudy::default()
            };
            let (step, [bytes, _], _) = study.step().unwrap();
            [step.ns(PassPart::Attention), step.total().as_ns(), bytes]
        };
        let reply = of(1, 1023);
        let each: Vec<_> = (1..=1023).map(|it| of(it, 1)).collect();
        for (part, reply) in reply.into_iter().enumerate() {
            let ratio = reply / (each.iter().map(|it| it[part]).sum::<f64>() / 1023.0);
            assert!((ratio - 1.0).abs() < 1.5e-3, "{part}: {ratio}");
        }
    }

    #[test]
    fn what_interface_tiles_do_not_take_in_binds_as_a_link() {
        let of = |clock_mhz| {
            let mut study = InferenceStudy { generated_tokens: NonZeroU64::MIN, ..InferenceStudy::default() };
            study.device.clock_mhz = memscape_units::Megahertz::new(clock_mhz).unwrap();
            study.answer().unwrap().headline.bound_by
        };
        // Eight channels of four bytes a cycle: 3.2 GB/s, and 32 GB/s, of a port of less.
        assert_eq!((of(100.0), of(1000.0)), (BoundBy::Link, BoundBy::DramBandwidth));
    }

    #[test]
    fn what_takes_longest_of_three_binds() {
        let of = |dispatch_ns| {
            let mut study = InferenceStudy {
                batch: NonZeroU32::new(256).unwrap(),
                strategy: Strategy::BestPerSize,
                handed: Handed::Operators,
                prompt_tokens: NonZeroU64::new(16).unwrap(),
                generated_tokens: NonZeroU64::MIN,
                ..InferenceStudy::default()
            };
            study.device.dispatch_ns = Nanoseconds::new(dispatch_ns).unwrap();
            let (_, _, computing) = study.step().unwrap();
            let answer = study.answer().unwrap();
            let streaming = answer.headline.token_ns - answer.dispatch_ns - computing.as_f64();
            (answer.headline.bound_by, [answer.dispatch_ns, computing.as_f64(), streaming])
        };
        // 16 layers of four products and attention, and the head: 81 times 1.2 ms.
        let (bound, [dispatch, computing, streaming]) = of(1.2e6);
        assert!((dispatch - 81.0 * 1.2e6).abs() < 1.0 && dispatch > computing && computing > streaming);
        assert!(dispatch < computing + streaming, "less than half of a step");
        assert_eq!((bound, of(0.6e6).0), (BoundBy::Host, BoundBy::Compute));
    }

    #[test]
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
    fn a_step_multiplies_as_fast_as_its_kernel() {
        // Memory tiles hold 8192 inputs of each.
        let batch = NonZeroU32::new(248).unwrap();
        let prompt_tokens = NonZeroU64::MIN;
        let mut study = InferenceStudy { prompt_tokens, batch, ..InferenceStudy::default() };
        study.device.l2_bytes = NonZeroU32::new(1 << 20).unwrap();
        let layer: u64 = study.model.layer_gemvs(study.projections).map(|it| it.1.macs()).sum();
        let head = study.model.gemv(Matrix::LmHead).unwrap().macs();
        let macs = u64::from(study.model.layers) * layer + head;
        let tops = |strategy| {
            let answer = InferenceStudy { strategy, ..study }.answer().unwrap();
            2.0 * f64::from(batch.get()) * macs as f64 / answer.weights_ns * 1e-3
        };
        // Of the kernel alone, which the array does not reach where it waits or pads.
        let given = study.products().gemm(NonZeroU64::MIN, study.model.gemv(Matrix::Qkv).unwrap());
        let given = given.answer().unwrap().peak_tops;
        let fastest = SearchStudy::default().answer().unwrap().peak_tops;
        assert!((tops(Strategy::OneDesign) / given - 1.0).abs() < 1e-9);
        assert!((tops(Strategy::BestPerSize) / fastest - 1.0).abs() < 1e-9);
        assert!(given < fastest && fastest < 0.95 * study.device.peak_tops(&study.device.int8.unwrap()));
    }

    /// Vectors that memory tiles do not hold at once take turns, or are a matrix like a prompt's where that is
    /// faster.
    #[test]
    fn a_step_of_many_sequences_takes_turns_or_is_a_prompt_of_as_many_tokens() {
        let in_tiles = |l2_bytes, batch| {
            let mut study = InferenceStudy {
                batch: NonZeroU32::new(batch).unwrap(),
                prompt_tokens: NonZeroU64::MIN,
                generated_tokens: NonZeroU64::MIN,
                ..InferenceStudy::default()
            };
            study.device.l2_bytes = NonZeroU32::new(l2_bytes).unwrap();
            study
        };
        let (small, whole) = (300 << 10, 512 << 10);
        let weights = |l2_bytes, batch| in_tiles(l2_bytes, batch).answer().unwrap().weights_ns;
        let turns = |batch| {
            let streams = in_tiles(whole, batch).streams().unwrap();
            streams.iter().map(|it| it.turns).fold(0.0, f64::max)
        };
        // Two turns begin where the widest matrix' inputs do not fit beside B and C.
        let one = in_tiles(whole, 1);
        let qkv = one.model.gemv(Matrix::Qkv).unwrap();
        let kept = one.products().gemm(NonZeroU64::MIN, qkv).design().l2(&one.device);
        let fit = u32::try_from(4 * (u64::from(whole) - kept.b - kept.c) / 8192).unwrap();
        assert!((100..256).contains(&fit) && turns(fit).total_cmp(&1.0).is_eq(), "{fit}");
        assert!(turns(fit + 1).total_cmp(&2.0).is_eq());
        for l2_bytes in [small, whole] {
            let all = [64, 128, fit, fit + 1, 256, 300, 448, 512, 600, 1024, 2048, 4032];
            for (batch, next) in all.iter().zip(&all[1..]) {
                assert!(weights(l2_bytes, *batch) <= weights(l2_bytes, *next), "{batch}");
                // Rows of an instruction may be full or not.
                assert!(weights(l2_bytes, 2 * batch) <= 2.01 * weights(l2_bytes, *batch), "{batch} twice");
            }
        }
        // Of 1344 rows, three whole blocks, products read weights as often.
        let many = in_tiles(small, 1344);
        let stored = many.format.of(&many.model).unwrap();
        let rows = NonZeroU64::from(many.batch);
        let prompt =
            WorkloadStudy { prompt_tokens: rows, ..many.products() }.solve(rows, Some(stored)).unwrap();
        let step = weights(small, 1344);
        assert!((step / prompt.answer.time_ns - 1.0).abs() < 1e-12, "{step} {}", prompt.answer.time_ns);
        assert!(weights(whole, 1344) < step);
        // Weights may then be read as wide as they are multiplied, as a prompt's.
        let bytes = |l2_bytes| in_tiles(l2_bytes, 1344).step().unwrap().1;
        assert!(bytes(whole)[0].total_cmp(&bytes(whole)[1]).is_eq() && bytes(small)[0] < bytes(small)[1]);
        // Operator by operator, too.
        let told = many.operators().unwrap();
        let products = |it: &&OperatorCost| {
            let of_weights = ["qkv", "out", "gate_up", "down", "lm_head", "reconfiguration"];
            it.pass == Pass::Token && of_weights.contains(&it.operator.as_str())
        };
        let sum: f64 = told.iter().filter(products).flat_map(|it| &it.parts).map(|it| it.1).sum();
        assert!((sum / step - 1.0).abs() < 1e-9, "{sum} {step}");
    }

    #[test]
    fn sequences_share_the_stream_of_weights() {
        let one = InferenceStudy::default();
        let eight = InferenceStudy { batch: NonZeroU32::new(8).unwrap(), ..one };
        let (one, eight) = (one.answer().unwrap(), eight.answer().unwrap());
        // What they write and read beside is a per cent.
        assert!(eight.weights_ns < 1.02 * one.weights_ns);
        assert!(eight.attention_ns > 7.9 * one.attention_ns);
    }

    /// Tokens of several sequences meet more experts than one does, and the host waits for each router.
    #[test]
    fn a_step_streams_the_experts_that_its_tokens_meet() {
        let model = Model::named("mixtral-8x7b").unwrap();
        let of = |batch, handed| InferenceStudy {
            model,
            format: Format::INT8.into(),
            prompt_tokens: NonZeroU64::MIN,
            batch: NonZeroU32::new(batch).unwrap(),
            handed,
            memory_gb: MemoryGb(64.0),
            ..InferenceStudy::default()
        };
        let weights = |batch| {
            let streams = of(batch, Handed::Layers).streams().unwrap();
            let products = streams.iter().filter(|it| it.part == PassPart::Weights);
            products.map(|it| it.bytes).sum::<f64>()
        };
        // Two experts, and 3.5, of three matrices of 4096 by 14 336 in each layer; a per cent of vectors beside.
        let expert = f64::from(3 * 4096 * 14_336);
        let more = (weights(2) - weights(1)) / (32.0 * 1.5 * expert);
        assert!((more - 1.0).abs() < 1e-2, "{more}");
        let all = weights(64) / (32.0 * 8.0 * expert);
        assert!((1.0..1.06).contains(&all), "all eight, and 3 % of attention: {all}");
        let dispatches = |handed| {
            let study = of(2, handed);
            study.answer().unwrap().dispatch_ns / study.device.dispatch_ns.as_f64()
        };
        assert!((dispatches(Handed::Layers) - 65.0).abs() < 1e-6);
        // Q with K and V, output, router, attention; two matrices of 3.5 experts; and the head.
        assert!((dispatches(Handed::Operators) - (32.0 * (4.0 + 7.0) + 1.0)).abs() < 1e-6);
        let error = of(1, Handed::Token).answer().unwrap_err().to_string();
        assert!(error.contains("8 experts") && error.contains("`handed` = layers"), "{error}");
    }

    #[test]
    fn each_sequence_of_a_batch_asks_the_head_once() {
        // As many tokens in one prompt or in many: the same but for the head.
        let prompt = |prompt_tokens, batch| {
            let prompt_tokens = NonZeroU64::new(prompt_tokens).unwrap();
            let batch = NonZeroU32::new(batch).unwrap();
            InferenceStudy { prompt_tokens, batch, ..InferenceStudy::default() }.prompt().unwrap()
        };
        let (one, many) = (prompt(1 << 15, 1), prompt(1 << 5, 1 << 10));
        assert_eq!(one.layers.time, many.layers.time);
        let ratio = many.outside.time.as_f64() / one.outside.time.as_f64();
        assert!(ratio > 2.0, "1024 vectors are more than a tile of them: {ratio}");
    }

    /// What configures the array is billed once, with the products.
    #[test]
    fn attention_of_a_prompt_does_not_pay_for_configuring() {
        let base = InferenceStudy { model: Model::named("qwen3-0.6b").unwrap(), ..InferenceStudy::default() };
        let of = |strategy, ns| {
            let mut study = InferenceStudy { strategy, ..base };
            study.device.reconfiguration_ns = Nanoseconds::new(ns).unwrap();
            study.prompt().unwrap()
        };
        let once = of(Strategy::OneDesign, 1e6);
        let anew = of(Strategy::Reconfigured, 1e6);
        assert!(anew.weights > once.weights);
        assert_eq!(anew.attention, once.attention);
        // Nor where it makes kinds share a design.
        let [cheap, dear] = [0.0, 1e9].map(|ns| of(Strategy::BestPerSize, ns));
        assert!(cheap.weights < dear.weights);
        assert_eq!(cheap.attention, dear.attention);
        // Operator by operator, too.
        let told = InferenceStudy { strategy: Strategy::Reconfigured, ..base }.operators().unwrap();
        let attention = |all: &[OperatorCost]| -> f64 {
            let of = |it: &&OperatorCost| it.pass == Pass::Prompt && it.operator.starts_with("attention_s");
            all.iter().filter(of).flat_map(|it| &it.parts).map(|it| it.1).sum()
        };
        assert!(attention(&told) > 0.0);
        assert!((attention(&told) / attention(&base.operators().unwrap()) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_prompt_takes_the_energy_of_what_its_products_move() {
        let of = |study: &InferenceStudy| study.answer().unwrap().headline.energy;
        let certain = |[least, most]: [f64; 2]| (least / most - 1.0).abs() < 1e-12;
        let base = InferenceStudy { generated_tokens: NonZeroU64::MIN, ..InferenceStudy::default() };
        let mut wide = base;
        wide.device.dram.bus_bytes = NonZeroU16::new(64).unwrap();
        assert_eq!(of(&wide), of(&base), "a bus that moves nothing more");
        let mut slow = base;
        slow.device.clock_mhz = memscape_units::Megahertz::new(500.0).unwrap();
        assert_eq!(of(&slow).energy_access_j, of(&base).energy_access_j, "the same bytes, later");
        // Weights of a byte leave open but the lines that chunks of 112 bytes of C do not fill, or of B where rows are
        // its runs: what `npu.gemm` says of each product.
        let bytes = InferenceStudy { format: Format::INT8.into(), ..base };
        let in_rows = InferenceStudy { b_layout: BLayout::RowMajor, ..bytes };
        let [prompt, in_rows] = [bytes, in_rows].map(|it| it.prompt().unwrap());
        let ([stored, lines], [same, more]) = (prompt.moved_bytes(), in_rows.moved_bytes());
        assert!(certain([stored, same]) && stored < lines && lines < 1.05 * stored, "{stored} {lines}");
        // Half of what is read is B.
        assert!(1.15 * lines < more && more < stored / 0.7, "{lines} {more}");
        let products = base.products();
        let layer = base.model.layer_gemvs(base.projections);
        let read = |weights| products.gemm(products.prompt_tokens, weights).answer().unwrap().dram_read_bytes;
        let read: f64 = layer.map(|it| read(it.1)).sum::<f64>() * f64::from(base.model.layers);
        assert!(certain([prompt.layers.read_bytes, read]));
        // Half a byte and its scales leave open less than half; two bytes are read as such.
        let [stored, widened] = base.prompt().unwrap().moved_bytes();
        assert!(stored < widened && widened < 2.0 * stored, "{stored} {widened}");
        let [stored, lines] =
            InferenceStudy { format: Format::FP16.into(), ..base }.prompt().unwrap().moved_bytes();
        assert!(stored > widened && lines < 1.05 * stored);
    }

    #[test]
    fn a_prompt_reads_activations_beside_weights_wider_than_they_are_multiplied() {
        let prompt = |format: Format, tokens| {
            let prompt_tokens = NonZeroU64::new(tokens).unwrap();
            let (format, generated_tokens) = (format.into(), NonZeroU64::MIN);
            let study =
                InferenceStudy { format, prompt_tokens, generated_tokens, ..InferenceStudy::default() };
            study.prompt().unwrap().weights.as_f64()
        };
        // One row of blocks of 448 rows, in bytes: A anew for each block of C, B once, padded to steps of 224 and
        // blocks of 448; of one layer's Q with K and V, output, gate with up, and down, and of the head.
        let (layers, blocks) = (16.0, [7.0, 5.0, 37.0, 5.0, 287.0]);
        let steps = [2240.0, 2240.0, 2240.0, 8288.0, 2240.0];
        let of = |it: usize| 448.0 * blocks[it] * steps[it];
        let b = layers * (of(0) + of(1) + of(2) + of(3)) + of(4);
        let (a, device) = (b, InferenceStudy::default().device);
        let floor = (a + 2.0 * b) / device.dram.port_gb_s() + 65.0 * device.dispatch_ns.as_f64();
        assert!(floor > 0.26e9 && prompt(Format::FP16, 448) > floor, "{} {floor}", prompt(Format::FP16, 448));
        let attention = |format: Format| {
            let prompt_tokens = NonZeroU64::new(4096).unwrap();
            let it = InferenceStudy { format: format.into(), prompt_tokens, ..InferenceStudy::default() };
            it.answer().unwrap().prompt_attention_s
        };
        assert!(
            (attention(Format::FP16) / attention(Format::INT8) - 1.0).abs() < 1e-12,
            "it reads no weights"
        );
        // A byte and its scale are a sixteenth wider, narrower ones as wide as they are multiplied.
        assert!(prompt(Format::Q8_0, 448) >= prompt(Format::INT8, 448));
        assert!((prompt(Format::INT8, 448) / prompt(Format::Q4_0, 448) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn memory_holds_inputs_and_results_of_the_largest_product() {
        let of = |prompt_tokens, memory_gb| {
            let prompt_tokens = NonZeroU64::new(prompt_tokens).unwrap();
            let memory_gb = MemoryGb(memory_gb);
            InferenceStudy { prompt_tokens, memory_gb, ..InferenceStudy::default() }
        };
        let study = of(100_000, 32.0);
        // A byte each of 2048 inputs and 2 * 8192 results of gate and up.
        let product = 100_000 * (2048 + 16_384);
        let weights = study.format.of(&study.model).unwrap().total_bytes().0;
        let cache = study.model.kv_cache_elements(100_128) * 2;
        assert_eq!(study.answer().unwrap().headline.memory_bytes, weights + cache + product);
        let error = of(100_000, 4.0).answer().unwrap_err().to_string();
        let missing = Bytes(weights + cache + product - 4_000_000_000);
        assert!(error.contains(&format!("{missing} are missing")), "{error}");
        // One token asks the head for more than any layer: 128 256 results.
        assert_eq!(of(1, 32.0).product_bytes().unwrap(), Bytes(2048 + 128_256));
    }

    #[test]
    fn more_rows_than_a_product_has_are_refused_by_name() {
        let study = InferenceStudy {
            prompt_tokens: NonZeroU64::new(1 << 24).unwrap(),
            batch: NonZeroU32::new(200).unwrap(),
            ..InferenceStudy::default()
        };
        let text = "`prompt_tokens` = 16777216 of each of `batch` = 200 sequences are 3355443200 rows of a product, which \
                    must be from 1 to 2147483648; use fewer of either";
        assert_eq!(study.answer().unwrap_err().to_string(), text);
        assert_eq!(study.prompt().unwrap_err().to_string(), text);
        assert_eq!(study.operators().unwrap_err().to_string(), text);
    }

    #[test]
    fn what_does_not_fit_is_refused_with_what_is_missing() {
        let model = Model::named("llama-2-70b").unwrap();
        let error = InferenceStudy { model, ..InferenceStudy::default() }.answer().unwrap_err().to_string();
        assert!(error.contains("`memory_gb`") && error.contains("are missing"), "{error}");
    }
}
