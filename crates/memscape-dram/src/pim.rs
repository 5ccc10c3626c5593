//! The delays of an all-bank PIM command stream, as a closed form adds them up.

use memscape_units::{Nanoseconds, Picoseconds};

use crate::constraint::{Constraints, PimTiming, pim_constraints};
use crate::device::Dram;

/// The delays that a PIM command stream meets, in whole picoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PimDelays {
    /// Between two PIM commands.
    pub slot: u64,
    /// From a read (MAC) to a register write or spill.
    pub read_to_write: u64,
    /// From a register write or spill to a read.
    pub write_to_read: u64,
    /// From a read to a precharge.
    pub read_to_close: u64,
    /// From a spill to a precharge.
    pub spill_to_close: u64,
    /// From any command to the next on the command bus.
    pub bus: u64,
    /// From a precharge to an activate, all banks.
    pub close_to_open: u64,
    /// From an activate to a column access.
    pub open_to_access: u64,
    /// From an activate to a precharge.
    pub open_to_close: u64,
    /// From an activate to the next.
    pub open_to_open: u64,
}

impl PimDelays {
    /// The delays of PIM commands, `slot` apart, on this memory. The turnarounds
    /// are the DRAM's own, and what the host adds before it writes.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked positive; `as` saturates"
    )]
    pub fn new(memory: &Dram, slot: Picoseconds, host_turnaround: Nanoseconds) -> Self {
        let ps = |time: Nanoseconds| time.to_picoseconds().0;
        let slot = slot.0;
        let bus = (memory.tck_ns.as_f64() * 1e3).floor() as u64;
        Self {
            slot,
            read_to_write: ps(memory.trtw() + host_turnaround).max(slot),
            write_to_read: ps(memory.write_to_read_l()).max(slot),
            read_to_close: ps(memory.trtp_ns).max(slot),
            spill_to_close: ps(memory.write_to_precharge()).max(slot),
            bus,
            close_to_open: ps(memory.trp_ab_ns).max(bus),
            open_to_access: ps(memory.trcd_ns).max(bus),
            open_to_close: ps(memory.tras_ns).max(bus),
            open_to_open: ps(memory.trc()),
        }
    }

    /// What a row costs beyond its column accesses: all banks closed and opened.
    #[must_use]
    pub const fn row_open(&self) -> u64 {
        self.close_to_open + self.open_to_access
    }

    /// The same as rules for the engine.
    #[must_use]
    pub fn constraints(&self, memory: &Dram) -> Constraints {
        let pim = PimTiming {
            slot: Picoseconds(self.slot),
            read_to_write: Picoseconds(self.read_to_write),
            write_to_read: Picoseconds(self.write_to_read),
        };
        pim_constraints(memory, pim)
    }

    /// What all-bank refreshes add to a busy time: every tREFI, rows close, are
    /// refreshed and open again.
    #[must_use]
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of a time"
    )]
    pub fn refresh_ps(&self, memory: &Dram, busy_ps: u64) -> u64 {
        let interval = memory.trefi_ns.as_f64() * 1e3;
        let cost = memory.trfc_ab_ns.as_f64() * 1e3 + self.row_open() as f64;
        (busy_ps as f64 * cost / (interval - cost).max(1.0)).round() as u64
    }
}
