//! What the DRAM gives to the cores: streams, and reads that hop from row to row.

use memscape_dram::Dram;

use memscape_units::Nanoseconds;

/// Bytes per nanosecond that all channels together give to the cores.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bandwidth {
    /// Of addresses in a row.
    pub stream: f64,
    /// Of PIM-aware weights, read in the host's order: a few bursts of each DRAM row.
    pub gather: f64,
}

impl Bandwidth {
    /// That of a checked memory, of whose peak the cores reach a share of `efficiency`, where
    /// a copy takes `together` columns of the matrix before it goes on.
    ///
    /// In the PIM-aware layout neighbours in a column lie in other rows of the same
    /// banks, so a row gives `together` bursts and is left. A row takes the longest of
    /// its bursts on the data bus, its share of the window of four activates, and the
    /// time until its bank can open another one, which the banks share.
    #[must_use]
    pub fn of(memory: &Dram, efficiency: f64, together: u64) -> Self {
        let channels = f64::from(memory.channels.get()) * efficiency;
        let ns = Nanoseconds::as_f64;
        let groups = f64::from(memory.bank_groups.get());
        // An address map spreads a stream over as many banks as it takes.
        let access_ns = ns(memory.tccd_s()).max(ns(memory.tccd_l()) / groups);
        let stream = f64::from(memory.column_bytes()) / access_ns;

        let columns = u32::try_from(together).unwrap_or(u32::MAX).min(memory.columns_per_row());
        let bursts = f64::from(columns);
        let bytes = bursts * f64::from(memory.column_bytes());
        let ranks = f64::from(memory.ranks.get());
        let reads = ns(memory.trcd_ns) + (bursts - 1.0) * ns(memory.tccd_l());
        let bank = ns(memory.trc()).max(reads + ns(memory.trtp_ns) + ns(memory.trp_ns));
        let row = [
            bytes / stream,
            ns(memory.tfaw_ns) / (4.0 * ranks),
            bank / f64::from(memory.banks_per_channel.get()),
        ];
        let gather = bytes / row.into_iter().fold(0.0, f64::max);
        Self { stream: channels * stream, gather: channels * gather }
    }

    /// The time of swizzled copies of so many bytes with so many transactions each, of
    /// which the first reads the weights, in nanoseconds.
    #[must_use]
    pub fn copy_ns(&self, bytes: f64, transactions: u32) -> f64 {
        bytes / self.gather + bytes * f64::from(transactions - 1) / self.stream
    }
}
