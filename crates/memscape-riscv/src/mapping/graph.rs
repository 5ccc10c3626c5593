//! What one pass through the model synchronises on, beside its matrix products.

use memscape_workload::Llm;

/// Operations of one graph that all threads work on, by ggml's name.
///
/// # Source
/// llama.cpp (June 2024), `llm_build_llama`, and the operations of Table 5.1. Views, reshapes
/// and row look-ups are one thread's and synchronise nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Graph {
    /// Residuals and biases.
    pub add: u64,
    /// Norm weights and gates.
    pub mul: u64,
    /// Norms.
    pub norm: u64,
    /// Rotary positions of queries and keys.
    pub rope: u64,
    /// Keys and values into the cache.
    pub cpy: u64,
    /// Attention's result made contiguous.
    pub cont: u64,
    /// Attention scores.
    pub soft_max: u64,
    /// Activation functions.
    pub unary: u64,
    /// Matrix products.
    pub mul_mat: u64,
}

/// Synchronisations of one matrix product: after quantising the input, and at the
/// end.
pub const SYNCS_PER_PRODUCT: u64 = 2;

impl Graph {
    /// The graph of a model.
    #[must_use]
    pub fn of(model: &Llm, products_per_layer: u64) -> Self {
        let layers = u64::from(model.layers);
        let of = |present: bool| u64::from(present);
        let norms = model.block.norms() + 2 * of(model.qk_norm);
        let biases = 3 * of(model.qkv_bias) + of(model.out_bias) + 2 * of(model.ffn_bias);
        let last = of(model.final_norm);
        Self {
            add: layers * (2 + biases),
            mul: layers * (norms + of(model.gated)) + last,
            norm: layers * norms + last,
            rope: layers * 2 * of(model.rotary()),
            cpy: layers * 2,
            cont: layers,
            soft_max: layers,
            unary: layers,
            // Two of the products are attention's.
            mul_mat: layers * (products_per_layer + 2) + 1,
        }
    }

    /// Name and count of each but the matrix products.
    #[must_use]
    pub const fn others(&self) -> [(&'static str, u64); 8] {
        [
            ("ADD", self.add),
            ("MUL", self.mul),
            ("RMS_NORM", self.norm),
            ("CPY", self.cpy),
            ("CONT", self.cont),
            ("SOFT_MAX", self.soft_max),
            ("ROPE", self.rope),
            ("UNARY", self.unary),
        ]
    }

    /// Synchronisations outside of matrix products.
    #[must_use]
    pub fn other_syncs(&self) -> u64 {
        self.others().iter().map(|it| it.1).sum()
    }

    /// Synchronisations of the matrix products.
    #[must_use]
    pub const fn product_syncs(&self) -> u64 {
        self.mul_mat * SYNCS_PER_PRODUCT
    }
}
