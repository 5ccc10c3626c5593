//! The cycles of one core: a tile of A times a tile of B, added to a tile of C in L1.

use memscape_units::Cycles;
use schemars::JsonSchema;
use serde::Serialize;

use crate::hardware::device::{Device, Mmul};
use crate::hardware::precision::Precision;
use crate::mapping::l1::L1Layout;
use crate::mapping::tile::{OutputBuffers, Tile, TileError};

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
/// runs over the reduction in steps of `s`, rounds and stores. Four things add
/// up: issue slots of the products; loads of A and B in the same cycle that wait
/// for each other, where L1 has both in one bank; what of the software pipeline
/// (first load to last rounding) a step of the reduction does not cover; and the
/// sums, which pass one load port on their way in and the store port on their way
/// out. Sums that leave as they are (int32) need no rounding, and loading them
/// covers the rest. Meanwhile the DMA brings the next tiles of A and B (Eq. 2 and 3).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Kernel {
    /// The matrix instruction.
    pub mmul: Mmul,
    /// The tile.
    pub tile: Tile,
    /// Issue slots of the products, or of the conversions or loads that they wait for.
    pub issue: Cycles,
    /// Loads of A and B that meet in one bank.
    pub conflicts: Cycles,
    /// Software pipelines filling and draining.
    pub fill: Cycles,
    /// Loading and storing sums.
    pub sums: Cycles,
    /// The DMA's time for the next tile of A.
    pub dma_a: Cycles,
    /// The DMA's time for the next tile of B.
    pub dma_b: Cycles,
}

impl Kernel {
    /// The kernel of a tile, whether or not L1 holds it.
    ///
    /// # Errors
    /// [`TileError`] if the tile is no multiple of the register block, or the
    /// device lacks the instruction.
    pub fn new(
        device: &Device,
        precision: Precision,
        tile: Tile,
        output: OutputBuffers,
    ) -> Result<Self, TileError> {
        let mmul = tile.mmul(device, precision)?;
        Ok(Self::of_multiples(device, precision, mmul, tile, output))
    }

    /// As [`Self::new`], for a tile known to be made of register blocks.
    pub(crate) fn of_multiples(
        device: &Device,
        precision: Precision,
        mmul: Mmul,
        tile: Tile,
        output_buffers: OutputBuffers,
    ) -> Self {
        let blocks = f64::from(tile.m / mmul.block_m()) * f64::from(tile.n / mmul.block_n());
        let port = f64::from(device.port_bytes_per_cycle.get());
        let input = f64::from(precision.input_bytes());
        // A step loads vectors of A and of B side by side, through one port each.
        let loads = |size: u32| (f64::from(size * u32::from(mmul.s.get())) * input / port).ceil();
        let (loads_a, loads_b) = (loads(mmul.block_m()), loads(mmul.block_n()));
        let step = cycles(f64::from(mmul.step_cycles()).max(loads_a).max(loads_b));
        let fill =
            if precision.rounds() { device.pipeline_cycles.saturating_sub(step) } else { Cycles::ZERO };
        let outputs = f64::from(mmul.block_m()) * f64::from(mmul.block_n());
        let output = f64::from(precision.output_bytes());
        let dma = f64::from(device.dma_bytes_per_cycle.get());
        let k = f64::from(tile.k);
        let steps = blocks * f64::from(tile.k / u32::from(mmul.s.get()));
        let shared = L1Layout::of(device, precision, tile, output_buffers).shared_bank();
        Self {
            mmul,
            tile,
            issue: step * steps,
            conflicts: cycles(steps * loads_a.min(loads_b) * shared),
            fill: fill * blocks,
            sums: cycles(blocks * 2.0 * outputs * output / port),
            dma_a: cycles(f64::from(tile.m) * k * input / dma),
            dma_b: cycles(k * f64::from(tile.n) * input / dma),
        }
    }

    /// The core's own cycles (Eq. 1).
    #[must_use]
    pub fn compute(&self) -> Cycles {
        self.issue + self.conflicts + self.fill + self.sums
    }

    /// The DMA's cycles for the next tiles: two channels side by side (Eq. 2 and 3).
    #[must_use]
    pub fn dma(&self) -> Cycles {
        self.dma_a.max(self.dma_b)
    }

    /// Cycles of one call when calls follow each other: the slower of core and DMA.
    #[must_use]
    pub fn call(&self) -> Cycles {
        self.compute().max(self.dma())
    }

    /// Cycles of a call in which the core waits for the DMA.
    #[must_use]
    pub fn dma_wait(&self) -> Cycles {
        self.dma().saturating_sub(self.compute())
    }

    /// What bounds it.
    #[must_use]
    pub fn bound(&self) -> KernelBound {
        if self.dma() <= self.compute() {
            KernelBound::Compute
        } else if self.dma_b < self.dma_a {
            KernelBound::DmaA
        } else {
            KernelBound::DmaB
        }
    }

    /// Throughput of one core.
    #[must_use]
    pub fn macs_per_cycle(&self) -> f64 {
        self.tile.macs() / self.call().as_f64()
    }

    /// Throughput of a core that reached so much when it was measured, if it was: no more than the DMA feeds.
    #[must_use]
    pub fn reached(&self, measured_macs_per_cycle: Option<f64>) -> f64 {
        let fed = self.tile.macs() / self.dma().as_f64();
        measured_macs_per_cycle.map_or_else(|| self.macs_per_cycle(), |it| it.min(fed))
    }

    /// Throughput over the instruction's peak (the paper's `eff`).
    #[must_use]
    pub fn efficiency(&self) -> f64 {
        self.macs_per_cycle() / self.mmul.macs_per_cycle()
    }
}

/// So many cycles, as counts and widths give them.
pub(crate) fn cycles(count: f64) -> Cycles {
    Cycles::new(count.min(f64::MAX)).expect("products of counts are never negative")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DEVICES;

    #[test]
    fn a_kernel_that_the_dma_cannot_feed_runs_at_its_pace() {
        for (name, macs) in [("xdna", 192.0), ("xdna2", 384.0)] {
            let tile = Tile { m: 48, k: 280, n: 48 };
            let kernel =
                Kernel::new(DEVICES.get(name), Precision::Int8Int32, tile, OutputBuffers::Single).unwrap();
            assert!((kernel.macs_per_cycle() - macs).abs() < 1e-9);
            assert_ne!(kernel.bound(), KernelBound::Compute);
            let parts = kernel.compute() + kernel.dma_wait();
            assert!((parts.as_f64() - kernel.call().as_f64()).abs() < 1e-9);
        }
    }
}
