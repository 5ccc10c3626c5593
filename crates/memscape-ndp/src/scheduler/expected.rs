//! The activity law's expected values: what is predicted, computed and missed, and
//! how much of it the GPU holds under each strategy, without drawing a token.
//!
//! Representatives stand for all neurons; what is followed is how each spreads over
//! predictor states, over what it and its parents do, and over lying on the GPU.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

use super::block::Load;
use super::policy::Strategy;
use super::population::{Representative, cluster_variance, population};
use super::spread::{Expected, Readings, STATES, Seen, Spread, States};
use crate::activity::Law;
use crate::hardware::{Predictor, Rule};
use crate::normal::quadrature;

/// Tokens after which the exchange has settled.
const SETTLED: u32 = 128;
/// Tokens of a prompt that are counted; of a longer one every second, every fourth and so on.
const COUNTED: u32 = 64;
/// The exchange has settled where a token changes less of what the GPU holds.
const STILL: f64 = 2e-5;

/// What expected values depend on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Question {
    /// The law.
    pub law: Law,
    /// Sequences.
    pub batch: u32,
    /// The predictor.
    pub predictor: Predictor,
    /// Which steps are taken.
    pub strategy: Strategy,
    /// Tokens of the prompt, which states start from.
    pub prompt: u32,
    /// Tokens generated.
    pub generated: u32,
}

/// Shares of neurons at which the exchange is followed.
pub const HOT_NODES: [f64; 27] = [
    0.0, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.125, 0.15, 0.175, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55,
    0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0,
];

/// Shares of a block's neurons that the scheduler may set aside for fetching, per
/// token.
pub const FETCHES: [f64; 17] = [
    0.0, 3.5e-4, 5e-4, 7e-4, 1e-3, 1.4e-3, 2e-3, 2.8e-3, 4e-3, 5.6e-3, 8e-3, 1.1e-2, 1.6e-2, 2.2e-2, 3.2e-2,
    6.4e-2, 1.0,
];

/// First tokens of the phases of a reply. Until the exchange has settled, DIMMs have more to
/// do than later, and the slower side of a mean token is faster than the mean slower side.
const PHASES: [u32; 6] = [0, 1, 3, 8, 20, 50];

/// Some tokens of a reply, one after the other, and what is expected of them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Phase {
    /// The first token.
    pub from: u32,
    /// The one after the last.
    pub to: u32,
    /// What is expected of them.
    pub expected: Expected,
}

impl Phase {
    /// How many.
    #[must_use]
    pub fn tokens(&self) -> f64 {
        f64::from(self.to - self.from)
    }
}

/// The mean over all tokens of these phases, each of which counts for a share of its own.
pub fn mean(phases: impl Iterator<Item = (f64, Phase)> + Clone) -> Expected {
    let tokens: f64 = phases.clone().map(|(share, it)| share * it.tokens()).sum();
    phases.fold(Expected::default(), |sum, (share, it)| sum.plus(it.expected, share * it.tokens() / tokens))
}

/// What makes DIMMs' loads differ, as shares of a block's neurons.
#[derive(Debug, Clone, Copy)]
pub struct Counted {
    /// Mean of what the GPU does not hold.
    pub cold: f64,
    /// Of what it does.
    pub held: f64,
    /// Variance of the cold, neuron by neuron, where chance spreads them.
    pub cold_apart: f64,
    /// Of what the GPU holds.
    pub held_apart: f64,
    /// Of the cold, where each DIMM has as many of those that are as active.
    pub cold_variance: f64,
    /// The same, where only offline activity tells neurons apart.
    pub offline_variance: f64,
    /// Of all, wherever they lie, where each DIMM has as many of those that are as active.
    pub all_variance: f64,
    /// Of a cluster over the square of its mean: cold, held, and both.
    pub clusters: [f64; 3],
}

/// A question's answers at the nodes, each found when first needed.
pub struct Answers {
    question: Question,
    /// With parents, and as in the first layer.
    families: [Family; 2],
    readings: Readings,
    /// See [`Self::deviation_of_blocks`].
    deviation: f64,
}

/// Neurons that all have parents, or all none.
struct Family {
    all: Vec<Representative>,
    /// The states that each of them starts from.
    starts: Vec<Starts>,
    /// What each of them does, wherever it lies.
    alone: OnceLock<Vec<Expected>>,
    /// What all do, by what the GPU holds and fetches.
    at: Vec<OnceLock<Vec<Expected>>>,
}

impl Question {
    /// The table of this question, shared by all that ask it: sweeps over
    /// hardware ask few.
    ///
    /// # Panics
    /// Never: no other thread panics while it holds the tables.
    #[must_use]
    pub fn answers(&self) -> Arc<Answers> {
        static KNOWN: OnceLock<Mutex<HashMap<Vec<u64>, Arc<Answers>>>> = OnceLock::new();
        const MOST: usize = 128;
        let key = self.key();
        let mut known = KNOWN.get_or_init(Mutex::default).lock().expect("no panic while it is held");
        if let Some(found) = known.get(&key) {
            return Arc::clone(found);
        }
        if known.len() >= MOST {
            known.clear();
        }
        let families = [false, true].map(|orphans| {
            let all = population(&self.law, self.batch, orphans);
            Family {
                starts: all.iter().map(|it| self.starts(it.active(), it.stay)).collect(),
                all,
                alone: OnceLock::new(),
                at: (0..HOT_NODES.len() * FETCHES.len()).map(|_| OnceLock::new()).collect(),
            }
        });
        let answers = Arc::new(Answers {
            question: *self,
            deviation: self.deviation_of_blocks(&families[0].all),
            families,
            readings: Readings::new(&self.predictor, self.strategy),
        });
        known.insert(key, Arc::clone(&answers));
        answers
    }

    fn deviation_of_blocks(&self, all: &[Representative]) -> f64 {
        let sum = |of: fn(&Representative) -> f64| -> f64 {
            all.iter().map(|it| it.mass * it.active() * of(it)).sum()
        };
        let active = sum(|_| 1.0);
        let variance = cluster_variance(active, sum(|it| it.cluster), self.batch);
        // No block has more active neurons than neurons, as far as the deviations that parts of blocks stand for.
        let most = 3.0_f64.sqrt() * (active.max(1e-300).cbrt().recip() - 1.0).max(0.0);
        (variance / f64::from(self.law.clusters)).sqrt().min(most)
    }

    fn key(&self) -> Vec<u64> {
        let Law { offset, offline, prompt, cluster, persistence, clusters, density } = self.law;
        let law = [offset, offline, prompt, cluster, persistence, density].map(f64::to_bits);
        let Predictor { increment, lambda, threshold, rule, hot_threshold, start_low, start_high } =
            self.predictor;
        let starts = [start_low.as_f64().to_bits(), start_high.as_f64().to_bits()];
        let predictor = [increment.get(), lambda.get(), threshold, hot_threshold];
        let numbers = [clusters, self.batch, self.generated, self.counted().0, self.counted().1];
        let kinds = [u64::from(rule == Rule::Exceed), self.strategy as u64];
        let whole = predictor.into_iter().chain(numbers).map(u64::from);
        law.into_iter().chain(starts).chain(whole).chain(kinds).collect()
    }

    /// Tokens of the prompt that are counted, and how far they are apart.
    fn counted(&self) -> (u32, u32) {
        let apart = self.prompt.div_ceil(COUNTED).next_power_of_two();
        ((self.prompt / apart).max(1), apart)
    }

    /// Chances of each state after the prompt, where its last token was inactive and where
    /// it was active: states follow from how often a neuron was active, and it stays so
    /// from token to token.
    fn starts(&self, active: f64, stay: f64) -> Starts {
        let (tokens, apart) = self.counted();
        let stay = stay.powi(apart.cast_signed());
        let (to_active, stays_active) = ((1.0 - stay) * active, stay + (1.0 - stay) * active);
        // Chances of so many active tokens, by what the last one was.
        let mut counts = vec![[0.0; 2]; tokens as usize + 1];
        (counts[0][0], counts[1][1]) = (1.0 - active, active);
        for seen in 1..tokens as usize {
            for count in (0..=seen).rev() {
                let [inactive, active] = counts[count];
                let to = inactive * to_active + active * stays_active;
                counts[count + 1][1] = to;
                counts[count] = [inactive + active - to, 0.0];
            }
        }
        let mut starts = [[0.0; STATES]; 2];
        for (count, chances) in (0_u32..).zip(&counts) {
            let state = self.predictor.start(f64::from(count) / f64::from(tokens)) as usize;
            starts.iter_mut().zip(chances).for_each(|(start, chance)| start[state] += chance);
        }
        for (start, chance) in starts.iter_mut().zip([1.0 - active, active]) {
            for it in start {
                *it = if chance > 0.0 { *it / chance } else { 0.0 };
            }
        }
        starts
    }
}

/// The node below, and how far it is to the next.
fn node(nodes: &[f64], value: f64) -> (usize, f64) {
    let value = value.clamp(nodes[0], nodes[nodes.len() - 1]);
    let below = nodes.partition_point(|it| *it <= value).clamp(1, nodes.len() - 1) - 1;
    (below, (value - nodes[below]) / (nodes[below + 1] - nodes[below]))
}

impl Answers {
    /// Expected values for a share of neurons on the GPU, and the fetches that are
    /// set aside, phase by phase: means over layers, of which the first has no parents.
    /// Where nothing is exchanged, the whole reply is one phase.
    ///
    /// * `fetch`: which of [`FETCHES`]
    #[must_use]
    pub fn answer(&self, hot: f64, fetch: usize, layers: f64) -> Vec<Phase> {
        let [parents, orphans] = self.families.each_ref().map(|family| {
            if !self.question.strategy.adjusts() {
                return vec![self.fixed(family, hot)];
            }
            let (row, across) = node(&HOT_NODES, hot);
            let at = |row: usize| {
                let follow = || self.follow(family, HOT_NODES[row], FETCHES[fetch]);
                family.at[row * FETCHES.len() + fetch].get_or_init(follow)
            };
            if across <= 0.0 {
                return at(row).clone();
            }
            at(row).iter().zip(at(row + 1)).map(|(below, above)| below.mix(*above, across)).collect()
        });
        let all = parents.iter().zip(&orphans).map(|(it, first)| it.mix(*first, 1.0 / layers.max(1.0)));
        let spans = if parents.len() == 1 { vec![(0, self.question.generated)] } else { self.spans() };
        spans.into_iter().zip(all).map(|((from, to), expected)| Phase { from, to, expected }).collect()
    }

    /// First token of each phase and the one after its last.
    fn spans(&self) -> Vec<(u32, u32)> {
        let end = self.question.generated;
        let ends = PHASES[1..].iter().copied().chain([u32::MAX]).map(|it| it.min(end));
        PHASES.into_iter().zip(ends).filter(|(from, to)| from < to).collect()
    }

    /// What makes DIMMs uneven, by how many neurons they read.
    #[must_use]
    pub fn by_reads(&self, it: &Expected) -> Counted {
        Counted {
            cold: it.cold,
            held: it.held,
            cold_apart: it.cold,
            held_apart: it.held,
            cold_variance: it.cold_variance,
            offline_variance: it.offline_variance,
            all_variance: it.all_variance,
            clusters: self.clusters([it.cold, it.held], [it.cold_clusters, it.held_clusters]),
        }
    }

    /// The same by how often they multiply, in neurons that are multiplied as often as the mean: a neuron that all
    /// sequences need weighs more than one that one does.
    #[must_use]
    pub fn by_work(&self, it: &Expected) -> Counted {
        let each = |neurons: f64, activations: f64| (neurons / activations.max(1e-300)).powi(2);
        let cold = each(it.cold, it.cold_activations);
        let all = each(it.cold + it.held, it.cold_activations + it.held_activations);
        Counted {
            cold_apart: it.cold_squares * cold,
            held_apart: it.held_squares * each(it.held, it.held_activations),
            cold_variance: it.cold_work_variance * cold,
            offline_variance: it.offline_work_variance * cold,
            all_variance: it.all_work_variance * all,
            clusters: self.clusters(
                [it.cold_activations, it.held_activations],
                [it.cold_work_clusters, it.held_work_clusters],
            ),
            ..self.by_reads(it)
        }
    }

    /// Variance of a cluster's load, relative to its mean: of what is cold, of what the GPU holds, and of both.
    fn clusters(&self, [cold, held]: [f64; 2], [with_cold, with_held]: [f64; 2]) -> [f64; 3] {
        [(cold, with_cold), (held, with_held), (cold + held, with_cold + with_held)]
            .map(|(mean, with_latents)| cluster_variance(mean, with_latents, self.question.batch))
    }

    /// How many of a block's neurons are active differs from block to block with what prompts favour of
    /// clusters: its standard deviation, relative to the mean.
    #[must_use]
    pub fn deviation_of_blocks(&self) -> f64 {
        self.deviation
    }

    /// Where so many times the mean of a block's neurons are active: as in a block of so many times the
    /// neurons, of which the GPU has room for a smaller share, unless it has room for all. See [`Self::answer`] for the rest.
    #[must_use]
    pub fn answer_where(&self, times: f64, hot: f64, fetch: usize, layers: f64) -> Vec<Phase> {
        let hot = if hot < 1.0 { (hot / times.max(1e-300)).min(1.0) } else { 1.0 };
        let mut phases = self.answer(hot, fetch, layers);
        for it in &mut phases {
            it.expected = Expected::default().plus(it.expected, times);
        }
        phases
    }

    /// Active neurons as shares of a block's, by how many sequences activate them, those of
    /// most first.
    #[must_use]
    pub fn by_count(&self) -> Vec<Load> {
        let load = |it: &Representative| {
            let neurons = it.mass * it.active();
            Load { neurons, activations: neurons * it.per_active }
        };
        let mut all: Vec<Load> = self.families[0].all.iter().map(load).collect();
        let often = |it: &Load| it.activations / it.neurons.max(1e-300);
        all.sort_by(|a, b| often(b).total_cmp(&often(a)));
        all
    }

    /// Share of each representative on the GPU, so that all together are `hot`.
    fn placed(&self, family: &Family, hot: f64) -> Vec<f64> {
        if self.question.strategy == Strategy::Random {
            return vec![hot.clamp(0.0, 1.0); family.all.len()];
        }
        let mut shares = Vec::with_capacity(family.all.len());
        let (mut above, mut first) = (0.0, 0);
        while first < family.all.len() {
            let stratum = family.all[first].stratum;
            let end = first + family.all[first..].partition_point(|it| it.stratum == stratum);
            let mass: f64 = family.all[first..end].iter().map(|it| it.mass).sum();
            let share = ((hot - above) / mass).clamp(0.0, 1.0);
            shares.resize(end, share);
            above += mass;
            first = end;
        }
        shares
    }

    /// Where nothing is exchanged.
    fn fixed(&self, family: &Family, hot: f64) -> Expected {
        let alone = family.alone.get_or_init(|| {
            let all = (0..family.all.len()).map(|it| self.alone(family, it));
            all.collect()
        });
        let placed = self.placed(family, hot);
        let mut sum = Expected::default();
        for (it, share) in alone.iter().zip(&placed) {
            let cold = 1.0 - share;
            sum = sum.with(
                Expected {
                    held: share * it.cold,
                    cold: cold * it.cold,
                    held_activations: share * it.cold_activations,
                    cold_activations: cold * it.cold_activations,
                    held_missed: share * it.cold_missed,
                    cold_missed: cold * it.cold_missed,
                    cold_variance: cold * it.cold_variance,
                    cold_clusters: cold * it.cold_clusters,
                    held_clusters: share * it.cold_clusters,
                    cold_squares: cold * it.cold_squares,
                    held_squares: share * it.cold_squares,
                    cold_work_variance: cold * it.cold_work_variance,
                    cold_work_clusters: cold * it.cold_work_clusters,
                    held_work_clusters: share * it.cold_work_clusters,
                    ..*it
                },
                |a, b| a + b,
            );
        }
        let each = family.all.iter().zip(alone).zip(&placed);
        let cold = each.map(|((of, it), share)| {
            let Expected { cold: reads, cold_activations: activations, cold_squares: squares, .. } = *it;
            Seen::default().plus(Seen { mass: of.mass, reads, activations, squares }, 1.0 - share)
        });
        sum.offline_variance = 0.0;
        sum.offline_work_variance = 0.0;
        sum.know_offline(&family.all, &cold.collect::<Vec<_>>());
        sum
    }

    /// One representative by itself, none of it on the GPU.
    fn alone(&self, family: &Family, index: usize) -> Expected {
        let only = index..index + 1;
        let phases = self.phases(&family.all[only.clone()], &family.starts[only], &[0.0], 0.0);
        let of = |(it, (from, to)): (&Expected, (u32, u32))| (1.0, Phase { from, to, expected: *it });
        mean(phases.iter().zip(self.spans()).map(of))
    }

    /// Follows the exchange from the prompt's end.
    fn follow(&self, family: &Family, hot: f64, budget: f64) -> Vec<Expected> {
        self.phases(&family.all, &family.starts, &self.placed(family, hot), budget)
    }

    /// Means over the tokens of each phase.
    fn phases(
        &self,
        all: &[Representative],
        starts: &[Starts],
        placed: &[f64],
        budget: f64,
    ) -> Vec<Expected> {
        let tokens = self.question.generated.min(SETTLED);
        let spans = self.spans();
        let mut phases = vec![Expected::default(); spans.len()];
        let mut spread = Spread::new(&self.readings, all, starts, placed);
        let mut last = Expected::default();
        let (mut done, mut still, mut phase) = (0, 0, 0);
        while done < tokens && still < 4 {
            let before = last;
            last = spread.step(budget);
            phase += usize::from(done == spans[phase].1);
            phases[phase] = phases[phase].plus(last, 1.0);
            let change = (last.held - before.held).abs().max((last.cold - before.cold).abs());
            still = if change < STILL * (last.held + last.cold) { still + 1 } else { 0 };
            done += 1;
        }
        for (sum, (from, to)) in phases.iter_mut().zip(spans) {
            let rest = f64::from(to.saturating_sub(from.max(done)));
            let all = f64::from(to - from);
            *sum = sum.with(last, |sum, last| (sum + rest * last) / all);
        }
        phases
    }
}

/// Chances of each state after the prompt, where its last token was inactive, and active.
type Starts = [States; 2];

/// Neurons that any sequence activates, as a share of all.
#[must_use]
pub fn union(law: &Law, batch: f64) -> f64 {
    quadrature(|z| 1.0 - (1.0 - law.profiled(z)).powf(batch))
}
