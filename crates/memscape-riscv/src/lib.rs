//! llama.cpp on the 64-core RISC-V SG2042.
pub mod kernels;
pub mod numa;
pub mod platform;
pub mod quant;
pub mod vector;
