//! Which parameters matter: one at a time, by elementary effects, and as shares of the
//! variance of an answer over a space.

mod indices;
mod morris;
#[expect(clippy::module_inception, reason = "the question itself")]
mod sensitivity;
mod tornado;

pub use sensitivity::{Sensitivity, SensitivityMethod, sensitivity};

#[cfg(test)]
mod tests;
