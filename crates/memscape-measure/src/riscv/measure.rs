//! What this machine does: kernels and a plain read, on threads.

use std::hint::black_box;
use std::num::NonZeroUsize;
use std::thread;
use std::time::Instant;

use memscape_riscv::quant::{BLOCK, QuantError, quantise_q4_0, quantise_q8_0};
use serde::Serialize;

use super::kernels::{HostKernel, multiply, multiply_f32};

/// What to measure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Rows of the matrix
    pub rows: usize,
    /// Its columns, a multiple of 32
    pub columns: usize,
    /// Bytes of the plain read; best more than all caches
    pub stream_bytes: usize,
    /// Numbers of threads to run on
    pub threads: Vec<usize>,
    /// Runs of each, the fastest of which counts
    pub repeats: usize,
}

impl Request {
    /// A matrix of 36 MB in Q4_0 and 256 MB in single precision, on 1, 2, 4, ... threads
    /// up to as many as the machine runs at once.
    #[must_use]
    pub fn of_this_machine() -> Self {
        let most = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let mut threads: Vec<_> = (0..usize::BITS).map(|it| 1 << it).take_while(|it| *it < most).collect();
        threads.push(most);
        Self { rows: 8192, columns: 8192, stream_bytes: 256 << 20, threads, repeats: 5 }
    }

    fn check(&self) -> Result<(), MeasureError> {
        let Self { rows, columns, .. } = *self;
        if rows == 0 || columns == 0 || !columns.is_multiple_of(BLOCK) {
            return Err(MeasureError::Shape { rows, columns });
        }
        if rows.checked_mul(columns).is_none_or(|it| it > 1 << 32) {
            return Err(MeasureError::TooLarge { rows, columns });
        }
        match self.threads.iter().find(|it| !(1..=rows).contains(*it)) {
            _ if self.threads.is_empty() => Err(MeasureError::NoThreads),
            Some(threads) => Err(MeasureError::Threads { threads: *threads, rows }),
            None if self.repeats == 0 => Err(MeasureError::NoRepeats),
            None if !(4096..=MOST_STREAM).contains(&self.stream_bytes) => {
                Err(MeasureError::Stream(self.stream_bytes))
            }
            None => Ok(()),
        }
    }
}

/// More than any cache by far.
const MOST_STREAM: usize = 1 << 34;

/// Why nothing is measured.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum MeasureError {
    /// No matrix, or partial blocks.
    #[error(
        "a matrix of {rows} x {columns} cannot be quantised; rows must be at least 1, columns a multiple of 32"
    )]
    Shape {
        /// Rows asked for.
        rows: usize,
        /// Columns asked for.
        columns: usize,
    },
    /// More weights than a check should take.
    #[error("a matrix of {rows} x {columns} is too large; it may have 2^32 weights")]
    TooLarge {
        /// Rows asked for.
        rows: usize,
        /// Columns asked for.
        columns: usize,
    },
    /// An empty list.
    #[error("there are no numbers of threads to run on; give at least one")]
    NoThreads,
    /// Threads without rows.
    #[error("{threads} threads cannot share {rows} rows; use 1 to {rows}")]
    Threads {
        /// Threads asked for.
        threads: usize,
        /// Rows of the matrix.
        rows: usize,
    },
    /// Nothing to take the fastest of.
    #[error("0 repeats measure nothing; use at least 1")]
    NoRepeats,
    /// A read too short for a clock, or too long for a memory.
    #[error("a read of {0} bytes is not measured; use 4096 to {MOST_STREAM}")]
    Stream(usize),
    /// Weights that no block holds.
    #[error(transparent)]
    Quant(#[from] QuantError),
}

/// One kernel on some threads.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Point {
    /// The kernel
    pub kernel: HostKernel,
    /// Threads that ran it
    pub threads: usize,
    /// Time of one product
    pub seconds: f64,
    /// Operations per second, two per multiply-accumulate
    pub gops: f64,
    /// Weights read per second
    pub gb_s: f64,
}

/// A plain read on some threads.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct StreamPoint {
    /// Threads that read
    pub threads: usize,
    /// Bytes per second
    pub gb_s: f64,
}

/// What was measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Measurement {
    /// Rows of the matrix
    pub rows: usize,
    /// Its columns
    pub columns: usize,
    /// Kernels
    pub points: Vec<Point>,
    /// Plain reads
    pub stream: Vec<StreamPoint>,
}

/// Runs every kernel and the plain read on every number of threads.
///
/// # Errors
/// [`MeasureError`] says what cannot be measured.
pub fn measure(request: &Request) -> Result<Measurement, MeasureError> {
    request.check()?;
    let Request { rows, columns, repeats, .. } = *request;
    let floats = numbers(rows * columns);
    let vector = numbers(columns);
    let weights = quantise_q4_0(&floats)?;
    let inputs = quantise_q8_0(&vector)?;
    let mut results = vec![0.0; rows];
    let stream: Vec<u64> = (0..request.stream_bytes as u64 / 8).collect();
    let mut measured = Measurement { rows, columns, points: Vec::new(), stream: Vec::new() };
    for &threads in &request.threads {
        for kernel in HostKernel::ALL {
            // Even parts, so that only the last one may have an odd row.
            let part = rows.div_ceil(threads).next_multiple_of(2);
            let bytes = part * columns / BLOCK * kernel.block_bytes();
            let seconds = fastest(repeats, || {
                if kernel == HostKernel::F32 {
                    on_threads(
                        floats.chunks(part * columns),
                        results.chunks_mut(part),
                        |weights, results| {
                            multiply_f32(weights, &vector, results);
                        },
                    );
                } else {
                    on_threads(weights.chunks(bytes), results.chunks_mut(part), |weights, results| {
                        multiply(kernel, weights, &inputs, results);
                    });
                }
            });
            black_box(&results);
            let weights = float(rows * columns);
            let bytes = weights / float(BLOCK) * float(kernel.block_bytes());
            let (gops, gb_s) = (2.0 * weights / seconds * 1e-9, bytes / seconds * 1e-9);
            measured.points.push(Point { kernel, threads, seconds, gops, gb_s });
        }
        let part = stream.len().div_ceil(threads);
        let mut sums = vec![0_u64; stream.len().div_ceil(part)];
        let seconds = fastest(repeats, || {
            on_threads(stream.chunks(part), sums.chunks_mut(1), |numbers, sum| sum[0] = read(numbers));
        });
        black_box(&sums);
        measured.stream.push(StreamPoint { threads, gb_s: float(8 * stream.len()) / seconds * 1e-9 });
    }
    Ok(measured)
}

/// Adds numbers up in many sums: the rate of memory, not of the adder.
fn read(numbers: &[u64]) -> u64 {
    let (chunks, rest) = numbers.as_chunks::<32>();
    let mut sums = [0_u64; 32];
    for chunk in chunks {
        for (sum, number) in sums.iter_mut().zip(chunk) {
            *sum = sum.wrapping_add(*number);
        }
    }
    sums.iter().chain(rest).fold(0, |sum, it| sum.wrapping_add(*it))
}

/// One thread for each part, the last on the caller's.
fn on_threads<'a, A: Sync + 'a, B: Send + 'a>(
    inputs: impl Iterator<Item = &'a [A]>,
    outputs: impl Iterator<Item = &'a mut [B]>,
    work: impl Fn(&[A], &mut [B]) + Sync,
) {
    let work = &work;
    thread::scope(|scope| {
        let mut parts = inputs.zip(outputs).peekable();
        while let Some((input, output)) = parts.next() {
            if parts.peek().is_some() {
                scope.spawn(move || work(input, output));
            } else {
                work(input, output);
            }
        }
    });
}

/// The fastest of some runs, after one that fills caches and maps pages.
fn fastest(repeats: usize, mut run: impl FnMut()) -> f64 {
    run();
    let time = |_| {
        let start = Instant::now();
        run();
        start.elapsed().as_secs_f64()
    };
    // A clock too coarse for a tiny product must not make it infinitely fast.
    (0..repeats).map(time).fold(f64::INFINITY, f64::min).max(1e-9)
}

/// Numbers from -2 to 2 without order.
fn numbers(count: usize) -> Vec<f32> {
    let next = |state: &mut u32| {
        *state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        Some(f32::from((*state >> 16) as u16) / 16384.0 - 2.0)
    };
    std::iter::successors(Some(2042_u32), |it| Some(*it))
        .scan(2042, |state, _| next(state))
        .take(count)
        .collect()
}

#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
fn float(count: usize) -> f64 {
    count as f64
}
