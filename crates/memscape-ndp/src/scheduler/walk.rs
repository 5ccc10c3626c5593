//! What the scheduler does while tokens are generated: it predicts active
//! neurons, exchanges hot against cold ones on the GPU, and moves cold ones
//! between DIMMs. One block of one layer at a time; layers do not depend on
//! each other. What is predicted is computed; what is not is late, or left out.

use memscape_units::{Nanoseconds, Picoseconds, float};

use super::block::{BlockCost, Load, Split};
use super::planes::{above, add, count, equal, get, saturate};
use super::policy::{Exchange, Missed, Strategy};
use super::remap::{Moves, Remapping, levels_all};
use super::token::{Loads, Times, by_count, union};
use crate::activity::{Bits, NO_PARENT, bit};
use crate::hardware::{Predictor, Remap};
use crate::partition::Device;

/// Everything a walk needs beside activity.
#[derive(Debug, Clone, Copy)]
pub struct Rules<'a> {
    /// The predictor.
    pub predictor: &'a Predictor,
    /// How cold neurons are moved.
    pub remap: &'a Remap,
    /// Which steps are taken.
    pub strategy: Strategy,
    /// Who computes what the GPU holds.
    pub exchange: Exchange,
    /// What becomes of what was not predicted.
    pub missed: Missed,
    /// How many DIMMs.
    pub dimms: usize,
    /// Whether cold neurons move between them.
    pub remaps: bool,
    /// Neurons that the GPU may fetch per token. What is left of one comes with the next token's.
    pub fetches: f64,
    /// Tokens of the prompt.
    pub prefill: usize,
    /// Tokens generated after it.
    pub decode: usize,
}

/// What a walk over the generated tokens found, summed over tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Walked {
    /// Time of the slower side.
    pub time: Picoseconds,
    /// The same by what would shorten it.
    pub split: Split,
    /// Of it: synchronisation that computing does not hide.
    pub exposed: Picoseconds,
    /// Time of the GPU.
    pub gpu: Picoseconds,
    /// Times that it had something to do.
    pub exchanges: u64,
    /// Time of the slowest DIMM.
    pub cold: Picoseconds,
    /// Time of the DIMMs if they were level.
    pub level: Picoseconds,
    /// Neurons read by the GPU.
    pub gpu_neurons: f64,
    /// Neurons read by DIMMs.
    pub cold_neurons: f64,
    /// The same, each as often as sequences need it.
    pub gpu_activations: f64,
    /// The same of the DIMMs.
    pub cold_activations: f64,
    /// Neurons fetched by the GPU.
    pub swapped: u64,
    /// Neurons moved between DIMMs.
    pub moved: u64,
    /// The most neurons that one pair of DIMMs exchanged, summed over windows.
    pub moved_slowest_pair: u64,
    /// Fullest DIMM over the mean, summed over windows.
    pub window_imbalance: f64,
    /// Windows with any cold work.
    pub windows: u64,
    /// Predicted active, and were.
    pub hits: u64,
    /// Predicted active, but were not.
    pub false_alarms: u64,
    /// Active, but not predicted.
    pub misses: u64,
    /// Neither.
    pub correct_rejections: u64,
}

impl std::ops::AddAssign for Walked {
    fn add_assign(&mut self, other: Self) {
        self.time += other.time;
        self.split += other.split;
        self.exposed += other.exposed;
        self.gpu += other.gpu;
        self.exchanges += other.exchanges;
        self.gpu_activations += other.gpu_activations;
        self.cold_activations += other.cold_activations;
        self.cold += other.cold;
        self.level += other.level;
        self.gpu_neurons += other.gpu_neurons;
        self.cold_neurons += other.cold_neurons;
        self.swapped += other.swapped;
        self.moved += other.moved;
        self.moved_slowest_pair += other.moved_slowest_pair;
        self.window_imbalance += other.window_imbalance;
        self.windows += other.windows;
        self.hits += other.hits;
        self.false_alarms += other.false_alarms;
        self.misses += other.misses;
        self.correct_rejections += other.correct_rejections;
    }
}

/// One generated token of a block, as whoever watches a walk is told.
#[derive(Debug, Clone, Copy)]
pub struct Token<'a> {
    /// Which one, from 0.
    pub step: usize,
    /// Time of the slower side.
    pub time: Picoseconds,
    /// Time of the GPU.
    pub gpu: Nanoseconds,
    /// Time of each DIMM.
    pub dimms: &'a [Nanoseconds],
    /// Neurons read by the GPU.
    pub gpu_neurons: u64,
    /// What each DIMM reads.
    pub loads: &'a [Load],
    /// Neurons fetched by the GPU.
    pub swapped: u64,
    /// Neurons moved between DIMMs after it.
    pub moved: u64,
    /// The neurons one by one.
    pub neurons: Neurons<'a>,
}

/// A block's neurons at a token, as the scheduler has them: states that led to the prediction,
/// and places after whatever moves at the token's end.
#[derive(Debug, Clone, Copy)]
pub struct Neurons<'a> {
    state: &'a [[u64; 4]],
    score: &'a [[u64; SCORE]],
    predicted: &'a [u64],
    active: &'a [u64],
    gpu: &'a [u64],
    homes: &'a [Vec<u64>],
}

impl Neurons<'_> {
    /// The state, from 0 to 15.
    #[must_use]
    pub fn state(&self, neuron: usize) -> u32 {
        get(&self.state[neuron / 64], neuron % 64)
    }

    /// What the exchange goes by: state and active parents, as far as the strategy sees them.
    #[must_use]
    pub fn score(&self, neuron: usize) -> u32 {
        get(&self.score[neuron / 64], neuron % 64)
    }

    /// Whether it was predicted active.
    #[must_use]
    pub fn is_predicted(&self, neuron: usize) -> bool {
        bit(self.predicted, neuron)
    }

    /// Whether any sequence activates it.
    #[must_use]
    pub fn is_active(&self, neuron: usize) -> bool {
        bit(self.active, neuron)
    }

    /// Whether the GPU has it.
    #[must_use]
    pub fn is_on_gpu(&self, neuron: usize) -> bool {
        bit(self.gpu, neuron)
    }

    /// The DIMM that has it, from 1.
    #[must_use]
    pub fn dimm(&self, neuron: usize) -> usize {
        self.homes.iter().position(|it| bit(it, neuron)).map_or(0, |it| it + 1)
    }
}

/// Planes of a score: a state of 15 and two parents of 15 stay below 64.
const SCORE: usize = 6;

/// One block of one layer on its way through the tokens.
pub struct Walk<'a> {
    rules: Rules<'a>,
    activity: &'a [Bits],
    /// Activity of the layer before.
    before: &'a [Bits],
    parents: Vec<[u32; 2]>,
    state: Vec<[u64; 4]>,
    score: Vec<[u64; SCORE]>,
    predicted: Vec<u64>,
    gpu: Vec<u64>,
    /// Where each neuron lies on the DIMMs, also those that the GPU has a copy of.
    home: Remapping,
    capacity: u32,
    /// Shares of what the GPU holds that DIMMs computed at this window's tokens, summed up.
    handed: f64,
}

impl<'a> Walk<'a> {
    /// Starts after the prompt.
    ///
    /// * `activity`, `before`: bits of each sequence in this layer and the one
    ///   before (empty for the first)
    /// * `parents`: two neurons of the layer before per neuron, if it is known
    /// * `on_gpu`: whether the GPU holds a copy, per neuron
    /// * `homes`: its DIMM, from 1
    ///
    /// # Panics
    /// If lengths disagree or a trace is shorter than `rules` say.
    #[must_use]
    pub fn new(
        rules: Rules<'a>,
        activity: &'a [Bits],
        before: &'a [Bits],
        parents: Option<Vec<[u32; 2]>>,
        on_gpu: &[bool],
        homes: &[Device],
    ) -> Self {
        let (neurons, stride) = (activity[0].neurons, activity[0].stride);
        assert_eq!((on_gpu.len(), homes.len()), (neurons, neurons), "a place per neuron");
        assert!(activity[0].tokens() >= rules.prefill + rules.decode, "activity for every token");
        let mut gpu = vec![0_u64; stride];
        for (neuron, _) in on_gpu.iter().enumerate().filter(|it| *it.1) {
            gpu[neuron / 64] |= 1 << (neuron % 64);
        }
        // Beyond the last word of a row lies one of zeros, for those without parents.
        let outside = u32::try_from(stride * 64).expect("fewer than 2^32 neurons");
        let mut parents = parents.unwrap_or_default();
        parents.iter_mut().flatten().filter(|it| **it == NO_PARENT).for_each(|it| *it = outside);
        let capacity = gpu.iter().map(|it| it.count_ones()).sum();
        let home = Remapping::new(homes, rules.dimms, stride);
        let score = vec![[0; SCORE]; stride];
        let mut walk = Self {
            rules,
            activity,
            before,
            parents,
            state: vec![[0; 4]; stride],
            score,
            predicted: vec![0; stride],
            gpu,
            home,
            capacity,
            handed: 0.0,
        };
        walk.start();
        walk
    }

    /// States from the prompt.
    fn start(&mut self) {
        /// Tokens that eight planes count.
        const RUN: usize = 255;
        let neurons = self.activity[0].neurons;
        let mut sums = vec![0_u32; self.state.len() * 64];
        let mut row = vec![0; self.state.len()];
        for first in (0..self.rules.prefill).step_by(RUN) {
            let mut counts = vec![[0_u64; 8]; self.state.len()];
            for token in first..(first + RUN).min(self.rules.prefill) {
                union(self.activity, token, &mut row);
                counts.iter_mut().zip(&row).for_each(|(planes, active)| count(planes, *active));
            }
            for (sums, planes) in sums.chunks_exact_mut(64).zip(&counts) {
                sums.iter_mut().enumerate().for_each(|(lane, sum)| *sum += get(planes, lane));
            }
        }
        let prefill = u32::try_from(self.rules.prefill).unwrap_or(u32::MAX);
        let starts: Vec<u32> =
            (0..=prefill).map(|it| self.rules.predictor.start(f64::from(it) / f64::from(prefill))).collect();
        for (neuron, sum) in sums[..neurons].iter().enumerate() {
            for (bit, plane) in self.state[neuron / 64].iter_mut().enumerate() {
                *plane |= u64::from(starts[*sum as usize] >> bit & 1) << (neuron % 64);
            }
        }
    }

    /// Walks all generated tokens.
    #[must_use]
    pub fn run(self, cost: &BlockCost) -> Walked {
        self.watched(cost, |_| ())
    }

    /// Walks all generated tokens, and tells of each.
    #[must_use]
    pub fn watched(mut self, cost: &BlockCost, mut watch: impl FnMut(Token<'_>)) -> Walked {
        let mut walked = Walked::default();
        let stride = self.state.len();
        let (mut row, mut before) =
            (vec![0; stride], vec![0; self.before.first().map_or(0, |it| it.stride) + 1]);
        let mut late = vec![0; stride];
        for step in 0..self.rules.decode {
            let token = self.rules.prefill + step;
            union(self.activity, token, &mut row);
            if !self.before.is_empty() {
                let words = before.len() - 1;
                union(self.before, token, &mut before[..words]);
            }
            self.judge(&row, &before, &mut walked);
            let swapped = if self.rules.strategy.adjusts() { self.adjust(step) } else { 0 };
            walked.swapped += swapped;
            let first = self.compute(token, &row, cost);
            let mut time = first.add_to(cost, &mut walked);
            if self.rules.missed == Missed::Late && self.rules.strategy != Strategy::Oracle {
                let missed = late.iter_mut().zip(&row).zip(&self.predicted);
                missed.for_each(|((late, row), predicted)| *late = row & !predicted);
                time +=
                    self.loads(token, &late, &row).times(cost, self.rules.exchange).add_to(cost, &mut walked);
            }
            self.home.see(&row, first.on_dimms.iter().map(|it| it.neurons));
            self.handed += first.shared.handed;
            let ends = (step + 1).is_multiple_of(self.rules.remap.window.get() as usize);
            let moved = if ends { self.end_window(&mut walked) } else { 0 };
            watch(Token {
                step,
                time,
                gpu: first.shared.gpu,
                dimms: &first.dimms,
                gpu_neurons: whole(first.on_gpu.neurons),
                loads: &first.on_dimms,
                swapped,
                moved,
                neurons: Neurons {
                    state: &self.state,
                    score: &self.score,
                    predicted: &self.predicted,
                    active: &row,
                    gpu: &self.gpu,
                    homes: self.home.homes(),
                },
            });
            for (state, active) in self.state.iter_mut().zip(&row) {
                saturate(state, *active, self.rules.predictor.increment.get());
            }
        }
        walked
    }

    /// Moves neurons between DIMMs by what the window saw; how many.
    fn end_window(&mut self, walked: &mut Walked) -> u64 {
        if let Some(imbalance) = self.home.imbalance() {
            walked.window_imbalance += imbalance;
            walked.windows += 1;
        }
        let all = levels_all(self.handed / f64::from(self.rules.remap.window.get()));
        let elsewhere = if all { vec![0; self.gpu.len()] } else { self.gpu.clone() };
        let moves =
            if self.rules.remaps { self.home.remap(self.rules.remap, &elsewhere) } else { Moves::default() };
        self.handed = 0.0;
        walked.moved += moves.total;
        walked.moved_slowest_pair += moves.slowest_pair;
        self.home.forget();
        moves.total
    }

    /// Scores of all neurons for the adjustment, and the prediction.
    fn judge(&mut self, row: &[u64], before: &[u64], walked: &mut Walked) {
        let Rules { predictor, strategy, .. } = self.rules;
        let lambda = predictor.lambda.get();
        let neurons = self.activity[0].neurons;
        for (word, score) in self.score.iter_mut().enumerate() {
            let state = &self.state[word];
            let mut masks = [0_u64; 2];
            let first = (word * 64).min(self.parents.len());
            for (lane, parents) in
                self.parents[first..(first + 64).min(self.parents.len())].iter().enumerate()
            {
                for (mask, parent) in masks.iter_mut().zip(parents) {
                    *mask |= (before[(parent >> 6) as usize] >> (parent & 63) & 1) << lane;
                }
            }
            let states = [state[0], state[1], state[2], state[3], 0, 0];
            let mut both = states;
            add(&mut both, masks[0], lambda);
            add(&mut both, masks[1], lambda);
            *score = match (strategy.sees_states(), strategy.sees_parents()) {
                (true, true) => both,
                (true, false) => states,
                _ => {
                    let mut parents = [0; SCORE];
                    add(&mut parents, masks[0], lambda);
                    add(&mut parents, masks[1], lambda);
                    parents
                }
            };
            let valid = if neurons - word * 64 < 64 { (1 << (neurons - word * 64)) - 1 } else { u64::MAX };
            let predicted = predictor.limit().map_or(u64::MAX, |it| above(&both, it));
            self.predicted[word] = predicted & valid;
            let ones = |mask: u64| u64::from((mask & valid).count_ones());
            let (hits, alarms, active) = (ones(predicted & row[word]), ones(predicted), ones(row[word]));
            walked.hits += hits;
            walked.false_alarms += alarms - hits;
            walked.misses += active - hits;
            walked.correct_rejections += u64::from(valid.count_ones()) + hits - alarms - active;
        }
    }

    /// Exchanges the hottest neurons that the GPU lacks against the coldest
    /// that it has, as many as can be fetched, while that gains anything.
    fn adjust(&mut self, step: usize) -> u64 {
        let highest = 15 + 2 * self.rules.predictor.lambda.get();
        let hot = self.rules.predictor.hot_threshold;
        let wanted: u32 = self
            .score
            .iter()
            .zip(&self.gpu)
            .map(|(score, gpu)| (above(score, hot) & !gpu).count_ones())
            .sum();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count of neurons")]
        let until = |token: usize| (self.rules.fetches * float(token as u64)) as u64;
        let room = until(step + 1) - until(step);
        let most = u32::try_from(room).unwrap_or(u32::MAX).min(wanted).min(self.capacity);
        if most == 0 {
            return 0;
        }
        let neurons = self.activity[0].neurons;
        let incoming = self.ranked(step, most, (hot.saturating_add(1)..=highest).rev(), |gpu| !gpu);
        let outgoing = self.ranked(step, most, 0..=highest, |gpu| gpu);
        let mut swapped = 0;
        for ((to, gain), (from, loss)) in incoming.into_iter().zip(outgoing) {
            if gain <= loss {
                break;
            }
            debug_assert!(to < neurons);
            self.gpu[to / 64] |= 1 << (to % 64);
            self.gpu[from / 64] &= !(1 << (from % 64));
            swapped += 1;
        }
        swapped
    }

    /// The first `most` neurons in the order of these scores.
    ///
    /// Of equal scores those come first that a token's order of words has first, see [`words`].
    fn ranked(
        &self,
        step: usize,
        most: u32,
        scores: impl Iterator<Item = u32>,
        pick: impl Fn(u64) -> u64,
    ) -> Vec<(usize, u32)> {
        let stride = self.score.len();
        let mut found = Vec::with_capacity(most as usize);
        for value in scores {
            for word in words(step, stride) {
                let mut mask = equal(&self.score[word], value) & pick(self.gpu[word]);
                while mask != 0 {
                    if found.len() == most as usize {
                        return found;
                    }
                    found.push((word * 64 + mask.trailing_zeros() as usize, value));
                    mask &= mask - 1;
                }
            }
        }
        // Lanes beyond the last neuron are never on the GPU and never score.
        found
    }

    /// What one token computes of these neurons, and where.
    fn loads(&self, token: usize, read: &[u64], any: &[u64]) -> Loads {
        let sequences: Vec<&[u64]> = self.activity.iter().map(|it| it.row(token)).collect();
        Loads::new(&self.home, read, &self.gpu, &sequences, any)
    }

    /// What a token computes first: what is predicted.
    fn compute(&self, token: usize, row: &[u64], cost: &BlockCost) -> Times {
        if self.rules.strategy != Strategy::Oracle {
            return self.loads(token, &self.predicted, row).times(cost, self.rules.exchange);
        }
        let sequences: Vec<&[u64]> = self.activity.iter().map(|it| it.row(token)).collect();
        let active = by_count(&sequences, row);
        Times::best(cost, &active, f64::from(self.capacity), self.rules.dimms)
    }
}

/// The words of 64 neurons of a block in the order in which a token's exchange looks at them: from one that is
/// its own, since always the same would leave others where they are, and spread evenly, since neighbours lie on one DIMM.
pub fn words(step: usize, stride: usize) -> impl Iterator<Item = usize> {
    /// The golden ratio of 2^32.
    const STEP: u64 = 0x9e37_79b1;
    let place = |it: u64| usize::try_from((it * stride as u64) >> 32).unwrap_or(0);
    let first = place((step as u64).wrapping_mul(STEP) & 0xffff_ffff);
    let near = place(STEP);
    let jump = (near..=stride).find(|it| gcd(*it, stride) == 1).unwrap_or(1);
    std::iter::successors(Some(first), move |it| Some((it + jump) % stride)).take(stride)
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Neurons that are handed over by shares, as a count.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count of neurons")]
pub(crate) fn whole(count: f64) -> u64 {
    count.round() as u64
}

impl Times {
    /// Adds it up; the time of the slower side.
    fn add_to(&self, cost: &BlockCost, walked: &mut Walked) -> Picoseconds {
        let (time, cold) = (self.shared.time(), self.shared.cold);
        let computing = (self.shared.gpu - cost.gpu_fixed).max(cold);
        let on_dimms = self.cold();
        walked.time += time.to_picoseconds();
        walked.split += cost.split(self.shared, [self.on_gpu, on_dimms], float(self.dimms.len() as u64));
        walked.exposed += (time - computing).to_picoseconds();
        walked.gpu += self.shared.gpu.to_picoseconds();
        walked.exchanges += u64::from(self.shared.gpu > Nanoseconds::ZERO);
        walked.cold += cold.to_picoseconds();
        walked.level += self.level.to_picoseconds();
        walked.gpu_neurons += self.on_gpu.neurons;
        walked.cold_neurons += on_dimms.neurons;
        walked.gpu_activations += self.on_gpu.activations;
        walked.cold_activations += on_dimms.activations;
        time.to_picoseconds()
    }
}
