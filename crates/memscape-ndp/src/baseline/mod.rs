//! The systems that Hermes is compared with.

mod deja_vu;
mod hermes_base;
mod offloading;
mod tensorrt;

pub use deja_vu::{deja_vu, deja_vu_divided};
pub use hermes_base::{hermes_base, hermes_base_operators};
pub use offloading::{accelerate, flexgen, offloaded_divided};
pub use tensorrt::tensorrt;
