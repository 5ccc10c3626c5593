//! What is to be computed: a model's two sparse blocks per layer and its dense
//! rest, a prompt and a reply, and which neurons they activate.

use std::num::NonZeroU64;

use memscape_workload::{Llm, Model, NotStored, Reply, WeightFormat, WeightsError};

use crate::activity::{BlockKind, Law, LawError, Recording, RecordingName, Source, Synthetic, TraceError};
use crate::hardware::ActivityLaw;
use crate::numbers::Density;

/// Bytes of one activation, which is FP16.
pub const FP16: f64 = 2.0;

/// A model's widths, as far as they matter here.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shape {
    /// Layers.
    pub layers: usize,
    /// Width of the residual stream: neurons of a QKV block.
    pub hidden: usize,
    /// Width of all queries.
    pub q: usize,
    /// Width of all keys, and of all values.
    pub kv: usize,
    /// Heads of queries.
    pub heads: f64,
    /// Heads of keys and values.
    pub kv_heads: f64,
    /// Tokens that layers with a sliding window attend to.
    pub window: f64,
    /// Share of the layers that have one.
    pub windowed: f64,
    /// Neurons of a feed-forward network.
    pub ffn: usize,
    /// Its matrices: three if it is gated, else two.
    pub matrices: usize,
    /// Parameters of the LM head, and of the projections between embeddings of another width and the layers.
    pub head: f64,
    /// Of these, parameters of the projection in front of the layers.
    pub project_in: f64,
    /// All parameters.
    pub parameters: f64,
    /// Bytes of one weight, on average; it is multiplied as FP16 all the same.
    pub weight_bytes: f64,
    /// Whether its activation is a ReLU of its own.
    pub native_relu: bool,
}

impl Shape {
    /// A described model, a weight of which takes so many bits on average.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "parameters stay below 2^53")]
    pub fn of(model: &Llm, weight_bits: f64) -> Self {
        let width = f64::from(model.embedding_width());
        let project_in = if model.projects_embedding() { width * f64::from(model.hidden_size) } else { 0.0 };
        Self {
            layers: model.layers as usize,
            hidden: model.hidden_size as usize,
            q: usize::try_from(model.q_size()).unwrap_or(usize::MAX),
            kv: usize::try_from(model.kv_size()).unwrap_or(usize::MAX),
            heads: f64::from(model.heads),
            kv_heads: f64::from(model.kv_heads),
            window: model.window.map_or(f64::INFINITY, |it| f64::from(it.tokens)),
            windowed: model.window_layers() as f64 / f64::from(model.layers),
            ffn: model.ffn_size as usize,
            matrices: if model.gated { 3 } else { 2 },
            head: f64::from(model.vocab_size) * width + 2.0 * project_in,
            project_in,
            parameters: model.parameters() as f64,
            weight_bytes: weight_bits / 8.0,
            native_relu: model.activation == memscape_workload::Activation::Relu,
        }
    }

    /// The model that was recorded: as many layers and neurons, two feed-forward
    /// matrices, as many keys and values as queries, no LM head.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "parameters stay below 2^53")]
    pub fn recorded(recording: &Recording, weight_bits: f64) -> Self {
        let ([hidden, ffn], layers) = (recording.profile.neurons(), recording.profile.layers());
        let parameters = (layers * (4 * hidden * hidden + 2 * hidden * ffn)) as f64;
        // Recordings tell no heads: these are as wide as most models'.
        let heads = (hidden as f64 / 128.0).max(1.0);
        Self {
            layers,
            hidden,
            q: hidden,
            kv: hidden,
            heads,
            kv_heads: heads,
            window: f64::INFINITY,
            windowed: 0.0,
            ffn,
            matrices: 2,
            head: 0.0,
            project_in: 0.0,
            parameters,
            weight_bytes: weight_bits / 8.0,
            native_relu: true,
        }
    }

    /// Neurons of a block.
    #[must_use]
    pub const fn neurons(&self, block: BlockKind) -> usize {
        match block {
            BlockKind::Qkv => self.hidden,
            BlockKind::Mlp => self.ffn,
        }
    }

    /// Weights of one neuron: a column of Q, K and V, or a row or column of each
    /// feed-forward matrix.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "widths")]
    pub fn neuron_weights(&self, block: BlockKind) -> f64 {
        match block {
            BlockKind::Qkv => (self.q + 2 * self.kv) as f64,
            BlockKind::Mlp => (self.hidden * self.matrices) as f64,
        }
    }

    /// Weights of one layer's block.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "widths")]
    pub fn block_weights(&self, block: BlockKind) -> f64 {
        self.neurons(block) as f64 * self.neuron_weights(block)
    }

    /// Bytes of all sparse blocks.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "layers")]
    pub fn sparse_bytes(&self) -> f64 {
        self.weight_bytes
            * self.layers as f64
            * BlockKind::ALL.iter().map(|it| self.block_weights(*it)).sum::<f64>()
    }

    /// Widths of the sums that a layer's two blocks leave on each DIMM.
    #[must_use]
    pub const fn merged(&self) -> [usize; 2] {
        [self.q + 2 * self.kv, self.hidden]
    }

    /// Weights of one layer's output projection.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "widths")]
    pub fn projection_weights(&self) -> f64 {
        (self.q * self.hidden) as f64
    }

    /// Bytes that every token needs whole: output projections and LM head.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "layers")]
    pub fn dense_bytes(&self) -> f64 {
        self.weight_bytes * (self.layers as f64 * self.projection_weights() + self.head)
    }

    /// Bytes of all weights.
    #[must_use]
    pub fn bytes(&self) -> f64 {
        self.weight_bytes * self.parameters
    }

    /// Bytes of the weights that are multiplied: embeddings, where the LM head has a table of its own, are
    /// looked up where they lie.
    #[must_use]
    pub fn multiplied_bytes(&self) -> f64 {
        self.sparse_bytes() + self.dense_bytes()
    }

    /// Weights that every token of a prompt meets, and those that its last one does.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "layers")]
    pub fn prompt_weights(&self) -> [f64; 2] {
        let blocks: f64 = BlockKind::ALL.iter().map(|it| self.block_weights(*it)).sum();
        let of_last = self.head - self.project_in;
        [self.layers as f64 * (blocks + self.projection_weights()) + self.project_in, of_last]
    }

    /// Tokens of a context that a layer attends to, in the mean of all layers.
    #[must_use]
    pub fn attended(&self, context: f64) -> f64 {
        context + self.windowed * (context.min(self.window) - context)
    }

    /// The mean of that over the tokens of a reply, each of which attends to itself as well.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count of tokens")]
    pub fn mean_attended(&self, reply: Reply) -> f64 {
        let all = reply.mean_seen(None);
        let window = self.window.is_finite().then_some(self.window as u32);
        all + self.windowed * (reply.mean_seen(window) - all)
    }

    /// Pairs of a prompt's token and one that it attends to, of one layer in the mean.
    #[must_use]
    pub fn attended_pairs(&self, tokens: f64) -> f64 {
        let pairs = |first: f64| 0.5 * first * (first + 1.0);
        let full = tokens.min(self.window);
        let windowed = pairs(full) + if tokens > full { (tokens - full) * full } else { 0.0 };
        pairs(tokens) + self.windowed * (windowed - pairs(tokens))
    }

    /// Bytes of keys and values of one token in one layer.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "widths")]
    pub fn kv_bytes(&self) -> f64 {
        FP16 * 2.0 * self.kv as f64
    }
}

/// A prompt and a reply of a model, and which neurons they activate.
#[derive(Debug, Clone)]
pub struct Work {
    /// The model.
    pub shape: Shape,
    /// Tokens of the prompt.
    pub prompt: u32,
    /// Tokens generated after it.
    pub generated: u32,
    /// Sequences at the same time.
    pub batch: u32,
    /// Where activity comes from.
    pub activity: Activity,
}

/// Where activity comes from, before a law is checked: a system that is dense
/// needs none.
#[derive(Debug, Clone)]
pub enum Activity {
    /// The law, at a density.
    Law {
        /// How often neurons are active.
        law: ActivityLaw,
        /// Share of neurons that a token activates.
        density: f64,
        /// Seed of everything.
        seed: u64,
    },
    /// A recording, and the first of its sequences that is taken.
    Recorded(RecordingName, usize),
}

/// Why there is nothing to compute.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum WorkError {
    /// Neither a model nor a trace.
    #[error("`model` is null, but there is no `trace` to take it from; give one of them")]
    NoModel,
    /// Neither the model nor a format says how weights are stored, or the model's cannot be stored so.
    #[error(transparent)]
    Weights(#[from] WeightsError),
    /// A feed-forward network that is several.
    #[error(
        "{model} is a mixture of {experts} experts, but these systems are modelled for one feed-forward network per \
         layer; give a model without experts"
    )]
    Experts {
        /// The model.
        model: String,
        /// Its experts.
        experts: u32,
    },
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
    /// Too little in the trace.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// More than is walked in ten seconds and a gigabyte.
    #[error(
        "{layers} layers of {neurons} neurons over {tokens} tokens of {sequences} sequences are {steps:.1e} steps of \
         a neuron, but at most {most:.1e} are walked; use fewer tokens, layers or sequences, or `engine` closed \
         where there is one"
    )]
    TooManySteps {
        /// Layers.
        layers: usize,
        /// Neurons of each.
        neurons: usize,
        /// Tokens of prompt and reply.
        tokens: u64,
        /// Sequences.
        sequences: u32,
        /// Their product.
        steps: f64,
        /// What it may be.
        most: f64,
    },
}

/// The most steps of a neuron that are walked for one answer.
const MOST_STEPS: f64 = 1.5e9;

impl Shape {
    /// The shape of a model, or of what was recorded where there is no model.
    ///
    /// # Errors
    /// [`WorkError`] if there is neither, the two are of different shapes, or nothing says
    /// how weights are stored.
    pub fn resolve(
        model: Option<&Model>,
        format: WeightFormat,
        recording: Option<&RecordingName>,
    ) -> Result<Self, WorkError> {
        let Some(model) = model else {
            let recording = recording.ok_or(WorkError::NoModel)?;
            return Ok(Self::recorded(recording, format.mean_bits().ok_or(WeightsError::from(NotStored))?));
        };
        if let Some(experts) = model.experts {
            return Err(WorkError::Experts { model: model.to_string(), experts: experts.count });
        }
        let shape = Self::of(model, format.of(model)?.mean_bits());
        if let Some(recording) = recording {
            let (found_layers, found) = (recording.profile.layers(), recording.profile.neurons());
            let (layers, neurons) = (shape.layers, [shape.hidden, shape.ffn]);
            if (found_layers, found) != (layers, neurons) {
                let (name, model) = (recording.name.clone(), model.to_string());
                return Err(WorkError::TraceShape { name, found_layers, found, model, layers, neurons });
            }
        }
        Ok(shape)
    }
}

impl Activity {
    /// That of a recording, or of a law at the density of the model's kind unless
    /// another is given.
    #[must_use]
    pub fn new(
        shape: &Shape,
        recording: Option<(&RecordingName, u32)>,
        law: ActivityLaw,
        density: Option<Density>,
        seed: u64,
    ) -> Self {
        if let Some((recording, first)) = recording {
            return Self::Recorded(recording.clone(), first as usize);
        }
        let density = density.unwrap_or(law.density_of(shape.native_relu)).as_f64();
        Self::Law { law, density, seed }
    }
}

impl Work {
    /// Puts a workload together. A recording has a prompt of its own.
    ///
    /// # Errors
    /// [`WorkError::Trace`] if the recording is too short.
    pub fn new(
        shape: Shape,
        activity: Activity,
        prompt: u32,
        generated: u32,
        batch: u32,
    ) -> Result<Self, WorkError> {
        let mut work = Self { shape, prompt, generated, batch, activity };
        if let Activity::Recorded(recording, first) = &work.activity {
            work.prompt = recorded_prompt(recording, *first, generated as usize, batch as usize)?;
        }
        Ok(work)
    }

    /// Whether all neurons of so many layers can be walked token by token, at a cost
    /// of `weight` steps each.
    ///
    /// # Errors
    /// [`WorkError::TooManySteps`].
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    pub fn check_steps(&self, layers: usize, neurons: usize, weight: f64) -> Result<(), WorkError> {
        let (tokens, sequences) = (u64::from(self.prompt) + u64::from(self.generated), self.batch);
        let steps = layers as f64 * neurons as f64 * tokens as f64 * f64::from(sequences) * weight;
        if steps <= MOST_STEPS {
            return Ok(());
        }
        Err(WorkError::TooManySteps { layers, neurons, tokens, sequences, steps, most: MOST_STEPS })
    }

    /// As [`Work::check_steps`], of both blocks of all layers.
    ///
    /// # Errors
    /// [`WorkError::TooManySteps`].
    pub fn check_walk(&self) -> Result<(), WorkError> {
        self.check_steps(self.shape.layers, self.shape.hidden.saturating_add(self.shape.ffn), 1.0)
    }

    /// Layers, among real numbers.
    #[must_use]
    pub fn layers(&self) -> f64 {
        f64::from(u32::try_from(self.shape.layers).unwrap_or(u32::MAX))
    }

    /// Tokens that a layer attends to, on average over layers and reply.
    #[must_use]
    pub fn mean_context(&self) -> f64 {
        let tokens = NonZeroU64::new(self.generated.into()).unwrap_or(NonZeroU64::MIN);
        self.shape.mean_attended(Reply { prompt: self.prompt.into(), tokens })
    }

    /// Bytes of the key-value cache, in the end.
    #[must_use]
    pub fn cache_bytes(&self) -> f64 {
        self.layers() * self.shape.kv_bytes() * self.last_context() * f64::from(self.batch)
    }

    /// Tokens in a layer's cache in the end, in the mean: layers with a window keep no more.
    #[must_use]
    pub fn last_context(&self) -> f64 {
        self.shape.attended(f64::from(self.prompt) + f64::from(self.generated))
    }

    /// Bytes of keys and values that prompts of all sequences leave: of a layer with a window, no more
    /// tokens than that.
    #[must_use]
    pub fn prompt_cache_bytes(&self) -> f64 {
        self.token_cache_bytes() * self.shape.attended(f64::from(self.prompt))
    }

    /// The law at its density; none of a recording.
    ///
    /// # Errors
    /// [`LawError`] if the law contradicts itself.
    pub fn law(&self) -> Result<Option<Law>, LawError> {
        match &self.activity {
            Activity::Law { law, density, .. } => law.at(*density).map(Some),
            Activity::Recorded(..) => Ok(None),
        }
    }

    /// Bytes of keys and values that a token of each sequence adds.
    #[must_use]
    pub fn token_cache_bytes(&self) -> f64 {
        self.shape.kv_bytes() * self.layers() * f64::from(self.batch)
    }

    /// Activity itself.
    ///
    /// # Errors
    /// [`LawError`] if the law contradicts itself.
    pub fn source(&self) -> Result<Source, LawError> {
        Ok(match &self.activity {
            Activity::Recorded(recording, first) => Source::Recorded(recording.clone(), *first),
            Activity::Law { law, density, seed } => Source::Law(Synthetic {
                law: law.at(*density)?,
                layers: self.shape.layers,
                neurons: [self.shape.hidden, self.shape.ffn],
                prefill: self.prompt as usize,
                decode: self.generated as usize,
                seed: *seed,
            }),
        })
    }
}

/// Tokens of the prompts of a batch, which are all as long.
fn recorded_prompt(
    recording: &Recording,
    first: usize,
    generated: usize,
    batch: usize,
) -> Result<u32, TraceError> {
    let short = |what, have, need, parameter| TraceError::TooShort {
        name: recording.name.clone(),
        what,
        have,
        need,
        parameter,
    };
    let sequences = recording.sequences.len();
    if first >= sequences {
        return Err(short("sequences", sequences, first + 1, "sequence"));
    }
    if first + batch > sequences {
        let what = if first == 0 { "sequences" } else { "sequences from `sequence` on" };
        return Err(short(what, sequences - first, batch, "batch"));
    }
    let prompt = recording.sequences[first].prefill;
    for sequence in &recording.sequences[first..first + batch] {
        let have = sequence.tokens() - sequence.prefill;
        if have < generated {
            return Err(short("generated tokens", have, generated, "generated_tokens"));
        }
        if sequence.prefill != prompt {
            return Err(short("prompt tokens in one of its sequences", sequence.prefill, prompt, "batch"));
        }
    }
    Ok(u32::try_from(prompt).unwrap_or(u32::MAX))
}
