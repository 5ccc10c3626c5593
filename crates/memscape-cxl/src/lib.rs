//! An accelerator whose memory is too small, and a CXL expander that holds the
//! layers that do not fit.
//!
//! The smallest system there is, and the example of how to write one: a
//! description ([`hardware`]), a mapping ([`placement`]), a cost and the study
//! that asks for it ([`inference`]), and the [`SYSTEM`] that lists them.

pub mod hardware;
pub mod inference;
pub mod placement;

use memscape_study::{AnyCatalog, Calibration, StudyVisitor, System};

pub use hardware::{Accelerator, Expander, Link, MACHINES, Machine};
pub use inference::InferenceStudy;

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
