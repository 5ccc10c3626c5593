//! Bars: grouped and stacked.

use serde::{Deserialize, Serialize};

use crate::axis::{Scale, Span, Upright, draw_names};
use crate::canvas::{Align, Rect, Scene, Text};
use crate::error::PlotError;
use crate::labels::Labels;
use crate::legend::Entry;
use crate::numbers::{beside, decimals_beside, from_to, signed, three};
use crate::plot::{Extent, Margins, Plot, extent_of};
use crate::series::{
    MISSING, Reference, Series, bar_legend, check_references, check_series, check_value, colour_of,
    draw_bands, draw_bar, draw_published, draw_references, draw_spread, reference_room,
};
use crate::style::{FADED, Font, GRID_WIDTH, INK, SPINE_WIDTH, graded};

/// Whether bars carry their value as a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
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
/// let bars = GroupedBars::new("Speedup (x)", ["125M", "1.3B", "30B"])
///     .series("8 banks", [2.0, 3.1, 3.4])
///     .series("16 banks", [Some(3.9), Some(6.1), None])
///     .reference("Roofline", 7.0)
///     .with_average("Average");
/// let svg = Figure::one_column().panel("", bars).svg()?;
/// assert!(svg.contains("16 banks") && svg.contains("n/a"));
/// # Ok::<(), memscape_plot::PlotError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
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
    /// What the axis covers besides the bars.
    pub reach: Option<(f64, f64)>,
    /// Which share of the height stays free at least, beyond the highest bar.
    #[serde(default)]
    pub headroom: f64,
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
        match (self.decimals, self.scale) {
            (Some(decimals), _) => signed(value, decimals),
            (None, Scale::Linear) => beside(value, decimals_beside(self.present())),
            // On a logarithmic axis each value has its own size.
            (None, Scale::Log10 | Scale::Log2) => three(value),
        }
    }

    /// How values are written over bars of this width, if they fit at all.
    fn value_labels(&self, slot: f64) -> Option<ValueLabels> {
        if self.values == Values::Hidden {
            return None;
        }
        ValueLabels::fit(self.present().map(|it| self.value_text(it)), slot)
    }

    /// Which share of the height stays free for values.
    fn room_above(&self, width: f64, height: f64) -> f64 {
        let own = self.value_labels(self.slot(width)).map_or(0.04, |it| (it.length + 3.5) / height);
        own.max(self.headroom)
    }

    fn axis(&self, width: f64, height: f64) -> Upright<'_> {
        let headroom = self.room_above(width, height);
        // A reference line needs no room above it.
        let low = |it: f64| it * if it < 0.0 { 1.0 } else { 1.0 - headroom };
        let lines = self.references.iter().flat_map(Reference::ends).map(low);
        let shown = self.series.iter().flat_map(Series::shown).map(low);
        let reach = self.reach.into_iter().flat_map(|it| [it.0, it.1]);
        let span = Span::of_bars(self.scale, self.present().chain(shown).chain(lines).chain(reach), headroom);
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
        check_references(&self.references, self.series.len(), self.scale)?;
        for end in self.reach.into_iter().flat_map(|it| [it.0, it.1]) {
            check_value(|| self.y_label.clone(), end, || "an end of `reach`".to_owned(), self.scale)?;
        }
        Ok(())
    }

    fn legend(&self) -> Vec<Entry> {
        bar_legend(&self.series, &self.references)
    }

    fn plot_height(&self, _width: f64) -> f64 {
        88.0
    }

    fn margins(&self, width: f64, height: f64) -> Margins {
        let right = reference_room(&self.references).max(0.5);
        // A narrower plot may write its values otherwise and so need other marks.
        let room = |left: f64| self.axis(width - left - right, height).room();
        let left = (0..3).fold(room(26.0), |left, _| room(left).max(left));
        let label = if self.x_label.is_empty() { 0.0 } else { Font::LABEL.line() };
        let bottom = self.names(width - left - right).height() + label;
        Margins { left, right, top: 3.0, bottom }
    }

    fn draw(&self, scene: &mut Scene, area: Rect) {
        let axis = self.axis(area.width(), area.height());
        draw_bands(scene, area, &axis, &self.references);
        axis.draw_grid(scene, area);
        let base = axis.y(area, axis.span.base());
        let mut texts = Vec::new();
        for (index, series) in self.series.iter().enumerate() {
            let name = if series.name.is_empty() { "bars" } else { &series.name };
            scene.group(name, |scene| self.draw_series(scene, area, &axis, index, &mut texts));
        }
        draw_divider(scene, area, self.groups.len(), self.summaries);
        draw_references(scene, area, &axis, &self.references, |it| colour_of(&self.series, it));
        if base < area.bottom - 0.1 {
            scene.line((area.left, base), (area.right, base), SPINE_WIDTH, INK);
        }
        let lines: Vec<f64> =
            self.references.iter().filter(|it| it.to.is_none()).map(|it| axis.y(area, it.value)).collect();
        for text in texts {
            let (text, is_free) = beyond(text, &lines, area, base);
            if !is_free {
                scene.clear_behind(&text);
            }
            scene.put(text);
        }
        self.draw_others(scene, area, &axis);
        axis.draw_frame(scene, area);
        draw_names(scene, area, &self.names(area.width()), &self.x_label);
    }

    fn describe(&self) -> String {
        let series = self.series.iter().enumerate().map(|(index, it)| {
            let values = self
                .groups
                .iter()
                .zip(&it.values)
                .filter_map(|(group, value)| Some((group.clone(), (*value)?)));
            let name = if it.name.is_empty() { format!("series {}", index + 1) } else { it.name.clone() };
            format!("{name} {}", from_to(values))
        });
        let lines = self.references.iter().map(Reference::describe);
        let said: Vec<String> = series.chain(lines).collect();
        let over = if self.x_label.is_empty() { "groups" } else { &self.x_label };
        let of = if self.y_label.is_empty() { String::new() } else { format!(" of {}", self.y_label) };
        format!("Bars{of} over {} {over}: {}.", self.groups.len(), said.join("; "))
    }

    fn extent(&self) -> Option<Extent> {
        let ends = self.references.iter().flat_map(Reference::ends);
        let y = extent_of(self.series.iter().flat_map(Series::shown).chain(ends));
        Some(Extent { y, ..Extent::default() })
    }

    fn reach(&mut self, extent: Extent) {
        self.reach = extent.y.or(self.reach);
    }

    fn headroom(&self, width: f64, height: f64) -> Option<(f64, (f64, f64))> {
        Some((self.room_above(width, height), self.reach?))
    }

    fn keep_free(&mut self, share: f64) {
        self.headroom = self.headroom.max(share);
    }
}

impl GroupedBars {
    /// The middle of a series' bar in a group.
    fn middle(&self, area: Rect, group: usize, index: usize) -> f64 {
        let (pitch, slot) = (area.width() / self.groups.len() as f64, self.slot(area.width()));
        let first = area.left + (group as f64 + 0.5) * pitch - slot * self.series.len() as f64 / 2.0;
        first + (index as f64 + 0.5) * slot
    }

    fn draw_series(
        &self,
        scene: &mut Scene,
        area: Rect,
        axis: &Upright,
        index: usize,
        texts: &mut Vec<Text>,
    ) {
        let slot = self.slot(area.width());
        let labels = self.value_labels(slot);
        let base = axis.y(area, axis.span.base());
        let series = &self.series[index];
        for (group, value) in series.values.iter().enumerate() {
            let x = self.middle(area, group, index);
            let Some(value) = *value else {
                draw_missing(scene, self.missing.as_deref(), (x, base), slot);
                continue;
            };
            let end = axis.y(area, value);
            let (top, bottom) = (end.min(base), end.max(base));
            let half = slot / 2.0 - (0.06 * slot).min(0.8);
            draw_bar(scene, Rect { left: x - half, right: x + half, top, bottom }, &self.series, index);
            if let Some(labels) = labels {
                // Beyond what else stands on the bar.
                let from = |rises| self.others_end(axis, area, index, group, rises).unwrap_or(end);
                // Names stand below the plot, so that a number without room there is written above.
                let text = self.value_text(value);
                let length = if labels.turned { labels.font.width(&text) } else { labels.length };
                let falls = end > base && from(false) + length + 1.8 <= area.bottom;
                let at = if falls { from(false) } else { from(true).min(base) };
                texts.push(labels.text((x, at), !falls, text));
            }
        }
    }

    /// The far end of a bar and of what is drawn over it.
    ///
    /// * `rises`: whether the bar does
    fn others_end(&self, axis: &Upright, area: Rect, index: usize, group: usize, rises: bool) -> Option<f64> {
        // Less is farther.
        let y = |value: f64| if rises { axis.y(area, value) } else { -axis.y(area, value) };
        let series = &self.series[index];
        let end = y(series.values[group]?);
        let spread = series.spread.get(group).copied().flatten().map(|it| y(it.0).min(y(it.1)) - 0.5);
        let radius = self.diamond(area);
        let published = series.published.get(group).copied().flatten().map(y);
        // A diamond well beyond the bar leaves room for the number between them.
        let room = self.value_labels(self.slot(area.width())).map_or(0.0, |it| it.length + 3.0);
        let near = published.filter(|it| end - room - radius * 1.5 <= *it && *it <= end + 1.5 * radius);
        let far = [spread, near.map(|it| it - 1.5 * radius)].into_iter().flatten().fold(end, f64::min);
        Some(if rises { far } else { -far })
    }

    /// How large open diamonds are.
    fn diamond(&self, area: Rect) -> f64 {
        (0.3 * self.slot(area.width())).clamp(1.2, 2.2)
    }

    /// Spreads, and what others print.
    fn draw_others(&self, scene: &mut Scene, area: Rect, axis: &Upright) {
        let radius = self.diamond(area);
        for (index, series) in self.series.iter().enumerate() {
            for (group, ends) in series.spread.iter().enumerate() {
                if let Some((low, high)) = *ends {
                    let ends = (axis.y(area, low), axis.y(area, high));
                    draw_spread(scene, self.middle(area, group, index), ends, radius);
                }
            }
        }
        let published = self.series.iter().flat_map(|it| &it.published).flatten().next().is_some();
        if published {
            scene.group("published", |scene| {
                for (index, series) in self.series.iter().enumerate() {
                    for (group, value) in series.published.iter().enumerate() {
                        if let Some(value) = *value {
                            let at = (self.middle(area, group, index), axis.y(area, value));
                            draw_published(scene, at, radius, INK);
                        }
                    }
                }
            });
        }
    }
}

/// A bar's number, moved away from the bar and over the lines that would strike it out, unless
/// it would leave the plot; and whether it is clear of them.
fn beyond(text: Text, lines: &[f64], area: Rect, base: f64) -> (Text, bool) {
    /// Between a text that has moved and its line; nearer ones are struck.
    const GAP: f64 = 1.9;
    let struck = |it: &Text| {
        let bounds = it.bounds().grown(0.6 * GAP);
        lines.iter().copied().find(|line| (bounds.top..=bounds.bottom).contains(line))
    };
    let is_free = struck(&text).is_none();
    let mut moved = text.clone();
    for _ in lines {
        if let Some(line) = struck(&moved) {
            let bounds = moved.bounds();
            moved.y += if text.y <= base { line - GAP - bounds.bottom } else { line + GAP - bounds.top };
        }
    }
    let bounds = moved.bounds();
    let stays = area.top - 3.0 <= bounds.top && bounds.bottom <= area.bottom && struck(&moved).is_none();
    if stays { (moved, true) } else { (text, is_free) }
}

fn draw_divider(scene: &mut Scene, area: Rect, groups: usize, summaries: usize) {
    if 0 < summaries && summaries < groups {
        let x = area.right - summaries as f64 * area.width() / groups as f64;
        scene.dashes(&[(x, area.top), (x, area.bottom)], (1.2, 1.2), SPINE_WIDTH, FADED);
    }
}

/// A word where a bar would stand, turned if the bar would be narrow; a stroke
/// if it would be narrower than a letter.
pub(crate) fn draw_missing(scene: &mut Scene, word: Option<&str>, (x, base): (f64, f64), slot: f64) {
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
