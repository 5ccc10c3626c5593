//! What this crate exports: the expander as a system.

use memscape_study::{AnyCatalog, Calibration, StudyVisitor, System};

use crate::hardware::MACHINES;
use crate::inference::InferenceStudy;

/// The accelerator and its expander.
#[derive(Debug, Clone, Copy)]
pub struct Cxl;

/// What `memscape-systems` lists.
pub const SYSTEM: Cxl = Cxl;

impl System for Cxl {
    const NAME: &'static str = "cxl";
    const SUMMARY: &'static str = "An accelerator with a CXL memory expander";
    const CALIBRATION: Option<&'static Calibration> = None;

    fn studies(visitor: &mut impl StudyVisitor) {
        visitor.visit::<InferenceStudy>();
    }

    fn catalogs() -> Vec<&'static dyn AnyCatalog> {
        vec![&MACHINES, &memscape_dram::MEMORIES, &memscape_workload::MODELS]
    }
}
