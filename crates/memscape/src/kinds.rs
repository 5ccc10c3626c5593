//! How a table is drawn: kinds of figures, logarithmic axes, lines across.

use memscape_papers::Error;
use memscape_plot::Reference;
use serde::{Deserialize, Serialize};

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
        let found = Self::ALL.into_iter().find(|it| it.name() == name);
        let unknown =
            || memscape_study::Unknown::new("kind of figure", name, Self::ALL.iter().map(|it| it.name()));
        found.ok_or_else(|| unknown().into())
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
