//! When each thread of a prefill works: stages walked event by event, and the
//! closed form. They agree to the picosecond.

use std::io::{self, Write};

use crate::hardware::Soc;
use crate::stages::{Piece, StagePlan, Weights};
use memscape_workload::{Format, Gemv, Matrix};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which steps pay [`Soc::step_ms`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StepCost {
    /// Each GEMM, and each copy by threads created for it: OWR's, as Sec. 4.4 has it. The
    /// copy threads of double buffering persist.
    CreatedThreads,
    /// Each copy of either scheme, and no GEMM, which then is linear in the input length.
    EveryCopy,
}

/// What steps take, in whole picoseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct Costs {
    /// Rate of each GEMM thread in GFLOPS, slowest first.
    gemm_gflops: Vec<f64>,
    copy_threads: u64,
    owr_threads: u64,
    copy_gb_s: f64,
    step_ps: f64,
    step_cost: StepCost,
    copy_slowdown: Slowdown,
    gemm_slowdown: Slowdown,
}

/// How much longer something takes, in millionths, so that events are exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slowdown(u64);

const MILLION: u64 = 1_000_000;

impl Slowdown {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked to be from 1 to 1000"
    )]
    fn new(factor: f64) -> Self {
        Self((factor * 1e6).round() as u64)
    }

    /// The time that `work` takes.
    fn time(self, work: u64) -> u64 {
        divide_rounded(u128::from(work) * u128::from(self.0), MILLION.into())
    }

    /// The work done in `time`.
    fn work(self, time: u64) -> u64 {
        divide_rounded(u128::from(time) * u128::from(MILLION), self.0.into())
    }
}

fn divide_rounded(a: u128, b: u128) -> u64 {
    u64::try_from((a + b / 2) / b).expect("times are checked to be below 2^60 ps")
}

impl Costs {
    /// The costs of a checked processor.
    #[must_use]
    pub fn new(soc: &Soc, step_cost: StepCost) -> Self {
        let mut gemm_gflops = soc.gemm_rates();
        gemm_gflops.sort_by(f64::total_cmp);
        Self {
            gemm_gflops,
            copy_threads: soc.copy_threads(),
            owr_threads: soc.owr_threads.get().into(),
            copy_gb_s: soc.copy_gb_s,
            step_ps: soc.step_ms * 1e9,
            step_cost,
            copy_slowdown: Slowdown::new(soc.copy_slowdown),
            gemm_slowdown: Slowdown::new(soc.gemm_slowdown),
        }
    }

    /// Threads that run GEMM.
    #[must_use]
    pub const fn gemm_threads(&self) -> usize {
        self.gemm_gflops.len()
    }

    /// One thread's even share of a GEMM, slowest thread first.
    #[expect(clippy::cast_precision_loss, reason = "a rate over a count")]
    fn gemm_share_ps(&self, thread: usize, gemv: Gemv, tokens: u64) -> u64 {
        let step = if self.step_cost == StepCost::CreatedThreads { self.step_ps } else { 0.0 };
        let work = gemv.operations() as f64 * tokens as f64 / self.gemm_threads() as f64;
        to_ps(step + work / self.gemm_gflops[thread] * 1e3)
    }

    /// A GEMM: its slowest thread.
    #[must_use]
    pub fn gemm_ps(&self, gemv: Gemv, tokens: u64) -> u64 {
        self.gemm_share_ps(0, gemv, tokens)
    }

    /// A copy by all threads of the machine, started for it.
    #[must_use]
    pub fn joined_copy_ps(&self, bytes: f64) -> u64 {
        to_ps(self.step_ps + self.transfer_ps(bytes, self.owr_threads))
    }

    /// A copy by the copy threads, undisturbed.
    #[must_use]
    pub fn copy_ps(&self, bytes: f64) -> u64 {
        let step = if self.step_cost == StepCost::EveryCopy && bytes > 0.0 { self.step_ps } else { 0.0 };
        to_ps(step + self.transfer_ps(bytes, self.copy_threads))
    }

    #[expect(clippy::cast_precision_loss, reason = "a few threads")]
    fn transfer_ps(&self, bytes: f64, threads: u64) -> f64 {
        bytes / (self.copy_gb_s * threads as f64) * 1e3
    }

    /// Reading bytes once through the copy threads' path.
    #[must_use]
    pub fn uncached_read_ps(&self, bytes: f64) -> u64 {
        to_ps(self.transfer_ps(bytes, self.copy_threads))
    }

    /// A GEMM of undisturbed length `gemm` beside a copy of length `copy`, both
    /// starting together: when each ends.
    #[must_use]
    pub fn overlap(&self, gemm: u64, copy: u64) -> (u64, u64) {
        if gemm == 0 || copy == 0 {
            return (gemm, copy);
        }
        let (gemm_end, copy_end) = (self.gemm_slowdown.time(gemm), self.copy_slowdown.time(copy));
        if gemm_end <= copy_end {
            (gemm_end, gemm_end + copy.saturating_sub(self.copy_slowdown.work(gemm_end)))
        } else {
            (copy_end + gemm.saturating_sub(self.gemm_slowdown.work(copy_end)), copy_end)
        }
    }
}

/// Saturates far beyond what [`crate::prefill`] lets through.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates")]
fn to_ps(time: f64) -> u64 {
    time.round() as u64
}

/// Bytes of the weights in these pieces.
#[must_use]
pub fn bytes_of(pieces: &[Piece], format: Format) -> f64 {
    pieces.iter().map(|it| format.bits_per_element() / 8.0 * count(it.elements.end - it.elements.start)).sum()
}

#[expect(clippy::cast_precision_loss, reason = "elements stay far below 2^53")]
fn count(elements: u64) -> f64 {
    elements as f64
}

/// What a span of work is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// Swizzled copy.
    Copy,
    /// GEMM.
    Gemm,
}

/// One thread busy with one thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The thread, from 0.
    pub thread: usize,
    /// What it does.
    pub work: Work,
    /// The layer that it is busy with.
    pub layer: u64,
    /// The matrix: the one computed with, or for copies the one computed with
    /// meanwhile; none before the first stage.
    pub stage: Option<Matrix>,
    /// From when, in picoseconds.
    pub start_ps: u64,
    /// Until when, in picoseconds.
    pub end_ps: u64,
}

/// Who works when.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Timeline {
    /// Every busy span, in the order of their starts within a thread.
    pub spans: Vec<Span>,
    /// When the last one ends, in picoseconds.
    pub end_ps: u64,
}

impl Timeline {
    /// How long the busiest thread is at this work, in picoseconds.
    #[must_use]
    pub fn busiest_ps(&self, work: Work) -> u64 {
        let mut busy = std::collections::BTreeMap::new();
        for it in self.spans.iter().filter(|it| it.work == work) {
            *busy.entry(it.thread).or_insert(0) += it.end_ps - it.start_ps;
        }
        busy.into_values().max().unwrap_or(0)
    }

    /// Writes Chrome trace JSON, as [Perfetto](https://ui.perfetto.dev) reads it: one
    /// track per thread, times in microseconds.
    ///
    /// # Errors
    /// What `out` returns.
    pub fn write_perfetto(&self, mut out: impl Write) -> io::Result<()> {
        write!(out, r#"{{"displayTimeUnit":"ms","traceEvents":["#)?;
        let threads = self.spans.iter().map(|it| it.thread + 1).max().unwrap_or(0);
        let mut separator = "";
        for thread in 0..threads {
            write!(
                out,
                "{separator}\n{}",
                format_args!(
                    r#"{{"ph":"M","name":"thread_name","pid":0,"tid":{thread},"args":{{"name":"thread {thread}"}}}}"#
                )
            )?;
            separator = ",";
        }
        for it in &self.spans {
            let (category, verb) = match it.work {
                Work::Copy => ("copy", "copy beside"),
                Work::Gemm => ("gemm", "GEMM"),
            };
            let name = it.stage.map_or("preload".to_owned(), |stage| format!("{verb} {stage}"));
            let (start, length) = (it.start_ps, it.end_ps - it.start_ps);
            write!(
                out,
                "{separator}\n{}",
                format_args!(
                    r#"{{"ph":"X","name":"{name}","cat":"{category}","pid":0,"tid":{},"ts":{},"dur":{},"args":{{"layer":{}}}}}"#,
                    it.thread,
                    microseconds(start),
                    microseconds(length),
                    it.layer
                )
            )?;
            separator = ",";
        }
        writeln!(out, "\n]}}")
    }
}

/// Picoseconds as microseconds, exactly.
fn microseconds(ps: u64) -> String {
    format!("{}.{:06}", ps / 1_000_000, ps % 1_000_000)
}

/// Walks double buffering event by event: every thread on its own, all meeting
/// after each stage. Copy threads come first, then GEMM threads, slowest first.
#[must_use]
pub fn double_buffered(plan: &StagePlan, costs: &Costs, tokens: u64, format: Format) -> Timeline {
    let mut timeline = Timeline::default();
    let preload = costs.copy_ps(bytes_of(&plan.preload, format));
    run_stage(&mut timeline, costs, None, &[], preload);
    for stage in &plan.stages {
        let (matrix, gemv) = plan.matrices[stage.gemm.matrix];
        let shares: Vec<_> =
            (0..costs.gemm_threads()).map(|it| costs.gemm_share_ps(it, gemv, tokens)).collect();
        let copy = costs.copy_ps(bytes_of(&stage.copies, format));
        run_stage(&mut timeline, costs, Some((stage.gemm, matrix)), &shares, copy);
    }
    timeline
}

/// One stage from one meeting to the next. While both groups work, each is slowed;
/// when the last thread of one is done, the other goes on undisturbed.
fn run_stage(
    timeline: &mut Timeline,
    costs: &Costs,
    stage: Option<(Weights, Matrix)>,
    gemm: &[u64],
    copy: u64,
) {
    struct Worker {
        thread: usize,
        work: Work,
        left: u64,
        since: u64,
        end: Option<u64>,
    }
    let copiers = usize::try_from(costs.copy_threads).expect("checked to be few");
    let gemms = gemm.iter().enumerate().map(|(it, share)| (copiers + it, Work::Gemm, *share));
    let mut workers: Vec<_> = (0..copiers)
        .map(|thread| (thread, Work::Copy, copy))
        .chain(gemms)
        .filter(|it| it.2 > 0)
        .map(|(thread, work, left)| Worker { thread, work, left, since: 0, end: None })
        .collect();
    let slowdown = |work| match work {
        Work::Copy => costs.copy_slowdown,
        Work::Gemm => costs.gemm_slowdown,
    };
    let mut end = 0;
    loop {
        let busy = |work: Work| workers.iter().any(|it| it.work == work && it.end.is_none());
        let contended = busy(Work::Copy) && busy(Work::Gemm);
        let due = |it: &Worker| it.since + if contended { slowdown(it.work).time(it.left) } else { it.left };
        // Where both end at once, GEMM first.
        let next = (0..workers.len())
            .filter(|it| workers[*it].end.is_none())
            .min_by_key(|it| (due(&workers[*it]), workers[*it].work == Work::Copy));
        let Some(next) = next else { break };
        let now = due(&workers[next]);
        workers[next].end = Some(now);
        end = end.max(now);
        let still = workers.iter().any(|it| it.work == workers[next].work && it.end.is_none());
        if contended && !still {
            for it in workers.iter_mut().filter(|it| it.end.is_none()) {
                it.left = it.left.saturating_sub(slowdown(it.work).work(now - it.since));
                it.since = now;
            }
        }
    }
    let start = timeline.end_ps;
    timeline.spans.extend(workers.iter().map(|it| Span {
        thread: it.thread,
        work: it.work,
        layer: stage.map_or(0, |it| it.0.layer),
        stage: stage.map(|it| it.1),
        start_ps: start,
        end_ps: start + it.end.unwrap_or(0),
    }));
    timeline.end_ps = start + end;
}

/// OWR event by event: copy with all threads, join, GEMM, join.
///
/// # Panics
/// With more threads than memory can count, which [`Soc::check`] excludes.
#[must_use]
pub fn rearranged_online(
    matrices: &[(Matrix, Gemv)],
    layers: u64,
    costs: &Costs,
    tokens: u64,
    format: Format,
) -> Timeline {
    let mut timeline = Timeline::default();
    let copiers = usize::try_from(costs.owr_threads).expect("checked to be few");
    for layer in 0..layers {
        for &(matrix, gemv) in matrices {
            let stage = Some(matrix);
            let copy = costs.joined_copy_ps(format.bits_per_element() / 8.0 * count(gemv.macs()));
            let start_ps = timeline.end_ps;
            let copied = start_ps + copy;
            timeline.spans.extend((0..copiers).map(|thread| Span {
                thread,
                work: Work::Copy,
                layer,
                stage,
                start_ps,
                end_ps: copied,
            }));
            timeline.end_ps = copied;
            for thread in 0..costs.gemm_threads() {
                let end_ps = copied + costs.gemm_share_ps(thread, gemv, tokens);
                timeline.spans.push(Span {
                    thread,
                    work: Work::Gemm,
                    layer,
                    stage,
                    start_ps: copied,
                    end_ps,
                });
                timeline.end_ps = timeline.end_ps.max(end_ps);
            }
        }
    }
    timeline
}
