//! Sec. 5.2.1: the fastest kernel of one core starves on the whole array.

use memscape_explore::{Column, Parameters, Table};
use memscape_plot::{Figure, GroupedBars};
use serde_json::json;

use super::common::{NPUS, about_4k, design, printed};
use crate::error::Error;
use crate::sweeps::concat;

/// How the designs' names end, and what they are.
const KERNELS: [(&str, &str); 2] = [("-single-core", "single-core"), ("", "balanced")];

pub fn table(changed: &Parameters) -> Result<Table, Error> {
    concat(NPUS.into_iter().flat_map(|npu| KERNELS.map(|it| (npu, it))).map(|(npu, (suffix, kernel))| {
        let design = design(&format!("{npu}-int8-int16{suffix}"))?;
        let table = about_4k(changed, design, &[])?;
        Ok(table.with_column("kernel", Column::Text(vec![Some(kernel.to_owned())]))?)
    }))
}

pub fn plot(table: &Table) -> Result<Figure, Error> {
    let of = |kernel: &str, column: &str| -> Result<Vec<Option<f64>>, Error> {
        Ok(table.filter("kernel", json!(kernel))?.f64(column)?)
    };
    let bars = GroupedBars::new("Throughput (TOPS)", NPUS.map(printed))
        .series("64×216×64, compute alone", of("single-core", "peak_tops")?)
        .series("64×216×64", of("single-core", "tops")?)
        .series("balanced, compute alone", of("balanced", "peak_tops")?)
        .series("balanced", of("balanced", "tops")?);
    Ok(Figure::one_column().panel("", bars))
}
