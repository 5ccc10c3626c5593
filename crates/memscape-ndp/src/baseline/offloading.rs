//! Systems that bring weights to the GPU for each token.

use memscape_study::BoundBy;
use memscape_units::Nanoseconds;

use crate::cost::operators::{Communicated, Divided};
use crate::cost::{
    Account, Causes, ColdSide, DimmWork, Held, Prompt, Rates, StepPart, Traffic, on_dimms, step,
};
use crate::error::NdpError;
use crate::hardware::Machine;
use crate::work::Work;

/// What does not fit the GPU, for each token, from pageable memory: weights, keys and values
/// are all read once by a step, so that each has the same share of the room.
pub(super) struct Offloaded {
    pub rates: Rates,
    held: Held,
    /// Share that stays on the GPU.
    resident: f64,
    /// Passes of the host over what does not.
    passes: f64,
    /// Bytes of keys and values that come for a step, on average.
    cache: f64,
    /// Bytes of weights that come for a prompt and a step.
    weights: f64,
    gpu: Nanoseconds,
    attention: Nanoseconds,
    /// Launching all kernels.
    launches: Nanoseconds,
}

/// What an offloading system does in a step, one after the other.
pub(super) struct Step {
    pub gpu: Nanoseconds,
    /// What the GPU does not hide.
    pub transfer: Nanoseconds,
    /// What the GPU does hide of a longer transfer: shortening that is no gain.
    pub hidden: Nanoseconds,
    /// What takes longest of a transfer.
    pub transfer_cause: BoundBy,
    pub predictor: Nanoseconds,
    /// Share of sparse neurons that the GPU holds for it.
    pub held: f64,
    /// Bytes brought to the GPU.
    pub bytes: f64,
    /// Passes of the host over them before.
    pub passes: f64,
}

impl Step {
    /// All of it.
    pub fn time(&self) -> Nanoseconds {
        self.gpu + self.transfer + self.predictor
    }
}

impl Offloaded {
    pub fn new(machine: &Machine, work: &Work, passes: f64) -> Result<Self, NdpError> {
        let held = on_dimms(machine, work)?;
        let shape = &work.shape;
        let rates = Rates::new(machine, ColdSide::Host, work.batch, shape.weight_bytes);
        let multiplied = shape.multiplied_bytes();
        let resident = (rates.usable_bytes / (multiplied + work.cache_bytes())).min(1.0);
        let away = 1.0 - resident;
        let cache = away * work.token_cache_bytes() * work.mean_context();
        let weights = away * multiplied;
        let gpu = rates.gpu_dense(multiplied / shape.weight_bytes);
        let attention = rates.gpu_attention(shape, work.layers(), work.mean_context());
        let launches = rates.launches(shape);
        Ok(Self { rates, held, resident, passes, cache, weights, gpu, attention, launches })
    }

    /// A step that transfers all that is not resident. All that the GPU does for a layer goes on
    /// while the next one's weights, keys and values come: its matrices, its attention, its launches.
    pub fn step(&self, overlapped: bool) -> Step {
        let bytes = self.weights + self.cache;
        let all = self.rates.pageable(bytes, self.passes);
        let computing = self.gpu + self.attention + self.waiting(self.gpu);
        let transfer = if overlapped { all - computing } else { all };
        Step {
            gpu: self.gpu,
            transfer,
            hidden: if transfer > Nanoseconds::ZERO { all - transfer } else { Nanoseconds::ZERO },
            transfer_cause: self.rates.pageable_cause(self.passes),
            predictor: Nanoseconds::ZERO,
            held: self.resident,
            bytes,
            passes: self.passes,
        }
    }

    /// What a step is divided into that transfers all that is not resident: keys and values come for attention.
    pub fn divided(&self, work: &Work) -> Divided {
        let dense = Divided::dense(work, Communicated::Weights);
        let [qkv, out, mlp, head] = dense.met;
        let cache = (qkv + out + mlp + head) * self.cache / self.weights.max(1e-300);
        Divided { communication: [qkv, out, mlp, head, cache], ..dense }
    }

    /// What the GPU waits for launches, which go on while it works for so long and attends.
    fn waiting(&self, gpu: Nanoseconds) -> Nanoseconds {
        self.launches - (gpu + self.attention)
    }

    /// Prompt and step, with transfer and computing at the same time or not.
    pub fn account(&self, work: &Work, overlapped: bool, it: &Step) -> Result<Account, NdpError> {
        let rates = &self.rates;
        let waiting = self.waiting(it.gpu + it.predictor);
        let parts = step([
            (StepPart::Fc, it.gpu + waiting),
            (StepPart::Attention, self.attention),
            (StepPart::Communication, it.transfer),
            (StepPart::Predictor, it.predictor),
        ])?;
        let bound_by = Causes::of([
            (rates.gpu_dense_cause(), it.gpu + it.predictor),
            (BoundBy::CommandIssue, if waiting > Nanoseconds::ZERO { self.launches } else { waiting }),
            (rates.gpu_attention_cause(&work.shape), self.attention),
            (it.transfer_cause, it.transfer + it.hidden),
        ])
        .largest();
        let compute = rates.prompt_on_gpu(rates, &work.shape, work.prompt);
        // Keys and values go the other way at the same time; the memory serves both, and passes over them.
        let away = (1.0 - self.resident) * work.prompt_cache_bytes();
        let moved = rates.given((self.weights + away) * (1.0 + 2.0 * self.passes));
        let transfer =
            rates.pageable(self.weights, self.passes).max(rates.pageable(away, self.passes)).max(moved);
        let pcie = if overlapped { transfer - compute } else { transfer };
        let prompt = Prompt { compute, transfer, overlapped, load: Nanoseconds::ZERO, pcie };
        let made = (1.0 - self.resident) * work.token_cache_bytes();
        let of_prompt = both_ways(self.weights, away, self.passes);
        let of_step = both_ways(it.bytes, made, it.passes);
        Ok(Account {
            pcie: it.transfer,
            gpu: it.gpu,
            hot_share: it.held,
            traffic: Some(Traffic { prompt: of_prompt, step: of_step }),
            ..Account::dense(prompt, parts, bound_by, self.held)
        })
    }
}

/// Bytes from pageable memory to the GPU, and others back to it: each pass of a thread reads and writes
/// either, beside the bus, which reads the first and writes the others.
fn both_ways(brought: f64, back: f64, passes: f64) -> DimmWork {
    let copied = (brought + back) * passes;
    DimmWork { read: brought + copied, written: back + copied, ..DimmWork::default() }
}

/// Huggingface Accelerate: for each token, all that does not fit is
/// copied into a fresh tensor and then to the GPU, and only then used.
///
/// # Errors
/// [`NdpError::Dimms`] if the DIMMs do not hold model and cache.
pub fn accelerate(machine: &Machine, work: &Work) -> Result<Account, NdpError> {
    let passes = f64::from(machine.host.accelerate_passes.get());
    let offloaded = Offloaded::new(machine, work, passes)?;
    offloaded.account(work, false, &offloaded.step(false))
}

/// What a step of either that offloads all alike is divided into.
///
/// # Errors
/// As [`accelerate`].
pub fn offloaded_divided(machine: &Machine, work: &Work) -> Result<Divided, NdpError> {
    Ok(Offloaded::new(machine, work, 1.0)?.divided(work))
}

/// `FlexGen`: the next layer's weights come while this one computes.
///
/// # Errors
/// [`NdpError`] if the DIMMs do not hold model and cache, or the model is not OPT.
pub fn flexgen(machine: &Machine, work: &Work) -> Result<Account, NdpError> {
    let offloaded = Offloaded::new(machine, work, 1.0)?;
    if !work.shape.native_relu {
        return Err(NdpError::Unsupported { system: "FlexGen" });
    }
    offloaded.account(work, true, &offloaded.step(true))
}
