//! The study `ondevice.prefill`: time to first token when weights lie once, in the
//! PIM-aware layout, beside the alternatives.

use std::num::NonZeroU64;

use memscape_dram::{Dram, UNUSED_BY_READS};
use memscape_study::{Bound, CostEngine, Laws, Recorder, Slot, Study, StudyError, Timeline};
use memscape_units::{Bytes, Picoseconds};
use memscape_workload::{Format, Model};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{floors, laws, slots};
use crate::cost::footprint::{check_kept, fitting, prefill_bytes, product_bytes};
use crate::cost::gemv::format_on_phone;
use crate::cost::prefill::{PrefillError, PrefillPart, Prompt};
use crate::cost::rates::{Rates, StepCost};
use crate::hardware::{Cpu, Region};
use crate::mapping::Scheme;
use crate::mapping::stages::Split;

/// Prefill of one prompt: linear layers and attention of all decoder layers.
///
/// Norms and the LM head (one GEMV) are not in it, as in the paper's stages.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PrefillStudy {
    /// Language model
    pub model: Model,
    /// Decoder layers to run; all of the model's if not given
    pub layers: Option<NonZeroU64>,
    /// Tokens of the prompt
    #[schemars(range(min = 1, max = 16_777_216))]
    pub prompt_tokens: NonZeroU64,
    /// How weights are stored: `bf16`, `fp16`, `int8`, `int4`, or scaled blocks
    #[serde(deserialize_with = "format_on_phone")]
    pub format: Format,
    /// How weights in the PIM-aware layout are used by the host
    pub scheme: Scheme,
    /// Attribute of the memory in which the PIM-aware weights lie: `non-cacheable`, which PIM
    /// needs, or `cacheable`, from which copies are faster
    pub region: Region,
    /// Columns of a matrix that a swizzled copy takes together, each DRAM row giving so many
    /// bursts before the copy goes on; no more than a row has
    pub together: NonZeroU64,
    /// How the first feed-forward matrix is divided among the copies beside Q, K, V and O
    pub ff0_split: Split,
    /// Bytes of one cacheable buffer; what the largest needs if not given
    pub buffer_bytes: Option<NonZeroU64>,
    /// Which steps pay `cpu.step_ms`
    pub step_cost: StepCost,
    /// The processor
    pub cpu: Cpu,
    /// The DRAM
    pub memory: Dram,
    /// Closed form, or every thread event by event: equal
    pub engine: CostEngine,
}

/// What `ondevice.prefill` answers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct PrefillAnswer {
    /// Time to first token
    pub ttft_s: f64,
    /// Prompt tokens per second
    pub prompt_tokens_per_s: f64,
    /// Time of GEMM alone; with attention, the time to first token of weight duplication and
    /// FACIL-O
    pub gemm_s: f64,
    /// Time of the scheme's swizzled copies alone, nothing beside them
    pub copy_s: f64,
    /// Time of attention, beside which nothing is copied
    pub attention_s: f64,
    /// Time to first token beyond GEMM and attention
    pub exposed_s: f64,
    /// Time to first token over that of GEMM and attention alone
    pub over_gemm: f64,
    /// Stages of one layer: its linear layers
    pub stages: u64,
    /// Stages of one layer whose copy ends no later than their GEMM
    pub hidden_stages: u64,
    /// Stages of one layer that wait for their copy
    pub copy_critical_stages: u64,
    /// Bytes of weights copied
    pub copied_bytes: f64,
    /// Rate of GEMM, in GFLOPS
    pub gemm_gflops: f64,
    /// Rate of the swizzled copies alone, in bytes of weights; 0 if there are none
    pub copy_gb_s: f64,
    /// Rate of swizzled copies that the DRAM allows, in bytes of weights; 0 if there are none
    pub copy_limit_gb_s: f64,
    /// Peak bandwidth that the swizzled copies alone take, all their transactions counted
    pub copy_bandwidth_share: f64,
    /// Peak bandwidth that the scheme's GEMM takes
    pub gemm_bandwidth_share: f64,
    /// Peak compute rate over peak bandwidth
    pub flop_per_byte: f64,
    /// Bytes of one cacheable buffer; 0 if there is none
    pub buffer_bytes: u64,
    /// What weights, buffers, the prompt's key-value cache, and inputs and results of its largest product
    /// take, padding left out
    pub memory_bytes: u64,
    /// What the DRAM holds
    pub memory_limit_bytes: u64,
}

/// More layers than the model has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("`layers` is {given}, but the model has {available}")]
pub struct LayersError {
    /// Layers asked for.
    pub given: u64,
    /// Layers of the model.
    pub available: u64,
}

/// Columns that a copy takes together, as the functional copy of this crate does: it
/// moves blocks of so many.
pub(super) const TOGETHER: NonZeroU64 = NonZeroU64::new(8).expect("not zero");

impl Default for PrefillStudy {
    /// Llama 3.2 1B with 128 tokens, double buffered, on the paper's phone.
    fn default() -> Self {
        let phone = slots::phone();
        Self {
            model: slots::model(),
            layers: None,
            prompt_tokens: NonZeroU64::new(128).expect("not zero"),
            format: Format::BF16,
            scheme: Scheme::Ddb,
            region: Region::NonCacheable,
            together: TOGETHER,
            ff0_split: Split::Equal,
            buffer_bytes: None,
            step_cost: StepCost::CreatedThreads,
            cpu: phone.cpu,
            memory: phone.memory,
            engine: CostEngine::Closed,
        }
    }
}

impl PrefillStudy {
    fn prompt(&self) -> Result<Prompt, LayersError> {
        let available = u64::from(self.model.layers);
        let layers = self.layers.map_or(available, NonZeroU64::get);
        if available < layers {
            return Err(LayersError { given: layers, available });
        }
        Ok(Prompt {
            model: *self.model,
            layers,
            tokens: self.prompt_tokens.get(),
            sequences: 1,
            format: self.format,
            scheme: self.scheme,
            region: self.region,
            run_bursts: self.together.get(),
            step_cost: self.step_cost,
            ff0_split: self.ff0_split,
            buffer: self.buffer_bytes.map(|it| Bytes(it.get())),
            refresh: true,
        })
    }

    /// The prompt, and the rates of a checked phone.
    fn resolve(&self) -> Result<(Prompt, Rates), StudyError> {
        check_kept(self.scheme, self.format, &self.model)?;
        let prompt = self.prompt()?;
        let rates = prompt.rates(&self.cpu, &self.memory)?;
        Ok((prompt, rates))
    }

    /// What weights, buffers, the keys and values of a prompt and its largest product take, if there is as much.
    fn memory_bytes(&self, prompt: &Prompt) -> Result<Bytes, StudyError> {
        self.memory.easing(UNUSED_BY_READS).check().map_err(PrefillError::from)?;
        let product = product_bytes(&self.model, prompt.tokens, 1).map_err(PrefillError::from)?;
        let (buffer, tokens) = (prompt.buffer_bytes()?, prompt.tokens);
        let kept = prefill_bytes(&self.model, prompt.layers, self.format, self.scheme, buffer, tokens);
        Ok(fitting(kept, product, &self.memory)?)
    }

    /// Every thread's work, event by event, of `ddb` or `owr`.
    ///
    /// # Errors
    /// [`StudyError`] says what does not fit, or that there are no events.
    pub fn timeline(&self) -> Result<Timeline, StudyError> {
        let mut timeline = Timeline::default();
        self.walk(&mut timeline)?;
        Ok(timeline)
    }

    fn walk(&self, recorder: &mut dyn Recorder) -> Result<Picoseconds, StudyError> {
        let (prompt, rates) = self.resolve()?;
        Ok(prompt.walk(&rates, recorder)?)
    }
}

impl Study for PrefillStudy {
    const NAME: &'static str = "ondevice.prefill";
    const SUMMARY: &'static str =
        "Time to first token on a phone whose weights lie once, in the PIM-aware layout";
    type Answer = PrefillAnswer;

    const SUMS: &'static [(&'static str, &'static [&'static str])] = &[
        ("ttft_s", &["gemm_s", "attention_s", "exposed_s"]),
        ("stages", &["hidden_stages", "copy_critical_stages"]),
    ];

    const TIMELINE: Option<fn(&Self, &mut dyn Recorder) -> Result<(), StudyError>> =
        Some(|study, recorder| study.walk(recorder).map(drop));

    const LAWS: Laws = laws::PREFILL;

    fn bounds(&self) -> Vec<Bound> {
        let layers = self.layers.map_or(self.model.layers.into(), NonZeroU64::get);
        let Self { model, format, cpu, memory, scheme, .. } = self;
        let floor = floors::Floor { model, layers, format: *format, cpu, memory };
        let mut bounds = floor.prompt(self.prompt_tokens.get(), 1, "ttft_s");
        bounds.extend(floor.copies(*scheme, "copy_s"));
        let share = |column| Bound::at_most(column, 1.0, "the channels' peak");
        bounds.extend([
            share("copy_bandwidth_share"),
            share("gemm_bandwidth_share"),
            floors::capacity(memory),
        ]);
        bounds
    }

    fn slots() -> Vec<Slot> {
        slots::all()
    }

    #[expect(clippy::cast_precision_loss, reason = "bytes of a prompt stay far below 2^53")]
    fn answer(&self) -> Result<PrefillAnswer, StudyError> {
        check_kept(self.scheme, self.format, &self.model)?;
        let prompt = self.prompt()?;
        // More than memory holds is told as that, not as the time that it would take.
        let memory_bytes = self.memory_bytes(&prompt)?.0;
        let rates = prompt.rates(&self.cpu, &self.memory)?;
        let mut prefill = prompt.closed(&rates)?;
        let (gemm, attention) = (prefill.time[PrefillPart::Gemm], prefill.time[PrefillPart::Attention]);
        if self.engine == CostEngine::Events {
            let end = prompt.walk(&rates, &mut Timeline::default())?;
            prefill.time[PrefillPart::Exposed] = end - gemm - attention;
        }
        let (ttft_s, gemm_s) = (prefill.time.total().as_seconds(), gemm.as_seconds());
        let (attention_s, alone_s) = (attention.as_seconds(), (gemm + attention).as_seconds());
        let copy_s = prefill.copy.as_seconds();
        // What a GEMM past the caches takes longer is its own reading.
        let reading_s = match self.scheme {
            Scheme::NonCacheableGemm => ttft_s - attention_s,
            _ => gemm_s,
        };
        let matrices = prompt.matrices()?;
        let operations: f64 = matrices.iter().map(|it| it.1.operations() as f64).sum();
        let tokens = prompt.tokens as f64;
        let copied_bytes = prefill.copied.0 as f64;
        let peak_gb_s = self.memory.peak_gb_s().as_f64();
        let copy_gb_s = if copy_s > 0.0 { copied_bytes / copy_s * 1e-9 } else { 0.0 };
        Ok(PrefillAnswer {
            ttft_s,
            prompt_tokens_per_s: tokens / ttft_s,
            gemm_s,
            copy_s,
            attention_s,
            exposed_s: prefill.time[PrefillPart::Exposed].as_seconds(),
            over_gemm: ttft_s / alone_s,
            stages: matrices.len() as u64,
            hidden_stages: prefill.hidden_stages,
            copy_critical_stages: matrices.len() as u64 - prefill.hidden_stages,
            copied_bytes,
            gemm_gflops: operations * prompt.layers as f64 * tokens / gemm_s * 1e-9,
            copy_gb_s,
            copy_limit_gb_s: if copied_bytes > 0.0 { rates.copy_limit_gb_s() } else { 0.0 },
            copy_bandwidth_share: f64::from(self.cpu.copy_transactions.get()) * copy_gb_s / peak_gb_s,
            gemm_bandwidth_share: prefill.gemm_read_bytes / reading_s * 1e-9 / peak_gb_s,
            flop_per_byte: self.cpu.peak_gflops() / peak_gb_s,
            buffer_bytes: prefill.buffer.0,
            memory_bytes,
            memory_limit_bytes: self.memory.capacity().0,
        })
    }
}
