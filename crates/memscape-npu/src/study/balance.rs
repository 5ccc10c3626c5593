//! The balanced point between compute and memory (Sec. 4.5.2), the exhaustive
//! optimum, and the study `npu.balance` that compares them.

use std::num::{NonZeroU16, NonZeroU32};

use memscape_study::{CostEngine, Slot, Study, StudyError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cost::kernel::Kernel;
use crate::cost::schedule::Schedule;
use crate::cost::times;
use crate::hardware::device::Device;
use crate::hardware::precision::Precision;
use crate::mapping::design::{BLayout, Design};
use crate::mapping::tile::{L1Rule, OutputBuffers, Tile};
use crate::search::{Objective, Search, SearchError, TieBreak};
use crate::study::gemm::GemmStudy;
use crate::study::slots;

/// How the iteration of Sec. 4.5.2 is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Iteration {
    /// To the letter: the reduction shrinks by one instruction's at a time, and the first point that
    /// is slower ends it
    AsPrinted,
    /// As printed, but reductions whose largest tile of C is no larger than the last are passed over
    SkipEqual,
    /// Every reduction down to one instruction's; the fastest point counts
    Scan,
}

/// One point of the iteration, or of the exhaustive search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// The kernel.
    pub kernel: Kernel,
    /// Length of the reduction in memory tiles.
    pub k_mt: u32,
    /// The product it is tried on.
    pub size: [u64; 3],
    /// Its throughput.
    pub tops: f64,
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
    /// How the iteration is read
    pub iteration: Iteration,
    /// How tiles of C of equal area are told apart
    pub tie_break: TieBreak,
    /// Where the iteration starts; the fastest kernel's reduction if missing
    pub k_start: Option<NonZeroU16>,
    /// Step of the memory tiles in reductions of the kernel; as many as saturate DRAM if missing
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
    /// Elements of C in L1, as the iteration ends
    pub outputs: u64,
    /// Rows of A and C in L1 of the best
    pub best_m_ct: u32,
    /// Columns of A and rows of B in L1 of the best
    pub best_k_ct: u32,
    /// Columns of B and C in L1 of the best
    pub best_n_ct: u32,
    /// Designs that fit and were timed
    pub tried: u64,
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
    /// Kernels, but none whose memory tiles hold it.
    #[error("no design for `{0}` fits the memory tiles; use fewer `k_mt_steps` or more `device.l2_bytes`")]
    NoDesign(Precision),
}

impl Default for BalanceStudy {
    /// int8 on XDNA at about 4K, every reduction tried.
    fn default() -> Self {
        let GemmStudy { device, precision, b_layout, output_buffers, l1_rule, engine, .. } =
            GemmStudy::default();
        Self {
            device,
            precision,
            at_least: NonZeroU32::new(4000).expect("not zero"),
            b_layout,
            output_buffers,
            l1_rule,
            iteration: Iteration::Scan,
            tie_break: TieBreak::Traffic,
            k_start: None,
            k_mt_steps: None,
            engine,
        }
    }
}

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

    /// Elements of the shortest run that saturates DRAM.
    fn saturating_run(&self) -> u32 {
        let run = self.device.dram.run_bytes.as_f64() / f64::from(self.precision.input_bytes());
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates")]
        let elements = run.ceil().min(65_535.0) as u32;
        elements
    }

    /// Times one kernel on a product of this size, or on the smallest multiples of its
    /// native size that reach `at_least`; nothing if memory tiles do not hold it.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "products of some thousands")]
    pub fn point(&self, kernel: Kernel, size: Option<[u64; 3]>) -> Option<Point> {
        let Tile { k, .. } = kernel.tile;
        let k_mt = self.k_mt_steps.map_or_else(
            || self.saturating_run().next_multiple_of(k),
            |steps| k.saturating_mul(steps.get().into()),
        );
        let design = Design {
            tile: kernel.tile,
            k_mt,
            b_layout: self.b_layout,
            output_buffers: self.output_buffers,
            l1_rule: self.l1_rule,
            precision: self.precision,
            ..GemmStudy::default().design()
        };
        if k_mt > 65_535 || !design.l2(&self.device).fits(&self.device) {
            return None;
        }
        let size = size.unwrap_or_else(|| {
            design.native(&self.device).map(|it| u64::from(self.at_least.get()).next_multiple_of(it))
        });
        let schedule = Schedule::new(&self.device, &design, &kernel, size).ok()?;
        let time = times(&schedule, self.engine).total();
        let [m, k, n] = size.map(|it| it as f64);
        Some(Point { kernel, k_mt, size, tops: 2.0 * m * k * n / time.as_ns() * 1e-3 })
    }

    /// The points that the iteration measures, in order; the last that was better
    /// than all before is its result.
    ///
    /// # Errors
    /// [`BalanceError`] if there is no kernel to start from.
    ///
    /// # Source
    /// Sec. 4.5.2. To the letter (`as-printed`) it ends at once: the largest tile of
    /// C grows in blocks, so a shorter reduction often has the same tile and only
    /// loses throughput.
    pub fn trace(&self) -> Result<Vec<Point>, BalanceError> {
        let s = u32::from(self.device.mmul(self.precision).map_err(SearchError::from)?.s.get());
        let start = match self.k_start {
            Some(given) => u32::from(given.get()),
            None => self.search(Objective::Throughput, None).best(&self.device, self.precision, 1)?[0].tile.k,
        };
        if !start.is_multiple_of(s) {
            return Err(BalanceError::Start { given: start, s });
        }
        let mut trace: Vec<Point> = Vec::new();
        let mut best = f64::NEG_INFINITY;
        for k in (1..=start / s).rev().map(|it| it * s) {
            let largest =
                self.search(Objective::LargestOutput, Some(k)).best(&self.device, self.precision, 1);
            let Some(point) = largest.ok().and_then(|it| self.point(it[0], None)) else { continue };
            if let (Iteration::SkipEqual, Some(last)) = (self.iteration, trace.last())
                && point.kernel.tile.outputs() <= last.kernel.tile.outputs()
            {
                continue;
            }
            trace.push(point);
            if point.tops < best && self.iteration != Iteration::Scan {
                break;
            }
            best = best.max(point.tops);
        }
        Ok(trace)
    }

    /// The fastest of all designs that fit, and how many there are; for a product of
    /// this size, or of at least `at_least`.
    ///
    /// # Errors
    /// [`BalanceError`] if none fits.
    pub fn best(&self, size: Option<[u64; 3]>) -> Result<(Point, u64), BalanceError> {
        let (mut best, mut tried): (Option<Point>, u64) = (None, 0);
        let every = self.search(Objective::Throughput, None);
        every
            .each(&self.device, self.precision, |kernel| {
                let Some(point) = self.point(kernel, size) else { return };
                tried += 1;
                if best.is_none_or(|it| it.tops < point.tops) {
                    best = Some(point);
                }
            })
            .map_err(SearchError::from)?;
        best.map(|it| (it, tried)).ok_or(BalanceError::NoDesign(self.precision))
    }
}

impl Study for BalanceStudy {
    const NAME: &'static str = "npu.balance";
    const SUMMARY: &'static str =
        "The balanced-point iteration for a Ryzen AI NPU beside the best of an exhaustive search";
    type Answer = BalanceAnswer;

    fn answer(&self) -> Result<BalanceAnswer, StudyError> {
        let trace = self.trace()?;
        // The first of equals, as the iteration would keep it.
        let reached = trace.iter().rev().max_by(|a, b| a.tops.total_cmp(&b.tops));
        let reached = *reached.ok_or(BalanceError::NoDesign(self.precision))?;
        let (best, tried) = self.best(None)?;
        let (tile, best_tile) = (reached.kernel.tile, best.kernel.tile);
        Ok(BalanceAnswer {
            tops: reached.tops,
            best_tops: best.tops,
            regret: best.tops / reached.tops,
            iterations: trace.len() as u64,
            m_ct: tile.m,
            k_ct: tile.k,
            n_ct: tile.n,
            k_mt: reached.k_mt,
            outputs: tile.outputs(),
            best_m_ct: best_tile.m,
            best_k_ct: best_tile.k,
            best_n_ct: best_tile.n,
            tried,
        })
    }

    fn slots() -> Vec<Slot> {
        vec![slots::device()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DEVICES;

    #[test]
    fn the_printed_iteration_stops_before_the_repaired_ones() {
        let tops = [Iteration::AsPrinted, Iteration::SkipEqual, Iteration::Scan].map(|iteration| {
            let study = BalanceStudy { iteration, ..BalanceStudy::default() };
            study.answer().unwrap().tops
        });
        assert!(tops[0] < tops[1] && tops[1] <= tops[2], "{tops:?}");
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
