//! How many neurons two DIMMs exchange until they are level enough.

use crate::hardware::{Remap, Stop};
use crate::normal::{cdf, density, mean_above_zero};

/// What a window leaves between two DIMMs, in neurons that were active throughout it: how far the fuller is
/// above the middle of the two.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Left(f64);

impl Left {
    /// A pair that reads so many neurons each.
    ///
    /// The least that can move is a neuron that was active once.
    pub fn of(remap: Remap, mean: f64) -> Self {
        let least = 0.5 / f64::from(remap.window.get());
        Self(match remap.stop {
            Stop::Level => least,
            // Half of the gap, which is a twentieth of the fuller's.
            Stop::FivePercent => (mean / 40.0).max(least),
        })
    }

    /// Neurons that move where one is so far above the middle. One more makes up for what is less than a whole.
    pub fn moves(self, above: f64) -> f64 {
        if above > self.0 { above - self.0 + 1.0 } else { 0.0 }
    }

    /// The mean of these where it is `always` so far above, and a normal number of this deviation farther.
    pub fn mean_moves(self, deviation: f64, always: f64) -> f64 {
        let left = self.0 - always;
        if left <= 0.0 {
            return 2.0 * mean_above_zero(0.0, deviation) - left + 1.0;
        }
        2.0 * (mean_above_zero(-left, deviation) + tail(left, deviation))
    }

    /// Neurons that move where a window before has left anything up to that, and one is so much farther above.
    pub fn moves_again(self, above: f64) -> f64 {
        if above >= 2.0 * self.0 {
            return above - self.0 + 1.0;
        }
        let beyond = above / (2.0 * self.0);
        beyond * (above / 2.0 + 1.0)
    }

    /// The mean of these for a normal number of this deviation.
    pub fn mean_moves_again(self, deviation: f64) -> f64 {
        if deviation <= 0.0 {
            return 0.0;
        }
        let far = 2.0 * self.0;
        let z = far / deviation;
        // Of numbers below `far`: their mean, and that of their squares.
        let near = 2.0 * deviation * (density(0.0) - density(z));
        let squares = deviation.powi(2) * (1.0 - 2.0 * (cdf(-z) + z * density(z)));
        let beyond = 2.0 * (deviation * density(z) + (1.0 - self.0) * cdf(-z));
        squares / (2.0 * far) + near / far + beyond
    }
}

/// Probability of more than `above`.
fn tail(above: f64, deviation: f64) -> f64 {
    if deviation > 0.0 { cdf(-above / deviation) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::normal::quadrature;

    /// Means are of what each number gives.
    #[test]
    fn means_are_over_the_normal_law() {
        for left in [0.1, 1.0, 7.0] {
            let left = Left(left);
            for deviation in [0.05, 0.7, 3.0, 40.0] {
                for always in [0.0, 0.5, 9.0] {
                    let mean = quadrature(|it| left.moves((deviation * it).abs() + always));
                    let told = left.mean_moves(deviation, always);
                    assert!(
                        (told - mean).abs() < 0.02 * mean.max(0.5),
                        "{left:?} {deviation} {always}: {told} {mean}"
                    );
                }
                let mean = quadrature(|it| left.moves_again((deviation * it).abs()));
                let told = left.mean_moves_again(deviation);
                assert!((told - mean).abs() < 0.02 * mean.max(0.5), "{left:?} {deviation}: {told} {mean}");
            }
            assert_eq!(
                (left.mean_moves(0.0, 0.0), left.mean_moves_again(0.0), left.moves_again(0.0)),
                (0.0, 0.0, 0.0)
            );
        }
    }
}
