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
        let lines = text.lines().map(str::trim).filter(|it| !it.is_empty());
        let said: Vec<&str> = lines.filter(|it| !is_excerpt(it)).collect();
        let colon = said.first().is_some_and(|it| it.contains("TOML parse error at line"));
        Self::BadInput(said.join(if colon { ": " } else { "; " }))
    }
}

/// Whether this is of the picture that a TOML error draws of its place: `|`, `2 | m = [` or `| ^^`.
fn is_excerpt(line: &str) -> bool {
    line.trim_start_matches(|it: char| it.is_ascii_digit()).trim_start().starts_with('|')
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_toml_is_its_place_and_what_is_wrong() {
        let error = toml::from_str::<toml::Table>("a = 1\nm = [1\n").unwrap_err();
        let said = Failure::of(format!("x.toml: not a description: {error}")).to_string();
        let wanted =
            "x.toml: not a description: TOML parse error at line 2, column 7: unclosed array, expected `]`";
        assert_eq!(said, wanted);
        assert_eq!(Failure::of("one\n  two\n").to_string(), "one; two");
    }
}
