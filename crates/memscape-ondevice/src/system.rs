//! What this crate exports: PIM-SHERPA as a system.

use memscape_dram::MEMORIES;
use memscape_study::{AnyCatalog, Calibration, StudyVisitor, System};
use memscape_workload::MODELS;

use crate::hardware::{CALIBRATION, HOSTS, PHONES};
use crate::study::capacity::CapacityStudy;
use crate::study::decode::DecodeStudy;
use crate::study::gemv::GemvStudy;
use crate::study::inference::InferenceStudy;
use crate::study::layout::LayoutStudy;
use crate::study::prefill::PrefillStudy;
use crate::study::roofline::RooflineStudy;

/// PIM-SHERPA.
#[derive(Debug, Clone, Copy)]
pub struct Ondevice;

/// PIM-SHERPA.
pub const SYSTEM: Ondevice = Ondevice;

impl System for Ondevice {
    const NAME: &'static str = "ondevice";
    const SUMMARY: &'static str =
        "PIM-SHERPA: one copy of the weights for prefill on a phone's CPU and decode on PIM";
    const CALIBRATION: Option<&'static Calibration> = Some(&CALIBRATION);

    fn studies(visitor: &mut impl StudyVisitor) {
        visitor.visit::<LayoutStudy>();
        visitor.visit::<CapacityStudy>();
        visitor.visit::<RooflineStudy>();
        visitor.visit::<PrefillStudy>();
        visitor.visit::<GemvStudy>();
        visitor.visit::<DecodeStudy>();
        visitor.visit::<InferenceStudy>();
    }

    fn catalogs() -> Vec<&'static dyn AnyCatalog> {
        vec![&PHONES, &HOSTS, &MEMORIES, &MODELS]
    }
}
