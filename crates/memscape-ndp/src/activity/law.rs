//! The activity law at one density: what follows from how often neurons are
//! active, as a random process with the statistics that the paper prints.

use crate::hardware::ActivityLaw;
use crate::normal::{cdf, quadrature, quantile};

/// A law that contradicts itself.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LawError {
    /// Nothing, or everything, is active.
    #[error("`density` is {0}; the share of active neurons must be above 0 and below 1")]
    Density(f64),
    /// The prompt's parts are more than all.
    #[error(
        "`activity.prompt_drift` {prompt} and `activity.cluster_drift` {cluster} are shares of one variance; their sum \
         must stay below 1: lower one of them"
    )]
    Drift {
        /// Share of each prompt.
        prompt: f64,
        /// Share of its clusters.
        cluster: f64,
    },
    /// No spread at all or an absurd one.
    #[error("`activity.spread` is {0}; it must be from 0 to 20")]
    Spread(f64),
}

/// A law at one density, with what follows from it at hand.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Law {
    /// Mean of the argument of the distribution.
    pub offset: f64,
    /// Weight of the latent part that profiling sees.
    pub offline: f64,
    /// Weight of each prompt's own part.
    pub prompt: f64,
    /// Weight of each prompt's clusters.
    pub cluster: f64,
    /// Probability that noise stays.
    pub persistence: f64,
    /// Clusters in a block.
    pub clusters: u32,
    /// Mean activity.
    pub density: f64,
}

impl ActivityLaw {
    /// The law at one density.
    ///
    /// # Errors
    /// [`LawError`] if shares contradict each other.
    pub fn at(&self, density: f64) -> Result<Law, LawError> {
        let (prompt, cluster) = (self.prompt_drift.as_f64(), self.cluster_drift.as_f64());
        if !(density > 0.0 && density < 1.0) {
            return Err(LawError::Density(density));
        }
        if prompt + cluster >= 1.0 {
            return Err(LawError::Drift { prompt, cluster });
        }
        if !(0.0..=20.0).contains(&self.spread) {
            return Err(LawError::Spread(self.spread));
        }
        Ok(Law {
            // E cdf(m + s z) = cdf(m / sqrt(1 + s^2)).
            offset: quantile(density) * self.spread.hypot(1.0),
            offline: self.spread * (1.0 - prompt - cluster).sqrt(),
            prompt: self.spread * prompt.sqrt(),
            cluster: self.spread * cluster.sqrt(),
            persistence: self.persistence.as_f64(),
            clusters: self.clusters.get(),
            density,
        })
    }
}

impl Law {
    /// How often a neuron of this offline latent is active over many prompts.
    #[must_use]
    pub fn profiled(&self, latent: f64) -> f64 {
        cdf((self.offset + self.offline * latent) / 1.0_f64.hypot(self.prompt.hypot(self.cluster)))
    }

    /// How often it is active for one prompt.
    #[must_use]
    pub fn prompted(&self, latent: f64, prompt: f64, cluster: f64) -> f64 {
        cdf(self.offset + self.offline * latent + self.prompt * prompt + self.cluster * cluster)
    }

    /// Mean of `f^2` over mean of `f`: the overlap of tokens too far apart to
    /// share their noise.
    #[must_use]
    pub fn floor(&self) -> f64 {
        // E f^2 is the probability that two normals, correlated by the latent,
        // are both below.
        let mean = quadrature(|z| {
            let variance = self
                .offline
                .mul_add(self.offline, self.prompt.mul_add(self.prompt, self.cluster * self.cluster));
            cdf(self.offset + variance.sqrt() * z).powi(2)
        });
        mean / self.density
    }

    /// Expected share of a token's active neurons that are active `distance`
    /// tokens later as well.
    #[must_use]
    pub fn overlap(&self, distance: u32) -> f64 {
        let same = self.persistence.powf(f64::from(distance));
        (same + (1.0 - same) * self.floor()).min(1.0)
    }

    /// Expected share of neurons that are active when their two parents are.
    ///
    /// They share all but its cluster's part: of three neurons with one
    /// noise, all are active if the one of the lowest frequency is. Parents are of one cluster as often as there
    /// are few.
    #[must_use]
    pub fn child_given_parents(&self) -> f64 {
        let width = 1.0_f64.hypot(self.offline.hypot(self.prompt));
        let lowest_of = |count: f64| {
            quadrature(|z| {
                // As far out as numbers are looked at.
                let lowest = quantile(1.0 - cdf(-z).powf(1.0 / count)).clamp(-9.0, 9.0);
                cdf((self.offset + self.cluster * lowest) / width)
            })
        };
        let [one, two, three] = [1.0, 2.0, 3.0].map(lowest_of);
        let together = f64::from(self.clusters).recip();
        (three + together * (two - three)) / (two + together * (one - two))
    }
}
