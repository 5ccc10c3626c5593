//! Kept answers, held against those of now.

use std::path::PathBuf;

use super::shard::Shard;
use super::store::{Run, Store};
use crate::control::Control;
use crate::error::Error;
use crate::parameters::Parameters;
use crate::registry::DynStudy;
use crate::space::{Cursor, Key, Keys, Space};
use crate::sweep::Sweep;
use crate::table::Table;

/// A kept answer that the study gives otherwise now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Differing {
    /// The file in which it is kept.
    pub file: PathBuf,
    /// The row there.
    pub row: usize,
    /// The first column that differs.
    pub column: String,
    /// What is kept; none where there is no answer.
    pub kept: Option<String>,
    /// What the study says now.
    pub now: Option<String>,
}

/// What came of asking kept points again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AskedAgain {
    /// How many were asked.
    pub points: u64,
    /// Those whose answer differs: of a model that was changed without its version, for example.
    pub differing: Vec<Differing>,
    /// How many are other points now, with another answer: a description that they name has changed since.
    pub renamed: u64,
}

impl Store {
    /// Asks about so many points of a question again, spread over its files.
    ///
    /// # Errors
    /// [`Error::File`] if the store cannot be read.
    pub fn ask_again(
        &self,
        study: &dyn DynStudy,
        run: &Run,
        points: usize,
        control: &dyn Control,
    ) -> Result<AskedAgain, Error> {
        let shards = Shard::all(&run.folder)?;
        let each = points.div_ceil(shards.len().max(1)).max(1);
        let mut again = AskedAgain::default();
        for shard in shards {
            let Some(table) = self.read(&shard, Shard::table, control)? else { continue };
            let Some(keys) = self.read(&shard, Shard::keys, control)? else { continue };
            let asked_here = each.min(table.height());
            for row in (0..asked_here).map(|it| it * table.height() / asked_here) {
                if control.cancelled() {
                    return Ok(again);
                }
                let layers = run.manifest.origin.point(&table, row)?;
                if let Some((column, kept, now)) = difference(study, run, &table, row, &layers)? {
                    if key(study, run, &layers) == Some(keys[row]) {
                        let file = shard.path.clone();
                        again.differing.push(Differing { file, row, column, kept, now });
                    } else {
                        again.renamed += 1;
                    }
                }
                again.points += 1;
                control.advanced(again.points, points as u64);
            }
        }
        Ok(again)
    }
}

/// The key of a point by what its names stand for now; none if they stand for nothing.
fn key(study: &dyn DynStudy, run: &Run, layers: &[Parameters]) -> Option<Key> {
    let asker = study.asker();
    let plan = asker.plan(layers, &Space::default()).ok()?;
    let keys = Keys::new(&plan, run.manifest.origin.edition.key());
    Some(keys.at(&plan, &Cursor::at(&plan, Vec::new())))
}

/// The first column in which a row is not what the study says now.
fn difference(
    study: &dyn DynStudy,
    run: &Run,
    table: &Table,
    row: usize,
    layers: &[Parameters],
) -> Result<Option<(String, Option<String>, Option<String>)>, Error> {
    let origin = &run.manifest.origin;
    let kept = |name: &str| Ok::<_, Error>(table.rows(row, 1).text(name)?.swap_remove(0));
    let now = match study.sweep(&layers.iter().cloned().fold(Sweep::default(), Sweep::over), &()) {
        Ok(now) => now,
        // A base that is wrong is refused; as a point it is a row with the same reason.
        Err(error) => {
            let (kept, now) = (kept("error")?, Some(error.to_string()));
            return Ok((kept != now).then(|| ("error".to_owned(), kept, now)));
        }
    };
    for column in now.column_names() {
        // An axis of the same name has pushed it aside.
        let aside = origin.axes.iter().any(|it| it == column);
        let name = if aside { format!("answer.{column}") } else { column.to_owned() };
        let (kept, now) = (kept(&name)?, now.text(column)?.swap_remove(0));
        if kept != now {
            return Ok(Some((name, kept, now)));
        }
    }
    Ok(None)
}
