//! The study `pim.regret`: how far PIMnast's choice is from the best.

use std::num::{NonZeroU32, NonZeroU64};

use memscape_study::{Laws, Slot, Study, StudyError};
use memscape_workload::BlockScale;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::gemv::{GemvAnswer, GemvError, GemvStudy};
use super::laws;
use crate::mapping::PlanError;
use crate::mapping::placement::{CrDegree, Placement, TilePolicy};

/// PIMnast's choice for one matrix beside an exhaustive search.
///
/// The search tries every tile height, CR degree, division of the registers
/// between inputs and sums, and split-K degree, and column-major order;
/// whatever the registers cannot hold is left out. A split-K degree that does not
/// divide channels or columns leaves the last channels idle or adds columns of
/// zeros; of degrees that leave a part as many channels, the highest is tried. Row
/// order is not among them: it spreads a matrix row over all banks, which no
/// broadcast command can add up. Its parameters are `pim.gemv`'s.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct RegretStudy(pub GemvStudy);

impl Default for RegretStudy {
    /// `pim.gemv`'s, as the algorithms are printed, but for the processor's reduction: uncharged,
    /// the highest split-K degree would win whatever it costs.
    fn default() -> Self {
        Self(GemvStudy { placement: Placement::Pimnast, ..GemvStudy::default() })
    }
}

/// What `pim.regret` answers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct RegretAnswer {
    /// Time of the placement as asked for
    pub chosen_ns: f64,
    /// Least time found
    pub best_ns: f64,
    /// Chosen over best; 1 is no regret
    pub regret: f64,
    /// Least time found without split-K
    pub best_unsplit_ns: f64,
    /// Chosen over best without split-K
    pub unsplit_regret: f64,
    /// Tile height of the best without split-K
    pub best_unsplit_m_tile: u64,
    /// CR degree of the best without split-K
    pub best_unsplit_cr_degree: u64,
    /// Input registers of the best without split-K
    pub best_unsplit_input_registers: u64,
    /// Tile height as chosen
    pub chosen_m_tile: u64,
    /// CR degree as chosen
    pub chosen_cr_degree: u64,
    /// Tile height of the best
    pub best_m_tile: u64,
    /// CR degree of the best
    pub best_cr_degree: u64,
    /// Input registers of the best
    pub best_input_registers: u64,
    /// Split-K degree of the best
    pub best_split_k: u32,
    /// Channels that the best puts weights into
    pub best_channels: u32,
    /// Order of the best
    pub best_placement: Placement,
    /// Placements that fit and were compared
    pub tried: u64,
    /// Bytes that the placement as asked for takes in memory, padding included
    pub memory_bytes: u64,
    /// Bytes of the memory
    pub memory_limit_bytes: u64,
}

impl Study for RegretStudy {
    const NAME: &'static str = "pim.regret";
    const SUMMARY: &'static str = "PIMnast's placement of one matrix beside the best of an exhaustive search";
    type Answer = RegretAnswer;

    fn slots() -> Vec<Slot> {
        GemvStudy::slots()
    }

    const LAWS: Laws = laws::REGRET;

    fn answer(&self) -> Result<RegretAnswer, StudyError> {
        let base = self.0;
        let chosen = base.answer()?;
        let unsplit = |it: &GemvStudy| it.split_k.get() == 1;
        let (mut best, mut best_unsplit) = ((base, chosen), unsplit(&base).then_some(chosen));
        let column_major = GemvStudy {
            placement: Placement::ColumnMajor,
            tile: TilePolicy::Auto,
            cr_degree: CrDegree::Auto,
            split_k: NonZeroU32::MIN,
            ..base
        };
        let splits = splits(&base);
        let candidates = candidates(&splits, &column_major, &chosen);
        let tried = candidates.len() as u64;
        for (least_ns, candidate) in candidates {
            let candidate = candidate.study();
            let to_beat =
                best_unsplit.filter(|_| unsplit(&candidate)).map_or(best.1.time_ns, |it| it.time_ns);
            let unmet = unsplit(&candidate) && best_unsplit.is_none();
            if least_ns >= to_beat && !unmet {
                continue;
            }
            let answer = candidate.answer()?;
            if answer.time_ns < best.1.time_ns {
                best = (candidate, answer);
            }
            if unsplit(&candidate) && best_unsplit.is_none_or(|it| answer.time_ns < it.time_ns) {
                best_unsplit = Some(answer);
            }
        }
        let best_unsplit = best_unsplit.unwrap_or(best.1);
        let (study, answer) = best;
        Ok(RegretAnswer {
            chosen_ns: chosen.time_ns,
            best_ns: answer.time_ns,
            regret: chosen.time_ns / answer.time_ns,
            best_unsplit_ns: best_unsplit.time_ns,
            unsplit_regret: chosen.time_ns / best_unsplit.time_ns,
            best_unsplit_m_tile: best_unsplit.m_tile,
            best_unsplit_cr_degree: best_unsplit.cr_degree_used,
            best_unsplit_input_registers: best_unsplit.input_registers_used,
            chosen_m_tile: chosen.m_tile,
            chosen_cr_degree: chosen.cr_degree_used,
            best_m_tile: answer.m_tile,
            best_cr_degree: answer.cr_degree_used,
            best_input_registers: answer.input_registers_used,
            best_split_k: study.split_k.get(),
            best_channels: study.memory.channels.get(),
            best_placement: study.placement,
            tried,
            memory_bytes: chosen.memory_bytes,
            memory_limit_bytes: chosen.memory_limit_bytes,
        })
    }
}

/// The question with each split-K degree, for which what it does not divide is left idle or filled up.
fn splits(base: &GemvStudy) -> Vec<GemvStudy> {
    let Ok(gemv) = base.shape() else { return Vec::new() };
    let block = base.format.scale().map_or(1, BlockScale::elements);
    let channels = base.memory.channels.get();
    // More parts of as many channels each leave fewer idle.
    let is_tried = |degree: &u32| channels / (channels / degree) == *degree;
    let split = |degree: u32| {
        let k = gemv.k().checked_next_multiple_of(u64::from(degree).checked_mul(block)?)?;
        let (m, k, split_k) = (NonZeroU64::new(gemv.m()), NonZeroU64::new(k), NonZeroU32::new(degree)?);
        let mut it = GemvStudy { placement: Placement::Best, m, k, split_k, ..*base };
        it.memory.channels = NonZeroU32::new(channels / degree * degree)?;
        Some(it)
    };
    (1..=channels).filter(is_tried).filter_map(split).collect()
}

/// What is tried: millions, where registers are many, so that each is told by what is its own.
struct Candidate<'a> {
    base: &'a GemvStudy,
    /// Tile height, input registers and CR degree, where they are not the base's.
    own: Option<[NonZeroU32; 3]>,
}

impl Candidate<'_> {
    fn study(&self) -> GemvStudy {
        let mut it = *self.base;
        if let Some([height, inputs, degree]) = self.own {
            it.tile = TilePolicy::Fixed(height);
            it.pim.input_registers = inputs;
            it.cr_degree = CrDegree::Fixed(degree);
        }
        it
    }
}

/// Every placement that fits, with a time that it cannot fall below, least first.
fn candidates<'a>(
    splits: &'a [GemvStudy],
    column_major: &'a GemvStudy,
    chosen: &GemvAnswer,
) -> Vec<(f64, Candidate<'a>)> {
    let heights: Vec<_> =
        (0..=(chosen.m_tile * chosen.k_tile).ilog2()).filter_map(|it| NonZeroU32::new(1 << it)).collect();
    let counts = |to: u32| (1..=to).filter_map(NonZeroU32::new);
    let mut all = Vec::new();
    for split in splits {
        let registers = split.pim.registers.get();
        for &height in &heights {
            for input_registers in counts(registers) {
                let tile = TilePolicy::Fixed(height);
                let mut candidate = GemvStudy { tile, ..*split };
                candidate.pim.input_registers = input_registers;
                let Ok(site) = candidate.site() else { continue };
                for degree in counts(registers) {
                    candidate.cr_degree = CrDegree::Fixed(degree);
                    match candidate.least_ns(&site) {
                        Ok(least_ns) => {
                            let own = Some([height, input_registers, degree]);
                            all.push((least_ns, Candidate { base: split, own }));
                        }
                        // A bank may hold a higher degree.
                        Err(GemvError::Plan(PlanError::Capacity { .. })) => {}
                        Err(_) => break,
                    }
                }
            }
        }
    }
    let least_ns = column_major.site().and_then(|it| column_major.least_ns(&it));
    all.extend(least_ns.ok().map(|it| (it, Candidate { base: column_major, own: None })));
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    all
}
