//! Which design of an array: exhaustive search over all tiles that L1 holds and all
//! steps that the memory tiles hold.

use memscape_study::CostEngine;

use crate::cost::kernel::Kernel;
use crate::cost::schedule::Schedule;
use crate::cost::times;
use crate::hardware::device::{Device, MmulError};
use crate::mapping::chain::Chains;
use crate::mapping::design::Design;
use crate::mapping::dma::{DmaTile, WORD_BYTES};
use crate::mapping::tile::Tile;
use crate::search::{Objective, Search, TieBreak};

/// The designs of an array.
#[derive(Debug, Clone, Copy)]
pub struct Designs<'a> {
    /// The array.
    pub device: &'a Device,
    /// What all have in common: everything but tile and step.
    pub base: Design,
    /// Step of the memory tiles in reductions of the kernel; all that fit if missing.
    pub k_mt_steps: Option<u32>,
    /// How they are timed.
    pub engine: CostEngine,
}

/// A design and its time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Timed {
    /// The kernel.
    pub kernel: Kernel,
    /// The design.
    pub design: Design,
    /// The product.
    pub size: [u64; 3],
    /// Its time, in nanoseconds.
    pub ns: f64,
}

impl Timed {
    /// Operations per second, without padding.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "products of some thousands")]
    pub fn tops(&self) -> f64 {
        let [m, k, n] = self.size.map(|it| it as f64);
        2.0 * m * k * n / self.ns * 1e-3
    }
}

/// A product that is computed so many times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Demanded {
    /// Its size.
    pub size: [u64; 3],
    /// How often.
    pub count: u64,
}

/// Which of up to so many products share a design: their combinations are all tried.
pub const MOST_PRODUCTS: usize = 10;

impl Designs<'_> {
    /// The steps that memory tiles hold and whose runs a wrap register can count,
    /// shortest first.
    pub fn steps(&self, tile: Tile) -> impl Iterator<Item = Design> {
        let longest = ((WORD_BYTES << DmaTile::Interface.registers().wrap) / self.base.precision.input_bytes()).min(u32::from(u16::MAX));
        let range = match self.k_mt_steps {
            Some(steps) => steps..=steps,
            None => 1..=(longest / tile.k).max(1),
        };
        range
            .map(move |it| Design { tile, k_mt: tile.k.saturating_mul(it), ..self.base })
            .take_while(|it| it.k_mt <= u16::MAX.into() && it.l2(self.device).fits(self.device))
    }

    /// A design's time for a product, if any clock can follow it.
    #[must_use]
    pub fn time(&self, kernel: &Kernel, design: &Design, size: [u64; 3]) -> Option<f64> {
        let schedule = Schedule::new(self.device, design, kernel, size).ok()?;
        Some(times(&schedule, self.engine).total().as_ns())
    }

    /// Whether descriptors can hold it.
    #[must_use]
    pub fn programmable(&self, design: &Design, size: [u64; 3]) -> bool {
        Chains::check(self.device, design, size).is_ok()
    }

    /// All tiles.
    fn each(&self, visit: impl FnMut(Kernel)) -> Result<(), MmulError> {
        let every = Search {
            objective: Objective::Throughput,
            tie_break: TieBreak::Traffic,
            k_ct: None,
            output_buffers: self.base.output_buffers,
            l1_rule: self.base.l1_rule,
            assumed_efficiency: None,
        };
        every.each(self.device, self.base.precision, visit)
    }

    /// Nanoseconds that no design with this kernel goes below: the cores at work on
    /// whole blocks of C, or A and B through the port to DRAM.
    #[expect(clippy::cast_precision_loss, reason = "sizes are limited to 2^32")]
    fn at_least(&self, kernel: &Kernel, size: [u64; 3]) -> f64 {
        let design = Design { tile: kernel.tile, k_mt: kernel.tile.k, ..self.base };
        let [native_m, _, native_n] = design.native(self.device);
        let blocks = size[0].div_ceil(native_m) as f64 * size[2].div_ceil(native_n) as f64;
        let k = size[1] as f64;
        let calls = k / f64::from(kernel.tile.k);
        let compute = self.device.clock_mhz.time_of(kernel.call() * calls).as_f64();
        let bytes = (native_m + native_n) as f64 * k * f64::from(self.base.precision.input_bytes());
        // Rounding to picoseconds is not to exclude the best.
        blocks * compute.max(bytes / self.device.dram.port_gb_s()) * (1.0 - 1e-6)
    }

    /// The design of most operations per second, each tried on a product of its own,
    /// and how many fit.
    ///
    /// # Errors
    /// [`MmulError`] if the device lacks the instruction.
    pub fn fastest(
        &self,
        size_of: impl Fn(&Design) -> [u64; 3],
    ) -> Result<(Option<Timed>, u64), MmulError> {
        let (mut best, mut tried): (Option<Timed>, u64) = (None, 0);
        self.each(|kernel| {
            for design in self.steps(kernel.tile) {
                tried += 1;
                let size = size_of(&design);
                let bound = Timed { kernel, design, size, ns: self.at_least(&kernel, size) };
                if best.is_some_and(|it| bound.tops() <= it.tops()) {
                    continue;
                }
                let Some(ns) = self.time(&kernel, &design, size) else { continue };
                let timed = Timed { ns, ..bound };
                if best.is_none_or(|it| it.tops() < timed.tops()) && self.programmable(&design, size) {
                    best = Some(timed);
                }
            }
        })?;
        Ok((best, tried))
    }

    /// For every combination of the products the design that computes all of it in the
    /// least time; combinations are numbered by the sum of 2 to the place of each.
    ///
    /// # Errors
    /// [`MmulError`] if the device lacks the instruction.
    ///
    /// # Panics
    /// If there are more than [`MOST_PRODUCTS`].
    pub fn shared(&self, products: &[Demanded]) -> Result<Vec<Option<(Design, f64)>>, MmulError> {
        assert!(products.len() <= MOST_PRODUCTS, "too many combinations");
        let mut best: Vec<Option<(Design, f64)>> = vec![None; 1 << products.len()];
        self.each(|kernel| {
            let bounds = sums(products, |it| self.at_least(&kernel, it.size));
            if !bounds.iter().zip(&best).skip(1).any(|(bound, it)| it.is_none_or(|it| *bound < it.1)) {
                return;
            }
            for design in self.steps(kernel.tile) {
                let totals =
                    sums(products, |it| self.time(&kernel, &design, it.size).unwrap_or(f64::INFINITY));
                let mut programmable = vec![None; products.len()];
                for (combination, total) in totals.iter().enumerate().skip(1) {
                    let better = best[combination].is_none_or(|it| *total < it.1);
                    let fits = |at: usize| {
                        combination >> at & 1 == 0
                            || *programmable[at]
                                .get_or_insert_with(|| self.programmable(&design, products[at].size))
                    };
                    if total.is_finite() && better && (0..products.len()).all(fits) {
                        best[combination] = Some((design, *total));
                    }
                }
            }
        })?;
        Ok(best)
    }
}

/// The sum over each combination of the products, all repetitions together.
#[expect(clippy::cast_precision_loss, reason = "counts of layers")]
fn sums(products: &[Demanded], one: impl Fn(&Demanded) -> f64) -> Vec<f64> {
    let mut sums = vec![0.0; 1 << products.len()];
    for (at, product) in products.iter().enumerate() {
        let (done, rest) = sums.split_at_mut(1 << at);
        let own = one(product) * product.count as f64;
        for (sum, without) in rest.iter_mut().zip(done) {
            *sum = *without + own;
        }
    }
    sums
}
