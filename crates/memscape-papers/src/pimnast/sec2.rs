//! Sec. II-A: the DRAM bandwidth that one token per 100 ms asks for, weights of
//! 8 bit read once per token.

use memscape_explore::{Column, Parameters, Table};
use memscape_pim::GemvStudy;
use memscape_plot::{Figure, GroupedBars, Scale};
use memscape_workload::{Format, MODELS};

use super::common::{SUITE, short};
use crate::error::Error;

/// Time per token that the section assumes.
const TOKEN_S: f64 = 0.1;

#[expect(clippy::cast_precision_loss, reason = "bytes stay far below 2^53")]
pub fn table(_: &Parameters) -> Result<Table, Error> {
    let bandwidth = SUITE
        .iter()
        .map(|name| {
            let bytes = Format::INT8.storage_bytes(MODELS.find(name)?.parameters.parameters()).0;
            Ok(Some(bytes as f64 / TOKEN_S * 1e-9))
        })
        .collect::<Result<Vec<_>, Error>>()?;
    let models = SUITE.iter().map(|it| Some((*it).to_owned())).collect();
    Ok(Table::from_columns([("model", Column::Text(models)), ("bandwidth_gb_s", Column::Float(bandwidth))])?)
}

pub fn plot(table: &Table) -> Result<Figure, Error> {
    let models = table.text("model")?.into_iter().flatten().map(|it| short(&it));
    let bars = GroupedBars::new("Bandwidth for 10 tokens/s (GB/s)", models)
        .series("8-bit weights, read once per token", table.f64("bandwidth_gb_s")?)
        .scale(Scale::Log10)
        .reference("Eight channels of LPDDR5X-7500", GemvStudy::default().memory.peak_gb_s().as_f64());
    Ok(Figure::one_column().panel("", bars))
}
