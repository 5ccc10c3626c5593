//! Descriptions: what is built, how its scheduler is set, and how often the
//! neurons that it works on are active.

mod activity;
mod calibration;
mod dimm;
mod gpu;
mod host;
mod machine;
mod scheduler;

pub use activity::{ACTIVITIES, ActivityLaw};
pub use calibration::CALIBRATION;
pub(crate) use dimm::check_memory;
pub use dimm::{AtBanks, DIMMS, Dimm, Interleave};
pub use gpu::{GPUS, Gpu};
pub use host::{HOSTS, Host};
pub use machine::{MACHINES, Machine, Overhead};
pub use scheduler::{Nibble, Pairing, Predictor, Remap, Rule, Stop, Window};
