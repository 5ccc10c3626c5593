//! A space whose points are asked, and the table of what they said.

use std::cell::OnceCell;

use super::question::Sensitivity;
use crate::asker::Asker;
use crate::control::{Control, paced};
use crate::error::Error;
use crate::points::{Answered, Point, answered};
use crate::search::Cube;
use crate::space::{Judge, Plan, Space, Verdict};
use crate::table::{Column, Table};

/// More answers do not fit in memory.
const MOST_ANSWERS: u64 = 20_000_000;

/// A space whose points are asked.
pub(super) struct Experiment<'a> {
    pub space: &'a Space,
    pub plan: &'a Plan<'a>,
    pub asker: Asker<'a>,
    pub judge: &'a Judge<'a>,
    pub cube: Cube<'a>,
    pub question: &'a Sensitivity,
    pub control: &'a dyn Control,
    /// Why the first that has no answer has none.
    pub refused: OnceCell<String>,
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
        let mut all = Vec::with_capacity(places.len());
        paced(places.len() as u64, self.control, |part| {
            let count = usize::try_from(part.end - part.start).unwrap_or(usize::MAX);
            let next = places.iter().skip(all.len()).take(count);
            let points: Vec<Point> = next.map(|it| self.cube.point(it)).collect();
            all.extend(self.said(&answered(self.plan, &self.asker, self.judge, &points)));
            self.control.advanced(all.len() as u64, places.len() as u64);
        });
        all.resize(places.len(), None);
        all
    }

    /// The values of what was answered.
    pub fn said(&self, done: &Answered) -> Vec<Values> {
        let goals = self.judge.goals();
        let say = |(row, verdict): (usize, &Verdict)| {
            if !verdict.is_valued() {
                self.refused.get_or_init(|| self.reason(done, row));
                return None;
            }
            Some(done.values[row * goals..][..goals].to_vec())
        };
        done.verdicts.iter().enumerate().map(say).collect()
    }

    fn reason(&self, done: &Answered, row: usize) -> String {
        let null = || {
            let of: Vec<String> = self.question.of.iter().map(|it| format!("`{it}`")).collect();
            format!("a value of {} is null or not a finite number", of.join(" or "))
        };
        done.columns.error(row).map_or_else(null, str::to_owned)
    }

    /// A table with a row for each column asked of and each axis.
    pub fn rows(
        &self,
        columns: Vec<(&str, Vec<Option<f64>>)>,
        counted: &[(&str, Vec<usize>)],
    ) -> Result<Table, Error> {
        let names = self.names();
        let of = self.question.of.iter().flat_map(|it| names.iter().map(move |_| Some(it.clone())));
        let parameters = self.question.of.iter().flat_map(|_| names.iter().cloned().map(Some));
        let rows = self.question.of.len() * names.len();
        let mut all =
            vec![("of", Column::Text(of.collect())), ("parameter", Column::Text(parameters.collect()))];
        all.extend(columns.into_iter().map(|(name, values)| (name, Column::Float(values))));
        for (name, counts) in counted {
            // Of each axis, whatever column is asked of.
            let each = counts.iter().cycle().take(rows).map(|it| i64::try_from(*it).ok());
            all.push((name, Column::Int(each.collect())));
        }
        let table = Table::from_columns(all)?;
        Ok(if self.control.cancelled() { table.interrupted() } else { table })
    }

    /// That enough samples have all of their answers.
    pub fn check_answered(&self, whole: usize, asked: usize) -> Result<(), Error> {
        if 2 * whole < asked && !self.control.cancelled() || whole == 0 {
            return Err(Error::BadSweep(format!(
                "only {whole} of {asked} samples have an answer at each of their points; narrow the axes to what the \
                 study answers; the first refusal says: {}",
                self.refused.get().map_or("", String::as_str)
            )));
        }
        Ok(())
    }
}
