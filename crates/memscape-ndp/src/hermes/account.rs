//! Prompt and reply on Hermes, or with the host in the DIMMs' place.

use std::num::NonZeroU32;

use memscape_study::{BoundBy, CostEngine, OperatorCost, Pass};
use memscape_units::{Nanoseconds, float};
use memscape_workload::Matrix;
use memscape_workload::operators::ATTENTION;

use super::closed;
use super::setting::{Hermes, Plan};
use super::sparse::{Late, Sparse};
use super::walked::{Walks, Watch};
use crate::activity::BlockKind;
use crate::cost::operators::{Communicated, Peaks, mlp, of_prompt};
use crate::cost::{
    Account, ColdSide, DimmWork, Held, Prompt, Rates, StepPart, Traffic, on_dimms, predictor_bytes, step,
};
use crate::error::NdpError;
use crate::hardware::Rule;
use crate::work::Activity;

/// Prompt and reply on Hermes, or with the host in the DIMMs' place.
///
/// # Errors
/// [`NdpError`] says what does not fit, or cannot be known.
pub fn account(hermes: &Hermes) -> Result<Account, NdpError> {
    let held = on_dimms(hermes.machine, hermes.work)?;
    let (sparse, plan, _) = walked_or_expected::<()>(hermes, hermes.policy.engine)?;
    told(hermes, &sparse, plan, held)
}

fn told(hermes: &Hermes, sparse: &Sparse, plan: Plan, held: Held) -> Result<Account, NdpError> {
    let rest = Rest::new(hermes, sparse, plan);
    let step = step([
        (StepPart::Fc, sparse.time - sparse.exposed + rest.projection * rest.layers + rest.head),
        (StepPart::Attention, hermes.attention(hermes.work.mean_context()) * rest.layers),
        (StepPart::Communication, sparse.exposed + rest.single * rest.layers + rest.merging() + rest.late),
        (StepPart::Predictor, rest.predictor),
    ])?;
    if hermes.policy.engine == CostEngine::Closed {
        check_moves(hermes, (rest.late - rest.fetching).as_f64() / step.total().as_ns())?;
    }
    Ok(Account {
        pcie: sparse.crossed
            + hermes.rates.projection_activations(&hermes.work.shape) * rest.layers
            + rest.fetching,
        mlp: Some(sparse.mlp),
        gpu: sparse.gpu,
        cold: sparse.cold,
        hot_share: sparse.hot_bytes / hermes.work.shape.sparse_bytes(),
        gpu_read_share: sparse.gpu_read / (sparse.gpu_read + sparse.cold_read).max(1e-300),
        cold_compute_share: sparse.cold_macs / (sparse.gpu_macs + sparse.cold_macs).max(1e-300),
        imbalance: if sparse.level > Nanoseconds::ZERO { sparse.cold / sparse.level } else { 1.0 },
        window_imbalance: sparse.window_imbalance,
        missed: sparse.missed,
        swaps: sparse.swaps,
        moves: sparse.moves,
        link_moves: hermes.rates.link_move(sparse.moved_bytes_slowest),
        host_moves: sparse.moved_by_host,
        accuracy: sparse.accuracy,
        recall: sparse.recall,
        traffic: Some(hermes.traffic(sparse, plan)),
        ..Account::dense(hermes.prompt(sparse), step, rest.bound_by(hermes, sparse), held)
    })
}

/// Prompt and step, operator by operator.
///
/// # Errors
/// As of [`account`].
pub fn operators(hermes: &Hermes) -> Result<Vec<OperatorCost>, NdpError> {
    let held = on_dimms(hermes.machine, hermes.work)?;
    let (sparse, plan, _) = walked_or_expected::<()>(hermes, hermes.policy.engine)?;
    let account = told(hermes, &sparse, plan, held)?;
    let (rest, work, rates) = (Rest::new(hermes, &sparse, plan), hermes.work, &hermes.rates);
    let peaks = Peaks::of(hermes.machine, rates, 1);
    let mut costs = of_prompt(&account, work, rates, rates, &peaks, Communicated::Weights);
    let (bytes, layers) = (work.shape.weight_bytes, rest.layers);
    let mut add = |name, least, parts: &[(&str, Nanoseconds)]| {
        costs.push(OperatorCost::new(Pass::Token, name, least, parts.iter().copied()));
    };
    let on_gpu = |weights: f64| peaks.on_gpu(weights * bytes, weights * rates.batch);
    let read = sparse.gpu_read + sparse.cold_read;
    let merges = rest.merges.map(|it| it * layers);
    let [qkv, qkv_exposed] = [sparse.time - sparse.mlp, sparse.exposed - sparse.mlp_exposed];
    let sides = |time: Nanoseconds, exposed, merging| {
        [("slower_side", time - exposed), ("synchronisation", exposed), ("merging", merging)]
    };
    add(Matrix::Qkv.name(), peaks.on_both(read - sparse.mlp_read), &sides(qkv, qkv_exposed, merges[0]));
    let projection = [("gpu", rest.projection * layers), ("synchronisation", rest.single * layers)];
    add(Matrix::Out.name(), on_gpu(work.shape.projection_weights() * layers), &projection);
    add(mlp(work), peaks.on_both(sparse.mlp_read), &sides(sparse.mlp, sparse.mlp_exposed, merges[1]));
    add(Matrix::LmHead.name(), on_gpu(work.shape.head), &[("gpu", rest.head)]);
    let attention = hermes.attention(work.mean_context()) * layers;
    let cache = peaks.on_cold(work.token_cache_bytes() * work.mean_context());
    add(ATTENTION, cache, &[("attention", attention)]);
    add("scheduling", Nanoseconds::ZERO, &[("moving", rest.late), ("predictor", rest.predictor)]);
    Ok(costs)
}

/// How many neurons move is known within a factor of two in most cases where they are many, so that up to this share of a
/// step the engines stay within the bound that laws hold them to.
const MOST_MOVED: f64 = 0.1;

fn check_moves(hermes: &Hermes, share: f64) -> Result<(), NdpError> {
    if share > MOST_MOVED {
        let link_gb_s = hermes.machine.link_gb_s.as_f64();
        return Err(NdpError::ClosedMoves { link_gb_s, share: share * 100.0 });
    }
    Ok(())
}

/// What the sparse blocks do, by expected values or walked, and the plan behind it.
/// A recording has no law to plan by.
pub(super) fn walked_or_expected<W: Watch>(
    hermes: &Hermes,
    engine: CostEngine,
) -> Result<(Sparse, Plan, Walks<W>), NdpError> {
    if engine == CostEngine::Closed && hermes.machine.predictor.rule == Rule::Exceed {
        return Err(NdpError::ClosedRule);
    }
    let dimms = hermes.machine.dimms.get();
    if engine == CostEngine::Closed
        && hermes.cold == ColdSide::Dimms
        && let Some(groups) = hermes.policy.groups.map(NonZeroU32::get).filter(|it| *it < dimms)
    {
        return Err(NdpError::ClosedGroups { groups, dimms });
    }
    let capacity = hermes.hot_capacity()?;
    let expected = match &hermes.work.activity {
        Activity::Law { law, density, .. } => Some(closed::sparse(hermes, law.at(*density)?, capacity)),
        Activity::Recorded(..) => None,
    };
    match (engine, expected, &hermes.work.activity) {
        (CostEngine::Closed, Some((sparse, plan)), _) => Ok((sparse, plan, Vec::new())),
        (CostEngine::Closed, None, Activity::Recorded(recording, _)) => {
            Err(NdpError::ClosedRecording(recording.name.clone()))
        }
        (_, expected, _) => {
            let plan = expected.map_or_else(|| hermes.plain_plan(capacity), |it| it.1);
            let (sparse, walks) = hermes.sparse(plan)?;
            Ok((sparse, plan, walks))
        }
    }
}

impl Hermes<'_> {
    /// The prompt on the GPU: weights that it does not hold are streamed, layer by
    /// layer, while it computes.
    pub(super) fn prompt(&self, sparse: &Sparse) -> Prompt {
        self.prompt_with(sparse.hot_bytes)
    }

    /// What the DIMMs do. Where the host computes, they are plain ones, and what moves between them
    /// passes through it.
    fn traffic(&self, sparse: &Sparse, plan: Plan) -> Traffic {
        let (work, shape, stage) = (self.work, &self.work.shape, self.policy.prompt);
        let cache = work.token_cache_bytes();
        let brought = Rates::prompt_bytes(stage, shape, sparse.hot_bytes + shape.dense_bytes());
        let copied = Rates::prompt_passes(stage) * brought;
        let attends = work.mean_context();
        let near = self.cold == ColdSide::Dimms;
        let count = f64::from(u32::try_from(plan.dimms).unwrap_or(u32::MAX));
        let merged: f64 = shape.merged().map(|it| self.rates.merged_bytes(it, count)).iter().sum();
        let [q, layers] = [shape.q, shape.layers].map(|it| float(it as u64));
        let attention_macs = 2.0 * q * attends * layers * self.rates.batch;
        let sparse_macs = sparse.cold_macs / shape.weight_bytes;
        let multiplied = sparse.cold_read + cache * attends;
        Traffic {
            prompt: DimmWork {
                read: brought + copied,
                written: copied + work.prompt_cache_bytes(),
                ..DimmWork::default()
            },
            step: DimmWork {
                read: multiplied + sparse.fetched_bytes + sparse.moved_bytes,
                near: if near { multiplied } else { 0.0 },
                written: cache + sparse.moved_bytes,
                linked: if near { merged * layers + sparse.moved_bytes } else { 0.0 },
                macs: if near { sparse_macs + attention_macs } else { 0.0 },
                carried: sparse.carried + self.rates.carried_bytes(shape, count, attends) * layers,
            },
        }
    }

    /// Attention of one layer.
    pub(super) fn attention(&self, context: f64) -> Nanoseconds {
        self.rates.attention(&self.work.shape, context)
    }
}

/// What a step has beside sparse blocks and attention.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rest {
    /// Layers.
    pub layers: f64,
    /// One layer's output projection on the GPU.
    pub projection: Nanoseconds,
    /// One layer's synchronisation and transfer before it.
    pub single: Nanoseconds,
    /// Bringing inputs to the units of one layer's blocks, and their sums together.
    pub merges: [Nanoseconds; 2],
    /// LM head on the GPU.
    pub head: Nanoseconds,
    /// Of neurons that move to the GPU or between DIMMs: what projections do not hide.
    pub late: Nanoseconds,
    /// Of these: neurons that move to the GPU. Where others move between DIMMs for longer, PCIe is done before.
    pub fetching: Nanoseconds,
    /// The predictor's tables.
    pub predictor: Nanoseconds,
}

impl Rest {
    pub fn new(hermes: &Hermes, sparse: &Sparse, plan: Plan) -> Self {
        let (rates, shape, layers) = (&hermes.rates, &hermes.work.shape, hermes.work.layers());
        let projection = hermes.projection();
        let merges = match hermes.cold {
            ColdSide::Host => [Nanoseconds::ZERO; 2],
            ColdSide::Dimms => rates.around(shape, plan.dimms),
        };
        // PCIe and the links move at the same time.
        let moving = rates.link_move(sparse.moved_bytes_slowest) * (1.0 / layers);
        let hidden = projection.max(moving);
        let tables: f64 = BlockKind::ALL.iter().map(|it| layers * predictor_bytes(shape.neurons(*it))).sum();
        Self {
            layers,
            projection,
            single: rates.exchange + rates.projection_activations(shape),
            merges,
            head: rates.gpu_dense(shape.head) + rates.launch,
            late: (hidden - projection + Late::beyond(&sparse.late, hidden)) * layers,
            fetching: Late::beyond(&sparse.late, projection) * layers,
            predictor: rates.cached(tables),
        }
    }

    /// Of all layers.
    fn merging(&self) -> Nanoseconds {
        (self.merges[0] + self.merges[1]) * self.layers
    }

    fn bound_by(&self, hermes: &Hermes, sparse: &Sparse) -> BoundBy {
        let (rates, shape) = (&hermes.rates, &hermes.work.shape);
        let transfer = rates.projection_activations(shape);
        let beside = [
            (rates.gpu_dense_cause(), self.projection * self.layers + self.head - rates.launch),
            (rates.attention_cause(shape), hermes.attention(hermes.work.mean_context()) * self.layers),
            (BoundBy::Synchronisation, (self.single - transfer) * self.layers),
            (BoundBy::Link, transfer * self.layers + self.merging() + self.late),
            (BoundBy::CommandIssue, rates.launch),
            (BoundBy::Host, self.predictor),
        ];
        let mut causes = sparse.causes;
        for (cause, time) in beside {
            causes.add(cause, time);
        }
        causes.largest()
    }
}
