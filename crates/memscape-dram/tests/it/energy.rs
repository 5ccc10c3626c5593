//! Does energy follow from the commands that are issued?

use std::num::NonZeroU32;

use memscape_dram::stream::{Policy, serve};
use memscape_dram::{
    CommandCounts, Dram, Engine, Kind, MEMORIES, Pattern, PimWork, RefreshPolicy, constraints,
};
use memscape_study::{EnergyPart, Grade, Graded};
use memscape_units::{Nanoseconds, Picoseconds};
use proptest::prelude::*;

use crate::preset;

/// What a stream of reads has the engine issue, and how long that takes.
fn issued(
    dram: &Dram,
    pattern: Pattern,
    accesses: usize,
    refresh: RefreshPolicy,
) -> (CommandCounts, Picoseconds) {
    let engine = Engine::new(dram.geometry(), &constraints(dram)).unwrap();
    let mut engine = engine.with_refresh(refresh).unwrap();
    let reads = pattern.addresses(dram).take(accesses).map(|it| Kind::Rd.at(it));
    let mut counts = CommandCounts::default();
    let served = serve(&mut engine, reads, 64, Policy::InOrder, &mut counts).unwrap();
    (counts, served.last)
}

/// Closed form and engine: whole rows, each opened once.
#[test]
fn a_stream_of_whole_rows_takes_what_its_commands_take() {
    for preset in MEMORIES.all() {
        let dram = Dram { channels: NonZeroU32::MIN, ..preset.parameters };
        let meter = dram.meter().unwrap();
        let accesses = 24 * dram.columns_per_row() * dram.bank_groups.get();
        let (counts, _) =
            issued(&dram, Pattern::RowByRow, usize::try_from(accesses).unwrap(), RefreshPolicy::Off);
        assert_eq!(counts[Kind::Rd], u64::from(accesses));
        let walked = meter.commands(&counts, &PimWork::NONE);
        let closed = meter.stream_of_rows(f64::from(accesses * dram.column_bytes()), 0.0);
        for part in [EnergyPart::Activate, EnergyPart::Access, EnergyPart::Io] {
            let [walked, closed] = [walked[part], closed[part]];
            assert!((walked.value / closed.value - 1.0).abs() < 1e-12, "{}: {part:?}", preset.name);
            assert!((walked.high / closed.high - 1.0).abs() < 1e-12, "{}: {part:?}", preset.name);
        }
    }
}

/// A row for each access is what runs of one access are.
#[test]
fn a_conflict_opens_a_row_for_each_access() {
    let dram = preset("ddr4-3200");
    let (counts, _) = issued(&dram, Pattern::RowConflict, 500, RefreshPolicy::Off);
    let meter = dram.meter().unwrap();
    let run = f64::from(dram.column_bytes());
    let [walked, closed] = [meter.commands(&counts, &PimWork::NONE), meter.stream(500.0 * run, 0.0, run)];
    let [walked, closed] = [walked, closed].map(|it| it[EnergyPart::Activate].value);
    assert!((walked / closed - 1.0).abs() < 1e-12, "{walked}, not {closed}");
}

/// Refreshes that the engine issues are as many as time over their interval, but for the last.
#[test]
fn refreshes_issued_are_refreshes_charged() {
    let dram = preset("lpddr5-6400");
    let meter = dram.meter().unwrap();
    let (counts, end) = issued(&dram, Pattern::Interleaved, 200_000, RefreshPolicy::all_bank(&dram));
    let walked = meter.commands(&counts, &PimWork::NONE)[EnergyPart::Refresh].value;
    let closed = meter.refresh(end.into())[EnergyPart::Refresh].value;
    // Of the 8 Gbit of its one rank.
    let one = 8.0 * dram.energy.unwrap().refresh_nj_per_gbit.value * 1e-9;
    assert!(walked > 50.0 * one && (closed - walked).abs() <= one, "{walked}, not {closed}");
    let often = Dram { trefi_ns: Nanoseconds::new(dram.trefi_ns.as_f64() / 2.0).unwrap(), ..dram };
    let (more, _) = issued(&often, Pattern::Interleaved, 200_000, RefreshPolicy::all_bank(&often));
    let more = often.meter().unwrap().commands(&more, &PimWork::NONE);
    assert!(more[EnergyPart::Refresh].value > walked);
}

/// Bits are refreshed, wherever they lie: twice as many take twice as much, in ranks or in one.
#[test]
fn what_a_refresh_takes_follows_from_the_bits() {
    let one = preset("lpddr5x-7500");
    let twice = |it: NonZeroU32| it.saturating_mul(NonZeroU32::new(2).unwrap());
    let takes =
        |it: Dram| it.meter().unwrap().refresh(Nanoseconds::new(1e9).unwrap())[EnergyPart::Refresh].value;
    for (more, dram) in [
        (1.0, Dram { ranks: twice(one.ranks), ..one }),
        (2.0, Dram { rows: twice(one.rows), ..one }),
        (2.0, Dram { row_bytes: twice(one.row_bytes), ..one }),
        (2.0, Dram { banks_per_channel: twice(one.banks_per_channel), ..one }),
        (2.0, Dram { channels: twice(one.channels), ..one }),
    ] {
        assert!((takes(dram) / takes(one) - more).abs() < 1e-12, "{dram:?}");
        // One command refreshes a rank of a channel.
        let all = dram.channels.get() * dram.ranks.get();
        let issued = CommandCounts::from_iter([(Kind::Ref, u64::from(all))]);
        let of_commands = dram.meter().unwrap().commands(&issued, &PimWork::NONE)[EnergyPart::Refresh].value;
        let of_time = takes(dram) * dram.trefi_ns.as_f64() / 1e9;
        assert!((of_commands / of_time - 1.0).abs() < 1e-12, "{dram:?}");
    }
}

/// Of DDR4-3200 at its datasheet's currents, worked out by hand: eight chips of 525 pJ for a row
/// and 348 pJ for a burst, which the interval must hold.
#[test]
fn a_rank_of_ddr4_takes_what_its_currents_say() {
    let dram = preset("ddr4-3200");
    let counts: CommandCounts = [(Kind::Act, 1), (Kind::Pre, 1), (Kind::Rd, 1)].into_iter().collect();
    let energy = dram.meter().unwrap().commands(&counts, &PimWork::NONE);
    let holds = |part, joules: f64| energy[part].low <= joules * 1.01 && joules <= energy[part].high;
    assert!(holds(EnergyPart::Activate, 8.0 * 525e-12), "{:?}", energy[EnergyPart::Activate]);
    assert!(holds(EnergyPart::Access, 8.0 * 348e-12), "{:?}", energy[EnergyPart::Access]);
    // With its pins, LPDDR5 reads at 3 to 9 pJ/bit.
    for name in ["lpddr5-6400", "lpddr5x-7500", "lpddr5x-8533"] {
        let takes = preset(name).energy.unwrap();
        let read = takes.read_pj_per_bit.estimate() + takes.io_pj_per_bit.estimate();
        assert!((read.low - 3.0).abs() < 0.05 && (read.high - 9.0).abs() < 0.05, "{name}: {read:?}");
        assert_eq!(read.grade, Grade::Prior);
    }
}

/// A command to all banks takes what one to each of them would, but for the way to the pins.
#[test]
fn all_banks_at_once_take_what_each_of_them_takes() {
    for preset in MEMORIES.all() {
        let mut dram = preset.parameters;
        let takes = dram.energy.as_mut().unwrap();
        for it in [&mut takes.activate_pj_per_bit, &mut takes.write_pj_per_bit, &mut takes.bank_share] {
            it.within = 1.0;
        }
        let (share, meter) = (takes.bank_share.value, dram.meter().unwrap());
        let mac = Graded { value: 0.5, within: 1.0, grade: Grade::Prior };
        let of = |kind, count| meter.commands_of_all(&CommandCounts::from_iter([(kind, count)]), 8.0, mac);
        let same = |a: f64, b: f64| assert!((a - b).abs() <= 1e-12 * b, "{}: {a}, not {b}", preset.name);
        let banks = u64::from(dram.banks_per_channel.get() / dram.ranks.get());
        let activated = [of(Kind::ActAll, 1), of(Kind::Act, banks)].map(|it| it[EnergyPart::Activate].value);
        same(activated[0], activated[1]);
        for (near, far) in [(Kind::Mac, Kind::Rd), (Kind::Spill, Kind::Wr)] {
            let [near, far] = [of(near, 1), of(far, 8)];
            same(near[EnergyPart::Access].value, share * far[EnergyPart::Access].value);
            same(near[EnergyPart::Io].value, 0.0);
        }
        let weights = f64::from(dram.channels.get() * 8 * dram.column_bytes());
        for kind in [Kind::Mac, Kind::Alu] {
            same(of(kind, 1)[EnergyPart::Compute].value, weights * 8.0 * 0.5e-12);
        }
        // What is sent to registers goes from the pins to one bank at least, and to all of them at most.
        let [sent, written] = [of(Kind::RegWrite, 1), of(Kind::Wr, 1)];
        same(sent[EnergyPart::Io].value, written[EnergyPart::Io].value);
        let way = (1.0 - share) * written[EnergyPart::Access].value;
        same(sent[EnergyPart::Access].low, way);
        same(sent[EnergyPart::Access].high, 8.0 * way);
    }
}

#[test]
fn what_no_energy_can_be_is_refused() {
    let good = preset("ddr4-3200");
    let check = |change: fn(&mut memscape_dram::DramEnergy)| {
        let mut dram = good;
        change(dram.energy.as_mut().unwrap());
        dram.check().unwrap_err().to_string()
    };
    insta::assert_snapshot!(check(|it| it.read_pj_per_bit.value = -1.0), @"DRAM rule `an energy is at least 0, known within a factor of at least 1, and a share is at most 1` does not hold: energy.read_pj_per_bit = -1 within 1.28; give what is known of it, or leave `energy` out");
    insta::assert_snapshot!(check(|it| it.standby_mw.within = 0.5), @"DRAM rule `an energy is at least 0, known within a factor of at least 1, and a share is at most 1` does not hold: energy.standby_mw = 429 within 0.5; give what is known of it, or leave `energy` out");
    insta::assert_snapshot!(check(|it| it.bank_share.value = 1.5), @"DRAM rule `an energy is at least 0, known within a factor of at least 1, and a share is at most 1` does not hold: energy.bank_share = 1.5 within 1.82; give what is known of it, or leave `energy` out");
    assert!(Dram { energy: None, ..good }.check().is_ok());
}

proptest! {
    /// Energy is additive, and a factor of uncertainty only moves the ends.
    #[test]
    fn energy_is_additive_and_uncertainty_moves_the_ends_only(
        counts in prop::array::uniform11(0_u64..1000),
        device in 0..MEMORIES.all().len(),
        within in 1.0..4.0_f64,
    ) {
        let mut dram = MEMORIES.all()[device].parameters;
        let counts: CommandCounts = Kind::ALL.into_iter().zip(counts).collect();
        let mac = Graded { value: 0.02, within: 2.0, grade: Grade::Prior };
        let work = PimWork { units: 16.0, word_bits: 256.0, mac_pj_per_bit: mac };
        let of = |dram: &Dram, counts: &CommandCounts| dram.meter().unwrap().commands(counts, &work).total();
        let [one, two] = [of(&dram, &counts), of(&dram, &(counts + counts))];
        prop_assert!((two.value - 2.0 * one.value).abs() <= 1e-9 * two.value);
        let parts: f64 = Kind::ALL
            .into_iter()
            .map(|it| of(&dram, &[(it, counts[it])].into_iter().collect()).value)
            .sum();
        prop_assert!((parts - one.value).abs() <= 1e-9 * one.value);
        let takes = dram.energy.as_mut().unwrap();
        takes.activate_pj_per_bit.within *= within;
        let wide = of(&dram, &counts);
        prop_assert!(wide.low <= one.low && one.high <= wide.high);
        prop_assert!((wide.value - one.value).abs() <= 1e-12 * one.value);
    }
}
