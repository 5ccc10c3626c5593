//! A prompt and a reply as graphs: how many columns go through the model together, and
//! what they attend to.

use std::num::NonZeroU64;

use super::cells::{attended, mean_attended};
use crate::number::float;

/// Columns that go through the model together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Columns {
    /// Sequences, each with equally many columns.
    pub sequences: u64,
    /// All columns: tokens times sequences.
    pub all: u64,
    /// Cells of the cache that a column attends to, on average: those of its own
    /// sequence.
    pub attended: f64,
}

/// What is asked of llama.cpp, less the model.
///
/// # Source
/// llama.cpp (June 2024): the prompts of all sequences are put into one graph
/// (`examples/batched-bench`), each step evaluates one token of every sequence, and the
/// warm-up is one sequence. Differs from it: its cache is one for all sequences, so that
/// a token is also multiplied with the cells of others, which are masked then; here, it
/// meets those of its own alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Conversation {
    /// Tokens of the warm-up; 0 without one.
    pub warm_up_tokens: u64,
    /// Tokens of each prompt.
    pub prompt_tokens: u64,
    /// Tokens generated of each sequence; the last one is not evaluated.
    pub generated_tokens: u64,
    /// Sequences.
    pub batch: u64,
    /// Cells that the attended part of the cache is rounded up to.
    pub kv_padding: NonZeroU64,
}

impl Conversation {
    /// The warm-up's columns.
    #[must_use]
    pub fn warm_up(&self) -> Option<Columns> {
        let tokens = self.warm_up_tokens;
        let attended = float(attended(tokens, self.kv_padding));
        (tokens > 0).then_some(Columns { sequences: 1, all: tokens, attended })
    }

    /// The columns of all prompts.
    #[must_use]
    pub fn prompt(&self) -> Columns {
        let all = self.prompt_tokens * self.batch;
        let attended = float(attended(self.prompt_tokens, self.kv_padding));
        Columns { sequences: self.batch, all, attended }
    }

    /// Graphs of the reply.
    #[must_use]
    pub const fn steps(&self) -> u64 {
        self.generated_tokens - 1
    }

    /// The columns of the steps from `first` to `last`, on average. Steps begin at 1.
    #[must_use]
    pub fn step(&self, first: u64, last: u64) -> Columns {
        let cells = mean_attended(self.prompt_tokens + first, self.prompt_tokens + last, self.kv_padding);
        Columns { sequences: self.batch, all: self.batch, attended: cells }
    }

    /// The columns of a mean step; of a next one where there is none.
    #[must_use]
    pub fn mean_step(&self) -> Columns {
        self.step(1, self.steps())
    }
}
