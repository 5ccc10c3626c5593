//! Hermes itself: sparse blocks on GPU and DIMMs (or the host) at the same time.

use rayon::prelude::*;

use crate::activity::{BlockKind, quadrature};
use crate::cost::Costs;
use crate::expected::{Answers, Expected, Question, drift_variance, largest_of};
use crate::inference::{Engine, HostPlacement, InferenceError, InferenceStudy, RandomFill, Resolved, System};
use crate::online::{BlockCost, Exchange, Rules, Strategy, Walk, Walked};
use crate::partition::{Block, Device, Devices, Partition, Sizes, solve};
use crate::random::Key;
use crate::shape::FP16;
use crate::trace::Source;

/// Where the time goes: the prompt, and one step on average.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Account {
    /// The prompt.
    pub prompt_ns: f64,
    /// Of the prompt: transfers over PCIe.
    pub prompt_pcie_ns: f64,
    /// Weights read and multiplied.
    pub fc_ns: f64,
    /// Attention.
    pub attention_ns: f64,
    /// Transfers, synchronisation, merging.
    pub communication_ns: f64,
    /// Of these: over PCIe.
    pub pcie_ns: f64,
    /// Prediction.
    pub predictor_ns: f64,
    /// Feed-forward blocks, with their synchronisation.
    pub mlp_ns: f64,
    /// Sparse blocks on the GPU.
    pub gpu_ns: f64,
    /// Sparse blocks on the slowest DIMM.
    pub cold_ns: f64,
    /// Share of neurons on the GPU.
    pub hot_share: f64,
    /// Share of read neurons that the GPU reads.
    pub gpu_read_share: f64,
    /// Share of multiply-accumulates that are cold.
    pub cold_compute_share: f64,
    /// Slowest DIMM over the mean.
    pub imbalance: f64,
    /// The same over a window.
    pub window_imbalance: Option<f64>,
    /// Neurons fetched by the GPU.
    pub swaps: f64,
    /// Neurons moved between DIMMs.
    pub moves: f64,
    /// Moving them over the links, pairs at the same time.
    pub moves_ns: f64,
    /// Moving them through the host, one after the other.
    pub host_moves_ns: f64,
    /// Share of predictions that are right.
    pub accuracy: Option<f64>,
    /// Share of active neurons that are predicted.
    pub recall: Option<f64>,
}

impl Account {
    /// Time of one step.
    #[must_use]
    pub fn step_ns(&self) -> f64 {
        self.fc_ns + self.attention_ns + self.communication_ns + self.predictor_ns
    }
}

/// Weights and key-value cache must fit the DIMMs.
pub(crate) fn check_dimms(study: &InferenceStudy, resolved: &Resolved) -> Result<(), InferenceError> {
    let shape = &resolved.shape;
    let tokens = f64::from(resolved.prompt) + f64::from(resolved.generated);
    let layers = f64::from(u32::try_from(shape.layers).unwrap_or(u32::MAX));
    let need_gb = (shape.bytes() + layers * shape.kv_bytes() * tokens * f64::from(study.batch.get())) * 1e-9;
    let (dimms, capacity_gb) = (study.dimms.get(), study.dimm.capacity_gb.as_f64());
    if need_gb <= f64::from(dimms) * capacity_gb {
        return Ok(());
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count of DIMMs")]
    let needed = (need_gb / capacity_gb.max(1e-9)).ceil() as u32;
    Err(InferenceError::Dimms { need_gb, dimms, capacity_gb, needed })
}

/// Bytes of sparse neurons that the GPU can hold.
pub(crate) fn hot_capacity(
    study: &InferenceStudy,
    resolved: &Resolved,
    costs: &Costs,
) -> Result<f64, InferenceError> {
    if let Some(share) = study.hot_share {
        return Ok(share.as_f64() * resolved.shape.sparse_bytes());
    }
    let (need, have) = (resolved.shape.dense_bytes(), costs.usable_bytes);
    if need > have {
        return Err(InferenceError::Dense { need_gb: need * 1e-9, have_gb: have * 1e-9 });
    }
    Ok(have - need)
}

/// What the sparse blocks of one step do, over all layers.
#[derive(Debug, Clone, Copy, Default)]
struct Sparse {
    time_ns: f64,
    mlp_ns: f64,
    /// Of the time: synchronisation that computing does not hide.
    exposed_ns: f64,
    gpu_ns: f64,
    cold_ns: f64,
    level_ns: f64,
    /// Bytes read per step, weighted alike on both sides.
    gpu_read: f64,
    cold_read: f64,
    gpu_macs: f64,
    cold_macs: f64,
    hot_bytes: f64,
    swaps: f64,
    moves: f64,
    moved_bytes_slowest: f64,
    moved_host_ns: f64,
    window_imbalance: Option<f64>,
    accuracy: Option<f64>,
    recall: Option<f64>,
}

/// Prompt and reply on Hermes, or with the host in the DIMMs' place.
pub(crate) fn account(
    study: &InferenceStudy,
    resolved: &Resolved,
    costs: &Costs,
) -> Result<Account, InferenceError> {
    check_dimms(study, resolved)?;
    let capacity = hot_capacity(study, resolved, costs)?;
    let sparse = match (study.engine, &resolved.recording) {
        (Engine::Closed, Some(recording)) => return Err(InferenceError::ClosedTrace(recording.name.clone())),
        (Engine::Closed, None) => closed(study, resolved, costs, capacity)?,
        (Engine::Trace, _) => walked(study, resolved, costs, capacity)?,
    };
    let shape = &resolved.shape;
    let layers = f64::from(u32::try_from(shape.layers).unwrap_or(u32::MAX));
    let context = f64::from(resolved.prompt) + f64::from(resolved.generated) / 2.0;
    let projection = costs.gpu_dense_ns(shape.projection_weights());
    let transfers = layers * 3.0 * costs.activations_ns(shape.hidden);
    let on_host = study.system == System::HermesHost;
    // QKV's and the feed-forward network's sums are brought together.
    let merging = if on_host {
        0.0
    } else {
        layers * (costs.merge_ns(study, shape.q + 2 * shape.kv) + costs.merge_ns(study, shape.hidden))
    };
    let moves_ns = sparse.moved_bytes_slowest / study.link_gb_s.as_f64();
    // What the projection does not hide.
    let late = (moves_ns - layers * projection).max(0.0);
    let single = layers * (costs.exchange_ns + costs.activations_ns(shape.hidden));
    let streamed = shape.bytes();
    let (prompt_ns, prompt_pcie_ns) = costs.prompt_ns(study, resolved, streamed);
    let reload = (sparse.hot_bytes + shape.dense_bytes()) / costs.pcie_bytes_per_ns;
    let tables: f64 =
        BlockKind::ALL.iter().map(|it| layers * predictor_bytes(shape.neurons(*it), true)).sum();
    let head = costs.gpu_dense_ns(shape.head) + costs.launch_ns;
    Ok(Account {
        prompt_ns: prompt_ns + reload,
        prompt_pcie_ns: prompt_pcie_ns + reload,
        fc_ns: sparse.time_ns - sparse.exposed_ns + layers * projection + head,
        attention_ns: layers * costs.attention_ns(study, shape, context),
        communication_ns: sparse.exposed_ns + single + merging + late,
        pcie_ns: transfers,
        predictor_ns: tables / study.host.cache_gb_s.as_f64(),
        mlp_ns: sparse.mlp_ns,
        gpu_ns: sparse.gpu_ns,
        cold_ns: sparse.cold_ns,
        hot_share: sparse.hot_bytes / shape.sparse_bytes(),
        gpu_read_share: sparse.gpu_read / (sparse.gpu_read + sparse.cold_read).max(1e-300),
        cold_compute_share: sparse.cold_macs / (sparse.gpu_macs + sparse.cold_macs).max(1e-300),
        imbalance: if sparse.level_ns > 0.0 { sparse.cold_ns / sparse.level_ns } else { 1.0 },
        window_imbalance: sparse.window_imbalance,
        swaps: sparse.swaps,
        moves: sparse.moves,
        moves_ns,
        host_moves_ns: sparse.moved_host_ns,
        accuracy: sparse.accuracy,
        recall: sparse.recall,
    })
}

/// Bytes of the predictor's tables for one block: states read and written, and
/// two parents read per neuron.
#[must_use]
pub fn predictor_bytes(neurons: usize, with_parents: bool) -> f64 {
    let parents = if with_parents { correlation_bytes(neurons) } else { 0.0 };
    2.0 * state_bytes(neurons) + parents
}

/// The state table of one block: four bits per neuron.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "widths")]
pub fn state_bytes(neurons: usize) -> f64 {
    neurons as f64 / 2.0
}

/// The correlation table of one block: two neuron numbers per neuron.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "widths")]
pub fn correlation_bytes(neurons: usize) -> f64 {
    let bits = f64::from(usize::BITS - neurons.saturating_sub(1).leading_zeros());
    neurons as f64 * 2.0 * bits / 8.0
}

/// Share of a block's neurons that the GPU can fetch per token: over PCIe, while
/// it reads the output projection. Both blocks share the time by their bytes.
fn swap_share(resolved: &Resolved, costs: &Costs) -> f64 {
    let shape = &resolved.shape;
    let window = costs.gpu_dense_ns(shape.projection_weights());
    let layer: f64 = BlockKind::ALL.iter().map(|it| FP16 * shape.block_weights(*it)).sum();
    (window * costs.pcie_bytes_per_ns / layer).min(1.0)
}

/// The system whose speeds decide where neurons lie.
fn placing(study: &InferenceStudy) -> std::borrow::Cow<'_, InferenceStudy> {
    if study.system == System::HermesHost && study.host_placement == HostPlacement::AsHermes {
        std::borrow::Cow::Owned(InferenceStudy { system: System::Hermes, ..study.clone() })
    } else {
        std::borrow::Cow::Borrowed(study)
    }
}

// ---------------------------------------------------------------------------
// Expected values

fn closed(
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

// ---------------------------------------------------------------------------
// The walk

/// The offline partition of a study, block by block: QKV and feed-forward of
/// each layer in turn.
pub(crate) fn partition(
    study: &InferenceStudy,
    resolved: &Resolved,
    costs: &Costs,
    capacity: f64,
    source: &Source,
) -> Result<Partition, InferenceError> {
    let shape = &resolved.shape;
    let order: Vec<(usize, BlockKind)> =
        (0..shape.layers).flat_map(|layer| BlockKind::ALL.map(|block| (layer, block))).collect();
    let batch = i32::try_from(study.batch.get()).unwrap_or(i32::MAX);
    let frequency: Vec<Vec<f32>> = order
        .par_iter()
        .map(|(layer, block)| {
            let mut frequency = source.frequency(*block, *layer);
            if batch > 1 {
                for it in &mut frequency {
                    *it = 1.0 - (1.0 - *it).powi(batch);
                }
            }
            frequency
        })
        .collect();
    // Where multiplying is slower than reading, it sets the DIMMs' pace.
    let union = match source {
        Source::Law(law) => quadrature(|z| 1.0 - (1.0 - law.law.profiled(z)).powi(batch)),
        Source::Recorded(_) => mean(&frequency),
    };
    let activations = costs.batch
        * match source {
            Source::Law(law) => law.law.density,
            Source::Recorded(recording) => {
                recording.profile.frequency.iter().map(|it| mean(it)).sum::<f64>() / 2.0
            }
        };
    let cost = costs.block(study, shape, BlockKind::Mlp);
    let cold = cost.cold_ns(union, activations);
    let gpu = (union * cost.gpu_neuron_ns).max(activations * cost.gpu_activation_ns);
    let rate = |ns: f64| union * cost.neuron_bytes / ns * 1e9;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count of DIMMs")]
    let dimms = costs.dimms as usize;
    let devices = Devices {
        gpu_bandwidth: rate(gpu),
        gpu_capacity: capacity,
        dimm_bandwidth: vec![rate(cold); dimms],
        // All weights lie on the DIMMs, hot ones as well (Sec. IV-C2), which was
        // checked before; placement is free to fill any DIMM.
        dimm_capacity: vec![shape.bytes(); dimms],
    };
    let blocks: Vec<Block> = order
        .iter()
        .zip(&frequency)
        .map(|((_, block), frequency)| {
            let cost = costs.block(study, shape, *block);
            Block { bytes: Sizes::Equal(cost.neuron_bytes), frequency, gpu_fixed_s: cost.gpu_fixed_ns * 1e-9 }
        })
        .collect();
    Ok(solve(&blocks, &devices)?)
}

#[expect(clippy::cast_precision_loss, reason = "counts of neurons")]
fn mean(rows: &[Vec<f32>]) -> f64 {
    let count: usize = rows.iter().map(Vec::len).sum();
    rows.iter().flatten().map(|it| f64::from(*it)).sum::<f64>() / count.max(1) as f64
}

/// Neurons anywhere: as many on the GPU as were there before, or as fit.
fn scatter(device: &mut [Device], key: Key, dimms: usize, fill: Option<f64>) {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a share of neurons"
    )]
    let hot = match fill {
        Some(share) => (share * device.len() as f64) as usize,
        None => device.iter().filter(|it| **it == 0).count(),
    };
    let mut order: Vec<(u64, usize)> = (0..device.len()).map(|it| (key.bits(it as u64), it)).collect();
    order.sort_unstable();
    for (rank, (bits, neuron)) in order.into_iter().enumerate() {
        let dimm = Device::try_from(bits % dimms as u64 + 1).expect("at most 4096 DIMMs");
        device[neuron] = if rank < hot { 0 } else { dimm };
    }
}

fn walked(
    study: &InferenceStudy,
    resolved: &Resolved,
    costs: &Costs,
    capacity: f64,
) -> Result<Sparse, InferenceError> {
    let source = study.source(resolved)?;
    let shape = &resolved.shape;
    let placing = placing(study);
    let mut placed = partition(&placing, resolved, &Costs::new(&placing, resolved), capacity, &source)?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count of DIMMs")]
    let dimms = costs.dimms as usize;
    if study.strategy == Strategy::Random {
        let fill =
            (study.random_fill == RandomFill::Capacity).then(|| (capacity / shape.sparse_bytes()).min(1.0));
        for (block, device) in placed.device.iter_mut().enumerate() {
            scatter(device, Key::new(study.seed).fork(7).fork(block as u64), dimms, fill);
        }
    }
    if study.system == System::HermesHost {
        for it in placed.device.iter_mut().flatten() {
            *it = (*it).min(1);
        }
    }
    let walks = walk_layers(study, resolved, costs, &source, &placed.device, dimms);
    let steps = f64::from(resolved.generated);
    let mut sparse = Sparse::default();
    let mut all = Walked::default();
    for block in BlockKind::ALL {
        let cost = costs.block(study, shape, block);
        let mut sum = Walked::default();
        for it in &walks {
            sum += it[block.index()];
        }
        let per_step = |ps: u64| precise(ps) * 1e-3 / steps;
        sparse.time_ns += per_step(sum.time_ps);
        sparse.exposed_ns += per_step(sum.exposed_ps);
        sparse.gpu_ns += per_step(sum.gpu_ps);
        sparse.cold_ns += per_step(sum.cold_ps);
        sparse.level_ns += per_step(sum.level_ps);
        if block == BlockKind::Mlp {
            sparse.mlp_ns = per_step(sum.time_ps);
        }
        let bytes = |neurons: u64| precise(neurons) * cost.neuron_bytes / steps;
        sparse.gpu_read += bytes(sum.gpu_neurons);
        sparse.cold_read += bytes(sum.cold_neurons);
        sparse.gpu_macs += bytes(sum.gpu_activations);
        sparse.cold_macs += bytes(sum.cold_activations);
        sparse.swaps += precise(sum.swapped) / steps;
        sparse.moves += precise(sum.moved) / steps;
        sparse.moved_bytes_slowest += bytes(sum.moved_slowest_pair);
        sparse.moved_host_ns += precise(sum.moved) / steps * Costs::host_move_ns(study, cost.neuron_bytes);
        all += sum;
    }
    for (index, device) in placed.device.iter().enumerate() {
        let cost = costs.block(study, shape, BlockKind::ALL[index % 2]);
        let hot = device.iter().filter(|it| **it == 0).count();
        sparse.hot_bytes += precise(hot as u64) * cost.neuron_bytes;
    }
    if all.windows > 0 {
        sparse.window_imbalance = Some(all.window_imbalance / precise(all.windows));
    }
    let judged = all.hits + all.false_alarms + all.misses + all.correct_rejections;
    if judged > 0 {
        sparse.accuracy = Some(precise(all.hits + all.correct_rejections) / precise(judged));
        sparse.recall = Some(precise(all.hits) / precise((all.hits + all.misses).max(1)));
    }
    Ok(sparse)
}

/// Walks every layer's two blocks; layers next to each other share the work of
/// drawing activity.
pub(crate) fn walk_layers(
    study: &InferenceStudy,
    resolved: &Resolved,
    costs: &Costs,
    source: &Source,
    device: &[Vec<Device>],
    dimms: usize,
) -> Vec<[Walked; 2]> {
    /// Layers that one thread takes at a time.
    const RUN: usize = 10;
    let shape = &resolved.shape;
    let batch = study.batch.get() as usize;
    let fetched = swap_share(resolved, costs);
    let runs: Vec<usize> = (0..shape.layers).step_by(RUN).collect();
    let walk_run = |first: &usize| -> Vec<[Walked; 2]> {
        let mut before = first.checked_sub(1).map(|it| source.layer(it, batch));
        let mut walks = Vec::with_capacity(RUN);
        for layer in *first..(*first + RUN).min(shape.layers) {
            let activity = source.layer(layer, batch);
            walks.push(BlockKind::ALL.map(|block| {
                let cost = costs.block(study, shape, block);
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    clippy::cast_precision_loss,
                    reason = "a share of neurons"
                )]
                let swaps = (fetched * shape.neurons(block) as f64) as usize;
                let rules = Rules {
                    predictor: &study.predictor,
                    remap: &study.remap,
                    strategy: study.strategy,
                    exchange: study.exchange,
                    dimms,
                    swaps,
                    prefill: resolved.prompt as usize,
                    decode: resolved.generated as usize,
                    judge: true,
                };
                let bits = |it: &crate::trace::LayerActivity| it.blocks[block.index()].clone();
                let before = before.as_ref().map_or_else(Vec::new, bits);
                let device = &device[layer * 2 + block.index()];
                Walk::new(
                    rules,
                    &activity.blocks[block.index()],
                    &before,
                    source.parents(block, layer),
                    device,
                )
                .run(&cost)
            }));
            before = Some(activity);
        }
        walks
    };
    runs.par_iter().map(walk_run).collect::<Vec<_>>().into_iter().flatten().collect()
}

#[expect(clippy::cast_precision_loss, reason = "counts and picoseconds stay far below 2^53")]
fn precise(count: u64) -> f64 {
    count as f64
}
