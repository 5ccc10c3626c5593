//! Is each rule exact: legal at t, illegal at t - 1?

use std::num::NonZeroU32;

use memscape_dram::engine::MAX_DELAY;
use memscape_dram::{
    Address, Command, Constraint, Constraints, Dram, Engine, Kind, MEMORIES, ProtocolError, RefreshPolicy,
    RowState, Scope, constraints, pim_constraints,
};
use memscape_units::{Nanoseconds, Picoseconds};
use proptest::prelude::*;

use crate::pim_delays::any_dram;
use crate::{at, pim, preset};

const START: Picoseconds = Picoseconds(1_000_000);

/// An address within `scope` of bank 0 of group 0 of rank 0, and one just
/// outside of it if the geometry has one.
fn inside_and_outside(dram: &Dram, scope: Scope) -> (Address, Option<Address>) {
    let home = at(0, 0, 1, 0);
    let neighbour = Address { bank: 1, ..home };
    let other_group = Address { bank_group: 1, ..home };
    let far = Address { rank: 1, ..home };
    let rank = (dram.ranks.get() > 1).then_some(far);
    match scope {
        Scope::Bank => (home, Some(neighbour)),
        Scope::BankGroup => (neighbour, Some(other_group)),
        Scope::Rank => (other_group, rank),
        Scope::Channel => (rank.unwrap_or(other_group), None),
        Scope::OtherRank => (far, Some(home)),
    }
}

/// Issues what `command` needs before it can be legal.
fn enable(engine: &mut Engine, command: Command) {
    let bank = engine.row(command.at).unwrap();
    let needs = match command.kind {
        Kind::Rd | Kind::Wr if bank == RowState::Closed => vec![Kind::Act],
        Kind::Mac | Kind::Spill => vec![Kind::PreAll, Kind::ActAll],
        Kind::Act | Kind::Pre | Kind::ActAll | Kind::Ref => vec![Kind::PreAll],
        _ => vec![],
    };
    let legal = engine.earliest(&command).is_ok();
    for kind in needs.into_iter().filter(|_| !legal) {
        engine.issue(kind.at(command.at)).unwrap();
    }
}

/// The rule alone delays `to` exactly, and only within its scope.
fn prove(dram: &Dram, rule: Constraint) {
    let only = Constraints { pairs: vec![rule], ..Constraints::default() };
    let (inside, outside) = inside_and_outside(dram, rule.scope);
    let after = |place: Address, ahead: bool| {
        let mut engine = Engine::new(dram.geometry(), &only).unwrap();
        let (from, to) = (rule.from.at(at(0, 0, 1, 0)), rule.to.at(place));
        if ahead {
            enable(&mut engine, to);
        }
        enable(&mut engine, from);
        engine.issue_at(from, START).unwrap();
        // A row command on a bank in use needs it closed in between, which
        // takes no time here: only the rule under test is in force.
        if engine.earliest(&to).is_err() {
            enable(&mut engine, to);
        }
        (engine, to)
    };
    let (mut engine, to) = after(inside, false);
    let due = START + rule.delay;
    if rule.delay > Picoseconds::ZERO {
        let before = Picoseconds(due.0 - 1);
        let error = engine.issue_at(to, before).expect_err(rule.name);
        assert_eq!(
            error,
            ProtocolError::TooEarly { command: to, at: before, earliest: due, rule: rule.name },
            "{rule:?}"
        );
    }
    engine.issue_at(to, due).unwrap_or_else(|it| panic!("{rule:?}: {it}"));
    if let Some(outside) = outside {
        let (mut engine, to) = after(outside, true);
        engine.issue_at(to, START).unwrap_or_else(|it| panic!("outside of {rule:?}: {it}"));
    }
}

#[test]
fn every_rule_of_every_preset_is_exact_and_keeps_to_its_scope() {
    let mut proved = 0;
    for preset in MEMORIES.all() {
        for ranks in [1, 2] {
            let one = preset.parameters;
            let banks = one.banks_per_channel.get() * ranks;
            let [ranks, banks_per_channel] = [ranks, banks].map(|it| it.try_into().unwrap());
            let dram = Dram { ranks, banks_per_channel, ..one };
            dram.check().unwrap();
            let rules = pim_constraints(&dram, &pim());
            let possible = |it: &&Constraint| ranks.get() > 1 || it.scope != Scope::OtherRank;
            for rule in rules.pairs.iter().filter(possible) {
                prove(&dram, *rule);
                proved += 1;
            }
        }
    }
    assert!(proved > 500, "only {proved} rules");
}

#[test]
fn four_activates_fill_the_window_exactly() {
    // A bank group for each activate.
    for preset in MEMORIES.all().iter().filter(|it| it.parameters.bank_groups.get() >= 4) {
        let dram = preset.parameters;
        let windows = constraints(&dram).windows;
        let only = Constraints { windows: windows.clone(), ..Constraints::default() };
        let mut engine = Engine::new(dram.geometry(), &only).unwrap();
        // The second activate opens the window that the fifth's successor meets.
        let times = [0, 10, 10, 20].map(|it| Picoseconds(START.0 + it));
        for (bank, time) in (0..).zip(times) {
            engine.issue_at(Kind::Act.at(at(bank, 0, 0, 0)), time).unwrap();
        }
        for (bank, first) in [(0, times[0]), (1, times[1])] {
            let act = Kind::Act.at(at(bank, 1, 0, 0));
            let due = first + windows[0].span;
            let early = engine.issue_at(act, Picoseconds(due.0 - 1)).unwrap_err();
            assert!(matches!(early, ProtocolError::TooEarly { rule: "tFAW", .. }), "{early}");
            engine.issue_at(act, due).unwrap();
        }
    }
}

/// All rules together: distances between the first and the last command, in
/// clock cycles worked out by hand from the data sheet's numbers.
#[test]
fn published_cycles_between_commands() {
    use Kind::{Act, Pre, PreAll, Rd, Ref, Wr};
    let check = |name: &str, commands: &[(Kind, u32, u32)], cycles: u64| {
        let dram = preset(name);
        let mut engine = Engine::new(dram.geometry(), &constraints(&dram)).unwrap();
        let tck = dram.tck().to_picoseconds();
        let times: Vec<_> = commands
            .iter()
            .map(|(kind, group, bank)| engine.issue(kind.at(at(*group, *bank, 0, 0))).unwrap())
            .collect();
        assert_eq!(times[times.len() - 1], tck * cycles, "{name} {commands:?}");
    };
    let both = |commands: &[(Kind, u32, u32)], ddr4: u64, lpddr5: u64| {
        check("ddr4-3200", commands, ddr4);
        check("lpddr5-6400", commands, lpddr5);
    };
    both(&[(Act, 0, 0), (Rd, 0, 0)], 22, 15);
    both(&[(Act, 0, 0), (Rd, 0, 0), (Rd, 0, 0)], 22 + 8, 15 + 4);
    both(&[(Act, 0, 0), (Act, 1, 0)], 4, 4);
    both(&[(Act, 0, 0), (Act, 0, 1)], 8, 4);
    // Two groups open: the read waits for the second activate, then tCCD_S.
    both(&[(Act, 0, 0), (Act, 1, 0), (Rd, 1, 0), (Rd, 0, 0)], 4 + 22 + 4, 4 + 15 + 2);
    both(&[(Act, 0, 0), (Act, 1, 0), (Act, 2, 0), (Act, 3, 0), (Act, 0, 1)], 34, 16);
    both(&[(Act, 0, 0), (Pre, 0, 0)], 52, 34);
    both(&[(Act, 0, 0), (Pre, 0, 0), (Act, 0, 0)], 52 + 22, 34 + 15);
    both(&[(Act, 0, 0), (PreAll, 0, 0), (Act, 0, 0)], 52 + 22, 34 + 17);
    // Write: CWL + burst + tWR or tWTR.
    both(&[(Act, 0, 0), (Wr, 0, 0), (Pre, 0, 0)], 22 + 16 + 4 + 24, 15 + 9 + 2 + 28);
    both(&[(Act, 0, 0), (Wr, 0, 0), (Rd, 0, 0)], 22 + 16 + 4 + 12, 15 + 9 + 2 + 10);
    // Read to write: CL + burst + 2 - CWL.
    both(&[(Act, 0, 0), (Rd, 0, 0), (Wr, 0, 0)], 22 + 22 + 4 + 2 - 16, 15 + 17 + 2 + 2 - 9);
    both(&[(Ref, 0, 0), (Act, 0, 0)], 560, 168);
    both(&[(Act, 0, 0), (PreAll, 0, 0), (Ref, 0, 0)], 52 + 22, 34 + 17);
}

proptest! {
    /// The data of an access begin CL or CWL after its command and last a burst. All ranks share the
    /// bus that they take; one rank's array and its bank groups need more time between them.
    #[test]
    fn accesses_follow_as_their_data_allow(one in any_dram(), switch_ns in 0.0..10.0_f64) {
        use Kind::{Rd, Wr};
        let four_times = |it: NonZeroU32| it.saturating_mul(NonZeroU32::new(4).unwrap());
        let dram = Dram {
            ranks: four_times(one.ranks),
            banks_per_channel: four_times(one.banks_per_channel),
            trtrs_ns: Nanoseconds::new(switch_ns).unwrap(),
            ..one
        };
        let rules = constraints(&dram);
        let ns = Nanoseconds::as_f64;
        let begins = |kind| if kind == Rd { ns(dram.cl_ns) } else { ns(dram.cwl_ns) };
        let home = at(0, 0, 0, 0);
        let mut places = vec![(Address { rank: 1, ..home }, false), (home, true)];
        if dram.bank_groups.get() > 1 {
            places.push((Address { bank_group: 1, ..home }, false));
        }
        for ((place, same_group), from, to) in
            places.into_iter().flat_map(|it| [(it, Rd, Rd), (it, Rd, Wr), (it, Wr, Rd), (it, Wr, Wr)])
        {
            let mut engine = Engine::new(dram.geometry(), &rules).unwrap();
            engine.issue(Kind::Act.at(home)).unwrap();
            if place != home {
                engine.issue(Kind::Act.at(place)).unwrap();
            }
            engine.wait_until(START);
            let first = engine.issue(from.at(home)).unwrap();
            let taken = (engine.issue(to.at(place)).unwrap() - first).as_ns();
            let ends = begins(from) + ns(dram.burst());
            let group = |far: Nanoseconds, near: Nanoseconds| ns(if same_group { near.max(far) } else { far });
            let least = match (from, to) {
                _ if place.rank == 1 => ends + switch_ns - begins(to),
                (Rd, Wr) => ns(dram.trtw()),
                (Wr, Rd) => ends + group(dram.twtr_s_ns, dram.twtr_l_ns),
                _ => ns(dram.burst()).max(group(dram.tccd_s(), dram.tccd_l())),
            };
            let least = least.max(rules.command_slot.as_ns());
            prop_assert!((taken - least).abs() < 1.5e-3, "{from:?} {to:?} {place:?}: {taken}, not {least}");
        }
    }

    /// A bank that was opened has had its whole row cycle when it is refreshed.
    #[test]
    fn a_row_cycle_ends_before_a_refresh(dram in any_dram()) {
        use Kind::{Act, Pre, PreAll, Ref};
        for (close, closing) in [(Pre, dram.trp_ns), (PreAll, dram.trp_ab_ns)] {
            let mut engine = Engine::new(dram.geometry(), &constraints(&dram)).unwrap();
            let [opened, closed, refreshed] =
                [Act, close, Ref].map(|it| engine.issue(it.at(at(0, 0, 0, 0))).unwrap());
            let least = closed + closing.to_picoseconds().max(engine.command_slot());
            prop_assert_eq!(refreshed, least.max(opened + dram.trc().to_picoseconds()));
        }
    }
}

#[test]
fn one_command_per_slot_of_the_command_bus() {
    let dram = preset("ddr4-3200");
    let mut engine = Engine::new(dram.geometry(), &constraints(&dram)).unwrap();
    let pre = |group| Kind::Pre.at(at(group, 0, 0, 0));
    let times: Vec<_> = (0..3).map(|it| engine.issue(pre(it)).unwrap().0).collect();
    assert_eq!(times, [0, 625, 1250]);
}

/// PIM stream with distances from the rules, added by hand.
#[test]
fn a_pim_stream_adds_up() {
    let dram = preset("lpddr5x-7500");
    let mut engine = Engine::new(dram.geometry(), &pim_constraints(&dram, &pim())).unwrap();
    let mut time = |kind: Kind| engine.issue(kind.at(at(0, 0, 0, 0))).unwrap().0;
    // tCCD_L; tRTW and what the host adds; CWL + burst + tWTR.
    let [slot, rtw, wtr] = [4_267, 18_130 + 9_750, 11_733 + 2_134 + 12_000];
    assert_eq!(time(Kind::RegWrite), 0);
    assert_eq!(time(Kind::RegWrite), slot);
    // Opening the row overlaps with register writes: it takes other wires.
    assert_eq!(time(Kind::ActAll), slot + 1_066);
    let mac = time(Kind::Mac);
    assert_eq!(mac, slot + wtr);
    assert_eq!(time(Kind::Mac), mac + slot);
    assert_eq!(time(Kind::Alu), mac + 2 * slot);
    let write = time(Kind::RegWrite);
    assert_eq!(write, mac + slot + rtw);
    assert_eq!(time(Kind::Mac), write + wtr);
    let spill = time(Kind::Spill);
    assert_eq!(spill, write + wtr + rtw);
    let close = time(Kind::PreAll);
    // CWL + burst + tWR.
    assert_eq!(close, spill + 11_733 + 2_134 + 34_000);
    assert_eq!(time(Kind::ActAll), close + 21_000);
    assert_eq!(time(Kind::PreAll), close + 21_000 + 42_000);
}

/// Refresh closes what is open and opens it again when it is needed.
#[test]
fn refresh_interrupts_a_pim_stream() {
    let dram = preset("lpddr5x-7500");
    let rules = pim_constraints(&dram, &pim());
    let policy = RefreshPolicy::AllBank { interval: Picoseconds(100_000) };
    let mut engine = Engine::new(dram.geometry(), &rules).unwrap().with_refresh(policy).unwrap();
    let mut log = Vec::new();
    let mut sink = |at: Picoseconds, command: &Command, _| log.push((at.0, command.kind.name()));
    engine.issue_into(Kind::ActAll.at(at(0, 0, 5, 0)), &mut sink).unwrap();
    for column in 0..21 {
        engine.issue_into(Kind::Mac.at(at(0, 0, 5, column)), &mut sink).unwrap();
    }
    // MACs at 18000 + k 4267: the 20th would start at 103340, after 100000.
    assert_eq!(log[20], (18_000 + 19 * 4_267, "MAC"));
    let [close, refresh, open, mac] = [&log[21], &log[22], &log[23], &log[24]];
    let closed = 18_000 + 19 * 4_267 + 9_633;
    assert_eq!(*close, (closed.max(100_000), "PREA"));
    assert_eq!(*refresh, (close.0 + 21_000, "REFab"));
    assert_eq!(*open, (refresh.0 + 280_000, "ACTAB"));
    assert_eq!(*mac, (open.0 + 18_000, "MAC"));
    assert_eq!(log.len(), 25);
    assert_eq!(engine.refreshes(), 1);
}

/// DDR4 with rows open in two bank groups, after a pause of 20 us.
fn paused() -> Engine {
    let dram = preset("ddr4-3200");
    let engine = Engine::new(dram.geometry(), &pim_constraints(&dram, &pim())).unwrap();
    let mut engine = engine.with_refresh(RefreshPolicy::all_bank(&dram)).unwrap();
    for group in 0..2 {
        engine.issue(Kind::Act.at(at(group, 0, 7, 0))).unwrap();
    }
    engine.wait_until(Picoseconds(20_000_000));
    engine
}

/// A pause does not delay refreshes: they are done when due, tREFI apart, and
/// only the row that is read is opened again, when the read arrives.
#[test]
fn refresh_suspends_single_banks_too() {
    let mut engine = paused();
    let mut log = Vec::new();
    let mut sink = |at: Picoseconds, command: &Command, _| log.push(format!("{at} {command}"));
    engine.issue_into(Kind::Rd.at(at(1, 0, 7, 3)), &mut sink).unwrap();
    insta::assert_snapshot!(log.join("\n"), @r"
        7800000 ps PREA rank 0
        7813750 ps REFab rank 0
        15600000 ps REFab rank 0
        20000000 ps ACT rank 0 group 1 bank 0 row 7
        20013750 ps RD rank 0 group 1 bank 0 row 7 column 3
        ");
    assert_eq!(engine.row(at(0, 0, 0, 0)), Ok(RowState::Suspended(7)));
    let unready = engine.issue_at(Kind::Rd.at(at(0, 0, 7, 0)), Picoseconds(21_000_000)).unwrap_err();
    assert!(matches!(unready, ProtocolError::Closed { .. }));
    engine.issue(Kind::Pre.at(at(0, 0, 0, 0))).unwrap();
    assert_eq!(engine.row(at(0, 0, 0, 0)), Ok(RowState::Closed));
}

/// What a refresh has closed is closed for an activate, of one bank or of all.
#[test]
fn suspended_banks_can_be_activated() {
    let mut engine = paused();
    engine.issue(Kind::Alu.at(at(0, 0, 0, 0))).unwrap();
    assert_eq!((engine.refreshes(), engine.row(at(1, 0, 0, 0))), (2, Ok(RowState::Suspended(7))));
    engine.clone().issue(Kind::Act.at(at(1, 0, 9, 0))).unwrap();
    engine.issue(Kind::ActAll.at(at(0, 0, 3, 0))).unwrap();
    assert_eq!(engine.row(at(1, 0, 0, 0)), Ok(RowState::Open(3)));
}

/// A row cycle counts from the activate of all banks too: 200 ns, although
/// tRAS + tRPab would be 63 ns.
#[test]
fn a_row_cycle_from_all_banks_to_one() {
    let dram = Dram { trc_ns: Some(Nanoseconds::new(200.0).unwrap()), ..preset("lpddr5x-7500") };
    let mut engine = Engine::new(dram.geometry(), &pim_constraints(&dram, &pim())).unwrap();
    engine.issue_at(Kind::ActAll.at(at(0, 0, 1, 0)), START).unwrap();
    assert_eq!(engine.issue(Kind::PreAll.at(at(0, 0, 1, 0))), Ok(START + Picoseconds(42_000)));
    assert_eq!(engine.issue(Kind::Act.at(at(2, 1, 5, 0))), Ok(START + Picoseconds(200_000)));
}

/// What would be later than the clock counts is told as its end, with refresh and without.
#[test]
fn a_clock_that_has_ended_is_told_as_ended() {
    let dram = preset("ddr4-3200");
    let end = Picoseconds(u64::MAX);
    for refresh in [RefreshPolicy::Off, RefreshPolicy::AllBank { interval: MAX_DELAY }] {
        let engine = Engine::new(dram.geometry(), &constraints(&dram)).unwrap();
        let mut engine = engine.with_refresh(refresh).unwrap();
        engine.wait_until(end);
        let open = Kind::Act.at(at(0, 0, 1, 0));
        assert_eq!((engine.issue(open).unwrap(), engine.now()), (end, end), "{refresh:?}");
    }
}
