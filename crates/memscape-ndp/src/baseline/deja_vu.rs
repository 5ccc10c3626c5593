//! Deja Vu: only active neurons come to the GPU.

use memscape_study::BoundBy;
use memscape_units::Nanoseconds;

use super::offloading::{Offloaded, Step};
use crate::activity::{BlockKind, Law};
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
    let offloaded = Offloaded::new(machine, work, 1.0)?;
    if !work.shape.native_relu {
        return Err(NdpError::Unsupported { system: "Deja Vu" });
    }
    let law = match &work.activity {
        Activity::Recorded(recording, _) => return Err(NdpError::DejaVuRecording(recording.name.clone())),
        Activity::Law { law, density, .. } => law.at(*density)?,
    };
    let copied = copied(machine, work, &offloaded, &law);
    let whole = offloaded.step(true);
    let step = if copied.time() < whole.time() { copied } else { whole };
    offloaded.account(work, true, &step)
}

/// A step that copies active neurons one by one.
fn copied(machine: &Machine, work: &Work, offloaded: &Offloaded, law: &Law) -> Step {
    let (rates, shape, layers) = (&offloaded.rates, &work.shape, work.layers());
    let active = quadrature(|z| 1.0 - (1.0 - law.profiled(z)).powf(rates.batch));
    // Low-rank predictors: from the hidden width to each block's neurons.
    let widths = f64::from(u32::try_from(3 * shape.hidden + shape.ffn).unwrap_or(u32::MAX));
    let predictor_weights = machine.overhead.predictor_rank.as_f64() * widths * layers;
    // What each token needs whole comes first, then the cache, then neurons.
    let whole = shape.dense_bytes() + rates.weight_bytes * predictor_weights;
    let lacking = (whole - rates.usable_bytes).max(0.0);
    let room = rates.usable_bytes - whole - work.cache_bytes();
    let away = (1.0 - room / shape.sparse_bytes()).clamp(0.0, 1.0);
    // Keys and values that do not fit come for each token, as does what is lacking of the rest.
    let attended = work.token_cache_bytes() * work.mean_context();
    let cache = attended * (-room / work.cache_bytes()).clamp(0.0, 1.0);
    let mut brought = lacking + cache;
    let mut calls = Nanoseconds::ZERO;
    for block in BlockKind::ALL {
        let bytes = rates.weight_bytes * shape.neuron_weights(block);
        let neurons = f64::from(u32::try_from(shape.neurons(block)).unwrap_or(u32::MAX));
        let copied = neurons * layers * active * away;
        calls += rates.copy_call * copied;
        brought += bytes * copied;
    }
    let copies = rates.pageable(brought, 1.0);
    let dense = shape.dense_bytes() / rates.weight_bytes;
    let sparse = active * shape.sparse_bytes() / rates.weight_bytes;
    Step {
        gpu: rates.gpu_dense(dense) + rates.gpu_dense(sparse),
        transfer: calls + copies,
        hidden: Nanoseconds::ZERO,
        // Calls are a thread's work, as most of a copy is.
        transfer_cause: Causes::of([(BoundBy::Host, calls), (rates.pageable_cause(1.0), copies)]).largest(),
        predictor: rates.gpu_dense(predictor_weights),
        held: 1.0 - away,
        bytes: brought,
        passes: 1.0,
    }
}
