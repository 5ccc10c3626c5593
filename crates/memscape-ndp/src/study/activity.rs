//! The study `ndp.activity`: what activity looks like.

use std::num::NonZeroU32;

use memscape_study::{Aim, CostEngine, Laws, Slot, Study, StudyError};
use memscape_workload::{Format, MODELS, Model};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::laws;
use crate::activity::{
    BlockKind, Inquiry, RECORDINGS, RecordingName, Source, Statistics, Synthetic, expected, measure,
};
use crate::error::NdpError;
use crate::hardware::{ACTIVITIES, ActivityLaw, MACHINES};
use crate::numbers::{Density, Share, count};
use crate::work::{Activity, Shape, Work};

/// Statistics of activity: how sparse, how alike from token to token and layer to
/// layer, how uneven over DIMMs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ActivityStudy {
    /// Language model; null for that of `trace`
    pub model: Option<Model>,
    /// Recording: a name, an .npz file or a folder of them; null for the law
    pub trace: Option<RecordingName>,
    /// Expected values of the law, or measured on tokens and neurons
    pub engine: CostEngine,
    /// Which block of each layer
    pub block: BlockKind,
    /// Layers that are measured, from the first on; null for all
    #[schemars(range(min = 1, max = 4096))]
    pub layers: Option<NonZeroU32>,
    /// Tokens between those that are compared
    #[schemars(range(min = 1, max = 1_048_575))]
    pub distance: NonZeroU32,
    /// Share of neurons that count as hot
    pub hot_fraction: Share,
    /// Contiguous shards that cold neurons are cut into, one per DIMM
    #[schemars(range(min = 1, max = 1024))]
    pub shards: NonZeroU32,
    /// Tokens of a window
    #[schemars(range(min = 1, max = 4095))]
    pub window: NonZeroU32,
    /// Tokens of the prompt, by the law; a recording has its own
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
    pub density: Option<Density>,
    /// Seed of the law
    #[schemars(extend("maximum" = u64::MAX))]
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
    /// Activations per hot neuron over activations per cold one; null where either have no neuron or nothing is active
    pub intensity_ratio: Option<f64>,
    /// Share of hot neurons that are not among this prompt's hot ones
    pub hot_varied: f64,
    /// Share of neurons that are active when both parents are; null where parents are not known
    pub child_given_parents: Option<f64>,
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
        let machine = MACHINES.get("hermes");
        Self {
            model: Some(Model::named("llama-2-70b").expect("a built-in model")),
            trace: None,
            engine: CostEngine::Closed,
            block: BlockKind::Mlp,
            layers: None,
            distance: NonZeroU32::MIN,
            hot_fraction: Share::new(0.2).expect("a share"),
            shards: machine.dimms,
            window: count(machine.remap.window.get()),
            prompt_tokens: count(128),
            generated_tokens: count(128),
            sequence: 0,
            activity: machine.activity,
            density: None,
            seed: 0,
        }
    }
}

impl ActivityStudy {
    fn work(&self) -> Result<Work, NdpError> {
        // Weights are not looked at.
        let shape = Shape::resolve(self.model.as_ref(), Format::FP16.into(), self.trace.as_ref())?;
        let trace = self.trace.as_ref().map(|it| (it, self.sequence));
        let activity = Activity::new(&shape, trace, self.activity, self.density, self.seed);
        Ok(Work::new(shape, activity, self.prompt_tokens.get(), self.generated_tokens.get(), 1)?)
    }

    fn inquiry(&self, work: &Work) -> Result<Inquiry, NdpError> {
        let inquiry = Inquiry {
            block: self.block,
            distance: self.distance.get() as usize,
            hot: self.hot_fraction.as_f64(),
            shards: self.shards.get() as usize,
            window: self.window.get() as usize,
            prefill: work.prompt as usize,
            decode: work.generated as usize,
            sequence: self.sequence as usize,
        };
        // More tokens must do for both.
        let (need, parameter) = [(inquiry.distance + 1, "distance"), (inquiry.window, "window")]
            .into_iter()
            .max_by_key(|it| it.0)
            .expect("two");
        if inquiry.decode < need {
            return Err(NdpError::FewTokens { have: inquiry.decode, need, parameter });
        }
        Ok(inquiry)
    }

    fn statistics(&self) -> Result<Statistics, NdpError> {
        let work = self.work()?;
        let inquiry = self.inquiry(&work)?;
        let all = work.shape.layers;
        let layers = self.layers.map_or(all, |it| (it.get() as usize).min(all));
        let source = work.source()?;
        match (&source, self.engine) {
            (Source::Law(Synthetic { law, .. }), CostEngine::Closed) => {
                let neurons = work.shape.neurons(self.block);
                return Ok(expected(law, layers, neurons, &inquiry, self.seed));
            }
            (Source::Recorded(recording, _), CostEngine::Closed) => {
                return Err(NdpError::ClosedRecording(recording.name.clone()));
            }
            // Drawing, comparing and counting each neuron takes about two steps of a walk.
            (_, CostEngine::Events) => work.check_steps(layers, work.shape.neurons(self.block), 2.0)?,
        }
        Ok(measure(&source, &(0..layers).collect::<Vec<_>>(), &inquiry))
    }
}

impl Study for ActivityStudy {
    const NAME: &'static str = "ndp.activity";
    const SUMMARY: &'static str = "Statistics of neurons' activity, of the law or of a recording";
    type Answer = ActivityAnswer;

    const LAWS: Laws = Laws { aim: Some(Aim::more("top_share")), effects: &[laws::ACTIVITY], ..Laws::NONE };

    fn slots() -> Vec<Slot> {
        vec![
            Slot::part("model", &MODELS, "llama-2-70b"),
            Slot::part("activity", &ACTIVITIES, "relu-llm"),
            Slot::part("trace", &RECORDINGS, ""),
        ]
    }

    fn answer(&self) -> Result<ActivityAnswer, StudyError> {
        let statistics = self.statistics()?;
        let (hot, top) = (statistics.hot, statistics.top_share);
        Ok(ActivityAnswer {
            density: statistics.density,
            overlap: statistics.overlap,
            top_share: top,
            intensity_ratio: intensity_ratio(hot, top).filter(|_| statistics.density > 0.0),
            hot_varied: statistics.hot_varied,
            child_given_parents: statistics.child_given_parents,
            token_imbalance: statistics.token_imbalance,
            window_imbalance: statistics.window_imbalance,
            least_imbalance: statistics.least_imbalance,
            most_imbalance: statistics.most_imbalance,
        })
    }
}

/// How much more active the hottest are than the others; none if either have no neuron
/// or no activity.
fn intensity_ratio(hot: f64, top: f64) -> Option<f64> {
    let (cold, rest) = (1.0 - hot, 1.0 - top);
    let both = hot > 0.0 && cold > 0.0 && rest > 0.0;
    both.then(|| top / hot / (rest / cold))
}
