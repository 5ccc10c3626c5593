//! Refitting free parameters from the claims of role `calibrate`.

use argmin::core::{CostFunction, Executor};
use argmin::solver::brent::BrentOpt;
use memscape_explore::Parameters;
use memscape_study::FreeParameter;
use memscape_systems::registry;
use serde::Serialize;

use crate::claims::{Claim, Role, Verdict, builtin, evaluate_with};
use crate::error::Error;
use crate::papers;

/// The outcome of a fit.
#[derive(Debug, Clone, Serialize)]
pub struct Fit {
    /// The free parameters: stored beside fitted.
    pub parameters: Vec<FittedParameter>,
    /// Root mean square of the calibrating claims' relative errors beyond rounding.
    pub rms_error: f64,
    /// The calibrating claims at the fitted values.
    pub verdicts: Vec<Verdict>,
}

/// One free parameter of a fit.
#[derive(Debug, Clone, Serialize)]
pub struct FittedParameter {
    /// Dotted path in the study, after the preset's name and a colon if it
    /// belongs to one.
    pub path: String,
    /// The value in `data/calibration/`.
    pub stored: f64,
    /// The value that the fit returns, to four significant digits.
    pub fitted: f64,
    /// Its unit.
    pub unit: String,
    /// Its physical meaning.
    pub meaning: String,
}

/// Rounds of the search at the most; parameters that claims fix one by one need
/// two or three.
const ROUNDS: usize = 12;

/// Steps of the coarse look over a parameter's range, before the fine one.
const COARSE: u32 = 12;

/// Doublings of the step along the way that a round went.
const FARTHEST: u32 = 7;

/// Weight of plain errors beside those beyond rounding: where rounding leaves a range
/// of values, they pick one.
const TRACE: f64 = 1e-3;

/// Relative change of a parameter that does not count: half of its fourth digit.
const STILL: f64 = 5e-4;

/// Fits the free parameters of a paper's model: the least sum of squared relative
/// errors, as far as they exceed the rounding of the printed digits, over the
/// claims of role `calibrate`, and over no others.
///
/// Whole parameters (counts) are tried in every combination. Continuous ones are
/// fitted one after the other, round by round until nothing moves: first a coarse
/// look over the whole range, then Brent's method around the best.
///
/// # Errors
/// [`Error::Unknown`] if there is no such paper, [`Error::Fit`] if the search
/// fails.
pub fn calibrate(paper: &str) -> Result<Fit, Error> {
    fit(paper, Look::Everywhere)
}

/// The free parameters of the system whose calibration is called after this paper.
fn free_parameters(paper: &str) -> &'static [FreeParameter] {
    let calibrations = registry().systems().iter().filter_map(|it| it.calibration);
    calibrations.into_iter().find(|it| it.paper == paper).map_or(&[], |it| it.parameters())
}

/// Where a fit looks first.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Look {
    /// Over all of each parameter's range.
    Everywhere,
    /// Around the stored values: enough to tell whether they are a fit's result.
    #[cfg(test)]
    Near,
}

fn fit(paper: &str, look: Look) -> Result<Fit, Error> {
    let free = free_parameters(papers::paper(paper)?.id);
    let mut claims = builtin(Some(paper))?;
    claims.retain(|it| it.role == Role::Calibrate);
    let (whole, continuous): (Vec<_>, Vec<_>) = free.iter().partition(|it| it.whole);
    let failed = |it: argmin::core::Error| Error::Fit { paper: paper.to_owned(), problem: it.to_string() };

    let mut best: Option<(f64, Parameters)> = None;
    for counts in combinations(&whole) {
        let mut point = counts;
        point.extend(continuous.iter().map(|it| (it.key(), it.json(it.value))));
        let mut cost = objective(&claims, &point)?;
        for round in 0..ROUNDS {
            let mut moved = 0.0_f64;
            let before = point.clone();
            for parameter in &continuous {
                let key = parameter.key();
                let before = value_of(&point, parameter);
                let line = Line { claims: &claims, point: &point, key: key.clone() };
                let around = (round > 0 || look != Look::Everywhere).then_some(before);
                let value = line.least(parameter, around).map_err(failed)?;
                let candidate = line.at(value);
                let there = objective(&claims, &candidate)?;
                if there < cost {
                    moved = moved.max((value - before).abs() / value.abs().max(f64::MIN_POSITIVE));
                    (point, cost) = (candidate, there);
                }
            }
            if moved <= STILL {
                break;
            }
            // Where claims tie parameters together, single steps only zigzag along the
            // valley: go on the way that the whole round went, in longer and longer steps.
            let (from, to) = (&before, point.clone());
            for factor in (0..FARTHEST).map(|it| f64::from(1_u32 << it)) {
                let candidate = further(&continuous, from, &to, factor);
                let there = objective(&claims, &candidate)?;
                if cost <= there {
                    break;
                }
                (point, cost) = (candidate, there);
            }
        }
        if best.as_ref().is_none_or(|it| cost < it.0) {
            best = Some((cost, point));
        }
    }
    let Some((_, fitted)) = best else {
        let problem = "a whole parameter has no value to try".to_owned();
        return Err(Error::Fit { paper: paper.to_owned(), problem });
    };
    let verdicts = evaluate_with(&claims, &fitted)?;
    let squares: f64 =
        verdicts.iter().zip(&claims).map(|(it, claim)| beyond_rounding(it, claim).powi(2)).sum();
    Ok(Fit {
        parameters: free
            .iter()
            .map(|it| FittedParameter {
                path: it.key(),
                stored: it.value,
                fitted: fitted[&it.key()].as_f64().unwrap_or_default(),
                unit: it.unit.clone(),
                meaning: it.meaning.clone(),
            })
            .collect(),
        rms_error: (squares / count(verdicts.len()).max(1.0)).sqrt(),
        verdicts,
    })
}

fn value_of(point: &Parameters, parameter: &FreeParameter) -> f64 {
    point[&parameter.key()].as_f64().unwrap_or(parameter.value)
}

/// From `to` on by `factor` times the way from `from`, within the ranges.
fn further(continuous: &[&FreeParameter], from: &Parameters, to: &Parameters, factor: f64) -> Parameters {
    let mut all = to.clone();
    for it in continuous {
        let (start, end) = (value_of(from, it), value_of(to, it));
        let value = four_digits(factor.mul_add(end - start, end)).clamp(it.min, it.max);
        all.insert(it.key(), value.into());
    }
    all
}

/// Every assignment of whole numbers.
fn combinations(whole: &[&FreeParameter]) -> Vec<Parameters> {
    whole.iter().fold(vec![Parameters::new()], |before, parameter| {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole, from 0 to a few")]
        let range = parameter.min as u64..=parameter.max as u64;
        before
            .iter()
            .flat_map(|it| range.clone().map(move |value| (it, value)))
            .map(|(it, value)| {
                let mut next = it.clone();
                next.insert(parameter.key(), value.into());
                next
            })
            .collect()
    })
}

/// One parameter varied, all others held.
struct Line<'a> {
    claims: &'a [Claim],
    point: &'a Parameters,
    key: String,
}

impl Line<'_> {
    fn at(&self, value: f64) -> Parameters {
        let mut all = self.point.clone();
        all.insert(self.key.clone(), value.into());
        all
    }

    /// The best of evenly spread values.
    fn best_of(&self, parameter: &FreeParameter, step: f64) -> Result<f64, argmin::core::Error> {
        let mut best = (f64::INFINITY, parameter.min);
        for it in 0..=COARSE {
            let value = parameter.min + f64::from(it) * step;
            let cost = self.cost(&value)?;
            if cost < best.0 {
                best = (cost, value);
            }
        }
        Ok(best.1)
    }

    /// The best value of a continuous parameter: in all of its range, or around a
    /// value.
    fn least(&self, parameter: &FreeParameter, around: Option<f64>) -> Result<f64, argmin::core::Error> {
        let step = (parameter.max - parameter.min) / f64::from(COARSE);
        let middle = match around {
            Some(value) => value,
            None => self.best_of(parameter, step)?,
        };
        let (low, high) = ((middle - step).max(parameter.min), (middle + step).min(parameter.max));
        let solver = BrentOpt::new(low, high).set_tolerance(1e-4, 1e-6 * (high - low));
        let line = Line { claims: self.claims, point: self.point, key: self.key.clone() };
        let run = Executor::new(line, solver).configure(|it| it.max_iters(30)).run()?;
        let value = run.state.best_param.unwrap_or(middle);
        Ok(four_digits(value).clamp(parameter.min, parameter.max))
    }
}

impl CostFunction for Line<'_> {
    type Param = f64;
    type Output = f64;

    fn cost(&self, value: &f64) -> Result<f64, argmin::core::Error> {
        Ok(objective(self.claims, &self.at(*value))?)
    }
}

/// What the fit makes small.
fn objective(claims: &[Claim], point: &Parameters) -> Result<f64, Error> {
    let verdicts = evaluate_with(claims, point)?;
    let square = |(it, claim): (&Verdict, &Claim)| {
        beyond_rounding(it, claim).powi(2) + TRACE * it.relative_error.unwrap_or(0.0).powi(2)
    };
    Ok(verdicts.iter().zip(claims).map(square).sum())
}

/// The relative error beyond what the printed digits can tell.
fn beyond_rounding(verdict: &Verdict, claim: &Claim) -> f64 {
    let Some(error) = verdict.relative_error else { return 0.0 };
    (error.abs() - (claim.rounding() / claim.value).abs()).max(0.0)
}

fn four_digits(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

#[expect(clippy::cast_precision_loss, reason = "a few claims")]
fn count(number: usize) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::papers::PAPERS;

    /// The stored parameters are what the fit returns, from the calibrating claims
    /// alone: from there, it moves on by less than half a percent of their ranges,
    /// where the search stops.
    #[test]
    fn stored_parameters_are_the_fit() {
        for paper in PAPERS {
            let fit = fit(paper.id, Look::Near).unwrap();
            for (it, free) in fit.parameters.iter().zip(free_parameters(paper.id)) {
                let off = (it.stored - it.fitted).abs();
                let enough = 5e-3 * (free.max - free.min);
                assert!(off <= enough, "{}: stored {}, fitted {}", it.path, it.stored, it.fitted);
            }
        }
    }
}
