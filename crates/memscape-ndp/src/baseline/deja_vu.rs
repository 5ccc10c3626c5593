//! Deja Vu: only active neurons come to the GPU.

use memscape_study::BoundBy;
use memscape_units::Nanoseconds;

use super::offloading::{Offloaded, Step};
use crate::activity::{BlockKind, Law};
use crate::cost::operators::{Communicated, Divided};
use crate::cost::{Account, Causes};
use crate::error::NdpError;
use crate::hardware::Machine;
use crate::normal::quadrature;
use crate::work::{Activity, Work};

/// Deja Vu: for each token, the active neurons that are not on the GPU, one
/// copy each; or all of them as `FlexGen` does, if that is faster.
///
/// # Errors
/// [`NdpError`] if the DIMMs do not hold model and cache, the model is not OPT, or
/// activity is recorded.
pub fn deja_vu(machine: &Machine, work: &Work) -> Result<Account, NdpError> {
    let (offloaded, step, _) = best(machine, work)?;
    offloaded.account(work, true, &step)
}

/// What its step is divided into.
///
/// # Errors
/// As [`deja_vu`].
pub fn deja_vu_divided(machine: &Machine, work: &Work) -> Result<Divided, NdpError> {
    Ok(best(machine, work)?.2)
}

fn best(machine: &Machine, work: &Work) -> Result<(Offloaded, Step, Divided), NdpError> {
    let offloaded = Offloaded::new(machine, work, 1.0)?;
    if !work.shape.native_relu {
        return Err(NdpError::Unsupported { system: "Deja Vu" });
    }
    let law = match &work.activity {
        Activity::Recorded(recording, _) => return Err(NdpError::DejaVuRecording(recording.name.clone())),
        Activity::Law { law, density, .. } => law.at(*density)?,
    };
    let (copied, divided) = copied(machine, work, &offloaded, &law);
    let whole = offloaded.step(true);
    let (step, divided) =
        if copied.time() < whole.time() { (copied, divided) } else { (whole, offloaded.divided(work)) };
    Ok((offloaded, step, divided))
}

/// A step that copies active neurons one by one.
fn copied(machine: &Machine, work: &Work, offloaded: &Offloaded, law: &Law) -> (Step, Divided) {
    let (rates, shape, layers) = (&offloaded.rates, &work.shape, work.layers());
    let active = quadrature(|z| 1.0 - (1.0 - law.profiled(z)).powf(rates.batch));
    // Low-rank predictors: from the hidden width to each block's neurons.
    let predictors = [3 * shape.hidden, shape.ffn].map(|it| {
        let width = f64::from(u32::try_from(it).unwrap_or(u32::MAX));
        machine.overhead.predictor_rank.as_f64() * width * layers
    });
    let predictor_weights: f64 = predictors.iter().sum();
    // What each token needs whole comes first, then the cache, then neurons.
    let whole = shape.dense_bytes() + rates.weight_bytes * predictor_weights;
    let lacking = (whole - rates.usable_bytes).max(0.0);
    let room = rates.usable_bytes - whole - work.cache_bytes();
    let away = (1.0 - room / shape.sparse_bytes()).clamp(0.0, 1.0);
    // Keys and values that do not fit come for each token, as does what is lacking of the rest.
    let attended = work.token_cache_bytes() * work.mean_context();
    let cache = attended * (-room / work.cache_bytes()).clamp(0.0, 1.0);
    let mut brought = lacking + cache;
    let mut calls = [Nanoseconds::ZERO; 2];
    let mut neurons = [0.0; 2];
    for block in BlockKind::ALL {
        let bytes = rates.weight_bytes * shape.neuron_weights(block);
        let count = f64::from(u32::try_from(shape.neurons(block)).unwrap_or(u32::MAX));
        let copied = count * layers * active * away;
        calls[block.index()] = rates.copy_call * copied;
        neurons[block.index()] = bytes * copied;
        brought += bytes * copied;
    }
    let met = Divided::dense(work, Communicated::Weights).met;
    let [qkv, out, mlp, head] = met;
    let bringing = |bytes: f64| rates.pageable(bytes, 1.0).as_f64();
    let lacking_of = |weights: f64| bringing(lacking * weights * rates.weight_bytes / whole);
    let of_block = |it: usize| calls[it].as_f64() + bringing(neurons[it]) + lacking_of(predictors[it]);
    let divided = Divided {
        met: [qkv * active, out, mlp * active, head],
        communication: [of_block(0), lacking_of(out), of_block(1), lacking_of(head), bringing(cache)],
        predictor: [predictors[0], 0.0, predictors[1], 0.0],
    };
    let calls: Nanoseconds = calls.into_iter().sum();
    let copies = rates.pageable(brought, 1.0);
    let dense = shape.dense_bytes() / rates.weight_bytes;
    let sparse = active * shape.sparse_bytes() / rates.weight_bytes;
    let step = Step {
        gpu: rates.gpu_dense(dense) + rates.gpu_dense(sparse),
        transfer: calls + copies,
        hidden: Nanoseconds::ZERO,
        // Calls are a thread's work, as most of a copy is.
        transfer_cause: Causes::of([(BoundBy::Host, calls), (rates.pageable_cause(1.0), copies)]).largest(),
        predictor: rates.gpu_dense(predictor_weights),
        held: 1.0 - away,
        bytes: brought,
        passes: 1.0,
    };
    (step, divided)
}
