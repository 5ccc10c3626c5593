//! The delays of an all-bank PIM command stream, as a closed form adds them up.
//!
//! Derived here from the description alone. The engine finds the same from its
//! rules; tests hold the two to each other over random timings.

use memscape_units::Picoseconds;

use crate::constraint::PimTiming;
use crate::device::{Dram, minus};

/// The delays that a PIM command stream meets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PimDelays {
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
}

impl PimDelays {
    /// The delays of PIM commands on this memory.
    ///
    /// A write's data leaves the bus CWL and a burst after its command, and tWTR
    /// or tWR counts from there; a read's arrives CL and a burst after it, and two
    /// clocks later the bus may turn. A row that has been read may close after tRTP: by
    /// then its data have left it, however long the unit takes with them.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates")]
    pub fn new(memory: &Dram, pim: &PimTiming) -> Self {
        let m = memory;
        let (burst, clock) = (m.burst(), m.tck());
        let column_cycle = match m.tccd_l_ns {
            Some(declared) => declared.max(burst),
            None if m.bank_groups.get() == 1 => burst,
            None => burst + burst,
        };
        let bus = Picoseconds((clock.as_f64() * 1e3).floor() as u64);
        let slot = column_cycle.max(m.tccd_s_ns.unwrap_or(burst)).max(pim.command).to_picoseconds().max(bus);
        let written = m.cwl_ns + burst;
        let turn = m.trtw_ns.unwrap_or_else(|| minus(m.cl_ns + burst + clock + clock, m.cwl_ns));
        let write_to_read = (written + m.twtr_l_ns).to_picoseconds().max(slot);
        let row_cycle = m.trc_ns.unwrap_or(m.tras_ns + m.trp_ns);
        Self {
            slot,
            read_to_write: (turn + pim.host_turnaround).to_picoseconds().max(slot),
            write_to_read,
            write_to_row: if pim.rows_wait_for_writes {
                (written + m.twtr_l_ns).to_picoseconds().max(bus)
            } else {
                bus
            },
            read_to_close: m.trtp_ns.to_picoseconds().max(bus),
            spill_to_close: (written + m.twr_ns).to_picoseconds().max(slot),
            bus,
            close_to_open: m.trp_ab_ns.to_picoseconds().max(bus),
            open_to_access: m.trcd_ns.to_picoseconds().max(bus),
            open_to_close: m.tras_ns.to_picoseconds().max(bus),
            open_to_open: row_cycle.max(m.tfaw_ns).max(m.trrd_l_ns).to_picoseconds(),
        }
    }

    /// What a row costs beyond its column accesses: all banks closed and opened.
    #[must_use]
    pub fn row_open(&self) -> Picoseconds {
        self.close_to_open + self.open_to_access
    }

    /// What all-bank refreshes add to a busy time, one of many one after the other: every tREFI
    /// that they last, rows close, are refreshed and open again. Of a memory that
    /// [`PimDelays::check_refresh`] refuses it may be longer than any clock counts.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates")]
    #[expect(clippy::cast_precision_loss, reason = "2^53 picoseconds are hours")]
    pub fn mean_refresh(&self, memory: &Dram, busy: Picoseconds) -> Picoseconds {
        let [interval, cost] = self.refresh_ns(memory);
        Picoseconds((busy.0 as f64 * (cost / (interval - cost).max(0.0))).round() as u64)
    }

    /// Whether refreshes leave time for anything else: what slows all commands down lengthens them too.
    ///
    /// # Errors
    /// [`OnlyRefreshing`] if they leave less than a hundredth, or than a command takes.
    pub fn check_refresh(&self, memory: &Dram) -> Result<(), OnlyRefreshing> {
        /// Share of the time that must be left.
        const LEAST: f64 = 0.01;
        let ([interval_ns, refresh_ns], command_ns) = (self.refresh_ns(memory), self.slot.as_ns());
        if interval_ns - refresh_ns < command_ns.max(LEAST * interval_ns) {
            return Err(OnlyRefreshing { interval_ns, refresh_ns, command_ns });
        }
        Ok(())
    }

    /// From one refresh to the next, and what one takes with the closing and opening of rows.
    fn refresh_ns(&self, memory: &Dram) -> [f64; 2] {
        [memory.trefi_ns.as_f64(), memory.trfc_ab_ns.as_f64() + self.row_open().as_ns()]
    }
}

/// Refreshes leave no time to compute.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error(
    "in each `memory.trefi_ns` of {interval_ns:.0} ns, refreshing the memory takes {refresh_ns:.0} ns with the closing and \
     opening of rows, which leaves too little for commands of {command_ns:.0} ns; raise `memory.data_rate_mt_s` or \
     `memory.trefi_ns`"
)]
pub struct OnlyRefreshing {
    /// From one refresh to the next.
    pub interval_ns: f64,
    /// What one takes.
    pub refresh_ns: f64,
    /// What a command takes.
    pub command_ns: f64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use memscape_units::Nanoseconds;

    use crate::MEMORIES;

    #[test]
    fn a_pim_command_takes_a_column_cycle() {
        let memory = *MEMORIES.get("lpddr5x-7500");
        let delays = PimDelays::new(&memory, &PimTiming::NONE);
        assert_eq!(delays.slot, Picoseconds(4_267));
        let slow = PimTiming { command: Nanoseconds::new(9.0).unwrap(), ..PimTiming::NONE };
        assert_eq!(PimDelays::new(&memory, &slow).slot, Picoseconds(9_000));
    }

    /// A slow unit has what it read; its row need not stay open for it.
    #[test]
    fn a_row_closes_as_soon_after_a_read_as_its_datasheet_says() {
        let memory = *MEMORIES.get("lpddr5x-7500");
        let slow = PimTiming { command: Nanoseconds::new(50.0).unwrap(), ..PimTiming::NONE };
        assert_eq!(PimDelays::new(&memory, &slow).read_to_close, memory.trtp_ns.to_picoseconds());
        let at_once = Dram { trtp_ns: Nanoseconds::ZERO, ..memory };
        let delays = PimDelays::new(&at_once, &slow);
        assert_eq!(delays.read_to_close, delays.bus, "commands follow each other on the bus");
    }
}
