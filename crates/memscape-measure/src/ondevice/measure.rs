//! What this machine does, in numbers that the model knows.

use std::time::Instant;

use memscape_ondevice::cost::threads::{Task, busiest};
use memscape_ondevice::mapping::Scheme;
use memscape_study::Timeline;
use serde::Serialize;

use super::kernel::multiply_panel;
use super::run::{Bench, RunError, run};
use super::weights::{Setup, Weights};

/// What to measure.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// What to run
    pub setup: Setup,
    /// Prompts, in tokens
    pub tokens: Vec<usize>,
    /// Runs of each, the fastest of which counts
    pub repeats: usize,
}

/// Swizzled copies on their own.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CopyPoint {
    /// Threads that copied
    pub threads: usize,
    /// Bytes of weights
    pub bytes: u64,
    /// Time
    pub seconds: f64,
}

/// One scheme and prompt.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PrefillPoint {
    /// The scheme
    pub scheme: Scheme,
    /// Tokens of the prompt
    pub tokens: usize,
    /// Time to first token
    pub ttft_s: f64,
    /// How long threads were busy side by side; for double buffering only
    pub overlap: Option<Overlap>,
}

/// Busy times of copies and GEMM that run side by side.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Overlap {
    /// The busiest copy thread
    pub copy_s: f64,
    /// The busiest GEMM thread
    pub gemm_s: f64,
}

impl Overlap {
    /// The busy times of a timeline.
    #[must_use]
    pub fn of(timeline: &Timeline) -> Self {
        let busy = |category| busiest(timeline, category).as_seconds();
        Self { copy_s: busy(Task::COPY), gemm_s: busy(Task::GEMM) }
    }
}

/// What was measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Measurement {
    /// Rate of one thread in a large GEMM of the same library, in GFLOPS
    pub peak_gflops: f64,
    /// Rate of one thread in a plain copy of as many bytes, in GB/s
    pub plain_copy_gb_s: f64,
    /// Swizzled copies on their own
    pub copies: Vec<CopyPoint>,
    /// Prefills
    pub prefills: Vec<PrefillPoint>,
    /// Whether every scheme gave the reference's outputs, bit for bit
    pub outputs_equal: bool,
    /// Who was busy when in double buffering of the longest prompt
    #[serde(skip)]
    pub timeline: Timeline,
}

/// Runs everything; `progress` hears what is next.
///
/// # Errors
/// [`RunError`] says what cannot be run.
pub fn measure(request: &Request, mut progress: impl FnMut(&str)) -> Result<Measurement, RunError> {
    let Request { setup, tokens, repeats } = request;
    let repeats = *repeats;
    if repeats == 0 {
        return Err(RunError::NoRepeats);
    }
    if tokens.is_empty() || tokens.contains(&0) {
        return Err(RunError::NoTokens);
    }
    progress("weights");
    let weights = Weights::random(setup, 1)?;
    let mut measurement = Measurement {
        peak_gflops: peak_gflops(),
        plain_copy_gb_s: plain_copy_gb_s(&weights, repeats),
        copies: Vec::new(),
        prefills: Vec::new(),
        outputs_equal: true,
        timeline: Timeline::default(),
    };
    let bytes = weights.host.iter().map(|it| it.len() as u64).sum();
    let most = setup.copy_threads.max(setup.owr_threads);
    for threads in 1..=most {
        progress(&format!("copies by {threads}"));
        let setup = Setup { copy_threads: threads, ..setup.clone() };
        let bench = Bench::new(&setup, &weights, 1);
        let plan = bench.plan()?;
        let seconds = (0..repeats).map(|_| bench.double_buffered(&plan, false).seconds());
        let seconds = seconds.fold(f64::INFINITY, f64::min);
        measurement.copies.push(CopyPoint { threads, bytes, seconds });
    }
    let longest = tokens.iter().max().copied();
    for &tokens in tokens {
        let mut reference = None;
        for scheme in [Scheme::WeightDuplication, Scheme::Owr, Scheme::Ddb] {
            progress(&format!("{scheme:?} of {tokens} tokens"));
            let mut point = PrefillPoint { scheme, tokens, ttft_s: f64::INFINITY, overlap: None };
            for _ in 0..repeats {
                let run = run(setup, &weights, scheme, tokens)?;
                let bits: Vec<Vec<u32>> =
                    run.outputs.iter().map(|it| it.iter().map(|it| it.to_bits()).collect()).collect();
                measurement.outputs_equal &= *reference.get_or_insert_with(|| bits.clone()) == bits;
                if point.ttft_s <= run.seconds() {
                    continue;
                }
                point.ttft_s = run.seconds();
                if scheme == Scheme::Ddb {
                    point.overlap = Some(Overlap::of(&run.timeline));
                    if Some(tokens) == longest {
                        measurement.timeline = run.timeline;
                    }
                }
            }
            measurement.prefills.push(point);
        }
    }
    Ok(measurement)
}

/// The best of some GEMMs that fit the caches.
#[expect(clippy::cast_precision_loss, reason = "small counts")]
fn peak_gflops() -> f64 {
    const SIZE: usize = 512;
    let (a, b) = (vec![1.0; SIZE * SIZE], vec![1.0; SIZE * SIZE]);
    let mut c = vec![1.0; SIZE * SIZE];
    let best = (0..10)
        .map(|_| {
            let start = Instant::now();
            multiply_panel(&a, &b, SIZE, 0.0, &mut c);
            start.elapsed().as_secs_f64()
        })
        .fold(f64::INFINITY, f64::min);
    2.0 * (SIZE * SIZE * SIZE) as f64 / best * 1e-9
}

/// A plain copy of a layer's largest matrix by one thread.
#[expect(clippy::cast_precision_loss, reason = "bytes stay far below 2^53")]
fn plain_copy_gb_s(weights: &Weights, repeats: usize) -> f64 {
    let Some(from) = weights.host.iter().max_by_key(|it| it.len()) else { return 0.0 };
    let mut to = vec![1; from.len()];
    let best = (0..=repeats)
        .map(|_| {
            let start = Instant::now();
            to.copy_from_slice(std::hint::black_box(from));
            std::hint::black_box(&to);
            start.elapsed().as_secs_f64()
        })
        .fold(f64::INFINITY, f64::min);
    from.len() as f64 / best * 1e-9
}
