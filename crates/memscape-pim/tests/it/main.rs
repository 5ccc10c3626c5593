//! Each module answers one question.

mod agreement;
mod energy;
mod functional;
mod studies;
