//! Answers that a store keeps, and tables that a command writes beside what it prints.

use std::io::Write;
use std::path::{Path, PathBuf};

use memscape::explore::{Error, Filled, Origin, Store, Table};
use memscape::prelude::Control;

use crate::failure::Failure;
use crate::progress::{Progress, save_when_interrupted};
use crate::store::remark;

/// What a study answers without a store, or with the one in this folder, which then says how much of it was there. An
/// interrupt leaves what is done until then.
pub fn answered<T>(
    study: &str,
    folder: Option<&Path>,
    quiet: bool,
    err: &mut dyn Write,
    without: impl FnOnce(&dyn Control) -> Result<T, Error>,
    with: impl FnOnce(&Store, &dyn Control) -> Result<(T, Filled), Error>,
) -> Result<T, Failure> {
    save_when_interrupted();
    let progress = Progress::new(study, quiet);
    let found = match folder {
        None => without(&progress).map(|it| (it, None)),
        Some(folder) => {
            Store::open(folder).and_then(|it| with(&it, &progress)).map(|(it, filled)| (it, Some(filled)))
        }
    };
    // Its bar goes before anything is printed.
    drop(progress);
    let (found, filled) = found.map_err(Failure::of)?;
    if let Some(filled) = filled.filter(|_| !quiet) {
        remark(&filled, err)?;
    }
    Ok(found)
}

/// Writes a table with the question that it answers. What an interrupted command has goes to
/// `NAME.partial.parquet` (or `.csv`) beside, so that a whole table of before stays, and is said to be only that.
pub fn keep(
    table: &Table,
    origin: &Origin,
    path: &Path,
    quiet: bool,
    err: &mut dyn Write,
) -> Result<(), Failure> {
    let path = if table.is_complete() { path.to_owned() } else { partial(path) };
    if !table.is_complete() {
        if table.height() == 0 {
            return Ok(writeln!(err, "interrupted before there was a row; nothing is written")?);
        }
        writeln!(err, "interrupted: what there is goes to `{}`", path.display())?;
    }
    origin.write(table, &path, &Progress::new("saving", quiet)).map_err(Failure::of)
}

/// `folder/table.parquet` is `folder/table.partial.parquet`.
fn partial(path: &Path) -> PathBuf {
    let end = path.extension().unwrap_or_default().to_string_lossy();
    path.with_extension(format!("partial.{end}"))
}
