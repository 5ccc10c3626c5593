//! Fig. 13: time to first token when there is room for one copy of the weights.

use memscape_explore::{Parameters, Table};
use memscape_ondevice::mapping::Scheme;
use memscape_plot::{Figure, GroupedBars, Scale};
use serde_json::json;

use super::common::{MODELS, scheme, series};
use crate::error::Error;
use crate::sweeps::{distinct, with};

const TOKENS: [u32; 3] = [64, 128, 192];

pub fn table(changed: &Parameters) -> Result<Table, Error> {
    let schemes = [Scheme::CacheableGemm, Scheme::Ddb, Scheme::Owr, Scheme::NonCacheableGemm].map(scheme);
    series("ondevice.prefill", &with(changed, [("model", json!(MODELS[1]))]), &schemes, |it| {
        it.axis("prompt_tokens", TOKENS)
    })
}

pub fn plot(table: &Table) -> Result<Figure, Error> {
    let chart = |column: &str, label: &str| -> Result<GroupedBars, Error> {
        let mut bars =
            GroupedBars::new(label, TOKENS.map(|it| it.to_string())).x_label("Input length (tokens)");
        for name in distinct(table, "series")? {
            bars = bars.series(name.clone(), table.filter("series", name)?.f64(column)?);
        }
        Ok(bars.scale(Scale::Log10))
    };
    Ok(Figure::two_columns()
        .panel("Time to first token", chart("ttft_s", "Time (s)")?)
        .panel("Prompt tokens per second", chart("prompt_tokens_per_s", "Throughput (tokens/s)")?))
}
