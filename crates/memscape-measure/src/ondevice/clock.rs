//! When threads are busy, by the machine's clock.

use std::sync::{Barrier, OnceLock};
use std::time::Instant;

use memscape_ondevice::cost::threads::Task;
use memscape_units::Picoseconds;

/// A thread that was busy with something.
pub struct Busy {
    pub thread: usize,
    pub task: Task,
    pub start: Picoseconds,
    pub end: Picoseconds,
}

/// A clock that starts for all threads at once, when all are ready.
pub struct Clock<'a> {
    barrier: &'a Barrier,
    zero: OnceLock<Instant>,
}

impl<'a> Clock<'a> {
    pub const fn new(barrier: &'a Barrier) -> Self {
        Self { barrier, zero: OnceLock::new() }
    }

    pub fn start(&self) -> Start {
        self.barrier.wait();
        Start(*self.zero.get_or_init(Instant::now))
    }
}

/// When a run began.
pub struct Start(Instant);

impl Start {
    pub fn now() -> Self {
        Self(Instant::now())
    }

    pub fn elapsed(&self) -> Picoseconds {
        let nanoseconds = u64::try_from(self.0.elapsed().as_nanos()).expect("a run of less than 200 days");
        Picoseconds(nanoseconds) * 1000
    }

    /// Does `work` and says when.
    pub fn busy(&self, thread: usize, task: Task, work: impl FnOnce()) -> Busy {
        let start = self.elapsed();
        work();
        Busy { thread, task, start, end: self.elapsed() }
    }
}
