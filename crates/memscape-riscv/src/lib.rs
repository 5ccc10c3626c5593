//! llama.cpp on the 64-core RISC-V SG2042.
//!
//! A run is a [`census`] of matrix products; [`dispatch`] says which code ggml chooses
//! for each. The quantised blocks ([`quant`]) are ggml's to the bit, and the thesis'
//! [`kernels`] run on a small [`vector`] machine that counts every instruction. From
//! counts the core model makes [`cycles`], [`numa`] adds bandwidth and distance, and
//! [`inference`] makes tokens per second of it.
//!
//! ```
//! use memscape_riscv::{InferenceStudy, numa::Policy};
//! use memscape_study::Study;
//!
//! let interleaved = InferenceStudy::default();
//! let one_node = InferenceStudy { policy: Policy::NoBalancing, ..interleaved };
//! let speed = |study: InferenceStudy| study.answer().map(|it| it.generation_tokens_per_s);
//! assert!(speed(interleaved)? > 2.0 * speed(one_node)?);
//! # Ok::<(), memscape_study::StudyError>(())
//! ```

pub mod census;
pub mod cycles;

pub mod dispatch;
pub mod gemm;
pub mod graph;
pub mod inference;
pub mod kernels;
pub mod numa;
pub mod platform;
pub mod quant;
pub mod reuse;
pub mod study;
pub mod vector;

pub use gemm::{GemmAnswer, GemmStudy};
pub use inference::{InferenceAnswer, InferenceStudy};
pub use study::{CensusAnswer, CensusStudy, KernelAnswer, KernelStudy};
