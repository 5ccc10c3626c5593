//! Fig. 6: throughput over the length of the reduction that memory tiles hold,
//! which is the run that DRAM reads.

use memscape_explore::{Parameters, Table};
use memscape_plot::{Axis, Figure, Lines};
use serde_json::json;

use super::common::{about_4k, design};
use crate::error::Error;
use crate::sweeps::concat;

pub fn table_a(changed: &Parameters) -> Result<Table, Error> {
    over_k_mt(changed, "xdna-bf16-bf16", (1..=10).map(|it| 56 * it))
}

pub fn table_b(changed: &Parameters) -> Result<Table, Error> {
    over_k_mt(changed, "xdna2-int8-int16", [72, 144, 288, 432, 576, 720, 864, 1008, 1152].into_iter())
}

fn over_k_mt(changed: &Parameters, name: &str, steps: impl Iterator<Item = u64>) -> Result<Table, Error> {
    let design = design(name)?;
    concat(steps.map(|k_mt| {
        let table = about_4k(changed, design, &[("k_mt", json!(k_mt))])?;
        let shared = table.filter("l2_shared", true)?.height();
        let count = memscape_explore::Column::Int(vec![i64::try_from(shared).ok()]);
        Ok(table.with_column("tiles_that_share", count)?)
    }))
}

pub fn plot(table: &Table) -> Result<Figure, Error> {
    let points = |rows: &Table| -> Result<Vec<(f64, Option<f64>)>, Error> {
        let (x, y) = (rows.f64("k_mt")?, rows.f64("tops")?);
        Ok(x.into_iter().zip(y).filter_map(|(x, y)| Some((x?, y))).collect())
    };
    let (own, shared) = (table.filter("l2_shared", false)?, table.filter("l2_shared", true)?);
    let peak = table.f64("peak_tops")?.into_iter().flatten().next().unwrap_or_default();
    let top = (peak * 1.1).ceil();
    let mut lines =
        Lines::new(Axis::linear("k_mt (elements)"), Axis::linear("Throughput (TOPS)").range(0.0, top))
            .curve("One memory tile holds it", points(&own)?);
    if shared.height() > 0 {
        lines = lines.curve("Its neighbour helps", points(&shared)?);
    }
    Ok(Figure::one_column().panel("", lines.reference("Compute alone", peak)))
}
