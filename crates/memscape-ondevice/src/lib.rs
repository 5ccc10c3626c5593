//! PIM-SHERPA: one copy of the weights for prefill on the host and decode on PIM.
//!
//! Weights lie in the PIM-aware layout ([`mapping::layout`]) at physical addresses
//! that a [`BurstMap`](hardware::BurstMap) gives. A [`Swizzle`] copies them, bit for
//! bit, to the order the host's GEMM wants. [`mapping::stages`] says what is copied
//! where beside which GEMM; [`cost::threads`] times that plan thread by thread,
//! [`cost::prefill`] in closed form. Decode is the command stream of
//! [`mapping::schedule`], timed by [`cost::gemv`] on the DRAM engine or in closed form.
//!
//! ```
//! use memscape_ondevice::{PrefillStudy, mapping::Scheme};
//! use memscape_study::Study;
//!
//! let ddb = PrefillStudy::default();
//! let owr = PrefillStudy { scheme: Scheme::Owr, ..ddb.clone() };
//! let (ddb, owr) = (ddb.answer()?, owr.answer()?);
//! assert!(ddb.gemm_s < ddb.ttft_s && ddb.ttft_s < owr.ttft_s);
//! # Ok::<(), memscape_study::StudyError>(())
//! ```

pub mod cost;
pub mod hardware;
pub mod mapping;
pub mod study;
mod system;

pub use hardware::{MapText, MapTextError};
pub use mapping::swizzle::{Swizzle, SwizzleError};
pub use study::capacity::{CapacityAnswer, CapacityStudy};
pub use study::decode::{DecodeAnswer, DecodeStudy};
pub use study::gemv::{GemvAnswer, GemvStudy};
pub use study::inference::{InferenceAnswer, InferenceStudy};
pub use study::layout::{LayoutAnswer, LayoutStudy};
pub use study::prefill::{PrefillAnswer, PrefillStudy};
pub use study::roofline::{Overlap, RooflineAnswer, RooflineStudy};
pub use system::{Ondevice, SYSTEM};
