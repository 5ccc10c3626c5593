//! The study `ondevice.decode`: one generated token.

use std::num::NonZeroU64;

use memscape_dram::Dram;
use memscape_study::{Bound, Laws, Slot, Study, StudyError};
use memscape_units::Bytes;
use memscape_workload::{Format, Model, Reply};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{floors, laws, slots};
use crate::cost::footprint::{Keeping, Padding, cache_bytes, fitting, kept_bytes};
use crate::cost::gemv::{PimMemory, format_on_pim};
use crate::cost::token::{TokenPart, token};
use crate::hardware::{Cpu, PimBlocks};
use crate::mapping::Scheme;
use crate::mapping::layout::Placement;

/// One generated token: all linear layers and the LM head on PIM, beside the same
/// on the host.
///
/// Whichever does the GEMVs, the host does attention, and what is left is
/// `cpu.product_overhead_us` for each of them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DecodeStudy {
    /// Language model
    pub model: Model,
    /// Tokens before it, to which it attends
    pub context_tokens: u64,
    /// How weights are stored: `bf16`, `fp16`, `int8`, `int4`
    #[serde(deserialize_with = "format_on_pim")]
    pub format: Format,
    /// Which elements share a burst
    pub placement: Placement,
    /// The DRAM
    pub memory: Dram,
    /// The PIM blocks
    pub pim: PimBlocks,
    /// The processor
    pub cpu: Cpu,
    /// Whether refresh is on
    pub refresh: bool,
}

/// What `ondevice.decode` answers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct DecodeAnswer {
    /// Time of a token with its GEMVs on PIM
    pub token_ns: f64,
    /// Time of a token on the host alone
    pub host_token_ns: f64,
    /// The host's time over that with PIM
    pub token_speedup: f64,
    /// Generated tokens per second with PIM
    pub generation_tokens_per_s: f64,
    /// GEMVs of the layers on PIM
    pub layers_ns: f64,
    /// GEMV of the LM head on PIM
    pub lm_head_ns: f64,
    /// All GEMVs on the host
    pub host_gemv_ns: f64,
    /// The host's GEMV time over PIM's
    pub gemv_speedup: f64,
    /// Attention, on the host in both cases
    pub attention_ns: f64,
    /// What is none of these, on the host in both cases
    pub overhead_ns: f64,
    /// Peak compute rate over peak bandwidth
    pub flop_per_byte: f64,
    /// What PIM-aware weights and key-value cache take
    pub memory_bytes: u64,
    /// What the DRAM holds
    pub memory_limit_bytes: u64,
}

impl Default for DecodeStudy {
    /// Llama 3.2 1B after 128 tokens on the paper's phone.
    fn default() -> Self {
        let phone = slots::phone();
        Self {
            model: slots::model(),
            context_tokens: 128,
            format: Format::BF16,
            placement: Placement::ColumnBursts,
            memory: phone.memory,
            pim: phone.pim,
            cpu: phone.cpu,
            refresh: true,
        }
    }
}

impl DecodeStudy {
    fn pim_memory(&self) -> PimMemory {
        PimMemory::new(&self.memory, self.pim, self.format, self.placement, self.refresh)
    }

    /// One PIM-aware copy, PIM's sums, and the keys and values of all tokens.
    fn memory_bytes(&self) -> Result<Bytes, StudyError> {
        let keeping = Keeping {
            format: self.format,
            scheme: Scheme::FacilO,
            buffer: None,
            padding: Padding::default(),
            placement: self.placement,
        };
        let weights = kept_bytes(&self.model, &keeping, &self.pim_memory().memory, &self.pim)?.0;
        let cache = cache_bytes(&self.model, self.context_tokens.saturating_add(1), 1).0;
        Ok(Bytes(weights.saturating_add(cache)))
    }
}

impl Study for DecodeStudy {
    const NAME: &'static str = "ondevice.decode";
    const SUMMARY: &'static str =
        "One generated token with its GEMVs on a phone's PIM blocks, beside the host alone";
    type Answer = DecodeAnswer;

    const SUMS: &'static [(&'static str, &'static [&'static str])] = &[
        ("token_ns", &["layers_ns", "lm_head_ns", "attention_ns", "overhead_ns"]),
        ("host_token_ns", &["host_gemv_ns", "attention_ns", "overhead_ns"]),
    ];

    const LAWS: Laws = laws::DECODE;

    fn bounds(&self) -> Vec<Bound> {
        let Self { model, format, memory, pim, .. } = self;
        let layers = model.layer_matrix_parameters() * u64::from(model.layers);
        let bytes = |parameters: u64| format.storage_bytes(parameters).0;
        let mut bounds = floors::gemv_ns(bytes(layers), memory, pim, "layers_ns");
        bounds.extend(floors::gemv_ns(bytes(model.embedding_parameters()), memory, pim, "lm_head_ns"));
        bounds.push(floors::capacity(memory));
        bounds
    }

    fn slots() -> Vec<Slot> {
        slots::all()
    }

    fn answer(&self) -> Result<DecodeAnswer, StudyError> {
        let kept = fitting(self.memory_bytes()?, Bytes(0), &self.memory)?;
        let reply = Reply { prompt: self.context_tokens, tokens: NonZeroU64::MIN };
        let it = token(&self.model, &self.pim_memory(), &self.cpu, reply, 1)?;
        let on_pim = it.on_pim()?;
        let (token_ns, host_token_ns) = (on_pim.time.total().as_ns(), it.on_host.total().as_ns());
        let host_gemv_ns = it.on_host.ns(TokenPart::HostGemv);
        Ok(DecodeAnswer {
            token_ns,
            host_token_ns,
            token_speedup: host_token_ns / token_ns,
            generation_tokens_per_s: 1e9 / token_ns,
            layers_ns: on_pim.time.ns(TokenPart::Layers),
            lm_head_ns: on_pim.time.ns(TokenPart::LmHead),
            host_gemv_ns,
            gemv_speedup: host_gemv_ns / on_pim.gemvs.total().as_ns(),
            attention_ns: on_pim.time.ns(TokenPart::Attention),
            overhead_ns: on_pim.time.ns(TokenPart::Overhead),
            flop_per_byte: self.cpu.peak_gflops() / self.memory.peak_gb_s().as_f64(),
            memory_bytes: kept.0,
            memory_limit_bytes: self.memory.capacity().0,
        })
    }
}
