//! Sec. VI-D1: speedup over the interleaving unit of memory, which tiles fill.

use memscape_explore::{Parameters, Table};
use memscape_plot::{Axis, Figure, Lines};
use serde_json::json;

use super::common::{roofline, short, suite};
use crate::error::Error;
use crate::sweeps::{distinct, variant};

/// Bytes of the unit; the paper compares the first and the last of these with 256.
const UNITS: [u32; 5] = [128, 256, 512, 1024, 2048];

pub fn table(changed: &Parameters) -> Result<Table, Error> {
    let unit = |bytes: u32| variant(format!("{bytes} B"), [("interleave_bytes", json!(bytes))]);
    suite(changed, &UNITS.map(unit))
}

pub fn plot(table: &Table) -> Result<Figure, Error> {
    let units = UNITS.map(f64::from);
    let of_unit = |bytes: &u32| -> Result<Table, Error> {
        Ok(table.filter("series", format!("{bytes} B"))?.group_mean(&["model"], "speedup")?)
    };
    let means = UNITS.iter().map(of_unit).collect::<Result<Vec<_>, _>>()?;
    let bytes = Axis::log2("Interleaving unit (B)").marks(units);
    let mut lines = Lines::new(bytes, Axis::linear("Speedup over SoC (×)"));
    for model in distinct(table, "model")? {
        let at = |means: &Table| -> Result<Option<f64>, Error> {
            Ok(means.filter("model", model.as_str())?.f64("speedup")?.first().copied().flatten())
        };
        let values = means.iter().map(at).collect::<Result<Vec<_>, _>>()?;
        lines = lines.curve(short(&model), units.into_iter().zip(values));
    }
    Ok(Figure::one_column().panel("", lines.reference("Roofline", roofline(table)?)))
}
