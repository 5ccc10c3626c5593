//! Fig. 5.11: five NUMA strategies on 32 threads.

use memscape_explore::{Parameters, Table};
use memscape_plot::{Figure, GroupedBars, StackedBars};

use super::common::strategies;
use crate::error::Error;

pub fn table(changed: &Parameters) -> Result<Table, Error> {
    strategies(changed)
}

pub fn plot(table: &Table) -> Result<Figure, Error> {
    let names: Vec<_> = table.text("series")?.into_iter().flatten().collect();
    let speeds = GroupedBars::new("Tokens per second", names.iter())
        .series("Token generation", table.f64("generation_tokens_per_s")?)
        .series("Prompt processing", table.f64("prompt_tokens_per_s")?);
    let mut token = StackedBars::new("Time of one token (ms)", names.iter());
    token = token.totals();
    for (column, name) in [
        ("kernel_ns", "Kernels"),
        ("weights_ns", "Reading weights"),
        ("attention_ns", "Attention"),
        ("synchronisation_ns", "Synchronising"),
        ("balancing_ns", "NUMA balancing"),
    ] {
        token = token.part(name, table.f64(column)?.into_iter().map(|it| it.map(|it| it * 1e-6)));
    }
    Ok(Figure::two_columns().columns(2).panel("(a) Speed", speeds).panel("(b) One generated token", token))
}
