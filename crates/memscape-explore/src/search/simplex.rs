//! Nelder and Mead's simplex.

/// A corner and what it costs.
type Corner = (Vec<f64>, f64);

/// How unlike the corners' costs are at the least: the simplex has converged.
const ALIKE: f64 = 1e-9;

/// Moves a simplex downhill until its corners cost the same, `steps` are made, or
/// `costs`, which is given places and answers what each costs, has nothing left.
///
/// # Source
/// Nelder and Mead, "A Simplex Method for Function Minimization", The Computer Journal
/// 7(4), 1965, with the coefficients 1, 2, 1/2 and 1/2 that it found best.
pub(crate) fn descend(
    corners: Vec<Vec<f64>>,
    steps: usize,
    mut costs: impl FnMut(&[Vec<f64>]) -> Option<Vec<f64>>,
) -> Option<()> {
    let known = costs(&corners)?;
    let mut corners: Vec<Corner> = corners.into_iter().zip(known).collect();
    for _ in 0..steps {
        corners.sort_by(|one, other| one.1.total_cmp(&other.1));
        if deviation(&corners) < ALIKE {
            break;
        }
        let (worst, better) = corners.split_last_mut()?;
        let middle = mean(better);
        let (best, second_worst) = (better.first()?.1, better.last()?.1);
        let mut at = |factor: f64| {
            let place = towards(&middle, &worst.0, factor);
            let cost = costs(std::slice::from_ref(&place))?[0];
            Some((place, cost))
        };
        let reflected = at(-1.0)?;
        let next = if reflected.1 < best {
            let expanded = at(-2.0)?;
            if expanded.1 < reflected.1 { expanded } else { reflected }
        } else if reflected.1 < second_worst {
            reflected
        } else {
            let contracted = if reflected.1 < worst.1 { at(-0.5)? } else { at(0.5)? };
            if reflected.1.min(worst.1) <= contracted.1 {
                shrink(&mut corners, &mut costs)?;
                continue;
            }
            contracted
        };
        *worst = next;
    }
    Some(())
}

/// Halves the way of each corner to the best.
fn shrink(corners: &mut [Corner], costs: &mut impl FnMut(&[Vec<f64>]) -> Option<Vec<f64>>) -> Option<()> {
    let (best, rest) = corners.split_first_mut()?;
    let places: Vec<Vec<f64>> = rest.iter().map(|it| towards(&best.0, &it.0, 0.5)).collect();
    let known = costs(&places)?;
    for (corner, new) in rest.iter_mut().zip(places.into_iter().zip(known)) {
        *corner = new;
    }
    Some(())
}

/// `from`, and so many times the way to `to`.
fn towards(from: &[f64], to: &[f64], factor: f64) -> Vec<f64> {
    from.iter().zip(to).map(|(from, to)| factor.mul_add(to - from, *from)).collect()
}

#[expect(clippy::cast_precision_loss, reason = "a corner per axis, and one")]
fn mean(corners: &[Corner]) -> Vec<f64> {
    let count = corners.len() as f64;
    let sum = |axis: usize| corners.iter().map(|it| it.0[axis]).sum::<f64>();
    (0..corners[0].0.len()).map(|it| sum(it) / count).collect()
}

#[expect(clippy::cast_precision_loss, reason = "a corner per axis, and one")]
fn deviation(corners: &[Corner]) -> f64 {
    let count = corners.len() as f64;
    let mean = corners.iter().map(|it| it.1).sum::<f64>() / count;
    (corners.iter().map(|it| (it.1 - mean).powi(2)).sum::<f64>() / count).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rosenbrock's curved valley, whose least is 0 at (1, 1).
    fn valley(it: &[f64]) -> f64 {
        (1.0 - it[0]).powi(2) + 100.0 * (it[1] - it[0] * it[0]).powi(2)
    }

    #[test]
    fn the_end_of_a_curved_valley_is_found() {
        let mut best = (f64::INFINITY, Vec::new());
        let corners = vec![vec![-1.2, 1.0], vec![-1.0, 1.0], vec![-1.2, 1.2]];
        descend(corners, 500, |places| {
            let costs: Vec<f64> = places.iter().map(|it| valley(it)).collect();
            for (place, cost) in places.iter().zip(&costs) {
                if *cost < best.0 {
                    best = (*cost, place.clone());
                }
            }
            Some(costs)
        })
        .unwrap();
        assert!(best.0 < 1e-8, "{best:?}");
        assert!(best.1.iter().all(|it| (it - 1.0).abs() < 1e-3), "{best:?}");
    }

    #[test]
    fn it_ends_where_nothing_is_left() {
        let mut left = 10;
        let corners = vec![vec![0.0, 0.0], vec![1.0, 0.0], vec![0.0, 1.0]];
        let ended = descend(corners, 500, |places| {
            left -= 1;
            (0 < left).then(|| places.iter().map(|it| valley(it)).collect())
        });
        assert_eq!((ended, left), (None, 0));
    }
}
