//! What is built: the array, its memories and the DRAM behind it.

use std::num::{NonZeroU8, NonZeroU32};

use memscape_study::{Calibration, Catalog};
use memscape_units::{Cycles, Megahertz, Nanoseconds};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hardware::dram::DramPath;
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
    #[schemars(range(min = 1, max = MOST_L1_BYTES))]
    pub l1_bytes: NonZeroU32,
    /// One bank of it: a port waits while another has the bank
    pub l1_bank_bytes: NonZeroU32,
    /// Part of it that is the core's stack
    pub stack_bytes: u32,
    /// Memory of one memory tile
    pub l2_bytes: NonZeroU32,
    /// Width of one DMA channel
    pub dma_bytes_per_cycle: NonZeroU32,
    /// Width of one load or store port of a core
    pub port_bytes_per_cycle: NonZeroU32,
    /// Accumulator registers of a core, which hold the sums of a register block
    pub accumulator_bytes: NonZeroU32,
    /// Matrix instruction for 8-bit integers, if the device has one
    pub int8: Option<Mmul>,
    /// Matrix instruction for bf16, if the device has one
    pub bf16: Option<Mmul>,
    /// Software pipeline of a register block, from its first load to the rounding of its last
    /// result, of which one reduction step is overlapped
    #[schemars(range(min = 0.0, max = 1e6))]
    pub pipeline_cycles: Cycles,
    /// DMA channels of a memory tile, each way
    pub memory_channels: NonZeroU8,
    /// Buffer descriptors of one interface tile
    pub shim_bds: NonZeroU8,
    /// Serial work of the command processor for one buffer descriptor
    #[schemars(range(min = 0.0, max = 1e6))]
    pub bd_cycles: Cycles,
    /// Operating system, runtime and dispatch of one GEMM, by the host's clock
    pub dispatch_ns: Nanoseconds,
    /// Loading another design onto the array
    pub reconfiguration_ns: Nanoseconds,
    /// The path from DRAM to the array
    pub dram: DramPath,
}

/// The largest `l1_bytes`.
pub(crate) const MOST_L1_BYTES: u32 = 2_097_152;

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
    /// Conversions of one operand's tile to the type that the instruction takes, 0 if it takes the
    /// operand as it is; they issue beside products, one a cycle
    pub conversions: u8,
}

impl Mmul {
    /// Multiply-accumulates of one instruction.
    #[must_use]
    pub const fn macs(&self) -> u32 {
        self.r.get() as u32 * self.s.get() as u32 * self.t.get() as u32
    }

    /// Multiply-accumulates per cycle if nothing but products and conversions took time.
    #[must_use]
    pub fn macs_per_cycle(&self) -> f64 {
        f64::from(self.macs()) * f64::from(self.products()) / f64::from(self.step_cycles())
    }

    /// Products of a register block in one step of the reduction.
    const fn products(self) -> u32 {
        self.block_rows.get() as u32 * self.block_columns.get() as u32
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

    /// Accumulators of a register block: sums are 32 bits wide, of integers and of floats.
    #[must_use]
    pub const fn accumulator_bytes(&self) -> u64 {
        4 * self.block_m() as u64 * self.block_n() as u64
    }

    /// What makes accumulators of so many bytes hold the block of an instruction: more of them, or fewer products where
    /// one would fit.
    fn room_for_sums(self, instruction: &str, have: u64) -> String {
        let asked = self.accumulator_bytes();
        let one =
            Self { block_rows: NonZeroU8::MIN, block_columns: NonZeroU8::MIN, ..self }.accumulator_bytes();
        let more = u32::try_from(asked).map(|it| format!("`device.accumulator_bytes` = {it} at least"));
        let fewer = (have >= one).then(|| {
            format!(
                "`device.{instruction}.block_rows` times `device.{instruction}.block_columns` = {} at most",
                have / one
            )
        });
        let smaller = || format!("a smaller `device.{instruction}.r` or `device.{instruction}.t`");
        match (more, fewer) {
            (Ok(more), Some(fewer)) => format!("{more}, or {fewer}"),
            (Ok(only), None) | (Err(_), Some(only)) => only,
            (Err(_), None) => smaller(),
        }
    }

    /// Cycles that a register block takes for one step of the reduction: its products,
    /// or the conversions of the operands of all its rows and columns.
    #[must_use]
    pub fn step_cycles(&self) -> u32 {
        let operands = u32::from(self.block_rows.get()) + u32::from(self.block_columns.get());
        self.products().max(u32::from(self.conversions) * operands)
    }
}

/// Why a core cannot multiply in a precision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MmulError {
    /// It lacks the instruction.
    #[error(transparent)]
    Instruction(#[from] NoInstruction),
    /// A register block that its accumulators do not hold.
    #[error(
        "a register block of {} x {} products needs {asked} bytes of accumulators for its sums, but a core has \
         {have}; use {}",
        mmul.block_rows, mmul.block_columns, mmul.room_for_sums(precision.instruction(), *have)
    )]
    Registers {
        /// What asks for it.
        precision: Precision,
        /// The instruction and its block.
        mmul: Mmul,
        /// What the block needs.
        asked: u64,
        /// What there is.
        have: u64,
    },
}

impl Device {
    /// The matrix instruction for a precision.
    ///
    /// # Errors
    /// [`MmulError`] if the device has none, or its registers do not hold the block.
    pub fn mmul(&self, precision: Precision) -> Result<Mmul, MmulError> {
        let found = match precision {
            Precision::Int8Int8 | Precision::Int8Int16 | Precision::Int8Int32 => self.int8,
            Precision::Bf16Bf16 => self.bf16,
        };
        let (int8, bf16) = (self.int8.is_some(), self.bf16.is_some());
        let mmul = found.ok_or(NoInstruction { asked: precision, int8, bf16 })?;
        let asked = mmul.accumulator_bytes();
        let have = self.accumulator_bytes.get().into();
        if asked > have {
            return Err(MmulError::Registers { precision, mmul, asked, have });
        }
        Ok(mmul)
    }

    /// What streams from DRAM into the array, in GB/s: through its port, and through the interface tiles, each
    /// of which has a channel for what its column has of A and one for B.
    #[must_use]
    pub fn stream_gb_s(&self) -> f64 {
        self.dram.port_gb_s().min(self.channels_gb_s())
    }

    /// What the channels of the interface tiles take in, in GB/s.
    #[must_use]
    pub fn channels_gb_s(&self) -> f64 {
        const CHANNELS: f64 = 2.0;
        let wide = f64::from(self.columns.get()) * CHANNELS * f64::from(self.dma_bytes_per_cycle.get());
        wide * self.clock_mhz.as_f64() * 1e-3
    }

    /// Share of a core's accumulators that a register block takes.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "at most 2^34 bytes")]
    pub fn accumulator_share(&self, mmul: &Mmul) -> f64 {
        mmul.accumulator_bytes() as f64 / f64::from(self.accumulator_bytes.get())
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

    /// Buffer descriptors that a block of C takes in the interface tile that has most: one for each tile of A that it
    /// streams, and one each for B and C. Rows of two tiles are no pattern that a descriptor holds, where other
    /// columns' lie between them.
    ///
    /// # Source
    /// Sec. 4.4: each descriptor of A is one transfer of `m_ct` rows, all along K.
    #[must_use]
    pub fn block_descriptors(&self) -> u32 {
        u32::from(self.a_tiles().into_iter().max().unwrap_or(0)) + 2
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
                    device.block_descriptors(),
                    [peak(Precision::Int8Int8), peak(Precision::Bf16Bf16)].map(|it| (it * 100.0).round()),
                )
            })
            .collect();
        assert_eq!(peaks, [(3, [819.0, 410.0]), (3, [5898.0, 1966.0])]);
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
}
