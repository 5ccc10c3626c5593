//! GEMM on Ryzen AI NPUs.
//!
//! Three levels, each a value that can be printed: a [`Kernel`] multiplies one
//! [`Tile`] on one core and is chosen by exhaustive [`search`]; a
//! [`array::Design`] spreads it over the array and gives it a step through the
//! memory tiles; a [`array::Schedule`] says how many steps a GEMM takes and how
//! long each lasts, which is walked event by event ([`events`]) or counted
//! ([`closed`]).
//!
//! Beside them, the data itself: [`chain`] says how matrices change their layout
//! between DRAM and L1, as address patterns ([`dma`]), and [`machine`] multiplies real
//! matrices that way.
//!
//! ```
//! use memscape_npu::GemmStudy;
//! use memscape_study::Study;
//!
//! let answer = GemmStudy::default().answer()?;
//! assert!(answer.tops < answer.peak_tops);
//! assert_eq!((answer.padded_m, answer.l2_shared), (4032, false));
//! # Ok::<(), memscape_study::StudyError>(())
//! ```

pub mod array;
pub mod balance;
pub mod chain;
pub mod closed;
pub mod device;
pub mod dma;
pub mod events;
pub mod gemm;
pub mod kernel;
pub mod machine;
pub mod search;
pub mod single_core;
pub mod tiles;
pub mod workload;

pub use balance::{BalanceAnswer, BalanceStudy};
pub use device::{Device, Mmul, Precision};
pub use gemm::{GemmAnswer, GemmStudy};
pub use kernel::{Kernel, KernelError, OutputBuffers, Tile};
pub use single_core::{KernelAnswer, KernelStudy};
pub use tiles::{SearchAnswer, SearchStudy};
pub use workload::{WorkloadAnswer, WorkloadStudy};
