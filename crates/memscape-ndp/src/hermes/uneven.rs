//! What chance does to the loads of the DIMMs.

use memscape_units::float;

use crate::normal::{mean_above_zero, mean_of_largest, of_largest};
use crate::scheduler::{Counted, Strategy};

/// What makes DIMMs' loads of some neurons of a block differ.
#[derive(Debug, Clone, Copy)]
pub(super) struct Uneven {
    /// Variance of what is read, neuron by neuron, as a share of the block's.
    pub apart: f64,
    /// Variance of a DIMM's load over the square of its mean, of neighbours that lie
    /// together.
    pub together: f64,
    /// How skewed the latter is: its third moment times the mean over the square of its variance, which is 1 of
    /// Poisson's distribution and 2 of gamma distributions.
    pub skewed: f64,
}

impl Default for Uneven {
    /// None, and of neighbours that lie together favours that are as gamma distributions.
    fn default() -> Self {
        Self { apart: 0.0, together: 0.0, skewed: 2.0 }
    }
}

impl Uneven {
    /// Standard deviation of a DIMM's load from the mean of all, in neurons.
    ///
    /// * `neurons`: of the block
    /// * `mean`: of the loads
    pub fn deviation(&self, neurons: f64, mean: f64, dimms: usize) -> f64 {
        let [apart, together] = self.variances(neurons, mean, dimms);
        (apart + together).max(0.0).sqrt()
    }

    fn variances(&self, neurons: f64, mean: f64, dimms: usize) -> [f64; 2] {
        let dimms = float(dimms as u64);
        [self.apart * neurons * (1.0 - 1.0 / dimms) / dimms, self.together * mean.powi(2)]
    }

    /// How far the fullest DIMM is from the mean, in neurons. Loads are skewed: neurons one by one as a count of
    /// them is (Poisson's), neighbours that lie together as few lumps are.
    ///
    /// # Source
    /// A gamma distribution by the cube of a normal number: Wilson and Hilferty, PNAS 17, 1931.
    pub fn fullest(&self, neurons: f64, mean: f64, dimms: usize) -> f64 {
        // What one has more the others have less: loads that do not know of each other have deviations from their
        // mean of which each is a part, too.
        let own = 1.0 - 1.0 / float(dimms as u64);
        let [apart, together] = self.variances(neurons, mean, dimms).map(|it| it.max(0.0) / own.max(0.5));
        let deviation = (apart + together).sqrt();
        let third_moment = apart + self.skewed * together.powi(2) / mean.max(1e-300);
        let skew = third_moment / deviation.powi(3).max(1e-300);
        if skew < 1e-6 {
            return deviation * mean_of_largest(dimms);
        }
        let (middle, slope) = (1.0 - skew.powi(2) / 36.0, skew / 6.0);
        let cube = |z: f64| (middle + slope * z).max(0.0).powi(3);
        2.0 / skew * of_largest(dimms, |z| cube(z) - 1.0) * deviation
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
pub(super) struct OnDimms {
    pub strategy: Strategy,
    /// Groups of neighbours of a block; infinite if neurons were placed one by one.
    pub groups: f64,
    /// Clusters of a block that a prompt favours.
    pub clusters: f64,
    pub dimms: usize,
}

impl OnDimms {
    /// As the partition left them. DIMMs are level by offline activity of what is cold; neighbours that
    /// a prompt favours together are not, until they are moved apart. A random mapper draws a DIMM for each
    /// group.
    pub fn placed(&self, it: &Counted) -> Chance {
        let drift = it.clusters.map(|it| it / self.groups.max(self.clusters));
        let dimms = float(self.dimms as u64);
        let own = dimms - 1.0;
        if self.strategy == Strategy::Random {
            let of = |apart, drift| Uneven {
                apart,
                together: own * (drift + 1.0 / self.groups),
                skewed: skewed_by_draws(drift * self.groups, 1.0 / dimms),
            };
            let all = of(it.cold_apart + it.held_apart, drift[2]);
            return Chance { cold: of(it.cold_apart, drift[0]), groups: 1.0, all };
        }
        // What the exchange leaves cold is spread by chance.
        let apart = if self.strategy.adjusts() { it.cold_apart } else { it.offline_variance };
        let groups =
            if self.groups.is_finite() { (self.groups / dimms).ceil() * dimms / self.groups } else { 1.0 };
        Chance {
            cold: Uneven { apart, together: own * drift[0], ..Uneven::default() },
            groups,
            all: Uneven {
                apart: apart + it.held_apart,
                together: own * drift[2] + self.odd(),
                ..Uneven::default()
            },
        }
    }

    /// Moved apart by what a window saw of the cold ones; the others lie where they lay.
    pub fn cold_level(&self, it: &Counted) -> Chance {
        let cold = Uneven { apart: it.cold_variance, ..Uneven::default() };
        Chance { cold, groups: 1.0, all: self.with_held(it, it.cold + it.held) }
    }

    /// Moved apart by what a window saw of all: what is cold makes up for where the others lie.
    pub fn all_level(&self, it: &Counted) -> Chance {
        let all = Uneven { apart: it.all_variance, ..Uneven::default() };
        Chance { cold: self.with_held(it, it.cold), groups: 1.0, all }
    }

    /// What is cold, and what the GPU holds where it lies.
    ///
    /// * `mean`: of what differs by both
    fn with_held(&self, it: &Counted, mean: f64) -> Uneven {
        let drift = it.clusters[1] / self.groups.max(self.clusters);
        let held = it.held / mean.max(1e-300);
        let own = float(self.dimms as u64) - 1.0;
        let together = (own * drift + self.odd()) * held.powi(2);
        Uneven { apart: it.cold_variance + it.held_apart, together, ..Uneven::default() }
    }

    fn odd(&self) -> f64 {
        odd(self.groups / float(self.dimms as u64))
    }
}

/// Variance over the square of the mean of how many groups a DIMM has: the whole ones below the mean, or one more.
fn odd(each: f64) -> f64 {
    if each.is_finite() { each.fract() * (1.0 - each.fract()) / each.powi(2) } else { 0.0 }
}

/// Skew, as in [`Uneven`], of what a DIMM has of groups that are put there with a chance each. What prompts favour
/// makes them differ, as a gamma distribution does.
///
/// * `variance`: of what a group has, over the square of its mean
fn skewed_by_draws(variance: f64, chance: f64) -> f64 {
    if !variance.is_finite() {
        return 2.0;
    }
    // Means of its square and its cube, and third moment and variance of a draw.
    let square = 1.0 + variance;
    let cube = square * (1.0 + 2.0 * variance);
    let third = cube - 3.0 * square * chance + 2.0 * chance.powi(2);
    third / (square - chance).powi(2).max(1e-300)
}

/// Neurons that DIMMs compute by a time beside the cold ones: each what it has, or as many as it has time for.
///
/// * `room`: what a DIMM has time for beside the mean of the cold ones
/// * `held`: the mean of the others
/// * `deviation`: of both together
/// * `fullest`: how far the fullest DIMM is from the mean of both
pub(super) fn handed(room: f64, held: f64, deviation: f64, fullest: f64, dimms: usize) -> f64 {
    let (spare, count) = (room - held, float(dimms as u64));
    if spare >= fullest {
        // The fullest has time for all.
        return held * count;
    }
    (room - mean_above_zero(spare, deviation)).clamp(0.0, held) * count
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How far the largest of so many is from the mean, whose share below a number is known: the integral of what is
    /// not below. In steps of a 500th of the mean.
    fn largest(below: impl Fn(f64) -> f64, mean: f64, dimms: u32) -> f64 {
        let step = mean / 500.0;
        let above = |it: u32| 1.0 - below((f64::from(it) + 0.5) * step).powi(dimms.cast_signed());
        (0..20_000).map(above).sum::<f64>() * step - mean
    }

    #[test]
    fn the_fullest_dimm_is_the_largest_of_so_many_skewed_loads() {
        // Neighbours that lie together, in lumps of 1 to 16 for each DIMM: Erlang's distribution.
        for (lumps, most) in [(1_u32, 0.02), (4, 0.01), (16, 0.01)] {
            for dimms in [2, 8, 32] {
                let below = |load: f64| {
                    let at = load * f64::from(lumps);
                    let term = |it: u32| (1..=it).map(|i| at / f64::from(i)).product::<f64>();
                    1.0 - (0..lumps).map(term).sum::<f64>() * (-at).exp()
                };
                let exact = 100.0 * largest(below, 1.0, dimms);
                let own = 1.0 - 1.0 / f64::from(dimms);
                let uneven = Uneven { together: own / f64::from(lumps), ..Uneven::default() };
                let computed = uneven.fullest(1e4, 100.0, dimms as usize);
                assert!((computed / exact - 1.0).abs() < most, "{lumps} {dimms}: {computed} {exact}");
            }
        }
        // Neurons one by one, few and many: Poisson's.
        for (mean, most) in [(4.0, 0.02), (100.0, 0.01)] {
            for dimms in [2, 8, 32] {
                let below = |load: f64| {
                    let next = |(sum, term), it: u32| (sum + term, term * mean / f64::from(it + 1));
                    (0..10_000_u32)
                        .take_while(|it| f64::from(*it) <= load)
                        .fold((0.0, f64::exp(-mean)), next)
                        .0
                };
                let exact = largest(below, mean, dimms);
                let uneven = Uneven { apart: 1.0, ..Uneven::default() };
                let computed = uneven.fullest(mean * f64::from(dimms), mean, dimms as usize);
                assert!((computed / exact - 1.0).abs() < most, "{mean} {dimms}: {computed} {exact}");
            }
        }
        let none = Uneven::default();
        assert!(none.fullest(1e4, 100.0, 8).total_cmp(&0.0).is_eq());
        // The variances add up.
        let both = Uneven { apart: 0.5, together: 0.01, ..Uneven::default() };
        assert!(
            (both.deviation(800.0, 100.0, 8) - (0.5 * 100.0 * 7.0 / 8.0 + 100.0_f64).sqrt()).abs() < 1e-9
        );
    }

    /// Groups that are all the same are a count of draws: a binomial distribution, with its variance and skewness.
    #[test]
    fn draws_of_groups_are_skewed_as_their_count_is() {
        for (groups, chance) in [(64.0, 1.0 / 32.0), (10.0, 0.25), (5.0, 0.5)] {
            let (mean, variance) = (groups * chance, groups * chance * (1.0 - chance));
            let skewness = (1.0 - 2.0 * chance) / f64::sqrt(variance);
            let exact = skewness * variance.powf(1.5) * mean / variance.powi(2);
            assert!((skewed_by_draws(0.0, chance) - exact).abs() < 1e-12, "{groups} {chance}");
        }
        // Of few groups that have nearly all, it is what these have that counts.
        assert!((skewed_by_draws(1e6, 0.1) - 2.0).abs() < 1e-5);
        assert!(skewed_by_draws(f64::INFINITY, 0.1).total_cmp(&2.0).is_eq());
    }

    #[test]
    fn groups_that_do_not_come_out_even_lie_one_more_on_some() {
        for (groups, dimms) in [(13_u32, 4_u32), (16, 4), (3, 4), (1, 8), (127, 32)] {
            let mean = f64::from(groups) / f64::from(dimms);
            let count = |it: u32| f64::from(groups / dimms + u32::from(it < groups % dimms));
            let variance = (0..dimms).map(|it| (count(it) - mean).powi(2)).sum::<f64>() / f64::from(dimms);
            assert!((odd(mean) - variance / mean.powi(2)).abs() < 1e-12, "{groups} {dimms}");
        }
        assert!(odd(f64::INFINITY).total_cmp(&0.0).is_eq());
    }

    #[test]
    fn dimms_take_what_they_have_or_have_time_for() {
        let handed =
            |room, held, deviation| super::handed(room, held, deviation, mean_of_largest(8) * deviation, 8);
        // Far from their loads, or with loads that are all the same.
        assert!((handed(10.0, 400.0, 20.0) - 80.0).abs() < 1e-3);
        assert!((handed(10.0, 4.0, 0.0) - 32.0).abs() < 1e-12);
        assert!((handed(900.0, 400.0, 20.0) - 3200.0).abs() < 1e-9);
        // As much time as the mean needs: some have more to do than that, others less.
        let level = handed(400.0, 400.0, 20.0);
        assert!((3100.0..3150.0).contains(&level), "{level}");
        // More time takes no less.
        let at = |room: u32| handed(f64::from(room), 400.0, 20.0);
        assert!((0..600).all(|it| at(it + 1) >= at(it) - 1e-9));
    }
}
