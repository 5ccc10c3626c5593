//! Many points of one study at once.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use memscape_study::Study;
use memscape_study::node::Node;
use polars::prelude::{BooleanChunked, IntoColumn, NewChunkedArray};
use rayon::prelude::*;
use serde::Serialize;
use serde_json::{Value, json};

use crate::columns::Columns;
use crate::digest::digest;
use crate::error::Error;
use crate::guard::{guarded, quietly};
use crate::parameters::{Anatomy, Assignment, Parameters};
use crate::space::{
    Axis, Change, Cursor, Dimension, Judge, Plan, Sample, Space, Values, Verdict, digits_of, find_allowed,
};
use crate::table::{Table, leaf_name};

/// Points to ask a study at: a base, and axes over it.
///
/// Rows come in the order in which axes are added, the last one fastest; a
/// sample is faster than all axes, so that each grid point sees the same
/// sampled points.
///
/// ```
/// use memscape_explore::Sweep;
///
/// let sweep = Sweep::default()
///     .axis("memory.banks_per_channel", [8, 16, 32])
///     .zip([("shape.m", [768, 1024]), ("shape.k", [3072, 4096])]);
/// assert_eq!(sweep.points()?, 6);
/// # Ok::<(), memscape_explore::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Sweep {
    /// Later layers over earlier ones.
    base: Vec<Parameters>,
    space: Space,
    /// Draws from the space's ranges instead of going through them.
    sample: Option<Sample>,
}

/// Who watches a sweep. Both are called on the thread that asked, several times
/// a second as long as single points are fast.
pub trait Control: Sync {
    /// So many rows are done.
    fn advanced(&self, done: u64, total: u64) {
        let _ = (done, total);
    }

    /// Something went wrong that did not end the work.
    fn warned(&self, remark: &str) {
        let _ = remark;
    }

    /// Whether to stop and return the rows done so far.
    fn cancelled(&self) -> bool {
        false
    }
}

/// Nobody watches.
impl Control for () {}

impl Sweep {
    /// A sweep of one point, until axes are added.
    #[must_use]
    pub fn of(base: Parameters) -> Self {
        Self { base: vec![base], ..Self::default() }
    }

    /// Parameters that go over those of the base: a table and dotted keys merge
    /// with what a name there stands for.
    #[must_use]
    pub fn over(mut self, parameters: Parameters) -> Self {
        self.base.push(parameters);
        self
    }

    /// The axes and constraints of a space, instead of those so far.
    #[must_use]
    pub fn through(mut self, space: Space) -> Self {
        self.space = space;
        self
    }

    /// Every value of one parameter, as [`Space::axis`].
    #[must_use]
    pub fn axis(self, path: impl Into<String>, values: impl IntoIterator<Item: Into<Value>>) -> Self {
        Self { space: self.space.axis(path, values), ..self }
    }

    /// Parameters that move together, as [`Space::linked`].
    #[must_use]
    pub fn zip<P: Into<String>, V: IntoIterator<Item: Into<Value>>>(
        self,
        axes: impl IntoIterator<Item = (P, V)>,
    ) -> Self {
        Self { space: self.space.linked(axes), ..self }
    }

    /// Points drawn from ranges, at each point of the axes.
    #[must_use]
    pub fn sample(mut self, sample: Sample) -> Self {
        self.sample = Some(sample);
        self
    }

    /// The dotted path of each parameter that moves.
    #[must_use]
    pub fn axes(&self) -> Vec<String> {
        let sampled = self.sample.iter().flat_map(|it| it.ranges.keys().map(String::as_str));
        self.space.paths().chain(sampled).map(str::to_owned).collect()
    }

    /// Whether the axes can be called by the last parts of their paths.
    ///
    /// # Errors
    /// [`Error::BadSweep`] names two that end alike.
    pub fn check_leaf_names(&self) -> Result<(), Error> {
        let paths = self.axes();
        for (index, path) in paths.iter().enumerate() {
            let leaf = leaf_name(path);
            if let Some(other) = paths[..index].iter().find(|it| leaf_name(it.as_str()) == leaf) {
                return Err(Error::BadSweep(format!(
                    "`{other}` and `{path}` would both be called `{leaf}`; keep the dotted names"
                )));
            }
        }
        Ok(())
    }

    /// How many points there are before conditions and constraints, at most 2^31.
    ///
    /// # Errors
    /// [`Error::BadSweep`] if an axis is empty, is a range of real numbers that no
    /// sample draws from, zipped axes differ in length, or there are too many points.
    pub fn points(&self) -> Result<u64, Error> {
        let sample = self.sample.as_ref().map_or(Ok(1), Sample::points)?;
        let drawn = self.sample.is_some();
        let Some(points) = self.space.finite_size(drawn)?.map(|it| it.saturating_mul(sample.into())) else {
            return Err(Error::BadSweep(format!(
                "axis `{}` is a range of real numbers; give `step` or `count` in it, draw from it with a sample, \
                 or search",
                self.space.first_real().unwrap_or_default()
            )));
        };
        u64::try_from(points).ok().filter(|it| *it <= MOST_POINTS).ok_or_else(|| {
            Error::BadSweep(format!(
                "the sweep has {points} points, and a table holds at most {MOST_POINTS}; \
                 shorten an axis, or use a sample"
            ))
        })
    }
}

/// What one table can hold.
const MOST_POINTS: u64 = 1 << 31;

impl<'a> Plan<'a> {
    /// A sweep resolved against a study.
    fn of_sweep(anatomy: &'a Anatomy, sweep: &Sweep) -> Result<Self, Error> {
        sweep.points()?;
        Self::new(anatomy, &sweep.base, &sweep.space, sweep.sample.as_ref())
    }

    /// How many rows there are.
    fn rows(&self) -> Result<u64, Error> {
        self.allowed.as_ref().map_or_else(|| self.size(), |it| Ok(it.len() as u64))
    }

    /// Where a row's point stands in the space.
    fn place(&self, row: u64) -> u64 {
        let place = |all: &Vec<u64>| usize::try_from(row).ok().and_then(|it| all.get(it).copied());
        self.allowed.as_ref().map_or(row, |all| place(all).unwrap_or(u64::MAX))
    }

    /// A fault of the base, in a parameter that no axis changes, would be the
    /// same in each row, so it is reported at once.
    fn check_base<S: Study>(&self) -> Result<(), Error> {
        self.check_base_with(read_tree::<S>)
    }

    /// The same, where the study's type is not known.
    pub(crate) fn check_base_with(
        &self,
        read: fn(&Anatomy, &mut Node) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut tree = self.anatomy.expand(&self.base)?;
        match read(self.anatomy, &mut tree) {
            Err(Error::BadParameter { path, given, problem })
                if !path.is_empty()
                    && !self.axes().any(|it| {
                        it.path == path
                            || path.starts_with(&format!("{}.", it.path))
                            || matches!(it.change, Change::Tree { .. })
                    }) =>
            {
                Err(Error::BadParameter { path, given, problem })
            }
            _ => Ok(()),
        }
    }

    /// Asks the study at each of these rows, or at the first of them if that is
    /// all there is time for. The last chunks of a batch may get no time at all.
    fn run<S: Study>(&self, rows: Range<u64>, batch: &Batch, empty: &Columns) -> Columns {
        let all = || {
            let mut columns = empty.clone();
            columns.reserve(usize::try_from(rows.end - rows.start).unwrap_or(0));
            let mut cursor = Cursor::new(self, self.place(rows.start));
            for row in rows.clone() {
                if batch.is_over(row) {
                    break;
                }
                columns.push(ask_at::<S>(&mut cursor));
                match &self.allowed {
                    None => cursor.advance(),
                    Some(_) if row + 1 < rows.end => cursor.go_to(self.place(row + 1)),
                    Some(_) => {}
                }
            }
            columns
        };
        if batch.is_over(rows.start) {
            return empty.clone();
        }
        quietly(all).unwrap_or_else(|_| self.run_apart::<S>(rows.clone(), batch, empty))
    }

    /// As [`Plan::run`], but a panic at one row does not touch the others.
    fn run_apart<S: Study>(&self, rows: Range<u64>, batch: &Batch, empty: &Columns) -> Columns {
        let mut columns = empty.clone();
        for row in rows.take_while(|row| !batch.is_over(*row)) {
            let one = quietly(|| {
                let mut one = empty.clone();
                one.push(ask_at::<S>(&mut Cursor::new(self, self.place(row))));
                one
            });
            match one {
                Ok(one) => columns.append(one),
                Err(error) => columns.push::<S::Answer>(Err(error)),
            }
        }
        columns
    }

    /// The axes' columns for these rows.
    fn columns(&self, first: u64, rows: usize) -> Vec<polars::prelude::Column> {
        if self.allowed.is_some() {
            let points = (first..first + rows as u64).map(|it| self.place(it));
            return self.columns_at(points.map(|it| digits_of(self, it)));
        }
        let of_axis = |(dimension, axis): &(&Dimension, &Axis)| {
            let float = self.anatomy.shape.at(&axis.path).is_some_and(crate::schema::Shape::is_float);
            axis.column(float).spread(dimension.stride, first, rows).into_polars()
        };
        let axes: Vec<_> =
            self.dimensions.iter().flat_map(|it| it.axes.iter().map(move |a| (it, a))).collect();
        axes.par_iter().map(of_axis).collect()
    }
}

/// Asks the study where a cursor stands.
fn ask_at<S: Study>(cursor: &mut Cursor<'_>) -> Result<S::Answer, Error> {
    ask(&cursor.study::<S>()?)
}

/// Adds the answer where a cursor stands, or why there is none.
pub(crate) fn row_of<S: Study>(cursor: &mut Cursor<'_>, columns: &mut Columns) {
    columns.push(ask_at::<S>(cursor));
}

/// Whether a tree is a question of a study at all.
pub(crate) fn read_tree<S: Study>(anatomy: &Anatomy, tree: &mut Node) -> Result<(), Error> {
    anatomy.read::<S>(tree).map(drop)
}

fn ask<S: Study>(study: &S) -> Result<S::Answer, Error> {
    study.answer().map_err(|it| Error::NoAnswer(it.to_string()))
}

/// Answers one point.
pub(crate) fn answer<S: Study>(
    anatomy: &Anatomy,
    layers: &[&Parameters],
) -> Result<Vec<(String, Value)>, Error> {
    guarded(|| {
        let mut tree = anatomy.expand(&anatomy.flatten_layers(layers)?)?;
        let answer = ask(&anatomy.read::<S>(&mut tree)?)?;
        let mut columns = anatomy.columns.clone();
        columns.push(Ok(answer));
        columns.into_row().map_err(Error::NotAnAnswer)
    })
}

/// What a sweep asks, by content: the study, and what every name, path and table
/// of base and axes stands for.
pub(crate) fn identity<S: Study>(anatomy: &Anatomy, sweep: &Sweep) -> Result<String, Error> {
    let plan = Plan::of_sweep(anatomy, sweep)?;
    let base: Vec<Value> = plan.base.iter().map(Assignment::content).collect();
    let values = |axis: &Axis| -> Value {
        match &axis.change {
            Change::Leaf(_) => axis.content(),
            Change::Tree { values, .. } => values
                .iter()
                .map(|it| match it {
                    Ok(given) => given.iter().map(Assignment::content).collect(),
                    Err(error) => Value::from(error.as_str()),
                })
                .collect(),
        }
    };
    let picks = |axis: &Axis| match &axis.values {
        Values::Listed { picks: Some(picks), .. } => Value::from(picks.clone()),
        _ => Value::Null,
    };
    let when = |axis: &Axis| axis.when.as_ref().map(|it| it.expression.text().to_owned());
    let axes: Vec<Value> = plan.axes().map(|it| json!([it.path, values(it), picks(it), when(it)])).collect();
    let lengths: Vec<Option<u64>> = plan.dimensions.iter().map(|it| it.length).collect();
    let question = json!([S::NAME, base, axes, lengths, sweep.space.constraints]);
    Ok(digest(question.to_string().as_bytes()))
}

/// The axes' columns of the first rows.
pub(crate) fn axes(anatomy: &Anatomy, sweep: &Sweep, rows: usize) -> Result<Table, Error> {
    let mut plan = Plan::of_sweep(anatomy, sweep)?;
    find_allowed(&mut plan)?;
    Ok(Table::from_frame(polars::prelude::DataFrame::new(rows, plan.columns(0, rows))?))
}

/// About how long all threads work before the caller is asked whether to go on.
const BREATH: Duration = Duration::from_millis(100);

/// When they stop even if rows turned out slower than those before.
const LONGEST_BREATH: Duration = Duration::from_millis(200);

/// Looking at the clock takes a tenth of a fast row's time, so not every row does.
const CLOCK_EVERY: u64 = 8;

/// Rows that are done without asking the caller.
struct Batch {
    first: u64,
    start: Instant,
}

impl Batch {
    /// Whether there is no time for this row. There always is for the first,
    /// so that every batch gets somewhere.
    fn is_over(&self, row: u64) -> bool {
        row != self.first && row.is_multiple_of(CLOCK_EVERY) && self.start.elapsed() >= LONGEST_BREATH
    }
}

/// Answers all points from row `first` on, in order, until done or cancelled.
pub(crate) fn sweep<S: Study>(
    anatomy: &Anatomy,
    sweep: &Sweep,
    first: u64,
    control: &dyn Control,
) -> Result<Table, Error> {
    guarded(|| {
        let mut plan = Plan::of_sweep(anatomy, sweep)?;
        plan.check_base::<S>()?;
        find_allowed(&mut plan)?;
        let points = plan.rows()?;
        let empty = Columns::of::<S>();
        let mut columns = empty.clone();
        columns
            .reserve(usize::try_from(points - first.min(points)).unwrap_or(MOST_RESERVED).min(MOST_RESERVED));
        let threads = rayon::current_num_threads() as u64;
        let mut next = first.min(points);
        let mut breath = threads;
        while next < points && !control.cancelled() {
            let batch = Batch { first: next, start: Instant::now() };
            let end = next.saturating_add(breath).min(points);
            // Several chunks per thread, so that none waits long for another.
            let chunk = breath.div_ceil(threads * 8).max(1);
            // Whoever is free takes the first chunk not yet taken, so that
            // little is lost behind a chunk that could not be finished.
            let taken = AtomicU64::new(0);
            let mut parts: Vec<(u64, Columns)> = (0..(end - next).div_ceil(chunk))
                .into_par_iter()
                .map(|_| {
                    let start = next + taken.fetch_add(1, Ordering::Relaxed) * chunk;
                    (start, plan.run::<S>(start..start.saturating_add(chunk).min(end), &batch, &empty))
                })
                .collect();
            parts.sort_unstable_by_key(|(start, _)| *start);
            for (start, part) in parts {
                if start != next {
                    break;
                }
                next += part.rows() as u64;
                columns.append(part);
            }
            control.advanced(next, points);
            breath = next_breath(next - batch.first, batch.start.elapsed());
        }
        let rows = columns.rows();
        let mut all = plan.columns(first, rows);
        let feasible = (!plan.checks.is_empty()).then(|| feasible(&plan, first, &columns)).transpose()?;
        all.extend(named_apart(columns, &plan).into_polars());
        all.extend(feasible.map(|it| BooleanChunked::from_slice(FEASIBLE.into(), &it).into_column()));
        let frame = polars::prelude::DataFrame::new(rows, all)?;
        Ok(Table::new(frame, next == points))
    })
}

/// The column that says whether the constraints over the answer hold.
pub(crate) const FEASIBLE: &str = "feasible";

/// Whether the constraints over the answer hold, from row `first` on.
fn feasible(plan: &Plan<'_>, first: u64, columns: &Columns) -> Result<Vec<bool>, Error> {
    let judge = Judge::new(plan, &[])?;
    let rows: Vec<usize> = (0..columns.rows()).collect();
    let chunk = |rows: &[usize]| {
        let mut cursor = Cursor::new(plan, plan.place(first));
        let mut judged = Vec::with_capacity(rows.len());
        for row in rows {
            cursor.go_to(plan.place(first + *row as u64));
            judged.push(judge.verdict(&cursor, columns, *row, &mut Vec::new()) == Verdict::Fine);
        }
        judged
    };
    Ok(rows.par_chunks(1 << 14).flat_map_iter(chunk).collect())
}

/// Room made in advance; beyond it, vectors grow as they fill.
const MOST_RESERVED: usize = 1 << 22;

/// How many rows to do at once, after so many took so long.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a rough guess"
)]
pub(crate) fn next_breath(rows: u64, took: Duration) -> u64 {
    let fitting = rows as f64 * BREATH.as_secs_f64() / took.as_secs_f64().max(1e-6);
    (fitting as u64).clamp(1, rows.saturating_mul(8))
}

/// A column that has an axis's name is called `answer.<name>` in the table.
pub(crate) fn named_apart(mut columns: Columns, plan: &Plan<'_>) -> Columns {
    for column in &mut columns.builders {
        if plan.axes().any(|it| it.path == column.name) {
            column.name = format!("answer.{}", column.name);
        }
    }
    columns
}
