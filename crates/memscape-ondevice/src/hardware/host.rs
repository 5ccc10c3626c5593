//! Hosts by their peak rates.

use std::num::NonZeroU32;

use memscape_study::{Catalog, OutOfRange, within};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A host as a roofline sees it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Peak compute rate over peak bandwidth, for weights of two bytes
    #[schemars(range(min = 1e-3, max = 1e6))]
    pub flop_per_byte: f64,
    /// DRAM transactions of the rearrangement per byte: 3 through caches, 2 with stores that
    /// bypass them, 1 to on-chip memory
    pub copy_transactions: NonZeroU32,
}

impl Host {
    /// Checks the range of its rate.
    ///
    /// # Errors
    /// [`OutOfRange`] if it is beyond it.
    pub fn check(&self) -> Result<(), OutOfRange> {
        within([("flop_per_byte", self.flop_per_byte, 1e-3, 1e6)])
    }
}

/// Hosts; the first is the paper's phone.
pub static HOSTS: Catalog<Host> = Catalog::new(
    "host",
    "hosts by their FLOP per byte",
    &[
        include_str!("../../../../data/hardware/ondevice/hosts/galaxy-s24-plus-cpu.toml"),
        include_str!("../../../../data/hardware/ondevice/hosts/jetson-agx-orin-gpu.toml"),
        include_str!("../../../../data/hardware/ondevice/hosts/b100-gpu.toml"),
        include_str!("../../../../data/hardware/ondevice/hosts/xdna2-npu.toml"),
    ],
)
.checked_by(|it| it.check().map_err(|error| error.to_string()));
