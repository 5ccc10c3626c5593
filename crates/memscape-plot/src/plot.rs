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

/// From where to where a chart's numbers go: across, up, and as colours.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Extent {
    pub x: Option<(f64, f64)>,
    pub y: Option<(f64, f64)>,
    pub colour: Option<(f64, f64)>,
}

impl Extent {
    /// What holds both.
    pub fn around(self, other: Self) -> Self {
        let both = |a: Option<(f64, f64)>, b: Option<(f64, f64)>| match (a, b) {
            (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
            (a, b) => a.or(b),
        };
        Self { x: both(self.x, other.x), y: both(self.y, other.y), colour: both(self.colour, other.colour) }
    }
}

/// From the smallest to the largest of numbers; none of none.
pub(crate) fn extent_of(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.fold(None, |all, it| match all {
        None => Some((it, it)),
        Some((low, high)) => Some((it.min(low), it.max(high))),
    })
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
    /// What it shows, in sentences.
    fn describe(&self) -> String;
    /// Of what it is, without its numbers: how it begins to describe itself.
    fn subject(&self) -> String {
        let all = self.describe();
        all.split_once(": ").map_or(all.trim_end_matches('.'), |it| it.0).to_owned()
    }
    /// From where to where its numbers go; none if others have no use for it.
    fn extent(&self) -> Option<Extent> {
        None
    }
    /// Has its axes and colours cover this too.
    fn reach(&mut self, _extent: Extent) {}
    /// Which share of a plot this large stays free for what is written at the ends of its bars, and what its
    /// axis covers with others; none if it has no such room, or an axis for itself.
    fn headroom(&self, _width: f64, _height: f64) -> Option<(f64, (f64, f64))> {
        None
    }
    /// Has at least this share stay free.
    fn keep_free(&mut self, _share: f64) {}
}
