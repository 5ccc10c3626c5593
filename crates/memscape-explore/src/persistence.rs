//! When to save, and what to do if that fails.

use std::time::{Duration, Instant};

use crate::control::Control;
use crate::error::Error;

/// How long to work at least before saving what is done.
pub(crate) const CHECKPOINT: Duration = Duration::from_secs(20);

/// How long to wait before saving again what must be saved.
const RETRIES: [Duration; 3] = [Duration::from_millis(200), Duration::from_secs(1), Duration::from_secs(5)];

/// Tries again for a while what may fail for a moment, as on a full disk.
pub(crate) fn persistently<T>(
    control: &dyn Control,
    mut save: impl FnMut() -> Result<T, Error>,
) -> Result<T, Error> {
    for pause in RETRIES {
        match save() {
            Ok(done) => return Ok(done),
            Err(error) => control.warned(&format!("not saved yet, trying again in {pause:?}: {error}")),
        }
        std::thread::sleep(pause);
    }
    save()
}

/// Stops work when it is time to save.
pub(crate) struct Watch<'a> {
    pub(crate) control: &'a dyn Control,
    pub(crate) since: Instant,
    pub(crate) pause: Duration,
}

impl Control for Watch<'_> {
    fn advanced(&self, done: u64, total: u64) {
        self.control.advanced(done, total);
    }

    fn warned(&self, remark: &str) {
        self.control.warned(remark);
    }

    fn cancelled(&self) -> bool {
        self.since.elapsed() >= self.pause || self.control.cancelled()
    }
}
