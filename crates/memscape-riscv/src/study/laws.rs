//! What more of a machine does, in the words that the studies share.

use memscape_study::{Effect, When, either, faster, neutral, slower, unused};

/// Why a timing of writes is none of these studies'.
const READS: &str = "weights are only read";
/// Why what a memory takes is none of a study's.
pub const NO_ENERGY: &str = "no column is an energy";
/// Why a field follows from others.
const FOLLOWS: &str = "the others say it";

/// What tiles are a matter of.
pub const TILE: &str = "a larger tile reads inputs less often, and sooner has no registers left";
/// Where there are tiles.
pub const TILED: &[When] = &[When::is("kernel", &["simple", "complex"])];
/// What groups of registers are a matter of.
pub const GROUP: &str = "a wider group takes fewer instructions and leaves more of its registers empty";

/// Where threads are bound.
pub const BOUND: &[When] = &[When::is("policy", &["bind-cores", "bind-cores-memory"])];
/// What nodes are a matter of.
pub const NODES: &str = "each has fewer of the channels, and all have more system-level cache";
/// What cores of a cluster are a matter of.
pub const CLUSTERS: &str =
    "more cores share a second-level cache, and read what OpenBLAS packs of inputs together";
/// What cores of a node are a matter of.
pub const CORES: &str = "threads bound to fewer nodes are nearer, and may share fewer second-level caches";

/// The memory, as every study reads weights from it.
pub const MEMORY: &[Effect] = &[
    faster("memory.channels"),
    faster("memory.ranks"),
    faster("memory.bank_groups"),
    faster("memory.banks_per_channel"),
    neutral("memory.rows"),
    faster("memory.row_bytes"),
    unused("memory.column_bytes", FOLLOWS),
    faster("memory.bus_bits"),
    either(
        "memory.burst_length",
        "a burst longer than a line is in part for nothing, a shorter one waits for tCCD",
    ),
    faster("memory.data_rate_mt_s"),
    unused("memory.transfers_per_clock", "reads do not wait for commands"),
    unused("memory.tck_ns", FOLLOWS),
    slower("memory.trcd_ns"),
    slower("memory.trp_ns"),
    unused("memory.trp_ab_ns", "a row closes alone"),
    slower("memory.tras_ns"),
    slower("memory.trc_ns"),
    unused("memory.tw*", READS),
    slower("memory.trtp_ns"),
    slower("memory.cl_ns"),
    unused("memory.cwl_ns", READS),
    slower("memory.tccd*"),
    unused("memory.trrd_s_ns", "the window of four activates is no shorter"),
    slower("memory.trrd_l_ns"),
    slower("memory.tfaw_ns"),
    unused("memory.trtw_ns", READS),
    unused("memory.trtrs_ns", "lines of one rank follow each other"),
    faster("memory.trefi_ns"),
    slower("memory.trfc_ab_ns"),
    slower("controller.path_ns"),
];

/// What computes and what is near it, as every study uses them.
pub const NEAR: &[Effect] = &[
    faster("core.frequency_mhz"),
    faster("core.decode_width"),
    faster("core.line_fills"),
    faster("cache.slc_bytes_per_node"),
    faster("cache.l2_bytes"),
];

/// What vectors are made of.
pub const VECTORS: &[Effect] = &[faster("core.vlen_bits"), faster("core.load_bits")];

/// The vector unit of the quantised kernels.
pub const KERNEL_RATES: &[Effect] = &[
    slower("core.unaligned_load_slots"),
    slower("core.alu_cycles"),
    slower("core.alu_scalar_cycles"),
    slower("core.shift_cycles"),
    slower("core.multiply_cycles"),
    slower("core.reduce_cycles"),
    slower("core.move_cycles"),
];

/// The system-level cache.
pub const SLC: &[Effect] = &[slower("cache.slc_ns"), faster("cache.slc_gb_s_per_node")];
