//! argmin's solvers that need no slopes, on the axes that have an order.

use std::cell::{Cell, RefCell};

use argmin::core::{CostFunction, Error as Stop, Executor};
use argmin::solver::neldermead::NelderMead;
use argmin::solver::particleswarm::ParticleSwarm;
use argmin::solver::simulatedannealing::{Anneal, SATempFunc, SimulatedAnnealing};
use memscape_study::random::Key;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use super::descent::somewhere;
use super::evaluator::{Evaluator, Score};
use super::places::Cube;
use crate::error::Error;
use crate::points::Point;

/// Which of argmin's solvers.
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
        let budget = evaluator.left();
        let problem = Problem {
            cube,
            free: &free,
            point,
            scale,
            key: key.fork(1),
            drawn: Cell::new(0),
            safe: Cell::new(0),
            evaluator: RefCell::new(evaluator),
        };
        problem.run(solver, seed.wrapping_add(start), budget);
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

/// A search as argmin sees it.
struct Problem<'a, 'e> {
    cube: &'a Cube<'a>,
    free: &'a [usize],
    /// What the other axes stay at.
    point: Point,
    scale: (f64, f64),
    key: Key,
    /// How many random numbers have been drawn.
    drawn: Cell<u64>,
    /// How many costs from now on must not fail: argmin panics where its simplex begins.
    safe: Cell<usize>,
    evaluator: RefCell<&'a mut Evaluator<'e>>,
}

impl Problem<'_, '_> {
    /// Runs until the solver has converged or nothing is left: that a cost then is an
    /// error is how the solver is stopped.
    fn run(self, solver: Solver, seed: u64, budget: u64) {
        let start = self.start();
        let steps = |it: usize| u64::try_from(it).unwrap_or(u64::MAX);
        match solver {
            Solver::NelderMead => {
                let most = 40 * steps(start.len() + 1);
                let Some(corners) = self.corners(&start) else { return };
                self.safe.set(corners.len());
                let Ok(solver) = NelderMead::new(corners).with_sd_tolerance(1e-9) else { return };
                let _ = Executor::new(self, solver).configure(|it| it.max_iters(most)).timer(false).run();
            }
            Solver::Swarm => {
                const ROUNDS: u64 = 60;
                let particles = usize::try_from(budget / 8).unwrap_or(usize::MAX).clamp(4, 32);
                let bounds = (vec![0.0; start.len()], vec![1.0; start.len()]);
                let random = Xoshiro256PlusPlus::seed_from_u64(seed);
                let solver = ParticleSwarm::new(bounds, particles).with_rng_generator(random);
                let _ = Executor::new(self, solver).configure(|it| it.max_iters(ROUNDS)).timer(false).run();
            }
            Solver::Annealing => {
                const LEAST: u64 = 50;
                const COLDEST: f64 = 1e-3;
                let random = Xoshiro256PlusPlus::seed_from_u64(seed);
                let Ok(solver) = SimulatedAnnealing::new_with_rng(1.0, random) else { return };
                let most = (budget / 4).max(LEAST);
                #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
                let cooling = SATempFunc::Exponential(COLDEST.powf(1.0 / most as f64));
                let solver = solver.with_temp_func(cooling);
                let begin = |it: argmin::core::IterState<Vec<f64>, (), (), (), (), f64>| {
                    it.param(start).max_iters(most)
                };
                let _ = Executor::new(self, solver).configure(begin).timer(false).run();
            }
        }
    }

    /// Where it starts, on the free axes.
    fn start(&self) -> Vec<f64> {
        self.free.iter().map(|it| self.cube.place(*it, self.point[*it])).collect()
    }

    /// A simplex around the start, whose costs are known before argmin asks for them.
    fn corners(&self, start: &[f64]) -> Option<Vec<Vec<f64>>> {
        const EDGE: f64 = 0.25;
        let mut corners = vec![start.to_vec()];
        for axis in 0..start.len() {
            let mut corner = start.to_vec();
            corner[axis] += if corner[axis] > 0.5 { -EDGE } else { EDGE };
            corners.push(corner);
        }
        let points: Vec<Point> = corners.iter().map(|it| self.at(it)).collect();
        let scores = self.evaluator.borrow_mut().ask(&points);
        (!scores.contains(&Score::Over)).then_some(corners)
    }

    fn at(&self, places: &[f64]) -> Point {
        let mut point = self.point.clone();
        for (dimension, place) in self.free.iter().zip(places) {
            point[*dimension] = self.cube.digit(*dimension, *place);
        }
        point
    }

    fn uniform(&self) -> f64 {
        let drawn = self.drawn.get();
        self.drawn.set(drawn + 1);
        self.key.uniform(drawn)
    }

    fn costs(&self, points: &[Point]) -> Result<Vec<f64>, Stop> {
        let mut evaluator = self.evaluator.borrow_mut();
        let scores = evaluator.ask(points);
        let cost = |score: &Score| match score {
            Score::Fine(row) => (evaluator.values(*row)[0] - self.scale.0) / self.scale.1,
            Score::Breaks(count) => WORST * f64::from(*count),
            Score::NoAnswer => WORST * 1e3,
            Score::Refused | Score::Over => WORST * 1e4,
        };
        let costs = scores.iter().map(cost).collect();
        if let Some(left) = self.safe.get().checked_sub(points.len()) {
            self.safe.set(left);
            return Ok(costs);
        }
        if scores.contains(&Score::Over) || evaluator.is_over() {
            return Err(Stop::msg("nothing is left of the budget"));
        }
        Ok(costs)
    }
}

impl CostFunction for Problem<'_, '_> {
    type Param = Vec<f64>;
    type Output = f64;

    fn cost(&self, places: &Vec<f64>) -> Result<f64, Stop> {
        Ok(self.costs(&[self.at(places)])?[0])
    }

    fn bulk_cost<P: std::borrow::Borrow<Vec<f64>> + argmin::core::SyncAlias>(
        &self,
        all: &[P],
    ) -> Result<Vec<f64>, Stop> {
        let points: Vec<Point> = all.iter().map(|it| self.at(it.borrow())).collect();
        self.costs(&points)
    }
}

impl Anneal for Problem<'_, '_> {
    type Param = Vec<f64>;
    type Output = Vec<f64>;
    type Float = f64;

    /// Moves one axis, far or near; one without an order anywhere.
    fn anneal(&self, places: &Vec<f64>, _: f64) -> Result<Vec<f64>, Stop> {
        /// The nearest step is a 64th.
        const NEAREST: f64 = 6.0;
        let mut moved = places.clone();
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a place in a short list"
        )]
        let axis = ((self.uniform() * moved.len() as f64) as usize).min(moved.len() - 1);
        let draw = self.uniform();
        moved[axis] = if self.cube.is_ordered(self.free[axis]) {
            (moved[axis] + (draw - 0.5) * (-NEAREST * self.uniform()).exp2()).clamp(0.0, 1.0)
        } else {
            draw
        };
        Ok(moved)
    }
}
