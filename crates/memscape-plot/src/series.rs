//! What several charts share: series, reference lines, and their checks.

use crate::axis::{Scale, Upright};
use crate::canvas::{Rect, Scene};
use crate::error::PlotError;
use crate::legend::{DASH, Entry, Key};
use crate::style::{Colour, FADED, INK, REFERENCE_WIDTH, distinct};

/// One value per group, under one name of the legend.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// The name in the legend; none is shown for a single unnamed series.
    pub name: String,
    /// One value per group; `None` is shown as missing.
    pub values: Vec<Option<f64>>,
    /// Its colour; by position if missing.
    pub colour: Option<Colour>,
}

impl Series {
    /// A series coloured by its position; plain numbers are values as well.
    pub fn new<V: Into<Option<f64>>>(name: impl Into<String>, values: impl IntoIterator<Item = V>) -> Self {
        Self { name: name.into(), values: values.into_iter().map(Into::into).collect(), colour: None }
    }

    pub(crate) fn present(&self) -> impl Iterator<Item = f64> {
        self.values.iter().copied().flatten()
    }
}

pub(crate) fn colour_of(series: &[Series], index: usize) -> Colour {
    series[index].colour.unwrap_or_else(|| distinct(index))
}

/// A dashed line across the plot, such as a roofline.
#[derive(Debug, Clone, PartialEq)]
pub struct Reference {
    /// The name in the legend; lines of one name share an entry.
    pub label: String,
    /// Where it stands on the vertical axis.
    pub value: f64,
    /// The series it belongs to, whose colour it takes.
    pub series: Option<usize>,
}

impl Reference {
    /// A line that belongs to no series.
    pub fn new(label: impl Into<String>, value: f64) -> Self {
        Self { label: label.into(), value, series: None }
    }

    /// A line of the `series`-th series.
    pub fn of_series(label: impl Into<String>, value: f64, series: usize) -> Self {
        Self { series: Some(series), ..Self::new(label, value) }
    }
}

/// Legend entries of the series (none for a single unnamed one), then of the
/// reference lines.
pub(crate) fn bar_legend(series: &[Series], references: &[Reference]) -> Vec<Entry> {
    let patch = |(index, it): (usize, &Series)| Entry {
        name: it.name.clone(),
        key: Key::Patch(colour_of(series, index)),
    };
    let mut entries: Vec<_> = series.iter().enumerate().map(patch).filter(|it| !it.name.is_empty()).collect();
    entries.extend(reference_legend(references, |it| colour_of(series, it)));
    entries
}

pub(crate) fn reference_legend(references: &[Reference], colour: impl Fn(usize) -> Colour) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    for reference in references.iter().filter(|it| !it.label.is_empty()) {
        let shared = references.iter().filter(|it| it.label == reference.label).count();
        let own = reference.series.filter(|_| shared == 1).map(|it| reference_colour(colour(it)));
        if entries.iter().all(|it| it.name != reference.label) {
            let key = Key::Curve { colour: own.unwrap_or(INK), marker: None, dashed: true };
            entries.push(Entry { name: reference.label.clone(), key });
        }
    }
    entries
}

/// A series' colour, dark enough for a thin line across its bars.
fn reference_colour(colour: Colour) -> Colour {
    colour.mix(INK, 0.35)
}

pub(crate) fn draw_references(
    scene: &mut Scene,
    area: Rect,
    axis: &Upright,
    references: &[Reference],
    colour: impl Fn(usize) -> Colour,
) {
    for reference in references {
        let y = axis.y(area, reference.value);
        let colour = reference.series.map_or(INK, |it| reference_colour(colour(it)));
        scene.dashes(&[(area.left, y), (area.right, y)], DASH, REFERENCE_WIDTH, colour);
    }
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
        check_value(what, reference.value, || "its place".to_owned(), scale)?;
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
