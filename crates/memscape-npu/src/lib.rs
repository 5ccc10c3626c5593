//! GEMM on Ryzen AI NPUs.

pub mod chain;
pub mod device;
pub mod dma;
pub mod kernel;
pub mod machine;

pub use device::{Device, Mmul, Precision};
pub use kernel::{Kernel, KernelError, OutputBuffers, Tile};
