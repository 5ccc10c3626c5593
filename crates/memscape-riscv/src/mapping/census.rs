//! Which matrix products a llama.cpp run makes, counted.

use std::collections::BTreeMap;
use std::fmt;
use std::num::{NonZeroU32, NonZeroU64};
use std::ops::RangeInclusive;

use memscape_workload::{Experts, Llm, Matrix, Projections};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cells;

/// The shape of one `MUL_MAT`, as the thesis prints it: shared dimension, then the
/// result's. One operation covers all heads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Shape {
    /// Elements summed over.
    pub shared: u64,
    /// Rows of the first operand.
    pub dst0: u64,
    /// Columns of the second: tokens.
    pub dst1: u64,
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} x {} x {}", self.shared, self.dst0, self.dst1)
    }
}

/// What the first operand is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Operand {
    /// A weight matrix, contiguous.
    Weights,
    /// Keys or values of the cache: permuted or transposed views.
    Cache,
}

/// Which rows the last layer computes after its attention.
///
/// # Source
/// llama.cpp (June 2024) keeps, from the last attention on, only the rows whose
/// logits are asked for: Table 4.2 counts 31 of 32 feed-forward products with all
/// tokens of the prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OutputRows {
    /// The last token's only.
    Last,
    /// Every token's.
    All,
}

/// What llama.cpp is asked to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Run {
    /// Tokens of the prompt.
    pub prompt_tokens: NonZeroU64,
    /// Tokens generated; the last one is not evaluated.
    pub generated_tokens: NonZeroU64,
    /// How often all of it is done.
    pub repetitions: NonZeroU32,
    /// Tokens of the warm-up (BOS and EOS); 0 without one.
    pub warm_up_tokens: u64,
    /// Cells that the attended part of the cache is rounded up to.
    pub kv_padding: NonZeroU64,
    /// Most columns of one graph.
    pub ubatch_tokens: NonZeroU64,
    /// Rows of the last layer.
    pub output_rows: OutputRows,
}

impl Run {
    /// # Errors
    /// [`TooLong`] above what a census is for.
    pub fn check(&self) -> Result<(), TooLong> {
        let (prompt, generated) = (self.prompt_tokens.get(), self.generated_tokens.get());
        check_length(prompt, generated)?;
        let padding = self.kv_padding.get();
        let graph = self.ubatch_tokens.get();
        for (tokens, each) in [(prompt.max(self.warm_up_tokens), padding.max(graph)), (generated, padding)] {
            let shapes = tokens / each;
            if shapes > MOST_SHAPES {
                return Err(TooLong::Shapes { tokens, padding, shapes });
            }
        }
        Ok(())
    }

    /// Cells of the cache that attention reads when `used` are in use, of a cache that has as many.
    #[must_use]
    pub fn attended(&self, used: u64) -> u64 {
        cells::attended(used, self.kv_padding, u64::MAX)
    }
}

/// A model that is not counted: ggml multiplies with experts by an index, which the thesis' tables do not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the model has {count} experts, {active} of which a token passes through; ggml multiplies with them by an index \
     (`MUL_MAT_ID`), which is not counted here; use a model without experts"
)]
pub struct MixtureOfExperts {
    count: u32,
    active: u32,
}

/// # Errors
/// [`MixtureOfExperts`] if the model has experts.
pub fn check_dense(model: &Llm) -> Result<(), MixtureOfExperts> {
    match model.experts {
        Some(Experts { count, active }) => Err(MixtureOfExperts { count, active }),
        None => Ok(()),
    }
}

/// A run too long to be counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TooLong {
    /// Too many tokens.
    #[error(
        "{prompt} prompt tokens and {generated} generated ones are not supported; together they may be 2^24"
    )]
    Tokens {
        /// Of the prompt.
        prompt: u64,
        /// Of the reply.
        generated: u64,
    },
    /// Too many runs to try.
    #[error("the ranges hold {candidates} runs, but at most {most} are tried; narrow them")]
    Candidates {
        /// Runs in all.
        candidates: u128,
        /// What is tried.
        most: u128,
    },
    /// Too many different products.
    #[error(
        "{tokens} tokens with a `kv_padding` of {padding} make {shapes} different products; at most \
         {MOST_SHAPES} are counted; raise `kv_padding`"
    )]
    Shapes {
        /// Tokens of a prompt or of the reply.
        tokens: u64,
        /// Cells that the cache is rounded up to.
        padding: u64,
        /// Steps of the cache.
        shapes: u64,
    },
}

/// Steps of the cache's length in one census; each has products of its own.
const MOST_SHAPES: u64 = 1 << 18;

/// # Errors
/// [`TooLong`] above what a census is for.
pub fn check_length(prompt: u64, generated: u64) -> Result<(), TooLong> {
    if prompt.saturating_add(generated) <= 1 << 24 {
        Ok(())
    } else {
        Err(TooLong::Tokens { prompt, generated })
    }
}

/// Products by shape and operand.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Census(BTreeMap<(Shape, Operand), u64>);

impl Census {
    /// Counts the products of a run in closed form: tokens that attend to equally
    /// many cells are counted together, so a run of any length takes microseconds.
    ///
    /// `run = repetitions x [graphs(warm-up) + graphs(prompt) + one graph per token]`, a graph for every
    /// `ubatch_tokens` columns, each with its layers' weight products, `K x Q` and `V x scores`, and the last of
    /// them with the language-model head for one row.
    ///
    /// # Source
    /// Thesis, Table 4.2; with a prompt of 6, 32 generated tokens and 3 repetitions
    /// all its counts come out. The caption says 20 generated tokens.
    ///
    /// # Example
    /// ```
    /// use memscape_riscv::census::{Census, Run, Shape};
    /// use memscape_riscv::CensusStudy;
    /// let study = CensusStudy::default();
    /// let census = Census::of(&study.model, study.projections, &study.run());
    /// assert_eq!(census.count(Shape { shared: 4096, dst0: 4096, dst1: 1 }), 11904);
    /// ```
    #[must_use]
    pub fn of(model: &Llm, projections: Projections, run: &Run) -> Self {
        let mut census = Self::default();
        let times = u64::from(run.repetitions.get());
        let prompt = run.prompt_tokens.get();
        for tokens in [run.warm_up_tokens, prompt].into_iter().filter(|it| *it > 0) {
            // All but the last graph are full, and end before the token whose logits are asked for.
            let columns = run.ubatch_tokens.get();
            let before = (tokens - 1) / columns;
            let outputs = if run.output_rows == OutputRows::All { columns } else { 0 };
            census.graphs(model, projections, run, [columns, outputs], 0, before, times);
            let rest = tokens - before * columns;
            let outputs = if run.output_rows == OutputRows::All { rest } else { 1 };
            census.graph(model, projections, run, [rest, outputs], tokens, times);
        }
        // The last token is not evaluated.
        census.graphs(model, projections, run, [1, 1], prompt, run.generated_tokens.get() - 1, times);
        census
    }

    /// The products of `count` graphs in a row, of so many columns and outputs each, behind `used` cells: those that
    /// attend to equally many together.
    #[expect(clippy::too_many_arguments, reason = "what a graph is made of, and how often")]
    fn graphs(
        &mut self,
        model: &Llm,
        projections: Projections,
        run: &Run,
        [columns, outputs]: [u64; 2],
        used: u64,
        count: u64,
        times: u64,
    ) {
        let mut done = 0;
        while done < count {
            let cells = run.attended(used + (done + 1) * columns);
            let end = (cells.saturating_sub(used) / columns).min(count);
            self.graph(model, projections, run, [columns, outputs], cells, times * (end - done));
            done = end;
        }
    }

    /// The products of `times` graphs of so many columns and outputs.
    fn graph(
        &mut self,
        model: &Llm,
        projections: Projections,
        run: &Run,
        [tokens, last_rows]: [u64; 2],
        used: u64,
        times: u64,
    ) {
        let layers = u64::from(model.layers);
        let cells = run.attended(used);
        let head = u64::from(model.head_dim);
        let mut add = |shared, dst0, dst1, operand, count| {
            if count > 0 && dst1 > 0 {
                *self.0.entry((Shape { shared, dst0, dst1 }, operand)).or_insert(0) += count * times;
            }
        };
        for (matrix, gemv) in model.layer_gemvs(projections) {
            let feed_forward = matches!(
                matrix,
                Matrix::Fc1 | Matrix::Fc2 | Matrix::Gate | Matrix::Up | Matrix::GateUp | Matrix::Down
            );
            let of_last = if feed_forward { last_rows } else { tokens };
            add(gemv.k(), gemv.m(), tokens, Operand::Weights, layers - 1);
            add(gemv.k(), gemv.m(), of_last, Operand::Weights, 1);
        }
        add(head, cells, tokens, Operand::Cache, layers);
        add(cells, head, tokens, Operand::Cache, layers);
        for (matrix, rows) in
            [(Matrix::ProjectIn, tokens), (Matrix::ProjectOut, last_rows), (Matrix::LmHead, last_rows)]
        {
            // Asking for a matrix that is not there costs a message each time.
            if matrix != Matrix::LmHead && !model.projects_embedding() {
                continue;
            }
            if let Ok(gemv) = model.gemv(matrix) {
                add(gemv.k(), gemv.m(), rows, Operand::Weights, 1);
            }
        }
    }

    /// All products.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.values().sum()
    }

    /// Products of this shape.
    #[must_use]
    pub fn count(&self, shape: Shape) -> u64 {
        [Operand::Weights, Operand::Cache].iter().filter_map(|it| self.0.get(&(shape, *it))).sum()
    }

    /// Products with this many columns.
    #[must_use]
    pub fn with_columns(&self, columns: u64) -> u64 {
        self.rows().filter(|it| it.0.dst1 == columns).map(|it| it.2).sum()
    }

    /// Shape, operand and count, by shape.
    pub fn rows(&self) -> impl Iterator<Item = (Shape, Operand, u64)> + '_ {
        self.0.iter().map(|((shape, operand), count)| (*shape, *operand, *count))
    }

    /// Counts by shape alone, most frequent first.
    #[must_use]
    pub fn by_shape(&self) -> Vec<(Shape, u64)> {
        let mut shapes: BTreeMap<Shape, u64> = BTreeMap::new();
        for (shape, _, count) in self.rows() {
            *shapes.entry(shape).or_insert(0) += count;
        }
        let mut shapes: Vec<_> = shapes.into_iter().collect();
        shapes.sort_by_key(|(shape, count)| (std::cmp::Reverse(*count), *shape));
        shapes
    }
}

/// Counts that were seen somewhere: which runs explain them?
#[derive(Debug, Clone, PartialEq)]
pub struct Observed {
    /// The model that ran.
    pub model: Llm,
    /// Whether its projections are one matrix.
    pub projections: Projections,
    /// Count by shape; shapes that are not listed are not compared.
    pub counts: Vec<(Shape, u64)>,
}

impl Observed {
    /// Whether this run makes exactly the observed counts.
    #[must_use]
    pub fn explained_by(&self, run: &Run) -> bool {
        let census = Census::of(&self.model, self.projections, run);
        self.counts.iter().all(|(shape, count)| census.count(*shape) == *count)
    }

    /// The runs of this start that make exactly the observed counts, a reply after the other.
    pub fn explained_from(&self, runs: &Runs, start: (NonZeroU32, NonZeroU64)) -> impl Iterator<Item = Run> {
        runs.of(start).filter(move |it| self.explained_by(it))
    }
}

/// Where to look for a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Runs {
    /// How often the run is made.
    pub repetitions: RangeInclusive<u32>,
    /// Tokens of the prompt.
    pub prompt_tokens: RangeInclusive<u64>,
    /// Tokens generated.
    pub generated_tokens: RangeInclusive<u64>,
    /// Tokens of the warm-up; 0 without one.
    pub warm_up_tokens: u64,
    /// Cells that the attended part of the cache is rounded up to.
    pub kv_padding: NonZeroU64,
    /// Most columns of one graph.
    pub ubatch_tokens: NonZeroU64,
    /// Rows of the last layer.
    pub output_rows: OutputRows,
}

/// Some seconds' work.
const MOST_RUNS: u128 = 10_000_000;

impl Runs {
    /// That they are not too many to try.
    ///
    /// # Errors
    /// [`TooLong`] if the ranges hold over ten million.
    pub fn check(&self) -> Result<(), TooLong> {
        let length = |it: &RangeInclusive<u64>| u128::from(it.end().saturating_sub(*it.start())) + 1;
        let repetitions = u64::from(*self.repetitions.start())..=u64::from(*self.repetitions.end());
        let candidates = [&repetitions, &self.prompt_tokens, &self.generated_tokens]
            .into_iter()
            .fold(1_u128, |all, it| all.saturating_mul(length(it)));
        if MOST_RUNS < candidates {
            return Err(TooLong::Candidates { candidates, most: MOST_RUNS });
        }
        Ok(())
    }

    /// What runs start with, in order: repetitions, each with every prompt. Ranges begin at 1.
    #[must_use]
    pub fn starts(&self) -> Vec<(NonZeroU32, NonZeroU64)> {
        let of_each = |repetitions: NonZeroU32| {
            let prompts = self.prompt_tokens.clone().filter_map(NonZeroU64::new);
            prompts.map(move |prompt| (repetitions, prompt))
        };
        self.repetitions.clone().filter_map(NonZeroU32::new).flat_map(of_each).collect()
    }

    /// The runs of one start, a reply after the other.
    fn of(&self, (repetitions, prompt_tokens): (NonZeroU32, NonZeroU64)) -> impl Iterator<Item = Run> {
        let run = move |generated_tokens| Run {
            prompt_tokens,
            generated_tokens,
            repetitions,
            warm_up_tokens: self.warm_up_tokens,
            kv_padding: self.kv_padding,
            ubatch_tokens: self.ubatch_tokens,
            output_rows: self.output_rows,
        };
        self.generated_tokens.clone().filter_map(NonZeroU64::new).map(run)
    }
}
