//! The study `mixed.inference`: a prompt on the NPU, its reply on PIM.

use std::num::{NonZeroU32, NonZeroU64};

use memscape_dram::{MEMORIES, UNUSED_BY_ALL_BANKS};
use memscape_npu::{DEVICES, DesignError, Device, GemmStudy, HeadOn, Precision, PromptCost, Strategy};
use memscape_ondevice::cost::energy::swizzle_energy;
use memscape_pim::cost::{Traffic, idle_energy};
use memscape_pim::{StepCost, TokenPart, hardware as pim};
use memscape_study::{
    Bound, Energy, EnergyColumns, Headline, Laws, OperatorCost, Pass, Served, Slot, Study, StudyError,
};
use memscape_units::{Bytes, Nanoseconds};
use memscape_workload::{Format, MODELS, Model, Reply};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::handover::{CacheHandover, Keeping, LayerWeights, straight, swizzle};
use crate::hardware::{Copier, MACHINES, Machine};
use crate::{laws, names};

/// A prompt on an NPU, and its reply token by token with the layers' matrices on PIM.
///
/// The prompts of all sequences are one product per matrix on the array, in the designs that
/// take the least time; a token is PIMnast's, in the best placement, and the sequences of a batch
/// follow each other on PIM. Both read one memory. Between them lie copies: of weights out of PIM's layout
/// into the array's, as `keeping` says, and of the prompt's keys and values, as `cache` says.
///
/// # Source
/// Ours: no paper evaluates it. Its parts are those of `npu.inference` (prompt), `pim.inference`
/// (tokens) and PIM-SHERPA (copies), each with that system's readings. Cores that copy do not
/// slow the array, which reads ahead, as PIM-SHERPA has it of cores that multiply; the bytes
/// that a copy moves are those of the weights as they are stored.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InferenceStudy {
    /// Language model
    pub model: Model,
    /// How weights are stored: `int8`, `int4`, `fp16`, or scaled blocks such as `mx-int8-b32`
    pub format: Format,
    /// Tokens of the prompt of each sequence
    #[schemars(range(min = 1, max = 16_777_216))]
    pub prompt_tokens: NonZeroU64,
    /// Tokens generated after it
    #[schemars(range(min = 1, max = 16_777_216))]
    pub generated_tokens: NonZeroU64,
    /// Sequences: prompts together, matrices of tokens one after the other on PIM
    #[schemars(range(min = 1, max = 65_536))]
    pub batch: NonZeroU32,
    /// Width of one element of the key-value cache; wider than the array's inputs a prompt multiplies it in parts
    pub kv_bits: NonZeroU32,
    /// Width of one activation between operators
    pub activation_bits: NonZeroU32,
    /// How the array gets at weights that PIM keeps in a layout of its own
    pub keeping: Keeping,
    /// How keys and values of the prompt come to where tokens read them
    pub cache: CacheHandover,
    /// Types of a product's inputs and output: `int8-int8`, `int8-int16`, `int8-int32`, `bf16-bf16`
    pub precision: Precision,
    /// The NPU, which reads prompts
    pub npu: Device,
    /// Memory, PIM units and processor, which generate tokens
    pub pim: pim::Machine,
    /// The cores that copy
    pub copy: Copier,
    /// Whether refresh is on, while the prompt is read and while tokens are generated (PIMnast's models
    /// have it off)
    pub refresh: bool,
}

/// What `mixed.inference` answers. A step is one token of each sequence.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct InferenceAnswer {
    /// What all systems answer; a step at the mean context of the reply
    #[serde(flatten)]
    pub headline: Headline,
    /// The layers' products with weights on the array, dispatch and reconfiguration included
    pub prompt_weights_s: f64,
    /// The prompt's attention
    pub prompt_attention_s: f64,
    /// The prompt's norms, activations and residuals
    pub prompt_vector_s: f64,
    /// Language-model head of the prompt's last token, on the processor
    pub prompt_head_s: f64,
    /// What copies of weights add to the prompt
    pub copy_exposed_s: f64,
    /// Copying the prompt's keys and values to where tokens read them
    pub kv_transfer_s: f64,
    /// Weight matrices on PIM, per step
    pub gemv_ns: f64,
    /// Language-model head and embedding projections on the processor, per step
    pub head_ns: f64,
    /// Attention over the context, per step
    pub attention_ns: f64,
    /// Norms, activations, residuals, per step
    pub vector_ns: f64,
    /// All copies of weights, if nothing ran beside them
    pub copy_s: f64,
    /// Bytes of weights that a prompt has copied
    pub copied_bytes: u64,
    /// Bytes of the prompt's keys and values
    pub kv_bytes: u64,
    /// Bytes kept beside PIM's weights and the cache: a second copy of the weights, or buffers
    pub beside_bytes: u64,
    /// Operations per second of the prompt's products, without padding
    pub prompt_tops: f64,
    /// What the prompt would take token by token on PIM, without the array: less, if it is short
    pub prompt_on_pim_s: Option<f64>,
}

/// Why there is no reply.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InferenceError {
    /// More than the memory holds.
    #[error(
        "the model takes {need} of memory, {cache} of it for keys and values, {beside} for a second copy of the \
         weights or for buffers and {product} for inputs and results of the largest product, but `pim.memory` has \
         {have}: {} are missing; use another `keeping`, fewer bits, tokens or sequences, or more `pim.memory.rows`, \
         `pim.memory.banks_per_channel` or `pim.memory.channels`",
        Bytes(need.0.saturating_sub(have.0))
    )]
    Memory {
        /// All of it.
        need: Bytes,
        /// The key-value cache.
        cache: Bytes,
        /// The second copy, or buffers.
        beside: Bytes,
        /// Inputs and results of the prompt's largest product.
        product: Bytes,
        /// What there is.
        have: Bytes,
    },
    /// Fewer buffer descriptors than designs here have in flight, which is no parameter.
    #[error(
        "an interface tile of the NPU needs {need} buffer descriptors, {} for A and {ahead} each for B and C, but has \
         {have}; use {}",
        need - 2 * ahead,
        if *need > u8::MAX.into() { "more `npu.columns` or fewer `npu.rows`".to_owned() }
        else { format!("`npu.shim_bds` = {need} at least") }
    )]
    Descriptors {
        /// In flight.
        need: u32,
        /// Blocks of C submitted ahead.
        ahead: u32,
        /// Of an interface tile.
        have: u32,
    },
    /// The NPU cannot read the prompt.
    #[error("{0}")]
    Npu(String),
    /// PIM cannot generate tokens.
    #[error("{0}")]
    Pim(String),
}

impl InferenceError {
    /// An error of `npu.inference` with the names of this study's parameters.
    #[expect(clippy::needless_pass_by_value, reason = "what `map_err` hands over")]
    fn of_npu(error: StudyError) -> Self {
        Self::Npu(names::of_npu(&error))
    }

    /// The same of `pim.inference`.
    #[expect(clippy::needless_pass_by_value, reason = "what `map_err` hands over")]
    fn of_pim(error: StudyError) -> Self {
        Self::Pim(names::of_pim(&error))
    }
}

impl Default for InferenceStudy {
    /// Llama 3.2 1B in int8 with a prompt of 1920 and 128 generated tokens, double buffered, on an
    /// XDNA beside PIMnast's memory.
    fn default() -> Self {
        let Machine { npu, pim, copy } = *MACHINES.get("xdna-lpddr5x-pim");
        let count = |value| NonZeroU32::new(value).expect("not zero");
        Self {
            model: Model::named("llama-3.2-1b").expect("a built-in model"),
            format: Format::INT8,
            prompt_tokens: count(1920).into(),
            generated_tokens: count(128).into(),
            batch: count(1),
            kv_bits: count(8),
            activation_bits: count(16),
            keeping: Keeping::Ddb,
            cache: CacheHandover::Copied,
            precision: Precision::Int8Int16,
            npu,
            pim,
            copy,
            refresh: false,
        }
    }
}

/// What the prompts take beside the array's own time.
#[derive(Debug, Clone, Copy)]
struct Transfers {
    /// What copies of weights add.
    exposed: Nanoseconds,
    /// Copies of weights, if nothing ran beside them.
    copy: Nanoseconds,
    /// Bytes of weights copied.
    copied: Bytes,
    /// Copying keys and values.
    kv: Nanoseconds,
    /// Bytes of keys and values copied.
    kv_copied: Bytes,
}

/// What the processor does of a prompt.
struct Following {
    operators: Vec<OperatorCost>,
    time: Nanoseconds,
    traffic: Traffic,
}

impl InferenceStudy {
    /// The machine without the workload.
    #[must_use]
    pub fn machine(&self) -> Machine {
        let memory = self.pim.memory.easing(UNUSED_BY_ALL_BANKS);
        Machine { npu: self.npu, pim: pim::Machine { memory, ..self.pim }, copy: self.copy }
    }

    /// The same on the NPU alone, which has the one memory behind it.
    #[must_use]
    pub fn on_npu(&self) -> memscape_npu::InferenceStudy {
        memscape_npu::InferenceStudy {
            model: self.model,
            format: self.format.into(),
            prompt_tokens: self.prompt_tokens,
            generated_tokens: self.generated_tokens,
            batch: self.batch,
            kv_bits: self.kv_bits,
            activation_bits: self.activation_bits,
            strategy: Strategy::BestPerSize,
            device: self.machine().device(self.refresh),
            precision: self.precision,
            ..memscape_npu::InferenceStudy::default()
        }
    }

    /// The prompt's layers on the NPU.
    fn prompt(&self) -> Result<PromptCost, InferenceError> {
        match GemmStudy::default().design().check_channels(&self.npu) {
            Ok(()) => self.on_npu().prompt(HeadOn::Processor).map_err(InferenceError::of_npu),
            Err(DesignError::Descriptors { asked: ahead, each, have }) => {
                Err(InferenceError::Descriptors { need: ahead * each, ahead, have })
            }
            Err(error) => Err(InferenceError::of_npu(error.into())),
        }
    }

    /// The same on processor and PIM.
    #[must_use]
    pub fn on_pim(&self) -> memscape_pim::InferenceStudy {
        let pim::Machine { memory, interleave_bytes, pim, soc } = self.pim;
        memscape_pim::InferenceStudy {
            model: self.model,
            format: self.format,
            prompt_tokens: self.prompt_tokens,
            generated_tokens: self.generated_tokens,
            batch: self.batch,
            kv_bits: self.kv_bits,
            activation_bits: self.activation_bits,
            memory,
            interleave_bytes,
            pim,
            soc,
            refresh: self.refresh,
            ..memscape_pim::InferenceStudy::default()
        }
    }

    /// What follows the layers, on the processor: of a prompt, for its last token.
    fn follow(&self) -> Result<Following, StudyError> {
        let (operators, traffic) = self.on_pim().after_layers().map_err(InferenceError::of_pim)?;
        let parts = operators.iter().flat_map(|it| &it.parts);
        let time = Nanoseconds::new(parts.map(|it| it.1).sum())?;
        Ok(Following { operators, time, traffic })
    }

    /// The prompt as if it were a reply, of whose tokens the last alone is asked what follows.
    #[expect(clippy::cast_precision_loss, reason = "tokens in ratio")]
    fn prompt_on_pim(&self) -> Result<Nanoseconds, StudyError> {
        let reply = Reply { prompt: 0, tokens: self.prompt_tokens };
        let (step, head) = (self.on_pim().time_on_pim(reply)?.total().as_ns(), self.follow()?.time.as_f64());
        Ok(Nanoseconds::new((step - head) * self.prompt_tokens.get() as f64 + head)?)
    }

    /// Prompt and token, operator by operator, with the copies between.
    ///
    /// # Errors
    /// As of the study, but that nothing is refused for its size.
    pub fn operators(&self) -> Result<Vec<OperatorCost>, StudyError> {
        self.machine().check()?;
        let npu = self.on_npu();
        let moved = self.transfers(&self.prompt()?)?;
        let copies = [("copies", moved.exposed), ("handover", moved.kv)];
        let copies = copies.map(|it| OperatorCost::new(Pass::Prompt, it.0, Nanoseconds::ZERO, [it]));
        let of = |all: Vec<OperatorCost>, pass| all.into_iter().filter(move |it| it.pass == pass);
        let prompt = npu.operators(HeadOn::Processor).map_err(InferenceError::of_npu)?;
        let reply = self.on_pim().operators().map_err(InferenceError::of_pim)?;
        let head = self.follow()?.operators.into_iter().map(|it| OperatorCost { pass: Pass::Prompt, ..it });
        let prompt = of(prompt, Pass::Prompt).chain(copies).chain(head);
        Ok(prompt.chain(of(reply, Pass::Token)).collect())
    }

    fn weights(&self) -> LayerWeights {
        LayerWeights::of(&self.model, self.format, self.on_npu().projections)
    }

    /// Keys and values of the prompts of all sequences.
    fn kv_bytes(&self) -> Bytes {
        let elements = u128::from(self.model.kv_cache_elements(self.prompt_tokens.get()));
        let bits = elements * u128::from(self.kv_bits.get());
        Bytes(u64::try_from(bits.div_ceil(8) * u128::from(self.batch.get())).unwrap_or(u64::MAX))
    }

    /// Keys and values of one layer's prompts as the array writes them: of all tokens, also where a window
    /// keeps fewer.
    fn layer_kv_bytes(&self) -> u64 {
        let elements = 2 * u128::from(self.model.kv_size()) * u128::from(self.prompt_tokens.get());
        let bytes = (elements * u128::from(self.kv_bits.get())).div_ceil(8);
        u64::try_from(bytes * u128::from(self.batch.get())).unwrap_or(u64::MAX)
    }

    /// What is kept beside PIM's weights and the cache: what `keeping` needs, and of keys and values
    /// that are copied those of one layer.
    fn beside(&self) -> Bytes {
        let weights = self.weights();
        let staged = match self.cache {
            CacheHandover::InPlace => 0,
            CacheHandover::Copied => self.layer_kv_bytes(),
        };
        Bytes(self.keeping.beside(&weights).0.saturating_add(staged))
    }

    fn memory_bytes(&self, step: &StepCost) -> Result<Bytes, InferenceError> {
        let (beside, have) = (self.beside(), self.pim.memory.capacity());
        let product = self.on_npu().product_bytes().map_err(InferenceError::of_npu)?;
        let need = Bytes(step.memory.0.saturating_add(beside.0).saturating_add(product.0));
        if need > have {
            Err(InferenceError::Memory { need, cache: step.cache, beside, product, have })
        } else {
            Ok(need)
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "bytes in ratio")]
    fn transfers(&self, prompt: &PromptCost) -> Result<Transfers, StudyError> {
        let weights = self.weights();
        let bandwidth = self.copy.bandwidth(&self.pim.memory, self.refresh);
        let layers = weights.layers as f64;
        let copied = self.keeping.copied(&weights);
        let copy = swizzle(weights.layer.0 as f64, &self.copy, &bandwidth)?;
        let moved: f64 = prompt.layers.bus_bytes.iter().sum();
        // The array streams at the memory's own rate; what cores reach of it is theirs.
        let rate = self.machine().device(self.refresh).dram.bus_gb_s();
        let traffic = Nanoseconds::new(moved / layers / rate)?;
        let exposed = self.keeping.exposed(weights.layers, prompt.layers.time / layers, traffic, copy);
        let kv_copied = match self.cache {
            CacheHandover::InPlace => Bytes(0),
            CacheHandover::Copied => self.kv_bytes(),
        };
        let kv = straight(kv_copied.0 as f64, &self.copy, &bandwidth)?;
        let copy = if copied.0 == 0 { Nanoseconds::ZERO } else { copy * layers };
        Ok(Transfers { exposed, copy, copied, kv, kv_copied })
    }

    /// What the memory takes for the prompts, which take so long; none where nothing is known of it.
    #[expect(clippy::cast_precision_loss, reason = "bytes in ratio")]
    fn prompt_energy(
        &self,
        prompt: &PromptCost,
        head: Traffic,
        moved: &Transfers,
        time: Nanoseconds,
    ) -> Option<Energy> {
        let memory = &self.pim.memory;
        let meter = memory.meter()?;
        let Copier { transactions, together, .. } = self.copy;
        let (read, written) = (prompt.read_bytes(), prompt.written_bytes());
        let stream = |it: usize| meter.stream_of_rows(read[it] + head.read, written[it] + head.written);
        let [least, most] = [0, 1].map(stream);
        let products = least.up_to(&most);
        let copied = |bytes: Bytes, together: u64| {
            swizzle_energy(&meter, memory, bytes.0 as f64, together, transactions.get())
        };
        // Keys and values use rows up before they leave them.
        let transfers = copied(moved.copied, together.get()) + copied(moved.kv_copied, u64::MAX);
        Some(products + transfers + idle_energy(&self.pim, time, self.refresh)?)
    }
}

impl Study for InferenceStudy {
    const NAME: &'static str = "mixed.inference";
    const SUMMARY: &'static str =
        "A prompt on an NPU and its reply on PIM, with the copies between: no paper's";
    type Answer = InferenceAnswer;

    const SUMS: &'static [(&'static str, &'static [&'static str])] = &[
        (
            "ttft_s",
            &[
                "prompt_weights_s",
                "prompt_attention_s",
                "prompt_vector_s",
                "prompt_head_s",
                "copy_exposed_s",
                "kv_transfer_s",
            ],
        ),
        ("token_ns", &["gemv_ns", "head_ns", "attention_ns", "vector_ns"]),
        EnergyColumns::SUM,
    ];

    const OPERATORS: Option<fn(&Self) -> Result<Vec<OperatorCost>, StudyError>> = Some(Self::operators);

    const LAWS: Laws = laws::INFERENCE;

    fn answer(&self) -> Result<InferenceAnswer, StudyError> {
        self.machine().check()?;
        let step = self.on_pim().step_on_pim().map_err(InferenceError::of_pim)?;
        let memory = self.memory_bytes(&step)?;
        let prompt = self.prompt()?;
        let moved = self.transfers(&prompt)?;
        let Following { time: head, traffic, .. } = self.follow()?;
        let ttft = prompt.weights + prompt.attention + prompt.vector + head + moved.exposed + moved.kv;
        let of_step = |part: TokenPart| step.time.ns(part);
        let energies = self.prompt_energy(&prompt, traffic, &moved, ttft).zip(step.energy);
        let generated = self.generated_tokens.get();
        let seconds = |it: Nanoseconds| it.as_f64() * 1e-9;
        Ok(InferenceAnswer {
            headline: Headline::of(&Served {
                prompt_tokens: self.prompt_tokens.get(),
                generated_tokens: generated,
                batch: self.batch.get().into(),
                prompt: ttft,
                step: Nanoseconds::new(step.time.total().as_ns())?,
                memory_bytes: memory.0,
                memory_limit_bytes: Some(self.pim.memory.capacity().0),
                bound_by: step.bound_by,
                energy: energies.map(<[_; 2]>::from),
                package_w: None,
                cost_usd: None,
            }),
            prompt_weights_s: seconds(prompt.weights),
            prompt_attention_s: seconds(prompt.attention),
            prompt_vector_s: seconds(prompt.vector),
            prompt_head_s: seconds(head),
            copy_exposed_s: seconds(moved.exposed),
            kv_transfer_s: seconds(moved.kv),
            gemv_ns: of_step(TokenPart::Gemv),
            head_ns: of_step(TokenPart::Head),
            attention_ns: of_step(TokenPart::Attention),
            vector_ns: of_step(TokenPart::Vector),
            copy_s: seconds(moved.copy),
            copied_bytes: moved.copied.0,
            kv_bytes: self.kv_bytes().0,
            beside_bytes: self.beside().0,
            prompt_tops: prompt.tops,
            prompt_on_pim_s: self.prompt_on_pim().ok().map(seconds),
        })
    }

    /// What neither part can beat, and the copies at the memory's peak.
    #[expect(clippy::cast_precision_loss, reason = "bytes in ratio")]
    fn bounds(&self) -> Vec<Bound> {
        let of = |all: Vec<Bound>, columns: &'static [&'static str]| {
            all.into_iter().filter(move |it| columns.contains(&it.column))
        };
        let prompt = of(self.on_npu().bounds(), &["ttft_s"]);
        let reply = of(self.on_pim().bounds(), &["token_ns", "memory_bytes", "energy_low_j"]);
        let bytes = self.keeping.copied(&self.weights()).0 as f64;
        let copy_s = bytes / self.pim.memory.peak_gb_s().as_f64() * 1e-9;
        let copies = Bound::at_least("copy_s", copy_s, "weights once over the channels' peak");
        prompt.chain(reply).chain([copies]).collect()
    }

    fn slots() -> Vec<Slot> {
        vec![
            Slot::whole("hardware", &MACHINES, "xdna-lpddr5x-pim"),
            Slot::part("npu", &DEVICES, "xdna"),
            Slot::part("pim", &pim::MACHINES, pim::DEFAULT_MACHINE),
            Slot::part("pim.memory", &MEMORIES, "lpddr5x-7500"),
            Slot::part("model", &MODELS, "llama-3.2-1b"),
        ]
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU8;

    use memscape_units::GbPerS;

    use super::*;

    /// A prompt of few tokens is a reply's beginning, one of many the array's affair.
    #[test]
    fn short_prompts_are_faster_on_pim() {
        let of = |prompt: u64| {
            let prompt_tokens = NonZeroU64::new(prompt).unwrap();
            let answer = InferenceStudy { prompt_tokens, ..InferenceStudy::default() }.answer().unwrap();
            (answer.headline.ttft_s, answer.prompt_on_pim_s.unwrap())
        };
        let ((few, few_on_pim), (many, many_on_pim)) = (of(16), of(1024));
        assert!(few_on_pim < 0.7 * few, "{few_on_pim} {few}");
        assert!(many < 0.5 * many_on_pim, "{many_on_pim} {many}");
        // Fifteen tokens attend to eight in the mean, as the one after seven does; the head is asked for the last.
        let [prompt_tokens, generated_tokens] = [7, 1].map(|it| NonZeroU64::new(it).unwrap());
        let mean = InferenceStudy { prompt_tokens, generated_tokens, ..InferenceStudy::default() };
        let mean = mean.answer().unwrap();
        let ns = 15.0 * mean.headline.token_ns - 14.0 * mean.head_ns;
        let (_, fifteen_on_pim) = of(15);
        assert!((fifteen_on_pim / (ns * 1e-9) - 1.0).abs() < 1e-9);
        assert!((mean.prompt_head_s / (mean.head_ns * 1e-9) - 1.0).abs() < 1e-9, "as of any token");
    }

    /// Small enough that the search for designs takes little.
    fn small() -> InferenceStudy {
        let tokens = NonZeroU64::new(128).unwrap();
        InferenceStudy {
            model: Model::named("opt-125m").unwrap(),
            prompt_tokens: tokens,
            ..Default::default()
        }
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
    }

    #[test]
    fn free_copies_and_transfers_leave_the_two_parts() {
        let study = InferenceStudy {
            keeping: Keeping::FacilO,
            cache: CacheHandover::InPlace,
            ..InferenceStudy::default()
        };
        let (mixed, npu, pim) =
            (study.answer().unwrap(), study.on_npu().answer().unwrap(), study.on_pim().answer().unwrap());
        // But for the head, which the processor reads faster than the array.
        let array = study.on_npu().prompt(HeadOn::Processor).unwrap();
        let ns = array.weights + array.attention + array.vector;
        assert!(close(mixed.headline.ttft_s, ns.as_f64() * 1e-9 + mixed.prompt_head_s));
        assert!(
            mixed.headline.ttft_s < npu.headline.ttft_s && close(mixed.prompt_head_s, pim.head_ns * 1e-9)
        );
        assert!(close(mixed.headline.token_ns, pim.headline.token_ns));
        // The array holds 1920 tokens of 2048 inputs and, of gate and up, 2 * 8192 results of two bytes.
        let product = 1920 * (2048 + 2 * 16_384);
        // A processor that multiplies wider ones has no part in the prompt.
        assert_eq!(mixed.headline.memory_bytes, study.on_pim().step_on_pim().unwrap().memory.0 + product);
        assert_eq!((mixed.copy_exposed_s, mixed.kv_transfer_s, mixed.beside_bytes), (0.0, 0.0, 0));
    }

    #[test]
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
    fn the_array_reads_the_memory_no_faster_than_it_streams() {
        let of = |tccd_s_ns: f64, refresh| {
            let Machine { npu, mut pim, copy } = *MACHINES.get("xdna2-lpddr5x-pim");
            pim.memory.channels = NonZeroU32::new(2).unwrap();
            pim.memory.tccd_s_ns = Some(Nanoseconds::new(tccd_s_ns).unwrap());
            let (keeping, cache) = (Keeping::FacilO, CacheHandover::InPlace);
            InferenceStudy { keeping, cache, npu, pim, copy, refresh, ..small() }
        };
        // Two channels of 32 bytes each 4.267 ns are 15 GB/s, and each weight is a byte.
        let slow = of(4.267, false);
        let model = slow.model;
        let bytes = f64::from(model.layers) * model.layer_matrix_parameters() as f64;
        let (refreshed, slow) = (of(4.267, true), slow.answer().unwrap());
        assert!(slow.prompt_weights_s > bytes / (64.0 / 4.267) * 1e-9, "{}", slow.prompt_weights_s);
        assert!(slow.prompt_weights_s > of(2.134, false).answer().unwrap().prompt_weights_s);
        let left = 1.0 - refreshed.pim.memory.refresh_share();
        let bus = refreshed.machine().device(true).dram.bus_gb_s();
        assert!(close(bus, 64.0 / 4.267 * left), "{bus}");
        assert!(refreshed.answer().unwrap().prompt_weights_s > slow.prompt_weights_s);
    }

    /// Copies of a slow core wait for an array that streams at the memory's rate, whatever more cores would reach.
    #[test]
    fn what_cores_reach_does_not_slow_the_arrays_own_traffic() {
        let of = |memory_efficiency| {
            let mut study = InferenceStudy { keeping: Keeping::Ddb, ..small() };
            study.copy = Copier { memory_efficiency, cores: NonZeroU32::MIN, ..study.copy };
            study.copy.core_gb_s = GbPerS::new(1.0).unwrap();
            study.answer().unwrap().copy_exposed_s
        };
        let (all, half) = (of(1.0), of(0.5));
        assert!(all > 0.0 && close(all, half), "{all} {half}");
    }

    /// Copies by cores that could take all of the memory have what refreshes leave.
    #[test]
    fn copies_wait_for_refreshes() {
        let of = |refresh| {
            let Machine { npu, pim, mut copy } = *MACHINES.get("xdna2-lpddr5x-pim");
            (copy.cores, copy.memory_efficiency) = (NonZeroU32::new(64).unwrap(), 1.0);
            let study = InferenceStudy { keeping: Keeping::Owr, npu, pim, copy, refresh, ..small() };
            (study.answer().unwrap().copy_s, 1.0 - study.pim.memory.refresh_share())
        };
        let ((still, _), (refreshed, left)) = (of(false), of(true));
        assert!(close(refreshed * left, still), "{still} {refreshed}");
    }

    #[test]
    fn an_endless_array_leaves_what_tokens_take() {
        let mut study = InferenceStudy { keeping: Keeping::Duplicated, ..small() };
        study.npu.clock_mhz = memscape_units::Megahertz::new(1e9).unwrap();
        study.npu.dram.read_gb_s = GbPerS::new(1e9).unwrap();
        study.npu.dispatch_ns = Nanoseconds::ZERO;
        study.npu.reconfiguration_ns = Nanoseconds::ZERO;
        study.prompt_tokens = NonZeroU64::MIN;
        study.generated_tokens = NonZeroU64::new(1000).unwrap();
        let answer = study.answer().unwrap();
        let tokens_s = 1000.0 * study.on_pim().answer().unwrap().headline.token_ns * 1e-9;
        // The memory still has to give the prompt's weights once.
        assert!(answer.headline.total_s > tokens_s);
        assert!(answer.headline.total_s < 1.005 * tokens_s, "{} {tokens_s}", answer.headline.total_s);
    }

    #[test]
    fn double_buffering_is_never_slower_than_copying_first_and_neither_beats_two_copies() {
        for prompt in [1, 16, 128, 1024] {
            for cores in [1, 8, 64] {
                let mut study = InferenceStudy { prompt_tokens: NonZeroU64::new(prompt).unwrap(), ..small() };
                study.copy.cores = NonZeroU32::new(cores).unwrap();
                let of = |keeping| InferenceStudy { keeping, ..study }.answer().unwrap();
                let [twice, ddb, owr] = [Keeping::Duplicated, Keeping::Ddb, Keeping::Owr].map(of);
                assert!(twice.headline.ttft_s < ddb.headline.ttft_s, "{prompt} {cores}");
                assert!(ddb.headline.ttft_s <= owr.headline.ttft_s, "{prompt} {cores}");
                assert!(close(owr.copy_exposed_s, owr.copy_s));
            }
        }
    }

    #[test]
    fn two_copies_take_the_layers_weights_twice() {
        let of = |keeping| InferenceStudy { keeping, cache: CacheHandover::InPlace, ..small() };
        let [once, twice, ddb, owr] = [Keeping::FacilO, Keeping::Duplicated, Keeping::Ddb, Keeping::Owr]
            .map(|it| of(it).answer().unwrap());
        let layers = of(Keeping::FacilO).weights();
        let more = |it: InferenceAnswer| it.headline.memory_bytes - once.headline.memory_bytes;
        // In int8 a byte for each weight of the layers' matrices.
        let model = small().model;
        assert_eq!(more(twice), u64::from(model.layers) * model.layer_matrix_parameters());
        assert_eq!((more(ddb), more(owr)), (2 * layers.layer.0, layers.largest.0));
    }

    #[test]
    fn keys_and_values_that_are_copied_are_billed_by_their_bytes() {
        let of = |cache, prompt| {
            let prompt_tokens = NonZeroU64::new(prompt).unwrap();
            InferenceStudy { prompt_tokens, cache, ..small() }.answer().unwrap()
        };
        let [short, long] = [128, 256].map(|it| of(CacheHandover::Copied, it));
        assert!(close(long.kv_transfer_s, 2.0 * short.kv_transfer_s) && short.kv_transfer_s > 0.0);
        let in_place = of(CacheHandover::InPlace, 128);
        assert!(close(short.headline.ttft_s - short.kv_transfer_s, in_place.headline.ttft_s));
        assert_eq!(short.kv_bytes, 2 * 12 * 768 * 128, "keys and values of one byte, twelve layers of 768");
    }

    #[test]
    fn keys_and_values_of_a_whole_layer_are_staged_whatever_its_window() {
        let model = Model::named("gemma-3-4b").unwrap();
        let (prompt_tokens, batch) = (NonZeroU64::new(4096).unwrap(), NonZeroU32::new(2).unwrap());
        let of = |cache| InferenceStudy { model, prompt_tokens, batch, cache, ..InferenceStudy::default() };
        let beside = [CacheHandover::InPlace, CacheHandover::Copied].map(|it| of(it).beside().0);
        // Keys and values of four heads of 256 bytes.
        assert_eq!(beside[1] - beside[0], 2 * 4096 * 2 * 4 * 256);
        // 11 * 100 000 tokens of it are 2.25 GB, where weights and cache leave less than that.
        let prompt_tokens = NonZeroU64::new(100_000).unwrap();
        let long = InferenceStudy {
            prompt_tokens,
            batch: NonZeroU32::new(11).unwrap(),
            ..of(CacheHandover::Copied)
        };
        let error = long.answer().unwrap_err().to_string();
        assert!(error.contains("are missing"), "{error}");
    }

    #[test]
    fn a_copy_that_dram_does_not_hold_is_refused() {
        let mut study = small();
        study.copy.transactions = NonZeroU32::MIN;
        let told = study.answer().unwrap_err().to_string();
        assert!(told.contains("`copy.transactions` is 1") && told.contains("on-chip memory"), "{told}");
    }

    #[test]
    fn what_does_not_fit_is_refused_with_what_is_missing() {
        let model = Model::named("llama-2-13b").unwrap();
        let of = |keeping| InferenceStudy { model, keeping, ..InferenceStudy::default() }.answer();
        assert!(of(Keeping::Owr).is_ok(), "13 GB of 17.2");
        let error = of(Keeping::Duplicated).unwrap_err().to_string();
        assert!(error.contains("`pim.memory` has 16 GiB") && error.contains("are missing"), "{error}");
    }

    #[test]
    fn an_array_that_cannot_be_is_told_in_this_studys_names() {
        let error = |change: fn(&mut Device)| {
            let mut study = small();
            change(&mut study.npu);
            study.answer().unwrap_err().to_string()
        };
        let endless = error(|it| {
            // Few tiles, so that trying them all takes little.
            it.l1_bytes = NonZeroU32::new(8192).unwrap();
            it.dram.read_gb_s = GbPerS::new(1e-9).unwrap();
        });
        for (text, names) in [
            (error(|it| it.rows = NonZeroU8::new(8).unwrap()), "`npu.rows` = 4 at most"),
            (error(|it| it.l1_bytes = NonZeroU32::new(1000).unwrap()), "`npu.l1_bytes` = 2049 at least"),
            (error(|it| it.stack_bytes = 1_000_000_000), "`npu.stack_bytes` = 64511 at most"),
            (error(|it| it.l2_bytes = NonZeroU32::new(1000).unwrap()), "more `npu.l2_bytes`"),
            (error(|it| it.shim_bds = NonZeroU8::new(12).unwrap()), "`npu.shim_bds` = 15 at least"),
            (error(|it| it.columns = NonZeroU8::MIN), "`npu.shim_bds` = 30 at least"),
            (
                error(|it| it.accumulator_bytes = NonZeroU32::MIN),
                "use `npu.accumulator_bytes` = 1024 at least",
            ),
            (
                error(|it| it.int8.as_mut().unwrap().s = NonZeroU8::MIN),
                "use a multiple of 4 elements for `npu.int8.s` = 1",
            ),
            (endless, "more `npu.dram.read_gb_s`"),
        ] {
            let foreign = ["device", "k_mt", "k_ct", "bds_in_flight"];
            assert!(text.contains(names) && !foreign.iter().any(|it| text.contains(it)), "{text}");
        }
    }

    #[test]
    fn an_array_answers_where_a_refusal_says_that_it_does() {
        let answers = |change: fn(&mut Device)| {
            let mut study = small();
            change(&mut study.npu);
            study.answer().map(drop).map_err(|it| it.to_string())
        };
        let one_column = |it: &mut Device| {
            (it.columns, it.shim_bds) = (NonZeroU8::MIN, NonZeroU8::new(30).unwrap());
        };
        assert_eq!(answers(one_column), Ok(()));
        assert_eq!(answers(|it| it.stack_bytes = 64_511), Ok(()));
        assert_eq!(answers(|it| it.l1_bytes = NonZeroU32::new(2049).unwrap()), Ok(()));
    }

    #[test]
    fn memory_with_pim_that_cannot_be_is_told_in_this_studys_names() {
        let error = |change: fn(&mut pim::Machine)| {
            let mut study = small();
            change(&mut study.pim);
            let [answer, operators] = [study.answer().map(drop), study.operators().map(drop)];
            let [answer, operators] = [answer, operators].map(|it| it.unwrap_err().to_string());
            assert_eq!(answer, operators);
            answer
        };
        let registers = error(|it| it.pim.registers = NonZeroU32::new(8).unwrap());
        assert!(registers.contains("use 1 to 6 `pim.pim.input_registers`"), "{registers}");
        let bits = error(|it| it.pim.register_bits = NonZeroU32::MIN);
        assert!(bits.starts_with("`pim.pim.register_bits` is 1, too narrow"), "{bits}");
        let bus = error(|it| it.memory.bus_bits = NonZeroU32::new(256).unwrap());
        assert!(
            bus.starts_with("`pim.interleave_bytes` is 256; it must be a power of two from 512"),
            "{bus}"
        );
        let timing = error(|it| it.memory.trp_ns = Nanoseconds::new(1e6).unwrap());
        assert!(timing.starts_with("`pim.memory`: DRAM rule `tRPab >= tRP` does not hold"), "{timing}");
        let ranks = error(|it| it.memory.ranks = NonZeroU32::new(2).unwrap());
        assert!(ranks.starts_with("`pim.memory.ranks` is 2"), "{ranks}");
    }
}
