//! Prompt and step, operator by operator.

use memscape_study::{OperatorCost, Part, Pass};
use memscape_units::Nanoseconds;
use memscape_workload::Matrix;
use memscape_workload::operators::ATTENTION;

use super::account::{Account, StepPart};
use super::rates::Rates;
use crate::activity::BlockKind;
use crate::hardware::Machine;
use crate::work::Work;

/// A feed-forward network by the names of a model's operators: gate, up and down, or both matrices of one without a
/// gate.
#[must_use]
pub const fn mlp(work: &Work) -> &'static str {
    if work.shape.matrices == 3 { "gate_up+down" } else { "fc1+fc2" }
}

/// What a description leaves of times where an operator runs: the memories of GPUs and of the cold
/// side, and GPUs' multipliers.
#[derive(Debug, Clone, Copy)]
pub struct Peaks {
    gpu_gb_s: f64,
    cold_gb_s: f64,
    macs_per_ns: f64,
}

impl Peaks {
    /// Of a machine with so many GPUs.
    #[must_use]
    pub fn of(machine: &Machine, rates: &Rates, gpus: u32) -> Self {
        let gpu = machine.gpu.bandwidth_gb_s.as_f64() * f64::from(gpus);
        // Two operations each, and 10^12 per second are 10^3 per nanosecond.
        let macs = machine.gpu.fp16_tops.as_f64() * 1e3 / 2.0 * f64::from(gpus);
        Self { gpu_gb_s: gpu, cold_gb_s: rates.cold_bytes_per_ns, macs_per_ns: macs }
    }

    /// Bytes that both sides read at the same time.
    #[must_use]
    pub fn on_both(&self, bytes: f64) -> Nanoseconds {
        Nanoseconds::saturating(bytes / (self.gpu_gb_s + self.cold_gb_s))
    }

    /// Bytes that the cold side reads.
    #[must_use]
    pub fn on_cold(&self, bytes: f64) -> Nanoseconds {
        Nanoseconds::saturating(bytes / self.cold_gb_s)
    }

    /// Bytes that GPUs read, and what they multiply beside.
    #[must_use]
    pub fn on_gpu(&self, bytes: f64, macs: f64) -> Nanoseconds {
        Nanoseconds::saturating((bytes / self.gpu_gb_s).max(macs / self.macs_per_ns))
    }
}

/// Weights of all layers' matrices, and of the head, with their names.
///
/// * `head`: what of it a token meets
fn matrices(work: &Work, head: f64) -> [(&'static str, f64); 4] {
    let (shape, layers) = (&work.shape, work.layers());
    [
        (Matrix::Qkv.name(), layers * shape.block_weights(BlockKind::Qkv)),
        (Matrix::Out.name(), layers * shape.projection_weights()),
        (mlp(work), layers * shape.block_weights(BlockKind::Mlp)),
        (Matrix::LmHead.name(), head),
    ]
}

/// What of communication is a matrix's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Communicated {
    /// Weights that come, or synchronisation of all that is computed: by its weights.
    Weights,
    /// Sums of several GPUs, behind attention and behind the feed-forward network.
    Sums,
}

/// What a step has of each matrix, in their order here, and of attention: what of its weights is met, and how
/// the time of what comes to the GPU and of predictors is divided, whatever the unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Divided {
    /// Weights that are multiplied.
    pub met: [f64; 4],
    /// Communication; the last is attention's.
    pub communication: [f64; 5],
    /// Predictors.
    pub predictor: [f64; 4],
}

impl Divided {
    /// A step that meets all weights once.
    ///
    /// * `communicated`: what takes time beside them
    #[must_use]
    pub fn dense(work: &Work, communicated: Communicated) -> Self {
        let matrices = matrices(work, work.shape.head);
        let met = matrices.map(|it| it.1);
        let [qkv, out, mlp, head] = matrices.map(|(name, weights)| communicated.share(name, weights, work));
        Self { met, communication: [qkv, out, mlp, head, 0.0], predictor: [0.0; 4] }
    }
}

/// Each as a share of all; nothing where all are nothing.
fn shares<const COUNT: usize>(all: [f64; COUNT]) -> [f64; COUNT] {
    let sum: f64 = all.iter().sum();
    all.map(|it| if sum > 0.0 { it / sum } else { 0.0 })
}

impl Communicated {
    fn share(self, name: &str, of_weights: f64, work: &Work) -> f64 {
        match self {
            Self::Weights => of_weights,
            Self::Sums if name == Matrix::Out.name() || name == mlp(work) => 0.5,
            Self::Sums => 0.0,
        }
    }
}

/// The prompts of all sequences on the GPU: the head's time is its own, matrices have that of the layers by
/// their weights, and all their part of a transfer that it does not hide.
///
/// * `rates`: of all GPUs
/// * `heads`: of those GPUs that share attention
#[must_use]
pub fn of_prompt(
    account: &Account,
    work: &Work,
    rates: &Rates,
    heads: &Rates,
    peaks: &Peaks,
    communicated: Communicated,
) -> Vec<OperatorCost> {
    let prompt = &account.prompt;
    let attention = heads.prompt_attention(&work.shape, work.prompt);
    // What comes before the layers is met by all tokens, and its time is theirs.
    let [_, of_last] = work.shape.prompt_weights();
    let head = rates.gpu_dense(of_last);
    let layers = prompt.compute - attention - head;
    let transfer = prompt.time() - prompt.load - prompt.compute;
    // All but the last position of a prompt pass by the head.
    let columns =
        |name| if name == Matrix::LmHead.name() { rates.batch } else { f64::from(work.prompt) * rates.batch };
    let matrices = matrices(work, of_last);
    let all: f64 = matrices.iter().map(|it| it.1).sum();
    let matrices = matrices.into_iter().map(|(name, weights)| {
        let of_weights = weights / all;
        let least = peaks.on_gpu(weights * rates.weight_bytes, weights * columns(name));
        let moved = transfer * communicated.share(name, of_weights, work);
        let computed =
            if name == Matrix::LmHead.name() { head } else { layers * (weights / (all - of_last)) };
        let parts = [("gpu", computed), ("transfer", moved), ("load", prompt.load * of_weights)];
        OperatorCost::new(Pass::Prompt, name, least, parts)
    });
    let least =
        Nanoseconds::saturating(rates.prompt_attention_macs(&work.shape, work.prompt) / peaks.macs_per_ns);
    let attention = OperatorCost::new(Pass::Prompt, ATTENTION, least, [("gpu", attention)]);
    matrices.chain([attention]).collect()
}

/// A step of a system whose GPU, or whose GPU and DIMMs together, have all matrices: each has the time of what it is
/// divided into.
///
/// * `on_dimms`: whether DIMMs share weights with the GPU, and have keys and values
#[must_use]
pub fn of_dense_step(
    account: &Account,
    work: &Work,
    rates: &Rates,
    peaks: &Peaks,
    on_dimms: bool,
    divided: &Divided,
) -> Vec<OperatorCost> {
    let Divided { met, communication, predictor } = divided;
    let (computed, moved, predicted) = (shares(*met), shares(*communication), shares(*predictor));
    let time = |part: StepPart| Nanoseconds::from(account.step[part]);
    let matrices = (0..).zip(matrices(work, work.shape.head)).map(|(it, (name, _)): (usize, _)| {
        let shares = [
            (StepPart::Fc, computed[it]),
            (StepPart::Communication, moved[it]),
            (StepPart::Predictor, predicted[it]),
        ];
        let parts = shares.map(|(it, share)| (it.name(), time(it) * share));
        let (bytes, macs) = (met[it] * rates.weight_bytes, met[it] * rates.batch);
        let least = if on_dimms { peaks.on_both(bytes) } else { peaks.on_gpu(bytes, macs) };
        OperatorCost::new(Pass::Token, name, least, parts)
    });
    let cache = work.token_cache_bytes() * work.mean_context();
    let macs = rates.attention_macs(&work.shape, work.mean_context()) * work.layers();
    let least = if on_dimms { peaks.on_cold(cache) } else { peaks.on_gpu(cache, macs) };
    let brought = time(StepPart::Communication) * moved[4];
    let attention = [(StepPart::Attention, time(StepPart::Attention)), (StepPart::Communication, brought)];
    let attention = attention
        .into_iter()
        .filter(|(part, time)| *part == StepPart::Attention || *time > Nanoseconds::ZERO);
    let attention = attention.map(|(part, time)| (part.name(), time));
    matrices.chain([OperatorCost::new(Pass::Token, ATTENTION, least, attention)]).collect()
}
