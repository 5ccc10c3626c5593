//! Rates of a machine for a batch: weights read and multiplied on the GPU, on
//! DIMMs or on the host, transfers and synchronisation.

use memscape_study::BoundBy;
use memscape_units::Nanoseconds;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::account::{Causes, Prompt};
use crate::activity::BlockKind;
use crate::hardware::{AtBanks, Dimm, Machine};
use crate::scheduler::BlockCost;
use crate::work::{FP16, Shape, Work};

/// What computes the cold neurons.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColdSide {
    /// The NDP-DIMMs.
    Dimms,
    /// The host's processor.
    Host,
}

/// What units at banks multiply with, and their sums, on the way over a module's pins.
///
/// A neuron's weights are spread over the units of one channel. What it takes in as a vector (gate and
/// up) each unit needs a part of, and gives a word of partial sums for each product with it, one sum in
/// each lane; what it takes in as a number (Q, K and V, and down) all of them need in a word, and keep
/// the sums of what they hold until the block is done. Keys lie in one bank each, values over a channel.
///
/// # Source
/// Ours: Hermes' units stand in a buffer, which has all of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Carry {
    /// Channels of a module.
    channels: f64,
    channel_bytes_per_ns: f64,
    /// Units of a channel.
    units: f64,
    /// Bytes of a word: a number for each lane.
    word: f64,
}

#[expect(clippy::cast_precision_loss, reason = "widths")]
impl Carry {
    fn of(dimm: &Dimm) -> Option<Self> {
        let AtBanks { channels, channel_gb_s, .. } = dimm.units?;
        let channels = f64::from(channels.get());
        Some(Self {
            channels,
            channel_bytes_per_ns: channel_gb_s.as_f64(),
            units: (f64::from(dimm.ranks.get()) / channels).max(1.0),
            word: FP16 * f64::from(dimm.lanes.get()),
        })
    }

    /// Bytes over each channel's pins for a block of one sequence, whatever of it is active.
    fn of_block(shape: &Shape, block: BlockKind) -> f64 {
        let taken = match block {
            BlockKind::Qkv => 0,
            BlockKind::Mlp => shape.hidden,
        };
        FP16 * (taken + shape.merged()[block.index()]) as f64
    }

    /// Bytes over some channel's pins for each neuron that a sequence needs.
    fn of_activation(&self, shape: &Shape, block: BlockKind) -> f64 {
        let products = match block {
            BlockKind::Qkv => 0.0,
            BlockKind::Mlp => (shape.matrices - 1) as f64,
        };
        self.word * (1.0 + products * self.units)
    }

    /// Bytes over some channel's pins for each token that a sequence attends to: a score for each head,
    /// and back what softmax makes of it.
    fn of_token(&self, shape: &Shape) -> f64 {
        2.0 * self.word * shape.heads
    }

    /// Bytes over each channel's pins for attention of one sequence: queries, and what it gives.
    fn of_attention(shape: &Shape) -> f64 {
        2.0 * FP16 * shape.q as f64
    }

    fn over_each(&self, bytes: f64) -> Nanoseconds {
        at(bytes, self.channel_bytes_per_ns)
    }

    fn over_some(&self, bytes: f64) -> Nanoseconds {
        at(bytes, self.channel_bytes_per_ns * self.channels)
    }
}

/// Multiply-accumulates that one value of a softmax takes a processor as long as: a polynomial for its
/// exponential, the largest, the sum and the division. A prior: no source says it of this processor.
const SOFTMAX_MACS: f64 = 16.0;

/// How the prompt's weights reach the GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PromptStage {
    /// Those that it does not hold, from pinned pages at the bandwidth of PCIe.
    Pinned,
    /// All of them so, as printed; then those that it is to hold once more.
    Reload,
    /// Those that it does not hold from pageable memory, as `FlexGen` does.
    Pageable,
}

/// Rates of a machine for a batch, in bytes or multiply-accumulates per nanosecond.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rates {
    /// Bytes of weights that the GPU can hold.
    pub usable_bytes: f64,
    /// Bandwidth of the GPU's kernels.
    pub gpu_bytes_per_ns: f64,
    /// Multiply-accumulates of the GPU's kernels.
    pub gpu_macs_per_ns: f64,
    /// Bandwidth over PCIe from pinned pages.
    pub pcie_bytes_per_ns: f64,
    /// Bandwidth of one link between DIMMs.
    pub link_bytes_per_ns: f64,
    /// One pass of one thread over pageable memory.
    pub copy_bytes_per_ns: f64,
    /// The host's last-level cache, where the predictor's tables are.
    pub cache_bytes_per_ns: f64,
    /// The memory that feeds the cold neurons: all DIMMs, or the host's.
    pub cold_bytes_per_ns: f64,
    /// What it gives to anybody else, over PCIe or to a thread: no more than the modules' pins carry.
    pub given_bytes_per_ns: f64,
    /// What one module of it gives.
    pub module_bytes_per_ns: f64,
    /// Multiply-accumulates of all DIMMs, or of the host's cores.
    pub cold_macs_per_ns: f64,
    /// FP16 values of a softmax, on all DIMMs or the host.
    pub softmax_per_ns: f64,
    /// DIMMs that cold neurons are spread over; one where the host computes.
    pub dimms: f64,
    /// Pairs of DIMMs that exchange neurons at the same time.
    pub pairs: f64,
    /// Sequences.
    pub batch: f64,
    /// Bytes of one weight.
    pub weight_bytes: f64,
    /// One GPU kernel that depends on the other side: launch, and both directions of
    /// synchronisation.
    pub exchange: Nanoseconds,
    /// One kernel's launch.
    pub launch: Nanoseconds,
    /// One call that copies a neuron.
    pub copy_call: Nanoseconds,
    /// Handing one active neuron to a core; none on DIMMs.
    pub dispatch: Nanoseconds,
    /// What units at banks need brought and taken; none where units stand in buffers.
    pub carry: Option<Carry>,
}

/// An amount at a rate.
fn at(amount: f64, per_ns: f64) -> Nanoseconds {
    Nanoseconds::saturating(amount / per_ns)
}

/// The slower of reading and multiplying.
fn roofline(bytes: f64, bytes_per_ns: f64, macs: f64, macs_per_ns: f64) -> Nanoseconds {
    at(bytes, bytes_per_ns).max(at(macs, macs_per_ns))
}

impl Rates {
    /// Rates of a machine.
    ///
    /// * `batch`: sequences at the same time
    /// * `weight_bytes`: bytes of one weight
    #[must_use]
    pub fn new(machine: &Machine, cold: ColdSide, batch: u32, weight_bytes: f64) -> Self {
        let Machine { gpu, dimm, host, overhead, .. } = machine;
        let count = f64::from(machine.dimms.get());
        let (cold_bytes_per_ns, cold_macs_per_ns, dimms, dispatch) = match cold {
            ColdSide::Dimms => {
                (dimm.bandwidth_gb_s() * count, dimm.macs_per_ns() * count, count, Nanoseconds::ZERO)
            }
            ColdSide::Host => {
                // Plain DIMMs: the host reads no more than their pins carry.
                let memory = host.bandwidth_gb_s.as_f64().min(machine.pins_gb_s());
                let memory = memory * host.bandwidth_efficiency.as_f64();
                (memory, host.fp32_tops.as_f64() * 1e3 / 2.0, 1.0, host.dispatch_us.into())
            }
        };
        let given_bytes_per_ns = match cold {
            ColdSide::Dimms => cold_bytes_per_ns.min(machine.pins_gb_s()),
            ColdSide::Host => cold_bytes_per_ns,
        };
        let softmax_per_ns = match cold {
            ColdSide::Dimms => dimms * f64::from(dimm.activation_units.get()) * dimm.clock_ghz.as_f64(),
            ColdSide::Host => cold_macs_per_ns / SOFTMAX_MACS,
        };
        let (sync, launch) = (overhead.sync_us.as_f64(), overhead.launch_us.as_f64());
        Self {
            usable_bytes: machine.usable_bytes(),
            gpu_bytes_per_ns: gpu.bandwidth_gb_s.as_f64() * overhead.gpu_bandwidth_efficiency.as_f64(),
            // Two operations each, and 10^12 per second are 10^3 per nanosecond.
            gpu_macs_per_ns: gpu.fp16_tops.as_f64() * 1e3 / 2.0 * overhead.gpu_compute_efficiency.as_f64(),
            pcie_bytes_per_ns: gpu.pcie_gb_s.as_f64(),
            link_bytes_per_ns: machine.link_gb_s.as_f64(),
            copy_bytes_per_ns: host.copy_gb_s.as_f64(),
            cache_bytes_per_ns: host.cache_gb_s.as_f64(),
            cold_bytes_per_ns,
            given_bytes_per_ns,
            module_bytes_per_ns: (cold_bytes_per_ns / dimms).min(dimm.pins_gb_s()),
            cold_macs_per_ns,
            softmax_per_ns,
            dimms,
            pairs: f64::from((machine.dimms.get() / 2).max(1)),
            batch: f64::from(batch),
            weight_bytes,
            exchange: Nanoseconds::saturating((2.0 * sync + launch) * 1e3),
            launch: overhead.launch_us.into(),
            copy_call: host.copy_call_us.into(),
            dispatch,
            carry: if cold == ColdSide::Dimms { Carry::of(dimm) } else { None },
        }
    }

    /// Several such GPUs that share each matrix.
    #[must_use]
    pub fn of_gpus(&self, gpus: u32) -> Self {
        self.times([f64::from(gpus); 2])
    }

    /// Several such GPUs that share attention: a head of keys and values is one GPU's, and more GPUs than
    /// heads hold copies of them, for queries of their own. All wait for the one with the most heads.
    #[must_use]
    pub fn of_heads(&self, gpus: u32, shape: &Shape) -> Self {
        let gpus = f64::from(gpus);
        let at_once = |heads: f64| heads / (heads / gpus).ceil();
        let keys = at_once(shape.kv_heads);
        self.times([keys, if gpus <= shape.kv_heads { keys } else { at_once(shape.heads) }])
    }

    /// So many times the GPU's bandwidth and multipliers.
    fn times(&self, [reading, multiplying]: [f64; 2]) -> Self {
        Self {
            gpu_bytes_per_ns: self.gpu_bytes_per_ns * reading,
            gpu_macs_per_ns: self.gpu_macs_per_ns * multiplying,
            ..*self
        }
    }

    /// Moving one neuron from DIMM to DIMM over a link, no faster than one is read.
    #[must_use]
    pub fn link_move(&self, bytes: f64) -> Nanoseconds {
        at(bytes, self.link_bytes_per_ns.min(self.cold_bytes_per_ns / self.dimms))
    }

    /// Moving it through the host: a call, and a pass of one thread each to read
    /// and to write, over the pins of one DIMM.
    #[must_use]
    pub fn host_move(&self, bytes: f64) -> Nanoseconds {
        self.copy_call + at(2.0 * bytes, self.copy_bytes_per_ns.min(self.module_bytes_per_ns))
    }

    /// How much faster a neuron moves between DIMMs over the links than through the
    /// host: pairs of DIMMs at the same time, the host one neuron after the other.
    #[must_use]
    pub fn link_speedup(&self, neuron_bytes: f64) -> f64 {
        self.host_move(neuron_bytes) / self.link_move(neuron_bytes) * self.pairs
    }

    /// Bandwidth from pinned pages to the GPU: no more than the memory that they are in gives.
    #[must_use]
    pub fn pinned_bytes_per_ns(&self) -> f64 {
        self.pcie_bytes_per_ns.min(self.given_bytes_per_ns)
    }

    /// What the memory takes for bytes that leave and reach it at the same time.
    #[must_use]
    pub fn given(&self, bytes: f64) -> Nanoseconds {
        at(bytes, self.given_bytes_per_ns)
    }

    /// Bytes from pinned pages to the GPU, or the other way.
    #[must_use]
    pub fn pinned(&self, bytes: f64) -> Nanoseconds {
        at(bytes, self.pinned_bytes_per_ns())
    }

    /// One pass of one thread, which reads and writes the memory.
    fn pass_bytes_per_ns(&self) -> f64 {
        self.copy_bytes_per_ns.min(self.given_bytes_per_ns / 2.0)
    }

    /// Bytes from pageable memory to the GPU: passes of one thread, then the bus,
    /// one after the other.
    #[must_use]
    pub fn pageable(&self, bytes: f64, passes: f64) -> Nanoseconds {
        Nanoseconds::saturating(
            bytes * (passes / self.pass_bytes_per_ns() + 1.0 / self.pinned_bytes_per_ns()),
        )
    }

    /// What takes longest of that: the thread's passes, the bus, or the memory where it is slower than these.
    #[must_use]
    pub fn pageable_cause(&self, passes: f64) -> BoundBy {
        let by = |cause, alone, reached| if reached < alone { BoundBy::DramBandwidth } else { cause };
        let (pass, pinned) = (self.pass_bytes_per_ns(), self.pinned_bytes_per_ns());
        Causes::of([
            (by(BoundBy::Host, self.copy_bytes_per_ns, pass), at(passes, pass)),
            (by(BoundBy::Link, self.pcie_bytes_per_ns, pinned), at(1.0, pinned)),
        ])
        .largest()
    }

    /// Reading and multiplying dense weights on the GPU.
    #[must_use]
    pub fn gpu_dense(&self, weights: f64) -> Nanoseconds {
        let (bytes, macs) = (self.weight_bytes * weights, weights * self.batch);
        roofline(bytes, self.gpu_bytes_per_ns, macs, self.gpu_macs_per_ns)
    }

    /// What takes longer of that.
    #[must_use]
    pub fn gpu_dense_cause(&self) -> BoundBy {
        let (bytes, macs) = (self.weight_bytes, self.batch);
        cause(at(bytes, self.gpu_bytes_per_ns), at(macs, self.gpu_macs_per_ns))
    }

    /// The same on all DIMMs.
    #[must_use]
    pub fn cold_dense(&self, weights: f64) -> Nanoseconds {
        let (bytes, macs) = (self.weight_bytes * weights, weights * self.batch);
        roofline(bytes, self.cold_bytes_per_ns, macs, self.cold_macs_per_ns)
    }

    /// What takes longer of that.
    #[must_use]
    pub fn cold_dense_cause(&self) -> BoundBy {
        let (bytes, macs) = (self.weight_bytes, self.batch);
        cause(at(bytes, self.cold_bytes_per_ns), at(macs, self.cold_macs_per_ns))
    }

    /// Activations of one width to the GPU, and of another back, for the whole batch.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "widths")]
    pub fn activations(&self, to: usize, back: usize) -> Nanoseconds {
        at(self.batch * FP16 * (to + back) as f64, self.pcie_bytes_per_ns)
    }

    /// Those of a sparse block.
    #[must_use]
    pub fn block_activations(&self, shape: &Shape, block: BlockKind) -> Nanoseconds {
        self.activations(shape.hidden, shape.merged()[block.index()])
    }

    /// Those of an output projection.
    #[must_use]
    pub fn projection_activations(&self, shape: &Shape) -> Nanoseconds {
        self.activations(shape.q, shape.hidden)
    }

    /// What a sparse block costs per neuron.
    #[must_use]
    pub fn block(&self, shape: &Shape, block: BlockKind) -> BlockCost {
        let weights = shape.neuron_weights(block);
        let bytes = self.weight_bytes * weights;
        let carried = self.carry.map_or(Nanoseconds::ZERO, |it| it.over_some(it.of_activation(shape, block)));
        BlockCost {
            neuron_bytes: bytes,
            gpu_fixed: self.exchange + self.block_activations(shape, block),
            gpu_neuron: at(bytes, self.gpu_bytes_per_ns),
            gpu_activation: at(weights, self.gpu_macs_per_ns),
            carried,
            cold_neuron: at(bytes, self.cold_bytes_per_ns) * self.dimms + self.dispatch,
            cold_activation: at(weights, self.cold_macs_per_ns) * self.dimms,
        }
    }

    /// Adding up the partial sums of so many DIMMs over the links, as a tree.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "widths")]
    pub fn merge(&self, width: usize, dimms: usize) -> Nanoseconds {
        let rounds = (dimms.max(1) as f64).log2().ceil();
        at(rounds * self.batch * FP16 * width as f64, self.link_bytes_per_ns)
    }

    /// What a layer's two blocks take beside their neurons on so many DIMMs: inputs that each DIMM's
    /// units need, and bringing together their sums.
    #[must_use]
    pub fn around(&self, shape: &Shape, dimms: usize) -> [Nanoseconds; 2] {
        let [[qkv, mlp], [sums, more]] = [self.inputs(shape), shape.merged().map(|it| self.merge(it, dimms))];
        [qkv + sums, mlp + more]
    }

    /// Of that, what crosses the pins of each module.
    #[must_use]
    pub fn inputs(&self, shape: &Shape) -> [Nanoseconds; 2] {
        let of = |it: Carry, block| it.over_each(self.batch * Carry::of_block(shape, block));
        BlockKind::ALL.map(|block| self.carry.map_or(Nanoseconds::ZERO, |it| of(it, block)))
    }

    /// So many bytes over the pins of all modules.
    #[must_use]
    pub fn carry_of_neurons(&self, bytes: f64) -> Nanoseconds {
        self.carry.map_or(Nanoseconds::ZERO, |it| it.over_some(bytes / self.dimms))
    }

    /// Bytes over modules' pins for a layer of a step, whatever is active: what its blocks need on so many
    /// DIMMs, and attention on all.
    #[must_use]
    pub fn carried_bytes(&self, shape: &Shape, dimms: f64, context: f64) -> f64 {
        let Some(carry) = self.carry else { return 0.0 };
        let each = BlockKind::ALL.map(|it| Carry::of_block(shape, it)).iter().sum::<f64>();
        let blocks = carry.channels * dimms * each;
        let queries = carry.channels * self.dimms * Carry::of_attention(shape);
        self.batch * (blocks + context * carry.of_token(shape) + queries)
    }

    /// Bytes over them for each neuron that a sequence needs.
    #[must_use]
    pub fn carried_per_activation(&self, shape: &Shape, block: BlockKind) -> f64 {
        self.carry.map_or(0.0, |it| it.of_activation(shape, block))
    }

    /// Multiply-accumulates of attention of one layer of a step: each query head meets every key and
    /// every value.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "widths")]
    pub fn attention_macs(&self, shape: &Shape, context: f64) -> f64 {
        2.0 * shape.q as f64 * context * self.batch
    }

    /// Attention of one layer where the key-value cache is, at a context.
    #[must_use]
    pub fn attention(&self, shape: &Shape, context: f64) -> Nanoseconds {
        let read = shape.kv_bytes() * context * self.batch;
        let macs = self.attention_macs(shape, context);
        let softmax = at(context * self.batch * shape.heads, self.softmax_per_ns);
        let carried = self.carry.map_or(Nanoseconds::ZERO, |it| {
            let scores = it.of_token(shape) * context * self.batch / self.dimms;
            it.over_some(scores) + it.over_each(self.batch * Carry::of_attention(shape))
        });
        roofline(read, self.cold_bytes_per_ns, macs, self.cold_macs_per_ns) + softmax + carried
    }

    /// What takes longest of that.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "widths")]
    pub fn attention_cause(&self, shape: &Shape) -> BoundBy {
        let softmax = at(shape.heads, self.softmax_per_ns);
        let computing = at(2.0 * shape.q as f64, self.cold_macs_per_ns).max(softmax);
        let reading = at(shape.kv_bytes(), self.cold_bytes_per_ns);
        let carried =
            self.carry.map_or(Nanoseconds::ZERO, |it| it.over_some(it.of_token(shape) / self.dimms));
        if carried > reading.max(computing) { BoundBy::Link } else { cause(reading, computing) }
    }

    /// Attention of all layers on the GPU, where the key-value cache is.
    #[must_use]
    pub fn gpu_attention(&self, shape: &Shape, layers: f64, context: f64) -> Nanoseconds {
        let (read, macs) = (shape.kv_bytes() * context * self.batch, self.attention_macs(shape, context));
        roofline(read * layers, self.gpu_bytes_per_ns, macs * layers, self.gpu_macs_per_ns)
    }

    /// What takes longer of that.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "widths")]
    pub fn gpu_attention_cause(&self, shape: &Shape) -> BoundBy {
        let reading = at(shape.kv_bytes(), self.gpu_bytes_per_ns);
        cause(reading, at(2.0 * shape.q as f64, self.gpu_macs_per_ns))
    }

    /// A prompt on the GPU once its weights are there: each is read at least once and multiplied
    /// with each token, the LM head behind them with the last one, and each query meets the keys and values of its
    /// token and those before. Kernels are launched while others run, and take no less than that.
    ///
    /// * `heads`: the same of those GPUs that share attention
    #[must_use]
    pub fn prompt_on_gpu(&self, heads: &Self, shape: &Shape, tokens: u32) -> Nanoseconds {
        let [of_all, of_last] = shape.prompt_weights();
        let (bytes, macs) = (of_all * self.weight_bytes, of_all * f64::from(tokens) * self.batch);
        let layers = roofline(bytes, self.gpu_bytes_per_ns, macs, self.gpu_macs_per_ns);
        let attention = heads.prompt_attention(shape, tokens);
        (layers + attention + self.gpu_dense(of_last)).max(self.launches(shape))
    }

    /// Launching the kernels of all layers, one after the other.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "layers")]
    pub fn launches(&self, shape: &Shape) -> Nanoseconds {
        /// Kernels of a layer whose element-wise work is fused into its products: norm with projections, attention,
        /// output, norm with gate and up, activation, down. A count of ours: no source prints one.
        const KERNELS: f64 = 6.0;
        self.launch * (shape.layers as f64 * KERNELS)
    }

    /// Of that: attention.
    #[must_use]
    pub fn prompt_attention(&self, shape: &Shape, tokens: u32) -> Nanoseconds {
        at(self.prompt_attention_macs(shape, tokens), self.gpu_macs_per_ns)
    }

    /// Multiply-accumulates of attention of a prompt.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "widths")]
    pub fn prompt_attention_macs(&self, shape: &Shape, tokens: u32) -> f64 {
        2.0 * shape.layers as f64 * shape.q as f64 * shape.attended_pairs(f64::from(tokens)) * self.batch
    }

    /// A prompt whose weights are streamed while the GPU computes, and whose keys and values go the
    /// other way meanwhile.
    ///
    /// * `held`: bytes of weights that the GPU holds for the reply, of those that are multiplied
    #[must_use]
    pub fn prompt(&self, stage: PromptStage, work: &Work, held: f64) -> Prompt {
        let shape = &work.shape;
        let all = shape.multiplied_bytes();
        let missing = (all - held).max(0.0);
        let cache = work.prompt_cache_bytes();
        // A pass over pageable pages reads and writes what the bus then reads.
        let (transfer, crossed, load) = match stage {
            PromptStage::Pinned => (self.pinned(missing), missing, Nanoseconds::ZERO),
            PromptStage::Reload => (self.pinned(all), all, self.pinned(held)),
            PromptStage::Pageable => (self.pageable(missing, 1.0), 3.0 * missing, Nanoseconds::ZERO),
        };
        let transfer = transfer.max(self.pinned(cache)).max(self.given(crossed + cache));
        Prompt::streamed(self.prompt_on_gpu(self, shape, work.prompt), transfer, load)
    }

    /// Bytes of weights that such a prompt brings to the GPU.
    #[must_use]
    pub fn prompt_bytes(stage: PromptStage, shape: &Shape, held: f64) -> f64 {
        let all = shape.multiplied_bytes();
        match stage {
            PromptStage::Pinned | PromptStage::Pageable => (all - held).max(0.0),
            PromptStage::Reload => all + held,
        }
    }

    /// Passes of a thread over pageable memory before such a prompt's weights are on their way.
    #[must_use]
    pub fn prompt_passes(stage: PromptStage) -> f64 {
        if stage == PromptStage::Pageable { 1.0 } else { 0.0 }
    }

    /// Bytes that merging such partial sums brings over links: each DIMM's but one's.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "widths")]
    pub fn merged_bytes(&self, width: usize, dimms: f64) -> f64 {
        (dimms - 1.0).max(0.0) * self.batch * FP16 * width as f64
    }

    /// Reading bytes from the host's cache.
    #[must_use]
    pub fn cached(&self, bytes: f64) -> Nanoseconds {
        at(bytes, self.cache_bytes_per_ns)
    }
}

/// What binds a roofline.
fn cause(reading: Nanoseconds, multiplying: Nanoseconds) -> BoundBy {
    if multiplying > reading { BoundBy::Compute } else { BoundBy::DramBandwidth }
}
