//! When each thread of a prefill works: stages walked event by event. The closed
//! form of [`super::prefill`] agrees to the picosecond.

use memscape_study::{Recorder, Span, Timeline, TrackId};
use memscape_units::Picoseconds;
use memscape_workload::{Format, Gemv, Matrix};

use super::rates::Rates;
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

    fn category(self) -> &'static str {
        match self {
            Self::Preload | Self::CopyBeside(_) | Self::Copy(_) => Self::COPY,
            Self::Gemm(_) => Self::GEMM,
        }
    }

    fn name(self) -> String {
        match self {
            Self::Preload => "preload".to_owned(),
            Self::CopyBeside(step) => format!("copy beside {}", step.matrix),
            Self::Copy(step) => format!("copy {}", step.matrix),
            Self::Gemm(step) => format!("GEMM {}", step.matrix),
        }
    }

    fn step(self) -> Option<Step> {
        match self {
            Self::Preload => None,
            Self::CopyBeside(step) | Self::Copy(step) | Self::Gemm(step) => Some(step),
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

/// Walks double buffering event by event, and says when it is over: every thread on
/// its own, all meeting after each stage. Copy threads come first, then GEMM
/// threads, slowest first.
pub fn double_buffered(
    plan: &StagePlan,
    rates: &Rates,
    tokens: u64,
    format: Format,
    recorder: &mut dyn Recorder,
) -> Picoseconds {
    let mut threads = Threads::of_two_kinds(recorder, rates.copy_threads(), rates.gemm_threads());
    let preload = rates.copy(bytes_of(&plan.preload, format));
    let mut now = run_stage(&mut threads, rates, Picoseconds::ZERO, None, &[], preload);
    for stage in &plan.stages {
        let (matrix, gemv) = plan.matrices[stage.gemm.matrix];
        let step = Step { layer: stage.gemm.layer, stage: stage.gemm.matrix, matrix };
        let shares: Vec<_> = (0..rates.gemm_threads()).map(|it| rates.gemm_share(it, gemv, tokens)).collect();
        let copy = rates.copy(bytes_of(&stage.copies, format));
        now = run_stage(&mut threads, rates, now, Some(step), &shares, copy);
    }
    now
}

/// A thread within one stage.
struct Worker {
    thread: usize,
    copies: bool,
    /// Work left at `since`, in undisturbed time.
    left: Picoseconds,
    since: Picoseconds,
    end: Option<Picoseconds>,
}

/// One stage from one meeting, at `start`, to the next, which is returned. While
/// both groups work, each is slowed; when the last thread of one is done, the other
/// goes on undisturbed.
fn run_stage(
    threads: &mut Threads<'_>,
    rates: &Rates,
    start: Picoseconds,
    step: Option<Step>,
    gemm: &[Picoseconds],
    copy: Picoseconds,
) -> Picoseconds {
    let copiers = rates.copy_threads();
    let gemms = gemm.iter().enumerate().map(|(it, share)| (copiers + it, false, *share));
    let mut workers: Vec<_> = (0..copiers)
        .map(|thread| (thread, true, copy))
        .chain(gemms)
        .filter(|it| it.2 > Picoseconds::ZERO)
        .map(|(thread, copies, left)| Worker { thread, copies, left, since: Picoseconds::ZERO, end: None })
        .collect();
    work(&mut workers, rates);
    let mut meeting = start;
    for it in &workers {
        let task = match step {
            None => Task::Preload,
            Some(step) if it.copies => Task::CopyBeside(step),
            Some(step) => Task::Gemm(step),
        };
        let end = start + it.end.unwrap_or_default();
        threads.busy(it.thread, task, start, end);
        meeting = meeting.max(end);
    }
    meeting
}

/// Lets all work until they are done, from one end to the next.
fn work(workers: &mut [Worker], rates: &Rates) {
    loop {
        let busy = |copies: bool| workers.iter().any(|it| it.copies == copies && it.end.is_none());
        let contended = busy(true) && busy(false);
        let due = |it: &Worker| {
            it.since + if contended { rates.slowdown(it.copies).time(it.left) } else { it.left }
        };
        // Where both end at once, GEMM first.
        let next = (0..workers.len())
            .filter(|it| workers[*it].end.is_none())
            .min_by_key(|it| (due(&workers[*it]), workers[*it].copies));
        let Some(next) = next else { break };
        let now = due(&workers[next]);
        workers[next].end = Some(now);
        let still = workers.iter().any(|it| it.copies == workers[next].copies && it.end.is_none());
        if contended && !still {
            for it in workers.iter_mut().filter(|it| it.end.is_none()) {
                it.left = it.left.saturating_sub(rates.slowdown(it.copies).work(now - it.since));
                it.since = now;
            }
        }
    }
}

/// OWR event by event, and when it is over: copy with all threads, join, GEMM, join.
pub fn rearranged_online(
    matrices: &[(Matrix, Gemv)],
    layers: u64,
    rates: &Rates,
    tokens: u64,
    format: Format,
    recorder: &mut dyn Recorder,
) -> Picoseconds {
    let copiers = rates.owr_threads();
    let mut threads = Threads::of_one_kind(recorder, copiers.max(rates.gemm_threads()));
    let mut now = Picoseconds::ZERO;
    for layer in 0..layers {
        for (stage, &(matrix, gemv)) in matrices.iter().enumerate() {
            let step = Step { layer, stage, matrix };
            let copied = now + rates.joined_copy(elements_bytes(gemv.macs(), format));
            for thread in 0..copiers {
                threads.busy(thread, Task::Copy(step), now, copied);
            }
            now = copied;
            for thread in 0..rates.gemm_threads() {
                let end = copied + rates.gemm_share(thread, gemv, tokens);
                threads.busy(thread, Task::Gemm(step), copied, end);
                now = now.max(end);
            }
        }
    }
    now
}
