//! The study `ndp.inference`: a prompt and a reply, on Hermes or a baseline.

use std::fmt::Debug;
use std::num::NonZeroU32;

use memscape_study::{
    Aim, Bound, Catalog, CostEngine, EnergyColumns, Engines, Graded, Headline, Laws, OperatorCost, Recorder,
    Served, Slot, Study, StudyError,
};
use memscape_units::{GbPerS, Nanoseconds, Usd};
use memscape_workload::{Format, Model, WeightFormat};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{laws, slots};
use crate::activity::RecordingName;
use crate::baseline;
use crate::cost::operators::{Communicated, Divided, Peaks, of_dense_step, of_prompt};
use crate::cost::{Account, ColdSide, PromptStage, Rates, StepPart, energy, table_bytes, timeline};
use crate::error::NdpError;
use crate::hardware::{
    ActivityLaw, DIMMS, Dimm, GPUS, Gpu, Host, MACHINES, Machine, Overhead, Predictor, Remap, check_memory,
};
use crate::hermes::{self, Hermes, Policy};
use crate::numbers::{Density, RatedWatts, Share, count};
use crate::scheduler::{Exchange, Missed, Strategy};
use crate::work::{Activity, Shape, Work};

/// A prompt and a reply of a language model on a GPU with NDP-DIMMs, or on a
/// system that Hermes is compared with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InferenceStudy {
    /// Language model; null for that of `trace`
    pub model: Option<Model>,
    /// How weights are stored: a format, a type of ggml such as `q4_k`, a mixture of llama.cpp's such as `q4_k_m`, or `stored`, as the model's file
    /// has them on average, which holds for a GGUF file unless given; they are multiplied as FP16 all the same
    pub format: WeightFormat,
    /// What computes it
    pub system: System,
    /// Expected values, or a walk over tokens, layers and neurons
    pub engine: CostEngine,
    /// Which of the scheduler's steps are taken
    pub strategy: Strategy,
    /// Sequences at the same time
    #[schemars(range(min = 1, max = 4096))]
    pub batch: NonZeroU32,
    /// Tokens of the prompt; a recording has its own
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
    /// What such a link takes; null where no source says
    pub link_pj_per_bit: Option<Graded>,
    /// The host
    pub host: Host,
    /// What kernels and software reach
    pub overhead: Overhead,
    /// How often neurons are active, and when
    pub activity: ActivityLaw,
    /// Share of neurons that a token activates; null for that of the model's kind
    pub density: Option<Density>,
    /// The 4-bit state predictor
    pub predictor: Predictor,
    /// Who computes a neuron that the GPU holds
    pub exchange: Exchange,
    /// What becomes of active neurons that are not predicted
    pub missed: Missed,
    /// How cold neurons are moved between DIMMs
    pub remap: Remap,
    /// How the prompt's weights reach the GPU
    pub prompt: PromptStage,
    /// Groups of neighbours that a block is cut into, each on one DIMM; null places each neuron by itself
    #[schemars(range(min = 1, max = 1_048_576))]
    pub placement_groups: Option<NonZeroU32>,
    /// Multipliers of the DIMM that the printed partition is made for; null for those of `dimm`
    #[schemars(range(min = 1, max = 1_048_576))]
    pub placed_for_multipliers: Option<NonZeroU32>,
    /// Most of the sparse weights, as a share, that the GPU holds where more would fit; null for what fits
    pub hot_share: Option<Share>,
    /// Recording that activity is taken from: a name, an .npz file or a folder of them; null for the law
    pub trace: Option<RecordingName>,
    /// First of the recording's sequences that is taken
    pub sequence: u32,
    /// Seed of the law and of random placements
    #[schemars(extend("maximum" = u64::MAX))]
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
    /// GPU and host processor, hot and cold neurons; as the paper has it with `strategy = "partition"`.
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

/// What `ndp.inference` answers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct InferenceAnswer {
    /// What every system answers
    #[serde(flatten)]
    pub headline: Headline,
    /// Of a step: QKV, output projection, feed-forward and LM head
    pub fc_ns: f64,
    /// Of a step: attention
    pub attention_ns: f64,
    /// Of a step: transfers, synchronisation and merging
    pub communication_ns: f64,
    /// Of a step: predicting active neurons
    pub predictor_ns: f64,
    /// The feed-forward networks, with their synchronisation, without what DIMMs' units take in and the merging of sums, over a step; null for systems
    /// that do not divide matrices, see `fc_ns`
    pub mlp_ns: Option<f64>,
    /// Sparse blocks on the GPU, over a step; of systems that do not divide them, all matrices
    pub gpu_ns: f64,
    /// Sparse blocks on the slowest DIMM (or the host), over a step
    pub cold_ns: f64,
    /// Share of a step that is communication over PCIe
    pub pcie_share: f64,
    /// Share of prompt and reply that is communication over PCIe
    pub pcie_run_share: f64,
    /// Predicting over computing, without communication
    pub predictor_compute_share: f64,
    /// Predicting over the whole run
    pub predictor_run_share: f64,
    /// Share of the model's weights that the GPU, or all GPUs, can hold
    pub resident_share: f64,
    /// Share of sparse neurons that the GPU holds
    pub hot_share_used: f64,
    /// Of the bytes of neurons that are read, those that the GPU reads
    pub gpu_read_share: f64,
    /// Share of multiply-accumulates that the DIMMs (or the host) do
    pub cold_compute_share: f64,
    /// Slowest DIMM over the mean
    pub imbalance: f64,
    /// The same over a window; null for the closed form
    pub window_imbalance: Option<f64>,
    /// Neurons that the GPU fetches per step, which is a token of each sequence
    pub swaps_per_token: f64,
    /// Neurons that change DIMM per step
    pub moves_per_token: f64,
    /// Time to move them over the links, as a share of the run
    pub link_migration_share: f64,
    /// Time to move them through the host instead, as a share of the run with it
    pub host_migration_share: f64,
    /// How much faster a neuron moves over the links than through the host; null where none moves between DIMMs
    pub link_speedup: Option<f64>,
    /// Share of neurons whose activity is predicted; null where nothing is
    pub prediction_accuracy: Option<f64>,
    /// Share of active neurons that are predicted; null where nothing is
    pub prediction_recall: Option<f64>,
    /// Of the bytes of neurons that any sequence activates, those that were not predicted, and so were late or
    /// left out: each neuron once, however many sequences of a batch need it
    pub missed_share: f64,
    /// The predictor's state table, in units of 1024 bytes: one for all sequences, of what any of them activates;
    /// null for systems without Hermes' predictor
    pub state_table_kib: Option<f64>,
    /// Its correlation table, in units of 1024 bytes
    pub correlation_table_kib: Option<f64>,
    /// Bandwidth between the ranks of one DIMM and its unit
    pub dimm_bandwidth_gb_s: f64,
    /// Tokens per second for each thousand dollars; null without a price
    pub tokens_per_s_per_kusd: Option<f64>,
}

impl Default for InferenceStudy {
    fn default() -> Self {
        let Machine {
            gpu,
            dimm,
            dimms,
            link_gb_s,
            link_pj_per_bit,
            host,
            overhead,
            predictor,
            remap,
            activity,
        } = *MACHINES.get("hermes");
        Self {
            model: Some(Model::named("llama-2-70b").expect("a built-in model")),
            format: Format::FP16.into(),
            system: System::Hermes,
            engine: CostEngine::Closed,
            strategy: Strategy::Full,
            batch: NonZeroU32::MIN,
            prompt_tokens: count(128),
            generated_tokens: count(128),
            gpu,
            gpus: NonZeroU32::MIN,
            dimm,
            dimms,
            link_gb_s,
            link_pj_per_bit,
            host,
            overhead,
            activity,
            density: None,
            predictor,
            exchange: Exchange::UntilLevel,
            missed: Missed::Dropped,
            remap,
            prompt: PromptStage::Pinned,
            placement_groups: NonZeroU32::new(activity.clusters.get()),
            placed_for_multipliers: None,
            hot_share: None,
            trace: None,
            sequence: 0,
            seed: 0,
        }
    }
}

impl InferenceStudy {
    /// What it runs on.
    ///
    /// # Errors
    /// [`NdpError::Memory`] if the memory's numbers contradict each other.
    pub fn machine(&self) -> Result<Machine, NdpError> {
        check_memory(&self.dimm.memory)?;
        self.predictor.check()?;
        Ok(Machine {
            gpu: self.gpu,
            dimm: self.dimm,
            dimms: self.dimms,
            link_gb_s: self.link_gb_s,
            link_pj_per_bit: self.link_pj_per_bit,
            host: self.host,
            overhead: self.overhead,
            predictor: self.predictor,
            remap: self.remap,
            activity: self.activity,
        })
    }

    /// What is to be computed.
    ///
    /// # Errors
    /// [`NdpError::Work`] if model and recording do not go together.
    pub fn work(&self) -> Result<Work, NdpError> {
        let shape = Shape::resolve(self.model.as_ref(), self.format, self.trace.as_ref())?;
        let trace = self.trace.as_ref().map(|it| (it, self.sequence));
        let activity = Activity::new(&shape, trace, self.activity, self.density, self.seed);
        let [prompt, generated, batch] =
            [self.prompt_tokens, self.generated_tokens, self.batch].map(NonZeroU32::get);
        Ok(Work::new(shape, activity, prompt, generated, batch)?)
    }

    fn policy(&self) -> Policy {
        Policy {
            engine: self.engine,
            strategy: self.strategy,
            exchange: self.exchange,
            missed: self.missed,
            prompt: self.prompt,
            groups: self.placement_groups,
            placed_for_multipliers: self.placed_for_multipliers,
            hot_share: self.hot_share,
            seed: self.seed,
        }
    }

    fn account(&self, machine: &Machine, work: &Work) -> Result<Account, NdpError> {
        self.check_gpus()?;
        let hermes = |cold| hermes::account(&Hermes::new(machine, work, cold, self.policy()));
        match self.system {
            System::Hermes => hermes(ColdSide::Dimms),
            System::HermesHost => hermes(ColdSide::Host),
            System::HermesBase => baseline::hermes_base(machine, work, self.prompt),
            System::Accelerate => baseline::accelerate(machine, work),
            System::Flexgen => baseline::flexgen(machine, work),
            System::DejaVu => baseline::deja_vu(machine, work),
            System::TensorrtLlm => baseline::tensorrt(machine, work, self.gpus.get()),
        }
    }

    /// Prompt and token, operator by operator.
    ///
    /// # Errors
    /// As of the study.
    pub fn operators(&self) -> Result<Vec<OperatorCost>, StudyError> {
        let (machine, work) = (self.machine()?, self.work()?);
        let cold = match self.system {
            System::Hermes => ColdSide::Dimms,
            System::HermesHost => ColdSide::Host,
            _ => {
                let account = self.account(&machine, &work)?;
                let rates = Rates::new(&machine, ColdSide::Dimms, work.batch, work.shape.weight_bytes);
                // Several GPUs share each operation.
                let peaks = Peaks::of(&machine, &rates, self.gpus.get());
                let heads = rates.of_heads(self.gpus.get(), &work.shape);
                let communicated = match self.system {
                    System::TensorrtLlm => Communicated::Sums,
                    _ => Communicated::Weights,
                };
                let all = rates.of_gpus(self.gpus.get());
                let mut costs = of_prompt(&account, &work, &all, &heads, &peaks, communicated);
                let divided = match self.system {
                    System::DejaVu => baseline::deja_vu_divided(&machine, &work)?,
                    System::Accelerate | System::Flexgen => baseline::offloaded_divided(&machine, &work)?,
                    System::HermesBase => baseline::hermes_base_operators(&machine, &work)?,
                    _ => Divided::dense(&work, communicated),
                };
                let on_dimms = self.system == System::HermesBase;
                costs.extend(of_dense_step(&account, &work, &rates, &peaks, on_dimms, &divided));
                return Ok(costs);
            }
        };
        self.check_gpus()?;
        Ok(hermes::operators(&Hermes::new(&machine, &work, cold, self.policy()))?)
    }

    /// Whose memory holds what the GPU does not; none where GPUs hold all.
    const fn cold(&self) -> Option<ColdSide> {
        match self.system {
            System::Hermes | System::HermesBase => Some(ColdSide::Dimms),
            System::HermesHost | System::Accelerate | System::Flexgen | System::DejaVu => {
                Some(ColdSide::Host)
            }
            System::TensorrtLlm => None,
        }
    }

    fn check_gpus(&self) -> Result<(), NdpError> {
        if self.system != System::TensorrtLlm && self.gpus.get() > 1 {
            return Err(NdpError::ManyGpus(self.gpus.get()));
        }
        Ok(())
    }

    /// What happens when: on Hermes each block of each layer, walked whatever
    /// `engine` says; on a baseline the parts of a mean step. Layers of the first 8
    /// tokens are shown one by one, of those up to 4096 the length, and one span for
    /// the rest.
    fn timeline(&self, to: &mut dyn Recorder) -> Result<(), StudyError> {
        let (machine, work) = (self.machine()?, self.work()?);
        self.check_gpus()?;
        let cold = match self.system {
            System::Hermes => ColdSide::Dimms,
            System::HermesHost => ColdSide::Host,
            _ => {
                timeline::record(&self.account(&machine, &work)?, work.generated, to);
                return Ok(());
            }
        };
        Ok(hermes::record(&Hermes::new(&machine, &work, cold, self.policy()), to)?)
    }

    /// What GPU and DIMMs cost; none if a part is not one that can be bought, or has no price that is known.
    fn price_usd(&self) -> Option<f64> {
        let gpus =
            self.of_gpu("price_usd", self.gpu.price_usd.map(Usd::as_f64))? * f64::from(self.gpus.get());
        match self.system {
            System::TensorrtLlm => return Some(gpus),
            System::Hermes | System::HermesBase => {}
            // Beside DIMMs that do not compute, whose price no source gives.
            System::HermesHost | System::Accelerate | System::Flexgen | System::DejaVu => return None,
        }
        let given = self.dimm.price_usd.map(Usd::as_f64);
        let dimm =
            given.or_else(|| published(&DIMMS, &Dimm { price_usd: None, ..self.dimm }, "price_usd"))?;
        Some(gpus + dimm * f64::from(self.dimms.get()))
    }

    /// What is given of the card as a whole, or else published of it.
    fn of_gpu(&self, fact: &str, given: Option<f64>) -> Option<f64> {
        let card = Gpu { price_usd: None, board_w: None, ..self.gpu };
        given.or_else(|| published(&GPUS, &card, fact))
    }

    fn headline(&self, machine: &Machine, work: &Work, account: &Account) -> Headline {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bytes; `as` saturates")]
        let bytes = |it: f64| it.round() as u64;
        let (prompt, step) = (account.prompt.time(), Nanoseconds::saturating(account.step.total().as_ns()));
        let of_dimms = |it| energy(machine, it, [prompt, step]);
        Headline::of(&Served {
            prompt_tokens: u64::from(work.prompt),
            generated_tokens: u64::from(work.generated),
            batch: u64::from(work.batch),
            prompt,
            step,
            memory_bytes: bytes(account.held.bytes),
            memory_limit_bytes: Some(bytes(account.held.limit)),
            bound_by: account.bound_by,
            energy: account.traffic.as_ref().and_then(of_dimms),
            package_w: self
                .of_gpu("board_w", self.gpu.board_w.map(RatedWatts::as_f64))
                .map(|it| it * f64::from(self.gpus.get())),
            cost_usd: self.price_usd(),
        })
        .of_modules()
    }
}

impl Study for InferenceStudy {
    const NAME: &'static str = "ndp.inference";
    const SUMMARY: &'static str = "A prompt and a reply on a GPU with NDP-DIMMs (Hermes), or on a baseline";
    type Answer = InferenceAnswer;

    const SUMS: &'static [(&'static str, &'static [&'static str])] =
        &[("token_ns", &["fc_ns", "attention_ns", "communication_ns", "predictor_ns"]), EnergyColumns::SUM];

    const LAWS: Laws = Laws {
        aim: Some(Aim::less("total_s")),
        effects: &[laws::RANK, laws::INFERENCE],
        trends: &[laws::ENERGY],
        engines: Some(Engines::closed_and_events(0.2)),
        slow: true,
        ..Laws::NONE
    };

    const TIMELINE: Option<fn(&Self, &mut dyn Recorder) -> Result<(), StudyError>> = Some(Self::timeline);
    const OPERATORS: Option<fn(&Self) -> Result<Vec<OperatorCost>, StudyError>> = Some(Self::operators);

    fn bounds(&self) -> Vec<Bound> {
        let (Ok(machine), Ok(work)) = (self.machine(), self.work()) else { return Vec::new() };
        let mut bounds = laws::bounds(&machine, &work, self.gpus.get());
        if matches!(self.system, System::Hermes | System::HermesBase | System::HermesHost) {
            let made = work.prompt_cache_bytes() / machine.gpu.pcie_gb_s.as_f64();
            bounds.push(Bound::at_least("ttft_s", made * 1e-9, "the prompt's keys and values over PCIe"));
        }
        if let Some(cold) = self.cold() {
            let rates = Rates::new(&machine, cold, work.batch, work.shape.weight_bytes);
            let missing = work.shape.multiplied_bytes() - machine.gpu.memory_gb.as_f64() * 1e9;
            let least = missing.max(0.0) / rates.pinned_bytes_per_ns();
            let why = "weights that the GPU has no room for out of the memory that holds them and over PCIe";
            bounds.push(Bound::at_least("ttft_s", least * 1e-9, why));
        }
        bounds
    }

    fn slots() -> Vec<Slot> {
        slots::of_machine()
    }

    fn answer(&self) -> Result<InferenceAnswer, StudyError> {
        let (machine, work) = (self.machine()?, self.work()?);
        let account = self.account(&machine, &work)?;
        let headline = self.headline(&machine, &work, &account);
        let rates = Rates::new(&machine, ColdSide::Dimms, work.batch, work.shape.weight_bytes);
        let (states, parents) = table_bytes(&work.shape);
        let (step, generated) = (account.step.total().as_ns(), f64::from(work.generated));
        let prompt = account.prompt.time().as_f64();
        let run = prompt + generated * step;
        let [pcie, predictor] = [account.pcie.as_f64(), account.step.ns(StepPart::Predictor)];
        let [by_link, by_host] = [account.link_moves, account.host_moves].map(Nanoseconds::as_f64);
        let resident_bytes = match self.system {
            System::TensorrtLlm => account.held.limit,
            _ => rates.usable_bytes,
        };
        let predicts = matches!(self.system, System::Hermes | System::HermesHost);
        let mlp_bytes = work.shape.weight_bytes * work.shape.neuron_weights(crate::activity::BlockKind::Mlp);
        Ok(InferenceAnswer {
            headline,
            fc_ns: account.step.ns(StepPart::Fc),
            attention_ns: account.step.ns(StepPart::Attention),
            communication_ns: account.step.ns(StepPart::Communication),
            predictor_ns: predictor,
            mlp_ns: account.mlp.map(Nanoseconds::as_f64),
            gpu_ns: account.gpu.as_f64(),
            cold_ns: account.cold.as_f64(),
            pcie_share: pcie / step,
            pcie_run_share: (account.prompt.pcie.as_f64() + generated * pcie) / run,
            predictor_compute_share: predictor / (step - account.step.ns(StepPart::Communication)),
            predictor_run_share: predictor * generated / run,
            resident_share: (resident_bytes / work.shape.bytes()).min(1.0),
            hot_share_used: account.hot_share,
            gpu_read_share: account.gpu_read_share,
            cold_compute_share: account.cold_compute_share,
            imbalance: account.imbalance,
            window_imbalance: account.window_imbalance,
            swaps_per_token: account.swaps,
            moves_per_token: account.moves,
            link_migration_share: by_link * generated / run,
            host_migration_share: by_host * generated / (run + by_host * generated),
            link_speedup: (self.system == System::Hermes && account.moves > 0.0)
                .then(|| rates.link_speedup(mlp_bytes)),
            prediction_accuracy: account.accuracy,
            prediction_recall: account.recall,
            missed_share: account.missed,
            state_table_kib: predicts.then_some(states / 1024.0),
            correlation_table_kib: predicts.then_some(parents / 1024.0),
            dimm_bandwidth_gb_s: self.dimm.bandwidth_gb_s(),
            tokens_per_s_per_kusd: headline
                .cost_usd
                .filter(|it| *it > 0.0)
                .map(|it| headline.tokens_per_s / (it * 1e-3)),
        })
    }
}

/// What is published of a part as a whole, such as its price: of one that was changed, but for what is open of
/// it anyway, nothing is.
fn published<T>(catalog: &Catalog<T>, part: &T, fact: &str) -> Option<f64>
where
    T: Copy + Debug + PartialEq + Serialize + DeserializeOwned + JsonSchema + Send + Sync,
{
    catalog.same(|_| *part)?.facts.get(fact)?.as_f64()
}
