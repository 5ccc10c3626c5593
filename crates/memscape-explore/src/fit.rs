//! Parameters from what they should yield: a weighted least-squares fit.
//!
//! A fit knows nothing of studies: it is given a function from parameter values to
//! [`Residual`]s. Whole parameters (counts) are tried in every combination.
//! Continuous ones are fitted one after the other, round by round until nothing
//! moves: first a coarse look over the whole range, then Brent's method around the
//! best. A model may have steps and kinks: nothing here needs its derivative, which
//! only shortens the way where it helps.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::fmt;

use argmin::core::{CostFunction, Executor};
use argmin::solver::brent::BrentOpt;
use memscape_study::FreeParameter;
use serde::Serialize;

use crate::control::Control;
use crate::slopes::Slopes;

/// A parameter that a fit may move.
///
/// ```
/// use memscape_explore::{FitParameter, Scale};
/// let overhead = FitParameter::new("overhead_ns", 0.0, 1e6).starting_at(2e5);
/// let rate = FitParameter::new("rate_gb_s", 1e-2, 1e3).logarithmic();
/// assert_eq!((overhead.start, rate.start), (2e5, 10f64.sqrt()));
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FitParameter {
    /// What it is called: a study's dotted path for example.
    pub key: String,
    /// Lowest value of the fit.
    pub min: f64,
    /// Highest value of the fit.
    pub max: f64,
    /// Where it begins, and stays if nothing is better.
    pub start: f64,
    /// Whether only whole numbers make sense; every one is tried.
    pub whole: bool,
    /// How its range is looked over.
    pub scale: Scale,
}

/// How a range is looked over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// In equal steps.
    Linear,
    /// In equal ratios: for rates and costs that span orders of magnitude.
    Logarithmic,
}

impl FitParameter {
    /// A continuous parameter that begins in the middle of its range.
    #[must_use]
    pub fn new(key: impl Into<String>, min: f64, max: f64) -> Self {
        let start = f64::midpoint(min, max);
        Self { key: key.into(), min, max, start, whole: false, scale: Scale::Linear }
    }

    /// Begins at `start`.
    #[must_use]
    pub fn starting_at(self, start: f64) -> Self {
        Self { start, ..self }
    }

    /// Only whole numbers; begins at the lowest.
    #[must_use]
    pub fn whole(self) -> Self {
        Self { whole: true, start: self.min, ..self }
    }

    /// Equal ratios instead of equal steps; begins in the middle of these.
    #[must_use]
    pub fn logarithmic(self) -> Self {
        Self { scale: Scale::Logarithmic, start: (self.min * self.max).sqrt(), ..self }
    }

    /// Where `value` stands, in equal steps.
    fn coordinate(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Linear => value,
            Scale::Logarithmic => value.ln(),
        }
    }

    /// What stands there, within the range.
    fn value(&self, coordinate: f64) -> f64 {
        let value = match self.scale {
            Scale::Linear => coordinate,
            Scale::Logarithmic => coordinate.exp(),
        };
        value.clamp(self.min, self.max)
    }

    /// Both ends of the range, in coordinates.
    fn ends(&self) -> (f64, f64) {
        (self.coordinate(self.min), self.coordinate(self.max))
    }

    /// How far a difference reaches that shows the slope: a thousandth of the value.
    /// Models count in whole picoseconds and cycles; shorter ones would see these.
    fn reach(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Linear => 1e-3 * value.abs().max(1e-3 * (self.max - self.min)),
            Scale::Logarithmic => 1e-3,
        }
    }

    fn check(&self) -> Result<(), String> {
        let Self { min, max, start, .. } = *self;
        if !(min.is_finite() && max.is_finite()) {
            return Err(format!("its range is from {min} to {max}; give two numbers"));
        }
        if max < min || (max <= min && !self.whole) {
            return Err(format!("its range from {min} to {max} is empty; give `min` below `max`"));
        }
        if self.whole && (min.fract() != 0.0 || max.fract() != 0.0) {
            return Err(format!("it is whole, but its range is from {min} to {max}; give whole numbers"));
        }
        if self.scale == Scale::Logarithmic && min <= 0.0 {
            return Err(format!(
                "it is looked over by its logarithm, but begins at {min}; give `min` above 0"
            ));
        }
        if !(min..=max).contains(&start) {
            return Err(format!("it starts at {start}, outside of its range from {min} to {max}"));
        }
        Ok(())
    }
}

impl From<&FreeParameter> for FitParameter {
    /// Begins at the stored value.
    fn from(free: &FreeParameter) -> Self {
        let FreeParameter { value, min, max, whole, .. } = *free;
        Self { key: free.key(), min, max, start: value, whole, scale: Scale::Linear }
    }
}

/// How far a model is from one number that it should yield.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Residual {
    /// The model's less the number, in what makes all errors comparable: relative to
    /// the number, or to how well it is known.
    pub error: f64,
    /// Up to where an error is none, such as the rounding of a printed number.
    pub slack: f64,
    /// What its square counts.
    pub weight: f64,
}

impl Residual {
    /// Every error counts, and as much as any other.
    #[must_use]
    pub const fn new(error: f64) -> Self {
        Self { error, slack: 0.0, weight: 1.0 }
    }

    /// Errors up to `slack` are none.
    #[must_use]
    pub const fn within(self, slack: f64) -> Self {
        Self { slack, ..self }
    }

    /// Its square counts so much.
    #[must_use]
    pub const fn weighing(self, weight: f64) -> Self {
        Self { weight, ..self }
    }

    /// How far the error is beyond what is none.
    #[must_use]
    pub fn beyond(&self) -> f64 {
        (self.error.abs() - self.slack).max(0.0)
    }

    fn is_one(&self) -> bool {
        self.error.is_finite() && 0.0 <= self.slack && 0.0 <= self.weight && self.weight.is_finite()
    }

    /// With the root of its weight.
    fn weighted(&self) -> f64 {
        self.weight.sqrt() * self.error
    }
}

/// How a fit searches.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FitMethod {
    /// Rounds over all parameters at the most.
    pub rounds: usize,
    /// Significant digits of the values; all that floats hold if none.
    pub digits: Option<usize>,
    /// Whether each round also tries the step to where the slopes of the residuals
    /// say that the least is: for models without jumps.
    pub slopes: bool,
    /// Weight of plain errors beside those beyond their slack: where slack leaves a
    /// range of values, they pick one.
    pub trace: f64,
}

impl FitMethod {
    /// For measurements: as exact as floats are.
    pub const MEASURED: Self = Self { rounds: 60, digits: None, slopes: true, trace: 1e-3 };

    /// For printed numbers and models with steps: four digits of each value.
    pub const PRINTED: Self = Self { rounds: 12, digits: Some(4), slopes: false, ..Self::MEASURED };

    /// Relative width of what Brent's method leaves open.
    fn precision(&self) -> f64 {
        let power = |it: usize| 10_f64.powi(-i32::try_from(it).unwrap_or(i32::MAX));
        // The root of what floats resolve: a least sum of squares shows no more.
        self.digits.map_or(1e-8, power)
    }

    /// Relative change of a parameter that does not count: half of its last digit.
    fn still(&self) -> f64 {
        5.0 * self.precision()
    }

    fn round(&self, value: f64) -> f64 {
        match self.digits {
            Some(digits) => format!("{value:.*e}", digits.saturating_sub(1)).parse().unwrap_or(value),
            None => value,
        }
    }
}

impl Default for FitMethod {
    fn default() -> Self {
        Self::MEASURED
    }
}

/// Steps of the coarse look over a parameter's range, before the fine one.
const COARSE: u32 = 12;

/// Steps of Brent's method at the most: bisection alone would end by then.
const BRENT_STEPS: u64 = 100;

/// Doublings of the step along the way that a round went.
const FARTHEST: u32 = 7;

/// Halvings of the step that the slopes advise.
const SHORTEST: u32 = 4;

/// Relative gain of a round that does not count.
const NO_GAIN: f64 = 1e-12;

/// Combinations of whole numbers at the most: each is a fit of its own.
const MOST_COMBINATIONS: usize = 1000;

/// What a fit found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Fitted {
    /// The parameters, in the order given.
    pub parameters: Vec<FittedParameter>,
    /// The residuals there, in their order.
    pub residuals: Vec<Residual>,
    /// Root of the weighted mean square of the errors beyond their slack.
    pub rms: f64,
    /// Weighted sum of squared errors over how many more residuals there are than
    /// parameters that they fix; none if there are no more. Near 1 if errors are in
    /// standard deviations and both these and the model are right.
    pub variance: Option<f64>,
    /// How parameters vary together: the variance times the inverse of the squared
    /// slopes of the plain errors, from differences. Of parameters that the residuals
    /// do not fix, its pseudo-inverse says what they do: see
    /// [`FittedParameter::identified`]. Whole parameters are held, so 0. None if there
    /// is no variance, or the fit was stopped.
    pub covariance: Option<Vec<Vec<f64>>>,
    /// How often the model was asked.
    pub evaluations: u64,
    /// Whether nothing moved any more; otherwise the rounds ran out or the fit was
    /// stopped, and the values are the best so far.
    pub converged: bool,
}

/// One parameter of a fit.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FittedParameter {
    /// What it is called.
    pub key: String,
    /// The value found.
    pub value: f64,
    /// Its standard deviation, if it can be told.
    pub standard_error: Option<f64>,
    /// Whether it is elsewhere than at the start.
    pub moved: bool,
    /// The limit of its range at which it ended: it would perhaps go on.
    pub limit: Option<Limit>,
    /// Whether the residuals fix it. Otherwise others of its values, alone or with
    /// other values of others, would do as well. Not told of a stopped fit.
    pub identified: bool,
}

/// An end of a parameter's range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// Its `min`.
    Lowest,
    /// Its `max`.
    Highest,
}

impl Fitted {
    /// The values found, in the order of the parameters.
    #[must_use]
    pub fn values(&self) -> Vec<f64> {
        self.parameters.iter().map(|it| it.value).collect()
    }
}

/// Why there is no fit.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FitError<E> {
    /// A parameter cannot be fitted as it is given.
    #[error("free parameter `{key}`: {problem}")]
    BadParameter {
        /// The parameter.
        key: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A measurement cannot be fitted to.
    #[error("measurement {row}: {problem}")]
    BadMeasurement {
        /// Which one, from 0.
        row: usize,
        /// What is wrong with it.
        problem: String,
    },
    /// There is nothing to move.
    #[error("there is no free parameter; name at least one, with its range")]
    NoParameters,
    /// There is nothing to fit to.
    #[error("there is nothing to fit to; give at least one measurement")]
    NoResiduals,
    /// A residual is none.
    #[error(
        "residual {row} is {residual:?} at {at}; its error must be a number, slack and weight at least 0"
    )]
    NotANumber {
        /// Which one, from 0.
        row: usize,
        /// As the model gave it.
        residual: Residual,
        /// The parameters' values.
        at: At,
    },
    /// The model does not always give as many residuals.
    #[error("there are {given} residuals at {at}, and {before} before; give as many at every point")]
    Uneven {
        /// How many there are.
        given: usize,
        /// How many there were.
        before: usize,
        /// The parameters' values.
        at: At,
    },
    /// The model has no answer within the ranges.
    #[error("{problem} (at {at})")]
    Model {
        /// What the model says.
        problem: E,
        /// The parameters' values.
        at: At,
    },
    /// Brent's method failed.
    #[error("the search failed: {0}")]
    Search(String),
}

/// Parameters and their values.
#[derive(Debug, Clone, PartialEq)]
pub struct At(pub Vec<(String, f64)>);

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (key, value)) in self.0.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}`{key}` = {value}")?;
        }
        Ok(())
    }
}

/// Finds the values at which the weighted sum of squared errors, as far as they are
/// beyond their slack, is least.
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
    let mut best: Option<Ending> = None;
    for point in counts {
        let ending = search.from(point)?;
        let stopped = ending.as_ref().is_none_or(|it| it.stopped);
        if let Some(ending) = ending
            && best.as_ref().is_none_or(|it| ending.place.cost < it.place.cost)
        {
            best = Some(ending);
        }
        if stopped {
            best = best.map(|it| Ending { converged: false, ..it });
            break;
        }
    }
    search.told(best.expect("a range has a number in it, and nobody stops the first question"))
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

    /// Goes to better places until nothing moves; whether that was so.
    fn go(&self, place: &mut Place) -> Result<bool, Halt<E>> {
        for round in 0..self.method.rounds {
            let (before, cost) = (place.point.clone(), place.cost);
            for index in self.continuous() {
                let value = self.least(place, index, round == 0)?;
                let mut candidate = place.point.clone();
                candidate[index] = value;
                self.take_if_better(place, candidate)?;
            }
            if self.method.slopes {
                self.step(place)?;
            }
            let change = |index: usize| {
                let (from, to) = (before[index], place.point[index]);
                (to - from).abs() / to.abs().max(f64::MIN_POSITIVE)
            };
            let moved = self.continuous().map(change).fold(0.0, f64::max);
            self.done_one();
            if moved <= self.method.still() || cost - place.cost <= NO_GAIN * cost {
                return Ok(true);
            }
            self.further(place, &before)?;
        }
        Ok(false)
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
        let square = |it: &Residual| it.weight * (it.beyond().powi(2) + self.method.trace * it.error.powi(2));
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
    fn step(&self, place: &mut Place) -> Result<(), Halt<E>> {
        let residuals: Vec<f64> = place.residuals.iter().map(Residual::weighted).collect();
        let step = self.slopes(&place.point)?.step(&residuals);
        for factor in (0..SHORTEST).map(|it| 0.5_f64.powi(it.cast_signed())) {
            let mut candidate = place.point.clone();
            for (index, step) in self.continuous().zip(&step) {
                let coordinate = self.parameters[index].coordinate(candidate[index]);
                candidate[index] = self.valid(index, factor.mul_add(*step, coordinate));
            }
            if self.take_if_better(place, candidate)? {
                break;
            }
        }
        Ok(())
    }

    /// The value at a coordinate, with the digits that it has, in its range.
    fn valid(&self, index: usize, coordinate: f64) -> f64 {
        let parameter = &self.parameters[index];
        self.method.round(parameter.value(coordinate)).clamp(parameter.min, parameter.max)
    }

    /// How the weighted errors change with the coordinates of the continuous
    /// parameters, from differences to both sides as far as the ranges allow.
    fn slopes(&self, point: &[f64]) -> Result<Slopes, Halt<E>> {
        let (mut columns, mut ranges) = (Vec::new(), Vec::new());
        for index in self.continuous() {
            let parameter = &self.parameters[index];
            let (lowest, highest) = parameter.ends();
            let (middle, reach) = (parameter.coordinate(point[index]), parameter.reach(point[index]));
            let ends = [(middle - reach).max(lowest), (middle + reach).min(highest)];
            let [before, after] = ends.map(|end| {
                let mut point = point.to_vec();
                point[index] = parameter.value(end);
                self.ask(point)
            });
            let (before, after) = (before?.residuals, after?.residuals);
            let slope = |(a, b): (&Residual, &Residual)| (b.weighted() - a.weighted()) / (ends[1] - ends[0]);
            columns.push(before.iter().zip(&after).map(slope).collect());
            ranges.push(highest - lowest);
        }
        Ok(Slopes::new(columns, &ranges))
    }

    /// The result, with how well it is known.
    fn told(&self, best: Ending) -> Result<Fitted, FitError<E>> {
        let Ending { place, converged, .. } = best;
        let slopes = match self.slopes(&place.point) {
            Ok(slopes) => Some(slopes),
            Err(Halt::Stopped) => None,
            Err(Halt::Failed(error)) => return Err(error),
        };
        let total = |of: fn(&Residual) -> f64| place.residuals.iter().map(of).sum::<f64>();
        let counted = place.residuals.iter().filter(|it| 0.0 < it.weight).count();
        let variance = slopes.as_ref().and_then(|it| {
            let more = counted.checked_sub(it.rank()).filter(|it| 0 < *it)?;
            Some(total(|it| it.weighted().powi(2)) / float(more))
        });
        let covariance = slopes.as_ref().zip(variance).map(|(it, s2)| self.covariance(it, s2, &place.point));
        let mut identified = slopes.iter().flat_map(Slopes::identified);
        let mut parameter = |index: usize| {
            let (it, value) = (&self.parameters[index], place.point[index]);
            let identified = it.whole || identified.next().copied().unwrap_or(true);
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
        let weight = total(|it| it.weight).max(f64::MIN_POSITIVE);
        Ok(Fitted {
            parameters: (0..self.parameters.len()).map(&mut parameter).collect(),
            rms: (total(|it| it.weight * it.beyond().powi(2)) / weight).sqrt(),
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

#[cfg(test)]
#[expect(clippy::float_cmp, clippy::many_single_char_names, reason = "what is exact, and formulas")]
mod tests {
    use std::cell::Cell;
    use std::convert::Infallible;

    use super::*;

    type Fit = Result<Fitted, FitError<Infallible>>;

    /// Measurements of `y` at `x` that a line is put through.
    const LINE: [(f64, f64); 6] = [(0.0, 2.9), (1.0, 5.2), (2.0, 6.8), (4.0, 11.3), (7.0, 16.9), (9.0, 21.1)];

    fn line(free: &[FitParameter], method: &FitMethod) -> Fit {
        fit(free, method, &(), |it| {
            Ok(LINE.iter().map(|(x, y)| Residual::new(it[0] + it[1] * x - y)).collect())
        })
    }

    fn ab() -> [FitParameter; 2] {
        [FitParameter::new("a", -100.0, 100.0), FitParameter::new("b", -100.0, 100.0)]
    }

    #[track_caller]
    fn close(a: f64, b: f64, tolerance: f64) {
        assert!((a - b).abs() <= tolerance * b.abs().max(1e-300), "{a} is not {b}");
    }

    /// Values, variance and covariance of a straight line are the textbook's.
    #[test]
    fn linear_least_squares_is_as_computed_by_hand() {
        let n = 6.0;
        let sum = |of: fn(&(f64, f64)) -> f64| LINE.iter().map(of).sum::<f64>();
        let (x, y, xx, xy) = (sum(|it| it.0), sum(|it| it.1), sum(|it| it.0 * it.0), sum(|it| it.0 * it.1));
        let determinant = n * xx - x * x;
        let (a, b) = ((xx * y - x * xy) / determinant, (n * xy - x * y) / determinant);
        let square: f64 = LINE.iter().map(|(x, y)| (a + b * x - y).powi(2)).sum();

        let fitted = line(&ab(), &FitMethod::MEASURED).unwrap();
        close(fitted.parameters[0].value, a, 1e-7);
        close(fitted.parameters[1].value, b, 1e-7);
        close(fitted.rms, (square / n).sqrt(), 1e-9);
        let variance = fitted.variance.unwrap();
        close(variance, square / 4.0, 1e-9);
        let covariance = fitted.covariance.unwrap();
        close(covariance[0][0], variance * xx / determinant, 1e-9);
        close(covariance[0][1], -variance * x / determinant, 1e-9);
        close(covariance[1][0], -variance * x / determinant, 1e-9);
        close(covariance[1][1], variance * n / determinant, 1e-9);
        close(fitted.parameters[1].standard_error.unwrap(), covariance[1][1].sqrt(), 1e-12);
        assert!(fitted.converged);
        assert!(fitted.parameters.iter().all(|it| it.moved && it.identified && it.limit.is_none()));
    }

    #[test]
    fn weights_count_as_often_as_they_say() {
        let twice = fit(&ab(), &FitMethod::MEASURED, &(), |it| {
            let residual = |(x, y): &(f64, f64)| Residual::new(it[0] + it[1] * x - y);
            Ok::<_, Infallible>(LINE.iter().map(|seen| residual(seen).weighing(1.0 + seen.0)).collect())
        });
        let repeated = fit(&ab(), &FitMethod::MEASURED, &(), |it| {
            let residual = |(x, y): &(f64, f64)| Residual::new(it[0] + it[1] * x - y);
            let times = |seen: &(f64, f64)| {
                let times = (0..=9).filter(|it| f64::from(*it) <= seen.0).count();
                vec![residual(seen); times]
            };
            Ok::<_, Infallible>(LINE.iter().flat_map(times).collect())
        });
        let (twice, repeated) = (twice.unwrap(), repeated.unwrap());
        close(twice.parameters[0].value, repeated.parameters[0].value, 1e-7);
        close(twice.parameters[1].value, repeated.parameters[1].value, 1e-7);
        close(twice.rms, repeated.rms, 1e-9);
    }

    /// Rosenbrock's valley, as sums of squares: single steps would take thousands.
    #[test]
    fn a_bent_valley_is_followed_to_its_end() {
        let free = [FitParameter::new("x", -2.0, 2.0), FitParameter::new("y", -1.0, 3.0)];
        let fitted = fit(&free, &FitMethod::MEASURED, &(), |it| {
            let (x, y) = (it[0], it[1]);
            Ok::<_, Infallible>([10.0 * (y - x * x), 1.0 - x].map(Residual::new).to_vec())
        });
        let fitted = fitted.unwrap();
        close(fitted.parameters[0].value, 1.0, 1e-6);
        close(fitted.parameters[1].value, 1.0, 1e-6);
        // Two numbers fix two parameters: nothing is left to tell how well.
        assert_eq!((fitted.variance, fitted.covariance), (None, None));
    }

    /// Rates over six orders of magnitude; the noise is 1 %, by a fixed sequence.
    #[test]
    fn noisy_measurements_give_the_parameters_within_their_errors() {
        let truth = [2.5e-6, 3.7e9, 8.0e-9];
        let model = |it: &[f64], bytes: f64, steps: f64| it[0] + bytes / it[1] + it[2] * steps;
        let mut noise = (0..).map(|it| 0.01 * f64::from(it * 7919 % 200 - 100) / 57.7);
        let mut seen = Vec::new();
        for bytes in [0.0, 1e3, 1e4, 1e5, 1e6] {
            for steps in [1.0, 100.0, 10_000.0] {
                seen.push((bytes, steps, model(&truth, bytes, steps) * (1.0 + noise.next().unwrap())));
            }
        }
        let free = [
            FitParameter::new("overhead_s", 1e-9, 1e-3).logarithmic(),
            FitParameter::new("bytes_per_s", 1e6, 1e12).logarithmic(),
            FitParameter::new("step_s", 0.0, 1e-6),
        ];
        let fitted = fit(&free, &FitMethod::MEASURED, &(), |it| {
            let residual = |(bytes, steps, seconds): &(f64, f64, f64)| {
                Residual::new(model(it, *bytes, *steps) / seconds - 1.0)
            };
            Ok::<_, Infallible>(seen.iter().map(residual).collect())
        });
        let fitted = fitted.unwrap();
        assert!((0.003..0.015).contains(&fitted.rms), "{}", fitted.rms);
        for (it, truth) in fitted.parameters.iter().zip(truth) {
            let error = it.standard_error.unwrap();
            assert!(error < 0.02 * truth, "{it:?}");
            assert!((it.value - truth).abs() < 3.0 * error, "{it:?} is not {truth}");
        }
    }

    #[test]
    fn a_limit_is_reached_and_said() {
        let free = [FitParameter::new("a", -100.0, 100.0), FitParameter::new("b", 0.0, 1.5)];
        let fitted = line(&free, &FitMethod::MEASURED).unwrap();
        assert_eq!((fitted.parameters[1].value, fitted.parameters[1].limit), (1.5, Some(Limit::Highest)));
        assert_eq!(fitted.parameters[0].limit, None);
        // The best line of this slope.
        let mean = LINE.iter().map(|(x, y)| y - 1.5 * x).sum::<f64>() / 6.0;
        close(fitted.parameters[0].value, mean, 1e-7);
        let free = [FitParameter::new("a", 10.0, 100.0), FitParameter::new("b", 0.0, 9.0)];
        let fitted = line(&free, &FitMethod::MEASURED).unwrap();
        assert_eq!((fitted.parameters[0].value, fitted.parameters[0].limit), (10.0, Some(Limit::Lowest)));
        let rough = line(&free, &FitMethod::PRINTED).unwrap();
        close(rough.parameters[0].value, 10.0, 1e-3);
        assert_eq!(rough.parameters[0].limit, Some(Limit::Lowest));
    }

    #[test]
    fn what_the_numbers_do_not_fix_is_said_and_stays() {
        // `idle` does nothing, and only the product of `a` and `b` counts.
        let free = [
            FitParameter::new("idle", 0.0, 10.0).starting_at(3.0),
            FitParameter::new("a", 1.0, 10.0),
            FitParameter::new("b", 1.0, 10.0),
            FitParameter::new("c", -10.0, 10.0),
        ];
        let fitted = fit(&free, &FitMethod::MEASURED, &(), |it| {
            let residual = |(x, y): &(f64, f64)| Residual::new(it[1] * it[2] * x + it[3] - y - 0.1 * y * y);
            Ok::<_, Infallible>(LINE.iter().map(residual).collect())
        });
        let fitted = fitted.unwrap();
        let identified: Vec<bool> = fitted.parameters.iter().map(|it| it.identified).collect();
        assert_eq!(identified, [false, false, false, true]);
        assert_eq!((fitted.parameters[0].value, fitted.parameters[0].moved), (3.0, false));
        let errors: Vec<bool> = fitted.parameters.iter().map(|it| it.standard_error.is_some()).collect();
        assert_eq!(errors, identified);
        // Two directions are left of four.
        let s2: f64 = fitted.residuals.iter().map(|it| it.error.powi(2)).sum::<f64>() / (6.0 - 2.0);
        close(fitted.variance.unwrap(), s2, 1e-12);
    }

    #[test]
    fn every_whole_number_is_tried() {
        // With two humps, the better one behind the worse.
        let hump = |it: f64| if it < 5.0 { (it - 2.0).abs() + 1.0 } else { (it - 7.0).abs() };
        let free = [FitParameter::new("count", 0.0, 9.0).whole(), FitParameter::new("a", 0.0, 1.0)];
        let fitted = fit(&free, &FitMethod::MEASURED, &(), |it| {
            Ok::<_, Infallible>(vec![
                Residual::new(hump(it[0])),
                Residual::new(it[1] - 0.25),
                Residual::new(0.5),
            ])
        });
        let fitted = fitted.unwrap();
        assert_eq!(fitted.parameters[0].value, 7.0);
        close(fitted.parameters[1].value, 0.25, 1e-6);
        let covariance = fitted.covariance.unwrap();
        assert_eq!(covariance[0], [0.0, 0.0]);
        assert!(0.0 < covariance[1][1]);
        assert_eq!(fitted.parameters[0].standard_error, None);
    }

    /// Where rounding leaves a range, the trace of the plain error picks its middle.
    #[test]
    fn errors_within_their_slack_only_leave_a_trace() {
        let fitted = |slack: f64| {
            let free = [FitParameter::new("a", 0.0, 10.0)];
            let fitted = fit(&free, &FitMethod::PRINTED, &(), |it| {
                Ok::<_, Infallible>([4.0, 5.0].map(|y| Residual::new(it[0] - y).within(slack)).to_vec())
            });
            fitted.unwrap()
        };
        let loose = fitted(0.75);
        close(loose.parameters[0].value, 4.5, 1e-3);
        assert_eq!(loose.rms, 0.0);
        close(fitted(0.25).rms, 0.25, 1e-3);
        // Four digits.
        assert_eq!(loose.parameters[0].value, FitMethod::PRINTED.round(loose.parameters[0].value));
    }

    #[test]
    fn it_looks_over_the_whole_range_and_not_only_near_the_start() {
        let free = [FitParameter::new("x", 0.0, 12.0).starting_at(9.5)];
        let fitted = fit(&free, &FitMethod::MEASURED, &(), |it| {
            let x = it[0];
            Ok::<_, Infallible>(vec![Residual::new((x - 2.0) * (x - 10.0)), Residual::new(0.1 * x)])
        });
        close(fitted.unwrap().parameters[0].value, 2.0, 0.25);
    }

    #[test]
    fn bad_input_is_told_with_the_parameter() {
        let error = |free: &[FitParameter]| line(free, &FitMethod::MEASURED).unwrap_err().to_string();
        let [a, b] = ab();
        insta::assert_snapshot!(error(&[]), @"there is no free parameter; name at least one, with its range");
        insta::assert_snapshot!(error(&[a.clone(), FitParameter::new("b", 2.0, 1.0)]), @"free parameter `b`: its range from 2 to 1 is empty; give `min` below `max`");
        insta::assert_snapshot!(error(&[a.clone(), FitParameter::new("b", 1.0, 1.0)]), @"free parameter `b`: its range from 1 to 1 is empty; give `min` below `max`");
        insta::assert_snapshot!(error(&[a.clone(), FitParameter::new("b", f64::NAN, 1.0)]), @"free parameter `b`: its range is from NaN to 1; give two numbers");
        insta::assert_snapshot!(error(&[a.clone(), FitParameter::new("b", 0.0, f64::INFINITY)]), @"free parameter `b`: its range is from 0 to inf; give two numbers");
        insta::assert_snapshot!(error(&[a.clone(), FitParameter::new("b", 0.0, 1.0).logarithmic()]), @"free parameter `b`: it is looked over by its logarithm, but begins at 0; give `min` above 0");
        insta::assert_snapshot!(error(&[a.clone(), FitParameter::new("b", 0.0, 1.0).starting_at(2.0)]), @"free parameter `b`: it starts at 2, outside of its range from 0 to 1");
        insta::assert_snapshot!(error(&[a.clone(), FitParameter::new("b", 0.0, 1.0).starting_at(f64::NAN)]), @"free parameter `b`: it starts at NaN, outside of its range from 0 to 1");
        insta::assert_snapshot!(error(&[a.clone(), FitParameter::new("b", 0.5, 2.0).whole()]), @"free parameter `b`: it is whole, but its range is from 0.5 to 2; give whole numbers");
        insta::assert_snapshot!(error(&[a.clone(), FitParameter::new("b", 0.0, 1e18).whole()]), @"free parameter `b`: from 0 to 1000000000000000000 are too many whole numbers; each is a fit of its own, so give at most 1000");
        let hundred = FitParameter::new("b", 1.0, 100.0).whole();
        insta::assert_snapshot!(error(&[FitParameter { key: "a".to_owned(), ..hundred.clone() }, hundred]), @"free parameter `b`: with it, whole parameters have 10000 combinations; each is a fit of its own, so give at most 1000");
        insta::assert_snapshot!(error(&[a, b.clone(), b]), @"free parameter `b`: it is given twice; remove one");
    }

    #[test]
    fn bad_residuals_are_told_with_the_point() {
        let error = |residuals: fn(f64) -> Result<Vec<Residual>, &'static str>| {
            let free = [FitParameter::new("a", 0.0, 4.0)];
            fit(&free, &FitMethod::MEASURED, &(), |it| residuals(it[0])).unwrap_err().to_string()
        };
        insta::assert_snapshot!(error(|_| Ok(Vec::new())), @"there is nothing to fit to; give at least one measurement");
        insta::assert_snapshot!(error(|it| Ok(vec![Residual::new(it), Residual::new(f64::NAN)])), @"residual 1 is Residual { error: NaN, slack: 0.0, weight: 1.0 } at `a` = 2; its error must be a number, slack and weight at least 0");
        insta::assert_snapshot!(error(|it| Ok(vec![Residual::new(it).weighing(-1.0)])), @"residual 0 is Residual { error: 2.0, slack: 0.0, weight: -1.0 } at `a` = 2; its error must be a number, slack and weight at least 0");
        insta::assert_snapshot!(error(|it| Ok(vec![Residual::new(it); if it < 1.0 { 1 } else { 2 }])), @"there are 1 residuals at `a` = 0, and 2 before; give as many at every point");
        insta::assert_snapshot!(error(|it| if it < 1.0 { Err("too few banks") } else { Ok(vec![Residual::new(it)]) }), @"too few banks (at `a` = 0)");
    }

    /// Says stop after some rounds, and remembers what it was told.
    struct Impatient(std::sync::atomic::AtomicU64, u64);

    impl Control for Impatient {
        fn advanced(&self, done: u64, total: u64) {
            assert!(done <= total);
            self.0.store(done, std::sync::atomic::Ordering::Relaxed);
        }

        fn cancelled(&self) -> bool {
            self.1 <= self.0.load(std::sync::atomic::Ordering::Relaxed)
        }
    }

    #[test]
    fn a_stopped_fit_returns_the_best_so_far() {
        let free = [FitParameter::new("a", 0.0, 9.0).whole(), FitParameter::new("b", -1.0, 1.0)];
        let run = |most: u64| {
            let asked = Cell::new(0);
            let fitted = fit(&free, &FitMethod::MEASURED, &Impatient(0.into(), most), |it| {
                asked.set(asked.get() + 1);
                Ok::<_, Infallible>(vec![Residual::new(it[0] - 8.0), Residual::new(it[1] - 0.5)])
            });
            let fitted = fitted.unwrap();
            assert_eq!(fitted.evaluations, asked.get());
            fitted
        };
        let stopped = run(1);
        assert!(!stopped.converged && stopped.covariance.is_none());
        assert!(stopped.parameters[0].value < 8.0, "{stopped:?}");
        close(stopped.parameters[1].value, 0.5, 1e-6);
        assert!(run(0).evaluations == 1);
        assert!(run(u64::MAX).converged);
    }

    #[test]
    fn the_same_input_gives_the_same_result() {
        assert_eq!(line(&ab(), &FitMethod::MEASURED).unwrap(), line(&ab(), &FitMethod::MEASURED).unwrap());
    }
}
