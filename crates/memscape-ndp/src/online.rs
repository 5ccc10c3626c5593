//! What the scheduler does while tokens are generated: it predicts active
//! neurons, exchanges hot against cold ones on the GPU, and moves cold ones
//! between DIMMs. One block of one layer at a time; layers do not depend on
//! each other.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::activity::{Bits, Share};
use crate::partition::Device;
use crate::planes::{above, add, count, equal, get, saturate};
use crate::remap::{Remap, Remapping};
use crate::trace::NO_PARENT;

/// The 4-bit state predictor.
///
/// # Source
/// Hermes, Sec. IV-C: states from 0 to 15, up by 4 when active, down by 1 when
/// not; active next if state + lambda * active parents passes the threshold.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Predictor {
    /// What an active token adds to a neuron's state
    #[schemars(range(min = 0, max = 15))]
    pub increment: Nibble,
    /// What each active parent counts
    #[schemars(range(min = 0, max = 15))]
    pub lambda: Nibble,
    /// What state and parents must pass for a neuron to be predicted active
    #[schemars(range(min = 0, max = 45))]
    pub threshold: u32,
    /// Whether the threshold must be exceeded or reached
    pub rule: Rule,
    /// What a score must exceed for a neuron to be hot
    #[schemars(range(min = 0, max = 45))]
    pub hot_threshold: u32,
    /// Share of the prompt's tokens below which a state starts at 0
    pub start_low: Share,
    /// Share of the prompt's tokens above which a state starts at 15
    pub start_high: Share,
}

/// A number of four bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "u32", into = "u32")]
pub struct Nibble(u32);

impl Nibble {
    /// The bare number.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }
}

impl TryFrom<u32> for Nibble {
    type Error = String;
    fn try_from(value: u32) -> Result<Self, String> {
        if value < 16 {
            Ok(Self(value))
        } else {
            Err(format!("{value} does not fit the 4-bit states; it must be from 0 to 15"))
        }
    }
}

impl From<Nibble> for u32 {
    fn from(it: Nibble) -> Self {
        it.0
    }
}

/// How a threshold is passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// `>`, as printed: without active parents nothing is ever predicted.
    Exceed,
    /// `>=`: a full state is enough.
    Reach,
}

impl Predictor {
    /// The state a neuron starts with, from its share of the prompt's tokens.
    ///
    /// # Source
    /// Sec. IV-C1: 16 stages, below 2 % is 0, above 90 % is 15; evenly between,
    /// which is our choice.
    #[must_use]
    pub fn start(&self, share: f64) -> u32 {
        let (low, high) = (self.start_low.as_f64(), self.start_high.as_f64());
        if share < low {
            0
        } else if share > high {
            15
        } else {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to 14")]
            let stage = ((share - low) / (high - low).max(1e-12) * 14.0) as u32;
            1 + stage.min(13)
        }
    }

    /// What a score must exceed for a neuron to be predicted active; none if
    /// every score does.
    pub(crate) fn limit(&self) -> Option<u32> {
        match self.rule {
            Rule::Exceed => Some(self.threshold),
            Rule::Reach => self.threshold.checked_sub(1),
        }
    }
}

/// Which of the scheduler's steps are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// Neurons lie anywhere.
    Random,
    /// Where the offline partition puts them.
    Partition,
    /// And are exchanged by their states alone.
    Token,
    /// Or by their parents alone.
    Layer,
    /// Or by both.
    Adjustment,
    /// And moved between DIMMs after each window: all of Hermes.
    Full,
    /// The GPU has the best neurons for each token, the DIMMs are level.
    Oracle,
}

impl Strategy {
    const fn adjusts(self) -> bool {
        matches!(self, Self::Token | Self::Layer | Self::Adjustment | Self::Full)
    }

    const fn sees_states(self) -> bool {
        !matches!(self, Self::Layer)
    }

    const fn sees_parents(self) -> bool {
        !matches!(self, Self::Token)
    }
}

/// How far the exchange goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Exchange {
    /// As long as the GPU's neurons become hotter, as printed.
    Unchecked,
    /// And until the GPU would be the slower side, by the neurons predicted active.
    UntilLevel,
}

/// How long a block takes on either side.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BlockCost {
    /// Bytes of one neuron's weights.
    pub neuron_bytes: f64,
    /// Time of the GPU whatever it computes.
    pub gpu_fixed_ns: f64,
    /// Reading one neuron on the GPU.
    pub gpu_neuron_ns: f64,
    /// Computing one neuron for one sequence on the GPU.
    pub gpu_activation_ns: f64,
    /// Time of the cold side whatever it computes.
    pub cold_fixed_ns: f64,
    /// Reading one neuron on a DIMM.
    pub cold_neuron_ns: f64,
    /// Computing one neuron for one sequence on a DIMM.
    pub cold_activation_ns: f64,
}

impl BlockCost {
    /// Time of the GPU for neurons read and activations computed.
    #[must_use]
    pub fn gpu_ns(&self, neurons: f64, activations: f64) -> f64 {
        self.gpu_fixed_ns + (neurons * self.gpu_neuron_ns).max(activations * self.gpu_activation_ns)
    }

    /// Time of one DIMM.
    #[must_use]
    pub fn cold_ns(&self, neurons: f64, activations: f64) -> f64 {
        self.cold_fixed_ns + (neurons * self.cold_neuron_ns).max(activations * self.cold_activation_ns)
    }

    /// How many of `active` neurons the GPU takes at best, if it may hold
    /// `capacity`: until both sides are level.
    #[must_use]
    pub fn level(&self, active: f64, activations: f64, capacity: f64, dimms: f64) -> f64 {
        let share = activations / active.max(1e-300);
        let gpu = self.gpu_neuron_ns.max(share * self.gpu_activation_ns);
        let cold = self.cold_neuron_ns.max(share * self.cold_activation_ns) / dimms;
        let level = (active * cold + self.cold_fixed_ns - self.gpu_fixed_ns) / (gpu + cold);
        level.clamp(0.0, active.min(capacity))
    }
}

/// Everything a walk needs beside activity.
#[derive(Debug, Clone, Copy)]
pub struct Rules<'a> {
    /// The predictor.
    pub predictor: &'a Predictor,
    /// How cold neurons are moved.
    pub remap: &'a Remap,
    /// Which steps are taken.
    pub strategy: Strategy,
    /// How far the exchange goes.
    pub exchange: Exchange,
    /// How many DIMMs.
    pub dimms: usize,
    /// Neurons that the GPU can fetch per token while the projection runs.
    pub swaps: usize,
    /// Tokens of the prompt.
    pub prefill: usize,
    /// Tokens generated after it.
    pub decode: usize,
    /// Whether predictions are counted, also where no step needs them.
    pub judge: bool,
}

/// What a walk over the generated tokens found, summed over tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Walked {
    /// Time of the slower side, in picoseconds.
    pub time_ps: u64,
    /// Of it: synchronisation that computing does not hide.
    pub exposed_ps: u64,
    /// Time of the GPU, in picoseconds.
    pub gpu_ps: u64,
    /// Time of the slowest DIMM, in picoseconds.
    pub cold_ps: u64,
    /// Time of the DIMMs if they were level, in picoseconds.
    pub level_ps: u64,
    /// Neurons read by the GPU.
    pub gpu_neurons: u64,
    /// Neurons read by DIMMs.
    pub cold_neurons: u64,
    /// The same, each as often as sequences activate it.
    pub gpu_activations: u64,
    /// The same of the DIMMs.
    pub cold_activations: u64,
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
        self.time_ps += other.time_ps;
        self.exposed_ps += other.exposed_ps;
        self.gpu_ps += other.gpu_ps;
        self.gpu_activations += other.gpu_activations;
        self.cold_activations += other.cold_activations;
        self.cold_ps += other.cold_ps;
        self.level_ps += other.level_ps;
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
    /// Sequences that activated an active neuron at the last token, on average.
    per_active: f64,
    gpu: Vec<u64>,
    /// Where each neuron lies on the DIMMs, also those that the GPU has a copy of.
    home: Remapping,
    capacity: u32,
}

impl<'a> Walk<'a> {
    /// Starts after the prompt.
    ///
    /// * `activity`, `before`: bits of each sequence in this layer and the one
    ///   before (empty for the first)
    /// * `parents`: two neurons of the layer before per neuron, if it is known
    /// * `device`: 0 for the GPU, else the DIMM, per neuron
    ///
    /// # Panics
    /// If lengths disagree or a trace is shorter than `rules` say.
    #[must_use]
    pub fn new(
        rules: Rules<'a>,
        activity: &'a [Bits],
        before: &'a [Bits],
        parents: Option<Vec<[u32; 2]>>,
        device: &[Device],
    ) -> Self {
        let (neurons, stride) = (activity[0].neurons, activity[0].stride);
        assert_eq!(device.len(), neurons, "a device per neuron");
        assert!(activity[0].tokens() >= rules.prefill + rules.decode, "activity for every token");
        let mut gpu = vec![0_u64; stride];
        for (neuron, _) in device.iter().enumerate().filter(|it| *it.1 == 0) {
            gpu[neuron / 64] |= 1 << (neuron % 64);
        }
        // Beyond the last word of a row lies one of zeros, for those without parents.
        let outside = u32::try_from(stride * 64).expect("fewer than 2^32 neurons");
        let mut parents = parents.unwrap_or_default();
        parents.iter_mut().flatten().filter(|it| **it == NO_PARENT).for_each(|it| *it = outside);
        let capacity = gpu.iter().map(|it| it.count_ones()).sum();
        let home = Remapping::new(device, rules.dimms, stride);
        let score = vec![[0; SCORE]; stride];
        let mut walk = Self {
            rules,
            activity,
            before,
            parents,
            state: vec![[0; 4]; stride],
            score,
            predicted: vec![0; stride],
            per_active: 1.0,
            gpu,
            home,
            capacity,
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
    pub fn run(mut self, cost: &BlockCost) -> Walked {
        let mut walked = Walked::default();
        let stride = self.state.len();
        let (mut row, mut before) =
            (vec![0; stride], vec![0; self.before.first().map_or(0, |it| it.stride) + 1]);
        let adjusts = self.rules.strategy.adjusts();
        for step in 0..self.rules.decode {
            let token = self.rules.prefill + step;
            union(self.activity, token, &mut row);
            if adjusts || self.rules.judge {
                if !self.before.is_empty() {
                    let words = before.len() - 1;
                    union(self.before, token, &mut before[..words]);
                }
                self.judge(&row, &before, &mut walked);
            }
            if adjusts {
                walked.swapped += self.adjust(cost);
            }
            let loads = self.compute(token, &row, cost, &mut walked);
            for (state, active) in self.state.iter_mut().zip(&row) {
                saturate(state, *active, self.rules.predictor.increment.get());
            }
            let remaps = self.rules.strategy == Strategy::Full;
            self.home.see(&row, &loads);
            if (step + 1).is_multiple_of(self.rules.remap.window.get() as usize) {
                if let Some(imbalance) = self.home.imbalance() {
                    walked.window_imbalance += imbalance;
                    walked.windows += 1;
                }
                if remaps {
                    let moves = self.home.remap(self.rules.remap, &self.gpu);
                    walked.moved += moves.total;
                    walked.moved_slowest_pair += moves.slowest_pair;
                }
                self.home.forget();
            }
        }
        walked
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
            if self.rules.judge {
                let ones = |mask: u64| u64::from((mask & valid).count_ones());
                let (hits, alarms, active) = (ones(predicted & row[word]), ones(predicted), ones(row[word]));
                walked.hits += hits;
                walked.false_alarms += alarms - hits;
                walked.misses += active - hits;
                walked.correct_rejections += u64::from(valid.count_ones()) + hits - alarms - active;
            }
        }
    }

    /// Exchanges the hottest neurons that the GPU lacks against the coldest
    /// that it has, as many as can be fetched, while that gains anything.
    fn adjust(&mut self, cost: &BlockCost) -> u64 {
        let highest = 15 + 2 * self.rules.predictor.lambda.get();
        let hot = self.rules.predictor.hot_threshold;
        let wanted: u32 = self
            .score
            .iter()
            .zip(&self.gpu)
            .map(|(score, gpu)| (above(score, hot) & !gpu).count_ones())
            .sum();
        let most = u32::try_from(self.rules.swaps).unwrap_or(u32::MAX).min(wanted).min(self.capacity);
        let most = most.min(self.until_level(cost));
        if most == 0 {
            return 0;
        }
        let neurons = self.activity[0].neurons;
        let incoming = self.ranked(most, (hot.saturating_add(1)..=highest).rev(), |gpu| !gpu);
        let outgoing = self.ranked(most, 0..=highest, |gpu| gpu);
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

    /// How many more active neurons the GPU can take before it is the slower side,
    /// as far as the scheduler can tell.
    fn until_level(&self, cost: &BlockCost) -> u32 {
        if self.rules.exchange == Exchange::Unchecked {
            return u32::MAX;
        }
        let of = |pick: fn((&u64, &u64)) -> u64| -> f64 {
            self.predicted.iter().zip(&self.gpu).map(|it| f64::from(pick(it).count_ones())).sum()
        };
        let (hot, all) = (of(|it| it.0 & it.1), of(|it| *it.0));
        let dimms = f64::from(u32::try_from(self.rules.dimms).unwrap_or(u32::MAX));
        let level = cost.level(all, all * self.per_active, all, dimms);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count of neurons")]
        let more = (level - hot + 1e-9).max(0.0) as u32;
        more
    }

    /// The first `most` neurons in the order of these scores.
    fn ranked(
        &self,
        most: u32,
        scores: impl Iterator<Item = u32>,
        pick: impl Fn(u64) -> u64,
    ) -> Vec<(usize, u32)> {
        let mut found = Vec::with_capacity(most as usize);
        for value in scores {
            for (word, (score, gpu)) in self.score.iter().zip(&self.gpu).enumerate() {
                let mut mask = equal(score, value) & pick(*gpu);
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

    /// Time of one token.
    ///
    /// Returns the active cold neurons of each DIMM.
    fn compute(&mut self, token: usize, row: &[u64], cost: &BlockCost, walked: &mut Walked) -> Vec<u32> {
        let on_gpu = |row: &[u64], gpu: &[u64]| -> u32 {
            row.iter().zip(gpu).map(|(row, gpu)| (row & gpu).count_ones()).sum()
        };
        let batch = self.activity.len();
        let neurons = on_gpu(row, &self.gpu);
        let activations = if batch == 1 {
            neurons
        } else {
            self.activity.iter().map(|it| on_gpu(it.row(token), &self.gpu)).sum()
        };
        let loads = self.home.loads(row, &self.gpu);
        let cold: u32 = loads.iter().sum();
        let mut cold_activations = loads.clone();
        if batch > 1 {
            cold_activations.fill(0);
            for sequence in self.activity {
                for (sum, load) in
                    cold_activations.iter_mut().zip(self.home.loads(sequence.row(token), &self.gpu))
                {
                    *sum += load;
                }
            }
        }
        let all_activations: u32 = cold_activations.iter().sum();
        self.per_active = f64::from(activations + all_activations) / f64::from((neurons + cold).max(1));
        let dimms = f64::from(u32::try_from(self.rules.dimms).unwrap_or(u32::MAX));
        let (gpu_ns, cold_ns, read);
        if self.rules.strategy == Strategy::Oracle {
            let (active, activations) = (f64::from(neurons + cold), f64::from(activations + all_activations));
            let on_gpu = cost.level(active, activations, f64::from(self.capacity), dimms);
            let share = activations / active.max(1.0);
            gpu_ns = cost.gpu_ns(on_gpu, on_gpu * share);
            cold_ns = cost.cold_ns((active - on_gpu) / dimms, (active - on_gpu) * share / dimms);
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count of neurons")]
            let rounded = on_gpu.round() as u64;
            read = (rounded, u64::from(neurons + cold) - rounded);
        } else {
            gpu_ns = cost.gpu_ns(f64::from(neurons), f64::from(activations));
            let each = loads.iter().zip(&cold_activations);
            cold_ns = each.map(|it| cost.cold_ns(f64::from(*it.0), f64::from(*it.1))).fold(0.0, f64::max);
            read = (u64::from(neurons), u64::from(cold));
        }
        let level_ns = cost.cold_ns(f64::from(cold) / dimms, f64::from(all_activations) / dimms);
        let computing_ns = (gpu_ns - cost.gpu_fixed_ns).max(cold_ns);
        walked.time_ps += picoseconds(gpu_ns.max(cold_ns));
        walked.exposed_ps += picoseconds(gpu_ns.max(cold_ns) - computing_ns);
        walked.gpu_activations += u64::from(activations);
        walked.cold_activations += u64::from(all_activations);
        walked.gpu_ps += picoseconds(gpu_ns);
        walked.cold_ps += picoseconds(cold_ns);
        walked.level_ps += picoseconds(level_ns);
        walked.gpu_neurons += read.0;
        walked.cold_neurons += read.1;
        loads
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "times are positive; `as` saturates"
)]
fn picoseconds(ns: f64) -> u64 {
    (ns * 1e3).round() as u64
}

/// Which neurons any sequence activates.
fn union(activity: &[Bits], token: usize, row: &mut [u64]) {
    row.copy_from_slice(activity[0].row(token));
    for sequence in &activity[1..] {
        for (all, word) in row.iter_mut().zip(sequence.row(token)) {
            *all |= word;
        }
    }
}
