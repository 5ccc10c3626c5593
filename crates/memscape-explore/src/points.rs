//! Any points of a space, answered and laid out as a table.

use memscape_study::Study;
use memscape_study::node::Node;
use polars::prelude::DataFrame;
use rayon::prelude::*;

use crate::columns::Columns;
use crate::error::Error;
use crate::guard::quietly;
use crate::parameters::{Anatomy, Parameters};
use crate::space::{Cursor, Judge, Plan, Space, Verdict};
use crate::sweep::{FEASIBLE, named_apart, read_tree, row_of};
use crate::table::{Column, Table};

/// How a study is asked by who does not know its type.
#[derive(Debug, Clone, Copy)]
pub struct Asker<'a> {
    pub(crate) anatomy: &'a Anatomy,
    /// Adds a row: the answer where a cursor stands, or why there is none.
    push: fn(&mut Cursor<'_>, &mut Columns),
    /// Whether a tree is a question at all.
    read: fn(&Anatomy, &mut Node) -> Result<(), Error>,
}

impl<'a> Asker<'a> {
    pub(crate) fn of<S: Study>(anatomy: &'a Anatomy) -> Self {
        Self { anatomy, push: row_of::<S>, read: read_tree::<S> }
    }

    /// A space of the study. A base that no axis mends is refused at once.
    ///
    /// # Errors
    /// [`Error`] names the parameter, axis or constraint at fault.
    pub(crate) fn plan(&self, base: &[Parameters], space: &Space) -> Result<Plan<'a>, Error> {
        let plan = Plan::new(self.anatomy, base, space, None)?;
        plan.check_base_with(self.read)?;
        Ok(plan)
    }

    /// Answers where a cursor stands. A model that panics has no answer there.
    pub(crate) fn push(&self, cursor: &mut Cursor<'_>, columns: &mut Columns) {
        if let Err(error) = quietly(|| (self.push)(cursor, columns)) {
            columns.push_error(&error);
        }
    }

    /// No rows yet.
    pub(crate) fn empty(&self) -> Columns {
        self.anatomy.columns.clone()
    }
}

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

fn answered_here(plan: &Plan<'_>, asker: &Asker<'_>, judge: &Judge<'_>, points: &[Point]) -> Answered {
    let mut done = Answered { columns: asker.empty(), verdicts: Vec::new(), values: Vec::new() };
    let Some(first) = points.first() else { return done };
    let mut cursor = Cursor::at(plan, first.to_vec());
    for (row, point) in points.iter().enumerate() {
        cursor.go(point);
        asker.push(&mut cursor, &mut done.columns);
        done.verdicts.push(judge.verdict(&cursor, &done.columns, row, &mut done.values));
        done.values.resize((row + 1) * judge.goals(), 0.0);
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
    all.extend(named_apart(columns, plan).into_polars());
    if !plan.checks.is_empty() {
        let feasible = verdicts.iter().map(|it| Some(*it == Verdict::Fine)).collect();
        all.push(Column::Bool(feasible).into_polars(FEASIBLE.to_owned())?);
    }
    let goals = judge.goals();
    for (index, name, maximize) in judge.composed() {
        if all.iter().any(|it| it.name().as_str() == name) {
            continue;
        }
        let value = |(row, verdict): (usize, &Verdict)| {
            let value = values[row * goals + index];
            (*verdict != Verdict::NoAnswer).then_some(if maximize { -value } else { value })
        };
        let column = Column::Float(verdicts.iter().enumerate().map(value).collect());
        all.push(column.into_polars(name.to_owned())?);
    }
    for (name, column) in after {
        all.push(column.into_polars(name.to_owned())?);
    }
    Ok(Table::new(DataFrame::new(rows, all)?, true))
}
