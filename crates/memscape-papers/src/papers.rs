//! Which papers there are, one line each, and what they hold by name; two of the groups are no
//! paper's: what compares all of them.

use memscape_study::Unknown;

use crate::error::Error;
use crate::experiment::Experiment;
use crate::paper::Paper;
use crate::{compare, cxl, hermes, npu_gemm, pim_sherpa, pimnast, regret, riscv};

/// All papers, and what is ours.
pub const PAPERS: &[Paper] = &[
    pimnast::PAPER,
    pim_sherpa::PAPER,
    npu_gemm::PAPER,
    riscv::PAPER,
    hermes::PAPER,
    cxl::PAPER,
    compare::PAPER,
    regret::PAPER,
];

/// The paper of this name.
///
/// # Errors
/// [`Error::Unknown`] suggests the nearest.
pub fn paper(id: &str) -> Result<&'static Paper, Error> {
    Ok(Unknown::find("paper", id, PAPERS, |it| it.id)?)
}

/// Every experiment, paper by paper.
pub fn experiments() -> impl Iterator<Item = &'static Experiment> {
    PAPERS.iter().flat_map(|it| it.experiments)
}

/// The experiments of these papers or figures; all if none are named.
///
/// # Errors
/// [`Error::Unknown`] suggests the nearest name.
pub fn select(selectors: &[&str]) -> Result<Vec<&'static Experiment>, Error> {
    let all: Vec<_> = experiments().collect();
    if selectors.is_empty() {
        return Ok(all);
    }
    let mut chosen: Vec<&Experiment> = Vec::new();
    for selector in selectors {
        let matching: Vec<_> =
            all.iter().copied().filter(|it| it.id == *selector || it.paper() == *selector).collect();
        if matching.is_empty() {
            let mut known: Vec<_> = all.iter().map(|it| it.id).collect();
            known.extend(all.iter().map(|it| it.paper()));
            known.sort_unstable();
            known.dedup();
            return Err(Unknown::new("experiment", *selector, known).into());
        }
        chosen.extend(
            matching
                .into_iter()
                .filter(|it| !chosen.iter().any(|other| other.id == it.id))
                .collect::<Vec<_>>(),
        );
    }
    Ok(chosen)
}
