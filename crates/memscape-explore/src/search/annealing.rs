//! Simulated annealing.

use super::random::Random;

/// The temperature at the end, with costs near 1 and a temperature of 1 at the beginning.
const COLDEST: f64 = 1e-3;

/// Walks from a place for so many steps, ever less willing to go uphill, or until `cost`
/// has nothing left. `moved` is a place beside another one.
///
/// # Source
/// Kirkpatrick, Gelatt, Vecchi, "Optimization by Simulated Annealing", Science 220(4598),
/// 1983, with Metropolis' rule and temperatures that fall by one factor.
pub(crate) fn anneal(
    start: Vec<f64>,
    steps: u64,
    random: &mut Random,
    moved: impl Fn(&[f64], &mut Random) -> Vec<f64>,
    mut cost: impl FnMut(&[f64]) -> Option<f64>,
) -> Option<()> {
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
    let cooling = COLDEST.powf(1.0 / steps.max(1) as f64);
    let (mut place, mut here) = (start.clone(), cost(&start)?);
    let mut temperature = 1.0;
    for _ in 0..steps {
        let candidate = moved(&place, random);
        let there = cost(&candidate)?;
        let willing = ((here - there) / temperature).exp();
        if there <= here || random.uniform() < willing {
            (place, here) = (candidate, there);
        }
        temperature *= cooling;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use memscape_study::random::Key;

    use super::*;

    /// From the shallow valley at 0.2 the way to the deep one at 0.8 goes uphill.
    #[test]
    fn it_leaves_a_shallow_valley_for_a_deep_one() {
        let cost = |it: f64| (8.0 * (it - 0.2).abs()).min(8.0 * (it - 0.8).abs() - 1.0);
        let mut least = f64::INFINITY;
        let near = |place: &[f64], random: &mut Random| {
            vec![(place[0] + 0.2 * (random.uniform() - 0.5)).clamp(0.0, 1.0)]
        };
        anneal(vec![0.2], 2000, &mut Random::new(Key::new(1)), near, |place| {
            least = least.min(cost(place[0]));
            Some(cost(place[0]))
        })
        .unwrap();
        assert!(least < -0.99, "{least}");
    }
}
