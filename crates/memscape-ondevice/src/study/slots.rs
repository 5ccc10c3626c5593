//! What parameters are named for, and the paper's own.

use memscape_dram::MEMORIES;
use memscape_study::Slot;
use memscape_workload::{MODELS, Model};

use crate::hardware::{PHONES, Phone};

const PHONE: &str = "galaxy-s24-plus";
const MEMORY: &str = "lpddr5x-8533";
const MODEL: &str = "llama-3.2-1b";

/// The paper's phone, for a study's default.
pub(super) fn phone() -> &'static Phone {
    PHONES.get(PHONE)
}

/// The smaller of the paper's models, for a study's default.
pub(super) fn model() -> Model {
    Model::named(MODEL).expect("a built-in model")
}

/// Of a study of a phone's memory that a model runs on.
pub(super) fn all() -> Vec<Slot> {
    vec![
        Slot::whole("hardware", &PHONES, PHONE),
        Slot::part("memory", &MEMORIES, MEMORY),
        Slot::part("model", &MODELS, MODEL),
    ]
}
