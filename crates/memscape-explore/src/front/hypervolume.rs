//! How much of the space of objectives a front is better than.

use std::collections::BTreeMap;

use super::dominance::non_dominated;

/// The volume between points and a reference that they are better than; points that are
/// not better than it everywhere add nothing.
///
/// * `values`: finite, as many for each point as `reference` has.
///
/// # Source
/// While, Bradstreet, Barone: "A fast way of calculating exact hypervolumes", IEEE
/// Trans. Evol. Comput. 16, 2012, down to three objectives; those by a sweep over a
/// staircase (Fonseca et al., CEC 2006), in `n log n` steps.
pub(crate) fn volume(values: &[f64], reference: &[f64]) -> f64 {
    let better = |point: &&[f64]| point.iter().zip(reference).all(|(it, limit)| it < limit);
    let points: Vec<&[f64]> = values.chunks(reference.len()).filter(better).collect();
    volume_of(&points.concat(), reference)
}

fn volume_of(values: &[f64], reference: &[f64]) -> f64 {
    let dimensions = reference.len();
    let front = non_dominated(values, dimensions);
    let mut points: Vec<&[f64]> =
        front.iter().map(|it| &values[*it as usize * dimensions..][..dimensions]).collect();
    match dimensions {
        0 => 0.0,
        1 => points.first().map_or(0.0, |it| reference[0] - it[0]),
        2 | 3 => {
            points.sort_unstable_by(|one, other| one[dimensions - 1].total_cmp(&other[dimensions - 1]));
            if dimensions == 2 { area(&points, reference) } else { solid(&points, reference) }
        }
        _ => {
            // Worst first, so that limited sets are small.
            points.sort_unstable_by(|one, other| other[dimensions - 1].total_cmp(&one[dimensions - 1]));
            let exclusive = |(index, point): (usize, &&[f64])| {
                let own: f64 = point.iter().zip(reference).map(|(it, limit)| limit - it).product();
                let limited = points[index + 1..]
                    .iter()
                    .flat_map(|other| other.iter().zip(*point).map(|(other, own)| other.max(*own)));
                own - volume_of(&limited.collect::<Vec<f64>>(), reference)
            };
            points.iter().enumerate().map(exclusive).sum()
        }
    }
}

/// Points sorted by the second objective.
fn area(points: &[&[f64]], reference: &[f64]) -> f64 {
    let mut left = reference[0];
    let mut area = 0.0;
    for point in points {
        if point[0] < left {
            area += (left - point[0]) * (reference[1] - point[1]);
            left = point[0];
        }
    }
    area
}

/// Points sorted by the third objective: layers over a growing staircase.
fn solid(points: &[&[f64]], reference: &[f64]) -> f64 {
    // From the first objective, as bits in its order, to the second.
    let mut stairs: BTreeMap<u64, (f64, f64)> = BTreeMap::new();
    let key = |value: f64| {
        let bits = (value + 0.0).to_bits();
        if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
    };
    let (mut area, mut volume) = (0.0, 0.0);
    for (index, point) in points.iter().enumerate() {
        let (first, second) = (point[0], point[1]);
        let before = stairs.range(..=key(first)).next_back().map_or(reference[1], |it| it.1.1);
        if second < before {
            // Steps that the new one covers, from left to right.
            let (mut left, mut height) = (first, before);
            while let Some((step, (start, low))) =
                stairs.range(key(first)..).next().map(|it| (*it.0, *it.1)).filter(|it| it.1.1 >= second)
            {
                area += (start - left) * (height - second);
                (left, height) = (start, low);
                stairs.remove(&step);
            }
            let end = stairs.range(key(first)..).next().map_or(reference[0], |it| it.1.0);
            area += (end - left) * (height - second);
            stairs.insert(key(first), (first, second));
        }
        let next = points.get(index + 1).map_or(reference[2], |it| it[2]);
        volume += area * (next - point[2]);
    }
    volume
}
