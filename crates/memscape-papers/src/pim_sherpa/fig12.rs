//! Fig. 12: end-to-end speedup over a host without PIM.

use memscape_explore::{Parameters, Table};
use memscape_ondevice::mapping::Scheme;
use memscape_plot::{Figure, HeatMap};

use super::common::{TOKENS, scheme, series};
use crate::error::Error;

/// Speedups of all three figures lie between these.
const SPEEDUPS: (f64, f64) = (1.5, 4.0);

fn table(changed: &Parameters, of: Scheme) -> Result<Table, Error> {
    series("ondevice.inference", changed, &[scheme(of)], |it| {
        it.axis("prompt_tokens", TOKENS).axis("generated_tokens", TOKENS)
    })
}

pub fn table_facil(changed: &Parameters) -> Result<Table, Error> {
    table(changed, Scheme::FacilO)
}

pub fn table_ddb(changed: &Parameters) -> Result<Table, Error> {
    table(changed, Scheme::Ddb)
}

pub fn table_owr(changed: &Parameters) -> Result<Table, Error> {
    table(changed, Scheme::Owr)
}

pub fn plot(table: &Table) -> Result<Figure, Error> {
    let names = TOKENS.map(|it| it.to_string()).to_vec();
    let values = TOKENS
        .iter()
        .rev()
        .map(|output| {
            let row = table.filter("generated_tokens", *output)?;
            TOKENS
                .iter()
                .map(|input| {
                    Ok(row.filter("prompt_tokens", *input)?.f64("speedup")?.into_iter().next().flatten())
                })
                .collect()
        })
        .collect::<Result<Vec<Vec<_>>, Error>>()?;
    let map = HeatMap {
        rows: names.iter().rev().cloned().collect(),
        columns: names,
        values,
        row_label: "Output (tokens)".to_owned(),
        column_label: "Input (tokens)".to_owned(),
        value_label: "Speedup (×)".to_owned(),
        decimals: Some(2),
        // One colour scale for the three figures of the paper.
        reach: Some(SPEEDUPS),
        ..HeatMap::default()
    };
    Ok(Figure::one_column().panel("", map).plot_height_in(1.3))
}
