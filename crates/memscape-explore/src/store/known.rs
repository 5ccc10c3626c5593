//! Answers that other questions have left in a store.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use polars::prelude::{IdxCa, IdxSize};
use rayon::prelude::*;

use super::index::{Index, MOST_ENTRIES, Place};
use super::shard::Shard;
use super::store::Store;
use crate::columns::{ColumnBuilder, Columns, NotAnAnswer};
use crate::control::Control;
use crate::error::Error;
use crate::schema::Kind;
use crate::space::Key;
use crate::table::{Column, Table};

/// Cells of shards that are kept in memory, half a gigabyte: consecutive blocks often want the
/// same, and points of a search any.
const MOST_CELLS: usize = 1 << 26;

/// What a store knows of a question's points beside the question's own blocks. Looked for
/// when it is first wanted: most questions are new.
pub(crate) struct Known<'a> {
    store: &'a Store,
    control: &'a dyn Control,
    /// The question's own folder.
    own: PathBuf,
    /// Whether its whole blocks are looked through, too: who knows their addresses need not.
    all: bool,
    index: Option<Index>,
    tables: VecDeque<(u32, Table)>,
}

/// Rows of a block that are known.
pub(crate) struct Found {
    pub(crate) answers: Columns,
    /// For each row of the block, its place among the answers.
    pub(crate) places: Vec<Option<u32>>,
}

impl<'a> Known<'a> {
    pub(crate) fn new(store: &'a Store, control: &'a dyn Control, own: &Path) -> Self {
        Self { store, control, own: own.to_owned(), all: false, index: None, tables: VecDeque::new() }
    }

    /// With what the question's own blocks hold.
    pub(crate) fn with_own_blocks(self) -> Self {
        Self { all: true, ..self }
    }

    /// The answers of those points that are known.
    pub(crate) fn find(&mut self, keys: &[Key], empty: &Columns) -> Result<Option<Found>, Error> {
        if self.index.is_none() {
            self.index = Some(self.read()?);
        }
        let Some(index) = self.index.as_ref().filter(|it| !it.shards.is_empty()) else { return Ok(None) };
        let places: Vec<Option<Place>> = keys.par_iter().map(|it| index.find(*it)).collect();
        let mut wanted: Vec<(Place, usize)> =
            places.iter().enumerate().filter_map(|(row, it)| Some(((*it)?, row))).collect();
        wanted.sort_unstable();
        let mut found = Found { answers: empty.clone(), places: vec![None; keys.len()] };
        for group in wanted.chunk_by(|one, other| one.0.shard == other.0.shard) {
            let rows: Vec<IdxSize> = group.iter().map(|it| it.0.row).collect();
            let Some(answers) = self.answers(group[0].0.shard, rows, empty)? else { continue };
            for ((_, row), place) in group.iter().zip(found.answers.rows()..) {
                found.places[*row] = u32::try_from(place).ok();
            }
            found.answers.append(answers);
        }
        Ok(Some(found).filter(|it| it.answers.rows() > 0))
    }

    /// How many of those points are known, if all shards are sound.
    pub(crate) fn count(&mut self, keys: &[Key]) -> Result<u64, Error> {
        if self.index.is_none() {
            self.index = Some(self.read()?);
        }
        let Some(index) = &self.index else { return Ok(0) };
        Ok(keys.par_iter().filter(|it| index.find(**it).is_some()).count() as u64)
    }

    /// Some rows' answers; none if the shard is damaged or gone.
    fn answers(&mut self, shard: u32, rows: Vec<IdxSize>, empty: &Columns) -> Result<Option<Columns>, Error> {
        let place = if let Some(place) = self.tables.iter().position(|it| it.0 == shard) {
            place
        } else {
            let Some(index) = &self.index else { return Ok(None) };
            let shelved = &index.shards[shard as usize];
            let Some(table) = self.store.read(shelved, Shard::table, self.control)? else { return Ok(None) };
            self.tables.push_front((shard, table));
            let cells = |it: &Table| it.height() * it.column_names().len();
            while self.tables.len() > 1
                && self.tables.iter().map(|it| cells(&it.1)).sum::<usize>() > MOST_CELLS
            {
                self.tables.pop_back();
            }
            0
        };
        let table = &self.tables[place].1;
        let rows = table.frame().take(&IdxCa::from_vec("".into(), rows))?;
        answers_of(&Table::from_frame(rows), empty).map(Some)
    }

    /// All points of the same edition.
    fn read(&self) -> Result<Index, Error> {
        let edition = self.own.parent().unwrap_or(Path::new(""));
        let mut shards = Vec::new();
        for folder in Store::folders(edition)? {
            let known = folder == self.own && !self.all;
            shards.extend(Shard::all(&folder)?.into_iter().filter(|it| it.part || !known));
        }
        let mut all = Vec::new();
        let mut entries = 0;
        for shard in shards {
            if entries > MOST_ENTRIES {
                self.control.warned(&format!(
                    "the store knows over {MOST_ENTRIES} points of this study; those of later questions are not \
                     looked through"
                ));
                break;
            }
            if let Some(keys) = self.store.read(&shard, Shard::keys, self.control)? {
                entries += keys.len();
                all.push((shard, keys));
            }
        }
        Ok(Index::new(all))
    }
}

/// The answers in a shard's table, whatever its axes are.
pub(crate) fn answers_of(table: &Table, empty: &Columns) -> Result<Columns, Error> {
    let names = table.column_names();
    let mut builders = Vec::with_capacity(empty.builders.len());
    for column in &empty.builders {
        // An axis of the same name has pushed it aside.
        let aside = format!("answer.{}", column.name);
        let name = if names.contains(&aside.as_str()) { aside.as_str() } else { column.name.as_str() };
        let mut column = column.clone();
        match (column.kind(), table.column(name)?) {
            (Kind::Float, Column::Float(all)) => fill(&mut column, all, ColumnBuilder::push_float),
            (Kind::Int, Column::Int(all)) => fill(&mut column, all, ColumnBuilder::push_int),
            (Kind::Bool, Column::Bool(all)) => fill(&mut column, all, ColumnBuilder::push_bool),
            (Kind::Text, Column::Text(all)) => fill(&mut column, all, |it, value| it.push_text(&value)),
            _ => Err(NotAnAnswer(format!("`{name}` is of another type in a shard"))),
        }
        .map_err(|it| Error::Internal(it.to_string()))?;
        builders.push(column);
    }
    let errors = table.text("error")?.into_iter().enumerate();
    let errors = errors.filter_map(|(row, it)| Some((row, it?))).collect();
    Ok(Columns::from_parts(builders, errors))
}

/// Adds values, and nulls where there are none.
fn fill<T>(
    column: &mut ColumnBuilder,
    values: Vec<Option<T>>,
    push: impl Fn(&mut ColumnBuilder, T) -> Result<(), NotAnAnswer>,
) -> Result<(), NotAnAnswer> {
    column.reserve(values.len());
    for it in values {
        match it {
            Some(value) => push(column, value)?,
            None => column.push_null(),
        }
    }
    Ok(())
}
