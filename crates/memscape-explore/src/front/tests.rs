//! Fronts against their definition.

use proptest::prelude::*;
use serde_json::json;

use super::dominance::{dominates, layers, non_dominated};
use super::hypervolume::volume;
use crate::space::FEASIBLE;
use crate::toy::READ;
use crate::{
    Column, Control, DynStudy, Objective, Parameters, Range, Space, Store, Sweep, Table, front, front_of,
    front_rows, hypervolume,
};

fn by_definition(values: &[f64], dimensions: usize) -> Vec<u32> {
    let points: Vec<&[f64]> = values.chunks(dimensions).collect();
    let free = |index: &u32| !points.iter().any(|it| dominates(it, points[*index as usize]));
    (0..u32::try_from(points.len()).unwrap()).filter(free).collect()
}

/// Many ties, and both zeros.
fn points() -> impl Strategy<Value = (usize, Vec<f64>)> {
    (1..=5_usize).prop_flat_map(|dimensions| {
        let value = prop_oneof![(-2..6_i32).prop_map(f64::from), Just(-0.0), -1.0..1.0];
        proptest::collection::vec(value, 0..60).prop_map(move |mut values| {
            values.truncate(values.len() / dimensions * dimensions);
            (dimensions, values)
        })
    })
}

proptest! {
    #[test]
    fn the_front_is_what_nothing_dominates((dimensions, values) in points()) {
        prop_assert_eq!(non_dominated(&values, dimensions), by_definition(&values, dimensions));
    }

    #[test]
    fn layers_are_fronts_of_what_is_left((dimensions, values) in points()) {
        let numbers = layers(&values, dimensions);
        for (index, number) in numbers.iter().enumerate() {
            let point = &values[index * dimensions..][..dimensions];
            let before = values.chunks(dimensions).zip(&numbers).filter(|it| dominates(it.0, point));
            let expected = before.map(|it| *it.1 + 1).max().unwrap_or(0);
            prop_assert_eq!(*number, expected);
        }
    }

    /// On a grid, the volume is a number of cells.
    #[test]
    fn the_volume_is_what_points_are_better_than(
        dimensions in 1..=5_usize, values in proptest::collection::vec(0..5_u32, 0..40)
    ) {
        let values = &values[..values.len() / dimensions * dimensions];
        let floats: Vec<f64> = values.iter().map(|it| f64::from(*it)).collect();
        let cells = (0..4_u32.pow(u32::try_from(dimensions).unwrap())).filter(|cell| {
            values.chunks(dimensions).any(|it| (0..).zip(it).all(|(axis, value)| *value <= cell / 4_u32.pow(axis) % 4))
        });
        let expected = f64::from(u32::try_from(cells.count()).unwrap());
        prop_assert!((volume(&floats, &vec![4.0; dimensions]) - expected).abs() < 1e-9);
    }
}

#[test]
fn a_cloud_is_thinned_before_it_is_sorted() {
    let random = |index: u64| memscape_study::random::Key::new(1).uniform(index);
    for dimensions in [2, 3] {
        let values: Vec<f64> = (0..30_000).map(random).collect();
        assert_eq!(non_dominated(&values, dimensions), by_definition(&values, dimensions));
    }
}

fn floats(values: &[f64]) -> Column {
    Column::Float(values.iter().copied().map(Some).collect())
}

fn table() -> Table {
    let error = |it: Option<&str>| it.map(str::to_owned);
    Table::from_columns([
        ("time.ns", floats(&[1.0, 2.0, 3.0, 3.0, 9.0])),
        ("tokens", Column::Int(vec![Some(1), Some(5), Some(7), Some(7), None])),
        ("name", Column::Text(["a", "b", "c", "d", "e"].map(|it| error(Some(it))).to_vec())),
    ])
    .unwrap()
}

#[test]
fn rows_of_a_table_are_kept_as_they_are() {
    let goals = Objective::all(&["time.ns"], &["tokens"]).unwrap();
    let names = |it: &Table| it.text("name").unwrap().into_iter().flatten().collect::<String>();
    let best = |constraints: &[&str]| {
        let constraints: Vec<String> = constraints.iter().map(|it| (*it).to_owned()).collect();
        names(&front(&table(), &goals, &constraints).unwrap())
    };
    assert_eq!(best(&[]), "abcd");
    assert_eq!(best(&["time.ns >= 2 and name != 'd'"]), "bc");
    let error = front(&table(), &goals, &["time.ns > 100".to_owned()]).unwrap_err().to_string();
    assert_eq!(
        error,
        "no row is left: `time.ns > 100` holds in 0 of 5 rows; loosen one, or give another table"
    );
    let product = [Objective::minimize("time.ns / tokens")];
    assert_eq!(names(&front(&table(), &product, &[]).unwrap()), "b");
}

#[test]
fn a_volume_that_would_take_hours_is_refused() {
    // On a simplex nothing dominates anything.
    let key = memscape_study::random::Key::new(3);
    let named = |objective: u64| format!("c{objective}");
    let table = |rows: u64, objectives: u64| {
        let value = |row: u64, it: u64| key.fork(row).uniform(it);
        let sum = |row: u64| (0..objectives).map(|it| value(row, it)).sum::<f64>();
        let column = |it: u64| Column::Float((0..rows).map(|row| Some(value(row, it) / sum(row))).collect());
        Table::from_columns((0..objectives).map(|it| (named(it), column(it)))).unwrap()
    };
    let volume = |rows: u64, objectives: u64| {
        let goals: Vec<Objective> = (0..objectives).map(|it| Objective::minimize(named(it))).collect();
        hypervolume(&table(rows, objectives), &goals, None, &[])
    };
    assert!(volume(100, 6).unwrap() > 0.0 && volume(2000, 3).unwrap() > 0.0);
    let error = volume(2000, 10).unwrap_err().to_string();
    assert!(
        error.starts_with("the hypervolume of 2000 rows that nothing dominates, in 10 objectives"),
        "{error}"
    );
    assert!(error.contains("give 19 such rows at most"), "{error}");
}

#[test]
fn the_volume_has_the_worst_row_or_a_given_reference() {
    let goals = Objective::all(&["time.ns"], &["tokens"]).unwrap();
    let of = |reference: Option<&[f64]>| hypervolume(&table(), &goals, reference, &[]).unwrap();
    // From (3, 1): nothing but b is better in both.
    let is =
        |found: f64, expected: f64| assert!((found - expected).abs() < 1e-12, "{found} is not {expected}");
    is(of(None), 4.0);
    is(of(Some(&[4.0, 0.0])), 1.0 + 5.0 + 7.0);
    is(of(Some(&[0.0, 0.0])), 0.0);
}

#[test]
fn what_has_no_front_says_why() {
    let goals = |text: &str| vec![Objective::minimize(text)];
    let error = |text: &str| front(&table(), &goals(text), &[]).unwrap_err().to_string();
    insta::assert_snapshot!(error("tokenz"), @"`tokenz`: the table has no column `tokenz`; did you mean `tokens`? at character 1 (`tokenz`)");
    insta::assert_snapshot!(error("name"), @"column `name`: it holds texts, not numbers");
    insta::assert_snapshot!(error("tokens * name"), @"`tokens * name`: arithmetic takes a number, and this is a text at character 10 (`name`)");
    insta::assert_snapshot!(front(&table(), &[], &[]).unwrap_err(), @"there is no objective; name at least one to minimize or maximize");
    insta::assert_snapshot!(Objective::all(&["a"], &["a"]).unwrap_err(), @"`a` is an objective twice; remove one");
    insta::assert_snapshot!(hypervolume(&table(), &goals("tokens"), Some(&[1.0, 2.0]), &[]).unwrap_err(), @"the reference has 2 values for 1 objectives; give one for each");
    insta::assert_snapshot!(front(&table(), &goals("tokens * 1e308 * 1e10"), &[]).unwrap_err(), @"column `tokens * 1e308 * 1e10`: row 0 is inf; leave such rows out with a constraint, or make them null");
    let named = front(&table(), &goals("answer.tokens"), &[]).unwrap();
    assert_eq!(
        named.f64("tokens").unwrap(),
        front(&table(), &goals("tokens"), &[]).unwrap().f64("tokens").unwrap()
    );
    let nan = polars::prelude::DataFrame::new(1, vec![polars::prelude::Column::new("x".into(), [f64::NAN])])
        .unwrap();
    insta::assert_snapshot!(front(&Table::from_frame(nan), &goals("x"), &[]).unwrap_err(), @"column `x`: row 0 is NaN; leave such rows out with a constraint, or make them null");
}

/// What is not looked at may hold anything.
#[test]
fn rows_that_are_left_out_may_hold_anything() {
    let frame = polars::df!(
        "a" => [3.0, f64::INFINITY, f64::NAN, 1.0],
        "feasible" => [true, true, false, true],
        "error" => [None, None, None, Some("no answer")],
    );
    let table = Table::from_frame(frame.unwrap());
    let goals = [Objective::minimize("a")];
    for constraint in ["a < 10", "not (a >= 10)"] {
        assert_eq!(front_rows(&table, &goals, &[constraint.to_owned()]).unwrap(), [0]);
    }
    assert!(front_rows(&table, &goals, &[]).unwrap_err().to_string().contains("row 1 is inf"));
}

/// An objective that no row has is not the constraints' fault.
#[test]
fn what_no_row_has_makes_an_empty_front() {
    let none = Column::Float(vec![None; 3]);
    let feasible = Column::Bool(vec![Some(true), Some(false), Some(true)]);
    let one = Column::Float(vec![Some(1.0), None, None]);
    let table = Table::from_columns([("usd", none), ("one", one), (FEASIBLE, feasible)]).unwrap();
    let of = |goal: &str, constraints: &[String]| front(&table, &[Objective::minimize(goal)], constraints);
    assert_eq!(of("usd", &[]).unwrap().height(), 0);
    assert_eq!(of("one", &[]).unwrap().height(), 1);
    let error = of("one", &["one > 2".to_owned()]).unwrap_err().to_string();
    assert!(error.starts_with("no row is left: `one > 2` holds in 0 of 3 rows"), "{error}");
    // A table without any answer says why.
    let errors = |it: [Option<&str>; 2]| Column::Text(it.map(|it| it.map(str::to_owned)).to_vec());
    let refused = |it| {
        let columns = [("usd", Column::Float(vec![None; 2])), ("error", errors(it))];
        front(&Table::from_columns(columns).unwrap(), &[Objective::minimize("usd")], &[])
    };
    let error = refused([Some("too large"), Some("too small")]).unwrap_err().to_string();
    assert_eq!(error, "none of 2 rows has an answer; the first says: too large");
    assert_eq!(refused([Some("too large"), None]).unwrap().height(), 0);
}

fn space() -> Space {
    Space::default()
        .axis("mode", ["in-turn", "all-at-once"])
        .range("memory.banks", Range::new(0.0, 120.0).integer())
        .axis("memory.trcd_ns", [10.0, 15.0, 20.0])
        .when("mode == 'in-turn'")
        .constraint("memory.banks % 3 != 1")
        .constraint("time_ns >= 20")
}

fn goals() -> [Objective; 2] {
    [Objective::minimize("time_ns * 1"), Objective::minimize("memory.banks")]
}

/// A streamed front is that of the whole table; a model's panic is no answer.
#[test]
fn the_front_of_a_space_is_that_of_its_sweep() {
    let base = [Parameters::from_iter([("rows".to_owned(), json!(100))])];
    let found = front_of(&READ, &base, &space(), &goals(), &()).unwrap();
    let whole = READ.sweep(&Sweep::of(base[0].clone()).through(space()), &()).unwrap();
    let expected = front(
        &whole,
        &[Objective::minimize("time_ns"), Objective::minimize("memory.banks")],
        &["feasible".to_owned()],
    )
    .unwrap();
    assert_eq!(found.allowed, whole.height() as u64);
    assert_eq!(found.points, 2 * 121 * 3);
    let errors = whole.text("error").unwrap().iter().flatten().count() as u64;
    assert!(errors > 0);
    assert_eq!(found.answered, found.allowed - errors);
    assert_eq!(found.feasible, whole.filter("feasible", true).unwrap().height() as u64);
    let designs: i64 = match found.table.column("designs").unwrap() {
        Column::Int(it) => it.into_iter().flatten().sum(),
        other => panic!("{other:?}"),
    };
    assert_eq!(usize::try_from(designs).unwrap(), expected.height());
    let names = expected.column_names();
    assert_eq!(found.table.column_names(), [names.as_slice(), &["time_ns * 1", "designs"]].concat());
    for name in names {
        let (found, expected) = (found.table.text(name).unwrap(), expected.text(name).unwrap());
        assert!(found.iter().all(|it| expected.contains(it)), "{name}");
    }
    assert!(found.table.height() > 3);
}

#[test]
fn the_front_of_kept_answers_is_that_of_the_space() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let expected = front_of(&READ, &[], &space(), &goals(), &()).unwrap();
    for (turn, computed) in [expected.allowed, 0].into_iter().enumerate() {
        let (found, filled) = store.front(&READ, &[], &space(), &goals(), &()).unwrap();
        assert!(found.table == expected.table, "time {turn}");
        assert_eq!(
            (found.points, found.allowed, found.answered, found.feasible),
            (expected.points, expected.allowed, expected.answered, expected.feasible)
        );
        assert_eq!((filled.rows, filled.computed), (expected.allowed, computed));
    }
    // Other objectives want the same points.
    let other = [Objective::maximize("time_ns"), Objective::minimize("memory.trcd_ns")];
    let (found, filled) = store.front(&READ, &[], &space(), &other, &()).unwrap();
    assert!(found.table == front_of(&READ, &[], &space(), &other, &()).unwrap().table);
    assert_eq!(filled.computed, 0);
    let error = store.front(&READ, &[], &space().constraint("time_ns < 0"), &goals(), &()).unwrap_err();
    assert_eq!(
        error.to_string(),
        front_of(&READ, &[], &space().constraint("time_ns < 0"), &goals(), &()).unwrap_err().to_string()
    );
}

#[test]
fn the_front_does_not_depend_on_threads() {
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| front_of(&READ, &[], &space(), &goals(), &()).unwrap().table)
    };
    assert!(on(1) == on(2) && on(1) == on(5));
}

#[test]
fn a_cancelled_front_is_that_of_what_was_seen() {
    struct Stop;
    impl Control for Stop {
        fn cancelled(&self) -> bool {
            true
        }
    }
    let found = front_of(&READ, &[], &space(), &goals(), &Stop).unwrap();
    assert!(!found.table.is_complete() && found.table.height() == 0);
}

#[test]
fn a_front_needs_an_end() {
    let error = |space: Space, goal: &str| {
        front_of(&READ, &[], &space, &[Objective::minimize(goal)], &()).unwrap_err().to_string()
    };
    insta::assert_snapshot!(error(Space::default().range("memory.trp_ns", Range::new(1.0, 2.0)), "time_ns"), @"axis `memory.trp_ns` is a range of real numbers, which has no end of points; give `step` or `count` in it, draw from it with a sample, or search");
    insta::assert_snapshot!(error(space(), "time"), @"`time`: there is no parameter or column `time`; did you mean `time_ns`? at character 1 (`time`)");
    insta::assert_snapshot!(error(space(), "mode"), @"`mode`: an objective is a number, and this is a text at character 1 (`mode`)");
    insta::assert_snapshot!(error(space().constraint("memory.banks < 0"), "time_ns"), @"the constraint `memory.banks < 0` leaves none of 726 points (what is null never holds); loosen it");
    insta::assert_snapshot!(error(space().constraint("time_ns < 0"), "time_ns"), @"none of 316 answers keeps `time_ns >= 20` and `time_ns < 0` (what is null never does); loosen one");
    insta::assert_snapshot!(error(space(), "sqrt(0 - time_ns)"), @"no answer that keeps `time_ns >= 20` has a value of `sqrt(0 - time_ns)`; it is null or not a finite number");
}
