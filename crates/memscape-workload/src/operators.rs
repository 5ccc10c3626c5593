//! What a model computes for one token, or for one prompt.
//!
//! Operators carry element counts, not bytes: the formats of weights, keys and
//! values, and activations are the asker's choice.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Activation, Block, Gemv, Llm, Matrix, Norm, Projections, Reply};

/// Scores and values of attention, where a study times them as one operator.
pub const ATTENTION: &str = "attention_scores+attention_values";

/// What kind of work an operator is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OperatorKind {
    /// A weight matrix times activations.
    Matrix,
    /// Keys or values times activations.
    Attention,
    /// Element by element, or a reduction over one vector.
    Vector,
}

/// One step of a pass through the model. Counts are those of one instance;
/// there are `count` of them in a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Operator {
    /// What it is called, for example `fc1` or `attention_scores`.
    pub name: &'static str,
    /// What kind of work it is.
    pub kind: OperatorKind,
    /// Instances in a pass: layers, and for attention layers times key-value
    /// heads.
    pub count: u64,
    /// Rows of the stationary matrix (weights, keys or values); 0 for a vector
    /// operator.
    pub m: u64,
    /// The length summed over; 0 for a vector operator.
    pub k: u64,
    /// Vectors multiplied with the same matrix; 0 for a vector operator.
    pub n: u64,
    /// Elements of the weight matrix, or of the embedding rows looked up.
    pub weight_elements: u64,
    /// Biases and norm weights, which stay at the activations' width.
    pub vector_weight_elements: u64,
    /// Keys or values read from the cache.
    pub kv_read_elements: u64,
    /// Keys and values appended to the cache.
    pub kv_written_elements: u64,
    /// Activations read, attention scores left out.
    pub activation_read_elements: u64,
    /// Activations written, attention scores left out.
    pub activation_written_elements: u64,
    /// Attention scores read, which never leave the chip if attention is fused.
    pub score_read_elements: u64,
    /// Attention scores written.
    pub score_written_elements: u64,
    /// Operations, two per multiply-accumulate. Attention counts the pairs
    /// that causality and the window leave. A comparison, exponential, root or
    /// hyperbolic tangent counts as one; bias additions are left out.
    pub operations: u64,
}

impl Operator {
    /// Operations of all instances.
    #[must_use]
    pub const fn total_operations(&self) -> u64 {
        self.count * self.operations
    }

    const fn new(name: &'static str, kind: OperatorKind, count: u64) -> Self {
        Self {
            name,
            kind,
            count,
            m: 0,
            k: 0,
            n: 0,
            weight_elements: 0,
            vector_weight_elements: 0,
            kv_read_elements: 0,
            kv_written_elements: 0,
            activation_read_elements: 0,
            activation_written_elements: 0,
            score_read_elements: 0,
            score_written_elements: 0,
            operations: 0,
        }
    }
}

/// Why there is no operator list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OperatorError {
    /// No tokens, or more than any count can follow.
    #[error("a pass over {given} tokens is not supported; it must have 1 to {}", MAX_TOKENS)]
    Tokens {
        /// Tokens asked for.
        given: u64,
    },
    /// More operations than 64-bit counts can follow.
    #[error("`{operator}` takes more than 2^64 operations; ask for fewer tokens or a smaller model")]
    TooLarge {
        /// The operator whose counts overflow.
        operator: &'static str,
    },
}

/// Keeps sums over token pairs within 64 bits.
const MAX_TOKENS: u64 = 1 << 28;

impl Llm {
    /// The operators that generate one token when `context` tokens are attended
    /// to, the current one included.
    ///
    /// Of experts, the active ones: their matrices are one instance each.
    ///
    /// # Errors
    /// [`OperatorError`] if `context` is 0 or beyond any machine.
    pub fn decode_operators(
        &self,
        context: u64,
        projections: Projections,
    ) -> Result<Vec<Operator>, OperatorError> {
        self.pass(context, context, 1, projections)
    }

    /// The operators of a reply's mean token.
    ///
    /// Layers with a window and layers without attend each to as many tokens as they do in the mean
    /// over the reply, a half rounded down. A token at the mean context would have windows too full
    /// where they fill on the way.
    ///
    /// # Errors
    /// As of [`Llm::decode_operators`] at the mean context.
    pub fn reply_operators(
        &self,
        reply: Reply,
        projections: Projections,
    ) -> Result<Vec<Operator>, OperatorError> {
        let windowed = reply.whole_mean_seen(self.window.map(|it| it.tokens));
        self.pass(reply.mean_context(), windowed, 1, projections)
    }

    /// The operators that read a prompt of `tokens` and generate the first
    /// token. Only the last position goes through what follows the layers.
    ///
    /// Of experts, the instances are those that some token takes, by
    /// [`Experts::touched`](crate::Experts::touched), and each reads its
    /// weights once. The tokens are spread over them as evenly as whole numbers
    /// allow: where that leaves some instances one token more, the operator
    /// comes twice under its name. Operations are exactly the sum over the
    /// tokens.
    ///
    /// # Errors
    /// [`OperatorError`] if `tokens` is 0 or beyond any machine.
    pub fn prefill_operators(
        &self,
        tokens: u64,
        projections: Projections,
    ) -> Result<Vec<Operator>, OperatorError> {
        self.pass(tokens, tokens, tokens, projections)
    }

    /// Elements of the inputs and results of the largest product of so many tokens, which memory holds
    /// while it is computed. Q, K and V are one, and so are gate and up: what follows wants all of them, and those of
    /// all experts of a layer.
    ///
    /// ```
    /// use memscape_workload::Model;
    ///
    /// let elements = Model::named("llama-3.2-1b").unwrap().product_elements(1920)?;
    /// assert_eq!(elements, 1920 * (2048 + 2 * 8192), "gate and up of 1920 tokens");
    /// let elements = Model::named("mixtral-8x7b").unwrap().product_elements(1920)?;
    /// assert_eq!(elements, 1920 * 2 * (4096 + 2 * 14336), "each meets two experts");
    /// # Ok::<(), memscape_workload::OperatorError>(())
    /// ```
    ///
    /// # Errors
    /// As of [`Llm::prefill_operators`].
    pub fn product_elements(&self, tokens: u64) -> Result<u64, OperatorError> {
        let operators = self.prefill_operators(tokens, Projections::Merged)?;
        let layers = u128::from(self.layers);
        let all_of = |it: &Operator| {
            let each = u128::from(it.activation_read_elements) + u128::from(it.activation_written_elements);
            u128::from(it.count) * each
        };
        let products = operators.iter().filter(|it| it.kind == OperatorKind::Matrix);
        let elements = products.clone().map(|it| {
            if Matrix::is_among(it.name, &Matrix::FFN) {
                let experts = products.clone().filter(|other| other.name == it.name);
                experts.map(all_of).sum::<u128>().div_ceil(layers)
            } else {
                all_of(it) / u128::from(it.count)
            }
        });
        Ok(u64::try_from(elements.max().unwrap_or(0)).unwrap_or(u64::MAX))
    }

    /// How often one instance of an operator reads weights where so many sequences work together, of
    /// each of which it meets so many tokens: once. But tokens of other sequences meet other experts,
    /// and as many more are read as all of them meet.
    ///
    /// ```
    /// use memscape_workload::{Model, Projections};
    ///
    /// let reads = |name| {
    ///     let model = Model::named(name).unwrap();
    ///     let operators = model.decode_operators(100, Projections::Merged).unwrap();
    ///     let down = operators.iter().find(|it| it.name == "down").unwrap();
    ///     model.weight_reads(down, 1, 2)
    /// };
    /// assert_eq!(reads("llama-2-7b"), 1.0);
    /// assert_eq!(reads("mixtral-8x7b"), 1.75, "3.5 experts a layer, where one token meets two");
    /// ```
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "counts of experts")]
    pub fn weight_reads(&self, operator: &Operator, tokens: u64, sequences: u64) -> f64 {
        let of_experts = || Matrix::is_among(operator.name, &Matrix::FFN);
        match self.experts {
            Some(experts) if of_experts() => {
                let met = |tokens| experts.touched(self.layers, tokens) as f64;
                met(tokens.saturating_mul(sequences)) / met(tokens)
            }
            _ => 1.0,
        }
    }

    /// Feed-forward networks that `tokens` tokens meet, over all layers: how
    /// many, and with how many tokens each. Of experts, some are met by one token more.
    ///
    /// ```
    /// let model = memscape_workload::Model::named("mixtral-8x7b").unwrap();
    /// assert_eq!(model.ffn_instances(100), [(256, 25), (0, 26)], "all of 32 layers, by two hundred eighths");
    /// ```
    #[must_use]
    pub fn ffn_instances(&self, tokens: u64) -> [(u64, u64); 2] {
        let layers = u64::from(self.layers);
        let Some(experts) = self.experts else { return [(layers, tokens), (0, 0)] };
        let instances = experts.touched(self.layers, tokens);
        let visits = layers * tokens * u64::from(experts.active);
        let (each, more) = (visits / instances, visits % instances);
        [(instances - more, each), (more, each + 1)]
    }

    /// The operators that take the last `tokens` of `context` through the model, of which layers with
    /// a window have the last of `windowed`.
    fn pass(
        &self,
        context: u64,
        windowed: u64,
        tokens: u64,
        projections: Projections,
    ) -> Result<Vec<Operator>, OperatorError> {
        if !(1..=MAX_TOKENS).contains(&context) {
            return Err(OperatorError::Tokens { given: context });
        }
        let layers = u64::from(self.layers);
        let mut pass = Pass { llm: self, context, windowed, tokens, operators: Vec::with_capacity(24) };
        pass.embedding()?;
        pass.matrices(1, tokens, self.named_shape(Matrix::ProjectIn))?;

        let norms: [&[&str]; 4] = match self.block {
            Block::PreNorm | Block::Parallel => [&["attention_norm"], &[], &["ffn_norm"], &[]],
            Block::PostNorm => [&[], &["attention_norm"], &[], &["ffn_norm"]],
            Block::SandwichNorm => {
                [&["attention_norm"], &["attention_post_norm"], &["ffn_norm"], &["ffn_post_norm"]]
            }
            Block::ParallelSharedNorm => [&["norm"], &[], &[], &[]],
        };
        let [before_attention, after_attention, before_ffn, after_ffn] = norms;
        // A sandwich normalises the branch before it joins the residual stream,
        // a post-norm the stream after: the counts are the same.
        let is_attention =
            |it: &(Matrix, Gemv)| matches!(it.0, Matrix::Qkv | Matrix::Q | Matrix::K | Matrix::V);
        let gemvs = || self.attention_gemvs(projections).into_iter().flatten();
        let ffn_gemvs = || self.ffn_gemvs(projections).into_iter().flatten();
        let ffn_instances = self.ffn_instances(tokens).into_iter().filter(|it| it.0 > 0);
        pass.norms(layers, before_attention)?;
        pass.matrices(layers, tokens, gemvs().filter(is_attention))?;
        pass.attention()?;
        pass.matrices(layers, tokens, gemvs().filter(|it| it.0 == Matrix::Out))?;
        pass.norms(layers, after_attention)?;
        pass.residual_add("attention_residual")?;
        pass.norms(layers, before_ffn)?;
        pass.matrices(layers, tokens, gemvs().filter(|it| it.0 == Matrix::Router))?;
        pass.routing()?;
        for (count, n) in ffn_instances.clone() {
            pass.matrices(count, n, ffn_gemvs().filter(|it| !is_last(it.0)))?;
        }
        pass.activation()?;
        for (count, n) in ffn_instances {
            pass.matrices(count, n, ffn_gemvs().filter(|it| is_last(it.0)))?;
        }
        pass.expert_sum()?;
        pass.norms(layers, after_ffn)?;
        pass.residual_add("ffn_residual")?;

        pass.tokens = 1;
        if self.final_norm {
            pass.norms(1, &["final_norm"])?;
        }
        pass.matrices(1, 1, self.named_shape(Matrix::ProjectOut))?;
        pass.matrices(1, 1, self.named_shape(Matrix::LmHead))?;
        Ok(pass.operators)
    }
}

/// Whether the matrix ends the feed-forward network.
const fn is_last(matrix: Matrix) -> bool {
    matches!(matrix, Matrix::Fc2 | Matrix::Down)
}

/// An operator list in the making.
struct Pass<'a> {
    llm: &'a Llm,
    /// Tokens attended to by the last one.
    context: u64,
    /// The same of layers with a window.
    windowed: u64,
    /// Tokens computed.
    tokens: u64,
    operators: Vec<Operator>,
}

impl Pass<'_> {
    /// Adds the operator, unless its counts overflow.
    fn push(&mut self, operator: Operator) -> Result<(), OperatorError> {
        // Every element takes part in an operation, or is counted below 2^53
        // by the widths and MAX_TOKENS, so operations are what overflows.
        let fits = operator.operations.checked_mul(operator.count).is_some();
        if fits {
            self.operators.push(operator);
            Ok(())
        } else {
            Err(OperatorError::TooLarge { operator: operator.name })
        }
    }

    fn embedding(&mut self) -> Result<(), OperatorError> {
        let (tokens, hidden) = (self.tokens, u64::from(self.llm.hidden_size));
        let embedding = u64::from(self.llm.embedding_width());
        let positions = if self.llm.rotary() { 0 } else { hidden };
        self.push(Operator {
            weight_elements: tokens * (embedding + positions),
            activation_written_elements: tokens * embedding,
            operations: tokens * positions,
            ..Operator::new("embedding", OperatorKind::Vector, 1)
        })
    }

    fn matrices(
        &mut self,
        count: u64,
        n: u64,
        gemvs: impl IntoIterator<Item = (Matrix, Gemv)>,
    ) -> Result<(), OperatorError> {
        for (matrix, gemv) in gemvs {
            let (m, k) = (gemv.m(), gemv.k());
            self.push(Operator {
                m,
                k,
                n,
                weight_elements: gemv.macs(),
                vector_weight_elements: if self.llm.has_bias(matrix) { m } else { 0 },
                activation_read_elements: k * n,
                activation_written_elements: m * n,
                operations: product(matrix.name(), [2, m, k, n])?,
                ..Operator::new(matrix.name(), OperatorKind::Matrix, count)
            })?;
        }
        Ok(())
    }

    fn norms(&mut self, count: u64, names: &[&'static str]) -> Result<(), OperatorError> {
        let hidden = u64::from(self.llm.hidden_size);
        for name in names {
            self.norm(name, count, hidden, hidden)?;
        }
        Ok(())
    }

    /// A norm of `width` elements per token that share `weights` weights.
    fn norm(
        &mut self,
        name: &'static str,
        count: u64,
        width: u64,
        weights: u64,
    ) -> Result<(), OperatorError> {
        // Layer: sum; subtract, square, sum; scale, weight, bias. RMS: square,
        // sum; scale, weight. The root is one per vector.
        let per_element = match self.llm.norm {
            Norm::Layer => 7,
            Norm::Rms => 4,
        };
        let elements = self.tokens * width;
        self.push(Operator {
            vector_weight_elements: weights * self.llm.norm.parameters_per_element(),
            activation_read_elements: elements,
            activation_written_elements: elements,
            operations: product(name, [per_element, elements])?,
            ..Operator::new(name, OperatorKind::Vector, count)
        })
    }

    /// Everything between the projections into and out of attention.
    fn attention(&mut self) -> Result<(), OperatorError> {
        let (llm, tokens) = (self.llm, self.tokens);
        let layers = u64::from(llm.layers);
        let (q, kv) = (llm.q_size(), llm.kv_size());
        if llm.qk_norm {
            self.norm("q_norm", layers, q, llm.head_dim.into())?;
            self.norm("k_norm", layers, kv, llm.head_dim.into())?;
        }
        if llm.rotary() {
            let elements = tokens * (q + kv);
            self.push(Operator {
                activation_read_elements: elements,
                activation_written_elements: elements,
                // Two products and a sum per element.
                operations: 3 * elements,
                ..Operator::new("rotary", OperatorKind::Vector, layers)
            })?;
        }
        self.push(Operator {
            kv_written_elements: tokens * 2 * kv,
            activation_read_elements: tokens * 2 * kv,
            ..Operator::new("kv_append", OperatorKind::Vector, layers)
        })?;
        let windowed = llm.window_layers();
        if windowed < layers {
            let names = ["attention_scores", "softmax", "attention_values"];
            self.attend(names, layers - windowed, self.context, self.context)?;
        }
        if let (Some(window), 1..) = (llm.window, windowed) {
            let names = ["attention_scores_window", "softmax_window", "attention_values_window"];
            self.attend(names, windowed, self.windowed, window.tokens.into())?;
        }
        Ok(())
    }

    /// Scores, softmax and values of `layers` whose tokens attend to no more
    /// than the last `window` of `context`.
    fn attend(
        &mut self,
        [scores, softmax, values]: [&'static str; 3],
        layers: u64,
        context: u64,
        window: u64,
    ) -> Result<(), OperatorError> {
        let llm = self.llm;
        let count = layers * u64::from(llm.kv_heads);
        let (head, group) = (u64::from(llm.head_dim), llm.heads_per_kv_head());
        let n = group * self.tokens;
        // Positions that the first to the last token see together.
        let seen = context.min(window + self.tokens - 1);
        // Token and position pairs of one head: min(t, window) for each token t.
        let until = |last: u64| {
            let ramp = last.min(window);
            ramp * (ramp + 1) / 2 + (last - ramp) * window
        };
        let pairs = until(context) - until(context - self.tokens);
        let score_elements = product(scores, [group, pairs])?;
        let operations = product(scores, [2, score_elements, head])?;
        let attention = |name| Operator {
            kv_read_elements: seen * head,
            operations,
            n,
            ..Operator::new(name, OperatorKind::Attention, count)
        };
        self.push(Operator {
            m: seen,
            k: head,
            activation_read_elements: n * head,
            score_written_elements: score_elements,
            ..attention(scores)
        })?;
        self.push(Operator {
            score_read_elements: score_elements,
            score_written_elements: score_elements,
            // Maximum; subtract, exponential, sum; divide.
            operations: product(softmax, [5, score_elements])?,
            ..Operator::new(softmax, OperatorKind::Vector, count)
        })?;
        self.push(Operator {
            m: head,
            k: seen,
            activation_written_elements: n * head,
            score_read_elements: score_elements,
            ..attention(values)
        })
    }

    fn residual_add(&mut self, name: &'static str) -> Result<(), OperatorError> {
        let elements = self.tokens * u64::from(self.llm.hidden_size);
        self.push(Operator {
            activation_read_elements: 2 * elements,
            activation_written_elements: elements,
            operations: elements,
            ..Operator::new(name, OperatorKind::Vector, self.llm.layers.into())
        })
    }

    fn activation(&mut self) -> Result<(), OperatorError> {
        // As the definitions read: gelu in its tanh form, silu as
        // x / (1 + exp(-x)). A gate adds one product.
        let per_element = match self.llm.activation {
            Activation::Relu => 1,
            Activation::Gelu => 9,
            Activation::Silu => 4,
        };
        let gate = u64::from(self.llm.gated);
        let elements = self.tokens * self.llm.active_ffn_count() * u64::from(self.llm.ffn_size);
        self.push(Operator {
            activation_read_elements: (1 + gate) * elements,
            activation_written_elements: elements,
            operations: product("activation", [per_element + gate, elements])?,
            ..Operator::new("activation", OperatorKind::Vector, self.llm.layers.into())
        })
    }

    /// From the router's scores to the chosen experts and their shares.
    fn routing(&mut self) -> Result<(), OperatorError> {
        let Some(experts) = self.llm.experts else { return Ok(()) };
        let (count, active) = (u64::from(experts.count), u64::from(experts.active));
        // Softmax over all, a maximum over all for each chosen, and their sum
        // and quotients (transformers, modeling_mixtral.py).
        let operations = 5 * count + active * count + 2 * active;
        self.push(Operator {
            activation_read_elements: self.tokens * count,
            activation_written_elements: self.tokens * active,
            operations: product("routing", [operations, self.tokens])?,
            ..Operator::new("routing", OperatorKind::Vector, self.llm.layers.into())
        })
    }

    /// The experts' outputs, each times its share, added up.
    fn expert_sum(&mut self) -> Result<(), OperatorError> {
        let Some(experts) = self.llm.experts else { return Ok(()) };
        let active = self.tokens * u64::from(experts.active);
        let hidden = u64::from(self.llm.hidden_size);
        self.push(Operator {
            activation_read_elements: product("expert_sum", [active, hidden + 1])?,
            activation_written_elements: self.tokens * hidden,
            operations: product("expert_sum", [2, active, hidden])?,
            ..Operator::new("expert_sum", OperatorKind::Vector, self.llm.layers.into())
        })
    }
}

/// The product, unless it overflows.
fn product<const N: usize>(operator: &'static str, factors: [u64; N]) -> Result<u64, OperatorError> {
    let checked = factors.into_iter().try_fold(1_u64, u64::checked_mul);
    checked.ok_or(OperatorError::TooLarge { operator })
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU64;

    use proptest::prelude::*;

    use super::*;
    use crate::Model;

    fn model(name: &str) -> Model {
        name.parse().unwrap()
    }

    fn find<'a>(operators: &'a [Operator], name: &str) -> &'a Operator {
        operators.iter().find(|it| it.name == name).unwrap_or_else(|| panic!("no {name}"))
    }

    #[test]
    fn an_opt_layer_is_four_gemvs() {
        let d = 4096;
        let layer: Vec<_> = model("opt-6.7b")
            .layer_gemvs(Projections::Merged)
            .map(|(name, shape)| (name.name(), shape.m(), shape.k()))
            .collect();
        assert_eq!(layer, [("qkv", 3 * d, d), ("out", d, d), ("fc1", 4 * d, d), ("fc2", d, 4 * d)]);
        let separate = model("opt-6.7b").layer_gemvs(Projections::Separate).count();
        assert_eq!(separate, 6);
        let decode = model("opt-6.7b").decode_operators(100, Projections::Merged).unwrap();
        let matrices: Vec<_> = decode
            .iter()
            .filter(|it| it.kind == OperatorKind::Matrix)
            .map(|it| (it.name, it.count))
            .collect();
        assert_eq!(matrices, [("qkv", 32), ("out", 32), ("fc1", 32), ("fc2", 32), ("lm_head", 1)]);
    }

    #[test]
    fn grouped_queries_share_keys_and_values() {
        let llama = model("llama-2-70b");
        let shapes: Vec<_> = llama
            .layer_gemvs(Projections::Separate)
            .map(|(name, it)| (name.name(), it.m(), it.k()))
            .collect();
        assert_eq!(shapes[..3], [("q", 8192, 8192), ("k", 1024, 8192), ("v", 1024, 8192)]);
        let decode = llama.decode_operators(2000, Projections::Merged).unwrap();
        let scores = find(&decode, "attention_scores");
        assert_eq!((scores.count, scores.m, scores.k, scores.n), (80 * 8, 2000, 128, 8));
        assert_eq!(scores.kv_read_elements, 2000 * 128);
        assert_eq!(scores.operations, 2 * 2000 * 128 * 8);
    }

    #[test]
    fn narrow_embeddings_are_projected() {
        let decode = model("opt-350m").decode_operators(1, Projections::Merged).unwrap();
        let shape = |name| (find(&decode, name).m, find(&decode, name).k);
        assert_eq!(shape("project_in"), (1024, 512));
        assert_eq!(shape("project_out"), (512, 1024));
        assert_eq!(shape("lm_head"), (50272, 512));
        assert!(decode.iter().all(|it| it.name != "final_norm"));
    }

    #[test]
    fn windows_limit_what_is_read() {
        let gemma = model("gemma-3-1b");
        let decode = gemma.decode_operators(4096, Projections::Merged).unwrap();
        let (global, local) = (find(&decode, "attention_scores"), find(&decode, "attention_scores_window"));
        assert_eq!((global.count, global.m), (4, 4096));
        assert_eq!((local.count, local.m), (22, 512));
        let prefill = gemma.prefill_operators(4096, Projections::Merged).unwrap();
        let local = find(&prefill, "attention_values_window");
        assert_eq!(local.kv_read_elements, 4096 * 256);
        assert_eq!(local.operations, 2 * 256 * 4 * (512 * 513 / 2 + (4096 - 512) * 512));
    }

    #[test]
    fn a_token_of_a_reply_sees_what_its_tokens_see_in_the_mean() {
        let gemma = model("gemma-3-1b");
        // Contexts 2 to 2049: 2 to 511 before the window of 512 is full, and 1538 with it full.
        let of = |prompt, tokens| {
            let reply = Reply { prompt, tokens: NonZeroU64::new(tokens).unwrap() };
            gemma.reply_operators(reply, Projections::Merged).unwrap()
        };
        let seen = |operators: &[Operator]| {
            ["attention_scores", "attention_scores_window"].map(|it| find(operators, it).m)
        };
        let windowed = (511 * 512 / 2 - 1 + 1538 * 512) / 2048;
        assert_eq!(windowed, 448);
        assert_eq!(seen(&of(1, 2048)), [1025, windowed]);
        // As long as no window is full, and where all are, what a token sees at the mean context.
        assert_eq!(seen(&of(1, 100)), [51, 51]);
        assert_eq!(of(600, 9), gemma.decode_operators(605, Projections::Merged).unwrap());
    }

    #[test]
    fn impossible_lengths_are_errors() {
        let error = model("opt-125m").decode_operators(0, Projections::Merged).unwrap_err().to_string();
        assert_eq!(error, "a pass over 0 tokens is not supported; it must have 1 to 268435456");
        let error = model("opt-66b").prefill_operators(1 << 28, Projections::Merged).unwrap_err();
        assert_eq!(error, OperatorError::TooLarge { operator: "attention_scores" });
        assert!(model("opt-66b").decode_operators(u64::MAX, Projections::Merged).is_err());
    }

    /// Those with experts read what tokens need: see `tests/it/hf.rs`.
    fn any_model() -> impl Strategy<Value = Model> {
        prop::sample::select(Model::all().filter(|it| it.experts.is_none()).collect::<Vec<_>>())
    }

    fn any_projections() -> impl Strategy<Value = Projections> {
        prop::sample::select(vec![Projections::Merged, Projections::Separate])
    }

    proptest! {
        /// What the operators read of weights is what the model has, the
        /// embedding tables apart, of which a token reads a row each.
        #[test]
        fn operators_read_every_parameter_once(llm in any_model(), projections in any_projections(),
                                               context in 1..5000_u64, prefill in any::<bool>()) {
            let operators = if prefill {
                llm.prefill_operators(context, projections).unwrap()
            } else {
                llm.decode_operators(context, projections).unwrap()
            };
            let weights: u64 = operators
                .iter()
                .filter(|it| it.name != "embedding")
                .map(|it| it.count * (it.weight_elements + it.vector_weight_elements))
                .sum();
            // A tied LM head is the embedding; else both exist.
            let tables = u64::from(llm.learned_positions) * u64::from(llm.hidden_size)
                + if llm.tied_embeddings { 0 } else { llm.embedding_parameters() };
            prop_assert_eq!(weights + tables, llm.parameters());
        }

        /// A prompt costs what its tokens cost one by one, the LM head and the
        /// last norm apart.
        #[test]
        fn prefill_operations_are_the_sum_of_decodes(llm in any_model(), tokens in 1..40_u64,
                                                     projections in any_projections()) {
            let in_layers = |operators: Vec<Operator>| -> u64 {
                let after = ["final_norm", "project_out", "lm_head"];
                operators
                    .iter()
                    .filter(|it| !after.contains(&it.name))
                    .map(Operator::total_operations)
                    .sum()
            };
            let one_by_one: u64 =
                (1..=tokens).map(|it| in_layers(llm.decode_operators(it, projections).unwrap())).sum();
            prop_assert_eq!(in_layers(llm.prefill_operators(tokens, projections).unwrap()), one_by_one);
        }

        /// One token reads the whole cache, and leaves its own keys and values.
        #[test]
        fn a_token_reads_the_cache(llm in any_model(), context in 1..20_000_u64) {
            let operators = llm.decode_operators(context, Projections::Merged).unwrap();
            let read: u64 = operators.iter().map(|it| it.count * it.kv_read_elements).sum();
            prop_assert_eq!(read, llm.kv_cache_elements(context));
            let written: u64 = operators.iter().map(|it| it.count * it.kv_written_elements).sum();
            prop_assert_eq!(written, llm.kv_cache_elements(1));
        }

        #[test]
        fn products_have_two_operations_per_weight(llm in any_model(), tokens in 1..5000_u64) {
            for it in llm.decode_operators(tokens, Projections::Separate).unwrap() {
                if it.kind != OperatorKind::Vector {
                    prop_assert_eq!(it.operations, 2 * it.m * it.k * it.n);
                    prop_assert_eq!(it.weight_elements + it.kv_read_elements, it.m * it.k);
                }
            }
        }
    }
}
