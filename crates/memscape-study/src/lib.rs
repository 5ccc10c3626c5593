//! What a question is, and what a system exports.
//!
//! A [`Study`] is plain data plus one pure function. Everything that asks studies
//! (sweeps, the command line, Python, notebooks) works through this trait, and
//! every system crate implements it without knowing who asks. A [`Catalog`] holds
//! descriptions by name, a [`System`] is a list of both.

mod breakdown;
mod calibration;
mod catalog;
mod doubt;
mod energy;
mod estimate;
mod headline;
mod law;
mod nearest;
pub mod node;
mod operators;
mod preset;
pub mod random;
mod ranges;
mod recent;
mod study;
mod system;
mod timeline;

pub use breakdown::{Breakdown, MOST_PARTS, Part};
pub use calibration::{Calibration, FreeParameter};
pub use catalog::{
    AnyCatalog, Catalog, CatalogError, File, Find, Folder, Foreign, Holds, Nested, Opened, Takes, merge,
};
pub use doubt::{Grade, Spread};
pub use energy::{Boundary, Energy, EnergyColumns, EnergyPart};
pub use estimate::{Estimate, Graded};
pub use headline::{BoundBy, Headline, Served};
pub use law::{
    Aim, Bound, Effect, Engines, Exception, Laws, Limit, Limited, More, Test, Trend, When, either, faster,
    lowers, neutral, raises, slower, unused,
};
pub use nearest::{Unknown, list, nearest};
pub use operators::{OperatorCost, Pass, merged, write_operators};
pub use preset::{Form, Found, Preset, PresetError};
pub use ranges::{OutOfRange, within};
pub use recent::Recent;
pub use study::{CostEngine, Implied, Slot, Study, StudyError, TraceFormat, sums_off};
pub use system::{StudyVisitor, System};
pub use timeline::{Csv, Output, Perfetto, Recorder, Span, Timeline, TimelineSpan, Track, TrackId};
