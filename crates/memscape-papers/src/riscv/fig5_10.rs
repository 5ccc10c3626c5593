//! Fig. 5.10: prompt processing over threads by NUMA policy.

use memscape_explore::{Parameters, Table};
use memscape_plot::Figure;

use super::common::{over_threads, threads_figure, with_best};
use crate::error::Error;

pub fn table(changed: &Parameters) -> Result<Table, Error> {
    with_best(over_threads(changed)?, "threads", "prompt_tokens_per_s", "best_threads")
}

pub fn plot(table: &Table) -> Result<Figure, Error> {
    threads_figure(table, "prompt_tokens_per_s", "Prompt processing (tokens/s)")
}
