//! The study `npu.search`: the best tile of one core, by exhaustive search.

use std::num::NonZeroU16;

use memscape_study::{
    Aim, Bound, Laws, Slot, Study, StudyError, When, either, faster, neutral, slower, unused,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cost::kernel::Kernel;
use crate::hardware::device::Device;
use crate::hardware::precision::Precision;
use crate::mapping::tile::{L1Rule, OutputBuffers, Tile};
use crate::search::{Objective, Search, TieBreak};
use crate::study::gemm::GemmStudy;
use crate::study::kernel::{KernelAnswer, KernelStudy};
use crate::study::{laws, slots};

/// The best tile that L1 holds, of all there are.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchStudy {
    /// The NPU
    pub device: Device,
    /// Types of inputs and output: `int8-int8`, `int8-int16`, `int8-int32`, `bf16-bf16`
    pub precision: Precision,
    /// What makes a tile better than another
    pub objective: Objective,
    /// How tiles of C of equal area are told apart, for `largest-output`
    pub tie_break: TieBreak,
    /// Only tiles of this reduction
    pub k_ct: Option<NonZeroU16>,
    /// Buffers of C in L1
    pub output_buffers: OutputBuffers,
    /// Whether buffers may fill L1 to the last byte
    pub l1_rule: L1Rule,
    /// Share of the peak in Eq. 1 when Eq. 4 asks whether compute bounds; the kernel model's if
    /// missing
    pub assumed_efficiency: Option<f64>,
    /// 1 for the best, 2 for the second best
    pub rank: NonZeroU16,
}

/// What `npu.search` answers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct SearchAnswer {
    /// Rows of A and C in L1
    pub m_ct: u32,
    /// Columns of A and rows of B in L1
    pub k_ct: u32,
    /// Columns of B and C in L1
    pub n_ct: u32,
    /// What the objective asks for first, higher is better: multiply-accumulates per cycle or per
    /// call, elements of C, or one over them
    pub score: f64,
    /// Throughput of the core in multiply-accumulates per cycle
    pub macs_per_cycle: f64,
    /// Throughput over the instruction's peak
    pub efficiency: f64,
    /// Multiply-accumulates of one call
    pub macs: f64,
    /// Elements of C
    pub outputs: u64,
    /// Throughput of the array if all cores run at this pace
    pub peak_tops: f64,
    /// All buffers in L1, without the stack
    pub l1_bytes: u64,
    /// Share of L1 that they take
    pub l1_share: f64,
    /// Share of the core's accumulators that a register block takes
    pub accumulator_share: f64,
}

/// Why there is nothing to search.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SearchInputError {
    /// A share of the peak that none can reach.
    #[error("`assumed_efficiency` is {0}; it must be above 0 and at most 1")]
    Efficiency(f64),
    /// Fewer tiles than asked for.
    #[error("`rank` is {asked}, but only {found} tiles fit; use a smaller rank")]
    Rank {
        /// As given.
        asked: u16,
        /// Tiles there are.
        found: usize,
    },
}

impl Default for SearchStudy {
    /// The fastest int8 kernel of XDNA.
    fn default() -> Self {
        let GemmStudy { device, precision, output_buffers, l1_rule, .. } = GemmStudy::default();
        Self {
            device,
            precision,
            objective: Objective::Throughput,
            tie_break: TieBreak::Traffic,
            k_ct: None,
            output_buffers,
            l1_rule,
            assumed_efficiency: None,
            rank: NonZeroU16::MIN,
        }
    }
}

impl SearchStudy {
    /// What is searched for.
    ///
    /// # Errors
    /// [`SearchInputError::Efficiency`].
    pub fn search(&self) -> Result<Search, SearchInputError> {
        match self.assumed_efficiency {
            Some(given) if !(given > 0.0 && given <= 1.0) => Err(SearchInputError::Efficiency(given)),
            _ => Ok(Search {
                objective: self.objective,
                tie_break: self.tie_break,
                k_ct: self.k_ct.map(|it| it.get().into()),
                output_buffers: self.output_buffers,
                l1_rule: self.l1_rule,
                assumed_efficiency: self.assumed_efficiency,
            }),
        }
    }
}

impl SearchStudy {
    /// The best tiles, best first; fewer than `count` if fewer fit. `rank` is ignored.
    ///
    /// # Errors
    /// [`StudyError`] if nothing fits, or the assumed efficiency is none.
    pub fn ranked(&self, count: usize) -> Result<Vec<SearchAnswer>, StudyError> {
        let found = self.search()?.best(&self.device, self.precision, count)?;
        let answer = |kernel: &Kernel| {
            let KernelAnswer {
                macs_per_cycle,
                efficiency,
                macs,
                outputs,
                peak_tops,
                l1_bytes,
                l1_share,
                accumulator_share,
                ..
            } = KernelStudy::describe(&self.device, self.precision, self.output_buffers, kernel);
            let Tile { m, k, n } = kernel.tile;
            SearchAnswer {
                m_ct: m,
                k_ct: k,
                n_ct: n,
                score: self.objective.score(kernel),
                macs_per_cycle,
                efficiency,
                macs,
                outputs,
                peak_tops,
                l1_bytes,
                l1_share,
                accumulator_share,
            }
        };
        Ok(found.iter().map(answer).collect())
    }
}

impl Study for SearchStudy {
    const NAME: &'static str = "npu.search";
    const SUMMARY: &'static str =
        "The best tile for one core of a Ryzen AI NPU, by exhaustive search (Eq. 1 to 5)";
    type Answer = SearchAnswer;

    const LAWS: Laws = Laws {
        aim: Some(Aim::more("score")),
        effects: &[&[
            either("k_ct", "the best of one reduction; without it the best of all"),
            either("assumed_efficiency", EQ_4).only(BY_EQ_4),
            slower("rank"),
            neutral("device.rows"),
            neutral("device.columns"),
            neutral("device.clock_mhz"),
            faster("device.l1_bytes"),
            either("device.l1_bank_bytes", laws::BANKS),
            either("device.stack_bytes", laws::BANKS),
            faster("device.dma_bytes_per_cycle"),
            either("device.port_bytes_per_cycle", EQ_4),
            neutral("device.accumulator_bytes"),
            either("device.int8.*", laws::GRID).only(laws::INT8),
            either("device.bf16.*", laws::GRID).only(laws::BF16),
            either("device.pipeline_cycles", EQ_4).only(laws::ROUNDED),
            unused("device.*", "one core works on what L1 has already"),
        ]],
        ..Laws::NONE
    };

    fn answer(&self) -> Result<SearchAnswer, StudyError> {
        let rank = usize::from(self.rank.get());
        let mut found = self.ranked(rank)?;
        let missing = SearchInputError::Rank { asked: self.rank.get(), found: found.len() };
        if found.len() < rank { Err(missing.into()) } else { Ok(found.swap_remove(rank - 1)) }
    }

    fn bounds(&self) -> Vec<Bound> {
        let Ok(mmul) = self.device.mmul(self.precision) else { return Vec::new() };
        vec![
            Bound::at_most("macs_per_cycle", mmul.macs().into(), "one product a cycle"),
            Bound::at_most("l1_bytes", laws::l1_bytes(&self.device), "L1 without the stack"),
        ]
    }

    fn slots() -> Vec<Slot> {
        vec![slots::device()]
    }
}

/// Of what makes a core faster, where the objective is not throughput.
const EQ_4: &str = "a faster core is sooner bound by the DMA, and Eq. 4 admits fewer tiles";

/// Where Eq. 4 decides.
const BY_EQ_4: &[When] = &[When::is_not("objective", &["throughput"])];
