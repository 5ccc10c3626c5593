//! Which parameters matter: one at a time, by elementary effects, and as shares of the
//! variance of an answer over a space.

mod experiment;
mod indices;
mod morris;
mod question;
#[expect(clippy::module_inception, reason = "the answer itself")]
mod sensitivity;
mod tornado;

pub use question::{Sensitivity, SensitivityMethod};
pub use sensitivity::sensitivity;

#[cfg(test)]
mod tests;
