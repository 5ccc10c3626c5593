//! What one core holds and multiplies at once: a tile of A, of B and of C in L1.

use std::num::NonZeroU16;

use memscape_units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hardware::device::{Device, MOST_L1_BYTES, Mmul, MmulError};
use crate::hardware::precision::Precision;

/// What one core multiplies at once: `m x k` times `k x n`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Tile {
    /// Rows of A and C, `m_ct`.
    pub m: u32,
    /// Columns of A and rows of B, `k_ct`.
    pub k: u32,
    /// Columns of B and C, `n_ct`.
    pub n: u32,
}

impl Tile {
    /// As studies give it.
    #[must_use]
    pub fn of(m_ct: NonZeroU16, k_ct: NonZeroU16, n_ct: NonZeroU16) -> Self {
        Self { m: m_ct.get().into(), k: k_ct.get().into(), n: n_ct.get().into() }
    }

    /// The smallest that an instruction multiplies.
    #[must_use]
    pub fn smallest(mmul: Mmul) -> Self {
        Self { m: mmul.block_m(), k: mmul.s.get().into(), n: mmul.block_n() }
    }

    /// Multiply-accumulates of one call.
    #[must_use]
    pub fn macs(self) -> f64 {
        f64::from(self.m) * f64::from(self.k) * f64::from(self.n)
    }

    /// Elements of C.
    #[must_use]
    pub const fn outputs(self) -> u64 {
        self.m as u64 * self.n as u64
    }

    /// The instruction that multiplies it, block by block.
    ///
    /// # Errors
    /// [`TileError`] if the tile is no multiple of the register block, or the device
    /// lacks the instruction.
    pub fn mmul(self, device: &Device, precision: Precision) -> Result<Mmul, TileError> {
        let mmul = device.mmul(precision)?;
        let block = "the rows of a register block";
        for (dimension, given, of, why) in [
            ("m_ct", self.m, mmul.block_m(), block),
            ("k_ct", self.k, mmul.s.get().into(), "the reduction of one matrix instruction"),
            ("n_ct", self.n, mmul.block_n(), "the columns of a register block"),
        ] {
            if given == 0 || given % of != 0 {
                return Err(TileError::NotMultiple { dimension, given, of, why });
            }
        }
        Ok(mmul)
    }

    /// Checks that L1 holds its buffers.
    ///
    /// # Errors
    /// [`TileError::L1`] prints the budget.
    pub fn check_l1(
        self,
        device: &Device,
        precision: Precision,
        output: OutputBuffers,
        rule: L1Rule,
    ) -> Result<L1Use, TileError> {
        let r#use = L1Use::of(self, precision, output);
        if r#use.fits(device, rule) {
            return Ok(r#use);
        }
        let room = |tile| L1Room::of(device, tile, precision, output, rule);
        let smallest = Self::smallest(device.mmul(precision)?);
        let smallest = (smallest, room(smallest).suffices());
        Err(TileError::L1 { tile: self, r#use, room: room(self), smallest })
    }
}

impl std::fmt::Display for Tile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} x {} x {}", self.m, self.k, self.n)
    }
}

/// The multiples next to a length, of those that a study takes.
pub(crate) fn nearest_multiples(given: u32, of: u32) -> String {
    let below = given / of * of;
    let above = below.checked_add(of).filter(|it| *it <= u16::MAX.into() || below == 0);
    match (above, below) {
        (None, below) => below.to_string(),
        (Some(above), 0) => above.to_string(),
        (Some(above), below) => format!("{above} or {below}"),
    }
}

/// How many buffers C has in L1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OutputBuffers {
    /// One: the core waits until a finished tile of C has left.
    Single,
    /// Two: it goes on with the other.
    Double,
}

impl OutputBuffers {
    /// How many.
    #[must_use]
    pub const fn count(self) -> u64 {
        match self {
            Self::Single => 1,
            Self::Double => 2,
        }
    }
}

/// Whether buffers may fill L1 to the last byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum L1Rule {
    /// No: less than what the stack leaves. The paper's tables obey it.
    Below,
    /// Yes, as Eq. 5 prints it.
    AtMost,
}

/// What L1 holds, in bytes: two buffers each for A and B, one or two for C.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct L1Use {
    /// Both buffers of A.
    pub a: u64,
    /// Both buffers of B.
    pub b: u64,
    /// Buffers of C.
    pub c: u64,
}

impl L1Use {
    /// Of a tile (Eq. 5, left side).
    #[must_use]
    pub const fn of(tile: Tile, precision: Precision, output: OutputBuffers) -> Self {
        let (input, out) = (precision.input_bytes() as u64, precision.output_bytes() as u64);
        // No tile of 2^32 rows fits, but asking must not overflow.
        let [m, k, n] = [tile.m as u64, tile.k as u64, tile.n as u64];
        Self {
            a: (m * k).saturating_mul(2 * input),
            b: (k * n).saturating_mul(2 * input),
            c: (m * n).saturating_mul(output.count() * out),
        }
    }

    /// Everything, without the stack.
    #[must_use]
    pub const fn total(self) -> u64 {
        self.a.saturating_add(self.b).saturating_add(self.c)
    }

    /// Whether it fits beside the stack (Eq. 5).
    #[must_use]
    pub const fn fits(self, device: &Device, rule: L1Rule) -> bool {
        let have = device.l1_bytes.get().saturating_sub(device.stack_bytes) as u64;
        match rule {
            L1Rule::Below => self.total() < have,
            L1Rule::AtMost => self.total() <= have,
        }
    }
}

/// L1 that does not hold what it should.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct L1Room {
    /// All of it, in bytes.
    pub l1: u32,
    /// What of it is the stack's.
    pub stack: u32,
    /// What is asked for beside the stack.
    pub least: u64,
}

impl L1Room {
    /// For the buffers of a tile.
    #[must_use]
    pub fn of(
        device: &Device,
        tile: Tile,
        precision: Precision,
        output: OutputBuffers,
        rule: L1Rule,
    ) -> Self {
        let free = match rule {
            L1Rule::Below => 1,
            L1Rule::AtMost => 0,
        };
        let least = L1Use::of(tile, precision, output).total().saturating_add(free);
        Self { l1: device.l1_bytes.get(), stack: device.stack_bytes, least }
    }

    /// What the stack leaves.
    #[must_use]
    pub const fn have(self) -> u32 {
        self.l1.saturating_sub(self.stack)
    }

    /// Whether it is enough.
    #[must_use]
    pub const fn suffices(self) -> bool {
        self.least <= self.have() as u64
    }

    /// What makes it so, by more L1 or by less of a stack: the device has a place for both, or for one of them.
    fn advice(self) -> Option<String> {
        let Self { l1, stack, least } = self;
        let l1_bytes = |asked: u64| {
            (asked <= MOST_L1_BYTES.into()).then(|| format!("`device.l1_bytes` = {asked} at least"))
        };
        let more = l1_bytes(least.saturating_add(stack.into()));
        let less = u64::from(l1).checked_sub(least).map(|it| format!("`device.stack_bytes` = {it} at most"));
        match (more, less) {
            (Some(more), Some(less)) => Some(format!("{more} or {less}")),
            (Some(only), None) | (None, Some(only)) => Some(only),
            (None, None) => Some(format!("{} and `device.stack_bytes` = 0", l1_bytes(least)?)),
        }
    }
}

impl std::fmt::Display for L1Room {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { l1, stack, least } = self;
        let advice = self.advice().unwrap_or_else(|| "smaller register blocks".to_owned());
        write!(
            f,
            "`device.stack_bytes` = {stack} leaves {} of `device.l1_bytes` = {l1}, but the smallest takes {least} bytes; \
             use {advice}",
            self.have()
        )
    }
}

/// Why a tile cannot be multiplied.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TileError {
    /// The device lacks the instruction, or registers for it.
    #[error(transparent)]
    Instruction(#[from] MmulError),
    /// A dimension is no multiple of the register block.
    #[error(
        "`{dimension}` is {given}, which is not a multiple of {of} ({why}); use {}",
        nearest_multiples(*given, *of)
    )]
    NotMultiple {
        /// `m_ct`, `k_ct` or `n_ct`.
        dimension: &'static str,
        /// As given.
        given: u32,
        /// What it must be a multiple of.
        of: u32,
        /// What that is.
        why: &'static str,
    },
    /// The buffers do not fit L1.
    #[error(
        "a tile of {tile} needs {} of L1 ({} for A and {} for B, two buffers each, {} for C), but the \
         stack leaves {}{}; use {}",
        Bytes(r#use.total()), Bytes(r#use.a), Bytes(r#use.b), Bytes(r#use.c), Bytes(room.have().into()),
        if r#use.total() == u64::from(room.have()) { ", of which one byte must stay free" } else { "" },
        match room.advice().filter(|_| !smallest.1) {
            Some(advice) => format!("{advice}, as not even the smallest tile of {} fits", smallest.0),
            None => "a smaller tile or a narrower type".to_owned(),
        }
    )]
    L1 {
        /// The tile.
        tile: Tile,
        /// What it needs.
        r#use: L1Use,
        /// What there is, and what would be enough.
        room: L1Room,
        /// The smallest tile of the precision, and whether that fits.
        smallest: (Tile, bool),
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DEVICES;

    #[test]
    fn tiles_that_cannot_be_are_told_with_their_budget() {
        let device = DEVICES.get("xdna");
        let error = Tile { m: 60, k: 64, n: 64 }.mmul(device, Precision::Int8Int8).unwrap_err();
        let text = "`m_ct` is 60, which is not a multiple of 16 (the rows of a register block); use 64 or 48";
        assert_eq!(error.to_string(), text);
        let tile = Tile { m: 48, k: 288, n: 48 };
        let check = |rule| tile.check_l1(device, Precision::Int8Int32, OutputBuffers::Single, rule);
        let text = "a tile of 48 x 288 x 48 needs 63 KiB of L1 (27 KiB for A and 27 KiB for B, two buffers \
                    each, 9 KiB for C), but the stack leaves 63 KiB, of which one byte must stay free; use a \
                    smaller tile or a narrower type";
        assert_eq!(check(L1Rule::Below).unwrap_err().to_string(), text);
        assert!(check(L1Rule::AtMost).is_ok());
    }
}
