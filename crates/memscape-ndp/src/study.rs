//! The studies below `ndp.inference`: the partition, the predictor, and
//! activity itself.

use std::num::NonZeroU32;

use memscape_study::{Filling, PresetParameter, Study, StudyError};
use memscape_workload::ModelName;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::activity::{ActivityLaw, BlockKind, Share, Synthetic};
use crate::cost::Costs;
use crate::hermes::{correlation_bytes, hot_capacity, partition, state_bytes, walk_layers};
use crate::inference::{Engine, InferenceError, InferenceStudy};
use crate::online::Walked;
use crate::partition::Partition;
use crate::shape::Shape;
use crate::statistics::{Inquiry, Statistics, expected, measure};
use crate::trace::{self, Source, TraceError};

/// The offline partition of a model's neurons between GPU and DIMMs, with a
/// proven bound. Its parameters are `ndp.inference`'s.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct PartitionStudy(pub InferenceStudy);

/// What `ndp.partition` answers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct PartitionAnswer {
    /// Sum over blocks of the slower of GPU and slowest DIMM
    pub objective_ms: f64,
    /// No partition is faster than this
    pub lower_bound_ms: f64,
    /// Objective over bound, less 1
    pub gap: f64,
    /// Neurons of the model
    pub neurons: u64,
    /// Share of them on the GPU
    pub gpu_neuron_share: f64,
    /// Bytes on the GPU
    pub gpu_gb: f64,
    /// Bytes that fit the GPU beside what every token needs
    pub gpu_capacity_gb: f64,
    /// Bytes on the fullest DIMM
    pub fullest_dimm_gb: f64,
    /// Bytes on the emptiest DIMM
    pub emptiest_dimm_gb: f64,
}

impl PartitionStudy {
    /// The partition itself: QKV and feed-forward neurons of each layer in turn.
    ///
    /// # Errors
    /// [`InferenceError`] says what does not fit.
    pub fn partition(&self) -> Result<Partition, InferenceError> {
        let resolved = self.0.resolve()?;
        let costs = Costs::new(&self.0, &resolved);
        let capacity = hot_capacity(&self.0, &resolved, &costs)?;
        partition(&self.0, &resolved, &costs, capacity, &self.0.source(&resolved)?)
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
fn precise(count: u64) -> f64 {
    count as f64
}

impl Study for PartitionStudy {
    const NAME: &'static str = "ndp.partition";
    const SUMMARY: &'static str =
        "Hot neurons on the GPU, cold ones on DIMMs: the offline partition, with a proven bound";
    type Answer = PartitionAnswer;

    fn presets() -> Vec<PresetParameter> {
        crate::hardware::presets()
    }

    fn answer(&self) -> Result<PartitionAnswer, StudyError> {
        let resolved = self.0.resolve()?;
        let costs = Costs::new(&self.0, &resolved);
        let capacity = hot_capacity(&self.0, &resolved, &costs)?;
        let found = partition(&self.0, &resolved, &costs, capacity, &self.0.source(&resolved)?)?;
        let neurons: u64 = found.device.iter().map(|it| it.len() as u64).sum();
        let hot: u64 = found.device.iter().flatten().map(|it| u64::from(*it == 0)).sum();
        let dimms = &found.bytes[1..];
        Ok(PartitionAnswer {
            objective_ms: found.objective_s * 1e3,
            lower_bound_ms: found.lower_bound_s * 1e3,
            gap: found.gap(),
            neurons,
            gpu_neuron_share: precise(hot) / precise(neurons),
            gpu_gb: found.bytes[0] * 1e-9,
            gpu_capacity_gb: capacity * 1e-9,
            fullest_dimm_gb: dimms.iter().copied().fold(0.0, f64::max) * 1e-9,
            emptiest_dimm_gb: dimms.iter().copied().fold(f64::INFINITY, f64::min) * 1e-9,
        })
    }
}

/// How well the 4-bit state predictor does, and what the scheduler makes of it.
/// Its parameters are `ndp.inference`'s; every token, layer and neuron is walked.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct PredictorStudy(pub InferenceStudy);

/// What `ndp.predictor` answers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct PredictorAnswer {
    /// Share of neurons whose activity is predicted
    pub accuracy: f64,
    /// Share of active neurons that are predicted active
    pub recall: f64,
    /// Share of neurons predicted active that are
    pub precision: f64,
    /// Share of neurons that are active
    pub density: f64,
    /// Share of read neurons that the GPU reads
    pub gpu_read_share: f64,
    /// Fullest DIMM over the mean, over a window's cold work
    pub window_imbalance: f64,
    /// Share of the GPU's neurons exchanged per token
    pub swapped_share: f64,
    /// Neurons moved between DIMMs per token
    pub moves_per_token: f64,
    /// State table of the whole model, in units of 1024 bytes
    pub state_table_kib: f64,
    /// Correlation table of the whole model, in units of 1024 bytes
    pub correlation_table_kib: f64,
}

impl Study for PredictorStudy {
    const NAME: &'static str = "ndp.predictor";
    const SUMMARY: &'static str = "The 4-bit state predictor on a trace: accuracy, exchange and balance";
    type Answer = PredictorAnswer;

    fn presets() -> Vec<PresetParameter> {
        crate::hardware::presets()
    }

    fn answer(&self) -> Result<PredictorAnswer, StudyError> {
        let study = &self.0;
        let resolved = study.resolve()?;
        let costs = Costs::new(study, &resolved);
        let capacity = hot_capacity(study, &resolved, &costs)?;
        let source = study.source(&resolved)?;
        let placed = partition(study, &resolved, &costs, capacity, &source)?;
        let walks =
            walk_layers(study, &resolved, &costs, &source, &placed.device, study.dimms.get() as usize);
        let mut all = Walked::default();
        walks.iter().flatten().for_each(|it| all += *it);
        let ratio = |a: u64, b: u64| if b > 0 { precise(a) / precise(b) } else { 0.0 };
        let judged = all.hits + all.false_alarms + all.misses + all.correct_rejections;
        let hot: u64 = placed.device.iter().flatten().map(|it| u64::from(*it == 0)).sum();
        let steps = u64::from(resolved.generated);
        let (states, parents) = table_bytes(&resolved.shape);
        Ok(PredictorAnswer {
            accuracy: ratio(all.hits + all.correct_rejections, judged),
            recall: ratio(all.hits, all.hits + all.misses),
            precision: ratio(all.hits, all.hits + all.false_alarms),
            density: ratio(all.hits + all.misses, judged),
            gpu_read_share: ratio(all.gpu_neurons, all.gpu_neurons + all.cold_neurons),
            window_imbalance: if all.windows > 0 { all.window_imbalance / precise(all.windows) } else { 1.0 },
            swapped_share: ratio(all.swapped, hot * steps),
            moves_per_token: ratio(all.moved, steps),
            state_table_kib: states / 1024.0,
            correlation_table_kib: parents / 1024.0,
        })
    }
}

/// Bytes of the predictor's two tables over all layers.
#[must_use]
pub fn table_bytes(shape: &Shape) -> (f64, f64) {
    let layers = precise(shape.layers as u64);
    let sum =
        |of: fn(usize) -> f64| BlockKind::ALL.iter().map(|it| of(shape.neurons(*it))).sum::<f64>() * layers;
    (sum(state_bytes), sum(correlation_bytes))
}

/// Statistics of activity: how sparse, how alike from token to token and layer to
/// layer, how uneven over DIMMs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ActivityStudy {
    /// Language model; null for that of `trace`
    pub model: Option<ModelName>,
    /// Recording: a name, an .npz file or a folder of them; null for the law
    pub trace: Option<String>,
    /// Expected values of the law, or measured on tokens and neurons
    pub engine: Engine,
    /// Which block of each layer
    pub block: BlockKind,
    /// Layers that are measured, from the first on; null for all
    #[schemars(range(min = 1, max = 4096))]
    pub layers: Option<NonZeroU32>,
    /// Tokens between those that are compared
    #[schemars(range(min = 1, max = 1_048_576))]
    pub distance: NonZeroU32,
    /// Share of neurons that count as hot
    pub hot_fraction: Share,
    /// Contiguous shards that cold neurons are cut into, one per DIMM
    #[schemars(range(min = 1, max = 1024))]
    pub shards: NonZeroU32,
    /// Tokens of a window
    #[schemars(range(min = 1, max = 4095))]
    pub window: NonZeroU32,
    /// Tokens of the prompt, by the law
    #[schemars(range(min = 1, max = 1_048_576))]
    pub prompt_tokens: NonZeroU32,
    /// Tokens generated after it
    #[schemars(range(min = 1, max = 1_048_576))]
    pub generated_tokens: NonZeroU32,
    /// Which sequence
    pub sequence: u32,
    /// How often neurons are active, and when
    pub activity: ActivityLaw,
    /// Share of neurons that a token activates; null for that of the model's kind
    pub density: Option<Share>,
    /// Seed of the law
    pub seed: u64,
}

/// What `ndp.activity` answers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct ActivityAnswer {
    /// Share of neurons that a token activates
    pub density: f64,
    /// Share of active neurons that were active `distance` tokens before
    pub overlap: f64,
    /// Share of activations in the neurons that are hot by the profile
    pub top_share: f64,
    /// Activations per hot neuron over activations per cold one
    pub intensity_ratio: f64,
    /// Share of hot neurons that are not among this prompt's hot ones
    pub hot_varied: f64,
    /// Share of neurons that are active when both parents are
    pub child_given_parents: f64,
    /// Fullest shard of cold neurons over the mean, in each token
    pub token_imbalance: f64,
    /// The same over windows
    pub window_imbalance: f64,
    /// The same over the reply, in the most even layer
    pub least_imbalance: f64,
    /// The same in the least even layer
    pub most_imbalance: f64,
}

impl Default for ActivityStudy {
    fn default() -> Self {
        let base = InferenceStudy::default();
        let count = |it: u32| NonZeroU32::new(it).expect("not zero");
        Self {
            model: base.model,
            trace: None,
            engine: Engine::Closed,
            block: BlockKind::Mlp,
            layers: None,
            distance: count(1),
            hot_fraction: Share::new(0.2).expect("a share"),
            shards: base.dimms,
            window: base.remap.window,
            prompt_tokens: base.prompt_tokens,
            generated_tokens: base.generated_tokens,
            sequence: 0,
            activity: base.activity,
            density: None,
            seed: 0,
        }
    }
}

impl ActivityStudy {
    fn statistics(&self) -> Result<Statistics, InferenceError> {
        let base = InferenceStudy {
            model: self.model,
            trace: self.trace.clone(),
            engine: self.engine,
            prompt_tokens: self.prompt_tokens,
            generated_tokens: self.generated_tokens,
            activity: self.activity,
            density: self.density,
            seed: self.seed,
            ..InferenceStudy::default()
        };
        let resolved = base.resolve()?;
        let (source, name) = (base.source(&resolved)?, || self.trace.clone().unwrap_or_default());
        let inquiry = Inquiry {
            block: self.block,
            distance: self.distance.get() as usize,
            hot: self.hot_fraction.as_f64(),
            shards: self.shards.get() as usize,
            window: self.window.get() as usize,
            prefill: resolved.prompt as usize,
            decode: resolved.generated as usize,
            sequence: self.sequence as usize,
        };
        if inquiry.distance >= inquiry.decode {
            let (have, need) = (inquiry.decode, inquiry.distance + 1);
            return Err(TraceError::TooShort {
                name: name(),
                what: "generated tokens",
                have,
                need,
                parameter: "distance",
            }
            .into());
        }
        let layers =
            self.layers.map_or(resolved.shape.layers, |it| (it.get() as usize).min(resolved.shape.layers));
        match (&source, self.engine) {
            (Source::Law(Synthetic { law, .. }), Engine::Closed) => {
                Ok(expected(law, layers, &inquiry, self.seed))
            }
            (Source::Recorded(_), Engine::Closed) => Err(InferenceError::ClosedTrace(name())),
            (Source::Recorded(recording), Engine::Trace) if inquiry.sequence >= recording.sequences.len() => {
                let (have, need) = (recording.sequences.len(), inquiry.sequence + 1);
                Err(TraceError::TooShort {
                    name: name(),
                    what: "sequences",
                    have,
                    need,
                    parameter: "sequence",
                }
                .into())
            }
            (_, Engine::Trace) => Ok(measure(&source, &(0..layers).collect::<Vec<_>>(), &inquiry)),
        }
    }
}

impl Study for ActivityStudy {
    const NAME: &'static str = "ndp.activity";
    const SUMMARY: &'static str = "Statistics of neurons' activity, of the law or of a recording";
    type Answer = ActivityAnswer;

    fn presets() -> Vec<PresetParameter> {
        fn fill(name: &str) -> Option<Filling> {
            let machine = crate::hardware::find_machine(name)?;
            let activity = machine.parameters.get("activity")?.clone();
            let own =
                |(path, source): (String, String)| Some((path.strip_prefix("activity.")?.to_owned(), source));
            Some(Filling {
                parameters: activity,
                sources: machine.sources.into_iter().filter_map(own).collect(),
            })
        }
        vec![PresetParameter {
            name: "activity",
            meaning: "System whose activity law fills `activity.*`, by name",
            fills: "activity",
            default: crate::hardware::DEFAULT_MACHINE,
            names: || vec![crate::hardware::DEFAULT_MACHINE],
            find: fill,
        }]
    }

    fn answer(&self) -> Result<ActivityAnswer, StudyError> {
        let statistics = self.statistics()?;
        let (hot, top) = (self.hot_fraction.as_f64(), statistics.top_share);
        Ok(ActivityAnswer {
            density: statistics.density,
            overlap: statistics.overlap,
            top_share: top,
            intensity_ratio: top / hot.max(1e-12) / ((1.0 - top) / (1.0 - hot).max(1e-12)).max(1e-12),
            hot_varied: statistics.hot_varied,
            child_given_parents: statistics.child_given_parents,
            token_imbalance: statistics.token_imbalance,
            window_imbalance: statistics.window_imbalance,
            least_imbalance: statistics.least_imbalance,
            most_imbalance: statistics.most_imbalance,
        })
    }
}

/// Where a trace comes from, for those that print it.
///
/// # Errors
/// [`TraceError::Unknown`] lists all recordings.
pub fn recording_summary(name: &str) -> Result<String, TraceError> {
    let recording = trace::find(name)?;
    let [qkv, mlp] = recording.profile.neurons();
    let first = &recording.sequences[0];
    Ok(format!(
        "{name}: {} sequences of {} + {} tokens, {} layers of {qkv} QKV inputs and {mlp} feed-forward neurons",
        recording.sequences.len(),
        first.prefill,
        first.tokens() - first.prefill,
        recording.profile.layers(),
    ))
}
