//! Kept answers, held against those of now.

use std::path::PathBuf;

use super::shard::Shard;
use super::store::{Run, Store};
use crate::control::Control;
use crate::error::Error;
use crate::registry::DynStudy;
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

impl Store {
    /// Asks about so many points of a question again, spread over its files, and returns how
    /// many it were and those whose answer differs: of a model that was changed without its
    /// version, for example.
    ///
    /// # Errors
    /// [`Error::File`] if the store cannot be read.
    pub fn ask_again(
        &self,
        study: &dyn DynStudy,
        run: &Run,
        points: usize,
        control: &dyn Control,
    ) -> Result<(u64, Vec<Differing>), Error> {
        let shards = Shard::all(&run.folder)?;
        let each = points.div_ceil(shards.len().max(1)).max(1);
        let (mut asked, mut differing) = (0, Vec::new());
        for shard in shards {
            let Some(table) = self.read(&shard, Shard::table, control)? else { continue };
            let asked_here = each.min(table.height());
            for row in (0..asked_here).map(|it| it * table.height() / asked_here) {
                if control.cancelled() {
                    return Ok((asked, differing));
                }
                if let Some((column, kept, now)) = difference(study, run, &table, row)? {
                    differing.push(Differing { file: shard.path.clone(), row, column, kept, now });
                }
                asked += 1;
                control.advanced(asked, points as u64);
            }
        }
        Ok((asked, differing))
    }
}

/// The first column in which a row is not what the study says now.
fn difference(
    study: &dyn DynStudy,
    run: &Run,
    table: &Table,
    row: usize,
) -> Result<Option<(String, Option<String>, Option<String>)>, Error> {
    let origin = &run.manifest.origin;
    let layers = origin.point(table, row)?;
    let kept = |name: &str| Ok::<_, Error>(table.rows(row, 1).text(name)?.swap_remove(0));
    let now = match study.sweep(&layers.into_iter().fold(Sweep::default(), Sweep::over), &()) {
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
