//! One parameter at a time.

use super::experiment::{Experiment, Values};
use crate::error::Error;
use crate::parameters::Parameters;
use crate::points::{Point, answered};
use crate::search::Cube;
use crate::space::{Judge, Objective, Plan, Space};
use crate::table::Table;

/// Values looked at on an axis that has more: evenly spread.
const LOOKED_AT: u64 = 33;

/// Each axis by itself, the others as the base has them.
pub(super) fn table(base: &[Parameters], it: &Experiment<'_>) -> Result<Table, Error> {
    let columns = it.question.of.len();
    let at_base = at(base, it, &Space::default(), |_| vec![Point::default()])?.into_iter().next().flatten();
    let at_base = |column: usize| at_base.as_ref().map(|it| it[column]);
    let axes = it.axes();
    let mut found: Vec<Vec<Values>> = Vec::new();
    for axis in 0..axes {
        found.push(along(base, it, axis)?);
    }
    it.check_answered(found.iter().flatten().flatten().count(), found.iter().map(Vec::len).sum())?;
    let of = |take: &dyn Fn(&[Values], usize) -> Option<f64>| -> Vec<Option<f64>> {
        (0..columns)
            .flat_map(|column| found.iter().map(move |it| (it, column)))
            .map(|(it, column)| take(it, column))
            .collect()
    };
    let end = |it: Option<&Values>, column: usize| Some(it?.as_ref()?[column]);
    let extreme = |all: &[Values], column: usize, better: fn(f64, f64) -> f64| {
        all.iter().flatten().map(|it| it[column]).reduce(better)
    };
    let least = |all: &[Values], column: usize| extreme(all, column, f64::min);
    let greatest = |all: &[Values], column: usize| extreme(all, column, f64::max);
    let columns = vec![
        ("base", (0..columns).flat_map(|column| vec![at_base(column); axes]).collect()),
        ("at_low", of(&|all, column| end(all.first(), column))),
        ("at_high", of(&|all, column| end(all.last(), column))),
        ("least", of(&least)),
        ("greatest", of(&greatest)),
        ("swing", of(&|all, column| Some(greatest(all, column)? - least(all, column)?))),
    ];
    let answered = |it: &Vec<Values>| it.iter().flatten().count();
    let refused = found.iter().map(|it| it.len() - answered(it)).collect();
    it.rows(columns, &[("answers", found.iter().map(answered).collect()), ("refused", refused)])
}

/// The answers along one axis.
fn along(base: &[Parameters], it: &Experiment<'_>, axis: usize) -> Result<Vec<Values>, Error> {
    at(base, it, &it.space.only(axis), |plan| {
        let cube = Cube::new(plan);
        let Some(length) = cube.length(0) else {
            #[expect(clippy::cast_precision_loss, reason = "at most a few dozen")]
            let place = |step: u64| step as f64 / (LOOKED_AT - 1) as f64;
            return (0..LOOKED_AT).map(|step| cube.point(&[place(step)])).collect();
        };
        // Value by value: places of a logarithmic range of whole numbers are not evenly spread over these.
        let last = u128::from(length.min(LOOKED_AT).saturating_sub(1));
        let value = |step: u128| step * u128::from(length - 1) / last.max(1);
        (0..=last).map(|step| Point::from_iter([u64::try_from(value(step)).unwrap_or(u64::MAX)])).collect()
    })
}

/// The answers at some points of another space over the same base.
fn at(
    base: &[Parameters],
    it: &Experiment<'_>,
    space: &Space,
    points: impl FnOnce(&Plan<'_>) -> Vec<Point>,
) -> Result<Vec<Values>, Error> {
    let plan: Plan<'_> = it.asker.plan(base, space)?;
    let objectives: Vec<Objective> = it.question.of.iter().map(Objective::minimize).collect();
    let judge = Judge::new(&plan, &objectives)?;
    Ok(it.said(&answered(&plan, &it.asker, &judge, &points(&plan))))
}
