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
    /// That of a checked memory, of whose peak the cores reach a share of `efficiency`, or what its
    /// refreshes leave where that is less; a copy takes `together` bursts of a DRAM row before it leaves it.
    ///
    /// A stream takes all bursts of each row. In the PIM-aware layout neighbours in a column lie in
    /// other rows of the same banks, or apart in one, so a row gives few bursts and is left
    /// ([`crate::mapping::layout::Placement::run_bursts`]). A row takes the
    /// longest of its bursts on the data bus, its commands on the command bus, a clock each, its share
    /// of the window of four activates or the time between two, which the ranks share, and the time
    /// until its bank can open another one, which the banks share.
    #[must_use]
    pub fn of(memory: &Dram, efficiency: f64, together: u64, refresh: bool) -> Self {
        let left = if refresh { 1.0 - memory.refresh_share() } else { 1.0 };
        let channels = f64::from(memory.channels.get()) * efficiency.min(left);
        let ns = Nanoseconds::as_f64;
        let groups = f64::from(memory.bank_groups.get());
        // An address map spreads a stream over as many banks as there are.
        let access_ns = ns(memory.tccd_s()).max(ns(memory.tccd_l()) / groups);
        let ranks = f64::from(memory.ranks.get());
        // It spreads rows over bank groups too.
        let activate_ns = memory.activate_ns() / ranks;
        let rate = |columns: u32| {
            let bursts = f64::from(columns);
            let reads = ns(memory.trcd_ns) + (bursts - 1.0) * ns(memory.tccd_l());
            let bank = ns(memory.trc()).max(reads + ns(memory.trtp_ns) + ns(memory.trp_ns));
            // Beside its reads, a row is opened and closed.
            let commands_ns = (bursts + 2.0) * ns(memory.tck());
            let row_ns = activate_ns.max(commands_ns).max(bank / f64::from(memory.banks_per_channel.get()));
            f64::from(memory.column_bytes()) / access_ns.max(row_ns / bursts)
        };
        let columns = memory.columns_per_row();
        let together = u32::try_from(together).unwrap_or(u32::MAX).min(columns);
        let stream = rate(columns);
        Self { stream: channels * stream, gather: channels * rate(together).min(stream) }
    }

    /// The time of swizzled copies of so many bytes with so many transactions each, of
    /// which the first reads the weights, in nanoseconds.
    #[must_use]
    pub fn copy_ns(&self, bytes: f64, transactions: u32) -> f64 {
        bytes / self.gather + bytes * f64::from(transactions - 1) / self.stream
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use memscape_dram::MEMORIES;

    use super::*;

    /// Cores that could take all get what refreshes leave, those that take less what they take.
    #[test]
    fn a_stream_has_what_refreshes_leave() {
        let phone = *MEMORIES.get("lpddr5x-8533");
        let share = |efficiency, memory, refresh| {
            Bandwidth::of(memory, efficiency, 1, refresh).stream / phone.peak_gb_s().as_f64()
        };
        let left = 1.0 - phone.refresh_share();
        assert!(0.9 < left && left < 1.0, "{left}");
        assert!((share(1.0, &phone, true) - left).abs() < 1e-12);
        assert!((share(1.0, &phone, false) - 1.0).abs() < 1e-12);
        assert!((share(0.62, &phone, true) - 0.62).abs() < 1e-12);
    }

    /// Short rows wait for their commands, and where there are no bank groups for activates of one.
    #[test]
    fn a_row_is_opened_no_sooner_than_commands_and_activates_allow() {
        let phone = *MEMORIES.get("lpddr5x-8533");
        let ns = Nanoseconds::as_f64;
        let rate = |memory: &Dram| Bandwidth::of(memory, 1.0, 1, false).gather;
        let by_hand =
            |memory: &Dram, row_ns| f64::from(memory.channels.get() * memory.column_bytes()) / row_ns;
        // An activate, a read and a precharge.
        let slow = Dram { transfers_per_clock: NonZeroU32::new(64).unwrap(), ..phone };
        slow.check().unwrap();
        let commands = by_hand(&slow, 3.0 * ns(slow.tck()));
        assert!((rate(&slow) / commands - 1.0).abs() < 1e-12, "{} {commands}", rate(&slow));

        let one = Dram { bank_groups: NonZeroU32::MIN, ..phone };
        let far = |memory: Dram| Dram { trrd_l_ns: Nanoseconds::new(20.0).unwrap(), ..memory };
        assert_eq!(rate(&far(phone)).to_bits(), rate(&phone).to_bits(), "the next four are in other groups");
        let spaced = by_hand(&one, 20.0);
        assert!((rate(&far(one)) / spaced - 1.0).abs() < 1e-12, "{} {spaced}", rate(&far(one)));
        let ranks = NonZeroU32::new(2).unwrap();
        let two = rate(&Dram { ranks, ..far(one) });
        assert!((two / (2.0 * spaced) - 1.0).abs() < 1e-12, "each rank has activates of its own: {two}");
    }

    /// A stream over rows of few bursts waits for its one bank at every row: for its cycle, or until what is
    /// read of it has left.
    #[test]
    fn a_stream_is_not_faster_than_its_rows_open() {
        let phone = *MEMORIES.get("lpddr5x-8533");
        let whole = Bandwidth::of(&phone, 1.0, 1, false);
        assert_eq!(whole.stream.to_bits(), phone.peak_gb_s().as_f64().to_bits(), "enough banks");
        let count = |it| NonZeroU32::new(it).unwrap();
        let ns = Nanoseconds::as_f64;
        for bursts in [2, 32] {
            let row = bursts * phone.column_bytes();
            let single =
                Dram { banks_per_channel: count(1), bank_groups: count(1), row_bytes: count(row), ..phone };
            let last = ns(phone.trcd_ns) + f64::from(bursts - 1) * ns(single.tccd_l());
            let reads = last + ns(phone.trtp_ns) + ns(phone.trp_ns);
            assert_eq!(reads > ns(phone.trc()), bursts > 2);
            let by_hand = f64::from(phone.channels.get() * row) / reads.max(ns(phone.trc()));
            let it = Bandwidth::of(&single, 1.0, 1, false);
            assert!((it.stream / by_hand - 1.0).abs() < 1e-12, "{} {by_hand}", it.stream);
            let together = Bandwidth::of(&single, 1.0, bursts.into(), false);
            assert!(it.gather < it.stream && together == Bandwidth { gather: it.stream, ..it });
        }
    }
}
