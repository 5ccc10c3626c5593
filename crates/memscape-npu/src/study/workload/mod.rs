//! The study `npu.workload`.

mod answer;
mod products;
mod question;
#[cfg(test)]
mod tests;

pub(in crate::study) use answer::Solved;
pub use answer::{ProductTraffic, WorkloadAnswer};
pub use question::{Strategy, WorkloadError, WorkloadStudy};
