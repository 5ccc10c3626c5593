//! Cells of the key-value cache that attention reads.

use std::num::NonZeroU64;

use memscape_units::float;

/// Cells read when `used` are in use: whole multiples of `padding`, but no more than `most`, which are all that
/// there are.
#[must_use]
pub fn attended(used: u64, padding: NonZeroU64, most: u64) -> u64 {
    let padding = padding.get();
    used.max(1).div_ceil(padding).saturating_mul(padding).min(most.max(used))
}

/// Cells read on average while the cells in use grow from `first` to `last`, both
/// included. In closed form, so that a reply of any length costs nothing.
///
/// ```
/// use memscape_riscv::cells::{attended, mean_attended};
/// let padding = 32.try_into()?;
/// assert_eq!([attended(33, padding, 100), attended(33, padding, 50)], [64, 50]);
/// assert_eq!(mean_attended(31, 34, padding, 100), (32.0 + 32.0 + 64.0 + 64.0) / 4.0);
/// assert_eq!(mean_attended(31, 34, padding, 50), (32.0 + 32.0 + 50.0 + 50.0) / 4.0);
/// # Ok::<(), std::num::TryFromIntError>(())
/// ```
#[must_use]
pub fn mean_attended(first: u64, last: u64, padding: NonZeroU64, most: u64) -> f64 {
    mean_attended_by((1, NonZeroU64::MIN), first, last, padding, most)
}

/// The same while they grow by steps of a fraction of a cell: cells in use after each of the steps
/// from `first` to `last`, rounded up.
///
/// ```
/// use memscape_riscv::cells::mean_attended_by;
/// let (half, padding) = (2.try_into()?, 32.try_into()?);
/// // 100/2, 200/2 and 300/2 cells
/// assert_eq!(mean_attended_by((100, half), 1, 3, padding, 200), (64.0 + 128.0 + 160.0) / 3.0);
/// # Ok::<(), std::num::TryFromIntError>(())
/// ```
#[must_use]
pub fn mean_attended_by(
    step: (u64, NonZeroU64),
    first: u64,
    last: u64,
    padding: NonZeroU64,
    most: u64,
) -> f64 {
    let before = first.saturating_sub(1);
    let (cells, per) = (u128::from(step.0), u128::from(step.1.get()));
    let used = |steps: u64| u64::try_from((u128::from(steps) * cells).div_ceil(per)).unwrap_or(u64::MAX);
    if last <= before {
        return float(attended(used(first), padding, most));
    }
    let most = most.max(used(last));
    // Steps whose cells are within the last whole multiple that there is; behind them, all are read.
    let whole = u128::from(most / padding.get()) * u128::from(padding.get());
    let padded = (whole * per).checked_div(cells).map_or(last, |it| u64::try_from(it).unwrap_or(u64::MAX));
    let padded = padded.clamp(before, last);
    let multiple = per * u128::from(padding.get());
    // Sum of `ceil(used / padding)` over the steps.
    let sum = |to: u64| floor_sum(to.into(), multiple, cells, cells + multiple - 1);
    let paddings = u64::try_from(sum(padded) - sum(before)).unwrap_or(u64::MAX);
    let all = float(paddings) * float(padding.get()) + float(last - padded) * float(most);
    all / float(last - before)
}

/// Sum of `(a i + b) / m`, rounded down, over `i` below `n`: lattice points below a line, counted as
/// Euclid's algorithm finds a divisor.
fn floor_sum(n: u128, m: u128, a: u128, b: u128) -> u128 {
    if n == 0 {
        return 0;
    }
    let whole = n * (n - 1) / 2 * (a / m) + n * (b / m);
    let (a, b) = (a % m, b % m);
    let most = a * n + b;
    if most < m { whole } else { whole + floor_sum(most / m, a, m, most % m) }
}
