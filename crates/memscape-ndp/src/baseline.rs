//! The systems that Hermes is compared with.

use crate::activity::quadrature;
use crate::cost::Costs;
use crate::hermes::{Account, check_dimms};
use crate::inference::{InferenceError, InferenceStudy, Resolved};
use crate::shape::FP16;

fn layers(resolved: &Resolved) -> f64 {
    f64::from(u32::try_from(resolved.shape.layers).unwrap_or(u32::MAX))
}

/// Tokens in the cache, on average over the reply.
fn mean_context(resolved: &Resolved) -> f64 {
    f64::from(resolved.prompt) + f64::from(resolved.generated) / 2.0
}

/// Attention on the GPU, whose key-value cache is there.
fn gpu_attention_ns(resolved: &Resolved, costs: &Costs) -> f64 {
    layers(resolved) * resolved.shape.kv_bytes() * mean_context(resolved) * costs.batch
        / costs.gpu_bytes_per_ns
}

/// Hermes without activation sparsity: a layer's matrices on the GPU as far as
/// they fit, else on the DIMMs, one after the other.
pub(crate) fn hermes_base(
    study: &InferenceStudy,
    resolved: &Resolved,
    costs: &Costs,
) -> Result<Account, InferenceError> {
    check_dimms(study, resolved)?;
    let shape = &resolved.shape;
    let resident = (costs.usable_bytes / shape.bytes()).min(1.0);
    // Embeddings are looked up, not multiplied.
    let weights = (shape.sparse_bytes() + shape.dense_bytes()) / FP16;
    let (gpu_ns, cold_ns) =
        (costs.gpu_dense_ns(weights * resident), costs.cold_dense_ns(weights * (1.0 - resident)));
    let exchanges = layers(resolved) * 2.0;
    let transfers = exchanges * costs.activations_ns(shape.hidden);
    let communication = exchanges * (costs.exchange_ns + costs.merge_ns(study, shape.hidden)) + transfers;
    let streamed = shape.bytes();
    let (prompt_ns, prompt_pcie_ns) = costs.prompt_ns(study, resolved, streamed);
    let reload = resident * shape.bytes() / costs.pcie_bytes_per_ns;
    Ok(Account {
        prompt_ns: prompt_ns + reload,
        prompt_pcie_ns: prompt_pcie_ns + reload,
        fc_ns: gpu_ns + cold_ns,
        attention_ns: layers(resolved) * costs.attention_ns(study, shape, mean_context(resolved)),
        communication_ns: communication,
        pcie_ns: transfers,
        gpu_ns,
        cold_ns,
        mlp_ns: (gpu_ns + cold_ns) * shape.block_weights(crate::activity::BlockKind::Mlp) * layers(resolved)
            / weights,
        hot_share: resident,
        gpu_read_share: resident,
        cold_compute_share: 1.0 - resident,
        imbalance: 1.0,
        ..Account::default()
    })
}

/// Weights that do not fit the GPU, for each token, from pageable memory.
struct Offloaded {
    resident: f64,
    transfer_ns: f64,
    gpu_ns: f64,
}

impl Offloaded {
    fn new(study: &InferenceStudy, resolved: &Resolved, costs: &Costs, passes: f64) -> Self {
        let shape = &resolved.shape;
        let resident = (costs.usable_bytes / shape.bytes()).min(1.0);
        let weights = (shape.sparse_bytes() + shape.dense_bytes()) / FP16;
        Self {
            resident,
            transfer_ns: costs.pageable_ns(study, (1.0 - resident) * shape.bytes(), passes),
            gpu_ns: costs.gpu_dense_ns(weights),
        }
    }

    /// Prompt and step, with transfer and computing at the same time or not.
    fn account(&self, resolved: &Resolved, costs: &Costs, overlapped: bool) -> Account {
        let compute =
            resolved.shape.parameters * f64::from(resolved.prompt) * costs.batch / costs.gpu_macs_per_ns;
        let both =
            |transfer: f64, compute: f64| if overlapped { (transfer - compute).max(0.0) } else { transfer };
        let (transfer, attention) = (both(self.transfer_ns, self.gpu_ns), gpu_attention_ns(resolved, costs));
        let launches = layers(resolved) * 6.0 * costs.launch_ns;
        Account {
            prompt_ns: compute + both(self.transfer_ns, compute),
            prompt_pcie_ns: both(self.transfer_ns, compute),
            fc_ns: self.gpu_ns + launches,
            attention_ns: attention,
            communication_ns: transfer,
            pcie_ns: transfer,
            gpu_ns: self.gpu_ns,
            hot_share: self.resident,
            gpu_read_share: 1.0,
            imbalance: 1.0,
            ..Account::default()
        }
    }
}

/// Huggingface Accelerate: for each token, every weight that does not fit is
/// copied into a fresh tensor and then to the GPU, and only then used.
pub(crate) fn accelerate(
    study: &InferenceStudy,
    resolved: &Resolved,
    costs: &Costs,
) -> Result<Account, InferenceError> {
    check_dimms(study, resolved)?;
    let passes = f64::from(study.host.accelerate_passes.get());
    Ok(Offloaded::new(study, resolved, costs, passes).account(resolved, costs, false))
}

/// `FlexGen`: the next layer's weights come while this one computes.
pub(crate) fn flexgen(
    study: &InferenceStudy,
    resolved: &Resolved,
    costs: &Costs,
) -> Result<Account, InferenceError> {
    check_dimms(study, resolved)?;
    if !resolved.shape.native_relu {
        return Err(InferenceError::Unsupported { system: "FlexGen" });
    }
    Ok(Offloaded::new(study, resolved, costs, 1.0).account(resolved, costs, true))
}

/// Deja Vu: for each token, the active neurons that are not on the GPU, one
/// copy each; or all of them as `FlexGen` does, if that is faster.
pub(crate) fn deja_vu(
    study: &InferenceStudy,
    resolved: &Resolved,
    costs: &Costs,
) -> Result<Account, InferenceError> {
    check_dimms(study, resolved)?;
    let shape = &resolved.shape;
    if !shape.native_relu {
        return Err(InferenceError::Unsupported { system: "Deja Vu" });
    }
    if resolved.recording.is_some() {
        return Err(InferenceError::ClosedTrace(study.trace.clone().unwrap_or_default()));
    }
    let law = study.activity.at(resolved.density)?;
    let active = quadrature(|z| 1.0 - (1.0 - law.profiled(z)).powf(costs.batch));
    // Low-rank predictors: from the hidden width to each block's neurons.
    let widths = f64::from(u32::try_from(3 * shape.hidden + shape.ffn).unwrap_or(u32::MAX));
    let predictor_weights = study.overhead.predictor_rank.as_f64() * widths * layers(resolved);
    let room = costs.usable_bytes - shape.dense_bytes() - FP16 * predictor_weights;
    let away = (1.0 - room / shape.sparse_bytes()).clamp(0.0, 1.0);
    let mut neuron_copies = 0.0;
    for block in crate::activity::BlockKind::ALL {
        let bytes = FP16 * shape.neuron_weights(block);
        let count = f64::from(u32::try_from(shape.neurons(block)).unwrap_or(u32::MAX))
            * layers(resolved)
            * active
            * away;
        neuron_copies +=
            count * (study.host.copy_call_us.as_f64() * 1e3 + costs.pageable_ns(study, bytes, 1.0));
    }
    let all = Offloaded::new(study, resolved, costs, 1.0);
    let dense = shape.dense_bytes() / FP16;
    let gpu_ns = costs.gpu_dense_ns(dense) + costs.gpu_dense_ns(active * shape.sparse_bytes() / FP16);
    let mut account = all.account(resolved, costs, true);
    if neuron_copies < all.transfer_ns {
        account.communication_ns = neuron_copies;
        account.pcie_ns = neuron_copies;
        account.gpu_ns = gpu_ns;
        account.fc_ns = gpu_ns + layers(resolved) * 6.0 * costs.launch_ns;
        account.predictor_ns = costs.gpu_dense_ns(predictor_weights);
    }
    Ok(account)
}

/// TensorRT-LLM: weights on several GPUs, read by all of them at once.
pub(crate) fn tensorrt(
    study: &InferenceStudy,
    resolved: &Resolved,
    costs: &Costs,
) -> Result<Account, InferenceError> {
    let shape = &resolved.shape;
    let gpus = f64::from(study.gpus.get());
    let cache = layers(resolved)
        * shape.kv_bytes()
        * (f64::from(resolved.prompt) + f64::from(resolved.generated))
        * costs.batch;
    let (need, one) = (shape.bytes() + cache, study.gpu.memory_gb.as_f64() * 1e9);
    if need > one * gpus {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count of GPUs")]
        let needed = (need / one.max(1.0)).ceil() as u32;
        let (need_gb, have_gb) = (need * 1e-9, one * gpus * 1e-9);
        return Err(InferenceError::Gpus { need_gb, have_gb, gpus: study.gpus.get(), needed });
    }
    let bandwidth = study.gpu.bandwidth_gb_s.as_f64() * gpus * study.overhead.tensorrt_efficiency.as_f64();
    let macs_per_ns = costs.gpu_macs_per_ns * gpus;
    let weights = (shape.sparse_bytes() + shape.dense_bytes()) / FP16;
    let fc_ns = (FP16 * weights / bandwidth).max(weights * costs.batch / macs_per_ns);
    let read = layers(resolved) * shape.kv_bytes() * mean_context(resolved) * costs.batch;
    Ok(Account {
        prompt_ns: shape.parameters * f64::from(resolved.prompt) * costs.batch / macs_per_ns,
        fc_ns,
        attention_ns: read / bandwidth,
        gpu_ns: fc_ns,
        hot_share: 1.0,
        gpu_read_share: 1.0,
        imbalance: 1.0,
        ..Account::default()
    })
}
