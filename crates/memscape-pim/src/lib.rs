//! PIMnast: GEMV data placement on LPDDR-PIM.
//!
//! A [`GemvStudy`] resolves to a [`Plan`] (tile shape, order, CR degree, split-K,
//! by the algorithms of [`placement`]). The plan says where each weight lies
//! ([`layout`]) and which broadcast commands compute ([`schedule`]). Those run on
//! real numbers ([`machine`]), on the DRAM engine, or are counted in closed form
//! ([`cost`]).
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

pub mod column_major;
pub mod cost;
pub mod gemv;
pub mod hardware;
mod keyword;
pub mod layout;
pub mod machine;
pub mod placement;
pub mod plan;
pub mod regret;
pub mod schedule;
pub mod token;

pub use gemv::{GemvAnswer, GemvStudy};
pub use plan::{Plan, PlanError, Policy};
pub use regret::{RegretAnswer, RegretStudy};
pub use token::{TokenAnswer, TokenStudy};
