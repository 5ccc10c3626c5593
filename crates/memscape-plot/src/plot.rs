//! What every kind of chart can do.

use crate::canvas::{Rect, Scene};
use crate::error::PlotError;
use crate::legend::Entry;

/// What a chart takes around its plot, in points.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Margins {
    pub left: f64,
    pub right: f64,
    pub top: f64,
    pub bottom: f64,
}

/// A kind of chart. Everything but `check` may rely on checked data.
pub(crate) trait Plot {
    fn check(&self) -> Result<(), PlotError>;
    fn legend(&self) -> Vec<Entry>;
    /// The height that suits a plot of this width.
    fn plot_height(&self, width: f64) -> f64;
    /// What it takes of a panel this wide, around a plot this high.
    fn margins(&self, width: f64, height: f64) -> Margins;
    /// Draws the plot into `area` and its labels around it.
    fn draw(&self, scene: &mut Scene, area: Rect);
}
