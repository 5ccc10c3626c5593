//! How long a generated token takes, with its GEMVs on PIM and without.

use memscape_dram::DramError;
use memscape_study::{BoundBy, Breakdown, CostEngine, parts};
use memscape_units::{Bytes, Picoseconds};
use memscape_workload::{Gemv, Llm, Matrix, NoSuchMatrix};

use super::gemv::{GemvError, GemvPart, PimMemory};
use crate::hardware::{Cpu, CpuError};
use crate::mapping::stages::{StageError, layer_matrices};

parts! {
    /// Where the time of a token goes.
    pub enum TokenPart {
        /// GEMVs of the layers on PIM.
        Layers = "layers",
        /// GEMV of the LM head on PIM.
        LmHead = "lm_head",
        /// All GEMVs on the host.
        HostGemv = "host_gemv",
        /// What is neither, on the host.
        Overhead = "overhead",
    }
}

/// A generated token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token {
    /// With its GEMVs on PIM.
    pub on_pim: Breakdown<TokenPart>,
    /// On the host alone.
    pub on_host: Breakdown<TokenPart>,
    /// The GEMVs on PIM by what PIM does.
    pub gemvs: Breakdown<GemvPart>,
}

/// Why a token has no time.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// A GEMV has no time.
    #[error("{matrix}: {error}")]
    Gemv {
        /// The matrix.
        matrix: Matrix,
        /// Why.
        error: GemvError,
    },
    /// The model has no LM head.
    #[error(transparent)]
    Matrix(#[from] NoSuchMatrix),
    /// The model has experts.
    #[error(transparent)]
    Stages(#[from] StageError),
    /// The processor contradicts itself.
    #[error(transparent)]
    Cpu(#[from] CpuError),
    /// The memory contradicts itself.
    #[error("`memory`: {0}")]
    Memory(#[from] DramError),
    /// A time beyond the clock.
    #[error(
        "a token would take about {0:.0e} s, beyond the model's clock; ask for a smaller model or faster hardware"
    )]
    TooLong(f64),
}

/// Times one token: all linear layers and the LM head on PIM, beside the same on the
/// host.
///
/// # Errors
/// [`TokenError`] says what does not fit.
pub fn token(model: &Llm, pim: &PimMemory, cpu: &Cpu) -> Result<Token, TokenError> {
    cpu.check()?;
    pim.memory.check()?;
    let (layers, head) = (u64::from(model.layers), model.gemv(Matrix::LmHead)?);
    let (layer, layer_bytes) = layer_gemvs(model, pim)?;
    let lm_head = gemv_time(pim, Matrix::LmHead, head)?;
    let bytes = layers * layer_bytes.0 + head.weight_bytes(pim.format).0;
    let host = host_gemv(Bytes(bytes), pim, cpu);
    check_length(layers, &layer, &lm_head, host)?;

    let overhead = cpu.token_overhead().to_picoseconds();
    let on_pim = [
        (TokenPart::Layers, layer.total() * layers),
        (TokenPart::LmHead, lm_head.total()),
        (TokenPart::Overhead, overhead),
    ];
    let on_host = [(TokenPart::HostGemv, host), (TokenPart::Overhead, overhead)];
    Ok(Token {
        on_pim: on_pim.into_iter().collect(),
        on_host: on_host.into_iter().collect(),
        gemvs: layer * layers + lm_head,
    })
}

impl Token {
    /// What takes most of a token, with PIM or without: reading weights, commands
    /// that do not read any, or the host.
    #[must_use]
    pub fn bound_by(&self, with_pim: bool) -> BoundBy {
        let reading = if with_pim { self.gemvs[GemvPart::Mac] } else { self.on_host[TokenPart::HostGemv] };
        let commands =
            if with_pim { self.gemvs.total() - self.gemvs[GemvPart::Mac] } else { Picoseconds::ZERO };
        let host = self.on_pim[TokenPart::Overhead];
        if reading >= commands && reading >= host {
            BoundBy::DramBandwidth
        } else if commands >= host {
            BoundBy::CommandIssue
        } else {
            BoundBy::Host
        }
    }
}

/// The GEMVs of one layer, and the bytes of their weights.
fn layer_gemvs(model: &Llm, pim: &PimMemory) -> Result<(Breakdown<GemvPart>, Bytes), TokenError> {
    let (mut layer, mut bytes) = (Breakdown::default(), Bytes(0));
    let mut timed: Vec<(Gemv, Breakdown<GemvPart>)> = Vec::new();
    for (matrix, shape) in layer_matrices(model)? {
        // Matrices of one shape take one time.
        let known = timed.iter().find(|it| it.0 == shape).map(|it| it.1);
        let time = known.map_or_else(|| gemv_time(pim, matrix, shape), Ok)?;
        timed.push((shape, time));
        layer += time;
        bytes = bytes + shape.weight_bytes(pim.format);
    }
    Ok((layer, bytes))
}

fn gemv_time(pim: &PimMemory, matrix: Matrix, shape: Gemv) -> Result<Breakdown<GemvPart>, TokenError> {
    let time = pim.layout(shape).and_then(|it| pim.time(&it, CostEngine::Closed));
    time.map_err(|error| TokenError::Gemv { matrix, error })
}

/// Reading weights at what the host reaches of the peak bandwidth.
#[expect(clippy::cast_precision_loss, reason = "bytes stay far below 2^53")]
fn host_gemv(weights: Bytes, pim: &PimMemory, cpu: &Cpu) -> Picoseconds {
    let bandwidth = cpu.host_gemv_efficiency * pim.memory.peak_gb_s().as_f64();
    picoseconds(weights.0 as f64 / bandwidth)
}

/// Rounded; saturates far beyond what [`check_length`] lets through.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates")]
fn picoseconds(ns: f64) -> Picoseconds {
    Picoseconds((ns * 1e3).round() as u64)
}

/// Sums of times must fit the clock.
#[expect(clippy::cast_precision_loss, reason = "an estimate")]
fn check_length(
    layers: u64,
    layer: &Breakdown<GemvPart>,
    lm_head: &Breakdown<GemvPart>,
    host: Picoseconds,
) -> Result<(), TokenError> {
    const LONGEST_S: f64 = 1e5;
    let pim_ns = layers as f64 * layer.total().as_ns() + lm_head.total().as_ns();
    let longest = pim_ns.max(host.as_ns()) * 1e-9;
    if longest < LONGEST_S { Ok(()) } else { Err(TokenError::TooLong(longest)) }
}
