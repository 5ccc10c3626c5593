//! Why there is no fit.

use std::fmt;

use super::residual::Residual;

/// Why there is no fit.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FitError<E> {
    /// A parameter cannot be fitted as it is given.
    #[error("free parameter `{key}`: {problem}")]
    BadParameter {
        /// The parameter.
        key: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A measurement cannot be fitted to.
    #[error("measurement {row}: {problem}")]
    BadMeasurement {
        /// Which one, from 0.
        row: usize,
        /// What is wrong with it.
        problem: String,
    },
    /// There is nothing to move.
    #[error("there is no free parameter; name at least one, with its range")]
    NoParameters,
    /// There is nothing to fit to.
    #[error("there is nothing to fit to; give at least one measurement")]
    NoResiduals,
    /// A residual is none.
    #[error(
        "residual {row} is {residual:?} at {at}; its error must be a number up to 1e150, and slack at least 0"
    )]
    NotANumber {
        /// Which one, from 0.
        row: usize,
        /// As the model gave it.
        residual: Residual,
        /// The parameters' values.
        at: At,
    },
    /// The model does not always give as many residuals.
    #[error("there are {given} residuals at {at}, and {before} before; give as many at every point")]
    Uneven {
        /// How many there are.
        given: usize,
        /// How many there were.
        before: usize,
        /// The parameters' values.
        at: At,
    },
    /// The model has no answer within the ranges.
    #[error("{problem} (at {at})")]
    Model {
        /// What the model says.
        problem: E,
        /// The parameters' values.
        at: At,
    },
    /// Brent's method failed.
    #[error("the search failed: {0}")]
    Search(String),
}

/// Parameters and their values.
#[derive(Debug, Clone, PartialEq)]
pub struct At(pub Vec<(String, f64)>);

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (key, value)) in self.0.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}`{key}` = {value}")?;
        }
        Ok(())
    }
}
