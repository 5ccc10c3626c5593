//! Are the descriptions consistent, and do bad ones say why?

use std::num::NonZeroU32;

use memscape_dram::{Dram, MEMORIES};
use memscape_study::{AnyCatalog, CatalogError, File};
use memscape_units::{GbPerS, MtPerS, Nanoseconds};

use crate::preset;

fn ns(value: f64) -> Nanoseconds {
    Nanoseconds::new(value).unwrap()
}

fn count(value: u32) -> NonZeroU32 {
    NonZeroU32::new(value).unwrap()
}

#[test]
fn every_preset_is_consistent_and_known_by_its_name() {
    let names: Vec<&str> = MEMORIES.names().collect();
    let known = [
        "lpddr5x-7500",
        "lpddr5x-8533",
        "lpddr5-6400",
        "ddr4-3200",
        "ddr4-3200-4ch",
        "hbm2-2000",
        "ndp-dimm-rank",
    ];
    assert_eq!(names, known);
    for preset in MEMORIES.all() {
        preset.parameters.check().unwrap();
        assert_eq!(MEMORIES.find(&preset.name).unwrap(), preset);
        // Every parameter that is given has a source (the loader insists); none is empty.
        assert!(preset.sources.values().all(|it| it.len() > 3), "{}", preset.name);
    }
}

/// Data sheets and press releases: 120, 12.8, 25.6 and 256 GB/s, and their sizes.
#[test]
fn published_bandwidths_and_capacities() {
    let peak = |name| (preset(name).peak_gb_s().as_f64(), preset(name).capacity().to_string());
    assert_eq!(peak("lpddr5x-7500"), (120.0, "16 GiB".to_owned()));
    assert_eq!(peak("lpddr5-6400"), (12.8, "1 GiB".to_owned()));
    assert_eq!(peak("ddr4-3200"), (25.6, "8 GiB".to_owned()));
    assert_eq!(peak("ddr4-3200-4ch"), (102.4, "128 GiB".to_owned()));
    assert_eq!(peak("hbm2-2000"), (256.0, "4 GiB".to_owned()));
    assert_eq!(preset("lpddr5x-7500").channel_gb_s(), GbPerS::new(15.0).unwrap());
    assert_eq!(preset("lpddr5x-7500").total_banks(), 128);
    assert_eq!(preset("lpddr5x-7500").columns_per_row(), 64);
}

/// The speed grades in clock cycles, as their data sheets print them.
#[test]
fn published_cycles() {
    type Timing = fn(&Dram) -> Nanoseconds;
    let cycles = |name: &str, time: Timing| {
        let dram = preset(name);
        time(&dram).as_f64() / dram.tck().as_f64()
    };
    let table: [(Timing, f64, f64); 15] = [
        (|it| it.trcd_ns, 15.0, 22.0),
        (|it| it.trp_ns, 15.0, 22.0),
        (|it| it.trp_ab_ns, 17.0, 22.0),
        (|it| it.tras_ns, 34.0, 52.0),
        (|it| it.cl_ns, 17.0, 22.0),
        (|it| it.cwl_ns, 9.0, 16.0),
        (|it| it.trtp_ns, 8.0, 12.0),
        (|it| it.twr_ns, 28.0, 24.0),
        (|it| it.tccd_s(), 2.0, 4.0),
        (|it| it.tccd_l(), 4.0, 8.0),
        (|it| it.twtr_s_ns, 5.0, 4.0),
        (|it| it.twtr_l_ns, 10.0, 12.0),
        (|it| it.tfaw_ns, 16.0, 34.0),
        (|it| it.trefi_ns, 3125.0, 12480.0),
        (|it| it.trfc_ab_ns, 168.0, 560.0),
    ];
    for (index, (time, lpddr5, ddr4)) in table.into_iter().enumerate() {
        assert_eq!((cycles("lpddr5-6400", time), cycles("ddr4-3200", time)), (lpddr5, ddr4), "row {index}");
    }
}

#[test]
fn each_rule_fails_by_name_and_with_its_numbers() {
    let good = preset("ddr4-3200");
    let check = |dram: Dram| dram.check().unwrap_err().to_string();
    insta::assert_snapshot!(check(Dram { trc_ns: Some(ns(40.0)), ..good }), @"DRAM rule `tRC >= tRAS + tRP` does not hold: trc_ns = 40 ns, but tras_ns + trp_ns = 46.25 ns; change one of them");
    insta::assert_snapshot!(check(Dram { tras_ns: ns(10.0), ..good }), @"DRAM rule `tRAS >= tRCD` does not hold: tras_ns = 10 ns, but trcd_ns = 13.75 ns; change one of them");
    insta::assert_snapshot!(check(Dram { tfaw_ns: ns(9.0), ..good }), @"DRAM rule `tFAW >= 4 tRRD_S` does not hold: tfaw_ns = 9 ns, but 4 trrd_s_ns = 10 ns; change one of them");
    insta::assert_snapshot!(check(Dram { trefi_ns: ns(390.0), ..good }), @"DRAM rule `tRPab + tRFCab + tRAS < tREFI` does not hold: trp_ab_ns + trfc_ab_ns + tras_ns = 396.25 ns, but trefi_ns = 390 ns; the device would only refresh; check the units");
    insta::assert_snapshot!(check(Dram { trp_ab_ns: ns(13.0), ..good }), @"DRAM rule `tRPab >= tRP` does not hold: trp_ab_ns = 13 ns, but trp_ns = 13.75 ns; change one of them");
    insta::assert_snapshot!(check(Dram { tck_ns: Some(ns(0.7)), ..good }), @"DRAM rule `tCK = transfers_per_clock / data rate` does not hold: 0.7 ns x 3200 MT/s = 2.2400, but 2 are given; leave tck_ns out, or change one of the three");
    insta::assert_snapshot!(check(Dram { trrd_l_ns: ns(2.0), ..good }), @"DRAM rule `tRRD_L >= tRRD_S` does not hold: trrd_l_ns = 2 ns, but trrd_s_ns = 2.5 ns; change one of them");
    insta::assert_snapshot!(check(Dram { twtr_l_ns: ns(2.0), ..good }), @"DRAM rule `tWTR_L >= tWTR_S` does not hold: twtr_l_ns = 2 ns, but twtr_s_ns = 2.5 ns; change one of them");
    insta::assert_snapshot!(check(Dram { row_bytes: count(8000), ..good }), @"DRAM rule `sizes are powers of two` does not hold: row_bytes = 8000; change it to a power of two");
    insta::assert_snapshot!(check(Dram { column_bytes: Some(count(128)), ..good }), @"DRAM rule `column_bytes = bus_bits x burst_length / 8` does not hold: 128 B, but 64 x 8 / 8; change one of the three, or leave column_bytes out");
    insta::assert_snapshot!(check(Dram { ranks: count(8), ..good }), @"DRAM rule `banks_per_channel is a multiple of ranks x bank_groups` does not hold: 16 banks over 8 x 4; use more banks, or fewer ranks or bank groups");
    insta::assert_snapshot!(check(Dram { row_bytes: count(32), ..good }), @"DRAM rule `column_bytes <= row_bytes` does not hold: 64 B > 32 B; use longer rows or shorter bursts");
    insta::assert_snapshot!(check(Dram { channels: count(u32::MAX), ..good }), @"DRAM rule `capacity <= 2^60 bytes` does not hold: 36893488138829168640 bytes; use fewer channels, banks or rows");
    insta::assert_snapshot!(check(Dram { banks_per_channel: count(1 << 20), ..good }), @"DRAM rule `banks_per_channel <= 65536` does not hold: banks_per_channel = 1048576; use fewer banks");
    insta::assert_snapshot!(check(Dram { trcd_ns: ns(1e300), ..good }), @"DRAM rule `a timing is 0, or from 0.001 to 1e9 ns` does not hold: trcd_ns = 1e300 ns; give it in nanoseconds, not in seconds");
    insta::assert_snapshot!(check(Dram { trefi_ns: ns(0.0), ..good }), @"DRAM rule `the burst, tCK and tREFI are above 0` does not hold: trefi_ns = 0 ns; give times in nanoseconds");
    let slow = MtPerS::new(1e-300).unwrap();
    insta::assert_snapshot!(check(Dram { data_rate_mt_s: slow, ..good }), @"DRAM rule `data_rate_mt_s is in 1..=1e6` does not hold: 0.000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000001 MT/s; give it in millions of transfers per second");
}

/// Who only moves bursts is spared the rules of rows, and no other.
#[test]
fn bursts_alone_do_not_ask_for_rows_that_make_sense() {
    let good = preset("ddr4-3200");
    for rows in [
        Dram { trc_ns: Some(ns(40.0)), ..good },
        Dram { tras_ns: ns(10.0), ..good },
        Dram { tfaw_ns: ns(9.0), ..good },
        Dram { trp_ab_ns: ns(13.0), ..good },
    ] {
        assert!(rows.check().is_err() && rows.check_bursts().is_ok(), "{rows:?}");
    }
    for other in [
        Dram { row_bytes: count(8000), ..good },
        Dram { ranks: count(8), ..good },
        Dram { transfers_per_clock: count(2048), ..good },
        Dram { trefi_ns: ns(0.0), ..good },
        Dram { tck_ns: Some(ns(0.7)), ..good },
    ] {
        assert_eq!(other.check_bursts().unwrap_err().to_string(), other.check().unwrap_err().to_string());
    }
    assert!(Dram { trfc_ab_ns: good.trefi_ns, ..good }.check_bursts().is_err());
}

#[test]
fn a_users_description_is_read_and_checked() {
    let text = include_str!("../../../../data/hardware/dram/ddr4-3200.toml");
    let read = |text: String| {
        let form = MEMORIES.read(&[File { name: "mine.toml".to_owned(), bytes: text.into_bytes() }])?;
        let preset = MEMORIES.complete(form, &|_, _| unreachable!("it names nothing"))?;
        Ok::<Dram, CatalogError>(serde_json::from_value(preset.parameters).unwrap())
    };
    let error = |from: &str, to: &str| {
        assert!(text.contains(from));
        read(text.replace(from, to)).unwrap_err()
    };
    insta::assert_snapshot!(error("tfaw_ns = 21.25", "tfaw_ns = 8"), @"DRAM rule `tFAW >= 4 tRRD_S` does not hold: tfaw_ns = 8 ns, but 4 trrd_s_ns = 10 ns; change one of them");
    insta::assert_snapshot!(error("tfaw_ns = 21.25", "tfaw_ns = nan"), @"`tfaw_ns` = nan: a description holds finite numbers, texts, lists and tables");
    insta::assert_snapshot!(error("ranks = 1", "ranks = 0"), @"`ranks` = 0: expected a whole number from 1 to 4294967295");
    insta::assert_snapshot!(error("ranks = 1", "ranks = -1"), @"`ranks` = -1: expected a whole number from 1 to 4294967295");
    insta::assert_snapshot!(error("ranks = 1", "ranks = 1\nbanks = 4"), @"`memory`: there is no `banks` in it; did you mean `banks_per_channel`?");
    insta::assert_snapshot!(error("transfers_per_clock = 2\n", ""), @"`ddr4-3200`: [sources] names `transfers_per_clock`, of which there is no value here; give one in [parameters], or remove it");
    let with_trc = text.replace("ranks = 1\n", "ranks = 1\ntrc_ns = 46.25\ntrtw_ns = 9.375\n");
    let dram = read(with_trc).unwrap();
    assert_eq!((dram.trc(), dram.trtw()), (ns(46.25), ns(9.375)));
}

#[test]
fn whole_cycles_round_up_and_leave_whole_timings_alone() {
    for name in ["lpddr5-6400", "ddr4-3200", "hbm2-2000"] {
        assert_eq!(preset(name).in_whole_cycles().unwrap(), preset(name), "{name}");
    }
    let analogue = preset("lpddr5x-7500");
    let clocked = analogue.in_whole_cycles().unwrap();
    clocked.check().unwrap();
    // 18 ns are 16.875 cycles, 18.13 ns are 17 but for the last digit.
    let cycles = |it: Nanoseconds| (it.as_f64() / clocked.tck().as_f64()).round();
    assert_eq!((cycles(clocked.trcd_ns), cycles(clocked.trtw())), (17.0, 17.0));
    assert_eq!((cycles(clocked.trp_ab_ns), cycles(clocked.trefi_ns)), (20.0, 3662.0));
}

/// A tick of whole picoseconds counts a whole clock, and no timing is shorter than it was.
#[test]
fn a_trace_counts_in_whole_clocks() {
    for name in ["lpddr5x-7500", "lpddr5x-8533", "lpddr5-6400", "ddr4-3200", "hbm2-2000"] {
        let (own, clocked) = (preset(name), preset(name).on_whole_clock().unwrap());
        clocked.check().unwrap();
        let clock = clocked.tck().as_f64() * 1e3;
        assert!((clock - clock.round()).abs() < 1e-6 && clocked.tck() >= own.tck(), "{name}: {clock} ps");
        let times = |it: &Dram| [it.trcd_ns, it.trp_ab_ns, it.tras_ns, it.tccd_l(), it.trtw(), it.burst()];
        for (own, clocked) in times(&own).into_iter().zip(times(&clocked)) {
            let clocks = clocked.as_f64() * 1e3 / clock;
            assert!((clocks - clocks.round()).abs() < 1e-6 && clocked >= own, "{name}: {own} {clocked}");
        }
    }
}

/// What follows from the data rate follows it.
#[test]
fn the_data_rate_can_change_alone() {
    let dram = preset("lpddr5x-7500");
    for (rate, tck) in [(6400.0, 1.25), (7500.0, 16.0 / 15.0), (8533.0, 8.0 / 8.533)] {
        let dram = Dram { data_rate_mt_s: MtPerS::new(rate).unwrap(), ..dram };
        dram.check().unwrap();
        assert!((dram.tck().as_f64() - tck).abs() < 1e-9);
        assert_eq!((dram.tccd_s(), dram.tccd_l()), (dram.burst(), dram.burst() + dram.burst()));
        let declared = Dram { tccd_l_ns: Some(ns(9.0)), ..dram };
        assert_eq!(declared.tccd_l(), ns(9.0));
    }
    let wide = Dram { burst_length: count(32), ..dram };
    wide.check().unwrap();
    assert_eq!((wide.column_bytes(), wide.columns_per_row()), (64, 32));
}
