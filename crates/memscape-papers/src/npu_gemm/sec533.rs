//! Sec. 5.3.3: buffer descriptors rewritten while others are under way, or in
//! between.

use memscape_explore::{Parameters, Table};
use memscape_plot::{Figure, GroupedBars};
use serde_json::json;

use super::common::{NPUS, about_4k, design, printed};
use crate::error::Error;
use crate::sweeps::concat;

const READINGS: [&str; 2] = ["overlapped", "sequential"];

pub fn table(changed: &Parameters) -> Result<Table, Error> {
    concat(NPUS.into_iter().flat_map(|npu| READINGS.map(|it| (npu, it))).map(|(npu, reading)| {
        let design = design(&format!("{npu}-int8-int16"))?;
        about_4k(changed, design, &[("bd_reconfiguration", json!(reading))])
    }))
}

pub fn plot(table: &Table) -> Result<Figure, Error> {
    let mut figure = Figure::one_column();
    for npu in NPUS {
        let rows = table.filter("npu", npu)?;
        let names = ["rewritten meanwhile", "rewritten in between"];
        let bars = GroupedBars::new("Throughput (TOPS)", names).series("", rows.f64("tops")?);
        figure = figure.panel(printed(npu), bars);
    }
    Ok(figure)
}
