//! Particle swarm.

use super::random::Random;

/// What a particle keeps of its way, and how strongly its own best place and the swarm's
/// pull at most.
const INERTIA: f64 = 1.0 / (2.0 * std::f64::consts::LN_2);
const PULL: f64 = 0.5 + std::f64::consts::LN_2;

struct Particle {
    place: Vec<f64>,
    way: Vec<f64>,
    /// The best place it was at, and its cost.
    best: (Vec<f64>, f64),
}

/// Lets a swarm fly in the unit cube for so many rounds, or until `costs`, which is given
/// places and answers what each costs, has nothing left.
///
/// # Source
/// Kennedy and Eberhart, "Particle Swarm Optimization", ICNN 1995, in which every particle
/// knows the best of all; coefficients of Clerc, "Standard Particle Swarm Optimisation",
/// 2012.
pub(crate) fn fly(
    dimensions: usize,
    particles: usize,
    rounds: usize,
    random: &mut Random,
    mut costs: impl FnMut(&[Vec<f64>]) -> Option<Vec<f64>>,
) -> Option<()> {
    let mut swarm: Vec<Particle> = (0..particles).map(|_| hatched(dimensions, random)).collect();
    for _ in 0..rounds {
        let places: Vec<Vec<f64>> = swarm.iter().map(|it| it.place.clone()).collect();
        for (particle, cost) in swarm.iter_mut().zip(costs(&places)?) {
            if cost < particle.best.1 {
                particle.best = (particle.place.clone(), cost);
            }
        }
        let best = swarm.iter().min_by(|one, other| one.best.1.total_cmp(&other.best.1))?.best.0.clone();
        for particle in &mut swarm {
            step(particle, &best, random);
        }
    }
    Some(())
}

fn hatched(dimensions: usize, random: &mut Random) -> Particle {
    let place: Vec<f64> = (0..dimensions).map(|_| random.uniform()).collect();
    let way = (0..dimensions).map(|_| 2.0 * random.uniform() - 1.0).collect();
    Particle { best: (place.clone(), f64::INFINITY), place, way }
}

/// One that would leave the cube stays at its side.
fn step(particle: &mut Particle, best: &[f64], random: &mut Random) {
    for axis in 0..best.len() {
        let here = particle.place[axis];
        let own = PULL * random.uniform() * (particle.best.0[axis] - here);
        let common = PULL * random.uniform() * (best[axis] - here);
        particle.way[axis] = INERTIA * particle.way[axis] + own + common;
        particle.place[axis] = (here + particle.way[axis]).clamp(0.0, 1.0);
    }
}

#[cfg(test)]
mod tests {
    use memscape_study::random::Key;

    use super::*;

    #[test]
    fn a_swarm_gathers_at_the_least_of_many_valleys() {
        // Rastrigin's function around (0.3, 0.3): a valley every sixteenth.
        let cost = |place: &Vec<f64>| {
            let valley = |it: &f64| {
                let far = 16.0 * (it - 0.3);
                far * far + 10.0 * (1.0 - (std::f64::consts::TAU * far).cos())
            };
            place.iter().map(valley).sum::<f64>()
        };
        let mut least = f64::INFINITY;
        fly(2, 32, 60, &mut Random::new(Key::new(1)), |places| {
            let costs: Vec<f64> = places.iter().map(cost).collect();
            least = costs.iter().copied().fold(least, f64::min);
            Some(costs)
        })
        .unwrap();
        assert!(least < 1e-3, "{least}");
    }
}
