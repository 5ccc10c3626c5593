//! The study `ndp.predictor`: what the scheduler foresees.

use std::num::NonZeroU32;

use memscape_study::{Aim, CostEngine, Laws, Slot, Study, StudyError};
use memscape_units::float;
use memscape_workload::{Format, Model, WeightFormat};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::laws;
use super::slots;
use super::sparse::SparseSystem;
use crate::activity::RecordingName;
use crate::cost::{PromptStage, on_dimms, table_bytes};
use crate::error::NdpError;
use crate::hardware::{
    ActivityLaw, Dimm, Gpu, Host, MACHINES, Machine, Overhead, Predictor, Remap, check_memory,
};
use crate::hermes::{Hermes, Policy, walk};
use crate::numbers::{Density, Share, count};
use crate::scheduler::{Exchange, Missed, Strategy};
use crate::work::{Activity, Shape, Work};

/// How well the 4-bit state predictor does, and what the scheduler makes of it:
/// tokens, layers and neurons are walked, from the offline partition on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PredictorStudy {
    /// Language model; null for that of `trace`
    pub model: Option<Model>,
    /// How weights are stored: a format, a type of ggml such as `q4_k`, a mixture of llama.cpp's such as `q4_k_m`, or `stored`, as the model's file
    /// has them on average, which holds for a GGUF file unless given; they are multiplied as FP16 all the same
    pub format: WeightFormat,
    /// Who computes cold neurons
    pub system: SparseSystem,
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
    /// One NDP-DIMM
    pub dimm: Dimm,
    /// NDP-DIMMs
    #[schemars(range(min = 1, max = 1024))]
    pub dimms: NonZeroU32,
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
    /// How cold neurons are moved between DIMMs
    pub remap: Remap,
    /// Groups of neighbours that a block is cut into, each on one DIMM; null places each neuron by itself
    #[schemars(range(min = 1, max = 1_048_576))]
    pub placement_groups: Option<NonZeroU32>,
    /// Layers that are walked, from the first on; null for all
    #[schemars(range(min = 1, max = 4096))]
    pub layers: Option<NonZeroU32>,
    /// Most of the sparse weights, as a share, that the GPU holds where more would fit; null for what fits
    pub hot_share: Option<Share>,
    /// Recording that activity is taken from: a name, an .npz file or a folder of them; null for the law
    pub trace: Option<RecordingName>,
    /// First of the recording's sequences that is taken
    pub sequence: u32,
    /// Seed of the law
    #[schemars(extend("maximum" = u64::MAX))]
    pub seed: u64,
}

/// What `ndp.predictor` answers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct PredictorAnswer {
    /// Share of neurons whose activity is predicted
    pub accuracy: f64,
    /// Share of active neurons that are predicted active; null where none is active
    pub recall: Option<f64>,
    /// Share of neurons predicted active that are; null where none is predicted
    pub precision: Option<f64>,
    /// Share of neurons that are active
    pub density: f64,
    /// Of neurons that are read, whatever their size, those that the GPU reads
    pub gpu_read_share: f64,
    /// Fullest DIMM over the mean, over a window's cold work; null where no window ends, or none has cold work
    pub window_imbalance: Option<f64>,
    /// Share of the GPU's neurons exchanged per token
    pub swapped_share: f64,
    /// Neurons moved between DIMMs per token, in the layers that are walked
    pub moves_per_token: f64,
    /// State table of the whole model, in units of 1024 bytes
    pub state_table_kib: f64,
    /// Correlation table of the whole model, in units of 1024 bytes
    pub correlation_table_kib: f64,
}

impl Default for PredictorStudy {
    fn default() -> Self {
        let machine = *MACHINES.get("hermes");
        Self {
            model: Some(Model::named("llama-2-70b").expect("a built-in model")),
            format: Format::FP16.into(),
            system: SparseSystem::Hermes,
            strategy: Strategy::Full,
            batch: NonZeroU32::MIN,
            prompt_tokens: count(128),
            generated_tokens: count(128),
            gpu: machine.gpu,
            dimm: machine.dimm,
            dimms: machine.dimms,
            host: machine.host,
            overhead: machine.overhead,
            activity: machine.activity,
            density: None,
            predictor: machine.predictor,
            exchange: Exchange::UntilLevel,
            remap: machine.remap,
            placement_groups: NonZeroU32::new(machine.activity.clusters.get()),
            layers: NonZeroU32::new(8),
            hot_share: None,
            trace: None,
            sequence: 0,
            seed: 0,
        }
    }
}

impl PredictorStudy {
    fn machine(&self) -> Result<Machine, NdpError> {
        check_memory(&self.dimm.memory)?;
        self.predictor.check()?;
        let Self { gpu, dimm, dimms, host, overhead, predictor, remap, activity, .. } = *self;
        Ok(Machine {
            gpu,
            dimm,
            dimms,
            host,
            overhead,
            predictor,
            remap,
            activity,
            ..*MACHINES.get("hermes")
        })
    }

    fn work(&self) -> Result<Work, NdpError> {
        let shape = Shape::resolve(self.model.as_ref(), self.format, self.trace.as_ref())?;
        let trace = self.trace.as_ref().map(|it| (it, self.sequence));
        let activity = Activity::new(&shape, trace, self.activity, self.density, self.seed);
        let [prompt, generated, batch] =
            [self.prompt_tokens, self.generated_tokens, self.batch].map(NonZeroU32::get);
        Ok(Work::new(shape, activity, prompt, generated, batch)?)
    }

    fn policy(&self) -> Policy {
        Policy {
            engine: CostEngine::Events,
            strategy: self.strategy,
            exchange: self.exchange,
            missed: Missed::Dropped,
            prompt: PromptStage::Pinned,
            groups: self.placement_groups,
            placed_for_multipliers: None,
            hot_share: self.hot_share,
            seed: self.seed,
        }
    }
}

impl Study for PredictorStudy {
    const NAME: &'static str = "ndp.predictor";
    const SUMMARY: &'static str = "The 4-bit state predictor on a trace: accuracy, exchange and balance";
    type Answer = PredictorAnswer;

    const LAWS: Laws = Laws {
        aim: Some(Aim::more("accuracy")),
        effects: &[laws::SPARSE_ALONE, laws::PREDICTOR],
        slow: true,
        ..Laws::NONE
    };

    fn slots() -> Vec<Slot> {
        slots::of_machine()
    }

    fn answer(&self) -> Result<PredictorAnswer, StudyError> {
        let (machine, mut work) = (self.machine()?, self.work()?);
        let (states, parents) = table_bytes(&work.shape);
        on_dimms(&machine, &work)?;
        let hermes = Hermes::new(&machine, &work, self.system.cold(), self.policy());
        // As much of the layers that are walked as of all.
        let [hot, room] =
            [hermes.hot_capacity()?, hermes.dimm_room()].map(|it| it / work.shape.sparse_bytes());
        work.shape.layers =
            self.layers.map_or(work.shape.layers, |it| work.shape.layers.min(it.get() as usize));
        let hermes = Hermes::new(&machine, &work, self.system.cold(), self.policy());
        let [capacity, room] = [hot, room].map(|it| it * work.shape.sparse_bytes());
        let (all, hot) = walk(&hermes, capacity, room)?;
        let any = |a: u64, b: u64| (b > 0).then(|| float(a) / float(b));
        let ratio = |a: u64, b: u64| any(a, b).unwrap_or(0.0);
        // What will be active, an oracle knows.
        let right =
            |a: u64, b: u64| any(a, b).map(|it| if self.strategy == Strategy::Oracle { 1.0 } else { it });
        let judged = all.hits + all.false_alarms + all.misses + all.correct_rejections;
        let (active, predicted) = (all.hits + all.misses, all.hits + all.false_alarms);
        let steps = u64::from(work.generated);
        Ok(PredictorAnswer {
            accuracy: right(all.hits + all.correct_rejections, judged).unwrap_or(0.0),
            recall: right(all.hits, active),
            precision: right(all.hits, predicted),
            density: ratio(active, judged),
            gpu_read_share: all.gpu_neurons / (all.gpu_neurons + all.cold_neurons).max(1e-300),
            window_imbalance: (all.windows > 0).then(|| all.window_imbalance / float(all.windows)),
            swapped_share: ratio(all.swapped, hot * steps),
            moves_per_token: ratio(all.moved, steps),
            state_table_kib: states / 1024.0,
            correlation_table_kib: parents / 1024.0,
        })
    }
}
