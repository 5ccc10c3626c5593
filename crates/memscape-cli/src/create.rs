//! Files that a command is told to write.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use memscape::explore::{unwritable, write_atomically};

use crate::failure::Failure;

/// That there is no such file yet, or one of this command's own, which begins with these words.
pub fn check_own(path: &Path, beginning: &str) -> Result<(), Failure> {
    check_folder(path)?;
    let mut begins = Vec::new();
    let mut read = |file: File| file.take(beginning.len() as u64).read_to_end(&mut begins);
    if !path.is_file() || (File::open(path).and_then(&mut read).is_ok() && beginning.as_bytes() == begins) {
        return Ok(());
    }
    Err(Failure::BadInput(format!(
        "`{}` holds something else, which would be lost; name another file, or remove it",
        path.display()
    )))
}

/// That there is the folder of a file to be written.
pub fn check_folder(path: &Path) -> Result<(), Failure> {
    match path.parent() {
        Some(folder) if folder != Path::new("") && !folder.is_dir() => Err(Failure::BadInput(format!(
            "{}: there is no folder `{}`; make it first",
            path.display(),
            folder.display()
        ))),
        _ => Ok(()),
    }
}

/// Writes a file, which appears when it is whole. What is no plain file, such as
/// a pipe, is written as it is.
///
/// What stands there under that name is replaced, as by any program that draws or records.
pub fn create(path: &Path, write: impl FnOnce(&mut dyn Write) -> Result<(), Failure>) -> Result<(), Failure> {
    let bad = |error: io::Error| Failure::BadInput(unwritable(path, &error));
    if path.metadata().is_ok_and(|it| !it.is_file()) {
        return write(&mut File::create(path).map_err(bad)?);
    }
    write_atomically(path, write).map_err(|failure| match failure {
        Failure::Output(error) => bad(error),
        other => other,
    })
}
