//! Where the time goes: the prompt, and one step on average.

use memscape_study::{BoundBy, Breakdown, parts};
use memscape_units::Nanoseconds;

use super::capacity::Held;
use crate::error::NdpError;

parts! {
    /// What a step consists of.
    pub enum StepPart {
        /// Weights read and multiplied: QKV, output projection, feed-forward, LM head.
        Fc = "fc",
        /// Attention.
        Attention = "attention",
        /// Transfers, synchronisation, merging.
        Communication = "communication",
        /// Predicting active neurons.
        Predictor = "predictor",
    }
}

/// A prompt: weights streamed to the GPU while it computes, or before.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prompt {
    /// Arithmetic on the GPU.
    pub compute: Nanoseconds,
    /// Weights on their way to it.
    pub transfer: Nanoseconds,
    /// Whether the two run at the same time.
    pub overlapped: bool,
    /// Loading what the GPU keeps for the reply, afterwards.
    pub load: Nanoseconds,
    /// Of all this: what counts as communication over PCIe.
    pub pcie: Nanoseconds,
}

impl Prompt {
    /// A prompt whose weights are streamed while it computes.
    #[must_use]
    pub fn streamed(compute: Nanoseconds, transfer: Nanoseconds, load: Nanoseconds) -> Self {
        Self { compute, transfer, overlapped: true, load, pcie: transfer + load }
    }

    /// All of it.
    #[must_use]
    pub fn time(&self) -> Nanoseconds {
        let both =
            if self.overlapped { self.transfer.max(self.compute) } else { self.compute + self.transfer };
        both + self.load
    }
}

/// Where the time goes: the prompt, and one step on average. Shares are from 0
/// to 1, counts per step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Account {
    /// The prompt.
    pub prompt: Prompt,
    /// A step by cause; its parts follow each other.
    pub step: Breakdown<StepPart>,
    /// Of a step: transfers over PCIe.
    pub pcie: Nanoseconds,
    /// Of a step: feed-forward blocks, with their synchronisation; of systems that tell them from other matrices.
    pub mlp: Option<Nanoseconds>,
    /// Sparse blocks on the GPU.
    pub gpu: Nanoseconds,
    /// Sparse blocks on the slowest DIMM.
    pub cold: Nanoseconds,
    /// What binds a step.
    pub bound_by: BoundBy,
    /// What must fit, and where.
    pub held: Held,
    /// Share of neurons on the GPU.
    pub hot_share: f64,
    /// Share of read neurons that the GPU reads.
    pub gpu_read_share: f64,
    /// Share of multiply-accumulates that are cold.
    pub cold_compute_share: f64,
    /// Slowest DIMM over the mean.
    pub imbalance: f64,
    /// The same over a window.
    pub window_imbalance: Option<f64>,
    /// Share of the bytes of neurons that any sequence activates that were not predicted.
    pub missed: f64,
    /// Neurons fetched by the GPU.
    pub swaps: f64,
    /// Neurons moved between DIMMs.
    pub moves: f64,
    /// Moving them over the links, pairs at the same time.
    pub link_moves: Nanoseconds,
    /// Moving them through the host, one after the other.
    pub host_moves: Nanoseconds,
    /// Share of predictions that are right.
    pub accuracy: Option<f64>,
    /// Share of active neurons that are predicted.
    pub recall: Option<f64>,
    /// What the DIMMs do for prompt and step; none where there are none.
    pub traffic: Option<Traffic>,
}

/// What the DIMMs do for a prompt and for a step.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Traffic {
    /// For the prompts of the whole batch.
    pub prompt: DimmWork,
    /// For one step.
    pub step: DimmWork,
}

/// What all DIMMs together read, write, send each other and multiply.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct DimmWork {
    /// Bytes read.
    pub read: f64,
    /// Of these: what the DIMMs' own units multiply with.
    pub near: f64,
    /// Bytes written.
    pub written: f64,
    /// Bytes over links between DIMMs.
    pub linked: f64,
    /// Multiply-accumulates on the DIMMs.
    pub macs: f64,
    /// Bytes of inputs and sums over the pins of modules whose units stand at banks.
    pub carried: f64,
}

impl Account {
    /// A system that neither predicts nor moves neurons.
    #[must_use]
    pub fn dense(prompt: Prompt, step: Breakdown<StepPart>, bound_by: BoundBy, held: Held) -> Self {
        Self {
            prompt,
            step,
            pcie: Nanoseconds::ZERO,
            mlp: None,
            gpu: Nanoseconds::ZERO,
            cold: Nanoseconds::ZERO,
            bound_by,
            held,
            hot_share: 1.0,
            gpu_read_share: 1.0,
            cold_compute_share: 0.0,
            imbalance: 1.0,
            window_imbalance: None,
            missed: 0.0,
            swaps: 0.0,
            moves: 0.0,
            link_moves: Nanoseconds::ZERO,
            host_moves: Nanoseconds::ZERO,
            accuracy: None,
            recall: None,
            traffic: None,
        }
    }
}

/// A step by cause, to the picosecond.
///
/// # Errors
/// [`NdpError::TooLong`] beyond what a clock in picoseconds counts.
pub fn step(parts: [(StepPart, Nanoseconds); 4]) -> Result<Breakdown<StepPart>, NdpError> {
    /// Some days: four parts of them stay far below 2^64 picoseconds.
    const LONGEST: f64 = 1e15;
    const DAY: f64 = 86_400e9;
    let whole: Nanoseconds = parts.iter().map(|it| it.1).sum();
    if whole.as_f64() > LONGEST {
        return Err(NdpError::TooLong { days: whole.as_f64() / DAY });
    }
    Ok(parts.into_iter().map(|(part, time)| (part, time.to_picoseconds())).collect())
}

/// Time by what binds it.
#[derive(Debug, Clone, Copy)]
pub struct Causes([Nanoseconds; Causes::ALL.len()]);

impl Causes {
    const ALL: [BoundBy; 6] = [
        BoundBy::DramBandwidth,
        BoundBy::Compute,
        BoundBy::Link,
        BoundBy::Synchronisation,
        BoundBy::CommandIssue,
        BoundBy::Host,
    ];

    /// These times by these causes.
    pub fn of(times: impl IntoIterator<Item = (BoundBy, Nanoseconds)>) -> Self {
        let mut all = Self([Nanoseconds::ZERO; Self::ALL.len()]);
        times.into_iter().for_each(|(cause, time)| all.add(cause, time));
        all
    }

    /// Adds a time.
    ///
    /// # Panics
    /// Never: every cause has a place.
    pub fn add(&mut self, cause: BoundBy, time: Nanoseconds) {
        let index = Self::ALL.iter().position(|it| *it == cause);
        self.0[index.expect("all are listed")] += time;
    }

    /// The cause of most of it; the first of equal ones.
    #[must_use]
    pub fn largest(&self) -> BoundBy {
        let later = |best: usize, it: usize| if self.0[it] > self.0[best] { it } else { best };
        Self::ALL[(1..Self::ALL.len()).fold(0, later)]
    }
}
