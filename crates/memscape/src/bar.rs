//! How far long work is, for who waits.

use std::io::{IsTerminal, stderr};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use memscape_explore::Control;

/// What is shorter needs no bar.
const PATIENCE: Duration = Duration::from_secs(1);
/// The longest without a line, where each stays.
const SILENCE: Duration = Duration::from_secs(30);
/// Cells of the bar.
const WIDTH: u64 = 20;

/// A bar with the time that is left, from the first second on, for what takes a [`Control`].
///
/// A terminal has one line that is drawn anew, and gone when this is dropped. Below a cell of a
/// notebook evcxr shows whole lines alone, and lets none be drawn over: there is one for every tenth.
/// Nobody is told where there is neither, or where `MEMSCAPE_QUIET` is set.
///
/// ```
/// use memscape::prelude::*;
///
/// let sweep = Sweep::of(Parameters::new()).axis("pim.registers", 12..=32);
/// let table = study("pim.gemv")?.sweep(&sweep, &Bar::new("pim.gemv"))?;
/// assert_eq!(table.height(), 21);
/// # Ok::<(), memscape::explore::Error>(())
/// ```
pub struct Bar {
    what: String,
    place: Place,
    began: Instant,
    last: Mutex<Option<Drawn>>,
}

/// Who looks.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Place {
    Terminal,
    Cell,
    Nowhere,
}

/// What was drawn last.
struct Drawn {
    at: Instant,
    tenth: u64,
}

impl Bar {
    /// Begins; `what` stands before the bar.
    pub fn new(what: impl Into<String>) -> Self {
        let place = if std::env::var_os("MEMSCAPE_QUIET").is_some() {
            Place::Nowhere
        } else if std::env::var_os("EVCXR_IS_RUNTIME").is_some() {
            Place::Cell
        } else if stderr().is_terminal() {
            Place::Terminal
        } else {
            Place::Nowhere
        };
        Self { what: what.into(), place, began: Instant::now(), last: Mutex::new(None) }
    }

    /// What is to be drawn now, if anything is.
    fn line(&self, now: Instant, done: u64, total: u64) -> Option<String> {
        let took = now.duration_since(self.began);
        if total == 0 || took < PATIENCE {
            return None;
        }
        let tenth = 10 * done / total;
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let (Place::Cell, Some(last)) = (self.place, &*last)
            && tenth == last.tenth
            && now.duration_since(last.at) < SILENCE
        {
            return None;
        }
        *last = Some(Drawn { at: now, tenth });
        Some(drawn(&self.what, took, done, total))
    }
}

impl Control for Bar {
    fn advanced(&self, done: u64, total: u64) {
        if self.place == Place::Nowhere {
            return;
        }
        if let Some(line) = self.line(Instant::now(), done, total) {
            if self.place == Place::Cell { println!("{line}") } else { eprint!("\r\x1b[K{line}") }
        }
    }

    fn warned(&self, remark: &str) {
        eprintln!("{remark}");
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        let last = self.last.get_mut().unwrap_or_else(PoisonError::into_inner);
        if self.place == Place::Terminal && last.is_some() {
            eprint!("\r\x1b[K");
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a rough guess")]
fn drawn(what: &str, took: Duration, done: u64, total: u64) -> String {
    let full = usize::try_from(WIDTH * done / total).unwrap_or(0);
    let empty = usize::try_from(WIDTH).unwrap_or(0).saturating_sub(full);
    let left = took.as_secs_f64() * (total.saturating_sub(done)) as f64 / done.max(1) as f64;
    let left = if done == 0 { String::new() } else { format!(", {left:.0} s left") };
    format!("{what} {}{} {done} of {total}{left}", "━".repeat(full), "─".repeat(empty))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bar(place: Place) -> Bar {
        Bar { what: "sweep".to_owned(), place, began: Instant::now(), last: Mutex::new(None) }
    }

    #[test]
    fn a_cell_has_a_line_for_every_tenth_after_the_first_second() {
        let bar = bar(Place::Cell);
        let at = |seconds: f64, done| bar.line(bar.began + Duration::from_secs_f64(seconds), done, 100);
        assert_eq!(at(0.9, 10), None);
        assert_eq!(at(1.0, 11).unwrap(), "sweep ━━────────────────── 11 of 100, 8 s left");
        assert_eq!(at(1.5, 19), None, "the same tenth");
        assert!(at(2.0, 20).is_some());
        assert!(at(33.0, 21).is_some(), "nobody waits for longer without a word");
        assert!(at(34.0, 100).unwrap().ends_with("100 of 100, 0 s left"));
    }

    #[test]
    fn a_terminal_is_told_each_time() {
        let bar = bar(Place::Terminal);
        let at = |seconds, done, total| bar.line(bar.began + Duration::from_secs(seconds), done, total);
        assert_eq!(at(2, 0, 0), None);
        assert_eq!(at(2, 0, 8).unwrap(), "sweep ──────────────────── 0 of 8");
        assert!(at(2, 0, 8).is_some());
    }
}
