//! Fig. 14: per-token and end-to-end speedup, prompt of 1920 and 128 generated
//! tokens.

use memscape_explore::{Parameters, Table};
use memscape_plot::{Figure, GroupedBars};

use super::common::{SUITE, short};
use crate::error::Error;
use crate::sweeps::{sweep_variants, variant};

pub fn table(changed: &Parameters) -> Result<Table, Error> {
    sweep_variants("pim.inference", changed, &[variant("PIMnast-opt", [])], &[("model", &SUITE)])
}

pub fn plot(table: &Table) -> Result<Figure, Error> {
    let models = table.text("model")?.into_iter().flatten().map(|it| short(&it));
    let bars = GroupedBars::new("Speedup over SoC (×)", models)
        .series("Per token", table.f64("token_speedup")?)
        .series("End to end", table.f64("end_to_end_speedup")?)
        .with_average("Average");
    Ok(Figure::two_columns().panel("", bars))
}
