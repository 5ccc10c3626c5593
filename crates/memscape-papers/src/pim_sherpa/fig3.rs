//! Fig. 3: one channel, one rank, four banks, one row of three columns; a matrix of
//! four lines of three bursts, host-friendly and PIM-aware.
//!
//! The text does not say which digit of the address counts bursts, and with banks
//! lowest both layouts would be the same: both orders are shown.

use std::num::NonZeroU32;

use memscape_explore::{Column, Parameters, Table};
use memscape_ondevice::MapText;
use memscape_ondevice::hardware::{Dims, PimBlocks};
use memscape_ondevice::mapping::layout::{HostOrder, Layout, Placement};
use memscape_plot::{Figure, Tile, TileGrid};
use memscape_workload::{Element, Gemv};

use crate::error::Error;
use crate::sweeps::distinct;

const DIMS: Dims = Dims { banks: 4, columns: 3, ..Dims::ONE };
const LANES: u64 = 16;
const ORDERS: [(&str, &str); 2] = [
    ("column digit lowest", "column bank channel rank row"),
    ("bank digit lowest", "bank column channel rank row"),
];

pub fn table(_: &Parameters) -> Result<Table, Error> {
    let one = NonZeroU32::MIN;
    let pim = PimBlocks { input_registers: one, output_registers: one, banks_per_block: one };
    let matrix = Gemv::new(DIMS.banks * LANES, DIMS.columns).map_err(Error::no_answer)?;
    let bits = LANES * Element::Bf16.bits();
    let layout = Layout::on(DIMS, bits, matrix, Element::Bf16, Placement::ColumnBursts, &pim, 0)
        .map_err(Error::no_answer)?;
    let (mut orders, mut layouts) = (Vec::new(), Vec::new());
    let mut numbers: [Vec<Option<i64>>; 5] = Default::default();
    for (name, text) in ORDERS {
        let map = text.parse::<MapText>().and_then(|it| it.map(DIMS)).map_err(Error::no_answer)?;
        for (kind, pim_aware) in [("host-friendly", false), ("PIM-aware", true)] {
            for burst in 0..layout.line_bursts() {
                for line in 0..layout.lines() {
                    // The host fills consecutive addresses along matrix columns.
                    let in_order =
                        HostOrder::ColumnMajor.index(layout.lines(), layout.line_bursts(), line, burst);
                    let place = if pim_aware {
                        layout.place(layout.slot(line, burst))
                    } else {
                        map.decode(in_order).unwrap_or_default()
                    };
                    orders.push(Some(name.to_owned()));
                    layouts.push(Some(kind.to_owned()));
                    let row = [line, burst, place.bank, place.column].map(Some);
                    for (column, value) in numbers.iter_mut().zip(row.into_iter().chain([map.encode(&place)]))
                    {
                        column.push(value.and_then(|it| i64::try_from(it).ok()));
                    }
                }
            }
        }
    }
    let [line, burst, bank, column, address] = numbers.map(Column::Int);
    Ok(Table::from_columns([
        ("address_order", Column::Text(orders)),
        ("layout", Column::Text(layouts)),
        ("line", line),
        ("burst", burst),
        ("bank", bank),
        ("column", column),
        ("address", address),
    ])?)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positions in a small matrix")]
pub fn plot(table: &Table) -> Result<Figure, Error> {
    let mut figure = Figure::two_columns().columns(4).caption(
        "Each cell is a burst of 16 rows of one matrix column; colours are banks, numbers the host's addresses. \
         PIM-aware, whole matrix rows lie in one bank.",
    );
    for order in distinct(table, "address_order")? {
        for layout in distinct(table, "layout")? {
            let cells = table.filter("address_order", order.as_str())?.filter("layout", layout.as_str())?;
            let column = |name: &str| -> Result<Vec<usize>, Error> {
                Ok(cells.f64(name)?.into_iter().flatten().map(|it| it as usize).collect())
            };
            let (line, burst, bank, address) =
                (column("line")?, column("burst")?, column("bank")?, column("address")?);
            let tiles = (0..line.len()).map(|it| Tile {
                row: line[it],
                column: burst[it],
                rows: 1,
                columns: 1,
                bank: bank[it],
                order: address[it],
            });
            let grid = TileGrid { rows: 4, columns: 3, tiles: tiles.collect(), ..TileGrid::default() };
            figure = figure.panel(format!("{layout}, {order}"), grid);
        }
    }
    Ok(figure.plot_height_in(0.7))
}
