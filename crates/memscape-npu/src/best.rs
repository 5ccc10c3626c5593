//! Which design of an array: exhaustive search over all tiles that L1 holds and all
//! steps that the memory tiles hold.

use memscape_study::CostEngine;

use crate::cost::kernel::Kernel;
use crate::cost::schedule::Schedule;
use crate::cost::times;
use crate::hardware::device::{Device, MmulError};
use crate::mapping::chain::{ChainError, Chains};
use crate::mapping::design::Design;
use crate::mapping::dma::{DmaTile, WORD_BYTES};
use crate::mapping::tile::{L1Room, OutputBuffers, Tile};
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
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Demanded {
    /// Its size.
    pub size: [u64; 3],
    /// How often.
    pub count: u64,
    /// How many of these have one row less: of experts, those that one token fewer meets.
    pub short: u64,
    /// What a byte of B as it is multiplied takes in DRAM.
    pub b_share: f64,
}

impl Demanded {
    /// Its sizes, and how often each is computed.
    pub fn sizes(self) -> impl Iterator<Item = ([u64; 3], u64)> {
        let [m, k, n] = self.size;
        let sizes = [(self.size, self.count - self.short), ([m - 1, k, n], self.short)];
        sizes.into_iter().filter(|it| it.1 > 0)
    }
}

/// What keeps every design from some product.
#[derive(Debug, Clone, PartialEq)]
pub enum Obstacle {
    /// L1 holds no tile: what it has, and what the smallest takes.
    L1(L1Room),
    /// Memory tiles hold no step of any.
    L2,
    /// Most that are left have addresses between words, the last of them these, and none can be programmed.
    Granularity(ChainError),
    /// Descriptors cannot hold those that are left.
    Descriptors,
    /// Those take longer than a clock can follow.
    Time,
}

/// Which of up to so many products share a design: their combinations are all tried.
pub const MOST_PRODUCTS: usize = 11;

impl Designs<'_> {
    /// The steps that memory tiles hold, shortest first. One that is longer than a wrap register can count is among
    /// them only if it is asked for, or if it `is_row`: all of a product's row of A, which needs no register.
    pub fn steps(&self, tile: Tile, is_row: impl Fn(&Design) -> bool) -> impl Iterator<Item = Design> {
        let longest = (WORD_BYTES << DmaTile::Interface.registers().wrap) / self.base.precision.input_bytes();
        let asked = self.k_mt_steps.is_some();
        let range = match self.k_mt_steps {
            Some(steps) => steps..=steps,
            None => 1..=(u32::from(u16::MAX) / tile.k).max(1),
        };
        range
            .map(move |it| Design { tile, k_mt: tile.k.saturating_mul(it), ..self.base })
            .take_while(|it| it.k_mt <= u16::MAX.into() && it.l2(self.device).fits(self.device))
            .filter(move |it| it.k_mt <= longest || asked || it.k_mt == it.tile.k || is_row(it))
    }

    /// A design's time for a product by an engine, if any clock can follow it; for each byte of B that it
    /// multiplies, it reads `b_share`.
    fn time_by(
        &self,
        engine: CostEngine,
        kernel: &Kernel,
        design: &Design,
        size: [u64; 3],
        b_share: f64,
    ) -> Option<f64> {
        let schedule = Schedule::new(self.device, design, kernel, size, b_share).ok()?;
        Some(times(&schedule, engine).total().as_ns())
    }

    /// A design's time for a product, if any clock can follow it.
    #[must_use]
    pub fn time(&self, kernel: &Kernel, design: &Design, size: [u64; 3]) -> Option<f64> {
        self.time_by(self.engine, kernel, design, size, 1.0)
    }

    /// As [`Self::time`], or less: the closed form is never above the events.
    #[must_use]
    pub fn quick(&self, kernel: &Kernel, design: &Design, size: [u64; 3]) -> Option<f64> {
        self.time_by(CostEngine::Closed, kernel, design, size, 1.0)
    }

    /// Why a design cannot be programmed, from the product's matrices to the cores, if it cannot.
    fn refusal(&self, design: &Design, size: [u64; 3]) -> Option<ChainError> {
        let cores = Chains::check_cores(self.device, &Design { k_mt: design.tile.k, ..*design });
        cores.and_then(|()| Chains::check(self.device, design, size)).err()
    }

    /// Whether descriptors can hold it.
    #[must_use]
    pub fn programmable(&self, design: &Design, size: [u64; 3]) -> bool {
        Chains::check(self.device, design, size).is_ok()
    }

    /// Whether any step of a tile can be programmed between memory tiles and cores.
    fn reaches_cores(&self, tile: Tile) -> bool {
        Chains::check_cores(self.device, &Design { tile, k_mt: tile.k, ..self.base }).is_ok()
    }

    /// All tiles, those of the least bound first.
    fn by_bound(&self, bound: impl Fn(&Kernel) -> f64) -> Result<Vec<(f64, Kernel)>, MmulError> {
        let every = Search {
            objective: Objective::Throughput,
            tie_break: TieBreak::Traffic,
            k_ct: None,
            output_buffers: self.base.output_buffers,
            l1_rule: self.base.l1_rule,
            assumed_efficiency: None,
        };
        let mut kernels = Vec::new();
        every.each(self.device, self.base.precision, |it| kernels.push((bound(&it), it)))?;
        kernels.sort_by(|a, b| a.0.total_cmp(&b.0));
        Ok(kernels)
    }

    /// Nanoseconds that no design with this kernel goes below: the cores at work on
    /// whole blocks of C and waiting for each to leave, or A and B through the port to
    /// DRAM; then the last block on its way.
    #[expect(clippy::cast_precision_loss, reason = "sizes are limited to 2^31")]
    fn at_least(&self, kernel: &Kernel, size: [u64; 3], b_share: f64) -> f64 {
        let (device, tile) = (self.device, kernel.tile);
        let design = Design { tile, k_mt: tile.k, ..self.base };
        let [native_m, _, native_n] = design.native(device);
        let blocks = size[0].div_ceil(native_m) as f64 * size[2].div_ceil(native_n) as f64;
        let k = size[1] as f64;
        let [input, output] =
            [design.precision.input_bytes(), design.precision.output_bytes()].map(f64::from);
        let cycles = |it: f64| it * device.clock_mhz.period().as_f64();
        let c = tile.outputs() as f64 * output;
        let drain = cycles(c / f64::from(device.dma_bytes_per_cycle.get()));
        let stall = match design.output_buffers {
            OutputBuffers::Single => drain,
            OutputBuffers::Double => 0.0,
        } + cycles(c / f64::from(device.port_bytes_per_cycle.get()));
        let compute =
            blocks * cycles(kernel.call().as_f64() * k / f64::from(tile.k)) + (blocks - 1.0) * stall;
        let port = device.dram.port_gb_s();
        let read = blocks * (native_m as f64 + native_n as f64 * b_share) * k * input / port;
        let written = (native_m * native_n) as f64 * output / port;
        // Rounding to picoseconds is not to exclude the best.
        (device.dispatch_ns.as_f64() + compute.max(read) + drain + written) * (1.0 - 1e-6)
    }

    /// The design of most operations per second, each tried on a product of its own that is
    /// whole multiples of its native size, and how many tiles there are.
    ///
    /// # Errors
    /// [`MmulError`] if the device lacks the instruction.
    pub fn fastest(&self, size_of: impl Fn(&Design) -> [u64; 3]) -> Result<(Option<Timed>, u64), MmulError> {
        // Steps lengthen K; sizes that no step changes bound the time over operations.
        let per_operation = |kernel: &Kernel| {
            let design = Design { tile: kernel.tile, k_mt: kernel.tile.k, ..self.base };
            let [m, k, n] = design.native(self.device);
            // So many blocks and steps that what happens once does not count.
            let size = [m << 8, k << 8, n << 8];
            let ns = self.at_least(kernel, size, 1.0) - self.device.dispatch_ns.as_f64();
            Timed { kernel: *kernel, design, size, ns }.tops().recip()
        };
        let kernels = self.by_bound(per_operation)?;
        let mut best: Option<Timed> = None;
        for (bound, kernel) in &kernels {
            if best.is_some_and(|it| it.tops().recip() <= *bound) {
                break;
            }
            if !self.reaches_cores(kernel.tile) {
                continue;
            }
            for design in self.steps(kernel.tile, |it| is_row(it, size_of(it))) {
                let size = size_of(&design);
                let Some(ns) = self.quick(kernel, &design, size) else { continue };
                let quick = Timed { kernel: *kernel, design, size, ns };
                if best.is_some_and(|it| quick.tops() <= it.tops()) {
                    continue;
                }
                let Some(ns) = self.time(kernel, &design, size) else { continue };
                let timed = Timed { ns, ..quick };
                if best.is_none_or(|it| it.tops() < timed.tops()) && self.programmable(&design, size) {
                    best = Some(timed);
                }
            }
        }
        Ok((best, kernels.len() as u64))
    }

    /// The kernel of least time that can compute products of all these sizes, whatever their steps read and write, if
    /// any can.
    ///
    /// * `least`: what a kernel does not go below
    /// * `time`: what it takes, if it is one to choose from
    ///
    /// # Errors
    /// [`MmulError`] if the device lacks the instruction.
    pub fn least_kernel(
        &self,
        sizes: &[[u64; 3]],
        least: impl Fn(&Kernel) -> f64,
        time: impl Fn(&Kernel) -> Option<f64>,
    ) -> Result<Option<Kernel>, MmulError> {
        let computes = |kernel: &Kernel| {
            let all = |it: &Design| sizes.iter().all(|size| self.programmable(it, *size));
            let any_row = |it: &Design| sizes.iter().any(|size| is_row(it, *size));
            self.reaches_cores(kernel.tile) && self.steps(kernel.tile, any_row).any(|it| all(&it))
        };
        let mut best: Option<(f64, Kernel)> = None;
        for (bound, kernel) in self.by_bound(least)? {
            if best.is_some_and(|it| it.0 <= bound) {
                break;
            }
            if let Some(time) = time(&kernel)
                && best.is_none_or(|it| time < it.0)
                && computes(&kernel)
            {
                best = Some((time, kernel));
            }
        }
        Ok(best.map(|it| it.1))
    }

    /// What keeps every design from one of the products, where something does.
    ///
    /// * `products`: how many there are
    /// * `size_of`: the size of one of them, by the design that computes it
    ///
    /// # Errors
    /// [`MmulError`] if the device lacks the instruction.
    pub fn obstacle(
        &self,
        products: usize,
        size_of: impl Fn(&Design, usize) -> [u64; 3],
    ) -> Result<Obstacle, MmulError> {
        let kernels = self.by_bound(|_| 0.0)?;
        if kernels.is_empty() {
            let Design { precision, output_buffers, l1_rule, .. } = self.base;
            let smallest = Tile::smallest(self.device.mmul(precision)?);
            return Ok(Obstacle::L1(L1Room::of(self.device, smallest, precision, output_buffers, l1_rule)));
        }
        let any_row = |it: &Design| (0..products).any(|product| is_row(it, size_of(it, product)));
        let designs = || kernels.iter().flat_map(|it| self.steps(it.1.tile, any_row));
        if designs().next().is_none() {
            return Ok(Obstacle::L2);
        }
        for product in 0..products {
            let (mut refused, mut between_words, mut last) = (0_u64, 0, None);
            let programmable = designs().any(|it| {
                let Some(why) = self.refusal(&it, size_of(&it, product)) else { return true };
                refused += 1;
                if why.is_between_words() {
                    between_words += 1;
                    last = Some(why);
                }
                false
            });
            if !programmable {
                return Ok(match last {
                    Some(why) if between_words > refused / 2 => Obstacle::Granularity(why),
                    _ => Obstacle::Descriptors,
                });
            }
        }
        Ok(Obstacle::Time)
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
        let every: Vec<_> = (0..1 << products.len()).collect();
        self.of_combinations(products, &every, |each, _, _| sums(each))
    }

    /// For each way the design that takes the least time for all of it, if any can: the products that it has, as
    /// combinations are numbered, and what else a kernel in a design takes.
    ///
    /// * `beside`: that, by the place of the way; never less in a design of more steps
    ///
    /// # Errors
    /// [`MmulError`] if the device lacks the instruction.
    pub fn of_ways(
        &self,
        products: &[Demanded],
        ways: &[usize],
        beside: impl Fn(usize, &Kernel, &Design) -> f64,
    ) -> Result<Vec<Option<(Design, f64)>>, MmulError> {
        self.of_combinations(products, ways, |each, kernel, design| {
            let total = |(at, way): (usize, &usize)| {
                let own = each.iter().enumerate().filter(|it| way >> it.0 & 1 == 1);
                own.map(|it| it.1).sum::<f64>() + beside(at, kernel, design)
            };
            ways.iter().enumerate().map(total).collect()
        })
    }

    /// For each combination but the empty one the design of least time.
    ///
    /// * `totals`: what each takes, by what the products take
    fn of_combinations(
        &self,
        products: &[Demanded],
        combinations: &[usize],
        totals: impl Fn(&[f64], &Kernel, &Design) -> Vec<f64>,
    ) -> Result<Vec<Option<(Design, f64)>>, MmulError> {
        let mut best: Vec<Option<(Design, f64)>> = vec![None; combinations.len()];
        let any_below = |totals: &[f64], best: &[Option<(Design, f64)>]| {
            let mut each = combinations.iter().zip(totals.iter().zip(best));
            each.any(|(it, (total, best))| *it != 0 && best.is_none_or(|it| *total < it.1))
        };
        #[expect(clippy::cast_precision_loss, reason = "counts of layers")]
        let all = |one: &dyn Fn([u64; 3], f64) -> f64| -> Vec<f64> {
            let total = |it: &Demanded| {
                it.sizes().map(|(size, count)| one(size, it.b_share) * count as f64).sum::<f64>()
            };
            products.iter().map(total).collect()
        };
        let least = |kernel: &Kernel| all(&|size, b_share| self.at_least(kernel, size, b_share));
        for (_, kernel) in self.by_bound(|it| least(it).iter().sum())? {
            let shortest = Design { tile: kernel.tile, k_mt: kernel.tile.k, ..self.base };
            if !any_below(&totals(&least(&kernel), &kernel, &shortest), &best)
                || !self.reaches_cores(kernel.tile)
            {
                continue;
            }
            let any_row = |it: &Design| products.iter().any(|product| is_row(it, product.size));
            for design in self.steps(kernel.tile, any_row) {
                let by = |engine| {
                    let time = |size, b_share| self.time_by(engine, &kernel, &design, size, b_share);
                    let of = |size, b_share| time(size, b_share).unwrap_or(f64::INFINITY);
                    totals(&all(&of), &kernel, &design)
                };
                let mut times = by(CostEngine::Closed);
                if !any_below(&times, &best) {
                    continue;
                }
                if self.engine != CostEngine::Closed {
                    times = by(self.engine);
                }
                let mut programmable = vec![None; products.len()];
                for (at, combination) in combinations.iter().enumerate().filter(|it| *it.1 != 0) {
                    let (total, better) = (times[at], best[at].is_none_or(|it| times[at] < it.1));
                    let fits = |at: usize| {
                        combination >> at & 1 == 0
                            || *programmable[at].get_or_insert_with(|| {
                                products[at].sizes().all(|it| self.programmable(&design, it.0))
                            })
                    };
                    if total.is_finite() && better && (0..products.len()).all(fits) {
                        best[at] = Some((design, total));
                    }
                }
            }
        }
        Ok(best)
    }
}

/// Whether a step of a design is a whole row of A, and no shorter one is.
fn is_row(design: &Design, [_, k, _]: [u64; 3]) -> bool {
    let step = u64::from(design.k_mt);
    k <= step && step < k + u64::from(design.tile.k)
}

/// The sum over each combination of what products take.
fn sums(each: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0; 1 << each.len()];
    for (at, own) in each.iter().enumerate() {
        let (done, rest) = sums.split_at_mut(1 << at);
        for (sum, without) in rest.iter_mut().zip(done) {
            *sum = *without + own;
        }
    }
    sums
}
