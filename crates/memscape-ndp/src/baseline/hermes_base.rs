//! Hermes without activation sparsity.

use memscape_study::BoundBy;
use memscape_units::Nanoseconds;

use crate::activity::BlockKind;
use crate::cost::{Account, Causes, ColdSide, Prompt, PromptStage, Rates, StepPart, on_dimms, step};
use crate::error::NdpError;
use crate::hardware::Machine;
use crate::work::Work;

/// Hermes without activation sparsity: a layer's matrices on the GPU as far as
/// they fit, else on the DIMMs, one after the other.
///
/// # Errors
/// [`NdpError::Dimms`] if the DIMMs do not hold model and cache.
pub fn hermes_base(machine: &Machine, work: &Work, stage: PromptStage) -> Result<Account, NdpError> {
    let held = on_dimms(machine, work)?;
    let (shape, layers) = (&work.shape, work.layers());
    let rates = Rates::new(machine, ColdSide::Dimms, work.batch, shape.weight_bytes);
    let resident = (rates.usable_bytes / shape.bytes()).min(1.0);
    // Embeddings are looked up, not multiplied.
    let weights = (shape.sparse_bytes() + shape.dense_bytes()) / shape.weight_bytes;
    let (gpu, cold) = (rates.gpu_dense(weights * resident), rates.cold_dense(weights * (1.0 - resident)));
    let mlp_weights = shape.block_weights(BlockKind::Mlp) * layers;
    let exchanges = layers * 2.0;
    let transfers = rates.activations(shape.hidden) * exchanges;
    let merging = rates.merge(shape.hidden);
    let attention = rates.attention(shape, work.mean_context()) * layers;
    let step = step([
        (StepPart::Fc, gpu + cold),
        (StepPart::Attention, attention),
        (StepPart::Communication, (rates.exchange + merging) * exchanges + transfers),
        (StepPart::Predictor, Nanoseconds::ZERO),
    ])?;
    let prompt = Prompt::streamed(
        rates.prompt_compute(shape, work.prompt),
        rates.prompt_transfer(stage, shape.bytes()),
        rates.pinned(resident * shape.bytes()),
    );
    let bound_by = Causes::of([
        (rates.gpu_dense_cause(), gpu),
        (rates.cold_dense_cause(), cold),
        (rates.attention_cause(shape), attention),
        (BoundBy::Synchronisation, rates.exchange * exchanges),
        (BoundBy::Link, transfers + merging * exchanges),
    ])
    .largest();
    Ok(Account {
        pcie: transfers,
        gpu,
        cold,
        mlp: Nanoseconds::saturating((gpu + cold).as_f64() * mlp_weights / weights),
        hot_share: resident,
        gpu_read_share: resident,
        cold_compute_share: 1.0 - resident,
        ..Account::dense(prompt, step, bound_by, held)
    })
}
