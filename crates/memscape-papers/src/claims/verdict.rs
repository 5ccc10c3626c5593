//! What the model says to each claim.

use std::collections::{BTreeMap, BTreeSet};

use memscape_explore::{Parameters, Table};
use memscape_study::Unknown;
use rayon::prelude::*;
use serde::Serialize;

use super::claim::{Bound, Claim, Role, Sort};
use super::printed::Printed;
use super::query::ask_beside;
use crate::error::Error;
use crate::papers::{experiments, select};

/// What the model says to a claim.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verdict {
    /// The claim's id.
    pub id: String,
    /// The printed number.
    pub published: f64,
    /// Its digits.
    pub printed: Printed,
    /// The model's; none if the claim has no query.
    pub computed: Option<f64>,
    /// Computed over published less 1; the difference itself where 0 is published;
    /// 0 on the right side of a limit.
    pub relative_error: Option<f64>,
    /// Whether the model's number, rounded, has the printed digits.
    pub exact: Option<bool>,
    /// Whether the printed number is only a limit.
    pub bound: Option<Bound>,
    /// What the claim is to the model.
    pub role: Role,
    /// What it takes to say it.
    pub sort: Sort,
    /// The claims that give it by arithmetic.
    pub follows_from: Vec<String>,
    /// What version 0.1 said before anybody who worked on it had seen the number.
    pub blind: Option<f64>,
    /// How far that was off, as `relative_error`.
    pub blind_error: Option<f64>,
    /// Its unit.
    pub unit: String,
    /// Why it is missed, or how it is read.
    pub note: String,
}

impl Verdict {
    fn new(claim: &Claim, computed: Option<f64>) -> Self {
        Self {
            id: claim.id.clone(),
            published: claim.value.number(),
            printed: claim.value.clone(),
            computed,
            relative_error: computed.map(|it| claim.relative_error(it)),
            exact: computed.map(|it| claim.is_exact(it)),
            bound: claim.bound,
            role: claim.role,
            sort: claim.sort,
            follows_from: claim.follows_from.clone(),
            blind: claim.blind,
            blind_error: claim.blind.map(|it| claim.relative_error(it)),
            unit: claim.unit.clone(),
            note: claim.note.clone(),
        }
    }

    /// Whether the model's number is within `tolerance` of the printed one; true
    /// if there is nothing to compare.
    #[must_use]
    pub fn is_within(&self, tolerance: f64) -> bool {
        self.relative_error.is_none_or(|it| it.abs() <= tolerance)
    }

    /// Whether bars count it: a performance that the model should yield, and does, and that
    /// follows from no other claim.
    #[must_use]
    pub fn is_held(&self) -> bool {
        let is_own = self.follows_from.is_empty();
        is_own && self.role == Role::Predict && self.sort == Sort::Performance && self.computed.is_some()
    }
}

/// Asks the model for each claim's number.
///
/// # Errors
/// [`Error::BadQuery`] if a query does not give one number, [`Error`] if an
/// experiment has no table.
pub fn evaluate(claims: &[Claim]) -> Result<Vec<Verdict>, Error> {
    evaluate_with(claims, &Parameters::new())
}

/// As [`evaluate`], with parameters of all experiments changed.
///
/// # Errors
/// As [`evaluate`].
pub fn evaluate_with(claims: &[Claim], changed: &Parameters) -> Result<Vec<Verdict>, Error> {
    let asked: BTreeSet<_> =
        claims.iter().filter_map(|it| it.query.as_ref()).map(|it| &it.experiment).collect();
    let known: Vec<_> = experiments().map(|it| it.id).collect();
    if let Some(unknown) = asked.iter().find(|it| !known.contains(&it.as_str())) {
        return Err(Unknown::new("experiment", unknown.as_str(), known.iter().copied()).into());
    }
    let table = |id: &String| Ok((id.clone(), select(&[id])?[0].table_with(changed)?));
    let tables: BTreeMap<String, Table> =
        asked.into_iter().collect::<Vec<_>>().into_par_iter().map(table).collect::<Result<_, Error>>()?;
    let printed = |id: &str| claims.iter().find(|it| it.id == id).map(|it| it.value.number());
    let say = |claim: &Claim| {
        let computed = match &claim.query {
            Some(query) => Some(ask_beside(&claim.id, query, &tables[&query.experiment], &printed)?),
            None => None,
        };
        Ok(Verdict::new(claim, computed))
    };
    claims.iter().map(say).collect()
}
