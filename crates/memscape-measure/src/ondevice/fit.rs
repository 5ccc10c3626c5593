//! The model's parameters for this machine.

use std::num::{NonZeroU32, NonZeroU64};

use memscape_explore::{FitMethod, FitParameter, FittedParameter, Residual};
use memscape_ondevice::PrefillStudy;
use memscape_ondevice::hardware::{Cores, Cpu};
use memscape_study::Study;
use memscape_workload::Format;

use super::measure::{Measurement, Overlap};
use super::weights::Setup;
use crate::fit::FitError;

/// The model of this machine.
#[derive(Debug, Clone, PartialEq)]
pub struct HostFit {
    /// `ondevice.prefill` with the fitted processor: one kind of cores
    pub study: PrefillStudy,
    /// What was found, and how well each is known
    pub parameters: Vec<FittedParameter>,
    /// Root mean square of the logarithms of model over measurement, of all measured times
    pub rms_error: f64,
}

/// One parameter of the processor: where it is, and its range. Rates and costs span
/// orders of magnitude and are searched by their logarithm.
struct Parameter {
    key: &'static str,
    of: fn(&mut Cpu) -> &mut f64,
    min: f64,
    max: f64,
}

/// What [`fit`] finds: copy rate, step cost, GEMM efficiency, and how much of the memory
/// GEMM takes from copies beside it.
const PARAMETERS: [Parameter; 4] = [
    Parameter { key: "cpu.copy_gb_s", of: |it| &mut it.copy_gb_s, min: 1e-2, max: 1e3 },
    Parameter { key: "cpu.step_ms", of: |it| &mut it.step_ms, min: 1e-4, max: 1e2 },
    Parameter { key: "cpu.gemm_efficiency", of: |it| &mut it.gemm_efficiency, min: 1e-2, max: 1.0 },
    Parameter { key: "cpu.gemm_block_tokens", of: |it| &mut it.gemm_block_tokens, min: 1.0, max: 1e4 },
];

/// Fits the processor of `ondevice.prefill` to measured times: the least sum of
/// squared logarithms of model over measurement.
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
        // All memory is cacheable here, and how fast it is is not measured: the tokens per
        // read of a weight are those that go with the phone's.
        uncached_slowdown: 1.0,
        memory_efficiency: 1.0,
        gemm_block_tokens: 8.0,
        ..study.cpu
    };
    let start = |it: &Parameter| *(it.of)(&mut study.cpu.clone());
    let free = PARAMETERS
        .each_ref()
        .map(|it| FitParameter::new(it.key, it.min, it.max).logarithmic().starting_at(start(it)));
    let found = memscape_explore::fit(&free, &FitMethod::MEASURED, &(), |values| {
        residuals(&with(&study, values), measurement)
    })?;
    Ok(HostFit { study: with(&study, &found.values()), rms_error: found.rms, parameters: found.parameters })
}

fn with(study: &PrefillStudy, values: &[f64]) -> PrefillStudy {
    let mut study = study.clone();
    for (it, value) in PARAMETERS.iter().zip(values) {
        *(it.of)(&mut study.cpu) = *value;
    }
    study
}

/// For all measured times, those busy side by side included, the logarithm of the
/// model's over it.
fn residuals(study: &PrefillStudy, measurement: &Measurement) -> Result<Vec<Residual>, FitError> {
    let mut all = Vec::new();
    let mut add = |model: f64, seen: f64| all.push(Residual::new((model / seen).ln()));
    for point in &measurement.prefills {
        let study = PrefillStudy {
            scheme: point.scheme,
            prompt_tokens: NonZeroU64::new(point.tokens as u64).ok_or(FitError::NoPoints)?,
            ..study.clone()
        };
        add(study.answer()?.ttft_s, point.ttft_s);
        if let Some(seen) = point.overlap {
            let model = Overlap::of(&study.timeline()?);
            add(model.copy_s, seen.copy_s);
            add(model.gemm_s, seen.gemm_s);
        }
    }
    for point in &measurement.copies {
        #[expect(clippy::cast_precision_loss, reason = "bytes and threads stay far below 2^53")]
        let model = point.bytes as f64 / (study.cpu.copy_gb_s * 1e9 * point.threads as f64);
        add(model, point.seconds);
    }
    Ok(all)
}
