//! Refitting free parameters from the claims of role `calibrate`.

use memscape_explore::{FitError, FitMethod, FitParameter, Look, Parameters, Residual, fit};
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
    /// Root mean square of the calibrating claims' relative errors beyond rounding; 0
    /// if there is nothing to fit.
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
    calibrate_from(paper, Look::Everywhere)
}

fn calibrate_from(paper: &str, look: Look) -> Result<Fit, Error> {
    let free = free_parameters(papers::paper(paper)?.id);
    let mut claims = builtin(Some(paper))?;
    claims.retain(|it| it.role == Role::Calibrate);
    let point = |values: &[f64]| -> Parameters {
        free.iter().zip(values).map(|(it, value)| (it.key(), it.json(*value))).collect()
    };
    let residuals = |values: &[f64]| {
        let verdicts = evaluate_with(&claims, &point(values))?;
        Ok(verdicts.iter().zip(&claims).map(|(it, claim)| residual(it, claim)).collect())
    };
    if free.is_empty() {
        return Ok(Fit {
            parameters: Vec::new(),
            rms_error: 0.0,
            verdicts: evaluate_with(&claims, &point(&[]))?,
        });
    }
    let parameters: Vec<FitParameter> = free.iter().map(FitParameter::from).collect();
    let fitted = fit(&parameters, &FitMethod { look, ..FitMethod::PRINTED }, &(), residuals);
    let fitted = fitted.map_err(|error| match error {
        FitError::Model { problem, .. } => problem,
        other => Error::Fit { paper: paper.to_owned(), problem: other.to_string() },
    })?;
    let verdicts = evaluate_with(&claims, &point(&fitted.values()))?;
    Ok(Fit {
        parameters: free
            .iter()
            .zip(&fitted.parameters)
            .map(|(it, fitted)| FittedParameter {
                path: it.key(),
                stored: it.value,
                fitted: fitted.value,
                unit: it.unit.clone(),
                meaning: it.meaning.clone(),
            })
            .collect(),
        rms_error: fitted.rms,
        verdicts,
    })
}

/// The free parameters of the system whose calibration is called after this paper.
fn free_parameters(paper: &str) -> &'static [FreeParameter] {
    let calibrations = registry().systems().iter().filter_map(|it| it.calibration);
    calibrations.into_iter().find(|it| it.paper == paper).map_or(&[], |it| it.parameters())
}

/// The relative error, which counts as far as it is beyond what the printed digits
/// can tell.
fn residual(verdict: &Verdict, claim: &Claim) -> Residual {
    let error = verdict.relative_error.unwrap_or(0.0);
    Residual::new(error).within((claim.rounding() / claim.value).abs())
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
            let fit = calibrate_from(paper.id, Look::Near).unwrap();
            for (it, free) in fit.parameters.iter().zip(free_parameters(paper.id)) {
                let off = (it.stored - it.fitted).abs();
                let enough = 5e-3 * (free.max - free.min);
                assert!(off <= enough, "{}: stored {}, fitted {}", it.path, it.stored, it.fitted);
            }
        }
    }
}
