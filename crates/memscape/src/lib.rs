//! Design-space exploration of memory-centric LLM inference hardware.
//!
//! This crate is the front door for Rust programs and notebooks; the
//! [`prelude`] holds what most of them need, and the [`tour`] says where each
//! system's algorithms are.
//!
//! ```
//! use memscape::prelude::*;
//!
//! let sweep = Sweep::of(parameters! { "model" => "opt-6.7b" })
//!     .axis("memory.banks_per_channel", [8, 16, 32]);
//! let table = study("pim.gemv")?.sweep(&sweep, &())?;
//! assert_eq!(table.height(), 3);
//! # Ok::<(), memscape::explore::Error>(())
//! ```

mod bar;
pub mod drawing;
mod explain;
mod explorer;
pub mod export;
mod find;
mod kept;
mod notebook;
mod presets;
pub mod tour;
mod versions;

pub use memscape_dram as dram;
pub use memscape_explore as explore;
pub use memscape_measure as measure;
pub use memscape_page as page;
pub use memscape_papers as papers;
pub use memscape_plot as plot;
pub use memscape_study as study;
pub use memscape_systems as systems;
pub use memscape_systems::all::*;
pub use memscape_units as units;
pub use memscape_workload as workload;
#[doc(hidden)]
pub use serde_json;

pub use crate::riscv::census::Runs;
pub use bar::Bar;
pub use explain::explain_census;
pub use explorer::{Page, explore_page, explore_table};
pub use find::{claims, experiment};
pub use kept::is_stale;
pub use notebook::description_html;
pub use presets::{Difference, difference, leaves, neither, preset, presets};
pub use versions::{DataVersion, data_versions, versions};

/// What a notebook or a small program needs: `use memscape::prelude::*;`.
pub mod prelude {
    pub use crate::drawing::{Drawing, Kind, Line};
    pub use crate::explore::{
        Column, Control, Description, DynStudy, FitMethod, FitParameter, Front, Measurement, Objective,
        Parameters, Range, Row, Search, Sensitivity, SensitivityMethod, Space, Strategy, StudyFile, Sweep,
        Table, Uncertainty, fit_study, front, front_of, hypervolume, search, sensitivity, uncertainty,
    };
    pub use crate::notebook::Show;
    pub use crate::papers::calibrate::{calibrate, leave_one_out};
    pub use crate::papers::claims::{Claim, Report, Role, Sort, Verdict, evaluate, report};
    pub use crate::papers::{Experiment, experiments};
    pub use crate::parameters;
    pub use crate::plot::{Figure, Style};
    pub use crate::presets::{preset, presets};
    pub use crate::study::{Preset, Recorder, Timeline};
    pub use crate::systems::{registry, studies, study};
    pub use crate::{Bar, Page, claims, experiment, explore_page, explore_table};
}

/// Parameters of a study, by dotted path.
///
/// ```
/// let parameters = memscape::parameters! {
///     "model" => "opt-6.7b",
///     "memory.banks_per_channel" => 8,
/// };
/// assert_eq!(parameters["memory.banks_per_channel"], 8);
/// ```
#[macro_export]
macro_rules! parameters {
    ($($path:expr => $value:expr),* $(,)?) => {{
        #[allow(unused_mut, reason = "without any, nothing is put in")]
        let mut parameters = $crate::explore::Parameters::new();
        $(parameters.insert($path.to_owned(), $crate::serde_json::json!($value));)*
        parameters
    }};
}

/// The pages, whose Rust snippets are run as these items' examples are.
#[cfg(doctest)]
pub mod pages {
    #[doc = include_str!("../../../README.md")]
    pub struct Readme;
    #[doc = include_str!("../../../docs/explorer.md")]
    pub struct Explorer;
    #[doc = include_str!("../../../docs/rust.md")]
    pub struct Rust;
    #[doc = include_str!("../../../docs/search.md")]
    pub struct Search;
}
