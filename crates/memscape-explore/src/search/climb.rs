//! Solvers that need no slopes, on the axes that have an order.

use memscape_study::random::Key;

use super::annealing::anneal;
use super::descent::somewhere;
use super::evaluator::{Evaluator, Score};
use super::places::Cube;
use super::random::Random;
use super::{simplex, swarm};
use crate::error::Error;
use crate::points::Point;

/// How it moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Solver {
    NelderMead,
    Swarm,
    Annealing,
}

/// What costs more than any point that has an answer.
const WORST: f64 = 1e9;

/// Runs a solver from random points until the budget is used up. A simplex and a swarm
/// move on the axes that have an order, which are rounded to their values, while the
/// others stay as drawn; annealing moves on all.
///
/// # Errors
/// [`Error::BadSweep`] if no axis has an order and the solver needs one.
pub(crate) fn solve(
    solver: Solver,
    seed: u64,
    cube: &Cube<'_>,
    evaluator: &mut Evaluator<'_>,
) -> Result<(), Error> {
    let moves = |it: &usize| solver == Solver::Annealing || cube.is_ordered(*it);
    let free: Vec<usize> = (0..cube.dimensions()).filter(moves).collect();
    if free.is_empty() {
        return Err(Error::BadSweep(
            "no axis is a range or a list of at least three rising numbers, and only on such ones can this method \
             move; use `descent`, `nsga2` or `random`"
                .to_owned(),
        ));
    }
    let scale = scale(Key::new(seed).fork(u64::MAX), cube, evaluator);
    for start in 0.. {
        if evaluator.is_over() {
            break;
        }
        let key = Key::new(seed).fork(start);
        let Some((point, _)) = somewhere(key, cube, evaluator) else { continue };
        Problem { cube, free: &free, point, scale, evaluator }.run(solver, key.fork(1));
    }
    Ok(())
}

/// Mean and deviation of some random points, so that costs are near 1.
fn scale(key: Key, cube: &Cube<'_>, evaluator: &mut Evaluator<'_>) -> (f64, f64) {
    const POINTS: u64 = 16;
    let mut values = Vec::new();
    for turn in 0..POINTS.min(evaluator.left() / 4).max(1) {
        if let Some((_, Score::Fine(row))) = somewhere(key.fork(turn), cube, evaluator) {
            values.push(evaluator.values(row)[0]);
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "a few")]
    let count = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / count;
    let deviation = (values.iter().map(|it| (it - mean).powi(2)).sum::<f64>() / count).sqrt();
    (mean, if deviation > 0.0 { deviation } else { mean.abs().max(1.0) })
}

/// A search from one point.
struct Problem<'a, 'e> {
    cube: &'a Cube<'a>,
    free: &'a [usize],
    /// What the other axes stay at.
    point: Point,
    scale: (f64, f64),
    evaluator: &'a mut Evaluator<'e>,
}

impl Problem<'_, '_> {
    /// Runs until the solver has converged or nothing is left.
    fn run(mut self, solver: Solver, key: Key) {
        let start = self.start();
        let budget = self.evaluator.left();
        let mut random = Random::new(key);
        // Where nothing is left, the evaluator knows all that was asked.
        let _ = match solver {
            Solver::NelderMead => {
                let steps = 40 * (start.len() + 1);
                simplex::descend(corners(&start), steps, |places| self.costs(places))
            }
            Solver::Swarm => {
                const ROUNDS: usize = 60;
                let particles = usize::try_from(budget / 8).unwrap_or(usize::MAX).clamp(4, 32);
                swarm::fly(start.len(), particles, ROUNDS, &mut random, |places| self.costs(places))
            }
            Solver::Annealing => {
                const LEAST: u64 = 50;
                let (cube, free) = (self.cube, self.free);
                let moved = |places: &[f64], random: &mut Random| beside(cube, free, places, random);
                let cost = |place: &[f64]| Some(self.costs(&[place.to_vec()])?[0]);
                anneal(start, (budget / 4).max(LEAST), &mut random, moved, cost)
            }
        };
    }

    /// Where it starts, on the free axes.
    fn start(&self) -> Vec<f64> {
        self.free.iter().map(|it| self.cube.place(*it, self.point[*it])).collect()
    }

    fn at(&self, places: &[f64]) -> Point {
        let mut point = self.point.clone();
        for (dimension, place) in self.free.iter().zip(places) {
            point[*dimension] = self.cube.digit(*dimension, *place);
        }
        point
    }

    /// What places cost, near 1 for those that have an answer; none if nothing is left.
    fn costs(&mut self, places: &[Vec<f64>]) -> Option<Vec<f64>> {
        let points: Vec<Point> = places.iter().map(|it| self.at(it)).collect();
        let scores = self.evaluator.ask(&points);
        if scores.contains(&Score::Over) || self.evaluator.is_over() {
            return None;
        }
        let cost = |score: &Score| match score {
            Score::Fine(row) => (self.evaluator.values(*row)[0] - self.scale.0) / self.scale.1,
            Score::Breaks(count) => WORST * f64::from(*count),
            Score::NoAnswer => WORST * 1e3,
            Score::Refused | Score::Over => WORST * 1e4,
        };
        Some(scores.iter().map(cost).collect())
    }
}

/// A simplex around a place.
fn corners(start: &[f64]) -> Vec<Vec<f64>> {
    const EDGE: f64 = 0.25;
    let mut corners = vec![start.to_vec()];
    for axis in 0..start.len() {
        let mut corner = start.to_vec();
        corner[axis] += if corner[axis] > 0.5 { -EDGE } else { EDGE };
        corners.push(corner);
    }
    corners
}

/// Moves one axis, far or near; one without an order anywhere.
fn beside(cube: &Cube<'_>, free: &[usize], places: &[f64], random: &mut Random) -> Vec<f64> {
    /// The nearest step is a 64th.
    const NEAREST: f64 = 6.0;
    let mut moved = places.to_vec();
    let axis = random.below(moved.len());
    let draw = random.uniform();
    moved[axis] = if cube.is_ordered(free[axis]) {
        (moved[axis] + (draw - 0.5) * (-NEAREST * random.uniform()).exp2()).clamp(0.0, 1.0)
    } else {
        draw
    };
    moved
}
