//! Long work under the eyes of a progress bar.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use memscape::explore::Error;
use memscape::prelude::Control;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

use crate::compute::watch;
use crate::error::explore_error;

/// What work and its caller tell each other.
#[derive(Default)]
struct Watched {
    done: AtomicU64,
    total: AtomicU64,
    cancelled: AtomicBool,
    /// What went wrong without ending the work.
    remarks: Mutex<Vec<String>>,
}

impl Control for Watched {
    fn advanced(&self, done: u64, total: u64) {
        self.total.store(total, Ordering::Relaxed);
        self.done.store(done, Ordering::Relaxed);
    }

    fn warned(&self, remark: &str) {
        self.remarks.lock().unwrap_or_else(PoisonError::into_inner).push(remark.to_owned());
    }

    fn cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }
}

/// Does the work, calling `progress` with what is done and what there is of it. An
/// interrupt, or an error of `progress`, asks the work to stop; it comes back with
/// what was done until then.
pub fn watched<T: Send + 'static>(
    py: Python<'_>,
    progress: &Bound<'_, PyAny>,
    work: impl FnOnce(&dyn Control) -> T + Send + 'static,
) -> PyResult<(T, Option<PyErr>)> {
    // An interrupt while it is imported would cost the rows that it is to hold.
    py.import("polars")?;
    let watched = Arc::new(Watched::default());
    let mut stop: Option<PyErr> = None;
    let look = |py: Python<'_>| {
        let (done, total) = (watched.done.load(Ordering::Relaxed), watched.total.load(Ordering::Relaxed));
        if let Err(error) = py.check_signals().and_then(|()| progress.call1((done, total)).map(drop)) {
            watched.cancelled.store(true, Ordering::Relaxed);
            stop = Some(error);
        }
        // Go on waiting: what is done so far comes within the second.
        Ok(())
    };
    let control = Arc::clone(&watched);
    let done = watch(py, look, move || work(&*control))?;
    for remark in std::mem::take(&mut *watched.remarks.lock().unwrap_or_else(PoisonError::into_inner)) {
        warn(py, &remark)?;
    }
    Ok((done, stop))
}

/// Warns at the user's own line.
pub fn warn(py: Python<'_>, remark: &str) -> PyResult<()> {
    py.import("memscape._remarks")?.call_method1("remark", (remark,)).map(drop)
}

/// As [`watched`] for work that cannot say how far it is: `progress` hears that it goes on. An interrupt is raised at
/// once and leaves the work to finish unheard.
pub fn waited<T: Send + 'static>(
    py: Python<'_>,
    progress: &Bound<'_, PyAny>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let look = |py: Python<'_>| py.check_signals().and_then(|()| progress.call1((0_u64, 0_u64)).map(drop));
    watch(py, look, work)
}

/// As [`watched`], for what has an answer: an interrupt leaves what is done until then, which says that it is not all.
pub fn answered<T: Send + 'static>(
    py: Python<'_>,
    progress: &Bound<'_, PyAny>,
    work: impl FnOnce(&dyn Control) -> Result<T, Error> + Send + 'static,
) -> PyResult<T> {
    let (done, stop) = watched(py, progress, work)?;
    let done = done.map_err(explore_error)?;
    heard(py, stop)?;
    Ok(done)
}

/// An interrupt is told by what is not complete; another error is its own.
pub fn heard(py: Python<'_>, stop: Option<PyErr>) -> PyResult<()> {
    stopped(stop.filter(|it| !it.is_instance_of::<PyKeyboardInterrupt>(py)))
}

/// Whatever stopped it is an error.
pub fn stopped(stop: Option<PyErr>) -> PyResult<()> {
    stop.map_or(Ok(()), Err)
}
