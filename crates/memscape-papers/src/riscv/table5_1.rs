//! Table 5.1: one token on 64 threads by operation, llama.cpp's own kernel on a file of `q4_k_m`, pages
//! interleaved. Operations beside the matrix products are their synchronisation.
//!
//! No compiler is printed. Every other run under a NUMA policy is Clang 19's (captions of Figs. 5.9 to 5.11), so
//! this one is read as such; that was decided with the printed 297 ms in sight.

use memscape_explore::{Column, Parameters, Table, read};
use memscape_plot::{Figure, TextTable};
use memscape_riscv::InferenceStudy;
use memscape_riscv::graph::{Graph, SYNCS_PER_PRODUCT};
use memscape_study::Study;
use serde_json::json;

use super::common::{NOTHING, of_inference};
use crate::error::Error;
use crate::sweeps::with;

/// Rows of the paper that are no step of the model: all but the last move no data.
const NO_STEP: [&str; 5] = ["RESHAPE", "VIEW", "PERMUTE", "TRANSPOSE", "GET_ROWS"];
/// The sum of all rows but the matrix products, whose work no one prints.
const OTHERS: &str = "all but MUL_MAT";

/// What the model says of a row.
#[derive(Clone, Copy)]
struct Step {
    count: u64,
    syncs: u64,
    ms: f64,
}

#[expect(clippy::cast_precision_loss, reason = "counts of one graph")]
pub fn table(changed: &Parameters) -> Result<Table, Error> {
    let run = [
        ("kernel", json!("default")),
        ("format", json!("q4_k_m")),
        ("compiler", json!("clang-19")),
        ("threads", json!(64)),
        ("policy", json!("interleave")),
    ];
    let parameters = with(&of_inference(changed), run);
    let study: InferenceStudy = read(&parameters)?;
    let answer = study.answer().map_err(|it| memscape_explore::Error::BadSweep(it.to_string()))?;
    let graph = Graph::of(&study.model, study.projections);
    let syncs = graph.other_syncs() + graph.product_syncs();
    let sync_ms = answer.synchronisation_ns / syncs as f64 * 1e-6;
    let alone = |name, count| (name, Some(Step { count, syncs: count, ms: count as f64 * sync_ms }));
    let product_ms = answer.mul_mat_ns * 1e-6;
    let product = Step { count: graph.mul_mat, syncs: graph.mul_mat * SYNCS_PER_PRODUCT, ms: product_ms };
    let rows: Vec<(&str, Option<Step>)> = graph
        .others()
        .map(|(name, count)| alone(name, count))
        .chain(NO_STEP.map(|it| (it, None)))
        .chain([alone(OTHERS, graph.other_syncs()), ("MUL_MAT", Some(product))])
        .collect();
    let total = graph.other_syncs() as f64 * sync_ms + product_ms;
    let ints =
        |pick: fn(Step) -> u64| Column::Int(rows.iter().map(|it| i64::try_from(pick(it.1?)).ok()).collect());
    let floats = |pick: &dyn Fn(Step) -> f64| Column::Float(rows.iter().map(|it| it.1.map(pick)).collect());
    Ok(Table::from_columns([
        ("operation", Column::Text(rows.iter().map(|it| Some(it.0.to_owned())).collect())),
        ("count", ints(|it| it.count)),
        ("synchronisations", ints(|it| it.syncs)),
        ("time_ms", floats(&|it| it.ms)),
        ("share_percent", floats(&|it| 100.0 * it.ms / total)),
    ])?)
}

pub fn plot(table: &Table) -> Result<Figure, Error> {
    let (names, counts) = (table.text("operation")?, table.text("count")?);
    let (syncs, times, shares) =
        (table.text("synchronisations")?, table.f64("time_ms")?, table.f64("share_percent")?);
    let header = ["Operation", "Count", "Synchronisations", "Time (ms)", "Share"];
    let text = (0..table.height()).fold(TextTable::new(header), |text, row| {
        let cell = |it: &[Option<String>]| it[row].clone().unwrap_or_else(|| NOTHING.to_owned());
        let time = times[row].map_or_else(|| NOTHING.to_owned(), |it| format!("{it:.2}"));
        let share = shares[row].map_or_else(|| NOTHING.to_owned(), |it| format!("{it:.1} %"));
        text.row([cell(&names), cell(&counts), cell(&syncs), time, share])
    });
    let caption = "The model knows the sum of all but MUL_MAT, and divides it by synchronisations.";
    Ok(Figure::two_columns().panel("", text).caption(caption))
}
