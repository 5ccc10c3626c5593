//! A thousand neurons that stand for all of the law's: each with the activity
//! that its prompts give it, and that of its parents.

use memscape_study::random::Key;

use crate::activity::Law;
use crate::normal::{normal, quadrature, quantile};

/// Neurons of about the same offline activity, from the most active on.
const STRATA: u32 = 40;
/// How active prompts make the neurons of a stratum is told apart so finely where one sequence is served, and at most
/// where several are.
const EACH: [u32; 2] = [20, 6];
/// And how active they make the parents of these: a neuron whose parents are active all through a prompt stays where it
/// is, where the mean of it and others would come and go. Held against walks: without these spans up to 1.7 times as many
/// come and go, with three mostly 1.0 to 1.25, with more hardly fewer at twice the cost.
const OF_PARENTS: u32 = 3;
/// Draws of parents' clusters for one sequence.
const PARENTS: u32 = 8;
/// What a prompt makes of a neuron is looked at as far as this, in standard deviations: few are that far out, but
/// these are active all through a prompt that are not in most.
const REACH: f64 = 3.6;
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
    /// Mean of the square of how many sequences do.
    pub per_active_squared: f64,
    /// Sum of its sequences' cluster latents.
    pub cluster: f64,
    /// The same, times the sequences that activate it.
    pub cluster_work: f64,
}

impl Representative {
    /// How often any sequence activates it.
    pub fn active(&self) -> f64 {
        self.chance[EVENTS / 2..].iter().sum()
    }

    /// How often a parent of it is active.
    fn parents(&self) -> f64 {
        let [_, one, both, _, with_one, with_both] = self.chance;
        0.5 * (one + with_one) + both + with_both
    }
}

/// Representatives, the most active offline first.
///
/// * `orphans`: whether neurons have no parents, as in the first layer
pub(super) fn population(law: &Law, batch: u32, orphans: bool) -> Vec<Representative> {
    let [one, several] = EACH;
    let mut all = Vec::with_capacity((STRATA * one.max(several) * OF_PARENTS) as usize);
    let any = |profiled: f64| 1.0 - (1.0 - profiled).powf(f64::from(batch));
    for stratum in 0..STRATA {
        // Finer where the GPU's neurons are cut off.
        let edge = |it: u32| (f64::from(it) / f64::from(STRATA)).powi(2);
        let (above, below) = (edge(stratum), edge(stratum + 1));
        let latent = quantile(1.0 - 0.5 * (above + below));
        let neuron = |share: f64, drifts: &[Drift]| Representative {
            mass: (below - above) * share,
            stratum: stratum as usize,
            ..representative(law, orphans, latent, drifts)
        };
        if batch == 1 {
            all.extend((0..one).flat_map(|it| {
                let (share, drifts) = Drift::spread(law, stratum, it);
                by_parents(drifts.map(|drift| neuron(share / f64::from(PARENTS), &[drift])).into())
            }));
        } else {
            let draws = draws(batch);
            let drifts = |it| -> Vec<Drift> {
                let number = u64::from(stratum * (draws / 2) + it / 2);
                (0..batch).map(|sequence| Drift::drawn(number, it % 2 == 1, sequence)).collect()
            };
            let share = f64::from(draws).recip();
            let mut these: Vec<_> = (0..draws).map(|it| neuron(share, &drifts(it))).collect();
            make_up_for(any(law.profiled(latent)) * (below - above), &mut these);
            all.extend(pools(these, several, Representative::active).into_iter().flat_map(by_parents));
        }
    }
    // What the strata's middles miss of the activity, all make up for.
    make_up_for(quadrature(|z| any(law.profiled(z))), &mut all);
    all
}

/// Multiplies the odds of being active, so that activity sums up to this: what is nearly always active, or never,
/// stays so.
fn make_up_for(exact: f64, all: &mut [Representative]) {
    let then = |now: f64, odds: f64| odds * now / (1.0 - now + odds * now);
    let now: Vec<(f64, f64)> = all.iter().map(|it| (it.mass, it.active().clamp(0.0, 1.0))).collect();
    let sum = |odds: f64| -> f64 { now.iter().map(|(mass, now)| mass * then(*now, odds)).sum() };
    let (mut low, mut high) = (-8.0_f64, 8.0_f64);
    for _ in 0..48 {
        let middle = 0.5 * (low + high);
        *(if sum(middle.exp()) < exact { &mut low } else { &mut high }) = middle;
    }
    let odds = (0.5 * (low + high)).exp();
    for (it, (_, now)) in all.iter_mut().zip(&now) {
        // Of what is nearly certain the rest is too small to be scaled.
        if !(1e-12..1.0 - 1e-9).contains(now) {
            continue;
        }
        let then = then(*now, odds);
        let (up, down) = (then / now, (1.0 - then) / (1.0 - now));
        for (index, chance) in it.chance.iter_mut().enumerate() {
            *chance *= if index < EVENTS / 2 { down } else { up };
        }
    }
}

/// These by how active they are, or their parents, in so many spans at most: as wide as a count of tokens can tell them
/// apart, which is the same everywhere on the scale of the arc sine.
fn pools(
    mut some: Vec<Representative>,
    spans: u32,
    active: fn(&Representative) -> f64,
) -> Vec<Vec<Representative>> {
    let place = |it: &Representative| active(it).clamp(0.0, 1.0).sqrt().asin();
    some.sort_by(|a, b| active(b).total_cmp(&active(a)));
    let (most, least) = (place(&some[0]), place(&some[some.len() - 1]));
    let span = |it: &Representative| {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to `spans`")]
        let span = ((most - place(it)) / (most - least).max(1e-12) * f64::from(spans)) as u32;
        span.min(spans - 1)
    };
    let mut pools: Vec<Vec<Representative>> = (0..spans).map(|_| Vec::new()).collect();
    for it in some {
        pools[span(&it) as usize].push(it);
    }
    pools.retain(|it| !it.is_empty());
    pools
}

/// One for each span of parents' activity.
fn by_parents(some: Vec<Representative>) -> impl Iterator<Item = Representative> {
    pools(some, OF_PARENTS, Representative::parents).into_iter().map(|it| together(&it))
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
        per_active_squared: of_active(|it| it.per_active_squared).max(1.0),
        cluster: of_active(|it| it.cluster),
        cluster_work: of_active(|it| it.cluster_work),
    }
}

/// What a prompt makes of a neuron and its parents: latents of the law.
struct Drift {
    /// What it favours of features, which a neuron shares with its parents.
    prompt: f64,
    /// What it favours of clusters: the neuron's, and its parents'.
    clusters: [f64; 3],
}

impl Drift {
    /// For one of [`EACH`] of one sequence, and how much it stands for: evenly spread over what a prompt makes of
    /// the neuron, far out as well; over what it makes of its parents besides; and over their clusters.
    fn spread(law: &Law, stratum: u32, number: u32) -> (f64, [Self; PARENTS as usize]) {
        /// The inverse of the number whose square is itself and one more, which fills a line evenly.
        const LINE: f64 = 0.618_033_988_749_895;
        /// Powers of the inverse of the number whose third power is itself and one more, which fill a square.
        const SQUARE: [f64; 2] = [0.754_877_666_246_693, 0.569_840_290_998_053];
        let pairs = EACH[0] / 2;
        let mirrored = if number % 2 == 1 { -1.0 } else { 1.0 };
        let of = |pair: u32| REACH * (f64::from(pair) + 0.5) / f64::from(pairs);
        let density = |it: f64| (-0.5 * it * it).exp();
        let all: f64 = (0..pairs).map(|it| 2.0 * density(of(it))).sum();
        let here = of(number / 2);
        let filling = |index: u32, step: f64| {
            mirrored * quantile((0.5 + f64::from(index) * step).fract().clamp(1e-6, 1.0 - 1e-6))
        };
        let index = stratum * pairs + number / 2;
        // What shifts the neuron's activity, and what does not.
        let both = law.prompt.hypot(law.cluster);
        let (prompt, cluster) = if both > 0.0 { (law.prompt / both, law.cluster / both) } else { (1.0, 0.0) };
        let (along, across) = (mirrored * here, filling(index, LINE));
        let drifts = std::array::from_fn(|it| {
            #[expect(clippy::cast_possible_truncation, reason = "a few")]
            let [first, second] = SQUARE.map(|step| filling(index * PARENTS + it as u32, step));
            Self {
                prompt: prompt * along - cluster * across,
                clusters: [cluster * along + prompt * across, first, second],
            }
        });
        (density(here) / all, drifts)
    }

    /// One of many for several sequences, which even each other out.
    fn drawn(number: u64, mirrored: bool, sequence: u32) -> Self {
        let mirrored = if mirrored { -1.0 } else { 1.0 };
        let draw = |dimension| mirrored * normal(Key::new(u64::from(sequence)).fork(dimension), number);
        Self { prompt: draw(0), clusters: [draw(1), draw(2), draw(3)] }
    }
}

/// One neuron of an offline latent, and what each sequence's prompt makes of it.
fn representative(law: &Law, orphans: bool, latent: f64, drifts: &[Drift]) -> Representative {
    // Chances that nothing of a set of child and parents is active, by the set.
    let (mut silent, mut stays_silent) = ([1.0; 8], 1.0);
    let (mut activations, mut certain, mut clusters) = (0.0, 0.0, 0.0);
    for drift in drifts {
        let mut active = drift.clusters.map(|cluster| law.prompted(latent, drift.prompt, cluster));
        if orphans {
            active[1..].fill(0.0);
        }
        for (set, silent) in silent.iter_mut().enumerate() {
            let most = (0..3).filter(|it| set >> it & 1 == 1).map(|it| active[it]).fold(0.0, f64::max);
            *silent *= 1.0 - most;
        }
        stays_silent *= law.persistence + (1.0 - law.persistence) * (1.0 - active[0]);
        activations += active[0];
        certain += active[0].powi(2);
        clusters += drift.clusters[0];
    }
    let union = 1.0 - silent[1];
    let stay = if union > 1e-9 { (stays_silent - silent[1]) / union } else { law.persistence };
    let per_active = |of: f64| if union > 1e-12 { (of / union).max(1.0) } else { 1.0 };
    Representative {
        mass: 0.0,
        stratum: 0,
        chance: events(&silent),
        stay: stay.clamp(0.0, 1.0),
        per_active: per_active(activations),
        // Sequences do not know of each other.
        per_active_squared: per_active(activations + activations.powi(2) - certain),
        cluster: clusters,
        cluster_work: clusters * per_active(activations),
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

    /// All strata together, what one sequence's prompts favour are normal numbers that do not know of each other.
    #[test]
    fn drifts_are_standard_normal() {
        let law = ACTIVITIES.get("relu-llm").at(0.15).unwrap();
        let numbers = |it: &Drift| [it.prompt, it.clusters[0], it.clusters[1], it.clusters[2]];
        let mut products = [[0.0; 4]; 4];
        for stratum in 0..STRATA {
            let all: Vec<_> = (0..EACH[0]).map(|it| Drift::spread(&law, stratum, it)).collect();
            assert!((all.iter().map(|it| it.0).sum::<f64>() - 1.0).abs() < 1e-12);
            for (share, drifts) in &all {
                for it in drifts.iter().map(numbers) {
                    let weight = share / f64::from(STRATA * PARENTS);
                    for (row, products) in products.iter_mut().enumerate() {
                        (0..4).for_each(|column| products[column] += weight * it[row] * it[column]);
                    }
                }
            }
        }
        for (row, products) in products.iter().enumerate() {
            for (column, product) in products.iter().enumerate() {
                let exact = f64::from(u8::from(row == column));
                assert!((product - exact).abs() < 0.03, "{row} {column}: {product}");
            }
        }
    }
}
