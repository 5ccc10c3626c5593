//! Figs. 9 and 10: throughput beside other systems.

use memscape_explore::{Parameters, Table};
use memscape_ndp::study::System;
use memscape_plot::{Figure, GroupedBars, Scale};

use super::common::{MODELS, OPT, axis, derive, inference, series, short, systems};
use crate::error::Error;
use crate::sweeps::distinct;

pub fn table9(changed: &Parameters) -> Result<Table, Error> {
    let series =
        systems([System::Accelerate, System::Flexgen, System::DejaVu, System::HermesHost, System::Hermes]);
    let table = inference(changed, &series, &[axis("model", OPT)])?;
    derive(table, "kind", "series", |it| match it {
        "Accelerate" | "FlexGen" => "offloading".to_owned(),
        other => other.to_owned(),
    })
}

pub fn table10(changed: &Parameters) -> Result<Table, Error> {
    let series = systems([System::Accelerate, System::HermesHost, System::HermesBase, System::Hermes]);
    inference(changed, &series, &[axis("model", MODELS)])
}

pub fn plot9(table: &Table) -> Result<Figure, Error> {
    Ok(Figure::two_columns().panel("", bars(table, &OPT)?))
}

pub fn plot10(table: &Table) -> Result<Figure, Error> {
    Ok(Figure::two_columns().panel("", bars(table, &MODELS)?))
}

fn bars(table: &Table, models: &[&str]) -> Result<GroupedBars, Error> {
    let mut bars = GroupedBars::new("Throughput (tokens/s)", models.iter().map(|it| short(it)));
    for name in distinct(table, "series")? {
        bars = bars.series(name.clone(), series(table, &name, "tokens_per_s")?);
    }
    let bars = bars.scale(Scale::Log10).with_average("Average");
    Ok(GroupedBars { missing: Some("N.P.".to_owned()), ..bars })
}
