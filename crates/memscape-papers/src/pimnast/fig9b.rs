//! Fig. 9(b): which tile shapes and CR degrees are chosen, as shares of all GEMVs.

use std::collections::BTreeMap;

use memscape_explore::{Column, Parameters, Table};
use memscape_plot::{Figure, HeatMap};

use super::common::suite;
use crate::error::Error;
use crate::sweeps::{distinct, variant};

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
    let shares = table.f64("share")?;
    let text = |texts: &[Option<String>], row: usize| texts[row].clone().unwrap_or_default();
    let tile = |row: usize| (text(&m, row), text(&k, row));
    let mut tiles: Vec<_> = (0..table.height()).map(tile).collect();
    tiles.dedup();
    let mut degrees = distinct(table, "cr_degree")?;
    degrees.sort_by_key(|it| it.parse::<u64>().unwrap_or_default());
    // What is never chosen is none.
    let share = |of: &(String, String), at: &String| {
        let row = (0..table.height()).find(|it| tile(*it) == *of && degree[*it].as_ref() == Some(at));
        Some(row.and_then(|it| shares[it]).unwrap_or(0.0) * 100.0)
    };
    let map = HeatMap {
        rows: tiles.iter().map(|(m, k)| format!("{m} × {k}")).collect(),
        values: tiles.iter().map(|it| degrees.iter().map(|at| share(it, at)).collect()).collect(),
        columns: degrees,
        row_label: "Tile".to_owned(),
        column_label: "CR degree".to_owned(),
        value_label: "Share of GEMVs (%)".to_owned(),
        decimals: Some(1),
        ..HeatMap::default()
    };
    Ok(Figure::one_column().panel("", map))
}
