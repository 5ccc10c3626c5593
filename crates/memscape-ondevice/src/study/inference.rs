//! The study `ondevice.inference`: a prompt and its reply.

use std::num::NonZeroU64;

use memscape_dram::Dram;
use memscape_study::{
    Bound, Energy, EnergyColumns, Graded, Headline, Laws, OperatorCost, Part as _, Pass, Served, Slot, Study,
    StudyError,
};
use memscape_units::{Bytes, Nanoseconds};
use memscape_workload::operators::ATTENTION;
use memscape_workload::{Format, Gemv, Model, Reply};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::prefill::TOGETHER;
use super::{floors, laws, slots};
use crate::cost::attention::Attention;
use crate::cost::energy::PimEnergy;
use crate::cost::footprint::{Keeping, Padding, cache_bytes, check_kept, fitting, kept_bytes, product_bytes};
use crate::cost::gemv::{PimMemory, format_on_phone};
use crate::cost::prefill::{Prefill, PrefillError, PrefillPart, Prompt};
use crate::cost::rates::StepCost;
use crate::cost::token::{Token, TokenPart, WithPim, gemvs, token};
use crate::hardware::{Cpu, PimBlocks, Region};
use crate::mapping::Scheme;
use crate::mapping::layout::Placement;
use crate::mapping::stages::Split;

/// Prefill on the host, then decode on PIM, beside the same without PIM.
///
/// PIM multiplies with one vector, so that it takes the sequences of a batch one after the other; the
/// host copies weights once for all, and its GEMMs read them once for each `cpu.gemm_block_tokens` columns, of
/// a prompt's tokens as of the sequences' next. Attention is the host's in both, over a key-value cache of 16-bit
/// numbers that grows with every token. PIM-aware weights lie in a non-cacheable region.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InferenceStudy {
    /// Language model
    pub model: Model,
    /// Tokens of the prompt of each sequence
    #[schemars(range(min = 1, max = 16_777_216))]
    pub prompt_tokens: NonZeroU64,
    /// Tokens generated after it
    #[schemars(range(min = 1, max = 16_777_216))]
    pub generated_tokens: NonZeroU64,
    /// Sequences at the same time: one after the other on PIM, together on the host
    #[schemars(range(min = 1, max = 65_536))]
    pub batch: NonZeroU64,
    /// How weights are stored: `bf16`, `fp16`, `int8`, `int4`
    #[serde(deserialize_with = "format_on_phone")]
    pub format: Format,
    /// How weights in the PIM-aware layout are used by the host
    pub scheme: Scheme,
    /// Columns of a matrix that a swizzled copy takes together, each DRAM row giving the bursts
    /// that hold them before the copy goes on; no more than a row has
    pub together: NonZeroU64,
    /// How the first feed-forward matrix is divided among the copies beside Q, K, V and O
    pub ff0_split: Split,
    /// Bytes of one cacheable buffer; what the largest needs if not given
    pub buffer_bytes: Option<NonZeroU64>,
    /// Which steps pay `cpu.step_ms`
    pub step_cost: StepCost,
    /// Which elements share a burst
    pub placement: Placement,
    /// The DRAM
    pub memory: Dram,
    /// The PIM blocks
    pub pim: PimBlocks,
    /// The processor
    pub cpu: Cpu,
    /// What a PIM block's multiply-accumulate takes for each bit of its weight; null where nothing is
    /// known of it
    pub mac_pj_per_bit: Option<Graded>,
    /// Whether refresh is on
    pub refresh: bool,
}

/// What `ondevice.inference` answers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct InferenceAnswer {
    /// What every system answers
    #[serde(flatten)]
    pub headline: Headline,
    /// Time without PIM over that of the scheme, prompt and reply together
    pub speedup: f64,
    /// All generated tokens
    pub decode_s: f64,
    /// Prompt and reply without PIM
    pub host_total_s: f64,
    /// Time of one generated token of each sequence without PIM
    pub host_token_ns: f64,
    /// The speedup over that of an ideal memory controller (FACIL-O); null where PIM cannot have the
    /// weights, which only schemes that decode on the host may ask for
    pub of_facil_o: Option<f64>,
    /// Peak compute rate over peak bandwidth
    pub flop_per_byte: f64,
}

impl Default for InferenceStudy {
    /// Llama 3.2 1B with 128 tokens in and out, double buffered, on the paper's phone.
    fn default() -> Self {
        let phone = slots::phone();
        let tokens = NonZeroU64::new(128).expect("not zero");
        Self {
            model: slots::model(),
            prompt_tokens: tokens,
            generated_tokens: tokens,
            batch: NonZeroU64::MIN,
            format: Format::BF16,
            scheme: Scheme::Ddb,
            together: TOGETHER,
            ff0_split: Split::Equal,
            buffer_bytes: None,
            step_cost: StepCost::CreatedThreads,
            placement: Placement::ColumnBursts,
            memory: phone.memory,
            pim: phone.pim,
            cpu: phone.cpu,
            mac_pj_per_bit: phone.mac_pj_per_bit,
            refresh: true,
        }
    }
}

impl InferenceStudy {
    fn prompt(&self) -> Prompt {
        Prompt {
            model: *self.model,
            layers: self.model.layers.into(),
            tokens: self.prompt_tokens.get(),
            sequences: self.batch.get(),
            format: self.format,
            scheme: self.scheme,
            region: Region::NonCacheable,
            run_bursts: self.run_bursts(),
            step_cost: self.step_cost,
            ff0_split: self.ff0_split,
            buffer: self.buffer_bytes.map(|it| Bytes(it.get())),
            refresh: self.refresh,
        }
    }

    fn pim_memory(&self) -> PimMemory {
        PimMemory::new(&self.memory, self.pim, self.format, self.placement, self.refresh)
    }

    /// Bursts of a DRAM row that a copy takes at a time.
    fn run_bursts(&self) -> u64 {
        let Self { together, format, memory, pim, .. } = self;
        self.placement.run_bursts(together.get(), format.element_bits(), memory, pim)
    }

    const fn reply(&self) -> Reply {
        Reply { prompt: self.prompt_tokens.get(), tokens: self.generated_tokens }
    }

    /// Prompt and token, operator by operator.
    ///
    /// # Errors
    /// As of the study, but that nothing is refused for its size.
    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
    pub fn operators(&self) -> Result<Vec<OperatorCost>, StudyError> {
        check_kept(self.scheme, self.format, &self.model)?;
        let (prompt, pim) = (self.prompt(), self.pim_memory());
        let rates = prompt.rates(&self.cpu, &self.memory)?;
        let (layers, columns) = (prompt.layers as f64, prompt.columns() as f64);
        let on_host = |operations: f64, bytes: f64| {
            let read = bytes / self.memory.peak_gb_s().as_f64();
            Nanoseconds::new(read.max(operations / self.cpu.gemm_peak_gflops()))
        };
        let weights = |shape: &Gemv| shape.weight_bytes(self.format).0 as f64;
        let mut costs = Vec::new();
        for (matrix, shape) in prompt.matrices()? {
            let least = on_host(layers * columns * shape.operations() as f64, layers * weights(&shape))?;
            let gemm = rates.gemm(shape, prompt.columns()).length * prompt.layers;
            costs.push(OperatorCost::new(Pass::Prompt, matrix.name(), least, [("gemm", gemm.into())]));
        }
        let prefill = prompt.closed(&rates)?.time;
        let attends = prompt.attends()?;
        let least = on_host(attends.operations, attends.cache_bytes)?;
        let attention = [("attention", prefill[PrefillPart::Attention].into())];
        costs.push(OperatorCost::new(Pass::Prompt, ATTENTION, least, attention));
        let copies = [("exposed", prefill[PrefillPart::Exposed].into())];
        costs.push(OperatorCost::new(Pass::Prompt, "copies", Nanoseconds::ZERO, copies));

        let (reply, batch) = (self.reply(), self.batch.get());
        let on_pim = self.scheme.decodes_on_pim();
        for it in gemvs(&self.model, &pim, &self.cpu, batch)? {
            let (times, bytes) = (it.count as f64, weights(&it.shape));
            let name = it.matrix.name();
            costs.push(if let Some(on_pim) = it.on_pim.filter(|_| on_pim) {
                let bytes = bytes * times * batch as f64;
                let least = Nanoseconds::new(floors::on_blocks_ns(bytes, &self.memory, &self.pim))?;
                let all = on_pim * batch;
                let parts: Vec<_> = all.iter().map(|(part, time)| (part.name(), time.into())).collect();
                OperatorCost::new(Pass::Token, name, least, parts)
            } else {
                let least = on_host(times * batch as f64 * it.shape.operations() as f64, times * bytes)?;
                OperatorCost::new(Pass::Token, name, least, [("gemm", Nanoseconds::new(it.on_host_ns)?)])
            });
        }
        let token = token(&self.model, &pim, &self.cpu, reply, batch)?;
        let time = self.decodes_with(&token)?.map_or(token.on_host, |it| it.time);
        let attends = Attention::of_reply(&self.model, reply).of_all(batch);
        let least = on_host(attends.operations, attends.cache_bytes)?;
        let attention = [("attention", time[TokenPart::Attention].into())];
        costs.push(OperatorCost::new(Pass::Token, ATTENTION, least, attention));
        let overhead = [("overhead", time[TokenPart::Overhead].into())];
        costs.push(OperatorCost::new(Pass::Token, "rest", Nanoseconds::ZERO, overhead));
        Ok(costs)
    }

    /// A token on PIM, if the scheme has it there.
    fn decodes_with<'a>(&self, token: &'a Token) -> Result<Option<&'a WithPim>, StudyError> {
        Ok(if self.scheme.decodes_on_pim() { Some(token.on_pim()?) } else { None })
    }

    /// What the memory takes for the prompts, and for a token of each sequence.
    fn energy(&self, prefill: &Prefill, token: &Token) -> Result<Option<[Energy; 2]>, StudyError> {
        let Self { memory, pim, mac_pj_per_bit, refresh, .. } = self;
        let meter = PimEnergy { memory, pim, mac_pj_per_bit: *mac_pj_per_bit, refresh: *refresh };
        let prompt = meter.of_prompt(&self.prompt(), prefill, &self.cpu)?;
        let token = meter.of_token(token, self.decodes_with(token)?);
        Ok(prompt.zip(token).map(<[_; 2]>::from))
    }

    /// Weights as the scheme keeps them, the key-value caches of all sequences with every token in them, and
    /// the prompt's largest product, if there is as much.
    fn memory_bytes(&self) -> Result<Bytes, StudyError> {
        let keeping = Keeping {
            format: self.format,
            scheme: self.scheme,
            buffer: self.buffer_bytes.map(|it| Bytes(it.get())),
            padding: Padding::default(),
            placement: self.placement,
        };
        let weights = kept_bytes(&self.model, &keeping, &self.memory, &self.pim)?.0;
        let (prompt, batch) = (self.prompt_tokens.get(), self.batch.get());
        let tokens = prompt.saturating_add(self.generated_tokens.get());
        let kept = Bytes(weights.saturating_add(cache_bytes(&self.model, tokens, batch).0));
        let product = product_bytes(&self.model, prompt, batch).map_err(PrefillError::from)?;
        Ok(fitting(kept, product, &self.memory)?)
    }
}

impl Study for InferenceStudy {
    const NAME: &'static str = "ondevice.inference";
    const SUMMARY: &'static str = "A prompt and its reply on a phone: prefill on the host, decode on PIM";
    type Answer = InferenceAnswer;

    const SUMS: &'static [(&'static str, &'static [&'static str])] =
        &[("total_s", &["ttft_s", "decode_s"]), EnergyColumns::SUM];

    const LAWS: Laws = laws::INFERENCE;

    const OPERATORS: Option<fn(&Self) -> Result<Vec<OperatorCost>, StudyError>> = Some(Self::operators);

    fn bounds(&self) -> Vec<Bound> {
        let Self { model, format, cpu, memory, .. } = self;
        let floor = floors::Floor { model, layers: model.layers.into(), format: *format, cpu, memory };
        let mut bounds = floor.prompt(self.prompt_tokens.get(), self.batch.get(), "ttft_s");
        bounds.push(floors::capacity(memory));
        bounds
    }

    fn slots() -> Vec<Slot> {
        slots::all()
    }

    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
    fn answer(&self) -> Result<InferenceAnswer, StudyError> {
        check_kept(self.scheme, self.format, &self.model)?;
        let memory_bytes = self.memory_bytes()?.0;
        let prompt = self.prompt();
        let rates = prompt.rates(&self.cpu, &self.memory)?;
        let batch = self.batch.get();
        let token = token(&self.model, &self.pim_memory(), &self.cpu, self.reply(), batch)?;
        let prefilled = prompt.closed(&rates)?;
        let prefill = prefilled.time;

        let generated = self.generated_tokens.get() as f64;
        let alone = prefill[PrefillPart::Gemm] + prefill[PrefillPart::Attention];
        let (ttft_ns, alone_ns) = (prefill.total().as_ns(), alone.as_ns());
        let (pim_ns, host_ns) =
            (token.on_pim().ok().map(|it| it.time.total().as_ns()), token.on_host.total().as_ns());
        let on_pim = self.decodes_with(&token)?;
        let token_ns = on_pim.map_or(host_ns, |it| it.time.total().as_ns());
        let headline = Headline::of(&Served {
            prompt_tokens: self.prompt_tokens.get(),
            generated_tokens: self.generated_tokens.get(),
            batch,
            prompt: Nanoseconds::new(ttft_ns)?,
            step: Nanoseconds::new(token_ns)?,
            memory_bytes,
            memory_limit_bytes: Some(self.memory.capacity().0),
            bound_by: token.bound_by(on_pim),
            energy: self.energy(&prefilled, &token)?,
            package_w: None,
            cost_usd: None,
        });
        let total_s = |prompt_ns: f64, step_ns: f64| (prompt_ns + generated * step_ns) * 1e-9;
        let host_total_s = total_s(alone_ns, host_ns);
        Ok(InferenceAnswer {
            headline,
            speedup: host_total_s / headline.total_s,
            decode_s: generated * token_ns * 1e-9,
            host_total_s,
            host_token_ns: host_ns,
            of_facil_o: pim_ns.map(|it| total_s(alone_ns, it) / headline.total_s),
            flop_per_byte: self.cpu.peak_gflops() / self.memory.peak_gb_s().as_f64(),
        })
    }
}
