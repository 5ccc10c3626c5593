//! Figures in one look, from plain data.
//!
//! A [`Figure`] is a row or grid of panels, each a [`Chart`]: [`GroupedBars`],
//! [`StackedBars`], [`Lines`], [`HeatMap`], [`TileGrid`], [`Gantt`] or [`TextTable`]. It
//! renders to SVG and PNG without any installed font, and the same data gives
//! the same bytes. A chart knows nothing of studies or data frames.
//!
//! How a figure comes to be: every chart says which margins its labels need,
//! [`Figure`] lays the panels out (legends above the plots, never over them),
//! charts put shapes on a page in points, and plotters draws the page.

#![expect(clippy::cast_precision_loss, reason = "counts of bars and rows are far below 2^52")]

mod axis;
mod bars;
mod canvas;
mod curves;
mod error;
mod figure;
mod gantt;
mod grids;
mod labels;
mod legend;
mod numbers;
mod plot;
mod series;
pub mod style;
mod table;

#[cfg(test)]
mod tests;

pub use axis::{Axis, Scale};
pub use bars::{GroupedBars, StackedBars, Values};
pub use curves::{Curve, Lines, Mark};
pub use error::PlotError;
pub use figure::{Chart, Figure, Panel};
pub use gantt::{Busy, Gantt};
pub use grids::{HeatMap, Order, Tile, TileGrid};
pub use series::{Reference, Series};
pub use table::TextTable;
