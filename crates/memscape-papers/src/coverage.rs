//! Whether printed numbers lie where the models say that they may.

use std::collections::BTreeMap;

use memscape_explore::{Doubts, Parameters};
use memscape_systems::registry;
use serde::Serialize;

use crate::claims::{Claim, Published, evaluate, evaluate_with};
use crate::error::Error;
use crate::papers::{self, select};

/// A claim, and what the model says with everything drawn that it does not know for sure.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Covered {
    /// The claim's id.
    pub id: String,
    /// The printed number.
    pub published: f64,
    /// Its unit.
    pub unit: String,
    /// What the model says.
    pub computed: f64,
    /// A 20th of the draws is below.
    pub low: f64,
    /// A 20th of the draws is above.
    pub high: f64,
    /// Whether the printed number, as far as its digits go, is between.
    pub inside: bool,
}

/// Each prediction of performance of a paper with what the model says in so many draws of
/// its free parameters, priors and readings. `told` hears how many draws are done.
///
/// A draw changes what all experiments have; what an experiment sets itself stays, and
/// what it does not have is not drawn there.
///
/// # Errors
/// [`Error::Unknown`] if there is no such paper, too few or too many draws, and as [`evaluate`].
pub fn coverage(paper: &str, draws: u64, seed: u64, told: impl Fn(u64, u64)) -> Result<Vec<Covered>, Error> {
    /// Fewer have no 20th of them; more take weeks.
    const DRAWS: std::ops::RangeInclusive<u64> = 20..=100_000;
    let paper = papers::paper(paper)?;
    if !DRAWS.contains(&draws) {
        let (least, most) = DRAWS.into_inner();
        let problem = format!("{draws} draws: an interval takes at least {least} and at most {most}");
        return Err(memscape_explore::Error::BadSweep(problem).into());
    }
    let systems = registry().systems().iter();
    let own = systems.filter(|it| it.calibration.is_some_and(|it| it.paper == paper.id));
    let doubts = Doubts::of(own.flat_map(|it| &it.studies).map(|it| &**it))?;
    let all = Published::of(paper).claims;
    let verdicts = evaluate(&all)?;
    let held = all.into_iter().zip(verdicts).filter(|(_, it)| it.is_held() && it.bound.is_none());
    let (claims, verdicts): (Vec<Claim>, Vec<_>) = held.unzip();
    let mut by_experiment: BTreeMap<&str, Vec<&Claim>> = BTreeMap::new();
    for claim in &claims {
        if let Some(query) = &claim.query {
            by_experiment.entry(&query.experiment).or_default().push(claim);
        }
    }
    let mut taken = Taken::default();
    let mut said: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for number in 0..draws {
        told(number, draws);
        let values = doubts.draw(seed, number);
        for (id, claims) in &by_experiment {
            let changed = taken.of(id, &values)?;
            let claims: Vec<Claim> = claims.iter().map(|it| (*it).clone()).collect();
            // A draw at which some point has no answer says nothing.
            let Ok(verdicts) = evaluate_with(&claims, &changed) else { continue };
            for it in verdicts {
                said.entry(it.id).or_default().extend(it.computed);
            }
        }
    }
    let covered = claims.iter().zip(verdicts).map(|(claim, verdict)| {
        let mut all = said.remove(&claim.id).unwrap_or_default();
        all.sort_by(f64::total_cmp);
        let computed = verdict.computed.unwrap_or(f64::NAN);
        let end = |share: usize| all.get(all.len() * share / 20).or(all.last()).copied().unwrap_or(computed);
        let (low, high) = (end(1).min(computed), end(19).max(computed));
        let published = claim.value.number();
        let rounding = claim.rounding().abs();
        Covered {
            id: claim.id.clone(),
            published,
            unit: claim.unit.clone(),
            computed,
            low,
            high,
            inside: low <= published + rounding && published - rounding <= high,
        }
    });
    Ok(covered.collect())
}

/// Which parameters experiments have, and which readings.
#[derive(Default)]
struct Taken {
    known: BTreeMap<String, bool>,
}

impl Taken {
    /// Those of these values that an experiment takes. Whether it takes a number does not depend
    /// on which; a reading may be one that its engine does not have.
    fn of(&mut self, id: &str, drawn: &Parameters) -> Result<Parameters, Error> {
        let experiment = select(&[id])?[0];
        let mut taken = Parameters::new();
        for (key, value) in drawn {
            let which = if value.is_number() { "" } else { &value.to_string() };
            let is_taken = *self.known.entry(format!("{id} {key} {which}")).or_insert_with(|| {
                let alone = Parameters::from_iter([(key.clone(), value.clone())]);
                experiment.table_with(&alone).is_ok()
            });
            if is_taken {
                taken.insert(key.clone(), value.clone());
            }
        }
        Ok(taken)
    }
}
