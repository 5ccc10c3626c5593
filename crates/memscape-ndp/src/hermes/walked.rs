//! What the sparse blocks of a step do, walked neuron by neuron.

use memscape_units::{Nanoseconds, Picoseconds, float};
use rayon::prelude::*;

use super::placement::{Placed, place};
use super::setting::{Hermes, Plan};
use super::sparse::{Late, Sparse, add_causes};
use crate::activity::{BlockKind, LayerActivity, Source};
use crate::error::NdpError;
use crate::scheduler::{BlockCost, FETCHES, Load, Rules, Strategy, Token, Walk, Walked};

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

/// A walk of a layer's two blocks.
pub(super) struct Layer<W> {
    pub blocks: [(Walked, W); 2],
    /// What is fetched at each token at which the projection does not hide it.
    late: Vec<Nanoseconds>,
}

/// A walk of all layers.
pub(super) type Walks<W> = Vec<Layer<W>>;

/// Layers that one thread takes at a time; those next to each other share the
/// work of drawing activity.
const RUN: usize = 10;

impl Hermes<'_> {
    /// Places all neurons and walks every block.
    pub(super) fn sparse<W: Watch>(&self, plan: Plan) -> Result<(Sparse, Walks<W>), NdpError> {
        self.work.check_walk()?;
        let source = self.work.source()?;
        let placed = place(self, &source, plan.capacity, self.dimm_room(), plan.dimms)?;
        let walks = walk_layers(self, &source, &placed, plan);
        let mut sparse = self.sum(&walks);
        for (index, it) in placed.iter().enumerate() {
            let cost = self.rates.block(&self.work.shape, BlockKind::ALL[index % 2]);
            let hot = it.on_gpu.iter().filter(|it| **it).count();
            sparse.hot_bytes += float(hot as u64) * cost.neuron_bytes;
        }
        Ok((sparse, walks))
    }

    /// All layers, per step.
    fn sum<W>(&self, walks: &Walks<W>) -> Sparse {
        let mut sparse = Sparse::default();
        let mut all = Walked::default();
        let (mut missed, mut active) = (0.0, 0.0);
        for block in BlockKind::ALL {
            let cost = self.rates.block(&self.work.shape, block);
            let mut sum = Walked::default();
            for it in walks {
                sum += it.blocks[block.index()].0;
            }
            self.add(block, &cost, &sum, &mut sparse);
            missed += float(sum.misses) * cost.neuron_bytes;
            active += float(sum.misses + sum.hits) * cost.neuron_bytes;
            all += sum;
        }
        let share = 1.0 / (self.work.layers() * self.steps());
        let late = walks.iter().flat_map(|it| &it.late);
        sparse.late = late.map(|time| Late { share, time: *time }).collect();
        if all.windows > 0 {
            sparse.window_imbalance = Some(all.window_imbalance / float(all.windows));
        }
        let judged = all.hits + all.false_alarms + all.misses + all.correct_rejections;
        let oracle = self.policy.strategy == Strategy::Oracle;
        let share = |right: u64, all: u64| if oracle { 1.0 } else { float(right) / float(all.max(1)) };
        sparse.accuracy = Some(share(all.hits + all.correct_rejections, judged));
        let any = all.hits + all.misses;
        sparse.recall = (any > 0).then(|| share(all.hits, any));
        sparse.missed = if oracle || active <= 0.0 { 0.0 } else { missed / active };
        sparse
    }

    fn steps(&self) -> f64 {
        f64::from(self.work.generated)
    }

    fn per_step(&self, time: Picoseconds) -> Nanoseconds {
        Nanoseconds::saturating(float(time.0) * 1e-3 / self.steps())
    }

    /// Adds what all layers' blocks of a kind did.
    fn add(&self, block: BlockKind, cost: &BlockCost, sum: &Walked, sparse: &mut Sparse) {
        sparse.time += self.per_step(sum.time);
        sparse.exposed += self.per_step(sum.exposed);
        sparse.gpu += self.per_step(sum.gpu);
        sparse.crossed +=
            self.rates.block_activations(&self.work.shape, block) * (float(sum.exchanges) / self.steps());
        sparse.cold += self.per_step(sum.cold);
        sparse.level += self.per_step(sum.level);
        let bytes = |neurons: f64| neurons * cost.neuron_bytes / self.steps();
        if block == BlockKind::Mlp {
            sparse.mlp = self.per_step(sum.time);
            sparse.mlp_exposed = self.per_step(sum.exposed);
            sparse.mlp_read = bytes(sum.gpu_neurons + sum.cold_neurons);
        }
        sparse.gpu_read += bytes(sum.gpu_neurons);
        sparse.cold_read += bytes(sum.cold_neurons);
        sparse.gpu_macs += bytes(sum.gpu_activations);
        sparse.cold_macs += bytes(sum.cold_activations);
        let split = sum.split * (1.0 / self.steps());
        let on_gpu = Load { neurons: sum.gpu_neurons, activations: sum.gpu_activations };
        let on_dimms = Load { neurons: sum.cold_neurons, activations: sum.cold_activations };
        add_causes(&mut sparse.causes, cost, &self.rates, split, [on_gpu, on_dimms]);
        let each = self.rates.carried_per_activation(&self.work.shape, block);
        sparse.carried += sum.cold_activations / self.steps() * each;
        sparse.swaps += float(sum.swapped) / self.steps();
        let moves = float(sum.moved) / self.steps();
        sparse.moves += moves;
        sparse.fetched_bytes += bytes(float(sum.swapped));
        sparse.moved_bytes += bytes(float(sum.moved));
        sparse.moved_bytes_slowest += bytes(float(sum.moved_slowest_pair));
        sparse.moved_by_host += self.rates.host_move(cost.neuron_bytes) * moves;
    }
}

/// Places all neurons, walks every layer's two blocks and sums up all of them; and
/// how many neurons the GPU holds.
///
/// * `capacity`, `room`: bytes of sparse neurons that the GPU, and each DIMM, may hold
///
/// # Errors
/// [`NdpError`] says what does not fit.
pub fn walk(hermes: &Hermes, capacity: f64, room: f64) -> Result<(Walked, u64), NdpError> {
    hermes.work.check_walk()?;
    let source = hermes.work.source()?;
    let plan = hermes.plain_plan(capacity);
    let placed = place(hermes, &source, capacity, room, plan.dimms)?;
    let hot = placed.iter().flat_map(|it| &it.on_gpu).filter(|it| **it).count();
    let mut all = Walked::default();
    let walks = walk_layers::<()>(hermes, &source, &placed, plan);
    walks.iter().flat_map(|it| &it.blocks).for_each(|it| all += it.0);
    Ok((all, hot as u64))
}

fn walk_layers<W: Watch>(hermes: &Hermes, source: &Source, placed: &[Placed], plan: Plan) -> Walks<W> {
    let layers = hermes.work.shape.layers;
    let runs: Vec<usize> = (0..layers).step_by(RUN).collect();
    let walk_run = |first: &usize| -> Walks<W> {
        let batch = hermes.work.batch as usize;
        let mut before = first.checked_sub(1).map(|it| source.layer(it, batch));
        let mut walks = Vec::with_capacity(RUN);
        for layer in *first..(*first + RUN).min(layers) {
            let activity = source.layer(layer, batch);
            let [(qkv, to_qkv), (mlp, to_mlp)] = BlockKind::ALL.map(|block| {
                let placed = &placed[layer * 2 + block.index()];
                let parents = source.parents(block, layer);
                walk_block(hermes, block, &activity, before.as_ref(), parents, placed, plan)
            });
            let fetched = to_qkv.into_iter().zip(to_mlp).map(|(qkv, mlp)| hermes.rates.pinned(qkv + mlp));
            let late = fetched.filter(|it| *it > hermes.projection()).collect();
            walks.push(Layer { blocks: [qkv, mlp], late });
            before = Some(activity);
        }
        walks
    };
    runs.par_iter().map(walk_run).collect::<Vec<_>>().into_iter().flatten().collect()
}

/// Walks a block, and tells how many bytes it fetches at each token.
fn walk_block<W: Watch>(
    hermes: &Hermes,
    block: BlockKind,
    activity: &LayerActivity,
    before: Option<&LayerActivity>,
    parents: Option<Vec<[u32; 2]>>,
    placed: &Placed,
    plan: Plan,
) -> ((Walked, W), Vec<f64>) {
    let shape = &hermes.work.shape;
    let cost = hermes.rates.block(shape, block);
    let rules = Rules {
        predictor: &hermes.machine.predictor,
        remap: &hermes.machine.remap,
        strategy: hermes.policy.strategy,
        exchange: hermes.policy.exchange,
        missed: hermes.policy.missed,
        dimms: plan.dimms,
        remaps: plan.remap,
        fetches: FETCHES[plan.fetch] * float(shape.neurons(block) as u64),
        prefill: hermes.work.prompt as usize,
        decode: hermes.work.generated as usize,
    };
    let bits = |it: &LayerActivity| it.blocks[block.index()].clone();
    let before = before.map_or_else(Vec::new, bits);
    let (mut watch, mut fetched) = (W::default(), Vec::with_capacity(rules.decode));
    let of_block = &activity.blocks[block.index()];
    let walk = Walk::new(rules, of_block, &before, parents, &placed.on_gpu, &placed.homes);
    let walked = walk.watched(&cost, |token| {
        fetched.push(float(token.swapped) * cost.neuron_bytes);
        watch.see(&token);
    });
    ((walked, watch), fetched)
}
