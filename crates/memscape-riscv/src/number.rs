//! Counts.

use std::num::{NonZeroU32, NonZeroU64};

/// Counts stay far below 2^53.
#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
pub(crate) const fn float(count: u64) -> f64 {
    count as f64
}

/// A count that a default names.
pub(crate) const fn count(count: u32) -> NonZeroU32 {
    NonZeroU32::new(count).expect("not zero")
}

/// A long count that a default names.
pub(crate) const fn long(count: u64) -> NonZeroU64 {
    NonZeroU64::new(count).expect("not zero")
}
