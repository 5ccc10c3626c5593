//! Where weights come from when they are read, and read again.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cycles::float;
use crate::kernels::Kernel;
use crate::numa::Placed;
use crate::platform::{Cache, Core, Dram, Numa};

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

/// The rates at which all threads together read weights.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rates {
    /// From the system-level cache, in GB/s.
    pub slc_gb_s: f64,
    /// From memory, in GB/s.
    pub dram_gb_s: f64,
    /// Second-level cache of the clusters that run threads.
    pub l2_bytes: u64,
    /// System-level cache that may hold the weights.
    pub slc_bytes: u64,
}

impl Rates {
    /// The rates of threads placed so.
    #[must_use]
    pub fn of(placed: &Placed, core: &Core, cache: &Cache, numa: &Numa, dram: &Dram) -> Self {
        Self {
            slc_gb_s: placed.slc_gb_s(core, numa, dram),
            dram_gb_s: placed.dram_gb_s(core, numa, dram),
            l2_bytes: cache.l2_bytes.saturating_mul(placed.clusters.into()),
            slc_bytes: placed.slc_bytes(cache, numa),
        }
    }

    /// The nearest level that holds so many bytes. Each cluster keeps the rows of
    /// its own threads.
    #[must_use]
    pub const fn level(&self, bytes: u64) -> Level {
        if bytes <= self.l2_bytes {
            Level::L2
        } else if bytes <= self.slc_bytes {
            Level::Slc
        } else {
            Level::Dram
        }
    }

    /// Time to read so many bytes from a level. The second-level cache keeps up
    /// with the kernels.
    #[must_use]
    pub fn read_ns(&self, bytes: u64, level: Level) -> f64 {
        match level {
            Level::L2 => 0.0,
            Level::Slc => float(bytes) / self.slc_gb_s,
            Level::Dram => float(bytes) / self.dram_gb_s,
        }
    }
}
