//! llama.cpp on the 64-core RISC-V SG2042.
//!
//! A run is a [`census`] of matrix products; [`dispatch`] says which code ggml chooses
//! for each. The quantised blocks ([`quant`]) are ggml's to the bit, and the thesis'
//! [`kernels`] run on a small [`vector`] machine that counts every instruction. From
//! counts the core model makes [`cycles`](cost::cycles), [`placement`] and
//! [`memory`](cost::memory) add distance and bandwidth, and [`InferenceStudy`] makes tokens
//! per second of it.
//!
//! ```
//! use memscape_riscv::{InferenceStudy, placement::Policy};
//! use memscape_study::Study;
//!
//! let interleaved = InferenceStudy::default();
//! let one_node = InferenceStudy { policy: Policy::NoBalancing, ..interleaved };
//! let speed = |study: InferenceStudy| study.answer().map(|it| it.headline.generation_tokens_per_s);
//! assert!(speed(interleaved)? > 2.0 * speed(one_node)?);
//! # Ok::<(), memscape_study::StudyError>(())
//! ```

pub mod cost;
pub mod hardware;
pub mod mapping;
mod number;
pub mod study;
mod system;

pub use cost::{kernels, vector};
pub use hardware::{CALIBRATION, MACHINES};
pub use mapping::{cells, census, dispatch, graph, placement, quant};
pub use study::{
    CensusAnswer, CensusStudy, GemmAnswer, GemmStudy, InferenceAnswer, InferenceStudy, KernelAnswer,
    KernelStudy,
};
pub use system::{Riscv, SYSTEM};
