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
    /// The same if nothing had to be refreshed.
    pub unrefreshed: GbPerS,
    /// Whether refresh is on.
    pub refresh: bool,
}

impl Site {
    /// # Errors
    /// [`HardwareError`] if the machine contradicts itself.
    pub fn new(machine: &Machine, refresh: bool) -> Result<Self, HardwareError> {
        thread_local!(static KEPT: Recent<Dram, GbPerS> = const { Recent::new() });
        let memory = &machine.memory;
        let unrefreshed = KEPT.with(|it| it.get(*memory, unrefreshed))?;
        machine.check_unit()?;
        let left = if refresh { 1.0 - memory.refresh_share() } else { 1.0 };
        let bandwidth = GbPerS::new(unrefreshed.as_f64() * left).unwrap_or(unrefreshed);
        Ok(Self { delays: machine.pim_delays(), bandwidth, unrefreshed, machine: *machine, refresh })
    }
}

/// What the processor can read at best while nothing is refreshed: a stream over all bank groups of
/// all channels. Checks the memory.
fn unrefreshed(memory: &Dram) -> Result<GbPerS, HardwareError> {
    memory.check()?;
    let channel = Pattern::Interleaved.bandwidth_gb_s(memory).as_f64();
    Ok(GbPerS::new(channel * f64::from(memory.channels.get())).unwrap_or_else(|_| memory.peak_gb_s()))
}
