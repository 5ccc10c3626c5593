//! Does the engine ever violate a rule, or wait without one?

use memscape_dram::{
    Address, Command, Constraints, Dram, Engine, Geometry, Kind, MEMORIES, Origin, RefreshPolicy, Scope,
    pim_constraints,
};
use memscape_units::Picoseconds;
use proptest::prelude::*;

use crate::{pim, preset};

/// Whether two commands are related by `scope`, spelled out from its meaning.
fn related(scope: Scope, a: Address, b: Address) -> bool {
    match scope {
        Scope::Channel => true,
        Scope::Rank => a.rank == b.rank,
        Scope::BankGroup => a.rank == b.rank && a.bank_group == b.bank_group,
        Scope::Bank => (a.rank, a.bank_group, a.bank) == (b.rank, b.bank_group, b.bank),
        Scope::OtherRank => a.rank != b.rank,
    }
}

type Timed = (u64, Command);

/// The earliest time of the last command, from all before it: no state, no
/// tables, every rule against every pair.
fn earliest(rules: &Constraints, before: &[Timed], command: Command) -> u64 {
    let order = before.last().map_or(0, |(at, _)| at + rules.command_slot.0);
    let pairs = rules.pairs.iter().filter(|rule| rule.to == command.kind).flat_map(|rule| {
        let earlier = before
            .iter()
            .filter(move |(_, it)| it.kind == rule.from && related(rule.scope, it.at, command.at));
        earlier.map(move |(at, _)| at + rule.delay.0)
    });
    let windows = rules.windows.iter().filter(|rule| rule.kind == command.kind).filter_map(|rule| {
        let counted = before
            .iter()
            .rev()
            .filter(|(_, it)| it.kind == rule.kind && related(rule.scope, it.at, command.at));
        counted.skip(rule.count - 1).map(|(at, _)| at + rule.span.0).next()
    });
    pairs.chain(windows).fold(order, u64::max)
}

/// A small channel on which random commands meet.
fn channel(device: usize, ranks: u32) -> Dram {
    let sizes = [ranks, 2, 4 * ranks, 4].map(|it| it.try_into().unwrap());
    let [ranks, bank_groups, banks_per_channel, rows] = sizes;
    Dram { ranks, bank_groups, banks_per_channel, rows, ..MEMORIES.all()[device].parameters }
}

fn commands(ranks: u32) -> impl Strategy<Value = Vec<Command>> {
    let kind = prop::sample::select(&Kind::ALL[..]);
    let place = (0..ranks, 0..2_u32, 0..2_u32, 0..4_u32, 0..8_u32);
    let command = (kind, place).prop_map(|(kind, (rank, bank_group, bank, row, column))| {
        kind.at(Address { rank, bank_group, bank, row, column })
    });
    prop::collection::vec(command, 1..300)
}

/// Makes a random command legal more often: a column command goes to the open
/// row, if there is one.
fn aim(engine: &Engine, command: Command) -> Command {
    use memscape_dram::RowState::{Closed, Open, Suspended};
    match engine.row(command.at) {
        Ok(Open(row) | Suspended(row)) if command.kind.has_column() => {
            command.kind.at(Address { row, ..command.at })
        }
        Ok(Open(_) | Suspended(_) | Closed) | Err(_) => command,
    }
}

/// What a stream does to the rows, spelled out bank by bank.
fn legal(
    open: &mut std::collections::BTreeMap<(u32, u32, u32), u32>,
    geometry: Geometry,
    command: &Command,
) -> bool {
    let Command { kind, at } = *command;
    let bank = (at.rank, at.bank_group, at.bank);
    let all = || {
        (0..geometry.bank_groups)
            .flat_map(move |group| (0..geometry.banks).map(move |bank| (at.rank, group, bank)))
    };
    match kind {
        Kind::Act => open.insert(bank, at.row).is_none(),
        Kind::Pre => {
            open.remove(&bank);
            true
        }
        Kind::PreAll => {
            open.retain(|it, _| it.0 != at.rank);
            true
        }
        Kind::Rd | Kind::Wr => open.get(&bank) == Some(&at.row),
        Kind::Mac | Kind::Spill => all().all(|it| open.get(&it) == Some(&at.row)),
        Kind::ActAll => all().all(|it| open.insert(it, at.row).is_none()),
        Kind::Ref => all().all(|it| !open.contains_key(&it)),
        Kind::RegWrite | Kind::Alu => true,
    }
}

proptest! {
    /// Every command starts exactly when the naive checker says, with and
    /// without refresh, and the rows are as the checker has them.
    #[test]
    fn the_engine_is_exact(
        device in 0_usize..4,
        (ranks, commands) in (1_u32..=2).prop_flat_map(|ranks| (Just(ranks), commands(ranks))),
        refresh in prop::option::of(200_000_u64..2_000_000),
    ) {
        let dram = channel(device, ranks);
        let rules = pim_constraints(&dram, &pim());
        let policy = refresh.map_or(RefreshPolicy::Off, |it| RefreshPolicy::AllBank { interval: Picoseconds(it) });
        let mut engine = Engine::new(dram.geometry(), &rules).unwrap().with_refresh(policy).unwrap();
        let mut log: Vec<(Timed, Origin)> = Vec::new();
        for command in commands {
            let command = aim(&engine, command);
            let mut sink = |at: Picoseconds, it: &Command, origin| log.push(((at.0, *it), origin));
            let _ = engine.issue_into(command, &mut sink);
        }
        let timed: Vec<Timed> = log.iter().map(|(it, _)| *it).collect();
        let mut open = std::collections::BTreeMap::new();
        for (index, ((at, command), origin)) in log.iter().enumerate() {
            let expected = earliest(&rules, &timed[..index], *command);
            // A refresh waits until it is due; all else starts as soon as it may.
            let due = *origin == Origin::Refresh && matches!(command.kind, Kind::PreAll | Kind::Ref);
            prop_assert!(*at >= expected, "{command} at {at}, not before {expected}");
            prop_assert!(due || *at == expected, "{command} at {at}, though legal at {expected}");
            prop_assert!(legal(&mut open, dram.geometry(), command), "{command} meets other rows");
        }
    }

    /// Longer timings never make a stream faster.
    #[test]
    fn a_slower_device_is_not_faster(
        commands in commands(1),
        slower in prop::collection::vec(0.0..20.0_f64, 4),
    ) {
        let fast = preset("lpddr5x-7500");
        let fast = Dram { rows: 4.try_into().unwrap(), ..fast };
        let add = |it: memscape_units::Nanoseconds, more: f64| memscape_units::Nanoseconds::new(it.as_f64() + more).unwrap();
        let slow = Dram {
            trcd_ns: add(fast.trcd_ns, slower[0]),
            tras_ns: add(fast.tras_ns, slower[1]),
            trp_ab_ns: add(fast.trp_ab_ns, slower[2]),
            tccd_l_ns: Some(add(fast.tccd_l(), slower[3])),
            ..fast
        };
        let mut engines = [fast, slow].map(|it| Engine::new(it.geometry(), &pim_constraints(&it, &pim())).unwrap());
        for command in commands {
            let command = aim(&engines[0], command);
            let [a, b] = engines.each_mut().map(|it| it.issue(command));
            prop_assert_eq!(a.is_ok(), b.is_ok());
            if let (Ok(a), Ok(b)) = (a, b) {
                prop_assert!(a <= b, "{} at {} on the fast, {} on the slow device", command, a, b);
            }
        }
    }
}
