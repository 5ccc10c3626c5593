//! What is built: cores, caches, NUMA nodes, memory controllers, and what the
//! operating system adds.

use std::num::NonZeroU32;

use memscape_study::{OutOfRange, within};
use memscape_units::{GbPerS, Megahertz, Nanoseconds};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cores::NodeCores;
use super::distances::Distances;

/// One core and its vector unit. Vector rates are cycles per register: an
/// instruction at LMUL 4 takes four times as long, as measured.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Core {
    /// Clock
    #[schemars(range(min = 1.0, max = 1e5))]
    pub frequency_mhz: Megahertz,
    /// Bits of one vector register, a power of two from 64 to 1024
    #[schemars(range(min = 64, max = 1024))]
    pub vlen_bits: u32,
    /// Vector registers
    #[schemars(range(min = 8, max = 4096))]
    pub vector_registers: NonZeroU32,
    /// Instructions decoded per cycle
    pub decode_width: NonZeroU32,
    /// Width of the load pipe
    pub load_bits: NonZeroU32,
    /// Slots of the load pipe that one unaligned vector load of a block takes
    #[schemars(range(min = 1, max = 100))]
    pub unaligned_load_slots: u32,
    /// Vector and, add, move with an immediate
    #[schemars(range(min = 0.0, max = 100.0))]
    pub alu_cycles: f64,
    /// The same with a scalar register as operand (.vx)
    #[schemars(range(min = 0.0, max = 100.0))]
    pub alu_scalar_cycles: f64,
    /// Vector shift, and slide
    #[schemars(range(min = 0.0, max = 100.0))]
    pub shift_cycles: f64,
    /// Widening multiply and multiply-accumulate, per source register
    #[schemars(range(min = 0.0, max = 100.0))]
    pub multiply_cycles: f64,
    /// Widening sum over a vector, per source register
    #[schemars(range(min = 0.0, max = 100.0))]
    pub reduce_cycles: f64,
    /// From a vector's first element to a scalar register
    #[schemars(range(min = 0.0, max = 100.0))]
    pub move_cycles: f64,
    /// f32 multiply-accumulate with a scalar (vfmacc.vf)
    #[schemars(range(min = 0.01, max = 100.0))]
    pub fma_cycles: f64,
    /// From one multiply-accumulate to the next on the same register
    #[schemars(range(min = 0, max = 1000))]
    pub fma_latency_cycles: u32,
    /// Whether vector loads and vector arithmetic of a kernel run side by side
    pub overlap: Overlap,
    /// OpenBLAS' scalar packing of one weight
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub pack_ns: Nanoseconds,
    /// Cache lines that one core fetches at once
    pub line_fills: NonZeroU32,
}

/// Whether vector loads and vector arithmetic run side by side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Overlap {
    /// One after the other: their times add up.
    Serial,
    /// Side by side: the longer one counts.
    Overlapped,
}

impl Core {
    /// Time of one cycle.
    #[must_use]
    pub fn cycle(&self) -> Nanoseconds {
        self.frequency_mhz.period()
    }

    /// Products that one core forms in a nanosecond at most: every instruction one for
    /// each byte of its registers.
    #[must_use]
    pub fn most_products_per_ns(&self, lmul: u32) -> f64 {
        let per_instruction = f64::from(self.vlen_bits / 8 * lmul.max(1));
        f64::from(self.decode_width.get()) * per_instruction / self.cycle().as_f64()
    }

    /// # Errors
    /// [`OutOfRange`] names the first number the model is not for.
    pub fn check(&self) -> Result<(), OutOfRange> {
        within([
            ("core.vlen_bits", f64::from(self.vlen_bits), 64.0, 1024.0),
            ("core.vector_registers", f64::from(self.vector_registers.get()), 8.0, 4096.0),
            ("core.frequency_mhz", self.frequency_mhz.as_f64(), 1.0, 1e5),
            ("core.unaligned_load_slots", f64::from(self.unaligned_load_slots), 1.0, 100.0),
            ("core.alu_cycles", self.alu_cycles, 0.0, 100.0),
            ("core.alu_scalar_cycles", self.alu_scalar_cycles, 0.0, 100.0),
            ("core.shift_cycles", self.shift_cycles, 0.0, 100.0),
            ("core.multiply_cycles", self.multiply_cycles, 0.0, 100.0),
            ("core.reduce_cycles", self.reduce_cycles, 0.0, 100.0),
            ("core.move_cycles", self.move_cycles, 0.0, 100.0),
            ("core.fma_cycles", self.fma_cycles, 0.01, 100.0),
            ("core.fma_latency_cycles", f64::from(self.fma_latency_cycles), 0.0, 1000.0),
            ("core.pack_ns", self.pack_ns.as_f64(), 0.0, 1000.0),
        ])
    }
}

/// A rate of checked numbers, kept above nothing and below everything.
pub(crate) fn rate(gb_s: f64) -> GbPerS {
    GbPerS::new(gb_s.clamp(f64::MIN_POSITIVE, f64::MAX)).expect("checked numbers make a number")
}

/// The caches.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cache {
    /// First-level data cache of each core
    pub l1_bytes: u64,
    /// Second-level cache of each cluster
    pub l2_bytes: u64,
    /// Cores that share a second-level cache
    pub cores_per_cluster: NonZeroU32,
    /// System-level cache of each node
    pub slc_bytes_per_node: u64,
    /// Which part of the system-level cache holds a matrix
    pub slc_scope: SlcScope,
    /// Time of one line from the system-level cache of the core's own node
    #[schemars(range(min = 0.01, max = 1e6))]
    pub slc_ns: Nanoseconds,
    /// What the port of one node's system-level cache delivers
    #[schemars(range(min = 1e-3, max = 1e6))]
    pub slc_gb_s_per_node: GbPerS,
}

/// Bytes of a cache line.
///
/// # Source
/// openC910 data sheet (the core that the C920 adds vectors to): cache lines have a fixed length of 64 bytes.
pub const LINE_BYTES: u64 = 64;

impl Cache {
    /// The most that one level holds for so many threads, wherever they are.
    #[must_use]
    pub fn most_bytes(&self, numa: &Numa, threads: NonZeroU32) -> u64 {
        let l2 = self.l2_bytes.saturating_mul(threads.get().into());
        l2.max(self.slc_bytes_per_node.saturating_mul(numa.nodes.get().into()))
    }

    /// # Errors
    /// [`OutOfRange`] names the first number the model is not for.
    pub fn check(&self) -> Result<(), OutOfRange> {
        within([
            ("cache.slc_ns", self.slc_ns.as_f64(), 0.01, 1e6),
            ("cache.slc_gb_s_per_node", self.slc_gb_s_per_node.as_f64(), 1e-3, 1e6),
        ])
    }
}

/// Which part of the system-level cache may hold a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SlcScope {
    /// That of the node whose memory the line is in.
    Node,
    /// Any node's, and a core asks for it at the node whose memory the line is in, which hands it on.
    Global,
    /// Any node's, and a core asks for it there: the lines of one node's memory are spread over all parts.
    Spread,
}

/// The NUMA nodes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Numa {
    /// Nodes
    #[schemars(range(min = 1, max = 8))]
    pub nodes: NonZeroU32,
    /// Cores of each
    #[schemars(range(min = 1, max = 4096))]
    pub cores_per_node: NonZeroU32,
    /// Which cores are whose, node by node, as `numactl --hardware` lists them
    pub cores: NodeCores,
    /// SLIT distances: a list of rows, or one number for every remote node
    pub distances: Distances,
    /// Growth of the way of a line from distance 10 (local) to 20
    #[schemars(range(min = 0.0, max = 100.0), extend("unit" = "x"))]
    pub distance_penalty: f64,
}

impl Numa {
    /// Cores of the machine.
    #[must_use]
    pub fn all_cores(&self) -> u32 {
        self.nodes.get().saturating_mul(self.cores_per_node.get())
    }
}

/// The memory controllers: one for each channel of the memory, spread evenly over the
/// nodes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Controller {
    /// Time of one line between a core and the memory of its own node, beside the
    /// DRAM's own
    #[schemars(range(min = 0.0, max = 1e6))]
    pub path_ns: Nanoseconds,
}

impl Controller {
    /// # Errors
    /// [`OutOfRange`] names the number the model is not for.
    pub fn check(&self) -> Result<(), OutOfRange> {
        within([("controller.path_ns", self.path_ns.as_f64(), 0.0, 1e6)])
    }
}

/// What the operating system and the threads' runtime add.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Os {
    /// Base page
    pub page_bytes: NonZeroU32,
    /// What one fault of a file mapping maps, a page at least
    pub fault_around_bytes: NonZeroU32,
    /// How the weights come into memory
    pub weights: WeightPages,
    /// How long the threads that compute live
    pub pool_life: PoolLife,
    /// Stacks of ended threads that are kept for new ones
    pub kept_stacks: u32,
    /// Pages that a thread touches of its stack
    #[schemars(extend("unit" = "pages"))]
    pub stack_pages: u32,
    /// What the program keeps of each entry of the vocabulary
    pub vocabulary_entry_bytes: u32,
    /// What each thread adds to one synchronisation of all threads, where they share a
    /// node
    #[schemars(range(min = 0.0, max = 1e9))]
    pub sync_ns: Nanoseconds,
    /// Slowdown by NUMA balancing when all cores run the program
    #[schemars(range(min = 0.0, max = 100.0), extend("unit" = "x"))]
    pub balancing_cost: f64,
}

/// How the weights' file mapping gets its pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WeightPages {
    /// All at once when the file is mapped, without faults.
    Populated,
    /// At the first touch, a fault for each `fault_around_bytes`, a page at least.
    Lazy,
}

/// How long the threads that compute live.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PoolLife {
    /// As long as one graph: made anew for each.
    Graph,
    /// As long as the program, as a pool.
    Run,
}

impl Os {
    /// # Errors
    /// [`OutOfRange`] names the first number the model is not for.
    pub fn check(&self) -> Result<(), OutOfRange> {
        within([
            ("os.sync_ns", self.sync_ns.as_f64(), 0.0, 1e9),
            ("os.balancing_cost", self.balancing_cost, 0.0, 100.0),
        ])
    }
}
