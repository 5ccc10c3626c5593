//! The kernels of the thesis, executed on a [`VectorMachine`](super::vector::VectorMachine).

mod code;
mod run;
mod scalar;
mod tile;

pub use code::{Code, Compiler, Immediates, Kernel, KernelError, Layout};
pub use scalar::{count_halve, count_inputs};
