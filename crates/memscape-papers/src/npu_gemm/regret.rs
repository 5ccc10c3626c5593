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
    let mut figure = Figure::two_columns();
    for npu in NPUS {
        let rows = table.filter("npu", json!(npu))?;
        let mut bars = GroupedBars::new("Throughput / best design's (%)", precisions());
        for (iteration, name) in ITERATIONS.iter().zip(["as printed", "until compute-bound", "scanning all"])
        {
            let own = rows.filter("iteration", json!(iteration))?;
            let shares = own.f64("tops")?.into_iter().zip(own.f64("best_tops")?);
            bars = bars.series(name, shares.map(|(tops, best)| Some(100.0 * tops? / best?)));
        }
        figure = figure.panel(printed(npu), bars.decimals(1));
    }
    Ok(figure.share_axes())
}
