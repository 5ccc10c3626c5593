//! What is asked, and whether there is room for it.

use std::num::{NonZeroU8, NonZeroU16, NonZeroU32, NonZeroU64};

use memscape_study::{CostEngine, StudyError};
use memscape_units::Bytes;
use memscape_workload::{Format, Model, OperatorKind, Projections, Reply, WeightFormat, Weights};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hardware::device::Device;
use crate::hardware::precision::Precision;
use crate::mapping::chain::MAX_SIZE;
use crate::mapping::design::{BLayout, BdReconfiguration, Design};
use crate::mapping::tile::{L1Rule, OutputBuffers};
use crate::study::attention::PromptAttention;
use crate::study::memory::{Gb, MemoryGb};
use crate::study::workload::{Strategy, WorkloadStudy};

/// A prompt, and a reply generated token by token, on an NPU.
///
/// The prompt's weight products are those of `npu.workload`. A generated token multiplies
/// every weight with one vector per sequence, which no tile can use again: it streams the
/// weights, as they are stored, through the array's way to DRAM, and the keys and values of
/// the context after them. Meanwhile cores multiply as fast as the design's kernel does, or, where
/// each size has the best design, the kernel that takes least.
///
/// # Source
/// The published work times products only. What is between them is read so: attention runs
/// on the array, while a prompt is read as [`PromptAttention`] says; norms,
/// activations and residuals stream through the same port; cores widen stored weights as they
/// load them, beside multiplying.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InferenceStudy {
    /// Language model
    pub model: Model,
    /// How weights are stored: a format, a type of ggml such as `q4_k`, a mixture of llama.cpp's such as `q4_k_m`, or `stored`, as the model's file
    /// has them, which holds for a GGUF file unless given
    pub format: WeightFormat,
    /// Tokens of the prompt
    #[schemars(range(min = 1, max = 16_777_216))]
    pub prompt_tokens: NonZeroU64,
    /// Tokens generated after it
    #[schemars(range(min = 1, max = 16_777_216))]
    pub generated_tokens: NonZeroU64,
    /// Sequences at the same time
    #[schemars(range(min = 1, max = 65_536))]
    pub batch: NonZeroU32,
    /// Width of one element of the key-value cache; wider than the instruction's inputs it is multiplied in parts
    pub kv_bits: NonZeroU32,
    /// Width of one activation between operators
    pub activation_bits: NonZeroU32,
    /// Whether Q, K and V (and gate and up) are one matrix
    pub projections: Projections,
    /// How much of a generated token the host hands over at a time
    pub handed: Handed,
    /// Memory that the host lends the NPU
    pub memory_gb: MemoryGb,
    /// Which design computes which product of the prompt
    pub strategy: Strategy,
    /// How the array computes the prompt's attention
    pub prompt_attention: PromptAttention,
    /// The NPU
    pub device: Device,
    /// Types of a product's inputs and output: `int8-int8`, `int8-int16`, `int8-int32`, `bf16-bf16`
    pub precision: Precision,
    /// Rows of A and C in L1; not for `best-per-size`
    pub m_ct: NonZeroU16,
    /// Columns of A and rows of B in L1; not for `best-per-size`
    pub k_ct: NonZeroU16,
    /// Columns of B and C in L1; not for `best-per-size`
    pub n_ct: NonZeroU16,
    /// Length of the reduction that memory tiles hold at once; not for `best-per-size`
    pub k_mt: NonZeroU16,
    /// How B lies in DRAM
    pub b_layout: BLayout,
    /// Buffers of C in L1
    pub output_buffers: OutputBuffers,
    /// Whether buffers may fill L1 to the last byte
    pub l1_rule: L1Rule,
    /// When the command processor rewrites buffer descriptors
    pub bd_reconfiguration: BdReconfiguration,
    /// Blocks of C submitted ahead: descriptors of each matrix in an interface tile
    pub bds_in_flight: NonZeroU8,
}

/// How much of a generated token the host hands over at a time: each takes the device's
/// `dispatch_ns`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Handed {
    /// Each product, and each layer's attention
    Operators,
    /// Each layer, and what follows the last; a layer with experts at two times, since descriptors have addresses
    /// of those that its router chooses
    Layers,
    /// All of the token; not with experts
    Token,
}

/// Why there is no reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InferenceError {
    /// More than the memory holds.
    #[error(
        "weights, key-value cache and the largest product take {}, {} of it for keys and values and {} for the product's \
         inputs and results, but `memory_gb` allows {}: {} are missing; use {}fewer bits, tokens or sequences",
        Gb(*need), Gb(*cache), Gb(*product), Gb(*have), Gb(Bytes(need.0.saturating_sub(have.0))),
        MemoryGb::of(*need).map(|it| format!("`memory_gb` = {} at least, or ", it.0)).unwrap_or_default()
    )]
    Memory {
        /// Weights, cache and product.
        need: Bytes,
        /// The cache.
        cache: Bytes,
        /// Inputs and results of the product that has most of them.
        product: Bytes,
        /// What there is.
        have: Bytes,
    },
    /// A token handed over before anyone knows what it takes.
    #[error(
        "`handed` = token, but which of the {count} experts of a layer a token meets is known when the layer's router \
         has answered; use `handed` = layers or operators, or a model without experts"
    )]
    HandedToken {
        /// Experts of a layer.
        count: u32,
    },
    /// More rows of a product than are modelled.
    #[error(
        "`prompt_tokens` = {prompt} of each of `batch` = {batch} sequences are {rows} rows of a product, which must be \
         from 1 to {MAX_SIZE}; use fewer of either"
    )]
    Rows {
        /// Tokens of a prompt.
        prompt: u64,
        /// Sequences.
        batch: u32,
        /// Tokens of all.
        rows: u128,
    },
}

impl Default for InferenceStudy {
    /// A prompt of 1920 tokens and a reply of 128 of Llama 3.2 1B in `q4_0`, multiplied as int8
    /// on XDNA.
    fn default() -> Self {
        let it = WorkloadStudy::default();
        let count = |value| NonZeroU32::new(value).expect("not zero");
        Self {
            model: it.model,
            format: Format::Q4_0.into(),
            prompt_tokens: count(1920).into(),
            generated_tokens: count(128).into(),
            batch: NonZeroU32::MIN,
            kv_bits: count(16),
            activation_bits: count(16),
            projections: it.projections,
            handed: Handed::Layers,
            memory_gb: MemoryGb::default(),
            strategy: it.strategy,
            prompt_attention: PromptAttention::Fused,
            device: it.device,
            precision: it.precision,
            m_ct: it.m_ct,
            k_ct: it.k_ct,
            n_ct: it.n_ct,
            k_mt: it.k_mt,
            b_layout: it.b_layout,
            output_buffers: it.output_buffers,
            l1_rule: it.l1_rule,
            bd_reconfiguration: it.bd_reconfiguration,
            bds_in_flight: it.bds_in_flight,
        }
    }
}

impl InferenceStudy {
    /// Checks that the host can hand over what it does, and that the prompts of all sequences are no more rows than a
    /// product may have.
    pub(super) fn check(&self) -> Result<(), InferenceError> {
        if let (Handed::Token, Some(experts)) = (self.handed, self.model.experts) {
            return Err(InferenceError::HandedToken { count: experts.count });
        }
        let (prompt, batch) = (self.prompt_tokens.get(), self.batch.get());
        let rows = u128::from(prompt) * u128::from(batch);
        if rows > MAX_SIZE.into() { Err(InferenceError::Rows { prompt, batch, rows }) } else { Ok(()) }
    }

    /// The prompts of all sequences as one product per matrix.
    #[must_use]
    pub fn products(&self) -> WorkloadStudy {
        let tokens = self.prompt_tokens.get().saturating_mul(self.batch.get().into());
        WorkloadStudy {
            model: self.model,
            prompt_tokens: NonZeroU64::new(tokens).unwrap_or(self.prompt_tokens),
            projections: self.projections,
            lm_head: true,
            strategy: self.strategy,
            device: self.device,
            precision: self.precision,
            m_ct: self.m_ct,
            k_ct: self.k_ct,
            n_ct: self.n_ct,
            k_mt: self.k_mt,
            b_layout: self.b_layout,
            output_buffers: self.output_buffers,
            l1_rule: self.l1_rule,
            bd_reconfiguration: self.bd_reconfiguration,
            bds_in_flight: self.bds_in_flight,
            memory_gb: self.memory_gb,
            engine: CostEngine::Closed,
        }
    }

    /// Inputs and results of the prompt's largest product, which DRAM holds while it is computed.
    ///
    /// # Errors
    /// As of `npu.workload`.
    pub fn product_bytes(&self) -> Result<Bytes, StudyError> {
        let products = self.products();
        let mut most = products.product_bytes(self.batch.into())?.0;
        if self.prompt_attention == PromptAttention::Products {
            let operators = self.model.prefill_operators(self.prompt_tokens.get(), self.projections)?;
            for it in operators.iter().filter(|it| it.kind == OperatorKind::Attention) {
                most = most.max(products.attention_product(it)?.bytes(self.kv_parts()));
            }
        }
        Ok(Bytes(most))
    }

    /// Weights once, the keys and values of all sequences at their end, and the largest product.
    pub(super) fn memory_bytes(&self, weights: Weights<'_>) -> Result<Bytes, StudyError> {
        let model = &self.model;
        let tokens = self.prompt_tokens.get().saturating_add(self.generated_tokens.get());
        let kv = u128::from(model.kv_cache_elements(tokens)) * u128::from(self.kv_bits.get());
        let cache = kv.div_ceil(8) * u128::from(self.batch.get());
        let cache = Bytes(u64::try_from(cache).unwrap_or(u64::MAX));
        let product = self.product_bytes()?;
        let need = weights.total_bytes().0.saturating_add(cache.0).saturating_add(product.0);
        let (need, have) = (Bytes(need), self.memory_gb.bytes());
        if need > have { Err(InferenceError::Memory { need, cache, product, have }.into()) } else { Ok(need) }
    }

    /// What is generated. Time is linear in what each layer attends to, so that its mean gives the mean
    /// time.
    pub(super) const fn reply(&self) -> Reply {
        Reply { prompt: self.prompt_tokens.get(), tokens: self.generated_tokens }
    }

    /// The same with one design for all products.
    pub(super) fn in_one_design(&self, design: &Design) -> Self {
        let WorkloadStudy { strategy, m_ct, k_ct, n_ct, k_mt, .. } = self.products().with_design(design);
        Self { strategy, m_ct, k_ct, n_ct, k_mt, ..*self }
    }
}
