//! Sec. 5.3.1: the products of a whole prompt on one design, or on one per size
//! with the array configured anew in between.

use memscape_explore::{Column, Parameters, Sweep, Table};
use memscape_plot::{Figure, StackedBars};
use memscape_systems::study;
use serde_json::json;

use super::common::{NPUS, about_4k, design, printed, texts};
use crate::error::Error;
use crate::sweeps::{concat, for_preset, with_first_column};

const STRATEGIES: [&str; 3] = ["one-design", "reconfigured", "best-per-size"];

/// Models, and their size as the figure prints it.
const MODELS: [(&str, &str); 2] = [("llama-3.2-1b", "1B"), ("llama-2-7b", "7B")];

pub fn table(changed: &Parameters) -> Result<Table, Error> {
    concat(NPUS.map(|npu| {
        let design = design(&format!("{npu}-int8-int16"))?;
        let mut base = for_preset(changed, npu);
        base.insert("design".to_owned(), design.name.clone().into());
        base.insert("prompt_tokens".to_owned(), 2048.into());
        let sweep = Sweep::of(base).axis("model", MODELS.map(|it| it.0)).axis("strategy", STRATEGIES);
        let table = study("npu.workload")?.sweep(&sweep, &())?.without_errors()?;
        let product = about_4k(changed, design, &[])?.f64("time_ns")?[0];
        let table = table
            .with_column("about_4k_ns", Column::Float(vec![product; MODELS.len() * STRATEGIES.len()]))?;
        with_first_column(table, "npu", npu)
    }))
}

pub fn plot(table: &Table) -> Result<Figure, Error> {
    let mut figure = Figure::two_columns();
    for npu in NPUS {
        let rows = table.filter("npu", json!(npu))?;
        let (models, strategies) = (texts(&rows, "model")?, texts(&rows, "strategy")?);
        let names = models.iter().zip(&strategies).map(|(model, strategy)| {
            let size = MODELS.iter().find(|it| it.0 == model).map_or(model.as_str(), |it| it.1);
            format!("{size}, {}", strategy.replace('-', " "))
        });
        let ms = |column: &str| -> Result<Vec<Option<f64>>, Error> {
            Ok(rows.f64(column)?.into_iter().map(|it| it.map(|it| it * 1e-6)).collect())
        };
        let bars = StackedBars::new("Time of a 2048-token prompt (ms)", names)
            .part("Products", ms("gemm_ns")?)
            .part("Reconfiguration", ms("reconfiguration_ns")?);
        figure = figure.panel(printed(npu), bars);
    }
    Ok(figure)
}
