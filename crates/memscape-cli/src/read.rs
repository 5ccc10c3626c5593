//! Files that a command is given.

use std::path::Path;

use memscape::explore::{Origin, TableForm};
use memscape::prelude::StudyFile;

use crate::create::check_folder;
use crate::failure::Failure;

/// Reads a study file.
pub fn read(path: &Path) -> Result<StudyFile, Failure> {
    StudyFile::read(path).map_err(Failure::of)
}

/// That a command's table can be written here, and nothing of others is lost, asked before the work is done.
pub fn check_table(path: Option<&Path>, command: &str) -> Result<(), Failure> {
    let Some(path) = path else { return Ok(()) };
    check_place(path)?;
    Origin::check_replaced(path, command).map_err(Failure::of)
}

/// That there can be such a table.
pub fn check_place(path: &Path) -> Result<(), Failure> {
    if TableForm::of(path).is_none() {
        return Err(Failure::BadInput(format!("{}: the name must end in .parquet or .csv", path.display())));
    }
    check_folder(path)
}
