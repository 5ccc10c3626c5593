//! Answers with what they may be.

use memscape_study::random::Key;
use memscape_study::{Spread, list};
use serde::Serialize;
use serde_json::Value;

use super::doubt::{Doubt, Group, Unknown, doubts};
use super::draws::draw;
use crate::asker::Asker;
use crate::control::{Control, paced};
use crate::error::Error;
use crate::guard::guarded;
use crate::parameters::Parameters;
use crate::points::{Point, answered};
use crate::registry::DynStudy;
use crate::room::check_draws;
use crate::space::{Axes, Cursor, Judge, Linked, Objective, Plan, Space, digits_of};
use crate::table::{Column, Table};

/// A question about how far answers may be off.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Uncertainty {
    /// Columns, or formulas; none stands for the study's aim, or of a single point for
    /// all numbers of its answer but the ends of their intervals.
    pub of: Vec<String>,
    /// How often everything that is not known for sure is drawn.
    pub draws: u64,
    /// Another seed draws others.
    pub seed: u64,
}

impl Default for Uncertainty {
    fn default() -> Self {
        Self { of: Vec::new(), draws: 200, seed: 0 }
    }
}

/// Fewer draws have no 20th of them.
const FEWEST_DRAWS: u64 = 20;

/// More answers do not fit in memory.
const MOST_ANSWERS: u64 = 50_000_000;

/// Answers at each point of a space, with what they may be. Every parameter whose source
/// is a prior or a reading is drawn from its interval, and every free parameter from its
/// fit's covariance, all of them `draws` times and each kind by itself as often. What is
/// given by itself, and what an axis moves, is known. A reading that the study refuses at every
/// point is none there; where it refuses one at a point, the draws of others count.
///
/// A row for each point and column asked of: the axes, `of`, `value` (as without any
/// doubt), `median`, `low` and `high` (a 20th of the draws is below, a 20th above, widened to hold
/// the value where a number stands at the end of its interval),
/// `from_calibration`, `from_priors` and `from_readings` (half of the way from `low` to
/// `high` if nothing else were in doubt), `draws`: how many had an answer, and `error`: why the
/// point has none, else null.
///
/// # Errors
/// [`Error::BadSweep`] for a space with constraints or conditions, or too few or too many
/// draws; [`Error`] if an axis or a column is wrong, or a description is given that does
/// not exist.
pub fn uncertainty(
    study: &dyn DynStudy,
    base: &[Parameters],
    space: &Space,
    question: &Uncertainty,
    control: &dyn Control,
) -> Result<Table, Error> {
    guarded(|| {
        let asker = study.asker();
        let plan = asker.plan(base, space)?;
        if plan.conditional || !plan.prunes.is_empty() || !plan.checks.is_empty() {
            return Err(Error::BadSweep(
                "how far answers may be off is told of a plain grid; leave out constraints and `when`"
                    .to_owned(),
            ));
        }
        let size = plan.size()?;
        let most = MOST_ANSWERS / size.max(1) / (1 + Group::ALL.len() as u64);
        if most < FEWEST_DRAWS {
            return Err(Error::BadSweep(format!(
                "a space of {size} points, each with at least {FEWEST_DRAWS} draws, is more than {MOST_ANSWERS} \
                 answers; shorten an axis"
            )));
        }
        if question.draws < FEWEST_DRAWS || question.draws > most {
            return Err(Error::BadSweep(format!(
                "`draws` = {}: a space of {size} points takes at least {FEWEST_DRAWS} and at most {most}",
                question.draws
            )));
        }
        let of = columns_of(study, base, space, question)?;
        let parts = Parts::new(space, &asker);
        let mut done = Done::default();
        for (outer, given) in parts.outer_points()? {
            let layers: Vec<Parameters> = base.iter().cloned().chain([given]).collect();
            let watched = Watched { control, before: done.points.len() as u64, size };
            let together = Asked { asker, layers: &layers, of: &of, question, watched };
            let complete = together.answer(&parts.inner, |inner, spreads, error| {
                done.points.push(parts.join(&outer, inner));
                done.spreads.extend(spreads);
                done.errors.push(error);
            })?;
            if !complete {
                break;
            }
        }
        done.sort(of.len());
        let complete = done.points.len() as u64 == size;
        let rows = done.spreads.len();
        let repeated = done.points.iter().flat_map(|it| std::iter::repeat_n(it, of.len()));
        let mut all = plan.columns_at(repeated);
        let names = Column::Text((0..rows).map(|it| Some(of[it % of.len()].clone())).collect());
        all.push(names.into_polars("of".to_owned())?);
        let number = |it: fn(&Interval) -> Option<f64>| Column::Float(done.spreads.iter().map(it).collect());
        let parts: [(&str, fn(&Interval) -> Option<f64>); 4] = [
            ("value", |it| it.value),
            ("median", |it| it.median),
            ("low", |it| it.low),
            ("high", |it| it.high),
        ];
        for (name, part) in parts {
            all.push(number(part).into_polars(name.to_owned())?);
        }
        for (index, group) in Group::ALL.into_iter().enumerate() {
            let halves = Column::Float(done.spreads.iter().map(|it| it.from[index]).collect());
            all.push(halves.into_polars(group.column().to_owned())?);
        }
        let draws = Column::Int(done.spreads.iter().map(|it| i64::try_from(it.draws).ok()).collect());
        all.push(draws.into_polars("draws".to_owned())?);
        let errors = Column::Text(
            done.errors.iter().flat_map(|it| std::iter::repeat_n(it.clone(), of.len())).collect(),
        );
        all.push(errors.into_polars("error".to_owned())?);
        let table = Table::new(polars::prelude::DataFrame::new(rows, all)?, true);
        Ok(if complete { table } else { table.interrupted() })
    })
}

/// What is asked of when nothing is named.
fn columns_of(
    study: &dyn DynStudy,
    base: &[Parameters],
    space: &Space,
    question: &Uncertainty,
) -> Result<Vec<String>, Error> {
    if !question.of.is_empty() {
        return Ok(question.of.clone());
    }
    if let (Some(aim), Some(_)) = (study.laws().aim, space.paths().next()) {
        return Ok(vec![aim.column.to_owned()]);
    }
    let answer = study.run_layers(&base.iter().collect::<Vec<_>>())?;
    let numbers: Vec<String> = answer.into_iter().filter(|it| it.1.is_number()).map(|it| it.0).collect();
    Ok(numbers.iter().filter(|it| !is_end(it, &numbers)).cloned().collect())
}

/// Whether a column is the end of another's interval, as `energy_low_j` is of `energy_j`: what it may be says twice what
/// is not known.
fn is_end(name: &str, all: &[String]) -> bool {
    let parts: Vec<&str> = name.split('_').collect();
    let without = |at: usize| [&parts[..at], &parts[at + 1..]].concat().join("_");
    (0..parts.len()).any(|at| ["low", "high"].contains(&parts[at]) && all.contains(&without(at)))
}

#[derive(Default)]
struct Done {
    points: Vec<Point>,
    spreads: Vec<Interval>,
    /// Why a point has no answer.
    errors: Vec<Option<String>>,
}

impl Done {
    /// In the order of a sweep: what was asked together need not stand together there.
    ///
    /// * `each`: how many columns were asked for
    fn sort(&mut self, each: usize) {
        let mut order: Vec<usize> = (0..self.points.len()).collect();
        order.sort_by(|a, b| self.points[*a].cmp(&self.points[*b]));
        let spreads = |it: &usize| self.spreads[it * each..(it + 1) * each].to_vec();
        *self = Self {
            points: order.iter().map(|it| self.points[*it].clone()).collect(),
            spreads: order.iter().flat_map(spreads).collect(),
            errors: order.iter().map(|it| self.errors[*it].clone()).collect(),
        };
    }
}

/// One column at one point.
#[derive(Clone, Default)]
struct Interval {
    value: Option<f64>,
    median: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    from: [Option<f64>; Group::ALL.len()],
    draws: usize,
}

/// A space in two: axes that name descriptions, each of whose values has doubts of its
/// own, and all others.
struct Parts<'a> {
    outer: Vec<&'a Linked>,
    inner: Space,
    is_outer: Vec<bool>,
}

impl<'a> Parts<'a> {
    fn new(space: &'a Space, asker: &Asker<'_>) -> Self {
        let is_outer: Vec<bool> =
            space.dimensions.iter().map(|it| it.paths().any(|it| asker.anatomy.reshapes(it))).collect();
        let (mut outer, mut inner) = (Vec::new(), Space::default());
        for (it, is_outer) in space.dimensions.iter().zip(&is_outer) {
            if *is_outer {
                outer.push(it);
            } else {
                inner = inner.with(it.axes.clone());
            }
        }
        Self { outer, inner, is_outer }
    }

    /// All combinations of descriptions: their digits, and what is given.
    fn outer_points(&self) -> Result<Vec<(Vec<u64>, Parameters)>, Error> {
        let mut all = vec![(Vec::new(), Parameters::new())];
        for dimension in &self.outer {
            let Axes::Values(axes) = &dimension.axes else { continue };
            let length = dimension.length()?.unwrap_or(0);
            let mut longer = Vec::new();
            for (digits, given) in &all {
                for digit in 0..length {
                    let index = usize::try_from(digit).unwrap_or(usize::MAX);
                    let own = axes.iter().map(|(path, it)| (path.clone(), it.values[index].clone()));
                    let given = given.clone().into_iter().chain(own).collect();
                    longer.push(([digits.as_slice(), &[digit]].concat(), given));
                }
            }
            all = longer;
        }
        Ok(all)
    }

    /// The digits of a point of the whole.
    fn join(&self, outer: &[u64], inner: &[u64]) -> Point {
        let (mut outer, mut inner) = (outer.iter(), inner.iter());
        let next = |is_outer: &bool| if *is_outer { outer.next() } else { inner.next() };
        self.is_outer.iter().map(next).map(|it| it.copied().unwrap_or(0)).collect()
    }
}

/// Who watches: what advances are draws, since a single point takes hundreds.
struct Watched<'a> {
    control: &'a dyn Control,
    /// Points of the whole that were done before.
    before: u64,
    /// Points of the whole.
    size: u64,
}

/// Points that have the same doubts.
struct Asked<'a> {
    asker: Asker<'a>,
    layers: &'a [Parameters],
    of: &'a [String],
    question: &'a Uncertainty,
    watched: Watched<'a>,
}

impl Asked<'_> {
    /// Leaves out readings that the study refuses at every point where nothing else is in doubt, as an engine
    /// does that has only one of them.
    fn possible(&self, space: &Space, doubts: Vec<Doubt>) -> Result<Vec<Doubt>, Error> {
        let mut possible = Vec::new();
        for mut doubt in doubts {
            if let Unknown::Spread(_, Spread::OneOf(all)) = &mut doubt.of {
                let mut answered = self.answered_readings(space, &doubt.path, all)?.into_iter();
                all.retain(|_| answered.next() == Some(true));
                if all.len() < 2 {
                    continue;
                }
            }
            possible.push(doubt);
        }
        Ok(possible)
    }

    /// Which readings have an answer anywhere; all of them if none has.
    fn answered_readings(&self, space: &Space, path: &str, readings: &[Value]) -> Result<Vec<bool>, Error> {
        /// Points that are looked at side by side.
        const TOGETHER: u64 = 64;
        let plan = self.asker.plan(self.layers, &space.clone().linked([(path, readings.to_vec())]))?;
        let (judge, all) = (Judge::new(&plan, &[])?, readings.len() as u64);
        let points = plan.size()? / all;
        let mut found = vec![false; readings.len()];
        let mut start = 0;
        while start < points && found.contains(&false) && !self.watched.control.cancelled() {
            let end = points.min(start + if start == 0 { 1 } else { TOGETHER });
            let open: Vec<usize> = (0..readings.len()).filter(|it| !found[*it]).collect();
            let asked = (start..end).flat_map(|point| open.iter().map(move |it| point * all + *it as u64));
            let asked: Vec<Point> = asked.map(|it| digits_of(&plan, it).into()).collect();
            let verdicts = answered(&plan, &self.asker, &judge, &asked).verdicts;
            for (reading, verdict) in open.iter().cycle().zip(verdicts) {
                found[*reading] |= verdict.is_valued();
            }
            start = end;
        }
        Ok(if found.contains(&true) { found } else { vec![true; readings.len()] })
    }

    /// Why a point has no answer, if it has none.
    fn refusal(&self, plan: &Plan<'_>, digits: &[u64]) -> Option<String> {
        let mut columns = self.asker.empty();
        self.asker.push(&mut Cursor::at(plan, digits.to_vec()), &mut columns);
        columns.into_row().err()
    }

    /// Calls `told` with the digits and intervals of each point of `space`, and with why it has no answer; whether all
    /// were asked.
    fn answer(
        &self,
        space: &Space,
        mut told: impl FnMut(&[u64], Vec<Interval>, Option<String>),
    ) -> Result<bool, Error> {
        let moved: Vec<&str> = space.paths().collect();
        let doubts = doubts(self.asker.anatomy, &self.layers.iter().collect::<Vec<_>>(), &moved)?;
        let doubts = self.possible(space, doubts)?;
        let groups =
            Group::ALL.into_iter().filter(|group| doubts.iter().any(|it| it.group() == *group)).count();
        check_draws(self.question.draws.saturating_mul(1 + groups as u64), doubts.len())?;
        let series = series(&doubts, self.question);
        let drawn = series.iter().map(|it| it.values.len() as u64).sum::<u64>();
        let mut whole = space.clone();
        if !doubts.is_empty() {
            let column = |index: usize| -> Vec<Value> {
                series.iter().flat_map(|it| &it.values).map(|it| it[index].clone()).collect()
            };
            whole =
                whole.linked(doubts.iter().enumerate().map(|(index, it)| (it.path.as_str(), column(index))));
        }
        let plan = self.asker.plan(self.layers, space)?;
        let drawing = self.asker.plan(self.layers, &whole)?;
        let objectives: Vec<Objective> = self.of.iter().map(Objective::minimize).collect();
        let judge = Judge::of_each(&drawing, &objectives)?;
        let (each, goals) = (usize::try_from(drawn.max(1)).unwrap_or(usize::MAX), judge.goals());
        let count = plan.size()?.saturating_mul(drawn.max(1));
        // Of a point whose draws are not all there yet.
        let mut values: Vec<Option<f64>> = Vec::new();
        let mut point = 0;
        let Watched { control, before, size } = self.watched;
        let is_done = paced(count, control, |part| {
            let end = part.end;
            let asked: Vec<Point> = part.map(|it| digits_of(&drawing, it).into()).collect();
            let done = answered(&drawing, &self.asker, &judge, &asked);
            values.extend(done.verdicts.iter().enumerate().flat_map(|(row, verdict)| {
                let own = done.values[row * goals..][..goals].iter();
                own.map(|it| (verdict.is_valued() && !it.is_nan()).then_some(*it))
            }));
            for all in values.chunks_exact(each * goals) {
                let of_goal = |goal: usize| interval(&series, |draw| all[draw * goals + goal]);
                let (digits, intervals) =
                    (digits_of(&plan, point), (0..goals).map(of_goal).collect::<Vec<_>>());
                let error = if intervals.iter().all(|it| it.value.is_none()) {
                    let none = || format!("{} is null or not a finite number here", list(self.of));
                    self.refusal(&plan, &digits).or_else(|| Some(none()))
                } else {
                    None
                };
                told(&digits, intervals, error);
                point += 1;
            }
            values.drain(..values.len() / (each * goals) * (each * goals));
            control.advanced(before * drawn.max(1) + end, size * drawn.max(1));
        });
        Ok(is_done)
    }
}

/// Draws of everything, or of one group alone.
struct Series {
    only: Option<Group>,
    values: Vec<Vec<Value>>,
}

/// What is known first, then all doubts together, then each group by itself where there
/// are several.
fn series(doubts: &[Doubt], question: &Uncertainty) -> Vec<Series> {
    if doubts.is_empty() {
        return Vec::new();
    }
    let key = Key::new(question.seed);
    let draws = |only| {
        let values = (0..question.draws).map(|it| draw(doubts, key.fork(it), only)).collect();
        Series { only, values }
    };
    let nominal = Series { only: None, values: vec![doubts.iter().map(|it| it.nominal.clone()).collect()] };
    let groups = Group::ALL.into_iter().filter(|group| doubts.iter().any(|it| it.group() == *group));
    std::iter::once(nominal).chain([draws(None)]).chain(groups.map(|it| draws(Some(it)))).collect()
}

/// What a column may be, from its values in all draws.
fn interval(series: &[Series], value: impl Fn(usize) -> Option<f64>) -> Interval {
    let mut found = Interval { value: value(0), from: [Some(0.0); Group::ALL.len()], ..Interval::default() };
    if found.value.is_none() {
        return Interval::default();
    }
    (found.median, found.low, found.high) = (found.value, found.value, found.value);
    let mut start = 1;
    for it in series.iter().skip(1) {
        let draws = start..start + it.values.len();
        start = draws.end;
        let mut sorted: Vec<f64> = draws.filter_map(&value).collect();
        sorted.sort_by(f64::total_cmp);
        let (low, high) = (quantile(&sorted, 0.05), quantile(&sorted, 0.95));
        match it.only {
            None => {
                found.median = quantile(&sorted, 0.5);
                // What is in doubt to one side only leaves the value at the other end, or beyond.
                found.low = low.zip(found.value).map(|(low, value)| low.min(value));
                found.high = high.zip(found.value).map(|(high, value)| high.max(value));
                found.draws = sorted.len();
            }
            Some(group) => found.from[group as usize] = low.zip(high).map(|(low, high)| (high - low) / 2.0),
        }
    }
    found
}

/// Between the values beside it.
fn quantile(sorted: &[f64], place: f64) -> Option<f64> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "an index"
    )]
    let (index, share) = {
        let at = place * sorted.len().saturating_sub(1) as f64;
        (at as usize, at.fract())
    };
    let (low, high) = (sorted.get(index)?, sorted.get(index + 1).or(sorted.last())?);
    Some(low + (high - low) * share)
}
