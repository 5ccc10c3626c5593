//! Hermes without activation sparsity.

use memscape_study::BoundBy;
use memscape_units::{Nanoseconds, float};

use crate::activity::BlockKind;
use crate::cost::operators::{self, Communicated};
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
    let (resident, weights) = (resident(&rates, shape), multiplied / shape.weight_bytes);
    let divided = Divided::best(machine, &rates, work, held);
    let Divided { computed, gpu, cold, pins, carried, fed, .. } = divided;
    let [waits, around, transfers] = divided.beside();
    let mlp_weights = shape.block_weights(BlockKind::Mlp) * layers;
    let attention = rates.attention(shape, work.mean_context()) * layers;
    let cold_weights = weights * (1.0 - computed);
    let step = step([
        (StepPart::Fc, gpu + cold),
        (StepPart::Attention, attention),
        (StepPart::Communication, waits + around + transfers),
        (StepPart::Predictor, Nanoseconds::ZERO),
    ])?;
    let prompt = rates.prompt(stage, work, resident * multiplied);
    let (cache, context) = (work.token_cache_bytes(), work.mean_context());
    let brought = Rates::prompt_bytes(stage, shape, resident * multiplied);
    let copied = Rates::prompt_passes(stage) * brought;
    let attention_macs = 2.0 * float(shape.q as u64) * context * layers * rates.batch;
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
        (BoundBy::Link, transfers + around + pins),
    ])
    .largest();
    Ok(Account {
        pcie: transfers,
        gpu,
        cold,
        mlp: Some((gpu + cold) * (mlp_weights / weights) + divided.meeting(BlockKind::Mlp)),
        hot_share: resident,
        gpu_read_share: computed,
        cold_compute_share: 1.0 - computed,
        traffic: Some(traffic),
        ..Account::dense(prompt, step, bound_by, held)
    })
}

/// What its operators are of a step's parts: GPU and DIMMs meet for the two blocks.
///
/// # Errors
/// As of [`hermes_base`].
pub fn hermes_base_operators(machine: &Machine, work: &Work) -> Result<operators::Divided, NdpError> {
    let rates = Rates::new(machine, ColdSide::Dimms, work.batch, work.shape.weight_bytes);
    let divided = Divided::best(machine, &rates, work, on_dimms(machine, work)?);
    let [qkv, mlp] = BlockKind::ALL.map(|it| (divided.meeting(it) + divided.around[it.index()]).as_f64());
    let dense = operators::Divided::dense(work, Communicated::Weights);
    Ok(operators::Divided { communication: [qkv, 0.0, mlp, 0.0, 0.0], ..dense })
}

/// Share of the weights that the GPU holds.
fn resident(rates: &Rates, shape: &Shape) -> f64 {
    (rates.usable_bytes / shape.multiplied_bytes()).min(1.0)
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
    /// Of blocks: what each module's units need, whatever they multiply, and bringing sums together.
    around: [Nanoseconds; 2],
    /// Of blocks: meeting a GPU that has something to compute.
    waits: [Nanoseconds; 2],
    /// Of blocks: its inputs and results over PCIe.
    transfers: [Nanoseconds; 2],
    /// Bytes over pins for what is multiplied.
    carried: f64,
    /// DIMMs that share what they multiply.
    fed: f64,
}

impl Divided {
    /// The DIMMs have all weights: they compute what the GPU would be slower at, with all that comes with it.
    /// What either takes grows with its share, so that no part is faster than both of these.
    fn best(machine: &Machine, rates: &Rates, work: &Work, held: Held) -> Self {
        let shape = &work.shape;
        let weights = shape.multiplied_bytes() / shape.weight_bytes;
        let divided = |computed: f64| Self::of(machine, rates, shape, held, weights, computed);
        let (theirs, ours) = (divided(0.0), divided(resident(rates, shape)));
        if ours.time() < theirs.time() { ours } else { theirs }
    }

    /// * `weights`: all that are multiplied
    /// * `computed`: share of them that the GPU computes
    fn of(machine: &Machine, rates: &Rates, shape: &Shape, held: Held, weights: f64, computed: f64) -> Self {
        let layers = float(shape.layers as u64);
        let gpu = rates.gpu_dense(weights * computed);
        let cold_weights = weights * (1.0 - computed);
        let none = Nanoseconds::ZERO;
        let [waits, transfers] = if computed > 0.0 {
            let crossing = BlockKind::ALL.map(|it| rates.block_activations(shape, it) * layers);
            [[rates.exchange * layers; 2], crossing]
        } else {
            [[none; 2]; 2]
        };
        // Units that multiply no weights need no inputs of blocks, and have no sums of them.
        if cold_weights <= 0.0 {
            let ([cold, pins], around, carried, fed) = ([none; 2], [none; 2], 0.0, 0.0);
            return Self { computed, gpu, cold, pins, around, waits, transfers, carried, fed };
        }
        // All neurons of what the DIMMs compute are active, for each sequence.
        let of_block =
            |it: &BlockKind| float(shape.neurons(*it) as u64) * rates.carried_per_activation(shape, *it);
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
        let (cold, _, fed) = sides.reduce(fewer).unwrap_or((all, none, dimms));
        Self {
            computed,
            gpu,
            cold,
            // Fewer modules carry it over fewer pins.
            pins: pins * (f64::from(dimms) / f64::from(fed)),
            around: rates.around(shape, fed as usize).map(|it| it * layers),
            waits,
            transfers,
            carried,
            fed: f64::from(fed),
        }
    }

    /// Of both blocks: meeting, what is around the units, and transfers.
    fn beside(&self) -> [Nanoseconds; 3] {
        [self.waits, self.around, self.transfers].map(|it| it.into_iter().sum())
    }

    /// Of one block: meeting, and transfers.
    fn meeting(&self, block: BlockKind) -> Nanoseconds {
        self.waits[block.index()] + self.transfers[block.index()]
    }

    fn time(&self) -> Nanoseconds {
        self.gpu + self.cold + self.beside().into_iter().sum()
    }
}
