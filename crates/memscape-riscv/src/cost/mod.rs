//! What it takes: instructions, cycles, bytes and waiting.

pub mod cycles;
pub mod faults;
pub mod kernels;
pub mod memory;
pub mod openblas;
pub mod pass;
pub mod sgemm;
pub mod timeline;
pub mod vector;
