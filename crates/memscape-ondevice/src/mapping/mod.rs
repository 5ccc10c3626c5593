//! Where weights lie and what happens to them: the PIM-aware layout, the copy back,
//! the stages of a prefill, and the commands of a GEMV with a machine that runs
//! them.

pub mod layout;
pub mod machine;
pub mod schedule;
mod scheme;
pub mod stages;
pub mod swizzle;

pub use scheme::{Resolves, Scheme};
