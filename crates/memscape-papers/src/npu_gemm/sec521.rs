//! Sec. 5.2.1: the fastest kernel of one core starves on the whole array.

use memscape_explore::{Column, Parameters, Table};
use memscape_plot::{Figure, GroupedBars};

use super::common::{NPUS, about_4k, design, printed, tiles};
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
    let mut figure = Figure::one_column();
    for npu in NPUS {
        let rows = table.filter("npu", npu)?;
        let names = tiles(&rows)?;
        let kernels = KERNELS.iter().zip(&names).map(|((_, kernel), tile)| format!("{kernel} {tile}"));
        let bars = GroupedBars::new("Throughput (TOPS)", kernels)
            .series("Compute alone", rows.f64("peak_tops")?)
            .series("With DRAM", rows.f64("tops")?);
        figure = figure.panel(printed(npu), bars);
    }
    Ok(figure)
}
