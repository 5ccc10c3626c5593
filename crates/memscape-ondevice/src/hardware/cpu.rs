//! The phone's cores, and what they reach.

use std::num::NonZeroU32;

use memscape_study::{OutOfRange, within};
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
    /// Threads of a copy that has the machine to itself (OWR), one per core
    pub owr_threads: NonZeroU32,
    /// Swizzled copy by one thread between cacheable regions, in 10^9 bytes of weights per
    /// second, as long as the memory keeps up
    #[schemars(range(min = 1e-6, max = 1e6))]
    pub copy_gb_s: f64,
    /// How much longer a thread takes to read weights from a non-cacheable region
    #[schemars(range(min = 1.0, max = 1e3))]
    pub uncached_slowdown: f64,
    /// DRAM transactions of a copy per byte: 3 through caches, 2 with stores that bypass them
    pub copy_transactions: NonZeroU32,
    /// Fixed cost of one GEMM, and of one copy by threads that are started for it (OWR)
    #[schemars(range(min = 0.0, max = 1e6))]
    pub step_ms: f64,
    /// GEMM rate over the peak of as many of the slowest core that takes part
    #[schemars(range(min = 1e-6, max = 1.0))]
    pub gemm_efficiency: f64,
    /// Columns, a token each, that GEMM works on for each time it reads a weight from DRAM
    #[schemars(range(min = 1.0, max = 1e9))]
    pub gemm_block_tokens: f64,
    /// Bandwidth that the cores reach when they read in a row, over the peak
    #[schemars(range(min = 1e-6, max = 1.0))]
    pub memory_efficiency: f64,
    /// What the host adds to a generated token for each of its products, on PIM or not: handing it over, and what
    /// goes on between products; once for all sequences
    #[schemars(range(min = 0.0, max = 1e9))]
    pub product_overhead_us: f64,
}

/// Why there is no such processor.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CpuError {
    /// A number out of its range, NaN included.
    #[error(transparent)]
    OutOfRange(#[from] OutOfRange),
    /// A copy that DRAM does not hold.
    #[error(
        "`cpu.copy_transactions` is 1, a copy that goes to on-chip memory, but GEMM reads it from buffers in `memory`; \
         use 2 (stores that bypass caches) or 3 (through caches), or `ondevice.roofline`, which has no buffers"
    )]
    OnChip,
    /// More threads than cores.
    #[error(
        "`cpu.{kind}` has {gemm} GEMM and {copy} copy threads on {cores} cores; a thread needs a core of its \
         own: raise `cpu.{kind}.cores` to {} at least, or use fewer threads", u64::from(*gemm) + u64::from(*copy)
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
    /// A group of threads is empty.
    #[error("there are 0 {what}; {}", room_for(free, field))]
    NoThreads {
        /// What the threads would do.
        what: &'static str,
        /// Cores of each kind without a thread.
        free: [(&'static str, u32); 3],
        /// The parameter of each kind that says how many there are.
        field: &'static str,
    },
    /// A group of threads is unreasonably large.
    #[error("there are {given} {what}; lower `{path}`, as at most {MAX_THREADS} are modelled")]
    Threads {
        /// What the threads do.
        what: &'static str,
        /// How many there are.
        given: u64,
        /// The parameter that says how many.
        path: &'static str,
    },
    /// More threads of a copy than cores.
    #[error("`cpu.owr_threads` is {given}, but there are {cores} cores; a thread needs a core of its own")]
    OwrThreads {
        /// Threads asked for.
        given: u32,
        /// Cores of all kinds.
        cores: u64,
    },
}

/// Where threads would have cores of their own.
fn room_for(free: &[(&'static str, u32); 3], field: &str) -> String {
    let some = free.iter().filter(|it| it.1 > 0);
    let give: Vec<_> = some
        .map(|(kind, most)| match most {
            1 => format!("`cpu.{kind}.{field}` = 1"),
            _ => format!("`cpu.{kind}.{field}` from 1 to {most}"),
        })
        .collect();
    if give.is_empty() {
        format!("all cores have other threads: raise `cpu.*.cores` and give `cpu.*.{field}` = 1")
    } else {
        format!("give {}", give.join(" or "))
    }
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
        within([
            ("cpu.big.peak_gflops", self.big.peak_gflops, 1e-3, 1e9),
            ("cpu.middle_high.peak_gflops", self.middle_high.peak_gflops, 1e-3, 1e9),
            ("cpu.middle_low.peak_gflops", self.middle_low.peak_gflops, 1e-3, 1e9),
            ("cpu.copy_gb_s", self.copy_gb_s, 1e-6, 1e6),
            ("cpu.step_ms", self.step_ms, 0.0, 1e6),
            ("cpu.gemm_efficiency", self.gemm_efficiency, 1e-6, 1.0),
            ("cpu.uncached_slowdown", self.uncached_slowdown, 1.0, 1e3),
            ("cpu.gemm_block_tokens", self.gemm_block_tokens, 1.0, 1e9),
            ("cpu.memory_efficiency", self.memory_efficiency, 1e-6, 1.0),
            ("cpu.product_overhead_us", self.product_overhead_us, 0.0, 1e9),
        ])?;
        if self.copy_transactions.get() < 2 {
            return Err(CpuError::OnChip);
        }
        for (kind, it) in self.kinds() {
            if u64::from(it.cores) < u64::from(it.gemm_threads) + u64::from(it.copy_threads) {
                let (gemm, copy, cores) = (it.gemm_threads, it.copy_threads, it.cores);
                return Err(CpuError::Cores { kind, gemm, copy, cores });
            }
        }
        let free = self.kinds().map(|(kind, it)| (kind, it.cores - it.gemm_threads - it.copy_threads));
        for (what, given, field, path) in [
            ("GEMM threads", self.gemm_threads(), "gemm_threads", "cpu.*.gemm_threads"),
            ("copy threads", self.copy_threads(), "copy_threads", "cpu.*.copy_threads"),
            (
                "threads of a copy without GEMM",
                u64::from(self.owr_threads.get()),
                "owr_threads",
                "cpu.owr_threads",
            ),
        ] {
            if given == 0 {
                return Err(CpuError::NoThreads { what, free, field });
            }
            if given > MAX_THREADS {
                return Err(CpuError::Threads { what, given, path });
            }
        }
        let (given, cores) = (self.owr_threads.get(), self.cores());
        if cores < u64::from(given) {
            return Err(CpuError::OwrThreads { given, cores });
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

    /// What each product of a token costs beside itself.
    ///
    /// # Panics
    /// If the processor has not been checked.
    #[must_use]
    pub fn product_overhead(&self) -> Nanoseconds {
        milliseconds(self.product_overhead_us * 1e-3)
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

    /// Peak rate of the threads that take part in GEMM, in GFLOPS.
    #[must_use]
    pub fn gemm_peak_gflops(&self) -> f64 {
        self.kinds().iter().map(|it| f64::from(it.1.gemm_threads) * it.1.peak_gflops).sum()
    }

    /// Cores of all kinds.
    #[must_use]
    pub fn cores(&self) -> u64 {
        self.kinds().iter().map(|it| u64::from(it.1.cores)).sum()
    }

    /// The rates of the threads that take part in GEMM, in GFLOPS, slowest first.
    ///
    /// Work is split evenly beforehand, so the slowest decides: a thread so slow that
    /// the others are faster without it takes no part.
    #[must_use]
    pub fn gemm_rates(&self) -> Vec<f64> {
        let rate = |it: &Cores| it.peak_gflops * self.gemm_efficiency;
        let mut rates: Vec<_> =
            self.kinds().iter().flat_map(|(_, it)| (0..it.gemm_threads).map(|_| rate(it))).collect();
        rates.sort_by(|a, b| b.total_cmp(a));
        let together = |count: usize| of_equal_shares(&rates[..count]);
        let best = (1..=rates.len()).max_by(|a, b| together(*a).total_cmp(&together(*b)));
        rates.truncate(best.unwrap_or(0));
        rates.reverse();
        rates
    }

    /// The rate of all threads that take part in GEMM, in GFLOPS.
    #[must_use]
    pub fn gemm_gflops(&self) -> f64 {
        of_equal_shares(&self.gemm_rates())
    }

    /// The rate at which one thread copies from memory of this kind, in bytes of
    /// weights.
    #[must_use]
    pub fn thread_copy_gb_s(&self, region: Region) -> f64 {
        match region {
            Region::Cacheable => self.copy_gb_s,
            Region::NonCacheable => self.copy_gb_s / self.uncached_slowdown,
        }
    }
}

/// What threads of these rates reach together on equal shares.
#[expect(clippy::cast_precision_loss, reason = "a few threads")]
fn of_equal_shares(rates: &[f64]) -> f64 {
    rates.len() as f64 * rates.iter().copied().reduce(f64::min).unwrap_or(0.0)
}

/// The attribute of the memory in which the PIM-aware weights lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Region {
    /// Every read reaches the DRAM: what PIM needs, whose commands are reads.
    NonCacheable,
    /// Caches may answer: PIM cannot be triggered.
    Cacheable,
}

fn milliseconds(value: f64) -> Nanoseconds {
    Nanoseconds::new(value * 1e6).expect("a checked processor")
}
