//! Which points nothing dominates. Less is better in every objective.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use rayon::prelude::*;

/// The indices of the points that no other dominates, in order; of equal points, all.
/// A point dominates another if it is at least as good in every objective and better
/// in one.
///
/// * `values`: finite, `dimensions` of them for each point.
///
/// Up to three objectives take `n log n` steps, however many points there are on the
/// front; more take as many steps as there are pairs of a point and a point on the
/// front, on all threads.
///
/// # Source
/// Kung, Luccio, Preparata: "On finding the maxima of a set of vectors", J. ACM 22,
/// 1975, for three objectives; Chomicki et al., "Skyline with presorting", ICDE 2003,
/// for more.
pub(crate) fn non_dominated(values: &[f64], dimensions: usize) -> Vec<u32> {
    let mut kept = match dimensions {
        0 => (0..u32::try_from(values.len()).unwrap_or(u32::MAX)).collect(),
        1..=3 => sweep(values, dimensions),
        _ => presorted(values, dimensions),
    };
    kept.par_sort_unstable();
    kept
}

/// A point with its objectives as integers of the same order.
type Ranked = ([u64; 3], u32);

/// In the order of the first objective, each point need only be compared with the
/// staircase of those before it in the other two.
fn sweep(values: &[f64], dimensions: usize) -> Vec<u32> {
    let ranked = |(index, point): (usize, &[f64])| -> Ranked {
        let mut keys = [0; 3];
        for (key, value) in keys.iter_mut().zip(point) {
            *key = ordered(*value);
        }
        (keys, u32::try_from(index).unwrap_or(u32::MAX))
    };
    let mut points: Vec<Ranked> = values.par_chunks(dimensions).enumerate().map(ranked).collect();
    let points = worth_sorting(&mut points);
    points.par_sort_unstable();
    let mut stairs: BTreeMap<u64, u64> = BTreeMap::new();
    let mut kept: Vec<u32> = Vec::new();
    let mut last: Option<[u64; 3]> = None;
    for (keys, index) in points.iter() {
        // The first of equal points has decided for all.
        let equal = last == Some(*keys);
        let [_, second, third] = *keys;
        if !equal && stairs.range(..=second).next_back().is_some_and(|it| *it.1 <= third) {
            continue;
        }
        kept.push(*index);
        if equal {
            continue;
        }
        last = Some(*keys);
        while let Some((higher, _)) = stairs.range(second..).next().filter(|it| *it.1 >= third) {
            let higher = *higher;
            stairs.remove(&higher);
        }
        stairs.insert(second, third);
    }
    kept
}

/// Moves the points that one of a few good ones dominates out of the way: of a cloud,
/// that is nearly all, at the price of a look at each.
fn worth_sorting(points: &mut [Ranked]) -> &mut [Ranked] {
    const GOOD: usize = 16;
    if points.len() < 4096 {
        return points;
    }
    // Good ones: the least sum of places in samples of the points.
    let step = points.len() / 1024;
    let sample: Vec<[u64; 3]> = points.iter().step_by(step).map(|it| it.0).collect();
    let place = |dimension: usize| {
        let mut all: Vec<u64> = sample.iter().map(|it| it[dimension]).collect();
        all.sort_unstable();
        all
    };
    let places = [place(0), place(1), place(2)];
    let mut good: Vec<(usize, [u64; 3])> = sample
        .iter()
        .map(|keys| ((0..3).map(|it| places[it].partition_point(|other| *other < keys[it])).sum(), *keys))
        .collect();
    good.sort_unstable();
    good.truncate(GOOD);
    let is_beaten = |point: &[u64; 3]| {
        good.iter().any(|(_, it)| it != point && it.iter().zip(point).all(|(one, other)| one <= other))
    };
    let beaten: Vec<bool> = points.par_iter().map(|it| is_beaten(&it.0)).collect();
    let mut end = 0;
    for (index, beaten) in beaten.into_iter().enumerate() {
        if !beaten {
            points.swap(end, index);
            end += 1;
        }
    }
    &mut points[..end]
}

/// An integer of the same order; both zeros are one.
fn ordered(value: f64) -> u64 {
    let bits = (value + 0.0).to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

/// In the order of a sum, which nothing that dominates comes after; each point is held
/// against those kept so far.
fn presorted(values: &[f64], dimensions: usize) -> Vec<u32> {
    const BLOCK: usize = 4096;
    let point = |index: u32| &values[index as usize * dimensions..][..dimensions];
    let scales: Vec<(f64, f64)> = (0..dimensions)
        .map(|dimension| {
            let all = || values.iter().skip(dimension).step_by(dimensions).copied();
            let (low, high) = (all().fold(f64::INFINITY, f64::min), all().fold(f64::NEG_INFINITY, f64::max));
            (low, if high > low { (high - low).recip() } else { 0.0 })
        })
        .collect();
    let sum =
        |point: &[f64]| point.iter().zip(&scales).map(|(it, (low, scale))| (it - low) * scale).sum::<f64>();
    let count = u32::try_from(values.len() / dimensions).unwrap_or(u32::MAX);
    let mut order: Vec<(f64, u32)> = (0..count).into_par_iter().map(|it| (sum(point(it)), it)).collect();
    let lexicographic = |one: u32, other: u32| {
        let pairs = point(one).iter().zip(point(other));
        pairs.map(|(one, other)| one.total_cmp(other)).find(|it| it.is_ne()).unwrap_or(Ordering::Equal)
    };
    // Rounding may make sums equal that are not.
    order.par_sort_unstable_by(|one, other| {
        one.0.total_cmp(&other.0).then_with(|| lexicographic(one.1, other.1))
    });
    let mut kept: Vec<u32> = Vec::new();
    for block in order.chunks(BLOCK) {
        let survives = |(_, index): &&(f64, u32)| !kept.iter().any(|it| dominates(point(*it), point(*index)));
        let survivors: Vec<u32> = block.par_iter().filter(survives).map(|it| it.1).collect();
        let before = kept.len();
        for index in survivors {
            if !kept[before..].iter().any(|it| dominates(point(*it), point(index))) {
                kept.push(index);
            }
        }
    }
    kept
}

/// Whether one is at least as good everywhere and better somewhere.
pub(crate) fn dominates(one: &[f64], other: &[f64]) -> bool {
    let mut better = false;
    for (one, other) in one.iter().zip(other) {
        if one > other {
            return false;
        }
        better |= one < other;
    }
    better
}

/// For each point the number of its layer: how often the front must be taken off until
/// the point is on it.
pub(crate) fn layers(values: &[f64], dimensions: usize) -> Vec<u32> {
    let mut left: Vec<u32> = (0..u32::try_from(values.len() / dimensions).unwrap_or(u32::MAX)).collect();
    let mut numbers = vec![0; left.len()];
    for layer in 0.. {
        if left.is_empty() {
            break;
        }
        let values: Vec<f64> = left
            .iter()
            .flat_map(|it| values[*it as usize * dimensions..][..dimensions].iter().copied())
            .collect();
        let front = non_dominated(&values, dimensions);
        for it in &front {
            numbers[left[*it as usize] as usize] = layer;
        }
        let mut front = front.into_iter().peekable();
        let mut place = 0..;
        left.retain(|_| front.next_if_eq(&place.next().unwrap_or(u32::MAX)).is_none());
    }
    numbers
}
