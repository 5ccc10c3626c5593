//! What can go wrong between a study and a figure on disk.

use std::path::PathBuf;

use memscape_plot::PlotError;
use memscape_study::Unknown;

/// Why an experiment, claim or fit has no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The sweep or its table.
    #[error(transparent)]
    Explore(#[from] memscape_explore::Error),
    /// The figure.
    #[error(transparent)]
    Plot(#[from] PlotError),
    /// A table without rows.
    #[error("`{id}` has nothing to draw: its table has no rows")]
    NoRows {
        /// The experiment.
        id: &'static str,
    },
    /// A changed parameter that an experiment would not heed.
    #[error("{}", unheeded(id, path, *is_set, sets))]
    Unheeded {
        /// The experiment.
        id: &'static str,
        /// The parameter.
        path: String,
        /// Whether the experiment sets it itself.
        is_set: bool,
        /// What it sets itself, as a list.
        sets: String,
    },
    /// No experiment, paper or calibration of this name.
    #[error(transparent)]
    Unknown(#[from] Unknown),
    /// A file cannot be read or written.
    #[error("{path}: {problem}")]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        problem: String,
    },
    /// A claims file is not valid.
    #[error("cannot read the claims: {0}")]
    BadClaims(String),
    /// A table cannot be drawn as asked.
    #[error("{0}")]
    BadChart(String),
    /// A file of predictions or measurements is not valid.
    #[error("cannot read predictions or measurements: {0}")]
    BadPrediction(String),
    /// A claim's query does not give one number.
    #[error("claim `{id}`: {problem}")]
    BadQuery {
        /// The claim.
        id: String,
        /// What is wrong.
        problem: String,
    },
    /// The fit does not converge.
    #[error("cannot fit `{paper}`: {problem}")]
    Fit {
        /// The paper.
        paper: String,
        /// What the optimiser says.
        problem: String,
    },
}

fn unheeded(id: &str, path: &str, is_set: bool, sets: &str) -> String {
    let others = if sets.is_empty() { String::new() } else { format!(" (it sets {sets})") };
    if is_set {
        format!("`{path}`: `{id}` sets it itself{others}; change another parameter, or sweep the study")
    } else {
        format!(
            "`{path}` changes nothing of `{id}`, which sets it itself or does not ask for it{others}; `memscape describe` \
             of its study lists what it depends on"
        )
    }
}

impl Error {
    pub(crate) fn file(path: &std::path::Path, problem: &impl ToString) -> Self {
        Self::File { path: path.to_owned(), problem: problem.to_string() }
    }

    /// What a model says that was asked without a sweep.
    pub(crate) fn no_answer(error: impl std::fmt::Display) -> Self {
        memscape_explore::Error::NoAnswer(error.to_string()).into()
    }
}
