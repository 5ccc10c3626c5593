//! The PIM unit beside each bank.

use std::num::NonZeroU32;

use memscape_study::Graded;
use memscape_units::Nanoseconds;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The SIMD unit and registers beside each bank.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PimUnit {
    /// Registers per unit, for the input vector and the sums together
    #[schemars(range(min = 1, max = 1024))]
    pub registers: NonZeroU32,
    /// Width of one register
    pub register_bits: NonZeroU32,
    /// Registers that hold input-vector elements; the sums must fit beside them
    pub input_registers: NonZeroU32,
    /// Width of one sum (the paper's `out_dform`)
    pub sum_bits: NonZeroU32,
    /// Column accesses of plain reads (`tCCD_S`) that the unit needs for one PIM command; it waits for
    /// the memory's `tCCD_L` in any case, as all bank groups are reached at once
    #[schemars(range(min = 1.0, max = 1000.0))]
    pub command_ratio: f64,
    /// How sums in different SIMD lanes are brought together
    pub cross_lane: CrossLane,
    /// When rows may be opened after register writes
    pub row_after_write: RowAfterWrite,
    /// Time that the host adds to each switch from reading to writing, beyond the DRAM's own
    #[schemars(range(min = 0.0, max = 1e6))]
    pub host_turnaround_ns: Nanoseconds,
    /// PIM commands per accumulator register to exchange the sums of one row-block for
    /// another's; 0 if a MAC command could name any register
    #[schemars(range(min = 0, max = 1000))]
    pub swap_commands: u32,
    /// What a multiply-accumulate takes for each bit of its weight, an operation on registers for each
    /// bit of a word; null where nothing is known of it
    #[serde(default)]
    pub mac_pj_per_bit: Option<Graded>,
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
