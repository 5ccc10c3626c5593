//! PIM-SHERPA: one copy of the weights for prefill on the host and decode on PIM.
//!
//! Weights lie in the PIM-aware layout ([`layout`]) at physical addresses that an
//! [`address`] map gives. A [`Swizzle`] copies them, bit for bit, to the order the
//! host's GEMM wants. [`stages`] says what is copied where beside which GEMM;
//! [`timeline`] times that plan, thread by thread and in closed form. Decode is the
//! command stream of [`gemv`] on the DRAM engine.
//!
//! ```
//! use memscape_ondevice::{PrefillStudy, prefill::Scheme};
//! use memscape_study::Study;
//!
//! let ddb = PrefillStudy::default();
//! let owr = PrefillStudy { scheme: Scheme::Owr, ..ddb.clone() };
//! let (ddb, owr) = (ddb.answer()?, owr.answer()?);
//! assert!(ddb.gemm_s < ddb.ttft_s && ddb.ttft_s < owr.ttft_s);
//! # Ok::<(), memscape_study::StudyError>(())
//! ```

pub mod address;
pub mod capacity;
pub mod cost;
pub mod decode;
pub mod gemv;
pub mod hardware;
pub mod inference;
pub mod layout;
pub mod machine;
mod map_text;
pub mod placed;
pub mod prefill;
pub mod roofline;
pub mod schedule;
pub mod stages;
pub mod swizzle;
pub mod timeline;

pub use capacity::{CapacityAnswer, CapacityStudy};
pub use decode::{DecodeAnswer, DecodeStudy};
pub use gemv::{GemvAnswer, GemvStudy};
pub use inference::{InferenceAnswer, InferenceStudy};
pub use map_text::{MapText, MapTextError};
pub use placed::{LayoutAnswer, LayoutStudy};
pub use prefill::{PrefillAnswer, PrefillStudy};
pub use roofline::{RooflineAnswer, RooflineStudy};
pub use swizzle::{Swizzle, SwizzleError};
