//! The activity law: which neurons are active for which token, as a random
//! process with the statistics that the paper prints, and the layers' shapes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::normal::{cdf, quantile};
use crate::random::Key;

/// Which of a layer's two sparse blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BlockKind {
    /// Inputs of the QKV projection.
    Qkv,
    /// Hidden neurons of the feed-forward network.
    Mlp,
}

impl BlockKind {
    /// Both, in the order of computing.
    pub const ALL: [Self; 2] = [Self::Qkv, Self::Mlp];

    /// 0 for QKV, 1 for the feed-forward network.
    #[must_use]
    pub const fn index(self) -> usize {
        match self {
            Self::Qkv => 0,
            Self::Mlp => 1,
        }
    }
}

/// How often neurons are active, and how that hangs together over tokens and
/// layers.
///
/// A neuron with latent `z` is active for a share `f = cdf(m + spread * z)` of
/// tokens; `m` follows from the density. `z` is normal: a part that the model
/// fixes (what offline profiling sees), a part of its own for each prompt, and a
/// part of each prompt that a cluster of neighbours shares. It is active when a
/// noise, even from 0 to 1, is below `f`. From token to token the noise stays
/// with probability `persistence`, else it is drawn anew. From layer to layer, a
/// share `layer_link` of neurons reads the same feature as a neuron of the layer
/// before: the same latent, the same noise.
///
/// # Source
/// The quantities are Hermes', Sec. III; the process is ours.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ActivityLaw {
    /// Share of neurons that a token activates in models with ReLU of their own (OPT)
    pub native_density: Share,
    /// Share of neurons that a token activates in models whose activation was replaced by ReLU
    pub relufied_density: Share,
    /// Spread of neurons' activity: 0 is all alike, the larger the more are either hot or cold
    #[schemars(range(min = 0.0, max = 20.0))]
    pub spread: f64,
    /// Probability that a neuron's state carries over to the next token
    pub persistence: Share,
    /// Share of neurons that follow one of the layer before
    pub layer_link: Share,
    /// Share of the latent's variance that each prompt draws anew
    pub prompt_drift: Share,
    /// Share of the latent's variance that a cluster of neighbours draws together for each prompt
    pub cluster_drift: Share,
    /// Clusters of neighbouring neurons in a block
    #[schemars(range(min = 1, max = 4096))]
    pub clusters: std::num::NonZeroU32,
}

/// A share, from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "f64", into = "f64")]
#[schemars(extend("minimum" = 0, "maximum" = 1))]
pub struct Share(f64);

impl Share {
    /// Checks a share.
    ///
    /// # Errors
    /// A text that says what is allowed.
    pub fn new(value: f64) -> Result<Self, String> {
        if (0.0..=1.0).contains(&value) {
            Ok(Self(value))
        } else {
            Err(format!("{value} is no share; it must be from 0 to 1"))
        }
    }

    /// The bare number.
    #[must_use]
    pub const fn as_f64(self) -> f64 {
        self.0
    }
}

impl TryFrom<f64> for Share {
    type Error = String;
    fn try_from(value: f64) -> Result<Self, String> {
        Self::new(value)
    }
}

impl From<Share> for f64 {
    fn from(it: Share) -> Self {
        it.0
    }
}

/// A law that contradicts itself.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LawError {
    /// Nothing, or everything, is active.
    #[error("an activity density of {0}; it must be above 0 and below 1")]
    Density(f64),
    /// The prompt's parts are more than all.
    #[error(
        "`prompt_drift` {prompt} and `cluster_drift` {cluster} are shares of one variance; their sum must stay below 1"
    )]
    Drift {
        /// Share of each prompt.
        prompt: f64,
        /// Share of its clusters.
        cluster: f64,
    },
    /// No spread at all or an absurd one.
    #[error("an activity spread of {0}; it must be from 0 to 20")]
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
    /// Share of neurons that follow one of the layer before.
    pub layer_link: f64,
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
        let (prompt, cluster) = (self.prompt_drift.0, self.cluster_drift.0);
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
            persistence: self.persistence.0,
            layer_link: self.layer_link.0,
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
        same + (1.0 - same) * self.floor()
    }

    /// Expected share of neurons that are active when their two parents are.
    ///
    /// A follower shares all but its cluster's part: of three neurons with one
    /// noise, all are active if the one of the lowest frequency is.
    #[must_use]
    pub fn child_given_parents(&self) -> f64 {
        let width = 1.0_f64.hypot(self.offline.hypot(self.prompt));
        let lowest_of = |count: f64| {
            quadrature(|z| {
                let lowest = quantile(1.0 - (1.0 - cdf(z)).powf(1.0 / count));
                cdf((self.offset + self.cluster * lowest) / width)
            })
        };
        self.layer_link * lowest_of(3.0) / lowest_of(2.0) + (1.0 - self.layer_link) * self.density
    }
}

/// Points of [`quadrature`].
const POINTS: usize = 200;

/// The mean of a function of a standard normal number: the middle of each of
/// 200 equally likely parts.
#[must_use]
pub fn quadrature(function: impl Fn(f64) -> f64) -> f64 {
    static NODES: std::sync::LazyLock<[f64; POINTS]> = std::sync::LazyLock::new(|| {
        #[expect(clippy::cast_precision_loss, reason = "200 points")]
        std::array::from_fn(|it| quantile((it as f64 + 0.5) / POINTS as f64))
    });
    #[expect(clippy::cast_precision_loss, reason = "200 points")]
    let points = POINTS as f64;
    NODES.iter().map(|it| function(*it)).sum::<f64>() / points
}

/// Bits of one block of one layer and one sequence: a row per token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bits {
    /// Bits of a row.
    pub neurons: usize,
    /// Words of a row; bits beyond the last neuron are 0.
    pub stride: usize,
    words: Vec<u64>,
}

impl Bits {
    /// Rows of zeros.
    #[must_use]
    pub fn zeros(tokens: usize, neurons: usize) -> Self {
        let stride = neurons.div_ceil(64);
        Self { neurons, stride, words: vec![0; tokens * stride] }
    }

    /// How many rows.
    #[must_use]
    pub fn tokens(&self) -> usize {
        self.words.len() / self.stride
    }

    /// One token's bits.
    #[must_use]
    pub fn row(&self, token: usize) -> &[u64] {
        &self.words[token * self.stride..(token + 1) * self.stride]
    }

    /// One token's bits, to be changed. Those beyond the last neuron must stay 0.
    pub fn row_mut(&mut self, token: usize) -> &mut [u64] {
        &mut self.words[token * self.stride..(token + 1) * self.stride]
    }

    /// Active neurons of a token.
    #[must_use]
    pub fn count(&self, token: usize) -> u32 {
        self.row(token).iter().map(|it| it.count_ones()).sum()
    }

    /// Whether one neuron is active.
    #[must_use]
    pub fn get(&self, token: usize, neuron: usize) -> bool {
        bit(self.row(token), neuron)
    }
}

/// A bit of a row of words.
#[inline]
#[must_use]
pub fn bit(words: &[u64], index: usize) -> bool {
    words[index / 64] >> (index % 64) & 1 == 1
}

/// One of the law's models: shapes, and the keys of its random numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Synthetic {
    /// The law.
    pub law: Law,
    /// Layers of the model.
    pub layers: usize,
    /// Neurons of a layer's blocks: QKV inputs, feed-forward neurons.
    pub neurons: [usize; 2],
    /// Tokens of the prompt.
    pub prefill: usize,
    /// Tokens generated after it.
    pub decode: usize,
    /// Seed of everything.
    pub seed: u64,
}

/// What connects the neurons of one layer's block to features.
///
/// A feature feeds two neurons of each layer. Which two is a permutation that
/// differs by layer, so that neither neighbours nor DIMMs know of each other.
#[derive(Debug, Clone)]
struct Wiring {
    neurons: usize,
    factor: u64,
    inverse: u64,
    shift: u64,
}

impl Wiring {
    fn new(key: Key, neurons: usize) -> Self {
        let n = neurons as u64;
        let mut factor = key.bits(0) % n;
        while gcd(factor, n) != 1 {
            factor = (factor + 1) % n;
        }
        Self { neurons, factor, inverse: inverse(factor, n), shift: key.bits(1) % n }
    }

    /// The slot of a neuron: its feature is half of it.
    fn slot(&self, neuron: usize) -> usize {
        let n = self.neurons as u64;
        usize::try_from((neuron as u64 * self.factor + self.shift) % n).expect("below the number of neurons")
    }

    /// The neuron at a slot.
    fn neuron(&self, slot: usize) -> usize {
        let n = self.neurons as u64;
        usize::try_from((slot as u64 + n - self.shift) % n * self.inverse % n)
            .expect("below the number of neurons")
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The number that `factor` times is 1 modulo `n`, by Euler's extended
/// algorithm.
fn inverse(factor: u64, n: u64) -> u64 {
    let (mut r, mut next_r) = (i128::from(n), i128::from(factor));
    let (mut t, mut next_t) = (0_i128, 1_i128);
    while next_r != 0 {
        let quotient = r / next_r;
        (r, next_r) = (next_r, r - quotient * next_r);
        (t, next_t) = (next_t, t - quotient * next_t);
    }
    u64::try_from(t.rem_euclid(i128::from(n))).expect("below n")
}

/// Streams of random numbers, by what they are for.
mod stream {
    pub const WIRING: u64 = 1;
    pub const LINK: u64 = 2;
    pub const LATENT: u64 = 3;
    pub const PROMPT: u64 = 4;
    pub const CLUSTER: u64 = 5;
    pub const NOISE: u64 = 6;
}

impl Synthetic {
    fn key(&self, stream: u64, block: BlockKind) -> Key {
        Key::new(self.seed).fork(stream).fork(block.index() as u64)
    }

    fn wiring(&self, block: BlockKind, layer: usize) -> Wiring {
        Wiring::new(self.key(stream::WIRING, block).fork(layer as u64), self.neurons[block.index()])
    }

    /// The layer whose own feature this one follows: itself if it is not linked.
    fn root(&self, block: BlockKind, layer: usize, feature: usize) -> usize {
        let key = self.key(stream::LINK, block).fork(feature as u64);
        (1..=layer).rev().find(|it| key.uniform(*it as u64) >= self.law.layer_link).unwrap_or(0)
    }

    /// Each neuron's root layer and feature, as one number.
    fn roots(&self, block: BlockKind, layer: usize) -> Vec<u64> {
        let wiring = self.wiring(block, layer);
        let of_feature: Vec<u64> = (0..wiring.neurons.div_ceil(2))
            .map(|feature| (self.root(block, layer, feature) as u64) << 32 | feature as u64)
            .collect();
        (0..wiring.neurons).map(|neuron| of_feature[wiring.slot(neuron) / 2]).collect()
    }

    /// How often each neuron is active over many prompts.
    #[must_use]
    pub fn frequency(&self, block: BlockKind, layer: usize) -> Vec<f32> {
        let latent = self.key(stream::LATENT, block);
        #[expect(clippy::cast_possible_truncation, reason = "a share needs no more")]
        let profiled = |root: u64| self.law.profiled(latent.normal(root)) as f32;
        self.roots(block, layer).into_iter().map(profiled).collect()
    }

    /// The two neurons of the layer before that go with each neuron; none in the
    /// first layer.
    ///
    /// # Panics
    /// If a block has 2^32 neurons or more.
    #[must_use]
    pub fn parents(&self, block: BlockKind, layer: usize) -> Option<Vec<[u32; 2]>> {
        let before = self.wiring(block, layer.checked_sub(1)?);
        let here = self.wiring(block, layer);
        let parents = |neuron: usize| {
            let first = here.slot(neuron) / 2 * 2;
            // An odd last neuron has no twin.
            let second = if first + 1 < here.neurons { first + 1 } else { first };
            [first, second].map(|it| u32::try_from(before.neuron(it)).expect("fewer than 2^32 neurons"))
        };
        Some((0..here.neurons).map(parents).collect())
    }

    /// Activity of one sequence: all tokens of the prompt, then all generated.
    #[must_use]
    pub fn bits(&self, block: BlockKind, layer: usize, sequence: u64) -> Bits {
        let neurons = self.neurons[block.index()];
        let latent = self.key(stream::LATENT, block);
        let prompt = self.key(stream::PROMPT, block).fork(sequence);
        let cluster = self.key(stream::CLUSTER, block).fork(sequence).fork(layer as u64);
        let noise = self.key(stream::NOISE, block).fork(sequence);
        let clusters: Vec<f64> = (0..u64::from(self.law.clusters)).map(|it| cluster.normal(it)).collect();
        let keep = below(self.law.persistence, KEEP_BITS);

        let tokens = self.prefill + self.decode;
        let mut bits = Bits::zeros(tokens, neurons);
        let roots = self.roots(block, layer);
        for (word, roots) in roots.chunks(64).enumerate() {
            let mut lanes = Lanes::new();
            for (lane, root) in roots.iter().enumerate() {
                let shared = clusters[(word * 64 + lane) * clusters.len() / neurons];
                let share = self.law.prompted(latent.normal(*root), prompt.normal(*root), shared);
                lanes.start(lane, noise.fork(*root), share);
            }
            for token in 0..tokens {
                bits.row_mut(token)[word] = lanes.next(keep);
            }
        }
        bits
    }
}

/// Bits of a draw that decide whether noise stays; the others are new noise.
const KEEP_BITS: u32 = 12;
/// Bits of noise.
const NOISE_BITS: u32 = 32 - KEEP_BITS;

/// The noise of 64 neurons. Each has a stream of its own, a xorshift with a Weyl
/// sequence started by its key, so that a token's 64 draws are vector operations
/// and no neuron depends on another.
///
/// # Source
/// G. Marsaglia, "Xorshift RNGs", Journal of Statistical Software 8 (14), 2003:
/// shifts 13, 17, 5, and the added Weyl sequence.
struct Lanes {
    /// Neuron `8 j + k` of the word is at `[k][j]`, so that a row of eight makes
    /// one bit of each byte.
    state: [[u32; 8]; 8],
    noise: [[u32; 8]; 8],
    /// A neuron is active while its noise is below; 0 for lanes of no neuron.
    limit: [[u32; 8]; 8],
    weyl: u32,
}

impl Lanes {
    const fn new() -> Self {
        Self { state: [[1; 8]; 8], noise: [[0; 8]; 8], limit: [[0; 8]; 8], weyl: 0 }
    }

    #[expect(clippy::cast_possible_truncation, reason = "halves of 64 random bits")]
    fn start(&mut self, lane: usize, key: Key, share: f64) {
        let bits = key.bits(0);
        let (j, k) = (lane / 8, lane % 8);
        self.state[k][j] = (bits as u32) | 1;
        self.noise[k][j] = (bits >> 32) as u32 >> KEEP_BITS;
        self.limit[k][j] = below(share, NOISE_BITS);
    }

    /// One token: which neurons are active.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        reason = "bytes; numbers below 2^31"
    )]
    fn next(&mut self, keep: u32) -> u64 {
        self.weyl = self.weyl.wrapping_add(362_437);
        let mut bytes = [0_u32; 8];
        for k in 0..8 {
            let (state, noise, limit) = (&mut self.state[k], &mut self.noise[k], &self.limit[k]);
            for j in 0..8 {
                let mut x = state[j];
                x ^= x << 13;
                x ^= x >> 17;
                x ^= x << 5;
                state[j] = x;
                let drawn = x.wrapping_add(self.weyl);
                // All ones or none: without branches this becomes vector code.
                let kept = 0_u32.wrapping_sub(u32::from(((drawn >> NOISE_BITS) as i32) < keep as i32));
                noise[j] = noise[j] & kept | drawn & ((1 << NOISE_BITS) - 1) & !kept;
                bytes[j] |= u32::from((noise[j] as i32) < limit[j] as i32) << k;
            }
        }
        u64::from_le_bytes(bytes.map(|it| it as u8))
    }
}

/// What `bits` random bits must be below with this probability.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of 2^bits")]
fn below(share: f64, bits: u32) -> u32 {
    (share * f64::from(1_u32 << bits)).round() as u32
}
