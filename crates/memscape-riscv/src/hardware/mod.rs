//! What is built.

mod cores;
mod distances;
mod machine;
mod platform;

pub use cores::{CoreList, CoreListError, NodeCores};
pub use distances::{DistanceError, Distances, LOCAL_DISTANCE, MOST_NODES};
pub(crate) use machine::check_package;
pub use machine::{CALIBRATION, DEFAULT_MACHINE, DEFAULT_MEMORY, MACHINES, Machine, inferred};
pub(crate) use platform::rate;
pub use platform::{Cache, Controller, Core, LINE_BYTES, Numa, Os, Overlap, PoolLife, SlcScope, WeightPages};
