//! Why there is no figure.

/// Why a figure could not be drawn.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PlotError {
    /// There is no value to draw.
    #[error("`{what}` has nothing to draw; give it at least one value")]
    Empty {
        /// The chart or bar.
        what: String,
    },
    /// A NaN or infinity.
    #[error(
        "`{what}` is {value} at {at}; a figure needs finite numbers (leave the value out where there is none)"
    )]
    NotFinite {
        /// The series.
        what: String,
        /// The value.
        value: f64,
        /// The group or point.
        at: String,
    },
    /// A number far beyond any quantity.
    #[error(
        "`{what}` is {value:e} at {at}; a figure shows 0 and magnitudes from 1e-100 to 1e100 (change the unit, or \
         leave the value out)"
    )]
    Magnitude {
        /// The series.
        what: String,
        /// The value.
        value: f64,
        /// The group or point.
        at: String,
    },
    /// A value that a logarithmic axis has no place for.
    #[error("`{what}` is {value} at {at}, but a logarithmic axis needs positive numbers; use a linear one")]
    NotPositive {
        /// The series.
        what: String,
        /// The value.
        value: f64,
        /// The group or point.
        at: String,
    },
    /// More or fewer values than places for them.
    #[error("`{what}` has {got} values for {expected} {of}; give one each")]
    Length {
        /// The series.
        what: String,
        /// How many it has.
        got: usize,
        /// How many it should have.
        expected: usize,
        /// What there are so many of.
        of: &'static str,
    },
    /// Something outside what the chart covers.
    #[error("`{what}`: {value} does not fit; allowed are {allowed}")]
    Outside {
        /// What it belongs to.
        what: String,
        /// What does not fit.
        value: String,
        /// What would.
        allowed: String,
    },
    /// A character that the embedded font lacks.
    #[error(
        "no glyph for `{glyph}` in `{text}`; the figures' font has Latin, Greek and common mathematical signs"
    )]
    Glyph {
        /// The character.
        glyph: char,
        /// The text it stands in.
        text: String,
    },
    /// A text that would be cut off.
    #[error("`{text}` does not fit on the page; shorten it, draw fewer panels, or make the figure wider")]
    Room {
        /// The text.
        text: String,
    },
    /// A plot that nobody could read.
    #[error(
        "`{what}`: names and numbers beside the plot leave {left:.0} points across for it; shorten the names, draw fewer \
         panels, or make the figure wider"
    )]
    Narrow {
        /// What the plot shows.
        what: String,
        /// What is left, in points.
        left: f64,
    },
    /// The drawing library failed.
    #[error("cannot draw: {0}")]
    Backend(String),
}
