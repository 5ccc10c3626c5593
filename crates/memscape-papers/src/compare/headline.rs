//! Time to first token, tokens per second, and the energy of a token, platform by platform.

use memscape_explore::{Column, Parameters, Table};
use memscape_plot::{Figure, GroupedBars, Scale, Series};
use memscape_systems::compare::Workload;

use super::common::{MODEL, ask, question};
use crate::error::Error;

const SHOWN: [&str; 20] = [
    "platform",
    "machine",
    "variant",
    "study",
    "model",
    "format",
    "prompt_tokens",
    "generated_tokens",
    "batch",
    "ttft_s",
    "generation_tokens_per_s",
    "total_s",
    "tokens_per_s",
    "memory_bytes",
    "bound_by",
    "energy_boundary",
    "energy_grade",
    "energy_per_token_j",
    "error",
    "assumptions",
];

pub fn table(changed: &Parameters) -> Result<Table, Error> {
    let table = ask(&[question(Workload::of(MODEL), changed, &[])?])?;
    // Tokens per joule have the ends; a token's energy is the inverse.
    let inverse = |column: &str| -> Result<Column, Error> {
        Ok(Column::Float(table.f64(column)?.into_iter().map(|it| it.map(f64::recip)).collect()))
    };
    let (low, high) = (inverse("high_tokens_per_j")?, inverse("low_tokens_per_j")?);
    Ok(table
        .select(&SHOWN)?
        .with_column("energy_per_token_low_j", low)?
        .with_column("energy_per_token_high_j", high)?)
}

pub fn plot(table: &Table) -> Result<Figure, Error> {
    let platforms: Vec<String> = table.text("platform")?.into_iter().flatten().collect();
    let bars = |column: &str, label: &str| -> Result<GroupedBars, Error> {
        let series = Series::new("", table.f64(column)?);
        let bars = GroupedBars { series: vec![series], ..GroupedBars::new(label, platforms.clone()) };
        Ok(bars.scale(Scale::Log10))
    };
    let mut energy = bars("energy_per_token_j", "Energy (J/token)")?;
    let boundaries = table.text("energy_boundary")?;
    for series in &mut energy.series {
        // That of modules alone would stand beside that of whole memories.
        let all = boundaries.iter().map(|it| it.as_deref() == Some("device"));
        series.values.iter_mut().zip(all).filter(|it| !it.1).for_each(|(value, _)| *value = None);
    }
    let ends = table.f64("energy_per_token_low_j")?.into_iter().zip(table.f64("energy_per_token_high_j")?);
    let ends = ends.map(|(low, high)| low.zip(high)).collect();
    energy.series.iter_mut().for_each(|it| it.spread.clone_from(&ends));
    Ok(Figure::two_columns()
        .columns(1)
        .plot_height_in(0.95)
        .panel("(a) Time to the first token", bars("ttft_s", "Time (s)")?)
        .panel("(b) Prompt and reply together", bars("tokens_per_s", "Tokens/s")?)
        .panel("(c) All DRAM, where a source gives it", energy)
        .caption(
            "Formats, caches and software are those of the published systems and differ; the table's `assumptions` \
             say how. Bars of energy reach from its low to its high end.",
        ))
}
