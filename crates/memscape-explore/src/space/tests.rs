//! Spaces of a small study.

use std::ops::Range as Places;

use polars::prelude::DataFrame;
use serde_json::{Value, json};

use crate::answers::{Rows, answers, laid_out};
use crate::toy::READ;
use crate::{Column, DynStudy, Method, Parameters, Range, Sample, Space, StudyFile, Sweep, Table};

fn sweep(space: &Space) -> Result<Table, String> {
    READ.sweep(&Sweep::default().through(space.clone()), &()).map_err(|it| it.to_string())
}

fn ints(table: &Table, name: &str) -> Vec<Option<i64>> {
    match table.column(name).unwrap() {
        Column::Int(it) => it,
        other => panic!("{name}: {other:?}"),
    }
}

fn grid() -> Space {
    Space::default().axis("rows", 1..=20).range("memory.banks", Range::new(2.0, 40.0).integer())
}

#[test]
fn a_range_of_whole_numbers_is_all_of_them() {
    let table = sweep(&grid()).unwrap();
    assert_eq!(table.height(), 20 * 39);
    assert_eq!(ints(&table, "memory.banks")[..40], (2..=40).chain([2]).map(Some).collect::<Vec<_>>());
}

/// Axes of which a block sees a few values only, in the middle or around their end.
#[test]
fn rows_of_long_axes_are_those_of_the_whole_table() {
    let listed: Vec<Value> = (1..=40).map(|it| json!(f64::from(it) * 0.5)).collect();
    let space = Space::default()
        .axis("memory.trcd_ns", listed)
        .linked([("rows", (1..=30).collect::<Vec<_>>()), ("memory.banks", (1..=30).rev().collect())])
        .axis("mode", ["in-turn", "all-at-once"]);
    let asker = READ.asker();
    let plan = asker.plan(&[], &space).unwrap();
    let frame = |rows: Places<u64>| {
        let rows = Rows::Range(rows);
        let columns = laid_out(&plan, &rows, answers(&plan, &asker, &rows, &())).unwrap();
        DataFrame::new(rows.len(), columns).unwrap()
    };
    let whole = frame(0..2400);
    for (from, to) in
        [(0, 1), (0, 7), (59, 61), (57, 131), (601, 640), (1190, 1211), (2393, 2400), (13, 2400)]
    {
        let part = whole.slice(i64::try_from(from).unwrap(), usize::try_from(to - from).unwrap());
        assert!(part.equals_missing(&frame(from..to)), "{from}..{to}");
    }
}

/// What a constraint over parameters removes is what one would remove by hand.
#[test]
fn constraints_over_parameters_leave_the_other_points_as_they_are() {
    let whole = sweep(&grid()).unwrap();
    let pruned =
        sweep(&grid().constraint("rows * memory.banks <= 60").constraint("memory.banks % 2 == 0")).unwrap();
    let (rows, banks) = (ints(&whole, "rows"), ints(&whole, "memory.banks"));
    let kept: Vec<usize> = (0..whole.height())
        .filter(|it| rows[*it].unwrap() * banks[*it].unwrap() <= 60 && banks[*it].unwrap() % 2 == 0)
        .collect();
    assert_eq!(pruned.height(), kept.len());
    for name in whole.column_names() {
        let (all, some) = (whole.text(name).unwrap(), pruned.text(name).unwrap());
        assert_eq!(some, kept.iter().map(|it| all[*it].clone()).collect::<Vec<_>>(), "{name}");
    }
}

/// What of a constraint needs no answer leaves points out; the rest is a column.
#[test]
fn what_and_joins_is_held_against_parameters_first() {
    let joined =
        sweep(&grid().constraint("rows <= 3 and (time_ns <= 100 or slow) and memory.banks in [2, 3]"))
            .unwrap();
    let apart = grid()
        .constraint("rows <= 3")
        .constraint("memory.banks in [2, 3]")
        .constraint("time_ns <= 100 or slow");
    assert_eq!(joined.height(), 6);
    assert_eq!(joined, sweep(&apart).unwrap());
    let either = sweep(&grid().constraint("rows <= 3 and time_ns <= 100 or slow")).unwrap();
    assert_eq!(either.height(), 20 * 39);
}

#[test]
fn constraints_over_answers_are_a_column() {
    let table = sweep(&grid().constraint("time_ns <= 100 and not slow")).unwrap();
    assert_eq!(table.column_names().last(), Some(&"feasible"));
    assert_eq!(table.height(), 20 * 39);
    let times = table.f64("time_ns").unwrap();
    let Column::Bool(feasible) = table.column("feasible").unwrap() else { panic!("no truth values") };
    for (time, feasible) in times.iter().zip(&feasible) {
        assert_eq!(*feasible, Some(time.unwrap() <= 100.0));
    }
    assert!(feasible.contains(&Some(true)) && feasible.contains(&Some(false)));
}

#[test]
fn a_conditional_axis_exists_only_where_it_says() {
    let space = Space::default()
        .axis("mode", ["in-turn", "all-at-once"])
        .axis("memory.banks", [4, 8, 16])
        .when("mode == 'in-turn'")
        .range("rows", Range::new(1.0, 2.0).integer());
    let base = Parameters::from_iter([("memory.banks".to_owned(), json!(32))]);
    let table = READ.sweep(&Sweep::of(base).through(space), &()).unwrap();
    let banks = [4, 4, 8, 8, 16, 16].map(Some).into_iter().chain([None, None]).collect::<Vec<_>>();
    assert_eq!(ints(&table, "memory.banks"), banks);
    assert_eq!(ints(&table, "rows"), [1, 2].map(Some).repeat(4));
    // Elsewhere the parameter is what the base says.
    assert_eq!(ints(&table, "rows_per_bank")[6..], [Some(1), Some(1)]);
    let times = table.f64("time_ns").unwrap();
    let alone = |value: Value| READ.run(value.as_object().unwrap()).unwrap()[0].1.as_f64();
    assert_eq!(times[5], alone(json!({ "memory.banks": 16, "rows": 2 })));
    assert_eq!(times[7], alone(json!({ "mode": "all-at-once", "memory.banks": 32, "rows": 2 })));
}

#[test]
fn a_conditional_axis_may_name_descriptions() {
    let space = Space::default()
        .axis("mode", ["in-turn", "all-at-once"])
        .axis("memory", ["slow", "fast"])
        .when("mode in ['all-at-once']")
        .constraint("memory == 'fast' or mode == 'in-turn'");
    let base = Parameters::from_iter([("memory".to_owned(), json!("fast"))]);
    let table = READ.sweep(&Sweep::of(base).through(space), &()).unwrap();
    assert_eq!(table.text("memory").unwrap(), [None, Some("fast".to_owned())]);
    assert_eq!(table.f64("time_ns").unwrap(), [64.0 * 32.0 / 31.0, 32.0].map(Some));
}

#[test]
fn linked_axes_can_be_conditional_and_constrained() {
    let file = r#"
        study = "toy.read"
        constraints = ["rows > 10 or memory.banks != 3"]
        [axes]
        mode = { values = ["in-turn", "all-at-once"] }
        [[zip]]
        when = "mode == 'in-turn'"
        "memory.banks" = [3, 5]
        "rows" = [10, 20]
    "#;
    let file = StudyFile::parse(file).unwrap();
    let table = READ.sweep(&file.sweep(&READ).unwrap(), &()).unwrap();
    assert_eq!(ints(&table, "rows"), [Some(20), None]);
    assert_eq!(ints(&table, "memory.banks"), [Some(5), None]);
}

#[test]
fn a_sample_draws_from_the_ranges_of_the_space() {
    let space = Space::default()
        .axis("mode", ["in-turn", "all-at-once"])
        .range("memory.trp_ns", Range::new(10.0, 20.0))
        .range("rows", Range::new(1.0, 9.0).integer())
        .constraint("rows <= 4");
    let sample = Sample { method: Method::Latin, count: 18, seed: 1, ranges: Parameters::new() };
    let table = READ.sweep(&Sweep::default().through(space).sample(sample), &()).unwrap();
    // Two points of each whole number, for each mode.
    assert_eq!(table.height(), 2 * 8);
    assert!(ints(&table, "rows").iter().all(|it| it.unwrap() <= 4));
    let times = table.f64("memory.trp_ns").unwrap();
    assert_eq!(times[..8], times[8..]);
    assert!(times.iter().all(|it| (10.0..20.0).contains(&it.unwrap())));
}

#[test]
fn another_constraint_is_another_question() {
    let sweep =
        Sweep::default().through(grid().constraint("rows * memory.banks <= 60").constraint("time_ns > 20"));
    let other =
        Sweep::default().through(grid().constraint("rows * memory.banks <= 61").constraint("time_ns > 20"));
    assert_ne!(READ.identity(&sweep).unwrap(), READ.identity(&other).unwrap());
}

#[test]
fn faults_of_a_space_are_told() {
    let error = |space: Space| sweep(&space).unwrap_err();
    let with = |constraint: &str| error(grid().constraint(constraint));
    insta::assert_snapshot!(with("rowz < 1"), @"`rowz < 1`: there is no parameter or column `rowz`; did you mean `rows`? at character 1 (`rowz < 1`)");
    insta::assert_snapshot!(with("rows < 30 and memory < 3"), @"`rows < 30 and memory < 3`: a text cannot be compared with a number at character 24 (`3`)");
    insta::assert_snapshot!(with("cache == 3"), @"`cache == 3`: `cache` is a table; it has `ways` at character 1 (`cache == 3`)");
    insta::assert_snapshot!(with("rows > 1 and mode in ['in-turn', 'all-at-one']"), @"`rows > 1 and mode in ['in-turn', 'all-at-one']`: `mode` is never `all-at-one`; did you mean `all-at-once`? at character 34 (`'all-at-one']`)");
    insta::assert_snapshot!(error(Space::default().axis("mode", ["in-turn"]).axis("rows", [1]).when("'in-turns' != mode")), @"`'in-turns' != mode`: `mode` is never `in-turns`; did you mean `in-turn`? at character 1 (`'in-turns' != mode`)");
    insta::assert_snapshot!(with("rows + 1"), @"`rows + 1`: a constraint is true or false, and this is a number at character 1 (`rows + 1`)");
    insta::assert_snapshot!(with("rows <"), @"`rows <`: expected a number, a text, a name or `(` at its end");
    insta::assert_snapshot!(with("rows > 20"), @"the constraint `rows > 20` leaves none of 780 points (what is null never holds); loosen it");
    insta::assert_snapshot!(error(grid().constraint("rows > 10").constraint("rows < 5")), @"the constraints `rows > 10` and `rows < 5` together leave none of 780 points; loosen one");
    insta::assert_snapshot!(error(grid().range("memory.trp_ns", Range::new(1.0, 2.0))), @"axis `memory.trp_ns` is a range of real numbers; give `step` or `count` in it, draw from it with a sample, or search");
    insta::assert_snapshot!(error(grid().axis("mode", ["in-turn"]).when("trp_ns > 1")), @"`trp_ns > 1`: `trp_ns` is no axis before `mode`, which exists only where this holds at character 1 (`trp_ns > 1`)");
    insta::assert_snapshot!(error(Space::default().range("memory", Range::new(1.0, 2.0).integer())), @"axis `memory` is a range, and it takes descriptions or is not always there; give a list of values, or `step` or `count`");
    let far = json!({ "memory.trp_ns": { "from": -1e308, "to": 1e308, "count": 3 } });
    let told = Space::read(far.as_object().unwrap(), &[], &[]).unwrap_err();
    insta::assert_snapshot!(told, @"axis `memory.trp_ns` = {\"from\":-1e+308,\"to\":1e+308,\"count\":3}: `from` = -1e308 and `to` = 1e308 are too far apart for a number; take nearer ends");
    insta::assert_snapshot!(error(Space::default().range("rows", Range::new(2.0, 1.0).integer())), @"axis `rows`: `min` must not be above `max`");
}

#[test]
fn names_find_what_tables_call_them() {
    // `mode` is the parameter, `answer.mode` the column, `hardware` what the base names.
    let space =
        grid().constraint("mode == answer.mode and hardware == 'old' and `rows` == rows and cache == null");
    let error = sweep(&space).unwrap_err();
    assert!(error.contains("`cache` is a table"), "{error}");
    let space =
        grid().constraint("mode == answer.mode and hardware == 'old' and `rows` == rows and scale == null");
    let Column::Bool(feasible) = sweep(&space).unwrap().column("feasible").unwrap() else {
        panic!("no truth")
    };
    assert!(feasible.iter().all(|it| *it == Some(true)));
}

/// A million values made by a line of text are told as that line.
#[test]
fn steps_are_told_as_they_were_written() {
    let axes = json!({
        "memory.trcd_ns": { "from": 10, "to": 20, "count": 1_000_000, "when": "mode == 'in-turn'" },
        "memory.banks": [1, 2],
    });
    let space = Space::read(axes.as_object().unwrap(), &[], &[]).unwrap();
    assert_eq!(space.size().unwrap(), Some(2_000_000));
    let told = json!([
        { "axes": [["memory.trcd_ns", { "from": 10, "to": 20, "count": 1_000_000 }]], "when": "mode == 'in-turn'" },
        { "axes": [["memory.banks", [1, 2]]] },
    ]);
    assert_eq!(json!(space)["dimensions"], told);
}
