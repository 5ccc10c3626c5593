//! Each module answers one question.

#![expect(clippy::float_cmp, reason = "the same arithmetic gives the same bits")]

mod blas;
mod census;
mod common;
mod errors;
mod functional;
mod inference;
mod kernels;
mod memory;
mod placement;
mod timeline;
