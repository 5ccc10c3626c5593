//! What Hermes is asked: a machine, a workload, and what it may do.

use memscape_study::CostEngine;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::activity::BlockKind;
use crate::cost::{ColdSide, PromptStage, Rates, hot_capacity};
use crate::error::NdpError;
use crate::hardware::Machine;
use crate::numbers::Share;
use crate::scheduler::{Exchange, Strategy};
use crate::work::{Shape, Work};

/// How much of the GPU a random placement fills.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RandomFill {
    /// As many neurons as the offline partition puts there.
    Partition,
    /// As many as fit.
    Capacity,
}

/// Which placement Hermes-host uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HostPlacement {
    /// That of Hermes with its DIMMs: the same hot and cold neurons.
    AsHermes,
    /// One of its own, level between GPU and host.
    Own,
}

/// What Hermes may do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Policy {
    /// How the answer is found.
    pub engine: CostEngine,
    /// Which of the scheduler's steps are taken.
    pub strategy: Strategy,
    /// How far the exchange goes.
    pub exchange: Exchange,
    /// How the prompt's weights reach the GPU.
    pub prompt: PromptStage,
    /// How much of the GPU a random placement fills.
    pub random_fill: RandomFill,
    /// Which placement Hermes-host uses.
    pub host_placement: HostPlacement,
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

impl<'a> Hermes<'a> {
    /// Finds the machine's rates.
    #[must_use]
    pub fn new(machine: &'a Machine, work: &'a Work, cold: ColdSide, policy: Policy) -> Self {
        let rates = Rates::new(machine, cold, work.batch, work.shape.weight_bytes);
        Self { machine, work, cold, policy, rates }
    }

    /// Rates of the system whose speeds decide where neurons lie.
    pub(super) fn placing_rates(&self) -> Rates {
        match (self.cold, self.policy.host_placement) {
            (ColdSide::Host, HostPlacement::AsHermes) => {
                Rates::new(self.machine, ColdSide::Dimms, self.work.batch, self.work.shape.weight_bytes)
            }
            _ => self.rates,
        }
    }

    /// Bytes of sparse neurons that the GPU can hold.
    ///
    /// # Errors
    /// [`NdpError::Dense`] if nothing is left for them.
    pub fn hot_capacity(&self) -> Result<f64, NdpError> {
        hot_capacity(self.policy.hot_share, &self.work.shape, self.rates.usable_bytes)
    }

    /// What of the sparse neurons a random placement puts on the GPU, if not as many
    /// as the partition.
    pub(super) fn random_share(&self, capacity: f64) -> Option<f64> {
        let fills =
            self.policy.strategy == Strategy::Random && self.policy.random_fill == RandomFill::Capacity;
        fills.then(|| (capacity / self.work.shape.sparse_bytes()).min(1.0))
    }
}

/// Share of a block's neurons that the GPU can fetch per token: over PCIe, while
/// it reads the output projection. Both blocks share the time by their bytes.
pub(super) fn swap_share(rates: &Rates, shape: &Shape) -> f64 {
    let window = rates.gpu_dense(shape.projection_weights()).as_f64();
    let layer: f64 = BlockKind::ALL.iter().map(|it| rates.weight_bytes * shape.block_weights(*it)).sum();
    (window * rates.pcie_bytes_per_ns / layer).min(1.0)
}
