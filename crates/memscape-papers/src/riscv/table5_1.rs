//! Table 5.1: one token on 64 threads by operation, llama.cpp's own kernel, pages
//! interleaved. Operations beside the matrix products are their synchronisation.

use memscape_explore::{Column, Parameters, Table, read};
use memscape_plot::{Figure, TextTable};
use memscape_riscv::InferenceStudy;
use memscape_riscv::graph::{Graph, SYNCS_PER_PRODUCT};
use memscape_study::Study;
use serde_json::json;

use super::common::{of_inference, with};
use crate::error::Error;

/// The sum of all rows but the matrix products, whose work no one prints.
const OTHERS: &str = "all but MUL_MAT";

#[expect(clippy::cast_precision_loss, reason = "counts of one graph")]
pub fn table(changed: &Parameters) -> Result<Table, Error> {
    let run = [
        ("kernel", json!("default")),
        ("compiler", json!("xuantie-gcc-10")),
        ("threads", json!(64)),
        ("policy", json!("interleave")),
    ];
    let parameters = with(&of_inference(changed), run);
    let study: InferenceStudy = read(&parameters)?;
    let answer = study.answer().map_err(|it| memscape_explore::Error::BadSweep(it.to_string()))?;
    let graph = Graph::of(&study.model, study.model.layer_gemvs(study.projections).count() as u64);
    let syncs = graph.other_syncs() + graph.product_syncs();
    let sync_ms = answer.synchronisation_ns / syncs as f64 * 1e-6;
    let mut rows: Vec<_> =
        graph.others().iter().map(|(name, count)| (*name, *count, *count, *count as f64 * sync_ms)).collect();
    let others = graph.other_syncs();
    rows.push((OTHERS, others, others, others as f64 * sync_ms));
    rows.push(("MUL_MAT", graph.mul_mat, graph.mul_mat * SYNCS_PER_PRODUCT, answer.mul_mat_ns * 1e-6));
    let total: f64 = rows[rows.len() - 2..].iter().map(|it| it.3).sum();
    let ints = |pick: fn(&(&str, u64, u64, f64)) -> u64| {
        Column::Int(rows.iter().map(|it| i64::try_from(pick(it)).ok()).collect())
    };
    Ok(Table::from_columns([
        ("operation", Column::Text(rows.iter().map(|it| Some(it.0.to_owned())).collect())),
        ("count", ints(|it| it.1)),
        ("synchronisations", ints(|it| it.2)),
        ("time_ms", Column::Float(rows.iter().map(|it| Some(it.3)).collect())),
        ("share_percent", Column::Float(rows.iter().map(|it| Some(100.0 * it.3 / total)).collect())),
    ])?)
}

pub fn plot(table: &Table) -> Result<Figure, Error> {
    let (names, counts) = (table.text("operation")?, table.text("count")?);
    let (syncs, times, shares) =
        (table.text("synchronisations")?, table.f64("time_ms")?, table.f64("share_percent")?);
    let header = ["Operation", "Count", "Synchronisations", "Time (ms)", "Share"];
    let text = (0..table.height()).fold(TextTable::new(header), |text, row| {
        let cell = |it: &[Option<String>]| it[row].clone().unwrap_or_default();
        let time = format!("{:.2}", times[row].unwrap_or_default());
        let share = format!("{:.1} %", shares[row].unwrap_or_default());
        text.row([cell(&names), cell(&counts), cell(&syncs), time, share])
    });
    Ok(Figure::two_columns().panel("", text))
}
