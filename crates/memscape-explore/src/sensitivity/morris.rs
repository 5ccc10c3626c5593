//! Elementary effects along random paths.

use memscape_study::random::Key;

use super::experiment::Experiment;
use crate::error::Error;
use crate::table::Table;

/// Places on each axis.
const LEVELS: u32 = 8;

/// Each path visits one place more than there are axes, and changes one axis by about half of
/// its length at a time: an effect is of what its value really moved.
pub(super) fn table(it: &Experiment<'_>) -> Result<Table, Error> {
    let axes = it.axes();
    it.check_samples(2, axes as u64 + 1)?;
    let paths: Vec<Path> = (0..it.question.samples)
        .map(|index| Path::new(Key::new(it.question.seed).fork(index), axes))
        .collect();
    let places: Vec<Vec<f64>> = paths.iter().flat_map(|it| it.places.iter().cloned()).collect();
    let values = it.values(&places);
    let columns = it.question.of.len();
    let mut effects: Vec<Vec<f64>> = vec![Vec::new(); columns * axes];
    let mut whole = 0;
    for (path, values) in paths.iter().zip(values.chunks(axes + 1)) {
        let Some(values) = values.iter().map(Option::as_ref).collect::<Option<Vec<_>>>() else { continue };
        whole += 1;
        for (step, axis) in path.order.iter().enumerate() {
            let [from, to] = [step, step + 1].map(|at| it.cube.digit(*axis, path.places[at][*axis]));
            let moved = it.cube.share_between(*axis, from, to);
            for column in 0..columns {
                let change = values[step + 1][column] - values[step][column];
                effects[column * axes + axis].push(if moved == 0.0 { 0.0 } else { change / moved });
            }
        }
    }
    it.check_answered(whole, paths.len())?;
    #[expect(clippy::cast_precision_loss, reason = "a count of paths")]
    let mean = |all: &[f64]| all.iter().sum::<f64>() / all.len() as f64;
    let absolute = |all: &Vec<f64>| Some(mean(&all.iter().map(|it| it.abs()).collect::<Vec<_>>()));
    #[expect(clippy::cast_precision_loss, reason = "a count of paths")]
    let deviation = |all: &Vec<f64>| {
        let middle = mean(all);
        let squares: f64 = all.iter().map(|it| (it - middle).powi(2)).sum();
        Some((squares / (all.len() as f64 - 1.0).max(1.0)).sqrt())
    };
    let columns = vec![
        ("mean_effect", effects.iter().map(|it| Some(mean(it))).collect()),
        ("mean_absolute_effect", effects.iter().map(absolute).collect()),
        ("deviation", effects.iter().map(deviation).collect()),
    ];
    it.rows(columns, &[("paths", vec![whole])])
}

/// Places one after the other, of which each differs from the last in one axis.
struct Path {
    order: Vec<usize>,
    places: Vec<Vec<f64>>,
}

impl Path {
    fn new(key: Key, axes: usize) -> Self {
        let mut order: Vec<usize> = (0..axes).collect();
        order.sort_by_key(|it| key.bits(*it as u64));
        let key = key.fork(0);
        // Levels in the middle of their stretch, so that a list is met as evenly as a range.
        let place = |axis: usize| {
            let level = (key.uniform(axis as u64) * f64::from(LEVELS / 2)).floor();
            (level + 0.5) / f64::from(LEVELS)
        };
        let mut here: Vec<f64> = (0..axes).map(place).collect();
        let up: Vec<bool> = (0..axes).map(|it| key.bits((axes + it) as u64) & 1 == 0).collect();
        for (place, up) in here.iter_mut().zip(&up) {
            *place += if *up { 0.0 } else { 0.5 };
        }
        let mut places = vec![here.clone()];
        for axis in &order {
            here[*axis] += if up[*axis] { 0.5 } else { -0.5 };
            places.push(here.clone());
        }
        Self { order, places }
    }
}
