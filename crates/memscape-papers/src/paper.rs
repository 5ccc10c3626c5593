//! What a paper is.

use memscape_study::FreeParameter;

use crate::experiment::Experiment;

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
