//! All kernels of Tables 1 to 3 on one core, and where their cycles go.

use memscape_explore::{Column, Parameters, Table};
use memscape_npu::DESIGNS;
use memscape_plot::{Figure, StackedBars};
use serde_json::json;

use super::common::{Design, NPUS, of_design, precisions, printed, texts, tiles};
use crate::error::Error;
use crate::sweeps::concat;

/// Which of the papers' tables a design is from, by its name.
const RANKS: [(&str, &str); 3] = [("-single-core", "single core"), ("", "first"), ("-second", "second")];

pub fn table(changed: &Parameters) -> Result<Table, Error> {
    let kernels = NPUS.into_iter().flat_map(|npu| precisions().map(move |it| format!("{npu}-{it}")));
    let kernels = kernels.flat_map(|it| RANKS.map(|(suffix, rank)| (format!("{it}{suffix}"), rank)));
    concat(
        kernels
            .filter_map(|(name, rank)| Some((DESIGNS.find(&name).ok()?, rank)))
            .map(|(design, rank)| row(changed, design, rank)),
    )
}

fn row(changed: &Parameters, design: &Design, rank: &str) -> Result<Table, Error> {
    let table = of_design("npu.kernel", changed, design, &[], &[])?;
    Ok(table.with_column("rank", Column::Text(vec![Some(rank.to_owned())]))?)
}

pub fn plot(table: &Table) -> Result<Figure, Error> {
    let mut figure = Figure::two_columns().columns(1);
    for npu in NPUS {
        let rows = table.filter("npu", json!(npu))?;
        let cycles = rows.f64("cycles")?;
        let share = |column: &str| -> Result<Vec<Option<f64>>, Error> {
            let parts = rows.f64(column)?;
            Ok(parts.iter().zip(&cycles).map(|(part, all)| Some(100.0 * (*part)? / (*all)?)).collect())
        };
        let mut bars = StackedBars::new("Cycles of a call (%)", tiles(&rows)?)
            .part("Products", share("issue_cycles")?)
            .part("Bank conflicts", share("conflict_cycles")?)
            .part("Pipeline fill", share("fill_cycles")?)
            .part("Sums in and out", share("sum_cycles")?)
            .part("Waiting for DMA", share("dma_wait_cycles")?);
        let precisions = texts(&rows, "precision")?;
        for group in precisions.chunk_by(|a, b| a == b) {
            bars = bars.cluster(group[0].clone(), group.len());
        }
        figure = figure.panel(printed(npu), bars.shares());
    }
    Ok(figure)
}
