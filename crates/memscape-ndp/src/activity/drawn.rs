//! Activity drawn from the law: the same seed gives the same bits, whichever
//! layer and sequence is asked for first.

use memscape_study::random::Key;

use super::bits::{Bits, BlockKind};
use super::law::Law;
use crate::normal::normal;

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

    /// Each neuron's feature, the same in all layers.
    fn roots(&self, block: BlockKind, layer: usize) -> Vec<u64> {
        let wiring = self.wiring(block, layer);
        (0..wiring.neurons).map(|neuron| (wiring.slot(neuron) / 2) as u64).collect()
    }

    /// How often each neuron is active over many prompts.
    #[must_use]
    pub fn frequency(&self, block: BlockKind, layer: usize) -> Vec<f32> {
        let latent = self.key(stream::LATENT, block);
        #[expect(clippy::cast_possible_truncation, reason = "a share needs no more")]
        let profiled = |root: u64| self.law.profiled(normal(latent, root)) as f32;
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
        let clusters: Vec<f64> = (0..u64::from(self.law.clusters)).map(|it| normal(cluster, it)).collect();
        let keep = below(self.law.persistence, KEEP_BITS);

        let tokens = self.prefill + self.decode;
        let mut bits = Bits::zeros(tokens, neurons);
        let roots = self.roots(block, layer);
        for (word, roots) in roots.chunks(64).enumerate() {
            let mut lanes = Lanes::new();
            for (lane, root) in roots.iter().enumerate() {
                let shared = clusters[(word * 64 + lane) * clusters.len() / neurons];
                let share = self.law.prompted(normal(latent, *root), normal(prompt, *root), shared);
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
