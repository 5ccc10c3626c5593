//! Searches of a small study whose optimum is known.

use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::json;

use crate::toy::READ;
use crate::{
    Column, Control, Objective, Parameters, Range, Search, Space, Store, Strategy, Sweep, Table, front_of,
    search,
};

/// In turn, time falls with banks and rises with rows and delays.
fn space() -> Space {
    Space::default()
        .axis("mode", ["in-turn", "all-at-once"])
        .range("memory.banks", Range::new(2.0, 90.0).integer())
        .range("memory.trcd_ns", Range::new(10.0, 40.0))
        .range("rows", Range::new(1.0, 4096.0).integer().log())
        .constraint("rows * memory.banks >= 1000")
        .constraint("rows_per_bank >= 3")
}

fn question(method: Strategy, budget: u64) -> Search {
    Search {
        minimize: vec!["time_ns".to_owned()],
        method: Some(method),
        budget,
        seed: 3,
        ..Search::default()
    }
}

fn run(space: &Space, question: &Search) -> Table {
    search(&READ, &[], space, question, &()).unwrap()
}

fn last_best(table: &Table) -> f64 {
    table.f64("best_so_far").unwrap().into_iter().flatten().last().unwrap()
}

fn bools(table: &Table, name: &str) -> Vec<bool> {
    match table.column(name).unwrap() {
        Column::Bool(it) => it.into_iter().flatten().collect(),
        other => panic!("{name}: {other:?}"),
    }
}

const SAMPLERS: [Strategy; 3] = [Strategy::Random, Strategy::Latin, Strategy::Sobol];
const CLIMBERS: [Strategy; 5] =
    [Strategy::Descent, Strategy::NelderMead, Strategy::Swarm, Strategy::Annealing, Strategy::Nsga2];

/// Once 16 points are drawn, the next ones are the best of these but for one axis.
#[test]
fn a_descent_begins_at_the_best_of_some_points() {
    let free = Space::default()
        .axis("mode", ["in-turn", "all-at-once"])
        .range("memory.banks", Range::new(2.0, 90.0).integer())
        .range("memory.trcd_ns", Range::new(10.0, 40.0));
    for seed in 0..20 {
        let found = run(&free, &Search { seed, ..question(Strategy::Descent, 18) });
        let times = found.f64("time_ns").unwrap();
        let best = (0..16).min_by(|a, b| times[*a].partial_cmp(&times[*b]).unwrap()).unwrap();
        let modes = found.text("mode").unwrap();
        let numbers = ["memory.banks", "memory.trcd_ns"].map(|it| found.f64(it).unwrap());
        let at = |row: usize| {
            [modes[row].clone().unwrap(), format!("{:?}", numbers[0][row]), format!("{:?}", numbers[1][row])]
        };
        let others = at(16).iter().zip(at(best)).filter(|(a, b)| **a != *b).count();
        assert_eq!(others, 1, "seed {seed}: {:?} {:?}", at(16), at(best));
    }
}

/// All at once, nothing but the delays counts: 10 ns + tRP.
#[test]
fn every_method_finds_the_optimum_or_comes_near() {
    let best = 31.0;
    for method in CLIMBERS {
        let found = last_best(&run(&space(), &question(method, 600)));
        assert!(found < best * 1.05, "{method:?}: {found}");
    }
    for method in SAMPLERS {
        let found = last_best(&run(&space(), &question(method, 600)));
        assert!(found < best * 1.2, "{method:?}: {found}");
    }
}

#[test]
fn every_row_keeps_what_it_says() {
    for method in SAMPLERS.into_iter().chain(CLIMBERS) {
        let table = run(&space(), &question(method, 200));
        assert_eq!(table.height(), 200, "{method:?}");
        assert!(table.is_complete());
        let [banks, rows, times, per_bank, best] =
            ["memory.banks", "rows", "time_ns", "rows_per_bank", "best_so_far"]
                .map(|it| table.f64(it).unwrap());
        let (feasible, on_front) = (bools(&table, "feasible"), bools(&table, "on_front"));
        let mut least = f64::INFINITY;
        for row in 0..200 {
            assert!(rows[row].unwrap() * banks[row].unwrap() >= 1000.0);
            assert_eq!(feasible[row], per_bank[row].unwrap() >= 3.0);
            if feasible[row] {
                least = least.min(times[row].unwrap());
            }
            assert_eq!(best[row], least.is_finite().then_some(least));
        }
        for row in 0..200 {
            assert_eq!(on_front[row], feasible[row] && times[row] == Some(least), "{method:?}");
        }
        let points: std::collections::HashSet<String> =
            (0..200).map(|row| format!("{:?}", table.frame().get(row).unwrap()[1..5].to_vec())).collect();
        assert_eq!(points.len(), 200, "{method:?}: each point once");
    }
}

/// What a table's front and volume are of is what the search calls its front.
#[test]
fn the_front_of_a_search_s_table_is_the_search_s_own() {
    let goals = Objective::all(&["time_ns", "memory.banks"], &[]).unwrap();
    let question = Search {
        minimize: vec!["time_ns".to_owned(), "memory.banks".to_owned()],
        budget: 200,
        ..Search::default()
    };
    let table = run(&space().constraint("time_ns >= 40"), &question);
    let own = table.filter("on_front", true).unwrap();
    let kept = table.filter("feasible", true).unwrap();
    assert!(own.height() > 1 && kept.height() < table.height());
    let best = crate::front(&table, &goals, &[]).unwrap();
    assert_eq!(best.text("evaluation").unwrap(), own.text("evaluation").unwrap());
    let volume = |it: &Table| crate::hypervolume(it, &goals, None, &[]).unwrap();
    assert_eq!(volume(&table).to_bits(), volume(&kept).to_bits());
    let none = run(&space().constraint("time_ns < 0"), &question);
    let error = crate::front(&none, &goals, &[]).unwrap_err().to_string();
    assert_eq!(error, "no row is left: `feasible` holds in 0 of 200 rows; loosen one, or give another table");
}

/// Whether constraints hold is a matter of the answer, not of what is asked for.
#[test]
fn a_row_without_an_objective_is_feasible_all_the_same() {
    let question = Search { minimize: vec!["per_way_ns".to_owned()], budget: 50, ..Search::default() };
    let table = run(&space().constraint("time_ns >= 40"), &question);
    let held: Vec<bool> = table.f64("time_ns").unwrap().into_iter().map(|it| it.unwrap() >= 40.0).collect();
    let three: Vec<bool> =
        table.f64("rows_per_bank").unwrap().into_iter().map(|it| it.unwrap() >= 3.0).collect();
    assert!(table.f64("per_way_ns").unwrap().iter().all(Option::is_none) && held.contains(&true));
    let both: Vec<bool> = held.iter().zip(&three).map(|(one, other)| *one && *other).collect();
    assert_eq!(bools(&table, "feasible"), both);
    assert!(!bools(&table, "on_front").contains(&true));
}

#[test]
fn a_search_depends_on_its_seed_and_not_on_threads() {
    for method in SAMPLERS.into_iter().chain(CLIMBERS) {
        let on = |threads: usize, seed: u64| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| run(&space(), &Search { seed, ..question(method, 150) }))
        };
        let one = on(1, 3);
        assert!(one == on(2, 3) && one == on(5, 3), "{method:?}");
        assert!(one != on(1, 4), "{method:?}");
    }
}

fn small() -> Space {
    Space::default()
        .axis("memory.banks", [2, 3, 5, 9, 17, 33])
        .axis("memory.trcd_ns", [10.0, 15.0, 20.0])
        .when("memory.banks < 10")
        .axis("mode", ["in-turn", "all-at-once"])
}

/// 4 banks with 3 delays, 2 without, 2 modes.
#[test]
fn a_small_space_is_looked_at_whole() {
    let whole = run(&small(), &question(Strategy::Exhaustive, 28));
    assert_eq!(whole.height(), 28);
    for method in [Strategy::Random, Strategy::Descent, Strategy::Nsga2, Strategy::NelderMead] {
        let table = run(&small(), &question(method, 1000));
        assert_eq!(table.height(), 28, "{method:?}");
        assert!((last_best(&table) - last_best(&whole)).abs() < 1e-12, "{method:?}");
    }
    let error = search(&READ, &[], &small(), &question(Strategy::Exhaustive, 27), &()).unwrap_err();
    insta::assert_snapshot!(error, @"the space has 28 points and the budget is 27; raise it, choose another method, or ask for the front, which keeps nothing else");
}

#[test]
fn several_objectives_approach_the_front() {
    let space = Space::default()
        .range("memory.banks", Range::new(2.0, 90.0).integer())
        .range("rows", Range::new(1.0, 64.0).integer());
    let goals = Objective::all(&["time_ns", "memory.banks"], &["rows"]).unwrap();
    let truth = front_of(&READ, &[], &space, &goals, &()).unwrap();
    let question = Search {
        minimize: vec!["time_ns".to_owned(), "memory.banks".to_owned()],
        maximize: vec!["rows".to_owned()],
        budget: 2000,
        ..Search::default()
    };
    let table = run(&space, &question);
    let reference = [3000.0, 91.0, 0.0];
    let volume = |it: &Table| crate::hypervolume(it, &goals, Some(&reference), &[]).unwrap();
    let share = volume(&table) / volume(&truth.table);
    assert!((0.97..=1.0).contains(&share), "{share}");
    assert!(!table.column_names().contains(&"best_so_far"));
}

#[test]
fn a_cancelled_search_keeps_what_it_has() {
    struct After(AtomicU64);
    impl Control for After {
        fn cancelled(&self) -> bool {
            self.0.fetch_add(1, Ordering::Relaxed) >= 8
        }
    }
    for method in SAMPLERS.into_iter().chain(CLIMBERS) {
        let question = question(method, 1_000_000);
        let table = search(&READ, &[], &space(), &question, &After(AtomicU64::new(0))).unwrap();
        assert!(!table.is_complete() && table.height() < 1_000_000, "{method:?}");
        assert!(table.column_names().ends_with(&["feasible", "best_so_far", "on_front"]));
    }
}

#[test]
fn what_cannot_be_searched_says_why() {
    let error =
        |space: &Space, question: &Search| search(&READ, &[], space, question, &()).unwrap_err().to_string();
    let base = || question(Strategy::Random, 10);
    insta::assert_snapshot!(error(&space(), &Search { budget: 0, ..base() }), @"`budget` = 0: expected 1 to 10000000 evaluations; a front of a finite space needs no budget");
    insta::assert_snapshot!(error(&space(), &Search { minimize: vec![], ..base() }), @"there is no objective; name at least one to minimize or maximize");
    insta::assert_snapshot!(error(&space(), &Search { minimize: vec!["tim_ns".to_owned()], ..base() }), @"`tim_ns`: there is no parameter or column `tim_ns`; did you mean `time_ns`? at character 1 (`tim_ns`)");
    insta::assert_snapshot!(error(&Space::default(), &base()), @"the space has no axes; give at least one");
    insta::assert_snapshot!(error(&space().constraint("rows < 0"), &base()), @"`random` found no point that the constraints over parameters allow: `rows * memory.banks >= 1000` holds at 617 of 1000 random points, `rows < 0` holds at 0 of 1000 random points; loosen one, or use another `method` or `seed`");
    insta::assert_snapshot!(error(&space(), &question(Strategy::Exhaustive, 10)), @"axis `memory.trcd_ns` is a range of real numbers, which has no end of points; give `step` or `count` in it, draw from it with a sample, or search");
    insta::assert_snapshot!(error(&Space::default().axis("mode", ["in-turn"]), &question(Strategy::Swarm, 10)), @"no axis is a range or a list of at least three rising numbers, and only on such ones can this method move; use `descent`, `nsga2` or `random`");
    let two = Search { maximize: vec!["rows".to_owned()], ..question(Strategy::Descent, 10) };
    insta::assert_snapshot!(error(&space(), &two), @"the method `descent` takes one objective, not 2; use `nsga2`, or make one formula of them");
    insta::assert_snapshot!(Strategy::named("nsga").unwrap_err(), @"there is no method `nsga`; did you mean `nsga2`?");
    // One of a million points is allowed, and none where a third constraint holds too.
    let needle = Space::default().axis("rows", 1..=1000).axis("memory.banks", 1..=1000);
    let needle = needle.constraint("rows == 123").constraint("memory.banks == 456");
    assert!(error(&needle, &base()).starts_with("`random` found no point"), "{}", error(&needle, &base()));
    let nothing = needle.constraint("rows != 123");
    assert!(error(&nothing, &base()).contains("together leave none of 1000000 points"));
    let wrong = Parameters::from_iter([("rows".to_owned(), json!(0))]);
    let grid = Space::default().axis("memory.banks", [1, 2]);
    insta::assert_snapshot!(search(&READ, &[wrong], &grid, &base(), &()).unwrap_err(), @"`rows` = 0: expected a whole number from 1 to 4294967295");
}

/// A search that ends before its budget says so, unless it has been everywhere.
#[test]
fn a_search_that_ends_early_says_so() {
    let early = |space: &Space, question: &Search| {
        super::ended_early(&search(&READ, &[], space, question, &()).unwrap(), space, question)
    };
    let grid = Space::default().axis("rows", 1..=10).axis("memory.banks", [1, 2]);
    let question = question(Strategy::Random, 30);
    assert_eq!(early(&grid, &question), None);
    let told = early(&grid.clone().constraint("rows > 5"), &question).unwrap();
    assert!(told.starts_with("10 of 30 evaluations were made"), "{told}");
    assert_eq!(early(&grid, &Search { budget: 5, ..question }), None);
}

/// What has no finite value is not compared, and that is said.
#[test]
fn a_search_says_what_it_compares_with_nothing() {
    let grid = Space::default().axis("rows", 1..=10);
    let of = |goal: &str| {
        let question = Search { minimize: vec![goal.to_owned()], ..question(Strategy::Exhaustive, 10) };
        super::not_compared(&search(&READ, &[], &grid, &question, &()).unwrap(), &question).unwrap()
    };
    let told = of("1 / (rows - 3)").unwrap();
    insta::assert_snapshot!(told, @"1 of 10 answers are compared with none: `1 / (rows - 3)` is null there, or not finite");
    assert_eq!(of("1 / rows"), None);
}

/// Rows without an answer are rows, and never the best.
#[test]
fn points_without_an_answer_are_kept_and_passed_over() {
    let space = Space::default().range("memory.banks", Range::new(0.0, 99.0).integer());
    let table = run(&space, &question(Strategy::Exhaustive, 100));
    assert_eq!(table.text("error").unwrap().iter().flatten().count(), 3);
    assert_eq!(bools(&table, "on_front").iter().filter(|it| **it).count(), 1);
}

/// A search is the same with a store, which knows points whoever asked about them.
#[test]
fn a_kept_search_is_the_search_and_nothing_is_computed_twice() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    for (turn, method) in SAMPLERS.into_iter().chain(CLIMBERS).enumerate() {
        let question = question(method, 150);
        assert!(!store.has_searched(&READ, &[], &space(), &question).unwrap());
        let expected = run(&space(), &question);
        let (table, filled) = store.search(&READ, &[], &space(), &question, &()).unwrap();
        assert!(table == expected, "{method:?}");
        assert!(filled.complete && filled.found + filled.computed == 150);
        assert!(turn > 0 || filled.found == 0);
        let (again, filled) = store.search(&READ, &[], &space(), &question, &()).unwrap();
        assert!(again == expected, "{method:?}");
        assert_eq!((filled.found, filled.computed), (150, 0), "{method:?}");
        assert!(store.has_searched(&READ, &[], &space(), &question).unwrap());
        // What the store has under its name is what was evaluated.
        let kept = store.table(&store.run(&filled.question).unwrap(), &()).unwrap();
        assert_eq!(kept.text("time_ns").unwrap(), expected.text("time_ns").unwrap());
        assert_eq!(kept.text("memory.banks").unwrap(), expected.text("memory.banks").unwrap());
    }
    // A sweep's points are known to a search, and a search's to a sweep.
    let filled = store.fill(&READ, &Sweep::default().through(small()), &()).unwrap();
    assert_eq!((filled.found, filled.computed), (0, 28));
    let (_, filled) = store.search(&READ, &[], &small(), &question(Strategy::Descent, 100), &()).unwrap();
    assert_eq!((filled.rows, filled.found), (28, 28));
}

#[test]
fn an_interrupted_search_goes_on_from_its_store() {
    /// Cancels after so many looks.
    struct After(AtomicU64);
    impl Control for After {
        fn cancelled(&self) -> bool {
            self.0.fetch_add(1, Ordering::Relaxed) >= 12
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let question = question(Strategy::Nsga2, 5000);
    let ask = |control: &dyn Control| store.search(&READ, &[], &space(), &question, control).unwrap();
    let mut done = 0;
    let table = loop {
        let (table, filled) = ask(&After(AtomicU64::new(0)));
        assert_eq!(table.height() as u64, filled.found + filled.computed);
        if filled.complete {
            break table;
        }
        assert!(!store.has_searched(&READ, &[], &space(), &question).unwrap());
        // So many looks, which threads share as they come, may end before what is known does.
        if filled.computed == 0 {
            break ask(&()).0;
        }
        assert!(filled.found >= done, "what was saved is not computed again");
        done = filled.found + filled.computed;
    };
    assert!(table == run(&space(), &question));
}
