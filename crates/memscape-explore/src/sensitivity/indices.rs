//! Shares of variance.

use memscape_study::random::Key;
use rayon::prelude::*;

use super::experiment::Experiment;
use crate::error::Error;
use crate::space::{Method, check_dimensions, places};
use crate::table::Table;

/// Resamples of the bootstrap.
const RESAMPLES: u64 = 200;

/// Two points for each sample, and one for each axis that takes this axis from the second.
pub(super) fn table(it: &Experiment<'_>) -> Result<Table, Error> {
    let axes = it.axes();
    it.check_samples(8, axes as u64 + 2)?;
    // Evenly spread as far as Sobol's sequence has dimensions.
    let method =
        if check_dimensions(Method::Sobol, 2 * axes).is_ok() { Method::Sobol } else { Method::Latin };
    let (samples, seed) = (it.question.samples, it.question.seed);
    let drawn: Vec<Vec<f64>> = (0..2 * axes as u64).map(|axis| places(method, seed, samples, axis)).collect();
    let at = |sample: usize, half: usize, axis: usize| drawn[half * axes + axis][sample];
    let mut all = Vec::new();
    for sample in 0..drawn[0].len() {
        let both = [0, 1].map(|half| (0..axes).map(|axis| at(sample, half, axis)).collect::<Vec<f64>>());
        let mixed = (0..axes).map(|axis| {
            let mut mixed = both[0].clone();
            mixed[axis] = both[1][axis];
            mixed
        });
        all.extend(mixed.collect::<Vec<_>>());
        all.extend(both);
    }
    let values = it.values(&all);
    let whole: Vec<Vec<&Vec<f64>>> =
        values.chunks(axes + 2).filter_map(|it| it.iter().map(Option::as_ref).collect()).collect();
    it.check_answered(whole.len(), drawn[0].len())?;
    let scales: Vec<f64> = (0..it.question.of.len()).map(|column| scale(&whole, column)).collect();
    let of = |column: usize, axis: usize| -> Vec<Triple> {
        let at = |it: &Vec<&Vec<f64>>, point: usize| it[point][column] * scales[column];
        let triple = |it: &Vec<&Vec<f64>>| Triple {
            first: at(it, axes),
            second: at(it, axes + 1),
            mixed: at(it, axis),
        };
        whole.iter().map(triple).collect()
    };
    let pairs: Vec<(usize, usize)> =
        (0..it.question.of.len()).flat_map(|column| (0..axes).map(move |axis| (column, axis))).collect();
    let found: Vec<[Share; 2]> =
        pairs.par_iter().map(|(column, axis)| shares(&of(*column, *axis), seed)).collect();
    let column =
        |which: usize, part: fn(&Share) -> Option<f64>| found.iter().map(|it| part(&it[which])).collect();
    let columns = vec![
        ("first_order", column(0, |it| it.value)),
        ("first_order_low", column(0, |it| it.low)),
        ("first_order_high", column(0, |it| it.high)),
        ("total", column(1, |it| it.value)),
        ("total_low", column(1, |it| it.low)),
        ("total_high", column(1, |it| it.high)),
    ];
    it.rows(columns, &[("samples", vec![whole.len()])])
}

/// What brings the greatest answer near 1, so that no square of one is too large or too small for a number: a power
/// of two, which rounds nothing.
fn scale(whole: &[Vec<&Vec<f64>>], column: usize) -> f64 {
    let greatest = whole.iter().flatten().map(|it| it[column].abs()).fold(0.0, f64::max);
    if greatest > 0.0 { (-greatest.log2().floor().clamp(-1000.0, 1000.0)).exp2() } else { 1.0 }
}

/// Answers at both points of a sample, and at the first with one axis of the second.
#[derive(Clone, Copy)]
struct Triple {
    first: f64,
    second: f64,
    mixed: f64,
}

/// A share of the variance; none where nothing varies.
#[derive(Default)]
struct Share {
    value: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
}

fn shares(all: &[Triple], seed: u64) -> [Share; 2] {
    let Some(value) = estimate(all.iter().copied()) else { return Default::default() };
    let key = Key::new(seed).fork(1);
    let resampled: Vec<[f64; 2]> = (0..RESAMPLES)
        .filter_map(|resample| {
            let key = key.fork(resample);
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                clippy::cast_precision_loss,
                reason = "a share of a count"
            )]
            let pick = |index: u64| all[(key.uniform(index) * all.len() as f64) as usize];
            estimate((0..all.len() as u64).map(pick))
        })
        .collect();
    [0, 1].map(|which| {
        let mut sorted: Vec<f64> = resampled.iter().map(|it| it[which]).collect();
        sorted.sort_by(f64::total_cmp);
        let end = |place: f64| {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                clippy::cast_precision_loss,
                reason = "a share of a count"
            )]
            let index = (place * (sorted.len().max(1) - 1) as f64).round() as usize;
            sorted.get(index).copied()
        };
        Share { value: Some(value[which]), low: end(0.025), high: end(0.975) }
    })
}

/// First order and total; none if the answers do not vary.
fn estimate(all: impl Iterator<Item = Triple> + Clone) -> Option<[f64; 2]> {
    let (mut count, mut sum) = (0.0, 0.0);
    for it in all.clone() {
        count += 1.0;
        sum += it.first + it.second;
    }
    let mean = sum / (2.0 * count);
    let (mut variance, mut first, mut total) = (0.0, 0.0, 0.0);
    for it in all {
        variance += (it.first - mean).powi(2) + (it.second - mean).powi(2);
        first += (it.second - mean) * (it.mixed - it.first);
        total += 0.5 * (it.first - it.mixed).powi(2);
    }
    let variance = variance / (2.0 * count);
    // Rounding alone is no variance.
    (variance > (1e-12 * mean).powi(2)).then(|| [first / count / variance, total / count / variance])
}
