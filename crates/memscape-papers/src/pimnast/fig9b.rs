//! Fig. 9(b): which tile shapes and CR degrees are chosen, as shares of all GEMVs.

use std::collections::BTreeMap;

use memscape_explore::{Column, Parameters, Table};
use memscape_plot::{Figure, GroupedBars};

use super::common::suite;
use crate::error::Error;
use crate::sweeps::variant;

#[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "small counts")]
pub fn table(changed: &Parameters) -> Result<Table, Error> {
    let chosen = suite(changed, &[variant("PIMnast-opt", [])])?;
    let column = |name: &str| -> Result<Vec<i64>, Error> {
        Ok(chosen.f64(name)?.into_iter().flatten().map(|it| it as i64).collect())
    };
    let (m, k, degree) = (column("m_tile")?, column("k_tile")?, column("cr_degree_used")?);
    let mut counts = BTreeMap::new();
    for i in 0..m.len() {
        *counts.entry((m[i], k[i], degree[i])).or_insert(0_i64) += 1;
    }
    let total = m.len() as f64;
    let ints =
        |pick: fn(&(i64, i64, i64)) -> i64| Column::Int(counts.keys().map(|it| Some(pick(it))).collect());
    Ok(Table::from_columns([
        ("m_tile", ints(|it| it.0)),
        ("k_tile", ints(|it| it.1)),
        ("cr_degree", ints(|it| it.2)),
        ("gemvs", Column::Int(counts.values().map(|it| Some(*it)).collect())),
        ("share", Column::Float(counts.values().map(|it| Some(*it as f64 / total)).collect())),
    ])?)
}

pub fn plot(table: &Table) -> Result<Figure, Error> {
    let (m, k, degree) = (table.text("m_tile")?, table.text("k_tile")?, table.text("cr_degree")?);
    let of = |texts: &[Option<String>], i: usize| texts[i].clone().unwrap_or_default();
    let groups = (0..table.height()).map(|i| format!("{}×{}, CR{}", of(&m, i), of(&k, i), of(&degree, i)));
    let shares = table.f64("share")?.into_iter().map(|it| it.map(|it| it * 100.0));
    let bars = GroupedBars::new("Share of GEMVs (%)", groups)
        .series("All GEMVs of the suite", shares)
        .x_label("Tile rows × columns, CR degree")
        .decimals(1);
    Ok(Figure::two_columns().panel("", bars))
}
