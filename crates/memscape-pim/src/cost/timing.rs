//! The delays that a PIM command stream meets.

use memscape_dram::{Constraint, Constraints, Dram, Kind, PimDelays, Scope};
use memscape_units::Picoseconds;

use crate::hardware::{Machine, RowAfterWrite};

/// The delays that a PIM command stream meets, in whole picoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// Between two PIM commands.
    pub slot: Picoseconds,
    /// From a read (MAC) to a register write or spill.
    pub read_to_write: Picoseconds,
    /// From a register write or spill to a read.
    pub write_to_read: Picoseconds,
    /// From a register write to a precharge or activate.
    pub write_to_row: Picoseconds,
    /// From a read to a precharge.
    pub read_to_close: Picoseconds,
    /// From a spill to a precharge.
    pub spill_to_close: Picoseconds,
    /// From any command to the next on the command bus.
    pub bus: Picoseconds,
    /// From a precharge to an activate, all banks.
    pub close_to_open: Picoseconds,
    /// From an activate to a column access.
    pub open_to_access: Picoseconds,
    /// From an activate to a precharge.
    pub open_to_close: Picoseconds,
    /// From an activate to the next.
    pub open_to_open: Picoseconds,
    delays: PimDelays,
}

impl Timing {
    /// The timing of PIM commands on this machine. A slot is `command_ratio` plain
    /// column accesses.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked positive; `as` saturates"
    )]
    pub fn new(machine: &Machine) -> Self {
        let Machine { memory, pim, .. } = machine;
        let slot = Picoseconds((memory.burst().as_f64() * pim.command_ratio * 1e3).round() as u64);
        let delays = PimDelays::new(memory, slot, pim.host_turnaround_ns);
        let write_to_row = match pim.row_after_write {
            RowAfterWrite::InOrder => delays.write_to_read.max(delays.bus),
            RowAfterWrite::Overlapped => delays.bus,
        };
        Self {
            slot,
            read_to_write: Picoseconds(delays.read_to_write),
            write_to_read: Picoseconds(delays.write_to_read),
            write_to_row: Picoseconds(write_to_row),
            read_to_close: Picoseconds(delays.read_to_close),
            spill_to_close: Picoseconds(delays.spill_to_close),
            bus: Picoseconds(delays.bus),
            close_to_open: Picoseconds(delays.close_to_open),
            open_to_access: Picoseconds(delays.open_to_access),
            open_to_close: Picoseconds(delays.open_to_close),
            open_to_open: Picoseconds(delays.open_to_open),
            delays,
        }
    }

    /// What a row costs beyond its column accesses: all banks closed and opened.
    #[must_use]
    pub fn row_open(&self) -> Picoseconds {
        self.close_to_open + self.open_to_access
    }

    /// The same as rules for the DRAM engine.
    #[must_use]
    pub fn constraints(&self, memory: &Dram) -> Constraints {
        let mut rules = self.delays.constraints(memory);
        rules.pairs.extend([Kind::PreAll, Kind::ActAll].map(|to| Constraint {
            name: "row after write",
            from: Kind::RegWrite,
            to,
            scope: Scope::Rank,
            delay: self.write_to_row,
        }));
        rules
    }

    /// What all-bank refreshes add to a busy time.
    #[must_use]
    pub fn refresh(&self, memory: &Dram, busy: Picoseconds) -> Picoseconds {
        Picoseconds(self.delays.refresh_ps(memory, busy.0))
    }
}
