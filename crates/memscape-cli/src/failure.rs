//! Why a command ends other than well.

use std::fmt::{self, Display};
use std::io;

/// Done.
pub const DONE: u8 = 0;
/// A result falls short: a model is not as good as it is held to be.
pub const SHORT: u8 = 1;
/// What was asked makes no sense.
pub const BAD_INPUT: u8 = 2;
/// Stopped by Ctrl-C; what was done is saved.
pub const INTERRUPTED: u8 = 130;

/// What became of a command that is not done.
#[derive(Debug)]
pub enum Failure {
    /// What was asked makes no sense, told in one line.
    BadInput(String),
    /// The output cannot be written.
    Output(io::Error),
    /// A result falls short of what it is held against; already told.
    Short,
    /// Stopped by Ctrl-C; already told.
    Interrupted,
}

impl Failure {
    /// An error of any crate below, on one line.
    pub fn of(error: impl Display) -> Self {
        let text = error.to_string();
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|it| !it.is_empty()).collect();
        Self::BadInput(lines.join("; "))
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadInput(text) => f.write_str(text),
            Self::Output(error) => write!(f, "cannot write: {error}"),
            Self::Short => f.write_str("a result falls short"),
            Self::Interrupted => f.write_str("interrupted"),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}
