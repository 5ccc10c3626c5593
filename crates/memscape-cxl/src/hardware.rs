//! What is built: an accelerator, a link, and memory behind it.

use std::num::{NonZeroU32, NonZeroU64};

use memscape_dram::{Dram, MEMORIES};
use memscape_study::{Catalog, Nested, OutOfRange, within};
use memscape_units::{GbPerS, Tops};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What computes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Accelerator {
    /// Its own memory
    pub memory_bytes: NonZeroU64,
    /// Peak bandwidth of its own memory
    pub bandwidth_gb_s: GbPerS,
    /// Peak rate with FP16 operands
    pub fp16_tops: Tops,
}

/// A CXL link, one direction.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Lanes
    #[schemars(range(min = 1, max = 16))]
    pub lanes: NonZeroU32,
    /// Transfers of one lane, in 10^9 per second
    #[schemars(range(min = 0.1, max = 1000.0))]
    pub transfer_gt_s: f64,
    /// Share of the bits that the line code leaves
    #[schemars(range(min = 0.1, max = 1.0))]
    pub encoding_share: f64,
    /// Share of a flit's bytes that carries data
    #[schemars(range(min = 0.1, max = 1.0))]
    pub flit_share: f64,
}

/// Memory behind the link.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Expander {
    /// One module of it
    pub memory: Dram,
    /// Modules that are read side by side
    #[schemars(range(min = 1, max = 65_536))]
    pub channels: NonZeroU32,
}

/// A whole machine.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// What computes
    pub accelerator: Accelerator,
    /// The way to the expander
    pub link: Link,
    /// The expander
    pub expander: Expander,
}

/// The machines of `data/hardware/cxl`, and the form of a user's own.
pub static MACHINES: Catalog<Machine> = Catalog::new(
    "hardware",
    "accelerators with CXL memory",
    &[include_str!("../../../data/hardware/cxl/accelerator-with-expander.toml")],
)
.with_nested(&[Nested { path: "expander.memory", catalog: &MEMORIES }])
.checked_by(|it| it.link.check().map_err(|error| error.to_string()));

impl Link {
    /// Checks what the types do not.
    ///
    /// # Errors
    /// [`OutOfRange`] names the first field at fault.
    pub fn check(&self) -> Result<(), OutOfRange> {
        within([
            ("link.lanes", f64::from(self.lanes.get()), 1.0, 16.0),
            ("link.transfer_gt_s", self.transfer_gt_s, 0.1, 1000.0),
            ("link.encoding_share", self.encoding_share, 0.1, 1.0),
            ("link.flit_share", self.flit_share, 0.1, 1.0),
        ])
    }

    /// Bits on the wire, in 10^9 bytes per second: one direction, nothing taken off.
    #[must_use]
    pub fn raw_gb_s(&self) -> f64 {
        f64::from(self.lanes.get()) * self.transfer_gt_s / 8.0
    }

    /// Data that arrives.
    ///
    /// # Panics
    /// If the link has not been checked.
    #[must_use]
    pub fn bandwidth(&self) -> GbPerS {
        GbPerS::new(self.raw_gb_s() * self.encoding_share * self.flit_share).expect("a checked link")
    }
}

impl Expander {
    /// Peak rate of all modules, less the time in which they are refreshed.
    ///
    /// # Panics
    /// If the memory has not been checked.
    #[must_use]
    pub fn bandwidth(&self) -> GbPerS {
        let left = 1.0 - self.memory.refresh_share();
        let all = self.memory.peak_gb_s().as_f64() * f64::from(self.channels.get()) * left;
        GbPerS::new(all).expect("a checked memory")
    }

    /// Bytes of all modules.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.memory.capacity().0.saturating_mul(self.channels.get().into())
    }
}

impl Machine {
    /// The rate at which the expander's bytes arrive: the link's or its memory's.
    #[must_use]
    pub fn expander_rate(&self) -> GbPerS {
        let (link, memory) = (self.link.bandwidth(), self.expander.bandwidth());
        if link < memory { link } else { memory }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_link_is_the_bottleneck_and_a_bad_one_is_refused() {
        let machine = *MACHINES.get("accelerator-with-expander");
        assert!((machine.link.raw_gb_s() - 64.0).abs() < 1e-9);
        assert_eq!(machine.expander_rate(), machine.link.bandwidth());
        let bad = Link { flit_share: 2.0, ..machine.link };
        assert_eq!(bad.check().unwrap_err().to_string(), "`link.flit_share` is 2; it must be from 0.1 to 1");
    }
}
