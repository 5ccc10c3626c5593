//! The questions, one a file.

pub mod balance;
pub mod gemm;
pub mod kernel;
pub mod search;
mod slots;
pub mod workload;
