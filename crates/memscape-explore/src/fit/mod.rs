//! Parameters from what they should yield: a weighted least-squares fit.
//!
//! A fit knows nothing of studies: it is given a function from parameter values to
//! [`Residual`]s. Whole parameters (counts) are tried in every combination.
//! Continuous ones are fitted one after the other, round by round until nothing
//! moves: first a coarse look over the whole range, then Brent's method around the
//! best. A model may have steps and kinks: nothing here needs its derivative, which
//! only shortens the way where it helps.

mod error;
mod fitted;
mod method;
mod parameter;
mod residual;
mod search;
mod slopes;
mod study;

pub use error::{At, FitError};
pub use fitted::{Fitted, FittedParameter, Limit};
pub use method::{FitMethod, Steps};
pub use parameter::{FitParameter, Scale};
pub use residual::Residual;
pub use search::fit;
pub use slopes::covariance;
pub use study::{AtMeasurement, FittedPoint, Measurement, StudyFit, fit_study};

#[cfg(test)]
mod tests;
