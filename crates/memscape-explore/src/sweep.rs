//! Many points of one study at once.

use memscape_study::Study;
use polars::prelude::DataFrame;
use serde::Serialize;
use serde_json::{Value, json};

use crate::answers::{Rows, answers, laid_out};
use crate::asker::Asker;
use crate::control::Control;
use crate::digest::digest;
use crate::error::Error;
use crate::guard::guarded;
use crate::parameters::{Anatomy, Assignment, Parameters};
use crate::room::check_room;
use crate::space::{Axis, Change, Plan, Sample, Space, Values, find_allowed};
use crate::table::{Table, leaf_name};

/// Points to ask a study at: a base, and axes over it.
///
/// Rows come in the order in which axes are added, the last one fastest; a
/// sample is faster than all axes, so that each grid point sees the same
/// sampled points.
///
/// ```
/// use memscape_explore::Sweep;
///
/// let sweep = Sweep::default()
///     .axis("memory.banks_per_channel", [8, 16, 32])
///     .zip([("shape.m", [768, 1024]), ("shape.k", [3072, 4096])]);
/// assert_eq!(sweep.points()?, 6);
/// # Ok::<(), memscape_explore::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Sweep {
    /// Later layers over earlier ones.
    base: Vec<Parameters>,
    space: Space,
    /// Draws from the space's ranges instead of going through them.
    sample: Option<Sample>,
}

impl Sweep {
    /// A sweep of one point, until axes are added.
    #[must_use]
    pub fn of(base: Parameters) -> Self {
        Self { base: vec![base], ..Self::default() }
    }

    /// Every point of a space, over several layers of parameters.
    pub(crate) fn over_all(base: &[Parameters], space: &Space) -> Self {
        Self { base: base.to_vec(), space: space.clone(), sample: None }
    }

    /// Parameters that go over those of the base: a table and dotted keys merge
    /// with what a name there stands for.
    #[must_use]
    pub fn over(mut self, parameters: Parameters) -> Self {
        self.base.push(parameters);
        self
    }

    /// The axes and constraints of a space, instead of those so far.
    #[must_use]
    pub fn through(mut self, space: Space) -> Self {
        self.space = space;
        self
    }

    /// Every value of one parameter, as [`Space::axis`].
    #[must_use]
    pub fn axis(self, path: impl Into<String>, values: impl IntoIterator<Item: Into<Value>>) -> Self {
        Self { space: self.space.axis(path, values), ..self }
    }

    /// Parameters that move together, as [`Space::linked`].
    #[must_use]
    pub fn zip<P: Into<String>, V: IntoIterator<Item: Into<Value>>>(
        self,
        axes: impl IntoIterator<Item = (P, V)>,
    ) -> Self {
        Self { space: self.space.linked(axes), ..self }
    }

    /// Points drawn from ranges, at each point of the axes.
    #[must_use]
    pub fn sample(mut self, sample: Sample) -> Self {
        self.sample = Some(sample);
        self
    }

    /// The dotted path of each parameter that moves.
    #[must_use]
    pub fn axes(&self) -> Vec<String> {
        let sampled = self.sample.iter().flat_map(|it| it.ranges.keys().map(String::as_str));
        self.space.paths().chain(sampled).map(str::to_owned).collect()
    }

    /// Whether the axes can be called by the last parts of their paths.
    ///
    /// # Errors
    /// [`Error::BadSweep`] names two that end alike.
    pub fn check_leaf_names(&self) -> Result<(), Error> {
        let paths = self.axes();
        for (index, path) in paths.iter().enumerate() {
            let leaf = leaf_name(path);
            if let Some(other) = paths[..index].iter().find(|it| leaf_name(it.as_str()) == leaf) {
                return Err(Error::BadSweep(format!(
                    "`{other}` and `{path}` would both be called `{leaf}`; keep the dotted names"
                )));
            }
        }
        Ok(())
    }

    /// How many points there are before conditions and constraints, at most 2^31.
    ///
    /// # Errors
    /// [`Error::BadSweep`] if an axis is empty, is a range of real numbers that no
    /// sample draws from, zipped axes differ in length, or there are too many points.
    pub fn points(&self) -> Result<u64, Error> {
        let sample = self.sample.as_ref().map_or(Ok(1), Sample::points)?;
        let drawn = self.sample.is_some();
        let Some(points) = self.space.finite_size(drawn)?.map(|it| it.saturating_mul(sample.into())) else {
            return Err(Error::BadSweep(format!(
                "axis `{}` is a range of real numbers; give `step` or `count` in it, draw from it with a sample, \
                 or search",
                self.space.first_real().unwrap_or_default()
            )));
        };
        u64::try_from(points).ok().filter(|it| *it <= MOST_POINTS).ok_or_else(|| {
            Error::BadSweep(format!(
                "the sweep has {points} points, and a table, a file or a store takes at most {MOST_POINTS}; \
                 shorten an axis, draw a sample, search, or ask for the front without a store, which keeps nothing else"
            ))
        })
    }
}

/// What one table can hold.
const MOST_POINTS: u64 = 1 << 31;

/// A sweep resolved against a study.
fn plan_of<'a>(anatomy: &'a Anatomy, sweep: &Sweep) -> Result<Plan<'a>, Error> {
    Plan::new(anatomy, &sweep.base, &sweep.space, sweep.sample.as_ref())
}

/// The same, checked as a whole, and with the points found that are allowed.
pub(crate) fn ready<'a>(asker: &Asker<'a>, sweep: &Sweep) -> Result<Plan<'a>, Error> {
    sweep.points()?;
    let mut plan = plan_of(asker.anatomy, sweep)?;
    asker.check_base(&plan)?;
    find_allowed(&mut plan)?;
    Ok(plan)
}

/// What a sweep asks, by content: the study, and what every name, path and table
/// of base and axes stands for.
pub(crate) fn identity<S: Study>(anatomy: &Anatomy, sweep: &Sweep) -> Result<String, Error> {
    let plan = plan_of(anatomy, sweep)?;
    let base: Vec<Value> = plan.base.iter().map(Assignment::content).collect();
    let values = |axis: &Axis| -> Value {
        match &axis.change {
            Change::Leaf(_) => axis.content(),
            Change::Tree { values, .. } => values
                .iter()
                .map(|it| match it {
                    Ok(given) => given.iter().map(Assignment::content).collect(),
                    Err(error) => Value::from(error.as_str()),
                })
                .collect(),
        }
    };
    let picks = |axis: &Axis| match &axis.values {
        Values::Listed { picks: Some(picks), .. } => Value::from(picks.clone()),
        _ => Value::Null,
    };
    let when = |axis: &Axis| axis.when.as_ref().map(|it| it.expression.text().to_owned());
    let axes: Vec<Value> = plan.axes().map(|it| json!([it.path, values(it), picks(it), when(it)])).collect();
    let lengths: Vec<Option<u64>> = plan.dimensions.iter().map(|it| it.length).collect();
    let question = json!([S::NAME, base, axes, lengths, sweep.space.constraints]);
    Ok(digest(question.to_string().as_bytes()))
}

/// Answers all points, in order, until done or cancelled.
pub(crate) fn sweep(asker: &Asker<'_>, sweep: &Sweep, control: &dyn Control) -> Result<Table, Error> {
    guarded(|| {
        let plan = ready(asker, sweep)?;
        let total = plan.rows()?;
        check_room(total, plan.axes().count() + asker.anatomy.columns.builders.len() + 1)?;
        let columns = answers(&plan, asker, &Rows::Range(0..total), control);
        let rows = columns.rows();
        let frame = DataFrame::new(rows, laid_out(&plan, &Rows::Range(0..rows as u64), columns)?)?;
        Ok(Table::new(frame, rows as u64 == total))
    })
}
