//! Fig. 15: what cross-lane hardware and split-K add for the four GEMVs of
//! OPT-125M.

use memscape_explore::{Parameters, Table};
use memscape_plot::{Figure, GroupedBars};
use serde_json::json;

use super::common::{GEMVS, as_printed, roofline};
use crate::error::Error;
use crate::sweeps::{distinct, sweep_variants, variant};

pub fn table(changed: &Parameters) -> Result<Table, Error> {
    let split = |degree: u32| variant(format!("split-K = {degree}"), [("split_k", json!(degree))]);
    let variants = [
        variant("PIMnast-opt", []),
        variant("cross-SIMD hardware", [("pim.cross_lane", json!("tree"))]),
        split(2),
        split(4),
        split(8),
    ];
    let changed = &as_printed(changed);
    sweep_variants("pim.gemv", changed, &variants, &[("model", &["opt-125m"]), ("gemv", &GEMVS)])
}

pub fn plot(table: &Table) -> Result<Figure, Error> {
    let gemvs = distinct(table, "gemv")?;
    let mut bars = GroupedBars::new("Speedup over SoC (×)", gemvs.iter().map(|it| it.to_uppercase()));
    for series in distinct(table, "series")? {
        bars = bars.series(series.clone(), table.filter("series", series)?.f64("speedup")?);
    }
    let bars = bars.with_average("Average").reference("Roofline", roofline(table)?);
    Ok(Figure::two_columns().panel("", bars))
}
