//! The study `ondevice.decode`: one generated token.

use memscape_dram::Dram;
use memscape_study::{Slot, Study, StudyError};
use memscape_workload::{Format, Model};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::slots;
use crate::cost::gemv::PimMemory;
use crate::cost::token::{TokenPart, token};
use crate::hardware::{Cpu, PimBlocks};
use crate::mapping::layout::Placement;

/// One generated token: all linear layers and the LM head on PIM, beside the same
/// on the host.
///
/// Everything else is `cpu.token_overhead_ms`, whichever does the GEMVs. The
/// key-value cache of a few hundred tokens is not counted.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DecodeStudy {
    /// Language model
    pub model: Model,
    /// How weights are stored: `bf16`, `fp16`, `int8`, `int4`
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
    /// What is neither, on the host in both cases
    pub overhead_ns: f64,
}

impl Default for DecodeStudy {
    /// Llama 3.2 1B on the paper's phone.
    fn default() -> Self {
        let phone = slots::phone();
        Self {
            model: slots::model(),
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
        PimMemory {
            memory: self.memory,
            pim: self.pim,
            format: self.format,
            placement: self.placement,
            refresh: self.refresh,
        }
    }
}

impl Study for DecodeStudy {
    const NAME: &'static str = "ondevice.decode";
    const SUMMARY: &'static str =
        "One generated token with its GEMVs on a phone's PIM blocks, beside the host alone";
    type Answer = DecodeAnswer;

    const SUMS: &'static [(&'static str, &'static [&'static str])] = &[
        ("token_ns", &["layers_ns", "lm_head_ns", "overhead_ns"]),
        ("host_token_ns", &["host_gemv_ns", "overhead_ns"]),
    ];

    fn slots() -> Vec<Slot> {
        slots::all()
    }

    fn answer(&self) -> Result<DecodeAnswer, StudyError> {
        let it = token(&self.model, &self.pim_memory(), &self.cpu)?;
        let (token_ns, host_token_ns) = (it.on_pim.total().as_ns(), it.on_host.total().as_ns());
        let host_gemv_ns = it.on_host.ns(TokenPart::HostGemv);
        Ok(DecodeAnswer {
            token_ns,
            host_token_ns,
            token_speedup: host_token_ns / token_ns,
            generation_tokens_per_s: 1e9 / token_ns,
            layers_ns: it.on_pim.ns(TokenPart::Layers),
            lm_head_ns: it.on_pim.ns(TokenPart::LmHead),
            host_gemv_ns,
            gemv_speedup: host_gemv_ns / it.gemvs.total().as_ns(),
            overhead_ns: it.on_pim.ns(TokenPart::Overhead),
        })
    }
}
