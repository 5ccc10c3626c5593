//! Points that methods ask for, answered once each.

use std::collections::HashMap;
use std::time::Instant;

use crate::asker::Asker;
use crate::control::{Control, next_breath};
use crate::error::Error;
use crate::points::{Answered, Point, answered, judged};
use crate::space::{Cursor, Judge, Plan, Verdict};
use crate::store::{Filled, Keeper};

/// What a method gets to know of a point. Lower is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Score {
    /// It keeps all constraints: the row of its values.
    Fine(u32),
    /// So many constraints over answers do not hold.
    Breaks(u32),
    NoAnswer,
    /// Constraints over parameters exclude it: it costs nothing.
    Refused,
    /// The budget is used up.
    Over,
}

/// Answers points in batches and remembers all of them.
pub(crate) struct Evaluator<'a> {
    plan: &'a Plan<'a>,
    asker: Asker<'a>,
    judge: &'a Judge<'a>,
    control: &'a dyn Control,
    budget: u64,
    cursor: Cursor<'a>,
    known: HashMap<Point, Score>,
    points: Vec<Point>,
    done: Answered,
    /// Who answers from and into a store, if there is one.
    keeper: Option<Keeper<'a>>,
    failure: Option<Error>,
    cancelled: bool,
    /// How many points were asked for since the last one that was new.
    idle: u64,
    breath: u64,
}

/// So many points that are known or refused, beside as many as the budget, and there is
/// nothing new to find.
const PATIENCE: u64 = 20_000;

impl<'a> Evaluator<'a> {
    pub(crate) fn new(
        plan: &'a Plan<'a>,
        asker: Asker<'a>,
        judge: &'a Judge<'a>,
        budget: u64,
        keeper: Option<Keeper<'a>>,
        control: &'a dyn Control,
    ) -> Self {
        let first = plan.dimensions.iter().map(crate::space::Dimension::first).collect();
        let done = Answered { columns: asker.empty(), verdicts: Vec::new(), values: Vec::new() };
        Self {
            plan,
            asker,
            judge,
            control,
            budget,
            cursor: Cursor::at(plan, first),
            known: HashMap::new(),
            points: Vec::new(),
            done,
            keeper,
            failure: None,
            cancelled: false,
            idle: 0,
            breath: rayon::current_num_threads() as u64,
        }
    }

    /// How many evaluations are left.
    pub(crate) fn left(&self) -> u64 {
        self.budget - self.points.len() as u64
    }

    /// Whether there is nothing left to do: the budget is used up, the search is
    /// cancelled, or nothing new has come for long.
    pub(crate) fn is_over(&mut self) -> bool {
        self.cancelled |= self.control.cancelled();
        self.cancelled || self.left() == 0 || self.idle > PATIENCE + self.budget
    }

    pub(crate) fn was_cancelled(&self) -> bool {
        self.cancelled
    }

    /// The values of a row, of which less is better.
    pub(crate) fn values(&self, row: u32) -> &[f64] {
        let goals = self.judge.goals();
        &self.done.values[row as usize * goals..][..goals]
    }

    /// Whether one score is better than another, by the first objective.
    pub(crate) fn is_better(&self, one: Score, other: Score) -> bool {
        match (one, other) {
            (Score::Fine(one), Score::Fine(other)) => self.values(one)[0] < self.values(other)[0],
            (one, other) => one < other && !matches!(other, Score::Fine(_)),
        }
    }

    /// What there is to know about these points. Only those that are new, and that
    /// constraints over parameters allow, count against the budget.
    pub(crate) fn ask(&mut self, points: &[Point]) -> Vec<Score> {
        let first = self.points.len();
        let mut new: Vec<Point> = Vec::new();
        // Known scores, or the place among the new points.
        let wanted: Vec<Result<Score, usize>> = points
            .iter()
            .map(|point| {
                self.cursor.go(point);
                self.cursor.normalise();
                if let Some(known) = self.known.get(self.cursor.digits()) {
                    self.idle += 1;
                    return match known {
                        Score::Fine(row) if *row as usize >= first => Err(*row as usize - first),
                        known => Ok(*known),
                    };
                }
                let point: Point = self.cursor.digits().into();
                if !self.cursor.is_allowed() {
                    self.idle += 1;
                    self.known.insert(point, Score::Refused);
                    return Ok(Score::Refused);
                }
                if new.len() as u64 == self.left() {
                    return Ok(Score::Over);
                }
                self.idle = 0;
                // Until it is answered, the row that it will have.
                self.known
                    .insert(point.clone(), Score::Fine(u32::try_from(first + new.len()).unwrap_or(u32::MAX)));
                new.push(point);
                Err(new.len() - 1)
            })
            .collect();
        let scores = self.answer(&new);
        wanted
            .into_iter()
            .map(|it| it.unwrap_or_else(|new| scores.get(new).copied().unwrap_or(Score::Over)))
            .collect()
    }

    /// Answers new points, looking up now and then whether to go on.
    fn answer(&mut self, new: &[Point]) -> Vec<Score> {
        let mut scores = Vec::new();
        let mut rest = new;
        while !rest.is_empty() && !self.cancelled {
            let start = Instant::now();
            let size = usize::try_from(self.breath).unwrap_or(usize::MAX).min(rest.len());
            let (now, later) = rest.split_at(size);
            let done = match &mut self.keeper {
                None => answered(self.plan, &self.asker, self.judge, now),
                Some(keeper) => match keeper.answers(now) {
                    Ok(columns) => judged(self.plan, self.judge, now, columns),
                    Err(error) => {
                        self.failure = Some(error);
                        self.cancelled = true;
                        break;
                    }
                },
            };
            for (point, verdict) in now.iter().zip(&done.verdicts) {
                let row = u32::try_from(self.points.len()).unwrap_or(u32::MAX);
                let score = match verdict {
                    Verdict::Fine => Score::Fine(row),
                    Verdict::Breaks(count) => Score::Breaks(*count),
                    Verdict::NoAnswer | Verdict::NoValue(_) => Score::NoAnswer,
                };
                self.points.push(point.clone());
                self.known.insert(point.clone(), score);
                scores.push(score);
            }
            self.done.columns.append(done.columns);
            self.done.verdicts.extend(done.verdicts);
            self.done.values.extend(done.values);
            let next = next_breath(size as u64, start.elapsed());
            // Few points that were fast say nothing of how many would do.
            self.breath = if next < size as u64 { next } else { next.max(self.breath) };
            rest = later;
            self.control.advanced(self.points.len() as u64, self.budget);
            self.cancelled |= self.control.cancelled();
        }
        for point in rest {
            self.known.remove(point);
        }
        scores
    }

    /// All points that were answered, in the order in which they were asked for, and what the
    /// store made of them.
    pub(crate) fn finish(self) -> Result<(Vec<Point>, Answered, Filled), Error> {
        let complete = !self.cancelled;
        let filled = match self.keeper {
            Some(keeper) => keeper.end(&self.points, &self.done.columns, complete),
            None => Ok(Filled::default()),
        };
        // Why it ended comes first.
        self.failure.map_or(Ok(()), Err)?;
        Ok((self.points, self.done, filled?))
    }
}
