//! Which papers there are: one line each.

use memscape_study::FreeParameter;

use crate::error::Error;
use crate::experiment::Experiment;
use crate::{hermes, npu_gemm, pim_sherpa, pimnast, riscv};

/// All papers.
pub const PAPERS: &[Paper] =
    &[pimnast::PAPER, pim_sherpa::PAPER, npu_gemm::PAPER, riscv::PAPER, hermes::PAPER];

/// A paper: what is redrawn, what it prints, and what its model cannot know.
#[derive(Debug, Clone, Copy)]
pub struct Paper {
    /// What it is called, for example `pimnast`.
    pub id: &'static str,
    /// Its figures and tables, in its order.
    pub experiments: &'static [Experiment],
    /// `data/published/<id>.toml`.
    pub(crate) published: &'static str,
    /// The parameters of `data/calibration/<id>.toml`.
    pub free_parameters: fn() -> &'static [FreeParameter],
}

impl Paper {
    /// The paper of this name.
    ///
    /// # Errors
    /// [`Error::Unknown`] suggests the nearest.
    pub fn find(id: &str) -> Result<&'static Self, Error> {
        let known: Vec<_> = PAPERS.iter().map(|it| it.id).collect();
        PAPERS.iter().find(|it| it.id == id).ok_or_else(|| Error::unknown("paper", id, &known))
    }
}
