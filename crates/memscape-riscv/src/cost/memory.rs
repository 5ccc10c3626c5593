//! Where weights come from when they are read, and read again, and how fast.

use memscape_dram::{Dram, DramError, UNUSED_BY_READS};
use memscape_study::OutOfRange;
use memscape_units::{Bytes, GbPerS, Nanoseconds, float};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kernels::Kernel;
use crate::hardware::{Cache, Controller, Core, LINE_BYTES, Numa, rate};
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

/// How many columns llama.cpp multiplies with a chunk of weights, one after the other, before it goes on to the
/// next chunk.
///
/// # Source
/// ggml's default product works on chunks of 16 rows by 16 columns (`ggml_compute_forward_mul_mat_one_chunk`).
pub const CHUNK_COLUMNS: u64 = 16;
/// Rows of such a chunk.
pub const CHUNK_ROWS: u64 = 16;

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

    /// How often columns but the first of each chunk read the rows of theirs again.
    #[must_use]
    pub const fn passes_of_chunks(self, columns: u64) -> u64 {
        match self {
            Self::Default | Self::Vector => columns - self.passes(columns),
            Self::Simple | Self::Complex | Self::Openblas => 0,
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

/// Why there is no such hierarchy.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum HierarchyError {
    /// Numbers that describe no DRAM.
    #[error("`memory`: {0}")]
    Dram(#[from] DramError),
    /// A number the model is not for.
    #[error(transparent)]
    OutOfRange(#[from] OutOfRange),
}

impl Hierarchy<'_> {
    /// Checks what it is of, as far as weights are read from it.
    ///
    /// # Errors
    /// [`HierarchyError`] names what it does not have or the model is not for.
    pub fn check(&self) -> Result<(), HierarchyError> {
        self.core.check()?;
        self.cache.check()?;
        self.memory.easing(UNUSED_BY_READS).check()?;
        Ok(self.controller.check()?)
    }
}

/// What one line takes at a channel of DRAM.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChannelLine {
    /// Until the next one.
    pub busy: Nanoseconds,
    /// From the command to its last byte.
    pub latency: Nanoseconds,
}

/// What one line takes at a channel that so many streams share.
///
/// A stream's lines lie in one row after the other, dealt over the bank groups. Of
/// `n` streams on `b` banks, a share of `1 - b / n` of the lines finds its row closed by
/// another stream, and so does the first line of every row. A bank opens a row once per
/// row cycle, and all banks together as fast as the activation windows allow; the data
/// bus waits for it. Refresh takes its share of everything; of a checked memory, never all.
#[must_use]
pub fn channel_line(memory: &Dram, streams: f64) -> ChannelLine {
    let ns = |it: Nanoseconds| it.as_f64();
    let opened = rows_opened(memory, streams);
    let bursts = (float(LINE_BYTES) / burst_bytes(memory)).max(1.0);
    let (ranks, groups) = (f64::from(memory.ranks.get()), f64::from(memory.bank_groups.get()));
    let banks = f64::from(memory.banks_per_channel.get());
    let column = ns(memory.burst()).max(ns(memory.tccd_s())).max(ns(memory.tccd_l()) / groups);
    let reopen = ns(memory.trcd_ns) + ns(memory.trtp_ns) + ns(memory.trp_ns);
    let cycle = ns(memory.trc()).max(reopen) / banks;
    let open = cycle.max(memory.activate_ns() / ranks);
    let busy = (bursts * column + opened * open) / (1.0 - memory.refresh_share());
    let access = ns(memory.cl_ns) + bursts * ns(memory.burst());
    let latency = access + opened * (ns(memory.trp_ns) + ns(memory.trcd_ns));
    ChannelLine { busy: clamped(busy), latency: clamped(latency) }
}

/// Bytes of a burst.
fn burst_bytes(memory: &Dram) -> f64 {
    f64::from(memory.bus_bits.get()) / 8.0 * f64::from(memory.burst_length.get())
}

/// Bytes that move for a line: a whole burst at least.
#[must_use]
pub fn bytes_per_line(memory: &Dram) -> f64 {
    burst_bytes(memory).max(float(LINE_BYTES))
}

/// Rows that each line opens, in the mean.
#[must_use]
pub fn rows_opened(memory: &Dram, streams: f64) -> f64 {
    let closed = (1.0 - f64::from(memory.banks_per_channel.get()) / streams).max(0.0);
    let first = (float(LINE_BYTES) / f64::from(memory.row_bytes.get())).min(1.0);
    closed + (1.0 - closed) * first
}

/// A time of checked numbers.
fn clamped(ns: f64) -> Nanoseconds {
    Nanoseconds::new(ns.clamp(0.0, f64::MAX)).expect("checked numbers make a number")
}

impl Hierarchy<'_> {
    /// Controllers behind the nodes that hold the weights. Nodes that share one are as near to it as those that have
    /// their own.
    #[must_use]
    pub fn controllers(&self, placed: &Placed) -> f64 {
        let (all, nodes) = (f64::from(self.memory.channels.get()), f64::from(self.numa.nodes.get()));
        (f64::from(placed.data_nodes) * (all / nodes).max(1.0)).min(all)
    }

    /// What all threads together read from DRAM.
    ///
    /// A core has some lines on the way at once; each takes the way to the memory and
    /// back, which distance stretches, and the DRAM's latency, and waits at the
    /// controller for the lines of all cores: never more than the controllers deliver, nor than the ports of the
    /// system-level cache in front of them, which a line passes that it does not hold.
    #[must_use]
    pub fn dram(&self, placed: &Placed) -> GbPerS {
        self.dram_lines(placed, placed.threads).rate(1.0)
    }

    /// What threads wait for that read from DRAM.
    #[must_use]
    pub fn dram_wait(&self, placed: &Placed) -> Wait {
        let (way, busy) = self.dram_line(placed, placed.threads);
        let way = way / f64::from(self.core.line_fills.get());
        let on_the_way = way / (way + f64::from(placed.threads) * busy);
        Wait { on_the_way, at_ports: busy <= self.port(placed) }
    }

    /// Lines from DRAM, if so many threads read and the others have theirs.
    fn dram_lines(&self, placed: &Placed, readers: u32) -> Lines {
        let (way, busy) = self.dram_line(placed, readers);
        self.together(placed, readers, way, busy)
    }

    /// Nanoseconds of a line's way to a core, and until the next one may come.
    fn dram_line(&self, placed: &Placed, readers: u32) -> (f64, f64) {
        let controllers = self.controllers(placed);
        let line = channel_line(self.memory, f64::from(readers) / controllers);
        let way = self.controller.path_ns.as_f64() * placed.stretch(self.numa) + line.latency.as_f64();
        (way.max(self.way_to_slc(placed)), (line.busy.as_f64() / controllers).max(self.port(placed)))
    }

    /// What all threads together read from the system-level cache, through the ports of
    /// the nodes where lines are asked for.
    #[must_use]
    pub fn slc(&self, placed: &Placed) -> GbPerS {
        self.slc_lines(placed, placed.threads).rate(1.0)
    }

    fn slc_lines(&self, placed: &Placed, readers: u32) -> Lines {
        self.together(placed, readers, self.way_to_slc(placed), self.port(placed))
    }

    fn way_to_slc(&self, placed: &Placed) -> f64 {
        self.cache.slc_ns.as_f64() * placed.slc_stretch(self.numa)
    }

    /// Nanoseconds that a line takes at the ports of the nodes where weights are asked for.
    fn port(&self, placed: &Placed) -> f64 {
        float(LINE_BYTES) / (self.cache.slc_gb_s_per_node.as_f64() * f64::from(placed.port_nodes))
    }

    /// Lines of so many nanoseconds' way that pass a place one by one, those of the readers.
    fn together(&self, placed: &Placed, readers: u32, way: f64, busy: f64) -> Lines {
        Lines {
            way: way / f64::from(self.core.line_fills.get()),
            behind: f64::from(readers) * busy,
            threads: placed.threads,
        }
    }
}

/// How lines come to threads: nanoseconds of each.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Lines {
    /// On its way, of which a core has some at once.
    way: f64,
    /// Behind one line of each thread.
    behind: f64,
    /// Threads that wait.
    threads: u32,
}

impl Lines {
    /// What all threads together read if the busiest has so many times as much as the mean: its lines are on their
    /// way for so much longer, and all are done when it is. A place that lines pass one by one does not ask whose.
    fn rate(&self, busiest: f64) -> GbPerS {
        rate(f64::from(self.threads) * float(LINE_BYTES) / (busiest * self.way + self.behind))
    }
}

/// What threads wait for that read from DRAM: lines on their way, and lines of others before theirs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Wait {
    /// The share of the time that lines are on their way.
    pub on_the_way: f64,
    /// Whether the others' lines pass the ports of the system-level cache more slowly than the controllers.
    pub at_ports: bool,
}

/// Operands that the memory does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the operands take {}, but the memory that the threads may use has {}: {} are missing; use a smaller product or a \
     narrower `format`, or more `memory.rows`, `memory.banks_per_channel` or `memory.channels`",
    Bytes(*needed), Bytes(*limit), Bytes(needed - limit)
)]
pub struct NoRoom {
    needed: u64,
    limit: u64,
}

/// Bytes of the nodes whose memory threads placed so may use.
#[must_use]
pub fn memory_limit(memory: &Dram, numa: &Numa, placed: &Placed) -> u64 {
    let (all, nodes) = (memory.capacity().0, numa.nodes.get());
    if placed.memory_nodes == nodes { all } else { all / u64::from(nodes) * u64::from(placed.memory_nodes) }
}

/// # Errors
/// [`NoRoom`] if the memory does not hold so many bytes.
pub fn check_room(needed: u64, limit: u64) -> Result<(), NoRoom> {
    if needed <= limit { Ok(()) } else { Err(NoRoom { needed, limit }) }
}

/// What second-level caches have room for, of what each thread has an equal share of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Room {
    /// In every cluster: the fullest decides.
    pub everywhere: Bytes,
    /// In all but those that have most threads.
    pub elsewhere: Bytes,
}

impl Room {
    const NONE: Self = Self::alike(0);

    const fn alike(bytes: u64) -> Self {
        Self { everywhere: Bytes(bytes), elsewhere: Bytes(bytes) }
    }

    /// Clusters that are not the fullest have one thread less, or even fewer.
    fn of(placed: &Placed, cache: &Cache) -> Self {
        let all = cache.l2_bytes.saturating_mul(placed.threads.into());
        let over = |threads: u32| Bytes(all / u64::from(threads.max(1)));
        Self { everywhere: over(placed.in_fullest_cluster), elsewhere: over(placed.in_fullest_cluster - 1) }
    }
}

/// Where bytes are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// The nearest level that holds them.
    pub level: Level,
    /// Whether threads of the fullest clusters alone have to go there: the others' caches hold their share.
    by_crowded: bool,
}

impl Found {
    /// Where all begins.
    pub const IN_MEMORY: Self = Self { level: Level::Dram, by_crowded: false };
}

/// The rates at which all threads together read weights.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rates {
    /// From the system-level cache.
    slc: Lines,
    /// From memory.
    dram: Lines,
    /// What that is spent on.
    pub dram_wait: Wait,
    /// From the system-level cache, where threads of the fullest clusters alone read.
    crowded_slc: Lines,
    /// The same from memory.
    crowded_dram: Lines,
    /// Those threads' share of all.
    crowded_share: f64,
    /// What the busiest thread reads over their mean.
    busiest: f64,
    /// What second-level caches still hold of what their threads read before.
    pub l2: Room,
    /// What of it one cluster has, for what all threads read whole.
    pub own_l2: Bytes,
    /// Threads.
    pub threads: u32,
    /// Clusters that they are on.
    pub clusters: u32,
    /// What second-level caches hold while no thread moves.
    pub chunk_l2: Room,
    /// System-level cache that may hold the weights.
    pub slc_size: Bytes,
}

impl Rates {
    /// The rates of threads placed so, which read alike.
    #[must_use]
    pub fn of(placed: &Placed, hierarchy: &Hierarchy<'_>) -> Self {
        let cache = hierarchy.cache;
        let chunk_l2 = Room::of(placed, cache);
        let crowded = placed.crowded_threads;
        Self {
            slc: hierarchy.slc_lines(placed, placed.threads),
            dram: hierarchy.dram_lines(placed, placed.threads),
            dram_wait: hierarchy.dram_wait(placed),
            crowded_slc: hierarchy.slc_lines(placed, crowded),
            crowded_dram: hierarchy.dram_lines(placed, crowded),
            crowded_share: f64::from(crowded) / f64::from(placed.threads),
            busiest: 1.0,
            l2: if placed.stay { chunk_l2 } else { Room::NONE },
            own_l2: Bytes(if placed.stay { cache.l2_bytes } else { 0 }),
            threads: placed.threads,
            clusters: placed.clusters,
            chunk_l2,
            slc_size: Bytes(placed.slc_bytes(cache)),
        }
    }

    /// The same threads, of which the busiest reads so many times as much as the mean.
    #[must_use]
    pub const fn where_busiest_has(self, busiest: f64) -> Self {
        Self { busiest, ..self }
    }

    /// What all threads together read from memory.
    #[must_use]
    pub fn from_memory(&self) -> GbPerS {
        self.dram.rate(self.busiest)
    }

    /// Where so many bytes are that every thread reads whole: each cluster keeps all of them.
    #[must_use]
    pub fn find_shared(&self, bytes: Bytes) -> Found {
        self.beyond(Room::alike(self.own_l2.0), bytes)
    }

    /// Time to read so many bytes of inputs that all threads have packed together, of which the others packed most:
    /// each cluster all of them that meet the rows of its micro-tiles, of which there are so many one below the other.
    /// Where clusters are more, each has some of the columns.
    #[must_use]
    pub fn read_panels(&self, bytes: Bytes, row_tiles: u64) -> Nanoseconds {
        let share = (float(row_tiles) / f64::from(self.clusters)).min(1.0);
        self.read(bytes, self.beyond(Room::NONE, bytes)) * f64::from(self.clusters - 1) * share
    }

    /// Where the chunks are that all threads work on, of a matrix of so many rows and bytes. A
    /// chunk is over before a thread moves.
    #[must_use]
    pub fn find_chunks(&self, rows: u64, bytes: Bytes) -> Found {
        let chunks = CHUNK_ROWS.saturating_mul(self.threads.into()).min(rows);
        self.beyond(self.chunk_l2, Bytes(bytes.0.div_ceil(rows).saturating_mul(chunks)))
    }

    /// Where so many bytes are. Each cluster keeps the rows of its own threads.
    #[must_use]
    pub fn find(&self, bytes: Bytes) -> Found {
        self.beyond(self.l2, bytes)
    }

    /// Where bytes are for which second-level caches have so much room.
    fn beyond(&self, room: Room, bytes: Bytes) -> Found {
        let level = if bytes <= room.everywhere {
            Level::L2
        } else if bytes <= self.slc_size {
            Level::Slc
        } else {
            Level::Dram
        };
        Found { level, by_crowded: bytes <= room.elsewhere }
    }

    /// Time to read so many bytes that were found there. The second-level cache keeps up
    /// with the kernels.
    #[must_use]
    pub fn read(&self, bytes: Bytes, found: Found) -> Nanoseconds {
        let lines = match (found.level, found.by_crowded) {
            (Level::L2, _) => return Nanoseconds::ZERO,
            (Level::Slc, false) => self.slc,
            (Level::Slc, true) => self.crowded_slc,
            (Level::Dram, false) => self.dram,
            (Level::Dram, true) => self.crowded_dram,
        };
        lines.rate(self.busiest).time_of(bytes)
    }

    /// The share of what was found there that moves from memory.
    #[must_use]
    pub fn share_from_memory(&self, found: Found) -> f64 {
        match (found.level, found.by_crowded) {
            (Level::Dram, false) => 1.0,
            (Level::Dram, true) => self.crowded_share,
            _ => 0.0,
        }
    }
}
