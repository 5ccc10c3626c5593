//! A thousand neurons that stand for all of the law's: each with the activity
//! that its prompts give it, and that of its parents.

use memscape_study::random::Key;

use crate::activity::Law;
use crate::normal::{normal, quadrature, quantile};

/// Neurons of about the same offline activity, from the most active on.
const STRATA: u32 = 40;
/// Representatives of a stratum where one sequence is served, since what a prompt makes of a neuron's
/// parents decides what is predicted; and where several are, each the average of some draws.
const EACH: [u32; 2] = [32, 8];
/// Prompts that a stratum of several sequences meets, pairs that mirror each other: as many as make so many with all
/// sequences. Of few, what is active rarely but then for all of a prompt is missed, and what then has no room.
const DRAWS: u32 = 8192;

fn draws(batch: u32) -> u32 {
    (DRAWS / batch.max(1)).next_power_of_two().clamp(64, 1024)
}

/// What a neuron and its parents do at a token: inactive or active, times none,
/// one or both of the parents.
pub(super) const EVENTS: usize = 6;

/// A neuron that stands for a share of all.
pub(super) struct Representative {
    /// Share of all neurons.
    pub mass: f64,
    /// Which stratum it is of.
    pub stratum: usize,
    /// How often each event is seen, where any sequence counts as activity.
    pub chance: [f64; EVENTS],
    /// Probability that an event stays for the next token.
    pub stay: f64,
    /// Sequences that activate it when any does.
    pub per_active: f64,
    /// Sum of its sequences' cluster latents.
    pub cluster: f64,
}

impl Representative {
    /// How often any sequence activates it.
    pub fn active(&self) -> f64 {
        self.chance[EVENTS / 2..].iter().sum()
    }
}

/// Representatives, the most active offline first.
///
/// * `orphans`: whether neurons have no parents, as in the first layer
pub(super) fn population(law: &Law, batch: u32, orphans: bool) -> Vec<Representative> {
    let each = EACH[usize::from(batch > 1)];
    let mut all = Vec::with_capacity((STRATA * each) as usize);
    let any = |profiled: f64| 1.0 - (1.0 - profiled).powf(f64::from(batch));
    let most = if batch > 1 { draws(batch) } else { each };
    // The first layer is one of many.
    let draws = if orphans { most / 2 } else { most };
    for stratum in 0..STRATA {
        // Finer where the GPU's neurons are cut off.
        let edge = |it: u32| (f64::from(it) / f64::from(STRATA)).powi(2);
        let (above, below) = (edge(stratum), edge(stratum + 1));
        let latent = quantile(1.0 - 0.5 * (above + below));
        let mass = (below - above) / f64::from(draws);
        let draw = |it| {
            let number = (u64::from(stratum * most / 2 + it / 2), it % 2 == 1);
            Representative {
                mass,
                stratum: stratum as usize,
                ..representative(law, batch, orphans, number, latent)
            }
        };
        let mut these: Vec<Representative> = (0..draws).map(draw).collect();
        if batch > 1 {
            make_up_for(any(law.profiled(latent)) * (below - above), &mut these);
            these.sort_by(|a, b| b.active().total_cmp(&a.active()));
        }
        all.extend(these.chunks((most / each) as usize).map(together));
    }
    // What the strata's middles miss of the activity, all make up for.
    make_up_for(quadrature(|z| any(law.profiled(z))), &mut all);
    all
}

/// Scales activity so that it sums up to this.
fn make_up_for(exact: f64, all: &mut [Representative]) {
    let found: f64 = all.iter().map(|it| it.mass * it.active()).sum();
    let factor = exact / found.max(1e-300);
    for it in all {
        let now = it.active();
        // Of what is nearly certain the rest is too small to be scaled.
        if !(1e-12..1.0 - 1e-6).contains(&now) {
            continue;
        }
        let then = (now * factor).min(1.0);
        let (up, down) = (then / now, (1.0 - then) / (1.0 - now));
        for (index, chance) in it.chance.iter_mut().enumerate() {
            *chance *= if index < EVENTS / 2 { down } else { up };
        }
    }
}

/// One for several that are about equally active.
fn together(some: &[Representative]) -> Representative {
    let mass: f64 = some.iter().map(|it| it.mass).sum();
    let mean = |of: &dyn Fn(&Representative) -> f64| -> f64 {
        some.iter().map(|it| it.mass * of(it)).sum::<f64>() / mass
    };
    let active = mean(&Representative::active).max(1e-300);
    // What is told of the active counts as often as they are.
    let of_active = |of: fn(&Representative) -> f64| mean(&|it| it.active() * of(it)) / active;
    Representative {
        mass,
        stratum: some[0].stratum,
        chance: std::array::from_fn(|event| mean(&|it| it.chance[event])),
        stay: mean(&|it| it.stay),
        per_active: of_active(|it| it.per_active).max(1.0),
        cluster: of_active(|it| it.cluster),
    }
}

/// One neuron of an offline latent, its prompts drawn.
fn representative(
    law: &Law,
    batch: u32,
    orphans: bool,
    (index, mirrored): (u64, bool),
    latent: f64,
) -> Representative {
    let mirrored = if mirrored { -1.0 } else { 1.0 };
    // Chances that nothing of a set of child and parents is active, by the set.
    let (mut silent, mut stays_silent) = ([1.0; 8], 1.0);
    let (mut activations, mut clusters) = (0.0, 0.0);
    for sequence in 0..batch {
        let number = |dimension| mirrored * spread(index, sequence, dimension, batch);
        let (prompt, cluster) = (number(0), number(1));
        let of = |cluster| law.prompted(latent, prompt, cluster);
        let active =
            if orphans { [of(cluster), 0.0, 0.0] } else { [of(cluster), of(number(2)), of(number(3))] };
        for (set, silent) in silent.iter_mut().enumerate() {
            let most = (0..3).filter(|it| set >> it & 1 == 1).map(|it| active[it]).fold(0.0, f64::max);
            *silent *= 1.0 - most;
        }
        stays_silent *= law.persistence + (1.0 - law.persistence) * (1.0 - active[0]);
        activations += active[0];
        clusters += cluster;
    }
    let union = 1.0 - silent[1];
    let stay = if union > 1e-9 { (stays_silent - silent[1]) / union } else { law.persistence };
    Representative {
        mass: 0.0,
        stratum: 0,
        chance: events(&silent),
        stay: stay.clamp(0.0, 1.0),
        per_active: if union > 1e-12 { (activations / union).max(1.0) } else { 1.0 },
        cluster: clusters,
    }
}

/// Chances of events from chances of silence of each set of child (1) and parents
/// (2, 4).
fn events(silent: &[f64; 8]) -> [f64; EVENTS] {
    let mut chance = [0.0; EVENTS];
    for quiet in 0..8_usize {
        // Exactly these are silent: by inclusion and exclusion of what else is.
        let exactly: f64 = (0..8_usize)
            .filter(|it| it & quiet == quiet)
            .map(|it| if (it & !quiet).count_ones() % 2 == 0 { silent[it] } else { -silent[it] })
            .sum();
        let parents = usize::from(quiet & 2 == 0) + usize::from(quiet & 4 == 0);
        let child = usize::from(quiet & 1 == 0);
        chance[child * EVENTS / 2 + parents] += exactly.max(0.0);
    }
    chance
}

/// A standard normal number: evenly spread over representatives for one sequence,
/// and drawn for many, which even each other out.
fn spread(index: u64, sequence: u32, dimension: u64, batch: u32) -> f64 {
    /// Powers of the inverse of the number whose fifth power is itself and one more,
    /// which fill four dimensions evenly.
    const STEPS: [f64; 4] =
        [0.856_674_883_854_503, 0.733_891_856_627_126, 0.628_706_721_047_571, 0.538_597_257_224_361];
    if batch > 1 {
        return normal(Key::new(u64::from(sequence)).fork(dimension), index);
    }
    #[expect(clippy::cast_precision_loss, reason = "a thousand representatives")]
    let place = (0.5 + index as f64 * STEPS[usize::try_from(dimension).unwrap_or(0) % 4]).fract();
    quantile(place.clamp(1e-6, 1.0 - 1e-6))
}

/// Variance of a cluster's activity, relative to the square of its mean, from the
/// activity that goes with the sum of its sequences' latents: a lognormal number for
/// each sequence, whose sum counts.
pub(super) fn cluster_variance(mean: f64, with_latents: f64, batch: u32) -> f64 {
    let slope = with_latents / mean.max(1e-300);
    // Activity saturates: no cluster is a hundred times as active as the mean.
    ((slope * slope).exp() - 1.0).min(4.0) / f64::from(batch)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hardware::ACTIVITIES;
    use crate::normal::cdf;

    #[test]
    fn representatives_are_as_active_as_the_law() {
        let law = ACTIVITIES.get("relu-llm").at(0.15).unwrap();
        for batch in [1, 2, 16] {
            let all = population(&law, batch, false);
            let mass: f64 = all.iter().map(|it| it.mass).sum();
            assert!((mass - 1.0).abs() < 1e-12);
            for it in &all {
                assert!((it.chance.iter().sum::<f64>() - 1.0).abs() < 1e-9);
            }
            let active: f64 = all.iter().map(|it| it.mass * it.active()).sum();
            let exact = quadrature(|z| 1.0 - (1.0 - law.profiled(z)).powf(f64::from(batch)));
            assert!((active / exact - 1.0).abs() < 0.02, "{batch}: {active} {exact}");
            let activations: f64 = all.iter().map(|it| it.mass * it.active() * it.per_active).sum();
            assert!((activations / (0.15 * f64::from(batch)) - 1.0).abs() < 0.1, "{batch}: {activations}");
        }
    }

    #[test]
    fn a_normal_number_and_its_quantile_meet() {
        assert!((cdf(spread(3, 0, 1, 1)) - (0.5 + 3.0 * 0.733_891_856_627_126_f64).fract()).abs() < 1e-6);
    }
}
