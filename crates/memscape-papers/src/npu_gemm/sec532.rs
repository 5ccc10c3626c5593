//! Sec. 5.3.2: one buffer for C in L1 or two.

use memscape_explore::{Column, Parameters, Table};
use memscape_npu::DESIGNS;
use memscape_plot::{Axis, Figure, GroupedBars, Lines};
use serde_json::json;

use super::common::{NPUS, about_4k, design, native, npu, of_design, printed, step, tiles};
use crate::error::Error;
use crate::sweeps::concat;

/// The examples of the section: int8-int16 on XDNA2, bf16 on XDNA.
const EXAMPLES: [&str; 2] = ["xdna-bf16-bf16", "xdna2-int8-int16"];

/// How the designs' names end, and how many buffers of C they have.
const BUFFERS: [(&str, &str); 2] = [("", "single"), ("-double", "double")];

pub fn table(changed: &Parameters) -> Result<Table, Error> {
    concat(EXAMPLES.into_iter().flat_map(|it| BUFFERS.map(|buffers| (it, buffers))).map(
        |(name, (suffix, buffers))| {
            let table = about_4k(changed, design(&format!("{name}{suffix}"))?, &[])?;
            Ok(table.with_column("output_buffers", Column::Text(vec![Some(buffers.to_owned())]))?)
        },
    ))
}

pub fn plot(table: &Table) -> Result<Figure, Error> {
    let mut figure = Figure::one_column();
    for (npu, precision) in [("xdna", "bf16-bf16"), ("xdna2", "int8-int16")] {
        let rows = table.filter("npu", npu)?;
        let names =
            ["once", "twice"].iter().zip(tiles(&rows)?).map(|(times, tile)| format!("C {times}, {tile}"));
        let bars = GroupedBars::new("Throughput (TOPS)", names).series("", rows.f64("tops")?);
        figure = figure.panel(format!("{}, {precision}", printed(npu)), bars);
    }
    Ok(figure)
}

/// Reductions of so many steps: with four to eight calls per step, about 20 to 320
/// calls.
const STEPS: [u64; 5] = [5, 10, 20, 40, 80];

/// Each balanced design over the length of the reduction.
pub fn drain_table(changed: &Parameters) -> Result<Table, Error> {
    let balanced =
        DESIGNS.all().iter().filter(|it| it.name == format!("{}-{}", npu(it), it.parameters.precision));
    concat(balanced.flat_map(|it| STEPS.map(|steps| (it, steps))).map(|(design, steps)| {
        let [m, k, n] = native(design, step(design));
        let [m, n] = [m, n].map(|it| super::common::ABOUT_4K.next_multiple_of(it));
        let shown = [("m", json!(m)), ("k", json!(k * steps)), ("n", json!(n))];
        let table = of_design("npu.gemm", changed, design, &shown, &[("engine", json!("events"))])?;
        let share = table.f64("output_wait_ns")?[0].zip(table.f64("time_ns")?[0]).map(|it| it.0 / it.1);
        let calls = k * steps / u64::from(design.parameters.k_ct.get());
        Ok(table
            .with_column("calls", Column::Int(vec![i64::try_from(calls).ok()]))?
            .with_column("steps", Column::Int(vec![i64::try_from(steps).ok()]))?
            .with_column("output_wait_share", Column::Float(vec![share]))?)
    }))
}

pub fn drain_plot(table: &Table) -> Result<Figure, Error> {
    let mut figure = Figure::two_columns();
    for npu in NPUS {
        let rows = table.filter("npu", json!(npu))?;
        let mut lines = Lines::new(
            Axis::log2("K / k_ct (calls per tile of C)"),
            Axis::linear("Time that cores wait for C (%)").range(0.0, 10.0),
        );
        for precision in super::common::precisions() {
            let rows = rows.filter("precision", json!(precision))?;
            let (x, y) = (rows.f64("calls")?, rows.f64("output_wait_share")?);
            let points = x.into_iter().zip(y).filter_map(|(x, y)| Some((x?, y.map(|it| 100.0 * it))));
            lines = lines.curve(precision, points);
        }
        figure = figure.panel(printed(npu), lines);
    }
    Ok(figure)
}
