//! How neurons spread over predictor states, over what they and their parents do, and over where they lie; and what
//! a token of a reply makes of that.

use super::policy::Strategy;
use super::population::{EVENTS, Representative};
use crate::hardware::Predictor;

/// States of the predictor.
pub(super) const STATES: usize = 16;
/// None, one or both of the parents are active.
const PARENTS: usize = EVENTS / 2;
/// Scores that the exchange may go by.
const SCORES: usize = 64;
/// Less of a representative is nothing, which also spares the processor its smallest numbers.
const NOTHING: f64 = 1e-12;

/// One number for each state.
pub(super) type States = [f64; STATES];
/// Neurons at one place, by event and state.
type Cells = [States; EVENTS];

macro_rules! expected {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Means over some of the reply's tokens, as shares of a block's neurons.
        #[derive(Debug, Clone, Copy, Default, PartialEq)]
        pub struct Expected { $($(#[$doc])* pub $name: f64,)* }

        impl Expected {
            pub(super) fn with(self, other: Self, of: impl Fn(f64, f64) -> f64) -> Self {
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
    /// Variance of what is predicted, neuron by neuron, wherever it lies.
    all_variance,
    /// What is predicted and held, times its clusters' latents.
    held_clusters,
    /// Square of how often each is multiplied, of what is cold.
    cold_squares,
    /// Of what the GPU holds.
    held_squares,
    /// Variance of how often what is cold is multiplied, neuron by neuron.
    cold_work_variance,
    /// The same, where only offline activity tells neurons apart.
    offline_work_variance,
    /// The same, wherever it lies.
    all_work_variance,
    /// How often what is cold is multiplied, times its clusters' latents.
    cold_work_clusters,
    /// Of what the GPU holds.
    held_work_clusters,
    /// Neurons fetched per token.
    swaps,
}

impl Expected {
    pub(super) fn mix(self, other: Self, share: f64) -> Self {
        self.with(other, |a, b| a + share * (b - a))
    }

    pub(super) fn plus(self, other: Self, times: f64) -> Self {
        self.with(other, |a, b| a + times * b)
    }

    /// Active neurons that are not predicted.
    #[must_use]
    pub fn missed(&self) -> f64 {
        self.held_missed + self.cold_missed
    }
}

/// What the predictor and the exchange make of states, by active parents.
pub(super) struct Readings {
    /// What the exchange goes by.
    scores: [[usize; STATES]; PARENTS],
    /// 1 where a neuron is predicted active, else 0.
    predicted: [States; PARENTS],
    /// Where an active neuron rises by so many states as it does.
    compute: Compute,
    /// What the GPU holds scores more.
    hot: usize,
}

impl Readings {
    pub(super) fn new(predictor: &Predictor, strategy: Strategy) -> Self {
        let of_parents = |parents: usize| parents * predictor.lambda.get() as usize;
        let score = |state: usize, parents: usize| match strategy {
            Strategy::Token => state,
            Strategy::Layer => of_parents(parents),
            _ => state + of_parents(parents),
        };
        let predicts = |state: usize, parents: usize| {
            predictor.limit().is_none_or(|limit| state + of_parents(parents) > limit as usize)
        };
        Self {
            scores: std::array::from_fn(|parents| std::array::from_fn(|state| score(state, parents))),
            predicted: std::array::from_fn(|parents| {
                std::array::from_fn(|state| if predicts(state, parents) { 1.0 } else { 0.0 })
            }),
            compute: COMPUTE[(predictor.increment.get() as usize).min(STATES)],
            hot: predictor.hot_threshold as usize,
        }
    }
}

/// An active neuron rises, which the highest state ends. A step that the compiler knows leaves states in registers.
fn rise<const STEP: usize>(states: &States) -> States {
    let beyond = std::array::from_fn(|it| if it < STEP { states[STATES - STEP + it] } else { 0.0 });
    let mut risen: States = std::array::from_fn(|it| if it < STEP { 0.0 } else { states[it - STEP] });
    risen[STATES - 1] += sum(&beyond);
    risen
}

/// An inactive one falls.
fn fall(states: &States) -> States {
    let mut fallen: States = std::array::from_fn(|it| states.get(it + 1).copied().unwrap_or(0.0));
    fallen[0] += states[0];
    fallen
}

/// Representatives and where they are.
pub(super) struct Spread<'a> {
    readings: &'a Readings,
    all: &'a [Representative],
    sides: Vec<[Place; 2]>,
    /// What the exchange finds, after what happens at the next token.
    present: Present,
}

/// Neurons by place, active parents and state.
type Present = [[States; PARENTS]; 2];

/// Neurons of a representative that lie at one place: on DIMMs, or on the GPU.
#[derive(Clone)]
struct Place {
    mass: f64,
    cells: Cells,
}

impl<'a> Spread<'a> {
    /// After the prompt.
    ///
    /// * `starts`: chances of each state, where the last token was inactive and where it was active
    /// * `placed`: shares on the GPU
    pub(super) fn new(
        readings: &'a Readings,
        all: &'a [Representative],
        starts: &[[States; 2]],
        placed: &[f64],
    ) -> Self {
        let of_each = all.iter().zip(starts).zip(placed);
        let each = of_each.map(|((it, starts), held)| {
            [1.0 - held, *held].map(|share| {
                let mass = it.mass * share;
                let cells = std::array::from_fn(|event| {
                    starts[event / PARENTS].map(|start| mass * it.chance[event] * start)
                });
                Place { mass, cells }
            })
        });
        let mut sides: Vec<_> = each.collect();
        let mut present = Present::default();
        all.iter().zip(&mut sides).for_each(|(it, sides)| happen(it, sides, &mut present));
        Self { readings, all, sides, present }
    }

    /// One token: exchange by score, compute, update states; and what happens at the next, since all neurons are looked
    /// at anyway.
    ///
    /// * `budget`: neurons that may be fetched, as a share of all
    pub(super) fn step(&mut self, budget: f64) -> Expected {
        let (leaving, swaps) = self.exchange(budget);
        let mut sum = Expected { swaps, ..Expected::default() };
        let mut cold = Vec::with_capacity(self.all.len());
        self.present = Present::default();
        for (it, sides) in self.all.iter().zip(&mut self.sides) {
            if swaps > 0.0 {
                swap(sides, &leaving);
            }
            let tally = sides.each_mut().map(|place| (self.readings.compute)(place, it, self.readings));
            sum = sum.with(Tally::both(&tally, it), |a, b| a + b);
            cold.push(tally[0].seen(it));
            happen(it, sides, &mut self.present);
        }
        sum.know_offline(self.all, &cold);
        sum
    }

    /// By place, parents and state: the share that changes its place, if any does. And how much moves at all.
    fn exchange(&self, budget: f64) -> ([[Option<States>; PARENTS]; 2], f64) {
        let mut scores = [[0.0; SCORES]; 2];
        for (scores, present) in scores.iter_mut().zip(&self.present) {
            for (of, present) in self.readings.scores.iter().zip(present) {
                of.iter().zip(present).for_each(|(score, mass)| scores[*score] += mass);
            }
        }
        let [wanted, held] = &scores;
        let (into, out, swaps) = exchange(wanted, held, self.readings.hot, budget);
        let leaving = [into, out].map(|leaving| {
            self.readings.scores.map(|scores| {
                let shares = scores.map(|it| leaving[it]);
                shares.iter().any(|it| *it > 0.0).then_some(shares)
            })
        });
        (leaving, swaps)
    }
}

/// What happens at a token, wherever neurons lie.
fn happen(it: &Representative, sides: &mut [Place; 2], present: &mut Present) {
    for (place, present) in sides.iter_mut().zip(present) {
        if place.mass > 0.0 {
            place.happen(it, present);
        }
    }
}

impl Place {
    /// Events stay or are drawn anew, whatever the state.
    fn happen(&mut self, it: &Representative, present: &mut [States; PARENTS]) {
        let least = NOTHING * it.mass;
        let mut moving = [0.0; STATES];
        for (_, states) in happens(it, &mut self.cells) {
            (0..STATES).for_each(|state| moving[state] += states[state]);
        }
        (0..STATES).for_each(|state| moving[state] *= 1.0 - it.stay);
        for (event, states) in happens(it, &mut self.cells) {
            let (present, chance) = (&mut present[event % PARENTS], it.chance[event]);
            for state in 0..STATES {
                let then = it.stay * states[state] + moving[state] * chance;
                states[state] = if then > least { then } else { 0.0 };
                present[state] += states[state];
            }
        }
    }

    /// What the predictor has computed, and the states that follow from it.
    fn compute<const STEP: usize>(&mut self, it: &Representative, readings: &Readings) -> Tally {
        if self.mass <= 0.0 {
            return Tally::default();
        }
        // By whether they are active.
        let (mut all, mut predicted) = ([[0.0; STATES]; 2], [[0.0; STATES]; 2]);
        for (event, states) in happens(it, &mut self.cells) {
            let active = event >= PARENTS;
            let (all, predicted) = (&mut all[usize::from(active)], &mut predicted[usize::from(active)]);
            let predicts = &readings.predicted[event % PARENTS];
            for state in 0..STATES {
                all[state] += states[state];
                predicted[state] += states[state] * predicts[state];
            }
            *states = if active { rise::<STEP>(states) } else { fall(states) };
        }
        let [inactive, active] = all.each_ref().map(sum);
        let [alarms, hits] = predicted.each_ref().map(sum);
        self.mass = inactive + active;
        Tally { mass: self.mass, hits, alarms, missed: (active - hits).max(0.0) }
    }
}

/// What a token makes of the neurons at one place.
type Compute = fn(&mut Place, &Representative, &Readings) -> Tally;

/// By how many states an active neuron rises.
const COMPUTE: [Compute; STATES + 1] = [
    Place::compute::<0>,
    Place::compute::<1>,
    Place::compute::<2>,
    Place::compute::<3>,
    Place::compute::<4>,
    Place::compute::<5>,
    Place::compute::<6>,
    Place::compute::<7>,
    Place::compute::<8>,
    Place::compute::<9>,
    Place::compute::<10>,
    Place::compute::<11>,
    Place::compute::<12>,
    Place::compute::<13>,
    Place::compute::<14>,
    Place::compute::<15>,
    Place::compute::<16>,
];

/// Events that this one may see: of some that have no parents, none are ever active.
fn happens<'a>(it: &Representative, cells: &'a mut Cells) -> impl Iterator<Item = (usize, &'a mut States)> {
    cells.iter_mut().enumerate().filter(|(event, _)| it.chance[*event] > 0.0)
}

/// What changes its place does.
fn swap([cold, held]: &mut [Place; 2], leaving: &[[Option<States>; PARENTS]; 2]) {
    for event in 0..EVENTS {
        let (below, above) = (&mut cold.cells[event], &mut held.cells[event]);
        let moved = |shares: &Option<States>, states: &States| {
            shares.map_or([0.0; STATES], |shares| std::array::from_fn(|state| shares[state] * states[state]))
        };
        let [into, out] = leaving.each_ref().map(|it| &it[event % PARENTS]);
        if into.is_none() && out.is_none() {
            continue;
        }
        let (into, out) = (moved(into, below), moved(out, above));
        for state in 0..STATES {
            let (rises, falls) = (into[state], out[state]);
            below[state] = below[state] - rises + falls;
            above[state] = above[state] - falls + rises;
        }
        // More than nothing may be there now; what it is, the tally says.
        held.mass += into.iter().sum::<f64>();
        cold.mass += out.iter().sum::<f64>();
    }
}

/// In pairs, which processors add side by side.
fn sum(states: &States) -> f64 {
    let eight: [f64; 8] = std::array::from_fn(|it| states[it] + states[it + 8]);
    let four: [f64; 4] = std::array::from_fn(|it| eight[it] + eight[it + 4]);
    (four[0] + four[2]) + (four[1] + four[3])
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
    fn predicted(&self) -> f64 {
        self.hits + self.alarms
    }

    /// A false alarm is of one sequence.
    fn activations(&self, it: &Representative) -> f64 {
        self.hits * it.per_active + self.alarms
    }

    fn squares(&self, it: &Representative) -> f64 {
        self.hits * it.per_active_squared + self.alarms
    }

    fn work_clusters(&self, it: &Representative) -> f64 {
        self.hits * it.cluster_work + self.alarms * it.cluster
    }

    fn seen(&self, it: &Representative) -> Seen {
        Seen {
            mass: self.mass,
            reads: self.predicted(),
            activations: self.activations(it),
            squares: self.squares(it),
        }
    }

    /// One representative: cold, and held by the GPU.
    fn both([cold, held]: &[Self; 2], it: &Representative) -> Expected {
        let active = cold.hits + cold.missed + held.hits + held.missed;
        let (of_cold, of_held) = (cold.seen(it), held.seen(it));
        // Neurons that change their place are the same wherever they are.
        let of_all = of_cold.plus(of_held, 1.0);
        Expected {
            active,
            activations: active * it.per_active,
            held: held.predicted(),
            cold: cold.predicted(),
            held_activations: of_held.activations,
            cold_activations: of_cold.activations,
            held_missed: held.missed,
            cold_missed: cold.missed,
            alarms: cold.alarms + held.alarms,
            cold_variance: of_cold.variance(),
            offline_variance: 0.0,
            cold_clusters: cold.predicted() * it.cluster,
            all_variance: of_all.variance(),
            held_clusters: held.predicted() * it.cluster,
            cold_squares: of_cold.squares,
            held_squares: of_held.squares,
            cold_work_variance: of_cold.work_variance(),
            offline_work_variance: 0.0,
            all_work_variance: of_all.work_variance(),
            cold_work_clusters: cold.work_clusters(it),
            held_work_clusters: held.work_clusters(it),
            swaps: 0.0,
        }
    }
}

/// Neurons of one place: how many are read, how often they are multiplied, and the squares of that.
#[derive(Clone, Copy, Default)]
pub(super) struct Seen {
    pub mass: f64,
    pub reads: f64,
    pub activations: f64,
    pub squares: f64,
}

impl Seen {
    pub fn plus(self, other: Self, times: f64) -> Self {
        Self {
            mass: self.mass + times * other.mass,
            reads: self.reads + times * other.reads,
            activations: self.activations + times * other.activations,
            squares: self.squares + times * other.squares,
        }
    }

    /// Variance of how many of these are read; differences may leave less than none.
    fn variance(&self) -> f64 {
        let Self { mass, reads, .. } = *self;
        if mass > 1e-15 && reads > 0.0 { reads * (1.0 - reads / mass).max(0.0) } else { 0.0 }
    }

    /// Of how often they are multiplied.
    fn work_variance(&self) -> f64 {
        let Self { mass, activations, squares, .. } = *self;
        if mass > 1e-15 { (squares - activations.powi(2) / mass).max(0.0) } else { 0.0 }
    }
}

impl Expected {
    /// What is left to chance where neurons of a stratum are all the same.
    ///
    /// * `cold`: of each representative, what is not on the GPU
    pub(super) fn know_offline(&mut self, all: &[Representative], cold: &[Seen]) {
        let mut first = 0;
        while first < all.len() {
            let end = first + all[first..].partition_point(|it| it.stratum == all[first].stratum);
            let stratum = cold[first..end].iter().fold(Seen::default(), |sum, it| sum.plus(*it, 1.0));
            self.offline_variance += stratum.variance();
            self.offline_work_variance += stratum.work_variance();
            first = end;
        }
    }
}

/// Chances of each score.
type Scores = [f64; SCORES];

/// The highest scores in, the lowest out, as long as the first exceed the
/// second: the share of each score that moves, and how much moves at all.
fn exchange(wanted: &Scores, held: &Scores, hot: usize, budget: f64) -> (Scores, Scores, f64) {
    let (mut into, mut out): (Scores, Scores) = ([0.0; SCORES], [0.0; SCORES]);
    let (mut high, mut low, mut swaps) = (SCORES - 1, 0, 0.0);
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
