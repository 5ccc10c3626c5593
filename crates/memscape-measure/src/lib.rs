//! Software methods of the papers, run and timed on the user's machine.
//!
//! The system crates are pure; threads and clocks are here. [`riscv`] times the
//! quantised kernels of llama.cpp and fits the SG2042 model's parameters to what it
//! sees.

pub mod riscv;
