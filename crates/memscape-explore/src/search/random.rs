//! Random numbers one after another.

use memscape_study::random::Key;

/// A stream of numbers that remembers how many were taken of it.
pub(crate) struct Random {
    key: Key,
    drawn: u64,
}

impl Random {
    /// The stream of a key, from its beginning.
    pub(crate) fn new(key: Key) -> Self {
        Self { key, drawn: 0 }
    }

    /// A number above 0 and below 1.
    pub(crate) fn uniform(&mut self) -> f64 {
        self.drawn += 1;
        self.key.uniform(self.drawn)
    }

    /// A whole number below `count`, which is not 0.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a place in a short list"
    )]
    pub(crate) fn below(&mut self, count: usize) -> usize {
        ((self.uniform() * count as f64) as usize).min(count - 1)
    }
}
