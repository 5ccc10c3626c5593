//! PIM-SHERPA's prefill on this machine: duplicated weights, online rearrangement
//! (OWR) and double buffering (DDB), over real buffers with real GEMM.
//!
//! What no ordinary machine has is a non-cacheable region and PIM: the image of PIM
//! memory is ordinary memory here, so copies are as fast as caches make them.
//!
//! ```
//! use memscape_measure::ondevice::{Setup, Weights, run};
//! use memscape_ondevice::mapping::Scheme;
//!
//! let setup = Setup { model: "qwen3-0.6b".parse()?, layers: 1, ..Setup::default() };
//! let weights = Weights::random(&setup, 1)?;
//! let reference = run(&setup, &weights, Scheme::WeightDuplication, 2)?;
//! let buffered = run(&setup, &weights, Scheme::Ddb, 2)?;
//! assert!(reference.outputs == buffered.outputs, "bit for bit");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod buffer;
mod clock;
mod fit;
mod kernel;
mod measure;
mod run;
mod weights;

pub use fit::{HostFit, fit};
pub use measure::{CopyPoint, Measurement, Overlap, PrefillPoint, Request, measure};
pub use run::{Run, RunError, run};
pub use weights::{Setup, SetupError, Weights};

pub use crate::fit::FitError;
