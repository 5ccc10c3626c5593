//! How much each axis matters, by the method that is asked for.

use std::cell::OnceCell;

use super::experiment::Experiment;
use super::question::{Sensitivity, SensitivityMethod};
use super::{indices, morris, tornado};
use crate::control::Control;
use crate::error::Error;
use crate::guard::guarded;
use crate::parameters::Parameters;
use crate::registry::DynStudy;
use crate::search::Cube;
use crate::space::{Judge, Objective, Space};
use crate::table::Table;

/// How much each axis of a space matters to some columns. A row for each column and axis:
/// `of`, `parameter`, and
///
/// * `tornado`: `at_low`, `at_high` (the answer at the axis' first and last value), `least`,
///   `greatest` over all of its values, `base` (the answer with no axis changed) and `swing`
///   (greatest less least)
/// * `morris`: `mean_effect`, `mean_absolute_effect` and `deviation`, of the answer's change
///   over the whole of the axis, and `paths`
/// * `sobol`: `first_order` and `total`, each with the ends of an interval that holds it
///   19 times of 20 or so from 256 samples on (`_low`, `_high`, by bootstrap), and `samples`
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
    guarded(|| {
        let asker = study.asker();
        let objectives: Vec<Objective> = question.of.iter().map(Objective::minimize).collect();
        if objectives.is_empty() {
            return Err(Error::BadSweep(
                "there is no column whose sensitivity is asked for; name at least one (`of`)".to_owned(),
            ));
        }
        Objective::check(&objectives)?;
        let plan = asker.plan(base, space)?;
        if plan.dimensions.is_empty() {
            return Err(Error::BadSweep("the space has no axes; give at least one".to_owned()));
        }
        if plan.conditional || !plan.prunes.is_empty() || !plan.checks.is_empty() {
            return Err(Error::BadSweep(
                "how much an axis matters can be told of axes that do not depend on each other; leave out \
                 constraints and `when`"
                    .to_owned(),
            ));
        }
        let judge = Judge::new(&plan, &objectives)?;
        let experiment = Experiment {
            space,
            plan: &plan,
            asker,
            judge: &judge,
            cube: Cube::new(&plan),
            question,
            control,
            refused: OnceCell::new(),
        };
        match question.method {
            SensitivityMethod::Tornado => tornado::table(base, &experiment),
            SensitivityMethod::Morris => morris::table(&experiment),
            SensitivityMethod::Sobol => indices::table(&experiment),
        }
    })
}
