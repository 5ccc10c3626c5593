//! Rates of a link over its lanes, both directions together, as PCI-SIG prints them.

use memscape_cxl::{InferenceStudy, Link};
use memscape_explore::{Column, Parameters, Table};
use memscape_plot::{Figure, GroupedBars};
use std::num::NonZeroU32;

use crate::error::Error;

/// Generations and the transfers of one of their lanes.
const GENERATIONS: [(&str, f64); 2] = [("PCIe 5.0", 32.0), ("PCIe 6.0", 64.0)];
const LANES: [u32; 3] = [4, 8, 16];

pub fn table(_: &Parameters) -> Result<Table, Error> {
    let links = GENERATIONS.iter().flat_map(|(name, rate)| LANES.map(|lanes| (*name, *rate, lanes)));
    let links: Vec<(&str, Link)> = links
        .map(|(name, transfer_gt_s, lanes)| {
            let lanes = NonZeroU32::new(lanes).unwrap_or(NonZeroU32::MIN);
            (name, Link { lanes, transfer_gt_s, ..InferenceStudy::default().link })
        })
        .collect();
    let numbers = |pick: fn(&Link) -> f64| Column::Float(links.iter().map(|it| Some(pick(&it.1))).collect());
    Ok(Table::from_columns([
        ("series", Column::Text(links.iter().map(|it| Some(it.0.to_owned())).collect())),
        ("lanes", Column::Int(links.iter().map(|it| Some(it.1.lanes.get().into())).collect())),
        ("raw_gb_s", numbers(|it| 2.0 * it.raw_gb_s())),
        ("data_gb_s", numbers(|it| 2.0 * it.bandwidth().as_f64())),
    ])?)
}

pub fn plot(table: &Table) -> Result<Figure, Error> {
    let lanes = LANES.map(|it| format!("x{it}"));
    let bars = GENERATIONS
        .iter()
        .try_fold(GroupedBars::new("Both directions (GB/s)", lanes), |bars, (name, _)| {
            Ok::<_, Error>(bars.series(*name, table.filter("series", *name)?.f64("raw_gb_s")?))
        })?;
    Ok(Figure::one_column().panel("", bars))
}
