//! The claims report: what each model says, how much of it is right, and whether that
//! is enough.

use serde::Serialize;

use super::claim::{Claim, Role, Sort};
use super::published::{Bar, Published, published};
use super::verdict::{Verdict, evaluate};
use crate::error::Error;

/// Published numbers beside the models' own.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// Claim by claim, in the order of their files.
    pub claims: Vec<Verdict>,
    /// How many are right, by paper, sort and role.
    pub totals: Vec<Total>,
    /// What was said blind, by paper and sort.
    pub blind: Vec<Blind>,
    /// What each paper's model is held to.
    pub bars: Vec<Held>,
}

/// How many claims of one kind are right.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Total {
    /// The paper, or the claims file.
    pub source: String,
    /// What it takes to say them.
    pub sort: Sort,
    /// What they are to the model.
    pub role: Role,
    /// How many there are.
    pub claims: usize,
    /// How many the model has a number for.
    pub computed: usize,
    /// Of these, how many have the printed digits.
    pub exact: usize,
    /// How many are within 5 %.
    pub within_5_percent: usize,
    /// How many are within 10 %.
    pub within_10_percent: usize,
    /// How many are within 20 %.
    pub within_20_percent: usize,
}

/// How right version 0.1 was about numbers that nobody who worked on it had seen, and
/// how right the model is now that they have been. What follows from another is not counted again.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Blind {
    /// The paper, or the claims file.
    pub source: String,
    /// What it takes to say them.
    pub sort: Sort,
    /// How many there are.
    pub claims: usize,
    /// How many had the printed digits.
    pub exact_then: usize,
    /// How many have them now.
    pub exact_now: usize,
    /// Median of the relative errors' sizes then.
    pub median_error_then: f64,
    /// The same now.
    pub median_error_now: f64,
}

/// A bar, and who is over it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Held {
    /// The paper, or the claims file.
    pub source: String,
    /// The largest relative error.
    pub within: f64,
    /// The least share of the predictions of performance, from 0 to 1.
    pub share: f64,
    /// How many of them are within it.
    pub met: usize,
    /// How many there are.
    pub of: usize,
    /// Whether these are enough.
    pub is_met: bool,
}

impl Report {
    /// Whether every bar is met.
    #[must_use]
    pub fn is_met(&self) -> bool {
        self.bars.iter().all(|it| it.is_met)
    }
}

/// Holds what a paper prints, a claims file says, or all papers print, against the
/// models.
///
/// # Errors
/// As [`published`] and [`evaluate`].
pub fn report(source: Option<&str>) -> Result<Report, Error> {
    let sources = published(source)?;
    let all: Vec<Claim> = sources.iter().flat_map(|it| it.claims.iter().cloned()).collect();
    let verdicts = evaluate(&all)?;
    let mut report = Report { claims: Vec::new(), totals: Vec::new(), blind: Vec::new(), bars: Vec::new() };
    let mut rest = verdicts.as_slice();
    for of in sources {
        let (own, others) = rest.split_at(of.claims.len());
        rest = others;
        report.totals.extend(totals(&of.source, own));
        report.blind.extend(blind(&of, own));
        report.bars.extend(of.bars.iter().map(|it| held(&of.source, *it, own)).filter(|it| 0 < it.of));
    }
    report.claims = verdicts;
    Ok(report)
}

fn totals(source: &str, verdicts: &[Verdict]) -> impl Iterator<Item = Total> {
    let kinds = Sort::ALL.into_iter().flat_map(|sort| Role::ALL.map(|role| (sort, role)));
    kinds
        .map(move |(sort, role)| {
            let of = || verdicts.iter().filter(move |it| it.sort == sort && it.role == role);
            let within = |limit| of().filter(|it| it.computed.is_some() && it.is_within(limit)).count();
            Total {
                source: source.to_owned(),
                sort,
                role,
                claims: of().count(),
                computed: of().filter(|it| it.computed.is_some()).count(),
                exact: of().filter(|it| it.exact == Some(true)).count(),
                within_5_percent: within(0.05),
                within_10_percent: within(0.10),
                within_20_percent: within(0.20),
            }
        })
        .filter(|it| 0 < it.claims)
}

fn blind(of: &Published, verdicts: &[Verdict]) -> impl Iterator<Item = Blind> {
    Sort::ALL.into_iter().filter_map(move |sort| {
        let own = move |it: &Claim| it.sort == sort && it.follows_from.is_empty();
        let pairs = || of.claims.iter().zip(verdicts).filter(move |it| own(it.0));
        let then: Vec<f64> = pairs().filter_map(|it| it.1.blind_error).collect();
        let said = || pairs().filter(|it| it.1.blind.is_some());
        let now: Vec<f64> = said().filter_map(|it| it.1.relative_error).collect();
        (!then.is_empty()).then(|| Blind {
            source: of.source.clone(),
            sort,
            claims: then.len(),
            exact_then: said().filter(|it| it.1.blind.is_some_and(|said| it.0.is_exact(said))).count(),
            exact_now: said().filter(|it| it.1.exact == Some(true)).count(),
            median_error_then: median_size(then),
            median_error_now: median_size(now),
        })
    })
}

fn held(source: &str, bar: Bar, verdicts: &[Verdict]) -> Held {
    let of = verdicts.iter().filter(|it| it.is_held());
    let (met, of) = (of.clone().filter(|it| it.is_within(bar.within)).count(), of.count());
    let Bar { within, share } = bar;
    Held { source: source.to_owned(), within, share, met, of, is_met: bar.is_met(met, of) }
}

/// The middle of the numbers' sizes; 0 if there are none.
fn median_size(numbers: Vec<f64>) -> f64 {
    let mut sizes: Vec<f64> = numbers.into_iter().map(f64::abs).collect();
    sizes.sort_unstable_by(f64::total_cmp);
    let upper = sizes.len() / 2;
    match sizes.get(upper) {
        None => 0.0,
        Some(middle) if sizes.len() % 2 == 1 => *middle,
        Some(middle) => f64::midpoint(sizes[upper - 1], *middle),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::evaluate_with;
    use memscape_explore::Parameters;
    use memscape_study::FreeParameter;
    use memscape_systems::registry;

    #[test]
    fn medians_are_of_sizes() {
        assert_eq!(median_size(vec![]).to_bits(), 0.0_f64.to_bits());
        assert_eq!(median_size(vec![-3.0, 1.0, 2.0]).to_bits(), 2.0_f64.to_bits());
        assert_eq!(median_size(vec![-3.0, 1.0, 2.0, 4.0]).to_bits(), 2.5_f64.to_bits());
    }

    /// Every query answers, facts are met to the printed digits, and what is missed
    /// says why.
    #[test]
    fn what_is_missed_says_why() {
        let report = report(None).unwrap();
        let of: usize = report.totals.iter().map(|it| it.claims).sum();
        assert_eq!(of, report.claims.len());
        let missed = |it: &&Verdict| match it.sort {
            Sort::Fact => it.exact == Some(false),
            Sort::Performance => !it.is_within(0.1),
        };
        let silent: Vec<_> = report.claims.iter().filter(missed).filter(|it| it.note.is_empty()).collect();
        assert!(silent.is_empty(), "{silent:#?}");
    }

    /// A fact is none that what is fitted could move: at the ends of all free
    /// parameters' ranges, the model says the same. Counts of a run that is not printed
    /// may be fitted to counts.
    #[test]
    fn no_free_parameter_moves_a_fact() {
        let ends: [fn(&FreeParameter) -> f64; 2] = [|it| it.min, |it| it.max];
        let mut moved = Vec::new();
        for it in registry().systems().iter().filter_map(|it| it.calibration) {
            let mut facts = published(Some(it.paper)).unwrap().remove(0).claims;
            facts.retain(|it| it.sort == Sort::Fact);
            let is_fact = |id: &String| facts.iter().any(|it| it.id == *id);
            let free = || it.parameters().iter().filter(|it| !it.fixed_by.iter().all(is_fact));
            let stored = evaluate(&facts).unwrap();
            for end in ends {
                let changed: Parameters = free().map(|it| (it.key(), it.json(end(it)))).collect();
                let pairs = stored.iter().zip(evaluate_with(&facts, &changed).unwrap());
                moved.extend(pairs.filter(|it| it.0.computed != it.1.computed).map(|it| it.0.id.clone()));
            }
        }
        assert_eq!(moved, Vec::<String>::new());
    }
}
