//! Why a system has no answer.

use crate::activity::LawError;
use crate::partition::{MOST_PLACES, PartitionError};
use crate::work::WorkError;

/// Why a system has no answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum NdpError {
    /// Nothing to compute.
    #[error(transparent)]
    Work(#[from] WorkError),
    /// The law.
    #[error(transparent)]
    Law(#[from] LawError),
    /// States that start from the end.
    #[error(
        "`predictor.start_high` is {high}, below the {low} of `predictor.start_low`; states rise from the lower share of the \
         prompt's tokens to the higher: raise the one or lower the other"
    )]
    Starts {
        /// Below it a state starts at 0.
        low: f64,
        /// Above it a state starts at 15.
        high: f64,
    },
    /// A memory that contradicts itself.
    #[error("`dimm.memory`: {0}")]
    Memory(#[from] memscape_dram::DramError),
    /// More bank groups than banks, of which a study cannot give more.
    #[error(
        "`dimm.memory.bank_groups` is {groups}, but a rank of `dimm.memory` has {banks} banks; give {banks} groups at \
         most, or another `dimm.memory`"
    )]
    BankGroups {
        /// Bank groups of a rank.
        groups: u32,
        /// Its banks.
        banks: u32,
    },
    /// No placement.
    #[error(transparent)]
    Partition(#[from] PartitionError),
    /// More neurons and devices than are solved in ten seconds.
    #[error(
        "{neurons} neurons of `model` on {devices} devices are too many; their product may be at most {MOST_PLACES}; {}",
        fewer_places(*neurons, *devices)
    )]
    Places {
        /// Neurons of all layers.
        neurons: usize,
        /// The GPU and the DIMMs, or the host.
        devices: usize,
    },
    /// More than the DIMMs hold.
    #[error(
        "weights and key-value cache take {need_gb:.1} GB, but {} of {capacity_gb:.1} GB {} {:.1} GB: {:.1} GB short; {}",
        several(*dimms, "DIMM"), hold(*dimms), f64::from(*dimms) * capacity_gb, need_gb - f64::from(*dimms) * capacity_gb,
        would_do(*needed, "DIMM", "dimm.capacity_gb")
    )]
    Dimms {
        /// What is needed.
        need_gb: f64,
        /// DIMMs that there are.
        dimms: u32,
        /// What one holds.
        capacity_gb: f64,
        /// DIMMs that would do.
        needed: u32,
    },
    /// What every token needs whole does not fit the GPU.
    #[error(
        "output projections and LM head take {need_gb:.2} GB, but the GPU can hold {have_gb:.2} GB, as weights can take \
         {usable} of its memory (`overhead.gpu_usable`): {:.2} GB short; {}", need_gb - have_gb,
        enough_memory(*need_gb, *have_gb, *usable)
    )]
    Dense {
        /// What is needed.
        need_gb: f64,
        /// What there is.
        have_gb: f64,
        /// Share of the GPU's memory that weights can take.
        usable: f64,
    },
    /// TensorRT-LLM needs all weights on GPUs.
    #[error(
        "{} would have to hold {need_gb:.1} GB, its share of weights and of heads' keys and values, but has \
         {have_gb:.1} GB for them (`overhead.gpu_usable`): {:.1} GB short; {}",
        fullest(*gpus), need_gb - have_gb, would_do(*needed, "GPU", "gpu.memory_gb` or `overhead.gpu_usable")
    )]
    Gpus {
        /// What the fullest needs.
        need_gb: f64,
        /// What it has.
        have_gb: f64,
        /// GPUs that there are.
        gpus: u32,
        /// GPUs that would do.
        needed: u32,
    },
    /// Fewer tokens than are looked at together.
    #[error(
        "`{parameter}` looks at {need} generated tokens together, but `generated_tokens` is {have}; raise it to {need} at \
         least, or lower `{parameter}`"
    )]
    FewTokens {
        /// Tokens that there are.
        have: usize,
        /// Tokens that are needed.
        need: usize,
        /// The parameter that needs them.
        parameter: &'static str,
    },
    /// A baseline for one family of models.
    #[error(
        "{system} supports models with ReLU of their own (OPT) only; give such a `model`, for example \"opt-66b\", or \
         another `system`"
    )]
    Unsupported {
        /// The baseline.
        system: &'static str,
    },
    /// Expected values need the law.
    #[error("`engine` closed knows the activity law only; use `engine` events for the recording `{0}`")]
    ClosedRecording(String),
    /// Who has active parents, neuron by neuron, is more than expected values tell.
    #[error(
        "`engine` closed follows `predictor.rule` reach; with exceed nothing is predicted without active parents, \
         which only `engine` events knows neuron by neuron"
    )]
    ClosedRule,
    /// Some DIMMs have nothing at first.
    #[error(
        "`engine` closed takes every DIMM to have its share, but {groups} groups over {dimms} DIMMs leave some with none; \
         raise `placement_groups` to {dimms} at least, or use `engine` events"
    )]
    ClosedGroups {
        /// Groups of a block.
        groups: u32,
        /// DIMMs that they are dealt to.
        dimms: u32,
    },
    /// How many neurons move is only about known.
    #[error(
        "`engine` closed knows about how many neurons move between DIMMs, and over links of {link_gb_s} GB/s that takes \
         {share:.0} % of a step; use `engine` events, faster links, `exchange` until-level, which moves none where that \
         does not pay, or `strategy` adjustment, which never does"
    )]
    ClosedMoves {
        /// Of one link.
        link_gb_s: f64,
        /// Of the step, in per cent.
        share: f64,
    },
    /// Two questions at once.
    #[error(
        "`instance` has blocks and devices of its own, so that `{0}` cannot count; leave out one of them"
    )]
    BesideInstance(String),
    /// Deja Vu has expected values only.
    #[error("Deja Vu is known by the activity law only; set `trace` to null instead of the recording `{0}`")]
    DejaVuRecording(String),
    /// Several GPUs for a system of one.
    #[error("`gpus` is {0}; only `system` tensorrt-llm uses more than one")]
    ManyGpus(u32),
    /// Longer than the clock can count.
    #[error("a step takes {days:.0} days; parameters so far off say nothing")]
    TooLong {
        /// How long.
        days: f64,
    },
}

/// Memory of which the usable share suffices; without a share that does, no memory helps. Or the share of the
/// memory that there is.
fn enough_memory(need_gb: f64, have_gb: f64, usable: f64) -> String {
    /// The most memory that a GPU takes.
    const MOST_GB: f64 = 1e9;
    let tenths = (need_gb / usable * 10.0).ceil();
    // The last digit of the product may round below.
    let enough = if tenths / 10.0 * usable < need_gb { tenths + 1.0 } else { tenths } / 10.0;
    let share = (need_gb / (have_gb / usable) * 1e3).ceil() / 1e3;
    if enough > MOST_GB {
        "raise `overhead.gpu_usable`".to_owned()
    } else if share <= 1.0 {
        format!("give `gpu.memory_gb` = {enough} at least, or `overhead.gpu_usable` = {share}")
    } else {
        format!("give `gpu.memory_gb` = {enough} at least")
    }
}

/// The most DIMMs that so many neurons can be dealt to; too many for one DIMM are too many for any.
fn fewer_places(neurons: usize, devices: usize) -> String {
    let most = (MOST_PLACES / neurons).saturating_sub(1);
    if (1..devices - 1).contains(&most) {
        format!("give `dimms` = {most} at most, or a `model` of fewer neurons")
    } else {
        "give a `model` of fewer neurons".to_owned()
    }
}

/// So many of a thing.
fn several(count: u32, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// The one of so many GPUs that has the most.
fn fullest(gpus: u32) -> String {
    if gpus == 1 { "the GPU".to_owned() } else { format!("the fullest of {gpus} GPUs") }
}

/// What so many do.
const fn hold(count: u32) -> &'static str {
    if count == 1 { "holds" } else { "hold" }
}

/// How many of them would do, or what else would where that is more than a machine has.
fn would_do(needed: u32, what: &str, capacity: &str) -> String {
    /// The most that a study takes.
    const MOST: u32 = 1024;
    if needed <= MOST {
        format!("{} would do", several(needed, what))
    } else {
        format!("not even {} would do: raise `{capacity}`", several(MOST, what))
    }
}
