//! The activity law's expected values: what is predicted, computed and missed, and
//! how much of it the GPU holds under each strategy, without drawing a token.
//!
//! Representatives stand for all neurons; what is followed is how each spreads over
//! predictor states, over what it and its parents do, and over lying on the GPU.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

use super::block::Load;
use super::policy::Strategy;
use super::population::{EVENTS, Representative, cluster_variance, population};
use crate::activity::Law;
use crate::hardware::{Predictor, Rule};
use crate::normal::quadrature;

/// Tokens after which the exchange has settled.
const SETTLED: u32 = 128;
/// Tokens of a prompt that are counted; of a longer one every second, every fourth and so on.
const COUNTED: u32 = 64;
/// States of the predictor.
const STATES: usize = 16;
/// Cells of a representative: place, state, event.
const STRIDE: usize = 2 * STATES * EVENTS;
/// Less of a representative is nothing.
const NOTHING: f64 = 1e-6;
/// The exchange has settled where a token changes less of what the GPU holds.
const STILL: f64 = 2e-5;

macro_rules! expected {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Means over some of the reply's tokens, as shares of a block's neurons.
        #[derive(Debug, Clone, Copy, Default, PartialEq)]
        pub struct Expected { $($(#[$doc])* pub $name: f64,)* }

        impl Expected {
            fn with(self, other: Self, of: impl Fn(f64, f64) -> f64) -> Self {
                Self { $($name: of(self.$name, other.$name),)* }
            }
        }
    };
}

expected! {
    /// Active.
    active,
    /// Sequences that activate them.
    activations,
    /// Predicted active, and so computed, of what the GPU holds.
    held,
    /// Predicted active of what it does not.
    cold,
    /// Multiplied for a sequence, of what the GPU holds.
    held_activations,
    /// Of what it does not.
    cold_activations,
    /// Active but not predicted, of what the GPU holds.
    held_missed,
    /// Of what it does not.
    cold_missed,
    /// Predicted though inactive.
    alarms,
    /// Variance of what is predicted and cold, neuron by neuron.
    cold_variance,
    /// The same, where only offline activity tells neurons apart.
    offline_variance,
    /// What is predicted and cold, times its clusters' latents.
    cold_clusters,
    /// Variance of what is predicted and held by the GPU, neuron by neuron.
    held_variance,
    /// What is predicted and held, times its clusters' latents.
    held_clusters,
    /// Neurons fetched per token.
    swaps,
}

impl Expected {
    fn mix(self, other: Self, share: f64) -> Self {
        self.with(other, |a, b| a + share * (b - a))
    }

    fn plus(self, other: Self, times: f64) -> Self {
        self.with(other, |a, b| a + times * b)
    }

    /// Active neurons that are not predicted.
    #[must_use]
    pub fn missed(&self) -> f64 {
        self.held_missed + self.cold_missed
    }
}

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
const HOT_NODES: [f64; 27] = [
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

/// A question's answers at the nodes, each found when first needed.
pub struct Answers {
    question: Question,
    /// With parents, and as in the first layer.
    families: [Family; 2],
    /// By state.
    rows: [Row; STATES],
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
            rows: std::array::from_fn(|it| self.row(it)),
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

    fn row(&self, state: usize) -> Row {
        let up = (state + self.predictor.increment.get() as usize).min(STATES - 1);
        Row {
            score: [0, 1, 2].map(|parents| self.score(state, parents)),
            predicted: [0, 1, 2].map(|parents| self.predicts(state, parents)),
            after: [state.saturating_sub(1), up],
        }
    }

    /// Whether a neuron is predicted active.
    fn predicts(&self, state: usize, parents: usize) -> bool {
        let score = state + parents * self.predictor.lambda.get() as usize;
        self.predictor.limit().is_none_or(|limit| score > limit as usize)
    }

    /// What the exchange goes by.
    fn score(&self, state: usize, parents: usize) -> usize {
        let parents = parents * self.predictor.lambda.get() as usize;
        match self.strategy {
            Strategy::Token => state,
            Strategy::Layer => parents,
            _ => state + parents,
        }
    }
}

/// The node below, and how far it is to the next.
fn node(nodes: &[f64], value: f64) -> (usize, f64) {
    let value = value.clamp(nodes[0], nodes[nodes.len() - 1]);
    let below = nodes.partition_point(|it| *it <= value).clamp(1, nodes.len() - 1) - 1;
    (below, (value - nodes[below]) / (nodes[below + 1] - nodes[below]))
}

/// Chances of each score.
type Scores = [f64; 64];

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

    /// Variance of a cluster's work, relative to its mean: of what is cold, of what the GPU
    /// holds, and of both.
    #[must_use]
    pub fn cluster_variances(&self, it: &Expected) -> [f64; 3] {
        let (cold, held) = ([it.cold, it.cold_clusters], [it.held, it.held_clusters]);
        [cold, held, [cold[0] + held[0], cold[1] + held[1]]]
            .map(|[mean, with_latents]| cluster_variance(mean, with_latents, self.question.batch))
    }

    /// How many of a block's neurons are active differs from block to block with what prompts favour of
    /// clusters: its standard deviation, relative to the mean.
    #[must_use]
    pub fn deviation_of_blocks(&self) -> f64 {
        self.deviation
    }

    /// Where so many times the mean of a block's neurons are active: as in a block of so many times the
    /// neurons, of which the GPU has room for a smaller share. See [`Self::answer`] for the rest.
    #[must_use]
    pub fn answer_where(&self, times: f64, hot: f64, fetch: usize, layers: f64) -> Vec<Phase> {
        let hot = (hot / times.max(1e-300)).min(1.0);
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
                    held_variance: share * it.cold_variance,
                    held_clusters: share * it.cold_clusters,
                    ..*it
                },
                |a, b| a + b,
            );
        }
        let cold: Vec<f64> =
            family.all.iter().zip(&placed).map(|(it, share)| it.mass * (1.0 - share)).collect();
        let read: Vec<f64> = alone.iter().zip(&placed).map(|(it, share)| it.cold * (1.0 - share)).collect();
        sum.offline_variance = by_stratum(&family.all, &cold, &read);
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
        let mut cells = start(all, starts, placed);
        let mut last = Expected::default();
        let (mut done, mut still, mut phase) = (0, 0, 0);
        while done < tokens && still < 4 {
            let before = last;
            last = self.step(all, &mut cells, budget);
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

    /// One token: what happens, exchange by score, compute, update states.
    fn step(&self, all: &[Representative], cells: &mut [f64], budget: f64) -> Expected {
        let rows = &self.rows;
        let (mut wanted, mut held): (Scores, Scores) = ([0.0; 64], [0.0; 64]);
        for (it, cells) in all.iter().zip(cells.chunks_exact_mut(STRIDE)) {
            for (row, events) in cells.as_chunks_mut::<EVENTS>().0.iter_mut().enumerate() {
                let mass: f64 = events.iter().sum();
                if mass <= NOTHING * it.mass {
                    continue;
                }
                let scores = if row < STATES { &mut wanted } else { &mut held };
                let moving = (1.0 - it.stay) * mass;
                for (now, chance) in events.iter_mut().zip(&it.chance) {
                    *now = it.stay * *now + moving * chance;
                }
                for parents in 0..3 {
                    scores[rows[row % STATES].score[parents]] += events[parents] + events[parents + 3];
                }
            }
        }
        let (into, out, swaps) = if budget > 0.0 {
            exchange(&wanted, &held, self.question.predictor.hot_threshold as usize, budget)
        } else {
            ([0.0; 64], [0.0; 64], 0.0)
        };
        let mut sum = Expected { swaps, ..Expected::default() };
        let (mut masses, mut reads) = (vec![0.0; all.len()], vec![0.0; all.len()]);
        let mut next = [0.0; STRIDE];
        for (index, (it, cells)) in all.iter().zip(cells.chunks_exact_mut(STRIDE)).enumerate() {
            next.fill(0.0);
            let mut tally = [Tally::default(); 2];
            for (row, events) in cells.as_chunks::<EVENTS>().0.iter().enumerate() {
                if events.iter().sum::<f64>() <= NOTHING * it.mass {
                    continue;
                }
                let place = row / STATES;
                let Row { score, predicted, after } = &rows[row % STATES];
                let leaving = if place == 0 { &into } else { &out };
                for (event, mass) in events.iter().enumerate() {
                    let (active, parents) = (event / 3, event % 3);
                    let moved = mass * leaving[score[parents]];
                    let to = after[active] * EVENTS + event;
                    next[place * STATES * EVENTS + to] += mass - moved;
                    tally[place].see(mass - moved, active == 1, predicted[parents]);
                    // Few scores move.
                    if moved > 0.0 {
                        next[(1 - place) * STATES * EVENTS + to] += moved;
                        tally[1 - place].see(moved, active == 1, predicted[parents]);
                    }
                }
            }
            cells.copy_from_slice(&next);
            sum = sum.with(Tally::both(&tally, it), |a, b| a + b);
            (masses[index], reads[index]) = (tally[0].mass, tally[0].predicted());
        }
        sum.offline_variance = by_stratum(all, &masses, &reads);
        sum
    }
}

/// Shares of neurons after the prompt, by representative, place, state and event.
fn start(all: &[Representative], starts: &[Starts], placed: &[f64]) -> Vec<f64> {
    let mut cells = vec![0.0; all.len() * STRIDE];
    let of_each = all.iter().zip(starts).zip(placed).zip(cells.chunks_exact_mut(STRIDE));
    for (((it, starts), share), cells) in of_each {
        for (place, share) in [1.0 - share, *share].into_iter().enumerate() {
            for (event, chance) in it.chance.iter().enumerate() {
                for (state, start) in starts[event / 3].iter().enumerate() {
                    cells[(place * STATES + state) * EVENTS + event] = it.mass * share * chance * start;
                }
            }
        }
    }
    cells
}

/// Chances of each state after the prompt, where its last token was inactive, and active.
type Starts = [[f64; STATES]; 2];

/// What a state amounts to, by active parents and activity.
struct Row {
    score: [usize; 3],
    predicted: [bool; 3],
    after: [usize; 2],
}

/// What neurons of one place do at a token.
#[derive(Clone, Copy, Default)]
struct Tally {
    mass: f64,
    hits: f64,
    alarms: f64,
    missed: f64,
}

impl Tally {
    fn see(&mut self, mass: f64, active: bool, predicted: bool) {
        self.mass += mass;
        match (active, predicted) {
            (true, true) => self.hits += mass,
            (false, true) => self.alarms += mass,
            (true, false) => self.missed += mass,
            (false, false) => {}
        }
    }

    fn predicted(&self) -> f64 {
        self.hits + self.alarms
    }

    /// A false alarm is of one sequence.
    fn activations(&self, it: &Representative) -> f64 {
        self.hits * it.per_active + self.alarms
    }

    fn variance(&self) -> f64 {
        variance(self.mass, self.predicted())
    }

    /// One representative: cold, and held by the GPU.
    fn both([cold, held]: &[Self; 2], it: &Representative) -> Expected {
        let active = cold.hits + cold.missed + held.hits + held.missed;
        Expected {
            active,
            activations: active * it.per_active,
            held: held.predicted(),
            cold: cold.predicted(),
            held_activations: held.activations(it),
            cold_activations: cold.activations(it),
            held_missed: held.missed,
            cold_missed: cold.missed,
            alarms: cold.alarms + held.alarms,
            cold_variance: cold.variance(),
            offline_variance: 0.0,
            cold_clusters: cold.predicted() * it.cluster,
            held_variance: held.variance(),
            held_clusters: held.predicted() * it.cluster,
            swaps: 0.0,
        }
    }
}

/// Variance of what is read where neurons of a stratum are all the same.
fn by_stratum(all: &[Representative], masses: &[f64], reads: &[f64]) -> f64 {
    let (mut sum, mut first) = (0.0, 0);
    while first < all.len() {
        let end = first + all[first..].partition_point(|it| it.stratum == all[first].stratum);
        let (mass, read) = (masses[first..end].iter().sum::<f64>(), reads[first..end].iter().sum::<f64>());
        sum += variance(mass, read);
        first = end;
    }
    sum
}

/// Variance of how many of these are read; differences may leave less than none.
fn variance(mass: f64, read: f64) -> f64 {
    if mass > 1e-15 && read > 0.0 { read * (1.0 - read / mass).max(0.0) } else { 0.0 }
}

/// The highest scores in, the lowest out, as long as the first exceed the
/// second: the share of each score that moves, and how much moves at all.
fn exchange(wanted: &Scores, held: &Scores, hot: usize, budget: f64) -> (Scores, Scores, f64) {
    let (mut into, mut out): (Scores, Scores) = ([0.0; 64], [0.0; 64]);
    let (mut high, mut low, mut swaps) = (63, 0, 0.0);
    let (mut left_in, mut left_out) = (wanted[high], held[low]);
    while high > hot && high > low && swaps < budget {
        let moved = left_in.min(left_out).min(budget - swaps);
        swaps += moved;
        left_in -= moved;
        left_out -= moved;
        if wanted[high] > 0.0 {
            into[high] = (into[high] + moved / wanted[high]).min(1.0);
        }
        if held[low] > 0.0 {
            out[low] = (out[low] + moved / held[low]).min(1.0);
        }
        if left_in <= 0.0 {
            high -= 1;
            left_in = wanted[high];
        } else if left_out <= 0.0 {
            low += 1;
            left_out = held[low];
        }
    }
    (into, out, swaps)
}

/// Neurons that any sequence activates, as a share of all.
#[must_use]
pub fn union(law: &Law, batch: f64) -> f64 {
    quadrature(|z| 1.0 - (1.0 - law.profiled(z)).powf(batch))
}
