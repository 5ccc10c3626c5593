//! How long a prompt takes, by scheme.

use memscape_dram::{Dram, DramError, UNUSED_BY_READS};
use memscape_study::{Breakdown, Recorder, parts};
use memscape_units::{Bytes, Picoseconds};
use memscape_workload::{Format, Gemv, Llm, Matrix, OperatorError};

use super::attention::Attention;
use super::footprint::first_layers;
use super::memory::Bandwidth;
use super::rates::{Rates, Software, StepCost};
use super::threads::{Work, bytes_of, double_buffered, one_by_one};
use crate::hardware::{Cpu, CpuError, Region};
use crate::mapping::Scheme;
use crate::mapping::stages::{
    Split, Stage, StageError, StagePlan, check_single_buffer, elements_bytes, layer_matrices,
    least_buffer_bytes,
};

parts! {
    /// Where the time to the first token goes.
    pub enum PrefillPart {
        /// GEMM, as if the weights lay where it wants them.
        Gemm = "gemm",
        /// Attention among the tokens of the prompt.
        Attention = "attention",
        /// What copies, and waiting for them, add.
        Exposed = "exposed",
    }
}

/// A prompt and how the host gets at the weights for it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prompt {
    /// The language model.
    pub model: Llm,
    /// Decoder layers of it that are run.
    pub layers: u64,
    /// Tokens of each sequence.
    pub tokens: u64,
    /// Sequences, whose tokens are the columns of one GEMM: weights are read and copied once for all.
    pub sequences: u64,
    /// How weights are stored.
    pub format: Format,
    /// How weights in the PIM-aware layout are used.
    pub scheme: Scheme,
    /// Where they lie.
    pub region: Region,
    /// Bursts of a DRAM row that a swizzled copy takes before it leaves the row.
    pub run_bursts: u64,
    /// Which steps pay a fixed cost.
    pub step_cost: StepCost,
    /// How the first feed-forward matrix is divided among copies.
    pub ff0_split: Split,
    /// Bytes of one cacheable buffer; the least that does if none.
    pub buffer: Option<Bytes>,
    /// Whether the memory is refreshed meanwhile.
    pub refresh: bool,
}

/// What a prompt takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prefill {
    /// Time to first token.
    pub time: Breakdown<PrefillPart>,
    /// Time of the scheme's copies alone, nothing beside them.
    pub copy: Picoseconds,
    /// Bytes of weights that GEMM reads from DRAM: past the caches all of them, for each column.
    pub gemm_read_bytes: f64,
    /// Stages of one layer whose copy ends no later than their GEMM.
    pub hidden_stages: u64,
    /// Weights copied.
    pub copied: Bytes,
    /// One cacheable buffer; 0 if there is none.
    pub buffer: Bytes,
}

/// Why a prompt has no time.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PrefillError {
    /// The processor contradicts itself.
    #[error(transparent)]
    Cpu(#[from] CpuError),
    /// The memory contradicts itself.
    #[error("`memory`: {0}")]
    Memory(#[from] DramError),
    /// The prompt is too long to count what it does.
    #[error("`prompt_tokens`: {0}")]
    Attention(#[from] OperatorError),
    /// Uncached GEMM from a region with caches.
    #[error(
        "`scheme` = \"non-cacheable-gemm\" reads weights past the caches, but `region` is \"cacheable\"; use \
         `region = \"non-cacheable\"`, or `scheme = \"cacheable-gemm\"`"
    )]
    Cached,
    /// A buffer is too small, or the model has no stages.
    #[error(transparent)]
    Stages(#[from] StageError),
    /// A time beyond the clock.
    #[error(
        "the prompt would take about {0:.0e} s, beyond the model's clock; ask for fewer tokens or faster hardware"
    )]
    TooLong(f64),
    /// Nothing to walk.
    #[error(
        "`scheme` = \"non-cacheable-gemm\" has no events: its products neither wait nor overlap; use another scheme, or ask \
         `ondevice.prefill` by `engine = \"closed\"`"
    )]
    NoEvents,
}

impl Prompt {
    /// The linear layers of one decoder layer.
    ///
    /// # Errors
    /// [`StageError::Experts`] if the model has experts.
    pub fn matrices(&self) -> Result<Vec<(Matrix, Gemv)>, StageError> {
        layer_matrices(&self.model)
    }

    /// What copies and GEMMs take on this phone, all of them known to fit the clock.
    ///
    /// # Errors
    /// [`PrefillError`] if processor or memory contradict themselves, or the prompt is
    /// too long for them.
    pub fn rates(&self, cpu: &Cpu, memory: &Dram) -> Result<Rates, PrefillError> {
        const LONGEST_S: f64 = 1e5;
        cpu.check()?;
        memory.easing(UNUSED_BY_READS).check()?;
        if self.scheme == Scheme::NonCacheableGemm && self.region == Region::Cacheable {
            return Err(PrefillError::Cached);
        }
        let bandwidth = Bandwidth::of(memory, cpu.memory_efficiency, self.run_bursts, self.refresh);
        let estimate = self.estimate_s(cpu, &bandwidth)?;
        if estimate < LONGEST_S {
            let Self { step_cost, region, format, .. } = *self;
            Ok(Rates::new(cpu, bandwidth, &Software { step_cost, region, format }))
        } else {
            Err(PrefillError::TooLong(estimate))
        }
    }

    /// At least as long as any part of it, in seconds.
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    fn estimate_s(&self, cpu: &Cpu, bandwidth: &Bandwidth) -> Result<f64, PrefillError> {
        let weights = self.model.layer_matrix_parameters() as f64 * self.layers as f64;
        let tokens = self.columns() as f64;
        let attention = self.attends()?;
        let computed = (2.0 * weights * tokens + attention.operations) / cpu.gemm_gflops();
        let uncached = if self.scheme == Scheme::NonCacheableGemm { tokens } else { 1.0 };
        let bytes = weights * self.format.bits_per_element() / 8.0;
        // Weights, keys and values are read once for a block of tokens.
        let weights_read = bytes * (tokens / cpu.gemm_block_tokens).max(1.0);
        let attention_read = (attention.query_bytes / cpu.gemm_block_tokens).max(attention.cache_bytes);
        let read = (weights_read + attention_read) / bandwidth.stream;
        let by_thread = bytes / cpu.thread_copy_gb_s(self.region);
        let copied = (by_thread + bandwidth.copy_ns(bytes, cpu.copy_transactions.get())) * uncached;
        let steps = 16.0 * self.layers as f64 * cpu.step().as_f64();
        Ok((computed + read + copied + steps) * 1e-9)
    }

    /// Columns of each GEMM: the tokens of all sequences.
    #[must_use]
    pub const fn columns(&self) -> u64 {
        self.tokens.saturating_mul(self.sequences)
    }

    /// What attention of the layers that are run does for all sequences.
    ///
    /// # Errors
    /// [`OperatorError`] if a prompt is beyond what can be counted.
    pub fn attends(&self) -> Result<Attention, OperatorError> {
        Ok(Attention::of_prompt(&first_layers(&self.model, self.layers), self.tokens)?.of_all(self.sequences))
    }

    /// What all stages of GEMM take alone.
    fn gemm(&self, rates: &Rates) -> Result<Picoseconds, PrefillError> {
        let layer = self.matrices()?.into_iter().map(|it| rates.gemm(it.1, self.columns()).length);
        Ok(layer.sum::<Picoseconds>() * self.layers)
    }

    #[expect(clippy::cast_precision_loss, reason = "few layers")]
    fn gemm_read_bytes(&self, rates: &Rates) -> Result<f64, PrefillError> {
        let layer: f64 = self.matrices()?.iter().map(|it| rates.gemm_read_bytes(it.1, self.columns())).sum();
        Ok(layer * self.layers as f64)
    }

    fn work(&self) -> Result<Work, PrefillError> {
        let (attention, tokens, format) = (self.attends()?, self.columns(), self.format);
        Ok(Work { tokens, format, attention, layers: self.layers })
    }

    /// Attention of the layers that are run.
    fn attention(&self, rates: &Rates) -> Result<Picoseconds, PrefillError> {
        let Work { attention, layers, .. } = self.work()?;
        Ok(rates.attention_share(0, &attention, layers).length * layers)
    }

    /// The closed form.
    ///
    /// # Errors
    /// [`PrefillError`] says what does not fit.
    pub fn closed(&self, rates: &Rates) -> Result<Prefill, PrefillError> {
        let (gemm, gemm_read_bytes) = (self.gemm(rates)?, self.gemm_read_bytes(rates)?);
        let attention = self.attention(rates)?;
        let exposed = |stages: Picoseconds| {
            let exposed = (PrefillPart::Exposed, stages - gemm);
            [(PrefillPart::Gemm, gemm), (PrefillPart::Attention, attention), exposed].into_iter().collect()
        };
        let idle = Prefill {
            time: exposed(gemm),
            copy: Picoseconds::ZERO,
            gemm_read_bytes,
            hidden_stages: self.matrices()?.len() as u64,
            copied: Bytes(0),
            buffer: Bytes(0),
        };
        match self.scheme {
            Scheme::WeightDuplication | Scheme::FacilO | Scheme::CacheableGemm => Ok(idle),
            Scheme::NonCacheableGemm => {
                let gemm_read_bytes = self.uncached_bytes()?;
                let read = rates.uncached_read(gemm_read_bytes);
                Ok(Prefill { time: exposed(read.max(gemm)), gemm_read_bytes, ..idle })
            }
            Scheme::Owr => {
                let buffer = self.single_buffer()?;
                let copy = self.joined_copies(rates)?;
                let (time, copied) = (exposed(gemm + copy), self.weight_bytes()?);
                Ok(Prefill { time, copy, hidden_stages: 0, copied, buffer, ..idle })
            }
            Scheme::Ddb => {
                let (stages, buffered) = self.double_buffered(rates)?;
                let (time, copied) = (exposed(stages), self.weight_bytes()?);
                Ok(Prefill { time, gemm_read_bytes, copied, ..buffered })
            }
        }
    }

    /// Every thread's work, event by event, and when it is over.
    ///
    /// # Errors
    /// [`PrefillError`] says what does not fit, or that there are no events.
    pub fn walk(&self, rates: &Rates, recorder: &mut dyn Recorder) -> Result<Picoseconds, PrefillError> {
        match self.scheme {
            Scheme::Ddb => {
                let plan = self.plan(self.layers)?;
                Ok(double_buffered(&plan, rates, &self.work()?, recorder))
            }
            Scheme::Owr => {
                self.single_buffer()?;
                Ok(one_by_one(&self.matrices()?, self.layers, true, rates, &self.work()?, recorder))
            }
            Scheme::WeightDuplication | Scheme::FacilO | Scheme::CacheableGemm => {
                Ok(one_by_one(&self.matrices()?, self.layers, false, rates, &self.work()?, recorder))
            }
            Scheme::NonCacheableGemm => Err(PrefillError::NoEvents),
        }
    }

    /// All weights once per column, as GEMM past the caches reads them.
    #[expect(clippy::cast_precision_loss, reason = "bytes stay far below 2^53")]
    fn uncached_bytes(&self) -> Result<f64, PrefillError> {
        Ok(self.weight_bytes()?.0 as f64 * self.columns() as f64)
    }

    /// Every matrix by all threads, one after the other.
    fn joined_copies(&self, rates: &Rates) -> Result<Picoseconds, PrefillError> {
        let matrices = self.matrices()?;
        let times = matrices.iter().map(|it| rates.joined_copy(elements_bytes(it.1.macs(), self.format)));
        Ok(times.sum::<Picoseconds>() * self.layers)
    }

    fn weight_bytes(&self) -> Result<Bytes, PrefillError> {
        let layer: u64 = self.matrices()?.iter().map(|it| it.1.weight_bytes(self.format).0).sum();
        Ok(Bytes(self.layers * layer))
    }

    /// One cacheable buffer that the scheme keeps; 0 if it keeps none.
    ///
    /// # Errors
    /// [`PrefillError`] if it is too small, or the model has no stages.
    pub fn buffer_bytes(&self) -> Result<Bytes, PrefillError> {
        match self.scheme {
            Scheme::Owr => self.single_buffer(),
            // Layers are alike.
            Scheme::Ddb => Ok(Bytes(self.plan(self.layers.min(2))?.buffer_bytes)),
            _ => Ok(Bytes(0)),
        }
    }

    fn single_buffer(&self) -> Result<Bytes, PrefillError> {
        let have = match self.buffer {
            Some(given) => given.0,
            None => least_buffer_bytes(&self.model, self.format, false)?,
        };
        check_single_buffer(&self.model, self.format, have)?;
        Ok(Bytes(have))
    }

    fn plan(&self, layers: u64) -> Result<StagePlan, PrefillError> {
        let buffer = self.buffer.map(|it| it.0);
        Ok(StagePlan::double_buffered(&self.model, layers, self.format, self.ff0_split, buffer)?)
    }

    /// Stage by stage, each as long as the longer of its GEMM and its copy: the time
    /// to the first token, and the rest of the answer.
    fn double_buffered(&self, rates: &Rates) -> Result<(Picoseconds, Prefill), PrefillError> {
        // Layers but the last are alike: two stand for all.
        let two = self.plan(self.layers.min(2))?;
        let preload = rates.copy(bytes_of(&two.preload, self.format));
        let timed = |it: &Stage| {
            let copy = rates.copy(bytes_of(&it.copies, self.format));
            let gemm = rates.gemm(two.matrices[it.gemm.matrix].1, self.columns());
            let length = gemm.beside(copy);
            TimedStage { length, copy, hidden: length == gemm.length }
        };
        let stages: Vec<_> = two.stages.iter().map(timed).collect();
        let (inner, last) = stages.split_at(stages.len() - two.stages_per_layer());
        let all_layers = |of: fn(&TimedStage) -> Picoseconds| {
            let sum = |it: &[TimedStage]| it.iter().map(of).sum::<Picoseconds>();
            preload + sum(inner) * (self.layers - 1) + sum(last)
        };
        let shown = if inner.is_empty() { last } else { inner };
        let prefill = Prefill {
            time: Breakdown::default(),
            copy: all_layers(|it| it.copy),
            gemm_read_bytes: 0.0,
            hidden_stages: shown.iter().filter(|it| it.hidden).count() as u64,
            copied: Bytes(0),
            buffer: Bytes(two.buffer_bytes),
        };
        Ok((all_layers(|it| it.length), prefill))
    }
}

/// A stage of double buffering.
struct TimedStage {
    length: Picoseconds,
    /// Of its copy, undisturbed.
    copy: Picoseconds,
    hidden: bool,
}
