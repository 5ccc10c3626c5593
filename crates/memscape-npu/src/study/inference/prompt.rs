//! How the array reads the prompts of `npu.inference`: as products, or streaming weights past their vectors.

use std::num::NonZeroU64;

use memscape_study::{Part, StudyError};
use memscape_units::Nanoseconds;
use memscape_workload::{Matrix, Operator, OperatorKind};

use super::InferenceStudy;
use crate::study::attention::PromptAttention;
use crate::study::pass::Streamed;
use crate::study::workload::{ProductTraffic, Solved, Strategy, WorkloadStudy};

/// What the prompts of all sequences take of the array.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PromptCost {
    /// All products with weights: `layers` and `outside`.
    pub weights: Nanoseconds,
    /// Attention.
    pub attention: Nanoseconds,
    /// Norms, activations and residuals.
    pub vector: Nanoseconds,
    /// Operations of the products, without padding, in 10^12 per second.
    pub tops: f64,
    /// The rate of attention as one kernel, which is that of the layers' products.
    pub(super) attention_tops: f64,
    /// The layers' products, with what configures the array.
    pub layers: ProductTraffic,
    /// Those of the head, and of what projects embeddings.
    pub outside: ProductTraffic,
    /// Bytes that attention and vectors move.
    pub other_bytes: f64,
}

impl PromptCost {
    /// All of it.
    pub(super) fn total(&self) -> Nanoseconds {
        self.weights + self.attention + self.vector
    }

    /// Bytes that all of it moves: with weights as they are stored, and whole lines of them as wide as they are
    /// multiplied where that is more.
    pub(super) fn moved_bytes(&self) -> [f64; 2] {
        let [layers, outside] = [self.layers, self.outside].map(|it| it.moved_bytes());
        [0, 1].map(|it| layers[it] + outside[it] + self.other_bytes)
    }

    /// Bytes that it reads, in the same two ways; of what is no product, all that is moved.
    #[must_use]
    pub fn read_bytes(&self) -> [f64; 2] {
        let products = [self.layers, self.outside];
        let stored: f64 = products.iter().map(|it| it.stored_read_bytes).sum();
        let lines: f64 = products.iter().map(|it| it.bus_bytes[0]).sum();
        [stored, lines].map(|it| it + self.other_bytes)
    }

    /// Bytes that its products write, in the same two ways.
    #[must_use]
    pub fn written_bytes(&self) -> [f64; 2] {
        let products = [self.layers, self.outside];
        [products.iter().map(|it| it.written_bytes).sum(), products.iter().map(|it| it.bus_bytes[1]).sum()]
    }
}

/// Who multiplies by what follows the layers, for the last token of each prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeadOn {
    /// The array.
    Array,
    /// A processor beside it.
    Processor,
}

/// Whether it follows the layers, and is asked for one token of a prompt.
pub(super) fn follows_layers(it: &Operator) -> bool {
    Matrix::AFTER_LAYERS.iter().any(|of| of.name() == it.name)
}

/// Whether it is of no layer.
pub(super) fn is_outside(it: &Operator) -> bool {
    Matrix::OUTSIDE.iter().any(|of| of.name() == it.name)
}

/// How the array multiplies with weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    /// As `npu.workload` has it: padded to whole tiles.
    Products,
    /// Streaming them past vectors, as in a step.
    Stream,
}

/// How the prompts of a study meet weights.
pub(super) struct Plan {
    /// With the strategy that products take.
    pub(super) study: InferenceStudy,
    /// Those of the layers but for experts, and what is in front of them.
    pub(super) layers: By,
    /// Those of experts, each of which meets some of the tokens.
    pub(super) experts: By,
    /// Those that follow, if the array multiplies with them.
    pub(super) head: Option<By>,
}

impl Plan {
    /// How the prompts take the least time, and how long.
    ///
    /// Past vectors that fill no block of rows, weights stream as past those of a step where that takes less. Where
    /// attention is products of its own, configuring the array for them may take longer than designs of their own
    /// gain: one for all is a way to share, too.
    pub(super) fn best(asked: &InferenceStudy, head: HeadOn) -> Result<(Self, PromptCost), StudyError> {
        let of_layers = [(By::Products, By::Products), (By::Products, By::Stream), (By::Stream, By::Stream)];
        let heads: &[Option<By>] = match head {
            HeadOn::Array => &[Some(By::Products), Some(By::Stream)],
            HeadOn::Processor => &[None],
        };
        let may_share =
            asked.strategy == Strategy::BestPerSize && asked.prompt_attention == PromptAttention::Products;
        let shared = may_share.then_some(InferenceStudy { strategy: Strategy::OneDesign, ..*asked });
        let mut best: Option<(Self, PromptCost)> = None;
        for study in [*asked].into_iter().chain(shared) {
            for (layers, experts) in of_layers {
                for head in heads.iter().copied() {
                    let plan = Self { study, layers, experts, head };
                    if !plan.pads()? {
                        continue;
                    }
                    let cost = match plan.cost() {
                        Ok(cost) => cost,
                        // A design that cannot compute all of them is none to share.
                        Err(_) if study.strategy != asked.strategy => continue,
                        Err(error) => return Err(error),
                    };
                    if best.as_ref().is_none_or(|it| cost.total() < it.1.total()) {
                        best = Some((plan, cost));
                    }
                }
            }
        }
        Ok(best.expect("the first way has a cost or an error"))
    }

    /// What is computed as products, if anything is.
    pub(super) fn products(&self) -> Option<WorkloadStudy> {
        let lm_head = self.head == Some(By::Products);
        (self.layers == By::Products).then(|| WorkloadStudy { lm_head, ..self.study.products() })
    }

    /// Matrices of layers that products leave out.
    pub(super) fn streamed(&self) -> &'static [Matrix] {
        if self.experts == By::Stream && self.study.model.experts.is_some() { &Matrix::FFN } else { &[] }
    }

    /// The operators that stream.
    fn streaming(&self) -> Result<Vec<Operator>, StudyError> {
        let InferenceStudy { model, projections, .. } = self.study;
        let operators = model.prefill_operators(self.tokens(), projections)?;
        let streams = |it: &Operator| match it.kind {
            OperatorKind::Matrix if follows_layers(it) => self.head == Some(By::Stream),
            OperatorKind::Matrix if self.study.is_of_experts(it) => self.experts == By::Stream,
            OperatorKind::Matrix => self.layers == By::Stream,
            OperatorKind::Attention | OperatorKind::Vector => false,
        };
        Ok(operators.into_iter().filter(streams).collect())
    }

    pub(super) fn streams(&self) -> Result<Vec<Streamed>, StudyError> {
        let streaming = self.streaming()?;
        if streaming.is_empty() { Ok(Vec::new()) } else { self.study.streams(&streaming, self.tokens()) }
    }

    const fn tokens(&self) -> u64 {
        self.study.prompt_tokens.get()
    }

    /// What it takes beside products and streams: configuring the array between these and products of other designs,
    /// and handing streams over.
    pub(super) fn around(&self) -> Result<[Nanoseconds; 2], StudyError> {
        let streaming = self.streaming()?;
        if streaming.is_empty() {
            return Ok([Nanoseconds::ZERO; 2]);
        }
        let study = &self.study;
        let changes = match (self.layers, self.experts, self.head) {
            (By::Stream, ..) => 0.0,
            // To each layer's experts, and back from all but the last.
            (By::Products, By::Stream, _) if !self.streamed().is_empty() => {
                2.0 * f64::from(study.model.layers) - 1.0
            }
            (By::Products, ..) => 1.0,
        };
        let configuring = match study.strategy {
            Strategy::OneDesign => Nanoseconds::ZERO,
            Strategy::Reconfigured | Strategy::BestPerSize => study.device.reconfiguration_ns * changes,
        };
        Ok([configuring, study.dispatch_of(&streaming, self.tokens())])
    }

    /// Whether it is a way at all: what weights stream past, if they do, fills no block of rows. More are products as
    /// published.
    fn pads(&self) -> Result<bool, StudyError> {
        let study = &self.study;
        let heads = NonZeroU64::from(study.batch);
        let tokens = self.tokens().saturating_mul(heads.get());
        let vectors = match (self.layers, self.experts, self.head) {
            // One vector where many stream is no product.
            (By::Stream, _, Some(By::Products)) => return Ok(false),
            (By::Stream, ..) => tokens,
            (By::Products, By::Stream, _) if study.model.experts.is_none() => return Ok(false),
            (By::Products, By::Stream, head) => {
                // As many as the expert meets that meets most.
                let [(_, each), (more, one_more)] = study.model.ffn_instances(tokens);
                let most = if more > 0 { one_more } else { each };
                if head == Some(By::Stream) { most.max(heads.get()) } else { most }
            }
            (By::Products, By::Products, Some(By::Stream)) => heads.get(),
            (By::Products, By::Products, _) => return Ok(true),
        };
        let design = study.design_of(&study.products().kernel(heads)?)?;
        Ok(vectors < design.native(&study.device)[0])
    }

    fn cost(&self) -> Result<PromptCost, StudyError> {
        let study = &self.study;
        let stored = study.format.of(&study.model)?;
        let heads = NonZeroU64::from(study.batch);
        let (mut layers, mut outside, mut operations, attention_tops) = if let Some(it) = self.products() {
            let Solved { answer, layers, outside, layer_tops, .. } =
                it.solve_but(heads, Some(stored), self.streamed())?;
            (layers, outside, answer.tops * answer.time_ns * 1e3, layer_tops)
        } else {
            let kernel = study.products().kernel(heads)?;
            let reached = study.device.tops(kernel.macs_per_cycle());
            (ProductTraffic::NONE, ProductTraffic::NONE, 0.0, reached)
        };
        let of_layers = self.layers == By::Stream || !self.streamed().is_empty();
        for it in self.streams()? {
            let is_outside = Matrix::OUTSIDE.iter().any(|of| of.name() == it.name);
            (if is_outside { &mut outside } else { &mut layers }).stream(&it)?;
            operations += it.operations;
        }
        let [configuring, handing] = self.around()?;
        (if of_layers { &mut layers } else { &mut outside }).time += configuring + handing;
        let weights = layers.time + outside.time;
        let tops = operations / weights.as_f64() * 1e-3;
        let (mut times, mut other_bytes) = ([0.0; 3], 0.0);
        for it in study.prompt_streams(stored, attention_tops)? {
            times[it.part.index()] += it.time();
            other_bytes += it.bytes;
        }
        let [_, attention, vector] = times.map(Nanoseconds::new);
        let (attention, vector) = (attention?, vector?);
        Ok(PromptCost { weights, attention, vector, tops, attention_tops, layers, outside, other_bytes })
    }
}
