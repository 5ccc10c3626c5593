//! Where each weight lies and what the banks do: PIMnast's algorithms, the plan
//! that they give, and the plan executed on real numbers.
//!
//! `placement` and `registers` decide, [`Plan`] is what they decide. It says where
//! each weight lies ([`layout`]) and which broadcast commands compute
//! ([`schedule`]); the two meet in [`execute`](mod@execute).

pub mod execute;
mod keyword;
pub mod layout;
pub mod placement;
mod plan;
mod registers;
pub mod schedule;

pub use plan::{Plan, PlanError};
