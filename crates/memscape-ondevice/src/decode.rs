//! The study `ondevice.decode`: one generated token.

use memscape_dram::{Dram, DramError};
use memscape_study::{CostEngine, PresetParameter, Study, StudyError};
use memscape_workload::{Format, Matrix, ModelName};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::gemv::{GemvError, GemvStudy};
use crate::hardware::{Soc, SocError, default_part, presets};
use crate::layout::{PimBlocks, Placement};
use crate::stages::layer_matrices;

/// One generated token: all linear layers and the LM head on PIM, beside the same
/// on the host.
///
/// Everything else is `soc.token_overhead_ms`, whichever does the GEMVs. The
/// key-value cache of a few hundred tokens is not counted.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DecodeStudy {
    /// Language model
    pub model: ModelName,
    /// How weights are stored: `bf16`, `fp16`, `int8`, `int4`
    pub format: Format,
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

/// What `ondevice.decode` answers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct DecodeAnswer {
    /// Time of a token with its GEMVs on PIM
    pub token_ns: f64,
    /// Time of a token on the host alone
    pub host_token_ns: f64,
    /// The host's time over that with PIM
    pub token_speedup: f64,
    /// Tokens per second with PIM
    pub tokens_per_s: f64,
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

/// Why a token has no time.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// A GEMV has no time.
    #[error("{matrix}: {error}")]
    Gemv {
        /// The matrix.
        matrix: Matrix,
        /// Why.
        error: GemvError,
    },
    /// The processor contradicts itself.
    #[error(transparent)]
    Soc(#[from] SocError),
    /// The memory contradicts itself.
    #[error("`memory`: {0}")]
    Memory(#[from] DramError),
}

impl Default for DecodeStudy {
    /// Llama 3.2 1B on the paper's phone.
    fn default() -> Self {
        let gemv = GemvStudy::default();
        Self {
            model: gemv.model,
            format: gemv.format,
            placement: gemv.placement,
            memory: gemv.memory,
            pim: gemv.pim,
            soc: default_part("soc"),
            refresh: gemv.refresh,
        }
    }
}

/// The parts of a token's time, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct TokenTimes {
    layers: f64,
    lm_head: f64,
    host_gemv: f64,
    overhead: f64,
}

impl TokenTimes {
    pub(crate) fn on_pim(&self) -> f64 {
        self.layers + self.lm_head + self.overhead
    }

    pub(crate) fn on_host(&self) -> f64 {
        self.host_gemv + self.overhead
    }
}

impl DecodeStudy {
    /// The parts of a token's time.
    #[expect(clippy::cast_precision_loss, reason = "picoseconds and bytes stay far below 2^53")]
    pub(crate) fn times(&self) -> Result<TokenTimes, DecodeError> {
        self.soc.check()?;
        self.memory.check()?;
        let gemv_ns = |matrix: Matrix| -> Result<f64, DecodeError> {
            let study = GemvStudy {
                model: self.model,
                gemv: matrix,
                m: None,
                k: None,
                format: self.format,
                placement: self.placement,
                memory: self.memory,
                pim: self.pim,
                refresh: self.refresh,
                engine: CostEngine::Closed,
            };
            let time = study.layout().and_then(|it| study.time(&it));
            Ok(time.map_err(|error| DecodeError::Gemv { matrix, error })?.total() as f64 * 1e-3)
        };
        let mut layer = 0.0;
        let mut bytes = 0;
        let mut timed: Vec<(u64, u64, f64)> = Vec::new();
        for (matrix, shape) in layer_matrices(&self.model) {
            // Matrices of one shape take one time.
            let known = timed.iter().find(|it| (it.0, it.1) == (shape.m(), shape.k())).map(|it| it.2);
            let time = known.map_or_else(|| gemv_ns(matrix), Ok)?;
            timed.push((shape.m(), shape.k(), time));
            layer += time;
            bytes += shape.weight_bytes(self.format).0;
        }
        let layers = u64::from(self.model.layers);
        let head = self
            .model
            .gemv(Matrix::LmHead)
            .map_err(|it| DecodeError::Gemv { matrix: Matrix::LmHead, error: it.into() })?;
        let bytes = layers * bytes + head.weight_bytes(self.format).0;
        let bandwidth = self.soc.host_gemv_efficiency * self.memory.peak_gb_s().as_f64();
        Ok(TokenTimes {
            layers: layers as f64 * layer,
            lm_head: gemv_ns(Matrix::LmHead)?,
            host_gemv: bytes as f64 / bandwidth,
            overhead: self.soc.token_overhead_ms * 1e6,
        })
    }
}

impl Study for DecodeStudy {
    const NAME: &'static str = "ondevice.decode";
    const SUMMARY: &'static str =
        "One generated token with its GEMVs on a phone's PIM blocks, beside the host alone";
    type Answer = DecodeAnswer;

    fn presets() -> Vec<PresetParameter> {
        presets!("memory", "pim", "soc")
    }

    fn answer(&self) -> Result<DecodeAnswer, StudyError> {
        let it = self.times()?;
        Ok(DecodeAnswer {
            token_ns: it.on_pim(),
            host_token_ns: it.on_host(),
            token_speedup: it.on_host() / it.on_pim(),
            tokens_per_s: 1e9 / it.on_pim(),
            layers_ns: it.layers,
            lm_head_ns: it.lm_head,
            host_gemv_ns: it.host_gemv,
            gemv_speedup: it.host_gemv / (it.layers + it.lm_head),
            overhead_ns: it.overhead,
        })
    }
}
