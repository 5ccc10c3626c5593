//! Fig. 14: per-token and end-to-end speedup, prompt of 1920 and 128 generated
//! tokens.

use memscape_explore::{Parameters, Table};
use memscape_plot::{Figure, GroupedBars};
use serde_json::json;

use super::common::{SUITE, as_printed, short};
use crate::error::Error;
use crate::sweeps::{sweep_variants, variant};

/// Rows of a bank where a channel has 32 Gb: OPT-30B does not fit the described 16 Gb.
const ROWS: u32 = 131_072;

pub fn table(changed: &Parameters) -> Result<Table, Error> {
    let variants = [variant("PIMnast-opt", [("memory.rows", json!(ROWS))])];
    sweep_variants("pim.inference", &as_printed(changed), &variants, &[("model", &SUITE)])
}

pub fn plot(table: &Table) -> Result<Figure, Error> {
    let models = table.text("model")?.into_iter().flatten().map(|it| short(&it));
    let bars = GroupedBars::new("Speedup over SoC (×)", models)
        .series("Per token", table.f64("token_speedup")?)
        .series("End to end", table.f64("end_to_end_speedup")?)
        .with_average("Average");
    let caption = "With 32 GiB: OPT-30B, its keys and values do not fit the 16 GiB of the described machine. \
                   The paper prints no capacity; no time depends on it.";
    Ok(Figure::two_columns().caption(caption).panel("", bars))
}
