//! What the sparse blocks of one step do, over all layers.

use memscape_study::BoundBy;
use memscape_units::Nanoseconds;

use crate::cost::{Causes, Rates};
use crate::scheduler::{BlockCost, Load, Split};

/// What some layers fetch at some tokens, which their projection does not hide.
#[derive(Debug, Clone, Copy)]
pub(super) struct Late {
    /// Of all layers at all tokens.
    pub share: f64,
    /// Over PCIe.
    pub time: Nanoseconds,
}

impl Late {
    /// What a mean layer waits for these where it waits for something else already.
    pub fn beyond(all: &[Self], hidden: Nanoseconds) -> Nanoseconds {
        all.iter().map(|it| (it.time - hidden) * it.share).sum()
    }
}

/// What the sparse blocks of one step do, over all layers.
#[derive(Debug, Clone)]
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
    /// The time by what binds it.
    pub causes: Causes,
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
    pub late: Vec<Late>,
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
            causes: Causes::of([]),
            gpu_read: 0.0,
            cold_read: 0.0,
            gpu_macs: 0.0,
            cold_macs: 0.0,
            carried: 0.0,
            crossed: none,
            hot_bytes: 0.0,
            swaps: 0.0,
            late: Vec::new(),
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

/// Adds a block's time by what binds it: on either side reading or multiplying, inputs and sums on
/// their way to units at banks, handing out neurons to the host's cores; or what the GPU takes whatever
/// it computes, which is synchronisation beside activations over PCIe.
///
/// * `split`: the time by sides
/// * `loads`: of the GPU, and of the cold side
pub(super) fn add_causes(
    causes: &mut Causes,
    cost: &BlockCost,
    rates: &Rates,
    split: Split,
    [on_gpu, cold]: [Load; 2],
) {
    let computes = |load: Load, neuron: Nanoseconds, activation: Nanoseconds| {
        activation * load.activations > neuron * load.neurons
    };
    let hot_cause = if computes(on_gpu, cost.gpu_neuron, cost.gpu_activation) {
        BoundBy::Compute
    } else {
        BoundBy::DramBandwidth
    };
    let multiplies = computes(cold, cost.cold_neuron, cost.cold_activation);
    let carried = cost.carried * cold.activations;
    let cold_cause = if carried > cost.cold(cold) - carried {
        BoundBy::Link
    } else if multiplies {
        BoundBy::Compute
    } else if rates.dispatch > cost.cold_neuron - rates.dispatch {
        BoundBy::Host
    } else {
        BoundBy::DramBandwidth
    };
    let waiting = rates.exchange.as_f64() / cost.gpu_fixed.as_f64().max(1e-300);
    causes.add(hot_cause, split.gpu);
    causes.add(cold_cause, split.cold);
    causes.add(BoundBy::Synchronisation, split.fixed * waiting);
    causes.add(BoundBy::Link, split.fixed * (1.0 - waiting));
}
