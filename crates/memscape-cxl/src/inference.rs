//! The study `cxl.inference`: a prompt and a reply, layer by layer.

use std::num::NonZeroU32;

use memscape_dram::MEMORIES;
use memscape_study::{
    Aim, Bound, BoundBy, Breakdown, Energy, EnergyColumns, Headline, Laws, Limit, Recorder, Served, Slot,
    Span, Study, StudyError, faster, lowers, neutral, parts, raises, slower, unused,
};
use memscape_units::{Nanoseconds, Picoseconds};
use memscape_workload::weights::AS_STORED;
use memscape_workload::{Format, MODELS, Model, NotStored, WeightFormat, Weights};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hardware::{Accelerator, Expander, Link, MACHINES, Machine};
use crate::placement::{Needs, Placement};

/// A prompt and a reply on an accelerator with a CXL memory expander.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InferenceStudy {
    /// Language model
    pub model: Model,
    /// How weights are stored: a format, a type of ggml such as `q4_k`, or `stored`, as the model's file
    /// has them, which holds for a GGUF file unless given; keys and values are FP16
    pub format: WeightFormat,
    /// Tokens of the prompt
    #[schemars(range(min = 1, max = 1_000_000))]
    pub prompt_tokens: NonZeroU32,
    /// Tokens generated
    #[schemars(range(min = 1, max = 1_000_000))]
    pub generated_tokens: NonZeroU32,
    /// Sequences at once
    #[schemars(range(min = 1, max = 65536))]
    pub batch: NonZeroU32,
    /// What computes
    pub accelerator: Accelerator,
    /// The way to the expander
    pub link: Link,
    /// The expander
    pub expander: Expander,
}

/// What `cxl.inference` answers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct InferenceAnswer {
    /// What all systems answer.
    #[serde(flatten)]
    pub headline: Headline,
    /// Of a token: layers beside the accelerator, embedding and head
    pub near_ns: f64,
    /// Of a token: layers in the expander
    pub far_ns: f64,
    /// Layers beside the accelerator
    pub near_layers: u64,
    /// Layers in the expander
    pub far_layers: u64,
    /// The rate at which the expander's bytes arrive
    pub expander_gb_s: f64,
}

parts! {
    /// Where a pass spends its time.
    pub enum PassPart {
        /// Layers beside the accelerator, embedding and head
        Near = "near",
        /// Layers in the expander
        Far = "far",
    }
}

/// One pass over all layers.
#[derive(Debug, Clone, Copy)]
struct Pass {
    time: Breakdown<PassPart>,
    near_layer: Picoseconds,
    far_layer: Picoseconds,
    head: Picoseconds,
    /// Bytes that the expander reads and, of keys and values, writes.
    far_bytes: [f64; 2],
    /// Whether the near layers wait for bytes rather than for arithmetic.
    reads: bool,
}

impl Default for InferenceStudy {
    /// Llama 2 70B with eight-bit weights, most of which are in the expander.
    fn default() -> Self {
        let Machine { accelerator, link, expander } = *MACHINES.get("accelerator-with-expander");
        let count = |it| NonZeroU32::new(it).expect("not zero");
        Self {
            model: Model::named("llama-2-70b").expect("a built-in model"),
            format: Format::INT8.into(),
            prompt_tokens: count(128),
            generated_tokens: count(128),
            batch: count(1),
            accelerator,
            link,
            expander,
        }
    }
}

/// Bytes of a key or value.
const KV_BYTES: u64 = 2;

impl InferenceStudy {
    /// The machine without the workload.
    #[must_use]
    pub const fn machine(&self) -> Machine {
        Machine { accelerator: self.accelerator, link: self.link, expander: self.expander }
    }

    fn weights(&self) -> Result<Weights<'_>, NotStored> {
        self.format.of(&self.model)
    }

    fn needs(&self, weights: Weights<'_>) -> Needs {
        let (model, batch) = (&self.model, u64::from(self.batch.get()));
        let layers = u64::from(model.layers);
        let longest = u64::from(self.prompt_tokens.get()) + u64::from(self.generated_tokens.get());
        let cache = model.kv_cache_elements(longest).div_ceil(layers).saturating_mul(KV_BYTES * batch);
        Needs {
            layers,
            layer_bytes: weights.layer_bytes().0.saturating_add(cache),
            other_bytes: weights.table_bytes().0,
        }
    }

    /// A pass of `tokens` tokens of each sequence, which see `context` tokens each
    /// on average: in each layer the slower of computing and reading.
    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
    fn pass(&self, stored: Weights<'_>, placement: Placement, tokens: f64, context: f64) -> Pass {
        let (model, machine) = (&self.model, self.machine());
        let batch = f64::from(self.batch.get());
        let layers = u64::from(model.layers);
        let weights = stored.layer_bytes().0 as f64;
        let cache = batch * context * (2 * KV_BYTES * model.kv_size()) as f64;
        let attention = 4.0 * context * model.q_size() as f64;
        let operations = batch * tokens * (2.0 * model.layer_matrix_parameters() as f64 + attention);
        let compute = machine.accelerator.fp16_tops.time_of(operations);
        let read = |rate: f64, bytes: f64| Nanoseconds::new(bytes / rate).expect("finite and positive");
        let slower = |a: Nanoseconds, b: Nanoseconds| if a < b { b } else { a };
        let near_read = read(machine.accelerator.bandwidth_gb_s.as_f64(), weights + cache);
        let near_layer = slower(compute, near_read).to_picoseconds();
        let far_layer =
            slower(compute, read(machine.expander_rate().as_f64(), weights + cache)).to_picoseconds();
        let head_elements = model.embedding_parameters();
        let head_bytes = stored.head_bytes().0 as f64;
        let head = slower(
            machine.accelerator.fp16_tops.time_of(2.0 * batch * head_elements as f64),
            read(machine.accelerator.bandwidth_gb_s.as_f64(), head_bytes),
        )
        .to_picoseconds();
        debug_assert_eq!(placement.near_layers + placement.far_layers, layers);
        let mut time = Breakdown::default();
        time[PassPart::Near] = near_layer * placement.near_layers + head;
        time[PassPart::Far] = far_layer * placement.far_layers;
        let written = batch * tokens * (2 * KV_BYTES * model.kv_size()) as f64;
        let far_bytes = [weights + cache, written].map(|it| it * placement.far_layers as f64);
        Pass { time, near_layer, far_layer, head, far_bytes, reads: compute < near_read }
    }

    /// What the expander's memory takes for a pass; none where nothing is known of it.
    fn energy(&self, pass: &Pass) -> Option<Energy> {
        let meter = self.expander.memory.meter()?;
        let time = pass.time.total().into();
        let idle = (meter.standby(time) + meter.refresh(time)) * f64::from(self.expander.channels.get());
        let [read, written] = pass.far_bytes;
        Some(meter.stream_of_rows(read, written) + idle)
    }

    fn passes(&self) -> Result<(Placement, Pass, Pass), StudyError> {
        self.link.check()?;
        let stored = self.weights()?;
        let placement = Placement::of(&self.needs(stored), &self.machine())?;
        let (prompt, generated) =
            (f64::from(self.prompt_tokens.get()), f64::from(self.generated_tokens.get()));
        // A prompt's tokens see half of it on average.
        let first = self.pass(stored, placement, prompt, f64::midpoint(prompt, 1.0));
        let token = self.pass(stored, placement, 1.0, prompt + f64::midpoint(generated, 1.0));
        Ok((placement, first, token))
    }
}

impl Study for InferenceStudy {
    const NAME: &'static str = "cxl.inference";
    const SUMMARY: &'static str = "A prompt and a reply on an accelerator with a CXL memory expander";
    type Answer = InferenceAnswer;
    const SUMS: &'static [(&'static str, &'static [&'static str])] =
        &[("token_ns", &["near_ns", "far_ns"]), EnergyColumns::SUM];
    const LAWS: Laws = Laws {
        aim: Some(Aim::less("total_s")),
        effects: &[
            slower("prompt_tokens"),
            slower("generated_tokens"),
            slower("batch"),
            faster("accelerator.*"),
            faster("link.*"),
            faster("expander.channels"),
            faster("expander.memory.channels"),
            faster("expander.memory.bus_bits"),
            faster("expander.memory.data_rate_mt_s"),
            neutral("expander.memory.banks_per_channel"),
            neutral("expander.memory.rows"),
            neutral("expander.memory.row_bytes"),
            neutral("expander.memory.ranks"),
            neutral("expander.memory.trefi_ns"),
            neutral("expander.memory.energy.*"),
            unused("expander.memory.energy.bank_share.*", "nothing computes in the expander"),
            unused("expander.memory.*", "only a module's peak rate and size count here"),
        ],
        trends: &[
            raises("expander.memory.energy.*", "energy_j"),
            lowers("expander.memory.trefi_ns", "energy_refresh_j"),
        ],
        limits: &[
            Limit { grow: &[("accelerator.memory_bytes", 1e6)], vanish: &["far_ns"] },
            Limit {
                grow: &[("accelerator.bandwidth_gb_s", 1e9), ("accelerator.fp16_tops", 1e9)],
                vanish: &["near_ns"],
            },
        ],
        ..Laws::NONE
    };
    const TIMELINE: Option<fn(&Self, &mut dyn Recorder) -> Result<(), StudyError>> = Some(Self::record);

    fn answer(&self) -> Result<InferenceAnswer, StudyError> {
        let (placement, prompt, token) = self.passes()?;
        let ns = |it: Picoseconds| Nanoseconds::new(it.as_ns()).expect("never negative");
        let bound_by = match (token.time.largest(), token.reads) {
            (PassPart::Far, _) if token.far_layer > token.near_layer => BoundBy::Link,
            (_, true) => BoundBy::DramBandwidth,
            (_, false) => BoundBy::Compute,
        };
        let (near, far) = (self.accelerator.memory_bytes.get(), self.expander.bytes());
        let energies = self.energy(&prompt).zip(self.energy(&token));
        let tokens = f64::from(self.generated_tokens.get());
        Ok(InferenceAnswer {
            headline: Headline::of(&Served {
                prompt_tokens: self.prompt_tokens.get().into(),
                generated_tokens: self.generated_tokens.get().into(),
                batch: self.batch.get().into(),
                prompt: ns(prompt.time.total()),
                step: ns(token.time.total()),
                memory_bytes: self.needs(self.weights()?).bytes(),
                memory_limit_bytes: Some(near.saturating_add(far)),
                bound_by,
                energy: energies.map(|(prompt, token)| prompt + token * tokens),
                package_w: None,
                cost_usd: None,
            })
            .of_modules(),
            near_ns: token.time.ns(PassPart::Near),
            far_ns: token.time.ns(PassPart::Far),
            near_layers: placement.near_layers,
            far_layers: placement.far_layers,
            expander_gb_s: self.machine().expander_rate().as_f64(),
        })
    }

    /// Each place reads its layers' weights at no more than its peak, and operations
    /// take what they take.
    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
    fn bounds(&self) -> Vec<Bound> {
        let model = &self.model;
        let Ok(stored) = self.weights() else { return Vec::new() };
        let weights = stored.layer_bytes().0 as f64 * f64::from(model.layers);
        let rate = self.accelerator.bandwidth_gb_s.as_f64().max(self.expander.bandwidth().as_f64());
        let operations = 2.0 * model.layer_matrix_parameters() as f64 * f64::from(model.layers);
        let tokens = f64::from(self.prompt_tokens.get()) * f64::from(self.batch.get());
        let prompt_ns = self.accelerator.fp16_tops.time_of(operations * tokens).as_f64();
        vec![
            Bound::at_least("token_ns", weights / rate, "all layers' weights at the faster memory's peak"),
            Bound::at_least("ttft_s", prompt_ns * 1e-9, "the prompt's operations at the peak rate"),
        ]
    }

    fn slots() -> Vec<Slot> {
        vec![
            Slot::whole("hardware", &MACHINES, "accelerator-with-expander"),
            Slot::part("expander.memory", &MEMORIES, "ddr4-3200"),
            Slot::part("model", &MODELS, "llama-2-70b").implying(AS_STORED),
        ]
    }
}

impl InferenceStudy {
    /// The prompt and one token, a span for each layer.
    fn record(&self, recorder: &mut dyn Recorder) -> Result<(), StudyError> {
        let (placement, prompt, token) = self.passes()?;
        let near = recorder.track("machine", "accelerator's memory");
        let far = recorder.track("machine", "expander");
        let mut start = Picoseconds::ZERO;
        for (category, pass) in [("prompt", prompt), ("token", token)] {
            let layers = (0..placement.near_layers).map(|_| (near, pass.near_layer));
            let layers = layers.chain((0..placement.far_layers).map(|_| (far, pass.far_layer)));
            for (layer, (track, time)) in (0..).zip(layers) {
                let end = start + time;
                recorder
                    .span(track, Span { name: "layer", category, start, end, details: &[("layer", layer)] });
                start = end;
            }
            let end = start + pass.head;
            recorder.span(near, Span { name: "head", category, start, end, details: &[] });
            start = end;
        }
        Ok(())
    }
}

#[cfg(test)]
#[expect(clippy::cast_precision_loss, reason = "bytes stay far below 2^53")]
mod tests {
    use memscape_study::Timeline;
    use proptest::prelude::*;

    use super::*;

    fn count(it: u32) -> NonZeroU32 {
        NonZeroU32::new(it).unwrap()
    }

    #[test]
    fn what_does_not_fit_is_refused_with_the_bytes_that_are_missing() {
        let study = InferenceStudy { format: Format::FP32.into(), ..InferenceStudy::default() };
        let error = study.answer().unwrap_err().to_string();
        assert!(error.contains("the expander holds 64 GiB") && error.contains("short"), "{error}");
    }

    #[test]
    fn the_timeline_is_the_prompt_and_a_token() {
        let study = InferenceStudy::default();
        let mut timeline = Timeline::default();
        study.record(&mut timeline).unwrap();
        let answer = study.answer().unwrap();
        let both = answer.headline.ttft_s * 1e9 + answer.headline.token_ns;
        assert!((timeline.end().as_ns() - both).abs() < 1.0);
    }

    proptest! {
        /// More of each resource is never slower, and no time is below what the bytes take.
        #[test]
        fn more_is_never_slower(
            lanes in 1..=8_u32, channels in 8..64_u32, batch in 1..8_u32, prompt in 1..4000_u32,
            bandwidth in 100.0..4000.0, tops in 10.0..1000.0
        ) {
            let mut study = InferenceStudy { batch: count(batch), prompt_tokens: count(prompt), ..Default::default() };
            study.link.lanes = count(lanes);
            study.expander.channels = count(channels);
            study.accelerator.bandwidth_gb_s = memscape_units::GbPerS::new(bandwidth).unwrap();
            study.accelerator.fp16_tops = memscape_units::Tops::new(tops).unwrap();
            let total = |it: InferenceStudy| it.answer().unwrap().headline.total_s;
            let mut more = [study; 4];
            more[0].link.lanes = count(2 * lanes);
            more[1].expander.channels = count(2 * channels);
            more[2].accelerator.bandwidth_gb_s = memscape_units::GbPerS::new(2.0 * bandwidth).unwrap();
            more[3].accelerator.fp16_tops = memscape_units::Tops::new(2.0 * tops).unwrap();
            for it in more {
                prop_assert!(total(it) <= total(study));
            }
            let answer = study.answer().unwrap();
            let far = answer.far_layers * study.weights().unwrap().layer_bytes().0;
            prop_assert!(answer.far_ns * answer.expander_gb_s >= far as f64 * (1.0 - 1e-9));
            prop_assert!((answer.near_ns + answer.far_ns - answer.headline.token_ns).abs() < 1e-3);
        }
    }
}
