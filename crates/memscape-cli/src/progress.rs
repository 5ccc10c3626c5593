//! Bars for what takes longer than a second, and Ctrl-C.

use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use memscape::explore::remove_temporary_files;
use memscape::prelude::Control;

/// What is shorter needs no bar.
const PATIENCE: Duration = Duration::from_secs(1);

/// A progress bar on the terminal's error stream, gone when dropped. There is
/// none if that is not a terminal.
pub struct Progress {
    bar: ProgressBar,
    /// Dropping it tells the thread that would show the bar.
    _waiting: Option<Sender<()>>,
}

impl Progress {
    /// Begins to wait; `what` stands before the bar.
    pub fn new(what: &str, quiet: bool) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        bar.set_message(what.to_owned());
        let style = ProgressStyle::with_template("{spinner} {msg} {elapsed}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
        if quiet {
            return Self { bar, _waiting: None };
        }
        let (sender, receiver) = mpsc::channel::<()>();
        let shown = bar.clone();
        thread::spawn(move || {
            if receiver.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                shown.set_draw_target(ProgressDrawTarget::stderr());
                shown.enable_steady_tick(Duration::from_millis(100));
            }
        });
        Self { bar, _waiting: Some(sender) }
    }

    /// Says what is being done and how much of it is.
    pub fn at(&self, what: &str, done: usize, total: usize) {
        self.bar.set_message(what.to_owned());
        self.advanced(done as u64, total as u64);
    }
}

impl Control for Progress {
    fn advanced(&self, done: u64, total: u64) {
        if self.bar.length() != Some(total) {
            let style = ProgressStyle::with_template("{msg} {wide_bar} {human_pos}/{human_len} {eta} left");
            self.bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            self.bar.set_length(total);
        }
        self.bar.set_position(done);
    }

    fn warned(&self, remark: &str) {
        self.bar.suspend(|| eprintln!("{remark}"));
    }

    fn cancelled(&self) -> bool {
        is_interrupted()
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Whether the work at hand looks at [`INTERRUPTED`] and saves what it has.
static SAVES: AtomicBool = AtomicBool::new(false);

/// From now on Ctrl-C, and SIGTERM and SIGHUP, which batch systems send, leave no half
/// written file behind.
pub fn catch_interrupts() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // Fails only where another handler is in place, whose matter it then is.
        let _ = ctrlc::set_handler(interrupted);
        catch_batch_signals();
    });
}

fn interrupted() {
    let first = !INTERRUPTED.swap(true, Ordering::Relaxed);
    if !(first && SAVES.load(Ordering::Relaxed)) {
        remove_temporary_files();
        std::process::exit(i32::from(crate::INTERRUPTED));
    }
}

#[cfg(unix)]
fn catch_batch_signals() {
    use signal_hook::consts::{SIGHUP, SIGTERM};
    // `nohup` says that work goes on without a terminal.
    let ends = if hangup_is_ignored() { vec![SIGTERM] } else { vec![SIGTERM, SIGHUP] };
    if let Ok(mut signals) = signal_hook::iterator::Signals::new(ends) {
        thread::spawn(move || signals.forever().for_each(|_| interrupted()));
    }
}

#[cfg(not(unix))]
fn catch_batch_signals() {}

/// Whether whoever started this process has it ignore SIGHUP, as far as Linux tells.
#[cfg(unix)]
fn hangup_is_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|it| it.strip_prefix("SigIgn:"));
    ignored.and_then(|it| u64::from_str_radix(it.trim(), 16).ok()).is_some_and(|it| it & 1 == 1)
}

/// From now on the first of these signals asks the work at hand to stop and save what
/// it has; the second ends the program.
pub fn save_when_interrupted() {
    SAVES.store(true, Ordering::Relaxed);
}

/// The same while this work is done, and not longer.
pub fn saving<T>(work: impl FnOnce() -> T) -> T {
    save_when_interrupted();
    let done = work();
    SAVES.store(false, Ordering::Relaxed);
    done
}

/// Whether one of these signals came.
pub fn is_interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}
