//! A search: what is looked for, where, how and how long.

use memscape_study::Unknown;
use memscape_study::random::Key;
use serde::{Deserialize, Serialize};

use super::annealed::{Solver, solve};
use super::descent::descend;
use super::evaluator::Evaluator;
use super::genetic::evolve;
use super::places::Cube;
use super::sampled::{check_exhaustible, exhaustive, sampled};
use crate::asker::Asker;
use crate::control::Control;
use crate::error::Error;
use crate::front::non_dominated;
use crate::guard::guarded;
use crate::parameters::Parameters;
use crate::points::{Point, table};
use crate::question::Question;
use crate::registry::DynStudy;
use crate::space::{Cursor, FEASIBLE, Judge, Method, Objective, Plan, Space, Verdict, nothing_allowed};
use crate::store::{Filled, Keeper, Store};
use crate::table::{Column, Table};

/// How a search chooses points.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Strategy {
    /// Every point of a finite space.
    Exhaustive,
    /// Each point on its own.
    Random,
    /// Latin hypercube: as many strata on each axis as evaluations.
    Latin,
    /// Sobol's sequence, digitally shifted.
    Sobol,
    /// Coordinate descent with restarts, for one objective.
    Descent,
    /// Nelder and Mead's simplex with restarts, for one objective, on axes with an order.
    NelderMead,
    /// Particle swarm, for one objective, on axes with an order.
    Swarm,
    /// Simulated annealing, for one objective.
    Annealing,
    /// NSGA-II, a genetic algorithm, for several objectives or one.
    Nsga2,
}

impl Strategy {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Exhaustive,
        Self::Random,
        Self::Latin,
        Self::Sobol,
        Self::Descent,
        Self::NelderMead,
        Self::Swarm,
        Self::Annealing,
        Self::Nsga2,
    ];

    /// What it is called in files and calls.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Exhaustive => "exhaustive",
            Self::Random => "random",
            Self::Latin => "latin",
            Self::Sobol => "sobol",
            Self::Descent => "descent",
            Self::NelderMead => "nelder-mead",
            Self::Swarm => "swarm",
            Self::Annealing => "annealing",
            Self::Nsga2 => "nsga2",
        }
    }

    /// The one of this name.
    ///
    /// # Errors
    /// [`Error::Unknown`] suggests the nearest.
    pub fn named(name: &str) -> Result<Self, Error> {
        Ok(Unknown::find("method", name, Self::ALL, Self::name)?)
    }

    /// Whether it takes one objective only.
    #[must_use]
    pub fn takes_one(self) -> bool {
        matches!(self, Self::Descent | Self::NelderMead | Self::Swarm | Self::Annealing)
    }
}

/// A question about the best of a space: `[search]` of a study file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Search {
    /// Objectives of which less is better: columns' names, or formulas.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "crate::texts::one_or_many")]
    pub minimize: Vec<String>,
    /// Objectives of which more is better.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "crate::texts::one_or_many")]
    pub maximize: Vec<String>,
    /// How points are chosen; if not given, `descent` for one objective, `nsga2` for
    /// several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<Strategy>,
    /// How many points are evaluated at most, up to 10 million.
    #[serde(default = "default_budget")]
    pub budget: u64,
    /// Another seed makes another search of the same kind.
    #[serde(default)]
    pub seed: u64,
}

const fn default_budget() -> u64 {
    1000
}

impl Default for Search {
    fn default() -> Self {
        Self { minimize: Vec::new(), maximize: Vec::new(), method: None, budget: default_budget(), seed: 0 }
    }
}

/// More evaluations do not fit into one table; a front needs none.
const MOST_EVALUATIONS: u64 = 10_000_000;

impl Search {
    /// Its objectives, those to minimize first.
    ///
    /// # Errors
    /// [`Error::BadSweep`] if there is none, or one stands there twice.
    pub fn objectives(&self) -> Result<Vec<Objective>, Error> {
        Objective::all(&self.minimize, &self.maximize)
    }

    /// What it asks, for the table that answers it.
    ///
    /// # Errors
    /// [`Error`] if a parameter, an axis or a constraint is wrong.
    pub fn question(
        &self,
        study: &dyn DynStudy,
        base: &[Parameters],
        space: &Space,
    ) -> Result<Question, Error> {
        Question::about(study, base, space, ("search", self), self.budget)
    }

    /// How points are chosen.
    ///
    /// # Errors
    /// [`Error::BadSweep`] if the method takes fewer objectives.
    pub fn strategy(&self) -> Result<Strategy, Error> {
        let objectives = self.minimize.len() + self.maximize.len();
        match self.method {
            None if objectives == 1 => Ok(Strategy::Descent),
            None => Ok(Strategy::Nsga2),
            Some(it) if it.takes_one() && objectives > 1 => Err(Error::BadSweep(format!(
                "the method `{}` takes one objective, not {objectives}; use `nsga2`, or make one formula of them",
                it.name()
            ))),
            Some(it) => Ok(it),
        }
    }
}

/// Looks for the best points of a space. The table has a row for each point evaluated, in
/// that order: `evaluation`, the axes, the answer, `error`, `feasible` if there are
/// constraints over answers, a column for each objective that is no column's name,
/// `best_so_far` for one objective, and `on_front`: whether nothing in the table is
/// better. Points that constraints over parameters exclude, and points asked for twice,
/// cost nothing; a method that meets nothing else for long ends, with fewer rows than its budget.
///
/// The same question has the same table whatever the number of threads. If cancelled, it
/// is what was evaluated until then, and not complete.
///
/// # Errors
/// [`Error`] if an axis, a constraint or an objective is wrong, if the method cannot go
/// through the space, or if no allowed point was found.
///
/// ```ignore
/// let question = Search { minimize: vec!["token_ns".to_owned()], budget: 500, ..Search::default() };
/// let table = search(study("pim.inference")?, &[], &space, &question, &())?;
/// ```
pub fn search(
    study: &dyn DynStudy,
    base: &[Parameters],
    space: &Space,
    question: &Search,
    control: &dyn Control,
) -> Result<Table, Error> {
    guarded(|| search_in(study.asker(), base, space, question, None, control)).map(|it| it.0)
}

impl Store {
    /// As [`search()`], with every point answered from and into the store: asked again, after an
    /// interruption or elsewhere, it computes nothing twice. What the store has under this
    /// question's name are the points that were evaluated, in their order.
    ///
    /// # Errors
    /// As [`search()`], or if the store cannot be read or written.
    pub fn search(
        &self,
        study: &dyn DynStudy,
        base: &[Parameters],
        space: &Space,
        question: &Search,
        control: &dyn Control,
    ) -> Result<(Table, Filled), Error> {
        guarded(|| {
            let asked = question.question(study, base, space)?;
            search_in(study.asker(), base, space, question, Some((self, &asked)), control)
        })
    }

    /// Whether [`Store::search`] came to its end before.
    ///
    /// # Errors
    /// As [`Store::search`].
    pub fn has_searched(
        &self,
        study: &dyn DynStudy,
        base: &[Parameters],
        space: &Space,
        question: &Search,
    ) -> Result<bool, Error> {
        checked(&study.asker(), base, space, question)?;
        self.has_ended(&question.question(study, base, space)?)
    }
}

/// How often each constraint over parameters holds, where no point was found at which all do, though there may be
/// some.
fn seldom_allowed(plan: &mut Plan<'_>, strategy: Strategy, seed: u64) -> Error {
    const LOOKED_AT: u64 = 1000;
    let points: Vec<Point> = {
        let (cube, key) = (Cube::new(plan), Key::new(seed));
        let place = |point: u64| {
            (0..cube.dimensions() as u64).map(|it| key.fork(point).uniform(it)).collect::<Vec<_>>()
        };
        (0..LOOKED_AT).map(|it| cube.point(&place(it))).collect()
    };
    let all = std::mem::take(&mut plan.prunes);
    let texts: Vec<String> = all.iter().map(|it| format!("`{}`", it.expression)).collect();
    let told = all.into_iter().zip(texts).map(|(check, text)| {
        plan.prunes = vec![check];
        let mut cursor = Cursor::at(plan, points[0].to_vec());
        let holds = points.iter().filter(|it| {
            cursor.go(it);
            cursor.normalise();
            cursor.is_allowed()
        });
        format!("{text} holds at {} of {LOOKED_AT} random points", holds.count())
    });
    let told: Vec<String> = told.collect();
    Error::BadSweep(format!(
        "`{}` found no point that the constraints over parameters allow: {}; loosen one, or use another `method` or \
         `seed`",
        strategy.name(),
        told.join(", ")
    ))
}

/// Whether a space that can be gone through has no point that its constraints over parameters allow.
fn allows_nothing(plan: &Plan<'_>) -> bool {
    /// More take seconds.
    const MOST_GONE_THROUGH: u64 = 1 << 24;
    plan.size().is_ok_and(|size| size <= MOST_GONE_THROUGH && !Cursor::new(plan, 0).settle(size))
}

fn search_in(
    asker: Asker<'_>,
    base: &[Parameters],
    space: &Space,
    question: &Search,
    store: Option<(&Store, &Question)>,
    control: &dyn Control,
) -> Result<(Table, Filled), Error> {
    let (mut plan, objectives) = checked(&asker, base, space, question)?;
    let strategy = question.strategy()?;
    let judge = Judge::new(&plan, &objectives)?;
    let cube = Cube::new(&plan);
    let keeper = store.map(|it| Keeper::new(it, &plan, asker, &judge, control)).transpose()?;
    let mut evaluator = Evaluator::new(&plan, asker, &judge, question.budget, keeper, control);
    let seed = question.seed;
    match strategy {
        Strategy::Exhaustive => exhaustive(&plan, &mut evaluator)?,
        Strategy::Random => sampled(Method::Random, seed, &cube, &mut evaluator)?,
        Strategy::Latin => sampled(Method::Latin, seed, &cube, &mut evaluator)?,
        Strategy::Sobol => sampled(Method::Sobol, seed, &cube, &mut evaluator)?,
        Strategy::Descent => descend(seed, &cube, &mut evaluator),
        Strategy::NelderMead => solve(Solver::NelderMead, seed, &cube, &mut evaluator)?,
        Strategy::Swarm => solve(Solver::Swarm, seed, &cube, &mut evaluator)?,
        Strategy::Annealing => solve(Solver::Annealing, seed, &cube, &mut evaluator)?,
        Strategy::Nsga2 => evolve(seed, &cube, &mut evaluator),
    }
    let complete = !evaluator.was_cancelled();
    let (points, answered, filled) = evaluator.finish()?;
    if points.is_empty() && complete {
        return Err(if allows_nothing(&plan) {
            nothing_allowed(&mut plan)
        } else {
            seldom_allowed(&mut plan, strategy, seed)
        });
    }
    let mut after = Vec::new();
    if let [objective] = objectives.as_slice() {
        after.push((
            "best_so_far",
            Column::Float(best_so_far(objective, &answered.verdicts, &answered.values)),
        ));
    }
    after.push(("on_front", Column::Bool(on_front(objectives.len(), &answered.verdicts, &answered.values))));
    let numbers = (0..points.len()).map(|it| i64::try_from(it).ok()).collect();
    let made = table(&plan, &judge, &points, answered, vec![("evaluation", Column::Int(numbers))], after)?;
    Ok((Table::new(made.into_frame(), complete), filled))
}

/// The space and the objectives of a question that makes sense.
fn checked<'a>(
    asker: &Asker<'a>,
    base: &[Parameters],
    space: &Space,
    question: &Search,
) -> Result<(Plan<'a>, Vec<Objective>), Error> {
    let objectives = question.objectives()?;
    let strategy = question.strategy()?;
    if !(1..=MOST_EVALUATIONS).contains(&question.budget) {
        return Err(Error::BadSweep(format!(
            "`budget` = {}: expected 1 to {MOST_EVALUATIONS} evaluations; a front of a finite space needs no budget",
            question.budget
        )));
    }
    let mut plan = asker.plan(base, space)?;
    if plan.dimensions.is_empty() {
        return Err(Error::BadSweep("the space has no axes; give at least one".to_owned()));
    }
    if strategy == Strategy::Exhaustive {
        check_exhaustible(&mut plan, question.budget)?;
    }
    Judge::new(&plan, &objectives)?;
    Ok((plan, objectives))
}

/// That a search came to its end before its budget did, if not because it has been everywhere.
#[must_use]
pub fn ended_early(found: &Table, space: &Space, question: &Search) -> Option<String> {
    let (rows, budget) = (found.height() as u64, question.budget);
    let lengths = space.dimensions.iter().map(|it| it.length().ok().flatten());
    let size =
        lengths.collect::<Option<Vec<u64>>>().and_then(|it| it.into_iter().try_fold(1, u64::checked_mul));
    let early = found.is_complete() && rows < budget && size != Some(rows);
    let exhaustive = question.method == Some(Strategy::Exhaustive);
    (early && !exhaustive).then(|| {
        format!(
            "{rows} of {budget} evaluations were made: all else that was asked for is known or excluded; there may be \
             more that another `method` or `seed` meets"
        )
    })
}

/// That some answers were compared with none, since an objective has no finite value there, if so.
///
/// # Errors
/// [`Error::UnknownColumn`] if the table is not a search's.
pub fn not_compared(found: &Table, question: &Search) -> Result<Option<String>, Error> {
    let answered: Vec<bool> = found.text("error")?.iter().map(Option::is_none).collect();
    let goals: Vec<&String> = question.minimize.iter().chain(&question.maximize).collect();
    let values = goals.iter().map(|it| found.f64(found.column_of(it))).collect::<Result<Vec<_>, _>>()?;
    let finite = |row: usize| values.iter().all(|it| it[row].is_some_and(f64::is_finite));
    let left = (0..answered.len()).filter(|row| answered[*row] && !finite(*row)).count();
    let all = answered.iter().filter(|it| **it).count();
    let goals: Vec<String> = goals.iter().map(|it| format!("`{it}`")).collect();
    Ok((left > 0).then(|| {
        format!(
            "{left} of {all} answers are compared with none: {} is null there, or not finite",
            goals.join(" or ")
        )
    }))
}

/// Why a search has no best point, if it has none.
///
/// # Errors
/// [`Error::UnknownColumn`] if the table is not a search's.
pub fn nothing_found(found: &Table, question: &Search) -> Result<Option<String>, Error> {
    if found.filter("on_front", true)?.height() > 0 || found.height() == 0 {
        return Ok(None);
    }
    let errors = found.text("error")?;
    let (all, answered) = (errors.len(), errors.iter().filter(|it| it.is_none()).count());
    let goals: Vec<&str> = question.minimize.iter().chain(&question.maximize).map(String::as_str).collect();
    Ok(Some(match errors.into_iter().flatten().next() {
        Some(first) if answered == 0 => {
            format!("none of {all} points has an answer; the first says: {first}")
        }
        _ if found.column_names().contains(&FEASIBLE) => {
            format!(
                "none of {answered} answers keeps the constraints (what is null never does); loosen one, or raise the budget"
            )
        }
        _ => {
            format!("no answer has a value of `{}`; it is null or not a finite number", goals.join("` and `"))
        }
    }))
}

fn best_so_far(objective: &Objective, verdicts: &[Verdict], values: &[f64]) -> Vec<Option<f64>> {
    let mut best: Option<f64> = None;
    let pairs = verdicts.iter().zip(values);
    let so_far = pairs.map(|(verdict, value)| {
        if *verdict == Verdict::Fine && best.is_none_or(|it| *value < it) {
            best = Some(*value);
        }
        best.map(|it| objective.signed(it))
    });
    so_far.collect()
}

fn on_front(goals: usize, verdicts: &[Verdict], values: &[f64]) -> Vec<Option<bool>> {
    let fine: Vec<usize> = (0..verdicts.len()).filter(|it| verdicts[*it] == Verdict::Fine).collect();
    let of_fine: Vec<f64> =
        fine.iter().flat_map(|it| values[it * goals..][..goals].iter().copied()).collect();
    let mut on = vec![Some(false); verdicts.len()];
    for it in non_dominated(&of_fine, goals) {
        on[fine[it as usize]] = Some(true);
    }
    on
}
