//! The papers' figures and tables as experiments, their printed numbers as
//! claims, and the fit of free parameters.
//!
//! An [`Experiment`] is one figure or table: a sweep, and a plot made from the
//! sweep's table alone. A [`claims::Claim`] is one printed number and a query on
//! an experiment's table; [`draw()`] puts the numbers into the figure.

pub mod calibrate;
pub mod claims;
mod colours;
mod compare;
mod coverage;
mod cxl;
mod draw;
mod error;
mod experiment;
mod hermes;
mod npu_gemm;
mod overlay;
mod paper;
mod papers;
mod pim_sherpa;
mod pimnast;
pub mod predictions;
mod quantities;
mod regret;
mod reproduce;
mod riscv;
mod sets;
mod sweeps;

pub use coverage::{Covered, coverage};
pub use draw::{Look, draw};
pub use error::Error;
pub use experiment::Experiment;
pub use paper::Paper;
pub use papers::{PAPERS, experiments, paper, select};
pub use reproduce::reproduce;
