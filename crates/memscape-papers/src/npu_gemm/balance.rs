//! Sec. 4.5.2: the balanced point. As the reduction of a kernel gets shorter, its tile of
//! C gets larger: compute takes longer, DRAM less.

use memscape_explore::{Column, Parameters, Table, read};
use memscape_npu::BalanceStudy;
use memscape_npu::study::balance::{Point, Step};
use memscape_plot::{Axis, Figure, Lines};
use serde_json::json;

use super::common::{NPUS, precisions, printed};
use crate::error::Error;
use crate::sweeps::{concat, for_preset};

/// The precision whose points are drawn; the table has all.
const DRAWN: &str = "int8-int16";

/// Times are drawn for a product of this size, as each point has padding-free sizes of its own.
const DRAWN_SIZE: f64 = 4096.0;

pub fn table(changed: &Parameters) -> Result<Table, Error> {
    concat(NPUS.into_iter().flat_map(|npu| precisions().map(move |it| (npu, it))).map(|(npu, precision)| {
        let mut parameters = for_preset(changed, npu);
        parameters.insert("device".to_owned(), npu.into());
        parameters.insert("precision".to_owned(), precision.into());
        let study: BalanceStudy = read(&parameters)?;
        let trace = study.trace().map_err(Error::no_answer)?;
        points(npu, precision, &trace)
    }))
}

fn points(npu: &str, precision: &str, trace: &[Point]) -> Result<Table, Error> {
    let steps: Vec<Step> = trace.iter().map(Point::step).collect();
    let text = |it: &str| Column::Text(vec![Some(it.to_owned()); steps.len()]);
    let int = |of: fn(&Step) -> u64| Column::Int(steps.iter().map(|it| i64::try_from(of(it)).ok()).collect());
    let float = |of: fn(&Step) -> Option<f64>| Column::Float(steps.iter().map(of).collect());
    Ok(Table::from_columns([
        ("npu", text(npu)),
        ("precision", text(precision)),
        ("m_ct", int(|it| it.m_ct.into())),
        ("k_ct", int(|it| it.k_ct.into())),
        ("n_ct", int(|it| it.n_ct.into())),
        ("k_mt", int(|it| it.k_mt.into())),
        ("outputs", int(|it| it.outputs)),
        ("m", int(|it| it.m)),
        ("k", int(|it| it.k)),
        ("n", int(|it| it.n)),
        ("assumed_efficiency", float(|it| it.assumed_efficiency)),
        ("efficiency", float(|it| Some(it.efficiency))),
        ("eq9_compute_ns", float(|it| Some(it.eq9_compute_ns))),
        ("eq10_memory_ns", float(|it| Some(it.eq10_memory_ns))),
        ("time_ns", float(|it| Some(it.time_ns))),
        ("tops", float(|it| Some(it.tops))),
    ])?)
}

pub fn plot(table: &Table) -> Result<Figure, Error> {
    let mut figure = Figure::two_columns();
    for npu in NPUS {
        let rows = table.filter("npu", json!(npu))?.filter("precision", json!(DRAWN))?;
        let (k_ct, m, k, n) = (rows.f64("k_ct")?, rows.f64("m")?, rows.f64("k")?, rows.f64("n")?);
        let curve = |column: &str| -> Result<Vec<(f64, Option<f64>)>, Error> {
            let times = rows.f64(column)?;
            let at = |row: usize| -> Option<(f64, Option<f64>)> {
                let ratio = DRAWN_SIZE.powi(3) / (m[row]? * k[row]? * n[row]?);
                Some((k_ct[row]?, times[row].map(|it| it * ratio * 1e-6)))
            };
            Ok((0..times.len()).filter_map(at).collect())
        };
        let lines = Lines::new(Axis::linear("k_ct (elements)"), Axis::linear("Time of 4096×4096×4096 (ms)"))
            .curve("Compute (Eq. 9)", curve("eq9_compute_ns")?)
            .curve("DRAM (Eq. 10)", curve("eq10_memory_ns")?)
            .curve("Together", curve("time_ns")?);
        figure = figure.panel(format!("{}, {DRAWN}", printed(npu)), lines);
    }
    Ok(figure.caption(
        "The equations are the paper's; the model's time is that of its own DRAM, whose reads and writes share a bus, and may lie below them.",
    ))
}
