//! What is built: the PIM unit beside each bank, and the processor it is
//! compared with.

use std::num::NonZeroU32;
use std::sync::LazyLock;

use memscape_dram::Dram;
use memscape_study::{Filling, FreeParameter, Preset};
use memscape_units::{GbPerS, Nanoseconds, Tops};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The SIMD unit and registers beside each bank.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PimUnit {
    /// Registers per unit, for the input vector and the sums together
    pub registers: NonZeroU32,
    /// Width of one register
    pub register_bits: NonZeroU32,
    /// Registers that hold input-vector elements; fewer where the sums leave fewer
    pub input_registers: NonZeroU32,
    /// Width of one sum (the paper's `out_dform`)
    pub sum_bits: NonZeroU32,
    /// Column accesses of plain reads in the time of one PIM command
    #[schemars(range(min = 1.0, max = 1000.0))]
    pub command_ratio: f64,
    /// How sums in different SIMD lanes are brought together
    pub cross_lane: CrossLane,
    /// When rows may be opened after register writes
    pub row_after_write: RowAfterWrite,
    /// Time that the host adds to each switch from reading to writing, beyond the DRAM's own
    pub host_turnaround_ns: Nanoseconds,
    /// PIM commands per accumulator register to exchange the sums of one row-block for
    /// another's; 0 if a MAC command could name any register
    pub swap_commands: u32,
}

/// How the sums of one matrix row, spread over SIMD lanes, are added up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CrossLane {
    /// A shift command moves a register by one lane; each register is folded, then
    /// the registers are added.
    LaneShift,
    /// As `lane-shift`, but the registers are added first and one is folded.
    LaneShiftLast,
    /// A shift command moves a register by any number of lanes.
    AnyShift,
    /// A reduction tree in hardware: no commands.
    Tree,
}

/// When rows may be closed and opened after register writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RowAfterWrite {
    /// When the switch from writing to reading is over: overheads add up.
    InOrder,
    /// At once: opening a row hides the switch.
    Overlapped,
}

/// The processor that runs what PIM does not, and the baseline.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Soc {
    /// Peak compute rate for 8-bit operands; half of it for 16-bit, twice for 4-bit
    pub tops_8bit: Tops,
}

impl Soc {
    /// Time of a GEMV that reads `bytes` and computes `operations`: the slower of
    /// the two, at peak rates.
    ///
    /// # Panics
    /// If `bytes` is not finite or `element_bits` is 0.
    #[must_use]
    pub fn gemv_time(
        &self,
        operations: u64,
        element_bits: u64,
        bytes: f64,
        bandwidth: GbPerS,
    ) -> Nanoseconds {
        #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
        let compute_ns = operations as f64 / (self.tops_8bit.as_f64() * 1e3 * 8.0 / element_bits as f64);
        let memory_ns = bytes / bandwidth.as_f64();
        Nanoseconds::new(compute_ns.max(memory_ns)).expect("a quotient of finite positive numbers")
    }
}

/// A named machine: memory by name, PIM unit and processor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// Name of a DRAM preset.
    pub memory: String,
    /// Bytes in one interleaving unit.
    pub interleave_bytes: u64,
    /// The PIM unit of each bank.
    pub pim: toml::Table,
    /// The processor.
    pub soc: Soc,
}

/// `data/calibration/pimnast.toml`: all free parameters of this model.
pub const CALIBRATION: &str = include_str!("../../../data/calibration/pimnast.toml");

/// The free parameters of [`CALIBRATION`].
pub static FREE_PARAMETERS: LazyLock<Vec<FreeParameter>> = LazyLock::new(|| {
    FreeParameter::all_from_toml(CALIBRATION).expect("the built-in calibration is checked by tests")
});

static MACHINES: LazyLock<Vec<Preset<Machine>>> = LazyLock::new(|| {
    [include_str!("../../../data/hardware/pim/lpddr5x-7500-pim.toml")]
        .iter()
        .map(|it| Preset::from_toml(it).expect("the built-in machines are checked by tests"))
        .collect()
});

/// The machine of the paper.
pub const DEFAULT_MACHINE: &str = "lpddr5x-7500-pim";

/// Names of the built-in machines.
#[must_use]
pub fn machine_names() -> Vec<&'static str> {
    MACHINES.iter().map(|it| it.name.as_str()).collect()
}

/// A machine's parameters as a study holds them (`memory`, `interleave_bytes`,
/// `pim`, `soc`), free parameters included.
#[must_use]
pub fn find_machine(name: &str) -> Option<Filling> {
    let machine = MACHINES.iter().find(|it| it.name == name)?;
    let memory = Dram::find(&machine.parameters.memory).ok()?;
    Some(Filling::of(machine)?.with("memory", memory)?.calibrated(&FREE_PARAMETERS, "pimnast"))
}
