//! Answers that are kept: a folder in which every point is known by its content.
//!
//! ```text
//! runs/store.json                                          what this folder is
//! runs/<study>/<edition>/<question>/question.json          who asked what, when and where
//! runs/<study>/<edition>/<question>/<address>-<checksum>.parquet
//! runs/damaged/                                            what was set aside
//! ```
//!
//! A question's rows are cut into blocks. A block's address is the content of its points,
//! so that nobody need tell what has been done: who has the question finds its answers.
//! Points that another question has in common are found by their keys, which stand beside
//! the rows.

mod asking;
mod block;
mod fill;
mod index;
mod keep;
mod known;
mod manifest;
mod reading;
mod shard;
#[expect(clippy::module_inception, reason = "the store itself")]
mod store;
mod tidy;
mod to_file;

pub use asking::{AskedAgain, Differing};
pub(crate) use block::Cut;
pub(crate) use fill::Filler;
pub use fill::{Filled, Lacking, Written};
pub(crate) use keep::Keeper;
pub(crate) use known::answers_of;
pub use manifest::Manifest;
pub use store::{Run, Store};
pub use tidy::{Freed, Verified};
pub use to_file::{Onto, sweep_to_file};

#[cfg(test)]
mod tests;
