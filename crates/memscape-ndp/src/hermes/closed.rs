//! What the sparse blocks of a step do, as expected values of the activity law.

use std::sync::Arc;

use memscape_units::Nanoseconds;

use super::setting::{Hermes, swap_share};
use super::sparse::{Sparse, cause};
use crate::activity::{BlockKind, Law};
use crate::cost::Causes;
use crate::scheduler::{
    Answers, BlockCost, Exchange, Expected, Question, Strategy, drift_variance, largest_of,
};

/// * `capacity`: bytes of sparse neurons that the GPU may hold
pub(super) fn sparse(hermes: &Hermes, law: Law, capacity: f64) -> Sparse {
    let expectation = Expectation::new(hermes, law);
    let hot = expectation.hot_shares(capacity);
    let mut sparse = Sparse::default();
    let mut causes = Causes::of([]);
    for (block, hot) in BlockKind::ALL.into_iter().zip(hot) {
        let block = expectation.block(block);
        let sides = expectation.sides(&block, hot);
        expectation.add(&block, hot, &sides, &mut sparse);
        let (reads, activations) = sides.per_device(&block, hermes.rates.dimms);
        let cause = cause(&block.cost, hermes.rates.dispatch, [sides.gpu, sides.cold], reads, activations);
        causes.add(cause, sides.gpu.max(sides.cold));
    }
    Sparse { bound_by: causes.largest(), ..sparse }
}

/// What is expected of the blocks of a step.
struct Expectation<'a> {
    hermes: &'a Hermes<'a>,
    question: Question,
    answers: Arc<Answers>,
    layers: f64,
    /// Share of a block's neurons that the GPU can fetch per token.
    swaps: f64,
}

/// One of a layer's two blocks.
struct Block {
    kind: BlockKind,
    cost: BlockCost,
    /// Neurons.
    count: f64,
}

/// How long either side of one block takes, and why.
struct Sides {
    gpu: Nanoseconds,
    cold: Nanoseconds,
    /// Of the DIMMs if they were level.
    level: Nanoseconds,
    expected: Expected,
}

impl Sides {
    /// Neurons that GPU and one DIMM read, and how often sequences activate them.
    fn per_device(&self, block: &Block, dimms: f64) -> ([f64; 2], [f64; 2]) {
        let Expected { gpu, cold, gpu_activations, cold_activations, .. } = self.expected;
        let each = |gpu: f64, cold: f64| [gpu * block.count, cold * block.count / dimms];
        (each(gpu, cold), each(gpu_activations, cold_activations))
    }
}

impl<'a> Expectation<'a> {
    fn new(hermes: &'a Hermes<'a>, law: Law) -> Self {
        let question = Question {
            law,
            batch: hermes.work.batch,
            predictor: hermes.machine.predictor,
            strategy: hermes.policy.strategy,
            generated: hermes.work.generated,
        };
        Self {
            hermes,
            question,
            answers: question.answers(),
            layers: hermes.work.layers(),
            swaps: swap_share(&hermes.rates, &hermes.work.shape),
        }
    }

    fn block(&self, kind: BlockKind) -> Block {
        let shape = &self.hermes.work.shape;
        let count = f64::from(u32::try_from(shape.neurons(kind)).unwrap_or(u32::MAX));
        Block { kind, cost: self.hermes.rates.block(shape, kind), count }
    }

    /// Share of each block's neurons on the GPU.
    fn hot_shares(&self, capacity: f64) -> [f64; 2] {
        let rates = self.hermes.placing_rates();
        let shape = &self.hermes.work.shape;
        let blocks = BlockKind::ALL.map(|it| rates.block(shape, it));
        let neurons = BlockKind::ALL.map(|it| self.block(it).count);
        let offline = Question { strategy: Strategy::Partition, ..self.question }.answers();
        let placed = hot_shares(&offline, &blocks, neurons, capacity / self.layers, rates.dimms);
        self.hermes.random_share(capacity).map_or(placed, |share| [share; 2])
    }

    fn sides(&self, block: &Block, hot: f64) -> Sides {
        let expected = self.answers.answer(hot, self.swaps, self.level_share(block));
        if self.hermes.policy.strategy == Strategy::Oracle {
            self.best_sides(block, hot, expected)
        } else {
            self.usual_sides(block, hot, expected)
        }
    }

    /// The oracle's: the GPU takes of the active neurons what makes both level.
    fn best_sides(&self, block: &Block, hot: f64, expected: Expected) -> Sides {
        let (cost, count, dimms) = (&block.cost, block.count, self.hermes.rates.dimms);
        let (active, activations) =
            (expected.gpu + expected.cold, expected.gpu_activations + expected.cold_activations);
        let on_gpu = cost.level(active * count, activations * count, hot * count, dimms) / count;
        let per_active = activations / active;
        let split = Expected {
            gpu: on_gpu,
            cold: active - on_gpu,
            gpu_activations: on_gpu * per_active,
            cold_activations: (active - on_gpu) * per_active,
            ..expected
        };
        let cold = cost.cold(split.cold * count / dimms, split.cold_activations * count / dimms);
        let gpu = cost.gpu(split.gpu * count, split.gpu_activations * count);
        Sides { gpu, cold, level: cold, expected: split }
    }

    /// Everyone else's: neurons lie where they lie, the DIMMs are not level.
    fn usual_sides(&self, block: &Block, hot: f64, expected: Expected) -> Sides {
        let (cost, count, dimms) = (&block.cost, block.count, self.hermes.rates.dimms);
        let level = cost.cold(expected.cold * count / dimms, expected.cold_activations * count / dimms);
        let cold = level * self.imbalance(hot, &expected, count);
        let gpu = cost.gpu(expected.gpu * count, expected.gpu_activations * count);
        Sides { gpu, cold, level, expected }
    }

    /// Share of the active neurons that the GPU takes when both sides are level; 1
    /// where nobody looks.
    fn level_share(&self, block: &Block) -> f64 {
        if self.hermes.policy.exchange == Exchange::Unchecked {
            return 1.0;
        }
        let (active, activations) = self.answers.active();
        let (active, activations) = (active * block.count, activations * block.count);
        block.cost.level(active, activations, active, self.hermes.rates.dimms) / active.max(1e-300)
    }

    /// Slowest DIMM over the mean: the largest of several sums. Where the partition
    /// has put neurons, each DIMM has equally many of each frequency, and only which
    /// of them are active, and what a prompt changes, is left to chance; remapping
    /// moves the latter away. What a random mapper or the exchange leaves cold is
    /// spread by chance altogether.
    fn imbalance(&self, hot: f64, expected: &Expected, neurons: f64) -> f64 {
        let dimms = self.hermes.rates.dimms;
        let mean = expected.cold * neurons / dimms;
        if mean <= 0.0 {
            return 1.0;
        }
        let variance = match self.question.strategy {
            Strategy::Full => expected.cold_variance,
            Strategy::Partition if self.question.batch > 1 => expected.cold_variance,
            Strategy::Partition => expected.cold_variance + drift_variance(&self.question.law, hot),
            _ => expected.cold * (1.0 - 1.0 / dimms),
        };
        let deviation = (variance * neurons / dimms).sqrt();
        (1.0 + largest_of(dimms) * deviation / mean).min(dimms)
    }

    /// Adds all layers' blocks of a kind.
    fn add(&self, block: &Block, hot: f64, sides: &Sides, sparse: &mut Sparse) {
        let Sides { gpu, cold, level, expected } = sides;
        let (layers, count) = (self.layers, block.count);
        let time = gpu.max(*cold);
        sparse.time += time * layers;
        sparse.exposed += (time - (*gpu - block.cost.gpu_fixed).max(*cold)) * layers;
        sparse.gpu += *gpu * layers;
        sparse.cold += *cold * layers;
        sparse.level += *level * layers;
        if block.kind == BlockKind::Mlp {
            sparse.mlp = time * layers;
        }
        let all = layers * count * block.cost.neuron_bytes;
        sparse.gpu_read += all * expected.gpu;
        sparse.cold_read += all * expected.cold;
        sparse.gpu_macs += all * expected.gpu_activations;
        sparse.cold_macs += all * expected.cold_activations;
        sparse.hot_bytes += all * hot;
        sparse.swaps += layers * count * expected.swaps;
        if self.question.strategy == Strategy::Full && self.hermes.rates.dimms > 1.0 {
            self.add_moves(block, expected, sparse);
        }
    }

    /// Neurons as active as a window is long, to bring down a deviation of the
    /// window's loads: half of it, of half of the DIMMs, goes over.
    fn add_moves(&self, block: &Block, expected: &Expected, sparse: &mut Sparse) {
        let (rates, layers) = (&self.hermes.rates, self.layers);
        let window = f64::from(self.hermes.machine.remap.window.get());
        let deviation = (expected.cold_variance.max(0.0) * block.count / rates.dimms).sqrt();
        let per_pair = deviation / window;
        let bytes = block.cost.neuron_bytes;
        sparse.moves += layers * per_pair * rates.dimms / 2.0;
        sparse.moved_bytes_slowest += layers * per_pair * bytes;
        sparse.moved_by_host += rates.host_move(bytes) * (layers * per_pair * rates.dimms / 2.0);
    }
}

/// Relative difference of the two sides that counts as level.
const LEVEL: f64 = 1e-4;

/// How much of each block goes to the GPU: until both sides are level, or until
/// it is full, then the same share of both blocks.
fn hot_shares(
    offline: &Answers,
    blocks: &[BlockCost; 2],
    neurons: [f64; 2],
    capacity: f64,
    dimms: f64,
) -> [f64; 2] {
    let lead = |block: usize, hot: f64| {
        let (cost, count) = (&blocks[block], neurons[block]);
        let expected = offline.answer(hot, 0.0, 1.0);
        let gpu = cost.gpu(expected.gpu * count, expected.gpu_activations * count).as_f64();
        let cold = cost.cold(expected.cold * count / dimms, expected.cold_activations * count / dimms);
        let cold = cold.as_f64();
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
