//! The questions, one per file.

mod activity;
mod inference;
mod laws;
mod partition;
mod predictor;
mod slots;
mod sparse;

pub use activity::{ActivityAnswer, ActivityStudy};
pub use inference::{InferenceAnswer, InferenceStudy, System};
pub use partition::{PartitionAnswer, PartitionStudy};
pub use predictor::{PredictorAnswer, PredictorStudy};
pub use sparse::SparseSystem;
