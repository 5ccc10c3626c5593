//! The study `npu.inference`.

mod answer;
mod prompt;
mod question;
mod streams;
#[cfg(test)]
mod tests;

pub use answer::InferenceAnswer;
pub use prompt::{HeadOn, PromptCost};
pub use question::{Handed, InferenceError, InferenceStudy};
