//! What is built: the array, its memories and the DRAM behind it.

use std::num::{NonZeroU8, NonZeroU16, NonZeroU32};

use memscape_study::{Calibration, Catalog};
use memscape_units::{Bytes, Cycles, GbPerS, MeanBytes, Megahertz, Nanoseconds};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hardware::precision::{NoInstruction, Precision};

/// An NPU: an array of compute tiles over a row of memory tiles (L2) and a row of
/// interface tiles to DRAM.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// Rows of compute tiles that work
    pub rows: NonZeroU8,
    /// Columns of compute tiles that work, each with one memory and one interface tile
    pub columns: NonZeroU8,
    /// Columns from one memory tile that holds tiles of A to the next
    pub a_column_stride: NonZeroU8,
    /// Clock of the array
    pub clock_mhz: Megahertz,
    /// Memory of one compute tile
    pub l1_bytes: NonZeroU32,
    /// Part of it that is the core's stack
    pub stack_bytes: u32,
    /// Memory of one memory tile
    pub l2_bytes: NonZeroU32,
    /// Width of one DMA channel
    pub dma_bytes_per_cycle: NonZeroU32,
    /// Width of one load or store port of a core
    pub port_bytes_per_cycle: NonZeroU32,
    /// Matrix instruction for 8-bit integers, if the device has one
    pub int8: Option<Mmul>,
    /// Matrix instruction for bf16, if the device has one
    pub bf16: Option<Mmul>,
    /// Software pipeline of a register block, from its first load to the rounding of its last
    /// result, of which one reduction step is overlapped
    pub pipeline_cycles: Cycles,
    /// Buffer descriptors of one interface tile
    pub shim_bds: NonZeroU8,
    /// Serial work of the command processor for one buffer descriptor
    pub bd_cycles: Cycles,
    /// Dimensions of an address pattern in an interface tile's DMA
    pub shim_address_dims: NonZeroU32,
    /// Dimensions of an address pattern in a memory tile's DMA
    pub memory_address_dims: NonZeroU32,
    /// Dimensions of an address pattern in a compute tile's DMA
    pub compute_address_dims: NonZeroU32,
    /// Granularity of DMA addresses
    pub address_bytes: NonZeroU32,
    /// Operating system, runtime and dispatch of one GEMM, by the host's clock
    pub dispatch_ns: Nanoseconds,
    /// Loading another design onto the array
    pub reconfiguration_ns: Nanoseconds,
    /// The path from DRAM to the array
    pub dram: DramPath,
}

/// The path from DRAM to the array, as the array sees it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DramPath {
    /// Bandwidth that the array reads with when runs are long; writes have the same of their own
    pub read_gb_s: GbPerS,
    /// Contiguous run from which reads are bound by bandwidth rather than by the rate of runs
    pub run_bytes: MeanBytes,
    /// Unit of access
    pub line_bytes: NonZeroU16,
}

/// A matrix instruction and the block of them that a kernel keeps in registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mmul {
    /// Rows of the product
    pub r: NonZeroU8,
    /// Length of the reduction
    pub s: NonZeroU8,
    /// Columns of the product
    pub t: NonZeroU8,
    /// Products in a column of the register block
    pub block_rows: NonZeroU8,
    /// Products in a row of the register block
    pub block_columns: NonZeroU8,
    /// Issue slots of one product
    pub issue_cycles: NonZeroU8,
}

impl Mmul {
    /// Multiply-accumulates of one instruction.
    #[must_use]
    pub const fn macs(&self) -> u32 {
        self.r.get() as u32 * self.s.get() as u32 * self.t.get() as u32
    }

    /// Multiply-accumulates per cycle if nothing but products took time.
    #[must_use]
    pub fn macs_per_cycle(&self) -> f64 {
        f64::from(self.macs()) / f64::from(self.issue_cycles.get())
    }

    /// Rows of C that a register block covers: `m_ct` is a multiple.
    #[must_use]
    pub const fn block_m(&self) -> u32 {
        self.r.get() as u32 * self.block_rows.get() as u32
    }

    /// Columns of C that a register block covers: `n_ct` is a multiple.
    #[must_use]
    pub const fn block_n(&self) -> u32 {
        self.t.get() as u32 * self.block_columns.get() as u32
    }

    /// Cycles that a register block takes for `s` steps of the reduction.
    #[must_use]
    pub const fn step_cycles(&self) -> u32 {
        self.block_rows.get() as u32 * self.block_columns.get() as u32 * self.issue_cycles.get() as u32
    }
}

impl Device {
    /// The matrix instruction for a precision.
    ///
    /// # Errors
    /// [`NoInstruction`] if the device has none.
    pub fn mmul(&self, precision: Precision) -> Result<Mmul, NoInstruction> {
        let found = match precision {
            Precision::Int8Int8 | Precision::Int8Int16 | Precision::Int8Int32 => self.int8,
            Precision::Bf16Bf16 => self.bf16,
        };
        let (int8, bf16) = (self.int8.is_some(), self.bf16.is_some());
        found.ok_or(NoInstruction { asked: precision, int8, bf16 })
    }

    /// Tiles of A that each memory tile holds, for all columns that there are: row
    /// `i`'s lies in column `i * a_column_stride`, round and round.
    #[must_use]
    pub fn a_tiles(&self) -> [u8; u8::MAX as usize] {
        let mut tiles = [0; u8::MAX as usize];
        let (stride, columns) = (usize::from(self.a_column_stride.get()), usize::from(self.columns.get()));
        for row in 0..usize::from(self.rows.get()) {
            tiles[row * stride % columns] += 1;
        }
        tiles
    }

    /// Columns whose interface tiles stream A.
    #[must_use]
    pub fn a_columns(&self) -> usize {
        self.a_tiles().iter().filter(|it| **it > 0).count()
    }

    /// Operations per second of the whole array at its clock.
    #[must_use]
    pub fn peak_tops(&self, mmul: &Mmul) -> f64 {
        self.tops(mmul.macs_per_cycle())
    }

    /// Operations per second of the whole array if each core does so many
    /// multiply-accumulates per cycle.
    #[must_use]
    pub fn tops(&self, macs_per_cycle: f64) -> f64 {
        let cores = f64::from(self.rows.get()) * f64::from(self.columns.get());
        2.0 * macs_per_cycle * cores * self.clock_mhz.as_f64() * 1e-6
    }

    /// Whether the numbers can describe one device.
    fn check(&self) -> Result<(), String> {
        let (stack, l1) = (self.stack_bytes, self.l1_bytes.get());
        if self.int8.is_none() && self.bf16.is_none() {
            Err("the device has no matrix instruction; give `int8` or `bf16`".to_owned())
        } else if l1 <= stack {
            Err(format!(
                "`stack_bytes` is {stack}, which leaves nothing of `l1_bytes` = {l1}; use a smaller stack"
            ))
        } else {
            Ok(())
        }
    }
}

impl DramPath {
    /// The time to read so many bytes in long runs of this length: shorter ones than
    /// `run_bytes` take as long as these.
    #[must_use]
    pub fn read_runs(&self, bytes: Bytes, run: f64) -> Nanoseconds {
        self.long_runs(run).time_of(bytes)
    }

    /// The time to read so many bytes in chunks that `columns` interface tiles take side
    /// by side: together they make a long run, but each fetches whole lines.
    #[must_use]
    pub fn read_chunks(&self, bytes: Bytes, chunk: u32, columns: f64) -> Nanoseconds {
        let rate = self.long_runs(f64::from(chunk) * columns);
        rate.useful(self.line_efficiency(chunk)).time_of(bytes)
    }

    /// The time to write so many bytes in chunks.
    #[must_use]
    pub fn write_chunks(&self, bytes: Bytes, chunk: u32) -> Nanoseconds {
        self.read_gb_s.useful(self.line_efficiency(chunk)).time_of(bytes)
    }

    fn long_runs(&self, run: f64) -> GbPerS {
        self.read_gb_s.useful((run / self.run_bytes.as_f64()).min(1.0))
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

/// `data/calibration/npu-gemm.toml`: all free parameters of this model.
pub static CALIBRATION: Calibration =
    Calibration::new("npu-gemm", include_str!("../../../../data/calibration/npu-gemm.toml"));

/// The built-in devices: those of `data/hardware/npu/`.
///
/// ```
/// use memscape_npu::DEVICES;
/// assert_eq!(DEVICES.get("xdna2").columns.get(), 8);
/// let error = DEVICES.find("xdna3").unwrap_err();
/// assert_eq!(error.to_string(), "there is no npu `xdna3`; did you mean `xdna2`?");
/// ```
pub static DEVICES: Catalog<Device> = Catalog::new(
    "npu",
    "NPUs: an array of cores, its memories and its path to DRAM",
    &[
        include_str!("../../../../data/hardware/npu/xdna.toml"),
        include_str!("../../../../data/hardware/npu/xdna2.toml"),
    ],
)
.calibrated(&CALIBRATION, "device")
.checked_by(Device::check);

/// The device of the paper's first tables.
pub const DEFAULT_DEVICE: &str = "xdna";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_devices_read_and_have_the_papers_peaks() {
        let peaks: Vec<_> = DEVICES
            .all()
            .iter()
            .map(|it| {
                let device = it.parameters;
                let peak = |it| device.peak_tops(&device.mmul(it).unwrap());
                (
                    device.a_columns(),
                    [peak(Precision::Int8Int8), peak(Precision::Bf16Bf16)].map(|it| (it * 100.0).round()),
                )
            })
            .collect();
        assert_eq!(peaks, [(4, [819.0, 410.0]), (4, [5898.0, 1966.0])]);
    }

    #[test]
    fn every_free_parameter_is_filled_and_says_so() {
        let xdna = DEVICES.find("xdna").unwrap();
        assert!(xdna.source("dram.read_gb_s").unwrap().starts_with("calibrated: "));
        assert!(DEVICES.find("xdna2").unwrap().source("dram.read_gb_s").unwrap().contains("Sec. 5.2.1"));
        assert!(DEVICES.all().iter().all(|it| it.source("dispatch_ns").unwrap().starts_with("calibrated: ")));
    }

    #[test]
    fn a_tiles_alternate_over_eight_columns() {
        assert_eq!(DEVICES.get("xdna2").a_tiles()[..9], [1, 0, 1, 0, 1, 0, 1, 0, 0]);
    }

    #[test]
    fn what_no_device_can_be_is_told() {
        let device = Device { bf16: None, ..*DEVICES.get("xdna") };
        let error = device.mmul(Precision::Bf16Bf16).unwrap_err();
        assert_eq!(error.to_string(), "the device has no matrix instruction for `bf16-bf16`; it has int8");
        let none = Device { int8: None, ..device };
        assert_eq!(none.check().unwrap_err(), "the device has no matrix instruction; give `int8` or `bf16`");
        let full = Device { stack_bytes: 65_536, ..device };
        let text = "`stack_bytes` is 65536, which leaves nothing of `l1_bytes` = 65536; use a smaller stack";
        assert_eq!(full.check().unwrap_err(), text);
    }

    #[test]
    fn chunks_that_end_inside_lines_waste_them() {
        let dram = DEVICES.get("xdna").dram;
        for (chunk, share) in [(112, 0.7), (144, 0.75), (96, 0.75), (192, 1.0), (64, 1.0)] {
            assert!((dram.line_efficiency(chunk) - share).abs() < 1e-12, "{chunk}");
        }
    }
}
