//! Refitting free parameters from the claims of role `calibrate`.

use std::cell::RefCell;
use std::collections::HashMap;

use memscape_explore::{FitError, FitMethod, FitParameter, Fitted, Parameters, Residual, covariance, fit};
use memscape_study::FreeParameter;
use memscape_systems::registry;
use serde::Serialize;

use crate::claims::{Claim, Printed, Published, Role, Verdict, evaluate_with};
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
    let free = free_parameters(papers::paper(paper)?.id);
    let claims = calibrating(paper)?;
    if free.is_empty() {
        let verdicts = evaluate_with(&claims, &Parameters::new())?;
        return Ok(Fit { parameters: Vec::new(), rms_error: 0.0, verdicts });
    }
    let fitted = fit_to(paper, free, &FitMethod::PRINTED, |values| {
        let verdicts = evaluate_with(&claims, &point(free, values))?;
        Ok(verdicts.iter().zip(&claims).map(|(it, claim)| residual(it, claim)).collect())
    })?;
    let verdicts = evaluate_with(&claims, &point(free, &fitted.values()))?;
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

/// A claim that the fit takes, predicted without it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LeftOut {
    /// The claim's id.
    pub id: String,
    /// The printed number.
    pub published: Printed,
    /// Its unit.
    pub unit: String,
    /// What the model says, fitted to it as to all others.
    pub computed: f64,
    /// What the model says, fitted to the others alone; none if they leave open what it
    /// says.
    pub predicted: Option<f64>,
    /// Predicted over published less 1.
    pub relative_error: Option<f64>,
    /// Parameters that move the number, and that the others do not fix.
    pub open: Vec<String>,
}

/// Predicts each claim of role `calibrate` from a fit to the others, which begins at the stored values and goes by
/// `method`. `told` hears how many are done, and of how many.
///
/// # Errors
/// As [`calibrate`].
pub fn leave_one_out(
    paper: &str,
    method: &FitMethod,
    told: impl Fn(usize, usize),
) -> Result<Vec<LeftOut>, Error> {
    let free = free_parameters(papers::paper(paper)?.id);
    let claims = calibrating(paper)?;
    let stored = evaluate_with(&claims, &Parameters::new())?;
    let said = Said { free, claims: &claims, before: RefCell::default() };
    let left_out = |(index, stored): (usize, &Verdict)| {
        told(index, claims.len());
        left_out(paper, method, &said, index, stored)
    };
    stored.iter().enumerate().map(left_out).collect()
}

/// What the model says to some claims, asked once at each point: fits that differ in one
/// claim begin alike.
struct Said<'a> {
    free: &'a [FreeParameter],
    claims: &'a [Claim],
    before: RefCell<HashMap<Vec<u64>, Vec<Verdict>>>,
}

impl Said<'_> {
    fn at(&self, values: &[f64]) -> Result<Vec<Verdict>, Error> {
        let key: Vec<u64> = values.iter().map(|it| it.to_bits()).collect();
        if let Some(verdicts) = self.before.borrow().get(&key) {
            return Ok(verdicts.clone());
        }
        let verdicts = evaluate_with(self.claims, &point(self.free, values))?;
        self.before.borrow_mut().insert(key, verdicts.clone());
        Ok(verdicts)
    }
}

fn left_out(
    paper: &str,
    method: &FitMethod,
    said: &Said<'_>,
    index: usize,
    stored: &Verdict,
) -> Result<LeftOut, Error> {
    let Said { free, claims, .. } = said;
    let claim = &claims[index];
    let fitted = fit_to(paper, free, method, |values| {
        let all = said.at(values)?.into_iter().zip(*claims).enumerate();
        Ok(all.filter(|it| it.0 != index).map(|(_, (it, claim))| residual(&it, claim)).collect())
    })?;
    let values = fitted.values();
    let say =
        |values: &[f64]| -> Result<f64, Error> { Ok(said.at(values)?[index].computed.unwrap_or(f64::NAN)) };
    let predicted = say(&values)?;
    let moves = |at: usize| -> Result<bool, Error> {
        let mut values = values.clone();
        for end in [free[at].min, free[at].max] {
            values[at] = end;
            if (say(&values)? / predicted - 1.0).abs() > UNMOVED {
                return Ok(true);
            }
        }
        Ok(false)
    };
    let mut open = Vec::new();
    for (at, it) in fitted.parameters.iter().enumerate() {
        if !it.identified && moves(at)? {
            open.push(it.key.clone());
        }
    }
    let predicted = Some(predicted).filter(|_| open.is_empty());
    Ok(LeftOut {
        id: claim.id.clone(),
        published: claim.value.clone(),
        unit: claim.unit.clone(),
        computed: stored.computed.unwrap_or(f64::NAN),
        predicted,
        relative_error: predicted.map(|it| claim.relative_error(it)),
        open,
    })
}

/// A parameter whose whole range moves a claim by less does not move it.
const UNMOVED: f64 = 1e-3;

/// How far the stored parameters of a paper may be off, together: the covariance, in the
/// order of its file, in the parameters' units squared.
///
/// Each claim that is fitted to is taken to be known as well as its digits are, and the model
/// to say it as well as it says all that it is calibrated to; before these, a parameter may be anywhere in
/// its range. A parameter that is nothing but one value (an empty range) has no variance.
///
/// # Errors
/// As [`calibrate`].
pub fn covariance_of(paper: &str) -> Result<Vec<Vec<f64>>, Error> {
    let free = free_parameters(papers::paper(paper)?.id);
    let claims = calibrated_to(paper)?;
    let errors = |values: &[f64]| -> Result<Vec<f64>, Error> {
        let verdicts = evaluate_with(&claims, &point(free, values))?;
        Ok(verdicts.iter().map(|it| it.relative_error.unwrap_or(0.0)).collect())
    };
    let stored: Vec<f64> = free.iter().map(|it| it.value).collect();
    let left = errors(&stored)?;
    // A reading that meets the claim by which it was chosen has used it up.
    let used_up = |(claim, error): &(&Claim, &f64)| claim.unfitted.is_some() && **error == 0.0;
    let told = claims.iter().zip(&left).filter(|it| !used_up(it)).count();
    #[expect(clippy::cast_precision_loss, reason = "a few claims")]
    let model = left.iter().map(|it| it * it).sum::<f64>() / told.saturating_sub(free.len()).max(1) as f64;
    let deviation = |claim: &Claim| {
        if claim.unfitted.is_some() {
            return 0.0;
        }
        // Half of the last digit either way, evenly.
        let rounding = claim.rounding() / claim.value.number();
        (rounding * rounding / 3.0 + model).sqrt()
    };
    let deviations: Vec<f64> = claims.iter().map(deviation).collect();
    let slope = |(at, it): (usize, &FreeParameter)| -> Result<Vec<f64>, Error> {
        let reach = if it.whole { 1.0 } else { (1e-2 * it.value.abs()).max(1e-3 * (it.max - it.min)) };
        let ends = [it.value - reach, it.value + reach].map(|value| value.clamp(it.min, it.max));
        let [low, high] = ends.map(|value| {
            let mut values = stored.clone();
            values[at] = value;
            errors(&values)
        });
        let width = ends[1] - ends[0];
        let slopes = low?.into_iter().zip(high?).zip(&deviations).map(|((low, high), deviation)| {
            if width > 0.0 && *deviation > 0.0 { (high - low) / width / deviation } else { 0.0 }
        });
        Ok(slopes.collect())
    };
    // What has no range is known.
    let movable: Vec<usize> = (0..free.len()).filter(|it| free[*it].min < free[*it].max).collect();
    let slopes = movable.iter().map(|it| slope((*it, &free[*it]))).collect::<Result<Vec<_>, Error>>()?;
    let before: Vec<f64> = movable.iter().map(|it| (free[*it].max - free[*it].min) / 12_f64.sqrt()).collect();
    let mut all = vec![vec![0.0; free.len()]; free.len()];
    for (row, from) in movable.iter().zip(covariance(&slopes, &before)) {
        for (column, value) in movable.iter().zip(from) {
            all[*row][*column] = value;
        }
    }
    Ok(all)
}

/// The claims that a paper's model is calibrated to.
fn calibrated_to(paper: &str) -> Result<Vec<Claim>, Error> {
    let claims = Published::of(papers::paper(paper)?).claims;
    Ok(claims.into_iter().filter(|it| it.role == Role::Calibrate).collect())
}

/// Those that its parameters are fitted to.
fn calibrating(paper: &str) -> Result<Vec<Claim>, Error> {
    Ok(calibrated_to(paper)?.into_iter().filter(|it| it.unfitted.is_none()).collect())
}

fn fit_to(
    paper: &str,
    free: &[FreeParameter],
    method: &FitMethod,
    residuals: impl Fn(&[f64]) -> Result<Vec<Residual>, Error>,
) -> Result<Fitted, Error> {
    let parameters: Vec<FitParameter> = free.iter().map(FitParameter::from).collect();
    fit(&parameters, method, &(), residuals).map_err(|error| match error {
        FitError::Model { problem, .. } => problem,
        other => Error::Fit { paper: paper.to_owned(), problem: other.to_string() },
    })
}

/// The free parameters at these values.
fn point(free: &[FreeParameter], values: &[f64]) -> Parameters {
    free.iter().zip(values).map(|(it, value)| (it.key(), it.json(*value))).collect()
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
    Residual::new(error).within((claim.rounding() / claim.value.number()).abs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::papers::PAPERS;

    /// `memscape calibrate PAPER --covariance` prints what the files hold. Hermes' claims take long.
    #[test]
    fn stored_covariances_are_those_of_the_fits() {
        for paper in PAPERS.iter().filter(|it| it.id != "hermes") {
            let free = free_parameters(paper.id);
            let now = covariance_of(paper.id).unwrap();
            let apart = |row: usize, column: usize| {
                (free[row].covariance[column] - now[row][column]).abs()
                    / (now[row][row] * now[column][column]).sqrt().max(f64::MIN_POSITIVE)
            };
            for row in 0..free.len() {
                let asked = "`memscape calibrate PAPER --covariance` writes it";
                assert_eq!(free[row].covariance.len(), free.len(), "{}: {asked}", free[row].key());
                // Printed to four digits, and some of the claims only move in steps.
                assert!((0..free.len()).all(|it| apart(row, it) < 0.01), "{}: {now:?}", free[row].key());
            }
        }
    }

    /// The stored parameters are those of a fit to the calibrating claims alone: no step
    /// along one of them, of a hundredth of its range or one of what it counts, lessens
    /// the error by more than a hundredth.
    #[test]
    fn stored_parameters_are_the_fit() {
        for paper in PAPERS {
            let (free, claims) = (free_parameters(paper.id), calibrating(paper.id).unwrap());
            let error = |values: &[f64]| -> f64 {
                let verdicts = evaluate_with(&claims, &point(free, values)).unwrap();
                let squares =
                    verdicts.iter().zip(&claims).map(|(it, claim)| residual(it, claim).beyond().powi(2));
                squares.sum::<f64>().sqrt()
            };
            let stored: Vec<f64> = free.iter().map(|it| it.value).collect();
            let least = error(&stored);
            for (at, it) in free.iter().enumerate() {
                let step = if it.whole { 1.0 } else { (it.max - it.min) / 100.0 };
                for value in [it.value - step, it.value + step] {
                    let mut values = stored.clone();
                    values[at] = value.clamp(it.min, it.max);
                    let moved = error(&values);
                    assert!(moved >= 0.99 * least, "{} = {value}: {moved} from {least}", it.key());
                }
            }
        }
    }

    #[test]
    fn what_nothing_else_fixes_is_not_predicted() {
        let rows = leave_one_out("pim-sherpa", &FitMethod::NEAR, |_, _| {}).unwrap();
        let of = |id: &str| rows.iter().find(|it| it.id == format!("pim-sherpa.{id}")).unwrap();
        let copies = of("ttft.smc_ddb_1b");
        assert_eq!((copies.predicted, copies.open.as_slice()), (None, &["cpu.copy_gb_s".to_owned()][..]));
        // The padding rule has no parameter.
        assert!(rows.iter().all(|it| it.id != "pim-sherpa.cap.pad_1b"));
    }
}
