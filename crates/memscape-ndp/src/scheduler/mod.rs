//! What the scheduler does with a placement while tokens are generated: walked
//! neuron by neuron, and as expected values of the law.

mod block;
mod expected;
pub mod planes;
mod policy;
mod population;
mod remap;
mod spread;
mod token;
mod walk;

pub use block::{BlockCost, Load, Shared, Split};
pub use expected::{Answers, Counted, FETCHES, HOT_NODES, Phase, Question, mean, union};
pub use policy::{Exchange, Missed, Strategy};
pub use remap::{Moves, Remapping, levels_all};
pub use spread::Expected;
pub(crate) use walk::whole;
pub use walk::{Neurons, Rules, Token, Walk, Walked, words};
