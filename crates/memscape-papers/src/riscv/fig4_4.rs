//! Fig. 4.4: which cores a NUMA node has, by the numbers that the system gives them.

use memscape_explore::{Column, Parameters, Table, read};
use memscape_plot::{Figure, Order, Tile, TileGrid};
use memscape_riscv::InferenceStudy;

use super::common::without;
use crate::error::Error;

pub fn table(changed: &Parameters) -> Result<Table, Error> {
    let numa = read::<InferenceStudy>(&without(changed, &[]))?.numa;
    let nodes = 0..numa.nodes.get() as usize;
    let pairs: Vec<_> = nodes
        .flat_map(|node| numa.cores.of(node).numbers().map(move |it| (node, it)).collect::<Vec<_>>())
        .collect();
    Ok(Table::from_columns([
        ("node", Column::Int(pairs.iter().map(|it| i64::try_from(it.0).ok()).collect())),
        ("core", Column::Int(pairs.iter().map(|it| Some(i64::from(it.1))).collect())),
    ])?)
}

/// Cores in a row.
const ROW: usize = 16;

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "numbers of cores")]
pub fn plot(table: &Table) -> Result<Figure, Error> {
    let (nodes, cores) = (table.f64("node")?, table.f64("core")?);
    let mut tiles: Vec<Tile> = nodes
        .into_iter()
        .zip(cores)
        .filter_map(|(node, core)| Some((node? as usize, core? as usize)))
        .map(|(bank, order)| Tile { row: order / ROW, column: order % ROW, rows: 1, columns: 1, bank, order })
        .collect();
    tiles.sort_by_key(|it| it.order);
    let rows = tiles.iter().map(|it| it.row + 1).max().unwrap_or(0);
    let grid = TileGrid {
        rows,
        columns: ROW,
        tiles,
        order: Order::Numbers,
        bank_name: "Node".to_owned(),
        ..TileGrid::default()
    };
    Ok(Figure::one_column().panel("", grid).plot_height_in(0.8))
}
