//! Fig. 4: DRAM that weights take once and twice, for models that run on devices.

use memscape_explore::{Parameters, Table};
use memscape_plot::{Figure, GroupedBars, Reference, Scale};
use serde_json::json;

use super::common::{series, title, without_cpu};
use crate::error::Error;
use crate::sweeps::{distinct, variant};

/// The text names Llama 3.2 3B, Qwen3 8B and Gemma 3 27B; their families stand for
/// the rest.
const MODELS: [&str; 12] = [
    "llama-3.2-1b",
    "llama-3.2-3b",
    "qwen3-0.6b",
    "qwen3-1.7b",
    "qwen3-4b",
    "qwen3-8b",
    "qwen3-14b",
    "qwen3-32b",
    "gemma-3-1b",
    "gemma-3-4b",
    "gemma-3-12b",
    "gemma-3-27b",
];

pub fn table(changed: &Parameters) -> Result<Table, Error> {
    let duplicated = variant("weight duplication", [("scheme", json!("weight-duplication"))]);
    series("ondevice.capacity", &without_cpu(changed), &[duplicated], |it| it.axis("model", MODELS))
}

pub fn plot(table: &Table) -> Result<Figure, Error> {
    let gb = |column: &str| -> Result<Vec<Option<f64>>, Error> {
        Ok(table.f64(column)?.into_iter().map(|it| it.map(|it| it * 1e-9)).collect())
    };
    let models = distinct(table, "model")?;
    let mut bars = GroupedBars::new("DRAM for weights (GB)", models.iter().map(|it| title(it)))
        .series("Host-friendly alone", gb("weight_bytes")?)
        .series("Duplicated", gb("duplication_bytes")?)
        .scale(Scale::Log10);
    bars.references.push(Reference::band("Phones have 8 to 12 GB", 8.0, 12.0));
    Ok(Figure::two_columns().panel("", bars))
}
