//! Each module answers one question.

mod agreement;
mod answers;
mod functional;
mod transform;
