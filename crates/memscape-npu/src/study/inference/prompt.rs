//! A prompt: the ways in which the array meets its weights, and the fastest of them.

use std::num::NonZeroU64;

use memscape_study::{OperatorCost, Part, Pass, StudyError};
use memscape_units::Nanoseconds;
use memscape_workload::{Matrix, Operator, OperatorKind};

use crate::cost::kernel::Kernel;
use crate::mapping::design::Design;
use crate::study::attention::PromptAttention;
use crate::study::inference::question::InferenceStudy;
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
    /// The rate of attention as one kernel: that of the layers' products, each in the design that suits it best.
    attention_tops: f64,
    /// The layers' products, with what configures the array.
    pub layers: ProductTraffic,
    /// Those of the head, and of what projects embeddings.
    pub outside: ProductTraffic,
    /// Attention and vectors.
    pub other: ProductTraffic,
}

impl PromptCost {
    /// All of it.
    pub(super) fn total(&self) -> Nanoseconds {
        self.weights + self.attention + self.vector
    }

    /// Bytes that all of it moves: nothing but what is asked for, and whole lines.
    pub(super) fn moved_bytes(&self) -> [f64; 2] {
        let all = self.parts().map(|it| it.moved_bytes());
        [0, 1].map(|way| all.iter().map(|it| it[way]).sum())
    }

    const fn parts(&self) -> [ProductTraffic; 3] {
        [self.layers, self.outside, self.other]
    }

    /// Bytes that it reads, in the same two ways.
    #[must_use]
    pub fn read_bytes(&self) -> [f64; 2] {
        let all = self.parts();
        [all.iter().map(|it| it.read_bytes).sum(), all.iter().map(|it| it.bus_bytes[0]).sum()]
    }

    /// Bytes that it writes, in the same two ways.
    #[must_use]
    pub fn written_bytes(&self) -> [f64; 2] {
        let all = self.parts();
        [all.iter().map(|it| it.written_bytes).sum(), all.iter().map(|it| it.bus_bytes[1]).sum()]
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

/// How the array multiplies with weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    /// As `npu.workload` has it: padded to whole tiles.
    Products,
    /// Streaming them past vectors, as in a step.
    Stream,
}

/// How the prompts of a study meet weights.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plan {
    /// With the strategy that products take.
    study: InferenceStudy,
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
    /// Weights stream as past the vectors of a step where that takes less. Configuring the array for attention, or
    /// for what streams, may take longer than designs of their own gain: one for all is a way to share, too.
    pub(super) fn best(asked: &InferenceStudy, head: HeadOn) -> Result<(Self, PromptCost), StudyError> {
        let plans = Self::all(asked, head);
        let shared = match asked.strategy {
            Strategy::OneDesign | Strategy::Reconfigured => vec![None; plans.len()],
            Strategy::BestPerSize => Self::sharing(&plans)?,
        };
        let mut best: Option<(Self, PromptCost)> = None;
        for (plan, shared) in plans.into_iter().zip(shared) {
            let Some(apart) = plan.cost(None)? else { continue };
            // As one kernel, attention is as fast either way.
            let with_shared = match shared {
                Some(it) => it.cost(Some(apart.attention_tops))?.map(|cost| (it, cost)),
                None => None,
            };
            for (plan, cost) in [Some((plan, apart)), with_shared].into_iter().flatten() {
                if best.as_ref().is_none_or(|it| cost.total() < it.1.total()) {
                    best = Some((plan, cost));
                }
            }
        }
        Ok(best.expect("the first way has a cost or an error"))
    }

    /// All ways of what is asked, all products first.
    fn all(asked: &InferenceStudy, head: HeadOn) -> Vec<Self> {
        let of_layers = [(By::Products, By::Products), (By::Products, By::Stream), (By::Stream, By::Stream)];
        let heads: &[Option<By>] = match head {
            HeadOn::Array => &[Some(By::Products), Some(By::Stream)],
            HeadOn::Processor => &[None],
        };
        let plans = of_layers.into_iter().flat_map(|(layers, experts)| {
            heads.iter().map(move |head| Self { study: *asked, layers, experts, head: *head })
        });
        plans.filter(|it| it.vectors().is_some()).collect()
    }

    /// Each of these ways in the one design for all of it that takes the least time, if any can compute it.
    fn sharing(plans: &[Self]) -> Result<Vec<Option<Self>>, StudyError> {
        let Some(study) = plans.first().map(|it| it.study) else { return Ok(Vec::new()) };
        let (products, stored) = (study.products(), study.format.of(&study.model)?);
        let mut demanded = products.demanded(study.batch.into(), Some(stored))?;
        let of_weights = demanded.len();
        if study.prompt_attention == PromptAttention::Products {
            let operators = study.model.prefill_operators(study.prompt_tokens.get(), study.projections)?;
            for it in operators.iter().filter(|it| it.kind == OperatorKind::Attention) {
                demanded.push((
                    it.name,
                    products.attention_product(it)?.demanded(it, study.batch, study.kv_parts()),
                ));
            }
        }
        let ways = plans.iter().map(|plan| {
            let has = |at: usize, name: &str| at >= of_weights || plan.by(name) == Some(By::Products);
            let had = demanded.iter().enumerate().filter(|(at, it)| has(*at, it.0));
            had.map(|it| 1 << it.0).sum::<usize>()
        });
        let ways: Vec<_> = ways.collect();
        let streaming = plans.iter().map(Self::streaming).collect::<Result<Vec<_>, _>>()?;
        let beside = |at: usize, kernel: &Kernel, design: &Design| {
            let (plan, operators) = (&plans[at], &streaming[at]);
            if operators.is_empty() {
                0.0
            } else if plan.vectors().is_some_and(|it| it <= study.rows_of(kernel)) {
                study.streams_by(stored, design, kernel, operators, plan.tokens()).map(|it| it.time()).sum()
            } else {
                f64::INFINITY
            }
        };
        let demanded: Vec<_> = demanded.into_iter().map(|it| it.1).collect();
        let designs = products.designs().of_ways(&demanded, &ways, beside)?;
        let with = |(plan, design): (&Self, Option<(Design, f64)>)| {
            design.map(|it| Self { study: study.in_one_design(&it.0), ..*plan })
        };
        Ok(plans.iter().zip(designs).map(with).collect())
    }

    /// How the array multiplies with a matrix, if it does.
    fn by(&self, matrix: &str) -> Option<By> {
        if Matrix::is_among(matrix, &Matrix::AFTER_LAYERS) {
            self.head
        } else if self.study.is_of_experts(matrix) {
            Some(self.experts)
        } else {
            Some(self.layers)
        }
    }

    /// What is computed as products, if anything is.
    fn products(&self) -> Option<WorkloadStudy> {
        let lm_head = self.head == Some(By::Products);
        (self.layers == By::Products).then(|| WorkloadStudy { lm_head, ..self.study.products() })
    }

    /// Matrices of layers that products leave out.
    fn streamed(&self) -> &'static [Matrix] {
        if self.experts == By::Stream && self.study.model.experts.is_some() { &Matrix::FFN } else { &[] }
    }

    /// The operators that stream.
    fn streaming(&self) -> Result<Vec<Operator>, StudyError> {
        let InferenceStudy { model, projections, .. } = self.study;
        let mut operators = model.prefill_operators(self.tokens(), projections)?;
        operators.retain(|it| it.kind == OperatorKind::Matrix && self.by(it.name) == Some(By::Stream));
        Ok(operators)
    }

    /// What streams; nothing if no kernel takes as many vectors at once.
    fn streams(&self) -> Result<Option<Vec<Streamed>>, StudyError> {
        let (streaming, vectors) = (self.streaming()?, self.vectors());
        match vectors {
            Some(_) if streaming.is_empty() => Ok(Some(Vec::new())),
            Some(vectors) => self.study.streams(&streaming, self.tokens(), vectors),
            None => Ok(None),
        }
    }

    const fn tokens(&self) -> u64 {
        self.study.prompt_tokens.get()
    }

    /// What it takes beside products and streams: configuring the array between these and products of other designs,
    /// and handing streams over.
    fn around(&self) -> Result<[Nanoseconds; 2], StudyError> {
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

    /// How many vectors weights stream past at once, 0 if none do; nothing if it is no way at all. No more than a
    /// block of rows may: more are products as published.
    fn vectors(&self) -> Option<u64> {
        let study = &self.study;
        let heads = u64::from(study.batch.get());
        let tokens = self.tokens().saturating_mul(heads);
        match (self.layers, self.experts, self.head) {
            // One vector where many stream is no product.
            (By::Stream, _, Some(By::Products)) => None,
            (By::Stream, ..) => Some(tokens),
            (By::Products, By::Stream, _) if study.model.experts.is_none() => None,
            (By::Products, By::Stream, head) => {
                // As many as the expert meets that meets most.
                let [(_, each), (more, one_more)] = study.model.ffn_instances(tokens);
                let most = if more > 0 { one_more } else { each };
                Some(if head == Some(By::Stream) { most.max(heads) } else { most })
            }
            (By::Products, By::Products, Some(By::Stream)) => Some(heads),
            (By::Products, By::Products, _) => Some(0),
        }
    }

    /// What it takes, if it is a way at all.
    ///
    /// * `attention_tops`: the rate of attention as one kernel, if not that of these products
    fn cost(&self, attention_tops: Option<f64>) -> Result<Option<PromptCost>, StudyError> {
        let Some(streams) = self.streams()? else { return Ok(None) };
        let study = &self.study;
        let stored = study.format.of(&study.model)?;
        let heads = NonZeroU64::from(study.batch);
        let (mut layers, mut outside, mut operations, own_tops) = if let Some(it) = self.products() {
            let Solved { answer, layers, outside, layer_tops, .. } =
                it.solve(heads, Some(stored), self.streamed())?;
            (layers, outside, answer.tops * answer.time_ns * 1e3, layer_tops)
        } else {
            (ProductTraffic::NONE, ProductTraffic::NONE, 0.0, study.products().fastest_tops(heads)?)
        };
        let of_layers = self.layers == By::Stream || !self.streamed().is_empty();
        for it in streams {
            let is_outside = Matrix::is_among(it.name, &Matrix::OUTSIDE);
            (if is_outside { &mut outside } else { &mut layers }).stream(&it)?;
            operations += it.operations;
        }
        let [configuring, handing] = self.around()?;
        (if of_layers { &mut layers } else { &mut outside }).time += configuring + handing;
        let weights = layers.time + outside.time;
        let tops = operations / weights.as_f64() * 1e-3;
        let (mut times, mut other) = ([0.0; 3], ProductTraffic::NONE);
        let attention_tops = attention_tops.unwrap_or(own_tops);
        for it in study.prompt_streams(stored, attention_tops)? {
            times[it.part.index()] += it.time();
            other.stream(&it)?;
        }
        let [_, attention, vector] = times.map(Nanoseconds::new);
        let (attention, vector) = (attention?, vector?);
        Ok(Some(PromptCost { weights, attention, vector, tops, attention_tops, layers, outside, other }))
    }

    /// Operator by operator.
    ///
    /// * `attention_tops`: the rate of attention as one kernel
    pub(super) fn told(&self, attention_tops: f64) -> Result<Vec<OperatorCost>, StudyError> {
        let study = &self.study;
        let stored = study.format.of(&study.model)?;
        let mut costs = match self.products() {
            Some(products) => products.operators(study.batch.into(), Some(stored), self.streamed())?,
            None => Vec::new(),
        };
        let streams = self.streams()?.unwrap_or_default();
        for it in streams.iter().chain(&study.prompt_streams(stored, attention_tops)?) {
            costs.push(it.told(Pass::Prompt)?);
        }
        let [configuring, handing] = self.around()?;
        let around = [("reconfiguration", configuring), ("dispatch", handing)];
        costs.extend(around.map(|it| OperatorCost::new(Pass::Prompt, it.0, Nanoseconds::ZERO, [it])));
        Ok(costs)
    }
}

impl InferenceStudy {
    /// The prompts of all sequences on the array.
    ///
    /// # Errors
    /// As of `npu.workload`: a design that does not fit.
    pub fn prompt(&self, head: HeadOn) -> Result<PromptCost, StudyError> {
        self.check()?;
        Ok(Plan::best(self, head)?.1)
    }

    /// Operator by operator.
    pub(super) fn told_prompt(&self, head: HeadOn) -> Result<Vec<OperatorCost>, StudyError> {
        let (plan, cost) = Plan::best(self, head)?;
        plan.told(cost.attention_tops)
    }
}
