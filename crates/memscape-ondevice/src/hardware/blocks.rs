//! The PIM blocks of a memory.

use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The PIM blocks of the memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PimBlocks {
    /// Registers per PIM block that hold inputs, one burst each
    pub input_registers: NonZeroU32,
    /// Registers per PIM block that hold sums, one burst each; sums of narrow elements have 16 bits and fill
    /// several
    pub output_registers: NonZeroU32,
    /// Banks that share one PIM block: 1 or 2 in Sec. 2.2 of the paper
    pub banks_per_block: NonZeroU32,
}
