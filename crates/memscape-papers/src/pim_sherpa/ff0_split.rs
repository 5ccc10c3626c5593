//! Beyond the paper: FF0 copied beside Q, K, V and O in proportion to their compute
//! time instead of in quarters.

use memscape_explore::{Parameters, Table};
use memscape_plot::{Figure, GroupedBars};
use serde_json::json;

use super::common::series;
use crate::error::Error;
use crate::sweeps::{distinct, variant};

const TOKENS: [u32; 6] = [64, 96, 128, 160, 192, 256];

pub fn table(changed: &Parameters) -> Result<Table, Error> {
    let split = |name: &str, split: &str| variant(name, [("ff0_split", json!(split))]);
    let variants = [split("Quarters (paper)", "equal"), split("By compute time", "by-compute")];
    series("ondevice.prefill", changed, &variants, |it| it.axis("prompt_tokens", TOKENS))
}

pub fn plot(table: &Table) -> Result<Figure, Error> {
    let mut bars = GroupedBars::new("Time beyond GEMM (%)", TOKENS.map(|it| it.to_string()))
        .x_label("Input length (tokens)")
        .decimals(1);
    for name in distinct(table, "series")? {
        let over = table.filter("series", name.as_str())?.f64("over_gemm")?;
        bars = bars.series(name, over.into_iter().map(|it| it.map(|it| 100.0 * (it - 1.0))));
    }
    Ok(Figure::one_column().panel("", bars))
}
