//! What is built.

pub mod device;
pub mod dram;
pub mod precision;
