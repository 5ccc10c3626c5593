//! Coordinate descent with restarts.

use memscape_study::random::Key;

use super::evaluator::{Evaluator, Score};
use super::places::Cube;
use crate::points::Point;

/// Axes that are longer than this are not looked at whole.
const WHOLE: u64 = 64;

/// Random points, from the best of which a descent begins.
const STARTS: u64 = 16;

/// From the best of some random points, moves along one axis after another to the best value on it,
/// all of which are asked for at once, until no axis helps; then from another.
pub(crate) fn descend(seed: u64, cube: &Cube<'_>, evaluator: &mut Evaluator<'_>) {
    for start in 0.. {
        if evaluator.is_over() {
            break;
        }
        let key = Key::new(seed).fork(start);
        let Some((mut point, mut score)) = start_of(key, cube, evaluator) else { continue };
        let mut improved = true;
        for pass in 1.. {
            if !improved || evaluator.is_over() {
                break;
            }
            improved = false;
            for dimension in order(key.fork(pass), cube.dimensions()) {
                let line = line(cube, &point, dimension);
                for (next, found) in line.iter().zip(evaluator.ask(&line)) {
                    if evaluator.is_better(found, score) {
                        (point, score, improved) = (next.clone(), found, true);
                    }
                }
            }
        }
    }
}

/// Where a descent begins. Axes that a constraint holds together cannot be moved one by one, so that a descent
/// from anywhere often ends where it began.
fn start_of(key: Key, cube: &Cube<'_>, evaluator: &mut Evaluator<'_>) -> Option<(Point, Score)> {
    let drawn: Vec<Point> = (0..STARTS).map(|turn| drawn(key.fork(turn), cube)).collect();
    let scores = evaluator.ask(&drawn);
    let found = drawn.into_iter().zip(scores);
    let best = found.reduce(|best, next| if evaluator.is_better(next.1, best.1) { next } else { best });
    best.filter(|it| it.1 < Score::Refused).or_else(|| somewhere(key.fork(STARTS), cube, evaluator))
}

fn drawn(key: Key, cube: &Cube<'_>) -> Point {
    let places: Vec<f64> = (0..cube.dimensions() as u64).map(|it| key.uniform(it)).collect();
    cube.point(&places)
}

/// A random point that constraints over parameters allow.
pub(crate) fn somewhere(key: Key, cube: &Cube<'_>, evaluator: &mut Evaluator<'_>) -> Option<(Point, Score)> {
    const TRIES: u64 = 1000;
    (0..TRIES).find_map(|turn| {
        if turn > 0 && evaluator.is_over() {
            return None;
        }
        let point = drawn(key.fork(turn), cube);
        let score = evaluator.ask(std::slice::from_ref(&point))[0];
        (score < Score::Refused).then_some((point, score))
    })
}

/// The dimensions in random order.
fn order(key: Key, dimensions: usize) -> Vec<usize> {
    let mut all: Vec<usize> = (0..dimensions).collect();
    all.sort_by_key(|it| key.bits(*it as u64));
    all
}

/// Points along one axis: all, or some spread over it and some ever nearer.
fn line(cube: &Cube<'_>, point: &Point, dimension: usize) -> Vec<Point> {
    const SPREAD: u32 = 16;
    const NEARER: i32 = 16;
    let digits: Vec<u64> = match cube.length(dimension) {
        Some(length) if length <= WHOLE => (0..length).collect(),
        _ => {
            let here = cube.place(dimension, point[dimension]);
            let spread = (0..=SPREAD).map(|it| f64::from(it) / f64::from(SPREAD));
            let near = (2..NEARER).flat_map(|it| [here - 0.5_f64.powi(it), here + 0.5_f64.powi(it)]);
            spread.chain(near).map(|it| cube.digit(dimension, it)).collect()
        }
    };
    let at = |digit: u64| {
        let mut point = point.clone();
        point[dimension] = digit;
        point
    };
    digits.into_iter().map(at).collect()
}
