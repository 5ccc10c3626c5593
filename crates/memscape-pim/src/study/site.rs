//! What is the same for all matrices on a machine.

use memscape_dram::PimDelays;
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
    /// [`HardwareError`] if the machine contradicts itself, or has no time but for refreshes.
    pub fn new(machine: &Machine, refresh: bool) -> Result<Self, HardwareError> {
        let unrefreshed = machine.stream_gb_s(false)?;
        machine.check_unit()?;
        let bandwidth = machine.stream_gb_s(refresh)?;
        let delays = machine.pim_delays();
        if refresh {
            delays.check_refresh(&machine.memory)?;
        }
        Ok(Self { delays, bandwidth, unrefreshed, machine: *machine, refresh })
    }
}
