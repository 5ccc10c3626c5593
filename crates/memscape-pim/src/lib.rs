//! PIMnast: GEMV data placement on LPDDR-PIM.
//!
//! A [`GemvStudy`] describes a matrix and a [`hardware`] on which it resolves to a
//! [`Plan`] (tile shape, order, CR degree, split-K, by the algorithms of
//! [`mapping::placement`]). The plan says where each weight lies
//! ([`mapping::layout`]) and which broadcast commands compute
//! ([`mapping::schedule`]). Those run on real numbers
//! ([`mapping::execute`](mod@mapping::execute)), on the DRAM engine, or are counted
//! in closed form ([`cost`]).
//!
//! ```
//! use memscape_pim::GemvStudy;
//! use memscape_study::Study;
//!
//! let answer = GemvStudy::default().answer()?;
//! assert_eq!((answer.m_tile, answer.k_tile), (32, 8));
//! assert!(answer.speedup < answer.roofline_speedup);
//! # Ok::<(), memscape_study::StudyError>(())
//! ```

pub mod cost;
pub mod hardware;
pub mod mapping;
mod study;
mod system;

pub use mapping::Plan;
pub use mapping::placement::Placement;
pub use study::{
    Attention, GemvAnswer, GemvError, GemvStudy, InferenceAnswer, InferenceError, InferenceStudy, LmHead,
    RegretAnswer, RegretStudy, StepCost, System, TokenPart,
};
pub use system::{Pim, SYSTEM};
