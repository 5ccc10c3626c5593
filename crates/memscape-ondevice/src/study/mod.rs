//! The questions, one file each.

pub mod capacity;
pub mod decode;
mod floors;
pub mod gemv;
pub mod inference;
mod laws;
pub mod layout;
pub mod prefill;
pub mod roofline;
mod slots;
