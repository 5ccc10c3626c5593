//! Prefill by one scheme, with threads.

use std::ops::Range;
use std::sync::Barrier;
use std::thread;

use memscape_ondevice::cost::threads::{Step, Task, Threads};
use memscape_ondevice::mapping::Scheme;
use memscape_ondevice::mapping::stages::{
    Piece, Split, StageError, StagePlan, Weights as Of, least_buffer_bytes,
};
use memscape_study::Timeline;
use memscape_units::Picoseconds;
use memscape_workload::Format;

use super::buffer::SharedBuffer;
use super::clock::{Busy, Clock, Start};
use super::kernel::{Matrix, Scratch, multiply};
use super::weights::{Setup, SetupError, Weights};

/// What a run did.
#[derive(Debug, Clone)]
pub struct Run {
    /// Outputs of every GEMM, thread by thread, in the order of stages.
    pub outputs: Vec<Vec<f32>>,
    /// Who was busy when.
    pub timeline: Timeline,
    /// From the start to the last output, and until threads that were started for it
    /// have ended.
    pub time: Picoseconds,
}

impl Run {
    /// That time in seconds.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.time.as_seconds()
    }
}

/// Of the inputs of one stage.
const MOST_BYTES: u128 = 1 << 30;

/// Why a scheme was not run.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// Nothing to run.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// No stage plan.
    #[error(transparent)]
    Stages(#[from] StageError),
    /// A scheme that needs hardware.
    #[error("{0:?} needs hardware that an ordinary machine lacks; run weight-duplication, ddb or owr")]
    Scheme(Scheme),
    /// Nothing is repeated.
    #[error("0 repeats measure nothing; use at least 1")]
    NoRepeats,
    /// No tokens.
    #[error("a prompt of no tokens; give at least one")]
    NoTokens,
    /// A prompt whose activations no memory holds.
    #[error(
        "{tokens} tokens of {columns} numbers take {bytes} B, more than {MOST_BYTES} B; use fewer tokens"
    )]
    TooLong {
        /// Tokens of the prompt.
        tokens: usize,
        /// Numbers of one token, at most.
        columns: usize,
        /// Bytes of all.
        bytes: u128,
    },
}

/// Runs prefill of `tokens` tokens by one scheme: `weight-duplication` (the
/// reference), `ddb` or `owr`. Inputs of each GEMM are numbers made up beforehand;
/// attention and norms are left out, as in the paper's stages.
///
/// # Errors
/// [`RunError`] says what cannot be run.
pub fn run(setup: &Setup, weights: &Weights, scheme: Scheme, tokens: usize) -> Result<Run, RunError> {
    setup.check()?;
    if tokens == 0 {
        return Err(RunError::NoTokens);
    }
    let columns = weights.matrices.iter().map(|it| length(it.1.k().max(it.1.m()))).max().unwrap_or(0);
    let bytes = tokens as u128 * columns as u128 * size_of::<f32>() as u128;
    if MOST_BYTES < bytes {
        return Err(RunError::TooLong { tokens, columns, bytes });
    }
    let bench = Bench::new(setup, weights, tokens);
    match scheme {
        Scheme::WeightDuplication => Ok(bench.duplicated()),
        Scheme::Ddb => Ok(bench.double_buffered(&bench.plan()?, true)),
        Scheme::Owr => Ok(bench.rearranged_online()?),
        scheme => Err(RunError::Scheme(scheme)),
    }
}

/// Everything that threads share, made before the clock starts.
pub(crate) struct Bench<'a> {
    setup: &'a Setup,
    weights: &'a Weights,
    tokens: usize,
    /// Inputs for matrices of up to as many columns.
    inputs: Vec<f32>,
}

/// What is left of one thread's room for outputs.
struct Outputs<'a>(&'a mut [f32]);

impl<'a> Outputs<'a> {
    fn next(&mut self, length: usize) -> &'a mut [f32] {
        let (next, rest) = std::mem::take(&mut self.0).split_at_mut(length);
        self.0 = rest;
        next
    }
}

/// What one thread brings back.
struct Worked {
    outputs: Vec<f32>,
    spans: Vec<Busy>,
}

impl<'a> Bench<'a> {
    pub(crate) fn new(setup: &'a Setup, weights: &'a Weights, tokens: usize) -> Self {
        let columns = weights.matrices.iter().map(|it| length(it.1.k())).max().unwrap_or(0);
        let number = |it: usize| f32::from(u8::try_from(it * 37 % 31).expect("below 31")) / 16.0 - 1.0;
        Self { setup, weights, tokens, inputs: (0..columns * tokens).map(number).collect() }
    }

    pub(crate) fn plan(&self) -> Result<StagePlan, StageError> {
        let format = Format::plain(self.setup.element);
        StagePlan::double_buffered(&self.setup.model, self.setup.layers, format, Split::Equal, None)
    }

    /// Rows of a matrix that one GEMM thread computes: an even share.
    fn rows(&self, matrix: usize, thread: usize) -> Range<usize> {
        let (rows, threads) = (length(self.weights.matrices[matrix].1.m()), self.setup.gemm_threads);
        rows * thread / threads..rows * (thread + 1) / threads
    }

    /// Room for all outputs of one GEMM thread, every page touched.
    fn outputs(&self, thread: usize) -> Vec<f32> {
        let rows: usize = (0..self.weights.matrices.len()).map(|it| self.rows(it, thread).len()).sum();
        vec![1.0; rows * self.tokens * length(self.setup.layers)]
    }

    fn matrix<'b>(&self, matrix: usize, bytes: &'b [u8]) -> Matrix<'b> {
        let gemv = self.weights.matrices[matrix].1;
        Matrix { bytes, element: self.setup.element, rows: length(gemv.m()), columns: length(gemv.k()) }
    }

    /// One thread's share of one GEMM, into the next of its outputs.
    fn gemm(
        &self,
        matrix: usize,
        bytes: &[u8],
        thread: usize,
        outputs: &mut Outputs<'_>,
        scratch: &mut Scratch,
    ) {
        let rows = self.rows(matrix, thread);
        let weights = self.matrix(matrix, bytes);
        let own = outputs.next(rows.len() * self.tokens);
        multiply(weights, rows, &self.inputs[..weights.columns * self.tokens], self.tokens, own, scratch);
    }

    fn step(&self, of: Of) -> Step {
        Step { layer: of.layer, stage: of.matrix, matrix: self.weights.matrices[of.matrix].0 }
    }

    /// The reference: weights lie twice, GEMM threads meet after each matrix.
    pub(crate) fn duplicated(&self) -> Run {
        let barrier = Barrier::new(self.setup.gemm_threads);
        let clock = Clock::new(&barrier);
        let work = |thread: usize| {
            let mut worked = Worked { outputs: self.outputs(thread), spans: Vec::new() };
            let mut scratch = Scratch::new();
            let start = clock.start();
            let mut outputs = Outputs(&mut worked.outputs);
            for layer in 0..self.setup.layers {
                for matrix in 0..self.weights.matrices.len() {
                    let bytes = &self.weights.host[self.weights.index(layer, matrix)];
                    let task = Task::Gemm(self.step(Of { layer, matrix }));
                    let span = start.busy(thread, task, || {
                        self.gemm(matrix, bytes, thread, &mut outputs, &mut scratch);
                    });
                    worked.spans.push(span);
                    barrier.wait();
                }
            }
            worked
        };
        let workers = thread::scope(|scope| {
            let threads: Vec<_> =
                (0..self.setup.gemm_threads).map(|it| scope.spawn(move || work(it))).collect();
            join(threads)
        });
        collect(workers, 0)
    }

    /// Double buffering: persistent threads of two kinds, which all meet after each
    /// stage. Without GEMM, the copy threads do the same on their own.
    pub(crate) fn double_buffered(&self, plan: &StagePlan, with_gemm: bool) -> Run {
        let buffers = [0, 1].map(|_| SharedBuffer::new(length(plan.buffer_bytes)));
        let copiers = self.setup.copy_threads;
        let gemm_threads = if with_gemm { self.setup.gemm_threads } else { 0 };
        let barrier = Barrier::new(copiers + gemm_threads);
        let clock = Clock::new(&barrier);
        let copy = |thread: usize| {
            let mut spans = Vec::new();
            let start = clock.start();
            let stages = std::iter::once((Task::Preload, &plan.preload))
                .chain(plan.stages.iter().map(|it| (Task::CopyBeside(self.step(it.gemm)), &it.copies)));
            for (task, pieces) in stages {
                let mut copied = false;
                let span = start.busy(thread, task, || {
                    copied = pieces.iter().filter(|it| self.copy(it, &buffers, thread, copiers)).count() > 0;
                });
                if copied {
                    spans.push(span);
                }
                barrier.wait();
            }
            Worked { outputs: Vec::new(), spans }
        };
        let compute = |thread: usize| {
            let mut worked = Worked { outputs: self.outputs(thread), spans: Vec::new() };
            let mut scratch = Scratch::new();
            let start = clock.start();
            // The preload.
            barrier.wait();
            let mut outputs = Outputs(&mut worked.outputs);
            for stage in &plan.stages {
                let bytes = length(stage.matrix_byte)..;
                let end = bytes.start
                    + self.weights.host[self.weights.index(stage.gemm.layer, stage.gemm.matrix)].len();
                // SAFETY: the plan lets copies of this stage go to the other buffer only, and
                // every copy of an earlier stage is on the other side of a barrier.
                #[expect(unsafe_code, reason = "see SAFETY")]
                let bytes = unsafe { buffers[stage.buffer].read(bytes.start..end) };
                let span = start.busy(copiers + thread, Task::Gemm(self.step(stage.gemm)), || {
                    self.gemm(stage.gemm.matrix, bytes, thread, &mut outputs, &mut scratch);
                });
                worked.spans.push(span);
                barrier.wait();
            }
            worked
        };
        let workers = thread::scope(|scope| {
            let (copy, compute) = (&copy, &compute);
            let mut threads: Vec<_> = (0..copiers).map(|it| scope.spawn(move || copy(it))).collect();
            threads.extend((0..gemm_threads).map(|it| scope.spawn(move || compute(it))));
            join(threads)
        });
        collect(workers, copiers)
    }

    /// One thread's share of a piece; whether there was any.
    fn copy(&self, piece: &Piece, buffers: &[SharedBuffer; 2], thread: usize, threads: usize) -> bool {
        let swizzle = &self.weights.swizzles[self.weights.index(piece.of.layer, piece.of.matrix)];
        let part = share(&piece.elements, swizzle.layout().rows, thread, threads);
        let size = length(self.setup.element.bits() / 8);
        let first = length(piece.matrix_byte) + length(part.start) * size;
        let bytes = first..first + length(part.end - part.start) * size;
        if bytes.is_empty() {
            return false;
        }
        // SAFETY: the plan gives every piece of a stage, and `share` every thread of a
        // piece, bytes of its own, in the buffer that GEMM does not read until the next
        // barrier.
        #[expect(unsafe_code, reason = "see SAFETY")]
        let to = unsafe { buffers[piece.buffer].write(bytes) };
        swizzle.copy(&self.weights.image, part, to).expect("the plan fits the weights");
        true
    }

    /// Online rearrangement: threads for a copy, joined; threads for GEMM, joined.
    ///
    /// # Errors
    /// [`StageError`] if the model has no stages.
    pub(crate) fn rearranged_online(&self) -> Result<Run, StageError> {
        let format = Format::plain(self.setup.element);
        let mut buffer = vec![1; length(least_buffer_bytes(&self.setup.model, format, false)?)];
        let mut outputs: Vec<_> = (0..self.setup.gemm_threads).map(|it| self.outputs(it)).collect();
        let mut scratch: Vec<_> = (0..self.setup.gemm_threads).map(|_| Scratch::new()).collect();
        let mut spans = Vec::new();
        let start = Start::now();
        {
            let mut outputs: Vec<_> = outputs.iter_mut().map(|it| Outputs(it)).collect();
            for layer in 0..self.setup.layers {
                for matrix in 0..self.weights.matrices.len() {
                    let step = self.step(Of { layer, matrix });
                    let swizzle = &self.weights.swizzles[self.weights.index(layer, matrix)];
                    let buffer = &mut buffer[..swizzle.host_bytes()];
                    spans.extend(self.copy_joined(swizzle, buffer, &start, Task::Copy(step)));
                    let buffer = &*buffer;
                    spans.extend(thread::scope(|scope| {
                        let threads: Vec<_> = outputs
                            .iter_mut()
                            .zip(&mut scratch)
                            .enumerate()
                            .map(|(thread, (outputs, scratch))| {
                                let start = &start;
                                scope.spawn(move || {
                                    start.busy(thread, Task::Gemm(step), || {
                                        self.gemm(matrix, buffer, thread, outputs, scratch);
                                    })
                                })
                            })
                            .collect();
                        join(threads)
                    }));
                }
            }
        }
        let time = start.elapsed();
        let mut timeline = Timeline::default();
        let threads = self.setup.owr_threads.max(self.setup.gemm_threads);
        tell(spans, &mut Threads::of_one_kind(&mut timeline, threads));
        Ok(Run { outputs, timeline, time })
    }

    /// One whole matrix by threads started for it.
    fn copy_joined(
        &self,
        swizzle: &memscape_ondevice::Swizzle,
        buffer: &mut [u8],
        start: &Start,
        task: Task,
    ) -> Vec<Busy> {
        let threads = self.setup.owr_threads;
        let size = length(self.setup.element.bits() / 8);
        let image = &self.weights.image;
        thread::scope(|scope| {
            let mut rest = buffer;
            let mut copies = Vec::new();
            for thread in 0..threads {
                let part = share(&(0..swizzle.elements()), swizzle.layout().rows, thread, threads);
                let (own, others) = rest.split_at_mut(length(part.end - part.start) * size);
                rest = others;
                copies.push(scope.spawn(move || {
                    start.busy(thread, task, || {
                        swizzle.copy(image, part, own).expect("the buffer fits the weights");
                    })
                }));
            }
            join(copies)
        })
    }
}

/// One thread's even share of some elements, in whole columns but for the edges.
fn share(elements: &Range<u64>, rows: u64, thread: usize, threads: usize) -> Range<u64> {
    let all = elements.end - elements.start;
    let cut = |it: usize| {
        if it == threads {
            return elements.end;
        }
        let even = elements.start + all / threads as u64 * it as u64;
        (even / rows * rows).max(elements.start)
    };
    cut(thread)..cut(thread + 1)
}

fn join<T>(threads: Vec<thread::ScopedJoinHandle<'_, T>>) -> Vec<T> {
    threads.into_iter().map(|it| it.join().unwrap_or_else(|it| std::panic::resume_unwind(it))).collect()
}

/// Of threads of two kinds, those that copy first.
fn collect(workers: Vec<Worked>, copiers: usize) -> Run {
    let mut timeline = Timeline::default();
    let mut threads = Threads::of_two_kinds(&mut timeline, copiers, workers.len() - copiers);
    let mut outputs = Vec::new();
    for worker in workers {
        tell(worker.spans, &mut threads);
        if !worker.outputs.is_empty() {
            outputs.push(worker.outputs);
        }
    }
    Run { outputs, time: timeline.end(), timeline }
}

fn tell(spans: Vec<Busy>, threads: &mut Threads<'_>) {
    for it in spans {
        threads.busy(it.thread, it.task, it.start, it.end);
    }
}

/// A count of something in memory.
fn length(count: u64) -> usize {
    usize::try_from(count).expect("weights in memory")
}
