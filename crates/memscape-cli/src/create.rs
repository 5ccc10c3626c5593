//! Files that a command is told to write.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use memscape::explore::write_atomically;

use crate::failure::Failure;

/// Writes a file, which appears when it is whole. What is no plain file, such as
/// a pipe, is written as it is.
pub fn create(path: &Path, write: impl FnOnce(&mut dyn Write) -> Result<(), Failure>) -> Result<(), Failure> {
    let bad = |error: io::Error| {
        let told = match error.kind() {
            io::ErrorKind::NotFound => "there is no such folder".to_owned(),
            _ => error.to_string(),
        };
        Failure::BadInput(format!("cannot write `{}`: {told}; choose another file", path.display()))
    };
    if path.metadata().is_ok_and(|it| !it.is_file()) {
        return write(&mut File::create(path).map_err(bad)?);
    }
    write_atomically(path, write).map_err(|failure| match failure {
        Failure::Output(error) => bad(error),
        other => other,
    })
}
