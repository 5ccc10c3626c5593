//! Bars: grouped and stacked.

use crate::axis::{Scale, Span, Upright, draw_names};
use crate::canvas::{Align, Rect, Scene, Text};
use crate::error::PlotError;
use crate::labels::Labels;
use crate::legend::Entry;
use crate::numbers::{compact, decimals_beside, decimals_for, signed};
use crate::plot::{Margins, Plot};
use crate::series::{
    MISSING, Reference, Series, bar_legend, check_length, check_references, check_series, colour_of,
    draw_references,
};
use crate::style::{Colour, FADED, Font, GRID, GRID_WIDTH, INK, SPINE_WIDTH, graded};

/// Whether bars carry their value as a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Values {
    /// All of a chart's bars, or none if there is no room; parts of a stack
    /// one by one.
    #[default]
    WhereTheyFit,
    /// None.
    Hidden,
}

/// Bars side by side in groups, one series per bar of a group.
///
/// ```
/// use memscape_plot::{Figure, GroupedBars};
///
/// let bars = GroupedBars::new("Speedup [x]", ["125M", "1.3B", "30B"])
///     .series("8 banks", [2.0, 3.1, 3.4])
///     .series("16 banks", [Some(3.9), Some(6.1), None])
///     .reference("Roofline", 7.0)
///     .with_average("Average");
/// let svg = Figure::one_column().panel("", bars).svg()?;
/// assert!(svg.contains("16 banks") && svg.contains("n/a"));
/// # Ok::<(), memscape_plot::PlotError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GroupedBars {
    /// One name per group.
    pub groups: Vec<String>,
    /// One value per group each.
    pub series: Vec<Series>,
    /// What the height means, with its unit.
    pub y_label: String,
    /// What the groups are, if it needs saying.
    pub x_label: String,
    /// How heights are spread; a logarithmic axis starts at the power below
    /// the smallest value.
    pub scale: Scale,
    /// Dashed lines, such as rooflines.
    pub references: Vec<Reference>,
    /// How many groups at the end summarise the others; a divider precedes them.
    pub summaries: usize,
    /// Whether bars carry their value.
    pub values: Values,
    /// Decimals of the values; by their size if missing.
    pub decimals: Option<usize>,
    /// What stands in for a missing value; `n/a` if missing itself.
    pub missing: Option<String>,
}

impl GroupedBars {
    /// A chart without series yet.
    pub fn new<G: Into<String>>(y_label: impl Into<String>, groups: impl IntoIterator<Item = G>) -> Self {
        Self {
            y_label: y_label.into(),
            groups: groups.into_iter().map(Into::into).collect(),
            ..Self::default()
        }
    }

    /// Adds a series.
    #[must_use]
    pub fn series<V: Into<Option<f64>>>(
        mut self,
        name: impl Into<String>,
        values: impl IntoIterator<Item = V>,
    ) -> Self {
        self.series.push(Series::new(name, values));
        self
    }

    /// Adds a dashed line across all groups.
    #[must_use]
    pub fn reference(mut self, label: impl Into<String>, value: f64) -> Self {
        self.references.push(Reference::new(label, value));
        self
    }

    /// Adds a dashed line in the colour of the series added last.
    #[must_use]
    pub fn reference_of_last(mut self, label: impl Into<String>, value: f64) -> Self {
        let last = self.series.len().saturating_sub(1);
        self.references.push(Reference::of_series(label, value, last));
        self
    }

    /// Colours the series added so far light to dark: they have an order.
    #[must_use]
    pub fn graded(mut self) -> Self {
        let colours = graded(self.series.len());
        self.series.iter_mut().zip(colours).for_each(|(it, colour)| it.colour = Some(colour));
        self
    }

    /// Says what the groups are.
    #[must_use]
    pub fn x_label(mut self, label: impl Into<String>) -> Self {
        self.x_label = label.into();
        self
    }

    /// Spreads heights by this scale.
    #[must_use]
    pub fn scale(mut self, scale: Scale) -> Self {
        self.scale = scale;
        self
    }

    /// Sets the values' decimals.
    #[must_use]
    pub fn decimals(mut self, decimals: usize) -> Self {
        self.decimals = Some(decimals);
        self
    }

    /// Appends a group with the arithmetic mean of each series' values. A
    /// series with a gap has none: its mean would be over other groups than
    /// its neighbours'.
    #[must_use]
    pub fn with_average(mut self, name: impl Into<String>) -> Self {
        for series in &mut self.series {
            let all: Option<Vec<_>> = series.values.iter().copied().collect();
            let mean = |it: Vec<f64>| (!it.is_empty()).then(|| it.iter().sum::<f64>() / it.len() as f64);
            series.values.push(all.and_then(mean));
        }
        self.groups.push(name.into());
        self.summaries += 1;
        self
    }

    fn present(&self) -> impl Iterator<Item = f64> {
        self.series.iter().flat_map(Series::present)
    }

    fn slot(&self, width: f64) -> f64 {
        let pitch = width / self.groups.len() as f64;
        let used = if self.series.len() == 1 { 0.62 } else { 0.84 };
        (used * pitch / self.series.len() as f64).min(26.0)
    }

    fn value_text(&self, value: f64) -> String {
        let decimals = match self.scale {
            Scale::Linear => decimals_beside(self.present()),
            // On a logarithmic axis each value has its own size.
            Scale::Log10 | Scale::Log2 => decimals_for(value),
        };
        match self.decimals {
            Some(decimals) => signed(value, decimals),
            None => compact(value, decimals),
        }
    }

    /// How values are written over bars of this width, if they fit at all.
    fn value_labels(&self, slot: f64) -> Option<ValueLabels> {
        if self.values == Values::Hidden {
            return None;
        }
        ValueLabels::fit(self.present().map(|it| self.value_text(it)), slot)
    }

    fn axis(&self, width: f64, height: f64) -> Upright<'_> {
        let headroom = self.value_labels(self.slot(width)).map_or(0.04, |it| (it.length + 3.5) / height);
        // A reference line needs no room above it.
        let lines =
            self.references.iter().map(|it| it.value * if it.value < 0.0 { 1.0 } else { 1.0 - headroom });
        let span = Span::of_bars(self.scale, self.present().chain(lines), headroom);
        Upright::new(span, &self.y_label, height)
    }

    fn names(&self, width: f64) -> Labels {
        Labels::fit(&self.groups, width / self.groups.len() as f64)
    }
}

/// Values written over bars.
#[derive(Debug, Clone, Copy, PartialEq)]
struct ValueLabels {
    font: Font,
    turned: bool,
    /// How far they reach from the bar.
    length: f64,
}

impl ValueLabels {
    fn fit(texts: impl Iterator<Item = String>, slot: f64) -> Option<Self> {
        let font = Font::VALUE;
        let longest = texts.map(|it| font.width(&it)).fold(0.0, f64::max);
        if longest <= slot - 0.5 {
            return Some(Self { font, turned: false, length: font.cap() });
        }
        // Turned, a value is as wide as its digits are high.
        let size = (slot / 0.82).min(font.size);
        (4.6 <= size).then(|| Self {
            font: font.sized(size),
            turned: true,
            length: longest * size / font.size,
        })
    }

    /// The text of a bar that ends at `(x, y)`; `up` is away from the bar.
    fn text(&self, (x, y): (f64, f64), upwards: bool, text: String) -> Text {
        let away = if upwards { -1.0 } else { 1.0 };
        let (align, y) = match (self.turned, upwards) {
            (true, true) => (Align::Start, y - 1.8),
            (true, false) => (Align::End, y + 1.8),
            (false, _) => (Align::Middle, y + away * (1.8 + self.font.cap() / 2.0)),
        };
        Text { x, y, line: text, font: self.font, align, turned: self.turned }
    }
}

impl Plot for GroupedBars {
    fn check(&self) -> Result<(), PlotError> {
        check_series(&self.y_label, &self.groups, &self.series, self.scale)?;
        check_references(&self.references, self.series.len(), self.scale)
    }

    fn legend(&self) -> Vec<Entry> {
        bar_legend(&self.series, &self.references)
    }

    fn plot_height(&self, _width: f64) -> f64 {
        88.0
    }

    fn margins(&self, width: f64, height: f64) -> Margins {
        let left = self.axis(width - 26.0, height).room();
        let label = if self.x_label.is_empty() { 0.0 } else { Font::LABEL.line() };
        let bottom = self.names(width - left).height() + label;
        Margins { left, right: 0.5, top: 3.0, bottom }
    }

    fn draw(&self, scene: &mut Scene, area: Rect) {
        let axis = self.axis(area.width(), area.height());
        let slot = self.slot(area.width());
        let labels = self.value_labels(slot);
        axis.draw_grid(scene, area);
        let pitch = area.width() / self.groups.len() as f64;
        let mut texts = Vec::new();
        let base = axis.y(area, axis.span.base());
        for group in 0..self.groups.len() {
            let middle = area.left + (group as f64 + 0.5) * pitch;
            let first = middle - slot * self.series.len() as f64 / 2.0;
            for (index, series) in self.series.iter().enumerate() {
                let left = first + index as f64 * slot;
                let gap = (0.06 * slot).min(0.8);
                let x = left + slot / 2.0;
                let Some(value) = series.values[group] else {
                    draw_missing(scene, self.missing.as_deref(), (x, base), slot);
                    continue;
                };
                let end = axis.y(area, value);
                let (top, bottom) = (end.min(base), end.max(base));
                scene.fill(
                    Rect { left: left + gap, right: left + slot - gap, top, bottom },
                    colour_of(&self.series, index),
                );
                if let Some(labels) = labels {
                    texts.push(labels.text((x, end), end <= base, self.value_text(value)));
                }
            }
        }
        draw_divider(scene, area, self.groups.len(), self.summaries);
        draw_references(scene, area, &axis, &self.references, |it| colour_of(&self.series, it));
        if base < area.bottom - 0.1 {
            scene.line((area.left, base), (area.right, base), SPINE_WIDTH, INK);
        }
        for text in texts {
            if !self.references.is_empty() {
                scene.clear_behind(&text);
            }
            scene.put(text);
        }
        axis.draw_frame(scene, area);
        draw_names(scene, area, &self.names(area.width()), &self.x_label);
    }
}

fn draw_divider(scene: &mut Scene, area: Rect, groups: usize, summaries: usize) {
    if 0 < summaries && summaries < groups {
        let x = area.right - summaries as f64 * area.width() / groups as f64;
        scene.dashes(&[(x, area.top), (x, area.bottom)], (1.2, 1.2), SPINE_WIDTH, FADED);
    }
}

/// A word where a bar would stand, turned if the bar would be narrow; a stroke
/// if it would be narrower than a letter.
fn draw_missing(scene: &mut Scene, word: Option<&str>, (x, base): (f64, f64), slot: f64) {
    let word = word.unwrap_or("n/a");
    let font = Font::VALUE.coloured(MISSING);
    let turned = font.sized((slot / 0.82).min(font.size));
    if font.width(word) <= slot - 0.5 {
        scene.write((x, base - 1.8 - font.cap() / 2.0), Align::Middle, font, word);
    } else if 3.6 <= turned.size {
        scene.write_up((x, base - 1.8), Align::Start, turned, word);
    } else {
        scene.line((x, base), (x, base - 3.0), GRID_WIDTH, MISSING);
    }
}

/// Bars whose parts lie on top of each other: a breakdown.
#[derive(Debug, Clone, PartialEq, Default)]
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
            Span::of_bars(Scale::Linear, highest, 0.03)
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
            None => compact(value, decimals_beside(totals)),
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
                scene.fill(rect, colour);
                let text = self.part_text(value);
                if self.values == Values::WhereTheyFit
                    && font.width(&text) + 1.5 <= width
                    && font.size + 1.0 <= rect.height()
                {
                    scene.write(rect.centre(), Align::Middle, font.coloured(colour.ink_on()), text);
                }
            }
        }
        axis.draw_frame(scene, area);
        let names = self.names(area.width());
        names.draw_below(scene, area);
        let below = area.bottom + names.height();
        self.draw_clusters(scene, area, below);
        let clusters = self.cluster_room();
        let label = (area.centre().0, below + clusters + 1.5 + Font::LABEL.cap() / 2.0);
        scene.write(label, Align::Middle, Font::LABEL, self.x_label.as_str());
    }
}
