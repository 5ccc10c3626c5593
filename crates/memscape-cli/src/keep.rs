//! Tables that a command writes beside what it prints.

use std::io::Write;
use std::path::{Path, PathBuf};

use memscape::explore::{Origin, Table};

use crate::failure::Failure;
use crate::progress::Progress;

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
