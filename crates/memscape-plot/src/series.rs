//! What several charts share: series, reference lines, and their checks.

use serde::{Deserialize, Serialize};

use crate::axis::{Scale, Upright};
use crate::canvas::{Align, Fill, Marker, Rect, Scene};
use crate::error::PlotError;
use crate::legend::{DASH, Dash, Entry, Key};
use crate::numbers::three;
use crate::style::{Colour, DISTINCT, FADED, Font, GRID, INK, REFERENCE_WIDTH, SPINE_WIDTH, WHITE, distinct};

/// One value per group, under one name of the legend.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Series {
    /// The name in the legend; none is shown for a single unnamed series.
    pub name: String,
    /// One value per group; `None` is shown as missing.
    pub values: Vec<Option<f64>>,
    /// Its colour; by position if missing.
    pub colour: Option<Colour>,
    /// Whether strokes across it tell it from another of that colour.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hatched: bool,
    /// From where to where each value may be; empty, or one per value.
    pub spread: Vec<Option<(f64, f64)>>,
    /// The same as others print it, drawn as open diamonds; empty, or one per value.
    pub published: Vec<Option<f64>>,
}

impl Series {
    /// A series coloured by its position; plain numbers are values as well.
    pub fn new<V: Into<Option<f64>>>(name: impl Into<String>, values: impl IntoIterator<Item = V>) -> Self {
        Self { name: name.into(), values: values.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// The same in a colour.
    #[must_use]
    pub fn coloured(self, colour: Colour) -> Self {
        Self { colour: Some(colour), ..self }
    }

    /// The same as the `look`-th of things without an order, wherever it stands: those beyond the last colour are
    /// hatched.
    #[must_use]
    pub fn looking(self, look: usize) -> Self {
        Self { hatched: !(look / DISTINCT.len()).is_multiple_of(2), ..self.coloured(distinct(look)) }
    }

    pub(crate) fn present(&self) -> impl Iterator<Item = f64> {
        self.values.iter().copied().flatten()
    }

    /// Every number that has a place: values, their spread, and what others print.
    pub(crate) fn shown(&self) -> impl Iterator<Item = f64> {
        let ends = self.spread.iter().flatten().flat_map(|it| [it.0, it.1]);
        self.present().chain(ends).chain(self.published.iter().copied().flatten())
    }
}

pub(crate) fn colour_of(series: &[Series], index: usize) -> Colour {
    series[index].colour.unwrap_or_else(|| distinct(index))
}

/// A bar, or a part of one, of a series.
pub(crate) fn draw_bar(scene: &mut Scene, rect: Rect, series: &[Series], index: usize) {
    scene.fill(rect, colour_of(series, index));
    if series[index].hatched {
        scene.hatch(rect);
    }
}

/// A dashed line across the plot, such as a roofline, with its value at its end; or a band.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reference {
    /// The name in the legend; lines of one name share an entry.
    pub label: String,
    /// Where it stands on the axis.
    pub value: f64,
    /// The series it belongs to, whose colour it takes.
    pub series: Option<usize>,
    /// The other end of a band.
    pub to: Option<f64>,
}

impl Reference {
    /// A line that belongs to no series.
    pub fn new(label: impl Into<String>, value: f64) -> Self {
        Self { label: label.into(), value, series: None, to: None }
    }

    /// For those who cannot see it.
    pub(crate) fn describe(&self) -> String {
        match self.to {
            Some(to) => format!("{} from {} to {}", self.label, three(self.value), three(to)),
            None => format!("{} at {}", self.label, three(self.value)),
        }
    }

    /// A line of the `series`-th series.
    pub fn of_series(label: impl Into<String>, value: f64, series: usize) -> Self {
        Self { series: Some(series), ..Self::new(label, value) }
    }

    /// A band from one value to another.
    pub fn band(label: impl Into<String>, from: f64, to: f64) -> Self {
        Self { to: Some(to), ..Self::new(label, from) }
    }

    pub(crate) fn ends(&self) -> impl Iterator<Item = f64> {
        [self.value].into_iter().chain(self.to)
    }
}

/// Legend entries of the series (none for a single unnamed one), then of the
/// reference lines.
pub(crate) fn bar_legend(series: &[Series], references: &[Reference]) -> Vec<Entry> {
    let patch = |(index, it): (usize, &Series)| Entry {
        name: it.name.clone(),
        key: Key::Bar { colour: colour_of(series, index), hatched: it.hatched },
    };
    let mut entries: Vec<_> = series.iter().enumerate().map(patch).filter(|it| !it.name.is_empty()).collect();
    entries.extend(reference_legend(references, |it| colour_of(series, it)));
    entries.extend(Entry::published(series.iter().any(|it| it.published.iter().any(Option::is_some))));
    entries
}

pub(crate) fn reference_legend(references: &[Reference], colour: impl Fn(usize) -> Colour) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    for reference in references.iter().filter(|it| !it.label.is_empty()) {
        let shared = references.iter().filter(|it| it.label == reference.label).count();
        let own = reference.series.filter(|_| shared == 1).map(|it| reference_colour(colour(it)));
        if entries.iter().all(|it| it.name != reference.label) {
            let key = match reference.to {
                Some(_) => Key::Patch(BAND),
                None => Key::Curve {
                    colour: own.unwrap_or(INK),
                    marker: None,
                    dash: Some(dash_of(references, reference)),
                },
            };
            entries.push(Entry { name: reference.label.clone(), key });
        }
    }
    entries
}

/// The dashes of a line: those of one colour differ by them, unless they share a name.
pub(crate) fn dash_of(references: &[Reference], of: &Reference) -> Dash {
    const DASHES: [Dash; 4] = [DASH, (0.8, 1.4), (7.0, 2.2), (1.6, 3.2)];
    if of.series.is_some() {
        return DASH;
    }
    let lines = references.iter().filter(|it| it.series.is_none() && it.to.is_none());
    let mut names: Vec<&str> = Vec::new();
    for it in lines {
        if !names.contains(&it.label.as_str()) {
            names.push(&it.label);
        }
    }
    let place = names.iter().position(|it| *it == of.label).unwrap_or(0);
    DASHES[place % DASHES.len()]
}

/// A series' colour, dark enough for a thin line across its bars.
fn reference_colour(colour: Colour) -> Colour {
    colour.mix(INK, 0.35)
}

/// What bands are filled with.
const BAND: Colour = GRID;

/// Bands across the plot: under everything else.
pub(crate) fn draw_bands(scene: &mut Scene, area: Rect, axis: &Upright, references: &[Reference]) {
    for reference in references {
        if let Some(to) = reference.to {
            let (one, other) = (axis.y(area, reference.value), axis.y(area, to));
            scene.fill(Rect { top: one.min(other), bottom: one.max(other), ..area }, BAND);
        }
    }
}

/// Lines across the plot, with their values where they end.
pub(crate) fn draw_references(
    scene: &mut Scene,
    area: Rect,
    axis: &Upright,
    references: &[Reference],
    colour: impl Fn(usize) -> Colour,
) {
    if references.is_empty() {
        return;
    }
    let colour_of = |it: &Reference| it.series.map_or(INK, |it| reference_colour(colour(it)));
    scene.group("references", |scene| {
        let mut ends: Vec<(f64, String, Colour)> = Vec::new();
        for reference in references.iter().filter(|it| it.to.is_none()) {
            let y = axis.y(area, reference.value);
            let colour = colour_of(reference);
            let dash = dash_of(references, reference);
            scene.dashes(&[(area.left, y), (area.right, y)], dash, REFERENCE_WIDTH, colour);
            let value = three(reference.value);
            if ends.iter().all(|it| it.1 != value) {
                ends.push((y, value, colour));
            }
        }
        for (y, value, colour) in apart(ends, area) {
            scene.write((area.right + 2.0, y), Align::Start, Font::VALUE.coloured(colour), value);
        }
    });
}

/// Texts at the right of the plot, moved so that none meets another; none if they are too many.
fn apart(mut ends: Vec<(f64, String, Colour)>, area: Rect) -> Vec<(f64, String, Colour)> {
    let line = Font::VALUE.size;
    if area.height() < line * ends.len() as f64 {
        return Vec::new();
    }
    ends.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut least = area.top;
    for end in &mut ends {
        end.0 = end.0.max(least);
        least = end.0 + line;
    }
    let mut most = area.bottom;
    for end in ends.iter_mut().rev() {
        end.0 = end.0.min(most);
        most = end.0 - line;
    }
    ends
}

/// The width right of a plot that the values of its lines take.
pub(crate) fn reference_room(references: &[Reference]) -> f64 {
    let lines = references.iter().filter(|it| it.to.is_none());
    lines.map(|it| Font::VALUE.width(&three(it.value)) + 2.5).fold(0.0, f64::max)
}

/// A value's spread: a line with a stroke at both ends.
pub(crate) fn draw_spread(scene: &mut Scene, x: f64, (one, other): (f64, f64), half: f64) {
    scene.line((x, one), (x, other), SPINE_WIDTH, INK);
    for y in [one, other] {
        scene.line((x - half, y), (x + half, y), SPINE_WIDTH, INK);
    }
}

/// What others print, as an open diamond.
pub(crate) fn draw_published(scene: &mut Scene, at: (f64, f64), radius: f64, colour: Colour) {
    // Whatever is under it.
    Marker::Diamond.solid(scene, at, radius, WHITE, 1.0);
    Marker::Diamond.draw(scene, at, radius, colour, Fill::Hollow);
}

/// # Errors
/// [`PlotError`] unless every series has one finite value or gap per group, at
/// least one of them a value, and every reference line a place.
pub(crate) fn check_series(
    chart: &str,
    groups: &[String],
    series: &[Series],
    scale: Scale,
) -> Result<(), PlotError> {
    let name = |index: usize, it: &Series| {
        if it.name.is_empty() { format!("{chart}, series {}", index + 1) } else { it.name.clone() }
    };
    for (index, it) in series.iter().enumerate() {
        let what = || name(index, it);
        check_length(what, it.values.len(), groups.len(), "groups")?;
        for (value, group) in it.values.iter().zip(groups) {
            if let Some(value) = value {
                check_value(what, *value, || format!("`{group}`"), scale)?;
            }
        }
        for given in [it.spread.len(), it.published.len()].into_iter().filter(|it| *it != 0) {
            check_length(what, given, groups.len(), "groups")?;
        }
        let ends = it.spread.iter().flatten().flat_map(|it| [it.0, it.1]);
        for value in ends.chain(it.published.iter().copied().flatten()) {
            check_value(what, value, || "its spread, or as published".to_owned(), scale)?;
        }
    }
    if groups.is_empty() || series.iter().all(|it| it.present().next().is_none()) {
        return Err(PlotError::Empty { what: chart.to_owned() });
    }
    Ok(())
}

pub(crate) fn check_references(
    references: &[Reference],
    series: usize,
    scale: Scale,
) -> Result<(), PlotError> {
    for reference in references {
        let what = || format!("reference line {}", reference.label);
        for end in reference.ends() {
            check_value(what, end, || "its place".to_owned(), scale)?;
        }
        if let Some(to) = reference.to.filter(|it| *it < reference.value) {
            return Err(PlotError::Outside {
                what: what(),
                value: format!("{} to {to}", reference.value),
                allowed: "the lower end before the higher".to_owned(),
            });
        }
        if let Some(index) = reference.series.filter(|&it| series <= it) {
            return Err(PlotError::Outside {
                what: what(),
                value: format!("series {index}"),
                allowed: format!("series 0 to {}", series.saturating_sub(1)),
            });
        }
    }
    Ok(())
}

pub(crate) fn check_length(
    what: impl Fn() -> String,
    got: usize,
    expected: usize,
    of: &'static str,
) -> Result<(), PlotError> {
    if got == expected { Ok(()) } else { Err(PlotError::Length { what: what(), got, expected, of }) }
}

/// Beyond these, an axis' own arithmetic leaves the finite numbers.
const MAGNITUDES: std::ops::RangeInclusive<f64> = 1e-100..=1e100;

pub(crate) fn check_value(
    what: impl Fn() -> String,
    value: f64,
    at: impl Fn() -> String,
    scale: Scale,
) -> Result<(), PlotError> {
    if !value.is_finite() {
        Err(PlotError::NotFinite { what: what(), value, at: at() })
    } else if value != 0.0 && !MAGNITUDES.contains(&value.abs()) {
        Err(PlotError::Magnitude { what: what(), value, at: at() })
    } else if scale.is_logarithmic() && value <= 0.0 {
        Err(PlotError::NotPositive { what: what(), value, at: at() })
    } else {
        Ok(())
    }
}

/// The colour of text that stands for a missing value.
pub(crate) const MISSING: Colour = FADED;
