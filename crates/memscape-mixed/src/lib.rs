//! Systems put together that no paper evaluates: prompts on an NPU, tokens on PIM.
//!
//! The NPU's products are those of `npu.inference`, a token is that of `pim.inference`, and a
//! copy of weights from PIM's layout into the array's is PIM-SHERPA's swizzled copy. What is
//! added here is what lies between them: which copies of the weights are kept ([`handover`]), what
//! copying adds to the prompt, and how keys and values come to where tokens read them.
//!
//! ```
//! use memscape_mixed::{InferenceStudy, Keeping};
//! use memscape_study::Study;
//!
//! let ddb = InferenceStudy::default();
//! let owr = InferenceStudy { keeping: Keeping::Owr, ..ddb };
//! let (ddb, owr) = (ddb.answer()?, owr.answer()?);
//! assert!(ddb.copy_exposed_s < owr.copy_exposed_s);
//! assert_eq!(ddb.headline.token_ns, owr.headline.token_ns);
//! # Ok::<(), memscape_study::StudyError>(())
//! ```

pub mod handover;
pub mod hardware;
pub mod inference;
mod laws;
mod names;

use memscape_study::{AnyCatalog, Calibration, StudyVisitor, System};

pub use handover::{CacheHandover, Keeping};
pub use hardware::{Copier, MACHINES, Machine};
pub use inference::{InferenceAnswer, InferenceError, InferenceStudy};

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
