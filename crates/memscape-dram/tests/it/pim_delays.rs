//! Does the closed form derive the delays that the engine finds from its rules?

use memscape_dram::{Address, Dram, Engine, Kind, PimDelays, PimTiming, pim_constraints};
use memscape_units::{MtPerS, Nanoseconds, Picoseconds};
use proptest::prelude::*;

use crate::preset;

/// Below a picosecond, nothing.
fn ns(value: f64) -> Nanoseconds {
    Nanoseconds::new(if value < 1e-3 { 0.0 } else { value }).unwrap()
}

/// Any device, whether or not a datasheet would print it.
pub fn any_dram() -> impl Strategy<Value = Dram> {
    let organisation = (0_u32..3, 2_u32..6, 0_u32..5, 1_u32..4, 200.0..20_000.0_f64);
    let rows =
        (0.0..60.0_f64, 0.0..60.0_f64, 0.0..60.0_f64, 0.0..120.0_f64, prop::option::of(0.0..300.0_f64));
    let columns = (0.0..40.0_f64, 0.0..40.0_f64, 0.0..60.0_f64, 0.0..30.0_f64, 0.0..30.0_f64);
    let optional = (
        prop::option::of(0.0..20.0_f64),
        prop::option::of(0.0..20.0_f64),
        prop::option::of(0.0..60.0_f64),
        (0.0..90.0_f64, 0.0..200.0_f64),
    );
    (organisation, rows, columns, optional).prop_map(|(organisation, rows, columns, optional)| {
        let count = |bits: u32| (1 << bits).try_into().unwrap();
        Dram {
            bank_groups: count(organisation.0),
            banks_per_channel: count(organisation.1),
            burst_length: count(organisation.2),
            transfers_per_clock: count(organisation.3),
            data_rate_mt_s: MtPerS::new(organisation.4).unwrap(),
            trcd_ns: ns(rows.0),
            trp_ns: ns(rows.1),
            trp_ab_ns: ns(rows.1 + rows.2),
            tras_ns: ns(rows.0 + rows.3),
            trc_ns: rows.4.map(|it| ns(rows.0 + rows.3 + rows.1 + it)),
            cl_ns: ns(columns.0),
            cwl_ns: ns(columns.1),
            twr_ns: ns(columns.2),
            trtp_ns: ns(columns.3),
            twtr_s_ns: ns(columns.4),
            twtr_l_ns: ns(columns.4 + columns.3),
            tccd_s_ns: optional.0.map(ns),
            tccd_l_ns: optional.1.map(ns),
            trtw_ns: optional.2.map(ns),
            trrd_s_ns: ns(optional.3.0 / 4.0),
            trrd_l_ns: ns(optional.3.0),
            tfaw_ns: ns(optional.3.0 + optional.3.1),
            ..preset("lpddr5x-7500")
        }
    })
}

fn any_unit() -> impl Strategy<Value = PimTiming> {
    (0.0..20.0_f64, 0.0..40.0_f64, any::<bool>()).prop_map(|(command, host, rows_wait_for_writes)| {
        PimTiming { command: ns(command), host_turnaround: ns(host), rows_wait_for_writes }
    })
}

/// From the last of `before` to `then`, where nothing else delays it.
fn measured(dram: &Dram, unit: &PimTiming, before: &[Kind], then: Kind) -> Picoseconds {
    let mut engine = Engine::new(dram.geometry(), &pim_constraints(dram, unit)).unwrap();
    let mut at = Picoseconds::ZERO;
    for kind in before {
        engine.wait_until(at + Picoseconds(10_000_000));
        at = engine.issue(kind.at(Address::default())).unwrap();
    }
    engine.issue(then.at(Address::default())).unwrap() - at
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn both_ways_to_a_delay_agree(dram in any_dram(), unit in any_unit()) {
        use Kind::{ActAll, Alu, Mac, PreAll, RegWrite, Spill};
        dram.check().unwrap();
        let t = PimDelays::new(&dram, &unit);
        for (before, then, delay) in [
            (&[ActAll, Mac][..], Mac, t.slot),
            (&[ActAll, Mac], Alu, t.slot),
            (&[Alu], RegWrite, t.slot),
            (&[RegWrite], RegWrite, t.slot),
            (&[ActAll, Spill], Spill, t.slot),
            (&[ActAll, Mac], RegWrite, t.read_to_write),
            (&[ActAll, Mac], Spill, t.read_to_write),
            (&[ActAll, RegWrite], Mac, t.write_to_read),
            (&[ActAll, Spill], Mac, t.write_to_read),
            (&[RegWrite], ActAll, t.write_to_row),
            (&[ActAll, RegWrite], PreAll, t.write_to_row),
            (&[ActAll, Mac], PreAll, t.read_to_close),
            (&[ActAll, Spill], PreAll, t.spill_to_close),
            (&[Alu], PreAll, t.bus),
            (&[PreAll], ActAll, t.close_to_open),
            (&[ActAll], Mac, t.open_to_access),
            (&[ActAll], PreAll, t.open_to_close),
        ] {
            prop_assert_eq!(measured(&dram, &unit, before, then), delay, "{:?} to {:?}", before, then);
        }
        // With a precharge between, whose own delays may be longer.
        let mut engine = Engine::new(dram.geometry(), &pim_constraints(&dram, &unit)).unwrap();
        let mut issue = |kind: Kind| engine.issue(kind.at(Address::default())).unwrap();
        let (first, close) = (issue(ActAll), issue(PreAll));
        prop_assert_eq!(issue(ActAll), (close + t.close_to_open).max(first + t.open_to_open));
    }

    /// All banks at once are never faster than the rules of one bank and one
    /// bank group allow.
    #[test]
    fn all_bank_commands_obey_the_rules_of_each_bank(dram in any_dram(), unit in any_unit()) {
        let t = PimDelays::new(&dram, &unit);
        prop_assert!(t.slot >= dram.tccd_l().to_picoseconds() && t.slot >= dram.burst().to_picoseconds());
        prop_assert!(t.open_to_open >= dram.trc().to_picoseconds());
        prop_assert!(t.open_to_open >= dram.tfaw_ns.to_picoseconds());
    }

    /// Of all time that passes, refreshes take what one of them costs, rows closed and opened
    /// again, of its interval.
    #[test]
    fn refreshes_take_their_share_of_all_time(dram in any_dram(), unit in any_unit(), us in 1_u64..1_000_000) {
        let (t, busy) = (PimDelays::new(&dram, &unit), Picoseconds(1_000_000) * us);
        let refreshed = t.mean_refresh(&dram, busy).as_ns();
        let one = dram.trfc_ab_ns.as_f64() + t.close_to_open.as_ns() + t.open_to_access.as_ns();
        let share = refreshed / (busy.as_ns() + refreshed);
        prop_assert!((share / (one / dram.trefi_ns.as_f64()) - 1.0).abs() < 1e-4, "{share}");
    }
}
