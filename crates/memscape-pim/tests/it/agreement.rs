//! Does the closed form count exactly what the command stream takes, in time and in commands?

use std::num::{NonZeroU32, NonZeroU64};

use memscape_dram::{CommandCounts, Dram, MEMORIES, RefreshPolicy};
use memscape_pim::cost::{CommandStream, GemvPart, closed_form, least_time, time_on_pim};
use memscape_pim::hardware::{CrossLane, DEFAULT_MACHINE, MACHINES, Machine, PimUnit, RowAfterWrite};
use memscape_pim::mapping::Plan;
use memscape_pim::mapping::placement::{CrDegree, Placement, Policy, RegisterRule, TilePolicy};
use memscape_study::CostEngine;
use memscape_units::{MtPerS, Nanoseconds};
use memscape_workload::{Format, Gemv};
use proptest::prelude::*;
use proptest::strategy::ValueTree;

fn count(value: u32) -> NonZeroU32 {
    NonZeroU32::new(value).unwrap()
}

#[derive(Debug, Clone)]
struct Case {
    machine: Machine,
    policy: Policy,
    format: Format,
    gemv: Gemv,
}

fn memory() -> impl Strategy<Value = Dram> {
    let shape = (0u32..2, 0u32..3, prop::sample::select(vec![256u32, 512, 1024, 1536, 2048]));
    let short = || prop_oneof![Just(0.0), Just(1.0), 0.0..40.0f64];
    let times = (short(), short(), 0.0..90.0f64, 0.0..40.0f64, 0.0..20.0f64, prop::option::of(0.0..60.0f64));
    let more = (
        0.0..40.0f64,
        0.0..20.0f64,
        0.0..20.0f64,
        prop::option::of(0.0..15.0f64),
        prop::option::of(0.0..15.0f64),
        0.0..80.0f64,
        1_000.0..15_000.0f64,
    );
    (shape, times, more, 0_u32..3).prop_map(|(shape, times, more, groups)| {
        let ns = |value| Nanoseconds::new(value).unwrap();
        let ((channels, banks, row_bytes), (trp, trcd, tras, recovery, read, trtw)) = (shape, times);
        let (cl, cwl, turn, tccd_s, tccd_l, tfaw, rate) = more;
        Dram {
            channels: count(1 << channels),
            bank_groups: count(1 << groups.min(banks)),
            banks_per_channel: count(1 << banks),
            data_rate_mt_s: MtPerS::new(rate).unwrap(),
            cl_ns: ns(cl),
            cwl_ns: ns(cwl),
            twtr_l_ns: ns(turn),
            tccd_s_ns: tccd_s.map(ns),
            tccd_l_ns: tccd_l.map(ns),
            tfaw_ns: ns(tfaw),
            row_bytes: count(row_bytes),
            trp_ns: ns(trp),
            trp_ab_ns: ns(trp),
            trcd_ns: ns(trcd),
            tras_ns: ns(tras),
            twr_ns: ns(recovery),
            trtp_ns: ns(read),
            trtw_ns: trtw.map(ns),
            ..*MEMORIES.get("lpddr5x-7500")
        }
    })
}

fn pim() -> impl Strategy<Value = PimUnit> {
    let lanes = prop::sample::select(vec![
        CrossLane::LaneShift,
        CrossLane::LaneShiftLast,
        CrossLane::AnyShift,
        CrossLane::Tree,
    ]);
    let widths = (8u32..11, 4u32..6);
    (16u32..64, 1u32..16, 0u32..3, 1.0..4.0f64, lanes, 0.0..30.0f64, any::<bool>(), widths).prop_map(
        |(registers, input_registers, swap_commands, command_ratio, cross_lane, host, overlapped, widths)| {
            PimUnit {
                row_after_write: if overlapped { RowAfterWrite::Overlapped } else { RowAfterWrite::InOrder },
                registers: count(registers),
                register_bits: count(1 << widths.0),
                input_registers: count(input_registers),
                sum_bits: count(1 << widths.1),
                command_ratio,
                cross_lane,
                host_turnaround_ns: Nanoseconds::new(host).unwrap(),
                swap_commands,
                mac_pj_per_bit: None,
            }
        },
    )
}

fn case() -> impl Strategy<Value = Case> {
    let format = prop::sample::select(vec![
        "int4",
        "int8",
        "fp16",
        "fp32",
        "mx-int8-b32",
        "mx-int4-b32",
        "mx-fp16-b64",
        "mx-int8-b256",
        "mx-int4-b16",
    ]);
    let placement = prop::sample::select(vec![
        Placement::Pimnast,
        Placement::Pimnast,
        Placement::Pimnast,
        Placement::ColumnMajor,
        Placement::FixedTile,
    ]);
    let policy = (0u32..2, 0u32..4, 1u32..3, placement);
    (memory(), pim(), format, policy, (1u64..300, 1u64..20), 5u32..10).prop_map(
        |(memory, pim, format, (split, degree, fixed, placement), (rows, columns), interleave)| Case {
            machine: Machine {
                memory,
                interleave_bytes: NonZeroU64::new(1 << interleave).unwrap(),
                pim,
                ..*MACHINES.get(DEFAULT_MACHINE)
            },
            policy: Policy {
                placement,
                tile: TilePolicy::Auto,
                cr_degree: match degree {
                    0 => CrDegree::Fixed(count(fixed)),
                    _ => CrDegree::Auto,
                },
                split_k: count(1 << split),
                register_rule: RegisterRule::Accumulators,
            },
            format: format.parse().unwrap(),
            gemv: {
                // Some have ragged words; the baselines of fixed tiles need whole ones.
                let ragged = !format.starts_with("mx") && placement != Placement::FixedTile;
                Gemv::new(rows, columns * if ragged { 14 } else { 256 }).unwrap()
            },
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn closed_form_equals_the_engine(case in case()) {
        let Ok(plan) = Plan::new(case.gemv, case.format, &case.machine, &case.policy) else { return Ok(()) };
        let delays = case.machine.pim_delays();
        let stream = CommandStream { plan: &plan, machine: &case.machine, refresh: RefreshPolicy::Off };
        let mut issued = CommandCounts::default();
        let walked = stream.walk(&mut issued).unwrap();
        prop_assert!(least_time(&plan, &delays) <= walked, "{:?} {:?}", plan, delays);
        // Or what is walked is told by cause, which no cause is more than.
        let told = time_on_pim(&plan, &case.machine, &delays, CostEngine::Closed, false).unwrap();
        prop_assert_eq!(told.time.total(), walked, "{:?} {:?}", plan, delays);
        prop_assert!(told.time.iter().all(|it| it.1 <= walked), "{:?} {:?}", told, plan);
        prop_assert_eq!(told.time[GemvPart::Mac], delays.slot * (plan.chunks * plan.row_blocks * plan.row_block_words()), "{:?}", plan);
        if let Some(closed) = closed_form(&plan, &delays) {
            prop_assert_eq!(closed.time.total(), walked, "{:?} {:?}", plan, delays);
            prop_assert_eq!(closed.commands, issued, "{:?} {:?}", plan, delays);
        }
    }
}

/// The random cases above must not all be refused or left to the engine.
#[test]
fn most_random_cases_have_a_closed_form() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut answered = 0;
    for _ in 0..400 {
        let case = case().new_tree(&mut runner).unwrap().current();
        let plan = Plan::new(case.gemv, case.format, &case.machine, &case.policy);
        answered += u32::from(plan.is_ok_and(|it| closed_form(&it, &case.machine.pim_delays()).is_some()));
    }
    assert!(answered > 80, "only {answered} of 400");
}
