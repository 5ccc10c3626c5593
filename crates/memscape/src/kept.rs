//! Kept answers, held against the program that is asked now.

use memscape_explore::{Edition, Run};
use memscape_systems::study;

/// Whether kept answers are of another version of the program, the model or the data, so
/// that no question of this program is answered by them.
///
/// ```ignore
/// let store = Store::existing("runs")?;
/// store.tidy(memscape::is_stale)?;
/// ```
#[must_use]
pub fn is_stale(run: &Run) -> bool {
    let edition = &run.manifest.origin.edition;
    study(&edition.study).map_or(true, |it| Edition::of(it).id() != edition.id())
}
