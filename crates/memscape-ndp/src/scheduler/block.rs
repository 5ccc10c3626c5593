//! How long a block takes on either side, as far as the scheduler must know.

use memscape_units::Nanoseconds;

/// How long a block takes on either side.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BlockCost {
    /// Bytes of one neuron's weights.
    pub neuron_bytes: f64,
    /// Time of the GPU whatever it computes.
    pub gpu_fixed: Nanoseconds,
    /// Reading one neuron on the GPU.
    pub gpu_neuron: Nanoseconds,
    /// Computing one neuron for one sequence on the GPU.
    pub gpu_activation: Nanoseconds,
    /// Time of the cold side whatever it computes.
    pub cold_fixed: Nanoseconds,
    /// Reading one neuron on a DIMM.
    pub cold_neuron: Nanoseconds,
    /// Computing one neuron for one sequence on a DIMM.
    pub cold_activation: Nanoseconds,
}

/// A count of neurons at the time of one. Counts are differences: rounding may
/// leave less than none.
fn of(count: f64, each: Nanoseconds) -> Nanoseconds {
    Nanoseconds::saturating(count * each.as_f64())
}

impl BlockCost {
    /// Time of the GPU for neurons read and activations computed.
    #[must_use]
    pub fn gpu(&self, neurons: f64, activations: f64) -> Nanoseconds {
        self.gpu_fixed + of(neurons, self.gpu_neuron).max(of(activations, self.gpu_activation))
    }

    /// Time of one DIMM.
    #[must_use]
    pub fn cold(&self, neurons: f64, activations: f64) -> Nanoseconds {
        self.cold_fixed + of(neurons, self.cold_neuron).max(of(activations, self.cold_activation))
    }

    /// How many of `active` neurons the GPU takes at best, if it may hold
    /// `capacity`: until both sides are level.
    #[must_use]
    pub fn level(&self, active: f64, activations: f64, capacity: f64, dimms: f64) -> f64 {
        let share = activations / active.max(1e-300);
        let gpu = self.gpu_neuron.max(of(share, self.gpu_activation)).as_f64();
        let cold = self.cold_neuron.max(of(share, self.cold_activation)).as_f64() / dimms;
        let level = (active * cold + self.cold_fixed.as_f64() - self.gpu_fixed.as_f64()) / (gpu + cold);
        level.clamp(0.0, active.min(capacity))
    }
}
