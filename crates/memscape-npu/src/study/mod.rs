//! The questions, one a file, or a folder where one file would be long.

pub mod attention;
pub mod balance;
pub mod gemm;
pub mod inference;
pub mod kernel;
mod laws;
pub mod memory;
pub mod occupancy;
pub mod pass;
pub mod search;
mod slots;
pub mod workload;
