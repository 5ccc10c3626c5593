//! Does the engine refuse what the DRAM protocol forbids, and say what to do?

use memscape_dram::{
    Address, Constraint, Constraints, Engine, EngineError, Geometry, Kind, ProtocolError, RefreshPolicy,
    RowState, Scope, Window, pim_constraints,
};
use memscape_units::Picoseconds;

use crate::{at, pim, preset};

fn engine() -> Engine {
    let dram = preset("lpddr5x-7500");
    Engine::new(dram.geometry(), &pim_constraints(&dram, &pim())).unwrap()
}

/// The message of the last command; all before must be legal.
fn refused(commands: &[(Kind, Address)]) -> String {
    let mut engine = engine();
    let ((kind, place), before) = commands.split_last().unwrap();
    for (kind, at) in before {
        engine.issue(kind.at(*at)).unwrap();
    }
    let untouched = format!("{engine:?}");
    let error = engine.issue(kind.at(*place)).unwrap_err();
    assert_eq!(format!("{engine:?}"), untouched, "a refused command must change nothing");
    error.to_string()
}

#[test]
fn row_state_errors_say_which_row_and_what_to_do() {
    use Kind::{Act, ActAll, Mac, Pre, PreAll, Rd, Ref, Spill, Wr};
    insta::assert_snapshot!(refused(&[(Rd, at(1, 2, 5, 7))]), @"RD rank 0 group 1 bank 2 row 5 column 7: no row is open; activate row 5 first");
    insta::assert_snapshot!(refused(&[(Act, at(1, 2, 4, 0)), (Wr, at(1, 2, 5, 7))]), @"WR rank 0 group 1 bank 2 row 5 column 7: row 4 is open; precharge it and activate row 5 first");
    insta::assert_snapshot!(refused(&[(Act, at(0, 0, 4, 0)), (Act, at(0, 0, 5, 0))]), @"ACT rank 0 group 0 bank 0 row 5: row 4 is open; precharge it first");
    insta::assert_snapshot!(refused(&[(Act, at(0, 0, 4, 0)), (ActAll, at(0, 0, 4, 0))]), @"ACTAB rank 0 row 4: 1 of the rank's banks are open; precharge all first");
    insta::assert_snapshot!(refused(&[(Act, at(0, 0, 4, 0)), (Ref, at(0, 0, 0, 0))]), @"REFab rank 0: 1 of the rank's banks are open; precharge all first");
    insta::assert_snapshot!(refused(&[(Mac, at(0, 0, 3, 0))]), @"MAC rank 0 row 3 column 0: no row is open; activate row 3 first");
    insta::assert_snapshot!(refused(&[(ActAll, at(0, 0, 2, 0)), (Spill, at(0, 0, 3, 0))]), @"SPILL rank 0 row 3 column 0: row 2 is open; precharge it and activate row 3 first");
    insta::assert_snapshot!(refused(&[(ActAll, at(0, 0, 2, 0)), (Pre, at(0, 0, 0, 0))]), @"PRE rank 0 group 0 bank 0: all banks are open as one, in row 2; precharge all first");
    insta::assert_snapshot!(refused(&[(ActAll, at(0, 0, 2, 0)), (ActAll, at(0, 0, 2, 0))]), @"ACTAB rank 0 row 2: row 2 is open; precharge it first");
    let closed = [(ActAll, at(0, 0, 2, 0)), (PreAll, at(0, 0, 0, 0)), (Rd, at(3, 3, 2, 0))];
    insta::assert_snapshot!(refused(&closed), @"RD rank 0 group 3 bank 3 row 2 column 0: no row is open; activate row 2 first");
}

#[test]
fn addresses_beyond_the_channel_are_refused() {
    insta::assert_snapshot!(refused(&[(Kind::Act, Address { rank: 1, ..at(0, 0, 0, 0) })]), @"ACT rank 1 group 0 bank 0 row 0: there is no rank 1; the channel has 1");
    insta::assert_snapshot!(refused(&[(Kind::Act, at(4, 0, 0, 0))]), @"ACT rank 0 group 4 bank 0 row 0: there is no bank group 4; the channel has 4");
    insta::assert_snapshot!(refused(&[(Kind::Pre, at(0, 4, 0, 0))]), @"PRE rank 0 group 0 bank 4: there is no bank 4; the channel has 4");
    insta::assert_snapshot!(refused(&[(Kind::ActAll, at(0, 0, 65_536, 0))]), @"ACTAB rank 0 row 65536: there is no row 65536; the channel has 65536");
    insta::assert_snapshot!(refused(&[(Kind::ActAll, at(0, 0, 1, 0)), (Kind::Mac, at(0, 0, 1, 64))]), @"MAC rank 0 row 1 column 64: there is no column 64; the channel has 64");
    // An all-bank form has no bank to be wrong about, a register write no row.
    assert!(engine().issue(Kind::ActAll.at(at(9, 9, 1, 99))).is_ok());
    assert!(engine().issue(Kind::RegWrite.at(at(9, 9, u32::MAX, 99))).is_ok());
}

#[test]
fn all_banks_open_and_close_as_one() {
    let mut engine = engine();
    engine.issue(Kind::Act.at(at(0, 1, 9, 0))).unwrap();
    engine.issue(Kind::PreAll.at(at(0, 0, 0, 0))).unwrap();
    assert_eq!(engine.row(at(0, 1, 0, 0)), Ok(RowState::Closed));
    engine.issue(Kind::ActAll.at(at(0, 0, 3, 0))).unwrap();
    assert_eq!(engine.row(at(2, 1, 0, 0)), Ok(RowState::Open(3)));
    engine.issue(Kind::Rd.at(at(2, 1, 3, 0))).unwrap();
    engine.issue(Kind::PreAll.at(at(0, 0, 0, 0))).unwrap();
    assert_eq!(engine.row(at(0, 1, 0, 0)), Ok(RowState::Closed));
    engine.issue(Kind::Act.at(at(0, 1, 8, 0))).unwrap();
    assert_eq!(engine.row(at(0, 1, 0, 0)), Ok(RowState::Open(8)));
}

#[test]
fn an_exact_time_is_legal_or_refused_with_the_rule() {
    let mut engine = engine();
    engine.issue_at(Kind::ActAll.at(at(0, 0, 1, 0)), Picoseconds(500)).unwrap();
    let mac = Kind::Mac.at(at(0, 0, 1, 0));
    let early = engine.issue_at(mac, Picoseconds(18_499)).unwrap_err();
    insta::assert_snapshot!(early, @"MAC rank 0 row 1 column 0: 18499 ps is too early; `tRCD` allows 18500 ps");
    engine.issue_at(mac, Picoseconds(18_500)).unwrap();
    let before = engine.issue_at(Kind::Alu.at(at(0, 0, 0, 0)), Picoseconds(400)).unwrap_err();
    assert!(matches!(before, ProtocolError::TooEarly { rule: "tCCD_L", .. }), "{before}");
}

#[test]
fn waiting_delays_the_next_command_only_forwards() {
    let mut engine = engine();
    engine.wait_until(Picoseconds(1_000_000));
    engine.wait_until(Picoseconds(5));
    assert_eq!(engine.issue(Kind::ActAll.at(at(0, 0, 1, 0))), Ok(Picoseconds(1_000_000)));
}

#[test]
fn rules_and_geometries_that_make_no_sense_are_refused() {
    let geometry = Geometry { ranks: 1, bank_groups: 1, banks: 2, rows: 4, columns: 4 };
    let build = |geometry, pairs: &[Constraint], windows: &[Window]| {
        let (pairs, windows) = (pairs.to_vec(), windows.to_vec());
        Engine::new(geometry, &Constraints { pairs, windows, command_slot: Picoseconds(1) }).unwrap_err()
    };
    let pair = Constraint {
        name: "x",
        from: Kind::Act,
        to: Kind::PreAll,
        scope: Scope::Bank,
        delay: Picoseconds(1),
    };
    let window = Window { name: "w", kind: Kind::Act, scope: Scope::Rank, count: 0, span: Picoseconds(1) };
    insta::assert_snapshot!(build(geometry, &[pair], &[]), @"rule `x` from ACT to PREA holds per Bank, but an all-bank command has none; use Rank or Channel");
    insta::assert_snapshot!(build(geometry, &[], &[window]), @"window `w` of 0 per Rank: count at least one command, within a rank or less");
    insta::assert_snapshot!(build(Geometry { rows: 0, ..geometry }, &[], &[]), @"a channel of Geometry { ranks: 1, bank_groups: 1, banks: 2, rows: 0, columns: 4 } cannot be modelled; use 1 to 65536 banks and at least one row and column");
    let endless = Constraint { scope: Scope::Rank, delay: Picoseconds(u64::MAX), ..pair };
    insta::assert_snapshot!(build(geometry, &[endless], &[]), @"rule `x` takes 18446744073709551615 ps, but at most 3600000000000000 ps is allowed");
    let huge = Geometry { ranks: u32::MAX, bank_groups: u32::MAX, banks: 1, ..geometry };
    assert!(matches!(build(huge, &[], &[]), EngineError::Geometry(_)));
    let never = RefreshPolicy::AllBank { interval: Picoseconds::ZERO };
    assert_eq!(engine().with_refresh(never).unwrap_err(), EngineError::RefreshInterval);
}
