//! What a fit may move.

use memscape_study::FreeParameter;
use serde::Serialize;

/// A parameter that a fit may move.
///
/// ```
/// use memscape_explore::{FitParameter, Scale};
/// let overhead = FitParameter::new("overhead_ns", 0.0, 1e6).starting_at(2e5);
/// let rate = FitParameter::new("rate_gb_s", 1e-2, 1e3).logarithmic();
/// assert_eq!((overhead.start, rate.start), (2e5, 10f64.sqrt()));
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FitParameter {
    /// What it is called: a study's dotted path for example.
    pub key: String,
    /// Lowest value of the fit.
    pub min: f64,
    /// Highest value of the fit.
    pub max: f64,
    /// Where it begins, and stays if nothing is better.
    pub start: f64,
    /// Whether only whole numbers make sense; every one is tried.
    pub whole: bool,
    /// How its range is looked over.
    pub scale: Scale,
}

/// How a range is looked over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// In equal steps.
    Linear,
    /// In equal ratios: for rates and costs that span orders of magnitude.
    Logarithmic,
}

impl FitParameter {
    /// A continuous parameter that begins in the middle of its range.
    #[must_use]
    pub fn new(key: impl Into<String>, min: f64, max: f64) -> Self {
        let start = f64::midpoint(min, max);
        Self { key: key.into(), min, max, start, whole: false, scale: Scale::Linear }
    }

    /// Begins at `start`.
    #[must_use]
    pub fn starting_at(self, start: f64) -> Self {
        Self { start, ..self }
    }

    /// Only whole numbers; begins at the lowest.
    #[must_use]
    pub fn whole(self) -> Self {
        Self { whole: true, start: self.min, ..self }
    }

    /// Equal ratios instead of equal steps; begins in the middle of these.
    #[must_use]
    pub fn logarithmic(self) -> Self {
        Self { scale: Scale::Logarithmic, start: (self.min * self.max).sqrt(), ..self }
    }

    /// Where `value` stands, in equal steps.
    pub(super) fn coordinate(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Linear => value,
            Scale::Logarithmic => value.ln(),
        }
    }

    /// What stands there, within the range.
    pub(super) fn value(&self, coordinate: f64) -> f64 {
        let value = match self.scale {
            Scale::Linear => coordinate,
            Scale::Logarithmic => coordinate.exp(),
        };
        value.clamp(self.min, self.max)
    }

    /// Both ends of the range, in coordinates.
    pub(super) fn ends(&self) -> (f64, f64) {
        (self.coordinate(self.min), self.coordinate(self.max))
    }

    /// How far a difference reaches that shows the slope: this share of the value.
    pub(super) fn reach(&self, value: f64, share: f64) -> f64 {
        match self.scale {
            Scale::Linear => share * value.abs().max(1e-3 * (self.max - self.min)),
            Scale::Logarithmic => share,
        }
    }

    pub(super) fn check(&self) -> Result<(), String> {
        let Self { min, max, start, .. } = *self;
        if !(min.is_finite() && max.is_finite()) {
            return Err(format!("its range is from {min} to {max}; give two numbers"));
        }
        if max < min || (max <= min && !self.whole) {
            return Err(format!("its range from {min} to {max} is empty; give `min` below `max`"));
        }
        if self.whole && (min.fract() != 0.0 || max.fract() != 0.0) {
            return Err(format!("it is whole, but its range is from {min} to {max}; give whole numbers"));
        }
        if self.scale == Scale::Logarithmic && min <= 0.0 {
            return Err(format!(
                "it is looked over by its logarithm, but begins at {min}; give `min` above 0"
            ));
        }
        if !(min..=max).contains(&start) {
            return Err(format!("it starts at {start}, outside of its range from {min} to {max}"));
        }
        Ok(())
    }
}

impl From<&FreeParameter> for FitParameter {
    /// Begins at the stored value.
    fn from(free: &FreeParameter) -> Self {
        let FreeParameter { value, min, max, whole, .. } = *free;
        Self { key: free.key(), min, max, start: value, whole, scale: Scale::Linear }
    }
}
