//! DIMMs that compute.

use std::num::NonZeroU32;

use memscape_dram::{Dram, MEMORIES, Pattern};
use memscape_study::{Catalog, Graded, Nested};
use memscape_units::{GbPerS, Gigabytes, Gigahertz, Usd};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::NdpError;

/// A DIMM whose center buffer computes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dimm {
    /// One rank, which the center buffer reads by itself
    pub memory: Dram,
    /// Ranks that are read at the same time
    pub ranks: NonZeroU32,
    /// Capacity, in 10^9 bytes: of as many dies behind each rank's bus as that takes, whatever `memory` has
    pub capacity_gb: Gigabytes,
    /// How a neuron's bytes lie in the banks of a rank
    pub interleave: Interleave,
    /// Bit-serial multipliers of the GEMV unit
    pub multipliers: NonZeroU32,
    /// FP16 values that a multiplier works on at once
    pub lanes: NonZeroU32,
    /// Cycles of one FP16 multiplication
    pub cycles_per_multiply: NonZeroU32,
    /// Clock of the GEMV and activation units
    #[schemars(range(min = 0.001, max = 100.0))]
    pub clock_ghz: Gigahertz,
    /// FP16 units of each kind (exponential, add, multiply) for softmax and ReLU
    pub activation_units: NonZeroU32,
    /// Price of one; null takes what is published of this very DIMM, if anything is
    #[serde(default)]
    pub price_usd: Option<Usd>,
    /// What a multiply-accumulate takes for each of the 16 bits of its FP16 weight; null where nothing is
    /// known of it
    #[serde(default)]
    pub mac_pj_per_bit: Option<Graded>,
    /// How inputs and sums come to and from units that stand at banks; null for one unit in the buffer,
    /// which has them at hand
    #[serde(default)]
    pub units: Option<AtBanks>,
}

/// Units at the banks of a module, one for each of its ranks: what they multiply with, and their sums,
/// cross the module's pins.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AtBanks {
    /// Channels of the module, over whose units each neuron is spread
    pub channels: NonZeroU32,
    /// Rate of one channel's pins
    pub channel_gb_s: GbPerS,
    /// What pins and the way to them take; null where nothing is known of it
    #[serde(default)]
    pub carried_pj_per_bit: Option<Graded>,
}

/// How consecutive bytes lie in the banks of a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Interleave {
    /// A whole row of one bank, then one of another bank group: bursts are
    /// `tCCD_L` apart.
    RowByRow,
    /// Bank groups in turn: bursts are `tCCD_S` apart.
    BankGroups,
}

impl Interleave {
    /// The stream of the DRAM engine that it stands for.
    #[must_use]
    pub const fn pattern(self) -> Pattern {
        match self {
            Self::RowByRow => Pattern::RowByRow,
            Self::BankGroups => Pattern::Interleaved,
        }
    }
}

impl Dimm {
    /// Bandwidth between the ranks and the center buffer: that of the stream of a
    /// rank's channel, times channels and ranks. Rows are opened ahead in other banks; a rank gives nothing while it
    /// is refreshed.
    #[must_use]
    pub fn bandwidth_gb_s(&self) -> f64 {
        let stream = self.interleave.pattern().bandwidth_gb_s(&self.memory).as_f64();
        let channels = f64::from(self.memory.channels.get());
        stream * channels * f64::from(self.ranks.get()) * (1.0 - self.memory.refresh_share())
    }

    /// Ranks of `memory` as it is described that hold what the DIMM does.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "bytes in ratio")]
    pub fn full_ranks(&self) -> f64 {
        self.capacity_gb.as_f64() * 1e9 / self.memory.capacity().0 as f64
    }

    /// What the module's pins carry: all channels of units at banks, or the bus that its ranks share.
    #[must_use]
    pub fn pins_gb_s(&self) -> f64 {
        match self.units {
            Some(it) => it.channel_gb_s.as_f64() * f64::from(it.channels.get()),
            None => self.memory.peak_gb_s().as_f64(),
        }
    }

    /// Multiply-accumulates per nanosecond.
    #[must_use]
    pub fn macs_per_ns(&self) -> f64 {
        f64::from(self.multipliers.get()) * f64::from(self.lanes.get())
            / f64::from(self.cycles_per_multiply.get())
            * self.clock_ghz.as_f64()
    }
}

/// Whether there is such a memory, for who only streams from it.
pub(crate) fn check_memory(memory: &Dram) -> Result<(), NdpError> {
    let (groups, banks) = (memory.bank_groups.get(), memory.banks_per_channel.get() / memory.ranks.get());
    if groups > banks.max(1) {
        return Err(NdpError::BankGroups { groups, banks: banks.max(1) });
    }
    Ok(memory.check_bursts()?)
}

/// DIMMs that compute: those of `data/hardware/ndp/dimms`, and the form of a
/// user's own. `memory` is one of [`MEMORIES`].
pub static DIMMS: Catalog<Dimm> =
    Catalog::new("ndp-dimm", "DIMMs that compute", FILES).with_nested(NESTED).checked_by(check);

const FILES: &[&str] = &[include_str!("../../../../data/hardware/ndp/dimms/hermes-32gb.toml")];

const NESTED: &[Nested] = &[Nested { path: "memory", catalog: &MEMORIES }];

fn check(dimm: &Dimm) -> Result<(), String> {
    dimm.memory.check().map_err(|error| format!("`memory`: {error}"))
}
