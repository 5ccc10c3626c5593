//! Does the whole match the closed formula?

use memscape_dram::stream::{Policy, Served, serve};
use memscape_dram::{
    Address, AddressMap, Dram, Engine, Kind, MEMORIES, Origin, Pattern, RefreshPolicy, constraints,
};
use memscape_units::{Nanoseconds, Picoseconds};
use proptest::prelude::*;

use crate::pim_delays::any_dram;
use crate::preset;

fn read(dram: &Dram, pattern: Pattern, accesses: usize, refresh: RefreshPolicy) -> Served {
    let engine = Engine::new(dram.geometry(), &constraints(dram)).unwrap();
    let mut engine = engine.with_refresh(refresh).unwrap();
    let reads = pattern.addresses(dram).take(accesses).map(|it| Kind::Rd.at(it));
    serve(&mut engine, reads, 64, Policy::InOrder, &mut ()).unwrap()
}

/// Bandwidth once the first rows are open, which takes tRRD each.
fn gb_s(dram: &Dram, pattern: Pattern, accesses: usize, refresh: RefreshPolicy) -> f64 {
    let engine = Engine::new(dram.geometry(), &constraints(dram)).unwrap();
    let mut engine = engine.with_refresh(refresh).unwrap();
    let mut reads = pattern.addresses(dram).take(accesses).map(|it| Kind::Rd.at(it));
    serve(&mut engine, reads.by_ref().take(100), 64, Policy::InOrder, &mut ()).unwrap();
    serve(&mut engine, reads, 64, Policy::InOrder, &mut ()).unwrap().bandwidth_gb_s(dram).unwrap().as_f64()
}

/// Exactly the pins' peak: not one burst slot is lost over many rows.
#[test]
fn published_peak_of_an_interleaved_stream() {
    for (name, peak) in [("lpddr5-6400", 12.8), ("ddr4-3200", 25.6), ("hbm2-2000", 16.0)] {
        let dram = preset(name);
        let reached = gb_s(&dram, Pattern::Interleaved, 100_000, RefreshPolicy::Off);
        assert!((reached / peak - 1.0).abs() < 1e-9, "{name}: {reached} of {peak} GB/s");
        let formula = Pattern::Interleaved.bandwidth_gb_s(&dram).as_f64();
        assert!((formula / peak - 1.0).abs() < 1e-12, "{name}: {formula} of {peak} GB/s");
    }
    // A burst of 2133.33 ps is 2133 ps on the integer clock, and a row command
    // takes a slot of 1066: 0.02 % is what whole picoseconds cost.
    let dram = preset("lpddr5x-7500");
    let reached = gb_s(&dram, Pattern::Interleaved, 100_000, RefreshPolicy::Off);
    assert!((reached / 15.0 - 1.0).abs() < 2e-4, "{reached}");
}

/// Row by row every access waits `tCCD_L`: half of the peak for DDR4 and LPDDR5,
/// two thirds for HBM2, but for the first access of a row, in another bank group,
/// which waits `tCCD_S`: one in 32 (HBM2) or more.
#[test]
fn without_interleaving_the_bank_group_limits() {
    for (name, share) in [("lpddr5-6400", 0.5), ("ddr4-3200", 0.5), ("hbm2-2000", 2.0 / 3.0)] {
        let dram = preset(name);
        let formula = Pattern::RowByRow.bandwidth_gb_s(&dram).as_f64();
        assert!((formula / (dram.channel_gb_s().as_f64() * share) - 1.0).abs() < 0.02);
        let reached = gb_s(&dram, Pattern::RowByRow, 50_000, RefreshPolicy::Off);
        assert!((reached / formula - 1.0).abs() < 1e-3, "{name}: {reached}, not {formula}");
    }
}

/// A new row of the same bank every time: exactly one column per tRC.
#[test]
fn a_row_conflict_stream_is_limited_by_trc() {
    for preset in MEMORIES.all() {
        let dram = preset.parameters;
        let served = read(&dram, Pattern::RowConflict, 1_000, RefreshPolicy::Off);
        assert_eq!(served.last - served.first, dram.trc().to_picoseconds() * 999, "{}", preset.name);
        let formula = Pattern::RowConflict.bandwidth_gb_s(&dram).as_f64();
        let reached = served.bandwidth_gb_s(&dram).unwrap().as_f64();
        assert!((reached / formula - 1.0).abs() < 1e-6, "{}", preset.name);
    }
}

/// Refresh takes tRFC of every tREFI, and around it the stream drains and
/// fills: at most precharging (tRTP or tRAS, then tRPab) and opening four
/// groups again (tRRD each, tRCD once), which is the tolerance.
#[test]
fn refresh_costs_its_share() {
    for name in ["lpddr5-6400", "ddr4-3200", "hbm2-2000"] {
        let dram = preset(name);
        let peak = Pattern::Interleaved.bandwidth_gb_s(&dram).as_f64();
        let reached = gb_s(&dram, Pattern::Interleaved, 200_000, RefreshPolicy::all_bank(&dram));
        let loss = 1.0 - reached / peak;
        let around = dram.tras_ns + dram.trp_ab_ns + dram.trcd_ns + dram.tfaw_ns + dram.trrd_l_ns;
        let most = dram.refresh_share() + around.as_f64() / dram.trefi_ns.as_f64();
        assert!((dram.refresh_share()..most).contains(&loss), "{name}: {loss} of {most}");
    }
}

/// Two ranks: the stream visits one after the other, and pays for each switch.
#[test]
fn ranks_share_the_bus() {
    let one = preset("ddr4-3200");
    let dram = Dram { ranks: 2.try_into().unwrap(), banks_per_channel: 32.try_into().unwrap(), ..one };
    let mut engine = Engine::new(dram.geometry(), &constraints(&dram)).unwrap();
    let alternating = (0..1_000).map(|it| Address {
        rank: it % 2,
        column: it / 8,
        bank_group: it / 2 % 4,
        ..Address::default()
    });
    let served =
        serve(&mut engine, alternating.map(|it| Kind::Rd.at(it)), 8, Policy::InOrder, &mut ()).unwrap();
    // Burst 2.5 ns + tRTRS 0.625 ns for 64 bytes; the start opens eight rows.
    let reached = served.bandwidth_gb_s(&dram).unwrap().as_f64();
    assert!((reached / (64.0 / 3.125) - 1.0).abs() < 0.02, "{reached}");
}

#[test]
fn an_empty_stream_takes_no_time() {
    let dram = preset("ddr4-3200");
    let served = read(&dram, Pattern::Interleaved, 0, RefreshPolicy::Off);
    assert_eq!((served.accesses, served.bandwidth_gb_s(&dram)), (0, None));
}

/// A row cycle that is longer than the rows of all banks take is what a stream of
/// rows waits for, however fast its columns are.
#[test]
fn a_long_row_cycle_limits_every_stream() {
    let dram = preset("ddr4-3200");
    let slow = Dram {
        trc_ns: Some(Nanoseconds::new(20_000.0).unwrap()),
        row_bytes: 1024.try_into().unwrap(),
        ..dram
    };
    for pattern in [Pattern::RowByRow, Pattern::Interleaved] {
        // Sixteen banks, a row of 1 KiB each, every 20 us.
        let formula = pattern.bandwidth_gb_s(&slow).as_f64();
        assert!((formula - 16.0 * 1024.0 / 20_000.0).abs() < 1e-9, "{formula}");
        let reached = gb_s(&slow, pattern, 20_000, RefreshPolicy::Off);
        assert!((reached / formula - 1.0).abs() < 0.02, "{pattern:?}: {reached}, not {formula}");
    }
}

/// A bank in each of four groups: if all took turns, none would be left to open rows in.
#[test]
fn few_banks_reach_the_peak_if_fewer_groups_take_turns() {
    let count = |it: u32| it.try_into().unwrap();
    let dram = Dram { banks_per_channel: count(4), row_bytes: count(512), ..preset("lpddr5x-7500") };
    let peak = dram.channel_gb_s().as_f64();
    let formula = Pattern::Interleaved.bandwidth_gb_s(&dram).as_f64();
    assert!((formula / peak - 1.0).abs() < 1e-12, "{formula} of {peak} GB/s");
    let reached = gb_s(&dram, Pattern::Interleaved, 100_000, RefreshPolicy::Off);
    assert!((reached / peak - 1.0).abs() < 2e-4, "{reached} of {peak} GB/s");

    // Still each burst of a channel comes once before any comes again.
    let few = Dram { rows: count(16), ..dram };
    let bursts = 4 * 16 * usize::try_from(few.columns_per_row()).unwrap();
    let stream = || Pattern::Interleaved.addresses(&few).map(|it| format!("{it:?}"));
    assert_eq!(stream().take(bursts).collect::<std::collections::HashSet<_>>().len(), bursts);
}

/// Bursts of one command slot each leave none for commands to rows, which take one before no row is left open: each row
/// costs its columns and two slots more. A controller that waits for a free one stands still at each row.
#[test]
fn a_crowded_command_bus_opens_rows_in_time() {
    let count = |it: u32| it.try_into().unwrap();
    let dram = Dram { transfers_per_clock: count(16), row_bytes: count(512), ..preset("lpddr5x-7500") };
    assert!((dram.burst().as_f64() / dram.tck().as_f64() - 1.0).abs() < 1e-12);
    let formula = Pattern::Interleaved.bandwidth_gb_s(&dram).as_f64();
    let columns = f64::from(dram.columns_per_row());
    assert!((formula / dram.channel_gb_s().as_f64() - columns / (columns + 2.0)).abs() < 1e-9, "{formula}");
    let reached = gb_s(&dram, Pattern::Interleaved, 50_000, RefreshPolicy::Off);
    assert!((reached / formula - 1.0).abs() < 0.02, "{reached} of {formula} GB/s");
    // Nor does a picosecond decide whether a slot is free.
    let of = |share: f64| {
        let trtrs_ns = Nanoseconds::new(share * dram.tck().as_f64()).unwrap();
        let ranks = Dram { ranks: count(2), banks_per_channel: count(32), trtrs_ns, ..dram };
        gb_s(&ranks, Pattern::Interleaved, 50_000, RefreshPolicy::Off)
    };
    let [below, above] = [0.998, 1.002].map(of);
    assert!((below / above - 1.0).abs() < 0.01, "{below} {above}");
}

/// Bursts shorter than a command slot are as far apart as commands, also for how long a row is read before its bank
/// opens the next: with four banks, all cannot take turns.
#[test]
fn short_bursts_leave_banks_to_open_rows_in() {
    let count = |it: u32| it.try_into().unwrap();
    let dram = Dram {
        burst_length: count(2),
        transfers_per_clock: count(8),
        banks_per_channel: count(4),
        row_bytes: count(128),
        ..preset("lpddr5x-7500")
    };
    let formula = Pattern::Interleaved.bandwidth_gb_s(&dram).as_f64();
    // Row after row: three banks close and open theirs while one is read, which costs each row two slots.
    let columns = f64::from(dram.columns_per_row());
    let commands = f64::from(dram.column_bytes()) / dram.tck().as_f64() * columns / (columns + 2.0);
    assert!((formula / commands - 1.0).abs() < 1e-9, "{formula} of {commands} GB/s");
    let reached = gb_s(&dram, Pattern::Interleaved, 50_000, RefreshPolicy::Off);
    assert!((reached / formula - 1.0).abs() < 0.02, "{reached} of {formula} GB/s");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn more_banks_are_never_slower(dram in any_dram(), short_rows in 6_u32..12) {
        let row_bytes = (1_u32 << short_rows).max(dram.column_bytes());
        let dram = Dram { row_bytes: row_bytes.try_into().unwrap(), ..dram };
        let banks = (2 * dram.banks_per_channel.get()).try_into().unwrap();
        for pattern in [Pattern::RowByRow, Pattern::Interleaved, Pattern::RowConflict] {
            let [few, many] = [dram, Dram { banks_per_channel: banks, ..dram }]
                .map(|it| pattern.bandwidth_gb_s(&it).as_f64());
            prop_assert!(few <= many * (1.0 + 1e-8), "{pattern:?}: {few} {many}");
        }
        let [rows, interleaved] = [Pattern::RowByRow, Pattern::Interleaved].map(|it| it.bandwidth_gb_s(&dram));
        prop_assert!(rows.as_f64() <= interleaved.as_f64() * (1.0 + 1e-8));
    }

    /// Over any timings no controller that keeps the order is beyond the formula, and one that sees so many
    /// accesses ahead that a row is prepared meanwhile comes close.
    #[test]
    fn the_formula_is_the_best_that_any_device_reaches(
        dram in any_dram(),
        short_rows in 6_u32..12,
        ranks in 0_u32..3,
        switch_ns in 0.0..10.0_f64,
    ) {
        let [row_bytes, ranks] = [(1_u32 << short_rows).max(dram.column_bytes()), 1 << ranks];
        let dram = Dram {
            row_bytes: row_bytes.try_into().unwrap(),
            ranks: ranks.try_into().unwrap(),
            banks_per_channel: (ranks * dram.banks_per_channel.get()).try_into().unwrap(),
            trtrs_ns: Nanoseconds::new(switch_ns).unwrap(),
            ..dram
        };
        for pattern in [Pattern::RowByRow, Pattern::Interleaved, Pattern::RowConflict] {
            let formula = pattern.bandwidth_gb_s(&dram).as_f64();
            let mut engine = Engine::new(dram.geometry(), &constraints(&dram)).unwrap();
            let reads = pattern.addresses(&dram).take(20_000).map(|it| Kind::Rd.at(it));
            let reached = serve(&mut engine, reads, 5_000, Policy::InOrder, &mut ()).unwrap().bandwidth_gb_s(&dram).unwrap();
            let share = reached.as_f64() / formula;
            let prepares = (dram.trc() + dram.trtp_ns + dram.trp_ns + dram.trrd_l_ns + dram.tfaw_ns).as_f64();
            let access_ns = f64::from(dram.column_bytes()) / formula;
            // The first rows were opened before the first access counts.
            let head_start = 2.0 * prepares / (20_000.0 * access_ns);
            prop_assert!(share < 1.01 + head_start, "{pattern:?}: {share} of {formula} GB/s");
            if pattern == Pattern::RowConflict {
                prop_assert!(share > 0.98, "{share} of {formula} GB/s");
                continue;
            }
            let row_ns = f64::from(dram.columns_per_row()) * dram.tccd_l().max(dram.tck()).as_f64();
            // Rows that take turns are all prepared in the time of one.
            let rows = if pattern == Pattern::Interleaved { f64::from(dram.bank_groups.get()) } else { 1.0 };
            // Where preparing takes longer, rows of several banks are prepared at once, greedily.
            let least = if row_ns < rows * prepares { 0.6 } else { 0.8 };
            prop_assert!(5_000.0 * access_ns < 2.0 * prepares || share > least, "{pattern:?}: {share} of {formula} GB/s");
        }
    }
}

/// Reads of a backlog beside `DRAMsim3`, refreshes included (`data/agreement/README.md`): with room for one, it keeps the
/// order of the stream, with 32 it serves what is ready.
#[test]
fn streams_take_as_long_as_in_dramsim3() {
    let dram = preset("ddr4-3200");
    let clocks = |addresses: &mut dyn Iterator<Item = Address>, policy, lookahead| {
        let engine = Engine::new(dram.geometry(), &constraints(&dram)).unwrap();
        let mut engine = engine.with_refresh(RefreshPolicy::all_bank(&dram)).unwrap();
        let reads = addresses.take(70_000).map(|it| Kind::Rd.at(it));
        let served = serve(&mut engine, reads, lookahead, policy, &mut ()).unwrap();
        #[expect(clippy::cast_precision_loss, reason = "a few thousand")]
        let accesses = (served.accesses - 1) as f64;
        served.last.saturating_sub(served.first).as_ns() / dram.tck().as_f64() / accesses
    };
    let (map, bursts) = (
        AddressMap::new(&dram, Pattern::RowByRow.order()),
        dram.capacity().0 / u64::from(dram.column_bytes()),
    );
    let key = memscape_study::random::Key::new(1);
    let random = || (0..).map(|it| map.decode(key.bits(it) % bursts).unwrap().address());

    let text = include_str!("../../../../data/agreement/dramsim3.csv");
    let mut compared = 0;
    for line in text.lines().skip(1) {
        let [name, queue, _, theirs] = line.split(',').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let (policy, lookahead) =
            if queue == "1" { (Policy::InOrder, 64) } else { (Policy::FirstReady, queue.parse().unwrap()) };
        let ours = match name {
            "interleaved" => clocks(&mut Pattern::Interleaved.addresses(&dram), policy, lookahead),
            "row-by-row" => clocks(&mut Pattern::RowByRow.addresses(&dram), policy, lookahead),
            "row-conflict" => clocks(&mut Pattern::RowConflict.addresses(&dram), policy, lookahead),
            "random" => clocks(&mut random(), policy, lookahead),
            _ => panic!("{line}"),
        };
        let error = ours / theirs.parse::<f64>().unwrap() - 1.0;
        let most = match (name, queue) {
            // Beside its room for one, it has a queue of one command for each bank; ours has none.
            ("random", "1") => 0.15,
            // Its queues of eight commands for each bank hold more than its 32 transactions.
            ("row-by-row", "32") => 0.1,
            _ => 0.03,
        };
        assert!(error.abs() < most, "{line}: {ours}, {error}");
        compared += 1;
    }
    assert_eq!(compared, 8);
}

/// What is ready first goes first, but not before what came earlier to its own bank; each access is served once.
#[test]
fn what_is_ready_overtakes_other_banks_only() {
    let dram = preset("lpddr5x-7500");
    let key = memscape_study::random::Key::new(2);
    let map = AddressMap::new(&dram, Pattern::RowByRow.order());
    let addresses: Vec<_> =
        (0..5_000).map(|it| map.decode(key.bits(it) % (1 << 20)).unwrap().address()).collect();
    let time = |policy, lookahead| {
        let engine = Engine::new(dram.geometry(), &constraints(&dram)).unwrap();
        let mut engine = engine.with_refresh(RefreshPolicy::all_bank(&dram)).unwrap();
        let mut seen = Vec::new();
        let mut sink = |_: Picoseconds, command: &memscape_dram::Command, _: Origin| {
            if command.kind == Kind::Rd {
                seen.push(command.at);
            }
        };
        let reads = addresses.iter().map(|it| Kind::Rd.at(*it));
        let served = serve(&mut engine, reads, lookahead, policy, &mut sink).unwrap();
        (served.last, seen)
    };
    let (in_order, as_came) = time(Policy::InOrder, 64);
    assert_eq!(as_came, addresses);
    let (first_ready, reordered) = time(Policy::FirstReady, 64);
    assert_ne!(reordered, addresses);
    let bank = |it: &Address| (it.rank, it.bank_group, it.bank);
    let by_bank = |all: &[Address]| {
        let mut all = all.to_vec();
        all.sort_by_key(bank);
        all
    };
    assert_eq!(by_bank(&reordered), by_bank(&addresses), "a stable sort keeps the order within a bank");
    assert!(first_ready.0 * 3 < in_order.0 * 2, "{first_ready} {in_order}");
    // With room for one there is nothing to choose.
    assert_eq!(time(Policy::FirstReady, 1), time(Policy::InOrder, 1));
}
