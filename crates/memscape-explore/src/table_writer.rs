//! A table that goes to a file piece by piece, and is never whole in memory.

use std::io::{self, Write};
use std::path::Path;

use polars::prelude::{BatchedWriter, DataFrame, KeyValueMetadata, ParquetWriter};

use crate::error::Error;
use crate::origin::Origin;
use crate::table::{NOTE, ROW_GROUP, Table, TableForm, beside};
use crate::whole::{Failure, write_atomically};

/// That a table can be written here, asked before the work is done.
///
/// # Errors
/// [`Error::File`] if the name or the folder is wrong.
pub(crate) fn check_place(path: &Path) -> Result<(), Error> {
    let bad = |problem: String| Err(Error::file(path, &problem));
    if TableForm::of(path).is_none() {
        return bad("the name must end in .parquet or .csv".to_owned());
    }
    if path.is_dir() {
        return bad("it is a folder; give a file's name".to_owned());
    }
    if path.exists() && !path.is_file() {
        return bad("it is no plain file, which a table would replace; give another name".to_owned());
    }
    match path.parent() {
        Some(folder) if folder != Path::new("") && !folder.is_dir() => {
            bad(format!("there is no folder `{}`; make it first", folder.display()))
        }
        _ => Ok(()),
    }
}

/// Writes Parquet, or CSV if `path` ends in `.csv`, of the tables that `pieces` gives, which
/// have the same columns; the file appears when it is whole.
///
/// # Errors
/// [`Error::File`] if it cannot be written, or what `pieces` says: there is no file then.
pub(crate) fn write_pieces(
    path: &Path,
    origin: &Origin,
    pieces: impl FnOnce(&mut dyn FnMut(Table) -> Result<(), Error>) -> Result<(), Error>,
) -> Result<(), Error> {
    let note = origin.note()?;
    let named = |it: Error| match it {
        Error::Write(error) => Error::file(path, &error),
        other => other,
    };
    match TableForm::named(path)? {
        TableForm::Parquet => {
            let failure = Failure::default();
            let written = write_atomically(path, |out| {
                let out = failure.remembering(out);
                let mut file = Parquet { out: Some(out), note, writer: None, waiting: None };
                pieces(&mut |table| file.push(table))?;
                file.finish()
            });
            written.map_err(|it| named(failure.take().map_or(it, Error::Write)))
        }
        TableForm::Csv => {
            write_atomically(path, |out| {
                let mut writer = csv::Writer::from_writer(out);
                let mut begun = false;
                pieces(&mut |table: Table| {
                    if !std::mem::replace(&mut begun, true) {
                        writer.write_record(table.column_names()).map_err(io::Error::from)?;
                    }
                    table.append_csv(&mut writer)
                })?;
                writer.flush().map_err(Error::from)
            })
            .map_err(named)?;
            let place = beside(path);
            write_atomically(&place, |out| out.write_all(note.as_bytes()))
                .map_err(|it: io::Error| Error::file(&place, &it))
        }
    }
}

struct Parquet<W: Write> {
    /// Until the first piece says what the columns are.
    out: Option<W>,
    note: String,
    writer: Option<BatchedWriter<W>>,
    /// Less than a row group.
    waiting: Option<DataFrame>,
}

impl<W: Write> Parquet<W> {
    fn push(&mut self, table: Table) -> Result<(), Error> {
        let frame = table.into_frame();
        if let Some(out) = self.out.take() {
            let note = KeyValueMetadata::from_static(vec![(NOTE.to_owned(), self.note.clone())]);
            let writer = ParquetWriter::new(out).with_key_value_metadata(Some(note));
            self.writer = Some(writer.batched(frame.schema())?);
        }
        let mut waiting = match self.waiting.take() {
            Some(mut waiting) => {
                waiting.vstack_mut(&frame)?;
                waiting
            }
            None => frame,
        };
        while waiting.height() >= ROW_GROUP {
            let rest = waiting.slice(i64::try_from(ROW_GROUP).unwrap_or(i64::MAX), waiting.height());
            self.write(waiting.slice(0, ROW_GROUP))?;
            waiting = rest;
        }
        self.waiting = Some(waiting).filter(|it| it.height() > 0);
        Ok(())
    }

    fn write(&mut self, mut group: DataFrame) -> Result<(), Error> {
        group.rechunk_mut();
        let writer = self.writer.as_mut().ok_or_else(|| Error::Internal("no columns yet".to_owned()))?;
        writer.write_batch(&group).map_err(|it| Error::Write(io::Error::other(it)))
    }

    fn finish(mut self) -> Result<(), Error> {
        if let Some(rest) = self.waiting.take() {
            self.write(rest)?;
        }
        match self.writer {
            Some(writer) => writer.finish().map(drop).map_err(|it| Error::Write(io::Error::other(it))),
            None => Err(Error::NoAnswer("there are no rows to write".to_owned())),
        }
    }
}
