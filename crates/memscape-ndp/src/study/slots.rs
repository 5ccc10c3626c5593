//! The parameters that take a description.

use memscape_dram::MEMORIES;
use memscape_study::Slot;
use memscape_workload::MODELS;
use memscape_workload::weights::AS_STORED;

use crate::activity::RECORDINGS;
use crate::hardware::{ACTIVITIES, DIMMS, GPUS, HOSTS, MACHINES};

/// Of studies that ask a whole machine for a model.
pub(super) fn of_machine() -> Vec<Slot> {
    vec![
        Slot::whole("hardware", &MACHINES, "hermes"),
        Slot::part("model", &MODELS, "llama-2-70b").implying(&[AS_STORED]),
        Slot::part("gpu", &GPUS, "rtx-4090"),
        Slot::part("dimm", &DIMMS, "hermes-32gb"),
        Slot::part("dimm.memory", &MEMORIES, "ndp-dimm-rank"),
        Slot::part("host", &HOSTS, "core-i9-13900k"),
        Slot::part("activity", &ACTIVITIES, "relu-llm"),
        Slot::part("trace", &RECORDINGS, ""),
    ]
}
