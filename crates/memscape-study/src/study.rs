//! The trait that every question implements.

use std::error::Error;
use std::fmt;
use std::io::Write;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::catalog::AnyCatalog;
use crate::law::{Bound, Laws};
use crate::operators::OperatorCost;
use crate::timeline::Recorder;

/// One question about a design point. Pure: no clocks, tables or files.
///
/// The struct's fields are the parameters: doc comments say what they mean,
/// names end in their unit, `Default` is the paper's baseline, and every field
/// is always serialised (no `skip_serializing_if`), so that a parameter can be
/// addressed by its dotted path. A field's type checks its own range.
pub trait Study: Clone + Default + Send + Sync + Serialize + DeserializeOwned + JsonSchema + 'static {
    /// What it is called, for example `pim.gemv`.
    const NAME: &'static str;
    /// One line for a list.
    const SUMMARY: &'static str;
    /// A struct of numbers, texts and truth values; every field is a column, doc
    /// comments say what it means, names end in their unit. A struct may be
    /// flattened into it, as [`Headline`](crate::Headline) is.
    type Answer: Serialize + JsonSchema + Send;

    /// Goes up by one with each change of the model that changes an answer, so that answers
    /// that were kept before are not taken for its own.
    const MODEL: u32 = 1;

    /// Columns that are the sum of others: the whole, and its parts.
    const SUMS: &'static [(&'static str, &'static [&'static str])] = &[];

    /// What must hold of the answers on any machine.
    const LAWS: Laws = Laws::NONE;

    /// What happens when, told to a recorder; `None` if nothing has a time.
    const TIMELINE: Option<fn(&Self, &mut dyn Recorder) -> Result<(), StudyError>> = None;

    /// What a prompt and a token take, operator by operator; `None` if there are no operators.
    const OPERATORS: Option<fn(&Self) -> Result<Vec<OperatorCost>, StudyError>> = None;

    /// Other forms in which what happens is written, such as memory commands.
    const TRACES: &'static [TraceFormat<Self>] = &[];

    /// Answers the question.
    ///
    /// # Errors
    /// [`StudyError`] if the parameters contradict each other: what was asked,
    /// what was available, what to change.
    fn answer(&self) -> Result<Self::Answer, StudyError>;

    /// What columns of the answer cannot pass, from the description alone and not
    /// by the way in which the answer is found.
    fn bounds(&self) -> Vec<Bound> {
        Vec::new()
    }

    /// Parameters that take a description: by name, by path, or as a table.
    #[must_use]
    fn slots() -> Vec<Slot> {
        Vec::new()
    }
}

/// Those of [`Study::SUMS`] that an answer does not keep, each in one line.
///
/// * `rounding`: what a whole and its parts may be apart, as a share of the larger
/// * `number`: of a column; of one that is null none, so that a whole has no parts and a part adds nothing
///
/// ```
/// let known = |it: &str| [("time", 3.0), ("read", 1.0)].into_iter().find(|(name, _)| *name == it).map(|it| it.1);
/// let sums: &[(&str, &[&str])] = &[("time", &["read", "written"]), ("energy", &["read"])];
/// assert_eq!(memscape_study::sums_off(sums, 1e-9, known), ["`time` is 3, its parts sum to 1"]);
/// ```
#[must_use]
pub fn sums_off(
    sums: &[(&str, &[&str])],
    rounding: f64,
    number: impl Fn(&str) -> Option<f64>,
) -> Vec<String> {
    let off = |(whole, parts): &(&str, &[&str])| {
        let value = number(whole)?;
        let sum: f64 = parts.iter().filter_map(|it| number(it)).sum();
        let is_off = (sum - value).abs() > rounding * value.abs().max(sum.abs());
        is_off.then(|| format!("`{whole}` is {value}, its parts sum to {sum}"))
    };
    sums.iter().filter_map(off).collect()
}

/// A form of trace beside those that a [`Study::TIMELINE`] has.
#[derive(Debug)]
pub struct TraceFormat<S> {
    /// What it is called, for example `ramulator`.
    pub name: &'static str,
    /// One line for a list.
    pub summary: &'static str,
    /// Writes it.
    pub write: fn(&S, &mut dyn Write) -> Result<(), StudyError>,
}

/// How a time is found, where a study offers both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CostEngine {
    /// Counted.
    Closed,
    /// Walked, event by event.
    Events,
}

/// A parameter that takes a description of a catalog: a built-in name, the path
/// of a file, or a table.
#[derive(Debug, Clone, Copy)]
pub struct Slot {
    /// What the parameter is called, for example `hardware`.
    pub path: &'static str,
    /// Whether the description's tables are parameters of the study by
    /// themselves. Otherwise it stands at `path`.
    pub whole: bool,
    /// What can be named.
    pub catalog: &'static dyn AnyCatalog,
    /// The built-in description that `Default` stands for.
    pub default: &'static str,
    /// What a description says of parameters beside it.
    pub implied: &'static [Implied],
}

/// What a description says of a parameter beside it, such as a model's file of the format
/// of its weights. It holds unless that parameter is given.
#[derive(Debug, Clone, Copy)]
pub struct Implied {
    /// Dotted path of the parameter.
    pub parameter: &'static str,
    /// Its value by a description's parameters; none leaves the study's default.
    pub value: fn(&Value) -> Option<Value>,
}

impl Slot {
    /// A description whose tables are the study's own, as far as it has them.
    #[must_use]
    pub const fn whole(path: &'static str, catalog: &'static dyn AnyCatalog, default: &'static str) -> Self {
        Self { path, whole: true, catalog, default, implied: &[] }
    }

    /// A description at a path of the study.
    #[must_use]
    pub const fn part(path: &'static str, catalog: &'static dyn AnyCatalog, default: &'static str) -> Self {
        Self { path, whole: false, catalog, default, implied: &[] }
    }

    /// The same, whose descriptions may say what parameters beside them are.
    #[must_use]
    pub const fn implying(mut self, implied: &'static [Implied]) -> Self {
        self.implied = implied;
        self
    }

    /// Where a description of this slot has what the study has at `path`: `layers` for `model.layers`, and of a whole
    /// one the same; none if it is not the slot's.
    #[must_use]
    pub fn field<'a>(&self, path: &'a str) -> Option<&'a str> {
        if self.whole { Some(path) } else { path.strip_prefix(self.path)?.strip_prefix('.') }
    }
}

/// Why a study has no answer: an error of the model, told in one line.
#[derive(Debug)]
pub struct StudyError(Box<dyn Error + Send + Sync>);

impl<E: Error + Send + Sync + 'static> From<E> for StudyError {
    fn from(error: E) -> Self {
        Self(Box::new(error))
    }
}

impl StudyError {
    /// The error of a writer, if that is what it is.
    ///
    /// # Errors
    /// Itself, if it is another.
    pub fn into_io(self) -> Result<std::io::Error, Self> {
        self.0.downcast::<std::io::Error>().map(|it| *it).map_err(Self)
    }
}

impl fmt::Display for StudyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
