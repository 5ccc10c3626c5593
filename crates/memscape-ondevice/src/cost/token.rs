//! How long a generated token takes, with its GEMVs on PIM and without.

use std::ops::AddAssign;

use memscape_dram::{CommandCounts, DramError};
use memscape_study::{BoundBy, Breakdown, Recent, parts};
use memscape_units::{Picoseconds, float};
use memscape_workload::{Format, Gemv, Llm, Matrix, NoSuchMatrix, Reply};

use super::attention::Attention;
use super::gemv::{GemvError, GemvPart, PimMemory, host_sums};
use super::memory::Bandwidth;
use crate::hardware::{Cpu, CpuError};
use crate::mapping::schedule::Counts;
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
        /// Attention, on the host: keys and values are not in the PIM-aware layout.
        Attention = "attention",
        /// What is none of these, on the host.
        Overhead = "overhead",
    }
}

/// A generated token of each sequence.
#[derive(Debug, Clone, PartialEq)]
pub struct Token {
    /// With its GEMVs on PIM, or why it cannot have them there, which the host alone need not mind.
    pub with_pim: Result<WithPim, TokenError>,
    /// On the host alone.
    pub on_host: Breakdown<TokenPart>,
    /// Whether the host's GEMVs wait for cores rather than memory.
    pub host_gemv_computes: bool,
    /// Whether attention does.
    pub attention_computes: bool,
    /// Bytes of weights that its GEMVs read on the host.
    pub weight_bytes: f64,
    /// Bytes of keys and values that attention reads.
    pub cache_bytes: f64,
    /// Bytes of them that it writes, beside which time goes on.
    pub written_bytes: f64,
}

/// A generated token of each sequence with its GEMVs on PIM.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WithPim {
    /// Where its time goes.
    pub time: Breakdown<TokenPart>,
    /// The GEMVs by what PIM does.
    pub gemvs: Breakdown<GemvPart>,
    /// The commands of its GEMVs, of one channel.
    pub commands: CommandCounts,
    /// Bytes of partial sums that the host reads.
    pub host_sum_bytes: u64,
}

/// Why a token has no time.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// PIM does not compute in this format, or in this memory, whatever the matrix.
    #[error(transparent)]
    NotOnPim(GemvError),
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

/// Times a reply's mean token of each of so many sequences: all linear layers and the LM head on PIM, sequence
/// after sequence, beside the same on the host, whose GEMMs have a column of each.
///
/// # Errors
/// [`TokenError`] says what does not fit.
pub fn token(
    model: &Llm,
    pim: &PimMemory,
    cpu: &Cpu,
    reply: Reply,
    sequences: u64,
) -> Result<Token, TokenError> {
    cpu.check()?;
    pim.memory.check()?;
    let layers = u64::from(model.layers);
    let of_layer = float(layer_matrices(model)?.len() as u64);
    let Gemvs { weights, outside, on_pim } = Gemvs::of(model, pim)?;
    let attends_to = Attention::of_reply(model, reply).of_all(sequences);
    let host = HostRates::of(pim, cpu);
    let once = weights.of(layers).and(outside);
    let all = once.with_columns(sequences, cpu);
    let host_gemv = host.roofline(all.bytes, all.operations);
    let attends = host.roofline(attends_to.cache_bytes, attends_to.operations);
    let products = float(layers) * of_layer + float(outer_matrices(model)?.len() as u64);
    let overhead = cpu.product_overhead() * products;
    check_length(host_gemv.ns + attends.ns + overhead.as_f64())?;
    let (attention, overhead) = (attends.time(), overhead.to_picoseconds());

    let with_pim = on_pim.and_then(|it| {
        let pim_ns = float(layers) * host.gemv_ns(&it.layer) + host.gemv_ns(&it.lm_head);
        check_length(pim_ns * float(sequences) + attends.ns)?;
        let [layer, lm_head] = [it.layer, it.lm_head].map(|it| host.with_sums(&it) * sequences);
        let time = [
            (TokenPart::Layers, layer.total() * layers),
            (TokenPart::LmHead, lm_head.total()),
            (TokenPart::Attention, attention),
            (TokenPart::Overhead, overhead),
        ];
        Ok(WithPim {
            time: time.into_iter().collect(),
            gemvs: layer * layers + lm_head,
            commands: (it.layer.commands * layers + it.lm_head.commands) * sequences,
            host_sum_bytes: (it.layer.host_sum_bytes * layers + it.lm_head.host_sum_bytes) * sequences,
        })
    });
    let on_host = [
        (TokenPart::HostGemv, host_gemv.time()),
        (TokenPart::Attention, attention),
        (TokenPart::Overhead, overhead),
    ];
    Ok(Token {
        with_pim,
        on_host: on_host.into_iter().collect(),
        host_gemv_computes: host_gemv.computes,
        attention_computes: attends.computes,
        weight_bytes: all.bytes,
        cache_bytes: attends_to.cache_bytes,
        written_bytes: attends_to.written_bytes,
    })
}

/// A matrix of a token.
#[derive(Debug, Clone, Copy)]
pub struct TokenGemv {
    /// The matrix.
    pub matrix: Matrix,
    /// Its shape.
    pub shape: Gemv,
    /// How many there are.
    pub count: u64,
    /// All of them on PIM, for one sequence; none where PIM cannot have them.
    pub on_pim: Option<Breakdown<GemvPart>>,
    /// All of them on the host, for all sequences, in nanoseconds. All matrices have as many operations
    /// for a byte, so that what binds one binds all.
    pub on_host_ns: f64,
}

/// The matrices of a token of each of so many sequences, one by one.
///
/// # Errors
/// As of [`token`].
pub fn gemvs(model: &Llm, pim: &PimMemory, cpu: &Cpu, sequences: u64) -> Result<Vec<TokenGemv>, TokenError> {
    let host = HostRates::of(pim, cpu);
    let layers = layer_matrices(model)?.into_iter().map(|it| (it, u64::from(model.layers)));
    let all = layers.chain(outer_matrices(model)?.into_iter().map(|it| (it, 1)));
    all.map(|((matrix, shape), count)| {
        let it = Weights::of_matrix(shape, pim.format).of(count).with_columns(sequences, cpu);
        let on_host_ns = host.roofline(it.bytes, it.operations).ns;
        let on_pim = gemv_cost(pim, matrix, shape).ok().map(|it| host.with_sums(&it) * count);
        Ok(TokenGemv { matrix, shape, count, on_pim, on_host_ns })
    })
    .collect()
}

/// What the host's cores reach on what they read once.
#[derive(Debug, Clone, Copy)]
struct HostRates {
    /// Bytes per nanosecond.
    stream: f64,
    gflops: f64,
}

/// A time in nanoseconds, and whether computing takes it rather than reading.
struct Bounded {
    ns: f64,
    computes: bool,
}

impl Bounded {
    /// Rounded; saturates far beyond what [`check_length`] lets through.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates")]
    fn time(&self) -> Picoseconds {
        Picoseconds((self.ns * 1e3).round() as u64)
    }
}

impl HostRates {
    fn of(pim: &PimMemory, cpu: &Cpu) -> Self {
        Self {
            stream: Bandwidth::of(&pim.memory, cpu.memory_efficiency, 1, pim.refresh).stream,
            gflops: cpu.gemm_gflops(),
        }
    }

    /// The time of a GEMV on PIM, with what the host reads of its sums.
    fn with_sums(&self, gemv: &GemvCost) -> Breakdown<GemvPart> {
        let mut time = gemv.time;
        time[GemvPart::HostSums] = host_sums(gemv.host_sum_bytes, self.stream);
        time
    }

    /// The same in nanoseconds, which no length of it overflows.
    fn gemv_ns(&self, gemv: &GemvCost) -> f64 {
        gemv.time.total().as_ns() + float(gemv.host_sum_bytes) / self.stream
    }

    fn roofline(&self, bytes: f64, operations: f64) -> Bounded {
        let (read, computed) = (bytes / self.stream, operations / self.gflops);
        Bounded { ns: read.max(computed), computes: read < computed }
    }
}

/// Weights of matrices as they are read, and what is done with them.
#[derive(Debug, Clone, Copy, Default)]
struct Weights {
    bytes: f64,
    operations: f64,
}

impl Weights {
    #[expect(clippy::cast_precision_loss, reason = "bytes stay far below 2^53")]
    fn of_matrix(shape: Gemv, format: Format) -> Self {
        Self { bytes: shape.weight_bytes(format).0 as f64, operations: shape.operations() as f64 }
    }

    #[expect(clippy::cast_precision_loss, reason = "few layers")]
    fn of(self, layers: u64) -> Self {
        Self { bytes: self.bytes * layers as f64, operations: self.operations * layers as f64 }
    }

    /// Multiplied with so many columns, for each block of which a GEMM reads them once, a prompt's or not.
    fn with_columns(self, columns: u64, cpu: &Cpu) -> Self {
        let columns = float(columns);
        let reads = (columns / cpu.gemm_block_tokens).max(1.0);
        Self { bytes: self.bytes * reads, operations: self.operations * columns }
    }

    fn and(self, other: Self) -> Self {
        Self { bytes: self.bytes + other.bytes, operations: self.operations + other.operations }
    }
}

impl Token {
    /// The same on PIM.
    ///
    /// # Errors
    /// [`TokenError`] says why PIM cannot have the weights.
    pub fn on_pim(&self) -> Result<&WithPim, TokenError> {
        self.with_pim.as_ref().map_err(Clone::clone)
    }

    /// What takes most of a token, on PIM or on the host: reading weights, keys and
    /// values, computing with them, commands that do neither, or the rest of the host.
    #[must_use]
    pub fn bound_by(&self, on: Option<&WithPim>) -> BoundBy {
        let (none, part) = (Picoseconds::ZERO, |on: bool, time| if on { time } else { Picoseconds::ZERO });
        let (attention, host) = (self.on_host[TokenPart::Attention], self.on_host[TokenPart::HostGemv]);
        // As of PIMnast's machine: a row is opened to be read, and what is refreshed is not.
        let parts = [GemvPart::Mac, GemvPart::RowOpen, GemvPart::Refresh, GemvPart::HostSums];
        let read = on.map(|it| parts.into_iter().map(|part| it.gemvs[part]).sum());
        let reading = read.unwrap_or_else(|| part(!self.host_gemv_computes, host));
        let computing = if on.is_some() { none } else { part(self.host_gemv_computes, host) };
        [
            (BoundBy::DramBandwidth, reading + part(!self.attention_computes, attention)),
            (BoundBy::Compute, computing + part(self.attention_computes, attention)),
            (BoundBy::CommandIssue, on.zip(read).map_or(none, |(it, read)| it.gemvs.total() - read)),
            (BoundBy::Host, self.on_host[TokenPart::Overhead]),
        ]
        .into_iter()
        .rev()
        .max_by_key(|it| it.1)
        .map_or(BoundBy::Host, |it| it.0)
    }
}

/// What GEMVs take on PIM.
#[derive(Debug, Clone, Copy, Default)]
struct GemvCost {
    /// Without what the host reads.
    time: Breakdown<GemvPart>,
    /// Of one channel.
    commands: CommandCounts,
    /// Bytes of partial sums that the host reads.
    host_sum_bytes: u64,
}

impl AddAssign for GemvCost {
    fn add_assign(&mut self, other: Self) {
        self.time += other.time;
        self.commands += other.commands;
        self.host_sum_bytes += other.host_sum_bytes;
    }
}

/// The GEMVs of a token.
#[derive(Debug, Clone)]
struct Gemvs {
    /// Of one layer.
    weights: Weights,
    /// Around the layers.
    outside: Weights,
    /// Why not, for those who ask for PIM.
    on_pim: Result<OnPim, TokenError>,
}

/// What they take there.
#[derive(Debug, Clone, Copy)]
struct OnPim {
    /// Of one layer.
    layer: GemvCost,
    /// With the projections of embeddings of another width.
    lm_head: GemvCost,
}

impl Gemvs {
    fn of(model: &Llm, pim: &PimMemory) -> Result<Self, TokenError> {
        thread_local!(static KEPT: Recent<(Llm, PimMemory), Gemvs> = const { Recent::new() });
        KEPT.with(|it| it.get((*model, *pim), Self::find))
    }

    fn find((model, pim): &(Llm, PimMemory)) -> Result<Self, TokenError> {
        let [layer, outer] = [layer_matrices(model)?, outer_matrices(model)?];
        let [weights, outside] = [&layer, &outer].map(|matrices| {
            let weights = matrices.iter().map(|it| Weights::of_matrix(it.1, pim.format));
            weights.fold(Weights::default(), Weights::and)
        });
        let on_pim = if pim.computes_in_format() {
            of_all(&layer, pim).and_then(|layer| Ok(OnPim { layer, lm_head: of_all(&outer, pim)? }))
        } else {
            Err(TokenError::NotOnPim(GemvError::Scaled(pim.format)))
        };
        Ok(Self { weights, outside, on_pim })
    }
}

/// Matrices around the layers: the LM head, and the projections between embeddings of another width and the layers.
pub(super) fn outer_matrices(model: &Llm) -> Result<Vec<(Matrix, Gemv)>, NoSuchMatrix> {
    let projections: &[Matrix] =
        if model.projects_embedding() { &[Matrix::ProjectIn, Matrix::ProjectOut] } else { &[] };
    projections.iter().chain([&Matrix::LmHead]).map(|it| Ok((*it, model.gemv(*it)?))).collect()
}

/// Some matrices on PIM, one after the other.
fn of_all(matrices: &[(Matrix, Gemv)], pim: &PimMemory) -> Result<GemvCost, TokenError> {
    let mut all = GemvCost::default();
    let mut known: Vec<(Gemv, GemvCost)> = Vec::new();
    for &(matrix, shape) in matrices {
        // Matrices of one shape take one time.
        let found = known.iter().find(|it| it.0 == shape).map(|it| it.1);
        let cost = found.map_or_else(|| gemv_cost(pim, matrix, shape), Ok)?;
        known.push((shape, cost));
        all += cost;
    }
    Ok(all)
}

fn gemv_cost(pim: &PimMemory, matrix: Matrix, shape: Gemv) -> Result<GemvCost, TokenError> {
    let layout = pim.layout(shape).map_err(|error| match error {
        GemvError::Layout(_) => TokenError::Gemv { matrix, error },
        whatever => TokenError::NotOnPim(whatever),
    })?;
    Ok(GemvCost {
        time: pim.mean_time(&layout),
        commands: Counts::of(&layout).commands(),
        host_sum_bytes: layout.host_sum_bytes(),
    })
}

/// Sums of times must fit the clock.
fn check_length(ns: f64) -> Result<(), TokenError> {
    const LONGEST_S: f64 = 1e5;
    let longest = ns * 1e-9;
    if longest < LONGEST_S { Ok(()) } else { Err(TokenError::TooLong(longest)) }
}
