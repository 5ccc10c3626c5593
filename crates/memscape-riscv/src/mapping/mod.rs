//! What is computed, by which code, and where.

pub mod cells;
pub mod census;
pub mod conversation;
pub mod dispatch;
pub mod graph;
mod nodes;
pub mod placement;
pub mod quant;
