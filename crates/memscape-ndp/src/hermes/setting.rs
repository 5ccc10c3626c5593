//! What Hermes is asked: a machine, a workload, and what it may do.

use std::num::NonZeroU32;

use memscape_study::CostEngine;
use memscape_units::Nanoseconds;

use crate::activity::BlockKind;
use crate::cost::{ColdSide, Prompt, PromptStage, Rates, hot_capacity};
use crate::error::NdpError;
use crate::hardware::Machine;
use crate::numbers::Share;
use crate::scheduler::{Exchange, FETCHES, Missed, Strategy};
use crate::work::Work;

/// What Hermes may do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Policy {
    /// How the answer is found.
    pub engine: CostEngine,
    /// Which of the scheduler's steps are taken.
    pub strategy: Strategy,
    /// Who computes what the GPU holds.
    pub exchange: Exchange,
    /// What becomes of what was not predicted.
    pub missed: Missed,
    /// How the prompt's weights reach the GPU.
    pub prompt: PromptStage,
    /// Groups of neighbours that a block is cut into for the DIMMs; none places
    /// each neuron by itself.
    pub groups: Option<NonZeroU32>,
    /// Multipliers of the DIMM that the offline partition is made for, if it is
    /// another than the one that computes.
    pub placed_for_multipliers: Option<NonZeroU32>,
    /// Share of the sparse weights that the GPU may hold; what fits if missing.
    pub hot_share: Option<Share>,
    /// Seed of random placements.
    pub seed: u64,
}

/// Hermes on a machine, or with the host in the DIMMs' place.
#[derive(Debug, Clone, Copy)]
pub struct Hermes<'a> {
    /// What it runs on.
    pub machine: &'a Machine,
    /// What it computes.
    pub work: &'a Work,
    /// Who computes cold neurons.
    pub cold: ColdSide,
    /// What it may do.
    pub policy: Policy,
    /// How fast the machine is.
    pub rates: Rates,
}

/// What is settled before the first token.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plan {
    /// Bytes of sparse neurons that the GPU holds at most.
    pub capacity: f64,
    /// Neurons that are fetched per token at most: which of [`FETCHES`].
    pub fetch: usize,
    /// DIMMs that cold neurons are spread over.
    pub dimms: usize,
    /// Whether cold neurons move between them.
    pub remap: bool,
}

impl<'a> Hermes<'a> {
    /// Finds the machine's rates.
    #[must_use]
    pub fn new(machine: &'a Machine, work: &'a Work, cold: ColdSide, policy: Policy) -> Self {
        let rates = Rates::new(machine, cold, work.batch, work.shape.weight_bytes);
        Self { machine, work, cold, policy, rates }
    }

    /// Rates of the system whose speeds decide where neurons lie, as printed: Hermes with
    /// its DIMMs, whose partition the host takes over.
    pub(super) fn placing_rates(&self) -> Rates {
        let mut machine = *self.machine;
        machine.dimm.multipliers = self.policy.placed_for_multipliers.unwrap_or(machine.dimm.multipliers);
        Rates::new(&machine, ColdSide::Dimms, self.work.batch, self.work.shape.weight_bytes)
    }

    /// Bytes of sparse neurons that the GPU can hold.
    ///
    /// # Errors
    /// [`NdpError::Dense`] if nothing is left for them.
    pub fn hot_capacity(&self) -> Result<f64, NdpError> {
        hot_capacity(self.policy.hot_share, &self.work.shape, self.machine)
    }

    /// DIMMs that there are; one where the host computes.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count of DIMMs")]
    pub(super) fn dimms(&self) -> usize {
        self.rates.dimms as usize
    }

    /// Bytes of sparse weights that fit one DIMM, beside its part of what lies on
    /// all.
    #[must_use]
    pub fn dimm_room(&self) -> f64 {
        let (work, shape) = (self.work, &self.work.shape);
        let count = f64::from(self.machine.dimms.get());
        let all = count * self.machine.dimm.capacity_gb.as_f64() * 1e9;
        let room = (all - work.cache_bytes() - (shape.bytes() - shape.sparse_bytes())) / count;
        if self.cold == ColdSide::Host { room * count } else { room }
    }

    /// The plan of one who looks no further than the window of the projection.
    pub(super) fn plain_plan(&self, capacity: f64) -> Plan {
        let remap = self.policy.strategy == Strategy::Full && self.dimms() > 1;
        Plan { capacity, fetch: self.hidden_fetch(), dimms: self.dimms(), remap }
    }

    /// The prompt where the GPU holds so many bytes of sparse neurons for the reply.
    pub(super) fn prompt_with(&self, hot_bytes: f64) -> Prompt {
        let shape = &self.work.shape;
        self.rates.prompt(self.policy.prompt, self.work, hot_bytes + shape.dense_bytes())
    }

    /// The most fetches that the projection hides.
    pub(super) fn hidden_fetch(&self) -> usize {
        let weights: f64 = BlockKind::ALL.iter().map(|it| self.work.shape.block_weights(*it)).sum();
        // Both blocks share the time by their bytes.
        let share = self.projection() / self.rates.pinned(self.rates.weight_bytes * weights);
        FETCHES.partition_point(|it| *it <= share).saturating_sub(1)
    }

    /// One layer's output projection on the GPU, which fetches neurons meanwhile.
    pub(super) fn projection(&self) -> Nanoseconds {
        self.rates.gpu_dense(self.work.shape.projection_weights())
    }
}
