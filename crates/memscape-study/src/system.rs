//! What a system crate exports.

use crate::Study;
use crate::calibration::Calibration;
use crate::catalog::AnyCatalog;

/// A system: its questions, the descriptions that they take, and what its claims
/// fix. Each system crate exports one as `SYSTEM`.
pub trait System: Copy + Send + Sync + 'static {
    /// What its studies' names begin with, for example `pim`.
    const NAME: &'static str;
    /// One line.
    const SUMMARY: &'static str;
    /// The free parameters of its model, if it has any.
    const CALIBRATION: Option<&'static Calibration>;

    /// Shows a visitor each study, in the order of a list.
    fn studies(visitor: &mut impl StudyVisitor);

    /// Its descriptions, and those that it uses of the crates below.
    fn catalogs() -> Vec<&'static dyn AnyCatalog>;
}

/// Who wants to see the types of studies, to make a list of them for example.
pub trait StudyVisitor {
    /// Sees one study.
    fn visit<S: Study>(&mut self);
}
