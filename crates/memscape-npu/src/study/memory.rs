//! Memory that a host lends, as a user gives it.

use std::fmt;

use memscape_units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Memory in 10^9 bytes, above 0.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct MemoryGb(
    #[schemars(range(min = 0.001, max = MOST_GB), extend("unit" = "GB"))] pub(in crate::study) f64,
);

impl Default for MemoryGb {
    /// 32 GB: no source says how much the paper's machines have.
    fn default() -> Self {
        Self(32.0)
    }
}

impl MemoryGb {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "limited by the schema; `as` saturates"
    )]
    pub(in crate::study) fn bytes(self) -> Bytes {
        Bytes((self.0 * 1e9) as u64)
    }

    /// What so many bytes take of it.
    pub(in crate::study) fn lent(self, need: u128) -> Lent {
        let memory_bytes = u64::try_from(need).unwrap_or(u64::MAX);
        Lent { memory_bytes, memory_limit_bytes: self.bytes().0 }
    }

    /// The least that holds so many bytes, in whole thousandths; none that a user could give beyond the largest.
    #[expect(clippy::cast_precision_loss, reason = "above 2^53 there is none")]
    pub(in crate::study) fn of(bytes: Bytes) -> Option<Self> {
        let least = bytes.0.div_ceil(1_000_000).max(1);
        // A thousandth is no binary fraction: the nearest may be a byte short.
        let mut near = [least, least.saturating_add(1)].map(|it| Self(it as f64 / 1e3)).into_iter();
        near.find(|it| it.bytes() >= bytes && it.0 <= MOST_GB)
    }
}

/// What products take of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Lent {
    /// Bytes that DRAM must hold
    pub memory_bytes: u64,
    /// Bytes that the host lends
    pub memory_limit_bytes: u64,
}

impl Lent {
    /// That it fits.
    pub(in crate::study) fn check(self, what: &'static str, less: &'static str) -> Result<(), NoMemory> {
        let (need, have) = (Bytes(self.memory_bytes), Bytes(self.memory_limit_bytes));
        if need <= have { Ok(()) } else { Err(NoMemory { what, need, have, less }) }
    }
}

/// Products that memory does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "{what} take {}, but `memory_gb` allows {}: {} are missing; use {}{less}",
    Gb(*need), Gb(*have), Gb(Bytes(need.0.saturating_sub(have.0))),
    MemoryGb::of(*need).map(|it| format!("`memory_gb` = {} at least, or ", it.0)).unwrap_or_default()
)]
pub struct NoMemory {
    /// What does not fit.
    pub what: &'static str,
    /// What it takes.
    pub need: Bytes,
    /// What there is.
    pub have: Bytes,
    /// What would take less.
    pub less: &'static str,
}

/// The largest `memory_gb`.
const MOST_GB: f64 = 1e6;

/// Bytes as a user gives them, to four digits.
pub(in crate::study) struct Gb(pub(in crate::study) Bytes);

impl fmt::Display for Gb {
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "clamped to few digits"
    )]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gb = self.0.0 as f64 * 1e-9;
        let digits = (3.0 - gb.max(1e-9).log10().floor()).clamp(0.0, 9.0) as usize;
        write!(f, "{gb:.digits$} GB")
    }
}
