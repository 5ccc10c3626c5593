//! The questions, one file each.

pub mod capacity;
pub mod decode;
pub mod gemv;
pub mod inference;
pub mod layout;
pub mod prefill;
pub mod roofline;
mod slots;
