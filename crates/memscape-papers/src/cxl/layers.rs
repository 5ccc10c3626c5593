//! What it costs to keep layers in the expander: one model in narrower and narrower
//! formats, by the lanes of the link.

use memscape_explore::{Parameters, Sweep, Table};
use memscape_plot::{Figure, GroupedBars};
use memscape_systems::study;

use crate::error::Error;
use crate::sweeps::distinct;

pub fn table(changed: &Parameters) -> Result<Table, Error> {
    let sweep = Sweep::of(changed.clone())
        .axis("link.lanes", [4, 8, 16])
        .axis("format", ["int8", "mx-int4-b32", "int4"]);
    Ok(study("cxl.inference")?.sweep(&sweep, &())?.without_errors()?)
}

pub fn plot(table: &Table) -> Result<Figure, Error> {
    let formats = distinct(table, "format")?;
    let bars = distinct(table, "link.lanes")?.into_iter().try_fold(
        GroupedBars::new("Generated tokens/s, Llama 2 70B", formats),
        |bars, lanes| {
            let rows = table.filter("link.lanes", lanes.parse::<i64>().unwrap_or_default())?;
            Ok::<_, Error>(bars.series(format!("{lanes} lanes"), rows.f64("generation_tokens_per_s")?))
        },
    )?;
    Ok(Figure::one_column().panel("", bars))
}
