//! What one graph costs: a pass of some columns through the model.

use memscape_study::{Breakdown, parts};
use memscape_units::{Bytes, Nanoseconds};
use memscape_workload::{Format, Llm, Projections};

use super::kernels::{Code, Kernel, KernelError};
use super::memory::{Hierarchy, Rates};
use super::openblas::{MICRO_COLUMNS, dequantise, micro_kernel};
use crate::hardware::Core;
use crate::mapping::conversation::Columns;
use crate::mapping::graph::{Graph, follows_attention};
use crate::mapping::placement::Placed;
use crate::mapping::quant::{BLOCK, block_bytes};
use crate::number::float;

parts! {
    /// What the time of a graph is spent on.
    pub enum GraphPart {
        /// Multiplying with the weights
        Kernel = "kernel",
        /// Reading weights
        Weights = "weights",
        /// Attention: computing and reading the cache
        Attention = "attention",
        /// Synchronising
        Synchronisation = "synchronisation",
        /// What NUMA balancing adds
        Balancing = "balancing",
    }
}

/// The time of a graph, or of one of its operations, by cause. The causes add up: the
/// kernels do not overlap with their memory accesses.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GraphCost {
    /// Multiplying with the weights.
    pub kernel: Nanoseconds,
    /// Reading weights.
    pub weights: Nanoseconds,
    /// Attention: computing.
    pub attention: Nanoseconds,
    /// Attention: reading the cache.
    pub cache: Nanoseconds,
    /// Synchronising.
    pub synchronisation: Nanoseconds,
}

impl GraphCost {
    /// Nothing yet.
    pub const ZERO: Self = Self {
        kernel: Nanoseconds::ZERO,
        weights: Nanoseconds::ZERO,
        attention: Nanoseconds::ZERO,
        cache: Nanoseconds::ZERO,
        synchronisation: Nanoseconds::ZERO,
    };

    /// This, and another so often.
    #[must_use]
    pub fn and(self, other: Self, times: u64) -> Self {
        let times = float(times);
        Self {
            kernel: self.kernel + other.kernel * times,
            weights: self.weights + other.weights * times,
            attention: self.attention + other.attention * times,
            cache: self.cache + other.cache * times,
            synchronisation: self.synchronisation + other.synchronisation * times,
        }
    }

    /// All of it, before NUMA balancing slows it down.
    #[must_use]
    pub fn total(&self) -> Nanoseconds {
        self.kernel + self.weights + (self.attention + self.cache) + self.synchronisation
    }

    /// The causes in whole picoseconds, slowed down by `balancing` of the time.
    ///
    /// # Errors
    /// [`TooSlow`] beyond the clock of whole picoseconds.
    pub fn breakdown(&self, balancing: f64) -> Result<Breakdown<GraphPart>, TooSlow> {
        let total = self.total();
        let added = total * balancing;
        if (total + added).as_f64() > LONGEST_NS {
            return Err(TooSlow { days: (total + added).as_f64() / 86_400e9 });
        }
        Ok([
            (GraphPart::Kernel, self.kernel),
            (GraphPart::Weights, self.weights),
            (GraphPart::Attention, self.attention + self.cache),
            (GraphPart::Synchronisation, self.synchronisation),
            (GraphPart::Balancing, added),
        ]
        .into_iter()
        .map(|(part, time)| (part, time.to_picoseconds()))
        .collect())
    }
}

/// Half of what a clock of 64 bits can tell.
const LONGEST_NS: f64 = 9e15;

/// A graph longer than a clock.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error("one pass through the model takes {days:.0} days; at most 104 are modelled: ask for fewer tokens")]
pub struct TooSlow {
    /// How long it takes.
    pub days: f64,
}

/// Threads at work on one model: the rates and times that all its graphs share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Crew {
    /// Where they are.
    pub placed: Placed,
    /// How fast they read.
    pub rates: Rates,
    /// Bytes of a block of weights.
    pub block_size: u64,
    /// Which kernel multiplies.
    pub kernel: Kernel,
    /// Time of one core per block and so many columns.
    pub block: Nanoseconds,
    /// Columns that take as long as one.
    pub columns: u64,
    /// Time of one core per block, whatever the columns: OpenBLAS' preparation.
    pub block_once: Nanoseconds,
    /// Time of one core per multiply-accumulate of attention.
    pub attention: Nanoseconds,
    /// Time of all threads to meet once.
    pub sync_point: Nanoseconds,
    /// What NUMA balancing adds, as a share.
    pub balancing: f64,
}

/// Time of one core per block of a kernel, at `factor` times the counted cycles.
///
/// # Errors
/// [`KernelError`] if there is no such code.
fn block(kernel: &Code, core: &Core, factor: f64) -> Result<Nanoseconds, KernelError> {
    let (rows, blocks) = kernel.tile();
    let cycles = core.cycles(&kernel.per_tile()?).total.as_f64();
    Ok(core.cycle() * (factor * cycles) / float((rows * blocks) as u64))
}

impl Crew {
    /// Threads placed so, with this code for the products with weights.
    ///
    /// # Errors
    /// [`KernelError`] if there is no such code.
    pub fn new(
        placed: Placed,
        kernel: &Code,
        compiler_factor: f64,
        hierarchy: &Hierarchy<'_>,
        sync: Nanoseconds,
        balancing: f64,
    ) -> Result<Self, KernelError> {
        let (core, weights) = (hierarchy.core, float(BLOCK as u64));
        let (time, columns, once) = match kernel.kernel {
            Kernel::Openblas => {
                let once = dequantise(core, kernel.format) + core.pack_ns;
                (micro_kernel(core) * weights, MICRO_COLUMNS, once * weights)
            }
            _ => (block(kernel, core, compiler_factor)?, 1, Nanoseconds::ZERO),
        };
        let scalar = Code { kernel: Kernel::Default, format: Format::FP16, ..*kernel };
        // Threads without a core of their own wait for their turn, too.
        let oversubscribed = f64::from(placed.threads) / f64::from(placed.active_cores);
        Ok(Self {
            rates: Rates::of(&placed, hierarchy),
            block_size: block_bytes(kernel.format),
            kernel: kernel.kernel,
            block: time,
            columns,
            block_once: once,
            attention: block(&scalar, core, compiler_factor)? / weights,
            sync_point: sync * f64::from(placed.threads) * oversubscribed,
            balancing,
            placed,
        })
    }

    fn cores(&self) -> f64 {
        f64::from(self.placed.active_cores)
    }

    /// A weight matrix of `rows` x `columns` times `vectors` vectors: computing and
    /// reading.
    #[must_use]
    pub fn product(&self, rows: u64, columns: u64, vectors: u64) -> GraphCost {
        let blocks = rows * columns.div_ceil(BLOCK as u64);
        let (bytes, blocks) = (Bytes(blocks * self.block_size), float(blocks));
        let per_block = self.block_once + self.block * float(vectors.div_ceil(self.columns));
        // The first reading is from memory: the weights exceed every cache.
        let again = float(self.kernel.passes(vectors) - 1);
        let read_again = self.rates.read(bytes, self.rates.level(bytes)) * again;
        GraphCost {
            kernel: per_block * blocks / self.cores(),
            weights: self.rates.dram.time_of(bytes) + read_again,
            ..GraphCost::ZERO
        }
    }

    /// Attention of so many layers: every query head meets every attended cell twice.
    #[must_use]
    pub fn attention(&self, model: &Llm, columns: &Columns, layers: u64) -> GraphCost {
        let cells = columns.attended * float(layers);
        let macs = 2.0 * cells * float(model.q_size()) * float(columns.all);
        let of_a_cell = Bytes(2 * 2 * model.kv_size());
        GraphCost {
            attention: self.attention * macs / self.cores(),
            cache: self.rates.dram.time_of(of_a_cell) * (cells * float(columns.sequences)),
            ..GraphCost::ZERO
        }
    }

    /// All threads meet so often.
    #[must_use]
    pub fn meet(&self, times: u64) -> GraphCost {
        GraphCost { synchronisation: self.sync_point * float(times), ..GraphCost::ZERO }
    }

    /// One graph.
    #[must_use]
    pub fn pass(&self, model: &Llm, projections: Projections, columns: &Columns) -> GraphCost {
        let layers = u64::from(model.layers);
        let (all, last) = (columns.all, columns.sequences);
        let mut cost = GraphCost::ZERO;
        let mut products = 0;
        for (matrix, gemv) in model.layer_gemvs(projections) {
            products += 1;
            let of = |vectors: u64| self.product(gemv.m(), gemv.k(), vectors);
            // After its attention, the last layer goes on with one row per sequence.
            if follows_attention(matrix) && all > last {
                cost = cost.and(of(all), layers - 1).and(of(last), 1);
            } else {
                cost = cost.and(of(all), layers);
            }
        }
        for ((rows, columns), vectors) in outside_layers(model).into_iter().zip([all, last, last]) {
            if rows > 0 {
                cost = cost.and(self.product(rows, columns, vectors), 1);
            }
        }
        let graph = Graph::of(model, products);
        let meetings = self.meet(graph.other_syncs() + graph.product_syncs());
        cost.and(self.attention(model, columns, layers), 1).and(meetings, 1)
    }
}

/// Rows and columns of the projections in and out, which most models do not have, and
/// of the language-model head.
#[must_use]
pub fn outside_layers(model: &Llm) -> [(u64, u64); 3] {
    let (hidden, embedding) = (u64::from(model.hidden_size), u64::from(model.embedding_size));
    let head = (u64::from(model.vocab_size), embedding);
    if model.projects_embedding() {
        [(hidden, embedding), (embedding, hidden), head]
    } else {
        [(0, 0), (0, 0), head]
    }
}
