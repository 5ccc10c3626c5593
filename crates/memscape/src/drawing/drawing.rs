//! What of a table is drawn, and how: columns, kinds of figures, logarithmic axes, lines across.

use std::collections::BTreeMap;

use memscape_explore::Table;
use memscape_papers::Error;
use memscape_plot::{Reference, Style};
use memscape_study::Unknown;
use serde::{Deserialize, Serialize};

use super::labels::{Prefix, counted_label, short_label, unit};
use super::values::distinct;
use crate::export;

/// The column in which a table of intervals or ranges says of what they are.
pub(crate) const OF: &str = "of";

/// More panels beside each other have no room in a column of a page.
const PANELS_OF_COLUMN: usize = 4;

/// What of a table is drawn, and how.
///
/// ```
/// use memscape::prelude::*;
///
/// let sweep = Sweep::default().axis("memory.banks_per_channel", [8, 16, 32]).axis("split_k", [1, 2]);
/// let table = study("pim.gemv")?.sweep(&sweep, &())?;
/// let figure = Drawing::of("memory.banks_per_channel", "speedup").series("split_k").draw(&table)?;
/// assert!(figure.svg()?.contains("Banks per channel"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Drawing {
    /// The column across.
    pub x: String,
    /// The column up, or several: parts of a stack, or a series each.
    pub y: Vec<String>,
    /// The column whose values are told apart by colour; of a heat map, its rows.
    #[serde(default)]
    pub series: Option<String>,
    /// The column whose values have a panel each, of the same axes.
    #[serde(default)]
    pub facet: Option<String>,
    /// Whether each panel has axes of its own, so that a length means something else in each.
    #[serde(default)]
    pub own_axes: bool,
    /// How it is drawn; lines over numbers and bars over names if not given.
    #[serde(default)]
    pub kind: Option<Kind>,
    /// Whether equal factors are equally far apart, across and up; up are the colours of a heat map.
    #[serde(default)]
    pub log: Log,
    /// Dashed lines and bands across, with a name each.
    #[serde(default)]
    pub reference: Vec<(String, Line)>,
    /// The columns of the least and the greatest that each value may be.
    #[serde(default)]
    pub band: Option<[String; 2]>,
    /// For `front`: of which columns more is better.
    #[serde(default)]
    pub maximize: Vec<String>,
    /// What columns are called, if not by their names; such columns are drawn in their own units.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// Stands above.
    #[serde(default)]
    pub title: String,
    /// Stands below.
    #[serde(default)]
    pub caption: String,
    /// Whether it is as wide as two columns of a page.
    #[serde(default)]
    pub wide: bool,
    /// Where it is shown.
    #[serde(default, with = "export::style_name")]
    pub style: Style,
}

impl Drawing {
    /// One column over another.
    #[must_use]
    pub fn of(x: impl Into<String>, y: impl Into<String>) -> Self {
        Self { x: x.into(), y: vec![y.into()], ..Self::default() }
    }

    /// Tells the values of a column apart by colour.
    #[must_use]
    pub fn series(self, column: impl Into<String>) -> Self {
        Self { series: Some(column.into()), ..self }
    }

    /// Gives each value of a column a panel.
    #[must_use]
    pub fn facet(self, column: impl Into<String>) -> Self {
        Self { facet: Some(column.into()), ..self }
    }

    /// Draws it so.
    #[must_use]
    pub fn kind(self, kind: Kind) -> Self {
        Self { kind: Some(kind), ..self }
    }

    /// Calls a column so.
    #[must_use]
    pub fn label(mut self, column: impl Into<String>, text: impl Into<String>) -> Self {
        self.labels.insert(column.into(), text.into());
        self
    }

    /// How many panels stand beside each other: as evenly filled rows as they take.
    pub(crate) fn in_row(&self, panels: usize) -> usize {
        let most = if self.wide { 2 * PANELS_OF_COLUMN } else { PANELS_OF_COLUMN };
        panels.div_ceil(panels.div_ceil(most))
    }

    /// What the values of a table of intervals, ranges or shares are of, which it says in the column `of`: each of
    /// them once, in the order of these rows. None if other columns are drawn.
    pub(crate) fn subjects(&self, table: &Table, lines: impl Iterator<Item = usize>) -> Vec<String> {
        self.subjects_of(&self.y, table, lines)
    }

    /// The same of these columns.
    fn subjects_of(
        &self,
        columns: &[String],
        table: &Table,
        lines: impl Iterator<Item = usize>,
    ) -> Vec<String> {
        const VALUES: [&str; 16] = [
            "value",
            "median",
            "low",
            "high",
            "base",
            "swing",
            "mean_effect",
            "mean_absolute_effect",
            "deviation",
            "at_low",
            "at_high",
            "least",
            "greatest",
            "from_calibration",
            "from_priors",
            "from_readings",
        ];
        if !columns.iter().all(|it| VALUES.contains(&it.as_str()) && !self.labels.contains_key(it)) {
            return Vec::new();
        }
        let Ok(all) = table.text(OF) else { return Vec::new() };
        let mut found = Vec::new();
        for of in lines.map(|it| &all[it]) {
            match of {
                Some(of) if found.contains(of) => {}
                Some(of) => found.push(of.clone()),
                None => return Vec::new(),
            }
        }
        found
    }

    /// The one that all rows are of where these columns are drawn, if they are.
    pub(crate) fn subject_of(&self, columns: &[String], table: &Table) -> Option<String> {
        <[String; 1]>::try_from(self.subjects_of(columns, table, 0..table.height())).ok().map(|[it]| it)
    }

    /// The one that all rows are of, if they are.
    pub(crate) fn subject(&self, table: &Table) -> Option<String> {
        self.subject_of(&self.y, table)
    }

    /// Whether panels are of columns in different units, whose numbers have no axis in common.
    pub(crate) fn is_of_several_units(&self, table: &Table) -> bool {
        let of =
            if self.facet.as_deref() == Some(OF) { table.text(OF).unwrap_or_default() } else { Vec::new() };
        let units = distinct(of.iter().flatten().map(|it| unit(it)));
        units.len() > 1
    }

    /// A column's name as an axis says it.
    pub(crate) fn called(&self, column: &str, unit: Prefix) -> String {
        self.labels.get(column).map_or_else(|| unit.label(column), Clone::clone)
    }

    /// A number of a column, with what it counts.
    pub(crate) fn counted(&self, column: &str, number: &str) -> String {
        match self.labels.get(column) {
            Some(name) => format!("{name} {}", number.strip_suffix(".0").unwrap_or(number)),
            None => counted_label(column, number),
        }
    }

    /// A column's name without its unit.
    pub(crate) fn short(&self, column: &str) -> String {
        self.labels.get(column).map_or_else(|| short_label(column), Clone::clone)
    }
}

/// What stands across a figure.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Line {
    /// A dashed line at a value.
    At(f64),
    /// A band from one value to another.
    Band(f64, f64),
}

impl Line {
    /// The same in another unit.
    pub(crate) fn times(self, factor: f64) -> Self {
        match self {
            Self::At(value) => Self::At(value * factor),
            Self::Band(from, to) => Self::Band(from * factor, to * factor),
        }
    }

    pub(crate) fn named(self, name: &str) -> Reference {
        match self {
            Self::At(value) => Reference::new(name, value),
            Self::Band(from, to) => Reference::band(name, from, to),
        }
    }
}

/// How a table is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Kind {
    /// A bar for each row, side by side.
    Bars,
    /// Points in the order of `x`, with a line through them.
    Lines,
    /// Points.
    Points,
    /// A colour for each pair of `x` and `series`.
    Heatmap,
    /// Points, and what nothing is better than in both columns.
    Front,
    /// The columns `y` on top of each other.
    Stacked,
    /// A bar for each row from the first column `y` to the second, around the column `base`: what
    /// `sensitivity` answers one axis at a time.
    Tornado,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::Bars, Self::Lines, Self::Points, Self::Heatmap, Self::Front, Self::Stacked, Self::Tornado];

    /// What it is called in calls and on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Bars => "bars",
            Self::Lines => "lines",
            Self::Points => "points",
            Self::Heatmap => "heatmap",
            Self::Front => "front",
            Self::Stacked => "stacked",
            Self::Tornado => "tornado",
        }
    }

    /// The one of this name.
    ///
    /// # Errors
    /// [`Error::Unknown`] suggests the nearest.
    pub fn named(name: &str) -> Result<Self, Error> {
        Ok(Unknown::find("kind of figure", name, Self::ALL, Self::name)?)
    }
}

/// Which axes are logarithmic.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Log {
    /// Across.
    pub x: bool,
    /// Up.
    pub y: bool,
}

impl Log {
    /// `x`, `y` or `xy`; empty for neither.
    ///
    /// # Errors
    /// [`Error::BadChart`] for other letters.
    pub fn named(text: &str) -> Result<Self, Error> {
        match text {
            "" => Ok(Self::default()),
            "x" => Ok(Self { x: true, y: false }),
            "y" => Ok(Self { x: false, y: true }),
            "xy" => Ok(Self { x: true, y: true }),
            other => Err(Error::BadChart(format!("`log` = {other}: expected x, y or xy"))),
        }
    }
}
