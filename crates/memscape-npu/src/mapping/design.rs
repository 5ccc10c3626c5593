//! A GEMM on the whole array: how it is cut, what lies where, and how long each
//! step takes.
//!
//! C is cut into blocks of `m_ct * rows` by `n_ct * columns`, one tile per core; a
//! block stays in L1 while `k_mt` columns of A and rows of B after the other pass
//! through the memory tiles. One step brings `k_mt` of the reduction to the whole
//! array.

use memscape_units::{Bytes, Picoseconds};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::device::{Device, Precision};
use crate::kernel::{Kernel, KernelError, L1Rule, L1Use, OutputBuffers, Tile, check_l1};

/// How B lies in DRAM. A and C are row-major.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BLayout {
    /// Column by column: runs of `k_mt` elements.
    ColumnMajor,
    /// Row by row: runs of `n_ct` elements.
    RowMajor,
}

/// When the command processor rewrites buffer descriptors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BdReconfiguration {
    /// As soon as a block of C is written, while others are under way (Sec. 4.4).
    Overlapped,
    /// When all submitted blocks are written, and nothing else happens meanwhile.
    Sequential,
}

/// Whether reading and writing DRAM share one bandwidth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DramSharing {
    /// Each has its own: C leaves while A and B come.
    Duplex,
    /// They share one, as Eq. 10 adds them up.
    Shared,
}

/// What is chosen for an array, beside the size of the GEMM.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Design {
    /// Types.
    pub precision: Precision,
    /// What a core multiplies at once.
    pub tile: Tile,
    /// Length of the reduction that memory tiles hold at once, a multiple of `k_ct`.
    pub k_mt: u32,
    /// How B lies in DRAM.
    pub b_layout: BLayout,
    /// Buffers of C in L1.
    pub output_buffers: OutputBuffers,
    /// Whether buffers may fill L1 to the last byte.
    pub l1_rule: L1Rule,
    /// When buffer descriptors are rewritten.
    pub bd_reconfiguration: BdReconfiguration,
    /// Blocks of C submitted ahead: descriptors of each matrix in an interface tile.
    pub bds_in_flight: u32,
    /// Whether reading and writing share one bandwidth.
    pub dram_sharing: DramSharing,
    /// Throughput of one core as measured, instead of the kernel model's.
    pub measured_macs_per_cycle: Option<f64>,
}

/// What memory tiles hold, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct L2Use {
    /// Both buffers of one row's A.
    pub a: u64,
    /// Both buffers of one column's B.
    pub b: u64,
    /// One column's block of C.
    pub c: u64,
    /// All memory tiles together.
    pub total: u64,
    /// A's part of the memory tile that holds most of it.
    pub fullest_a: u64,
    /// The fullest memory tile.
    pub fullest: u64,
    /// The fullest pair of neighbours, which may share; the fullest tile if there is
    /// only one.
    pub fullest_pair: u64,
}

/// Why a design cannot be built.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DesignError {
    /// The kernel.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// A step that is no whole number of calls.
    #[error(
        "`k_mt` is {k_mt}, which is not a multiple of `k_ct` = {k_ct}; use {}{}",
        k_mt / k_ct * k_ct + k_ct,
        if k_mt > k_ct { format!(" or {}", k_mt / k_ct * k_ct) } else { String::new() }
    )]
    KMt {
        /// As given.
        k_mt: u32,
        /// The kernel's reduction.
        k_ct: u32,
    },
    /// Memory tiles are too small, even if neighbours share.
    #[error(
        "`k_mt` = {k_mt} needs {} in the fullest memory tile ({} for A and {} for B, two buffers each, {} for \
         C){}, but it holds {have}; use a `k_mt` of at most {largest_k_mt} or a smaller tile",
        Bytes(r#use.fullest), Bytes(r#use.fullest_a), Bytes(r#use.b), Bytes(r#use.c),
        if r#use.fullest_pair == r#use.fullest { String::new() }
        else { format!(" and {} with its neighbour", Bytes(r#use.fullest_pair)) }
    )]
    L2 {
        /// As given.
        k_mt: u32,
        /// What it needs.
        r#use: L2Use,
        /// What one memory tile holds.
        have: Bytes,
        /// The longest step that fits, 0 if none.
        largest_k_mt: u32,
    },
    /// More descriptors than an interface tile has.
    #[error(
        "`bds_in_flight` is {asked}: with {asked} descriptors each for A, B and C an interface tile needs {}, \
         but it has {have}; use 1 to {}",
        3 * u64::from(*asked), have / 3
    )]
    Descriptors {
        /// As given.
        asked: u32,
        /// Descriptors of an interface tile.
        have: u32,
    },
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
        "a GEMM of {m} x {k} x {n} takes longer than simulated clocks can follow (a day); use a smaller one"
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

/// The largest dimension of a GEMM.
pub const MAX_SIZE: u64 = 1 << 32;

/// The longest time that is followed.
const MAX_PS: f64 = 86_400.0 * 1e12;

impl Design {
    /// The native size: what the whole array takes in one step.
    #[must_use]
    pub fn native(&self, device: &Device) -> [u64; 3] {
        [
            u64::from(self.tile.m) * u64::from(device.rows.get()),
            self.k_mt.into(),
            u64::from(self.tile.n) * u64::from(device.columns.get()),
        ]
    }

    /// What memory tiles hold (Sec. 4.2.2).
    #[must_use]
    pub fn l2(&self, device: &Device) -> L2Use {
        let input = u64::from(self.precision.input_bytes());
        let b_depth = match self.b_layout {
            BLayout::ColumnMajor => self.k_mt,
            BLayout::RowMajor => self.tile.k,
        };
        // L1 holds the tile, which bounds all but `k_mt`.
        let Tile { m, n, .. } = self.tile;
        let a = 2 * u64::from(m) * u64::from(self.k_mt) * input;
        let b = 2 * u64::from(b_depth) * u64::from(n) * input;
        let outputs = u64::from(device.rows.get()) * self.tile.outputs();
        let c = outputs * u64::from(self.precision.output_bytes());
        let tiles = device.a_tiles();
        let columns = usize::from(device.columns.get());
        let held = |column: usize| u64::from(tiles[column]) * a + b + c;
        let fullest = (0..columns).map(held).max().unwrap_or(0);
        let fullest_pair = (1..columns).map(|it| held(it - 1) + held(it)).max().unwrap_or(fullest);
        let total = u64::from(device.rows.get()) * a + u64::from(device.columns.get()) * (b + c);
        let fullest_a = u64::from(tiles.into_iter().max().unwrap_or(0)) * a;
        L2Use { a, b, c, total, fullest_a, fullest, fullest_pair }
    }

    /// Checks tile, step and memories.
    ///
    /// # Errors
    /// [`DesignError`] prints the budget.
    pub fn check(&self, device: &Device) -> Result<(Kernel, L1Use, L2Use), DesignError> {
        let kernel = Kernel::new(device, self.precision, self.tile)?;
        let l1 = check_l1(device, self.precision, self.tile, self.output_buffers, self.l1_rule)?;
        if self.k_mt == 0 || !self.k_mt.is_multiple_of(self.tile.k) {
            return Err(DesignError::KMt { k_mt: self.k_mt, k_ct: self.tile.k });
        }
        let l2 = self.l2(device);
        if !l2.fits(device) {
            let steps = (1..self.k_mt / self.tile.k).rev().map(|it| it * self.tile.k);
            let fitting = steps.into_iter().find(|it| Self { k_mt: *it, ..*self }.l2(device).fits(device));
            return Err(DesignError::L2 {
                k_mt: self.k_mt,
                r#use: l2,
                have: Bytes(device.l2_bytes.get().into()),
                largest_k_mt: fitting.unwrap_or(0),
            });
        }
        let (asked, have) = (self.bds_in_flight, u32::from(device.shim_bds.get()));
        if asked == 0 || u64::from(asked) * 3 > u64::from(have) {
            return Err(DesignError::Descriptors { asked, have });
        }
        Ok((kernel, l1, l2))
    }
}

impl L2Use {
    /// Whether memory tiles hold it, neighbours sharing.
    #[must_use]
    pub fn fits(&self, device: &Device) -> bool {
        let have = u64::from(device.l2_bytes.get());
        let pair = if device.columns.get() == 1 { have } else { 2 * have };
        (self.fullest <= have || device.columns.get() > 1)
            && self.fullest_pair <= pair
            && self.total <= have * u64::from(device.columns.get())
    }

    /// Whether a memory tile needs part of its neighbour.
    #[must_use]
    pub fn shares(&self, device: &Device) -> bool {
        self.fullest > device.l2_bytes.get().into()
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
}

/// A GEMM cut for an array: how many steps, and how long each takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Schedule {
    /// Blocks of C.
    pub blocks: u64,
    /// Steps of the reduction per block.
    pub steps: u64,
    /// Bringing one step's A and B from DRAM.
    pub load: Picoseconds,
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
    /// Writing one block of C to DRAM.
    pub write: Picoseconds,
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

impl Schedule {
    /// Cuts an `m x k x n` GEMM, padded to the native size.
    ///
    /// # Errors
    /// [`DesignError::Size`] or [`DesignError::TooLong`].
    #[expect(clippy::cast_precision_loss, reason = "sizes are limited to 2^32")]
    pub fn new(
        device: &Device,
        design: &Design,
        kernel: &Kernel,
        size: [u64; 3],
    ) -> Result<Self, DesignError> {
        for (dimension, given) in ["m", "k", "n"].into_iter().zip(size) {
            if given == 0 || given > MAX_SIZE {
                return Err(DesignError::Size { dimension, given });
            }
        }
        let native = design.native(device);
        let [blocks_m, steps, blocks_n] = [0, 1, 2].map(|it| size[it].div_ceil(native[it]));
        let blocks = blocks_m * blocks_n;

        let [rows, columns] = [device.rows.get(), device.columns.get()].map(f64::from);
        let [m, k, n] = [design.tile.m, design.tile.k, design.tile.n].map(f64::from);
        let (input, output) =
            (f64::from(design.precision.input_bytes()), f64::from(design.precision.output_bytes()));
        let k_mt = f64::from(design.k_mt);
        let dma = f64::from(device.dma_bytes_per_cycle.get());
        let calls = k_mt / k;
        let per_call = design.measured_macs_per_cycle.map_or_else(|| kernel.cycles(), |it| m * k * n / it);

        let dram = &device.dram;
        let read_ns = rows * m * k_mt * input / dram.long_run_gb_s(k_mt * input)
            + columns * k_mt * n * input
                / match design.b_layout {
                    BLayout::ColumnMajor => dram.long_run_gb_s(k_mt * input),
                    BLayout::RowMajor => {
                        dram.chunked_gb_s(design.tile.n * design.precision.input_bytes(), columns)
                    }
                };
        let chunk = design.tile.n * design.precision.output_bytes();
        let write_ns =
            rows * m * columns * n * output / (dram.read_gb_s.as_f64() * dram.line_efficiency(chunk));
        let (load_ns, write_after_ns) = match design.dram_sharing {
            DramSharing::Duplex => (read_ns, write_ns),
            // Spread over the steps that compete with it.
            DramSharing::Shared => (read_ns + write_ns / steps as f64, write_ns),
        };
        let descriptors = 2.0 * columns + device.a_columns() as f64;
        let ps = |ns: f64| picoseconds(ns);
        let cycles = |cycles: f64| picoseconds(device.ns(cycles));
        let schedule = Self {
            blocks,
            steps,
            load: ps(load_ns),
            compute: cycles(calls * per_call),
            call: cycles(per_call),
            fill: cycles(m.max(n) * k * input / dma),
            drain: cycles(m * n * output / dma),
            zero: cycles(m * n * output / f64::from(device.port_bytes_per_cycle.get())),
            write: ps(write_after_ns),
            descriptors: cycles(descriptors * device.bd_cycles.as_f64()),
            dispatch: device.dispatch_ns.to_picoseconds(),
            depth: design.bds_in_flight.into(),
            output_buffers: design.output_buffers,
            bd_reconfiguration: design.bd_reconfiguration,
        };
        let block =
            [schedule.load, schedule.compute, schedule.fill].iter().map(|it| it.0 as f64).sum::<f64>()
                * steps as f64
                + [schedule.drain, schedule.zero, schedule.write, schedule.descriptors]
                    .iter()
                    .map(|it| it.0 as f64)
                    .sum::<f64>();
        if block * blocks as f64 > MAX_PS {
            let [m, k, n] = size;
            return Err(DesignError::TooLong { m, k, n });
        }
        Ok(schedule)
    }

    /// What takes longest per block of C.
    #[must_use]
    pub fn bottleneck(&self) -> Bottleneck {
        let candidates = [
            (Bottleneck::Compute, self.compute * self.steps + self.stall()),
            (Bottleneck::DramRead, self.load * self.steps),
            (Bottleneck::DramWrite, self.drain + self.write),
            (Bottleneck::Commands, self.descriptors),
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

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "never negative; `as` saturates")]
fn picoseconds(ns: f64) -> Picoseconds {
    Picoseconds((ns * 1e3).round() as u64)
}

impl crate::device::Dram {
    /// Bandwidth of reading runs of so many bytes: shorter runs take as long as
    /// `run_bytes`.
    fn long_run_gb_s(&self, run: f64) -> f64 {
        self.read_gb_s.as_f64() * (run / self.run_bytes.as_f64()).min(1.0)
    }

    /// Bandwidth of reading chunks that `columns` interface tiles take side by side:
    /// together they make a long run, but each fetches whole lines.
    fn chunked_gb_s(&self, chunk: u32, columns: f64) -> f64 {
        self.long_run_gb_s(f64::from(chunk) * columns) * self.line_efficiency(chunk)
    }

    /// Useful share of the lines that a chunk touches, averaged over where chunks of
    /// its size can start.
    #[must_use]
    pub fn line_efficiency(&self, chunk: u32) -> f64 {
        let line = u32::from(self.line_bytes.get());
        let step = greatest_common_divisor(chunk, line);
        let starts = line / step;
        let touched: u64 =
            (0..starts).map(|it| (u64::from(it * step) + u64::from(chunk)).div_ceil(line.into())).sum();
        #[expect(clippy::cast_precision_loss, reason = "a few lines")]
        let lines = touched as f64 / f64::from(starts);
        f64::from(chunk) / (f64::from(line) * lines)
    }
}

const fn greatest_common_divisor(mut a: u32, mut b: u32) -> u32 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_that_end_inside_lines_waste_them() {
        let dram = Device::find("xdna").unwrap().dram;
        for (chunk, share) in [(112, 0.7), (144, 0.75), (96, 0.75), (192, 1.0), (64, 1.0)] {
            assert!((dram.line_efficiency(chunk) - share).abs() < 1e-12, "{chunk}");
        }
    }
}
