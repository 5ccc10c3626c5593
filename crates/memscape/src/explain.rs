//! The census backwards: which runs explain counted matrix products.

use rayon::prelude::*;

use crate::riscv::census::{Observed, Run, Runs, TooLong};

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
    runs.check()?;
    Ok(runs.starts().into_par_iter().flat_map_iter(|it| observed.explained_from(runs, it)).collect())
}
