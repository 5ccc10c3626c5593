//! Hermes itself: sparse blocks on GPU and DIMMs (or the host) at the same time.

mod account;
mod closed;
mod moves;
mod placement;
mod setting;
mod sparse;
mod timeline;
mod uneven;
mod walked;

pub use account::{account, operators};
pub use placement::offline;
pub use setting::{Hermes, Plan, Policy};
pub use timeline::record;
pub use walked::walk;
