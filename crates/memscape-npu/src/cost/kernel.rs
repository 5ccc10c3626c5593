//! One core: a tile of A times a tile of B, added to a tile of C in L1.

use memscape_units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::device::{Device, Mmul, NoInstruction, Precision};

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
}

impl std::fmt::Display for Tile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} x {} x {}", self.m, self.k, self.n)
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

/// Why a tile cannot be multiplied.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum KernelError {
    /// The device lacks the instruction.
    #[error(transparent)]
    Instruction(#[from] NoInstruction),
    /// A dimension is no multiple of the register block.
    #[error(
        "`{dimension}` is {given}, which is not a multiple of {of} ({why}); use {}{}",
        given / of * of + of,
        if given >= of { format!(" or {}", given / of * of) } else { String::new() }
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
         stack leaves {have}{}; use a smaller tile or a narrower type",
        Bytes(r#use.total()), Bytes(r#use.a), Bytes(r#use.b), Bytes(r#use.c),
        if r#use.total() == have.0 { ", of which one byte must stay free" } else { "" }
    )]
    L1 {
        /// The tile.
        tile: Tile,
        /// What it needs.
        r#use: L1Use,
        /// What there is.
        have: Bytes,
    },
}

/// What bounds a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum KernelBound {
    /// The core.
    Compute,
    /// The DMA channel of A.
    DmaA,
    /// The DMA channel of B.
    DmaB,
}

/// The cycles of one call, by cause.
///
/// A kernel works register block by register block: it loads the block's sums,
/// runs over the reduction in steps of `s`, rounds and stores. Three things add
/// up: issue slots of the products; what of the software pipeline (first load to
/// last rounding) a step of the reduction does not cover; and the sums, which pass
/// one load port on their way in and the store port on their way out. Sums that
/// leave as they are (int32) need no rounding, and loading them covers the rest.
/// Meanwhile the DMA brings the next tiles of A and B (Eq. 2 and 3).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Kernel {
    /// The matrix instruction.
    pub mmul: Mmul,
    /// The tile.
    pub tile: Tile,
    /// Issue slots of the products.
    pub issue_cycles: f64,
    /// Software pipelines filling and draining.
    pub fill_cycles: f64,
    /// Loading and storing sums.
    pub sum_cycles: f64,
    /// The DMA's time for the next tile of A.
    pub dma_a_cycles: f64,
    /// The DMA's time for the next tile of B.
    pub dma_b_cycles: f64,
}

impl Kernel {
    /// The kernel of a tile, whether or not L1 holds it.
    ///
    /// # Errors
    /// [`KernelError`] if the tile is no multiple of the register block, or the
    /// device lacks the instruction.
    pub fn new(device: &Device, precision: Precision, tile: Tile) -> Result<Self, KernelError> {
        let mmul = device.mmul(precision)?;
        let block = "the rows of a register block";
        for (dimension, given, of, why) in [
            ("m_ct", tile.m, mmul.block_m(), block),
            ("k_ct", tile.k, mmul.s.get().into(), "the reduction of one matrix instruction"),
            ("n_ct", tile.n, mmul.block_n(), "the columns of a register block"),
        ] {
            if given == 0 || given % of != 0 {
                return Err(KernelError::NotMultiple { dimension, given, of, why });
            }
        }
        Ok(Self::of_multiples(device, precision, mmul, tile))
    }

    /// As [`Self::new`], for a tile known to be made of register blocks.
    pub(crate) fn of_multiples(device: &Device, precision: Precision, mmul: Mmul, tile: Tile) -> Self {
        let blocks = f64::from(tile.m / mmul.block_m()) * f64::from(tile.n / mmul.block_n());
        let step = f64::from(mmul.step_cycles());
        let fill = if precision.rounds() { (device.pipeline_cycles.as_f64() - step).max(0.0) } else { 0.0 };
        let outputs = f64::from(mmul.block_m()) * f64::from(mmul.block_n());
        let port = f64::from(device.port_bytes_per_cycle.get());
        let (input, output) = (f64::from(precision.input_bytes()), f64::from(precision.output_bytes()));
        let dma = f64::from(device.dma_bytes_per_cycle.get());
        let k = f64::from(tile.k);
        Self {
            mmul,
            tile,
            issue_cycles: blocks * f64::from(tile.k / u32::from(mmul.s.get())) * step,
            fill_cycles: blocks * fill,
            sum_cycles: blocks * 2.0 * outputs * output / port,
            dma_a_cycles: f64::from(tile.m) * k * input / dma,
            dma_b_cycles: k * f64::from(tile.n) * input / dma,
        }
    }

    /// The core's own cycles (Eq. 1).
    #[must_use]
    pub fn compute_cycles(&self) -> f64 {
        self.issue_cycles + self.fill_cycles + self.sum_cycles
    }

    /// Cycles of one call when calls follow each other: the slowest of core and
    /// DMA channels.
    #[must_use]
    pub fn cycles(&self) -> f64 {
        self.compute_cycles().max(self.dma_a_cycles).max(self.dma_b_cycles)
    }

    /// What bounds it.
    #[must_use]
    pub fn bound(&self) -> KernelBound {
        let dma = self.dma_a_cycles.max(self.dma_b_cycles);
        if dma <= self.compute_cycles() {
            KernelBound::Compute
        } else if self.dma_b_cycles < self.dma_a_cycles {
            KernelBound::DmaA
        } else {
            KernelBound::DmaB
        }
    }

    /// Throughput of one core.
    #[must_use]
    pub fn macs_per_cycle(&self) -> f64 {
        self.tile.macs() / self.cycles()
    }

    /// Throughput over the instruction's peak (the paper's `eff`).
    #[must_use]
    pub fn efficiency(&self) -> f64 {
        self.macs_per_cycle() * f64::from(self.mmul.issue_cycles.get()) / f64::from(self.mmul.macs())
    }
}

/// Checks that L1 holds a tile's buffers.
///
/// # Errors
/// [`KernelError::L1`] prints the budget.
pub fn check_l1(
    device: &Device,
    precision: Precision,
    tile: Tile,
    output: OutputBuffers,
    rule: L1Rule,
) -> Result<L1Use, KernelError> {
    let r#use = L1Use::of(tile, precision, output);
    if r#use.fits(device, rule) {
        return Ok(r#use);
    }
    let have = Bytes(device.l1_bytes.get().saturating_sub(device.stack_bytes).into());
    Err(KernelError::L1 { tile, r#use, have })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tile(m: u32, k: u32, n: u32) -> Tile {
        Tile { m, k, n }
    }

    #[test]
    fn a_kernel_that_the_dma_cannot_feed_runs_at_its_pace() {
        for (name, macs) in [("xdna", 192.0), ("xdna2", 384.0)] {
            let kernel =
                Kernel::new(&Device::find(name).unwrap(), Precision::Int8Int32, tile(48, 280, 48)).unwrap();
            assert!((kernel.macs_per_cycle() - macs).abs() < 1e-9);
            assert_ne!(kernel.bound(), KernelBound::Compute);
        }
    }

    #[test]
    fn tiles_that_cannot_be_are_told_with_their_budget() {
        let device = Device::find("xdna").unwrap();
        let error = Kernel::new(&device, Precision::Int8Int8, tile(60, 64, 64)).unwrap_err();
        let text = "`m_ct` is 60, which is not a multiple of 16 (the rows of a register block); use 64 or 48";
        assert_eq!(error.to_string(), text);
        let (single, below) = (OutputBuffers::Single, L1Rule::Below);
        let error = check_l1(&device, Precision::Int8Int32, tile(48, 288, 48), single, below).unwrap_err();
        let text = "a tile of 48 x 288 x 48 needs 63 KiB of L1 (27 KiB for A and 27 KiB for B, two buffers \
                    each, 9 KiB for C), but the stack leaves 63 KiB, of which one byte must stay free; use a \
                    smaller tile or a narrower type";
        assert_eq!(error.to_string(), text);
        assert!(check_l1(&device, Precision::Int8Int32, tile(48, 288, 48), single, L1Rule::AtMost).is_ok());
    }
}
