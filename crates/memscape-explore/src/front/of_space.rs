//! The front of a whole space, of which no table is ever made.

use std::ops::Range;

use rayon::prelude::*;

use super::dominance::non_dominated;
use crate::asker::Asker;
use crate::columns::Columns;
use crate::control::{Control, paced};
use crate::error::Error;
use crate::expression::Datum;
use crate::guard::guarded;
use crate::parameters::Parameters;
use crate::points::{Point, answered, table};
use crate::registry::DynStudy;
use crate::space::{
    Cursor, Dimension, Judge, Objective, Plan, Space, Values, Verdict, digits_of, nothing_allowed,
};
use crate::table::{Column, Table};

/// What nothing in a space is better than, and how much has been looked at.
#[derive(Debug, Clone)]
pub struct Front {
    /// The axes, the answers, and `designs`: how many points reach the same values of
    /// all objectives, of which the first is shown.
    pub table: Table,
    /// Points of the grid.
    pub points: u64,
    /// Those that conditions and constraints over parameters allow.
    pub allowed: u64,
    /// Those of them that have an answer.
    pub answered: u64,
    /// Those of them that keep the constraints over answers.
    pub feasible: u64,
    /// Values that axes list with which no allowed point has an answer, and why one has none: a front says nothing of them.
    pub unanswered: Vec<String>,
}

/// Looks at every point of a finite space and keeps what no other point dominates: the
/// front, proven. Memory is for the front alone.
///
/// The table is not complete if it was cancelled: then it is the front of the points
/// looked at until then.
///
/// # Errors
/// [`Error`] if an axis, a constraint or an objective is wrong, if an axis is a range of
/// real numbers, or if no point is allowed.
///
/// ```ignore
/// let space = Space::default().axis("memory.banks_per_channel", [8, 16, 32]).axis("pim.registers", 8..=32);
/// let goals = [Objective::minimize("token_ns"), Objective::minimize("pim.registers * memory.banks_per_channel")];
/// let best = front_of(study("pim.inference")?, &[], &space, &goals, &())?;
/// ```
pub fn front_of(
    study: &dyn DynStudy,
    base: &[Parameters],
    space: &Space,
    objectives: &[Objective],
    control: &dyn Control,
) -> Result<Front, Error> {
    guarded(|| {
        let asker = study.asker();
        Objective::check(objectives)?;
        let mut plan = asker.plan(base, space)?;
        let size = plan.size()?;
        let judge = Judge::new(&plan, objectives)?;
        let mut best = Best::new(objectives.len());
        let mut seen = Seen::default();
        let threads = rayon::current_num_threads() as u64;
        let complete = paced(size, control, |part| {
            let (first, end) = (part.start, part.end);
            let chunk = (end - first).div_ceil(threads * 8).max(1);
            let looked = (0..(end - first).div_ceil(chunk)).into_par_iter().map(|index| {
                let first = first + index * chunk;
                Walk::new(&plan, asker, &judge).look(first, first.saturating_add(chunk).min(end))
            });
            for (part, counts) in looked.collect::<Vec<_>>() {
                best.take(part);
                seen.add(&counts);
            }
            best.thin();
            control.advanced(end, size);
        });
        if complete && seen.allowed == 0 {
            return Err(nothing_allowed(&mut plan));
        }
        told(&plan, asker, &judge, objectives, best, &seen, complete)
    })
}

/// That a front can be asked of a space, before any of its points is answered.
///
/// # Errors
/// As [`front_of`], but for what only answers show.
pub fn check_front(
    study: &dyn DynStudy,
    base: &[Parameters],
    space: &Space,
    objectives: &[Objective],
) -> Result<(), Error> {
    Objective::check(objectives)?;
    let plan = study.asker().plan(base, space)?;
    plan.size()?;
    Judge::new(&plan, objectives).map(drop)
}

/// The front that has been found.
pub(super) fn told(
    plan: &Plan<'_>,
    asker: Asker<'_>,
    judge: &Judge<'_>,
    objectives: &[Objective],
    mut best: Best,
    seen: &Seen,
    complete: bool,
) -> Result<Front, Error> {
    if complete && seen.compared == 0 {
        return Err(nothing_compared(plan, asker, objectives, seen));
    }
    best.in_order();
    let points: Vec<Point> = best.places.iter().map(|it| digits_of(plan, *it).into()).collect();
    let all = answered(plan, &asker, judge, &points);
    let designs = best.designs.iter().map(|it| i64::try_from(*it).ok()).collect();
    let table = table(plan, judge, &points, all, Vec::new(), vec![("designs", Column::Int(designs))])?;
    let table = Table::new(table.into_frame(), complete);
    let Seen { allowed, answered, feasible, .. } = *seen;
    let unanswered = match points.first() {
        Some(first) if complete => unanswered(plan, asker, objectives, seen, first),
        _ => Vec::new(),
    };
    Ok(Front { table, points: plan.size()?, allowed, answered, feasible, unanswered })
}

/// What a front says nothing of. Why a value has no answer, a point says that has one with another value: what
/// others say may be of their other values.
fn unanswered(
    plan: &Plan<'_>,
    asker: Asker<'_>,
    objectives: &[Objective],
    seen: &Seen,
    first: &[u64],
) -> Vec<String> {
    /// More say no more.
    const MOST_TOLD: usize = 5;
    let mut told = Vec::new();
    let mut more = 0;
    for (index, (dimension, met)) in plan.dimensions.iter().zip(&seen.met).enumerate() {
        for (digit, met) in (0..).zip(met) {
            let Met::Refused(place) = *met else { continue };
            if told.len() == MOST_TOLD {
                more += 1;
                continue;
            }
            let values =
                dimension.axes.iter().map(|it| format!("`{}` = {}", it.path, text(&it.datum(digit))));
            let values = values.collect::<Vec<_>>().join(" and ");
            let why = |mut cursor: Cursor<'_>| {
                let mut columns = asker.empty();
                asker.push(&mut cursor, &mut columns);
                columns.into_row().err()
            };
            let mut digits = first.to_vec();
            digits[index] = digit;
            let mut with = Cursor::at(plan, digits);
            let with = if with.is_allowed() { why(with) } else { None };
            told.push(if let Some(why) = with {
                format!("no point with {values} has an answer; the front's first point says with it: {why}")
            } else if let Some(why) = why(Cursor::new(plan, place)) {
                format!("no point with {values} has an answer; the first says: {why}")
            } else {
                let goals = quoted(objectives.iter().map(|it| it.formula.as_str()), "or");
                format!("no point with {values} has numbers to compare: {goals} is null there, or not finite")
            });
        }
    }
    if more > 0 {
        told.push(format!("nor have points with {more} more values of axes"));
    }
    told
}

/// A value of an axis.
fn text(value: &Datum<'_>) -> String {
    match value {
        Datum::Bool(it) => it.to_string(),
        Datum::Number(it) => it.to_string(),
        Datum::Text(it) => (*it).to_owned(),
        Datum::Null => "null".to_owned(),
    }
}

fn quoted<'a>(all: impl Iterator<Item = &'a str>, and: &str) -> String {
    all.map(|it| format!("`{it}`")).collect::<Vec<_>>().join(&format!(" {and} "))
}

/// Why none of the allowed points can be on a front.
fn nothing_compared(plan: &Plan<'_>, asker: Asker<'_>, objectives: &[Objective], seen: &Seen) -> Error {
    let checks = quoted(plan.checks.iter().map(|it| it.expression.text()), "and");
    if seen.answered == 0 {
        let (mut cursor, mut columns) = (Cursor::new(plan, 0), asker.empty());
        cursor.settle(u64::MAX);
        asker.push(&mut cursor, &mut columns);
        return Error::BadSweep(format!(
            "none of {} points has an answer; the first says: {}",
            seen.allowed,
            columns.into_row().err().unwrap_or_default()
        ));
    }
    if seen.feasible == 0 {
        let it = if plan.checks.len() == 1 { "it" } else { "one" };
        return Error::BadSweep(format!(
            "none of {} answers keeps {checks} (what is null never does); loosen {it}",
            seen.answered
        ));
    }
    let kept = if plan.checks.is_empty() { String::new() } else { format!(" that keeps {checks}") };
    let goals = quoted(objectives.iter().map(|it| it.formula.as_str()), "and");
    Error::BadSweep(format!("no answer{kept} has a value of {goals}; it is null or not a finite number"))
}

/// Counts of points.
#[derive(Default)]
pub(super) struct Seen {
    allowed: u64,
    answered: u64,
    feasible: u64,
    /// Those of these that have a value of each objective.
    compared: u64,
    /// What has been met with each value of each dimension of the space.
    met: Vec<Vec<Met>>,
}

/// What has been met with a value of an axis.
#[derive(Clone, Copy, Default)]
enum Met {
    /// No allowed point.
    #[default]
    Nothing,
    /// Points without an answer, the first of which stands here.
    Refused(u64),
    /// A point with an answer.
    Answered,
}

impl Seen {
    pub(super) fn add(&mut self, other: &Self) {
        self.allowed += other.allowed;
        self.answered += other.answered;
        self.feasible += other.feasible;
        self.compared += other.compared;
        if self.met.is_empty() {
            self.met.clone_from(&other.met);
            return;
        }
        for (own, met) in self.met.iter_mut().flatten().zip(other.met.iter().flatten()) {
            *own = match (*own, *met) {
                (Met::Answered, _) | (_, Met::Answered) => Met::Answered,
                (Met::Refused(one), Met::Refused(other)) => Met::Refused(one.min(other)),
                (Met::Nothing, it) | (it, Met::Nothing) => it,
            };
        }
    }

    /// Notes which values of axes an allowed point has.
    fn note(&mut self, plan: &Plan<'_>, cursor: &Cursor<'_>, is_answered: bool) {
        /// Nobody names more values by hand, and the ends of a range may be anywhere.
        const MOST_VALUES: usize = 256;
        if self.met.is_empty() {
            let is_listed =
                |it: &Dimension| it.axes.iter().all(|it| matches!(it.values, Values::Listed { .. }));
            let length = |it: &Dimension| usize::try_from(it.length.unwrap_or(0)).unwrap_or(usize::MAX);
            let noted =
                |it: &Dimension| if is_listed(it) && length(it) <= MOST_VALUES { length(it) } else { 0 };
            self.met = plan.dimensions.iter().map(|it| vec![Met::Nothing; noted(it)]).collect();
        }
        for (met, digit) in self.met.iter_mut().zip(cursor.digits()) {
            let Some(met) = usize::try_from(*digit).ok().and_then(|it| met.get_mut(it)) else { continue };
            match met {
                Met::Answered | Met::Refused(_) if !is_answered => {}
                Met::Nothing if !is_answered => *met = Met::Refused(cursor.place()),
                _ => *met = Met::Answered,
            }
        }
    }
}

/// Points that nothing seen so far dominates.
pub(super) struct Best {
    goals: usize,
    places: Vec<u64>,
    values: Vec<f64>,
    /// How many points have these values.
    designs: Vec<u64>,
    /// How many there were after the last thinning.
    thinned: usize,
}

impl Best {
    pub(super) fn new(goals: usize) -> Self {
        Self { goals, places: Vec::new(), values: Vec::new(), designs: Vec::new(), thinned: 0 }
    }

    pub(super) fn take(&mut self, other: Self) {
        self.places.extend(other.places);
        self.values.extend(other.values);
        self.designs.extend(other.designs);
    }

    fn value(&self, index: u32) -> &[f64] {
        &self.values[index as usize * self.goals..][..self.goals]
    }

    /// Whether there is enough new that thinning pays.
    fn has_grown(&self) -> bool {
        const LEAST: usize = 1024;
        self.places.len() - self.thinned >= self.thinned.max(LEAST)
    }

    /// Leaves what nothing dominates, and the first of equal points.
    pub(super) fn thin(&mut self) {
        let mut kept = non_dominated(&self.values, self.goals);
        let compare = |one: &u32, other: &u32| {
            let pairs = self.value(*one).iter().zip(self.value(*other));
            let differ = pairs.map(|(one, other)| one.total_cmp(other)).find(|it| it.is_ne());
            differ.unwrap_or_else(|| self.places[*one as usize].cmp(&self.places[*other as usize]))
        };
        kept.sort_unstable_by(compare);
        let mut thin = Self::new(self.goals);
        for index in kept {
            let value = self.value(index);
            if !thin.places.is_empty() && thin.values.ends_with(value) {
                if let Some(last) = thin.designs.last_mut() {
                    *last += self.designs[index as usize];
                }
                continue;
            }
            thin.places.push(self.places[index as usize]);
            thin.values.extend_from_slice(value);
            thin.designs.push(self.designs[index as usize]);
        }
        thin.thinned = thin.places.len();
        *self = thin;
    }

    /// In the order of the space.
    fn in_order(&mut self) {
        let mut order: Vec<(u64, u64)> =
            self.places.iter().copied().zip(self.designs.iter().copied()).collect();
        order.sort_unstable();
        (self.places, self.designs) = order.into_iter().unzip();
        self.values.clear();
    }
}

/// One thread's look at some consecutive points.
pub(super) struct Walk<'a> {
    plan: &'a Plan<'a>,
    asker: Asker<'a>,
    judge: &'a Judge<'a>,
    best: Best,
    seen: Seen,
}

impl<'a> Walk<'a> {
    pub(super) fn new(plan: &'a Plan<'a>, asker: Asker<'a>, judge: &'a Judge<'a>) -> Self {
        Self { plan, asker, judge, best: Best::new(judge.goals()), seen: Seen::default() }
    }

    fn look(mut self, start: u64, end: u64) -> (Best, Seen) {
        /// Rows of answers that are kept at a time.
        const ROWS: usize = 256;
        let mut cursor = Cursor::new(self.plan, start);
        let mut columns = self.asker.empty();
        columns.reserve(ROWS);
        while cursor.settle(end) {
            if columns.rows() == ROWS {
                columns.clear();
            }
            self.asker.push(&mut cursor, &mut columns);
            self.see(&cursor, &columns, columns.rows() - 1);
            cursor.advance();
        }
        self.best.thin();
        (self.best, self.seen)
    }

    /// The same for some of these answers, the first of which is that of row `first`.
    pub(super) fn judge(mut self, answers: &Columns, first: u64, part: Range<u64>) -> (Best, Seen) {
        let mut cursor = Cursor::new(self.plan, self.plan.place(first + part.start));
        for row in part {
            cursor.go_to(self.plan.place(first + row));
            self.see(&cursor, answers, usize::try_from(row).unwrap_or(usize::MAX));
        }
        self.best.thin();
        (self.best, self.seen)
    }

    fn see(&mut self, cursor: &Cursor<'_>, columns: &Columns, row: usize) {
        let before = self.best.values.len();
        let verdict = self.judge.verdict(cursor, columns, row, &mut self.best.values);
        self.seen.allowed += 1;
        self.seen.answered += u64::from(verdict != Verdict::NoAnswer);
        self.seen.feasible += u64::from(verdict.is_feasible());
        self.seen.note(self.plan, cursor, verdict.is_valued());
        if verdict == Verdict::Fine {
            self.seen.compared += 1;
            self.best.places.push(cursor.place());
            self.best.designs.push(1);
            if self.best.has_grown() {
                self.best.thin();
            }
        } else {
            self.best.values.truncate(before);
        }
    }
}
