//! Counter-based random numbers: the same seed and counter give the same bits,
//! whichever thread asks and in whatever order.

/// The finaliser of `SplitMix64`: a bijection of 64 bits.
///
/// # Source
/// Steele, Lea, Flood: "Fast Splittable Pseudorandom Number Generators", OOPSLA
/// 2014.
#[inline]
#[must_use]
pub const fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// The odd step of `SplitMix64`'s counter.
pub const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// A key that names a stream of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key(u64);

impl Key {
    /// The stream of a seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(mix(seed.wrapping_add(STEP)))
    }

    /// The stream `number` of this one.
    #[inline]
    #[must_use]
    pub const fn fork(self, number: u64) -> Self {
        Self(mix(self.0 ^ number.wrapping_mul(STEP).wrapping_add(STEP)))
    }

    /// 64 random bits for a counter.
    #[inline]
    #[must_use]
    pub const fn bits(self, counter: u64) -> u64 {
        mix(self.0.wrapping_add(counter.wrapping_mul(STEP)))
    }

    /// A number above 0 and below 1.
    #[must_use]
    pub fn uniform(self, counter: u64) -> f64 {
        const RANGE: f64 = 4_503_599_627_370_496.0;
        #[expect(clippy::cast_precision_loss, reason = "52 bits")]
        let bits = (self.bits(counter) >> 12) as f64;
        (bits + 0.5) / RANGE
    }
}
