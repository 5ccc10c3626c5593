//! Whether a table fits in memory, asked before it is made.

use std::fs;
use std::path::{Path, PathBuf};

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

/// # Errors
/// [`Error::BadSweep`] if so many draws of so many parameters would not fit.
pub(crate) fn check_draws(draws: u64, parameters: usize) -> Result<(), Error> {
    check_draws_in(free(), draws, parameters)
}

fn check_draws_in(free: Option<u64>, draws: u64, parameters: usize) -> Result<(), Error> {
    /// Measured: a value as it is drawn, as the space has it, and as it is asked with.
    const BYTES: u64 = 420;
    let values = draws.saturating_mul(parameters as u64);
    let needed = values.saturating_mul(BYTES);
    match free.filter(|free| values > FEW_CELLS / 16 && needed > *free) {
        Some(free) => Err(Error::BadSweep(format!(
            "{draws} draws of {parameters} parameters take about {} GB, and {} GB of memory are free; take fewer `draws`",
            gigabytes(needed),
            gigabytes(free)
        ))),
        None => Ok(()),
    }
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

/// What the system, the limits of the groups that this process is in (a container's, a batch job's) and
/// its own limit leave, as far as Linux tells.
fn free() -> Option<u64> {
    let about = fs::read_to_string("/proc/meminfo").ok()?;
    let system = number_after(&about, "MemAvailable:")?.saturating_mul(1024);
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let limits = left_by_groups(&groups, Path::new("/sys/fs/cgroup"));
    Some(limits.chain(left_of_address_space()).fold(system, u64::min))
}

/// What is left of each limit of memory of these groups and of those around them.
fn left_by_groups(groups: &str, root: &Path) -> impl Iterator<Item = u64> {
    let number = |path: PathBuf| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    // Files that were read or written count as used, and make room for whoever wants it.
    let given_back = |path: PathBuf| {
        let about = fs::read_to_string(path).unwrap_or_default();
        let all = number_after(&about, "total_inactive_file");
        all.or_else(|| number_after(&about, "inactive_file")).unwrap_or(0)
    };
    let mut all = Vec::new();
    for line in groups.lines() {
        // `0::/path` in the second version, `5:memory:/path` in the first.
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(kind), Some(path)) = (parts.next(), parts.next()) else { continue };
        let (root, limit, used) = match kind {
            "" => (root.to_owned(), "memory.max", "memory.current"),
            "memory" => (root.join(kind), "memory.limit_in_bytes", "memory.usage_in_bytes"),
            _ => continue,
        };
        for folder in Path::new(path.trim_start_matches('/')).ancestors() {
            let folder = root.join(folder);
            if let (Some(most), Some(used)) = (number(folder.join(limit)), number(folder.join(used))) {
                all.push(most.saturating_sub(used.saturating_sub(given_back(folder.join("memory.stat")))));
            }
        }
    }
    all.into_iter()
}

/// What `ulimit -v` leaves.
fn left_of_address_space() -> Option<u64> {
    let limit = number_after(&fs::read_to_string("/proc/self/limits").ok()?, "Max address space")?;
    let used = number_after(&fs::read_to_string("/proc/self/status").ok()?, "VmSize:")?.saturating_mul(1024);
    Some(limit.saturating_sub(used))
}

/// The number that follows a word at the beginning of a line.
fn number_after(text: &str, word: &str) -> Option<u64> {
    text.lines().find_map(|it| it.strip_prefix(word))?.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closest_limit_of_all_groups_counts() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("slurm/job_7/memory.max", "3000\n");
        write("slurm/job_7/memory.current", "1000\n");
        write("slurm/job_7/step_0/memory.max", "max\n");
        write("slurm/job_7/step_0/memory.current", "900\n");
        write("memory/old/memory.limit_in_bytes", "5000\n");
        write("memory/old/memory.usage_in_bytes", "100\n");
        let left = |groups: &str| left_by_groups(groups, root.path()).min();
        assert_eq!(left("0::/slurm/job_7/step_0\n"), Some(2000));
        assert_eq!(left("4:cpu:/old\n5:memory:/old\n"), Some(4900));
        assert_eq!(left("0::/elsewhere\n"), None);
        write("slurm/job_7/memory.stat", "anon 300\ninactive_file 700\n");
        assert_eq!(left("0::/slurm/job_7/step_0\n"), Some(2700), "a file that was written");
    }

    #[test]
    fn what_does_not_fit_is_refused_with_what_does() {
        let error = check_in(Some(8_000_000_000), 100_000_000, 60).unwrap_err().to_string();
        assert!(error.starts_with("a table of 100000000 rows and 60 columns takes about 72.0 GB"), "{error}");
        assert!(error.contains("-o table.parquet") && error.contains("fill("), "{error}");
        assert!(check_in(Some(8_000_000_000), 10_000_000, 60).is_ok());
        let error = check_draws_in(Some(8_000_000_000), 4_000_000, 30).unwrap_err().to_string();
        assert!(
            error.starts_with("4000000 draws of 30 parameters take about 50.4 GB, and 8.0 GB"),
            "{error}"
        );
        assert!(check_draws_in(Some(8_000_000_000), 100_000, 30).is_ok());
        assert!(check_in(Some(0), 1000, 60).is_ok(), "a small one is made anyway");
        assert!(check_in(None, u64::MAX, 60).is_ok(), "where nothing is known nothing is refused");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn linux_says_what_is_free() {
        assert!(free().is_some_and(|it| it > 1 << 20));
    }
}
