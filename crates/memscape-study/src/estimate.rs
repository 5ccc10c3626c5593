//! Quantities that are known within a factor only, and how well they are founded.

use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::doubt::Grade;

/// A number of a description that is known within a factor.
///
/// Two numbers that never contradict each other, whatever either is changed to.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Graded {
    /// The middle of what is known
    #[schemars(range(min = 0.0, max = 1e9))]
    pub value: f64,
    /// The factor by which it may be more or less
    #[schemars(range(min = 1.0, max = 1e3), extend("unit" = "x"))]
    pub within: f64,
    /// How well it is founded
    pub grade: Grade,
}

/// What follows from [`Graded`] numbers: a value between two ends, all of which are sums
/// and products of theirs.
///
/// The ends are reached only if all numbers are off the same way, so they are the widest
/// that the numbers allow.
///
/// ```
/// use memscape_study::{Estimate, Grade, Graded};
///
/// let read = Graded { value: 6.0, within: 1.5, grade: Grade::Datasheet };
/// let pins = Graded { value: 2.0, within: 2.0, grade: Grade::Prior };
/// let both = read.times(10.0) + pins.times(10.0);
/// assert_eq!((both.low, both.value, both.high), (50.0, 80.0, 130.0));
/// assert_eq!(both.grade, Grade::Prior);
/// // What there is none of does not spoil the grade.
/// assert_eq!((read.times(10.0) + pins.times(0.0)).grade, Grade::Datasheet);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// No less than this.
    pub low: f64,
    /// In between.
    pub value: f64,
    /// No more than this.
    pub high: f64,
    /// The worst of what it follows from.
    pub grade: Grade,
}

impl Graded {
    /// So many times.
    #[must_use]
    pub fn times(&self, count: f64) -> Estimate {
        self.estimate() * count
    }

    /// The number with its ends.
    #[must_use]
    pub fn estimate(&self) -> Estimate {
        let within = self.within.max(1.0);
        Estimate { low: self.value / within, value: self.value, high: self.value * within, grade: self.grade }
    }

    /// The number as a share: no end of it is above 1.
    #[must_use]
    pub fn share(&self) -> Estimate {
        let Estimate { low, value, high, grade } = self.estimate();
        Estimate { low: low.min(1.0), value: value.min(1.0), high: high.min(1.0), grade }
    }
}

impl Estimate {
    /// Nothing, which is certain.
    pub const ZERO: Self = Self { low: 0.0, value: 0.0, high: 0.0, grade: Grade::Printed };

    /// What is left of 1.
    #[must_use]
    pub fn rest(&self) -> Self {
        Self { low: 1.0 - self.high, value: 1.0 - self.value, high: 1.0 - self.low, grade: self.grade }
    }

    /// As much as `self` at least, and as much as `more` at most, which is no less.
    #[must_use]
    pub fn up_to(&self, more: Self) -> Self {
        Self {
            low: self.low,
            value: f64::midpoint(self.value, more.value),
            high: more.high,
            grade: self.grade.max(more.grade),
        }
    }
}

impl Add for Estimate {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self {
            low: self.low + other.low,
            value: self.value + other.value,
            high: self.high + other.high,
            grade: self.grade.max(other.grade),
        }
    }
}

impl AddAssign for Estimate {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for Estimate {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::ZERO, Add::add)
    }
}

/// So many times; none of it is nothing.
impl Mul<f64> for Estimate {
    type Output = Self;
    fn mul(self, count: f64) -> Self {
        if count <= 0.0 {
            return Self::ZERO;
        }
        Self { low: self.low * count, value: self.value * count, high: self.high * count, grade: self.grade }
    }
}

/// A number known within limits, of another: the ends of both.
impl Mul for Estimate {
    type Output = Self;
    fn mul(self, share: Self) -> Self {
        Self {
            low: self.low * share.low,
            value: self.value * share.value,
            high: self.high * share.high,
            grade: self.grade.max(share.grade),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_and_its_rest_stay_between_none_and_all() {
        let share = Graded { value: 0.8, within: 2.0, grade: Grade::Prior }.share();
        assert_eq!((share.low, share.value, share.high), (0.4, 0.8, 1.0));
        let rest = share.rest();
        assert!((rest.low, rest.high) == (0.0, 0.6) && (rest.value - 0.2).abs() < 1e-12);
    }

    #[test]
    fn up_to_goes_from_the_less_to_the_more() {
        let one = Graded { value: 2.0, within: 2.0, grade: Grade::Printed }.estimate();
        let it = one.up_to(one * 16.0);
        assert_eq!((it.low, it.value, it.high), (1.0, 17.0, 64.0));
    }
}
