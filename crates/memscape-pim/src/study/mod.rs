//! The questions: one matrix, a whole reply, and how far a choice is from the best.

mod gemv;
mod inference;
mod regret;

pub use gemv::{GemvAnswer, GemvError, GemvStudy, Placement};
pub use inference::{Attention, InferenceAnswer, InferenceStudy, LmHead, TokenPart};
pub use regret::{RegretAnswer, RegretStudy};
