//! Counts.

use std::num::{NonZeroU32, NonZeroU64};

/// A count that a default names.
pub(crate) const fn count(count: u32) -> NonZeroU32 {
    NonZeroU32::new(count).expect("not zero")
}

/// A long count that a default names.
pub(crate) const fn long(count: u64) -> NonZeroU64 {
    NonZeroU64::new(count).expect("not zero")
}
