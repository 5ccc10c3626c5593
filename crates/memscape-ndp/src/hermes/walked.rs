//! What the sparse blocks of a step do, walked neuron by neuron.

use rayon::prelude::*;

use super::{Sparse, placing, swap_share};
use crate::activity::{BlockKind, quadrature};
use crate::cost::Costs;
use crate::inference::{InferenceError, InferenceStudy, RandomFill, Resolved, System};
use crate::online::{Rules, Strategy, Walk, Walked};
use crate::partition::{Block, Device, Devices, Partition, Sizes, solve};
use crate::random::Key;
use crate::trace::Source;

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

pub(super) fn sparse(
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
