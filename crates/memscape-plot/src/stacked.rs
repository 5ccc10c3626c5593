//! Stacked bars: breakdowns.

use serde::{Deserialize, Serialize};

use crate::axis::{Scale, Span, Upright};
use crate::bars::{Values, draw_missing};
use crate::canvas::{Align, Rect, Scene};
use crate::error::PlotError;
use crate::labels::Labels;
use crate::legend::Entry;
use crate::numbers::{beside, decimals_beside, from_to, signed};
use crate::plot::{Extent, Margins, Plot, extent_of};
use crate::series::{Series, bar_legend, check_length, check_series, check_value, colour_of, draw_bar};
use crate::style::{Colour, FADED, Font, GRID, SPINE_WIDTH};

/// Bars whose parts lie on top of each other: a breakdown.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct StackedBars {
    /// One name per bar.
    pub bars: Vec<String>,
    /// The parts from the bottom up, one value per bar each, none negative.
    pub series: Vec<Series>,
    /// What the height means, with its unit.
    pub y_label: String,
    /// What the bars are, if it needs saying.
    pub x_label: String,
    /// Whether every bar is scaled to 100 %.
    pub shares: bool,
    /// Names of consecutive bars that belong together, and how many they are;
    /// either none, or as many bars as there are in all.
    pub clusters: Vec<(String, usize)>,
    /// Whether parts carry their value.
    pub values: Values,
    /// Decimals of the values; by their size if missing.
    pub decimals: Option<usize>,
    /// Whether a bar's total stands above it, where it fits.
    pub totals: bool,
    /// What the axis covers besides the bars.
    pub reach: Option<f64>,
}

impl StackedBars {
    /// A chart without parts yet.
    pub fn new<B: Into<String>>(y_label: impl Into<String>, bars: impl IntoIterator<Item = B>) -> Self {
        Self { y_label: y_label.into(), bars: bars.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// Adds a part on top of the others.
    #[must_use]
    pub fn part<V: Into<Option<f64>>>(
        mut self,
        name: impl Into<String>,
        values: impl IntoIterator<Item = V>,
    ) -> Self {
        self.series.push(Series::new(name, values));
        self
    }

    /// Scales every bar to 100 %.
    #[must_use]
    pub fn shares(mut self) -> Self {
        self.shares = true;
        self
    }

    /// Writes the total above every bar.
    #[must_use]
    pub fn totals(mut self) -> Self {
        self.totals = true;
        self
    }

    /// Puts the next `bars` bars under a common name.
    #[must_use]
    pub fn cluster(mut self, name: impl Into<String>, bars: usize) -> Self {
        self.clusters.push((name.into(), bars));
        self
    }

    /// Says what the bars are.
    #[must_use]
    pub fn x_label(mut self, label: impl Into<String>) -> Self {
        self.x_label = label.into();
        self
    }

    fn total(&self, bar: usize) -> Option<f64> {
        let mut parts = self.series.iter().filter_map(|it| it.values[bar]).peekable();
        parts.peek().is_some().then(|| parts.sum())
    }

    fn axis(&self, height: f64) -> Upright<'_> {
        let highest = (0..self.bars.len()).filter_map(|it| self.total(it));
        let span = if self.shares {
            Span::of_bars(Scale::Linear, [100.0].into_iter(), 0.0)
        } else {
            let room = if self.totals { (Font::VALUE.line() + 2.0) / height } else { 0.03 };
            Span::of_bars(Scale::Linear, highest.chain(self.reach), room)
        };
        Upright::new(span, &self.y_label, height)
    }

    fn names(&self, width: f64) -> Labels {
        Labels::fit(&self.bars, width / self.bars.len() as f64)
    }

    fn part_text(&self, value: f64) -> String {
        let totals = (0..self.bars.len()).filter_map(|it| self.total(it));
        match self.decimals {
            Some(decimals) => signed(value, decimals),
            None if self.shares => signed(value, 0),
            None => beside(value, decimals_beside(totals)),
        }
    }

    fn cluster_room(&self) -> f64 {
        if self.clusters.is_empty() { 0.0 } else { Font::TICK.line() + 1.0 }
    }

    fn draw_clusters(&self, scene: &mut Scene, area: Rect, top: f64) {
        let pitch = area.width() / self.bars.len() as f64;
        let mut left = area.left;
        for (index, (name, bars)) in self.clusters.iter().enumerate() {
            let right = left + *bars as f64 * pitch;
            let font = Font::TICK.fitted(name, right - left - 2.0);
            let y = top + Font::TICK.line() / 2.0;
            scene.write((f64::midpoint(left, right), y), Align::Middle, font, name.as_str());
            if 0 < index {
                scene.line((left, area.bottom), (left, top + Font::TICK.line()), SPINE_WIDTH, FADED);
                scene.line((left, area.top), (left, area.bottom), SPINE_WIDTH, GRID);
            }
            left = right;
        }
    }
}

impl Plot for StackedBars {
    fn check(&self) -> Result<(), PlotError> {
        check_series(&self.y_label, &self.bars, &self.series, Scale::Linear)?;
        for series in &self.series {
            for (value, bar) in series.values.iter().zip(&self.bars) {
                if let Some(value) = value.filter(|&it| it < 0.0) {
                    return Err(PlotError::Outside {
                        what: format!("{} at {bar}", series.name),
                        value: value.to_string(),
                        allowed: "parts of zero or more".to_owned(),
                    });
                }
            }
        }
        if let Some(bar) = (0..self.bars.len()).find(|&it| self.shares && self.total(it) == Some(0.0)) {
            return Err(PlotError::Empty { what: self.bars[bar].clone() });
        }
        if let Some(reach) = self.reach {
            check_value(|| self.y_label.clone(), reach, || "`reach`".to_owned(), Scale::Linear)?;
        }
        if self.clusters.is_empty() {
            return Ok(());
        }
        let clustered = self.clusters.iter().map(|(_, bars)| bars).sum();
        check_length(|| "clusters".to_owned(), clustered, self.bars.len(), "bars")
    }

    fn legend(&self) -> Vec<Entry> {
        bar_legend(&self.series, &[])
    }

    fn plot_height(&self, _width: f64) -> f64 {
        88.0
    }

    fn margins(&self, width: f64, height: f64) -> Margins {
        let left = self.axis(height).room();
        let label = if self.x_label.is_empty() { 0.0 } else { Font::LABEL.line() };
        let clusters = self.cluster_room();
        let bottom = self.names(width - left).height() + clusters + label;
        Margins { left, right: 0.5, top: 3.0, bottom }
    }

    fn draw(&self, scene: &mut Scene, area: Rect) {
        let axis = self.axis(area.height());
        axis.draw_grid(scene, area);
        let pitch = area.width() / self.bars.len() as f64;
        let width = (0.66 * pitch).min(34.0);
        let font = Font::VALUE;
        for bar in 0..self.bars.len() {
            let middle = area.left + (bar as f64 + 0.5) * pitch;
            let Some(total) = self.total(bar) else {
                draw_missing(scene, None, (middle, area.bottom), pitch);
                continue;
            };
            let unit = if self.shares { 100.0 / total } else { 1.0 };
            let mut below = 0.0;
            for (index, series) in self.series.iter().enumerate() {
                let Some(value) = series.values[bar].map(|it| it * unit).filter(|&it| 0.0 < it) else {
                    continue;
                };
                let (bottom, top) = (axis.y(area, below), axis.y(area, below + value));
                below += value;
                let rect = Rect { left: middle - width / 2.0, right: middle + width / 2.0, top, bottom };
                let colour: Colour = colour_of(&self.series, index);
                draw_bar(scene, rect, &self.series, index);
                let text = self.part_text(value);
                if self.values == Values::WhereTheyFit
                    && font.width(&text) + 1.5 <= width
                    && font.size + 1.0 <= rect.height()
                {
                    scene.write(rect.centre(), Align::Middle, font.coloured(colour.ink_on()), text);
                }
            }
            let text = self.part_text(total);
            if self.totals && !self.shares && font.width(&text) + 1.0 <= pitch {
                let bold = Font { bold: true, ..font };
                scene.write(
                    (middle, axis.y(area, below) - 1.8 - font.cap() / 2.0),
                    Align::Middle,
                    bold,
                    text,
                );
            }
        }
        axis.draw_frame(scene, area);
        let names = self.names(area.width());
        names.draw_below(scene, area);
        let below = area.bottom + names.height();
        self.draw_clusters(scene, area, below);
        let clusters = self.cluster_room();
        let label = (area.centre().0, below + clusters + 1.5 + Font::LABEL.cap() / 2.0);
        let font = Font::LABEL.fitted(&self.x_label, 1.1 * area.width());
        scene.write(label, Align::Middle, font, self.x_label.as_str());
    }
    fn describe(&self) -> String {
        let parts = self.series.iter().map(|it| {
            let bars = self.bars.iter().zip(&it.values);
            format!("{} {}", it.name, from_to(bars.filter_map(|(bar, value)| Some((bar.clone(), (*value)?)))))
        });
        let parts: Vec<String> = parts.collect();
        let totals =
            self.bars.iter().enumerate().filter_map(|(index, bar)| Some((bar.clone(), self.total(index)?)));
        let totals = if self.shares { "all scaled to 100 %".to_owned() } else { from_to(totals) };
        let of = if self.y_label.is_empty() { String::new() } else { format!(" of {}", self.y_label) };
        format!("Stacked bars{of}: in all {totals}; {}.", parts.join("; "))
    }

    fn extent(&self) -> Option<Extent> {
        let y = extent_of((0..self.bars.len()).filter_map(|it| self.total(it)));
        Some(Extent { y: y.filter(|_| !self.shares), ..Extent::default() })
    }

    fn reach(&mut self, extent: Extent) {
        self.reach = extent.y.map(|it| it.1).or(self.reach);
    }
}
