//! What one copy and one GEMM take.

use memscape_units::{Nanoseconds, Picoseconds};
use memscape_workload::Gemv;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hardware::Cpu;

/// Which steps pay [`Cpu::step_ms`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StepCost {
    /// Each GEMM, and each copy by threads created for it: OWR's, as Sec. 4.4 has it. The
    /// copy threads of double buffering persist.
    CreatedThreads,
    /// Each copy of either scheme, and no GEMM, which then is linear in the input length.
    EveryCopy,
}

/// What the steps of a prefill take on a processor, in whole picoseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct Rates {
    /// Rate of each GEMM thread in GFLOPS, slowest first.
    gemm_gflops: Vec<f64>,
    copy_threads: u64,
    owr_threads: u64,
    copy_gb_s: f64,
    step: Nanoseconds,
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
    pub(crate) fn time(self, work: Picoseconds) -> Picoseconds {
        divide_rounded(u128::from(work.0) * u128::from(self.0), MILLION.into())
    }

    /// The work done in `time`.
    pub(crate) fn work(self, time: Picoseconds) -> Picoseconds {
        divide_rounded(u128::from(time.0) * u128::from(MILLION), self.0.into())
    }
}

fn divide_rounded(a: u128, b: u128) -> Picoseconds {
    Picoseconds(u64::try_from((a + b / 2) / b).expect("times are checked to be below 2^60 ps"))
}

impl Rates {
    /// Those of a checked processor.
    #[must_use]
    pub fn new(cpu: &Cpu, step_cost: StepCost) -> Self {
        let mut gemm_gflops = cpu.gemm_rates();
        gemm_gflops.sort_by(f64::total_cmp);
        Self {
            gemm_gflops,
            copy_threads: cpu.copy_threads(),
            owr_threads: cpu.owr_threads.get().into(),
            copy_gb_s: cpu.copy_gb_s,
            step: cpu.step(),
            step_cost,
            copy_slowdown: Slowdown::new(cpu.copy_slowdown),
            gemm_slowdown: Slowdown::new(cpu.gemm_slowdown),
        }
    }

    /// Threads that run GEMM.
    #[must_use]
    pub const fn gemm_threads(&self) -> usize {
        self.gemm_gflops.len()
    }

    /// Threads that copy beside GEMM.
    ///
    /// # Panics
    /// With more than memory can count, which [`Cpu::check`] excludes.
    #[must_use]
    pub fn copy_threads(&self) -> usize {
        usize::try_from(self.copy_threads).expect("checked to be few")
    }

    /// Threads of a copy that has the machine to itself.
    ///
    /// # Panics
    /// As [`Rates::copy_threads`].
    #[must_use]
    pub fn owr_threads(&self) -> usize {
        usize::try_from(self.owr_threads).expect("checked to be few")
    }

    /// How much longer a copy, or a GEMM, takes beside the other.
    pub(crate) const fn slowdown(&self, copies: bool) -> Slowdown {
        if copies { self.copy_slowdown } else { self.gemm_slowdown }
    }

    /// One thread's even share of a GEMM, slowest thread first.
    #[expect(clippy::cast_precision_loss, reason = "a rate over a count")]
    pub(crate) fn gemm_share(&self, thread: usize, gemv: Gemv, tokens: u64) -> Picoseconds {
        let step = if self.step_cost == StepCost::CreatedThreads { self.step } else { Nanoseconds::ZERO };
        let operations = gemv.operations() as f64 * tokens as f64 / self.gemm_threads() as f64;
        (step + nanoseconds(operations / self.gemm_gflops[thread])).to_picoseconds()
    }

    /// A GEMM: its slowest thread.
    #[must_use]
    pub fn gemm(&self, gemv: Gemv, tokens: u64) -> Picoseconds {
        self.gemm_share(0, gemv, tokens)
    }

    /// A copy by all threads of the machine, started for it.
    #[must_use]
    pub fn joined_copy(&self, bytes: f64) -> Picoseconds {
        (self.step + self.transfer(bytes, self.owr_threads)).to_picoseconds()
    }

    /// A copy by the copy threads, undisturbed.
    #[must_use]
    pub fn copy(&self, bytes: f64) -> Picoseconds {
        let pays = self.step_cost == StepCost::EveryCopy && bytes > 0.0;
        let step = if pays { self.step } else { Nanoseconds::ZERO };
        (step + self.transfer(bytes, self.copy_threads)).to_picoseconds()
    }

    /// Reading bytes once through the copy threads' path.
    #[must_use]
    pub fn uncached_read(&self, bytes: f64) -> Picoseconds {
        self.transfer(bytes, self.copy_threads).to_picoseconds()
    }

    #[expect(clippy::cast_precision_loss, reason = "a few threads")]
    fn transfer(&self, bytes: f64, threads: u64) -> Nanoseconds {
        nanoseconds(bytes / (self.copy_gb_s * threads as f64))
    }

    /// A GEMM of undisturbed length `gemm` beside a copy of length `copy`, both
    /// starting together: when each ends.
    #[must_use]
    pub fn overlap(&self, gemm: Picoseconds, copy: Picoseconds) -> (Picoseconds, Picoseconds) {
        if gemm == Picoseconds::ZERO || copy == Picoseconds::ZERO {
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

/// A time of what [`super::prefill`] lets through.
fn nanoseconds(time: f64) -> Nanoseconds {
    Nanoseconds::new(time).expect("rates are checked, and prompts to be short enough")
}
