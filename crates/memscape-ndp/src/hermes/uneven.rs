//! What chance does to the loads of the DIMMs.

use crate::normal::mean_above_zero;
use crate::scheduler::{Answers, Expected, Strategy, largest_of};

/// What makes DIMMs' loads of some neurons of a block differ.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Uneven {
    /// Variance of what is read, neuron by neuron, as a share of the block's.
    pub apart: f64,
    /// Variance of a DIMM's load over the square of its mean, of neighbours that lie
    /// together.
    pub together: f64,
}

impl Uneven {
    /// Standard deviation of a DIMM's load, in neurons.
    ///
    /// * `neurons`: of the block
    /// * `mean`: of the loads
    pub fn deviation(&self, neurons: f64, mean: f64, dimms: f64) -> f64 {
        let [apart, together] = self.variances(neurons, mean, dimms);
        (apart + together).max(0.0).sqrt()
    }

    fn variances(&self, neurons: f64, mean: f64, dimms: f64) -> [f64; 2] {
        [self.apart * neurons * (1.0 - 1.0 / dimms) / dimms, self.together * mean.powi(2)]
    }

    /// How far the fullest DIMM is from the mean, in neurons. Loads are skewed: neurons one by one as a count of
    /// them is (Poisson's), neighbours that lie together as few lumps are (a gamma distribution's).
    ///
    /// # Source
    /// Frequency factor of a Pearson III distribution by the cube of a normal number: Wilson and Hilferty, PNAS
    /// 17, 1931; C. T. Haan, "Statistical Methods in Hydrology", 1977.
    pub fn fullest(&self, neurons: f64, mean: f64, dimms: f64) -> f64 {
        let ([apart, together], z) = (self.variances(neurons, mean, dimms), largest_of(dimms));
        let deviation = (apart + together).max(0.0).sqrt();
        let third_moment = apart + 2.0 * together.powi(2) / mean.max(1e-300);
        let skew = third_moment / deviation.powi(3).max(1e-300);
        if skew < 1e-6 {
            return z * deviation;
        }
        let cube = (1.0 + skew * z / 6.0 - skew.powi(2) / 36.0).max(0.0).powi(3);
        2.0 / skew * (cube - 1.0) * deviation
    }
}

/// What of a block's work is left to chance.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Chance {
    /// What the GPU does not hold.
    pub cold: Uneven,
    /// Fullest DIMM over the mean where groups of cold neurons do not come out even.
    pub groups: f64,
    /// All that is computed, if DIMMs are to compute what the GPU holds as well.
    pub all: Uneven,
}

/// How neurons were put on DIMMs.
pub(super) struct OnDimms<'a> {
    pub answers: &'a Answers,
    pub strategy: Strategy,
    /// Groups of neighbours of a block; infinite if neurons were placed one by one.
    pub groups: f64,
    /// Clusters of a block that a prompt favours.
    pub clusters: f64,
    pub dimms: f64,
}

impl OnDimms<'_> {
    /// As the partition left them. DIMMs are level by offline activity of what is cold; neighbours that
    /// a prompt favours together are not, until they are moved apart. A random mapper draws a DIMM for each
    /// group.
    pub fn placed(&self, it: &Expected) -> Chance {
        let drift = self.answers.cluster_variances(it).map(|it| it / self.groups.max(self.clusters));
        let own = self.dimms - 1.0;
        if self.strategy == Strategy::Random {
            let of = |apart, drift| Uneven { apart, together: own * (drift + 1.0 / self.groups) };
            return Chance { cold: of(it.cold, drift[0]), groups: 1.0, all: of(it.cold + it.held, drift[2]) };
        }
        // What the exchange leaves cold is spread by chance.
        let apart = if self.strategy.adjusts() { it.cold } else { it.offline_variance };
        let groups = if self.groups.is_finite() {
            (self.groups / self.dimms).ceil() * self.dimms / self.groups
        } else {
            1.0
        };
        Chance {
            cold: Uneven { apart, together: own * drift[0] },
            groups,
            all: Uneven { apart: apart + it.held, together: own * drift[2] + self.odd() },
        }
    }

    /// Moved apart by what a window saw of the cold ones; the others lie where they lay.
    pub fn cold_level(&self, it: &Expected) -> Chance {
        let [_, drift, _] = self.answers.cluster_variances(it).map(|it| it / self.groups.max(self.clusters));
        let held = it.held / (it.cold + it.held).max(1e-300);
        let together = ((self.dimms - 1.0) * drift + self.odd()) * held.powi(2);
        Chance {
            cold: Uneven { apart: it.cold_variance, together: 0.0 },
            groups: 1.0,
            all: Uneven { apart: it.cold_variance + it.held, together },
        }
    }

    /// Moved apart by what a window saw of all.
    pub fn all_level(&self, it: &Expected) -> Chance {
        let apart = it.cold_variance + it.held_variance;
        Chance { all: Uneven { apart, together: 0.0 }, ..self.placed(it) }
    }

    /// Variance over the square of the mean of how many groups a DIMM has.
    fn odd(&self) -> f64 {
        if !self.groups.is_finite() {
            return 0.0;
        }
        let each = self.groups / self.dimms;
        each.fract() * (1.0 - each.fract()) / each.powi(2)
    }
}

/// Neurons that DIMMs compute by a time beside the cold ones: each what it has, or as many as it has time for.
///
/// * `room`: what a DIMM has time for beside the mean of the cold ones
/// * `held`: the mean of the others
/// * `deviation`: of both together
pub(super) fn handed(room: f64, held: f64, deviation: f64, dimms: f64) -> f64 {
    let spare = room - held;
    if spare >= largest_of(dimms) * deviation {
        // The fullest has time for all.
        return held * dimms;
    }
    (room - mean_above_zero(spare, deviation)).clamp(0.0, held) * dimms
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dimms_take_what_they_have_or_have_time_for() {
        // Far from their loads, or with loads that are all the same.
        assert!((handed(10.0, 400.0, 20.0, 8.0) - 80.0).abs() < 1e-3);
        assert!((handed(10.0, 4.0, 0.0, 8.0) - 32.0).abs() < 1e-12);
        assert!((handed(900.0, 400.0, 20.0, 8.0) - 3200.0).abs() < 1e-9);
        // As much time as the mean needs: some have more to do than that, others less.
        let level = handed(400.0, 400.0, 20.0, 8.0);
        assert!((3100.0..3150.0).contains(&level), "{level}");
        // More time takes no less.
        let at = |room: u32| handed(f64::from(room), 400.0, 20.0, 8.0);
        assert!((0..600).all(|it| at(it + 1) >= at(it) - 1e-9));
    }
}
