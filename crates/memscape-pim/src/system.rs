//! What this crate exports to whoever asks studies.

use memscape_dram::MEMORIES;
use memscape_study::{AnyCatalog, Calibration, StudyVisitor, System};
use memscape_workload::MODELS;

use crate::hardware::{CALIBRATION, MACHINES};
use crate::study::{GemvStudy, InferenceStudy, RegretStudy};

/// PIMnast.
#[derive(Debug, Clone, Copy)]
pub struct Pim;

/// The system of this crate.
pub const SYSTEM: Pim = Pim;

impl System for Pim {
    const NAME: &'static str = "pim";
    const SUMMARY: &'static str = "PIMnast: GEMV data placement on LPDDR-PIM";
    const CALIBRATION: Option<&'static Calibration> = Some(&CALIBRATION);

    fn studies(visitor: &mut impl StudyVisitor) {
        visitor.visit::<GemvStudy>();
        visitor.visit::<InferenceStudy>();
        visitor.visit::<RegretStudy>();
    }

    fn catalogs() -> Vec<&'static dyn AnyCatalog> {
        vec![&MACHINES, &MEMORIES, &MODELS]
    }
}
