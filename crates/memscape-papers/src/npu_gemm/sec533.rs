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
    let of = |reading: &str| -> Result<Vec<Option<f64>>, Error> {
        Ok(table.filter("bd_reconfiguration", json!(reading))?.f64("tops")?)
    };
    let bars = GroupedBars::new("Throughput (TOPS)", NPUS.map(|it| format!("{}, int8-int16", printed(it))))
        .series("Rewritten meanwhile", of(READINGS[0])?)
        .series("Rewritten in between", of(READINGS[1])?);
    Ok(Figure::one_column().panel("", bars))
}
