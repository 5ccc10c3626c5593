//! The parameters that take a description.

use memscape_study::Slot;
use memscape_workload::MODELS;

use crate::hardware::device::{DEFAULT_DEVICE, DEVICES};
use crate::mapping::designs::{DEFAULT_DESIGN, DESIGNS};

/// The NPU.
pub(super) fn device() -> Slot {
    Slot::part("device", &DEVICES, DEFAULT_DEVICE)
}

/// The NPU and what is chosen for it, as far as the study has it. It comes before
/// [`device`], which tries the same kernel on another NPU.
pub(super) fn design() -> Slot {
    Slot::whole("design", &DESIGNS, DEFAULT_DESIGN)
}

/// The language model.
pub(super) fn model() -> Slot {
    Slot::part("model", &MODELS, DEFAULT_MODEL)
}

/// The smaller of the paper's models.
pub(super) const DEFAULT_MODEL: &str = "llama-3.2-1b";
