//! What is built.

pub mod device;
pub mod precision;
