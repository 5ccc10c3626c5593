//! Many rows of a space answered on all threads, in order, and laid out as columns.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use polars::prelude::{BooleanChunked, IntoColumn, NewChunkedArray};
use rayon::prelude::*;

use crate::asker::Asker;
use crate::columns::Columns;
use crate::control::{Control, next_breath};
use crate::error::Error;
use crate::schema::Shape;
use crate::space::{Axis, Cursor, Dimension, FEASIBLE, Judge, Plan, digits_of};

/// Rows of a space, counted without the points that constraints over parameters leave
/// out.
#[derive(Debug, Clone)]
pub(crate) enum Rows {
    Range(Range<u64>),
    /// In rising order.
    These(Vec<u64>),
}

impl Rows {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Range(it) => usize::try_from(it.end - it.start).unwrap_or(usize::MAX),
            Self::These(it) => it.len(),
        }
    }

    pub(crate) fn at(&self, index: usize) -> u64 {
        match self {
            Self::Range(it) => it.start + index as u64,
            Self::These(it) => it[index],
        }
    }

    /// So many of them, from one on.
    pub(crate) fn part(&self, part: Range<usize>) -> Self {
        match self {
            Self::Range(it) => Self::Range(it.start + part.start as u64..it.start + part.end as u64),
            Self::These(it) => Self::These(it[part].to_vec()),
        }
    }
}

/// When threads stop even if rows turned out slower than those before.
const LONGEST_BREATH: Duration = Duration::from_millis(200);

/// Looking at the clock takes a tenth of a fast row's time, so not every row does.
const CLOCK_EVERY: usize = 8;

/// Room made in advance; beyond it, vectors grow as they fill.
const MOST_RESERVED: usize = 1 << 22;

/// Rows that are done without asking the caller.
struct Batch {
    first: usize,
    start: Instant,
}

impl Batch {
    /// Whether there is no time for this row. There always is for the first,
    /// so that every batch gets somewhere.
    fn is_over(&self, index: usize) -> bool {
        index != self.first && index.is_multiple_of(CLOCK_EVERY) && self.start.elapsed() >= LONGEST_BREATH
    }
}

/// Answers these rows, in order, until done or cancelled.
pub(crate) fn answers(plan: &Plan<'_>, asker: &Asker<'_>, rows: &Rows, control: &dyn Control) -> Columns {
    answers_at(&mut rayon::current_num_threads(), plan, asker, rows, control)
}

/// The same, `breath` rows between two looks at the caller, which is then as many as took so long.
pub(crate) fn answers_at(
    breath: &mut usize,
    plan: &Plan<'_>,
    asker: &Asker<'_>,
    rows: &Rows,
    control: &dyn Control,
) -> Columns {
    let count = rows.len();
    let mut columns = asker.empty();
    let threads = rayon::current_num_threads();
    let mut next = 0;
    while next < count && !control.cancelled() {
        if next == 0 {
            columns.reserve(count.min(MOST_RESERVED));
        }
        let batch = Batch { first: next, start: Instant::now() };
        let end = next.saturating_add(*breath).min(count);
        // Several chunks per thread, so that none waits long for another.
        let chunk = (end - next).div_ceil(threads * 16).max(1);
        // Whoever is free takes the first chunk not yet taken, so that
        // little is lost behind a chunk that could not be finished.
        let taken = AtomicU64::new(0);
        let mut parts: Vec<(usize, Columns)> = (0..(end - next).div_ceil(chunk))
            .into_par_iter()
            .map(|_| {
                let index = usize::try_from(taken.fetch_add(1, Ordering::Relaxed)).unwrap_or(usize::MAX);
                let start = next + index * chunk;
                (start, some(plan, asker, rows, start..(start + chunk).min(end), &batch))
            })
            .collect();
        parts.sort_unstable_by_key(|(start, _)| *start);
        let mut whole = Vec::with_capacity(parts.len());
        for (start, part) in parts {
            if start != next {
                break;
            }
            next += part.rows();
            whole.push(part);
        }
        columns.append_all(whole);
        control.advanced(next as u64, count as u64);
        let done = (next - batch.first) as u64;
        *breath = usize::try_from(next_breath(done, batch.start.elapsed())).unwrap_or(usize::MAX);
    }
    columns
}

/// Asks the study at some of the rows, or at the first of them if that is all there is
/// time for. The last chunks of a batch may get no time at all.
fn some(plan: &Plan<'_>, asker: &Asker<'_>, rows: &Rows, part: Range<usize>, batch: &Batch) -> Columns {
    let mut columns = asker.empty();
    if batch.is_over(part.start) {
        return columns;
    }
    columns.reserve(part.len());
    let mut cursor = Cursor::new(plan, plan.place(rows.at(part.start)));
    for index in part.clone() {
        if batch.is_over(index) {
            break;
        }
        asker.push(&mut cursor, &mut columns);
        if index + 1 < part.end {
            go_on(plan, &mut cursor, rows, index + 1);
        }
    }
    columns
}

/// Moves a cursor from one of the rows to the next.
pub(crate) fn go_on(plan: &Plan<'_>, cursor: &mut Cursor<'_>, rows: &Rows, next: usize) {
    match rows {
        Rows::Range(_) if plan.allowed.is_none() => cursor.advance(),
        _ => cursor.go_to(plan.place(rows.at(next))),
    }
}

/// The table's columns: the axes, the answers, `error`, and whether constraints over
/// the answer hold if there are any.
pub(crate) fn laid_out(
    plan: &Plan<'_>,
    rows: &Rows,
    answers: Columns,
) -> Result<Vec<polars::prelude::Column>, Error> {
    let mut all = axes_of(plan, rows);
    let feasible = (!plan.checks.is_empty()).then(|| feasible(plan, rows, &answers)).transpose()?;
    all.extend(plan.named_apart(answers).into_polars());
    all.extend(feasible.map(|it| BooleanChunked::from_slice(FEASIBLE.into(), &it).into_column()));
    Ok(all)
}

/// The axes' columns for these rows.
fn axes_of(plan: &Plan<'_>, rows: &Rows) -> Vec<polars::prelude::Column> {
    let first = match rows {
        Rows::Range(it) if plan.allowed.is_none() => it.start,
        _ => return plan.columns_at((0..rows.len()).map(|it| digits_of(plan, plan.place(rows.at(it))))),
    };
    let of_axis = |(dimension, axis): &(&Dimension, &Axis)| {
        let float = plan.anatomy.shape.at(&axis.path).is_some_and(Shape::is_float);
        let (stride, length) = (dimension.stride, dimension.length.unwrap_or(1));
        let count = (first % stride + rows.len() as u64).div_ceil(stride).max(1);
        let column = if count < length {
            // Of an axis of millions, these rows may see a few.
            let start = first / stride % length;
            let digits = (start..start + count).map(|it| it % length);
            axis.column_of(digits, float).spread(stride, first % stride, rows.len())
        } else {
            axis.column(float).spread(stride, first, rows.len())
        };
        column.into_polars()
    };
    let axes: Vec<_> = plan.dimensions.iter().flat_map(|it| it.axes.iter().map(move |a| (it, a))).collect();
    axes.par_iter().map(of_axis).collect()
}

/// Whether the constraints over the answer hold.
fn feasible(plan: &Plan<'_>, rows: &Rows, columns: &Columns) -> Result<Vec<bool>, Error> {
    let judge = Judge::new(plan, &[])?;
    let all: Vec<usize> = (0..columns.rows()).collect();
    let chunk = |part: &[usize]| {
        let mut judged = Vec::with_capacity(part.len());
        let Some(first) = part.first() else { return judged };
        let mut cursor = Cursor::new(plan, plan.place(rows.at(*first)));
        for row in part {
            cursor.go_to(plan.place(rows.at(*row)));
            judged.push(judge.verdict(&cursor, columns, *row, &mut Vec::new()).is_feasible());
        }
        judged
    };
    Ok(all.par_chunks(1 << 14).flat_map_iter(chunk).collect())
}
