//! What can go wrong, told so that the reader knows what to change.

use std::path::{Path, PathBuf};

/// Why there is no answer, no table or no file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No study of this name is registered.
    #[error("there is no study `{name}`{hint}")]
    UnknownStudy {
        /// The name as given.
        name: String,
        /// What was perhaps meant, or what there is.
        hint: String,
    },
    /// The study has no parameter at this path.
    #[error("there is no parameter `{path}`{hint}")]
    UnknownParameter {
        /// The dotted path as given.
        path: String,
        /// What was perhaps meant, or what there is.
        hint: String,
    },
    /// No preset of this name can fill the parameter.
    #[error("`{parameter}` = \"{name}\": there is no such preset{hint}")]
    UnknownPreset {
        /// The parameter that names a preset.
        parameter: String,
        /// The name as given.
        name: String,
        /// What was perhaps meant, or what there is.
        hint: String,
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
    /// The axes, zips or samples do not make a sweep.
    #[error("{0}")]
    BadSweep(String),
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
    #[error("internal error, please report it: {0}")]
    Internal(String),
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

/// `; did you mean ...?`, or `; there are ...` where nothing comes close.
///
/// A dotted candidate is also found by its last part alone.
#[must_use]
pub fn hint<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    const LISTED: usize = 12;
    let wanted = name.to_lowercase();
    let last = |path: &str| path.rsplit('.').next().unwrap_or_default().to_owned();
    let candidates: Vec<&str> = candidates.into_iter().collect();
    let distance = |candidate: &str| {
        let whole = strsim::damerau_levenshtein(&wanted, &candidate.to_lowercase());
        let (wanted, part) = (last(&wanted), last(&candidate.to_lowercase()));
        let begun = wanted.len() > 2 && part.starts_with(&wanted);
        // One more, so that a whole match wins.
        whole.min(if begun { 1 } else { strsim::damerau_levenshtein(&wanted, &part) + 1 })
    };
    let best = candidates.iter().map(|it| (distance(it), it)).min_by_key(|(distance, _)| *distance);
    match best {
        None => String::new(),
        Some((distance, best)) if distance <= 1 + last(name).chars().count() / 4 => {
            format!("; did you mean `{best}`?")
        }
        Some(_) if candidates.len() <= LISTED => format!("; there are {}", list(&candidates)),
        Some(_) => {
            format!("; there are {} and {} more", list(&candidates[..LISTED]), candidates.len() - LISTED)
        }
    }
}

/// "`a`, `b`, `c`".
pub(crate) fn list<T: AsRef<str>>(names: &[T]) -> String {
    names.iter().map(|it| format!("`{}`", it.as_ref())).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::hint;

    #[test]
    fn the_nearest_name_is_suggested_or_all_are_listed() {
        let names = ["memory.banks_per_channel", "memory.trcd_ns", "pim.registers"];
        assert_eq!(hint("memory.trdc_ns", names), "; did you mean `memory.trcd_ns`?");
        assert_eq!(hint("banks_per_chanel", names), "; did you mean `memory.banks_per_channel`?");
        assert_eq!(
            hint("colour", names),
            "; there are `memory.banks_per_channel`, `memory.trcd_ns`, `pim.registers`"
        );
        assert_eq!(hint("memory.trcd", names), "; did you mean `memory.trcd_ns`?");
        assert_eq!(hint("x", []), "");
    }
}
