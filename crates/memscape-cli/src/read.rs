//! Study files that a command is given.

use std::path::Path;

use memscape::prelude::StudyFile;

use crate::failure::Failure;

/// Reads a study file.
pub fn read(path: &Path) -> Result<StudyFile, Failure> {
    StudyFile::read(path).map_err(Failure::of)
}
