//! What a design takes of what cannot be shared, beside memory.

use schemars::JsonSchema;
use serde::Serialize;

use crate::hardware::device::{Device, Mmul};
use crate::mapping::design::Design;

/// Shares of resources that only bound what can be built.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Occupancy {
    /// Share of a core's accumulators that a register block takes
    pub accumulator_share: f64,
    /// Share of an interface tile's buffer descriptors that are in flight
    pub descriptor_share: f64,
    /// Share of a memory tile's receiving DMA channels that are busy at a time
    pub memory_channel_share: f64,
}

impl Occupancy {
    /// Of a design.
    #[must_use]
    pub fn of(device: &Device, design: &Design, mmul: &Mmul) -> Self {
        Self {
            accumulator_share: device.accumulator_share(mmul),
            descriptor_share: f64::from(device.block_descriptors()) * f64::from(design.bds_in_flight)
                / f64::from(device.shim_bds.get()),
            memory_channel_share: (f64::from(device.rows.get()) + 2.0)
                / f64::from(device.memory_channels.get()),
        }
    }
}
