//! Fig. 10: speedup over the number of banks.

use memscape_explore::{Parameters, Table};
use memscape_plot::{Figure, Reference};
use serde_json::json;

use super::common::{bars_per_model, suite};
use crate::error::Error;
use crate::sweeps::{distinct, variant};

pub fn table(changed: &Parameters) -> Result<Table, Error> {
    let banks =
        |total: u32| variant(format!("{total} banks"), [("memory.banks_per_channel", json!(total / 8))]);
    suite(changed, &[banks(64), banks(128), banks(256)])
}

pub fn plot(table: &Table) -> Result<Figure, Error> {
    let mut bars = bars_per_model(table, "speedup", "Speedup over SoC (×)")?.graded();
    for (index, series) in distinct(table, "series")?.into_iter().enumerate() {
        let roofline = super::common::roofline(&table.filter("series", series.as_str())?)?;
        bars.references.push(Reference::of_series(format!("Roofline, {series}"), roofline, index));
    }
    Ok(Figure::two_columns().panel("", bars))
}
