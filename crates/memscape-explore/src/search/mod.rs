//! The best of a space without looking at all of it.

mod annealed;
mod contest;
mod descent;
mod evaluator;
mod genetic;
mod places;
mod sampled;
#[expect(clippy::module_inception, reason = "the search itself")]
mod search;

pub use contest::{Contest, contest};
pub(crate) use places::Cube;
pub use search::{Search, Strategy, ended_early, not_compared, nothing_found, search};

#[cfg(test)]
mod tests;
