//! The questions: one matrix, a whole reply, and how far a choice is from the best.

mod gemv;
mod host;
mod inference;
mod laws;
mod regret;
mod site;

pub use gemv::{GemvAnswer, GemvError, GemvStudy};
pub use host::{Attention, LmHead, TokenPart};
pub use inference::{InferenceAnswer, InferenceError, InferenceStudy, StepCost, System};
pub use regret::{RegretAnswer, RegretStudy};
