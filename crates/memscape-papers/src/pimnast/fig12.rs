//! Fig. 12: speedup with block-level scale factors, at the paper's block of 32 and
//! at the larger ones that its text mentions.

use memscape_explore::{Parameters, Table};
use memscape_plot::Figure;
use serde_json::json;

use super::common::{bars_per_model, roofline, suite};
use crate::error::Error;
use crate::sweeps::variant;

pub fn table(changed: &Parameters) -> Result<Table, Error> {
    let variants: Vec<_> = [8, 4]
        .into_iter()
        .flat_map(|bits| [32, 64, 128].map(|block| (bits, block)))
        .map(|(bits, block)| {
            variant(format!("{bits}b, block {block}"), [("format", json!(format!("mx-int{bits}-b{block}")))])
        })
        .collect();
    suite(changed, &variants)
}

pub fn plot(table: &Table) -> Result<Figure, Error> {
    let bars = bars_per_model(table, "speedup", "Speedup over SoC (×)")?;
    Ok(Figure::two_columns().panel("", bars.reference("Roofline", roofline(table)?)))
}
