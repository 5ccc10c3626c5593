//! Figs. 14 to 16 and beyond: throughput over DIMMs, GPUs, multipliers, dollars.

use memscape_explore::{Parameters, Table};
use memscape_ndp::study::System;
use memscape_plot::{Axis, Figure, GroupedBars, Lines};
use serde_json::json;

use super::common::{MODELS, axis, inference, series, short, systems};
use crate::error::Error;
use crate::sweeps::{distinct, variant};

const DIMMS: [u32; 5] = [1, 2, 4, 8, 16];
const DIMM_MODELS: [&str; 4] = ["opt-13b", "opt-30b", "falcon-40b", "llama-2-70b"];
const GPU_MODELS: [&str; 2] = ["opt-13b", "opt-30b"];
const MULTIPLIERS: [u32; 5] = [32, 64, 128, 256, 512];
/// Multipliers of the paper's DIMM.
const PLACED_FOR: u32 = 256;
const MULTIPLIER_BATCHES: [u32; 5] = [1, 2, 4, 8, 16];

pub fn table14(changed: &Parameters) -> Result<Table, Error> {
    inference(changed, &systems([System::Hermes]), &[axis("model", DIMM_MODELS), axis("dimms", DIMMS)])
}

pub fn plot14(table: &Table) -> Result<Figure, Error> {
    let mut bars = GroupedBars::new("Throughput (tokens/s)", DIMM_MODELS.map(short));
    for dimms in DIMMS {
        let rows = table.filter("dimms", i64::from(dimms))?;
        let label = if dimms == 1 { "1 DIMM".to_owned() } else { format!("{dimms} DIMMs") };
        bars = bars.series(label, rows.f64("tokens_per_s")?);
    }
    let bars = GroupedBars { missing: Some("N.P.".to_owned()), ..bars };
    Ok(Figure::two_columns().panel("", bars.graded()))
}

pub fn table15(changed: &Parameters) -> Result<Table, Error> {
    let gpu = |name: &str, id: &str| variant(name, [("gpu", json!(id))]);
    let gpus = [gpu("RTX 4090", "rtx-4090"), gpu("RTX 3090", "rtx-3090"), gpu("Tesla T4", "tesla-t4")];
    inference(changed, &gpus, &[axis("model", GPU_MODELS)])
}

pub fn plot15(table: &Table) -> Result<Figure, Error> {
    let mut bars = GroupedBars::new("Throughput (tokens/s)", GPU_MODELS.map(short));
    for name in distinct(table, "series")? {
        bars = bars.series(name.clone(), series(table, &name, "tokens_per_s")?);
    }
    Ok(Figure::one_column().panel("", bars))
}

/// The partition is made once, for the DIMM that the paper settles on, and the GPU
/// computes what it was given.
pub fn table16(changed: &Parameters) -> Result<Table, Error> {
    let mut frozen = changed.clone();
    frozen.entry("exchange".to_owned()).or_insert_with(|| json!("unchecked"));
    frozen.entry("placed_for_multipliers".to_owned()).or_insert_with(|| json!(PLACED_FOR));
    let axes = [
        axis("model", ["opt-13b"]),
        axis("batch", MULTIPLIER_BATCHES),
        axis("dimm.multipliers", MULTIPLIERS),
    ];
    inference(&frozen, &systems([System::Hermes]), &axes)
}

pub fn plot16(table: &Table) -> Result<Figure, Error> {
    let mut lines = Lines::new(
        Axis::log2("Multipliers per DIMM").marks(MULTIPLIERS.map(f64::from)),
        Axis::linear("Speedup over 32 multipliers (×)"),
    );
    for batch in MULTIPLIER_BATCHES {
        let rates = table.filter("batch", i64::from(batch))?.f64("tokens_per_s")?;
        let least = rates[0];
        let points = MULTIPLIERS.map(f64::from).into_iter().zip(rates);
        lines = lines.curve(
            format!("Batch {batch}"),
            points.map(|(x, y)| (x, y.zip(least).map(|(y, least)| y / least))),
        );
    }
    Ok(Figure::one_column().panel("", lines.upright("Chosen in the paper", f64::from(PLACED_FOR))))
}

/// Beyond the paper: what a thousand dollars buy, system by system.
pub fn table_dollar(changed: &Parameters) -> Result<Table, Error> {
    let [hermes, base] = systems([System::Hermes, System::HermesBase]);
    let [mut tensorrt] = systems([System::TensorrtLlm]);
    tensorrt.parameters.extend([("gpu", json!("a100-40gb")), ("gpus", json!(5))]);
    inference(changed, &[hermes, base, tensorrt], &[axis("model", MODELS)])
}

pub fn plot_dollar(table: &Table) -> Result<Figure, Error> {
    let mut bars = GroupedBars::new("Tokens/s per 1000 dollars", MODELS.map(short));
    for name in distinct(table, "series")? {
        let label = if name == "TensorRT-LLM" { "TensorRT-LLM, five A100-40GB" } else { &name };
        bars = bars.series(label, series(table, &name, "tokens_per_s_per_kusd")?);
    }
    Ok(Figure::two_columns().panel("", bars))
}
