//! Values of what is not known for sure, drawn together.

use std::collections::HashSet;

use memscape_study::Calibration;
use memscape_study::random::Key;
use serde_json::Value;

use super::doubt::{Doubt, Group, Unknown, doubts};
use crate::error::Error;
use crate::parameters::Parameters;
use crate::registry::DynStudy;

/// Everything that some studies' defaults do not know for sure.
pub struct Doubts {
    all: Vec<Doubt>,
}

impl Doubts {
    /// Those of all of these studies, each parameter once.
    ///
    /// # Errors
    /// [`Error`] if a study's defaults are none.
    pub fn of<'a>(studies: impl IntoIterator<Item = &'a dyn DynStudy>) -> Result<Self, Error> {
        let mut all = Vec::new();
        for study in studies {
            all.extend(doubts(study.asker().anatomy, &[], &[])?);
        }
        let mut seen = HashSet::new();
        all.retain(|it: &Doubt| seen.insert(it.path.clone()));
        Ok(Self { all })
    }

    /// A value for each, the same for the same seed and number.
    #[must_use]
    pub fn draw(&self, seed: u64, number: u64) -> Parameters {
        let values = draw(&self.all, Key::new(seed).fork(number), None);
        self.all.iter().zip(values).map(|(it, value)| (it.key(), value)).collect()
    }
}

/// A value for each doubt; those of other groups than `only` stay as they are.
pub(super) fn draw(doubts: &[Doubt], key: Key, only: Option<Group>) -> Vec<Value> {
    let mut fits: Vec<(&'static Calibration, Vec<f64>)> = Vec::new();
    let value = |(index, doubt): (usize, &Doubt)| {
        if only.is_some_and(|it| it != doubt.group()) {
            return doubt.nominal.clone();
        }
        match &doubt.of {
            Unknown::Spread(_, spread) => spread.at(key.uniform(index as u64), &doubt.nominal),
            Unknown::Fitted(calibration, at) => {
                let known = fits.iter().position(|it| std::ptr::eq(it.0, *calibration));
                let known = known.unwrap_or_else(|| {
                    // Fits know nothing of each other.
                    fits.push((*calibration, fitted(calibration, key.fork(1 + fits.len() as u64))));
                    fits.len() - 1
                });
                calibration.parameters()[*at].json(fits[known].1[*at])
            }
        }
    };
    doubts.iter().enumerate().map(value).collect()
}

/// The parameters of a fit, normally distributed about their values with its covariance,
/// within their ranges.
fn fitted(calibration: &Calibration, key: Key) -> Vec<f64> {
    let all = calibration.parameters();
    let root = root(&all.iter().map(|it| it.covariance.clone()).collect::<Vec<_>>());
    let normals: Vec<f64> = (0..all.len() as u64).map(|it| normal(key, it)).collect();
    all.iter()
        .zip(&root)
        .map(|(it, row)| {
            let off: f64 = row.iter().zip(&normals).map(|(factor, normal)| factor * normal).sum();
            (it.value + off).clamp(it.min, it.max)
        })
        .collect()
}

/// # Source
/// Box and Muller, Annals of Mathematical Statistics 29, 1958.
fn normal(key: Key, index: u64) -> f64 {
    let (radius, angle) = (key.uniform(2 * index), key.uniform(2 * index + 1));
    (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
}

/// The lower triangle whose square is this matrix (Cholesky's); a parameter without
/// variance, or all of whose variance is others', has no row of its own.
fn root(covariance: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let mut root: Vec<Vec<f64>> = Vec::new();
    for (row, given) in covariance.iter().enumerate() {
        let mut line = vec![0.0; covariance.len()];
        if given.len() == covariance.len() {
            for column in 0..=row {
                let other = if column == row { line.clone() } else { root[column].clone() };
                let before: f64 = (0..column).map(|it| line[it] * other[it]).sum();
                let left = given[column] - before;
                line[column] = if column == row {
                    left.max(0.0).sqrt()
                } else if other[column] > 0.0 {
                    left / other[column]
                } else {
                    0.0
                };
            }
        }
        root.push(line);
    }
    root
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_square_of_the_root_is_the_covariance() {
        let covariance = vec![vec![4.0, 2.0, 0.0], vec![2.0, 5.0, 0.0], vec![0.0, 0.0, 0.0]];
        let root = root(&covariance);
        assert_eq!(root, [[2.0, 0.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 0.0]]);
    }

    #[test]
    fn normals_have_mean_0_and_variance_1() {
        let all: Vec<f64> = (0..20_000).map(|it| normal(Key::new(3), it)).collect();
        #[expect(clippy::cast_precision_loss, reason = "a count")]
        let mean = |of: &dyn Fn(f64) -> f64| all.iter().map(|it| of(*it)).sum::<f64>() / all.len() as f64;
        assert!(mean(&|it| it).abs() < 0.03 && (mean(&|it| it * it) - 1.0).abs() < 0.03);
    }
}
