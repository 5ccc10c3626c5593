//! The best of a space without looking at all of it.

mod annealing;
mod climb;
mod contest;
mod descent;
mod evaluator;
mod genetic;
mod places;
mod random;
mod sampled;
#[expect(clippy::module_inception, reason = "the search itself")]
mod search;
mod simplex;
mod swarm;

pub use contest::{Contest, contest};
pub(crate) use places::Cube;
pub use search::{Search, Strategy, search};

#[cfg(test)]
mod tests;
