//! The study `pim.token`: one generated token, and a whole reply, with the weight
//! GEMVs of the layers on PIM and everything else on the processor.

use std::num::{NonZeroU32, NonZeroU64};

use memscape_dram::Dram;
use memscape_study::{CostEngine, PresetParameter, Study, StudyError};
use memscape_workload::{Format, Matrix, ModelName, Operator, OperatorKind, Projections};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::gemv::{GemvStudy, Placement, presets};
use crate::hardware::{PimUnit, Soc};
use crate::placement::{CrDegree, RegisterRule, TilePolicy};

/// Tokens of a language model, generated one at a time: weight matrices of the
/// layers on PIM, the rest on the processor.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenStudy {
    /// Language model
    pub model: ModelName,
    /// How weights are stored: `int8`, `int4`, `fp16`, or scaled blocks such as `mx-int8-b32`
    pub format: Format,
    /// Width of one element of the key-value cache
    pub kv_bits: NonZeroU32,
    /// Width of one activation between operators
    pub activation_bits: NonZeroU32,
    /// Whether attention scores stay on the chip
    pub attention: Attention,
    /// Where the language-model head runs
    pub lm_head: LmHead,
    /// Whether Q, K and V (and gate and up) are one matrix
    pub projections: Projections,
    /// Tokens of the prompt
    pub prompt_tokens: NonZeroU64,
    /// Tokens generated after it
    pub generated_tokens: NonZeroU64,
    /// The DRAM
    pub memory: Dram,
    /// Bytes in one interleaving unit of memory, which a tile fills
    pub interleave_bytes: NonZeroU64,
    /// The PIM unit of each bank
    pub pim: PimUnit,
    /// The processor
    pub soc: Soc,
    /// Tile height: `algorithm1`, `best`, or rows per tile
    pub tile: TilePolicy,
    /// Row-blocks that share one pass over the input: `max` (algorithm 3), `divisor`, or a degree
    pub cr_degree: CrDegree,
    /// Parts into which the columns are cut, each with its share of the channels
    pub split_k: NonZeroU32,
    /// Which registers tile height and CR degree are held to
    pub register_rule: RegisterRule,
    /// Whether the processor's adding of split-K partial sums is charged
    pub charge_reduction: bool,
    /// Whether refresh is on (the paper's models have it off)
    pub refresh: bool,
}

/// Whether attention scores pass through memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Attention {
    /// Scores stay on the chip.
    Fused,
    /// Scores are written to memory and read back.
    Unfused,
}

/// Where the language-model head runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LmHead {
    /// On the processor.
    Soc,
    /// On PIM, like the matrices of the layers.
    Pim,
}

/// What `pim.token` answers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct TokenAnswer {
    /// Time per token on the processor alone over that with PIM
    pub token_speedup: f64,
    /// The same for prompt and all generated tokens
    pub end_to_end_speedup: f64,
    /// Time of one token with PIM, at the mean context
    pub token_ns: f64,
    /// Time of one token on the processor alone
    pub soc_token_ns: f64,
    /// Time of the prompt, on the processor
    pub prompt_ns: f64,
    /// Generated tokens per second with PIM
    pub tokens_per_s: f64,
    /// Share of token generation in prompt and reply, on the processor alone
    pub soc_generation_share: f64,
    /// Weight matrices on PIM
    pub pim_gemv_ns: f64,
    /// The same matrices on the processor
    pub soc_gemv_ns: f64,
    /// Language-model head and embedding projections on the processor
    pub head_ns: f64,
    /// Attention over the context
    pub attention_ns: f64,
    /// Norms, activations, residuals
    pub vector_ns: f64,
    /// Mean context of the generated tokens
    pub context_tokens: u64,
}

impl Default for TokenStudy {
    /// OPT-6.7B with the paper's prompt of 1920 and 128 generated tokens.
    fn default() -> Self {
        let gemv = GemvStudy::default();
        let count = |value| NonZeroU32::new(value).expect("not zero");
        Self {
            model: gemv.model,
            format: gemv.format,
            kv_bits: count(8),
            activation_bits: count(16),
            attention: Attention::Fused,
            lm_head: LmHead::Soc,
            projections: Projections::Merged,
            prompt_tokens: NonZeroU64::new(1920).expect("not zero"),
            generated_tokens: NonZeroU64::new(128).expect("not zero"),
            memory: gemv.memory,
            interleave_bytes: gemv.interleave_bytes,
            pim: gemv.pim,
            soc: gemv.soc,
            tile: gemv.tile,
            cr_degree: gemv.cr_degree,
            split_k: gemv.split_k,
            register_rule: gemv.register_rule,
            charge_reduction: gemv.charge_reduction,
            refresh: gemv.refresh,
        }
    }
}

impl TokenStudy {
    /// The study of one of the model's matrices on the same machine.
    #[must_use]
    pub fn gemv(&self, matrix: Matrix) -> GemvStudy {
        GemvStudy {
            model: self.model,
            gemv: matrix,
            m: None,
            k: None,
            format: self.format,
            memory: self.memory,
            interleave_bytes: self.interleave_bytes,
            pim: self.pim,
            soc: self.soc,
            tile: self.tile,
            cr_degree: self.cr_degree,
            split_k: self.split_k,
            register_rule: self.register_rule,
            placement: Placement::Pimnast,
            charge_reduction: self.charge_reduction,
            refresh: self.refresh,
            engine: CostEngine::Closed,
        }
    }

    /// An operator on the processor, all its instances: the slower of computing
    /// and moving its data.
    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
    fn soc_ns(&self, operator: &Operator) -> f64 {
        let scores = match self.attention {
            Attention::Fused => 0,
            Attention::Unfused => operator.score_read_elements + operator.score_written_elements,
        };
        let activations = operator.activation_read_elements
            + operator.activation_written_elements
            + operator.vector_weight_elements
            + scores;
        let kv = operator.kv_read_elements + operator.kv_written_elements;
        let bytes = self.format.storage_bits(operator.weight_elements) as f64 / 8.0
            + kv as f64 * f64::from(self.kv_bits.get()) / 8.0
            + activations as f64 * f64::from(self.activation_bits.get()) / 8.0;
        let bits = self.format.element_bits();
        let bandwidth = self.gemv(Matrix::LmHead).bandwidth();
        let time = self.soc.gemv_time(operator.operations, bits, bytes, bandwidth);
        operator.count as f64 * time.as_f64()
    }
}

impl Study for TokenStudy {
    const NAME: &'static str = "pim.token";
    const SUMMARY: &'static str =
        "Per-token and end-to-end time of a language model with its GEMVs on LPDDR-PIM";
    type Answer = TokenAnswer;

    fn presets() -> Vec<PresetParameter> {
        presets()
    }

    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
    fn answer(&self) -> Result<TokenAnswer, StudyError> {
        let (prompt, generated) = (self.prompt_tokens.get(), self.generated_tokens.get());
        // Time is linear in the context, so the mean context gives the mean time.
        let context = prompt.saturating_add(generated.div_ceil(2));
        let decode = self.model.decode_operators(context, self.projections)?;
        let layers = u64::from(self.model.layers);

        let (mut pim_gemv, mut soc_gemv, mut head, mut attention, mut vector) = (0.0, 0.0, 0.0, 0.0, 0.0);
        let matrices: Vec<_> = self.model.layer_gemvs(self.projections).map(|it| it.0).collect();
        for &matrix in &matrices {
            let answer = self.gemv(matrix).answer()?;
            pim_gemv += layers as f64 * answer.time_ns;
            soc_gemv += layers as f64 * answer.soc_time_ns;
        }
        for operator in &decode {
            let time = self.soc_ns(operator);
            match operator.kind {
                // The layers' matrices are timed above, one by one.
                OperatorKind::Matrix if matrices.iter().any(|it| it.name() == operator.name) => {}
                OperatorKind::Matrix if operator.name == "lm_head" && self.lm_head == LmHead::Pim => {
                    pim_gemv += self.gemv(Matrix::LmHead).answer()?.time_ns;
                    soc_gemv += time;
                }
                OperatorKind::Matrix => head += time,
                OperatorKind::Attention => attention += time,
                OperatorKind::Vector => vector += time,
            }
        }
        let prompt_ns: f64 =
            self.model.prefill_operators(prompt, self.projections)?.iter().map(|it| self.soc_ns(it)).sum();

        let rest = head + attention + vector;
        let (token, soc_token) = (pim_gemv + rest, soc_gemv + rest);
        let tokens = generated as f64;
        Ok(TokenAnswer {
            token_speedup: soc_token / token,
            end_to_end_speedup: (prompt_ns + tokens * soc_token) / (prompt_ns + tokens * token),
            token_ns: token,
            soc_token_ns: soc_token,
            prompt_ns,
            tokens_per_s: 1e9 / token,
            soc_generation_share: tokens * soc_token / (prompt_ns + tokens * soc_token),
            pim_gemv_ns: pim_gemv,
            soc_gemv_ns: soc_gemv,
            head_ns: head,
            attention_ns: attention,
            vector_ns: vector,
            context_tokens: context,
        })
    }
}
