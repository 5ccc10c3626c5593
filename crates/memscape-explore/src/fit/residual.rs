//! What a fit makes small.

use serde::Serialize;

/// How far a model is from one number that it should yield.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Residual {
    /// The model's less the number, in what makes all errors comparable: relative to
    /// the number, or to how well it is known.
    pub error: f64,
    /// Up to where an error is none, such as the rounding of a printed number.
    pub slack: f64,
}

impl Residual {
    /// Every error counts, and as much as any other.
    #[must_use]
    pub const fn new(error: f64) -> Self {
        Self { error, slack: 0.0 }
    }

    /// Errors up to `slack` are none.
    #[must_use]
    pub const fn within(self, slack: f64) -> Self {
        Self { slack, ..self }
    }

    /// How far the error is beyond what is none.
    #[must_use]
    pub fn beyond(&self) -> f64 {
        (self.error.abs() - self.slack).max(0.0)
    }

    pub(super) fn is_one(&self) -> bool {
        /// Squares of so much are numbers, and sums of them.
        const MOST: f64 = 1e150;
        self.error.abs() <= MOST && 0.0 <= self.slack
    }
}
