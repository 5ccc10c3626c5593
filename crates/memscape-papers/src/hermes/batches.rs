//! Figs. 11 and 17: throughput over the batch.

use memscape_explore::{Parameters, Table};
use memscape_ndp::study::System;
use memscape_plot::{Axis, Figure, GroupedBars, Lines, Scale};
use serde_json::json;

use super::common::{MODELS, axis, inference, series, short, systems, with_family};
use crate::error::Error;
use crate::sweeps::{concat, distinct};

const BATCHES: [u32; 5] = [1, 2, 4, 8, 16];

pub fn table11(changed: &Parameters) -> Result<Table, Error> {
    let series = systems([
        System::Accelerate,
        System::Flexgen,
        System::DejaVu,
        System::HermesHost,
        System::HermesBase,
        System::Hermes,
    ]);
    with_family(inference(changed, &series, &[axis("model", MODELS), axis("batch", BATCHES)])?)
}

pub fn plot11(table: &Table) -> Result<Figure, Error> {
    let mut figure = Figure::two_columns().columns(3);
    let mut absent = Vec::new();
    for (letter, model) in ('a'..).zip(MODELS) {
        let rows = table.filter("model", model)?;
        let batch = Axis::log2("Batch").marks(BATCHES.map(f64::from));
        let mut lines = Lines::new(batch, Axis::log10("Throughput (tokens/s)"));
        for name in distinct(table, "series")? {
            let rates = series(&rows, &name, "tokens_per_s")?;
            if rates.iter().all(Option::is_none) {
                absent.push(format!("{name} with {}", short(model)));
            }
            lines = lines.curve(name, BATCHES.map(f64::from).into_iter().zip(rates));
        }
        figure = figure.panel(format!("({letter}) {}", short(model)), lines);
    }
    if !absent.is_empty() {
        figure = figure.caption(format!("Not possible (N.P.): {}.", absent.join(", ")));
    }
    Ok(figure.share_axes())
}

/// Five A100 are needed for Llama-2-70B at a batch of 16.
pub fn table17(changed: &Parameters) -> Result<Table, Error> {
    let [hermes, mut tensorrt] = systems([System::Hermes, System::TensorrtLlm]);
    tensorrt.parameters.extend([("gpu", json!("a100-40gb")), ("gpus", json!(5))]);
    let axes = [axis("model", ["llama-2-70b"]), axis("batch", BATCHES)];
    // A changed GPU is Hermes' own.
    let others =
        changed.iter().filter(|it| !it.0.starts_with("gpu")).map(|it| (it.0.clone(), it.1.clone())).collect();
    concat([inference(changed, &[hermes], &axes), inference(&others, &[tensorrt], &axes)])
}

pub fn plot17(table: &Table) -> Result<Figure, Error> {
    let mut bars =
        GroupedBars::new("Throughput (tokens/s)", BATCHES.map(|it| it.to_string())).x_label("Batch");
    for name in distinct(table, "series")? {
        let label = match name.as_str() {
            "Hermes" => "Hermes, one RTX 4090",
            "TensorRT-LLM" => "TensorRT-LLM, five A100-40GB",
            other => other,
        };
        bars = bars.series(label, series(table, &name, "tokens_per_s")?);
    }
    Ok(Figure::one_column().panel("", bars.scale(Scale::Log10)))
}
