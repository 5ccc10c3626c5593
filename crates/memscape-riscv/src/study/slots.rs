//! The parameters that take a description.

use memscape_dram::MEMORIES;
use memscape_study::Slot;

use crate::hardware::{DEFAULT_MACHINE, DEFAULT_MEMORY, MACHINES};

/// The processor, its memory and its runtime, as far as the study has them.
pub(super) fn hardware() -> Slot {
    Slot::whole("hardware", &MACHINES, DEFAULT_MACHINE)
}

/// The DRAM behind its nodes.
pub(super) fn memory() -> Slot {
    Slot::part("memory", &MEMORIES, DEFAULT_MEMORY)
}
