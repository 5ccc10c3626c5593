//! Software methods of the papers, run and timed on the user's machine.
//!
//! The system crates are pure; threads and clocks are here. [`ondevice`] runs
//! PIM-SHERPA's prefill schemes on real buffers, [`riscv`] times the quantised kernels
//! of llama.cpp; both fit their model's parameters to what they see.

mod fit;
pub mod ondevice;
pub mod riscv;
