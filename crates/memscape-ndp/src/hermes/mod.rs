//! Hermes itself: sparse blocks on GPU and DIMMs (or the host) at the same time.

mod closed;
mod walked;

use crate::activity::BlockKind;
use crate::cost::Costs;
use crate::inference::{Engine, HostPlacement, InferenceError, InferenceStudy, Resolved, System};
use crate::shape::FP16;

pub(crate) use walked::{partition, walk_layers};

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
        (Engine::Closed, None) => closed::sparse(study, resolved, costs, capacity)?,
        (Engine::Trace, _) => walked::sparse(study, resolved, costs, capacity)?,
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
