//! Methods that choose points without looking at answers.

use super::evaluator::Evaluator;
use super::places::Cube;
use crate::error::Error;
use crate::points::Point;
use crate::space::{Cursor, Method, Plan, check_dimensions, find_allowed, places};

/// Every point of a finite space, in its order.
///
/// # Errors
/// [`Error::BadSweep`] if there are more points than the budget allows.
pub(crate) fn exhaustive(plan: &Plan<'_>, evaluator: &mut Evaluator<'_>) -> Result<(), Error> {
    const BATCH: usize = 1 << 14;
    let size = plan.size()?;
    let mut cursor = Cursor::new(plan, 0);
    let mut points: Vec<Point> = Vec::new();
    while !evaluator.is_over() && cursor.settle(size) {
        points.push(cursor.digits().into());
        if points.len() == BATCH {
            evaluator.ask(&points);
            points.clear();
        }
        cursor.advance();
    }
    evaluator.ask(&points);
    Ok(())
}

/// That a finite space has no more points than the budget allows.
///
/// # Errors
/// [`Error::BadSweep`] otherwise.
pub(crate) fn check_exhaustible(plan: &mut Plan<'_>, budget: u64) -> Result<(), Error> {
    if plan.size()? > MOST_COUNTED {
        return Err(Error::BadSweep(format!(
            "the space has {} points, which is too many to go through; choose another method",
            plan.size()?
        )));
    }
    find_allowed(plan)?;
    let points = plan.allowed.as_ref().map_or_else(|| plan.size(), |it| Ok(it.len() as u64))?;
    if points > budget {
        return Err(Error::BadSweep(format!(
            "the space has {points} points and the budget is {budget}; raise it, choose another method, or ask \
             for the front, which keeps nothing else"
        )));
    }
    Ok(())
}

/// A design of points. What constraints exclude is made up for by another design.
///
/// # Errors
/// [`Error::BadSweep`] if a method does not reach so many dimensions.
pub(crate) fn sampled(
    method: Method,
    seed: u64,
    cube: &Cube<'_>,
    evaluator: &mut Evaluator<'_>,
) -> Result<(), Error> {
    check_dimensions(method, cube.dimensions())?;
    let mut drawn = 0;
    for round in 0.. {
        let count = evaluator.left();
        // Sobol's sequence goes on; other designs begin anew.
        let (seed, skip) = match method {
            Method::Sobol => (seed, drawn),
            Method::Random | Method::Latin => (seed.wrapping_add(round << 32), 0),
        };
        let columns: Vec<Vec<f64>> =
            (0..cube.dimensions()).map(|it| places(method, seed, skip + count, it as u64)).collect();
        let at = |index: usize| columns.iter().map(|it| it[index]).collect::<Vec<f64>>();
        let points: Vec<Point> = (skip..skip + count)
            .map(|it| cube.point(&at(usize::try_from(it).unwrap_or(usize::MAX))))
            .collect();
        drawn += count;
        evaluator.ask(&points);
        if evaluator.is_over() || drawn > MOST_DRAWN {
            break;
        }
    }
    Ok(())
}

/// A sequence is computed from its beginning each time.
const MOST_DRAWN: u64 = 1 << 22;

/// More points take longer to count than anybody waits.
const MOST_COUNTED: u64 = 1 << 36;
