//! Whether a table fits in memory, asked before it is made.

use std::fs;

use crate::error::Error;

/// Tables of fewer cells are made without asking.
const FEW_CELLS: u64 = 1 << 24;

/// A number and what belongs to it, while a table grows.
const CELL_BYTES: u64 = 12;

/// # Errors
/// [`Error::BadSweep`] if a table of this size would not fit, with what takes its place.
pub(crate) fn check_room(rows: u64, columns: usize) -> Result<(), Error> {
    check_in(free(), rows, columns)
}

/// The bytes that a table of this size needs and those that are free, if these are less.
pub(crate) fn lacking(rows: u64, columns: usize) -> Option<(u64, u64)> {
    lacking_in(free(), rows, columns)
}

fn lacking_in(free: Option<u64>, rows: u64, columns: usize) -> Option<(u64, u64)> {
    let cells = rows.saturating_mul(columns as u64);
    let needed = cells.saturating_mul(CELL_BYTES);
    free.filter(|free| cells > FEW_CELLS && needed > *free).map(|free| (needed, free))
}

fn check_in(free: Option<u64>, rows: u64, columns: usize) -> Result<(), Error> {
    match lacking_in(free, rows, columns) {
        Some((needed, free)) => Err(Error::BadSweep(format!(
            "a table of {rows} rows and {columns} columns takes about {} GB, and {} GB of memory are free; let its \
             rows go to files, block by block (`memscape sweep study.toml -o table.parquet`, or in Python \
             `ms.Store(\"runs\").fill(...)` and then `.scan()` or `.export(...)`), or shorten an axis",
            gigabytes(needed),
            gigabytes(free)
        ))),
        None => Ok(()),
    }
}

#[expect(clippy::cast_precision_loss, reason = "for people")]
pub(crate) fn gigabytes(bytes: u64) -> String {
    format!("{:.1}", bytes as f64 / 1e9)
}

/// What the system or a container's limit leaves, as far as Linux tells.
fn free() -> Option<u64> {
    let number = |path: &str| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    let about = fs::read_to_string("/proc/meminfo").ok()?;
    let line = about.lines().find_map(|it| it.strip_prefix("MemAvailable:"))?;
    let system = line.trim().trim_end_matches(" kB").parse::<u64>().ok()? * 1024;
    let limit = number("/sys/fs/cgroup/memory.max").zip(number("/sys/fs/cgroup/memory.current"));
    Some(limit.map_or(system, |(most, used)| system.min(most.saturating_sub(used))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_refused_with_what_does() {
        let error = check_in(Some(8_000_000_000), 100_000_000, 60).unwrap_err().to_string();
        assert!(error.starts_with("a table of 100000000 rows and 60 columns takes about 72.0 GB"), "{error}");
        assert!(error.contains("-o table.parquet") && error.contains("fill("), "{error}");
        assert!(check_in(Some(8_000_000_000), 10_000_000, 60).is_ok());
        assert!(check_in(Some(0), 1000, 60).is_ok(), "a small one is made anyway");
        assert!(check_in(None, u64::MAX, 60).is_ok(), "where nothing is known nothing is refused");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn linux_says_what_is_free() {
        assert!(free().is_some_and(|it| it > 1 << 20));
    }
}
