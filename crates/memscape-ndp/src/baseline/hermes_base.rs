//! Hermes without activation sparsity.

use memscape_study::BoundBy;
use memscape_units::Nanoseconds;

use crate::activity::BlockKind;
use crate::cost::{
    Account, Causes, ColdSide, DimmWork, Held, PromptStage, Rates, StepPart, Traffic, on_dimms, step,
};
use crate::error::NdpError;
use crate::hardware::Machine;
use crate::work::{Shape, Work};

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
    // The DIMMs have all weights: they compute what the GPU would be slower at, with all that comes with it.
    // What either takes grows with its share, so that no part is faster than both of these.
    let divided = |computed: f64| Divided::of(machine, &rates, shape, held, weights, computed);
    let (theirs, ours) = (divided(0.0), divided(resident));
    let Divided { computed, gpu, cold, pins, merging, inputs, waits, transfers, carried, fed } =
        if ours.time() < theirs.time() { ours } else { theirs };
    let mlp_weights = shape.block_weights(BlockKind::Mlp) * layers;
    let attention = rates.attention(shape, work.mean_context()) * layers;
    let cold_weights = weights * (1.0 - computed);
    let step = step([
        (StepPart::Fc, gpu + cold),
        (StepPart::Attention, attention),
        (StepPart::Communication, waits + merging + inputs + transfers),
        (StepPart::Predictor, Nanoseconds::ZERO),
    ])?;
    let prompt = rates.prompt(stage, work, resident * multiplied);
    let (cache, context) = (work.token_cache_bytes(), work.mean_context());
    let brought = Rates::prompt_bytes(stage, shape, resident * multiplied);
    let copied = Rates::prompt_passes(stage) * brought;
    let attention_macs = 2.0 * crate::numbers::precise(shape.q as u64) * context * layers * rates.batch;
    let multiplied = cold_weights * shape.weight_bytes + cache * context;
    let traffic = Traffic {
        prompt: DimmWork {
            read: brought + copied,
            written: copied + work.prompt_cache_bytes(),
            ..DimmWork::default()
        },
        step: DimmWork {
            read: multiplied,
            near: multiplied,
            written: cache,
            linked: shape.merged().map(|it| rates.merged_bytes(it, fed)).iter().sum::<f64>() * layers,
            macs: cold_weights * rates.batch + attention_macs,
            carried: carried + rates.carried_bytes(shape, fed, context) * layers,
        },
    };
    let bound_by = Causes::of([
        (rates.gpu_dense_cause(), gpu),
        (rates.cold_dense_cause(), cold - pins),
        (rates.attention_cause(shape), attention),
        (BoundBy::Synchronisation, waits),
        (BoundBy::Link, transfers + merging + inputs + pins),
    ])
    .largest();
    Ok(Account {
        pcie: transfers,
        gpu,
        cold,
        mlp: Some(Nanoseconds::saturating((gpu + cold).as_f64() * mlp_weights / weights)),
        hot_share: resident,
        gpu_read_share: computed,
        cold_compute_share: 1.0 - computed,
        traffic: Some(traffic),
        ..Account::dense(prompt, step, bound_by, held)
    })
}

/// A step's matrices, a share of which the GPU computes and then the DIMMs the rest.
struct Divided {
    /// Share that the GPU computes.
    computed: f64,
    gpu: Nanoseconds,
    /// What the DIMMs take.
    cold: Nanoseconds,
    /// Of that: inputs and sums of units at banks, over the pins of modules.
    pins: Nanoseconds,
    /// Bringing sums together.
    merging: Nanoseconds,
    /// What each module's units need, whatever they multiply.
    inputs: Nanoseconds,
    /// Meeting a GPU that has something to compute, twice in a layer.
    waits: Nanoseconds,
    /// Its inputs and results over PCIe.
    transfers: Nanoseconds,
    /// Bytes over pins for what is multiplied.
    carried: f64,
    /// DIMMs that share what they multiply.
    fed: f64,
}

impl Divided {
    /// * `weights`: all that are multiplied
    /// * `computed`: share of them that the GPU computes
    fn of(machine: &Machine, rates: &Rates, shape: &Shape, held: Held, weights: f64, computed: f64) -> Self {
        let layers = crate::numbers::precise(shape.layers as u64);
        let gpu = rates.gpu_dense(weights * computed);
        let cold_weights = weights * (1.0 - computed);
        let none = Nanoseconds::ZERO;
        let crossing = || BlockKind::ALL.map(|it| rates.block_activations(shape, it)).into_iter();
        let [waits, transfers] = if computed > 0.0 {
            [rates.exchange * (2.0 * layers), crossing().sum::<Nanoseconds>() * layers]
        } else {
            [none; 2]
        };
        // Units that multiply no weights need no inputs of blocks, and have no sums of them.
        if cold_weights <= 0.0 {
            let [cold, pins, merging, inputs] = [none; 4];
            let (carried, fed) = (0.0, 0.0);
            return Self { computed, gpu, cold, pins, merging, inputs, waits, transfers, carried, fed };
        }
        // All neurons of what the DIMMs compute are active, for each sequence.
        let of_block = |it: &BlockKind| {
            crate::numbers::precise(shape.neurons(*it) as u64) * rates.carried_per_activation(shape, *it)
        };
        let carried =
            BlockKind::ALL.iter().map(of_block).sum::<f64>() * layers * rates.batch * (1.0 - computed);
        let cold_bytes = cold_weights * shape.weight_bytes;
        // Sums of more DIMMs take longer to bring together: no more share what they
        // multiply than pay. All else is spread over all of them.
        let pins = rates.carry_of_neurons(carried);
        let all = rates.cold_dense(cold_weights) + pins;
        let dimms = machine.dimms.get();
        let room = (held.limit - held.bytes + cold_bytes) / rates.dimms;
        let sides = (1..=dimms).filter(|it| f64::from(*it) * room >= cold_bytes || *it == dimms).map(|it| {
            let merging: Nanoseconds =
                shape.merged().map(|width| rates.merge(width, it as usize)).into_iter().sum();
            (all * (f64::from(dimms) / f64::from(it)), merging * layers, it)
        });
        let fewer = |a: (Nanoseconds, Nanoseconds, u32), b: (Nanoseconds, Nanoseconds, u32)| {
            if b.0 + b.1 < a.0 + a.1 { b } else { a }
        };
        let (cold, merging, fed) = sides.reduce(fewer).unwrap_or((all, none, dimms));
        Self {
            computed,
            gpu,
            cold,
            // Fewer modules carry it over fewer pins.
            pins: pins * (f64::from(dimms) / f64::from(fed)),
            merging,
            inputs: rates.inputs(shape).into_iter().sum::<Nanoseconds>() * layers,
            waits,
            transfers,
            carried,
            fed: f64::from(fed),
        }
    }

    fn time(&self) -> Nanoseconds {
        self.gpu + self.cold + self.merging + self.inputs + self.waits + self.transfers
    }
}
