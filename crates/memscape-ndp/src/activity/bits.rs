//! Which neurons are active, token by token.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which of a layer's two sparse blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BlockKind {
    /// Inputs of the QKV projection.
    Qkv,
    /// Hidden neurons of the feed-forward network.
    Mlp,
}

impl BlockKind {
    /// Both, in the order of computing.
    pub const ALL: [Self; 2] = [Self::Qkv, Self::Mlp];

    /// 0 for QKV, 1 for the feed-forward network.
    #[must_use]
    pub const fn index(self) -> usize {
        match self {
            Self::Qkv => 0,
            Self::Mlp => 1,
        }
    }
}

/// Bits of one block of one layer and one sequence: a row per token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bits {
    /// Bits of a row.
    pub neurons: usize,
    /// Words of a row; bits beyond the last neuron are 0.
    pub stride: usize,
    words: Vec<u64>,
}

impl Bits {
    /// Rows of zeros.
    #[must_use]
    pub fn zeros(tokens: usize, neurons: usize) -> Self {
        let stride = neurons.div_ceil(64);
        Self { neurons, stride, words: vec![0; tokens * stride] }
    }

    /// How many rows.
    #[must_use]
    pub fn tokens(&self) -> usize {
        self.words.len() / self.stride
    }

    /// One token's bits.
    #[must_use]
    pub fn row(&self, token: usize) -> &[u64] {
        &self.words[token * self.stride..(token + 1) * self.stride]
    }

    /// One token's bits, to be changed. Those beyond the last neuron must stay 0.
    pub fn row_mut(&mut self, token: usize) -> &mut [u64] {
        &mut self.words[token * self.stride..(token + 1) * self.stride]
    }

    /// Active neurons of a token.
    #[must_use]
    pub fn count(&self, token: usize) -> u32 {
        self.row(token).iter().map(|it| it.count_ones()).sum()
    }

    /// Whether one neuron is active.
    #[must_use]
    pub fn get(&self, token: usize, neuron: usize) -> bool {
        bit(self.row(token), neuron)
    }
}

/// A bit of a row of words.
#[inline]
#[must_use]
pub fn bit(words: &[u64], index: usize) -> bool {
    words[index / 64] >> (index % 64) & 1 == 1
}
