//! Cells of the key-value cache that attention reads.

use std::num::NonZeroU64;

use crate::number::float;

/// Cells read when `used` are in use: whole multiples of `padding`.
#[must_use]
pub fn attended(used: u64, padding: NonZeroU64) -> u64 {
    let padding = padding.get();
    used.max(1).div_ceil(padding).saturating_mul(padding)
}

/// Cells read on average while the cells in use grow from `first` to `last`, both
/// included. In closed form, so that a reply of any length costs nothing.
///
/// ```
/// use memscape_riscv::cells::{attended, mean_attended};
/// let padding = 32.try_into()?;
/// assert_eq!(attended(33, padding), 64);
/// assert_eq!(mean_attended(31, 34, padding), (32.0 + 32.0 + 64.0 + 64.0) / 4.0);
/// # Ok::<(), std::num::TryFromIntError>(())
/// ```
#[must_use]
pub fn mean_attended(first: u64, last: u64, padding: NonZeroU64) -> f64 {
    // Sum of `ceil(used / padding)` over the used cells.
    let steps = |to: u64| {
        let (whole, rest) = (to / padding, to % padding);
        padding.get() * whole * (whole + 1) / 2 + rest * (whole + 1)
    };
    let before = first.saturating_sub(1);
    if last <= before {
        return float(attended(first, padding));
    }
    float(steps(last) - steps(before)) * float(padding.get()) / float(last - before)
}
