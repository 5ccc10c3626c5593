//! Curves and points over two numeric axes: lines, scatters, rooflines.

use serde::{Deserialize, Serialize};

use crate::axis::{Axis, Span, Upright, draw_level, level_room, level_ticks};
use crate::canvas::{Align, Fill, Marker, Rect, Scene, Shape, Text};
use crate::error::PlotError;
use crate::legend::{DASH, Entry, Key};
use crate::numbers::{doubled, from_to, short, three};
use crate::plot::{Extent, Margins, Plot, extent_of};
use crate::series::{
    Reference, check_length, check_references, check_value, dash_of, draw_bands, draw_published,
    draw_references, draw_spread, reference_legend, reference_room,
};
use crate::style::{
    CURVE_WIDTH, Colour, DISTINCT, EDGE, Font, GRID, GRID_WIDTH, INK, REFERENCE_WIDTH, SPINE_WIDTH, distinct,
};

/// How a curve is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Mark {
    /// A line with a marker on every point: measured or computed points.
    #[default]
    LineAndPoints,
    /// A line alone: something known everywhere.
    Line,
    /// A dashed line: a bound, such as a roofline.
    Dashed,
    /// A dashed line of steps, each as high as the point before it: a front of what should be small.
    StepsAfter,
    /// The same, each as high as the point behind it.
    StepsBefore,
    /// Markers alone: a scatter.
    Points,
}

impl Mark {
    /// Whether it is a bound.
    #[must_use]
    pub const fn is_bound(self) -> bool {
        matches!(self, Self::Dashed | Self::StepsAfter | Self::StepsBefore)
    }
}

/// Points in order, under one name of the legend.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Curve {
    /// The name in the legend; none is shown if empty.
    pub name: String,
    /// `(x, y)`; a missing `y` interrupts the line.
    pub points: Vec<(f64, Option<f64>)>,
    /// How it is drawn.
    pub mark: Mark,
    /// Its colour; by position if missing.
    pub colour: Option<Colour>,
    /// Which of the series it looks like, in colour and marker, if it has no colour of its own; its
    /// position if missing.
    #[serde(default)]
    pub look: Option<usize>,
    /// What is written beside the points, where it fits: none, or one each.
    pub labels: Vec<String>,
    /// How the inside of its markers is drawn.
    pub fill: Fill,
    /// From where to where each point may be: none, or one each.
    pub spread: Vec<Option<(f64, f64)>>,
    /// Whether the spread is a band along the curve rather than a bar at each point.
    pub band: bool,
    /// Points of it as others print them, drawn as open diamonds.
    pub published: Vec<(f64, f64)>,
}

impl Curve {
    fn is_marked(&self) -> bool {
        matches!(self.mark, Mark::Points | Mark::LineAndPoints)
    }

    /// Points that have a place.
    fn known(&self) -> impl Iterator<Item = (f64, f64)> {
        self.points.iter().filter_map(|&(x, y)| Some((x, y?)))
    }

    /// Everything that has a place: points, their spread, and what others print.
    fn shown(&self) -> impl Iterator<Item = (f64, f64)> {
        let spread = self.points.iter().zip(&self.spread);
        let ends =
            spread.flat_map(|(&(x, _), it)| it.iter().flat_map(move |&(low, high)| [(x, low), (x, high)]));
        self.known().chain(ends).chain(self.published.iter().copied())
    }
}

/// Curves and points over two numeric axes.
///
/// ```
/// use memscape_plot::{Axis, Figure, Lines};
///
/// let lines = Lines::new(Axis::log2("Threads"), Axis::linear("Throughput (tokens/s)"))
///     .curve("Interleaved", [(1.0, 0.5), (2.0, 0.9), (4.0, 1.6)])
///     .reference("Bandwidth bound", 2.0);
/// assert!(Figure::one_column().panel("", lines).svg()?.contains("Threads"));
/// # Ok::<(), memscape_plot::PlotError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Lines {
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// What is drawn, later over earlier.
    pub curves: Vec<Curve>,
    /// Dashed horizontal lines, and bands.
    pub references: Vec<Reference>,
    /// Dashed vertical lines, with their value above.
    pub upright: Vec<Reference>,
}

impl Lines {
    /// A chart without curves yet.
    #[must_use]
    pub fn new(x: Axis, y: Axis) -> Self {
        Self { x, y, ..Self::default() }
    }

    /// Adds a line with markers.
    #[must_use]
    pub fn curve<Y: Into<Option<f64>>>(
        self,
        name: impl Into<String>,
        points: impl IntoIterator<Item = (f64, Y)>,
    ) -> Self {
        self.marked(Mark::LineAndPoints, name, points)
    }

    /// Adds markers without a line.
    #[must_use]
    pub fn points<Y: Into<Option<f64>>>(
        self,
        name: impl Into<String>,
        points: impl IntoIterator<Item = (f64, Y)>,
    ) -> Self {
        self.marked(Mark::Points, name, points)
    }

    /// Adds a dashed line: a bound, with its value where it ends.
    #[must_use]
    pub fn bound<Y: Into<Option<f64>>>(
        mut self,
        name: impl Into<String>,
        points: impl IntoIterator<Item = (f64, Y)>,
    ) -> Self {
        self = self.marked(Mark::Dashed, name, points);
        if let Some(curve) = self.curves.last_mut() {
            let mut labels = vec![String::new(); curve.points.len()];
            let ends = curve.points.iter().enumerate().rev().find_map(|(at, point)| Some((at, point.1?)));
            if let Some((at, value)) = ends {
                labels[at] = three(value);
            }
            curve.labels = labels;
        }
        self
    }

    /// Adds a curve drawn in a given way.
    #[must_use]
    pub fn marked<Y: Into<Option<f64>>>(
        mut self,
        mark: Mark,
        name: impl Into<String>,
        points: impl IntoIterator<Item = (f64, Y)>,
    ) -> Self {
        let points = points.into_iter().map(|(x, y)| (x, y.into())).collect();
        self.curves.push(Curve { name: name.into(), points, mark, ..Curve::default() });
        self
    }

    /// Names the points of the curve added last.
    #[must_use]
    pub fn labelled<L: Into<String>>(mut self, labels: impl IntoIterator<Item = L>) -> Self {
        if let Some(last) = self.curves.last_mut() {
            last.labels = labels.into_iter().map(Into::into).collect();
        }
        self
    }

    /// Has the curve added last look like the `look`-th series, wherever it stands: a series has one colour
    /// and one marker in all panels, also where others are missing.
    #[must_use]
    pub fn looking(mut self, look: usize) -> Self {
        if let Some(last) = self.curves.last_mut() {
            last.look = Some(look);
        }
        self
    }

    /// Sets how the insides of the markers of the curve added last are drawn.
    #[must_use]
    pub fn filled(mut self, fill: Fill) -> Self {
        if let Some(last) = self.curves.last_mut() {
            last.fill = fill;
        }
        self
    }

    /// Says from where to where each point of the curve added last may be: a bar at each.
    #[must_use]
    pub fn spread(mut self, ends: impl IntoIterator<Item = Option<(f64, f64)>>) -> Self {
        if let Some(last) = self.curves.last_mut() {
            last.spread = ends.into_iter().collect();
        }
        self
    }

    /// The same as a band along the curve.
    #[must_use]
    pub fn band(mut self, ends: impl IntoIterator<Item = Option<(f64, f64)>>) -> Self {
        self = self.spread(ends);
        if let Some(last) = self.curves.last_mut() {
            last.band = true;
        }
        self
    }

    /// Adds a dashed vertical line.
    #[must_use]
    pub fn upright(mut self, label: impl Into<String>, value: f64) -> Self {
        self.upright.push(Reference::new(label, value));
        self
    }

    /// Adds a dashed horizontal line.
    #[must_use]
    pub fn reference(mut self, label: impl Into<String>, value: f64) -> Self {
        self.references.push(Reference::new(label, value));
        self
    }

    /// What a curve is called, or a curve that is alone and has no name: as what it shows.
    fn name(&self, index: usize) -> String {
        match self.curves[index].name.as_str() {
            "" if self.curves.len() == 1 && !self.y.label.is_empty() => self.y.label.clone(),
            "" => format!("curve {}", index + 1),
            name => name.to_owned(),
        }
    }

    fn colour(&self, index: usize) -> Colour {
        let bounds_before = self.curves[..index].iter().filter(|it| it.mark.is_bound()).count();
        let look = self.curves[index].look.unwrap_or(index - bounds_before);
        let own = if self.curves[index].mark.is_bound() { INK } else { distinct(look) };
        self.curves[index].colour.unwrap_or(own)
    }

    /// A colour's own if it is one of the series', so that a thing keeps its marker as well.
    fn marker(&self, index: usize) -> Marker {
        let own = self.curves[index].colour.and_then(|it| DISTINCT.iter().position(|other| *other == it));
        let before = self.curves[..index].iter().filter(|it| it.is_marked()).count();
        Marker::of(own.or(self.curves[index].look).unwrap_or(before))
    }

    fn key(&self, index: usize) -> Key {
        let (colour, marker, fill) = (self.colour(index), self.marker(index), self.curves[index].fill);
        match self.curves[index].mark {
            Mark::LineAndPoints => Key::Curve { colour, marker: Some((marker, fill)), dash: None },
            Mark::Line => Key::Curve { colour, marker: None, dash: None },
            Mark::Dashed | Mark::StepsAfter | Mark::StepsBefore => {
                Key::Curve { colour, marker: None, dash: Some(DASH) }
            }
            Mark::Points => Key::Point { colour, marker, fill },
        }
    }

    fn known(&self) -> impl Iterator<Item = (f64, f64)> {
        self.curves.iter().flat_map(Curve::known)
    }

    fn shown(&self) -> impl Iterator<Item = (f64, f64)> {
        self.curves.iter().flat_map(Curve::shown)
    }

    fn x_span(&self) -> Span {
        let lines = self.upright.iter().flat_map(Reference::ends);
        Span::around_values(&self.x, self.shown().map(|(x, _)| x).chain(lines))
    }

    /// What has to stay free right of a plot that would be this wide, so that the label of the last of the
    /// marks that were asked for is on the page.
    fn room_of_marks(&self, width: f64) -> f64 {
        let span = self.x_span();
        let Some(last) = self.x.marks.iter().copied().filter(|it| span.holds(*it)).reduce(f64::max) else {
            return 0.0;
        };
        let (half, share) = (Font::TICK.width(&doubled(last)) / 2.0, span.share(last));
        // A plot that is narrower by as much has the mark nearer to its end.
        if share < 0.5 { 0.0 } else { (half - (1.0 - share) * width - EDGE) / share + 1e-6 }
    }

    fn y_axis(&self, height: f64) -> Upright<'_> {
        let values = self.shown().map(|(_, y)| y).chain(self.references.iter().flat_map(Reference::ends));
        Upright::marked(Span::of_values(&self.y, values), &self.y.label, height, &self.y.marks)
    }
}

impl Plot for Lines {
    fn check(&self) -> Result<(), PlotError> {
        for (index, curve) in self.curves.iter().enumerate() {
            let what = || self.name(index);
            if !curve.labels.is_empty() {
                check_length(what, curve.labels.len(), curve.points.len(), "points")?;
            }
            if !curve.spread.is_empty() {
                check_length(what, curve.spread.len(), curve.points.len(), "points")?;
            }
            for (point, (x, y)) in curve.points.iter().enumerate() {
                check_value(what, *x, || format!("point {}", point + 1), self.x.scale)?;
                if let Some(y) = y {
                    check_value(what, *y, || format!("x = {x}"), self.y.scale)?;
                }
            }
            for (x, y) in curve.shown() {
                check_value(what, x, || "a point as published".to_owned(), self.x.scale)?;
                check_value(what, y, || "its spread, or as published".to_owned(), self.y.scale)?;
            }
        }
        check_references(&self.references, self.curves.len(), self.y.scale)?;
        check_references(&self.upright, self.curves.len(), self.x.scale)?;
        // An axis may reach as far as what is drawn, which is told of first.
        for (axis, name) in [(&self.x, "horizontal axis"), (&self.y, "vertical axis")] {
            let given = axis.reach.into_iter().flat_map(|it| [it.0, it.1]).chain(axis.marks.iter().copied());
            for value in given {
                check_value(
                    || name.to_owned(),
                    value,
                    || "a mark, or an end of `reach`".to_owned(),
                    axis.scale,
                )?;
            }
            if let Some((low, high)) = axis.range {
                for end in [low, high] {
                    check_value(|| name.to_owned(), end, || "an end of its range".to_owned(), axis.scale)?;
                }
                if high <= low {
                    return Err(PlotError::Outside {
                        what: format!("range of the {name}"),
                        value: format!("{low} to {high}"),
                        allowed: "a low end below the high end".to_owned(),
                    });
                }
            }
        }
        if self.known().next().is_none() {
            return Err(PlotError::Empty { what: self.y.label.clone() });
        }
        let (across, up) = (self.x_span(), self.y_axis(100.0).span);
        match self.shown().find(|&(x, y)| !across.holds(x) || !up.holds(y)) {
            None => Ok(()),
            Some((x, y)) => Err(PlotError::Outside {
                what: self.y.label.clone(),
                value: format!("the point ({x}, {y})"),
                allowed: format!("the axes' ranges {:?} and {:?}", self.x.range, self.y.range),
            }),
        }
    }

    fn legend(&self) -> Vec<Entry> {
        let entry = |(index, it): (usize, &Curve)| Entry { name: it.name.clone(), key: self.key(index) };
        let mut entries: Vec<_> =
            self.curves.iter().enumerate().map(entry).filter(|it| !it.name.is_empty()).collect();
        entries.extend(reference_legend(&self.references, |it| self.colour(it)));
        entries.extend(reference_legend(&self.upright, |it| self.colour(it)));
        entries.extend(Entry::published(self.curves.iter().any(|it| !it.published.is_empty())));
        entries
    }

    fn plot_height(&self, _width: f64) -> f64 {
        104.0
    }

    fn margins(&self, width: f64, height: f64) -> Margins {
        // The last mark's label may reach half its width past the plot.
        let last = self.x_span().ticks(6).last().map_or(0.0, |it| Font::TICK.width(&it.label) / 2.0);
        let left = self.y_axis(height).room();
        let right = last.max(reference_room(&self.references)).max(self.room_of_marks(width - left));
        let top = if self.upright.is_empty() { 3.0 } else { 3.0 + Font::VALUE.line() };
        Margins { left, right, top, bottom: level_room(&self.x.label) }
    }

    fn draw(&self, scene: &mut Scene, area: Rect) {
        let across = self.x_span();
        let up = self.y_axis(area.height());
        let ticks = level_ticks(scene.width, area, across, &self.x.marks);
        draw_bands(scene, area, &up, &self.references);
        up.draw_grid(scene, area);
        for tick in ticks.iter().filter(|it| !it.label.is_empty()) {
            let x = area.left + across.share(tick.value) * area.width();
            scene.line((x, area.top), (x, area.bottom), GRID_WIDTH, GRID);
        }
        draw_references(scene, area, &up, &self.references, |it| self.colour(it));
        let place = |(x, y): (f64, f64)| (area.left + across.share(x) * area.width(), up.y(area, y));
        self.draw_upright(scene, area, &across);
        // Behind all curves, whose marks they would hide.
        for (index, curve) in self.curves.iter().enumerate().filter(|it| it.1.band) {
            draw_along(scene, curve, self.colour(index), &place);
        }
        for index in self.order() {
            let curve = &self.curves[index];
            let name = if curve.name.is_empty() { "curve" } else { &curve.name };
            scene.group(name, |scene| self.draw_curve(scene, index, &place));
        }
        if self.curves.iter().any(|it| !it.published.is_empty()) {
            // One may lie on another curve than its own.
            let many = self.curves.len() > 1;
            scene.group("published", |scene| {
                for (index, curve) in self.curves.iter().enumerate() {
                    let colour = if many { self.colour(index) } else { INK };
                    curve
                        .published
                        .iter()
                        .for_each(|it| draw_published(scene, place(*it), MARKER + 0.4, colour));
                }
            });
        }
        self.draw_labels(scene, area, &place);
        up.draw_frame(scene, area);
        scene.line((area.left, area.bottom), (area.right, area.bottom), SPINE_WIDTH, INK);
        draw_level(scene, area, across, &ticks, &self.x.label);
    }

    fn describe(&self) -> String {
        let curve = |(index, it): (usize, &Curve)| {
            let values = from_to(it.known().map(|(x, y)| (format!("at {}", short(x)), y)));
            match it.name.as_str() {
                "" if self.curves.len() == 1 => values,
                _ => format!("{} {values}", self.name(index)),
            }
        };
        let lines = self.references.iter().chain(&self.upright);
        let lines = lines.map(Reference::describe);
        let said: Vec<String> = self.curves.iter().enumerate().map(curve).chain(lines).collect();
        format!("{} over {}: {}.", self.y.label, self.x.label, said.join("; "))
    }

    fn extent(&self) -> Option<Extent> {
        let lines = self.references.iter().flat_map(Reference::ends);
        let x = extent_of(self.shown().map(|it| it.0).chain(self.upright.iter().flat_map(Reference::ends)));
        let y = extent_of(self.shown().map(|it| it.1).chain(lines));
        Some(Extent { x, y, ..Extent::default() })
    }

    fn reach(&mut self, extent: Extent) {
        self.x.reach = extent.x.or(self.x.reach);
        self.y.reach = extent.y.or(self.y.reach);
    }
}

const MARKER: f64 = 2.1;

/// Where a step between two points has its corner.
type Corner = fn((f64, f64), (f64, f64)) -> (f64, f64);

const AFTER: Corner = |from, to| (to.0, from.1);
const BEFORE: Corner = |from, to| (from.0, to.1);

/// A line with a corner between every two points.
fn stairs(points: &[(f64, f64)], corner: Corner) -> Vec<(f64, f64)> {
    let mut line = Vec::with_capacity(2 * points.len());
    for pair in points.windows(2) {
        line.extend([pair[0], corner(pair[0], pair[1])]);
    }
    line.extend(points.last());
    line
}

impl Lines {
    /// In which order curves are drawn: lines before points, and of points those first that
    /// cover most, so that few lie over many.
    fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.curves.len()).collect();
        order.sort_by_key(|it| {
            let curve = &self.curves[*it];
            let alone = curve.mark == Mark::Points;
            (alone, if alone { usize::MAX - curve.points.len() } else { 0 })
        });
        order
    }

    fn draw_curve(&self, scene: &mut Scene, index: usize, place: &impl Fn((f64, f64)) -> (f64, f64)) {
        let (curve, colour) = (&self.curves[index], self.colour(index));
        let runs = curve.points.split(|(_, y)| y.is_none()).filter(|_| curve.mark != Mark::Points);
        for run in runs {
            let run: Vec<_> = run.iter().filter_map(|&(x, y)| Some(place((x, y?)))).collect();
            match (run.len(), curve.mark) {
                // Between two gaps, a line alone would not be seen.
                (1, Mark::Line) => self.marker(index).draw(scene, run[0], MARKER, colour, curve.fill),
                (0 | 1, _) => {}
                (_, Mark::Dashed) => scene.dashes(&run, DASH, REFERENCE_WIDTH, colour),
                (_, Mark::StepsAfter) => scene.dashes(&stairs(&run, AFTER), DASH, REFERENCE_WIDTH, colour),
                (_, Mark::StepsBefore) => scene.dashes(&stairs(&run, BEFORE), DASH, REFERENCE_WIDTH, colour),
                _ => scene.path(run, CURVE_WIDTH, colour),
            }
        }
        if !curve.band {
            for (&(x, _), ends) in curve.points.iter().zip(&curve.spread) {
                if let Some((low, high)) = *ends {
                    let ((x, one), (_, other)) = (place((x, low)), place((x, high)));
                    draw_spread(scene, x, (one, other), 1.6);
                }
            }
        }
        if curve.is_marked() {
            let marker = self.marker(index);
            curve.known().for_each(|it| marker.draw(scene, place(it), MARKER, colour, curve.fill));
        }
    }

    /// Vertical lines, with their values above the plot.
    fn draw_upright(&self, scene: &mut Scene, area: Rect, across: &Span) {
        let mut free = f64::NEG_INFINITY;
        let mut lines: Vec<&Reference> = self.upright.iter().collect();
        lines.sort_by(|a, b| a.value.total_cmp(&b.value));
        for reference in lines {
            let x = area.left + across.share(reference.value) * area.width();
            scene.dashes(
                &[(x, area.top), (x, area.bottom)],
                dash_of(&self.upright, reference),
                REFERENCE_WIDTH,
                INK,
            );
            let (text, font) = (three(reference.value), Font::VALUE);
            let half = font.width(&text) / 2.0;
            if free <= x - half {
                scene.write((x, area.top - font.line() / 2.0 - 0.5), Align::Middle, font, text);
                free = x + half + 2.0;
            }
        }
    }

    /// Writes names beside points where there is room: beside, above, below.
    fn draw_labels(&self, scene: &mut Scene, area: Rect, place: &impl Fn((f64, f64)) -> (f64, f64)) {
        let around = |(x, y): (f64, f64)| Rect { left: x, right: x, top: y, bottom: y }.grown(MARKER);
        let mut taken: Vec<Rect> = self.known().map(|it| around(place(it))).collect();
        for (index, curve) in self.curves.iter().enumerate() {
            let labelled = curve.points.iter().zip(&curve.labels).filter(|it| !it.1.is_empty());
            for (&(x, y), name) in labelled {
                let Some((x, y)) = y.map(|y| place((x, y))) else { continue };
                let font = Font::VALUE.coloured(self.colour(index).mix(INK, 0.5));
                let (beside, above) = (MARKER + 1.8, MARKER + 1.6 + font.cap() / 2.0);
                let places = [
                    (beside, 0.0, Align::Start),
                    (0.0, -above, Align::Middle),
                    (0.0, above + 0.6, Align::Middle),
                    (-beside, 0.0, Align::End),
                ];
                let text = |(dx, dy, align)| Text {
                    x: x + dx,
                    y: y + dy,
                    line: name.clone(),
                    font,
                    align,
                    turned: false,
                };
                let free = |it: &Text| {
                    area.holds(&it.bounds()) && !taken.iter().any(|other| other.meets(&it.bounds()))
                };
                if let Some(text) = places.into_iter().map(text).find(free) {
                    taken.push(text.bounds());
                    scene.put(text);
                }
            }
        }
    }
}

/// A curve's spread as a band along it, or across a point that is alone.
fn draw_along(scene: &mut Scene, curve: &Curve, colour: Colour, place: &impl Fn((f64, f64)) -> (f64, f64)) {
    let ends: Vec<_> = curve.points.iter().zip(&curve.spread).map(|(point, it)| (point.0, *it)).collect();
    for run in ends.split(|it| it.1.is_none()) {
        let known = || run.iter().filter_map(|&(x, ends)| Some((x, ends?)));
        let low = known().map(|(x, ends)| place((x, ends.0)));
        let corners: Vec<_> = low.chain(known().rev().map(|(x, ends)| place((x, ends.1)))).collect();
        match corners[..] {
            // A point between two that have no ends.
            [(x, low), (_, high)] => draw_spread(scene, x, (low, high), 1.6),
            _ if corners.is_empty() => {}
            _ => scene.shapes.push(Shape::Polygon { corners, colour, opacity: 0.2 }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_as_high_as_the_point_before_or_behind() {
        let points = [(1.0, 4.0), (2.0, 3.0)];
        let after = stairs(&points, AFTER);
        assert_eq!(after, [(1.0, 4.0), (2.0, 4.0), (2.0, 3.0)]);
        let before = stairs(&points, BEFORE);
        assert_eq!(before, [(1.0, 4.0), (1.0, 3.0), (2.0, 3.0)]);
    }
}
