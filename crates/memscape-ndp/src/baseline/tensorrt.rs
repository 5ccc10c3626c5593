//! TensorRT-LLM: weights on several GPUs.

use memscape_study::BoundBy;
use memscape_units::Nanoseconds;

use crate::cost::{Account, Causes, ColdSide, Prompt, Rates, StepPart, on_gpus, step};
use crate::error::NdpError;
use crate::hardware::Machine;
use crate::work::Work;

/// TensorRT-LLM: weights on several GPUs, read by all of them at once.
///
/// # Errors
/// [`NdpError::Gpus`] if the GPUs do not hold model and cache.
pub fn tensorrt(machine: &Machine, work: &Work, gpus: u32) -> Result<Account, NdpError> {
    let held = on_gpus(machine, gpus, work)?;
    let shape = &work.shape;
    let one = Rates::new(machine, ColdSide::Dimms, work.batch, shape.weight_bytes);
    let count = f64::from(gpus);
    let peak = machine.gpu.bandwidth_gb_s.as_f64() * count;
    let all = Rates {
        gpu_bytes_per_ns: peak * machine.overhead.tensorrt_efficiency.as_f64(),
        gpu_macs_per_ns: one.gpu_macs_per_ns * count,
        ..one
    };
    let weights = (shape.sparse_bytes() + shape.dense_bytes()) / shape.weight_bytes;
    let fc = all.gpu_dense(weights);
    let attention = all.gpu_attention(shape, work.layers(), work.mean_context());
    let prompt = Prompt {
        compute: all.prompt_on_gpu(shape, work.prompt),
        transfer: Nanoseconds::ZERO,
        overlapped: true,
        load: Nanoseconds::ZERO,
        pcie: Nanoseconds::ZERO,
    };
    let step = step([
        (StepPart::Fc, fc),
        (StepPart::Attention, attention),
        (StepPart::Communication, Nanoseconds::ZERO),
        (StepPart::Predictor, Nanoseconds::ZERO),
    ])?;
    let bound_by = Causes::of([(all.gpu_dense_cause(), fc), (BoundBy::DramBandwidth, attention)]).largest();
    Ok(Account { gpu: fc, ..Account::dense(prompt, step, bound_by, held) })
}
