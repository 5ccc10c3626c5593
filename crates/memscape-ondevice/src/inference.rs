//! The study `ondevice.inference`: a prompt and its reply.

use std::num::NonZeroU64;

use memscape_dram::Dram;
use memscape_study::{CostEngine, PresetParameter, Study, StudyError};
use memscape_workload::{Format, ModelName};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::decode::DecodeStudy;
use crate::hardware::{Soc, presets};
use crate::layout::{PimBlocks, Placement};
use crate::prefill::{PrefillStudy, Scheme};
use crate::stages::Split;
use crate::timeline::StepCost;

/// Prefill on the host, then decode on PIM, beside the same without PIM.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InferenceStudy {
    /// Language model
    pub model: ModelName,
    /// Tokens of the prompt
    pub input_tokens: NonZeroU64,
    /// Tokens generated after it
    pub output_tokens: NonZeroU64,
    /// How weights are stored: `bf16`, `fp16`, `int8`, `int4`
    pub format: Format,
    /// How weights in the PIM-aware layout are used by the host
    pub scheme: Scheme,
    /// How the first feed-forward matrix is divided among the copies beside Q, K, V and O
    pub ff0_split: Split,
    /// Bytes of one cacheable buffer; what the largest needs if not given
    pub buffer_bytes: Option<NonZeroU64>,
    /// Which steps pay `soc.step_ms`
    pub step_cost: StepCost,
    /// Which elements share a burst
    pub placement: Placement,
    /// The DRAM
    pub memory: Dram,
    /// The PIM blocks
    pub pim: PimBlocks,
    /// The processor
    pub soc: Soc,
    /// Whether refresh is on
    pub refresh: bool,
}

/// What `ondevice.inference` answers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct InferenceAnswer {
    /// Time without PIM over that of the scheme, prompt and reply together
    pub speedup: f64,
    /// Prompt and reply
    pub total_s: f64,
    /// Time to first token
    pub ttft_s: f64,
    /// All generated tokens
    pub decode_s: f64,
    /// Time of one generated token
    pub token_ns: f64,
    /// Prompt and reply without PIM
    pub host_total_s: f64,
    /// Time of one generated token without PIM
    pub host_token_ns: f64,
    /// The speedup over that of an ideal memory controller (FACIL-O)
    pub of_facil_o: f64,
}

impl Default for InferenceStudy {
    /// Llama 3.2 1B with 128 tokens in and out, double buffered, on the paper's phone.
    fn default() -> Self {
        let (prefill, decode) = (PrefillStudy::default(), DecodeStudy::default());
        Self {
            model: prefill.model,
            input_tokens: prefill.input_tokens,
            output_tokens: NonZeroU64::new(128).expect("not zero"),
            format: prefill.format,
            scheme: prefill.scheme,
            ff0_split: prefill.ff0_split,
            buffer_bytes: prefill.buffer_bytes,
            step_cost: prefill.step_cost,
            placement: decode.placement,
            memory: decode.memory,
            pim: decode.pim,
            soc: prefill.soc,
            refresh: decode.refresh,
        }
    }
}

impl InferenceStudy {
    fn prefill(&self) -> PrefillStudy {
        PrefillStudy {
            model: self.model,
            layers: None,
            input_tokens: self.input_tokens,
            format: self.format,
            scheme: self.scheme,
            ff0_split: self.ff0_split,
            buffer_bytes: self.buffer_bytes,
            step_cost: self.step_cost,
            soc: self.soc,
            memory: self.memory,
            engine: CostEngine::Closed,
        }
    }
}

impl Study for InferenceStudy {
    const NAME: &'static str = "ondevice.inference";
    const SUMMARY: &'static str = "A prompt and its reply on a phone: prefill on the host, decode on PIM";
    type Answer = InferenceAnswer;

    fn presets() -> Vec<PresetParameter> {
        presets!("memory", "pim", "soc")
    }

    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
    fn answer(&self) -> Result<InferenceAnswer, StudyError> {
        let prefill = self.prefill().answer()?;
        let decode = DecodeStudy {
            model: self.model,
            format: self.format,
            placement: self.placement,
            memory: self.memory,
            pim: self.pim,
            soc: self.soc,
            refresh: self.refresh,
        };
        let token = decode.times()?;
        let token_ns = if self.scheme.decodes_on_pim() { token.on_pim() } else { token.on_host() };
        let tokens = self.output_tokens.get() as f64;
        let decode_s = tokens * token_ns * 1e-9;
        let total_s = prefill.ttft_s + decode_s;
        let host_total_s = prefill.gemm_s + tokens * token.on_host() * 1e-9;
        let facil_total_s = prefill.gemm_s + tokens * token.on_pim() * 1e-9;
        Ok(InferenceAnswer {
            speedup: host_total_s / total_s,
            total_s,
            ttft_s: prefill.ttft_s,
            decode_s,
            token_ns,
            host_total_s,
            host_token_ns: token.on_host(),
            of_facil_o: facil_total_s / total_s,
        })
    }
}
