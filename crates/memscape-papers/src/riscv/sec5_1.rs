//! Sec. 5.1: products by columns for two models and two prompts, and what keeps BLAS
//! from them.

use memscape_explore::{Parameters, Table};
use memscape_plot::{Figure, StackedBars};
use serde_json::json;

use super::common::series;
use crate::error::Error;
use crate::sweeps::variant;

pub fn table(_: &Parameters) -> Result<Table, Error> {
    let variants = [
        variant("Llama 2 7B", [("model", json!("llama-2-7b")), ("projections", json!("separate"))]),
        variant("Phi-3 mini", [("model", json!("phi-3-mini")), ("projections", json!("merged"))]),
    ];
    series("riscv.census", &Parameters::new(), &variants, &["prompt_tokens"], &[6, 69])
}

pub fn plot(table: &Table) -> Result<Figure, Error> {
    let (models, prompts) = (table.text("series")?, table.text("prompt_tokens")?);
    let names = models.iter().zip(&prompts).map(|(model, prompt)| {
        format!("{}, prompt {}", model.clone().unwrap_or_default(), prompt.clone().unwrap_or_default())
    });
    let mut bars = StackedBars::new("Share of matrix products (%)", names);
    for (column, name) in [
        ("dimension_only_share", "Too few columns"),
        ("dimension_and_contiguity_share", "Too few columns, not contiguous"),
        ("contiguity_only_share", "Not contiguous"),
        ("blas_share", "BLAS"),
    ] {
        bars = bars.part(name, table.f64(column)?);
    }
    Ok(Figure::two_columns().panel("", bars.shares()))
}
