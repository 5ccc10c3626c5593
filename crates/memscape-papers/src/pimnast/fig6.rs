//! Fig. 6: tile shape and tile order, told apart: nine placements of a small
//! matrix over two banks.

use memscape_explore::{Column, Parameters, Table};
use memscape_pim::mapping::placement::{TileOrder, TileShape, tile_order};
use memscape_plot::{Figure, Order, Tile, TileGrid};

use crate::error::Error;
use crate::sweeps::distinct;

/// An 8 x 8 matrix in tiles of four elements over two banks.
const SIZE: u64 = 8;
const BANKS: u64 = 2;
const SHAPES: [(&str, TileShape); 3] = [
    ("column-vector tiles", TileShape { m: 4, k: 1 }),
    ("2D tiles", TileShape { m: 2, k: 2 }),
    ("row-vector tiles", TileShape { m: 1, k: 4 }),
];
const ORDERS: [(&str, TileOrder); 3] = [
    ("column order", TileOrder::Column),
    ("CR order", TileOrder::ColumnRow { degree: 1 }),
    ("row order", TileOrder::Row),
];

pub fn table(_: &Parameters) -> Result<Table, Error> {
    let (mut shapes, mut orders) = (Vec::new(), Vec::new());
    let mut numbers: [Vec<Option<i64>>; 6] = Default::default();
    for (shape_name, shape) in SHAPES {
        for (order_name, order) in ORDERS {
            let tiles = tile_order(SIZE / shape.m, SIZE / shape.k, BANKS, order);
            for (position, tile) in (0..).zip(tiles) {
                shapes.push(Some(shape_name.to_owned()));
                orders.push(Some(order_name.to_owned()));
                let row =
                    [tile.row * shape.m, tile.column * shape.k, shape.m, shape.k, position, position % BANKS];
                for (column, value) in numbers.iter_mut().zip(row) {
                    column.push(i64::try_from(value).ok());
                }
            }
        }
    }
    let [row, column, rows, columns, position, bank] = numbers.map(Column::Int);
    Ok(Table::from_columns([
        ("shape", Column::Text(shapes)),
        ("order", Column::Text(orders)),
        ("first_row", row),
        ("first_column", column),
        ("rows", rows),
        ("columns", columns),
        ("position", position),
        ("bank", bank),
    ])?)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positions in a small matrix")]
pub fn plot(table: &Table) -> Result<Figure, Error> {
    let size = SIZE as usize;
    let mut figure = Figure::two_columns().columns(3).caption(
        "Colours are banks, numbers the order in memory. CR order keeps a row of tiles in one bank and, in \
         the bank, next to each other; column order does so only where there are as many tile rows as banks.",
    );
    for shape in distinct(table, "shape")? {
        for order in distinct(table, "order")? {
            let tiles = table.filter("shape", shape.as_str())?.filter("order", order.as_str())?;
            let column = |name: &str| -> Result<Vec<usize>, Error> {
                Ok(tiles.f64(name)?.into_iter().flatten().map(|it| it as usize).collect())
            };
            let [row, first, rows, columns, position, bank] =
                ["first_row", "first_column", "rows", "columns", "position", "bank"].map(column);
            let (row, first, rows, columns, position, bank) =
                (row?, first?, rows?, columns?, position?, bank?);
            let tiles = (0..row.len()).map(|i| Tile {
                row: row[i],
                column: first[i],
                rows: rows[i],
                columns: columns[i],
                bank: bank[i],
                order: position[i],
            });
            let grid = TileGrid {
                rows: size,
                columns: size,
                tiles: tiles.collect(),
                order: Order::Numbers,
                ..TileGrid::default()
            };
            figure = figure.panel(format!("{shape}, {order}"), grid);
        }
    }
    Ok(figure)
}
