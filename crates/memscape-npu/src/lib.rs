//! GEMM on Ryzen AI NPUs.
//!
//! From the description to the answer: [`hardware`] is what is built; [`mapping`] what is
//! chosen for it, a [`Tile`] for one core and a [`Design`] for the array; [`cost`] what
//! that takes, a [`Kernel`] on one core and a [`Schedule`] on the array, which is walked
//! event by event ([`cost::events`]) or counted ([`cost::closed`]). Exhaustive
//! searches find the best tiles ([`search`]) and designs ([`best`]), and each of the studies
//! ([`study`]) is a question.
//!
//! The mapping is also executed: [`mapping::chain`] says how matrices change their layout
//! between DRAM and L1, as address patterns ([`mapping::dma`]), and [`mapping::machine`]
//! multiplies real matrices that way.
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

pub mod best;
pub mod cost;
pub mod hardware;
pub mod mapping;
pub mod search;
pub mod study;
mod system;

pub use cost::kernel::Kernel;
pub use cost::schedule::{GemmPart, Schedule, ScheduleError};
pub use hardware::device::{CALIBRATION, DEVICES, Device, Mmul, MmulError};
pub use hardware::dram::DramPath;
pub use hardware::precision::Precision;
pub use mapping::design::{Design, DesignError};
pub use mapping::designs::{DESIGNS, KernelDesign};
pub use mapping::tile::{OutputBuffers, Tile, TileError};
pub use study::attention::PromptAttention;
pub use study::balance::{BalanceAnswer, BalanceStudy};
pub use study::gemm::{GemmAnswer, GemmStudy};
pub use study::inference::{HeadOn, InferenceAnswer, InferenceStudy, PromptCost};
pub use study::kernel::{KernelAnswer, KernelStudy};
pub use study::search::{SearchAnswer, SearchStudy};
pub use study::workload::{ProductTraffic, Strategy, WorkloadAnswer, WorkloadStudy};
pub use system::{Npu, SYSTEM};
