//! The front of any table, and how much it is better than.

use std::collections::HashMap;

use polars::prelude::IdxCa;

use super::dominance::non_dominated;
use super::hypervolume::volume;
use crate::error::Error;
use crate::expression::{Datum, Expression, Sort};
use crate::space::{FEASIBLE, Objective};
use crate::table::{Column, Table};

impl Table {
    /// Which rows keep the constraints over the answer: all but those of which the column `feasible`, as a sweep
    /// or a search makes it, says that they do not.
    #[must_use]
    pub fn feasible(&self) -> Vec<bool> {
        match self.column(FEASIBLE) {
            Ok(Column::Bool(all)) => all.into_iter().map(|it| it != Some(false)).collect(),
            _ => vec![true; self.height()],
        }
    }
}

/// The rows of a table that no other row dominates, in their order; of rows that are
/// equal in every objective, all. A row dominates another if it is at least as good in
/// every objective and better in one.
///
/// An objective is a column's name, or a formula over columns. Rows that lack the value
/// of one, such as those with an error, and rows where a constraint does not hold, are
/// left out; a table without others has an empty front, unless constraints are at fault. So are rows that a
/// sweep or a search calls not `feasible`: as `on_front` does, if the objectives are the same.
///
/// # Errors
/// [`Error::BadSweep`] without objectives, or if constraints leave no row or every row is an error,
/// [`Error::BadExpression`] for an unknown column, [`Error::BadColumn`] for one that holds texts, NaN or infinity.
///
/// ```
/// use memscape_explore::{Column, Objective, Table, front};
///
/// let column = |it: [f64; 4]| Column::Float(it.map(Some).to_vec());
/// let table = Table::from_columns([("ns", column([1., 2., 3., 4.])), ("usd", column([9., 5., 6., 1.]))])?;
/// let best = front(&table, &[Objective::minimize("ns"), Objective::minimize("usd")], &[])?;
/// assert_eq!(best.f64("ns")?, [1., 2., 4.].map(Some));
/// # Ok::<(), memscape_explore::Error>(())
/// ```
pub fn front(table: &Table, objectives: &[Objective], constraints: &[String]) -> Result<Table, Error> {
    let rows = front_rows(table, objectives, constraints)?;
    let frame = table.frame().take(&IdxCa::from_vec("".into(), rows))?;
    Ok(Table::new(frame, table.is_complete()))
}

/// Which rows these are, in their order.
///
/// # Errors
/// As [`front()`].
pub fn front_rows(
    table: &Table,
    objectives: &[Objective],
    constraints: &[String],
) -> Result<Vec<u32>, Error> {
    let (rows, values) = valued_rows(table, objectives, constraints)?;
    if rows.is_empty()
        && let Some(why) = unanswered(table)
    {
        return Err(Error::BadSweep(format!(
            "none of {} rows has an answer; the first says: {why}",
            table.height()
        )));
    }
    if rows.is_empty() && valued_at_all(table, objectives)? {
        let told = constraints.iter().map(|it| {
            let held = truths(table, it)?.into_iter().filter(|it| *it).count();
            Ok(format!("`{it}` holds in {held} of {} rows", table.height()))
        });
        let mut told = told.collect::<Result<Vec<_>, Error>>()?;
        let feasible = table.feasible().into_iter().filter(|it| *it).count();
        if feasible < table.height() && !constraints.iter().any(|it| it == FEASIBLE) {
            told.push(format!("`{FEASIBLE}` holds in {feasible} of {} rows", table.height()));
        }
        if !told.is_empty() {
            let told = told.join(", ");
            return Err(Error::BadSweep(format!(
                "no row is left: {told}; loosen one, or give another table"
            )));
        }
    }
    Ok(non_dominated(&values, objectives.len()).into_iter().map(|it| rows[it as usize]).collect())
}

/// The first of the rows that are equal in every objective, with a column for each objective that
/// has none, and `designs`: how many rows are.
///
/// # Errors
/// As [`front()`].
pub fn once_each(table: &Table, objectives: &[Objective]) -> Result<Table, Error> {
    let (rows, values) = valued_rows(table, objectives, &[])?;
    let mut places: HashMap<Vec<u64>, usize> = HashMap::new();
    let (mut first, mut designs) = (Vec::new(), Vec::<i64>::new());
    for (row, point) in rows.into_iter().zip(values.chunks_exact(objectives.len())) {
        // Both zeros are one.
        let place =
            *places.entry(point.iter().map(|it| (it + 0.0).to_bits()).collect()).or_insert_with(|| {
                first.push(row);
                designs.push(0);
                designs.len() - 1
            });
        designs[place] += 1;
    }
    let frame = table.frame().take(&IdxCa::from_vec("".into(), first))?;
    let mut found = Table::new(frame, table.is_complete());
    for it in objectives.iter().filter(|it| !table.column_names().contains(&it.formula.as_str())) {
        let own = numbers(&found, &it.formula)?;
        found = found.with_column(&it.formula, Column::Float(own))?;
    }
    found.with_column("designs", Column::Int(designs.into_iter().map(Some).collect()))
}

/// The volume between a table's rows and a reference, in the product of the objectives'
/// units; without a reference, the worst value of each objective in the table.
///
/// * `reference`: a value for each objective, in its own sense; rows that are not better
///   than it in every objective add nothing. Nor do those that are left out of a front.
///
/// # Errors
/// As [`front()`]; [`Error::BadSweep`] if the reference has another length or is not
/// finite, or if there is neither a reference nor a row to take it from.
pub fn hypervolume(
    table: &Table,
    objectives: &[Objective],
    reference: Option<&[f64]>,
    constraints: &[String],
) -> Result<f64, Error> {
    let (_, values) = valued_rows(table, objectives, constraints)?;
    let reference: Vec<f64> = match reference {
        Some(given) if given.len() != objectives.len() => {
            return Err(Error::BadSweep(format!(
                "the reference has {} values for {} objectives; give one for each",
                given.len(),
                objectives.len()
            )));
        }
        Some(given) => match given.iter().find(|it| !it.is_finite()) {
            Some(bad) => {
                return Err(Error::BadSweep(format!("the reference holds {bad}; give finite numbers")));
            }
            None => objectives.iter().zip(given).map(|(it, value)| it.signed(*value)).collect(),
        },
        None if values.is_empty() => {
            return Err(Error::BadSweep(
                "no row has a value of every objective; give a reference, or another table".to_owned(),
            ));
        }
        None => {
            let worst = |objective| {
                let all = values.iter().skip(objective).step_by(objectives.len());
                all.copied().fold(f64::NEG_INFINITY, f64::max)
            };
            (0..objectives.len()).map(worst).collect()
        }
    };
    check_effort(&values, objectives.len())?;
    Ok(volume(&values, &reference))
}

/// The volume of many points in many dimensions takes longer than anybody waits: about as many steps as
/// points, to the power of the dimensions but two.
fn check_effort(values: &[f64], objectives: usize) -> Result<(), Error> {
    const MOST_STEPS: f64 = 2e10;
    if objectives < 5 {
        return Ok(());
    }
    let rows = non_dominated(values, objectives).len();
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    let (count, power) = (rows as f64, (objectives - 2) as f64);
    if count.powf(power) <= MOST_STEPS {
        return Ok(());
    }
    let most = MOST_STEPS.powf(1.0 / power).floor();
    Err(Error::BadSweep(format!(
        "the hypervolume of {rows} rows that nothing dominates, in {objectives} objectives, takes too long; give {most} such \
         rows at most, or fewer objectives"
    )))
}

/// The objectives of all rows that have them, less being better.
pub(crate) fn values(table: &Table, objectives: &[Objective]) -> Result<Vec<f64>, Error> {
    valued_rows(table, objectives, &[]).map(|it| it.1)
}

/// The rows that have a value of every objective and keep the constraints, those that they were asked with
/// too, and these values, of which less is better.
fn valued_rows(
    table: &Table,
    objectives: &[Objective],
    constraints: &[String],
) -> Result<(Vec<u32>, Vec<f64>), Error> {
    Objective::check(objectives)?;
    let columns = objectives.iter().map(|it| numbers(table, &it.formula)).collect::<Result<Vec<_>, _>>()?;
    let held = constraints.iter().map(|it| truths(table, it)).collect::<Result<Vec<_>, _>>()?;
    let mut left = table.feasible();
    for (left, error) in left.iter_mut().zip(table.text("error").unwrap_or_default()) {
        *left &= error.is_none();
    }
    let (mut rows, mut values) = (Vec::new(), Vec::new());
    for row in 0..table.height() {
        if !left[row] || !held.iter().all(|it| it[row]) || columns.iter().any(|it| it[row].is_none()) {
            continue;
        }
        for (objective, column) in objectives.iter().zip(&columns) {
            check_finite(&objective.formula, row, column[row])?;
        }
        rows.push(u32::try_from(row).unwrap_or(u32::MAX));
        let of_row =
            |(objective, column): (&Objective, &Vec<Option<f64>>)| column[row].map(|it| objective.signed(it));
        values.extend(objectives.iter().zip(&columns).filter_map(of_row));
    }
    Ok((rows, values))
}

/// What the first row says, if every row is an error.
fn unanswered(table: &Table) -> Option<String> {
    let errors = table.text("error").ok()?;
    errors.into_iter().collect::<Option<Vec<_>>>()?.into_iter().next()
}

/// Whether any row has a value of every objective, whatever constraints say of it.
fn valued_at_all(table: &Table, objectives: &[Objective]) -> Result<bool, Error> {
    let columns = objectives.iter().map(|it| numbers(table, &it.formula)).collect::<Result<Vec<_>, _>>()?;
    Ok((0..table.height()).any(|row| columns.iter().all(|it| it[row].is_some())))
}

/// A column of numbers, or a formula at each row.
fn numbers(table: &Table, formula: &str) -> Result<Vec<Option<f64>>, Error> {
    if table.column_names().contains(&formula) {
        return table.f64(formula);
    }
    let over = OverTable::new(table, formula, Sort::Number, "an objective is")?;
    Ok((0..table.height()).map(|row| over.number(row)).collect())
}

fn check_finite(name: &str, row: usize, value: Option<f64>) -> Result<(), Error> {
    match value.filter(|it| !it.is_finite()) {
        Some(value) => Err(Error::BadColumn {
            name: name.to_owned(),
            problem: format!(
                "row {row} is {value}; leave such rows out with a constraint, or make them null"
            ),
        }),
        None => Ok(()),
    }
}

fn truths(table: &Table, formula: &str) -> Result<Vec<bool>, Error> {
    let formula = OverTable::new(table, formula, Sort::Bool, "a constraint is")?;
    Ok((0..table.height()).map(|row| formula.holds(row)).collect())
}

/// A formula whose names are columns of a table.
struct OverTable {
    expression: Expression,
    columns: Vec<Column>,
}

impl OverTable {
    fn new(table: &Table, formula: &str, wanted: Sort, what: &str) -> Result<Self, Error> {
        let expression = Expression::parse(formula)?;
        let mut columns = Vec::new();
        for (index, name) in expression.names().enumerate() {
            let column = table
                .column(table.column_of(name))
                .map_err(|it| expression.fault_at(index, it.to_string()))?;
            columns.push(match column {
                // What is no number keeps no constraint. An objective has it, and is refused with it.
                Column::Float(values) if wanted == Sort::Bool => {
                    Column::Float(values.into_iter().map(|it| it.filter(|it| !it.is_nan())).collect())
                }
                other => other,
            });
        }
        let sort = |it: &Column| match it {
            Column::Float(_) | Column::Int(_) => Sort::Number,
            Column::Text(_) => Sort::Text,
            Column::Bool(_) => Sort::Bool,
        };
        // A column of nulls may be anything.
        let sort = |it: &Column| {
            (!matches!(it, Column::Text(all) if all.iter().all(Option::is_none))).then(|| sort(it))
        };
        let sorts: Vec<Option<Sort>> = columns.iter().map(sort).collect();
        expression.check(&sorts, wanted, what)?;
        Ok(Self { expression, columns })
    }

    fn number(&self, row: usize) -> Option<f64> {
        match self.expression.value(&self.data(row)) {
            Datum::Number(it) => Some(it),
            _ => None,
        }
    }

    fn holds(&self, row: usize) -> bool {
        self.expression.value(&self.data(row)) == Datum::Bool(true)
    }

    fn data(&self, row: usize) -> Vec<Datum<'_>> {
        self.columns.iter().map(|it| cell(it, row)).collect()
    }
}

#[expect(clippy::cast_precision_loss, reason = "formulas have floats only")]
fn cell(column: &Column, row: usize) -> Datum<'_> {
    match column {
        Column::Float(it) => it[row].map_or(Datum::Null, Datum::Number),
        Column::Int(it) => it[row].map_or(Datum::Null, |it| Datum::Number(it as f64)),
        Column::Bool(it) => it[row].map_or(Datum::Null, Datum::Bool),
        Column::Text(it) => it[row].as_deref().map_or(Datum::Null, Datum::Text),
    }
}
