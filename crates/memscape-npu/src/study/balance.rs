//! The balanced point between compute and memory (Sec. 4.5.2), the exhaustive
//! optimum, and the study `npu.balance` that compares them.

use std::io::{self, Write};
use std::num::{NonZeroU8, NonZeroU16, NonZeroU32};

use memscape_study::{
    Aim, Bound, CostEngine, Engines, Laws, Slot, Study, StudyError, TraceFormat, either, neutral, unused,
};
use memscape_units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::best::{Designs, Obstacle, Timed};
use crate::cost::equations;
use crate::cost::kernel::Kernel;
use crate::hardware::device::Device;
use crate::hardware::precision::Precision;
use crate::mapping::chain::ChainError;
use crate::mapping::design::{BLayout, BdReconfiguration, Design};
use crate::mapping::tile::{L1Rule, OutputBuffers, Tile};
use crate::search::{Objective, Search, SearchError, TieBreak};
use crate::study::gemm::GemmStudy;
use crate::study::occupancy::Occupancy;
use crate::study::{laws, slots};

/// How the iteration of Sec. 4.5.2 is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Iteration {
    /// To the letter: the reduction shrinks by one instruction's at a time, and the first point that
    /// is slower ends it
    AsPrinted,
    /// Reductions whose largest tile of C is no larger than the last are passed over, and a slower point
    /// ends it only where compute takes longer than DRAM, as the paper says of its last one
    UntilComputeBound,
    /// Every reduction down to one instruction's; the fastest point counts
    Scan,
}

/// One step of the iteration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// The design and its time.
    pub timed: Timed,
    /// The efficiency that the search for its tile went by: that of the step before, or
    /// nothing for the first.
    pub assumed_efficiency: Option<f64>,
    /// The time that compute takes (Eq. 9).
    pub compute_ns: f64,
    /// The time that DRAM takes (Eq. 10).
    pub memory_ns: f64,
}

impl Point {
    /// The tile.
    #[must_use]
    pub const fn tile(&self) -> Tile {
        self.timed.kernel.tile
    }

    /// What it is in numbers.
    #[must_use]
    pub fn step(&self) -> Step {
        let (tile, [m, k, n], kernel) = (self.tile(), self.timed.size, &self.timed.kernel);
        Step {
            m_ct: tile.m,
            k_ct: tile.k,
            n_ct: tile.n,
            k_mt: self.timed.design.k_mt,
            outputs: tile.outputs(),
            m,
            k,
            n,
            assumed_efficiency: self.assumed_efficiency,
            efficiency: kernel.efficiency(),
            macs_per_cycle: kernel.macs_per_cycle(),
            eq9_compute_ns: self.compute_ns,
            eq10_memory_ns: self.memory_ns,
            time_ns: self.timed.ns,
            tops: self.timed.tops(),
        }
    }
}

/// A [`Point`] as a row of a table.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Step {
    /// Rows of A and C in L1.
    pub m_ct: u32,
    /// Columns of A and rows of B in L1.
    pub k_ct: u32,
    /// Columns of B and C in L1.
    pub n_ct: u32,
    /// Length of the reduction in memory tiles.
    pub k_mt: u32,
    /// Elements of C in L1.
    pub outputs: u64,
    /// Rows of the product that it is timed on.
    pub m: u64,
    /// Reduction of that product.
    pub k: u64,
    /// Columns of that product.
    pub n: u64,
    /// The efficiency that the search for its tile went by; none at the first.
    pub assumed_efficiency: Option<f64>,
    /// The efficiency of its kernel.
    pub efficiency: f64,
    /// Multiplications of its kernel per cycle and core.
    pub macs_per_cycle: f64,
    /// Compute time (Eq. 9).
    pub eq9_compute_ns: f64,
    /// DRAM time (Eq. 10).
    pub eq10_memory_ns: f64,
    /// Modelled time.
    pub time_ns: f64,
    /// Modelled throughput.
    pub tops: f64,
}

impl Step {
    /// Writes steps as CSV.
    fn write_all(steps: impl IntoIterator<Item = Self>, out: &mut dyn Write) -> io::Result<()> {
        writeln!(
            out,
            "m_ct,k_ct,n_ct,k_mt,outputs,m,k,n,assumed_efficiency,efficiency,macs_per_cycle,eq9_compute_ns,\
             eq10_memory_ns,time_ns,tops"
        )?;
        for it in steps {
            let Self { m_ct, k_ct, n_ct, k_mt, outputs, m, k, n, assumed_efficiency, efficiency, .. } = it;
            let Self { macs_per_cycle, eq9_compute_ns, eq10_memory_ns, time_ns, tops, .. } = it;
            let assumed = assumed_efficiency.map(|it| it.to_string()).unwrap_or_default();
            writeln!(
                out,
                "{m_ct},{k_ct},{n_ct},{k_mt},{outputs},{m},{k},{n},{assumed},{efficiency},{macs_per_cycle},\
                 {eq9_compute_ns},{eq10_memory_ns},{time_ns},{tops}"
            )?;
        }
        Ok(())
    }
}

/// A search for the fastest design of an array.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BalanceStudy {
    /// The NPU
    pub device: Device,
    /// Types of inputs and output: `int8-int8`, `int8-int16`, `int8-int32`, `bf16-bf16`
    pub precision: Precision,
    /// Least dimension of the product; each design is tried on the smallest multiples of its native size
    pub at_least: NonZeroU32,
    /// How B lies in DRAM
    pub b_layout: BLayout,
    /// Buffers of C in L1
    pub output_buffers: OutputBuffers,
    /// Whether buffers may fill L1 to the last byte
    pub l1_rule: L1Rule,
    /// When the command processor rewrites buffer descriptors
    pub bd_reconfiguration: BdReconfiguration,
    /// Blocks of C submitted ahead: descriptors of each matrix in an interface tile
    pub bds_in_flight: NonZeroU8,
    /// How the iteration is read
    pub iteration: Iteration,
    /// How tiles of C of equal area are told apart
    pub tie_break: TieBreak,
    /// Where the iteration starts; the fastest kernel's reduction if missing
    pub k_start: Option<NonZeroU16>,
    /// Step of the memory tiles in reductions of the kernel; if missing, the search tries all, and the
    /// iteration takes the shortest that no longer one beats by over one percent (Sec. 5.2.2)
    pub k_mt_steps: Option<NonZeroU16>,
    /// Closed form, or event by event
    pub engine: CostEngine,
}

/// What `npu.balance` answers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct BalanceAnswer {
    /// Throughput of the iteration's design
    pub tops: f64,
    /// Throughput of the best design of all
    pub best_tops: f64,
    /// Best over iteration; 1 is no regret
    pub regret: f64,
    /// Points that the iteration measured
    pub iterations: u64,
    /// Rows of A and C in L1, as the iteration ends
    pub m_ct: u32,
    /// Columns of A and rows of B in L1, as the iteration ends
    pub k_ct: u32,
    /// Columns of B and C in L1, as the iteration ends
    pub n_ct: u32,
    /// Length of the reduction in memory tiles, as the iteration ends
    pub k_mt: u32,
    /// Compute time of Eq. 9, as the iteration ends
    pub eq9_compute_ns: f64,
    /// Memory time of Eq. 10, as the iteration ends
    pub eq10_memory_ns: f64,
    /// Elements of C in L1, as the iteration ends
    pub outputs: u64,
    /// Rows of A and C in L1 of the best
    pub best_m_ct: u32,
    /// Columns of A and rows of B in L1 of the best
    pub best_k_ct: u32,
    /// Columns of B and C in L1 of the best
    pub best_n_ct: u32,
    /// Length of the reduction in memory tiles of the best
    pub best_k_mt: u32,
    /// Tiles that L1 holds: each is tried with every step
    pub tried: u64,
    /// What else the designs take
    #[serde(flatten)]
    pub occupancy: Occupancy,
}

/// Why there is no balanced point.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BalanceError {
    /// No kernel.
    #[error(transparent)]
    Search(#[from] SearchError),
    /// A start that is no multiple of the instruction's reduction.
    #[error("`k_start` is {given}, which is not a multiple of {s} (the reduction of one matrix instruction)")]
    Start {
        /// As given.
        given: u32,
        /// The instruction's reduction.
        s: u32,
    },
    /// Tiles, but no step of them that memory tiles hold.
    #[error(
        "no design for `{precision}` fits memory tiles of {have}; use {}more `device.l2_bytes`",
        steps.map_or("", |_| "fewer `k_mt_steps` or ")
    )]
    NoStep {
        /// The precision.
        precision: Precision,
        /// What a memory tile has.
        have: Bytes,
        /// The steps asked for, if any.
        steps: Option<NonZeroU16>,
    },
    /// Designs, but none among the largest tiles.
    #[error(
        "the iteration has no point: of no reduction have the largest tiles that `device.l1_bytes` = {l1} holds a step \
         that memory tiles of {l2} hold and buffer descriptors can describe; {}",
        if advice.is_empty() { "use another `device` or `precision`".to_owned() }
        else { format!("use {}", advice.join(", or ")) }
    )]
    NoPoint {
        /// L1, in bytes.
        l1: u32,
        /// What a memory tile has.
        l2: Bytes,
        /// What gives it one, each by itself.
        advice: Vec<String>,
    },
    /// Designs, but no tile that the iteration takes.
    #[error(
        "the iteration has no point: no tile for `{precision}` of the reductions up to {start} is bound by compute (Eq. \
         4); use more `device.dma_bytes_per_cycle`{}",
        longer.map(|it| format!(" or a longer `k_start`, such as {it}")).unwrap_or_default()
    )]
    NotBound {
        /// The precision.
        precision: Precision,
        /// The longest reduction.
        start: u32,
        /// A reduction that has such a tile.
        longer: Option<u32>,
    },
    /// Designs, but none that can be programmed, most for addresses between words.
    #[error("no design for `{precision}` that the memory tiles hold can be programmed; of most, {why}")]
    Words {
        /// The precision.
        precision: Precision,
        /// The last of these.
        why: Box<ChainError>,
    },
    /// Designs, but no program.
    #[error(
        "no design for `{precision}` that memories hold fits the registers of buffer descriptors; use a smaller \
         `at_least`, or other `device.rows` or `device.columns`"
    )]
    NoDescriptors {
        /// The precision.
        precision: Precision,
    },
    /// Programs, but none that ends.
    #[error(
        "a product of {at_least} rows and columns takes longer than simulated clocks can follow (a day) whatever the \
         design; use a smaller `at_least`, a faster `device.clock_mhz` or more `device.dram.read_gb_s`"
    )]
    NoTime {
        /// As given.
        at_least: NonZeroU32,
    },
}

impl Default for BalanceStudy {
    /// int8 on XDNA at about 4K, every reduction tried.
    fn default() -> Self {
        let GemmStudy { device, precision, b_layout, output_buffers, l1_rule, engine, .. } =
            GemmStudy::default();
        let GemmStudy { bd_reconfiguration, bds_in_flight, .. } = GemmStudy::default();
        Self {
            device,
            precision,
            at_least: NonZeroU32::new(4000).expect("not zero"),
            b_layout,
            output_buffers,
            l1_rule,
            bd_reconfiguration,
            bds_in_flight,
            iteration: Iteration::Scan,
            tie_break: TieBreak::Traffic,
            k_start: None,
            k_mt_steps: None,
            engine,
        }
    }
}

/// What counts as no gain any more: Sec. 5.2.2 calls less than one percent marginal.
const MARGINAL: f64 = 0.01;

/// How often L1 is halved to find one whose largest tiles have a design: from the largest L1 to the smallest stack.
const MOST_HALVES: usize = 12;

impl BalanceStudy {
    fn search(&self, objective: Objective, k_ct: Option<u32>) -> Search {
        Search {
            objective,
            tie_break: self.tie_break,
            k_ct,
            output_buffers: self.output_buffers,
            l1_rule: self.l1_rule,
            assumed_efficiency: None,
        }
    }

    /// The designs that are compared.
    fn designs(&self) -> Designs<'_> {
        let base = Design {
            precision: self.precision,
            b_layout: self.b_layout,
            output_buffers: self.output_buffers,
            l1_rule: self.l1_rule,
            bd_reconfiguration: self.bd_reconfiguration,
            bds_in_flight: self.bds_in_flight.get().into(),
            ..GemmStudy::default().design()
        };
        let k_mt_steps = self.k_mt_steps.map(|it| it.get().into());
        Designs { device: &self.device, base, k_mt_steps, engine: self.engine }
    }

    /// The smallest multiples of the native size that reach `at_least`.
    fn size(&self, design: &Design) -> [u64; 3] {
        design.native(&self.device).map(|it| u64::from(self.at_least.get()).next_multiple_of(it))
    }

    /// A kernel at the shortest step that no longer one beats by more than one percent;
    /// nothing if memory tiles do not hold it.
    ///
    /// # Source
    /// Sec. 5.2.2.
    #[must_use]
    pub fn saturated(&self, kernel: Kernel) -> Option<Timed> {
        let designs = self.designs();
        // The paper lengthens steps, and not to a whole row.
        let quick: Vec<Timed> = designs
            .steps(kernel.tile, |_| false)
            .filter_map(|design| {
                let size = self.size(&design);
                Some(Timed { kernel, design, size, ns: designs.quick(&kernel, &design, size)? })
            })
            .collect();
        let most = quick.iter().map(Timed::tops).fold(0.0, f64::max);
        let saturates = |it: &Timed| most <= it.tops() * (1.0 + MARGINAL);
        let chosen =
            quick.into_iter().find(|it| saturates(it) && designs.programmable(&it.design, it.size))?;
        Some(Timed { ns: designs.time(&kernel, &chosen.design, chosen.size)?, ..chosen })
    }

    /// The reduction of one instruction, and that which the iteration starts from.
    fn start(&self) -> Result<[u32; 2], BalanceError> {
        let s = u32::from(self.device.mmul(self.precision).map_err(SearchError::from)?.s.get());
        let start = match self.k_start {
            Some(given) => u32::from(given.get()),
            None => self.search(Objective::Throughput, None).best(&self.device, self.precision, 1)?[0].tile.k,
        };
        if start.is_multiple_of(s) { Ok([s, start]) } else { Err(BalanceError::Start { given: start, s }) }
    }

    /// The largest tile of C that L1 holds of a reduction and that compute bounds.
    fn largest(&self, k: u32, assumed_efficiency: Option<f64>) -> Option<Kernel> {
        let search = Search { assumed_efficiency, ..self.search(Objective::LargestOutput, Some(k)) };
        Some(search.best(&self.device, self.precision, 1).ok()?[0])
    }

    /// Whether the iteration measures any point.
    fn has_a_point(&self) -> bool {
        let Ok([s, start]) = self.start() else { return false };
        let mut reductions = (1..=start / s).rev().map(|it| it * s);
        reductions.any(|k| self.largest(k, None).is_some_and(|it| self.saturated(it).is_some()))
    }

    /// Why the iteration measures none, though there are designs. What helps is found by trying.
    fn no_point(&self) -> BalanceError {
        let [s, start] = match self.start() {
            Ok(it) => it,
            Err(error) => return error,
        };
        if (1..=start / s).all(|it| self.largest(it * s, None).is_none()) {
            let any = self.search(Objective::LargestOutput, None).best(&self.device, self.precision, 1);
            let longer = any.ok().map(|it| it[0].tile.k);
            return BalanceError::NotBound { precision: self.precision, start, longer };
        }
        let (l1, l2) = (self.device.l1_bytes.get(), self.device.l2_bytes);
        let on = |change: fn(&mut Device, NonZeroU32), bytes| {
            let mut other = *self;
            change(&mut other.device, bytes);
            other.has_a_point()
        };
        let mut advice = Vec::new();
        if self.k_mt_steps.is_some() && (Self { k_mt_steps: None, ..*self }).has_a_point() {
            advice.push("fewer `k_mt_steps`".to_owned());
        }
        if on(|device, bytes| device.l2_bytes = bytes, NonZeroU32::MAX) {
            advice.push("more `device.l2_bytes`".to_owned());
        }
        if (Self { at_least: NonZeroU32::MIN, ..*self }).has_a_point() {
            advice.push("a smaller `at_least`".to_owned());
        }
        let halves = std::iter::successors(Some(l1 / 2), |it| Some(it / 2)).take(MOST_HALVES);
        let mut smaller = halves.map_while(NonZeroU32::new);
        if let Some(it) = smaller.find(|it| on(|device, bytes| device.l1_bytes = bytes, *it)) {
            advice.push(format!("less `device.l1_bytes`, such as {it}"));
        }
        BalanceError::NoPoint { l1, l2: Bytes(l2.get().into()), advice }
    }

    /// The points that the iteration measures, in order; the best is its result.
    ///
    /// Each step shortens the reduction by one instruction's and takes the largest tile
    /// of C that L1 holds and that compute bounds (Eq. 4) at the efficiency of the step
    /// before. Tiles grow until compute takes longer than DRAM.
    ///
    /// # Errors
    /// [`BalanceError`] if there is no kernel to start from.
    ///
    /// # Source
    /// Sec. 4.5.2. To the letter (`as-printed`) it ends at once: the largest tile of
    /// C grows in blocks, so a shorter reduction often has the same tile and only
    /// loses throughput.
    pub fn trace(&self) -> Result<Vec<Point>, BalanceError> {
        let [s, start] = self.start()?;
        let mut trace: Vec<Point> = Vec::new();
        let mut best = f64::NEG_INFINITY;
        for k in (1..=start / s).rev().map(|it| it * s) {
            let assumed_efficiency = trace.last().map(|it| it.timed.kernel.efficiency());
            let largest = self.largest(k, assumed_efficiency);
            let Some(timed) = largest.and_then(|it| self.saturated(it)) else { continue };
            let outputs = timed.kernel.tile.outputs();
            let grows = trace.last().is_none_or(|it| it.tile().outputs() < outputs);
            if self.iteration == Iteration::UntilComputeBound && !grows {
                continue;
            }
            let point = self.point(timed, assumed_efficiency);
            trace.push(point);
            let ends = match self.iteration {
                Iteration::AsPrinted => true,
                Iteration::UntilComputeBound => point.memory_ns <= point.compute_ns,
                Iteration::Scan => false,
            };
            if timed.tops() < best && ends {
                break;
            }
            best = best.max(timed.tops());
        }
        Ok(trace)
    }

    /// The points of the iteration, of which there is one at least.
    fn measured(&self) -> Result<Vec<Point>, StudyError> {
        self.designs().base.check_channels(&self.device)?;
        let trace = self.trace()?;
        if trace.is_empty() {
            // Where there is no design at all, that is the reason.
            self.best()?;
            return Err(self.no_point().into());
        }
        Ok(trace)
    }

    fn point(&self, timed: Timed, assumed_efficiency: Option<f64>) -> Point {
        let compute_ns = equations::compute_ns(&self.device, timed.kernel.macs_per_cycle(), timed.size);
        let memory_ns = equations::memory_ns(&self.device, &timed.design, timed.size);
        Point { timed, assumed_efficiency, compute_ns, memory_ns }
    }

    /// Why no design computes anything.
    fn no_design(&self) -> BalanceError {
        let (device, precision) = (&self.device, self.precision);
        match self.designs().obstacle(1, |design, _| self.size(design)) {
            Err(error) => SearchError::from(error).into(),
            Ok(Obstacle::L1(room)) => SearchError::NoRoom { precision, k_ct: None, room }.into(),
            Ok(Obstacle::L2) => {
                let have = Bytes(device.l2_bytes.get().into());
                BalanceError::NoStep { precision, have, steps: self.k_mt_steps }
            }
            Ok(Obstacle::Granularity(why)) => BalanceError::Words { precision, why: Box::new(why) },
            Ok(Obstacle::Descriptors) => BalanceError::NoDescriptors { precision },
            Ok(Obstacle::Time) => BalanceError::NoTime { at_least: self.at_least },
        }
    }

    /// The fastest of all designs that fit, and how many tiles L1 holds.
    ///
    /// # Errors
    /// [`BalanceError`] if none fits.
    pub fn best(&self) -> Result<(Timed, u64), BalanceError> {
        let (best, tried) = self.designs().fastest(|design| self.size(design)).map_err(SearchError::from)?;
        best.map(|it| (it, tried)).ok_or_else(|| self.no_design())
    }
}

impl Study for BalanceStudy {
    const NAME: &'static str = "npu.balance";
    const SUMMARY: &'static str =
        "The balanced-point iteration for a Ryzen AI NPU beside the best of an exhaustive search";
    type Answer = BalanceAnswer;

    const LAWS: Laws = Laws {
        aim: Some(Aim::more("best_tops")),
        effects: &[
            laws::DEVICE,
            &[
                either(
                    "at_least",
                    "a larger product amortises more; which multiples of tiles reach it varies",
                ),
                neutral("k_start"),
                either("k_mt_steps", laws::STEP),
                unused("device.reconfiguration_ns", "each design is there already"),
                unused("device.dram.energy.*", laws::NO_ENERGY),
            ],
        ],
        engines: Some(Engines::closed_and_events(laws::ENGINES)),
        slow: true,
        ..Laws::NONE
    };

    const TRACES: &'static [TraceFormat<Self>] = &[TraceFormat {
        name: "steps",
        summary: "Steps of the iteration as CSV: tile, efficiency of the step before, times of Eqs. 9 and 10, throughput",
        write: |it, out| Ok(Step::write_all(it.measured()?.iter().map(Point::step), out)?),
    }];

    fn answer(&self) -> Result<BalanceAnswer, StudyError> {
        let trace = self.measured()?;
        // The first of equals, as the iteration would keep it.
        let reached = trace.iter().rev().max_by(|a, b| a.timed.tops().total_cmp(&b.timed.tops()));
        let (best, tried) = self.best()?;
        let reached = *reached.expect("a point, as `measured` says");
        let (tile, best_tile) = (reached.tile(), best.kernel.tile);
        Ok(BalanceAnswer {
            tops: reached.timed.tops(),
            best_tops: best.tops(),
            regret: best.tops() / reached.timed.tops(),
            iterations: trace.len() as u64,
            m_ct: tile.m,
            k_ct: tile.k,
            n_ct: tile.n,
            k_mt: reached.timed.design.k_mt,
            eq9_compute_ns: reached.compute_ns,
            eq10_memory_ns: reached.memory_ns,
            outputs: tile.outputs(),
            best_m_ct: best_tile.m,
            best_k_ct: best_tile.k,
            best_n_ct: best_tile.n,
            best_k_mt: best.design.k_mt,
            tried,
            occupancy: Occupancy::of(&self.device, &best.design, &best.kernel.mmul),
        })
    }

    fn bounds(&self) -> Vec<Bound> {
        let Ok(mmul) = self.device.mmul(self.precision) else { return Vec::new() };
        let peak = self.device.tops(mmul.macs().into());
        vec![Bound::at_most("best_tops", peak, "one product a cycle on every core")]
    }

    fn slots() -> Vec<Slot> {
        vec![slots::device()]
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU64;

    use super::*;
    use crate::DEVICES;

    #[test]
    fn the_printed_iteration_stops_before_the_repaired_ones() {
        for device in DEVICES.all() {
            for precision in Precision::ALL {
                let [printed, repaired, all] =
                    [Iteration::AsPrinted, Iteration::UntilComputeBound, Iteration::Scan].map(|iteration| {
                        let default = BalanceStudy::default();
                        let study =
                            BalanceStudy { device: device.parameters, precision, iteration, ..default };
                        study.answer().unwrap()
                    });
                assert!(printed.tops < repaired.tops && repaired.iterations < all.iterations);
                assert_eq!(repaired.tops.to_bits(), all.tops.to_bits(), "{} {precision}", device.name);
            }
        }
    }

    /// A step that is a whole row of A needs no wrap register, so that it may be longer than one counts.
    #[test]
    fn a_step_may_be_a_whole_row() {
        let check = |device: Device, tile: [u16; 3], step: u16, size: [u64; 3]| {
            let of_balance = BalanceStudy { device, at_least: NonZeroU32::MIN, ..BalanceStudy::default() };
            let study =
                BalanceStudy { precision: Precision::Int8Int32, b_layout: BLayout::RowMajor, ..of_balance };
            let tile = tile.map(|it| NonZeroU16::new(it).unwrap());
            let size = size.map(|it| NonZeroU64::new(it).unwrap());
            let mut one = GemmStudy { device, precision: study.precision, ..GemmStudy::default() };
            (one.b_layout, one.k_mt) = (study.b_layout, NonZeroU16::new(step).unwrap());
            [one.m_ct, one.k_ct, one.n_ct] = tile;
            [one.m, one.k, one.n] = size;
            let one = one.answer().unwrap().tops;
            let best = study.answer().unwrap().best_tops;
            assert!(best >= one * (1.0 - 1e-12), "{best} is not the best, {one}");
        };
        check(BalanceStudy::default().device, [48, 96, 128], 4128, [192, 4128, 512]);
        let mut device = DEVICES.find("xdna2").unwrap().parameters;
        device.l2_bytes = NonZeroU32::new(1 << 20).unwrap();
        check(device, [64, 80, 128], 8160, [256, 8160, 1024]);
    }

    #[test]
    fn what_keeps_every_design_from_a_product_is_named() {
        let error = |change: fn(&mut BalanceStudy)| {
            // Few tiles, so that trying them all takes little.
            let mut study = BalanceStudy::default();
            study.device.l1_bytes = NonZeroU32::new(8192).unwrap();
            change(&mut study);
            study.answer().unwrap_err().to_string()
        };
        let l1 = error(|it| it.device.l1_bytes = NonZeroU32::new(1200).unwrap());
        assert!(l1.contains("`device.l1_bytes`") && !l1.contains("objective"), "{l1}");
        let l2 = error(|it| it.device.l2_bytes = NonZeroU32::new(1000).unwrap());
        assert!(l2.contains("`device.l2_bytes`") && !l2.contains("k_mt_steps"), "{l2}");
        let step = error(|it| it.k_mt_steps = NonZeroU16::new(6000));
        assert!(step.contains("fewer `k_mt_steps`"), "{step}");
        // Smaller tiles than the largest have such steps.
        let point = error(|it| it.k_mt_steps = NonZeroU16::new(500));
        assert!(
            point.starts_with("the iteration has no point") && point.contains("fewer `k_mt_steps`"),
            "{point}"
        );
        let time = error(|it| it.device.clock_mhz = memscape_units::Megahertz::new(0.001).unwrap());
        assert!(time.contains("`at_least`") && time.contains("`device.clock_mhz`"), "{time}");
    }

    /// The largest tiles of a large L1 are none that descriptors describe, whatever the memory tiles.
    #[test]
    fn an_iteration_without_points_is_told_what_gives_it_one() {
        let of = |change: fn(&mut BalanceStudy)| {
            let mut study = BalanceStudy::default();
            change(&mut study);
            study.answer().map(drop).map_err(|it| it.to_string())
        };
        let large = of(|it| it.device.l1_bytes = NonZeroU32::new(1 << 20).unwrap()).unwrap_err();
        assert!(
            large.contains("of no reduction have the largest tiles that `device.l1_bytes` = 1048576"),
            "{large}"
        );
        assert!(large.ends_with("; use less `device.l1_bytes`, such as 262144"), "{large}");
        assert_eq!(of(|it| it.device.l1_bytes = NonZeroU32::new(1 << 18).unwrap()), Ok(()));
        let small = of(|it| it.device.l2_bytes = NonZeroU32::new(30_000).unwrap()).unwrap_err();
        assert!(small.contains("use more `device.l2_bytes`, or less `device.l1_bytes`, such as"), "{small}");
        // A core that would multiply at its peak.
        let starved = of(|it| {
            it.device.l1_bytes = NonZeroU32::new(8192).unwrap();
            it.device.port_bytes_per_cycle = NonZeroU32::MAX;
            it.device.pipeline_cycles = memscape_units::Cycles::ZERO;
            it.device.dma_bytes_per_cycle = NonZeroU32::MIN;
        });
        let starved = starved.unwrap_err();
        let why = "no tile for `int8-int8` of the reductions up to";
        assert!(starved.contains(why) && starved.contains("more `device.dma_bytes_per_cycle`"), "{starved}");
    }

    /// Compute and DRAM meet where the iteration ends.
    #[test]
    fn the_balanced_point_is_where_the_equations_cross() {
        let study = BalanceStudy { iteration: Iteration::UntilComputeBound, ..BalanceStudy::default() };
        let trace = study.trace().unwrap();
        let ratio = |it: &Point| it.compute_ns / it.memory_ns;
        assert!(ratio(&trace[0]) < 0.6 && ratio(&trace[trace.len() - 1]) >= 1.0);
        assert!(trace.windows(2).all(|it| it[0].tile().outputs() < it[1].tile().outputs()));
        let assumed = trace[1].assumed_efficiency.unwrap();
        assert_eq!(assumed.to_bits(), trace[0].timed.kernel.efficiency().to_bits());
    }

    #[test]
    fn no_iteration_beats_the_exhaustive_search() {
        for device in DEVICES.all() {
            for precision in Precision::ALL {
                let study = BalanceStudy { device: device.parameters, precision, ..BalanceStudy::default() };
                let answer = study.answer().unwrap();
                assert!(answer.regret >= 1.0, "{} {precision}: {answer:?}", device.name);
            }
        }
    }
}
