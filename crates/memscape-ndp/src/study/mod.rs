//! The questions, one per file.

mod activity;
mod inference;
mod laws;
mod partition;
mod predictor;
mod tables;

pub use activity::{ActivityAnswer, ActivityStudy};
pub use inference::{InferenceAnswer, InferenceStudy, System};
pub use partition::{PartitionAnswer, PartitionStudy, ProfiledLaw};
pub use predictor::{PredictorAnswer, PredictorStudy};
pub use tables::{DimmSpeed, GpuSpeed, HostSpeed, KernelSpeed, SparseSystem};
