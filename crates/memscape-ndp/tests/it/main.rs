//! Each module answers one question.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "counts of neurons are small"
)]
#![allow(clippy::float_cmp, reason = "counts of neurons are whole numbers, also as `f64`")]

mod agreement;
mod bound_by;
mod bytes;
mod common;
mod errors;
mod operators;
mod partition;
mod published;
mod scheduler;
mod timeline;
mod traces;
