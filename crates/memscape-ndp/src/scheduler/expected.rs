//! The activity law's expected values: how much of a token's work the GPU holds
//! under each strategy, without drawing a single neuron.
//!
//! Neurons of equal frequency are one class; what is followed is how a class
//! spreads over states, over having been active, and over lying on the GPU.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

use super::policy::Strategy;
use crate::activity::Law;
use crate::hardware::{Predictor, Rule};
use crate::normal::{cdf, quadrature, quantile};

/// Classes between the hardly ever and the nearly always active.
const CLASSES: usize = 16;

/// Parts of a class: the exchange follows classes, the GPU's first neurons may be
/// fewer than one.
const PARTS: usize = 4;
/// How much of its class one is.
const PART: f64 = 0.25;

/// Tokens after which the exchange has settled.
const SETTLED: u32 = 24;

/// Neurons of about the same frequency.
#[derive(Debug, Clone, Copy)]
struct Class {
    /// Share of all neurons.
    mass: f64,
    /// Probability that any sequence activates one.
    active: f64,
    /// Sequences that activate one, on average.
    activations: f64,
    /// Four equally large parts, of different frequency.
    parts: [Part; PARTS],
}

/// A part of a class: its means, and where it stands in the order of offline
/// frequency.
#[derive(Debug, Clone, Copy, Default)]
struct Part {
    active: f64,
    activations: f64,
    /// The offline latent's mean and deviation.
    latent: f64,
    deviation: f64,
}

/// Shares of all neurons: what is read, where.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Expected {
    /// Active and on the GPU.
    pub gpu: f64,
    /// Active and cold.
    pub cold: f64,
    /// Sum of the variances of cold neurons' activity.
    pub cold_variance: f64,
    /// Activations (active neurons times sequences) on the GPU.
    pub gpu_activations: f64,
    /// Activations of cold neurons.
    pub cold_activations: f64,
    /// Neurons fetched per token.
    pub swaps: f64,
}

impl Expected {
    fn mix(self, other: Self, share: f64) -> Self {
        let mix = |a: f64, b: f64| a + share * (b - a);
        Self {
            gpu: mix(self.gpu, other.gpu),
            cold: mix(self.cold, other.cold),
            cold_variance: mix(self.cold_variance, other.cold_variance),
            gpu_activations: mix(self.gpu_activations, other.gpu_activations),
            cold_activations: mix(self.cold_activations, other.cold_activations),
            swaps: mix(self.swaps, other.swaps),
        }
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
    /// Tokens generated.
    pub generated: u32,
}

/// Shares of neurons at which the exchange is followed.
const HOT_NODES: [f64; 17] =
    [0.0, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.125, 0.15, 0.175, 0.2, 0.25, 0.3, 0.4, 0.55, 0.75, 1.0];
/// Shares of neurons fetched per token at which it is.
const SWAP_NODES: [f64; 9] = [0.0, 3e-4, 1e-3, 2e-3, 4e-3, 8e-3, 1.6e-2, 5e-2, 1.0];
/// Shares of the active neurons on the GPU at which it is level with the DIMMs;
/// at 1 nobody looks.
const LEVEL_NODES: [f64; 11] = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0];

/// A question's answers at the nodes, each found when first needed.
pub struct Answers {
    question: Question,
    classes: Vec<Class>,
    at: Vec<OnceLock<Expected>>,
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
        let nodes = HOT_NODES.len() * SWAP_NODES.len() * LEVEL_NODES.len();
        let at = (0..nodes).map(|_| OnceLock::new()).collect();
        let answers = Arc::new(Answers { question: *self, classes: classes(&self.law, self.batch), at });
        known.insert(key, Arc::clone(&answers));
        answers
    }

    fn key(&self) -> Vec<u64> {
        let Law { offset, offline, prompt, cluster, persistence, layer_link, clusters, density } = self.law;
        let law = [offset, offline, prompt, cluster, persistence, layer_link, density].map(f64::to_bits);
        let Predictor { increment, lambda, threshold, rule, hot_threshold, start_low, start_high } =
            self.predictor;
        let starts = [start_low.as_f64().to_bits(), start_high.as_f64().to_bits()];
        let numbers =
            [clusters, self.batch, increment.get(), lambda.get(), threshold, hot_threshold, self.generated];
        let kinds = [u64::from(rule == Rule::Exceed), self.strategy as u64];
        law.into_iter().chain(starts).chain(numbers.map(u64::from)).chain(kinds).collect()
    }
}

/// The node below, and how far it is to the next.
fn node(nodes: &[f64], value: f64) -> (usize, f64) {
    let value = value.clamp(nodes[0], nodes[nodes.len() - 1]);
    let below = nodes.partition_point(|it| *it <= value).clamp(1, nodes.len() - 1) - 1;
    (below, (value - nodes[below]) / (nodes[below + 1] - nodes[below]))
}

/// Divides neurons by how often they are active.
fn classes(law: &Law, batch: u32) -> Vec<Class> {
    let sequences = f64::from(batch);
    let drift = law.prompt.hypot(law.cluster);
    // One sequence: its own frequency counts. Several, each of another prompt:
    // what profiling sees.
    let (spread, offset, related) = if batch == 1 {
        let spread = law.offline.hypot(drift);
        (spread, law.offset, if spread > 0.0 { law.offline / spread } else { 0.0 })
    } else {
        let rest = 1.0_f64.hypot(drift);
        (law.offline / rest, law.offset / rest, 1.0)
    };
    let union = |share: f64| 1.0 - (1.0 - share).powf(sequences);
    let edge = |share: f64| if spread > 1e-9 { (quantile(share) - offset) / spread } else { 0.0 };
    let (low, high) = (edge(2e-3 / sequences), edge(0.998));
    let deviation = (1.0 - related * related).max(0.0).sqrt();
    let mut edges = vec![f64::NEG_INFINITY];
    #[expect(clippy::cast_precision_loss, reason = "a few classes")]
    edges.extend((0..=CLASSES).map(|it| low + (high - low) * it as f64 / CLASSES as f64));
    edges.push(f64::INFINITY);
    edges
        .windows(2)
        .filter_map(|edges| {
            let (below, above) = (cdf(edges[0]), cdf(edges[1]));
            let mass = above - below;
            if mass <= 1e-12 {
                return None;
            }
            let at = |part: f64| quantile(below + mass * PART * part);
            let parts = std::array::from_fn(|part| {
                #[expect(clippy::cast_precision_loss, reason = "a few parts")]
                let middle = part as f64 + 0.5;
                let (z, width) = (at(middle), 2.0 * (at(middle + 0.25) - at(middle - 0.25)));
                let share = cdf(offset + spread * z);
                Part {
                    active: union(share),
                    activations: sequences * share,
                    latent: related * z,
                    deviation: deviation.hypot(related * width / 12.0_f64.sqrt()),
                }
            });
            let mean = |of: fn(&Part) -> f64| parts.iter().map(of).sum::<f64>() * PART;
            Some(Class { mass, active: mean(|it| it.active), activations: mean(|it| it.activations), parts })
        })
        .collect()
}

/// Chances of each score: `a` active or not, then 64 scores.
type Scores = [f64; 64];

impl Answers {
    /// Active neurons and activations, as shares of all neurons.
    #[must_use]
    pub fn active(&self) -> (f64, f64) {
        let sum = |of: fn(&Class) -> f64| self.classes.iter().map(|it| it.mass * of(it)).sum();
        (sum(|it| it.active), sum(|it| it.activations))
    }

    /// Expected values for a share of neurons on the GPU, a share that it can
    /// fetch per token, and a share of the active ones beyond which it would not.
    #[must_use]
    pub fn answer(&self, hot: f64, swaps: f64, level: f64) -> Expected {
        if !matches!(
            self.question.strategy,
            Strategy::Token | Strategy::Layer | Strategy::Adjustment | Strategy::Full
        ) {
            return self.fixed(hot);
        }
        let (row, across) = node(&HOT_NODES, hot);
        let (column, along) = node(&SWAP_NODES, swaps);
        let (below, up) = node(&LEVEL_NODES, level);
        let at = |row: usize, column: usize, below: usize| {
            let place = &self.at[(row * SWAP_NODES.len() + column) * LEVEL_NODES.len() + below];
            *place.get_or_init(|| self.follow(HOT_NODES[row], SWAP_NODES[column], LEVEL_NODES[below]))
        };
        let plane = |below: usize| {
            let low = at(row, column, below).mix(at(row, column + 1, below), along);
            let high = at(row + 1, column, below).mix(at(row + 1, column + 1, below), along);
            low.mix(high, across)
        };
        if up >= 1.0 { plane(below + 1) } else { plane(below).mix(plane(below + 1), up) }
    }

    /// Shares on the GPU of each class' parts, so that all together are `hot`.
    fn placed(&self, hot: f64) -> Vec<[f64; PARTS]> {
        if self.question.strategy == Strategy::Random || hot <= 0.0 || hot >= 1.0 {
            return vec![[hot.clamp(0.0, 1.0); PARTS]; self.classes.len()];
        }
        let limit = quantile(1.0 - hot);
        let above = |it: &Part| cdf((it.latent - limit) / it.deviation.max(1e-3));
        let mut shares: Vec<[f64; PARTS]> =
            self.classes.iter().map(|it| std::array::from_fn(|part| above(&it.parts[part]))).collect();
        // Parts are coarse: what is missing or too much is made up where neurons are
        // on either side.
        let (mut sum, mut divided) = (0.0, 0.0);
        for (class, shares) in self.classes.iter().zip(&shares) {
            let mass = class.mass * PART;
            sum += mass * shares.iter().sum::<f64>();
            divided += mass * shares.iter().map(|it| it * (1.0 - it)).sum::<f64>();
        }
        let missing = (hot - sum) / divided.max(1e-12);
        for it in shares.iter_mut().flatten() {
            *it = (*it + missing * *it * (1.0 - *it)).clamp(0.0, 1.0);
        }
        shares
    }

    /// Where nothing is exchanged.
    fn fixed(&self, hot: f64) -> Expected {
        let mut expected = Expected::default();
        for (class, shares) in self.classes.iter().zip(self.placed(hot)) {
            let mass = class.mass * PART;
            for (part, share) in class.parts.iter().zip(shares) {
                let (gpu, cold) = (mass * share, mass * (1.0 - share));
                expected.gpu += gpu * part.active;
                expected.cold += cold * part.active;
                expected.cold_variance += cold * part.active * (1.0 - part.active);
                expected.gpu_activations += gpu * part.activations;
                expected.cold_activations += cold * part.activations;
            }
        }
        expected
    }

    /// Follows the exchange from the prompt's end.
    fn follow(&self, hot: f64, budget: f64, level: f64) -> Expected {
        let tokens = self.question.generated.min(SETTLED);
        let mut cells = self.start(hot);
        let mut sum = Expected::default();
        let mut last = Expected::default();
        for _ in 0..tokens {
            (cells, last) = self.step(&cells, budget, level);
            sum = Expected {
                gpu: sum.gpu + last.gpu,
                cold: sum.cold + last.cold,
                cold_variance: sum.cold_variance + last.cold_variance,
                gpu_activations: sum.gpu_activations + last.gpu_activations,
                cold_activations: sum.cold_activations + last.cold_activations,
                swaps: sum.swaps + last.swaps,
            };
        }
        let rest = f64::from(self.question.generated - tokens);
        let mean = |sum: f64, last: f64| (sum + rest * last) / f64::from(self.question.generated);
        Expected {
            gpu: mean(sum.gpu, last.gpu),
            cold: mean(sum.cold, last.cold),
            cold_variance: mean(sum.cold_variance, last.cold_variance),
            gpu_activations: mean(sum.gpu_activations, last.gpu_activations),
            cold_activations: mean(sum.cold_activations, last.cold_activations),
            swaps: mean(sum.swaps, last.swaps),
        }
    }

    /// Shares of neurons by class, link, place, last activity and state.
    fn start(&self, hot: f64) -> Vec<f64> {
        let mut cells = vec![0.0; self.classes.len() * STRIDE];
        let link = self.question.law.layer_link;
        for (index, (class, shares)) in self.classes.iter().zip(self.placed(hot)).enumerate() {
            let placed = shares.iter().sum::<f64>() * PART;
            let state = self.question.predictor.start(class.active) as usize;
            for (linked, share) in [1.0 - link, link].into_iter().enumerate() {
                for (on_gpu, place) in [1.0 - placed, placed].into_iter().enumerate() {
                    for (was, chance) in [1.0 - class.active, class.active].into_iter().enumerate() {
                        cells[index * STRIDE + cell(linked, on_gpu, was, state)] +=
                            class.mass * share * place * chance;
                    }
                }
            }
        }
        cells
    }

    /// The scores that a neuron of this state can have, given that it becomes
    /// active or not: score and chance.
    fn scores(&self, linked: usize, active: bool, state: usize) -> [(usize, f64); 2] {
        let Question { predictor, strategy, law, batch, .. } = self.question;
        let both = 2 * predictor.lambda.get() as usize;
        let own = if strategy == Strategy::Layer { 0 } else { state };
        if strategy == Strategy::Token {
            return [(own, 1.0), (own, 0.0)];
        }
        if linked == 1 {
            return [(own + if active { both } else { 0 }, 1.0), (own, 0.0)];
        }
        // Parents that have nothing to do with it.
        let chance = 1.0 - (1.0 - law.density).powf(f64::from(batch));
        [(own, 1.0 - chance), (own + both, chance)]
    }

    /// Chance that a neuron is predicted active, given that it becomes so or not.
    fn predicted(&self, linked: usize, active: bool, state: usize) -> f64 {
        let Question { predictor, law, batch, .. } = self.question;
        let both = 2 * predictor.lambda.get();
        let passes = |parents: u32| {
            let score = parents + u32::try_from(state).unwrap_or_default();
            f64::from(u8::from(predictor.limit().is_none_or(|limit| score > limit)))
        };
        if linked == 1 {
            return passes(if active { both } else { 0 });
        }
        let chance = 1.0 - (1.0 - law.density).powf(f64::from(batch));
        chance * passes(both) + (1.0 - chance) * passes(0)
    }

    /// One token: exchange by score, compute, update states.
    fn step(&self, cells: &[f64], budget: f64, level: f64) -> (Vec<f64>, Expected) {
        let Question { predictor, law, .. } = self.question;
        let (mut wanted, mut held): (Scores, Scores) = ([0.0; 64], [0.0; 64]);
        // Predicted active: cold, and on the GPU.
        let mut predicted = [0.0; 2];
        self.each(cells, law.persistence, |_, linked, on_gpu, active, state, mass| {
            predicted[on_gpu] += mass * self.predicted(linked, active, state);
            for (score, chance) in self.scores(linked, active, state) {
                let side = if on_gpu == 1 { &mut held } else { &mut wanted };
                side[score] += mass * chance;
            }
        });
        let room = (level * (predicted[0] + predicted[1]) - predicted[1]).max(0.0);
        let budget = if level < 1.0 { budget.min(room) } else { budget };
        let (into, out, swaps) = exchange(&wanted, &held, predictor.hot_threshold as usize, budget);
        let mut next = vec![0.0; cells.len()];
        let mut expected = Expected { swaps, ..Expected::default() };
        let mut cold_by_class = vec![0.0; self.classes.len()];
        let mut cold_active = vec![0.0; self.classes.len()];
        self.each(cells, law.persistence, |class, linked, on_gpu, active, state, mass| {
            let leaving = if on_gpu == 1 { &out } else { &into };
            let scores = self.scores(linked, active, state);
            let moved: f64 = scores.iter().map(|(score, chance)| chance * leaving[*score]).sum();
            let after = if active {
                (state + predictor.increment.get() as usize).min(15)
            } else {
                state.saturating_sub(1)
            };
            for (place, mass) in [(on_gpu, mass * (1.0 - moved)), (1 - on_gpu, mass * moved)] {
                next[class * STRIDE + cell(linked, place, usize::from(active), after)] += mass;
                let per_active = self.classes[class].activations / self.classes[class].active.max(1e-300);
                let read = if active { mass } else { 0.0 };
                if place == 1 {
                    expected.gpu += read;
                    expected.gpu_activations += read * per_active;
                } else {
                    expected.cold += read;
                    expected.cold_activations += read * per_active;
                    cold_by_class[class] += mass;
                    cold_active[class] += read;
                }
            }
        });
        for (mass, active) in cold_by_class.iter().zip(&cold_active) {
            let share = if *mass > 0.0 { active / mass } else { 0.0 };
            expected.cold_variance += mass * share * (1.0 - share);
        }
        (next, expected)
    }

    /// Every cell, divided by whether it becomes active.
    fn each(
        &self,
        cells: &[f64],
        persistence: f64,
        mut visit: impl FnMut(usize, usize, usize, bool, usize, f64),
    ) {
        for (index, class) in self.classes.iter().enumerate() {
            for linked in 0..2 {
                for on_gpu in 0..2 {
                    for was in 0..2 {
                        let again = if was == 1 { persistence } else { 0.0 };
                        let active = again + (1.0 - persistence) * class.active;
                        let first = index * STRIDE + cell(linked, on_gpu, was, 0);
                        for state in 0..16 {
                            let mass = cells[first + state];
                            if mass > 1e-9 {
                                visit(index, linked, on_gpu, true, state, mass * active);
                                visit(index, linked, on_gpu, false, state, mass * (1.0 - active));
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Cells of one class.
const STRIDE: usize = 128;

const fn cell(linked: usize, on_gpu: usize, was: usize, state: usize) -> usize {
    linked * 64 + on_gpu * 32 + was * 16 + state
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
            into[high] += moved / wanted[high];
        }
        if held[low] > 0.0 {
            out[low] += moved / held[low];
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

/// Variance that a prompt adds to the activity of neurons that offline
/// frequency puts behind the first `hot`, as a sum over all neurons.
#[must_use]
pub fn drift_variance(law: &Law, hot: f64) -> f64 {
    let limit = quantile(1.0 - hot);
    let cold = |latent: f64| if latent < limit { 1.0 } else { 0.0 };
    let squares = |drift: f64| quadrature(|z| cold(z) * cdf(law.offset + law.offline * z + drift).powi(2));
    // Three equally weighted points have the variance of the drift.
    let width = law.prompt.hypot(law.cluster) * 1.5_f64.sqrt();
    let mean = (squares(-width) + squares(0.0) + squares(width)) / 3.0;
    (mean - quadrature(|z| cold(z) * law.profiled(z).powi(2))).max(0.0)
}

/// Expected largest of `count` standard normal numbers.
///
/// # Source
/// G. Blom, "Statistical Estimates and Transformed Beta-Variables", 1958.
#[must_use]
pub fn largest_of(count: f64) -> f64 {
    if count < 2.0 { 0.0 } else { quantile((count - 0.375) / (count + 0.25)) }
}
