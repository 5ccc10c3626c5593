//! The census backwards: which runs explain counted matrix products.

use std::num::{NonZeroU32, NonZeroU64};
use std::ops::RangeInclusive;

use crate::riscv::census::{Observed, OutputRows, Run, TooLong};
use rayon::prelude::*;

/// Where to look for a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Runs {
    /// How often the run is made.
    pub repetitions: RangeInclusive<u32>,
    /// Tokens of the prompt.
    pub prompt_tokens: RangeInclusive<u64>,
    /// Tokens generated.
    pub generated_tokens: RangeInclusive<u64>,
    /// Tokens of the warm-up; 0 without one.
    pub warm_up_tokens: u64,
    /// Cells that the attended part of the cache is rounded up to.
    pub kv_padding: NonZeroU64,
    /// Most columns of one graph.
    pub ubatch_tokens: NonZeroU64,
    /// Rows of the last layer.
    pub output_rows: OutputRows,
}

/// Some seconds' work.
const MOST_RUNS: u128 = 10_000_000;

/// Every run of `runs` that makes exactly the observed counts: tried one by one, on
/// all cores, in the order of repetitions, prompt and reply. Ranges begin at 1.
///
/// ```
/// use memscape::riscv::CensusStudy;
/// use memscape::riscv::census::{Census, Observed};
///
/// let study = CensusStudy::default();
/// let census = Census::of(&study.model, study.projections, &study.run());
/// let observed = Observed {
///     model: *study.model,
///     projections: study.projections,
///     counts: census.by_shape(),
/// };
/// let runs = memscape::Runs {
///     repetitions: 1..=6,
///     prompt_tokens: 3..=9,
///     generated_tokens: 2..=100,
///     warm_up_tokens: 2,
///     kv_padding: study.kv_padding,
///     ubatch_tokens: study.ubatch_tokens,
///     output_rows: study.output_rows,
/// };
/// assert_eq!(memscape::explain_census(&observed, &runs)?, [study.run()]);
/// # Ok::<(), memscape::riscv::census::TooLong>(())
/// ```
///
/// # Errors
/// [`TooLong`] if the ranges hold over ten million.
pub fn explain_census(observed: &Observed, runs: &Runs) -> Result<Vec<Run>, TooLong> {
    let length = |it: &RangeInclusive<u64>| u128::from(it.end().saturating_sub(*it.start())) + 1;
    let repetitions = u64::from(*runs.repetitions.start())..=u64::from(*runs.repetitions.end());
    let candidates = [&repetitions, &runs.prompt_tokens, &runs.generated_tokens]
        .into_iter()
        .fold(1_u128, |all, it| all.saturating_mul(length(it)));
    if MOST_RUNS < candidates {
        return Err(TooLong::Candidates { candidates, most: MOST_RUNS });
    }
    let prompts: Vec<_> = runs
        .repetitions
        .clone()
        .filter_map(NonZeroU32::new)
        .flat_map(|repetitions| {
            runs.prompt_tokens.clone().filter_map(NonZeroU64::new).map(move |prompt| (repetitions, prompt))
        })
        .collect();
    let found: Vec<Vec<Run>> = prompts
        .into_par_iter()
        .map(|(repetitions, prompt_tokens)| {
            let run = |generated_tokens| Run {
                prompt_tokens,
                generated_tokens,
                repetitions,
                warm_up_tokens: runs.warm_up_tokens,
                kv_padding: runs.kv_padding,
                ubatch_tokens: runs.ubatch_tokens,
                output_rows: runs.output_rows,
            };
            let generated = runs.generated_tokens.clone().filter_map(NonZeroU64::new);
            generated.map(run).filter(|it| observed.explained_by(it)).collect()
        })
        .collect();
    Ok(found.into_iter().flatten().collect())
}
