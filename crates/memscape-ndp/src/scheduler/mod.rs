//! What the scheduler does with a placement while tokens are generated: walked
//! neuron by neuron, and as expected values of the law.

mod block;
mod expected;
pub mod planes;
mod policy;
mod remap;
mod walk;

pub use block::BlockCost;
pub use expected::{Answers, Expected, Question, drift_variance, largest_of};
pub use policy::{Exchange, Strategy};
pub use remap::{Moves, Remapping};
pub use walk::{Rules, Token, Walk, Walked};
