//! The questions.

mod census;
mod gemm;
mod inference;
mod kernel;
mod laws;
mod slots;

pub use census::{CensusAnswer, CensusStudy};
pub use gemm::{GemmAnswer, GemmError, GemmStudy};
pub use inference::{InferenceAnswer, InferenceError, InferenceStudy};
pub use kernel::{KernelAnswer, KernelStudy};
