//! The study `cxl.inference`: a prompt and a reply, layer by layer.

use std::num::NonZeroU32;

use memscape_dram::MEMORIES;
use memscape_study::{
    self as study, Aim, Bound, BoundBy, Breakdown, Energy, EnergyColumns, Headline, Laws, Limit,
    OperatorCost, Recorder, Served, Slot, Span, Study, StudyError, faster, lowers, neutral, parts, raises,
    slower, unused,
};
use memscape_units::{GbPerS, Nanoseconds, Picoseconds, UnitError, float};
use memscape_workload::weights::AS_STORED;
use memscape_workload::{
    Format, MODELS, Matrix, Model, Operator, OperatorError, OperatorKind, Projections, Reply, WeightFormat,
    Weights, WeightsError,
};
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
    /// How weights are stored: a format, a type of ggml such as `q4_k`, a mixture of llama.cpp's such as `q4_k_m`, or `stored`, as the model's file
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

/// What an operator computes and reads, all its instances together.
struct Step {
    name: &'static str,
    bytes: f64,
    compute: Nanoseconds,
}

impl Step {
    /// The slower of both, where its bytes come at a rate.
    fn time(&self, rate: GbPerS) -> Result<Nanoseconds, UnitError> {
        Ok(self.compute.max(Nanoseconds::new(self.bytes / rate.as_f64())?))
    }

    /// Whether it is of no layer: such stay beside the accelerator.
    fn is_outside(&self) -> bool {
        Matrix::is_among(self.name, &Matrix::OUTSIDE)
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
    /// What most of its time waits for.
    bound_by: BoundBy,
}

/// Time by what it waits for: a step counts whole, as the slower of its two does.
struct Waits([(BoundBy, Nanoseconds); 3]);

impl Waits {
    const NONE: Self = Self([
        (BoundBy::Compute, Nanoseconds::ZERO),
        (BoundBy::DramBandwidth, Nanoseconds::ZERO),
        (BoundBy::Link, Nanoseconds::ZERO),
    ]);

    /// A share of a step that takes so long where its bytes wait for `bytes`.
    fn add(&mut self, step: &Step, time: Nanoseconds, share: f64, bytes: BoundBy) {
        let cause = if step.compute < time { bytes } else { BoundBy::Compute };
        let waits = self.0.iter_mut().filter(|it| it.0 == cause);
        waits.for_each(|it| it.1 += time * share);
    }

    fn longest(&self) -> BoundBy {
        self.0.iter().fold(self.0[0], |longest, it| if it.1 > longest.1 { *it } else { longest }).0
    }
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

/// The same of inputs and results of products.
const ACTIVATION_BYTES: u64 = 2;

impl InferenceStudy {
    /// The machine without the workload.
    #[must_use]
    pub const fn machine(&self) -> Machine {
        Machine { accelerator: self.accelerator, link: self.link, expander: self.expander }
    }

    fn weights(&self) -> Result<Weights<'_>, WeightsError> {
        self.format.of(&self.model)
    }

    fn needs(&self, weights: Weights<'_>) -> Result<Needs, OperatorError> {
        let (model, batch) = (&self.model, u64::from(self.batch.get()));
        let layers = u64::from(model.layers);
        let longest = u64::from(self.prompt_tokens.get()) + u64::from(self.generated_tokens.get());
        let cache = model.kv_cache_elements(longest).div_ceil(layers).saturating_mul(KV_BYTES * batch);
        // What the largest product of the prompt takes and gives, which the accelerator holds meanwhile.
        let product = model.product_elements(self.prompt_tokens.get().into())?;
        let product = product.saturating_mul(ACTIVATION_BYTES * batch);
        let outside = weights.total_bytes().0.saturating_sub(weights.layer_bytes().0.saturating_mul(layers));
        Ok(Needs {
            layers,
            layer_bytes: weights.layer_bytes().0.saturating_add(cache),
            layer_cache_bytes: cache,
            sequences: batch,
            other_bytes: outside.saturating_add(product),
            product_bytes: product,
        })
    }

    /// What a pass of `tokens` tokens of each sequence multiplies and reads: matrices, and attention over
    /// keys and values. Weights are read once for all sequences.
    fn steps(&self, stored: Weights<'_>, operators: &[Operator], tokens: u64) -> Vec<Step> {
        let batch = u64::from(self.batch.get());
        let of = |it: &Operator| {
            let weights = float(stored.operator_bits(it)) / 8.0 * self.model.weight_reads(it, tokens, batch);
            let cache = float(it.kv_read_elements * KV_BYTES) * float(batch);
            let operations = float(it.operations) * float(batch);
            Step {
                name: it.name,
                bytes: float(it.count) * (weights + cache),
                compute: self.accelerator.fp16_tops.time_of(float(it.count) * operations),
            }
        };
        operators.iter().filter(|it| it.kind != OperatorKind::Vector).map(of).collect()
    }

    /// A pass: each operator takes the slower of computing and reading, where its layer's weights are.
    fn pass(&self, placement: &Placement, operators: &[Operator], tokens: u64) -> Result<Pass, StudyError> {
        let machine = self.machine();
        let layers = f64::from(self.model.layers);
        let [near_gb_s, far_gb_s] = [machine.accelerator.bandwidth_gb_s, machine.expander_rate()];
        let steps = self.steps(self.weights()?, operators, tokens);
        let (mut near, mut far, mut head) = (Nanoseconds::ZERO, Nanoseconds::ZERO, Nanoseconds::ZERO);
        let (mut read, mut waits) = (0.0, Waits::NONE);
        let far_share = float(placement.far_layers) / layers;
        let by_link = machine.link.bandwidth() < machine.expander.bandwidth();
        let far_bytes = if by_link { BoundBy::Link } else { BoundBy::DramBandwidth };
        for it in &steps {
            let time = it.time(near_gb_s)?;
            if it.is_outside() {
                head += time;
                waits.add(it, time, 1.0, BoundBy::DramBandwidth);
                continue;
            }
            let far_time = it.time(far_gb_s)?;
            near += time;
            far += far_time;
            read += it.bytes;
            waits.add(it, time, 1.0 - far_share, BoundBy::DramBandwidth);
            waits.add(it, far_time, far_share, far_bytes);
        }
        let of_layer = |all: Nanoseconds| (all / layers).to_picoseconds();
        let (near_layer, far_layer, head) = (of_layer(near), of_layer(far), head.to_picoseconds());
        let mut time = Breakdown::default();
        time[PassPart::Near] = near_layer * placement.near_layers + head;
        time[PassPart::Far] = far_layer * placement.far_layers;
        let written = float(2 * KV_BYTES * self.model.kv_size() * u64::from(self.batch.get()) * tokens);
        let far_bytes = [read * far_share, written * float(placement.far_layers)];
        Ok(Pass { time, near_layer, far_layer, head, far_bytes, bound_by: waits.longest() })
    }

    fn placement(&self) -> Result<Placement, StudyError> {
        Ok(Placement::of(&self.needs(self.weights()?)?, &self.machine())?)
    }

    /// The prompt's operators, and those of the reply's mean token.
    fn operators(&self) -> Result<[Vec<Operator>; 2], OperatorError> {
        let reply = Reply { prompt: self.prompt_tokens.get().into(), tokens: self.generated_tokens.into() };
        let merged = Projections::Merged;
        Ok([self.model.prefill_operators(reply.prompt, merged)?, self.model.reply_operators(reply, merged)?])
    }

    /// Prompt and token, operator by operator.
    fn costs(&self) -> Result<Vec<OperatorCost>, StudyError> {
        self.check()?;
        let (placement, machine) = (self.placement()?, self.machine());
        let far = float(placement.far_layers) / f64::from(self.model.layers);
        let [prompt, token] = self.operators()?;
        let passes =
            [(study::Pass::Prompt, prompt, self.prompt_tokens.get().into()), (study::Pass::Token, token, 1)];
        let mut costs = Vec::new();
        for (pass, operators, tokens) in passes {
            for it in self.steps(self.weights()?, &operators, tokens) {
                let far = if it.is_outside() { 0.0 } else { far };
                let near = it.time(machine.accelerator.bandwidth_gb_s)? * (1.0 - far);
                let far = it.time(machine.expander_rate())? * far;
                // Nothing is lost beside the rates.
                costs.push(OperatorCost::new(pass, it.name, near + far, [("near", near), ("far", far)]));
            }
        }
        Ok(costs)
    }

    /// What the expander's memory takes for a pass; none where nothing is known of it.
    fn energy(&self, pass: &Pass) -> Option<Energy> {
        let meter = self.expander.memory.meter()?;
        let time = pass.time.total().into();
        let idle = meter.idle(time, true) * f64::from(self.expander.channels.get());
        let [read, written] = pass.far_bytes;
        Some(meter.stream_of_rows(read, written) + idle)
    }

    /// Checks what the types do not.
    fn check(&self) -> Result<(), StudyError> {
        self.link.check()?;
        self.expander.memory.check_bursts().map_err(|it| it.at("expander.memory"))?;
        Ok(())
    }

    fn passes(&self) -> Result<(Placement, Pass, Pass), StudyError> {
        self.check()?;
        let ([prompt, token], placement) = (self.operators()?, self.placement()?);
        let prompt = self.pass(&placement, &prompt, self.prompt_tokens.get().into())?;
        let token = self.pass(&placement, &token, 1)?;
        Ok((placement, prompt, token))
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
        effects: &[&[
            slower("prompt_tokens"),
            slower("generated_tokens"),
            slower("batch"),
            faster("accelerator.*"),
            faster("link.*"),
            faster("expander.channels"),
            faster("expander.memory.channels"),
            faster("expander.memory.bus_bits"),
            faster("expander.memory.data_rate_mt_s"),
            faster("expander.memory.banks_per_channel"),
            faster("expander.memory.rows"),
            faster("expander.memory.row_bytes"),
            faster("expander.memory.ranks"),
            faster("expander.memory.trefi_ns"),
            slower("expander.memory.trfc_ab_ns"),
            neutral("expander.memory.energy.*"),
            unused("expander.memory.energy.bank_share.*", "nothing computes in the expander"),
            unused("expander.memory.*", "only a module's peak rate, its refreshes and its size count here"),
        ]],
        trends: &[&[
            raises("expander.memory.energy.*", "energy_j"),
            lowers("expander.memory.trefi_ns", "energy_refresh_j"),
        ]],
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
    const OPERATORS: Option<fn(&Self) -> Result<Vec<OperatorCost>, StudyError>> = Some(Self::costs);

    fn answer(&self) -> Result<InferenceAnswer, StudyError> {
        let (placement, prompt, token) = self.passes()?;
        let (near, far) = (self.accelerator.memory_bytes.get(), self.expander.bytes());
        let energies = self.energy(&prompt).zip(self.energy(&token));
        Ok(InferenceAnswer {
            headline: Headline::of(&Served {
                prompt_tokens: self.prompt_tokens.get().into(),
                generated_tokens: self.generated_tokens.get().into(),
                batch: self.batch.get().into(),
                prompt: prompt.time.total().into(),
                step: token.time.total().into(),
                memory_bytes: self.needs(self.weights()?)?.bytes(),
                memory_limit_bytes: Some(near.saturating_add(far)),
                bound_by: token.bound_by,
                energy: energies.map(<[_; 2]>::from),
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

    /// Each place reads its layers' weights at no more than it gives, and operations
    /// take what they take.
    fn bounds(&self) -> Vec<Bound> {
        let model = &self.model;
        let (Ok(()), Ok(stored)) = (self.check(), self.weights()) else { return Vec::new() };
        let weights = float(stored.token_layer_bits()) / 8.0 * f64::from(model.layers);
        let rate = self.accelerator.bandwidth_gb_s.as_f64().max(self.expander.bandwidth().as_f64());
        let layer: u64 = model.layer_gemvs(Projections::Merged).map(|it| it.1.macs()).sum();
        let operations = 2.0 * float(layer) * f64::from(model.layers);
        let tokens = f64::from(self.prompt_tokens.get()) * f64::from(self.batch.get());
        let prompt_ns = self.accelerator.fp16_tops.time_of(operations * tokens).as_f64();
        vec![
            Bound::at_least(
                "token_ns",
                weights / rate,
                "all layers' weights at what the faster memory gives",
            ),
            Bound::at_least("ttft_s", prompt_ns * 1e-9, "the prompt's operations at the peak rate"),
            Bound::at_least(
                "ttft_s",
                weights / rate * 1e-9,
                "all layers' weights at what the faster memory gives",
            ),
        ]
    }

    fn slots() -> Vec<Slot> {
        vec![
            Slot::whole("hardware", &MACHINES, "accelerator-with-expander"),
            Slot::part("expander.memory", &MEMORIES, "ddr4-3200"),
            Slot::part("model", &MODELS, "llama-2-70b").implying(&[AS_STORED]),
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
        assert!(error.ends_with("use more `expander.channels` or a narrower `format`"), "{error}");
        let long = |batch| {
            let generated_tokens = count(1_000_000);
            let study = InferenceStudy { generated_tokens, batch: count(batch), ..InferenceStudy::default() };
            study.answer().unwrap_err().to_string()
        };
        // Two times 8 heads of 128 for each of a million tokens, of two bytes: 3.8 GiB of each layer.
        let (one, many) = (long(1), long(4));
        assert!(one.contains("of 4.6") && one.contains("3.815 GiB of each for keys and values"), "{one}");
        assert!(one.ends_with("use more `expander.channels` or fewer tokens"), "{one}");
        assert!(many.ends_with("use more `expander.channels`, fewer tokens or a smaller `batch`"), "{many}");
        let mut small = InferenceStudy::default();
        small.accelerator.memory_bytes = 1_000_000.try_into().unwrap();
        let error = small.answer().unwrap_err().to_string();
        assert!(error.contains("narrower `format` or a model of a smaller vocabulary"), "{error}");
        // 2.1 million tokens of Gemma 3 1B, of which gate and up take 1152 numbers and give 13824, two bytes each.
        let wide = InferenceStudy {
            model: Model::named("gemma-3-1b").unwrap(),
            prompt_tokens: count(32_768),
            batch: count(64),
            ..InferenceStudy::default()
        };
        let error = wide.answer().unwrap_err().to_string();
        assert!(error.contains("58.5 GiB of it for the product's inputs and results"), "{error}");
    }

    /// Learned positions, norms and biases are in memory, too.
    #[test]
    fn all_weights_have_a_place() {
        let model = Model::named("opt-125m").unwrap();
        let study = InferenceStudy { model, format: Format::FP16.into(), ..InferenceStudy::default() };
        let longest = u64::from(study.prompt_tokens.get() + study.generated_tokens.get());
        let cache = model.kv_cache_elements(longest) * KV_BYTES;
        let product = model.product_elements(study.prompt_tokens.get().into()).unwrap() * ACTIVATION_BYTES;
        assert_eq!(study.answer().unwrap().headline.memory_bytes, 2 * model.parameters() + cache + product);
    }

    /// Gemma 3 1B, 256 sequences at 400 tokens: for each, 0.70 billion weights of the layers and 0.30 of the
    /// head are multiplied, and 26 layers read 1 KiB for each token.
    #[test]
    fn the_head_counts_where_a_token_is_bound() {
        let study = InferenceStudy {
            model: Model::named("gemma-3-1b").unwrap(),
            prompt_tokens: count(400),
            generated_tokens: count(1),
            batch: count(256),
            ..InferenceStudy::default()
        };
        let ns_of = |operations: f64| operations / (study.accelerator.fp16_tops.as_f64() * 1e3);
        let (layers, head) = (ns_of(2.0 * 697.8e6), ns_of(2.0 * 302.0e6));
        let attention = 26.0 * 401.0 * 1024.0 / study.accelerator.bandwidth_gb_s.as_f64();
        assert!(layers < attention && attention < layers + head, "{layers} {head} {attention}");
        let it = study.answer().unwrap();
        assert!((it.near_ns / (256.0 * (layers + head + attention)) - 1.0).abs() < 1e-2, "{}", it.near_ns);
        assert_eq!((it.far_layers, it.headline.bound_by), (0, BoundBy::Compute));
    }

    #[test]
    fn what_binds_is_the_slower_of_link_and_modules() {
        let study = InferenceStudy::default();
        let of = |study: InferenceStudy| study.answer().unwrap().headline.bound_by;
        assert_eq!(of(study), BoundBy::Link);
        // The link, however slow the accelerator's own memory is.
        let mut slow = study;
        slow.accelerator.bandwidth_gb_s = GbPerS::new(10.0).unwrap();
        assert_eq!(of(slow), BoundBy::Link);
        let mut wide = study;
        wide.link.transfer_gt_s = 1000.0;
        assert_eq!(of(wide), BoundBy::DramBandwidth);
    }

    /// Of each 7800 ns, a rank of DDR4 is refreshed for 350: behind a link that takes no time, of twice as many
    /// refreshes the rest is left. Of the accelerator's own memory no figures of refresh are given.
    #[test]
    fn an_expander_gives_nothing_while_it_is_refreshed() {
        let of = |trefi_ns: f64| {
            let mut study = InferenceStudy::default();
            study.link.transfer_gt_s = 1000.0;
            study.expander.memory.trefi_ns = Nanoseconds::new(trefi_ns).unwrap();
            study.answer().unwrap()
        };
        let memory = InferenceStudy::default().expander.memory;
        let (rare, often) = (of(7800.0), of(3900.0));
        let left = |trefi_ns: f64| 1.0 - memory.trfc_ab_ns.as_f64() / trefi_ns;
        let peak = 8.0 * memory.peak_gb_s().as_f64();
        assert!((rare.expander_gb_s / (peak * left(7800.0)) - 1.0).abs() < 1e-12, "{}", rare.expander_gb_s);
        let ratio = often.far_ns / rare.far_ns;
        assert!((ratio / (left(7800.0) / left(3900.0)) - 1.0).abs() < 1e-6, "{ratio}");
        assert!((often.near_ns / rare.near_ns - 1.0).abs() < 1e-12, "{}", often.near_ns);
    }

    /// Of Gemma 3 1B 22 layers of 26 see no more than 512 tokens, which fill after half of the reply.
    #[test]
    fn a_reply_takes_as_long_as_its_tokens_one_by_one() {
        let of = |prompt, generated| {
            let model = Model::named("gemma-3-1b").unwrap();
            let (prompt_tokens, generated_tokens) = (count(prompt), count(generated));
            let study = InferenceStudy {
                model,
                prompt_tokens,
                generated_tokens,
                batch: count(64),
                ..InferenceStudy::default()
            };
            study.answer().unwrap().headline.token_ns
        };
        let each: f64 = (1..=1023).map(|it| of(it, 1)).sum();
        let ratio = of(1, 1023) / (each / 1023.0);
        assert!((ratio - 1.0).abs() < 1e-3, "{ratio}");
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
