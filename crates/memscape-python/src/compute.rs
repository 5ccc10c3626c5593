//! Computing while Python lives on.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use pyo3::prelude::*;

use crate::error::{InternalError, MemscapeError, explore_error};

/// How long Ctrl-C may go unnoticed.
const PATIENCE: Duration = Duration::from_millis(50);

/// The process whose pools of threads are in use; 0 if none is.
static THREADS_OF: AtomicU32 = AtomicU32::new(0);

/// Runs `job` on a thread of its own with the interpreter released.
///
/// Ctrl-C raises `KeyboardInterrupt` at once and leaves the thread to finish
/// unheard; a panic becomes `InternalError`.
#[expect(clippy::redundant_closure_for_method_calls, reason = "the method is for one lifetime only")]
pub fn compute<T: Send + 'static>(py: Python<'_>, job: impl FnOnce() -> T + Send + 'static) -> PyResult<T> {
    watch(py, |py| py.check_signals(), job)
}

/// As [`compute`] for one small answer, which a forked process may ask for as well: it
/// then gets threads of its own.
#[expect(clippy::redundant_closure_for_method_calls, reason = "the method is for one lifetime only")]
pub fn compute_anywhere<T: Send + 'static>(
    py: Python<'_>,
    job: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let of = THREADS_OF.load(Ordering::Relaxed);
    if of == 0 || of == std::process::id() {
        return wait_for(py, |py| py.check_signals(), job);
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    let pool = pool.map_err(|it| InternalError::new_err(it.to_string()))?;
    wait_for(py, |py| py.check_signals(), move || pool.install(job))
}

/// As [`compute`], but lets `look` decide what happens meanwhile: it is called
/// every [`PATIENCE`], on the caller's thread, and its error ends the wait.
pub fn watch<T: Send + 'static>(
    py: Python<'_>,
    look: impl FnMut(Python<'_>) -> PyResult<()>,
    job: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let own = std::process::id();
    let of = THREADS_OF.compare_exchange(0, own, Ordering::Relaxed, Ordering::Relaxed);
    if of.is_err_and(|of| of != own) {
        return Err(MemscapeError::new_err(
            "this process was forked from one that has used memscape's threads, which a fork leaves behind; start \
             workers by `multiprocessing.get_context(\"spawn\")` or \"forkserver\", or fork before the first sweep",
        ));
    }
    wait_for(py, look, job)
}

fn wait_for<T: Send + 'static>(
    py: Python<'_>,
    mut look: impl FnMut(Python<'_>) -> PyResult<()>,
    job: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let (sender, receiver) = mpsc::sync_channel(1);
    thread::spawn(move || {
        // Nobody listens any more after an interrupt.
        let _ = sender.send(memscape::explore::caught(job));
    });
    // Only a Mutex may be looked at while the interpreter is released.
    let receiver = Mutex::new(receiver);
    let wait = || receiver.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(PATIENCE);
    loop {
        match py.detach(wait) {
            Ok(outcome) => return outcome.map_err(explore_error),
            Err(RecvTimeoutError::Timeout) => look(py)?,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(InternalError::new_err("the computing thread died; please report this"));
            }
        }
    }
}

/// A writer that fails once nobody waits for what it writes.
pub struct Stoppable<'a> {
    /// Where it goes.
    pub out: &'a mut dyn Write,
    /// Whether somebody has gone.
    pub stopped: &'a AtomicBool,
}

impl Write for Stoppable<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.stopped.load(Ordering::Relaxed) {
            return Err(io::Error::other("interrupted"));
        }
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
