//! Fig. 13: speedup over the registers of a PIM unit, half of them for inputs.

use memscape_explore::{Parameters, Table};
use memscape_plot::Figure;
use serde_json::json;

use super::common::{bars_per_model, roofline, suite};
use crate::error::Error;
use crate::sweeps::variant;

pub fn table(changed: &Parameters) -> Result<Table, Error> {
    let registers = |count: u32| {
        let name = format!("{count} registers");
        variant(name, [("pim.registers", json!(count)), ("pim.input_registers", json!(count / 2))])
    };
    suite(changed, &[registers(8), registers(16), registers(32)])
}

pub fn plot(table: &Table) -> Result<Figure, Error> {
    let bars = bars_per_model(table, "speedup", "Speedup over SoC (×)")?.graded();
    Ok(Figure::two_columns().panel("", bars.reference("Roofline", roofline(table)?)))
}
