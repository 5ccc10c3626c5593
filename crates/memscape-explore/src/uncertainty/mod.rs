//! How far answers may be off, from how well the numbers behind them are known.

mod doubt;
mod draws;
#[expect(clippy::module_inception, reason = "the answer itself")]
mod uncertainty;

pub use draws::Doubts;
pub use uncertainty::{Uncertainty, uncertainty};

#[cfg(test)]
mod tests;
