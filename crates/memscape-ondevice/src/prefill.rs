//! The study `ondevice.prefill`: time to first token when weights lie once, in the
//! PIM-aware layout, beside the alternatives.

use std::num::NonZeroU64;

use memscape_dram::{Dram, DramError};
use memscape_study::{CostEngine, PresetParameter, Study, StudyError};
use memscape_workload::{Format, Gemv, Matrix, ModelName};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hardware::{Soc, SocError, default_part, presets};
use crate::roofline::COPY_TRANSACTIONS;
use crate::stages::{Split, StageError, StagePlan, check_single_buffer, layer_matrices, least_buffer_bytes};
use crate::timeline::{Costs, StepCost, Timeline, bytes_of, double_buffered, rearranged_online};

/// Prefill of one prompt: the linear layers of all decoder layers.
///
/// Attention, norms and the LM head (one GEMV) are not in it, as in the paper's
/// stages.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PrefillStudy {
    /// Language model
    pub model: ModelName,
    /// Decoder layers to run; all of the model's if not given
    pub layers: Option<NonZeroU64>,
    /// Tokens of the prompt
    pub input_tokens: NonZeroU64,
    /// How weights are stored: `bf16`, `fp16`, `int8`, `int4`, or scaled blocks
    pub format: Format,
    /// How weights in the PIM-aware layout are used by the host
    pub scheme: Scheme,
    /// How the first feed-forward matrix is divided among the copies beside Q, K, V and O
    pub ff0_split: Split,
    /// Bytes of one cacheable buffer; what the largest needs if not given
    pub buffer_bytes: Option<NonZeroU64>,
    /// Which steps pay `soc.step_ms`
    pub step_cost: StepCost,
    /// The processor
    pub soc: Soc,
    /// The DRAM
    pub memory: Dram,
    /// Closed form, or every thread event by event: equal
    pub engine: CostEngine,
}

/// How the host computes with weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scheme {
    /// A second, host-friendly copy in cacheable memory (WD).
    WeightDuplication,
    /// One copy, rearranged by an ideal memory controller (FACIL-O).
    FacilO,
    /// DRAM double buffering: swizzled copies beside GEMM (S-DDB).
    Ddb,
    /// Online rearrangement: swizzled copy, then GEMM (S-OWR).
    Owr,
    /// One host-friendly copy, no PIM (C-GEMM).
    CacheableGemm,
    /// One PIM-aware copy, read uncached for every token (NC-GEMM).
    NonCacheableGemm,
}

impl Scheme {
    /// Whether decode runs on PIM.
    #[must_use]
    pub const fn decodes_on_pim(self) -> bool {
        !matches!(self, Self::CacheableGemm)
    }
}

/// What `ondevice.prefill` answers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct PrefillAnswer {
    /// Time to first token
    pub ttft_s: f64,
    /// Prompt tokens per second
    pub tokens_per_s: f64,
    /// Time of GEMM alone: the time to first token of weight duplication and FACIL-O
    pub gemm_s: f64,
    /// Time of the scheme's swizzled copies alone, nothing beside them
    pub copy_s: f64,
    /// Time to first token beyond GEMM
    pub exposed_s: f64,
    /// Time to first token over that of GEMM alone
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
    /// Peak bandwidth that the swizzled copies alone take, three transactions per byte
    pub copy_bandwidth_share: f64,
    /// Peak compute rate over peak bandwidth
    pub flop_per_byte: f64,
    /// Bytes of one cacheable buffer; 0 if there is none
    pub buffer_bytes: u64,
}

/// Why there is no time.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PrefillError {
    /// The processor contradicts itself.
    #[error(transparent)]
    Soc(#[from] SocError),
    /// The memory contradicts itself.
    #[error("`memory`: {0}")]
    Memory(#[from] DramError),
    /// A buffer is too small.
    #[error(transparent)]
    Stages(#[from] StageError),
    /// More layers than the model has.
    #[error("`layers` is {given}, but the model has {available}")]
    Layers {
        /// Layers asked for.
        given: u64,
        /// Layers of the model.
        available: u64,
    },
    /// A time beyond the clock.
    #[error(
        "the prompt would take about {0:.0e} s, beyond the model's clock; ask for fewer tokens or faster hardware"
    )]
    TooLong(f64),
    /// Nothing to walk.
    #[error(
        "`scheme` = {0:?} has no events of its own; use `engine = \"closed\"`, or `scheme = \"ddb\"` or \"owr\""
    )]
    NoEvents(Scheme),
}

impl Default for PrefillStudy {
    /// Llama 3.2 1B with 128 tokens, double buffered, on the paper's phone.
    fn default() -> Self {
        Self {
            model: "llama-3.2-1b".parse().expect("a built-in model"),
            layers: None,
            input_tokens: NonZeroU64::new(128).expect("not zero"),
            format: Format::BF16,
            scheme: Scheme::Ddb,
            ff0_split: Split::Equal,
            buffer_bytes: None,
            step_cost: StepCost::CreatedThreads,
            soc: default_part("soc"),
            memory: default_part("memory"),
            engine: CostEngine::Closed,
        }
    }
}

/// The parts of a prefill's time, in picoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Times {
    ttft: u64,
    copy: u64,
    hidden_stages: u64,
    copied_bytes: u64,
    buffer_bytes: u64,
}

impl PrefillStudy {
    /// Layers that are run.
    fn layers(&self) -> Result<u64, PrefillError> {
        let available = u64::from(self.model.layers);
        match self.layers.map(NonZeroU64::get) {
            Some(given) if available < given => Err(PrefillError::Layers { given, available }),
            Some(given) => Ok(given),
            None => Ok(available),
        }
    }

    fn matrices(&self) -> Vec<(Matrix, Gemv)> {
        layer_matrices(&self.model)
    }

    fn plan(&self) -> Result<StagePlan, PrefillError> {
        let buffer = self.buffer_bytes.map(NonZeroU64::get);
        Ok(StagePlan::double_buffered(&self.model, self.layers()?, self.format, self.ff0_split, buffer)?)
    }

    /// Costs, with every time known to fit the clock.
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    fn costs(&self) -> Result<Costs, PrefillError> {
        const LONGEST_S: f64 = 1e5;
        self.soc.check()?;
        self.memory.check()?;
        let slowest = self.soc.gemm_rates().into_iter().fold(f64::INFINITY, f64::min) * 1e9;
        let weights = self.model.layer_matrix_parameters() as f64 * self.layers()? as f64;
        let tokens = self.input_tokens.get() as f64;
        let gemm = 2.0 * weights * tokens / slowest * self.soc.gemm_slowdown;
        let uncached = if self.scheme == Scheme::NonCacheableGemm { tokens } else { 1.0 };
        let bytes = weights * self.format.bits_per_element() / 8.0;
        let copy = bytes / (self.soc.copy_gb_s * 1e9) * self.soc.copy_slowdown * uncached;
        let steps = 16.0 * self.layers()? as f64 * self.soc.step_ms * 1e-3 * self.soc.copy_slowdown;
        let estimate = gemm + copy + steps;
        if estimate < LONGEST_S {
            Ok(Costs::new(&self.soc, self.step_cost))
        } else {
            Err(PrefillError::TooLong(estimate))
        }
    }

    /// Every thread's work, event by event, of `ddb` or `owr`.
    ///
    /// # Errors
    /// [`PrefillError`] says what does not fit, or that there are no events.
    pub fn timeline(&self) -> Result<Timeline, PrefillError> {
        let (costs, tokens) = (self.costs()?, self.input_tokens.get());
        match self.scheme {
            Scheme::Ddb => Ok(double_buffered(&self.plan()?, &costs, tokens, self.format)),
            Scheme::Owr => {
                self.single_buffer()?;
                Ok(rearranged_online(&self.matrices(), self.layers()?, &costs, tokens, self.format))
            }
            scheme => Err(PrefillError::NoEvents(scheme)),
        }
    }

    fn single_buffer(&self) -> Result<u64, PrefillError> {
        let have = self
            .buffer_bytes
            .map_or_else(|| least_buffer_bytes(&self.model, self.format, false), NonZeroU64::get);
        check_single_buffer(&self.model, self.format, have)?;
        Ok(have)
    }

    fn bytes(&self, gemv: Gemv) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "elements stay far below 2^53")]
        let elements = gemv.macs() as f64;
        self.format.bits_per_element() / 8.0 * elements
    }

    fn gemm_ps(&self, costs: &Costs) -> Result<u64, PrefillError> {
        let tokens = self.input_tokens.get();
        Ok(self.layers()? * self.matrices().iter().map(|it| costs.gemm_ps(it.1, tokens)).sum::<u64>())
    }

    /// The closed form.
    fn times(&self, costs: &Costs) -> Result<Times, PrefillError> {
        let (layers, tokens) = (self.layers()?, self.input_tokens.get());
        let matrices = self.matrices();
        let gemm = self.gemm_ps(costs)?;
        let weight_bytes = layers * matrices.iter().map(|it| it.1.weight_bytes(self.format).0).sum::<u64>();
        let stages = matrices.len() as u64;
        let idle = Times { ttft: gemm, copy: 0, hidden_stages: stages, copied_bytes: 0, buffer_bytes: 0 };
        Ok(match self.scheme {
            Scheme::WeightDuplication | Scheme::FacilO | Scheme::CacheableGemm => idle,
            Scheme::NonCacheableGemm => {
                let bytes: f64 = matrices.iter().map(|it| self.bytes(it.1)).sum();
                #[expect(clippy::cast_precision_loss, reason = "small counts")]
                let read = costs.uncached_read_ps(bytes * layers as f64 * tokens as f64);
                Times { ttft: read.max(gemm), ..idle }
            }
            Scheme::Owr => {
                let buffer_bytes = self.single_buffer()?;
                let copy =
                    layers * matrices.iter().map(|it| costs.joined_copy_ps(self.bytes(it.1))).sum::<u64>();
                Times { ttft: gemm + copy, copy, hidden_stages: 0, copied_bytes: weight_bytes, buffer_bytes }
            }
            Scheme::Ddb => {
                // Layers but the last are alike: two stand for all.
                let two = StagePlan::double_buffered(
                    &self.model,
                    layers.min(2),
                    self.format,
                    self.ff0_split,
                    self.buffer_bytes.map(NonZeroU64::get),
                )?;
                let preload = costs.copy_ps(bytes_of(&two.preload, self.format));
                let stage_times: Vec<_> = two
                    .stages
                    .iter()
                    .map(|it| {
                        let gemm = costs.gemm_ps(two.matrices[it.gemm.matrix].1, tokens);
                        let copy = costs.copy_ps(bytes_of(&it.copies, self.format));
                        (costs.overlap(gemm, copy), copy)
                    })
                    .collect();
                let (inner, last) = stage_times.split_at(stage_times.len() - two.stages_per_layer());
                let length = |it: &[((u64, u64), u64)]| it.iter().map(|it| it.0.0.max(it.0.1)).sum::<u64>();
                let copy = |it: &[((u64, u64), u64)]| it.iter().map(|it| it.1).sum::<u64>();
                let shown = if inner.is_empty() { last } else { inner };
                Times {
                    ttft: preload + (layers - 1) * length(inner) + length(last),
                    copy: preload + (layers - 1) * copy(inner) + copy(last),
                    hidden_stages: shown.iter().filter(|it| it.0.1 <= it.0.0).count() as u64,
                    copied_bytes: weight_bytes,
                    buffer_bytes: two.buffer_bytes,
                }
            }
        })
    }
}

impl Study for PrefillStudy {
    const NAME: &'static str = "ondevice.prefill";
    const SUMMARY: &'static str =
        "Time to first token on a phone whose weights lie once, in the PIM-aware layout";
    type Answer = PrefillAnswer;

    fn presets() -> Vec<PresetParameter> {
        presets!("soc", "memory")
    }

    #[expect(clippy::cast_precision_loss, reason = "picoseconds and bytes of a prompt stay far below 2^53")]
    fn answer(&self) -> Result<PrefillAnswer, StudyError> {
        let costs = self.costs()?;
        let mut times = self.times(&costs)?;
        if self.engine == CostEngine::Events {
            times.ttft = self.timeline()?.end_ps;
        }
        let seconds = |ps: u64| ps as f64 * 1e-12;
        let (ttft_s, copy_s) = (seconds(times.ttft), seconds(times.copy));
        let gemm_s = seconds(self.gemm_ps(&costs)?);
        let matrices = self.matrices();
        let operations: f64 = matrices.iter().map(|it| it.1.operations() as f64).sum();
        let tokens = self.input_tokens.get() as f64;
        let copied_bytes = times.copied_bytes as f64;
        let peak_gb_s = self.memory.peak_gb_s().as_f64();
        let copy_gb_s = if copy_s > 0.0 { copied_bytes / copy_s * 1e-9 } else { 0.0 };
        Ok(PrefillAnswer {
            ttft_s,
            tokens_per_s: tokens / ttft_s,
            gemm_s,
            copy_s,
            exposed_s: ttft_s - gemm_s,
            over_gemm: ttft_s / gemm_s,
            stages: matrices.len() as u64,
            hidden_stages: times.hidden_stages,
            copy_critical_stages: matrices.len() as u64 - times.hidden_stages,
            copied_bytes,
            gemm_gflops: operations * self.layers()? as f64 * tokens / gemm_s * 1e-9,
            copy_gb_s,
            copy_bandwidth_share: f64::from(COPY_TRANSACTIONS) * copy_gb_s / peak_gb_s,
            flop_per_byte: self.soc.peak_gflops() / peak_gb_s,
            buffer_bytes: times.buffer_bytes,
        })
    }
}
