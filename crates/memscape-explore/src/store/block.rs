//! A question's rows, cut into blocks that are known by their points.

use std::ops::Range;

use polars::prelude::DataFrame;
use rayon::prelude::*;
use serde_json::json;

use crate::answers::{Rows, go_on, laid_out};
use crate::asker::Asker;
use crate::columns::Columns;
use crate::digest::digest;
use crate::error::Error;
use crate::guard::guarded;
use crate::question::Question;
use crate::registry::DynStudy;
use crate::space::{Cursor, Key, Keys, Plan};
use crate::sweep::{Sweep, ready};
use crate::table::{ROW_GROUP, Table};

/// Blocks that a question has at most, and half of them at least, until they are as large as blocks get: what one of
/// many workers takes, and what a lost one loses.
const BLOCKS: u64 = 32;

/// Rows of a block: for fewer, a file costs more than its rows.
const LEAST: u64 = 1024;

/// Rows whose keys one thread finds at a time.
const CHUNK: usize = 4096;

/// A question, resolved and cut.
pub(crate) struct Cut<'a> {
    pub(crate) plan: Plan<'a>,
    pub(crate) asker: Asker<'a>,
    pub(crate) question: Question,
    /// How many rows there are.
    pub(crate) rows: u64,
    /// How many of them a block has.
    pub(crate) block: u64,
    /// How many columns its table has.
    pub(crate) columns: usize,
    keys: Keys,
    /// What a block holds beside its points: the same ones in another question may have
    /// columns of other types, or other constraints.
    shape: String,
}

impl<'a> Cut<'a> {
    pub(crate) fn of(study: &'a dyn DynStudy, sweep: &Sweep) -> Result<Self, Error> {
        guarded(|| {
            let asker = study.asker();
            let plan = ready(&asker, sweep)?;
            let question = Question::of(study, sweep)?;
            let rows = plan.rows()?;
            let block = rows.div_ceil(BLOCKS).next_power_of_two().clamp(LEAST, ROW_GROUP as u64);
            let columns = laid_out(&plan, &Rows::Range(0..0), asker.empty())?;
            let named: Vec<_> =
                columns.iter().map(|it| json!([it.name().as_str(), it.dtype().to_string()])).collect();
            let checks: Vec<&str> = plan.checks.iter().map(|it| it.expression.text()).collect();
            let shape = json!([named, checks]).to_string();
            let seed = Key::from_str_radix(&question.edition().id(), 16).unwrap_or_default();
            let keys = Keys::new(&plan, seed);
            Ok(Self { plan, asker, question, rows, block, columns: columns.len(), keys, shape })
        })
    }

    /// The rows of a block.
    pub(crate) fn rows_of(&self, block: u64) -> Range<u64> {
        block * self.block..((block + 1) * self.block).min(self.rows)
    }

    /// Rows that follow each other, block by block.
    pub(crate) fn pieces(&self, rows: Range<u64>) -> impl Iterator<Item = Range<u64>> + Clone {
        let blocks = rows.start / self.block..rows.end.div_ceil(self.block);
        blocks.map(move |it| {
            let block = self.rows_of(it);
            block.start.max(rows.start)..block.end.min(rows.end)
        })
    }

    /// The keys of the points at these rows.
    pub(crate) fn keys(&self, rows: &Rows) -> Vec<Key> {
        let count = rows.len();
        let chunk = |index: usize| {
            let part = index * CHUNK..((index + 1) * CHUNK).min(count);
            let mut keys = Vec::with_capacity(part.len());
            let mut cursor = Cursor::new(&self.plan, self.plan.place(rows.at(part.start)));
            for row in part.clone() {
                keys.push(self.keys.at(&self.plan, &cursor));
                if row + 1 < part.end {
                    go_on(&self.plan, &mut cursor, rows, row + 1);
                }
            }
            keys
        };
        let parts: Vec<Vec<Key>> = (0..count.div_ceil(CHUNK)).into_par_iter().map(chunk).collect();
        parts.concat()
    }

    /// What rows with these points are known by.
    pub(crate) fn address(&self, keys: &[Key]) -> String {
        let mut content = Vec::with_capacity(self.shape.len() + 16 * keys.len());
        content.extend_from_slice(self.shape.as_bytes());
        for key in keys {
            content.extend_from_slice(&key.to_le_bytes());
        }
        digest(&content)
    }

    /// The answers at these rows as the question's table has them.
    pub(crate) fn table(&self, rows: &Rows, answers: Columns) -> Result<Table, Error> {
        Ok(Table::from_frame(DataFrame::new(rows.len(), laid_out(&self.plan, rows, answers)?)?))
    }
}
