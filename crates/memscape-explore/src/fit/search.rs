//! The search for the least: combinations of whole numbers, coarse looks, lines, and steps that slopes advise.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;

use argmin::core::{CostFunction, Executor};
use argmin::solver::brent::BrentOpt;

use super::error::{At, FitError};
use super::fitted::{Fitted, FittedParameter, Limit};
use super::method::{FitMethod, Steps};
use super::parameter::{FitParameter, Scale};
use super::residual::Residual;
use super::slopes::Slopes;
use crate::control::Control;
use crate::space::{Method, places};

/// Steps of the coarse look over a parameter's range, before the fine one.
const COARSE: u32 = 12;

/// Steps of Brent's method at the most: bisection alone would end by then.
const BRENT_STEPS: u64 = 100;

/// Doublings of the step along the way that a round went.
const FARTHEST: u32 = 7;

/// Dampings of the step that the slopes advise, of what the strongest of all directions could have.
const DAMPINGS: [f64; 7] = [0.0, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0];

/// Dampings that slopes of elsewhere are worth.
const ELSEWHERE: usize = 2;

/// Relative gain of a round that does not count.
const NO_GAIN: f64 = 1e-12;

/// Relative gain of a step by slopes alone that is not worth asking for other slopes: parameters are then within a tenth
/// of their deviations.
const LITTLE_GAIN: f64 = 1e-3;

/// Points of all ranges together that are looked at for other starts.
const LOOKED_AT: usize = 64;

/// Halvings that find the edge of a plateau.
const HALVINGS: u32 = 30;

/// Values of fits that are as good as each other are apart, relative to the larger.
const APART: f64 = 1e-3;

/// Errors that are nothing, in the root of their mean square.
const EXACT: f64 = 1e-6;

/// Combinations of whole numbers at the most: each is a fit of its own.
const MOST_COMBINATIONS: usize = 1000;

/// Finds the values at which the weighted sum of squared errors, as far as they are
/// beyond their slack, is least. Every combination of whole numbers is tried; with the best of them, other starts are,
/// too ([`FitMethod::parts`]).
///
/// The same input gives the same result. `control` is told of rounds, each over all
/// parameters; when it says stop, the best so far is returned.
///
/// ```
/// use memscape_explore::{FitParameter, FitMethod, Residual, fit};
///
/// // Bytes and seconds; time = overhead + bytes / rate.
/// let seen = [(1e6, 1.1e-3), (2e6, 2.09e-3), (4e6, 4.1e-3), (8e6, 8.11e-3)];
/// let free = [
///     FitParameter::new("overhead_s", 0.0, 1e-2),
///     FitParameter::new("bytes_per_s", 1e6, 1e12).logarithmic(),
/// ];
/// let fitted = fit(&free, &FitMethod::MEASURED, &(), |values| {
///     let residual = |(bytes, seconds)| Residual::new((values[0] + bytes / values[1]) / seconds - 1.0);
///     Ok::<_, std::convert::Infallible>(seen.map(residual).to_vec())
/// })?;
/// let rate = &fitted.parameters[1];
/// assert!((rate.value - 1e9).abs() < 2.0 * rate.standard_error.unwrap());
/// assert!(fitted.converged && fitted.rms < 0.01);
/// # Ok::<(), memscape_explore::FitError<std::convert::Infallible>>(())
/// ```
///
/// # Errors
/// [`FitError::BadParameter`] if a range is empty or two parameters have one key,
/// [`FitError::NoParameters`] and [`FitError::NoResiduals`] if there are none,
/// [`FitError::Model`] if the model has no answer somewhere in the ranges.
///
/// # Panics
/// Never: what could is checked before.
pub fn fit<E>(
    parameters: &[FitParameter],
    method: &FitMethod,
    control: &dyn Control,
    residuals: impl Fn(&[f64]) -> Result<Vec<Residual>, E>,
) -> Result<Fitted, FitError<E>> {
    let counts = check(parameters)?;
    let search = Search {
        parameters,
        method,
        control,
        residuals,
        evaluations: Cell::new(0),
        before: Cell::new(None),
        rounds: Cell::new((0, (counts.len() * method.rounds) as u64)),
    };
    let (mut ends, mut stopped) = (Vec::new(), false);
    for point in counts {
        let ending = search.from(point)?;
        stopped = ending.as_ref().is_none_or(|it| it.stopped);
        ends.extend(ending);
        if stopped {
            break;
        }
    }
    let cost = |it: &Ending| it.place.cost;
    let least = (0..ends.len()).min_by(|a, b| cost(&ends[*a]).total_cmp(&cost(&ends[*b])));
    let mut best =
        ends.swap_remove(least.expect("a range has a number in it, and nobody stops the first question"));
    stopped = stopped || search.elsewhere(&mut best);
    best.converged &= !stopped;
    // What other whole numbers do as well.
    ends.retain(|it| !search.surely_better(cost(&best), cost(it)));
    search.told(best, &ends)
}

/// Checks each parameter; every combination of whole numbers, with the starts of the
/// other parameters.
fn check<E>(parameters: &[FitParameter]) -> Result<Vec<Vec<f64>>, FitError<E>> {
    if parameters.is_empty() {
        return Err(FitError::NoParameters);
    }
    let bad = |it: &FitParameter, problem: String| FitError::BadParameter { key: it.key.clone(), problem };
    let mut seen = HashSet::new();
    let mut points = vec![Vec::new()];
    for it in parameters {
        it.check().map_err(|problem| bad(it, problem))?;
        if !seen.insert(&it.key) {
            return Err(bad(it, "it is given twice; remove one".to_owned()));
        }
        let values = if it.whole {
            whole_numbers(it).ok_or_else(|| {
                let problem = format!("from {} to {} are too many whole numbers", it.min, it.max);
                bad(it, format!("{problem}; each is a fit of its own, so give at most {MOST_COMBINATIONS}"))
            })?
        } else {
            vec![it.start]
        };
        points = points
            .into_iter()
            .flat_map(|point| values.iter().map(move |value| [&point[..], &[*value]].concat()))
            .collect();
        if MOST_COMBINATIONS < points.len() {
            let problem = format!("with it, whole parameters have {} combinations", points.len());
            return Err(bad(
                it,
                format!("{problem}; each is a fit of its own, so give at most {MOST_COMBINATIONS}"),
            ));
        }
    }
    Ok(points)
}

/// All of a range, unless they are too many.
fn whole_numbers(it: &FitParameter) -> Option<Vec<f64>> {
    #[expect(clippy::cast_precision_loss, reason = "a thousand")]
    let most = MOST_COMBINATIONS as f64;
    (it.max - it.min < most).then(|| {
        std::iter::successors(Some(it.min), |last| Some(last + 1.0))
            .take_while(|value| *value <= it.max)
            .collect()
    })
}

/// Why a search goes no further.
enum Halt<E> {
    /// Who watches said so.
    Stopped,
    Failed(FitError<E>),
}

/// A point, and what is there.
struct Place {
    point: Vec<f64>,
    residuals: Vec<Residual>,
    cost: f64,
}

/// Where a search ended, and why.
struct Ending {
    place: Place,
    converged: bool,
    stopped: bool,
}

struct Search<'a, F> {
    parameters: &'a [FitParameter],
    method: &'a FitMethod,
    control: &'a dyn Control,
    residuals: F,
    evaluations: Cell<u64>,
    /// How many residuals there were at the first point.
    before: Cell<Option<usize>>,
    /// Done, and at the most.
    rounds: Cell<(u64, u64)>,
}

impl<E, F: Fn(&[f64]) -> Result<Vec<Residual>, E>> Search<'_, F> {
    /// Rounds over all continuous parameters, from this point on; none if stopped
    /// before the first answer.
    fn from(&self, point: Vec<f64>) -> Result<Option<Ending>, FitError<E>> {
        let mut place = match self.ask(point) {
            Ok(place) => place,
            Err(Halt::Stopped) => return Ok(None),
            Err(Halt::Failed(error)) => return Err(error),
        };
        match self.go(&mut place) {
            Ok(converged) => Ok(Some(Ending { place, converged, stopped: false })),
            Err(Halt::Stopped) => Ok(Some(Ending { place, converged: false, stopped: true })),
            Err(Halt::Failed(error)) => Err(error),
        }
    }

    /// Goes to where other starts end, if that is better; whether it was stopped. Where the model has no answer, there
    /// is no start.
    fn elsewhere(&self, best: &mut Ending) -> bool {
        // What is alone has been looked over from end to end.
        let one = self.method.parts == 0 || self.continuous().count() < 2;
        if one || !self.surely_better(0.0, best.place.cost) {
            return false;
        }
        let mut looked: Vec<Place> = Vec::new();
        for start in self.spread(&best.place.point) {
            match self.ask(start) {
                Ok(place) => looked.push(place),
                Err(Halt::Stopped) => return true,
                Err(Halt::Failed(_)) => {}
            }
        }
        let starts = self.best_of_parts(&looked);
        let (done, all) = self.rounds.get();
        self.rounds.set((done, all + (starts.len() * self.method.rounds) as u64));
        for point in starts {
            let ending = match self.from(point) {
                Ok(Some(it)) if !it.stopped => it,
                Ok(_) => return true,
                Err(_) => continue,
            };
            if self.surely_better(ending.place.cost, best.place.cost) {
                *best = ending;
            }
        }
        false
    }

    /// The best of each part of each range, once each.
    fn best_of_parts(&self, looked: &[Place]) -> Vec<Vec<f64>> {
        let mut best: Vec<usize> = Vec::new();
        for index in self.continuous() {
            let parameter = &self.parameters[index];
            let (lowest, highest) = parameter.ends();
            for part in 0..self.method.parts {
                let end =
                    |it: u32| lowest + (highest - lowest) * f64::from(it) / f64::from(self.method.parts);
                let is_in = |it: &usize| {
                    (end(part)..end(part + 1)).contains(&parameter.coordinate(looked[*it].point[index]))
                };
                let least = |a: &usize, b: &usize| looked[*a].cost.total_cmp(&looked[*b].cost);
                best.extend((0..looked.len()).filter(is_in).min_by(least));
            }
        }
        best.sort_unstable();
        best.dedup();
        best.into_iter().map(|it| looked[it].point.clone()).collect()
    }

    /// Points that are spread over all ranges of continuous parameters.
    fn spread(&self, point: &[f64]) -> Vec<Vec<f64>> {
        let mut all = vec![point.to_vec(); LOOKED_AT];
        for index in self.continuous() {
            let (lowest, highest) = self.parameters[index].ends();
            let places = places(Method::Latin, 0, LOOKED_AT as u64, index as u64);
            for (point, place) in all.iter_mut().zip(places) {
                point[index] = self.valid(index, place.mul_add(highest - lowest, lowest));
            }
        }
        all
    }

    /// Whether one cost is less than another by more than searches leave.
    fn surely_better(&self, one: f64, other: f64) -> bool {
        let count = self.before.get().map_or(0.0, float);
        one * (1.0 + EXACT) + count * EXACT * EXACT < other
    }

    /// Goes to better places until nothing moves; whether that was so.
    fn go(&self, place: &mut Place) -> Result<bool, Halt<E>> {
        if self.method.steps == Steps::Slopes {
            return self.descend(place);
        }
        for round in 0..self.method.rounds {
            let (before, cost) = (place.point.clone(), place.cost);
            for index in self.continuous() {
                let value = self.least(place, index, round == 0)?;
                let mut candidate = place.point.clone();
                candidate[index] = value;
                self.take_if_better(place, candidate)?;
            }
            if self.method.steps == Steps::LinesAndSlopes {
                let columns = self.columns(&place.point)?;
                self.step(place, &columns, &DAMPINGS)?;
            }
            self.done_one();
            if self.is_still(&before, cost * (1.0 - NO_GAIN), place) {
                return Ok(true);
            }
            self.further(place, &before)?;
        }
        Ok(false)
    }

    /// Goes where slopes lead until those of where it is lead nowhere; whether that was so. On the way each step says
    /// what the slopes along it are.
    ///
    /// # Source
    /// Broyden, Math. Comp. 19, 1965.
    fn descend(&self, place: &mut Place) -> Result<bool, Halt<E>> {
        let mut columns = self.columns(&place.point)?;
        let (mut of_here, mut first) = (true, 0);
        for _ in 0..self.method.rounds {
            let (before, residuals, cost) = (place.point.clone(), place.residuals.clone(), place.cost);
            let some = if of_here { DAMPINGS.len() } else { (first + ELSEWHERE).min(DAMPINGS.len()) };
            if let Some(further) = self.step(place, &columns, &DAMPINGS[first..some])? {
                // The next step is about as bold.
                first = (first + further).saturating_sub(1);
            }
            self.done_one();
            if !self.is_still(&before, cost * (1.0 - LITTLE_GAIN), place) {
                self.turn(&mut columns, (&before, &residuals), place);
                of_here = false;
            } else if of_here {
                return Ok(true);
            } else {
                columns = self.columns(&place.point)?;
                of_here = true;
            }
        }
        Ok(false)
    }

    /// Whether a round led nowhere: to where all is as it was, or costs not less than this.
    fn is_still(&self, before: &[f64], least: f64, place: &Place) -> bool {
        let change = |index: usize| {
            let (from, to) = (before[index], place.point[index]);
            (to - from).abs() / to.abs().max(f64::MIN_POSITIVE)
        };
        let moved = self.continuous().map(change).fold(0.0, f64::max);
        moved <= self.method.still() || least <= place.cost
    }

    /// Makes slopes say what a step did, and otherwise what they said.
    fn turn(&self, columns: &mut [Vec<f64>], from: (&[f64], &[Residual]), to: &Place) {
        let steps: Vec<(f64, f64)> = self
            .continuous()
            .map(|index| {
                let parameter = &self.parameters[index];
                let (lowest, highest) = parameter.ends();
                let step = parameter.coordinate(to.point[index]) - parameter.coordinate(from.0[index]);
                // Lengths are shares of ranges, so that units do not matter.
                (step, step / (highest - lowest).powi(2))
            })
            .collect();
        let length: f64 = steps.iter().map(|(step, scaled)| step * scaled).sum();
        for (row, (before, after)) in from.1.iter().zip(&to.residuals).enumerate() {
            let said: f64 = columns.iter().zip(&steps).map(|(column, (step, _))| column[row] * step).sum();
            let amiss = (after.error - before.error - said) / length;
            for (column, (_, scaled)) in columns.iter_mut().zip(&steps) {
                column[row] += amiss * scaled;
            }
        }
    }

    fn done_one(&self) {
        let (done, all) = self.rounds.get();
        self.rounds.set((done + 1, all));
        self.control.advanced(done + 1, all);
    }

    /// Indices of the parameters that are not whole.
    fn continuous(&self) -> impl Iterator<Item = usize> + Clone {
        let parameters = self.parameters;
        (0..parameters.len()).filter(|it| !parameters[*it].whole)
    }

    /// What the model says at a point.
    fn ask(&self, point: Vec<f64>) -> Result<Place, Halt<E>> {
        if self.control.cancelled() && self.before.get().is_some() {
            return Err(Halt::Stopped);
        }
        self.evaluations.set(self.evaluations.get() + 1);
        let at = || At(self.parameters.iter().map(|it| it.key.clone()).zip(point.iter().copied()).collect());
        let asked = (self.residuals)(&point);
        let residuals = asked.map_err(|problem| Halt::Failed(FitError::Model { problem, at: at() }))?;
        let given = residuals.len();
        if given == 0 {
            return Err(Halt::Failed(FitError::NoResiduals));
        }
        match self.before.replace(Some(given)) {
            Some(before) if before != given => {
                return Err(Halt::Failed(FitError::Uneven { given, before, at: at() }));
            }
            _ => {}
        }
        if let Some((row, residual)) = residuals.iter().enumerate().find(|it| !it.1.is_one()) {
            return Err(Halt::Failed(FitError::NotANumber { row, residual: *residual, at: at() }));
        }
        let square = |it: &Residual| it.beyond().powi(2) + self.method.trace * it.error.powi(2);
        let cost = residuals.iter().map(square).sum();
        Ok(Place { point, residuals, cost })
    }

    /// Whether it was better.
    fn take_if_better(&self, place: &mut Place, candidate: Vec<f64>) -> Result<bool, Halt<E>> {
        if candidate == place.point {
            return Ok(false);
        }
        let there = self.ask(candidate)?;
        let better = there.cost < place.cost;
        if better {
            *place = there;
        }
        Ok(better)
    }

    /// The best value of one parameter, all others held: in all of its range, or
    /// around where it is.
    fn least(&self, place: &Place, index: usize, everywhere: bool) -> Result<f64, Halt<E>> {
        let parameter = &self.parameters[index];
        let (lowest, highest) = parameter.ends();
        let step = (highest - lowest) / f64::from(COARSE);
        let line = Line { search: self, point: &place.point, index, failed: RefCell::default() };
        let middle =
            if everywhere { line.best_of(lowest, step)? } else { parameter.coordinate(place.point[index]) };
        let (low, high) = ((middle - step).max(lowest), (middle + step).min(highest));
        let precision = self.method.precision();
        let solver = BrentOpt::new(low, high).set_tolerance(precision, 1e-2 * precision * (high - low));
        let run = Executor::new(&line, solver).configure(|it| it.max_iters(BRENT_STEPS)).run();
        let found = match run {
            Ok(run) => run.state.best_param.unwrap_or(middle),
            Err(error) => {
                let failed = line.failed.take();
                return Err(failed.unwrap_or_else(|| Halt::Failed(FitError::Search(error.to_string()))));
            }
        };
        // Brent's method comes close to the ends, but never asks there.
        let near = |end: f64| self.method.digits.is_none() && (found - end).abs() <= 1e-2 * step;
        for (end, value) in [(lowest, parameter.min), (highest, parameter.max)] {
            if near(end) && line.cost_at(value)? <= line.cost_at(parameter.value(found))? {
                return Ok(value);
            }
        }
        Ok(self.method.round(parameter.value(found)).clamp(parameter.min, parameter.max))
    }

    /// Where parameters are tied together, single steps only zigzag along the
    /// valley: goes on the way that the whole round went, in longer and longer steps.
    fn further(&self, place: &mut Place, from: &[f64]) -> Result<(), Halt<E>> {
        let to = place.point.clone();
        for factor in (0..FARTHEST).map(|it| f64::from(1_u32 << it)) {
            let mut candidate = to.clone();
            for index in self.continuous() {
                let parameter = &self.parameters[index];
                let (start, end) = (parameter.coordinate(from[index]), parameter.coordinate(to[index]));
                candidate[index] = self.valid(index, factor.mul_add(end - start, end));
            }
            if !self.take_if_better(place, candidate)? {
                break;
            }
        }
        Ok(())
    }

    /// Goes where the slopes of the residuals say that the least is, or part of the
    /// way: where parameters are tied together, this is the way along the valley.
    ///
    /// * `columns`: of slopes, as of [`columns`](Self::columns)
    /// * `dampings`: one after the other, until one leads to something better; which that is, if any does
    fn step(
        &self,
        place: &mut Place,
        columns: &[Vec<f64>],
        dampings: &[f64],
    ) -> Result<Option<usize>, Halt<E>> {
        // What is beyond slack moves as errors do, what is within it not; of all errors there is a trace.
        let trace = self.method.trace.sqrt();
        let beyond = |it: &Residual| it.beyond().copysign(it.error);
        let outside = |it: &Residual| if 0.0 < it.beyond() { 1.0 } else { 0.0 };
        let errors = place.residuals.iter().map(beyond);
        let errors: Vec<f64> = errors.chain(place.residuals.iter().map(|it| trace * it.error)).collect();
        let both = |column: &Vec<f64>| {
            let outside = place.residuals.iter().zip(column).map(|(it, slope)| outside(it) * slope);
            outside.chain(column.iter().map(|slope| trace * slope)).collect()
        };
        let slopes = Slopes::new(columns.iter().map(both).collect(), &self.ranges());
        for (number, damping) in dampings.iter().enumerate() {
            let mut candidate = place.point.clone();
            for (index, step) in self.continuous().zip(slopes.step(&errors, *damping)) {
                let coordinate = self.parameters[index].coordinate(candidate[index]);
                candidate[index] = self.valid(index, coordinate + step);
            }
            if self.take_if_better(place, candidate)? {
                return Ok(Some(number));
            }
        }
        Ok(None)
    }

    /// The value at a coordinate, with the digits that it has, in its range.
    fn valid(&self, index: usize, coordinate: f64) -> f64 {
        let parameter = &self.parameters[index];
        self.method.round(parameter.value(coordinate)).clamp(parameter.min, parameter.max)
    }

    /// How errors change with the coordinates of the continuous parameters, a column for each, from differences to both
    /// sides as far as the ranges allow.
    fn columns(&self, point: &[f64]) -> Result<Vec<Vec<f64>>, Halt<E>> {
        let column = |index: usize| {
            let parameter = &self.parameters[index];
            let (lowest, highest) = parameter.ends();
            let (middle, reach) =
                (parameter.coordinate(point[index]), parameter.reach(point[index], self.method.reach()));
            let ends = [(middle - reach).max(lowest), (middle + reach).min(highest)];
            let [before, after] = ends.map(|end| {
                let mut point = point.to_vec();
                point[index] = parameter.value(end);
                self.ask(point)
            });
            let (before, after) = (before?.residuals, after?.residuals);
            let slope = |(a, b): (&Residual, &Residual)| (b.error - a.error) / (ends[1] - ends[0]);
            Ok(before.iter().zip(&after).map(slope).collect())
        };
        self.continuous().map(column).collect()
    }

    /// Widths of the continuous parameters' ranges, in coordinates.
    fn ranges(&self) -> Vec<f64> {
        let width = |(lowest, highest): (f64, f64)| highest - lowest;
        self.continuous().map(|index| width(self.parameters[index].ends())).collect()
    }

    /// Slopes just beyond the edges of where a parameter moves nothing, all others held: it may do there what another
    /// does, which is then no better known for this one to be out of the way. Models with jumps stand still
    /// between any two of them, and are not asked.
    ///
    /// * `columns`: of slopes, as of [`columns`](Self::columns)
    fn beside(&self, place: &Place, columns: &[Vec<f64>]) -> Vec<Slopes> {
        if self.method.steps != Steps::LinesAndSlopes {
            return Vec::new();
        }
        let still = self.continuous().zip(columns).filter(|it| it.1.iter().all(|slope| *slope == 0.0));
        let edges = still.filter_map(|(index, _)| self.edges(place, index).ok()).flatten();
        edges.filter_map(|it| self.columns(&it).ok()).map(|it| Slopes::new(it, &self.ranges())).collect()
    }

    /// Points to both sides at which a parameter that moves nothing begins to, all others held; beyond the edge as far
    /// as slopes look.
    fn edges(&self, place: &Place, index: usize) -> Result<Vec<Vec<f64>>, Halt<E>> {
        let parameter = &self.parameters[index];
        let at = |coordinate: f64| {
            let mut point = place.point.clone();
            point[index] = parameter.value(coordinate);
            point
        };
        let moves = |coordinate: f64| match self.ask(at(coordinate)) {
            Ok(there) => Ok(there.residuals != place.residuals),
            // Where the model has no answer, there is no plateau either.
            Err(Halt::Failed(_)) => Ok(true),
            Err(stopped) => Err(stopped),
        };
        let (lowest, highest) = parameter.ends();
        let mut found = Vec::new();
        for end in [lowest, highest] {
            if !moves(end)? {
                continue;
            }
            let (mut still, mut moving) = (parameter.coordinate(place.point[index]), end);
            for _ in 0..HALVINGS {
                let middle = f64::midpoint(still, moving);
                if moves(middle)? {
                    moving = middle;
                } else {
                    still = middle;
                }
            }
            let reach = parameter.reach(parameter.value(moving), self.method.reach());
            let beyond = moving + (2.0 * reach).copysign(end - still);
            found.push(at(beyond.clamp(lowest, highest)));
        }
        Ok(found)
    }

    /// The result, with how well it is known.
    ///
    /// * `ties`: of other whole numbers, which are as good
    fn told(&self, best: Ending, ties: &[Ending]) -> Result<Fitted, FitError<E>> {
        let Ending { place, converged, .. } = best;
        let columns = match self.columns(&place.point) {
            Ok(columns) => Some(columns),
            Err(Halt::Stopped) => None,
            Err(Halt::Failed(error)) => return Err(error),
        };
        let beside = columns.iter().flat_map(|it| self.beside(&place, it)).collect::<Vec<Slopes>>();
        let slopes = columns.map(|it| Slopes::new(it, &self.ranges()));
        let total = |of: fn(&Residual) -> f64| place.residuals.iter().map(of).sum::<f64>();
        let variance = slopes.as_ref().and_then(|it| {
            let more = place.residuals.len().checked_sub(it.rank()).filter(|it| 0 < *it)?;
            Some(total(|it| it.error.powi(2)) / float(more))
        });
        let known =
            if self.method.deviations { Some(variance.map_or(1.0, |it| it.max(1.0))) } else { variance };
        let covariance = slopes.as_ref().zip(known).map(|(it, s2)| self.covariance(it, s2, &place.point));
        let identified = slopes.iter().flat_map(Slopes::identified).enumerate();
        let mut identified =
            identified.map(|(at, here)| *here && beside.iter().all(|it| it.identified()[at]));
        let mut parameter = |index: usize| {
            let (it, value) = (&self.parameters[index], place.point[index]);
            let apart = |other: &Ending| {
                let other = other.place.point[index];
                (value - other).abs() > APART * value.abs().max(other.abs())
            };
            let identified = (it.whole || identified.next().unwrap_or(true)) && !ties.iter().any(apart);
            let known = covariance.as_ref().filter(|_| identified && !it.whole);
            FittedParameter {
                key: it.key.clone(),
                value,
                standard_error: known.map(|all| all[index][index].sqrt()),
                moved: differ(value, it.start),
                limit: self.limit(it, value),
                identified,
            }
        };
        Ok(Fitted {
            parameters: (0..self.parameters.len()).map(&mut parameter).collect(),
            rms: (total(|it| it.beyond().powi(2)) / float(place.residuals.len())).sqrt(),
            variance,
            covariance,
            evaluations: self.evaluations.get(),
            converged,
            residuals: place.residuals,
        })
    }

    /// The end of a parameter's range that a value is as near to as the search comes.
    fn limit(&self, it: &FitParameter, value: f64) -> Option<Limit> {
        let near = |end: f64| {
            let width = value.abs().max(1e-2 * (it.max - it.min));
            (value - end).abs() <= 4.0 * self.method.precision() * width
        };
        match value {
            _ if !differ(it.min, it.max) => None,
            _ if near(it.min) => Some(Limit::Lowest),
            _ if near(it.max) => Some(Limit::Highest),
            _ => None,
        }
    }

    /// Of all parameters' values: 0 for those that are held.
    fn covariance(&self, slopes: &Slopes, variance: f64, point: &[f64]) -> Vec<Vec<f64>> {
        let mut all = vec![vec![0.0; point.len()]; point.len()];
        let inverse = slopes.inverse_square();
        // How a value changes with its coordinate.
        let unit = |index: usize| match self.parameters[index].scale {
            Scale::Linear => 1.0,
            Scale::Logarithmic => point[index],
        };
        for (row, inverse) in self.continuous().zip(inverse) {
            for (column, entry) in self.continuous().zip(inverse) {
                all[row][column] = variance * entry * unit(row) * unit(column);
            }
        }
        all
    }
}

/// One parameter varied, all others held.
struct Line<'a, E, F> {
    search: &'a Search<'a, F>,
    point: &'a [f64],
    index: usize,
    /// What the search's own error type does not hold.
    failed: RefCell<Option<Halt<E>>>,
}

impl<E, F: Fn(&[f64]) -> Result<Vec<Residual>, E>> Line<'_, E, F> {
    fn cost_at(&self, value: f64) -> Result<f64, Halt<E>> {
        let mut point = self.point.to_vec();
        point[self.index] = value;
        Ok(self.search.ask(point)?.cost)
    }

    /// The best of evenly spread coordinates.
    fn best_of(&self, lowest: f64, step: f64) -> Result<f64, Halt<E>> {
        let mut best = (f64::INFINITY, lowest);
        for it in 0..=COARSE {
            let coordinate = lowest + f64::from(it) * step;
            let cost = self.cost_at(self.search.parameters[self.index].value(coordinate))?;
            if cost < best.0 {
                best = (cost, coordinate);
            }
        }
        Ok(best.1)
    }
}

impl<E, F: Fn(&[f64]) -> Result<Vec<Residual>, E>> CostFunction for &Line<'_, E, F> {
    type Param = f64;
    type Output = f64;

    fn cost(&self, coordinate: &f64) -> Result<f64, argmin::core::Error> {
        self.cost_at(self.search.parameters[self.index].value(*coordinate)).map_err(|halt| {
            self.failed.replace(Some(halt));
            argmin::core::Error::msg("the model has no answer")
        })
    }
}

#[expect(clippy::float_cmp, reason = "whether it was touched at all")]
fn differ(a: f64, b: f64) -> bool {
    a != b
}

#[expect(clippy::cast_precision_loss, reason = "counts of residuals")]
fn float(count: usize) -> f64 {
    count as f64
}
