//! Where weights come from when they are read, and read again, and how fast.

use memscape_dram::Dram;
use memscape_units::{Bytes, GbPerS, Nanoseconds};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kernels::Kernel;
use crate::hardware::{Cache, Controller, Core, Numa, rate};
use crate::mapping::placement::Placed;

/// A level of the memory hierarchy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// The clusters' second-level caches, each with its cores' share.
    L2,
    /// The system-level cache.
    Slc,
    /// Memory.
    Dram,
}

/// How many columns llama.cpp multiplies with a chunk of weights before it leaves
/// the first-level cache.
///
/// # Source
/// ggml's default product works on chunks of 16 rows by 16 columns.
pub const CHUNK_COLUMNS: u64 = 16;

impl Kernel {
    /// How often the matrix is read for `columns` columns.
    ///
    /// # Source
    /// Thesis, Listing 4.6: `simple` and `complex` loop over the columns outside of the
    /// rows, so each column reads the whole matrix; `default` and `vector` run in
    /// llama.cpp's chunks.
    #[must_use]
    pub const fn passes(self, columns: u64) -> u64 {
        match self {
            Self::Default | Self::Vector => columns.div_ceil(CHUNK_COLUMNS),
            Self::Simple | Self::Complex => columns,
            Self::Openblas => 1,
        }
    }
}

/// What lies between a weight and the core that multiplies it.
#[derive(Debug, Clone, Copy)]
pub struct Hierarchy<'a> {
    /// One core.
    pub core: &'a Core,
    /// The caches.
    pub cache: &'a Cache,
    /// The NUMA nodes.
    pub numa: &'a Numa,
    /// The DRAM.
    pub memory: &'a Dram,
    /// Its controllers.
    pub controller: &'a Controller,
}

impl Hierarchy<'_> {
    /// Controllers behind the nodes that hold the weights.
    #[must_use]
    pub fn controllers(&self, placed: &Placed) -> f64 {
        let (all, nodes) = (f64::from(self.memory.channels.get()), f64::from(self.numa.nodes.get()));
        (f64::from(placed.data_nodes) * (all / nodes).max(1.0)).min(all)
    }

    /// What all threads together read from DRAM.
    ///
    /// A core reads as it does alone, and waits at the controllers for the lines
    /// of all the others; distance stretches both. A controller works at its peak as
    /// long as each stream has a bank of its own; of `n` threads per controller
    /// beyond its banks, a share of `1 - banks / n` finds its row closed.
    #[must_use]
    pub fn dram(&self, placed: &Placed) -> GbPerS {
        let controllers = self.controllers(placed);
        let streams = f64::from(placed.active_cores) / controllers;
        let closed = (1.0 - f64::from(self.memory.banks_per_channel.get()) / streams).max(0.0);
        let peak = controllers * self.memory.channel_gb_s().as_f64();
        let shared = rate(peak / (1.0 + self.controller.row_conflict * closed));
        self.series(placed, self.core.rate(self.core.dram_bytes_per_cycle), shared)
    }

    /// What all threads together read from the system-level cache: its lines come
    /// through the same ports as DRAM's, at the same peak.
    #[must_use]
    pub fn slc(&self, placed: &Placed) -> GbPerS {
        let ports = rate(self.controllers(placed) * self.memory.channel_gb_s().as_f64());
        self.series(placed, self.core.rate(self.core.slc_bytes_per_cycle), ports)
    }

    fn series(&self, placed: &Placed, core: GbPerS, shared: GbPerS) -> GbPerS {
        let cores = f64::from(placed.active_cores);
        let per_line = 1.0 / core.as_f64() + (cores - 1.0) / shared.as_f64();
        rate(cores / (placed.stretch(self.numa) * per_line))
    }
}

/// The rates at which all threads together read weights.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rates {
    /// From the system-level cache.
    pub slc: GbPerS,
    /// From memory.
    pub dram: GbPerS,
    /// Second-level cache of the clusters that run threads.
    pub l2: Bytes,
    /// System-level cache that may hold the weights.
    pub slc_size: Bytes,
}

impl Rates {
    /// The rates of threads placed so.
    #[must_use]
    pub fn of(placed: &Placed, hierarchy: &Hierarchy<'_>) -> Self {
        let cache = hierarchy.cache;
        Self {
            slc: hierarchy.slc(placed),
            dram: hierarchy.dram(placed),
            l2: Bytes(cache.l2_bytes.saturating_mul(placed.clusters.into())),
            slc_size: Bytes(placed.slc_bytes(cache, hierarchy.numa)),
        }
    }

    /// The nearest level that holds so many bytes. Each cluster keeps the rows of
    /// its own threads.
    #[must_use]
    pub fn level(&self, bytes: Bytes) -> Level {
        if bytes <= self.l2 {
            Level::L2
        } else if bytes <= self.slc_size {
            Level::Slc
        } else {
            Level::Dram
        }
    }

    /// Time to read so many bytes from a level. The second-level cache keeps up
    /// with the kernels.
    #[must_use]
    pub fn read(&self, bytes: Bytes, level: Level) -> Nanoseconds {
        match level {
            Level::L2 => Nanoseconds::ZERO,
            Level::Slc => self.slc.time_of(bytes),
            Level::Dram => self.dram.time_of(bytes),
        }
    }
}
