//! Computing while Python lives on.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use pyo3::prelude::*;

use crate::error::InternalError;

/// How long Ctrl-C may go unnoticed.
const PATIENCE: Duration = Duration::from_millis(50);

/// Runs `job` on a thread of its own with the interpreter released.
///
/// Ctrl-C raises `KeyboardInterrupt` at once and leaves the thread to finish
/// unheard; a panic becomes `InternalError`.
#[expect(clippy::redundant_closure_for_method_calls, reason = "the method is for one lifetime only")]
pub fn compute<T: Send + 'static>(py: Python<'_>, job: impl FnOnce() -> T + Send + 'static) -> PyResult<T> {
    watch(py, |py| py.check_signals(), job)
}

/// As [`compute`], but lets `look` decide what happens meanwhile: it is called
/// every [`PATIENCE`], on the caller's thread, and its error ends the wait.
pub fn watch<T: Send + 'static>(
    py: Python<'_>,
    mut look: impl FnMut(Python<'_>) -> PyResult<()>,
    job: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let (sender, receiver) = mpsc::sync_channel(1);
    thread::spawn(move || {
        // Nobody listens any more after an interrupt.
        let _ = sender.send(catch_unwind(AssertUnwindSafe(job)));
    });
    // Only a Mutex may be looked at while the interpreter is released.
    let receiver = Mutex::new(receiver);
    let wait = || receiver.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(PATIENCE);
    loop {
        match py.detach(wait) {
            Ok(outcome) => return outcome.map_err(|payload| InternalError::new_err(message(&*payload))),
            Err(RecvTimeoutError::Timeout) => look(py)?,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(InternalError::new_err("the computing thread died; please report this"));
            }
        }
    }
}

fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    format!("{}; this is a bug, please report it", text.unwrap_or("a panic without a message"))
}
