//! Which neurons lie on the GPU and which on which DIMM: the paper's integer
//! programme (Eq. 1-7), solved by its structure, with a proven lower bound.
//!
//! A neuron's time on a device is its bytes, times how often it is active, over
//! the device's bandwidth; of a batch, or times how many sequences need it, over
//! the rate of multiplying, if all neurons there take longer so. Per block, time is
//! that of the slowest device, so two questions come apart: how much work the GPU takes from each block, and
//! how evenly the rest lies on the DIMMs.
//!
//! 1. *Relaxed*: with the DIMMs as one device and neurons divisible, the best
//!    GPU set of a block is a prefix by activity, because that takes the most
//!    work per byte. Its cost over the prefix is convex, so one price per GPU
//!    byte, shared by all blocks, divides the capacity. The Lagrangian value at
//!    any price is a lower bound of the integer optimum. Of a block that the DIMMs are done with before a
//!    GPU could be, it is their time without one. Small blocks are priced with
//!    whole neurons, since dividing one of ten would say little (`bound.rs`).
//! 2. *Whole*: prefixes are rounded down and the remaining capacity is filled;
//!    where there are so few neurons that each counts, exchanges between blocks
//!    follow (`exchange.rs`).
//! 3. *Balanced*: longest processing time first over the DIMMs, then moves and
//!    exchanges out of the slowest device (`balance.rs`).

mod balance;
mod bound;
mod exchange;
mod instance;
mod problem;
mod relaxed;
mod solve;

pub use instance::{GROUPS, INSTANCES, Instance, InstanceError, InstanceName, Instances};
pub(crate) use problem::MOST_PLACES;
pub use problem::{Block, Device, Devices, Partition, PartitionError, Sizes};
pub use solve::solve;
