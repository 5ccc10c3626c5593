//! Refitting free parameters from the claims of role `calibrate`.

use argmin::core::{CostFunction, Executor};
use argmin::solver::brent::BrentOpt;
use memscape_explore::Parameters;
use memscape_pim::hardware::{FREE_PARAMETERS, FreeParameter};
use serde::Serialize;

use crate::claims::{Claim, Role, Verdict, builtin, evaluate_with};
use crate::error::Error;

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
    /// Dotted path in the study.
    pub path: String,
    /// The value in `data/calibration/`.
    pub stored: f64,
    /// The value that the fit returns, rounded to three decimals.
    pub fitted: f64,
    /// Its unit.
    pub unit: String,
    /// Its physical meaning.
    pub meaning: String,
}

/// Fits the free parameters of a paper's model: the least sum of squared relative
/// errors, as far as they exceed the rounding of the printed digits, over the
/// claims of role `calibrate`, and over no others.
///
/// Whole parameters (counts) are tried one by one; the one continuous parameter
/// that is left is fitted by Brent's method at each.
///
/// # Errors
/// [`Error::Unknown`] if the paper has no calibration, [`Error::Fit`] if the
/// search fails.
pub fn calibrate(paper: &str) -> Result<Fit, Error> {
    if paper != "pimnast" {
        return Err(Error::unknown("calibration", paper, &["pimnast"]));
    }
    let mut claims = builtin(Some(paper))?;
    claims.retain(|it| it.role == Role::Calibrate);
    let (whole, continuous): (Vec<_>, Vec<_>) = FREE_PARAMETERS.iter().partition(|it| it.whole);
    let [continuous] = continuous[..] else {
        let problem = "the search handles one continuous parameter beside counts".to_owned();
        return Err(Error::Fit { paper: paper.to_owned(), problem });
    };

    let mut best: Option<(f64, Parameters)> = None;
    for counts in combinations(&whole) {
        let problem = Problem { claims: &claims, counts: &counts, path: &continuous.path };
        let solver = BrentOpt::new(continuous.min, continuous.max).set_tolerance(1e-6, 1e-6);
        let failed =
            |it: argmin::core::Error| Error::Fit { paper: paper.to_owned(), problem: it.to_string() };
        let run = Executor::new(problem, solver).configure(|it| it.max_iters(60)).run().map_err(failed)?;
        let value = run.state.best_param.unwrap_or(continuous.min);
        let rounded = (value * 1e3).round() / 1e3;
        let problem = Problem { claims: &claims, counts: &counts, path: &continuous.path };
        let cost = problem.cost(&rounded).map_err(failed)?;
        if best.as_ref().is_none_or(|it| cost < it.0) {
            best = Some((cost, problem.parameters(rounded)));
        }
    }
    let Some((_, fitted)) = best else {
        let problem = "a whole parameter has no value to try".to_owned();
        return Err(Error::Fit { paper: paper.to_owned(), problem });
    };
    let verdicts = evaluate_with(&claims, &fitted)?;
    Ok(Fit {
        parameters: FREE_PARAMETERS
            .iter()
            .map(|it| FittedParameter {
                path: it.path.clone(),
                stored: it.value,
                fitted: fitted[&it.path].as_f64().unwrap_or_default(),
                unit: it.unit.clone(),
                meaning: it.meaning.clone(),
            })
            .collect(),
        rms_error: (sum_of_squares(&verdicts) / count(verdicts.len())).sqrt(),
        verdicts,
    })
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
                next.insert(parameter.path.clone(), value.into());
                next
            })
            .collect()
    })
}

struct Problem<'a> {
    claims: &'a [Claim],
    counts: &'a Parameters,
    path: &'a str,
}

impl Problem<'_> {
    fn parameters(&self, value: f64) -> Parameters {
        let mut all = self.counts.clone();
        all.insert(self.path.to_owned(), value.into());
        all
    }
}

impl CostFunction for Problem<'_> {
    type Param = f64;
    type Output = f64;

    fn cost(&self, value: &f64) -> Result<f64, argmin::core::Error> {
        Ok(sum_of_squares(&evaluate_with(self.claims, &self.parameters(*value))?))
    }
}

fn sum_of_squares(verdicts: &[Verdict]) -> f64 {
    verdicts.iter().map(beyond_rounding).map(|it| it * it).sum()
}

/// The relative error beyond what the printed digits can tell: a number printed
/// as 0.03 may be anything from 0.025 to 0.035.
fn beyond_rounding(verdict: &Verdict) -> f64 {
    let Some(error) = verdict.relative_error else { return 0.0 };
    let decimals = verdict.published.to_string().split_once('.').map_or(0, |(_, it)| it.len());
    let half_digit = 0.5 * 10_f64.powi(-i32::try_from(decimals).unwrap_or(0));
    (error.abs() - (half_digit / verdict.published).abs()).max(0.0)
}

#[expect(clippy::cast_precision_loss, reason = "a few claims")]
fn count(number: usize) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The stored parameters are what the fit returns, from the calibrating claims
    /// alone.
    #[test]
    fn stored_parameters_are_the_fit() {
        let fit = calibrate("pimnast").unwrap();
        for it in &fit.parameters {
            assert!(
                (it.stored - it.fitted).abs() <= 0.002,
                "{}: stored {}, fitted {}",
                it.path,
                it.stored,
                it.fitted
            );
        }
    }
}
