//! Fig. 7 and 8: hundreds of sizes up to 8K, over arithmetic intensity, with B
//! column-major and row-major.

use memscape_explore::{Column, Parameters, Sweep, Table};
use memscape_plot::{Axis, Figure, Fill, Lines};
use memscape_study::random::{STEP, mix};
use memscape_systems::study;
use serde_json::{Value, json};

use super::common::{design, native, npu, step};
use crate::error::Error;
use crate::sweeps::{for_preset, with_first_column};

/// Sizes per layout. The paper has "more than 400" and does not say which: ours are
/// drawn from all multiples of the native size.
const SIZES: usize = 420;

/// The largest dimension.
const LARGEST: u64 = 8192;

const SEED: u64 = 8;

pub fn fig7a(changed: &Parameters) -> Result<Table, Error> {
    sizes(changed, "xdna-int8-int8")
}

pub fn fig7b(changed: &Parameters) -> Result<Table, Error> {
    sizes(changed, "xdna-int8-int16")
}

pub fn fig7c(changed: &Parameters) -> Result<Table, Error> {
    sizes(changed, "xdna-bf16-bf16")
}

pub fn fig8a(changed: &Parameters) -> Result<Table, Error> {
    sizes(changed, "xdna2-int8-int8")
}

pub fn fig8b(changed: &Parameters) -> Result<Table, Error> {
    sizes(changed, "xdna2-int8-int16")
}

pub fn fig8c(changed: &Parameters) -> Result<Table, Error> {
    sizes(changed, "xdna2-bf16-bf16")
}

/// No figure shows it; the text prints its best.
pub fn sec523_int8_int32(changed: &Parameters) -> Result<Table, Error> {
    sizes(changed, "xdna2-int8-int32")
}

fn sizes(changed: &Parameters, name: &str) -> Result<Table, Error> {
    let design = design(name)?;
    let [m, k, n] = native(design, step(design)).map(|it| (1..=LARGEST / it).map(move |i| i * it));
    let mut all: Vec<[u64; 3]> = m
        .flat_map(|m| k.clone().map(move |k| (m, k)))
        .flat_map(|(m, k)| n.clone().map(move |n| [m, k, n]))
        .collect();
    draw(&mut all, SIZES);
    let mut base = for_preset(changed, npu(design));
    base.insert("design".to_owned(), design.name.clone().into());
    base.insert("engine".to_owned(), "events".into());
    let column = |index: usize| all.iter().map(|it| Value::from(it[index])).collect::<Vec<_>>();
    let sweep = Sweep::of(base).axis("b_layout", ["column-major", "row-major"]).zip([
        ("m", column(0)),
        ("k", column(1)),
        ("n", column(2)),
    ]);
    let table = study("npu.gemm")?.sweep(&sweep, &())?.without_errors()?;
    let texts = all.iter().map(|[m, k, n]| Some(format!("{m} x {k} x {n}")));
    let intense = table.f64("arithmetic_intensity")?.into_iter().map(|it| it.map(|it| it > 1600.0)).collect();
    let table = table
        .with_column("size", Column::Text(texts.clone().chain(texts).collect()))?
        .with_column("intensity_above_1600", Column::Bool(intense))?;
    with_first_column(table, "design", name)
}

/// Keeps so many, chosen by a fixed seed, in their order.
fn draw(all: &mut Vec<[u64; 3]>, count: usize) {
    let keep = all.len().min(count);
    let mut order: Vec<(u64, usize)> =
        (0..all.len()).map(|it| (mix((SEED ^ it as u64).wrapping_mul(STEP)), it)).collect();
    order.sort_unstable();
    let mut chosen: Vec<usize> = order[..keep].iter().map(|it| it.1).collect();
    chosen.sort_unstable();
    *all = chosen.into_iter().map(|it| all[it]).collect();
}

pub fn plot(table: &Table) -> Result<Figure, Error> {
    let points = |layout: &str| -> Result<Vec<(f64, Option<f64>)>, Error> {
        let rows = table.filter("b_layout", json!(layout))?;
        let (x, y) = (rows.f64("arithmetic_intensity")?, rows.f64("tops")?);
        Ok(x.into_iter().zip(y).filter_map(|(x, y)| Some((x?, y))).collect())
    };
    let peak = table.f64("peak_tops")?.into_iter().flatten().next().unwrap_or_default();
    let lines = Lines::new(
        Axis::linear("Arithmetic intensity (operations/byte)"),
        Axis::linear("Throughput (TOPS)").range(0.0, (peak * 1.1).ceil()),
    )
    .points("B column-major", points("column-major")?)
    .filled(Fill::Translucent)
    .points("B row-major", points("row-major")?)
    .filled(Fill::Hollow)
    .reference("Compute alone", peak);
    let caption = "A square around a disc: in both layouts the product is as fast.";
    Ok(Figure::one_column().panel("", lines).caption(caption))
}
