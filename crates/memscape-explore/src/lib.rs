//! Studies by name, sweeps over their parameters, and tables.
//!
//! ```text
//! Parameters ── expand ──> Node (tree) ── deserialise ──> Study ── answer ──> Columns ──> Table
//!   (user)      presets,      ^                                                (typed vectors)
//!               defaults      └── axes patch leaves, once per point
//! ```
//!
//! There is one way to make a study: its parameters become a tree over the
//! study's defaults, and the tree is deserialised. A file, a Python call and
//! every point of a sweep go through the same checks, and an error names the
//! dotted path, the value and what is allowed.
//!
//! A sweep never ends at a bad point: the row says why in its `error` column.
//! Rows come in the order of the axes whatever the number of threads.

mod answers;
mod asker;
mod columns;
mod control;
mod describe;
mod descriptions;
mod digest;
mod edition;
mod error;
mod expression;
mod fit;
mod front;
mod given;
mod guard;
mod laws;
mod limits;
mod lock;
mod origin;
mod parameters;
mod parquet;
mod persistence;
mod points;
mod question;
mod registry;
mod room;
mod schema;
mod search;
mod sensitivity;
mod space;
mod store;
mod study_file;
mod sweep;
mod table;
mod table_reader;
mod table_writer;
mod texts;
mod uncertainty;
mod units;
mod whole;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod toy;

pub use control::Control;
pub use describe::{AnswerColumn, Description, Parameter, Values};
pub use descriptions::{described, is_path};
pub use digest::digest;
pub use edition::Edition;
pub use error::Error;
pub use expression::Expression;
pub use fit::{
    At, AtMeasurement, FitError, FitMethod, FitParameter, Fitted, FittedParameter, FittedPoint, Limit,
    Measurement, Residual, Scale, Steps, StudyFit, covariance, fit, fit_study,
};
pub use front::{Front, check_front, front, front_of, front_rows, hypervolume, once_each};
pub use given::{open_plain, read_bytes, read_only_below, read_text};
pub use guard::{caught, panics};
pub use laws::{Broken, Checked, Examination, Rule, examine};
pub use memscape_study::node::value_at;
pub use origin::{Changed, Origin};
pub use parameters::Parameters;
pub use question::Question;
pub use registry::{DynStudy, Entry, Registered, Registry, Row, read};
pub use schema::Kind;
pub use search::{Contest, Search, Strategy, contest, ended_early, not_compared, nothing_found, search};
pub use sensitivity::{Sensitivity, SensitivityMethod, sensitivity};
pub use space::{Method, Objective, Range, Sample, Space};
pub use store::{
    AskedAgain, Differing, Filled, Freed, Lacking, Manifest, Onto, Run, Store, Verified, Written,
    sweep_to_file,
};
pub use study_file::StudyFile;
pub use sweep::Sweep;
pub use table::{Column, Table, TableForm};
pub use uncertainty::{Doubts, Uncertainty, uncertainty};
pub use units::{name_and_unit, unit_of};
pub use whole::{remove_temporary_files, unwritable, write_atomically};
