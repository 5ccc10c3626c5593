//! Beyond the paper: PIMnast's placement beside the best of an exhaustive search.

use memscape_explore::{Parameters, Table};
use memscape_plot::{Figure, HeatMap};

use super::common::{GEMVS, SUITE, short};
use crate::error::Error;
use crate::sweeps::{distinct, sweep_variants, variant};

pub fn table(changed: &Parameters) -> Result<Table, Error> {
    sweep_variants(
        "pim.regret",
        changed,
        &[variant("PIMnast-opt", [])],
        &[("model", &SUITE), ("gemv", &GEMVS)],
    )
}

pub fn plot(table: &Table) -> Result<Figure, Error> {
    let (models, gemvs) = (distinct(table, "model")?, distinct(table, "gemv")?);
    let map = |column: &str| -> Result<HeatMap, Error> {
        let values = table.f64(column)?.chunks(gemvs.len()).map(<[_]>::to_vec).collect();
        Ok(HeatMap {
            rows: models.iter().map(|it| short(it)).collect(),
            columns: gemvs.iter().map(|it| it.to_uppercase()).collect(),
            values,
            row_label: "OPT model".to_owned(),
            column_label: "GEMV".to_owned(),
            value_label: "Chosen time / best time".to_owned(),
            decimals: Some(2),
            ..HeatMap::default()
        })
    };
    Ok(Figure::two_columns()
        .panel("(a) Best without split-K", map("unsplit_regret")?)
        .panel("(b) Best with split-K, reduction charged", map("regret")?)
        .share_axes())
}
