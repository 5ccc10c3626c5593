//! How long each piece takes: weights read and multiplied on the GPU, on a DIMM
//! or on the host, transfers and synchronisation.

use crate::activity::BlockKind;
use crate::inference::{InferenceStudy, PromptStage, Resolved, System};
use crate::online::BlockCost;
use crate::shape::{FP16, Shape};

/// Rates of one study, in bytes or multiply-accumulates per nanosecond.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Costs {
    /// Bytes of weights that the GPU can hold.
    pub usable_bytes: f64,
    /// Bandwidth of the GPU's kernels.
    pub gpu_bytes_per_ns: f64,
    /// Multiply-accumulates of the GPU's kernels.
    pub gpu_macs_per_ns: f64,
    /// Bandwidth over PCIe from pinned pages.
    pub pcie_bytes_per_ns: f64,
    /// What feeds the cold neurons: all DIMMs, or the host's memory.
    pub cold_bytes_per_ns: f64,
    /// Multiply-accumulates of all DIMMs; infinite on the host, which is bound by memory.
    pub cold_macs_per_ns: f64,
    /// DIMMs that cold neurons are spread over; one where the host computes.
    pub dimms: f64,
    /// Sequences.
    pub batch: f64,
    /// One GPU kernel that depends on the other side: launch, and both directions of
    /// synchronisation.
    pub exchange_ns: f64,
    /// One kernel's launch.
    pub launch_ns: f64,
    /// How much faster a neuron moves between DIMMs over the links than through the host.
    pub link_speedup: f64,
}

/// The slower of reading and multiplying.
fn roofline(bytes: f64, bytes_per_ns: f64, macs: f64, macs_per_ns: f64) -> f64 {
    (bytes / bytes_per_ns).max(macs / macs_per_ns)
}

impl Costs {
    /// Rates of a study.
    #[must_use]
    pub fn new(study: &InferenceStudy, resolved: &Resolved) -> Self {
        let overhead = &study.overhead;
        let on_host = study.system == System::HermesHost;
        let dimms = f64::from(study.dimms.get());
        let host = study.host.bandwidth_gb_s.as_f64() * study.host.bandwidth_efficiency.as_f64();
        let mut costs = Self {
            usable_bytes: study.gpu.memory_gb.as_f64() * 1e9 * overhead.gpu_usable.as_f64(),
            gpu_bytes_per_ns: study.gpu.bandwidth_gb_s.as_f64() * overhead.gpu_bandwidth_efficiency.as_f64(),
            // Two operations each, and 10^12 per second are 10^3 per nanosecond.
            gpu_macs_per_ns: study.gpu.fp16_tops.as_f64() * 1e3 / 2.0
                * overhead.gpu_compute_efficiency.as_f64(),
            pcie_bytes_per_ns: study.gpu.pcie_gb_s.as_f64(),
            cold_bytes_per_ns: if on_host { host } else { study.dimm.bandwidth_gb_s() * dimms },
            cold_macs_per_ns: if on_host { f64::INFINITY } else { study.dimm.macs_per_ns() * dimms },
            dimms: if on_host { 1.0 } else { dimms },
            batch: f64::from(study.batch.get()),
            exchange_ns: (2.0 * overhead.sync_us.as_f64() + overhead.launch_us.as_f64()) * 1e3,
            launch_ns: overhead.launch_us.as_f64() * 1e3,
            link_speedup: 0.0,
        };
        let bytes = FP16 * resolved.shape.neuron_weights(BlockKind::Mlp);
        // Pairs of DIMMs move at the same time, the host one neuron after the other.
        let pairs = (study.dimms.get() / 2).max(1);
        costs.link_speedup =
            Self::host_move_ns(study, bytes) / Self::link_move_ns(study, bytes) * f64::from(pairs);
        costs
    }

    /// Moving one neuron from DIMM to DIMM over a link.
    #[must_use]
    pub fn link_move_ns(study: &InferenceStudy, bytes: f64) -> f64 {
        bytes / study.link_gb_s.as_f64()
    }

    /// Moving it through the host: a call, and a pass of one thread each to read
    /// and to write.
    #[must_use]
    pub fn host_move_ns(study: &InferenceStudy, bytes: f64) -> f64 {
        study.host.copy_call_us.as_f64() * 1e3 + 2.0 * bytes / study.host.copy_gb_s.as_f64()
    }

    /// Bytes from pageable memory to the GPU: passes of one thread, then the bus,
    /// one after the other.
    #[must_use]
    pub fn pageable_ns(&self, study: &InferenceStudy, bytes: f64, passes: f64) -> f64 {
        bytes * (passes / study.host.copy_gb_s.as_f64() + 1.0 / self.pcie_bytes_per_ns)
    }

    /// Reading and multiplying dense weights on the GPU.
    #[must_use]
    pub fn gpu_dense_ns(&self, weights: f64) -> f64 {
        roofline(FP16 * weights, self.gpu_bytes_per_ns, weights * self.batch, self.gpu_macs_per_ns)
    }

    /// The same on all DIMMs.
    #[must_use]
    pub fn cold_dense_ns(&self, weights: f64) -> f64 {
        roofline(FP16 * weights, self.cold_bytes_per_ns, weights * self.batch, self.cold_macs_per_ns)
    }

    /// Activations of one width to the GPU and back, for the whole batch.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "widths")]
    pub fn activations_ns(&self, width: usize) -> f64 {
        2.0 * self.batch * FP16 * width as f64 / self.pcie_bytes_per_ns
    }

    /// What a sparse block costs per neuron.
    #[must_use]
    pub fn block(&self, study: &InferenceStudy, shape: &Shape, block: BlockKind) -> BlockCost {
        let weights = shape.neuron_weights(block);
        let on_host = study.system == System::HermesHost;
        let dispatch = if on_host { study.host.dispatch_us.as_f64() * 1e3 } else { 0.0 };
        BlockCost {
            neuron_bytes: FP16 * weights,
            gpu_fixed_ns: self.exchange_ns + self.activations_ns(shape.hidden),
            gpu_neuron_ns: FP16 * weights / self.gpu_bytes_per_ns,
            gpu_activation_ns: weights / self.gpu_macs_per_ns,
            cold_fixed_ns: 0.0,
            cold_neuron_ns: FP16 * weights / self.cold_bytes_per_ns * self.dimms + dispatch,
            cold_activation_ns: weights / self.cold_macs_per_ns * self.dimms,
        }
    }

    /// Adding up the DIMMs' partial sums over the links, as a tree.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "widths")]
    pub fn merge_ns(&self, study: &InferenceStudy, width: usize) -> f64 {
        let rounds = self.dimms.log2().ceil();
        rounds * self.batch * FP16 * width as f64 / study.link_gb_s.as_f64()
    }

    /// Attention of one layer where the key-value cache is, at a context.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "widths")]
    pub fn attention_ns(&self, study: &InferenceStudy, shape: &Shape, context: f64) -> f64 {
        let read = shape.kv_bytes() * context * self.batch;
        // Each query head meets every key and every value.
        let macs = 2.0 * shape.q as f64 * context * self.batch;
        let softmax = context * self.batch * (shape.q as f64 / 128.0).max(1.0)
            / (self.dimms * f64::from(study.dimm.activation_units.get()) * study.dimm.clock_ghz.as_f64());
        roofline(read, self.cold_bytes_per_ns, macs, self.cold_macs_per_ns) + softmax
    }

    /// The prompt on the GPU: weights streamed, layer by layer, while it computes.
    /// Time, and how much of it is transfer.
    #[must_use]
    pub fn prompt_ns(&self, study: &InferenceStudy, resolved: &Resolved, streamed: f64) -> (f64, f64) {
        let tokens = f64::from(resolved.prompt);
        let compute = resolved.shape.parameters * tokens * self.batch / self.gpu_macs_per_ns;
        let transfer = match study.prompt {
            PromptStage::Pinned => streamed / self.pcie_bytes_per_ns,
            PromptStage::Pageable => self.pageable_ns(study, streamed, 1.0),
        };
        (transfer.max(compute), transfer)
    }
}
