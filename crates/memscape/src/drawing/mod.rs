//! Any table as a figure: what of it is drawn, and how.

mod chart;
mod check;
mod curves;
#[expect(clippy::module_inception, reason = "what it is all about")]
mod drawing;
mod groups;
mod labels;
mod looks;
mod missing;
mod rows;
#[cfg(test)]
mod tests;
mod values;

pub use drawing::{Drawing, Kind, Line, Log};
