//! NSGA-II: a population that spreads over the front.

use std::cmp::Ordering;
use std::collections::HashSet;

use memscape_study::random::Key;

use super::evaluator::{Evaluator, Score};
use super::places::Cube;
use super::random::Random;
use crate::front::layers;
use crate::points::Point;

/// One design: its place in the cube and what became of it.
#[derive(Debug, Clone)]
struct Member {
    places: Vec<f64>,
    score: Score,
    values: Vec<f64>,
    /// The front it is on, the best being 0.
    layer: u32,
    /// How far apart its neighbours on the front are.
    room: f64,
}

/// Lets a population evolve until the budget is used up. Designs that break constraints
/// stand behind all that keep them, the more they break the farther.
///
/// # Source
/// Deb, Pratap, Agarwal, Meyarivan: "A fast and elitist multiobjective genetic algorithm:
/// NSGA-II", IEEE Trans. Evol. Comput. 6, 2002. Differs from it: axes without an order
/// are inherited whole and mutate to any value; others mutate by at least one value; twins
/// make room for new random designs.
pub(crate) fn evolve(seed: u64, cube: &Cube<'_>, evaluator: &mut Evaluator<'_>) {
    let size = population(evaluator.left());
    let key = Key::new(seed);
    let dimensions = cube.dimensions() as u64;
    let drawn = |key: Key| -> Vec<f64> { (0..dimensions).map(|it| key.uniform(it)).collect() };
    let first = (0..size as u64).map(|member| drawn(key.fork(member)));
    let mut members = asked(cube, evaluator, first.collect());
    rank(&mut members);
    for generation in 1.. {
        if evaluator.is_over() {
            break;
        }
        let key = key.fork(generation << 32);
        let children = (0..size as u64).map(|child| {
            let mut random = Random::new(key.fork(child));
            let (mother, father) = (pick(&members, &mut random), pick(&members, &mut random));
            let mut child = crossed(cube, &mother.places, &father.places, &mut random);
            mutate(cube, &mut child, &mut random);
            child
        });
        let strangers = size.saturating_sub(members.len()) as u64;
        let strangers = (0..strangers).map(|it| drawn(key.fork(size as u64 + it)));
        let children = children.chain(strangers).collect();
        members.extend(asked(cube, evaluator, children));
        let mut rows = HashSet::new();
        members.retain(|it| !matches!(it.score, Score::Fine(row) if !rows.insert(row)));
        rank(&mut members);
        members.sort_by(compare);
        members.truncate(size);
    }
}

/// As many as let some twenty generations fit, between 8 and 100.
fn population(budget: u64) -> usize {
    usize::try_from(budget / 20).unwrap_or(usize::MAX).clamp(8, 100) / 2 * 2
}

fn asked(cube: &Cube<'_>, evaluator: &mut Evaluator<'_>, all: Vec<Vec<f64>>) -> Vec<Member> {
    let points: Vec<Point> = all.iter().map(|it| cube.point(it)).collect();
    let scores = evaluator.ask(&points);
    let member = |(places, score): (Vec<f64>, Score)| {
        let values = if let Score::Fine(row) = score { evaluator.values(row).to_vec() } else { Vec::new() };
        Member { places, score, values, layer: u32::MAX, room: 0.0 }
    };
    all.into_iter().zip(scores).map(member).collect()
}

/// Gives each member its layer and the room it has there.
fn rank(members: &mut [Member]) {
    let fine: Vec<usize> =
        (0..members.len()).filter(|it| matches!(members[*it].score, Score::Fine(_))).collect();
    let goals = fine.first().map_or(0, |it| members[*it].values.len());
    let values: Vec<f64> = fine.iter().flat_map(|it| members[*it].values.iter().copied()).collect();
    if goals == 0 {
        return;
    }
    for (member, layer) in fine.iter().zip(layers(&values, goals)) {
        members[*member].layer = layer;
        members[*member].room = 0.0;
    }
    let deepest = fine.iter().map(|it| members[*it].layer).max().unwrap_or(0);
    for layer in 0..=deepest {
        let mut on: Vec<usize> = fine.iter().copied().filter(|it| members[*it].layer == layer).collect();
        for goal in 0..goals {
            on.sort_by(|one, other| members[*one].values[goal].total_cmp(&members[*other].values[goal]));
            let (low, high) = (members[on[0]].values[goal], members[on[on.len() - 1]].values[goal]);
            for place in 0..on.len() {
                let before = place.checked_sub(1).map(|it| members[on[it]].values[goal]);
                let after = on.get(place + 1).map(|it| members[*it].values[goal]);
                members[on[place]].room += match (before, after) {
                    (Some(before), Some(after)) if high > low => (after - before) / (high - low),
                    (Some(_), Some(_)) => 0.0,
                    _ => f64::INFINITY,
                };
            }
        }
    }
}

/// Which of two stands before the other.
fn compare(one: &Member, other: &Member) -> Ordering {
    let broken = |it: &Member| if let Score::Fine(_) = it.score { None } else { Some(it.score) };
    broken(one)
        .cmp(&broken(other))
        .then(one.layer.cmp(&other.layer))
        .then_with(|| other.room.total_cmp(&one.room))
}

/// The better of two at random.
fn pick<'a>(members: &'a [Member], random: &mut Random) -> &'a Member {
    let (one, other) = (&members[random.below(members.len())], &members[random.below(members.len())]);
    if compare(other, one).is_lt() { other } else { one }
}

/// Simulated binary crossover where there is an order, else of one parent.
fn crossed(cube: &Cube<'_>, mother: &[f64], father: &[f64], random: &mut Random) -> Vec<f64> {
    const SPREAD: f64 = 15.0;
    const OFTEN: f64 = 0.9;
    let both = random.uniform() < OFTEN;
    let gene = |dimension: usize, random: &mut Random| {
        let (one, other) = (mother[dimension], father[dimension]);
        let (turn, draw) = (random.uniform(), random.uniform());
        if !both {
            return one;
        }
        if !cube.is_ordered(dimension) {
            return if turn < 0.5 { one } else { other };
        }
        let factor = if draw <= 0.5 {
            (2.0 * draw).powf(1.0 / (SPREAD + 1.0))
        } else {
            (0.5 / (1.0 - draw)).powf(1.0 / (SPREAD + 1.0))
        };
        let factor = if turn < 0.5 { factor } else { -factor };
        f64::midpoint((1.0 + factor) * one, (1.0 - factor) * other).clamp(0.0, 1.0)
    };
    (0..mother.len()).map(|it| gene(it, random)).collect()
}

/// Polynomial mutation of about one axis; one without an order takes any value.
fn mutate(cube: &Cube<'_>, places: &mut [f64], random: &mut Random) {
    const SPREAD: f64 = 20.0;
    #[expect(clippy::cast_precision_loss, reason = "a few")]
    let often = 1.0 / places.len().max(1) as f64;
    for (dimension, place) in places.iter_mut().enumerate() {
        let (turn, draw) = (random.uniform(), random.uniform());
        if turn >= often {
            continue;
        }
        if !cube.is_ordered(dimension) {
            *place = draw;
            continue;
        }
        let step = if draw < 0.5 {
            (2.0 * draw).powf(1.0 / (SPREAD + 1.0)) - 1.0
        } else {
            1.0 - (2.0 * (1.0 - draw)).powf(1.0 / (SPREAD + 1.0))
        };
        *place = (*place + step).clamp(0.0, 1.0);
        // A step that rounding swallows is none: the next value, either way.
        if let Some(length) = cube.length(dimension).filter(|it| *it > 1) {
            #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
            let next = if turn < often / 2.0 { -1.0 } else { 1.0 } / length as f64;
            if step.abs() < next.abs() {
                *place = (*place + next).clamp(0.0, 1.0);
            }
        }
    }
}
