//! What of a language model the system computes: two sparse blocks per layer,
//! and the dense rest.

use memscape_workload::Llm;

use crate::activity::BlockKind;
use crate::trace::Recording;

/// Bytes of one FP16 number.
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
    /// Neurons of a feed-forward network.
    pub ffn: usize,
    /// Its matrices: three if it is gated, else two.
    pub matrices: usize,
    /// Parameters of the LM head.
    pub head: f64,
    /// All parameters.
    pub parameters: f64,
    /// Whether its activation is a ReLU of its own.
    pub native_relu: bool,
}

impl Shape {
    /// A described model.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "parameters stay below 2^53")]
    pub fn of(model: &Llm) -> Self {
        Self {
            layers: model.layers as usize,
            hidden: model.hidden_size as usize,
            q: usize::try_from(model.q_size()).unwrap_or(usize::MAX),
            kv: usize::try_from(model.kv_size()).unwrap_or(usize::MAX),
            ffn: model.ffn_size as usize,
            matrices: if model.gated { 3 } else { 2 },
            head: f64::from(model.vocab_size) * f64::from(model.embedding_size),
            parameters: model.parameters() as f64,
            native_relu: model.activation == memscape_workload::Activation::Relu,
        }
    }

    /// The model that was recorded: as many layers and neurons, two feed-forward
    /// matrices, as many keys and values as queries, no LM head.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "parameters stay below 2^53")]
    pub fn recorded(recording: &Recording) -> Self {
        let ([hidden, ffn], layers) = (recording.profile.neurons(), recording.profile.layers());
        let parameters = (layers * (4 * hidden * hidden + 2 * hidden * ffn)) as f64;
        Self {
            layers,
            hidden,
            q: hidden,
            kv: hidden,
            ffn,
            matrices: 2,
            head: 0.0,
            parameters,
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
        FP16 * self.layers as f64 * BlockKind::ALL.iter().map(|it| self.block_weights(*it)).sum::<f64>()
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
        FP16 * (self.layers as f64 * self.projection_weights() + self.head)
    }

    /// Bytes of all weights.
    #[must_use]
    pub fn bytes(&self) -> f64 {
        FP16 * self.parameters
    }

    /// Bytes of keys and values of one token in one layer.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "widths")]
    pub fn kv_bytes(&self) -> f64 {
        FP16 * 2.0 * self.kv as f64
    }
}
