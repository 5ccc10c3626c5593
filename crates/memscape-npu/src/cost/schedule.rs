//! A GEMM on the whole array: how it is cut, and how long each step takes.
//!
//! One step brings `k_mt` of the reduction to the whole array; a block of C takes as
//! many steps as the reduction has, and C as many blocks as it has.

use memscape_study::parts;
use memscape_units::{Cycles, Nanoseconds, Picoseconds};
use schemars::JsonSchema;
use serde::Serialize;

use crate::cost::kernel::{Kernel, cycles};
use crate::hardware::device::Device;
use crate::hardware::dram::Demand;
use crate::mapping::chain::MAX_SIZE;
use crate::mapping::design::{BLayout, BdReconfiguration, Design};
use crate::mapping::tile::{OutputBuffers, Tile};

parts! {
    /// Where the time of a GEMM goes.
    pub enum GemmPart {
        /// Cores at work
        Compute = "compute",
        /// Cores waiting for A and B, and for descriptors
        InputWait = "input_wait",
        /// Cores waiting for a tile of C to leave, and zeroing it
        OutputWait = "output_wait",
        /// The last block on its way to DRAM
        Epilogue = "epilogue",
        /// Operating system, runtime and dispatch
        Dispatch = "dispatch",
    }
}

/// What takes longest per block of C.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Bottleneck {
    /// The cores, with the output of finished tiles.
    Compute,
    /// Reading A and B.
    DramRead,
    /// C on its way to DRAM.
    DramWrite,
    /// Rewriting descriptors.
    Commands,
    /// Handing the product over.
    Dispatch,
}

/// A GEMM cut for an array: how many steps, and how long each takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Schedule {
    /// Blocks of C.
    pub blocks: u64,
    /// Steps of the reduction per block.
    pub steps: u64,
    /// Bringing one step's A and B from DRAM while another block of C leaves.
    pub load: Picoseconds,
    /// The same for the first block, before which none leaves.
    pub first_load: Picoseconds,
    /// Multiplying one step.
    pub compute: Picoseconds,
    /// One call of the kernel, of which a step has `k_mt / k_ct`. When the last
    /// starts, L1 has everything and the step's buffers in the memory tiles are free.
    pub call: Picoseconds,
    /// From a step's arrival in the memory tiles to that of its first tiles in L1.
    pub fill: Picoseconds,
    /// Moving a finished tile of C to the memory tile.
    pub drain: Picoseconds,
    /// Zeroing a tile of C.
    pub zero: Picoseconds,
    /// Writing one block of C to DRAM while A and B of another come.
    pub write: Picoseconds,
    /// The same for the last block, after which none come.
    pub last_write: Picoseconds,
    /// Bytes that cross the DRAM's bus for one block, whole lines: read, and written.
    pub block_bytes: [f64; 2],
    /// Rewriting the descriptors of one block.
    pub descriptors: Picoseconds,
    /// Dispatch of the whole.
    pub dispatch: Picoseconds,
    /// Blocks submitted ahead.
    pub depth: u64,
    /// Buffers of C in L1.
    pub output_buffers: OutputBuffers,
    /// When descriptors are rewritten.
    pub bd_reconfiguration: BdReconfiguration,
}

/// Why a GEMM has no schedule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ScheduleError {
    /// A dimension of zero or beyond what clocks can follow.
    #[error("`{dimension}` is {given}; a GEMM's dimensions must be from 1 to {MAX_SIZE}")]
    Size {
        /// `m`, `k` or `n`.
        dimension: &'static str,
        /// As given.
        given: u64,
    },
    /// A GEMM whose time no clock can follow.
    #[error(
        "a GEMM of {m} x {k} x {n} takes longer than the day that simulated clocks follow, counted as if nothing of it \
         overlapped; use a smaller one"
    )]
    TooLong {
        /// Rows of A.
        m: u64,
        /// Columns of A.
        k: u64,
        /// Columns of B.
        n: u64,
    },
}

/// The longest time that is followed: a day.
const LONGEST: Picoseconds = Picoseconds(86_400_000_000_000_000);

impl Schedule {
    /// Cuts an `m x k x n` GEMM, padded to the native size. A byte of B as it is multiplied takes
    /// `b_share` bytes in DRAM, from which cores make it.
    ///
    /// # Errors
    /// [`ScheduleError`] if it is too large or takes too long.
    ///
    /// # Panics
    /// If the design measures a throughput of less than nothing, which none has that
    /// [`Design::check`] has seen.
    pub fn new(
        device: &Device,
        design: &Design,
        kernel: &Kernel,
        size: [u64; 3],
        b_share: f64,
    ) -> Result<Self, ScheduleError> {
        for (dimension, given) in ["m", "k", "n"].into_iter().zip(size) {
            if given == 0 || given > MAX_SIZE {
                return Err(ScheduleError::Size { dimension, given });
            }
        }
        let native = design.native(device);
        let [blocks_m, steps, blocks_n] = [0, 1, 2].map(|it| size[it].div_ceil(native[it]));
        let call = match design.measured_macs_per_cycle {
            None => kernel.call(),
            measured => cycles(design.tile.macs() / kernel.reached(measured)),
        };
        let core = CoreTimes::new(device, design);
        let time = |it: Cycles| device.clock_mhz.time_of(it).to_picoseconds();
        let blocks = blocks_m * blocks_n;
        let ([shared, alone], block_bytes) = Transfers::of(device, design, steps, b_share);
        // B's and C's of each column, and A's of each row.
        let descriptors = 2.0 * f64::from(device.columns.get()) + f64::from(device.rows.get());
        let schedule = Self {
            blocks,
            steps,
            load: shared.load.to_picoseconds(),
            first_load: alone.load.to_picoseconds(),
            compute: time(call * (f64::from(design.k_mt) / f64::from(design.tile.k))),
            call: time(call),
            fill: time(core.fill),
            drain: time(core.drain),
            zero: time(core.zero),
            write: shared.write.to_picoseconds(),
            last_write: alone.write.to_picoseconds(),
            block_bytes,
            descriptors: time(device.bd_cycles * descriptors),
            dispatch: device.dispatch_ns.to_picoseconds(),
            depth: design.bds_in_flight.into(),
            output_buffers: design.output_buffers,
            bd_reconfiguration: design.bd_reconfiguration,
        };
        if schedule.at_most() > LONGEST.into() {
            let [m, k, n] = size;
            return Err(ScheduleError::TooLong { m, k, n });
        }
        Ok(schedule)
    }

    /// The time if nothing overlapped, which no clock may be able to follow.
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    fn at_most(&self) -> Nanoseconds {
        let sum =
            |spans: [Picoseconds; 4]| spans.into_iter().fold(Nanoseconds::ZERO, |sum, it| sum + it.into());
        let step = sum([self.load, self.compute, self.fill, Picoseconds::ZERO]);
        let block = step * self.steps as f64 + sum([self.drain, self.zero, self.write, self.descriptors]);
        block * self.blocks as f64
    }

    /// Whether nothing is written while this block is read: the first, or the first of those that are submitted
    /// together once all before are written.
    #[must_use]
    pub fn begins(&self, block: u64) -> bool {
        match self.bd_reconfiguration {
            BdReconfiguration::Overlapped => block == 0,
            BdReconfiguration::Sequential => block.is_multiple_of(self.depth),
        }
    }

    /// Whether nothing is read while this block is written.
    #[must_use]
    pub fn ends(&self, block: u64) -> bool {
        block + 1 == self.blocks || (block + 1 < self.blocks && self.begins(block + 1))
    }

    /// Time of one step's A and B of a block, and of the block's C.
    #[must_use]
    pub fn transfers(&self, block: u64) -> [Picoseconds; 2] {
        let load = if self.begins(block) { self.first_load } else { self.load };
        let write = if self.ends(block) { self.last_write } else { self.write };
        [load, write]
    }

    /// How long A and B are read, all together.
    #[must_use]
    pub fn reading(&self) -> Picoseconds {
        let begun = self.begun();
        self.first_load * (self.steps * begun) + self.load * (self.steps * (self.blocks - begun))
    }

    /// How long C is written, all together.
    fn writing(&self) -> Picoseconds {
        let ended = self.begun();
        self.last_write * ended + self.write * (self.blocks - ended)
    }

    /// Blocks that [begin](Self::begins), and as many that [end](Self::ends).
    fn begun(&self) -> u64 {
        match self.bd_reconfiguration {
            BdReconfiguration::Overlapped => 1,
            BdReconfiguration::Sequential => self.blocks.div_ceil(self.depth),
        }
    }

    /// What takes longest, over all blocks of C.
    #[must_use]
    pub fn bottleneck(&self) -> Bottleneck {
        let candidates = [
            (Bottleneck::Compute, (self.compute * self.steps + self.stall()) * self.blocks),
            (Bottleneck::DramRead, self.reading()),
            (Bottleneck::DramWrite, self.drain * self.blocks + self.writing()),
            // Descriptors are written anew for blocks that find none of their own.
            (Bottleneck::Commands, self.descriptors * self.blocks.saturating_sub(self.depth)),
            (Bottleneck::Dispatch, self.dispatch),
        ];
        // The first of equals.
        candidates.into_iter().rev().max_by_key(|it| it.1).map_or(Bottleneck::Compute, |it| it.0)
    }

    /// How long the core waits between two blocks of C when nothing else holds it up.
    #[must_use]
    pub fn stall(&self) -> Picoseconds {
        match self.output_buffers {
            OutputBuffers::Single => self.drain + self.zero,
            OutputBuffers::Double => self.zero,
        }
    }
}

/// Moving tiles in and out of one core.
struct CoreTimes {
    /// A step's first tiles of A and B from the memory tiles to L1.
    fill: Cycles,
    /// A finished tile of C to the memory tile.
    drain: Cycles,
    /// Zeroing a tile of C.
    zero: Cycles,
}

impl CoreTimes {
    fn new(device: &Device, design: &Design) -> Self {
        let [m, k, n] = [design.tile.m, design.tile.k, design.tile.n].map(f64::from);
        let (input, output) =
            (f64::from(design.precision.input_bytes()), f64::from(design.precision.output_bytes()));
        let dma = f64::from(device.dma_bytes_per_cycle.get());
        Self {
            fill: cycles(m.max(n) * k * input / dma),
            drain: cycles(m * n * output / dma),
            zero: cycles(m * n * output / f64::from(device.port_bytes_per_cycle.get())),
        }
    }
}

/// Bringing one step's A and B from DRAM, and writing one block of C to it.
struct Transfers {
    /// A step's.
    load: Nanoseconds,
    /// A block's.
    write: Nanoseconds,
}

impl Transfers {
    /// Both at once, and each alone; and what crosses the bus for a block, read and written.
    ///
    /// While a block of C leaves, the next one's A and B come: the DRAM's bus serves both
    /// (see [`beside`](crate::hardware::dram::DramPath::beside)), but before the first block nothing leaves, and after
    /// the last nothing comes. Each interface tile moves what its column has of A, of
    /// B and of C through one channel each. Of B that is what lies in DRAM, `b_share` bytes of it for each that is
    /// multiplied.
    #[expect(clippy::cast_precision_loss, reason = "sizes are limited to 2^31")]
    fn of(device: &Device, design: &Design, steps: u64, b_share: f64) -> ([Self; 2], [f64; 2]) {
        let dram = &device.dram;
        let (input, output) = (design.precision.input_bytes(), design.precision.output_bytes());
        let Tile { m, n, .. } = design.tile;
        let [rows, columns] = [device.rows.get(), device.columns.get()].map(f64::from);
        // Of one row and of one column.
        let a = f64::from(m) * f64::from(design.k_mt) * f64::from(input);
        let b = f64::from(n) * f64::from(design.k_mt) * f64::from(input) * b_share;
        let c = rows * f64::from(m) * f64::from(n) * f64::from(output);
        let run = f64::from(design.k_mt) * f64::from(input);
        let read_a = dram.read_runs(rows * a, run);
        let read_b = match design.b_layout {
            BLayout::ColumnMajor => dram.read_runs(columns * b, run * b_share),
            BLayout::RowMajor => {
                dram.read_chunks(columns * b, whole(f64::from(n * input) * b_share), columns)
            }
        };
        let steps = steps as f64;
        let (bytes, port) = (read_a.bytes + read_b.bytes, read_a.port + read_b.port);
        let block = Demand { bytes: bytes * steps, port: port * steps };
        let written = dram.write_chunks(columns * c, n * output);
        let tiles_of_a = f64::from(device.a_tiles().into_iter().max().unwrap_or(0));
        let channel = |bytes: f64| {
            device.clock_mhz.time_of(cycles(bytes / f64::from(device.dma_bytes_per_cycle.get())))
        };
        let beside = |other: f64| {
            let read = dram.beside(block, other * written.bytes) / steps;
            let write = dram.beside(written, other * block.bytes);
            let load = read.max(channel(tiles_of_a * a)).max(channel(b));
            Self { load, write: write.max(channel(c)) }
        };
        ([1.0, 0.0].map(beside), [block.bytes, written.bytes])
    }
}

/// Bytes of a chunk.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a row of a tile; `as` saturates"
)]
fn whole(bytes: f64) -> u32 {
    bytes.round() as u32
}
