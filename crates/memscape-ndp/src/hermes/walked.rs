//! What the sparse blocks of a step do, walked neuron by neuron.

use memscape_study::random::Key;
use memscape_units::{Nanoseconds, Picoseconds};
use rayon::prelude::*;

use super::placement::{offline, scatter};
use super::setting::{Hermes, swap_share};
use super::sparse::{Sparse, cause};
use crate::activity::{BlockKind, LayerActivity, Source};
use crate::cost::{Causes, ColdSide};
use crate::error::NdpError;
use crate::numbers::precise;
use crate::partition::Device;
use crate::scheduler::{BlockCost, Rules, Strategy, Token, Walk, Walked};

/// Who watches a walk: one watcher for each block of each layer, which are walked
/// on all threads.
pub(super) trait Watch: Default + Send {
    /// Sees a token of its block.
    fn see(&mut self, token: &Token<'_>);
}

/// Nobody.
impl Watch for () {
    fn see(&mut self, _: &Token<'_>) {}
}

/// A walk of all layers' two blocks.
pub(super) type Walks<W> = Vec<[(Walked, W); 2]>;

/// Layers that one thread takes at a time; those next to each other share the
/// work of drawing activity.
const RUN: usize = 10;

impl Hermes<'_> {
    /// Places all neurons and walks every block.
    ///
    /// * `capacity`: bytes of sparse neurons that the GPU may hold
    pub(super) fn sparse<W: Watch>(&self, capacity: f64) -> Result<(Sparse, Walks<W>), NdpError> {
        let source = self.work.source()?;
        let device = self.place(&source, capacity)?;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count of DIMMs")]
        let dimms = self.rates.dimms as usize;
        let walks = walk_layers(self, &source, &device, dimms);
        let mut sparse = self.sum(&walks);
        for (index, device) in device.iter().enumerate() {
            let cost = self.rates.block(&self.work.shape, BlockKind::ALL[index % 2]);
            let hot = device.iter().filter(|it| **it == 0).count();
            sparse.hot_bytes += precise(hot as u64) * cost.neuron_bytes;
        }
        Ok((sparse, walks))
    }

    /// Where neurons lie before the first token.
    fn place(&self, source: &Source, capacity: f64) -> Result<Vec<Vec<Device>>, NdpError> {
        let mut device = offline(&self.placing_rates(), &self.work.shape, source, capacity)?.device;
        if self.policy.strategy == Strategy::Random {
            let share = self.random_share(capacity);
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count of DIMMs")]
            let dimms = self.rates.dimms as usize;
            for (block, device) in device.iter_mut().enumerate() {
                scatter(device, Key::new(self.policy.seed).fork(7).fork(block as u64), dimms, share);
            }
        }
        if self.cold == ColdSide::Host {
            for it in device.iter_mut().flatten() {
                *it = (*it).min(1);
            }
        }
        Ok(device)
    }

    /// All layers, per step.
    fn sum<W>(&self, walks: &Walks<W>) -> Sparse {
        let mut sparse = Sparse::default();
        let (mut all, mut causes) = (Walked::default(), Causes::of([]));
        for block in BlockKind::ALL {
            let cost = self.rates.block(&self.work.shape, block);
            let mut sum = Walked::default();
            for it in walks {
                sum += it[block.index()].0;
            }
            self.add(block, &cost, &sum, &mut sparse);
            causes.add(self.cause(&cost, &sum), self.per_step(sum.time));
            all += sum;
        }
        if all.windows > 0 {
            sparse.window_imbalance = Some(all.window_imbalance / precise(all.windows));
        }
        let judged = all.hits + all.false_alarms + all.misses + all.correct_rejections;
        if judged > 0 {
            sparse.accuracy = Some(precise(all.hits + all.correct_rejections) / precise(judged));
            sparse.recall = Some(precise(all.hits) / precise((all.hits + all.misses).max(1)));
        }
        Sparse { bound_by: causes.largest(), ..sparse }
    }

    fn steps(&self) -> f64 {
        f64::from(self.work.generated)
    }

    fn per_step(&self, time: Picoseconds) -> Nanoseconds {
        Nanoseconds::saturating(precise(time.0) * 1e-3 / self.steps())
    }

    /// Adds what all layers' blocks of a kind did.
    fn add(&self, block: BlockKind, cost: &BlockCost, sum: &Walked, sparse: &mut Sparse) {
        sparse.time += self.per_step(sum.time);
        sparse.exposed += self.per_step(sum.exposed);
        sparse.gpu += self.per_step(sum.gpu);
        sparse.cold += self.per_step(sum.cold);
        sparse.level += self.per_step(sum.level);
        if block == BlockKind::Mlp {
            sparse.mlp = self.per_step(sum.time);
        }
        let bytes = |neurons: u64| precise(neurons) * cost.neuron_bytes / self.steps();
        sparse.gpu_read += bytes(sum.gpu_neurons);
        sparse.cold_read += bytes(sum.cold_neurons);
        sparse.gpu_macs += bytes(sum.gpu_activations);
        sparse.cold_macs += bytes(sum.cold_activations);
        sparse.swaps += precise(sum.swapped) / self.steps();
        let moves = precise(sum.moved) / self.steps();
        sparse.moves += moves;
        sparse.moved_bytes_slowest += bytes(sum.moved_slowest_pair);
        sparse.moved_by_host += self.rates.host_move(cost.neuron_bytes) * moves;
    }

    fn cause(&self, cost: &BlockCost, sum: &Walked) -> memscape_study::BoundBy {
        let blocks = self.steps() * self.work.layers();
        let sides = [sum.gpu, sum.cold].map(|it| Nanoseconds::saturating(it.as_ns() / blocks));
        let each = |gpu: u64, cold: u64| [precise(gpu), precise(cold) / self.rates.dimms];
        let reads = each(sum.gpu_neurons, sum.cold_neurons);
        let activations = each(sum.gpu_activations, sum.cold_activations);
        cause(cost, self.rates.dispatch, sides, reads, activations)
    }
}

/// Walks every layer's two blocks from a placement, and sums up all of them.
#[must_use]
pub fn walk(hermes: &Hermes, source: &Source, device: &[Vec<Device>], dimms: usize) -> Walked {
    let mut all = Walked::default();
    walk_layers::<()>(hermes, source, device, dimms).iter().flatten().for_each(|it| all += it.0);
    all
}

fn walk_layers<W: Watch>(hermes: &Hermes, source: &Source, device: &[Vec<Device>], dimms: usize) -> Walks<W> {
    let layers = hermes.work.shape.layers;
    let runs: Vec<usize> = (0..layers).step_by(RUN).collect();
    let walk_run = |first: &usize| -> Walks<W> {
        let batch = hermes.work.batch as usize;
        let mut before = first.checked_sub(1).map(|it| source.layer(it, batch));
        let mut walks = Vec::with_capacity(RUN);
        for layer in *first..(*first + RUN).min(layers) {
            let activity = source.layer(layer, batch);
            walks.push(BlockKind::ALL.map(|block| {
                let device = &device[layer * 2 + block.index()];
                let parents = source.parents(block, layer);
                walk_block(hermes, block, &activity, before.as_ref(), parents, device, dimms)
            }));
            before = Some(activity);
        }
        walks
    };
    runs.par_iter().map(walk_run).collect::<Vec<_>>().into_iter().flatten().collect()
}

fn walk_block<W: Watch>(
    hermes: &Hermes,
    block: BlockKind,
    activity: &LayerActivity,
    before: Option<&LayerActivity>,
    parents: Option<Vec<[u32; 2]>>,
    device: &[Device],
    dimms: usize,
) -> (Walked, W) {
    let (shape, fetched) = (&hermes.work.shape, swap_share(&hermes.rates, &hermes.work.shape));
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of neurons")]
    let swaps = (fetched * precise(shape.neurons(block) as u64)) as usize;
    let rules = Rules {
        predictor: &hermes.machine.predictor,
        remap: &hermes.machine.remap,
        strategy: hermes.policy.strategy,
        exchange: hermes.policy.exchange,
        dimms,
        swaps,
        prefill: hermes.work.prompt as usize,
        decode: hermes.work.generated as usize,
        judge: true,
    };
    let bits = |it: &LayerActivity| it.blocks[block.index()].clone();
    let before = before.map_or_else(Vec::new, bits);
    let mut watch = W::default();
    let walk = Walk::new(rules, &activity.blocks[block.index()], &before, parents, device);
    let walked = walk.watched(&hermes.rates.block(shape, block), |token| watch.see(&token));
    (walked, watch)
}
