//! Fig. 10: time to first token over the prompt.

use memscape_explore::{Parameters, Table};
use memscape_ondevice::mapping::Scheme;
use memscape_plot::{Axis, Figure, Lines};
use serde_json::json;

use super::common::{MODELS, scheme, series};
use crate::error::Error;
use crate::sweeps::{distinct, with};

/// Prompts from 32 tokens on, which the text names too.
const TOKENS: [u32; 6] = [32, 64, 96, 128, 160, 192];

fn table(changed: &Parameters, model: &str) -> Result<Table, Error> {
    let schemes = [Scheme::FacilO, Scheme::Ddb, Scheme::Owr].map(scheme);
    series("ondevice.prefill", &with(changed, [("model", json!(model))]), &schemes, |it| {
        it.axis("prompt_tokens", TOKENS)
    })
}

pub fn table_1b(changed: &Parameters) -> Result<Table, Error> {
    table(changed, MODELS[0])
}

pub fn table_3b(changed: &Parameters) -> Result<Table, Error> {
    table(changed, MODELS[1])
}

pub fn plot(table: &Table) -> Result<Figure, Error> {
    let chart = |column: &str, label: &str| -> Result<Lines, Error> {
        let tokens = Axis::linear("Input length (tokens)").range(24.0, 200.0).marks(TOKENS.map(f64::from));
        let mut lines = Lines::new(tokens, Axis::linear(label));
        for name in distinct(table, "series")? {
            let rows = table.filter("series", name.as_str())?;
            let x = rows.f64("prompt_tokens")?.into_iter().flatten();
            lines = lines.curve(name, x.zip(rows.f64(column)?));
        }
        Ok(lines)
    };
    Ok(Figure::two_columns()
        .panel("Prompt tokens per second", chart("prompt_tokens_per_s", "Throughput (tokens/s)")?)
        .panel("Time to first token", chart("ttft_s", "Time (s)")?)
        .caption("Weight duplication takes the time of FACIL-O."))
}
