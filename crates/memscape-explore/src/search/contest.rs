//! How near each method comes to the truth.

use std::time::Instant;

use super::search::{Search, Strategy, search};
use crate::control::Control;
use crate::error::Error;
use crate::front::{Front, front_of, values, volume};
use crate::parameters::Parameters;
use crate::registry::DynStudy;
use crate::space::{Objective, Space};
use crate::table::{Column, Table};

/// Every method on one space, and the truth it is held against.
#[derive(Debug, Clone)]
pub struct Contest {
    /// The front of the whole space.
    pub truth: Front,
    /// How long that took, in seconds.
    pub truth_s: f64,
    /// A row for each search: `method`, `budget`, `seed`, `evaluations`, `regret` and
    /// `hypervolume`.
    pub searches: Table,
}

/// Has every method search a finite space with each budget and seed.
///
/// `regret` is how far the best value of the first objective is from the best there is,
/// as a share of that; null if no feasible point was found. `hypervolume` is the share of
/// the true front's: with each objective from 0 at the front's best value to 1 at its
/// worst, and the reference at 1.1. Methods for one objective look for the first one.
///
/// # Errors
/// As [`front_of`] and [`search`]; [`Error::BadSweep`] if no point is feasible.
pub fn contest(
    study: &dyn DynStudy,
    base: &[Parameters],
    space: &Space,
    question: &Search,
    budgets: &[u64],
    seeds: u64,
    control: &dyn Control,
) -> Result<Contest, Error> {
    let objectives = question.objectives()?;
    let start = Instant::now();
    let truth = front_of(study, base, space, &objectives, control)?;
    let truth_s = start.elapsed().as_secs_f64();
    let scale = Scale::of(&truth.table, &objectives)?;
    let mut rows = Rows::default();
    'all: for strategy in Strategy::ALL.into_iter().filter(|it| *it != Strategy::Exhaustive) {
        let mut own = Search { method: Some(strategy), ..question.clone() };
        if strategy.takes_one() {
            let first = objectives.first().map(|it| vec![it.formula.clone()]).unwrap_or_default();
            (own.minimize, own.maximize) =
                if question.minimize.is_empty() { (Vec::new(), first) } else { (first, Vec::new()) };
        }
        for budget in budgets {
            for seed in 0..seeds {
                if control.cancelled() {
                    break 'all;
                }
                let found =
                    search(study, base, space, &Search { budget: *budget, seed, ..own.clone() }, &())?;
                rows.push(strategy, *budget, seed, &found, &scale.share(&found, &objectives)?);
            }
        }
    }
    Ok(Contest { truth, truth_s, searches: rows.table()? })
}

#[derive(Default)]
struct Rows {
    method: Vec<Option<String>>,
    budget: Vec<Option<i64>>,
    seed: Vec<Option<i64>>,
    evaluations: Vec<Option<i64>>,
    regret: Vec<Option<f64>>,
    hypervolume: Vec<Option<f64>>,
}

impl Rows {
    fn push(&mut self, method: Strategy, budget: u64, seed: u64, found: &Table, reached: &Share) {
        self.method.push(Some(method.name().to_owned()));
        self.budget.push(i64::try_from(budget).ok());
        self.seed.push(i64::try_from(seed).ok());
        self.evaluations.push(i64::try_from(found.height()).ok());
        self.regret.push(reached.regret);
        self.hypervolume.push(Some(reached.hypervolume));
    }

    fn table(self) -> Result<Table, Error> {
        Table::from_columns([
            ("method", Column::Text(self.method)),
            ("budget", Column::Int(self.budget)),
            ("seed", Column::Int(self.seed)),
            ("evaluations", Column::Int(self.evaluations)),
            ("regret", Column::Float(self.regret)),
            ("hypervolume", Column::Float(self.hypervolume)),
        ])
    }
}

/// What one search has reached.
struct Share {
    regret: Option<f64>,
    hypervolume: f64,
}

/// The true front's best and worst value of each objective, less being better.
struct Scale {
    best: Vec<f64>,
    range: Vec<f64>,
    volume: f64,
}

/// Beyond the worst value, so that points with it count too.
const REFERENCE: f64 = 1.1;

impl Scale {
    fn of(truth: &Table, objectives: &[Objective]) -> Result<Self, Error> {
        let all_values = values(truth, objectives)?;
        if all_values.is_empty() {
            return Err(Error::BadSweep(
                "no point of the space keeps the constraints; loosen one".to_owned(),
            ));
        }
        let all = |goal: usize| all_values.iter().skip(goal).step_by(objectives.len()).copied();
        let best: Vec<f64> = (0..objectives.len()).map(|it| all(it).fold(f64::INFINITY, f64::min)).collect();
        let worst = (0..objectives.len()).map(|it| all(it).fold(f64::NEG_INFINITY, f64::max));
        let range =
            best.iter().zip(worst).map(|(best, worst)| if worst > *best { worst - best } else { 1.0 });
        let mut scale = Self { range: range.collect(), best, volume: 1.0 };
        scale.volume = scale.volume_of(&all_values);
        Ok(scale)
    }

    fn volume_of(&self, values: &[f64]) -> f64 {
        let goals = self.best.len();
        let scaled: Vec<f64> = values
            .iter()
            .enumerate()
            .map(|(index, it)| (it - self.best[index % goals]) / self.range[index % goals])
            .collect();
        volume(&scaled, &vec![REFERENCE; goals])
    }

    fn share(&self, found: &Table, objectives: &[Objective]) -> Result<Share, Error> {
        // As on the front, only points that have all objectives, and keep the constraints, are designs.
        let all = values(found, objectives)?;
        let best = all.iter().step_by(objectives.len()).copied().reduce(f64::min);
        let size = self.best[0].abs().max(f64::MIN_POSITIVE);
        Ok(Share {
            regret: best.map(|it| (it - self.best[0]) / size),
            hypervolume: self.volume_of(&all) / self.volume,
        })
    }
}
