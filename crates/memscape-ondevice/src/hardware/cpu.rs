//! The phone's cores, and what they reach.

use std::num::NonZeroU32;

use memscape_units::Nanoseconds;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Cores of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cores {
    /// How many there are
    pub cores: u32,
    /// Peak rate of one core in the weights' format, in GFLOPS
    #[schemars(range(min = 1e-3, max = 1e9))]
    pub peak_gflops: f64,
    /// How many of them run GEMM
    pub gemm_threads: u32,
    /// How many of them run swizzled copies beside GEMM (DDB)
    pub copy_threads: u32,
}

/// The phone's processor: three kinds of cores, and the rates of its software.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cpu {
    /// The big core
    pub big: Cores,
    /// The faster middle cores
    pub middle_high: Cores,
    /// The slower middle cores
    pub middle_low: Cores,
    /// Threads of a copy that has the machine to itself (OWR)
    pub owr_threads: NonZeroU32,
    /// Swizzled copy by one thread from non-cacheable to cacheable memory, in 10^9 bytes of
    /// weights per second
    #[schemars(range(min = 1e-6, max = 1e6))]
    pub copy_gb_s: f64,
    /// Fixed cost of one GEMM, and of one copy by threads that are started for it (OWR)
    #[schemars(range(min = 0.0, max = 1e6))]
    pub step_ms: f64,
    /// GEMM rate over the peak of as many of the slowest core that takes part
    #[schemars(range(min = 1e-6, max = 1.0))]
    pub gemm_efficiency: f64,
    /// How much longer a copy takes while GEMM runs beside it
    #[schemars(range(min = 1.0, max = 1e3))]
    pub copy_slowdown: f64,
    /// How much longer GEMM takes while a copy runs beside it
    #[schemars(range(min = 1.0, max = 1e3))]
    pub gemm_slowdown: f64,
    /// Bandwidth that the host's GEMV reaches, over the peak
    #[schemars(range(min = 1e-6, max = 1.0))]
    pub host_gemv_efficiency: f64,
    /// What the host adds to each generated token beside its GEMVs
    #[schemars(range(min = 0.0, max = 1e6))]
    pub token_overhead_ms: f64,
}

/// Why there is no such processor.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CpuError {
    /// A number out of its range, NaN included.
    #[error("`cpu.{field}` is {given}; it must be from {min} to {max}")]
    OutOfRange {
        /// The field.
        field: &'static str,
        /// Its value.
        given: f64,
        /// The least allowed.
        min: f64,
        /// The most allowed.
        max: f64,
    },
    /// More threads than cores.
    #[error(
        "`cpu.{kind}` has {gemm} GEMM and {copy} copy threads on {cores} cores; a thread needs a core of its own"
    )]
    Cores {
        /// Which cores.
        kind: &'static str,
        /// Threads for GEMM.
        gemm: u32,
        /// Threads for copies.
        copy: u32,
        /// Cores.
        cores: u32,
    },
    /// A group of threads is empty or unreasonably large.
    #[error("there are {given} {what}; give `cpu.*.{field}` from 1 to {MAX_THREADS}")]
    Threads {
        /// What the threads do.
        what: &'static str,
        /// How many there are.
        given: u64,
        /// The parameter that says how many.
        field: &'static str,
    },
}

/// The most threads of one group.
pub const MAX_THREADS: u64 = 4096;

impl Cpu {
    /// The kinds of cores by name, fastest first.
    #[must_use]
    pub const fn kinds(&self) -> [(&'static str, Cores); 3] {
        [("big", self.big), ("middle_high", self.middle_high), ("middle_low", self.middle_low)]
    }

    /// Checks that the numbers belong together.
    ///
    /// # Errors
    /// [`CpuError`] names the field at fault.
    pub fn check(&self) -> Result<(), CpuError> {
        for (field, given, min, max) in [
            ("big.peak_gflops", self.big.peak_gflops, 1e-3, 1e9),
            ("middle_high.peak_gflops", self.middle_high.peak_gflops, 1e-3, 1e9),
            ("middle_low.peak_gflops", self.middle_low.peak_gflops, 1e-3, 1e9),
            ("copy_gb_s", self.copy_gb_s, 1e-6, 1e6),
            ("step_ms", self.step_ms, 0.0, 1e6),
            ("gemm_efficiency", self.gemm_efficiency, 1e-6, 1.0),
            ("copy_slowdown", self.copy_slowdown, 1.0, 1e3),
            ("gemm_slowdown", self.gemm_slowdown, 1.0, 1e3),
            ("host_gemv_efficiency", self.host_gemv_efficiency, 1e-6, 1.0),
            ("token_overhead_ms", self.token_overhead_ms, 0.0, 1e6),
        ] {
            if !(min..=max).contains(&given) {
                return Err(CpuError::OutOfRange { field, given, min, max });
            }
        }
        for (kind, it) in self.kinds() {
            if u64::from(it.cores) < u64::from(it.gemm_threads) + u64::from(it.copy_threads) {
                let (gemm, copy, cores) = (it.gemm_threads, it.copy_threads, it.cores);
                return Err(CpuError::Cores { kind, gemm, copy, cores });
            }
        }
        for (what, given, field) in [
            ("GEMM threads", self.gemm_threads(), "gemm_threads"),
            ("copy threads", self.copy_threads(), "copy_threads"),
            ("threads of a copy without GEMM", u64::from(self.owr_threads.get()), "owr_threads"),
        ] {
            if !(1..=MAX_THREADS).contains(&given) {
                return Err(CpuError::Threads { what, given, field });
            }
        }
        Ok(())
    }

    /// What a GEMM costs however small, and a copy by threads that are started for
    /// it.
    ///
    /// # Panics
    /// If the processor has not been checked.
    #[must_use]
    pub fn step(&self) -> Nanoseconds {
        milliseconds(self.step_ms)
    }

    /// What each token costs beside its GEMVs.
    ///
    /// # Panics
    /// If the processor has not been checked.
    #[must_use]
    pub fn token_overhead(&self) -> Nanoseconds {
        milliseconds(self.token_overhead_ms)
    }

    /// Threads that run GEMM.
    #[must_use]
    pub fn gemm_threads(&self) -> u64 {
        self.kinds().iter().map(|it| u64::from(it.1.gemm_threads)).sum()
    }

    /// Threads that copy beside GEMM.
    #[must_use]
    pub fn copy_threads(&self) -> u64 {
        self.kinds().iter().map(|it| u64::from(it.1.copy_threads)).sum()
    }

    /// Peak rate of all cores, in GFLOPS.
    #[must_use]
    pub fn peak_gflops(&self) -> f64 {
        self.kinds().iter().map(|it| f64::from(it.1.cores) * it.1.peak_gflops).sum()
    }

    /// The rate at which each GEMM thread works, in GFLOPS, one per thread. Work is
    /// split evenly beforehand, so the slowest decides.
    #[must_use]
    pub fn gemm_rates(&self) -> Vec<f64> {
        let rate = |it: &Cores| it.peak_gflops * self.gemm_efficiency;
        self.kinds().iter().flat_map(|(_, it)| (0..it.gemm_threads).map(|_| rate(it))).collect()
    }
}

fn milliseconds(value: f64) -> Nanoseconds {
    Nanoseconds::new(value * 1e6).expect("a checked processor")
}
