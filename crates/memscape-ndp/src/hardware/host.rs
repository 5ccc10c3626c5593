//! Processors that host the GPU and the DIMMs.

use std::num::NonZeroU32;

use memscape_study::Catalog;
use memscape_units::{GbPerS, Microseconds, Tops};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::calibration::CALIBRATION;
use crate::numbers::Efficiency;

/// The processor that hosts the GPU and the DIMMs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Peak bandwidth of its memory
    pub bandwidth_gb_s: GbPerS,
    /// Share of the peak that it reaches
    pub bandwidth_efficiency: Efficiency,
    /// DIMMs that share a channel, and so its pins; modules that have channels of their own share none
    #[schemars(range(min = 1, max = 16))]
    pub dimms_per_channel: NonZeroU32,
    /// Peak of all its cores, in single precision
    pub fp32_tops: Tops,
    /// Bandwidth of its last-level cache
    pub cache_gb_s: GbPerS,
    /// One pass over pageable memory by one thread: a copy into the driver's pinned buffer
    pub copy_gb_s: GbPerS,
    /// Passes that Accelerate makes over an offloaded weight, of which FlexGen makes one
    #[schemars(range(min = 1, max = 16))]
    pub accelerate_passes: NonZeroU32,
    /// One call that copies a neuron's weights to the GPU, or between DIMMs through the host
    pub copy_call_us: Microseconds,
    /// Handing one active neuron to a core, one after the other
    pub dispatch_us: Microseconds,
}

/// Hosts: those of `data/hardware/ndp/hosts`, and the form of a user's own.
pub static HOSTS: Catalog<Host> =
    Catalog::new("ndp-host", "processors beside GPU and DIMMs", FILES).calibrated(&CALIBRATION, "host");

const FILES: &[&str] = &[include_str!("../../../../data/hardware/ndp/hosts/core-i9-13900k.toml")];
