//! How a fit searches.

/// What a round of a fit goes by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Steps {
    /// The best value of one parameter after the other, at first in all of its range: for models with jumps.
    Lines,
    /// That, and then where the slopes of the residuals say that the least is: for models without jumps.
    LinesAndSlopes,
    /// Slopes alone, which are asked for anew where they mislead: few questions, and no valley but the one it begins in.
    Slopes,
}

/// How a fit searches.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FitMethod {
    /// Rounds over all parameters at the most.
    pub rounds: usize,
    /// Significant digits of the values; all that floats hold if none.
    pub digits: Option<usize>,
    /// What each round goes by.
    pub steps: Steps,
    /// Of how many parts of each range the search begins anew, each from the best of some points that are spread over all
    /// ranges together: one parameter at a time, a model that a parameter does not move from where others are looks as
    /// if it were least there.
    pub parts: u32,
    /// Whether errors are in standard deviations that are known: then these say how well parameters are known,
    /// unless errors are larger.
    pub deviations: bool,
    /// Weight of plain errors beside those beyond their slack: where slack leaves a
    /// range of values, they pick one.
    pub trace: f64,
}

impl FitMethod {
    /// For measurements: as exact as floats are.
    pub const MEASURED: Self = Self {
        rounds: 60,
        digits: None,
        steps: Steps::LinesAndSlopes,
        parts: 4,
        deviations: false,
        trace: 1e-3,
    };

    /// For printed numbers and models with steps: four digits of each value, from where it is.
    pub const PRINTED: Self =
        Self { rounds: 12, digits: Some(4), steps: Steps::Lines, parts: 0, ..Self::MEASURED };

    /// For printed numbers and models that take long, from near the least: by slopes alone.
    pub const NEAR: Self = Self { rounds: 60, steps: Steps::Slopes, ..Self::PRINTED };

    /// Share of a value that a difference reaches which shows a slope. Models count in whole picoseconds, cycles and
    /// neurons; shorter ones would see these. Who goes by slopes alone is after the lie of the land.
    pub(super) fn reach(&self) -> f64 {
        if self.steps == Steps::Slopes { 1e-2 } else { 1e-3 }
    }

    /// Relative width of what Brent's method leaves open.
    pub(super) fn precision(&self) -> f64 {
        let power = |it: usize| 10_f64.powi(-i32::try_from(it).unwrap_or(i32::MAX));
        // The root of what floats resolve: a least sum of squares shows no more.
        self.digits.map_or(1e-8, power)
    }

    /// Relative change of a parameter that does not count: half of its last digit.
    pub(super) fn still(&self) -> f64 {
        5.0 * self.precision()
    }

    pub(super) fn round(&self, value: f64) -> f64 {
        match self.digits {
            Some(digits) => format!("{value:.*e}", digits.saturating_sub(1)).parse().unwrap_or(value),
            None => value,
        }
    }
}

impl Default for FitMethod {
    fn default() -> Self {
        Self::MEASURED
    }
}
