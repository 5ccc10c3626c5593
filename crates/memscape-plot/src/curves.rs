//! Curves and points over two numeric axes: lines, scatters, rooflines.

use crate::axis::{Axis, Span, Upright, draw_level, level_room, level_ticks};
use crate::canvas::{Align, Marker, Rect, Scene, Text};
use crate::error::PlotError;
use crate::legend::{DASH, Entry, Key};
use crate::plot::{Margins, Plot};
use crate::series::{Reference, check_references, check_value, draw_references, reference_legend};
use crate::style::{
    CURVE_WIDTH, Colour, Font, GRID, GRID_WIDTH, INK, REFERENCE_WIDTH, SPINE_WIDTH, distinct,
};

/// How a curve is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mark {
    /// A line with a marker on every point: measured or computed points.
    #[default]
    LineAndPoints,
    /// A line alone: something known everywhere.
    Line,
    /// A dashed line: a bound, such as a roofline.
    Dashed,
    /// Markers alone: a scatter.
    Points,
}

/// Points in order, under one name of the legend.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Curve {
    /// The name in the legend; none is shown if empty.
    pub name: String,
    /// `(x, y)`; a missing `y` interrupts the line.
    pub points: Vec<(f64, Option<f64>)>,
    /// How it is drawn.
    pub mark: Mark,
    /// Its colour; by position if missing.
    pub colour: Option<Colour>,
    /// What is written beside the points, where it fits: none, or one each.
    pub labels: Vec<String>,
}

/// Curves and points over two numeric axes.
///
/// ```
/// use memscape_plot::{Axis, Figure, Lines};
///
/// let lines = Lines::new(Axis::log2("Threads"), Axis::linear("Throughput [tokens/s]"))
///     .curve("Interleaved", [(1.0, 0.5), (2.0, 0.9), (4.0, 1.6)])
///     .reference("Bandwidth bound", 2.0);
/// assert!(Figure::one_column().panel("", lines).svg()?.contains("Threads"));
/// # Ok::<(), memscape_plot::PlotError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Lines {
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// What is drawn, later over earlier.
    pub curves: Vec<Curve>,
    /// Dashed horizontal lines.
    pub references: Vec<Reference>,
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

    /// Adds a dashed line: a bound.
    #[must_use]
    pub fn bound<Y: Into<Option<f64>>>(
        self,
        name: impl Into<String>,
        points: impl IntoIterator<Item = (f64, Y)>,
    ) -> Self {
        self.marked(Mark::Dashed, name, points)
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

    /// Adds a dashed horizontal line.
    #[must_use]
    pub fn reference(mut self, label: impl Into<String>, value: f64) -> Self {
        self.references.push(Reference::new(label, value));
        self
    }

    fn colour(&self, index: usize) -> Colour {
        let bounds_before = self.curves[..index].iter().filter(|it| it.mark == Mark::Dashed).count();
        let own = if self.curves[index].mark == Mark::Dashed { INK } else { distinct(index - bounds_before) };
        self.curves[index].colour.unwrap_or(own)
    }

    fn marker(&self, index: usize) -> Marker {
        let marked = |it: &&Curve| matches!(it.mark, Mark::Points | Mark::LineAndPoints);
        Marker::of(self.curves[..index].iter().filter(marked).count())
    }

    fn key(&self, index: usize) -> Key {
        let (colour, marker) = (self.colour(index), self.marker(index));
        match self.curves[index].mark {
            Mark::LineAndPoints => Key::Curve { colour, marker: Some(marker), dashed: false },
            Mark::Line => Key::Curve { colour, marker: None, dashed: false },
            Mark::Dashed => Key::Curve { colour, marker: None, dashed: true },
            Mark::Points => Key::Point { colour, marker },
        }
    }

    fn known(&self) -> impl Iterator<Item = (f64, f64)> {
        self.curves.iter().flat_map(|it| &it.points).filter_map(|&(x, y)| Some((x, y?)))
    }

    fn x_span(&self) -> Span {
        Span::around_values(&self.x, self.known().map(|(x, _)| x))
    }

    fn y_axis(&self, height: f64) -> Upright<'_> {
        let values = self.known().map(|(_, y)| y).chain(self.references.iter().map(|it| it.value));
        Upright::new(Span::of_values(&self.y, values), &self.y.label, height)
    }
}

impl Plot for Lines {
    fn check(&self) -> Result<(), PlotError> {
        for (axis, name) in [(&self.x, "horizontal axis"), (&self.y, "vertical axis")] {
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
        for (index, curve) in self.curves.iter().enumerate() {
            let what =
                || if curve.name.is_empty() { format!("curve {}", index + 1) } else { curve.name.clone() };
            if !curve.labels.is_empty() {
                crate::series::check_length(what, curve.labels.len(), curve.points.len(), "points")?;
            }
            for (point, (x, y)) in curve.points.iter().enumerate() {
                check_value(what, *x, || format!("point {}", point + 1), self.x.scale)?;
                if let Some(y) = y {
                    check_value(what, *y, || format!("x = {x}"), self.y.scale)?;
                }
            }
        }
        check_references(&self.references, self.curves.len(), self.y.scale)?;
        if self.known().next().is_none() {
            return Err(PlotError::Empty { what: self.y.label.clone() });
        }
        let (across, up) = (self.x_span(), self.y_axis(100.0).span);
        match self.known().find(|&(x, y)| !across.holds(x) || !up.holds(y)) {
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
        entries
    }

    fn plot_height(&self, _width: f64) -> f64 {
        104.0
    }

    fn margins(&self, _width: f64, height: f64) -> Margins {
        // The last mark's label may reach half its width past the plot.
        let last = self.x_span().ticks(6).last().map_or(0.0, |it| Font::TICK.width(&it.label) / 2.0);
        Margins { left: self.y_axis(height).room(), right: last, top: 3.0, bottom: level_room(&self.x.label) }
    }

    fn draw(&self, scene: &mut Scene, area: Rect) {
        let across = self.x_span();
        let up = self.y_axis(area.height());
        let ticks = level_ticks(across, area.width());
        up.draw_grid(scene, area);
        for tick in ticks.iter().filter(|it| !it.label.is_empty()) {
            let x = area.left + across.share(tick.value) * area.width();
            scene.line((x, area.top), (x, area.bottom), GRID_WIDTH, GRID);
        }
        draw_references(scene, area, &up, &self.references, |it| self.colour(it));
        let place = |(x, y): (f64, f64)| (area.left + across.share(x) * area.width(), up.y(area, y));
        for (index, curve) in self.curves.iter().enumerate().filter(|(_, it)| it.mark != Mark::Points) {
            for run in curve.points.split(|(_, y)| y.is_none()) {
                let run: Vec<_> = run.iter().filter_map(|&(x, y)| Some(place((x, y?)))).collect();
                if run.len() < 2 {
                    continue;
                }
                match curve.mark {
                    Mark::Dashed => scene.dashes(&run, DASH, REFERENCE_WIDTH, self.colour(index)),
                    _ => scene.path(run, CURVE_WIDTH, self.colour(index)),
                }
            }
        }
        for (index, curve) in self.curves.iter().enumerate() {
            if matches!(curve.mark, Mark::Points | Mark::LineAndPoints) {
                for point in curve.points.iter().filter_map(|&(x, y)| Some((x, y?))) {
                    self.marker(index).draw(scene, place(point), MARKER, self.colour(index));
                }
            }
        }
        self.draw_labels(scene, area, &place);
        up.draw_frame(scene, area);
        scene.line((area.left, area.bottom), (area.right, area.bottom), SPINE_WIDTH, INK);
        draw_level(scene, area, across, &ticks, &self.x.label);
    }
}

const MARKER: f64 = 2.1;

impl Lines {
    /// Writes names beside points where there is room: beside, above, below.
    fn draw_labels(&self, scene: &mut Scene, area: Rect, place: &impl Fn((f64, f64)) -> (f64, f64)) {
        let around = |(x, y): (f64, f64)| Rect { left: x, right: x, top: y, bottom: y }.grown(MARKER);
        let mut taken: Vec<Rect> = self.known().map(|it| around(place(it))).collect();
        for (index, curve) in self.curves.iter().enumerate() {
            for (&(x, y), name) in curve.points.iter().zip(&curve.labels) {
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
