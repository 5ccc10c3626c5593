//! The study `ndp.inference`: a prompt and a reply, on Hermes or a baseline.

use std::num::NonZeroU32;
use std::sync::Arc;

use memscape_study::{PresetParameter, Study, StudyError};
use memscape_units::GbPerS;
use memscape_workload::ModelName;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::activity::{ActivityLaw, Share, Synthetic};
use crate::baseline;
use crate::cost::Costs;
use crate::hardware::{Dimm, Gpu, Host, Overhead, presets};
use crate::hermes::{self, Account};
use crate::online::{Exchange, Predictor, Strategy};
use crate::remap::Remap;
use crate::shape::Shape;
use crate::trace::{self, Recording, Source, TraceError};

/// A prompt and a reply of a language model on a GPU with NDP-DIMMs, or on a
/// system that Hermes is compared with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InferenceStudy {
    /// Language model; null for that of `trace`
    pub model: Option<ModelName>,
    /// What computes it
    pub system: System,
    /// Expected values, or a walk over tokens, layers and neurons
    pub engine: Engine,
    /// Which of the scheduler's steps are taken
    pub strategy: Strategy,
    /// Sequences at the same time
    #[schemars(range(min = 1, max = 4096))]
    pub batch: NonZeroU32,
    /// Tokens of the prompt
    #[schemars(range(min = 1, max = 1_048_576))]
    pub prompt_tokens: NonZeroU32,
    /// Tokens generated after it
    #[schemars(range(min = 1, max = 1_048_576))]
    pub generated_tokens: NonZeroU32,
    /// The GPU
    pub gpu: Gpu,
    /// GPUs; only TensorRT-LLM uses more than one
    #[schemars(range(min = 1, max = 1024))]
    pub gpus: NonZeroU32,
    /// One NDP-DIMM
    pub dimm: Dimm,
    /// NDP-DIMMs; for systems without NDP, plain DIMMs of the same capacity
    #[schemars(range(min = 1, max = 1024))]
    pub dimms: NonZeroU32,
    /// Bandwidth of one link between DIMMs
    pub link_gb_s: GbPerS,
    /// The host
    pub host: Host,
    /// What kernels and software reach
    pub overhead: Overhead,
    /// How often neurons are active, and when
    pub activity: ActivityLaw,
    /// Share of neurons that a token activates; null for that of the model's kind
    pub density: Option<Share>,
    /// The 4-bit state predictor
    pub predictor: Predictor,
    /// How far the exchange of hot and cold neurons goes
    pub exchange: Exchange,
    /// How cold neurons are moved between DIMMs
    pub remap: Remap,
    /// How the prompt's weights reach the GPU
    pub prompt: PromptStage,
    /// How much of the GPU a random placement fills
    pub random_fill: RandomFill,
    /// Which placement Hermes-host uses
    pub host_placement: HostPlacement,
    /// Share of the sparse weights that the GPU may hold; null for what fits
    pub hot_share: Option<Share>,
    /// Recording that activity is taken from: a name, an .npz file or a folder of them; null for the law
    pub trace: Option<String>,
    /// Seed of the law and of random placements
    pub seed: u64,
}

/// What computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum System {
    /// GPU and NDP-DIMMs, hot and cold neurons.
    Hermes,
    /// GPU and NDP-DIMMs, without activation sparsity.
    HermesBase,
    /// GPU and host processor, hot and cold neurons.
    HermesHost,
    /// Huggingface Accelerate: weights beyond the GPU's memory come over PCIe for each token.
    Accelerate,
    /// `FlexGen`: the same, overlapped with computing. OPT models only.
    Flexgen,
    /// Deja Vu: only active neurons come over PCIe. OPT models only.
    DejaVu,
    /// TensorRT-LLM on several GPUs that hold all weights.
    TensorrtLlm,
}

/// How the answer is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Engine {
    /// Expected values of the activity law.
    Closed,
    /// Every token, layer and neuron.
    Trace,
}

/// How the prompt's weights reach the GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PromptStage {
    /// From pinned pages, at the PCIe's bandwidth.
    Pinned,
    /// From pageable memory, as `FlexGen` does.
    Pageable,
}

/// How much of the GPU a random placement fills.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RandomFill {
    /// As many neurons as the offline partition puts there.
    Partition,
    /// As many as fit.
    Capacity,
}

/// Which placement Hermes-host uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HostPlacement {
    /// That of Hermes with its DIMMs: the same hot and cold neurons.
    AsHermes,
    /// One of its own, level between GPU and host.
    Own,
}

/// What `ndp.inference` answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct InferenceAnswer {
    /// Generated tokens of all sequences over the time of prompt and reply
    pub tokens_per_s: f64,
    /// Time of prompt and reply
    pub total_s: f64,
    /// Time of the prompt, with loading hot neurons
    pub prompt_s: f64,
    /// Mean time of one generated token
    pub step_ms: f64,
    /// Of a step: QKV, output projection, feed-forward and LM head
    pub fc_ms: f64,
    /// Of a step: attention
    pub attention_ms: f64,
    /// Of a step: transfers, synchronisation and merging
    pub communication_ms: f64,
    /// Of a step: predicting active neurons
    pub predictor_ms: f64,
    /// Of a step: the feed-forward networks, with their synchronisation
    pub mlp_ms: f64,
    /// Sparse blocks on the GPU, over a step
    pub gpu_ms: f64,
    /// Sparse blocks on the slowest DIMM (or the host), over a step
    pub cold_ms: f64,
    /// Share of a step that is communication over PCIe
    pub pcie_share: f64,
    /// Share of prompt and reply that is communication over PCIe
    pub pcie_run_share: f64,
    /// Predicting over computing, without communication
    pub predictor_compute_share: f64,
    /// Predicting over the whole run
    pub predictor_run_share: f64,
    /// Share of the model's weights that the GPU can hold
    pub resident_share: f64,
    /// Share of sparse neurons that the GPU holds
    pub hot_share_used: f64,
    /// Share of read neurons that the GPU reads
    pub gpu_read_share: f64,
    /// Share of multiply-accumulates that the DIMMs (or the host) do
    pub cold_compute_share: f64,
    /// Slowest DIMM over the mean
    pub imbalance: f64,
    /// The same over a window; null for the closed form
    pub window_imbalance: Option<f64>,
    /// Neurons that the GPU fetches per token
    pub swaps_per_token: f64,
    /// Neurons that change DIMM per token
    pub moves_per_token: f64,
    /// Time to move them over the links, as a share of the run
    pub link_migration_share: f64,
    /// Time to move them through the host instead, as a share of the run with it
    pub host_migration_share: f64,
    /// How much faster a neuron moves over the links than through the host
    pub link_speedup: f64,
    /// Share of neurons whose activity is predicted; null for the closed form
    pub prediction_accuracy: Option<f64>,
    /// Share of active neurons that are predicted; null for the closed form
    pub prediction_recall: Option<f64>,
    /// The predictor's state table, in units of 1024 bytes
    pub state_table_kib: f64,
    /// Its correlation table, in units of 1024 bytes
    pub correlation_table_kib: f64,
    /// Bandwidth between the ranks of one DIMM and its unit
    pub dimm_bandwidth_gb_s: f64,
    /// GPU and DIMMs
    pub cost_usd: f64,
    /// Tokens per second for each thousand dollars
    pub tokens_per_s_per_kusd: f64,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum InferenceError {
    /// Neither a model nor a trace.
    #[error("`model` is null, but there is no `trace` to take it from; give one of them")]
    NoModel,
    /// A trace of another model.
    #[error(
        "`trace` {name} has {found_layers} layers of {} QKV inputs and {} feed-forward neurons, but {model} has \
         {layers} of {} and {}; set `model` to null to take the trace's own", found[0], found[1], neurons[0], neurons[1]
    )]
    TraceShape {
        /// The trace.
        name: String,
        /// Its layers.
        found_layers: usize,
        /// Its neurons.
        found: [usize; 2],
        /// The model.
        model: String,
        /// Its layers.
        layers: usize,
        /// Its neurons.
        neurons: [usize; 2],
    },
    /// The trace itself.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// The law.
    #[error(transparent)]
    Law(#[from] crate::activity::LawError),
    /// A memory that contradicts itself.
    #[error("`dimm.memory`: {0}")]
    Memory(#[from] memscape_dram::DramError),
    /// No placement.
    #[error(transparent)]
    Partition(#[from] crate::partition::PartitionError),
    /// More than the DIMMs hold.
    #[error(
        "weights and key-value cache take {need_gb:.1} GB, but {dimms} DIMMs of {capacity_gb} GB hold {:.1} GB: \
         {:.1} GB short; {needed} DIMMs would do", f64::from(*dimms) * capacity_gb, need_gb - f64::from(*dimms) * capacity_gb
    )]
    Dimms {
        /// What is needed.
        need_gb: f64,
        /// DIMMs that there are.
        dimms: u32,
        /// What one holds.
        capacity_gb: f64,
        /// DIMMs that would do.
        needed: u32,
    },
    /// What every token needs whole does not fit the GPU.
    #[error(
        "output projections and LM head take {need_gb:.1} GB, but the GPU can hold {have_gb:.1} GB: {:.1} GB short; \
         raise `gpu.memory_gb` or `overhead.gpu_usable`", need_gb - have_gb
    )]
    Dense {
        /// What is needed.
        need_gb: f64,
        /// What there is.
        have_gb: f64,
    },
    /// TensorRT-LLM needs all weights on GPUs.
    #[error("weights and key-value cache take {need_gb:.1} GB, but {gpus} GPUs hold {have_gb:.1} GB: {:.1} GB short; {needed} GPUs would do", need_gb - have_gb)]
    Gpus {
        /// What is needed.
        need_gb: f64,
        /// What there is.
        have_gb: f64,
        /// GPUs that there are.
        gpus: u32,
        /// GPUs that would do.
        needed: u32,
    },
    /// A baseline for one family of models.
    #[error("{system} supports models with ReLU of their own (OPT) only")]
    Unsupported {
        /// The baseline.
        system: &'static str,
    },
    /// Expected values need the law.
    #[error("`engine` closed knows the activity law only; use `engine` trace for the recording `{0}`")]
    ClosedTrace(String),
    /// Longer than the counters.
    #[error("`remap.window` is {0}; it must be from 1 to 4095 tokens")]
    Window(u32),
    /// Several GPUs for a system of one.
    #[error("`gpus` is {0}; only `system` tensorrt-llm uses more than one")]
    ManyGpus(u32),
    /// A zero where a rate is needed.
    #[error("`{0}` is 0; it must be above")]
    Zero(&'static str),
}

impl Default for InferenceStudy {
    fn default() -> Self {
        static BASELINE: std::sync::LazyLock<InferenceStudy> = std::sync::LazyLock::new(|| {
            let mut tree = serde_json::json!({
                "model": "llama-2-70b", "system": "hermes", "engine": "closed", "strategy": "full", "batch": 1,
                "prompt_tokens": 128, "generated_tokens": 128, "gpus": 1, "density": null, "prompt": "pinned",
                "exchange": "unchecked", "random_fill": "partition", "host_placement": "as-hermes", "hot_share": null, "trace": null, "seed": 0,
            });
            let machine = crate::hardware::find_machine(crate::hardware::DEFAULT_MACHINE);
            let machine = machine.expect("the default system is built in").parameters;
            for (key, value) in machine.as_object().expect("an object") {
                tree[key] = value.clone();
            }
            serde_json::from_value(tree).expect("the baseline is checked by tests")
        });
        BASELINE.clone()
    }
}

/// What a study resolves to.
#[derive(Debug, Clone)]
pub struct Resolved {
    /// The model.
    pub shape: Shape,
    /// The recording, if activity comes from one.
    pub recording: Option<Arc<Recording>>,
    /// Share of neurons that a token activates, by the law.
    pub density: f64,
    /// Tokens of the prompt.
    pub prompt: u32,
    /// Tokens generated.
    pub generated: u32,
}

impl InferenceStudy {
    /// Finds model, recording and lengths, and checks that they go together.
    ///
    /// # Errors
    /// [`InferenceError`] says what does not.
    pub fn resolve(&self) -> Result<Resolved, InferenceError> {
        self.dimm.memory.check()?;
        for (what, value) in [
            ("dimm.clock_ghz", self.dimm.clock_ghz.as_f64()),
            ("overhead.gpu_bandwidth_efficiency", self.overhead.gpu_bandwidth_efficiency.as_f64()),
            ("overhead.gpu_compute_efficiency", self.overhead.gpu_compute_efficiency.as_f64()),
            ("overhead.tensorrt_efficiency", self.overhead.tensorrt_efficiency.as_f64()),
            ("host.bandwidth_efficiency", self.host.bandwidth_efficiency.as_f64()),
        ] {
            if value <= 0.0 {
                return Err(InferenceError::Zero(what));
            }
        }
        if self.remap.window.get() > 4095 {
            return Err(InferenceError::Window(self.remap.window.get()));
        }
        if self.system != System::TensorrtLlm && self.gpus.get() > 1 {
            return Err(InferenceError::ManyGpus(self.gpus.get()));
        }
        let recording = self.trace.as_deref().map(trace::find).transpose()?;
        let shape = match (&self.model, &recording) {
            (Some(model), _) => Shape::of(model),
            (None, Some(recording)) => Shape::recorded(recording),
            (None, None) => return Err(InferenceError::NoModel),
        };
        let (mut prompt, generated) = (self.prompt_tokens.get(), self.generated_tokens.get());
        if let Some(recording) = &recording {
            let (found_layers, found) = (recording.profile.layers(), recording.profile.neurons());
            let neurons = [shape.hidden, shape.ffn];
            if (found_layers, found) != (shape.layers, neurons) {
                let model = self.model.map_or_else(String::new, |it| it.name().to_owned());
                let (name, layers) = (recording.name.clone(), shape.layers);
                return Err(InferenceError::TraceShape { name, found_layers, found, model, layers, neurons });
            }
            let short = |what, have, need, parameter| TraceError::TooShort {
                name: recording.name.clone(),
                what,
                have,
                need,
                parameter,
            };
            let (sequences, batch) = (recording.sequences.len(), self.batch.get() as usize);
            if batch > sequences {
                return Err(short("sequences", sequences, batch, "batch").into());
            }
            for sequence in &recording.sequences[..batch] {
                let have = sequence.tokens() - sequence.prefill;
                if have < generated as usize {
                    return Err(
                        short("generated tokens", have, generated as usize, "generated_tokens").into()
                    );
                }
            }
            prompt = u32::try_from(recording.sequences[0].prefill).unwrap_or(u32::MAX);
            if let Some(other) = recording.sequences[..batch].iter().find(|it| it.prefill != prompt as usize)
            {
                return Err(short(
                    "prompt tokens in one of its sequences",
                    other.prefill,
                    prompt as usize,
                    "batch",
                )
                .into());
            }
        }
        let by_kind =
            if shape.native_relu { self.activity.native_density } else { self.activity.relufied_density };
        let density = self.density.unwrap_or(by_kind).as_f64();
        Ok(Resolved { shape, recording, density, prompt, generated })
    }

    /// Where activity comes from.
    ///
    /// # Errors
    /// [`InferenceError::Law`] if the law contradicts itself.
    pub fn source(&self, resolved: &Resolved) -> Result<Source, InferenceError> {
        if let Some(recording) = &resolved.recording {
            return Ok(Source::Recorded(Arc::clone(recording)));
        }
        Ok(Source::Law(Synthetic {
            law: self.activity.at(resolved.density)?,
            layers: resolved.shape.layers,
            neurons: [resolved.shape.hidden, resolved.shape.ffn],
            prefill: resolved.prompt as usize,
            decode: resolved.generated as usize,
            seed: self.seed,
        }))
    }

    fn price_usd(&self) -> f64 {
        let gpus = self.gpu.price_usd.as_f64() * f64::from(self.gpus.get());
        let dimms = self.dimm.price_usd.as_f64() * f64::from(self.dimms.get());
        if self.system == System::TensorrtLlm { gpus } else { gpus + dimms }
    }
}

impl Study for InferenceStudy {
    const NAME: &'static str = "ndp.inference";
    const SUMMARY: &'static str = "A prompt and a reply on a GPU with NDP-DIMMs (Hermes), or on a baseline";
    type Answer = InferenceAnswer;

    fn presets() -> Vec<PresetParameter> {
        presets()
    }

    fn answer(&self) -> Result<InferenceAnswer, StudyError> {
        let resolved = self.resolve()?;
        let costs = Costs::new(self, &resolved);
        let account: Account = match self.system {
            System::Hermes | System::HermesHost => hermes::account(self, &resolved, &costs)?,
            System::HermesBase => baseline::hermes_base(self, &resolved, &costs)?,
            System::Accelerate => baseline::accelerate(self, &resolved, &costs)?,
            System::Flexgen => baseline::flexgen(self, &resolved, &costs)?,
            System::DejaVu => baseline::deja_vu(self, &resolved, &costs)?,
            System::TensorrtLlm => baseline::tensorrt(self, &resolved, &costs)?,
        };
        let generated = f64::from(resolved.generated);
        let step_ns = account.step_ns();
        let run_ns = account.prompt_ns + generated * step_ns;
        let tokens_per_s = f64::from(self.batch.get()) * generated / run_ns * 1e9;
        let compute_ns = step_ns - account.communication_ns;
        let ms = 1e-6;
        let moves_ns = |each: f64| account.moves_ns * each;
        let (by_link, by_host) = (moves_ns(1.0), account.host_moves_ns);
        let cost_usd = self.price_usd();
        Ok(InferenceAnswer {
            tokens_per_s,
            total_s: run_ns * 1e-9,
            prompt_s: account.prompt_ns * 1e-9,
            step_ms: step_ns * ms,
            fc_ms: account.fc_ns * ms,
            attention_ms: account.attention_ns * ms,
            communication_ms: account.communication_ns * ms,
            predictor_ms: account.predictor_ns * ms,
            mlp_ms: account.mlp_ns * ms,
            gpu_ms: account.gpu_ns * ms,
            cold_ms: account.cold_ns * ms,
            pcie_share: account.pcie_ns / step_ns,
            pcie_run_share: (account.prompt_pcie_ns + generated * account.pcie_ns) / run_ns,
            predictor_compute_share: account.predictor_ns / compute_ns,
            predictor_run_share: account.predictor_ns * generated / run_ns,
            resident_share: (costs.usable_bytes / resolved.shape.bytes()).min(1.0),
            hot_share_used: account.hot_share,
            gpu_read_share: account.gpu_read_share,
            cold_compute_share: account.cold_compute_share,
            imbalance: account.imbalance,
            window_imbalance: account.window_imbalance,
            swaps_per_token: account.swaps,
            moves_per_token: account.moves,
            link_migration_share: by_link * generated / run_ns,
            host_migration_share: by_host * generated / (run_ns + by_host * generated),
            link_speedup: costs.link_speedup,
            prediction_accuracy: account.accuracy,
            prediction_recall: account.recall,
            state_table_kib: crate::study::table_bytes(&resolved.shape).0 / 1024.0,
            correlation_table_kib: crate::study::table_bytes(&resolved.shape).1 / 1024.0,
            dimm_bandwidth_gb_s: self.dimm.bandwidth_gb_s(),
            cost_usd,
            tokens_per_s_per_kusd: tokens_per_s / (cost_usd * 1e-3).max(1e-9),
        })
    }
}
