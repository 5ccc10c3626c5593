//! What can go wrong, told so that the reader knows what to change.

use std::path::{Path, PathBuf};

use memscape_study::node::Fault;
use memscape_study::{CatalogError, Unknown};

/// Why there is no answer, no table or no file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No study, description or paper of this name is registered.
    #[error(transparent)]
    Unknown(#[from] Unknown),
    /// The study has no parameter at this path.
    #[error("there is no parameter `{path}`{hint}")]
    UnknownParameter {
        /// The dotted path as given.
        path: String,
        /// What was perhaps meant, or what there is.
        hint: String,
    },
    /// What a parameter names or holds is no description.
    #[error("`{parameter}` = {given}: {error}")]
    BadDescription {
        /// The parameter that takes a description.
        parameter: String,
        /// The value as given.
        given: String,
        /// What is wrong with it.
        error: Box<CatalogError>,
    },
    /// A parameter's value is of the wrong type or out of range.
    #[error("{}{problem}", at(path, given))]
    BadParameter {
        /// Its dotted path; empty if the study as a whole is at fault.
        path: String,
        /// The value as given; empty if there is none to show.
        given: String,
        /// What is wrong, or what is allowed.
        problem: String,
    },
    /// The parameters are fine one by one, but contradict each other.
    #[error("{0}")]
    NoAnswer(String),
    /// The answer holds what no table takes: a number that is not finite.
    #[error("{0}")]
    NotAnAnswer(String),
    /// The study has no trace in this form.
    #[error("`{study}` has no trace as `{form}`{}", forms_hint(forms))]
    NoTrace {
        /// The study.
        study: &'static str,
        /// The form asked for.
        form: String,
        /// Those that it has.
        forms: Vec<&'static str>,
    },
    /// A writer failed.
    #[error("cannot write: {0}")]
    Write(#[from] std::io::Error),
    /// The axes, zips or samples do not make a sweep.
    #[error("{0}")]
    BadSweep(String),
    /// A constraint, condition or objective is no formula, or names what is not there.
    #[error("`{text}`: {problem} {place}")]
    BadExpression {
        /// The formula as given.
        text: String,
        /// The character at fault, counted from 1.
        at: usize,
        /// The same for people.
        place: String,
        /// What is wrong there.
        problem: String,
    },
    /// A study file is not valid TOML or has an unknown key.
    #[error("cannot read the study file: {0}")]
    BadStudyFile(String),
    /// The table has no such column.
    #[error("the table has no column `{name}`{hint}")]
    UnknownColumn {
        /// The name as given.
        name: String,
        /// What was perhaps meant, or what there is.
        hint: String,
    },
    /// A column holds something else than what was asked for, or what a table may hold.
    #[error("column `{name}`: {problem}")]
    BadColumn {
        /// The column.
        name: String,
        /// What is wrong.
        problem: String,
    },
    /// A file cannot be read or written.
    #[error("{}: {problem}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong, or what to do.
        problem: String,
    },
    /// A fault of this program, not of its input.
    #[error("{INTERNAL}, please report it: {0}")]
    Internal(String),
}

/// How a fault of this program begins in a table.
pub(crate) const INTERNAL: &str = "internal error";

fn forms_hint(forms: &[&str]) -> String {
    match forms {
        [] => "; it has no timeline".to_owned(),
        forms => format!("; it has {}", memscape_study::list(forms)),
    }
}

impl Error {
    /// What became of a file.
    pub(crate) fn file(path: &Path, problem: &impl ToString) -> Self {
        Self::File { path: path.to_owned(), problem: problem.to_string() }
    }
}

fn at(path: &str, given: &str) -> String {
    match (path, given) {
        ("", _) => String::new(),
        (_, "") => format!("`{path}`: "),
        _ => format!("`{path}` = {given}: "),
    }
}

/// Only for what cannot fail on checked input: shapes of frames.
impl From<polars::error::PolarsError> for Error {
    fn from(error: polars::error::PolarsError) -> Self {
        Self::Internal(error.to_string())
    }
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        let (path, given, problem) = fault.into_parts();
        Error::BadParameter { path, given, problem }
    }
}
