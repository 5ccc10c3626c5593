//! What the sparse blocks of one step do, over all layers.

use memscape_study::BoundBy;
use memscape_units::Nanoseconds;

use crate::scheduler::{BlockCost, Load};

/// What the sparse blocks of one step do, over all layers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sparse {
    pub time: Nanoseconds,
    pub mlp: Nanoseconds,
    /// Of the time: synchronisation that computing does not hide.
    pub exposed: Nanoseconds,
    /// Of that: of feed-forward blocks.
    pub mlp_exposed: Nanoseconds,
    /// Bytes that feed-forward blocks read, on both sides.
    pub mlp_read: f64,
    pub gpu: Nanoseconds,
    pub cold: Nanoseconds,
    pub level: Nanoseconds,
    /// What binds the slower side while it computes.
    pub bound_by: BoundBy,
    /// Bytes read per step, weighted alike on both sides.
    pub gpu_read: f64,
    pub cold_read: f64,
    pub gpu_macs: f64,
    pub cold_macs: f64,
    /// Bytes that cross modules' pins for active neurons, per step.
    pub carried: f64,
    /// Activations over PCIe.
    pub crossed: Nanoseconds,
    pub hot_bytes: f64,
    pub swaps: f64,
    pub moves: f64,
    /// Bytes of neurons that the GPU fetches, and of those that change DIMM, per step.
    pub fetched_bytes: f64,
    pub moved_bytes: f64,
    pub moved_bytes_slowest: f64,
    pub moved_by_host: Nanoseconds,
    /// Share of the active neurons' bytes that were not predicted.
    pub missed: f64,
    pub window_imbalance: Option<f64>,
    pub accuracy: Option<f64>,
    pub recall: Option<f64>,
}

impl Default for Sparse {
    fn default() -> Self {
        let none = Nanoseconds::ZERO;
        Self {
            time: none,
            mlp: none,
            exposed: none,
            mlp_exposed: none,
            mlp_read: 0.0,
            gpu: none,
            cold: none,
            level: none,
            bound_by: BoundBy::DramBandwidth,
            gpu_read: 0.0,
            cold_read: 0.0,
            gpu_macs: 0.0,
            cold_macs: 0.0,
            carried: 0.0,
            crossed: none,
            hot_bytes: 0.0,
            swaps: 0.0,
            moves: 0.0,
            fetched_bytes: 0.0,
            moved_bytes: 0.0,
            moved_bytes_slowest: 0.0,
            moved_by_host: none,
            missed: 0.0,
            window_imbalance: None,
            accuracy: None,
            recall: None,
        }
    }
}

/// What binds a block: reading or multiplying on the slower side, inputs and sums on their
/// way to units at banks, or handing out neurons to the host's cores.
///
/// * `gpu`, `cold`: time of either side
/// * `loads`: of the GPU, and of one device of the cold side
pub(super) fn cause(
    cost: &BlockCost,
    dispatch: Nanoseconds,
    [gpu, cold]: [Nanoseconds; 2],
    loads: [Load; 2],
) -> BoundBy {
    let on_gpu = gpu - cost.gpu_fixed > cold;
    let (side, neuron, activation) = if on_gpu {
        (0, cost.gpu_neuron, cost.gpu_activation)
    } else {
        (1, cost.cold_neuron, cost.cold_activation)
    };
    let computes = activation * loads[side].activations > neuron * loads[side].neurons;
    let slower = if computes { activation } else { neuron };
    if !on_gpu && cost.carried > slower - cost.carried {
        BoundBy::Link
    } else if computes {
        BoundBy::Compute
    } else if !on_gpu && dispatch > cost.cold_neuron - dispatch {
        BoundBy::Host
    } else {
        BoundBy::DramBandwidth
    }
}
