//! Design spaces: what a sweep, a search and a front go over.
//!
//! A [`Space`] is plain data. Resolved against a study it is a `Plan`; a `Cursor`
//! goes from point to point of it, and a `Judge` says what of a point is allowed
//! and how good it is.

mod allowed;
mod axes;
mod axis;
mod check;
mod columns_at;
mod cursor;
mod draw;
mod judge;
mod keys;
mod plan;
mod range;
#[expect(clippy::module_inception, reason = "the space itself")]
mod space;

pub(crate) use allowed::{find_allowed, nothing_allowed};
pub(crate) use axis::{Axis, Change, Values};
pub(crate) use cursor::{Cursor, digits_of};
pub use draw::{Method, Sample};
pub(crate) use draw::{check_dimensions, places};
pub use judge::Objective;
pub(crate) use judge::{FEASIBLE, Judge, Verdict};
pub(crate) use keys::{Key, Keys};
pub(crate) use plan::{Dimension, Plan};
pub use range::Range;
pub use space::Space;
pub(crate) use space::{Axes, Linked};

#[cfg(test)]
mod tests;
