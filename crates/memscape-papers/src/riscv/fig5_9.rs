//! Fig. 5.9: token generation over threads by NUMA policy.

use memscape_explore::{Parameters, Table};
use memscape_plot::Figure;

use super::common::{over_threads, threads_figure, with_best};
use crate::error::Error;

pub fn table(changed: &Parameters) -> Result<Table, Error> {
    with_best(over_threads(changed)?, "threads", "generation_tokens_per_s", "best_threads")
}

pub fn plot(table: &Table) -> Result<Figure, Error> {
    threads_figure(table, "generation_tokens_per_s", "Token generation (tokens/s)")
}
