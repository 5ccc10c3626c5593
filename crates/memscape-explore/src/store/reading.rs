//! What a store has of a question, read.

use std::path::{Path, PathBuf};

use super::shard::Shard;
use super::store::{Run, Store};
use crate::control::Control;
use crate::error::Error;
use crate::origin::Origin;
use crate::room::check_room;
use crate::table::Table;
use crate::table_writer::write_pieces;

impl Store {
    /// The files of a question's rows, in order: Parquet, with the keys of points as two
    /// columns more.
    ///
    /// # Errors
    /// [`Error::BadSweep`] if not all rows are there.
    pub fn files(&self, run: &Run) -> Result<Vec<PathBuf>, Error> {
        Ok(shards(run)?.into_iter().map(|it| it.path).collect())
    }

    /// All rows of a question.
    ///
    /// # Errors
    /// [`Error::BadSweep`] if not all are there, or they do not fit in memory.
    pub fn table(&self, run: &Run, control: &dyn Control) -> Result<Table, Error> {
        let mut table: Option<Table> = None;
        self.pieces(run, control, &mut |piece| {
            table = Some(if let Some(before) = table.take() {
                before.concat(&piece)?
            } else {
                check_room(run.manifest.rows, piece.column_names().len())?;
                piece
            });
            Ok(())
        })?;
        table.ok_or_else(|| lacks(run, "has no rows"))
    }

    /// Writes all rows of a question as Parquet, or CSV if `path` ends in `.csv`, a block at a
    /// time.
    ///
    /// # Errors
    /// [`Error::BadSweep`] if not all are there, [`Error::File`] if the file cannot be
    /// written, or holds something else than an answer to this question.
    pub fn export(&self, run: &Run, path: &Path, control: &dyn Control) -> Result<(), Error> {
        if !Origin::read(path).is_ok_and(|it| it.id == run.id()) {
            Origin::check_replaced(path, "store export")?;
        }
        write_pieces(path, &run.manifest.origin, |write| self.pieces(run, control, write))
    }

    fn pieces(
        &self,
        run: &Run,
        control: &dyn Control,
        take: &mut dyn FnMut(Table) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut done = 0;
        for shard in shards(run)? {
            let Some(table) = self.read(&shard, Shard::table, control)? else {
                return Err(lacks(run, "has a damaged block"));
            };
            done += table.height() as u64;
            take(table)?;
            control.advanced(done, run.manifest.rows);
        }
        Ok(())
    }
}

/// A shard for each block.
fn shards(run: &Run) -> Result<Vec<Shard>, Error> {
    let all = Shard::all(&run.folder)?;
    if run.manifest.blocks.is_empty() {
        let there = format!("has {} of its {} blocks", run.blocks, run.blocks_in_all());
        return Err(lacks(run, &there));
    }
    let of_block = |address: &String| {
        let found = all.iter().find(|it| !it.part && it.address == *address);
        found.cloned().ok_or_else(|| lacks(run, "lacks a block"))
    };
    run.manifest.blocks.iter().map(of_block).collect()
}

fn lacks(run: &Run, what: &str) -> Error {
    Error::BadSweep(format!(
        "question {} {what}; ask it again, and the store computes what is missing",
        run.id()
    ))
}
