//! Sec. 4.5.2: the balanced-point iteration under each reading, beside the best of
//! all designs.

use memscape_explore::{Parameters, Sweep, Table};
use memscape_plot::{Figure, GroupedBars};
use memscape_systems::study;
use serde_json::json;

use super::common::{NPUS, precisions, printed};
use crate::error::Error;
use crate::sweeps::{concat, for_preset, with_first_column};

const ITERATIONS: [&str; 3] = ["as-printed", "until-compute-bound", "scan"];

pub fn table(changed: &Parameters) -> Result<Table, Error> {
    concat(NPUS.map(|npu| {
        let mut base = for_preset(changed, npu);
        base.insert("device".to_owned(), npu.into());
        let sweep = Sweep::of(base).axis("precision", precisions()).axis("iteration", ITERATIONS);
        with_first_column(study("npu.balance")?.sweep(&sweep, &())?.without_errors()?, "npu", npu)
    }))
}

pub fn plot(table: &Table) -> Result<Figure, Error> {
    let mut figure = Figure::two_columns().columns(1);
    for npu in NPUS {
        let rows = table.filter("npu", json!(npu))?;
        let mut bars = GroupedBars::new("Throughput (TOPS)", precisions());
        for (iteration, name) in ITERATIONS.iter().zip(["as printed", "until compute-bound", "scanning all"])
        {
            bars = bars.series(name, rows.filter("iteration", json!(iteration))?.f64("tops")?);
        }
        let best = rows.filter("iteration", json!(ITERATIONS[0]))?.f64("best_tops")?;
        figure = figure.panel(printed(npu), bars.series("exhaustive", best));
    }
    Ok(figure)
}
