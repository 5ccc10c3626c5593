//! What one copy and one GEMM take, and what they cost each other.

use memscape_units::{Nanoseconds, Picoseconds, float};
use memscape_workload::{Format, Gemv};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::attention::Attention;
use super::memory::Bandwidth;
use crate::hardware::{Cpu, Region};
use crate::mapping::stages::elements_bytes;

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

/// The software of a prefill: how it gets at weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Software {
    /// Which steps pay a fixed cost.
    pub step_cost: StepCost,
    /// Where the PIM-aware weights lie.
    pub region: Region,
    /// How weights are stored.
    pub format: Format,
}

/// What the steps of a prefill take on a phone, in whole picoseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct Rates {
    /// Rate of each thread that takes part in GEMM, in GFLOPS, slowest first.
    gemm_gflops: Vec<f64>,
    copy_threads: u64,
    owr_threads: u64,
    /// Of one thread.
    copy_gb_s: f64,
    copy_transactions: u32,
    step: Nanoseconds,
    step_cost: StepCost,
    block_tokens: f64,
    format: Format,
    bandwidth: Bandwidth,
}

/// A GEMM, or attention, that has the memory to itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Compute {
    /// How long it takes.
    pub length: Picoseconds,
    /// How much of that the memory is taken up by it: never more.
    pub memory: Picoseconds,
}

impl Compute {
    /// How long it takes together with a copy that starts with it and takes `copy`
    /// undisturbed. It hides the copy if that is no longer than itself.
    ///
    /// A copy waits for each of its accesses, and an access to a memory that is busy
    /// for a share `r` of the time takes `1 / (1 - r)` as long: beside a GEMM, as much
    /// copying gets done as the memory does not work for that. GEMM computes meanwhile
    /// with what was read ahead, and keeps its length.
    #[must_use]
    pub fn beside(self, copy: Picoseconds) -> Picoseconds {
        self.length.max(copy + self.memory)
    }
}

impl Rates {
    /// Those of a checked processor, and of what the memory gives to it.
    #[must_use]
    pub fn new(cpu: &Cpu, bandwidth: Bandwidth, software: &Software) -> Self {
        let Software { step_cost, region, format } = *software;
        Self {
            gemm_gflops: cpu.gemm_rates(),
            copy_threads: cpu.copy_threads(),
            owr_threads: cpu.owr_threads.get().into(),
            copy_gb_s: cpu.thread_copy_gb_s(region),
            copy_transactions: cpu.copy_transactions.get(),
            step: cpu.step(),
            step_cost,
            block_tokens: cpu.gemm_block_tokens,
            format,
            bandwidth,
        }
    }

    /// Threads that take part in GEMM.
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

    /// One thread's even share of a GEMM, slowest thread first: it reads the weights
    /// once for each block of tokens, computes, or waits for the memory, whichever is
    /// longer. Its fixed cost is taken to keep the memory busy, which is a reading chosen because of results.
    #[must_use]
    pub fn gemm_share(&self, thread: usize, gemv: Gemv, tokens: u64) -> Compute {
        let step = if self.step_cost == StepCost::CreatedThreads { self.step } else { Nanoseconds::ZERO };
        let operations = float(gemv.operations()) * float(tokens);
        self.share(thread, step, operations, self.gemm_read_bytes(gemv, tokens))
    }

    /// Bytes of weights that a GEMM reads from DRAM.
    #[must_use]
    pub fn gemm_read_bytes(&self, gemv: Gemv, tokens: u64) -> f64 {
        elements_bytes(gemv.macs(), self.format) * (float(tokens) / self.block_tokens).max(1.0)
    }

    /// A GEMM: its slowest thread.
    #[must_use]
    pub fn gemm(&self, gemv: Gemv, tokens: u64) -> Compute {
        self.gemm_share(0, gemv, tokens)
    }

    /// One thread's even share of attention in one of `layers` layers, which have equal
    /// parts of it: it reads keys and values once for each block of queries.
    #[must_use]
    pub fn attention_share(&self, thread: usize, attention: &Attention, layers: u64) -> Compute {
        let read = (attention.query_bytes / self.block_tokens).max(attention.cache_bytes);
        let layers = float(layers);
        self.share(thread, Nanoseconds::ZERO, attention.operations / layers, read / layers)
    }

    fn share(&self, thread: usize, step: Nanoseconds, operations: f64, bytes: f64) -> Compute {
        let computed = operations / float(self.gemm_threads() as u64) / self.gemm_gflops[thread];
        let read = bytes / self.bandwidth.stream;
        Compute {
            length: (step + nanoseconds(computed.max(read))).to_picoseconds(),
            memory: (step + nanoseconds(read)).to_picoseconds(),
        }
    }

    /// The rate of copies that the memory allows, in bytes of weights.
    #[must_use]
    pub fn copy_limit_gb_s(&self) -> f64 {
        1.0 / self.bandwidth.copy_ns(1.0, self.copy_transactions)
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
        let by_threads = bytes / (self.copy_gb_s * float(self.copy_threads));
        nanoseconds(by_threads.max(self.bandwidth.copy_ns(bytes, 1))).to_picoseconds()
    }

    fn transfer(&self, bytes: f64, threads: u64) -> Nanoseconds {
        let copiers = self.copy_gb_s * float(threads);
        nanoseconds(swizzle_ns(bytes, copiers, self.copy_transactions, &self.bandwidth))
    }
}

/// A swizzled copy of so many bytes of weights, in nanoseconds: as fast as the threads are, or
/// the memory.
///
/// * `copiers_gb_s`: all threads together, if the memory keeps up
/// * `transactions`: DRAM transactions of each byte, the first of which reads the weights as PIM
///   has them
#[must_use]
pub fn swizzle_ns(bytes: f64, copiers_gb_s: f64, transactions: u32, bandwidth: &Bandwidth) -> f64 {
    (bytes / copiers_gb_s).max(bandwidth.copy_ns(bytes, transactions))
}

/// A time of what [`super::prefill`] lets through.
fn nanoseconds(time: f64) -> Nanoseconds {
    Nanoseconds::new(time).expect("rates are checked, and prompts to be short enough")
}
