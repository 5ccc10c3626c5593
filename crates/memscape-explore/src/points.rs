//! Any points of a space, answered and laid out as a table.

use polars::prelude::DataFrame;
use rayon::prelude::*;

use crate::asker::Asker;
use crate::columns::Columns;
use crate::error::Error;
use crate::space::{Cursor, FEASIBLE, Judge, Plan, Verdict};
use crate::table::{Column, Table};

/// The digits of a point of a space.
pub(crate) type Point = Box<[u64]>;

/// Points and what became of them.
pub(crate) struct Answered {
    pub(crate) columns: Columns,
    pub(crate) verdicts: Vec<Verdict>,
    /// So many values of each point that has an answer, less is better; of others,
    /// zeros.
    pub(crate) values: Vec<f64>,
}

impl Answered {
    /// Judges the answer of the next row.
    fn judge(&mut self, judge: &Judge<'_>, cursor: &Cursor<'_>, row: usize) {
        self.verdicts.push(judge.verdict(cursor, &self.columns, row, &mut self.values));
        self.values.resize((row + 1) * judge.goals(), 0.0);
    }
}

/// Answers and judges points, on all threads.
pub(crate) fn answered(plan: &Plan<'_>, asker: &Asker<'_>, judge: &Judge<'_>, points: &[Point]) -> Answered {
    let chunk = points.len().div_ceil(4 * rayon::current_num_threads()).clamp(1, 1024);
    let parts: Vec<Answered> =
        points.par_chunks(chunk).map(|points| answered_here(plan, asker, judge, points)).collect();
    let mut all = Answered { columns: asker.empty(), verdicts: Vec::new(), values: Vec::new() };
    for part in parts {
        all.columns.append(part.columns);
        all.verdicts.extend(part.verdicts);
        all.values.extend(part.values);
    }
    all
}

/// Judges answers that are there.
pub(crate) fn judged(plan: &Plan<'_>, judge: &Judge<'_>, points: &[Point], columns: Columns) -> Answered {
    let mut done = Answered { columns, verdicts: Vec::new(), values: Vec::new() };
    let Some(first) = points.first() else { return done };
    let mut cursor = Cursor::at(plan, first.to_vec());
    for (row, point) in points.iter().enumerate() {
        cursor.go(point);
        done.judge(judge, &cursor, row);
    }
    done
}

fn answered_here(plan: &Plan<'_>, asker: &Asker<'_>, judge: &Judge<'_>, points: &[Point]) -> Answered {
    let mut done = Answered { columns: asker.empty(), verdicts: Vec::new(), values: Vec::new() };
    let Some(first) = points.first() else { return done };
    let mut cursor = Cursor::at(plan, first.to_vec());
    for (row, point) in points.iter().enumerate() {
        cursor.go(point);
        asker.push(&mut cursor, &mut done.columns);
        done.judge(judge, &cursor, row);
    }
    done
}

/// A table of points: columns before, the axes, the answer, `error`, `feasible` if
/// there are constraints over answers, a column for each objective that is more than a
/// column's name, and columns after.
pub(crate) fn table(
    plan: &Plan<'_>,
    judge: &Judge<'_>,
    points: &[Point],
    answered: Answered,
    before: Vec<(&str, Column)>,
    after: Vec<(&str, Column)>,
) -> Result<Table, Error> {
    let Answered { columns, verdicts, values } = answered;
    let rows = points.len();
    let mut all = Vec::new();
    for (name, column) in before {
        all.push(column.into_polars(name.to_owned())?);
    }
    all.extend(plan.columns_at(points.iter()));
    all.extend(plan.named_apart(columns).into_polars());
    if !plan.checks.is_empty() {
        let feasible = verdicts.iter().map(|it| Some(it.is_feasible())).collect();
        all.push(Column::Bool(feasible).into_polars(FEASIBLE.to_owned())?);
    }
    let goals = judge.goals();
    for (index, name, maximize) in judge.composed() {
        if all.iter().any(|it| it.name().as_str() == name) {
            continue;
        }
        let value = |(row, verdict): (usize, &Verdict)| {
            let value = values[row * goals + index];
            verdict.is_valued().then_some(if maximize { -value } else { value })
        };
        let column = Column::Float(verdicts.iter().enumerate().map(value).collect());
        all.push(column.into_polars(name.to_owned())?);
    }
    for (name, column) in after {
        all.push(column.into_polars(name.to_owned())?);
    }
    Ok(Table::new(DataFrame::new(rows, all)?, true))
}
