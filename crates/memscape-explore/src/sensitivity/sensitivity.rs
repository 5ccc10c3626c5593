//! A question about which parameters matter, and how it is asked.

use serde::{Deserialize, Serialize};

use super::{indices, morris, tornado};
use crate::error::Error;
use crate::guard::guarded;
use crate::parameters::Parameters;
use crate::points::{Asker, Point, answered};
use crate::registry::DynStudy;
use crate::search::Cube;
use crate::space::{Judge, Objective, Plan, Space, Verdict};
use crate::sweep::Control;
use crate::table::{Column, Table};

/// How parameters are told apart by what they do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum SensitivityMethod {
    /// One at a time from the base: the least and the greatest answer.
    Tornado,
    /// Elementary effects along random paths: how large, and how different from place to
    /// place.
    ///
    /// # Source
    /// M. D. Morris, "Factorial sampling plans for preliminary computational experiments",
    /// Technometrics 33, 1991; Campolongo et al., Environ. Model. Softw. 22, 2007, for the
    /// mean of absolute effects.
    Morris,
    /// Shares of the answer's variance, of each parameter alone and with all others.
    ///
    /// # Source
    /// Saltelli et al., Comput. Phys. Commun. 181, 2010: the estimator of the first order
    /// (their table 2, b) and Jansen's of the total (f).
    Sobol,
}

impl SensitivityMethod {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Tornado, Self::Morris, Self::Sobol];

    /// What it is called in files and calls.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Tornado => "tornado",
            Self::Morris => "morris",
            Self::Sobol => "sobol",
        }
    }

    /// The one of this name.
    ///
    /// # Errors
    /// [`Error::Unknown`] suggests the nearest.
    pub fn named(name: &str) -> Result<Self, Error> {
        let found = Self::ALL.into_iter().find(|it| it.name() == name);
        let unknown = || memscape_study::Unknown::new("method", name, Self::ALL.iter().map(|it| it.name()));
        found.ok_or_else(|| unknown().into())
    }
}

/// A question about which parameters matter: `[sensitivity]` of a study file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sensitivity {
    /// What they matter to: columns, or formulas.
    pub of: Vec<String>,
    /// How they are told apart.
    #[serde(default = "default_method")]
    pub method: SensitivityMethod,
    /// Paths of `morris`, base points of `sobol`: each costs as many answers as there are
    /// axes, and one or two more.
    #[serde(default = "default_samples")]
    pub samples: u64,
    /// Another seed draws others.
    #[serde(default)]
    pub seed: u64,
}

impl Default for Sensitivity {
    fn default() -> Self {
        Self { of: Vec::new(), method: default_method(), samples: default_samples(), seed: 0 }
    }
}

const fn default_method() -> SensitivityMethod {
    SensitivityMethod::Sobol
}

const fn default_samples() -> u64 {
    1024
}

/// More answers do not fit in memory.
const MOST_ANSWERS: u64 = 20_000_000;

/// How much each axis of a space matters to some columns. A row for each column and axis:
/// `of`, `parameter`, and
///
/// * `tornado`: `at_low`, `at_high` (the answer at the axis' first and last value), `least`,
///   `greatest` over all of its values, `base` (the answer with no axis changed) and `swing`
///   (greatest less least)
/// * `morris`: `mean_effect`, `mean_absolute_effect` and `deviation`, of the answer's change
///   over the whole of the axis, and `paths`
/// * `sobol`: `first_order` and `total`, each with the ends of an interval that holds it
///   19 times of 20 (`_low`, `_high`, by bootstrap), and `samples`
///
/// Points without an answer take the path or base point that they are of with them; those
/// that are left are counted.
///
/// # Errors
/// [`Error::BadSweep`] for a space with constraints or conditions, which has no independent
/// axes, too few or too many samples, or if more than half of the points have no answer;
/// [`Error`] if an axis or a column is wrong.
pub fn sensitivity(
    study: &dyn DynStudy,
    base: &[Parameters],
    space: &Space,
    question: &Sensitivity,
    control: &dyn Control,
) -> Result<Table, Error> {
    guarded(|| sensitivity_in(study, base, space, question, control))
}

fn sensitivity_in(
    study: &dyn DynStudy,
    base: &[Parameters],
    space: &Space,
    question: &Sensitivity,
    control: &dyn Control,
) -> Result<Table, Error> {
    let asker = study.asker();
    let objectives: Vec<Objective> = question.of.iter().map(Objective::minimize).collect();
    Objective::check(&objectives)?;
    let plan = asker.plan(base, space)?;
    if plan.dimensions.is_empty() {
        return Err(Error::BadSweep("the space has no axes; give at least one".to_owned()));
    }
    if plan.conditional || !plan.prunes.is_empty() || !plan.checks.is_empty() {
        return Err(Error::BadSweep(
            "how much an axis matters can be told of axes that do not depend on each other; leave out constraints and \
             `when`"
                .to_owned(),
        ));
    }
    let judge = Judge::new(&plan, &objectives)?;
    let experiment =
        Experiment { space, plan: &plan, asker, judge: &judge, cube: Cube::new(&plan), question, control };
    match question.method {
        SensitivityMethod::Tornado => tornado::table(study, base, &experiment),
        SensitivityMethod::Morris => morris::table(&experiment),
        SensitivityMethod::Sobol => indices::table(&experiment),
    }
}

/// A space whose points are asked.
pub(super) struct Experiment<'a> {
    pub space: &'a Space,
    pub plan: &'a Plan<'a>,
    pub asker: Asker<'a>,
    pub judge: &'a Judge<'a>,
    pub cube: Cube<'a>,
    pub question: &'a Sensitivity,
    pub control: &'a dyn Control,
}

/// One number of each column, or none if the point has no answer.
pub(super) type Values = Option<Vec<f64>>;

impl Experiment<'_> {
    pub fn axes(&self) -> usize {
        self.cube.dimensions()
    }

    /// The names of the axes; those that move together by all of their paths.
    pub fn names(&self) -> Vec<String> {
        let name = |it: &crate::space::Dimension| {
            it.axes.iter().map(|it| it.path.as_str()).collect::<Vec<_>>().join(", ")
        };
        self.plan.dimensions.iter().map(name).collect()
    }

    /// That so many samples can be asked, of which each takes so many answers.
    pub fn check_samples(&self, least: u64, answers_each: u64) -> Result<(), Error> {
        let samples = self.question.samples;
        let answers = samples.saturating_mul(answers_each);
        if samples < least || answers > MOST_ANSWERS {
            return Err(Error::BadSweep(format!(
                "`samples` = {samples}: `{}` over {} axes takes at least {least} and at most {}",
                self.question.method.name(),
                self.axes(),
                MOST_ANSWERS / answers_each
            )));
        }
        Ok(())
    }

    /// The values of all places, `None` in the place of those that were not reached.
    pub fn values(&self, places: &[Vec<f64>]) -> Vec<Values> {
        const BATCH: usize = 1 << 14;
        let goals = self.judge.goals();
        let mut all = Vec::with_capacity(places.len());
        for batch in places.chunks(BATCH) {
            if self.control.cancelled() {
                break;
            }
            let points: Vec<Point> = batch.iter().map(|it| self.cube.point(it)).collect();
            let done = answered(self.plan, &self.asker, self.judge, &points);
            all.extend(done.verdicts.iter().enumerate().map(|(row, verdict)| {
                (*verdict != Verdict::NoAnswer).then(|| done.values[row * goals..][..goals].to_vec())
            }));
            self.control.advanced(all.len() as u64, places.len() as u64);
        }
        all.resize(places.len(), None);
        all
    }

    /// A table with a row for each column asked of and each axis.
    pub fn rows(
        &self,
        columns: Vec<(&str, Vec<Option<f64>>)>,
        counted: (&str, usize),
    ) -> Result<Table, Error> {
        let names = self.names();
        let of = self.question.of.iter().flat_map(|it| names.iter().map(move |_| Some(it.clone())));
        let parameters = self.question.of.iter().flat_map(|_| names.iter().cloned().map(Some));
        let rows = self.question.of.len() * names.len();
        let count = i64::try_from(counted.1).ok();
        let mut all =
            vec![("of", Column::Text(of.collect())), ("parameter", Column::Text(parameters.collect()))];
        all.extend(columns.into_iter().map(|(name, values)| (name, Column::Float(values))));
        all.push((counted.0, Column::Int(vec![count; rows])));
        let table = Table::from_columns(all)?;
        Ok(if self.control.cancelled() { table.interrupted() } else { table })
    }

    /// That enough samples have all of their answers.
    pub fn check_answered(&self, whole: usize, asked: usize) -> Result<(), Error> {
        if 2 * whole < asked && !self.control.cancelled() || whole == 0 {
            return Err(Error::BadSweep(format!(
                "only {whole} of {asked} samples have an answer at each of their points; narrow the axes to what the \
                 study answers (`memscape sweep` says why points are refused)"
            )));
        }
        Ok(())
    }
}
