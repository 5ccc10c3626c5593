//! A prompt's attention on the array, as products like those with weights.

use std::num::{NonZeroU32, NonZeroU64};

use memscape_study::StudyError;
use memscape_units::Nanoseconds;
use memscape_workload::{Gemv, Operator};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::best::Demanded;
use crate::study::gemm::GemmStudy;
use crate::study::workload::{Strategy, WorkloadError, WorkloadStudy};

/// How the array computes a prompt's attention.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PromptAttention {
    /// By one kernel that keeps scores on the array, leaves out the masked half, and multiplies at the rate of the
    /// layers' products: the least that it may take
    Fused,
    /// As products in designs of their own, the heads that share keys and values at once: scores go to DRAM,
    /// through the softmax and back, and what is masked is multiplied, too
    Products,
}

/// Scores or values as products: those of one size of a sequence's heads and layers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct AttentionProduct {
    gemm: GemmStudy,
    /// How many there are for each key-value head of a layer.
    blocks: u64,
    /// Whether they are scores.
    scores: bool,
}

impl AttentionProduct {
    /// Those of so many prompts, whose keys and values are multiplied in so many parts.
    pub(super) fn demanded(&self, it: &Operator, batch: NonZeroU32, parts: u32) -> Demanded {
        let all = it.count.saturating_mul(self.blocks).saturating_mul(batch.get().into());
        let count = all.saturating_mul(parts.into());
        Demanded { size: self.gemm.size(), count, short: 0, b_share: 1.0 }
    }

    /// Bytes of inputs and of the results of so many parts, which DRAM holds until they are added.
    pub(super) fn bytes(&self, parts: u32) -> u64 {
        let [m, _, n] = self.gemm.size().map(u128::from);
        let others = m * n * u128::from(self.gemm.precision.output_bytes()) * u128::from(parts - 1);
        u64::try_from(self.gemm.matrix_bytes() + others).unwrap_or(u64::MAX)
    }
}

impl WorkloadStudy {
    /// Scores or values of a prompt as products.
    ///
    /// Of layers with a window, as many tokens at once as it has: they see twice as many.
    ///
    /// # Errors
    /// If a product has more multiplications than are counted.
    pub(super) fn attention_product(&self, it: &Operator) -> Result<AttentionProduct, StudyError> {
        let model = &self.model;
        let tokens = it.n / model.heads_per_kv_head();
        let window = model.window.filter(|_| it.name.ends_with("_window"));
        let rows = window.map_or(tokens, |it| tokens.min(it.tokens.into()));
        let (seen, head) = (tokens.min(rows.saturating_mul(2)), model.head_dim.into());
        let scores = it.score_written_elements > 0;
        let sizes = if scores { Gemv::new(seen, head) } else { Gemv::new(head, seen) };
        let all = NonZeroU64::new(rows * model.heads_per_kv_head()).unwrap_or(NonZeroU64::MIN);
        Ok(AttentionProduct { gemm: self.gemm(all, sizes?), blocks: tokens.div_ceil(rows.max(1)), scores })
    }

    /// What scores or values of so many prompts, in so many parts, take as products in their designs, with what configures the
    /// array in front of each and behind the values; and the bytes that they read and write: what is asked for, and
    /// whole lines.
    ///
    /// # Errors
    /// If no design computes them, or the given one does not.
    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53 in ratio")]
    pub(super) fn attention(
        &self,
        it: &Operator,
        batch: NonZeroU32,
        parts: u32,
    ) -> Result<(Nanoseconds, [[f64; 2]; 2]), StudyError> {
        let AttentionProduct { gemm, blocks, scores } = self.attention_product(it)?;
        let gemm = self.in_its_design(gemm)?;
        let answer = gemm.answer_with(1.0)?;
        let count = it.count as f64 * blocks as f64 * f64::from(batch.get()) * f64::from(parts);
        let layers = it.count as f64 / f64::from(self.model.kv_heads);
        let configured = match self.strategy {
            Strategy::OneDesign => 0.0,
            Strategy::Reconfigured | Strategy::BestPerSize if scores => layers,
            Strategy::Reconfigured | Strategy::BestPerSize => 2.0 * layers,
        };
        let time = Nanoseconds::new(answer.time_ns)? * count + self.device.reconfiguration_ns * configured;
        let asked = [answer.dram_read_bytes, answer.dram_write_bytes];
        Ok((time, [asked, gemm.bus_bytes(1.0)?].map(|it| it.map(|bytes| bytes * count))))
    }

    /// A product in the design that the strategy gives it.
    pub(super) fn in_its_design(&self, gemm: GemmStudy) -> Result<GemmStudy, StudyError> {
        if self.strategy != Strategy::BestPerSize {
            return Ok(gemm);
        }
        let designs = self.designs();
        let demanded = Demanded { size: gemm.size(), count: 1, short: 0, b_share: 1.0 };
        match designs.shared(&[demanded])?[1] {
            Some((design, _)) => Ok(gemm.with_design(&design)),
            None => Err(WorkloadError::no_design(self, designs.obstacle(1, |_, _| gemm.size())?).into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use memscape_study::Study;

    use super::*;
    use crate::{InferenceStudy, Precision};

    fn study(model: &str, prompt_tokens: u64) -> InferenceStudy {
        InferenceStudy {
            model: memscape_workload::Model::named(model).unwrap(),
            prompt_tokens: NonZeroU64::new(prompt_tokens).unwrap(),
            prompt_attention: PromptAttention::Products,
            kv_bits: NonZeroU32::new(8).unwrap(),
            ..InferenceStudy::default()
        }
    }

    /// An instruction of 8 bits multiplies keys and values of 16 in two parts; one of 16 does not need to.
    #[test]
    fn wide_keys_and_values_are_multiplied_in_parts() {
        let seconds = |precision, prompt_attention, bits| {
            let kv_bits = NonZeroU32::new(bits).unwrap();
            let study =
                InferenceStudy { kv_bits, prompt_attention, precision, ..study("llama-3.2-1b", 2048) };
            let study = InferenceStudy { strategy: Strategy::BestPerSize, ..study };
            study.answer().unwrap().prompt_attention_s
        };
        for way in [PromptAttention::Fused, PromptAttention::Products] {
            let of = |precision, bits| seconds(precision, way, bits);
            let (int8, bf16) = (of(Precision::Int8Int8, 8), of(Precision::Bf16Bf16, 8));
            for (bits, parts) in [(4, 1.0), (16, 2.0), (17, 3.0), (32, 4.0)] {
                let ratio = of(Precision::Int8Int8, bits) / int8;
                // Configuring the array for products takes as long for all of them.
                let least = if way == PromptAttention::Fused { 0.999 } else { 0.75 };
                assert!((least * parts..1.001 * parts).contains(&ratio), "{way:?} {bits}: {ratio}");
            }
            assert!((of(Precision::Bf16Bf16, 16) / bf16 - 1.0).abs() < 1e-9, "{way:?}");
            // Scores and values of 32 heads of 64 in 16 layers, without the masked half.
            let operations = 4.0 * 32.0 * 64.0 * 16.0 * 2048.0 * 2049.0 / 2.0;
            let device = InferenceStudy::default().device;
            let peak = device.peak_tops(&device.mmul(Precision::Bf16Bf16).unwrap()) * 1e12;
            assert!(of(Precision::Int8Int8, 16) > operations / peak, "{way:?}: faster than 16 bits can be");
        }
    }

    /// Scores and values are what `npu.gemm` says of their sizes, and between them the softmax streams.
    #[test]
    fn attention_as_products_is_its_products() {
        let products = study("llama-3.2-1b", 2048);
        let gemm = |m, k, n| {
            let [m, k, n] = [m, k, n].map(|it| NonZeroU64::new(it).unwrap());
            GemmStudy { m, k, n, ..GemmStudy::default() }.answer().unwrap().time_ns * 1e-9
        };
        // Four query heads share keys and values.
        let each = gemm(4 * 2048, 64, 2048) + gemm(4 * 2048, 2048, 64);
        let answer = products.answer().unwrap();
        assert!((answer.prompt_attention_s / (16.0 * 8.0 * each) - 1.0).abs() < 1e-9);
        let fused = InferenceStudy { prompt_attention: PromptAttention::Fused, ..products }.answer().unwrap();
        assert!(fused.prompt_attention_s < answer.prompt_attention_s);
        let softmax = answer.prompt_vector_s - fused.prompt_vector_s;
        let scores = 32.0 * 16.0 * 2048.0 * 2049.0 / 2.0;
        assert!((softmax * 1e9 * products.device.stream_gb_s() / (2.0 * scores) - 1.0).abs() < 1e-9);
        // Two parts of the keys give scores twice, and the softmax adds them.
        let vectors = |prompt_attention| {
            let kv_bits = NonZeroU32::new(16).unwrap();
            InferenceStudy { kv_bits, prompt_attention, ..products }.answer().unwrap().prompt_vector_s
        };
        let wide = vectors(PromptAttention::Products) - vectors(PromptAttention::Fused);
        assert!((wide / softmax - 1.5).abs() < 1e-6, "{wide} {softmax}");
    }

    /// Lines that products of attention touch in part are in the upper end of the energy, as those of weights are.
    #[test]
    fn lines_of_attention_are_whole_at_most() {
        let certain = |it: InferenceStudy| {
            let mut it = InferenceStudy { generated_tokens: NonZeroU64::MIN, ..it };
            let energy = it.device.dram.energy.as_mut().unwrap();
            energy.access_pj_per_bit.within = 1.0;
            energy.standby_mw.within = 1.0;
            let energy = it.answer().unwrap().headline.energy;
            energy.energy_high_j.unwrap() - energy.energy_low_j.unwrap()
        };
        // Scores of 777 columns leave in chunks of 112 bytes.
        let products = study("opt-125m", 777);
        let fused = InferenceStudy { prompt_attention: PromptAttention::Fused, ..products };
        let (products, fused) = (certain(products), certain(fused));
        assert!(products > 2.0 * fused && fused > 0.0, "{products} {fused}");
    }

    /// Layers with a window have as many scores for each token, however long the prompt is.
    #[test]
    fn windows_bound_the_products() {
        let attention = |model, tokens| study(model, tokens).answer().unwrap().prompt_attention_s;
        let growth = |model| attention(model, 8192) / attention(model, 2048);
        assert!(growth("llama-3.2-1b") > 8.0);
        assert!(growth("gemma-3-1b") < 7.0, "{}", growth("gemma-3-1b"));
    }

    #[test]
    fn designs_of_their_own_are_faster_and_scores_have_room() {
        let one = study("llama-3.2-1b", 1024);
        let best = InferenceStudy { strategy: Strategy::BestPerSize, ..one };
        let seconds = |it: &InferenceStudy| it.answer().unwrap().prompt_attention_s;
        assert!(seconds(&best) < seconds(&one), "{} {}", seconds(&best), seconds(&one));
        // Of few tokens, configuring the array for them takes longer than they do: one design for all is faster.
        let ttft = |tokens, strategy| {
            InferenceStudy { strategy, ..study("llama-3.2-1b", tokens) }.answer().unwrap().headline.ttft_s
        };
        for tokens in [1, 16, 64, 1024] {
            assert!(ttft(tokens, Strategy::BestPerSize) <= ttft(tokens, Strategy::OneDesign), "{tokens}");
        }
        let error = study("llama-3.2-1b", 131_072).answer().unwrap_err().to_string();
        assert!(error.contains("the product's inputs and results"), "{error}");
    }
}
