//! The model's parameters for this machine.

use std::num::{NonZeroU32, NonZeroU64};

use argmin::core::{CostFunction, Executor};
use argmin::solver::brent::BrentOpt;
use memscape_ondevice::PrefillStudy;
use memscape_ondevice::hardware::{Cores, Cpu};
use memscape_study::Study;
use memscape_workload::Format;

use super::measure::{Measurement, Overlap};
use super::weights::Setup;

/// The model of this machine.
#[derive(Debug, Clone, PartialEq)]
pub struct HostFit {
    /// `ondevice.prefill` with the fitted processor: one kind of cores
    pub study: PrefillStudy,
    /// Root mean square of the relative errors of all measured times
    pub rms_error: f64,
}

/// Why there is no fit.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FitError {
    /// The search failed.
    #[error("the fit failed: {0}")]
    Search(argmin::core::Error),
    /// The model has no answer.
    #[error("the model has no answer: {0}")]
    Model(memscape_study::StudyError),
    /// Nothing to fit to.
    #[error("there is no measured time to fit to")]
    NoPoints,
}

/// One parameter of the processor: where it is, and its range. Rates and costs span
/// orders of magnitude and are searched by their logarithm.
struct Parameter {
    of: fn(&mut Cpu) -> &mut f64,
    min: f64,
    max: f64,
}

/// What [`fit`] finds: copy rate, step cost, GEMM efficiency, and how copies and GEMM
/// slow each other.
const PARAMETERS: [Parameter; 5] = [
    Parameter { of: |it| &mut it.copy_gb_s, min: 1e-2, max: 1e3 },
    Parameter { of: |it| &mut it.step_ms, min: 1e-4, max: 1e2 },
    Parameter { of: |it| &mut it.gemm_efficiency, min: 1e-2, max: 1.0 },
    Parameter { of: |it| &mut it.copy_slowdown, min: 1.0, max: 20.0 },
    Parameter { of: |it| &mut it.gemm_slowdown, min: 1.0, max: 20.0 },
];

/// Rounds of the search at the most.
const ROUNDS: usize = 60;

/// Fits the processor of `ondevice.prefill` to measured times: the least sum of
/// squared logarithms of model over measurement, one parameter after the other by
/// Brent's method, round by round until nothing moves.
///
/// # Errors
/// [`FitError`] if there is nothing to fit to, or the model has no answer.
///
/// # Panics
/// If a group has no threads, which [`Setup::check`] excludes.
pub fn fit(setup: &Setup, measurement: &Measurement) -> Result<HostFit, FitError> {
    if measurement.prefills.is_empty() && measurement.copies.is_empty() {
        return Err(FitError::NoPoints);
    }
    let count = |it: usize| u32::try_from(it).unwrap_or(u32::MAX);
    let mut study = PrefillStudy {
        model: setup.model,
        layers: setup.layers_for_study(),
        format: Format::plain(setup.element),
        ..PrefillStudy::default()
    };
    let none = Cores { cores: 0, peak_gflops: measurement.peak_gflops, gemm_threads: 0, copy_threads: 0 };
    let all = Cores {
        cores: count(setup.gemm_threads + setup.copy_threads),
        gemm_threads: count(setup.gemm_threads),
        copy_threads: count(setup.copy_threads),
        ..none
    };
    study.cpu = Cpu {
        big: all,
        middle_high: none,
        middle_low: none,
        owr_threads: NonZeroU32::new(count(setup.owr_threads)).expect("checked"),
        copy_gb_s: 1.0,
        step_ms: 0.1,
        gemm_efficiency: 0.5,
        copy_slowdown: 1.0,
        gemm_slowdown: 1.0,
        ..study.cpu
    };
    let mut least = sum_of_squares(&study, measurement)?;
    for _ in 0..ROUNDS {
        let before = least;
        for parameter in &PARAMETERS {
            let line = Line { study: &study, measurement, parameter };
            let solver = BrentOpt::new(parameter.min.ln(), parameter.max.ln()).set_tolerance(1e-8, 1e-8);
            let run = Executor::new(line, solver).configure(|it| it.max_iters(100)).run();
            let best = run.map_err(FitError::Search)?.state.best_param;
            let Some(best) = best else { continue };
            let candidate = with(&study, parameter, best);
            let cost = sum_of_squares(&candidate, measurement)?;
            if cost < least {
                (study, least) = (candidate, cost);
            }
        }
        if before - least <= 1e-9 * before {
            break;
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "a few points")]
    let points = (measurement.prefills.len()
        + measurement.copies.len()
        + 2 * measurement.prefills.iter().filter(|it| it.overlap.is_some()).count()) as f64;
    Ok(HostFit { study, rms_error: (least / points).sqrt() })
}

fn with(study: &PrefillStudy, parameter: &Parameter, logarithm: f64) -> PrefillStudy {
    let mut study = study.clone();
    *(parameter.of)(&mut study.cpu) = logarithm.exp().clamp(parameter.min, parameter.max);
    study
}

/// One parameter varied, all others held.
struct Line<'a> {
    study: &'a PrefillStudy,
    measurement: &'a Measurement,
    parameter: &'a Parameter,
}

impl CostFunction for Line<'_> {
    type Param = f64;
    type Output = f64;

    fn cost(&self, logarithm: &f64) -> Result<f64, argmin::core::Error> {
        Ok(sum_of_squares(&with(self.study, self.parameter, *logarithm), self.measurement)?)
    }
}

/// Over all measured times, those busy side by side included, the squared logarithm of the model's over it.
fn sum_of_squares(study: &PrefillStudy, measurement: &Measurement) -> Result<f64, FitError> {
    let mut sum = 0.0;
    for point in &measurement.prefills {
        let study = PrefillStudy {
            scheme: point.scheme,
            prompt_tokens: NonZeroU64::new(point.tokens as u64).ok_or(FitError::NoPoints)?,
            ..study.clone()
        };
        let answer = study.answer().map_err(FitError::Model)?;
        sum += (answer.ttft_s / point.ttft_s).ln().powi(2);
        if let Some(seen) = point.overlap {
            let model = Overlap::of(&study.timeline().map_err(FitError::Model)?);
            sum += (model.copy_s / seen.copy_s).ln().powi(2) + (model.gemm_s / seen.gemm_s).ln().powi(2);
        }
    }
    for point in &measurement.copies {
        #[expect(clippy::cast_precision_loss, reason = "bytes and threads stay far below 2^53")]
        let model = point.bytes as f64 / (study.cpu.copy_gb_s * 1e9 * point.threads as f64);
        sum += (model / point.seconds).ln().powi(2);
    }
    Ok(sum)
}
