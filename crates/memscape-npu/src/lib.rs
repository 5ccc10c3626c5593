//! GEMM on Ryzen AI NPUs.

pub mod device;
pub mod kernel;

pub use device::{Device, Mmul, Precision};
pub use kernel::{Kernel, KernelError, OutputBuffers, Tile};
