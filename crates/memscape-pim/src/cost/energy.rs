//! What the memory takes of energy: commands on PIM, streams to the processor, and time.

use std::ops::AddAssign;

use memscape_dram::CommandCounts;
use memscape_study::Energy;
use memscape_units::Nanoseconds;

use crate::hardware::Machine;

/// Commands that every channel gets; none where nothing is known of the memory or its units.
#[must_use]
pub fn command_energy(machine: &Machine, commands: &CommandCounts) -> Option<Energy> {
    let Machine { memory, pim, .. } = machine;
    let units = f64::from(memory.banks_per_channel.get());
    Some(memory.meter()?.commands_of_all(commands, units, pim.mac_pj_per_bit?))
}

/// Bytes that the processor reads and writes.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Traffic {
    /// Bytes read.
    pub read: f64,
    /// Bytes written.
    pub written: f64,
}

impl Traffic {
    /// Both.
    #[must_use]
    pub fn bytes(&self) -> f64 {
        self.read + self.written
    }

    /// So many times.
    #[must_use]
    pub fn times(&self, count: f64) -> Self {
        Self { read: self.read * count, written: self.written * count }
    }
}

impl AddAssign for Traffic {
    fn add_assign(&mut self, other: Self) {
        self.read += other.read;
        self.written += other.written;
    }
}

/// The processor's reads and writes, each row of which is opened once; none where nothing is
/// known of the memory.
#[must_use]
pub fn traffic_energy(machine: &Machine, traffic: Traffic) -> Option<Energy> {
    Some(machine.memory.meter()?.stream_of_rows(traffic.read, traffic.written))
}

/// What the memory takes as long as this, whatever it does; `refresh` with refreshes at their
/// interval.
#[must_use]
pub fn idle_energy(machine: &Machine, time: Nanoseconds, refresh: bool) -> Option<Energy> {
    Some(machine.memory.meter()?.idle(time, refresh))
}
