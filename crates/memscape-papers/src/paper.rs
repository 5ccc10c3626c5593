//! What a paper is.

use crate::experiment::Experiment;

/// A paper: what is redrawn, and what it prints.
#[derive(Debug, Clone, Copy)]
pub struct Paper {
    /// What it is called, for example `pimnast`.
    pub id: &'static str,
    /// Its figures and tables, in its order.
    pub experiments: &'static [Experiment],
    /// The text of `data/published/<id>.toml`.
    pub published: &'static str,
}
