//! Numbers from one end to another.

use serde::{Deserialize, Serialize};

/// Numbers from `min` to `max`, which may also be called `from` and `to`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Range {
    /// The least value.
    #[serde(alias = "from")]
    pub min: f64,
    /// The greatest value; whole numbers reach it, others come close.
    #[serde(alias = "to")]
    pub max: f64,
    /// Whether equal ratios, not equal distances, are equally likely.
    #[serde(default)]
    pub log: bool,
    /// Whether only whole numbers are meant.
    #[serde(default)]
    pub integer: bool,
}

/// Whole numbers that a float tells apart.
const MOST_WHOLE: f64 = 9.0e15;

impl Range {
    /// All numbers between these, each as likely.
    #[must_use]
    pub fn new(min: f64, max: f64) -> Self {
        Self { min, max, log: false, integer: false }
    }

    /// Whole numbers only.
    #[must_use]
    pub fn integer(self) -> Self {
        Self { integer: true, ..self }
    }

    /// Equal ratios are equally likely.
    #[must_use]
    pub fn log(self) -> Self {
        Self { log: true, ..self }
    }

    /// Whether it makes sense.
    pub(crate) fn check(&self) -> Result<(), String> {
        let Self { min, max, log, integer } = *self;
        if !(min.is_finite() && max.is_finite() && min <= max) {
            return Err("`min` must not be above `max`".to_owned());
        }
        if log && min <= 0.0 {
            return Err("a `log` range must be above 0".to_owned());
        }
        if integer && (min.fract() != 0.0 || max.fract() != 0.0 || min.abs().max(max.abs()) >= MOST_WHOLE) {
            return Err("the ends of an `integer` range must be whole and below 2^53".to_owned());
        }
        Ok(())
    }

    /// How many whole numbers there are in it, if it is one of them.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be whole")]
    pub(crate) fn count(&self) -> Option<u64> {
        self.integer.then(|| (self.max - self.min) as u64 + 1)
    }

    /// The number at a place of `[0, 1)`.
    pub(crate) fn at(&self, place: f64) -> f64 {
        let Self { min, max, log, integer } = *self;
        // Every whole number gets the stretch up to the next one.
        let end = if integer { max + 1.0 } else { max };
        let value = if log { min * (end / min).powf(place) } else { min + (end - min) * place };
        let value = value.clamp(min, max);
        if integer { value.floor() } else { value }
    }

    /// The way from one number to another as a share of the whole range: ratios of a `log` one.
    pub(crate) fn share_between(&self, from: f64, to: f64) -> f64 {
        let Self { min, max, log, .. } = *self;
        if max <= min {
            return 0.0;
        }
        if log { (to / from).ln() / (max / min).ln() } else { (to - from) / (max - min) }
    }

    /// Where in `[0, 1]` a number lies; a whole one in the middle of its stretch.
    pub(crate) fn place(&self, value: f64) -> f64 {
        let Self { min, max, log, integer } = *self;
        let end = if integer { max + 1.0 } else { max };
        if end <= min {
            return 0.5;
        }
        let place = |it: f64| if log { (it / min).ln() / (end / min).ln() } else { (it - min) / (end - min) };
        let place = if integer { f64::midpoint(place(value), place(value + 1.0)) } else { place(value) };
        place.clamp(0.0, 1.0)
    }
}
