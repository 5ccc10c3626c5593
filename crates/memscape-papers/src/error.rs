//! What can go wrong between a study and a figure on disk.

use std::path::PathBuf;

use memscape_plot::PlotError;

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
    /// No experiment, paper or calibration of this name.
    #[error("there is no {what} `{name}`{hint}")]
    Unknown {
        /// What was looked for.
        what: &'static str,
        /// The name as given.
        name: String,
        /// What was perhaps meant, or what there is.
        hint: String,
    },
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

impl Error {
    pub(crate) fn file(path: &std::path::Path, problem: &impl ToString) -> Self {
        Self::File { path: path.to_owned(), problem: problem.to_string() }
    }

    /// Nothing of that name: suggests the nearest, or lists all.
    pub(crate) fn unknown(what: &'static str, name: &str, known: &[&str]) -> Self {
        let nearest = known
            .iter()
            .map(|it| (strsim::damerau_levenshtein(name, it), it))
            .min()
            .filter(|(distance, it)| *distance <= 2.max(it.len() / 3));
        let hint = match nearest {
            Some((_, it)) => format!("; did you mean `{it}`?"),
            None => format!("; there are {}", known.join(", ")),
        };
        Self::Unknown { what, name: name.to_owned(), hint }
    }
}
