//! Figures in one look, from plain data.
//!
//! A [`Figure`] is a row or grid of panels, each a [`Chart`]: [`GroupedBars`],
//! [`StackedBars`], [`Lines`], [`HeatMap`], [`TileGrid`], [`Gantt`], [`Tornado`] or
//! [`TextTable`]. It becomes SVG, PNG or PDF without any installed font, and the same data gives
//! the same bytes. A chart knows nothing of studies or data frames.
//!
//! How a figure comes to be: every chart says which margins its labels need,
//! [`Figure`] lays the panels out (legends above the plots, never over them),
//! charts put shapes on a page in points, a [`style::Style`] says in which colours and how
//! large, and the page is written as text, drawn by plotters, or set as a document.

#![expect(clippy::cast_precision_loss, reason = "counts of bars and rows are far below 2^52")]

mod axis;
mod bars;
mod bitmap;
mod canvas;
mod curves;
mod dark;
mod error;
mod face;
mod figure;
mod gantt;
mod heat;
mod labels;
mod legend;
mod numbers;
mod pdf;
mod plot;
mod series;
mod stacked;
pub mod style;
mod svg;
mod table;
mod tiles;
mod tornado;

#[cfg(test)]
mod tests;

pub use axis::{Axis, Scale};
pub use bars::{GroupedBars, Values};
pub use canvas::Fill;
pub use curves::{Curve, Lines, Mark};
pub use error::PlotError;
pub use figure::{Chart, Figure, Format, Panel};
pub use gantt::{Busy, Gantt};
pub use heat::HeatMap;
pub use series::{Reference, Series};
pub use stacked::StackedBars;
pub use style::Style;
pub use table::TextTable;
pub use tiles::{Order, Tile, TileGrid};
pub use tornado::Tornado;
