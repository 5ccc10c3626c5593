//! How uneven the law leaves contiguous shards of cold neurons.

use memscape_study::random::Key;
use memscape_units::float;

use super::law::Law;
use crate::normal::{STEP, cdf, normal, quadrature_between};

/// Latents of clusters at which work is tabulated: from -4 to 4.
const LATENTS: u32 = 33;
/// Tokens, and windows, whose noise is drawn for each layer.
const DRAWS: u64 = 16;

/// Fullest shard over the mean, of one layer.
pub(super) struct Imbalance {
    /// Mean over tokens.
    pub token: f64,
    /// Mean over windows.
    pub window: f64,
    /// Of the reply.
    pub whole: f64,
}

/// What cold neurons do, and how many shards they are cut into.
pub(super) struct Shards {
    count: usize,
    /// Cold neurons of a layer.
    cold: f64,
    clusters: usize,
    /// By the latent of a cluster.
    work: Vec<Work>,
    /// Variance of the mean of a window's, and of the reply's noise, over that of a token's.
    window: f64,
    whole: f64,
}

/// What some neurons do at a token.
#[derive(Debug, Clone, Copy, Default)]
struct Work {
    /// How many they are.
    neurons: f64,
    /// How many are active.
    mean: f64,
    /// Variance of that, which stays from token to token: some neurons are more often active than others.
    stays: f64,
    /// Variance of what tokens draw anew.
    noise: f64,
}

impl Work {
    fn plus(self, other: Self, times: f64) -> Self {
        Self {
            neurons: self.neurons + times * other.neurons,
            mean: self.mean + times * other.mean,
            stays: self.stays + times * other.stays,
            noise: self.noise + times * other.noise,
        }
    }
}

impl Work {
    /// How many are active that are so far from their mean by a normal number: as skewed as a count of neurons that
    /// are active or not (a binomial distribution's), and never fewer than none.
    ///
    /// # Source
    /// A gamma distribution by the cube of a normal number: Wilson and Hilferty, PNAS 17, 1931.
    fn skewed(&self, variance: f64, apart: f64) -> f64 {
        let deviation = variance.sqrt();
        let share = self.mean / self.neurons.max(1e-300);
        let skew = (1.0 - 2.0 * share) / (1.0 - share).max(1e-9) * deviation / self.mean.max(1e-300);
        if deviation <= 0.0 || skew.abs() < 1e-6 {
            return (self.mean + apart).max(0.0);
        }
        let cube = (1.0 - skew.powi(2) / 36.0 + skew * apart / deviation / 6.0).max(0.0).powi(3);
        (self.mean + 2.0 / skew * (cube - 1.0) * deviation).max(0.0)
    }
}

impl Shards {
    /// * `limit`: the offline latent from which on neurons are hot
    /// * `neurons`: of a layer's block
    /// * `count`: shards of a layer
    /// * `window`, `reply`: in tokens
    pub fn new(law: &Law, limit: f64, neurons: usize, count: usize, [window, reply]: [usize; 2]) -> Self {
        // Offline and the prompt's part together are one normal, which tells of the first alone.
        let both = law.offline.hypot(law.prompt);
        let related = if both > 0.0 { law.offline / both } else { 1.0 };
        let rest = (1.0 - related * related).max(0.0).sqrt();
        // Of cold ones; where prompts change next to nothing, these are all below the limit.
        let all = |of: &dyn Fn(f64) -> f64| {
            if rest > STEP {
                let is_cold = |z: f64| cdf((limit - related * z) / rest);
                quadrature_between(f64::NEG_INFINITY, f64::INFINITY, |z| is_cold(z) * of(z))
            } else {
                quadrature_between(f64::NEG_INFINITY, limit, of)
            }
        };
        let share = cdf(limit);
        let work = |latent: f64| {
            let often = |z: f64| cdf(law.offset + both * z + law.cluster * latent);
            let mean = all(&often) / share.max(1e-300);
            let square = all(&|z| often(z).powi(2)) / share.max(1e-300);
            let (stays, noise) = ((square - mean * mean).max(0.0), (mean - square).max(0.0));
            Work { neurons: 1.0, mean, stays, noise }
        };
        Self {
            count,
            cold: share * float(neurons as u64),
            clusters: law.clusters as usize,
            work: (0..LATENTS).map(|it| work(f64::from(it) * 0.25 - 4.0)).collect(),
            window: of_mean(law.persistence, window),
            whole: of_mean(law.persistence, reply),
        }
    }

    /// * `key`: of the layer
    pub fn imbalance(&self, key: Key) -> Imbalance {
        let shards = self.shards(key);
        // Of the layer, whose neurons stay what they are.
        let stays: Vec<f64> =
            (0_u64..).zip(&shards).map(|(shard, it)| it.stays.sqrt() * normal(key.fork(1), shard)).collect();
        let drawn = |key: Key, part: f64| {
            let load = |(shard, (it, stays)): (u64, (&Work, &f64))| {
                let noise = it.noise * part;
                it.skewed(it.stays + noise, stays + noise.sqrt() * normal(key, shard))
            };
            fullest((0_u64..).zip(shards.iter().zip(&stays)).map(load))
        };
        // Tokens and windows are of the same replies.
        let mean =
            |part: f64| (0..DRAWS).map(|it| drawn(key.fork(2).fork(it), part)).sum::<f64>() / float(DRAWS);
        Imbalance { token: mean(1.0), window: mean(self.window), whole: drawn(key.fork(4), self.whole) }
    }

    /// What the neurons of each shard do, of clusters that are drawn.
    fn shards(&self, key: Key) -> Vec<Work> {
        let mut shards = vec![Work::default(); self.count];
        let each = self.cold / float(self.clusters as u64 * self.count as u64);
        for cluster in 0..self.clusters {
            let latent = normal(key, cluster as u64);
            let at = ((latent + 4.0) * 4.0).clamp(0.0, f64::from(LATENTS) - 1.001);
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to 31")]
            let below = at as usize;
            let work = Work::default()
                .plus(self.work[below], 1.0 - at.fract())
                .plus(self.work[below + 1], at.fract());
            // In parts of which a shard has as many as there are clusters, and a cluster as many as shards.
            let (from, to) = (cluster * self.count, (cluster + 1) * self.count);
            for (shard, sum) in shards.iter_mut().enumerate() {
                let common =
                    to.min((shard + 1) * self.clusters).saturating_sub(from.max(shard * self.clusters));
                *sum = sum.plus(work, each * float(common as u64));
            }
        }
        shards
    }
}

/// The most over the mean.
fn fullest(loads: impl Iterator<Item = f64>) -> f64 {
    let (mut most, mut total, mut count) = (0.0_f64, 0.0, 0_u64);
    for load in loads {
        (most, total, count) = (most.max(load), total + load, count + 1);
    }
    if total > 0.0 { most * float(count) / total } else { 1.0 }
}

/// Variance of the mean of so many tokens over that of one, of which each is like the one before with
/// a probability `stay`, and drawn anew otherwise.
fn of_mean(stay: f64, tokens: usize) -> f64 {
    let n = float(tokens.max(1) as u64);
    if stay >= 1.0 {
        return 1.0;
    }
    let sum = stay / (1.0 - stay) * (n - (1.0 - stay.powf(n)) / (1.0 - stay));
    (n + 2.0 * sum) / (n * n)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_of_tokens_vary_less_the_longer_they_are() {
        assert!((of_mean(0.7, 1) - 1.0).abs() < 1e-12);
        assert!((of_mean(0.7, 2) - 0.5 * 1.7).abs() < 1e-12);
        assert!((of_mean(0.0, 8) - 0.125).abs() < 1e-12);
        assert!((of_mean(1.0, 8) - 1.0).abs() < 1e-12);
    }
}
