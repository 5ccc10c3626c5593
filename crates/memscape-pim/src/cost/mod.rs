//! How long a plan takes, and what energy: the closed form, and the command stream on the
//! DRAM engine. They agree to the picosecond and to the command.

mod closed;
mod energy;
mod gemv;
mod parts;
mod soc;
mod stream;

pub use closed::closed_form;
pub use energy::{Traffic, command_energy, idle_energy, traffic_energy};
pub use gemv::{least_time, peak_speedup, reduction, roofline_speedup, time_on_pim};
pub use parts::{GemvCost, GemvPart};
pub use soc::{soc_time, weight_bytes};
pub use stream::CommandStream;
