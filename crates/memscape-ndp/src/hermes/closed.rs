//! What the sparse blocks of a step do, as expected values of the activity law.

use std::sync::Arc;

use memscape_units::{Nanoseconds, float};

use super::moves::Left;
use super::setting::{Hermes, Plan};
use super::sparse::{Late, Sparse, add_causes};
use super::uneven::{Chance, OnDimms, Uneven, handed};
use crate::activity::{BlockKind, Law};
use crate::cost::{ColdSide, PromptStage};
use crate::normal::{mean_of_largest, quadrature_between, quantile};
use crate::scheduler::{
    Answers, BlockCost, Counted, Exchange, Expected, FETCHES, HOT_NODES, Load, Missed, Phase, Question,
    Shared, Strategy, levels_all, mean,
};

/// What the sparse blocks do, and the plan by which they are fastest.
///
/// * `capacity`: bytes of sparse neurons that the GPU may hold
pub(super) fn sparse(hermes: &Hermes, law: Law, capacity: f64) -> (Sparse, Plan) {
    let (expectation, plan) = planned(hermes, law, capacity);
    let mut sparse = Sparse::default();
    let (mut seen, mut missed) = (Expected::default(), [0.0; 2]);
    let phases = expectation.blocks.each_ref().map(|it| expectation.phases(it, plan.fetch));
    sparse.late = expectation.late(&phases, plan.fetch);
    for (block, phases) in expectation.blocks.iter().zip(&phases) {
        for (share, side) in expectation.sides(block, phases, plan) {
            expectation.add(block, share, &side, &mut sparse);
        }
        let expected = mean_of_parts(phases);
        expectation.add_rest(block, &expected, plan, &mut sparse);
        let bytes = block.count * block.cost.neuron_bytes;
        missed = [missed[0] + bytes * expected.missed(), missed[1] + bytes * expected.active];
        seen = expected;
    }
    let oracle = hermes.policy.strategy == Strategy::Oracle;
    let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
    sparse.missed = if oracle { 0.0 } else { share(missed[0], missed[1]) };
    sparse.accuracy = Some(if oracle { 1.0 } else { (1.0 - seen.missed() - seen.alarms).max(0.0) });
    sparse.recall = Some(if oracle { 1.0 } else { (1.0 - share(seen.missed(), seen.active)).max(0.0) });
    (sparse, plan)
}

/// The plan by which prompt and reply are fastest. Where hot neurons are loaded after
/// the prompt, no more are than pay; nor where what was missed is computed late, which the DIMMs may do sooner
/// than a GPU that is launched for it; nor where several sequences multiply the mean of what the GPU holds, which it
/// hands over a part of, more often than the coldest.
fn planned<'a>(hermes: &'a Hermes<'a>, law: Law, capacity: f64) -> (Expectation<'a>, Plan) {
    let sparse = hermes.work.shape.sparse_bytes();
    let capacity = capacity.min(sparse);
    let reply = f64::from(hermes.work.generated) * hermes.work.layers();
    // If it takes longer than this, how long does not matter.
    let held = |capacity: f64, most: f64| {
        let expectation = Expectation::new(hermes, law, capacity);
        let prompt = hermes.prompt_with(capacity).time().as_f64();
        // What rounding takes is not longer.
        let (plan, layer) = expectation.plan((most * (1.0 + 1e-12) - prompt) / reply);
        Held { total: prompt + reply * layer, expectation, plan }
    };
    let chosen = hermes.policy.prompt == PromptStage::Reload
        || hermes.policy.missed == Missed::Late
        || hermes.work.batch > 1;
    let mut best: Option<Held> = None;
    if chosen && hermes.policy.exchange == Exchange::UntilLevel {
        let mut try_share = |share: f64| {
            // What does not fit is only a bound, so that a GPU that may hold more looks at the same shares.
            if share * sparse >= capacity {
                return (share, f64::INFINITY);
            }
            let most = best.as_ref().map_or(f64::INFINITY, |it| it.total);
            let tried = held(share * sparse, most);
            let total = tried.total;
            if total < most {
                best = Some(tried);
            }
            (share, total)
        };
        let mut tried = HOT_NODES.map(&mut try_share).to_vec();
        for _ in 0..HALVINGS {
            let least = (0..tried.len()).min_by(|a, b| tried[*a].1.total_cmp(&tried[*b].1));
            let least = least.expect("there are shares");
            let around = &tried[least.saturating_sub(1)..tried.len().min(least + 2)];
            let halves: Vec<f64> = around.windows(2).map(|it| it[0].0.midpoint(it[1].0)).collect();
            tried.extend(halves.into_iter().map(&mut try_share));
            tried.sort_by(|a, b| a.0.total_cmp(&b.0));
        }
    }
    let all = held(capacity, best.as_ref().map_or(f64::INFINITY, |it| it.total));
    let best = best.filter(|it| it.total < all.total).unwrap_or(all);
    (best.expectation, best.plan)
}

/// How often the steps between [`HOT_NODES`] are halved on both sides of the fastest: what lies between decides by less
/// than a part in a thousand. Where other numbers of DIMMs or of fetches become best, time has more valleys than one, and a
/// coarser grid would pass some by.
const HALVINGS: usize = 5;

/// Where more may be fetched, and no more than so many times as much is.
const HARDLY_MORE: f64 = 1.01;

/// What a GPU does that may hold so much.
struct Held<'a> {
    /// Prompt and reply, ns.
    total: f64,
    expectation: Expectation<'a>,
    plan: Plan,
}

/// What is expected of the blocks of a step.
struct Expectation<'a> {
    hermes: &'a Hermes<'a>,
    question: Question,
    answers: Arc<Answers>,
    layers: f64,
    /// Bytes of sparse neurons that the GPU may hold.
    capacity: f64,
    /// See [`change_between_windows`].
    change: f64,
    blocks: [Block; 2],
}

/// One of a layer's two blocks.
struct Block {
    kind: BlockKind,
    cost: BlockCost,
    /// Neurons.
    count: f64,
    /// Share of them that the GPU holds.
    hot: f64,
}

/// Some of the blocks of one kind, at some of a reply's tokens.
struct Part {
    /// Of the blocks.
    share: f64,
    phase: Phase,
}

/// The mean over all of a reply's tokens and all blocks.
fn mean_of_parts(parts: &[Part]) -> Expected {
    let weigh = |it: &Part| (it.share, it.phase);
    mean(parts.iter().map(weigh))
}

/// How long either side of one block takes, and why.
struct Side {
    /// What the GPU holds, and what it does not.
    held: Load,
    cold: Load,
    dimms: f64,
    shared: Shared,
    /// Of the DIMMs if they were level.
    level: Nanoseconds,
}

impl Side {
    /// What GPU and DIMMs compute.
    fn loads(&self) -> [Load; 2] {
        let (handed, rest) = (self.shared.handed, 1.0 - self.shared.handed);
        let of = |held: f64, cold: f64| (held * rest, cold + held * handed);
        let (gpu, cold) = of(self.held.neurons, self.cold.neurons);
        let (gpu_activations, cold_activations) = of(self.held.activations, self.cold.activations);
        [
            Load { neurons: gpu, activations: gpu_activations },
            Load { neurons: cold, activations: cold_activations },
        ]
    }
}

/// Neurons of a block that move, per token.
#[derive(Clone, Copy, Default)]
struct Moved {
    total: f64,
    /// Of the pair of DIMMs that exchanges most.
    slowest_pair: f64,
}

impl<'a> Expectation<'a> {
    fn new(hermes: &'a Hermes<'a>, law: Law, capacity: f64) -> Self {
        let shape = &hermes.work.shape;
        let question = Question {
            law,
            batch: hermes.work.batch,
            predictor: hermes.machine.predictor,
            strategy: hermes.policy.strategy,
            prompt: hermes.work.prompt,
            generated: hermes.work.generated,
        };
        let layers = hermes.work.layers();
        let neurons = BlockKind::ALL.map(|it| float(shape.neurons(it) as u64));
        let costs = BlockKind::ALL.map(|it| hermes.rates.block(shape, it));
        let hot = match hermes.policy.exchange {
            Exchange::UntilLevel => [(capacity / shape.sparse_bytes()).min(1.0); 2],
            Exchange::Unchecked => {
                let rates = hermes.placing_rates();
                let costs = BlockKind::ALL.map(|it| rates.block(shape, it));
                let offline = |hot| offline(&law, f64::from(hermes.work.batch), hot);
                hot_shares(offline, &costs, neurons, capacity / layers, rates.dimms)
            }
        };
        let block = |it: BlockKind| {
            let index = it.index();
            Block { kind: it, cost: costs[index], count: neurons[index], hot: hot[index] }
        };
        Self {
            hermes,
            question,
            answers: question.answers(),
            layers,
            capacity,
            change: change_between_windows(hermes.machine.remap.window.get(), law.persistence),
            blocks: BlockKind::ALL.map(block),
        }
    }

    /// The number of DIMMs and of fetches by which a layer is fastest, whether neurons
    /// move between DIMMs, and its time. As printed: all DIMMs, what the projection hides,
    /// and they move. If none takes `most` ns or less, some plan without an end.
    fn plan(&self, most: f64) -> (Plan, f64) {
        let hermes = self.hermes;
        let best = hermes.plain_plan(self.capacity);
        if hermes.policy.exchange == Exchange::Unchecked {
            return (best, 0.0);
        }
        let room = hermes.dimm_room();
        let fits = |dimms: &usize| float(*dimms as u64) * room >= hermes.work.shape.sparse_bytes();
        let mut counts: Vec<usize> = (1..hermes.dimms()).filter(fits).collect();
        counts.push(hermes.dimms());
        let (floor, mut chosen, mut least) = (self.floor(), None, most);
        // First, so that it is taken where fetching gains nothing.
        let fetches = self.fetches();
        let none = (fetches.start > 0).then_some(0);
        let mut brought = 0.0;
        for fetch in none.into_iter().chain(fetches) {
            let phases = self.blocks.each_ref().map(|it| self.phases(it, fetch));
            let expected = phases.each_ref().map(|it| mean_of_parts(it));
            let late = self.late(&phases, fetch);
            // What fetching takes only grows from here on, and this is the least beside it.
            if self.beside(&late, 1, Nanoseconds::ZERO) + floor >= least {
                break;
            }
            // There is hardly more to fetch: what the first tokens may still lack decides nothing.
            let more: f64 = expected.iter().map(|it| it.swaps).sum();
            if brought > 0.0 && more < HARDLY_MORE * brought {
                break;
            }
            brought = more;
            for dimms in counts.iter().copied() {
                let plan = Plan { fetch, dimms, remap: best.remap && dimms > 1, ..best };
                let moving = self.moving(&expected, plan);
                let mut plans = vec![(plan, moving)];
                // Links that are too slow to hide it may cost more than level DIMMs save.
                if moving > hermes.projection() {
                    plans.push((Plan { remap: false, ..plan }, Nanoseconds::ZERO));
                }
                for (plan, moving) in plans {
                    let beside = self.beside(&late, plan.dimms, moving);
                    let time = beside + self.time(&phases, plan, least - beside);
                    if time < least {
                        (chosen, least) = (Some(plan), time);
                    }
                }
            }
        }
        chosen.map_or((best, f64::INFINITY), |it| (it, least))
    }

    /// Fetches that may be best: those that are just hidden, and all above.
    fn fetches(&self) -> std::ops::Range<usize> {
        if !self.hermes.policy.strategy.adjusts() {
            return 0..1;
        }
        self.hermes.hidden_fetch().saturating_sub(1)..FETCHES.len()
    }

    /// Of a layer: what it takes beside its sparse blocks.
    fn beside(&self, late: &[Late], dimms: usize, moving: Nanoseconds) -> f64 {
        let (rates, shape) = (&self.hermes.rates, &self.hermes.work.shape);
        let merging: Nanoseconds = match self.hermes.cold {
            ColdSide::Host => Nanoseconds::ZERO,
            ColdSide::Dimms => rates.around(shape, dimms).into_iter().sum(),
        };
        let hidden = self.hermes.projection().max(moving);
        (hidden + Late::beyond(late, hidden) + merging).as_f64()
    }

    /// What a layer fetches where its projection does not hide it. A layer whose one block has more to do than
    /// others is read as one whose other block has, too.
    fn late(&self, [qkv, mlp]: &[Vec<Part>; 2], fetch: usize) -> Vec<Late> {
        let (rates, projection) = (&self.hermes.rates, self.hermes.projection());
        let bytes = |block: &Block, part: &Part| {
            part.phase.expected.swaps.min(FETCHES[fetch]) * block.count * block.cost.neuron_bytes
        };
        let both = |(qkv, mlp): (&Part, &Part)| Late {
            share: qkv.share * qkv.phase.tokens() / f64::from(self.question.generated),
            time: rates.pinned(bytes(&self.blocks[0], qkv) + bytes(&self.blocks[1], mlp)),
        };
        qkv.iter().zip(mlp).map(both).filter(|it| it.time > projection).collect()
    }

    /// Of a layer: neurons that move between DIMMs.
    fn moving(&self, expected: &[Expected; 2], plan: Plan) -> Nanoseconds {
        let slowest = |(block, it): (&Block, &Expected)| {
            self.moves(block, it, plan).slowest_pair * block.cost.neuron_bytes
        };
        self.hermes.rates.link_move(self.blocks.iter().zip(expected).map(slowest).sum())
    }

    /// Of a layer: no exchange makes its sparse blocks faster than a GPU that holds all.
    fn floor(&self) -> f64 {
        let of = |block: &Block| {
            let it = mean_of_parts(&self.phases(block, self.fetches().start));
            let load = |neurons: f64, activations: f64| Load {
                neurons: neurons * block.count,
                activations: activations * block.count,
            };
            let all = load(it.held + it.cold, it.held_activations + it.cold_activations);
            let dimms = self.hermes.dimms();
            self.side(block, all, Load::default(), [Chance::default(); 2], dimms).shared.time().as_f64()
        };
        self.blocks.iter().map(of).sum()
    }

    /// Of a layer's sparse blocks; if that is `most` or more, some time that is.
    fn time(&self, phases: &[Vec<Part>; 2], plan: Plan, most: f64) -> f64 {
        let mut time = 0.0;
        // The last phase has most tokens of a long reply.
        let each = self
            .blocks
            .iter()
            .zip(phases)
            .flat_map(|(block, all)| all.iter().rev().map(move |it| (block, it)));
        for (block, phase) in each {
            if time >= most {
                break;
            }
            let sides = self.sides(block, std::slice::from_ref(phase), plan);
            time += sides.iter().map(|(share, it)| share * it.shared.time().as_f64()).sum::<f64>();
        }
        time
    }

    /// What is expected of a block, phase by phase. Where neurons are exchanged, those blocks that have more to do than
    /// the GPU has room for leave to the DIMMs what others, that have less, do not make up for: some parts of all
    /// blocks stand for them.
    fn phases(&self, block: &Block, fetch: usize) -> Vec<Part> {
        /// Points of a normal distribution, and their weights: exact for polynomials up to the fifth power.
        const POINTS: [(f64, f64); 3] =
            [(-1.732_050_807_568_877_2, 1.0 / 6.0), (0.0, 2.0 / 3.0), (1.732_050_807_568_877_2, 1.0 / 6.0)];
        let of = |share: f64, times: f64| {
            let phases = self.answers.answer_where(times, block.hot, fetch, self.layers);
            phases.into_iter().map(move |phase| Part { share, phase })
        };
        if !self.question.strategy.adjusts() {
            return of(1.0, 1.0).collect();
        }
        let times = POINTS.map(|(z, share)| (share, self.active_times(z)));
        let mean: f64 = times.iter().map(|(share, times)| share * times).sum();
        times.into_iter().flat_map(|(share, times)| of(share, times / mean)).collect()
    }

    /// How many times the mean are active in a block that is so many standard deviations from it.
    ///
    /// # Source
    /// A gamma distribution by the cube of a normal number: Wilson and Hilferty, PNAS 17, 1931.
    fn active_times(&self, z: f64) -> f64 {
        let deviation = self.answers.deviation_of_blocks();
        (1.0 + deviation * z / 3.0 - deviation.powi(2) / 9.0).max(0.0).powi(3)
    }

    /// What a block computes, by shares of the reply's tokens and of all such blocks. DIMMs are as the partition
    /// left them until the first window ends.
    fn sides(&self, block: &Block, phases: &[Part], plan: Plan) -> Vec<(f64, Side)> {
        let window = self.hermes.machine.remap.window.get();
        let generated = f64::from(self.question.generated);
        let mut sides = Vec::with_capacity(4 * phases.len());
        for Part { share: of_blocks, phase: it } in phases {
            let before = if plan.remap { window.clamp(it.from, it.to) } else { it.to };
            let parts = [(it.from..before, Plan { remap: false, ..plan }), (before..it.to, plan)];
            for (tokens, plan) in parts.into_iter().filter(|it| !it.0.is_empty()) {
                let share = of_blocks * f64::from(tokens.end - tokens.start) / generated;
                let passes = self.passes(block, &it.expected, plan).into_iter();
                sides.extend(passes.map(|(of_tokens, side)| (share * of_tokens, side)));
            }
        }
        sides
    }

    /// What a block computes at a token, with the share of tokens that it is: what is predicted, and what was
    /// missed if that is computed late.
    fn passes(&self, block: &Block, it: &Expected, plan: Plan) -> Vec<(f64, Side)> {
        let (count, dimms) = (block.count, plan.dimms);
        let load = |neurons: f64, activations: f64| Load {
            neurons: neurons * count,
            activations: activations * count,
        };
        if self.question.strategy == Strategy::Oracle {
            return self.best(block, dimms);
        }
        let (held, cold) = (load(it.held, it.held_activations), load(it.cold, it.cold_activations));
        let side = |chance| self.side(block, held, cold, chance, dimms);
        let on_dimms = self.on_dimms(plan);
        let counted = [self.answers.by_reads(it), self.answers.by_work(it)];
        let placed = |it: &Counted| if plan.remap { on_dimms.cold_level(it) } else { on_dimms.placed(it) };
        let mut first = side(counted.each_ref().map(placed));
        // A window makes DIMMs level by what they compute: what is cold, or most of the rest as well.
        if plan.remap && first.shared.handed > 0.0 {
            let other = side(counted.each_ref().map(|it| on_dimms.all_level(it)));
            if other.shared.time() < first.shared.time() {
                first = other;
            }
        }
        let mut passes = vec![(1.0, first)];
        if self.hermes.policy.missed == Missed::Late && it.missed() > 0.0 {
            let each = it.activations / it.active.max(1e-300);
            let late = |neurons: f64| load(neurons, neurons * each);
            let of = |apart: f64| Uneven { apart, ..Uneven::default() };
            let chance = Chance { cold: of(it.cold_missed), groups: 1.0, all: of(it.missed()) };
            let (held, cold) = (late(it.held_missed), late(it.cold_missed));
            passes.push((1.0, self.side(block, held, cold, [chance; 2], dimms)));
        }
        passes
    }

    fn on_dimms(&self, plan: Plan) -> OnDimms {
        OnDimms {
            strategy: self.question.strategy,
            groups: self.hermes.policy.groups.map_or(f64::INFINITY, |it| f64::from(it.get())),
            clusters: f64::from(self.question.law.clusters),
            dimms: plan.dimms,
        }
    }

    /// Neurons lie where they lie, the DIMMs are not level but by what the GPU leaves
    /// to them: the slowest is the one that reads most, or the one that multiplies most.
    ///
    /// * `chances`: of what is read, and of what is multiplied
    fn side(&self, block: &Block, held: Load, cold: Load, chances: [Chance; 2], dimms: usize) -> Side {
        let count = float(dimms as u64);
        let mean = Load { neurons: cold.neurons / count, activations: cold.activations / count };
        let fullest = chances.map(|it| {
            let most = mean.neurons * it.groups + it.cold.fullest(block.count, mean.neurons, dimms);
            let factor = (most.min(cold.neurons) / mean.neurons.max(1e-300)).max(1.0);
            Load::default().plus(mean, factor)
        });
        let (reading, multiplying) =
            (block.cost.cold_reading(fullest[0]), block.cost.cold_multiplying(fullest[1]));
        let slowest = reading.max(multiplying);
        let chance = chances[usize::from(multiplying > reading)];
        let each = held.neurons / count;
        let deviation = chance.all.deviation(block.count, mean.neurons + each, dimms);
        let fullest = chance.all.fullest(block.count, mean.neurons + each, dimms);
        let room = |time| handed(block.cost.room(time, mean, held), each, deviation, fullest, dimms);
        let shared = block.cost.share(held, self.hermes.policy.exchange, slowest, room);
        let mut side = Side { held, cold, dimms: count, shared, level: Nanoseconds::ZERO };
        let [_, all] = side.loads();
        side.level =
            block.cost.cold(Load { neurons: all.neurons / count, activations: all.activations / count });
        side
    }

    /// The oracle's: the GPU takes of the active neurons what makes both level, those
    /// that sequences need most first. How many are active differs from block to block with what prompts
    /// favour of clusters, and what there is no room for is of those with many: shares of the tokens, as
    /// likely each as the others.
    fn best(&self, block: &Block, dimms: usize) -> Vec<(f64, Side)> {
        const PARTS: u32 = 16;
        let share = 1.0 / f64::from(PARTS);
        let part = |index: u32| {
            let z = quantile((f64::from(index) + 0.5) * share);
            (share, self.best_of(block, self.active_times(z), dimms))
        };
        (0..PARTS).map(part).collect()
    }

    /// The same, where so many times the mean are active.
    fn best_of(&self, block: &Block, times: f64, dimms: usize) -> Side {
        let count = float(dimms as u64);
        let active = self.answers.by_count();
        let active: Vec<Load> =
            active.iter().map(|it| Load::default().plus(*it, block.count * times)).collect();
        let [held, cold] = block.cost.level(&active, block.hot * block.count, count);
        let gpu = if held.neurons > 0.0 { block.cost.gpu(held) } else { Nanoseconds::ZERO };
        let level = block.cost.cold(Load::default().plus(cold, 1.0 / count));
        Side { held, cold, dimms: count, shared: Shared { handed: 0.0, gpu, cold: level }, level }
    }

    /// Adds a pass of all layers, at a share of the tokens.
    fn add(&self, block: &Block, share: f64, side: &Side, sparse: &mut Sparse) {
        let (layers, Shared { gpu, cold, .. }) = (self.layers * share, side.shared);
        let time = side.shared.time();
        sparse.time += time * layers;
        let exposed = (time - (gpu - block.cost.gpu_fixed).max(cold)) * layers;
        sparse.exposed += exposed;
        sparse.gpu += gpu * layers;
        if gpu > Nanoseconds::ZERO {
            sparse.crossed +=
                self.hermes.rates.block_activations(&self.hermes.work.shape, block.kind) * layers;
        }
        sparse.cold += cold * layers;
        sparse.level += side.level * layers;
        let bytes = layers * block.cost.neuron_bytes;
        let loads @ [on_gpu, on_dimms] = side.loads();
        let split = block.cost.split(side.shared, loads, side.dimms) * layers;
        add_causes(&mut sparse.causes, &block.cost, &self.hermes.rates, split, loads);
        if block.kind == BlockKind::Mlp {
            sparse.mlp += time * layers;
            sparse.mlp_exposed += exposed;
            sparse.mlp_read += bytes * (on_gpu.neurons + on_dimms.neurons);
        }
        sparse.gpu_read += bytes * on_gpu.neurons;
        sparse.cold_read += bytes * on_dimms.neurons;
        sparse.gpu_macs += bytes * on_gpu.activations;
        sparse.cold_macs += bytes * on_dimms.activations;
        let each = self.hermes.rates.carried_per_activation(&self.hermes.work.shape, block.kind);
        sparse.carried += layers * on_dimms.activations * each;
    }

    /// Adds what all layers hold, fetch and move.
    fn add_rest(&self, block: &Block, it: &Expected, plan: Plan, sparse: &mut Sparse) {
        let (rates, layers, bytes) = (&self.hermes.rates, self.layers, block.cost.neuron_bytes);
        sparse.hot_bytes += layers * block.count * bytes * block.hot;
        sparse.swaps += layers * block.count * it.swaps;
        let moves = self.moves(block, it, plan);
        sparse.moves += layers * moves.total;
        sparse.fetched_bytes += layers * block.count * it.swaps * bytes;
        sparse.moved_bytes += layers * moves.total * bytes;
        sparse.moved_bytes_slowest += layers * moves.slowest_pair * bytes;
        sparse.moved_by_host += rates.host_move(bytes) * layers * moves.total;
    }

    /// Neurons of one block that move between DIMMs, per token.
    ///
    /// A window moves what makes its own loads level. The first also mends what the
    /// offline partition could not know: what prompts favour, and groups that do not come
    /// out even. Later ones meet what has changed since the window before, of which the
    /// activity that stays is already level. Neurons that were active throughout go first,
    /// each of which takes a window's length off one side and adds it to the other.
    /// Either way to pair DIMMs is read as moving alike.
    fn moves(&self, block: &Block, it: &Expected, plan: Plan) -> Moved {
        let windows = f64::from(self.question.generated / self.hermes.machine.remap.window.get());
        if !plan.remap || windows < 1.0 {
            return Moved::default();
        }
        let count = float(plan.dimms as u64);
        let of_each = |share: f64| share.max(0.0) * block.count * (1.0 - 1.0 / count) / count;
        let on_dimms = self.on_dimms(plan);
        // Windows level what is read.
        let counted = &self.answers.by_reads(it);
        let before = on_dimms.placed(counted);
        let handed = self.passes(block, it, plan).first().map_or(0.0, |(_, side)| side.shared.handed);
        let (neurons, before, after, groups) = if levels_all(handed) {
            (it.cold + it.held, before.all, on_dimms.all_level(counted).all, 1.0)
        } else {
            (it.cold, before.cold, on_dimms.cold_level(counted).cold, before.groups)
        };
        let mean = neurons * block.count / count;
        let unknown = of_each(before.apart - after.apart) + before.together * mean.powi(2);
        let changed = of_each(after.apart).sqrt() * self.change;
        let first = (unknown + changed.powi(2)).sqrt();
        // Of deviations from the mean of all, of which each is a part.
        let top = mean_of_largest(plan.dimms) / (1.0 - 1.0 / count).max(0.5).sqrt();
        let odd = mean * (groups - 1.0);
        let left = Left::of(self.hermes.machine.remap, mean);
        let pairs = float(plan.dimms as u64 / 2);
        let per_token =
            |first: f64, later: f64| (first + (windows - 1.0) * later) / f64::from(self.question.generated);
        Moved {
            slowest_pair: per_token(left.moves(top * first + odd), left.moves_again(top * changed)),
            total: pairs * per_token(left.mean_moves(first, odd), left.mean_moves_again(changed)),
        }
    }
}

/// Standard deviation of the difference of two consecutive windows' activity of one
/// neuron, in windows' lengths, relative to that of one token.
///
/// * `stay`: probability that activity stays for the next token
fn change_between_windows(window: u32, stay: f64) -> f64 {
    let correlation = |tokens: u32| stay.powf(f64::from(tokens));
    let length = f64::from(window);
    // Pairs of tokens of one window, and of one with the next, by their distance.
    let (mut within, mut across) = (length, length * correlation(window));
    for distance in 1..window {
        let pairs = f64::from(window - distance);
        within += 2.0 * pairs * correlation(distance);
        across += pairs * (correlation(window + distance) + correlation(window - distance));
    }
    (2.0 * (within - across).max(0.0)).sqrt() / length
}

/// Relative difference of the two sides that counts as level.
const LEVEL: f64 = 1e-4;

/// What the offline profile expects of a block whose hottest neurons, as a share of all, the GPU holds, and of the
/// rest: as a walk's partition has it, each by itself and each sequence by itself.
fn offline(law: &Law, batch: f64, hot: f64) -> [Load; 2] {
    let any = |z: f64| -(batch * (-law.profiled(z)).ln_1p()).exp_m1();
    let of = |from, to| Load {
        neurons: quadrature_between(from, to, any),
        activations: batch * quadrature_between(from, to, |z| law.profiled(z)),
    };
    let coldest = quantile(1.0 - hot);
    [of(coldest, f64::INFINITY), of(f64::NEG_INFINITY, coldest)]
}

/// As printed: how much of each block goes to the GPU, until both sides are level
/// by offline activity, or until it is full, then the same share of both blocks.
fn hot_shares(
    offline: impl Fn(f64) -> [Load; 2],
    blocks: &[BlockCost; 2],
    neurons: [f64; 2],
    capacity: f64,
    dimms: f64,
) -> [f64; 2] {
    let lead = |block: usize, hot: f64| {
        let (cost, count) = (&blocks[block], neurons[block]);
        let [held, cold] = offline(hot);
        let gpu = cost.gpu(Load::default().plus(held, count)).as_f64();
        let cold = cost.cold(Load::default().plus(cold, count / dimms)).as_f64();
        (cold - gpu) / cold.max(gpu)
    };
    let bytes = [0, 1].map(|it: usize| neurons[it] * blocks[it].neuron_bytes);
    let same = capacity / (bytes[0] + bytes[1]);
    // Where both want more than an equal share, they get it.
    if (0..2).all(|it| lead(it, same.min(1.0)) >= 0.0) {
        return [same.min(1.0); 2];
    }
    let best = [0, 1].map(|block| level(|hot| lead(block, hot)));
    let wanted = best[0] * bytes[0] + best[1] * bytes[1];
    if wanted <= capacity {
        return best;
    }
    // One is level before the other: what it leaves goes there.
    let modest = usize::from(best[1] < best[0]);
    let mut shares = best;
    shares[1 - modest] = ((capacity - best[modest] * bytes[modest]) / bytes[1 - modest]).max(0.0);
    shares
}

/// The share at which a lead that falls with it is gone: false position with
/// halved ends (Illinois).
fn level(lead: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = ((0.0, lead(0.0)), (1.0, lead(1.0)));
    if low.1 <= 0.0 {
        return 0.0;
    }
    if high.1 >= 0.0 {
        return 1.0;
    }
    for _ in 0..40 {
        let middle = low.0 + (high.0 - low.0) * low.1 / (low.1 - high.1);
        let here = lead(middle);
        if here.abs() <= LEVEL {
            return middle;
        }
        if here > 0.0 {
            low = (middle, here);
            high.1 *= 0.5;
        } else {
            high = (middle, here);
            low.1 *= 0.5;
        }
    }
    0.5 * (low.0 + high.0)
}
