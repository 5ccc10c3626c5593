//! Sec. VI-D1: speedup over the interleaving unit of memory, which tiles fill.

use memscape_explore::{Parameters, Table};
use memscape_plot::Figure;
use serde_json::json;

use super::common::{bars_per_model, roofline, suite};
use crate::error::Error;
use crate::sweeps::variant;

pub fn table(changed: &Parameters) -> Result<Table, Error> {
    let unit = |bytes: u32| variant(format!("{bytes} B"), [("interleave_bytes", json!(bytes))]);
    suite(changed, &[128, 256, 512, 1024, 2048].map(unit))
}

pub fn plot(table: &Table) -> Result<Figure, Error> {
    let bars = bars_per_model(table, "speedup", "Speedup over SoC (×)")?.graded();
    Ok(Figure::two_columns().panel("", bars.reference("Roofline", roofline(table)?)))
}
