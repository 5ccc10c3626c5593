//! The one place that catches panics, which are faults of a model: a point becomes an
//! error, and a notebook or a long sweep goes on.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};

use memscape_study::{Recorder, Span, Timeline, TrackId};

use crate::error::Error;

static PANICS: AtomicU64 = AtomicU64::new(0);

thread_local!(static SILENT: Cell<bool> = const { Cell::new(false) });

/// How many points of this process ended in a panic that became their error. Each is a
/// fault of this program, which its tests want to see at 0.
#[must_use]
pub fn panics() -> u64 {
    PANICS.load(Ordering::Relaxed)
}

/// Turns a panic into an error.
pub(crate) fn guarded<T>(work: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    caught(work).unwrap_or_else(Err)
}

/// As [`guarded`], but nothing is printed: a table of errors says enough.
pub(crate) fn quietly<T>(work: impl FnOnce() -> T) -> Result<T, Error> {
    static SILENCER: Once = Once::new();
    SILENCER.call_once(|| {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !SILENT.get() {
                hook(panic);
            }
        }));
    });
    let before = SILENT.replace(true);
    let done = caught(work);
    SILENT.set(before);
    done
}

/// What work gives, or its panic as an error.
///
/// # Errors
/// [`Error::Internal`] with what the panic says.
pub fn caught<T>(work: impl FnOnce() -> T) -> Result<T, Error> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        if panic.is::<TooManySpans>() {
            return Error::NoAnswer(TooManySpans.to_string());
        }
        if panic.is::<NowhereToWrite>() {
            return Error::NoAnswer(NowhereToWrite.to_string());
        }
        PANICS.fetch_add(1, Ordering::Relaxed);
        Error::Internal(message(panic.as_ref()))
    })
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|it| (*it).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "a model panicked".to_owned())
}

/// The most spans that are kept in memory.
const MOST_SPANS: usize = 1_000_000;

/// More happens than is kept in memory.
#[derive(Debug, thiserror::Error)]
#[error(
    "over {MOST_SPANS} spans happen, more than are kept in memory; write a trace to a file, or ask for a smaller \
     product or fewer tokens"
)]
pub(crate) struct TooManySpans;

/// What is told goes nowhere any more.
#[derive(Debug, thiserror::Error)]
#[error("what happens cannot be written any more")]
pub(crate) struct NowhereToWrite;

/// A recorder that ends the work once its writer has failed, as on a full disk: an engine would go on for
/// as long as its work takes.
pub(crate) struct WhileWritten<'a, R> {
    pub to: &'a mut R,
    pub has_failed: fn(&R) -> bool,
}

impl<R: Recorder> Recorder for WhileWritten<'_, R> {
    fn track(&mut self, group: &str, name: &str) -> TrackId {
        self.to.track(group, name)
    }

    fn span(&mut self, track: TrackId, span: Span<'_>) {
        self.to.span(track, span);
        if (self.has_failed)(self.to) {
            resume_unwind(Box::new(NowhereToWrite));
        }
    }
}

/// A [`Timeline`] that ends the work of who records more than is kept. An engine does
/// not ask whether anybody still listens, so its stack is unwound.
#[derive(Default)]
pub(crate) struct Kept(pub Timeline);

impl Recorder for Kept {
    fn track(&mut self, group: &str, name: &str) -> TrackId {
        self.0.track(group, name)
    }

    fn span(&mut self, track: TrackId, span: Span<'_>) {
        if self.0.spans.len() == MOST_SPANS {
            resume_unwind(Box::new(TooManySpans));
        }
        self.0.span(track, span);
    }
}
