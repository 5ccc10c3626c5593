//! What is built: memory with a PIM unit beside each bank, and a processor.

mod machine;
mod soc;
mod unit;

pub use machine::{CALIBRATION, DEFAULT_MACHINE, HardwareError, MACHINES, Machine};
pub use soc::Soc;
pub use unit::{CrossLane, PimUnit, RowAfterWrite};
