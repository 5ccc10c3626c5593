//! Hermes without activation sparsity.

use memscape_study::BoundBy;
use memscape_units::Nanoseconds;

use crate::activity::BlockKind;
use crate::cost::{
    Account, Causes, ColdSide, DimmWork, PromptStage, Rates, StepPart, Traffic, on_dimms, step,
};
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
    let multiplied = shape.multiplied_bytes();
    let resident = (rates.usable_bytes / multiplied).min(1.0);
    let weights = multiplied / shape.weight_bytes;
    // The DIMMs have all weights: they compute what the GPU would be slower at.
    let computed = if rates.gpu_dense(weights) < rates.cold_dense(weights) { resident } else { 0.0 };
    let gpu = rates.gpu_dense(weights * computed);
    let mlp_weights = shape.block_weights(BlockKind::Mlp) * layers;
    let exchanges = layers * 2.0;
    let crossing = BlockKind::ALL.map(|it| rates.block_activations(shape, it));
    let transfers = crossing.into_iter().sum::<Nanoseconds>() * layers;
    // All neurons of what the DIMMs compute are active, for each sequence.
    let carried: f64 = BlockKind::ALL
        .iter()
        .map(|it| {
            f64::from(u32::try_from(shape.neurons(*it)).unwrap_or(u32::MAX))
                * rates.carried_per_activation(shape, *it)
        })
        .sum();
    let carried = carried * layers * rates.batch * (1.0 - computed);
    let cold_weights = weights * (1.0 - computed);
    let cold_bytes = cold_weights * shape.weight_bytes;
    // Sums of more DIMMs take longer to bring together: no more share what they
    // multiply than pay. All else is spread over all of them.
    let pins = rates.carry_of_neurons(carried);
    let all = rates.cold_dense(cold_weights) + pins;
    let room = (held.limit - held.bytes + cold_bytes) / rates.dimms;
    let shared = (1..=machine.dimms.get())
        .filter(|it| f64::from(*it) * room >= cold_bytes || *it == machine.dimms.get());
    let sides = shared.map(|it| {
        let cold = all * (f64::from(machine.dimms.get()) / f64::from(it));
        let merging: Nanoseconds =
            shape.merged().map(|width| rates.merge(width, it as usize)).into_iter().sum();
        (cold, merging * layers, it)
    });
    let total = |it: &(Nanoseconds, Nanoseconds, u32)| (it.0 + it.1).as_f64();
    let fewer = |a, b| if total(&b) < total(&a) { b } else { a };
    let (cold, merging, sharing) = sides.reduce(fewer).unwrap_or((all, Nanoseconds::ZERO, 1));
    // Fewer modules carry it over fewer pins.
    let shared_by = f64::from(machine.dimms.get()) / f64::from(sharing);
    // Units that multiply no weights need no inputs of blocks, and have no sums of them.
    let fed = if cold_weights > 0.0 { f64::from(sharing) } else { 0.0 };
    let around = if fed > 0.0 { rates.inputs(shape).into_iter().sum() } else { Nanoseconds::ZERO } * layers;
    let attention = rates.attention(shape, work.mean_context()) * layers;
    let step = step([
        (StepPart::Fc, gpu + cold),
        (StepPart::Attention, attention),
        (StepPart::Communication, rates.exchange * exchanges + merging + around + transfers),
        (StepPart::Predictor, Nanoseconds::ZERO),
    ])?;
    let prompt = rates.prompt(stage, work, resident * multiplied);
    let (cache, context) = (work.token_cache_bytes(), work.mean_context());
    let brought = Rates::prompt_bytes(stage, shape, resident * multiplied);
    let copied = Rates::prompt_passes(stage) * brought;
    let attention_macs = 2.0 * crate::numbers::precise(shape.q as u64) * context * layers * rates.batch;
    let traffic = Traffic {
        prompt: DimmWork {
            read: brought + copied,
            written: copied + work.prompt_cache_bytes(),
            ..DimmWork::default()
        },
        step: DimmWork {
            read: cold_bytes + cache * context,
            written: cache,
            linked: shape.merged().map(|it| rates.merged_bytes(it, fed)).iter().sum::<f64>() * layers,
            macs: cold_weights * rates.batch + attention_macs,
            carried: carried + rates.carried_bytes(shape, fed, context) * layers,
        },
    };
    let bound_by = Causes::of([
        (rates.gpu_dense_cause(), gpu),
        (rates.cold_dense_cause(), cold - pins * shared_by),
        (rates.attention_cause(shape), attention),
        (BoundBy::Synchronisation, rates.exchange * exchanges),
        (BoundBy::Link, transfers + merging + around + pins * shared_by),
    ])
    .largest();
    Ok(Account {
        pcie: transfers,
        gpu,
        cold,
        mlp: Nanoseconds::saturating((gpu + cold).as_f64() * mlp_weights / weights),
        hot_share: resident,
        gpu_read_share: computed,
        cold_compute_share: 1.0 - computed,
        traffic: Some(traffic),
        ..Account::dense(prompt, step, bound_by, held)
    })
}
