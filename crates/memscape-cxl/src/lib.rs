//! An accelerator whose memory is too small, and a CXL expander that holds the
//! layers that do not fit.
//!
//! The smallest system there is, and the example of how to write one: a
//! description ([`hardware`]), a mapping ([`placement`]), a cost and the study
//! that asks for it ([`inference`]), and the [`SYSTEM`] that lists them.

pub mod hardware;
pub mod inference;
pub mod placement;
mod system;

pub use hardware::{Accelerator, Expander, Link, MACHINES, Machine};
pub use inference::InferenceStudy;
pub use system::{Cxl, SYSTEM};
