//! What attention does beside the weights: operations, and keys and values read.

use memscape_workload::{Llm, OperatorError, OperatorKind, Projections, Reply};

/// Bytes of a key's or value's element, which stay at 16 bits.
pub const CACHE_ELEMENT_BYTES: u64 = 2;

/// Attention of all layers of a model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Attention {
    /// Operations, two per multiply-accumulate.
    pub operations: f64,
    /// Bytes of keys and values, each read once.
    pub cache_bytes: f64,
    /// Bytes of keys and values written.
    pub written_bytes: f64,
    /// Bytes of keys and values read if each query reads its own.
    pub query_bytes: f64,
}

impl Attention {
    /// Of a whole prompt: every token attends to those before it.
    ///
    /// # Errors
    /// [`OperatorError`] if the prompt is beyond what can be counted.
    #[expect(clippy::cast_precision_loss, reason = "operations of a prompt stay below 2^64")]
    pub fn of_prompt(model: &Llm, tokens: u64) -> Result<Self, OperatorError> {
        let operators = model.prefill_operators(tokens, Projections::Separate)?;
        let attends = operators.iter().filter(|it| it.kind == OperatorKind::Attention);
        let operations: f64 = attends.map(|it| it.total_operations() as f64).sum();
        // Those of a token are written, and read by it and others, also where a window soon leaves them behind.
        let cache_bytes = bytes_of_a_token(model) * tokens as f64;
        let query_bytes = operations / operations_per_byte(model);
        Ok(Self { operations, cache_bytes, written_bytes: cache_bytes, query_bytes })
    }

    /// That of so many sequences, each with keys and values of its own.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "few sequences")]
    pub fn of_all(self, sequences: u64) -> Self {
        let times = sequences as f64;
        Self {
            operations: self.operations * times,
            cache_bytes: self.cache_bytes * times,
            written_bytes: self.written_bytes * times,
            query_bytes: self.query_bytes * times,
        }
    }

    /// The mean over the tokens of a reply.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a mean")]
    pub fn of_reply(model: &Llm, reply: Reply) -> Self {
        let windowed = model.window_layers() as f64;
        let everywhere = f64::from(model.layers) - windowed;
        let in_windows = windowed * reply.mean_seen(model.window.map(|it| it.tokens));
        let elements = 2.0 * model.kv_size() as f64 * (everywhere * reply.mean_seen(None) + in_windows);
        let cache_bytes = elements * CACHE_ELEMENT_BYTES as f64;
        let operations = cache_bytes * operations_per_byte(model);
        Self { operations, cache_bytes, written_bytes: bytes_of_a_token(model), query_bytes: cache_bytes }
    }
}

/// Bytes of keys and values that a token adds.
#[expect(clippy::cast_precision_loss, reason = "bytes of a token")]
fn bytes_of_a_token(model: &Llm) -> f64 {
    2.0 * model.kv_size() as f64 * f64::from(model.layers) * CACHE_ELEMENT_BYTES as f64
}

/// A key or value takes part in a multiply-accumulate with each query head that shares
/// it.
#[expect(clippy::cast_precision_loss, reason = "few heads")]
fn operations_per_byte(model: &Llm) -> f64 {
    2.0 * model.heads_per_kv_head() as f64 / CACHE_ELEMENT_BYTES as f64
}
