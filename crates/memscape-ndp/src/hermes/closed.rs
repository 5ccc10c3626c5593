//! What the sparse blocks of a step do, as expected values of the activity law.

use super::{Sparse, placing, swap_share};
use crate::activity::BlockKind;
use crate::cost::Costs;
use crate::expected::{Answers, Expected, Question, drift_variance, largest_of};
use crate::inference::{InferenceError, InferenceStudy, RandomFill, Resolved};
use crate::online::{BlockCost, Exchange, Strategy};

pub(super) fn sparse(
    study: &InferenceStudy,
    resolved: &Resolved,
    costs: &Costs,
    capacity: f64,
) -> Result<Sparse, InferenceError> {
    let law = study.activity.at(resolved.density)?;
    let shape = &resolved.shape;
    let question = Question {
        law,
        batch: study.batch.get(),
        predictor: study.predictor,
        strategy: study.strategy,
        generated: resolved.generated,
    };
    let offline = Question { strategy: Strategy::Partition, ..question };
    let blocks = BlockKind::ALL.map(|it| costs.block(study, shape, it));
    let neurons = BlockKind::ALL.map(|it| f64::from(u32::try_from(shape.neurons(it)).unwrap_or(u32::MAX)));
    let layers = f64::from(u32::try_from(shape.layers).unwrap_or(u32::MAX));
    let placing = placing(study);
    let placing_costs = Costs::new(&placing, resolved);
    let placing_blocks = BlockKind::ALL.map(|it| placing_costs.block(&placing, shape, it));
    let (answers, offline) = (question.answers(), offline.answers());
    let hot = hot_shares(&offline, &placing_blocks, neurons, capacity / layers, placing_costs.dimms);
    let swaps = swap_share(resolved, costs);
    let mut sparse = Sparse::default();
    for (index, cost) in blocks.iter().enumerate() {
        let hot = if study.strategy == Strategy::Random && study.random_fill == RandomFill::Capacity {
            (capacity / shape.sparse_bytes()).min(1.0)
        } else {
            hot[index]
        };
        let count = neurons[index];
        let expected = answers.answer(hot, swaps, level_share(study, cost, &answers, count, costs.dimms));
        let (gpu_ns, cold_ns, level_ns, expected) = if study.strategy == Strategy::Oracle {
            let (active, activations) =
                (expected.gpu + expected.cold, expected.gpu_activations + expected.cold_activations);
            let on_gpu = cost.level(active * count, activations * count, hot * count, costs.dimms) / count;
            let per_active = activations / active;
            let split = Expected {
                gpu: on_gpu,
                cold: active - on_gpu,
                gpu_activations: on_gpu * per_active,
                cold_activations: (active - on_gpu) * per_active,
                ..expected
            };
            let cold =
                cost.cold_ns(split.cold * count / costs.dimms, split.cold_activations * count / costs.dimms);
            (cost.gpu_ns(split.gpu * count, split.gpu_activations * count), cold, cold, split)
        } else {
            let level = cost.cold_ns(
                expected.cold * count / costs.dimms,
                expected.cold_activations * count / costs.dimms,
            );
            let imbalance = imbalance(study, &question, hot, &expected, count, costs.dimms);
            (
                cost.gpu_ns(expected.gpu * count, expected.gpu_activations * count),
                level * imbalance,
                level,
                expected,
            )
        };
        let time_ns = gpu_ns.max(cold_ns);
        sparse.time_ns += layers * time_ns;
        sparse.exposed_ns += layers * (time_ns - (gpu_ns - cost.gpu_fixed_ns).max(cold_ns));
        sparse.gpu_ns += layers * gpu_ns;
        sparse.cold_ns += layers * cold_ns;
        sparse.level_ns += layers * level_ns;
        if index == BlockKind::Mlp.index() {
            sparse.mlp_ns = layers * time_ns;
        }
        let all = layers * count * cost.neuron_bytes;
        sparse.gpu_read += all * expected.gpu;
        sparse.cold_read += all * expected.cold;
        sparse.gpu_macs += all * expected.gpu_activations;
        sparse.cold_macs += all * expected.cold_activations;
        sparse.hot_bytes += all * hot;
        sparse.swaps += layers * count * expected.swaps;
        if study.strategy == Strategy::Full && costs.dimms > 1.0 {
            // Neurons as active as a window is long, to bring down a deviation of
            // the window's loads: half of it, of half of the DIMMs, goes over.
            let window = f64::from(study.remap.window.get());
            let deviation = (expected.cold_variance * count / costs.dimms).sqrt();
            let per_pair = deviation / window;
            sparse.moves += layers * per_pair * costs.dimms / 2.0;
            sparse.moved_bytes_slowest += layers * per_pair * cost.neuron_bytes;
            sparse.moved_host_ns +=
                layers * per_pair * costs.dimms / 2.0 * Costs::host_move_ns(study, cost.neuron_bytes);
        }
    }
    Ok(sparse)
}

/// Share of the active neurons that the GPU takes when both sides are level; 1
/// where nobody looks.
fn level_share(study: &InferenceStudy, cost: &BlockCost, answers: &Answers, neurons: f64, dimms: f64) -> f64 {
    if study.exchange == Exchange::Unchecked {
        return 1.0;
    }
    let (active, activations) = answers.active();
    let (active, activations) = (active * neurons, activations * neurons);
    cost.level(active, activations, active, dimms) / active.max(1e-300)
}

/// Slowest DIMM over the mean: the largest of several sums. Where the partition
/// has put neurons, each DIMM has equally many of each frequency, and only which
/// of them are active, and what a prompt changes, is left to chance; remapping
/// moves the latter away. What a random mapper or the exchange leaves cold is
/// spread by chance altogether.
fn imbalance(
    study: &InferenceStudy,
    question: &Question,
    hot: f64,
    expected: &Expected,
    neurons: f64,
    dimms: f64,
) -> f64 {
    let mean = expected.cold * neurons / dimms;
    if mean <= 0.0 {
        return 1.0;
    }
    let variance = match study.strategy {
        Strategy::Full => expected.cold_variance,
        Strategy::Partition if study.batch.get() > 1 => expected.cold_variance,
        Strategy::Partition => expected.cold_variance + drift_variance(&question.law, hot),
        _ => expected.cold * (1.0 - 1.0 / dimms),
    };
    let deviation = (variance * neurons / dimms).sqrt();
    (1.0 + largest_of(dimms) * deviation / mean).min(dimms)
}

/// How much of each block goes to the GPU: until both sides are level, or until
/// it is full, then the same share of both blocks.
fn hot_shares(
    offline: &Answers,
    blocks: &[BlockCost; 2],
    neurons: [f64; 2],
    capacity: f64,
    dimms: f64,
) -> [f64; 2] {
    /// Relative difference of the two sides that counts as level.
    const LEVEL: f64 = 1e-4;
    let lead = |block: usize, hot: f64| {
        let (cost, count) = (&blocks[block], neurons[block]);
        let expected = offline.answer(hot, 0.0, 1.0);
        let gpu = cost.gpu_ns(expected.gpu * count, expected.gpu_activations * count);
        let cold = cost.cold_ns(expected.cold * count / dimms, expected.cold_activations * count / dimms);
        (cold - gpu) / cold.max(gpu)
    };
    // False position with halved ends (Illinois): the lead falls with the share.
    let level = |block: usize| {
        let (mut low, mut high) = ((0.0, lead(block, 0.0)), (1.0, lead(block, 1.0)));
        if low.1 <= 0.0 {
            return 0.0;
        }
        if high.1 >= 0.0 {
            return 1.0;
        }
        for _ in 0..40 {
            let middle = low.0 + (high.0 - low.0) * low.1 / (low.1 - high.1);
            let here = lead(block, middle);
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
    };
    let bytes = [0, 1].map(|it: usize| neurons[it] * blocks[it].neuron_bytes);
    let same = capacity / (bytes[0] + bytes[1]);
    // Where both want more than an equal share, they get it.
    if (0..2).all(|it| lead(it, same.min(1.0)) >= 0.0) {
        return [same.min(1.0); 2];
    }
    let best = [level(0), level(1)];
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
