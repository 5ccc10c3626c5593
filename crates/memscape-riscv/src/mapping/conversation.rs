//! A prompt and a reply as graphs: how many columns go through the model together, and
//! what they attend to.

use std::num::NonZeroU64;

use memscape_units::float;

use super::cells::{attended, mean_attended, mean_attended_by};

/// Columns that go through the model together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Columns {
    /// Sequences, each with equally many columns.
    pub sequences: u64,
    /// All columns: tokens times sequences.
    pub all: u64,
    /// Columns that are the last of their sequence, whose logits are asked for.
    pub outputs: u64,
    /// Cells of the cache that a column attends to, on average: those of its own
    /// sequence.
    pub attended: f64,
}

/// Graphs that differ in the cells they attend to alone.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Graphs {
    /// How many.
    pub count: u64,
    /// The columns of each; what they attend to is the mean.
    pub columns: Columns,
    /// Whether no graph before them has read the weights, so that no cache has them.
    pub cold: bool,
}

/// What is asked of llama.cpp, less the model.
///
/// # Source
/// llama.cpp (June 2024): the prompts of all sequences are one batch, token by token of all of them
/// (`examples/batched-bench`), each step evaluates one token of every sequence, and the warm-up is
/// one sequence. A batch is split into graphs of at most `n_ubatch` columns in this order, each of
/// which attends to the cells filled by its end; after the last attention, a graph goes on with
/// the columns whose logits are asked for. What is attended to is padded, but not beyond the cache
/// (`llama_kv_cache_cell_max`, padded, or `kv_self.size`). Differs from it: its cache is one for all sequences, so that
/// a token is also multiplied with the cells of others, which are masked then; here, it
/// meets those of its own alone, of which there are as many for each sequence.
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
    /// Cells of the cache, of all sequences.
    pub cells: u64,
    /// Cells that the attended part of the cache is rounded up to.
    pub kv_padding: NonZeroU64,
    /// Most columns of one graph.
    pub ubatch_tokens: NonZeroU64,
}

impl Conversation {
    /// The warm-up's graphs.
    #[must_use]
    pub fn warm_up(&self) -> Vec<Graphs> {
        cold(self.prompts(self.warm_up_tokens, 1))
    }

    /// The graphs of all prompts.
    #[must_use]
    pub fn prompt(&self) -> Vec<Graphs> {
        let prompts = self.prompts(self.prompt_tokens, self.batch);
        if self.warm_up_tokens == 0 { cold(prompts) } else { prompts }
    }

    /// Most columns of any graph.
    #[must_use]
    pub fn most_columns(&self) -> u64 {
        (self.prompt_tokens * self.batch).max(self.warm_up_tokens).min(self.ubatch_tokens.get())
    }

    /// Most columns of any graph whose logits are asked for.
    #[must_use]
    pub fn most_outputs(&self) -> u64 {
        self.batch.min(self.ubatch_tokens.get())
    }

    /// Most attention scores of one head in any graph: those of its columns with the cells that each attends to.
    #[must_use]
    pub fn most_scores(&self) -> u64 {
        let of = |tokens: u64, sequences: u64, used: u64| {
            let columns = tokens.saturating_mul(sequences).min(self.ubatch_tokens.get());
            columns.saturating_mul(attended(used, self.kv_padding, self.cells_of_each(sequences)))
        };
        let prompt = of(self.prompt_tokens, self.batch, self.prompt_tokens);
        let last_step = of(1, self.batch, self.prompt_tokens + self.steps());
        prompt.max(last_step).max(of(self.warm_up_tokens, 1, self.warm_up_tokens))
    }

    /// Cells that each of so many sequences may have.
    fn cells_of_each(&self, sequences: u64) -> u64 {
        self.cells / sequences.max(1)
    }

    /// Graphs of prompts of so many tokens. A graph's sequences have equally many cells, but for one.
    fn prompts(&self, tokens: u64, sequences: u64) -> Vec<Graphs> {
        let step = (self.ubatch_tokens.get(), NonZeroU64::new(sequences).unwrap_or(NonZeroU64::MIN));
        let most = self.cells_of_each(sequences);
        let at_end = float(attended(tokens, self.kv_padding, most));
        self.split(tokens, sequences, at_end, |first, last| {
            mean_attended_by(step, first, last, self.kv_padding, most)
        })
    }

    /// Splits so many tokens of each sequence into graphs: those of as many columns as they may have,
    /// without outputs, with some and of outputs alone, and what is left, which attends to the cells
    /// `at_end`. The others attend to what `attended` says of the graphs from one number to another.
    fn split(
        &self,
        tokens: u64,
        sequences: u64,
        at_end: f64,
        attended: impl Fn(u64, u64) -> f64,
    ) -> Vec<Graphs> {
        let (all, most) = (tokens * sequences, self.ubatch_tokens.get());
        let (whole, rest) = (all / most, all % most);
        let before_outputs = all.saturating_sub(sequences);
        let silent = before_outputs / most;
        let mixed = whole.min(silent + 1);
        let columns = |all: u64, outputs: u64, attended: f64| Columns {
            sequences: sequences.min(all),
            all,
            outputs,
            attended,
        };
        let full = |first: u64, last: u64, outputs: u64| {
            (first <= last).then(|| Graphs {
                count: last - first + 1,
                columns: columns(most, outputs, attended(first, last)),
                cold: false,
            })
        };
        let left = Graphs { count: 1, columns: columns(rest, sequences.min(rest), at_end), cold: false };
        let all = [
            full(1, silent, 0),
            full(silent + 1, mixed, most - before_outputs % most),
            full(mixed + 1, whole, most),
            (rest > 0).then_some(left),
        ];
        all.into_iter().flatten().collect()
    }

    /// Steps of the reply.
    #[must_use]
    pub const fn steps(&self) -> u64 {
        self.generated_tokens - 1
    }

    /// Graphs of all steps together.
    #[must_use]
    pub const fn step_graphs(&self) -> u64 {
        self.steps().saturating_mul(self.batch.div_ceil(self.ubatch_tokens.get()))
    }

    /// The graphs of one step, the mean of those from `first` to `last`. Steps begin at 1.
    #[must_use]
    pub fn step(&self, first: u64, last: u64) -> Vec<Graphs> {
        let (before, most) = (self.prompt_tokens, self.cells_of_each(self.batch));
        let cells = mean_attended(before + first, before + last, self.kv_padding, most);
        self.split(1, self.batch, cells, |_, _| cells)
    }

    /// The graphs of a mean step; of a next one where there is none.
    #[must_use]
    pub fn mean_step(&self) -> Vec<Graphs> {
        self.step(1, self.steps())
    }
}

/// The graphs of which the first is a run's first.
fn cold(mut graphs: Vec<Graphs>) -> Vec<Graphs> {
    if let Some(first) = graphs.first_mut() {
        let alone = Graphs { count: 1, cold: true, ..*first };
        first.count -= 1;
        graphs.insert(0, alone);
        graphs.retain(|it| it.count > 0);
    }
    graphs
}
