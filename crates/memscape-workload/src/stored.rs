//! How a model's file stores its weights.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ggml::GgmlType;

/// Mean bits of a weight as a file stores it, matrix by matrix: what a GGUF file says beside
/// the shapes.
///
/// A mean is over all layers, which files such as `Q4_K_M` store in different types: what the
/// whole model takes, and what a token reads of it, is exact, a single layer is not.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stored {
    /// The type of most weights.
    pub main: GgmlType,
    /// Token embedding, and what stands beside it.
    pub embedding_bits: f64,
    /// LM head; the token embedding's if they are one.
    pub lm_head_bits: f64,
    /// Query projections.
    pub q_bits: f64,
    /// Key projections.
    pub k_bits: f64,
    /// Value projections.
    pub v_bits: f64,
    /// Attention output projections.
    pub out_bits: f64,
    /// Routers of experts; as norms if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub router_bits: Option<f64>,
    /// Gate projections; as up projections if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate_bits: Option<f64>,
    /// Up projections, and first matrices of networks without a gate.
    pub up_bits: f64,
    /// Down projections, and second matrices of networks without a gate.
    pub down_bits: f64,
    /// Norms and biases.
    pub vector_bits: f64,
}

/// The widest element of any type.
const MOST_BITS: f64 = 64.0;

impl Stored {
    /// The name and the value of each mean.
    fn means(&self) -> [(&'static str, f64); 11] {
        [
            ("stored.embedding_bits", self.embedding_bits),
            ("stored.lm_head_bits", self.lm_head_bits),
            ("stored.q_bits", self.q_bits),
            ("stored.k_bits", self.k_bits),
            ("stored.v_bits", self.v_bits),
            ("stored.out_bits", self.out_bits),
            ("stored.router_bits", self.router_bits()),
            ("stored.gate_bits", self.gate_bits()),
            ("stored.up_bits", self.up_bits),
            ("stored.down_bits", self.down_bits),
            ("stored.vector_bits", self.vector_bits),
        ]
    }

    /// By how many bits all matrices differ, but routers, which files quantise or not.
    pub(crate) fn differs(&self, other: &Self) -> f64 {
        let matrices = |it: &(&str, f64)| !matches!(it.0, "stored.router_bits" | "stored.vector_bits");
        let both = self.means().into_iter().zip(other.means()).filter(|(it, _)| matrices(it));
        both.map(|(one, another)| (one.1 - another.1).abs()).sum()
    }

    /// The first mean that no type can have, with its name.
    pub(crate) fn fault(&self) -> Option<(&'static str, f64)> {
        self.means().into_iter().find(|(_, bits)| !(*bits > 0.0 && *bits <= MOST_BITS))
    }

    /// Bits of a router's weight.
    #[must_use]
    pub fn router_bits(&self) -> f64 {
        self.router_bits.unwrap_or(self.vector_bits)
    }

    /// Bits of a gate projection's weight.
    #[must_use]
    pub fn gate_bits(&self) -> f64 {
        self.gate_bits.unwrap_or(self.up_bits)
    }
}
