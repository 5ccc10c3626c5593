//! What this crate exports: systems put together, as one.

use memscape_study::{AnyCatalog, Calibration, StudyVisitor, System};

use crate::hardware::MACHINES;
use crate::inference::InferenceStudy;

/// Systems put together.
#[derive(Debug, Clone, Copy)]
pub struct Mixed;

/// What `memscape-systems` lists.
pub const SYSTEM: Mixed = Mixed;

impl System for Mixed {
    const NAME: &'static str = "mixed";
    const SUMMARY: &'static str = "Systems put together that no paper evaluates: an NPU beside PIM";
    const CALIBRATION: Option<&'static Calibration> = None;

    fn studies(visitor: &mut impl StudyVisitor) {
        visitor.visit::<InferenceStudy>();
    }

    fn catalogs() -> Vec<&'static dyn AnyCatalog> {
        vec![
            &MACHINES,
            &memscape_npu::DEVICES,
            &memscape_pim::hardware::MACHINES,
            &memscape_dram::MEMORIES,
            &memscape_workload::MODELS,
        ]
    }
}
