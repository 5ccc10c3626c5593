//! What of a point is allowed, and how good it is.

use serde::{Deserialize, Serialize};

use super::check::{Check, Source};
use super::cursor::Cursor;
use super::plan::Plan;
use crate::columns::Columns;
use crate::error::Error;
use crate::expression::{Datum, Sort};

/// What a search or a front wants less or more of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Objective {
    /// An [`Expression`](crate::Expression), most often a column's name alone.
    pub formula: String,
    /// Whether more of it is better.
    pub maximize: bool,
}

impl Objective {
    /// Less is better.
    #[must_use]
    pub fn minimize(formula: impl Into<String>) -> Self {
        Self { formula: formula.into(), maximize: false }
    }

    /// More is better.
    #[must_use]
    pub fn maximize(formula: impl Into<String>) -> Self {
        Self { formula: formula.into(), maximize: true }
    }

    /// All of these, those to minimize first.
    ///
    /// # Errors
    /// [`Error::BadSweep`] if there is none, or one stands there twice.
    pub fn all<T: AsRef<str>>(minimize: &[T], maximize: &[T]) -> Result<Vec<Self>, Error> {
        let less = minimize.iter().map(|it| Self::minimize(it.as_ref()));
        let all: Vec<Self> = less.chain(maximize.iter().map(|it| Self::maximize(it.as_ref()))).collect();
        Self::check(&all)?;
        Ok(all)
    }

    pub(crate) fn check(all: &[Self]) -> Result<(), Error> {
        if all.is_empty() {
            return Err(Error::BadSweep(
                "there is no objective; name at least one to minimize or maximize".to_owned(),
            ));
        }
        if all.len() > MOST_OBJECTIVES {
            return Err(Error::BadSweep(format!(
                "there are {} objectives; at most {MOST_OBJECTIVES} are possible",
                all.len()
            )));
        }
        let twice =
            all.iter().enumerate().find(|(i, it)| all[..*i].iter().any(|other| other.formula == it.formula));
        match twice {
            Some((_, it)) => {
                Err(Error::BadSweep(format!("`{}` is an objective twice; remove one", it.formula)))
            }
            None => Ok(()),
        }
    }

    /// The value of which less is better.
    pub(crate) fn signed(&self, value: f64) -> f64 {
        if self.maximize { -value } else { value }
    }
}

/// The column that says whether the constraints over the answer hold.
pub(crate) const FEASIBLE: &str = "feasible";

/// Nearly all points would be on the front.
const MOST_OBJECTIVES: usize = 10;

/// What became of a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It has no answer.
    NoAnswer,
    /// It has no value of an objective; whether it keeps the constraints all the same.
    NoValue(bool),
    /// So many constraints do not hold.
    Breaks(u32),
    Fine,
}

impl Verdict {
    /// Whether there is a value of each objective.
    pub(crate) fn is_valued(self) -> bool {
        matches!(self, Self::Breaks(_) | Self::Fine)
    }

    /// Whether the constraints hold, with or without objectives.
    pub(crate) fn is_feasible(self) -> bool {
        matches!(self, Self::NoValue(true) | Self::Fine)
    }
}

/// Constraints over answers, and objectives.
pub(crate) struct Judge<'p> {
    checks: &'p [Check],
    goals: Vec<(Check, bool)>,
    /// Whether a point that lacks the value of an objective still has others: it is NaN then.
    each: bool,
}

impl<'p> Judge<'p> {
    /// # Errors
    /// [`Error::BadExpression`] points at the character.
    pub(crate) fn new(plan: &'p Plan<'_>, objectives: &[Objective]) -> Result<Self, Error> {
        let goal = |it: &Objective| {
            let formula = plan.of_answer(&it.formula);
            Ok((plan.check(&formula, Sort::Number, "an objective is")?, it.maximize))
        };
        let goals = objectives.iter().map(goal).collect::<Result<_, Error>>()?;
        Ok(Self { checks: &plan.checks, goals, each: false })
    }

    /// The same, each objective by itself.
    pub(crate) fn of_each(plan: &'p Plan<'_>, objectives: &[Objective]) -> Result<Self, Error> {
        Ok(Self { each: true, ..Self::new(plan, objectives)? })
    }

    /// How many objectives there are.
    pub(crate) fn goals(&self) -> usize {
        self.goals.len()
    }

    /// The objectives that are more than a column's name, and so have no column yet:
    /// place, formula, and whether more is better.
    pub(crate) fn composed(&self) -> impl Iterator<Item = (usize, &str, bool)> {
        let all = self.goals.iter().enumerate().filter(|(_, it)| it.0.is_column().is_none());
        all.map(|(index, it)| (index, it.0.expression.text(), it.1))
    }

    /// Judges the point at which the cursor stands and whose answer is this row; puts
    /// a value for each objective, of which less is better, at the end of `values`
    /// unless there is no answer.
    pub(crate) fn verdict(
        &self,
        cursor: &Cursor<'_>,
        columns: &Columns,
        row: usize,
        values: &mut Vec<f64>,
    ) -> Verdict {
        if columns.has_error(row) {
            return Verdict::NoAnswer;
        }
        let here = Here { cursor, columns, row };
        let broken = self.checks.iter().filter(|it| !it.holds(|source| here.datum(source))).count();
        let before = values.len();
        for (goal, maximize) in &self.goals {
            let value = goal.value(|it| here.datum(it), Datum::number);
            let Some(value) = value.or(self.each.then_some(f64::NAN)) else {
                values.truncate(before);
                return Verdict::NoValue(broken == 0);
            };
            values.push(if *maximize { -value } else { value });
        }
        match broken {
            0 => Verdict::Fine,
            _ => Verdict::Breaks(u32::try_from(broken).unwrap_or(u32::MAX)),
        }
    }
}

/// A point and its answer.
#[derive(Clone, Copy)]
struct Here<'a> {
    cursor: &'a Cursor<'a>,
    columns: &'a Columns,
    row: usize,
}

impl<'a> Here<'a> {
    fn datum(self, source: &'a Source) -> Datum<'a> {
        match source {
            Source::Column(index) => self.columns.builders[*index].datum(self.row),
            source => self.cursor.datum(source),
        }
    }
}
