//! Who watches long work, and how often they are asked.

use std::ops::Range;
use std::time::{Duration, Instant};

/// Who watches a sweep. Both are called on the thread that asked, several times
/// a second as long as single points are fast.
pub trait Control: Sync {
    /// So many rows are done.
    fn advanced(&self, done: u64, total: u64) {
        let _ = (done, total);
    }

    /// Something went wrong that did not end the work.
    fn warned(&self, remark: &str) {
        let _ = remark;
    }

    /// Whether to stop and return the rows done so far.
    fn cancelled(&self) -> bool {
        false
    }
}

/// Nobody watches.
impl Control for () {}

/// Work that is a part of what is watched.
pub(crate) struct Part<'a> {
    pub(crate) control: &'a dyn Control,
    /// Rows that were done before.
    pub(crate) before: u64,
    /// Rows of the whole.
    pub(crate) total: u64,
}

impl Control for Part<'_> {
    fn advanced(&self, done: u64, _: u64) {
        self.control.advanced(self.before + done, self.total);
    }

    fn warned(&self, remark: &str) {
        self.control.warned(remark);
    }

    fn cancelled(&self) -> bool {
        self.control.cancelled()
    }
}

/// About how long all threads work before the caller is asked whether to go on.
const BREATH: Duration = Duration::from_millis(100);

/// Does so many pieces of work in parts, each for all threads and about a breath long, until done or
/// cancelled; whether it was done.
pub(crate) fn paced(count: u64, control: &dyn Control, mut part: impl FnMut(Range<u64>)) -> bool {
    let (mut next, mut breath) = (0, rayon::current_num_threads() as u64);
    while next < count && !control.cancelled() {
        let start = Instant::now();
        let end = next.saturating_add(breath).min(count);
        part(next..end);
        breath = next_breath(end - next, start.elapsed());
        next = end;
    }
    next == count
}

/// How many rows to do at once, after so many took so long.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a rough guess"
)]
pub(crate) fn next_breath(rows: u64, took: Duration) -> u64 {
    let fitting = rows as f64 * BREATH.as_secs_f64() / took.as_secs_f64().max(1e-6);
    (fitting as u64).clamp(1, rows.saturating_mul(8))
}
