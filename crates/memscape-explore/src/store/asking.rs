//! Kept answers, held against those of now.

use std::path::PathBuf;

use super::shard::Shard;
use super::store::{Run, Store};
use crate::control::Control;
use crate::error::Error;
use crate::origin::Changed;
use crate::parameters::Parameters;
use crate::registry::DynStudy;
use crate::space::{Cursor, Key, Keys, Space};

/// A kept answer that the study gives otherwise now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Differing {
    /// The file in which it is kept.
    pub file: PathBuf,
    /// The row there.
    pub row: usize,
    /// What differs.
    pub changed: Changed,
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
                let now = study.run_layers(&layers.iter().collect::<Vec<_>>());
                if let Some(changed) = run.manifest.origin.changed(&table, row, &now) {
                    if key(study, run, &layers) == Some(keys[row]) {
                        again.differing.push(Differing { file: shard.path.clone(), row, changed });
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
