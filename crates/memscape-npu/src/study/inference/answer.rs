//! The study `npu.inference`: a prompt and a reply on the NPU alone.

use memscape_study::{
    Aim, Bound, Energy, EnergyColumns, Headline, Laws, Limited, OperatorCost, Served, Slot, Study,
    StudyError, When, either, neutral, raises, slower,
};
use memscape_units::Nanoseconds;
use memscape_workload::weights::AS_STORED;
use schemars::JsonSchema;
use serde::Serialize;

use crate::study::inference::prompt::{HeadOn, PromptCost};
use crate::study::inference::question::InferenceStudy;
use crate::study::pass::{PassPart, bound_by};
use crate::study::{laws, slots};

/// What `npu.inference` answers. A step is one token of each sequence.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct InferenceAnswer {
    /// What all systems answer; a step is the mean over the reply
    #[serde(flatten)]
    pub headline: Headline,
    /// Streaming and multiplying weights, per step
    pub weights_ns: f64,
    /// Streaming and multiplying keys and values, per step
    pub attention_ns: f64,
    /// Norms, activations and residuals, per step
    pub vector_ns: f64,
    /// Handing work over, per step
    pub dispatch_ns: f64,
    /// The prompt's products with weights, dispatch and reconfiguration included
    pub prompt_weights_s: f64,
    /// The prompt's attention
    pub prompt_attention_s: f64,
    /// The prompt's norms, activations and residuals
    pub prompt_vector_s: f64,
    /// Operations per second of the prompt's products, without padding
    pub prompt_tops: f64,
    /// Bytes that a step moves, weights as they are stored
    pub step_bytes: f64,
    /// Mean context of the generated tokens
    pub context_tokens: u64,
}

impl InferenceStudy {
    /// Prompt and token, operator by operator.
    ///
    /// # Errors
    /// As of the study, but that nothing is refused for its size.
    pub fn operators(&self, head: HeadOn) -> Result<Vec<OperatorCost>, StudyError> {
        self.check()?;
        let mut costs = self.told_prompt(head)?;
        costs.extend(self.told_step()?);
        Ok(costs)
    }

    /// What the DRAM takes for the prompts, and for a step.
    fn energy(&self, prompt: ([f64; 2], Nanoseconds), step: ([f64; 2], Nanoseconds)) -> Option<[Energy; 2]> {
        let path = &self.device.dram;
        Some([path.energy_of(prompt.0, prompt.1)?, path.energy_of(step.0, step.1)?])
    }
}

impl Study for InferenceStudy {
    const NAME: &'static str = "npu.inference";
    const SUMMARY: &'static str = "A prompt and a reply of a language model on a Ryzen AI NPU";
    type Answer = InferenceAnswer;

    const SUMS: &'static [(&'static str, &'static [&'static str])] = &[
        ("token_ns", &["weights_ns", "attention_ns", "vector_ns", "dispatch_ns"]),
        ("ttft_s", &["prompt_weights_s", "prompt_attention_s", "prompt_vector_s"]),
        EnergyColumns::SUM,
    ];

    const OPERATORS: Option<fn(&Self) -> Result<Vec<OperatorCost>, StudyError>> =
        Some(|it| it.operators(HeadOn::Array));

    const LAWS: Laws = Laws {
        aim: Some(Aim::less("total_s")),
        effects: &[
            laws::DEVICE,
            &[
                slower("prompt_tokens"),
                slower("generated_tokens"),
                slower("batch"),
                slower("kv_bits"),
                slower("activation_bits"),
                neutral("memory_gb"),
                either("m_ct", laws::TILE).only(GIVEN),
                either("k_ct", laws::TILE).only(GIVEN),
                either("n_ct", laws::TILE).only(GIVEN),
                either("k_mt", laws::STEP).only(GIVEN),
                slower("device.reconfiguration_ns").only(&[When::is_not("strategy", &["one-design"])]),
                neutral("device.dram.energy.*"),
            ],
        ],
        trends: &[&[
            raises("device.dram.energy.*", "energy_j"),
            raises("device.dram.energy.*", "energy_high_j"),
            raises("generated_tokens", "energy_j"),
        ]],
        slow: true,
        ..Laws::NONE
    };

    fn answer(&self) -> Result<InferenceAnswer, StudyError> {
        self.check()?;
        let memory = self.memory_bytes(self.format.of(&self.model)?)?;
        let (prompt_tokens, generated) = (self.prompt_tokens.get(), self.generated_tokens.get());
        let read = self.prompt(HeadOn::Array)?;
        let (step, moved, computing) = self.step()?;
        let PromptCost { weights, attention, vector, tops: prompt_tops, .. } = read;
        let (prompt, step_time) = (weights + attention + vector, Nanoseconds::new(step.total().as_ns())?);
        let headline = Headline::of(&Served {
            prompt_tokens,
            generated_tokens: generated,
            batch: self.batch.get().into(),
            prompt,
            step: step_time,
            memory_bytes: memory.0,
            memory_limit_bytes: Some(self.memory_gb.bytes().0),
            bound_by: bound_by(&self.device, &step, computing),
            energy: self.energy((read.moved_bytes(), prompt), (moved, step_time)),
            package_w: None,
            cost_usd: None,
        });
        Ok(InferenceAnswer {
            headline,
            weights_ns: step.ns(PassPart::Weights),
            attention_ns: step.ns(PassPart::Attention),
            vector_ns: step.ns(PassPart::Vector),
            dispatch_ns: step.ns(PassPart::Dispatch),
            prompt_weights_s: weights.as_f64() * 1e-9,
            prompt_attention_s: attention.as_f64() * 1e-9,
            prompt_vector_s: vector.as_f64() * 1e-9,
            prompt_tops,
            step_bytes: moved[0],
            context_tokens: self.reply().mean_context(),
        })
    }

    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53 in ratio")]
    fn bounds(&self) -> Vec<Bound> {
        let products = self.products().floors(self.format.of(&self.model).ok()).into_iter();
        let mut bounds: Vec<Bound> = products
            .filter_map(|it| match it.limit {
                Limited::AtLeast(ns) => Some(Bound::at_least("ttft_s", ns * 1e-9, it.why)),
                Limited::AtMost(_) => None,
            })
            .collect();
        if let Ok(stored) = self.format.of(&self.model) {
            let bytes = stored.token_layer_bits() as f64 / 8.0 * f64::from(self.model.layers);
            let floor = bytes / self.device.stream_gb_s();
            bounds.push(Bound::at_least(
                "token_ns",
                floor,
                "the layers' weights over the array's way to DRAM",
            ));
        }
        bounds.push(Bound::at_most("memory_bytes", self.memory_gb.bytes().0 as f64, "what the host lends"));
        bounds
    }

    fn slots() -> Vec<Slot> {
        vec![slots::model().implying(&[AS_STORED]), slots::design(), slots::device()]
    }
}

/// Where the design is given.
const GIVEN: &[When] = &[When::is_not("strategy", &["best-per-size"])];
