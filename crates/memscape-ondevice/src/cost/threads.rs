//! When each thread of a prefill works: stages walked event by event. The closed
//! form of [`super::prefill`] agrees to the picosecond.

use memscape_study::{Recorder, Span, Timeline, TrackId};
use memscape_units::Picoseconds;
use memscape_workload::{Format, Gemv, Matrix};

use super::attention::Attention;
use super::rates::{Compute, Rates};
use crate::mapping::stages::{Piece, StagePlan, elements_bytes};

/// What a thread does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    /// Copies the weights of the first stages.
    Preload,
    /// Copies weights of coming stages beside this one's GEMM.
    CopyBeside(Step),
    /// Copies this stage's weights.
    Copy(Step),
    /// Computes its share of this stage's GEMM.
    Gemm(Step),
    /// Computes its share of attention, after this stage.
    Attention(Step),
}

/// A stage of a prefill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// The layer.
    pub layer: u64,
    /// The stage of the layer, from 0.
    pub stage: usize,
    /// The matrix of its GEMM.
    pub matrix: Matrix,
}

impl Task {
    /// The category of copies in a timeline.
    pub const COPY: &'static str = "copy";
    /// The category of GEMM in a timeline.
    pub const GEMM: &'static str = "gemm";
    /// The category of attention in a timeline.
    pub const ATTENTION: &'static str = "attention";

    fn category(self) -> &'static str {
        match self {
            Self::Preload | Self::CopyBeside(_) | Self::Copy(_) => Self::COPY,
            Self::Gemm(_) => Self::GEMM,
            Self::Attention(_) => Self::ATTENTION,
        }
    }

    fn name(self) -> String {
        match self {
            Self::Preload => "preload".to_owned(),
            Self::CopyBeside(step) => format!("copy beside {}", step.matrix),
            Self::Copy(step) => format!("copy {}", step.matrix),
            Self::Gemm(step) => format!("GEMM {}", step.matrix),
            Self::Attention(_) => "attention".to_owned(),
        }
    }

    fn step(self) -> Option<Step> {
        match self {
            Self::Preload => None,
            Self::CopyBeside(step) | Self::Copy(step) | Self::Gemm(step) | Self::Attention(step) => {
                Some(step)
            }
        }
    }
}

/// Tells a [`Recorder`] of threads: a track for each.
pub struct Threads<'a> {
    recorder: &'a mut dyn Recorder,
    tracks: Vec<TrackId>,
}

impl<'a> Threads<'a> {
    /// Threads that only copy, then threads that only run GEMM.
    pub fn of_two_kinds(recorder: &'a mut dyn Recorder, copy: usize, gemm: usize) -> Self {
        let does = |it: usize| if it < copy { "copies" } else { "GEMM" };
        Self::named(recorder, (0..copy + gemm).map(|it| format!("thread {it}, {}", does(it))))
    }

    /// Threads that do either.
    pub fn of_one_kind(recorder: &'a mut dyn Recorder, count: usize) -> Self {
        Self::named(recorder, (0..count).map(|it| format!("thread {it}")))
    }

    fn named(recorder: &'a mut dyn Recorder, names: impl Iterator<Item = String>) -> Self {
        let tracks = names.map(|it| recorder.track("CPU", &it)).collect();
        Self { recorder, tracks }
    }

    /// A thread is busy from `start` to `end`.
    ///
    /// # Panics
    /// If there is no such thread.
    pub fn busy(&mut self, thread: usize, task: Task, start: Picoseconds, end: Picoseconds) {
        let details = task.step().map(|it| [("layer", it.layer), ("stage", it.stage as u64)]);
        let details = details.as_ref().map_or(&[][..], |it| &it[..]);
        let span = Span { name: &task.name(), category: task.category(), start, end, details };
        self.recorder.span(self.tracks[thread], span);
    }
}

/// How long the busiest thread is at tasks of this category.
#[must_use]
pub fn busiest(timeline: &Timeline, category: &str) -> Picoseconds {
    let mut busy = vec![Picoseconds::ZERO; timeline.tracks.len()];
    for it in timeline.spans.iter().filter(|it| it.category == category) {
        busy[it.track.index()] += it.end - it.start;
    }
    busy.into_iter().max().unwrap_or_default()
}

/// Bytes of the weights in these pieces.
#[must_use]
pub fn bytes_of(pieces: &[Piece], format: Format) -> f64 {
    pieces.iter().map(|it| elements_bytes(it.elements.end - it.elements.start, format)).sum()
}

/// What threads work on: the tokens of a prompt, and attention between them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Work {
    /// Tokens of the prompt.
    pub tokens: u64,
    /// How weights are stored.
    pub format: Format,
    /// Attention of all layers that are run.
    pub attention: Attention,
    /// Layers that are run, of which each is taken to have an equal part of that.
    pub layers: u64,
}

impl Work {
    /// Attention of one layer by all threads, where this matrix is the last before it;
    /// says when it is over.
    fn attend(
        &self,
        threads: &mut Threads<'_>,
        first: usize,
        rates: &Rates,
        step: Step,
        start: Picoseconds,
    ) -> Picoseconds {
        let mut over = start;
        if step.matrix != ATTENDS_AFTER {
            return over;
        }
        for thread in 0..rates.gemm_threads() {
            let end = start + rates.attention_share(thread, &self.attention, self.layers).length;
            threads.busy(first + thread, Task::Attention(step), start, end);
            over = over.max(end);
        }
        over
    }
}

/// The last matrix that attention waits for.
const ATTENDS_AFTER: Matrix = Matrix::V;

/// Walks double buffering event by event, and says when it is over: every thread on
/// its own, all meeting after each stage. Copy threads come first, then GEMM
/// threads, slowest first. Nothing is copied beside attention.
pub fn double_buffered(
    plan: &StagePlan,
    rates: &Rates,
    work: &Work,
    recorder: &mut dyn Recorder,
) -> Picoseconds {
    let copiers = rates.copy_threads();
    let mut threads = Threads::of_two_kinds(recorder, copiers, rates.gemm_threads());
    let preload = rates.copy(bytes_of(&plan.preload, work.format));
    let mut now = run_stage(&mut threads, rates, Picoseconds::ZERO, None, &[], preload);
    for stage in &plan.stages {
        let (matrix, gemv) = plan.matrices[stage.gemm.matrix];
        let step = Step { layer: stage.gemm.layer, stage: stage.gemm.matrix, matrix };
        let shares: Vec<_> =
            (0..rates.gemm_threads()).map(|it| rates.gemm_share(it, gemv, work.tokens)).collect();
        let copy = rates.copy(bytes_of(&stage.copies, work.format));
        now = run_stage(&mut threads, rates, now, Some(step), &shares, copy);
        now = work.attend(&mut threads, copiers, rates, step, now);
    }
    now
}

/// One stage from one meeting, at `start`, to the next, which is returned: GEMM threads
/// end one by one; copies crawl until the last of them has, then run on alone.
fn run_stage(
    threads: &mut Threads<'_>,
    rates: &Rates,
    start: Picoseconds,
    step: Option<Step>,
    gemm: &[Compute],
    copy: Picoseconds,
) -> Picoseconds {
    let copiers = rates.copy_threads();
    let mut meeting = start;
    for (thread, share) in gemm.iter().enumerate() {
        let end = start + share.length;
        if let Some(step) = step {
            threads.busy(copiers + thread, Task::Gemm(step), start, end);
        }
        meeting = meeting.max(end);
    }
    if copy > Picoseconds::ZERO {
        let copied = start + crawl(copy, gemm);
        let task = step.map_or(Task::Preload, Task::CopyBeside);
        for thread in 0..copiers {
            threads.busy(thread, task, start, copied);
        }
        meeting = meeting.max(copied);
    }
    meeting
}

/// When a copy ends that starts with these shares of a GEMM, walked from one end of a
/// thread to the next: until the last of them ends, the memory leaves it the time in
/// which it does not work for GEMM.
fn crawl(copy: Picoseconds, gemm: &[Compute]) -> Picoseconds {
    let mut ends: Vec<_> = gemm.iter().map(|it| it.length).collect();
    ends.sort_unstable();
    let Some(last) = ends.last().copied() else { return copy };
    let memory = gemm.iter().map(|it| it.memory).max().unwrap_or_default();
    // Work in units of a picosecond over the length of GEMM, so that it stays whole.
    let unit = u128::from(last.0.max(1));
    let speed = u128::from((last - memory).0);
    let (mut left, mut now) = (u128::from(copy.0) * unit, Picoseconds::ZERO);
    for end in ends {
        let done = u128::from((end - now).0) * speed;
        if left <= done {
            let rest = u64::try_from((left + speed / 2) / speed.max(1)).expect("within the GEMM");
            return now + Picoseconds(rest);
        }
        (left, now) = (left - done, end);
    }
    now + Picoseconds(u64::try_from(left / unit).expect("no longer than the copy"))
}

/// One matrix after the other event by event, and when it is over: copy with all
/// threads, join, GEMM, join (OWR), or GEMM alone.
pub fn one_by_one(
    matrices: &[(Matrix, Gemv)],
    layers: u64,
    with_copies: bool,
    rates: &Rates,
    work: &Work,
    recorder: &mut dyn Recorder,
) -> Picoseconds {
    let copiers = if with_copies { rates.owr_threads() } else { 0 };
    let mut threads = Threads::of_one_kind(recorder, copiers.max(rates.gemm_threads()));
    let mut now = Picoseconds::ZERO;
    for layer in 0..layers {
        for (stage, &(matrix, gemv)) in matrices.iter().enumerate() {
            let step = Step { layer, stage, matrix };
            let length = rates.joined_copy(elements_bytes(gemv.macs(), work.format));
            let copied = if with_copies { now + length } else { now };
            for thread in 0..copiers {
                threads.busy(thread, Task::Copy(step), now, copied);
            }
            for thread in 0..rates.gemm_threads() {
                let end = copied + rates.gemm_share(thread, gemv, work.tokens).length;
                threads.busy(thread, Task::Gemm(step), copied, end);
                now = now.max(end);
            }
            now = work.attend(&mut threads, 0, rates, step, now);
        }
    }
    now
}
