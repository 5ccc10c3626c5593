//! What is the same for all matrices on a machine.

use memscape_dram::{Dram, Pattern, PimDelays};
use memscape_study::Recent;
use memscape_units::GbPerS;

use crate::hardware::{HardwareError, Machine};

/// A machine that has been checked, and what follows from it whatever the matrix.
#[derive(Debug, Clone, Copy)]
pub(super) struct Site {
    pub machine: Machine,
    /// Of its PIM commands.
    pub delays: PimDelays,
    /// What the processor can read at best.
    pub bandwidth: GbPerS,
    /// Whether refresh is on.
    pub refresh: bool,
}

impl Site {
    /// # Errors
    /// [`HardwareError`] if the machine contradicts itself.
    pub fn new(machine: &Machine, refresh: bool) -> Result<Self, HardwareError> {
        thread_local!(static KEPT: Recent<(Dram, bool), GbPerS> = const { Recent::new() });
        let bandwidth = KEPT.with(|it| it.get((machine.memory, refresh), bandwidth))?;
        machine.check_unit()?;
        Ok(Self { delays: machine.pim_delays(), bandwidth, machine: *machine, refresh })
    }
}

/// What the processor can read at best: a stream over all bank groups of all
/// channels, less what refresh takes. The memory is checked.
fn bandwidth((memory, refresh): &(Dram, bool)) -> Result<GbPerS, HardwareError> {
    memory.check()?;
    let channel = Pattern::Interleaved.bandwidth_gb_s(memory).as_f64();
    let peak = GbPerS::new(channel * f64::from(memory.channels.get())).unwrap_or_else(|_| memory.peak_gb_s());
    if !refresh {
        return Ok(peak);
    }
    Ok(GbPerS::new(peak.as_f64() * (1.0 - memory.refresh_share())).unwrap_or(peak))
}
