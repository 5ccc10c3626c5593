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
mod system;

pub use handover::{CacheHandover, Keeping};
pub use hardware::{Copier, MACHINES, Machine};
pub use inference::{InferenceAnswer, InferenceError, InferenceStudy};
pub use system::{Mixed, SYSTEM};
