//! Elementary effects along random paths.

use memscape_study::random::Key;

use super::experiment::Experiment;
use crate::error::Error;
use crate::search::Cube;
use crate::table::Table;

/// Each path visits one place more than there are axes, and changes one axis at a time: by half of its
/// length, or where its values have no order to any other of them. An effect is of what the value really moved.
pub(super) fn table(it: &Experiment<'_>) -> Result<Table, Error> {
    let axes = it.axes();
    it.check_samples(2, axes as u64 + 1)?;
    let paths: Vec<Path> = (0..it.question.samples)
        .map(|index| Path::new(Key::new(it.question.seed).fork(index), &it.cube))
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
    fn new(key: Key, cube: &Cube<'_>) -> Self {
        let axes = cube.dimensions();
        let mut order: Vec<usize> = (0..axes).collect();
        order.sort_by_key(|it| key.bits(*it as u64));
        let key = key.fork(0);
        // Anywhere, so that each value of a list is met as often as any other.
        let mut here: Vec<f64> = (0..axes).map(|axis| key.uniform(axis as u64)).collect();
        let mut places = vec![here.clone()];
        for axis in &order {
            here[*axis] = (here[*axis] + step(cube, *axis, key.uniform((axes + axis) as u64))).fract();
            places.push(here.clone());
        }
        Self { order, places }
    }
}

/// How far an axis is changed, around its end if need be.
#[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
fn step(cube: &Cube<'_>, axis: usize, chance: f64) -> f64 {
    match cube.length(axis) {
        Some(length) if !cube.is_ordered(axis) => {
            let (all, others) = (length as f64, length as f64 - 1.0);
            (1.0 + (chance * others).floor()).min(others) / all
        }
        _ => 0.5,
    }
}
