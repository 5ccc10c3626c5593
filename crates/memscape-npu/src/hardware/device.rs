//! What is built: the array, its memories and the DRAM behind it.

use std::collections::BTreeMap;
use std::fmt;
use std::num::{NonZeroU8, NonZeroU16, NonZeroU32};
use std::sync::LazyLock;

use memscape_study::{Filling, FreeParameter, Preset, PresetParameter};
use memscape_units::{Cycles, GbPerS, MeanBytes, Megahertz, Nanoseconds};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
    /// The DRAM as the array sees it
    pub dram: Dram,
}

/// The DRAM as the array sees it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dram {
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

/// Types of the inputs and of the output, as the paper names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Precision {
    /// 8-bit integers in, 8-bit out
    #[serde(rename = "int8-int8")]
    Int8Int8,
    /// 8-bit integers in, 16-bit out
    #[serde(rename = "int8-int16")]
    Int8Int16,
    /// 8-bit integers in, 32-bit sums out
    #[serde(rename = "int8-int32")]
    Int8Int32,
    /// bf16 in and out
    #[serde(rename = "bf16-bf16")]
    Bf16Bf16,
}

impl Precision {
    /// All of them, in the paper's order.
    pub const ALL: [Self; 4] = [Self::Int8Int8, Self::Int8Int16, Self::Int8Int32, Self::Bf16Bf16];

    /// The name, for example `int8-int16`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Int8Int8 => "int8-int8",
            Self::Int8Int16 => "int8-int16",
            Self::Int8Int32 => "int8-int32",
            Self::Bf16Bf16 => "bf16-bf16",
        }
    }

    /// Bytes of one element of A or B.
    #[must_use]
    pub const fn input_bytes(self) -> u32 {
        match self {
            Self::Int8Int8 | Self::Int8Int16 | Self::Int8Int32 => 1,
            Self::Bf16Bf16 => 2,
        }
    }

    /// Bytes of one element of C.
    #[must_use]
    pub const fn output_bytes(self) -> u32 {
        match self {
            Self::Int8Int8 => 1,
            Self::Int8Int16 | Self::Bf16Bf16 => 2,
            Self::Int8Int32 => 4,
        }
    }

    /// Whether sums are rounded to a narrower type on their way out.
    #[must_use]
    pub const fn rounds(self) -> bool {
        !matches!(self, Self::Int8Int32)
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A precision that a device has no matrix instruction for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the device has no matrix instruction for `{asked}`; it has {}", available(*.int8, *.bf16))]
pub struct NoInstruction {
    /// The precision asked for.
    pub asked: Precision,
    /// Whether it has one for 8-bit integers.
    pub int8: bool,
    /// Whether it has one for bf16.
    pub bf16: bool,
}

const fn available(int8: bool, bf16: bool) -> &'static str {
    match (int8, bf16) {
        (true, true) => "int8 and bf16",
        (true, false) => "int8",
        (false, true) => "bf16",
        (false, false) => "none; set `device.int8` or `device.bf16`",
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
        let per_cycle = f64::from(mmul.macs()) / f64::from(mmul.issue_cycles.get());
        self.tops(per_cycle)
    }

    /// Operations per second of the whole array if each core does so many
    /// multiply-accumulates per cycle.
    #[must_use]
    pub fn tops(&self, macs_per_cycle: f64) -> f64 {
        let cores = f64::from(self.rows.get()) * f64::from(self.columns.get());
        2.0 * macs_per_cycle * cores * self.clock_mhz.as_f64() * 1e-6
    }

    /// Time of so many cycles.
    #[must_use]
    pub fn ns(&self, cycles: f64) -> f64 {
        cycles * self.clock_mhz.period().as_f64()
    }
}

/// `data/calibration/npu-gemm.toml`: all free parameters of this model.
pub const CALIBRATION: &str = include_str!("../../../data/calibration/npu-gemm.toml");

/// The free parameters of [`CALIBRATION`].
pub static FREE_PARAMETERS: LazyLock<Vec<FreeParameter>> = LazyLock::new(|| {
    FreeParameter::all_from_toml(CALIBRATION).expect("the built-in calibration is checked by tests")
});

static DEVICES: LazyLock<Vec<(Preset<toml::Table>, Filling)>> = LazyLock::new(|| {
    [
        include_str!("../../../data/hardware/npu/xdna.toml"),
        include_str!("../../../data/hardware/npu/xdna2.toml"),
    ]
    .iter()
    .map(|it| {
        let preset = Preset::from_toml(it).expect("the built-in devices are checked by tests");
        let filling = filling(&preset);
        (preset, filling)
    })
    .collect()
});

/// The device of the paper's first tables.
pub const DEFAULT_DEVICE: &str = "xdna";

/// A description with the free parameters that the paper's claims fix.
fn filling(preset: &Preset<toml::Table>) -> Filling {
    let mut parameters = serde_json::json!({ "device": preset.parameters });
    let mut sources: BTreeMap<_, _> = preset.sources.clone();
    for free in FREE_PARAMETERS.iter().filter(|it| it.preset.as_ref().is_none_or(|it| *it == preset.name)) {
        if free.fill(&mut parameters) {
            let path = free.path.trim_start_matches("device.").to_owned();
            sources.insert(path, free.source("npu-gemm"));
        }
    }
    Filling { parameters: parameters["device"].take(), sources }
}

impl Device {
    /// Names of the built-in devices.
    #[must_use]
    pub fn names() -> Vec<&'static str> {
        DEVICES.iter().map(|it| it.0.name.as_str()).collect()
    }

    /// One line on each built-in device.
    #[must_use]
    pub fn summary(name: &str) -> Option<&'static str> {
        DEVICES.iter().find(|it| it.0.name == name).map(|it| it.0.summary.as_str())
    }

    /// A built-in device's parameters and their sources, free parameters included.
    #[must_use]
    pub fn filling(name: &str) -> Option<Filling> {
        DEVICES.iter().find(|it| it.0.name == name).map(|it| it.1.clone())
    }

    /// The built-in device of this name.
    ///
    /// # Panics
    /// Never: the built-in devices are checked by tests.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        let parameters = Self::filling(name)?.parameters;
        Some(serde_json::from_value(parameters).expect("the built-in devices are checked by tests"))
    }

    /// The parameter that names a device in every study of this crate.
    pub(crate) fn preset() -> PresetParameter {
        PresetParameter {
            name: "device",
            meaning: "NPU that fills `device.*`, by name",
            fills: "device",
            default: DEFAULT_DEVICE,
            names: Self::names,
            find: Self::filling,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_devices_read_and_have_the_papers_peaks() {
        let peaks: Vec<_> = Device::names()
            .into_iter()
            .map(|it| {
                let device = Device::find(it).unwrap();
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
    fn a_tiles_alternate_over_eight_columns() {
        let device = Device::find("xdna2").unwrap();
        assert_eq!(device.a_tiles()[..9], [1, 0, 1, 0, 1, 0, 1, 0, 0]);
    }

    #[test]
    fn a_missing_instruction_is_told() {
        let device = Device { bf16: None, ..Device::find("xdna").unwrap() };
        let error = device.mmul(Precision::Bf16Bf16).unwrap_err();
        assert_eq!(error.to_string(), "the device has no matrix instruction for `bf16-bf16`; it has int8");
    }
}
