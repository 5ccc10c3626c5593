//! What a question is: the [`Study`] trait, [`Preset`]s whose every number has a
//! source, and the [`FreeParameter`]s that none can give.
//!
//! A study is plain data plus one pure function. Everything that asks studies
//! (sweeps, the command line, Python, notebooks) works through this trait, and
//! every system crate implements it without knowing who asks.

pub mod calibration;
pub mod preset;

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

pub use calibration::FreeParameter;
pub use preset::{Preset, PresetError};

/// One question about a design point. Pure: no clocks or tables, and no files but
/// a recording that a parameter names.
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
    /// A flat struct of numbers, texts and truth values; every field is a
    /// column, doc comments say what it means, names end in their unit.
    type Answer: Serialize + JsonSchema + Send;

    /// Answers the question.
    ///
    /// # Errors
    /// [`StudyError`] if the parameters contradict each other: what was asked,
    /// what was available, what to change.
    fn answer(&self) -> Result<Self::Answer, StudyError>;

    /// Parameters that name a preset and fill others from it.
    #[must_use]
    fn presets() -> Vec<PresetParameter> {
        Vec::new()
    }
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

/// A parameter that names a description in `data/` and fills other parameters
/// with what it holds, before any of them is overridden.
#[derive(Debug, Clone, Copy)]
pub struct PresetParameter {
    /// How the parameter is called, for example `hardware`.
    pub name: &'static str,
    /// What naming one does.
    pub meaning: &'static str,
    /// Dotted path of the parameters it fills; empty for the whole study.
    pub fills: &'static str,
    /// The preset that `Default` stands for.
    pub default: &'static str,
    /// All names.
    pub names: fn() -> Vec<&'static str>,
    /// What a name stands for; `None` if there is no such preset.
    pub find: fn(&str) -> Option<Filling>,
}

/// What a named preset fills in.
#[derive(Debug, Clone, PartialEq)]
pub struct Filling {
    /// Values, nested as the study's parameters below [`PresetParameter::fills`].
    pub parameters: serde_json::Value,
    /// Source by dotted path, a trailing `*` standing for the rest.
    pub sources: BTreeMap<String, String>,
}

impl Filling {
    /// What a description holds; `None` if it is no table of plain values.
    #[must_use]
    pub fn of<T: Serialize>(preset: &Preset<T>) -> Option<Self> {
        let parameters = serde_json::to_value(&preset.parameters).ok()?;
        Some(Self { parameters, sources: preset.sources.clone() })
    }

    /// Puts another description at a dotted path, in place of its name.
    #[must_use]
    pub fn with<T: Serialize>(mut self, path: &str, part: &Preset<T>) -> Option<Self> {
        let mut place = &mut self.parameters;
        for key in path.split('.') {
            place = place.as_object_mut()?.entry(key).or_insert(serde_json::Value::Null);
        }
        *place = serde_json::to_value(&part.parameters).ok()?;
        self.sources
            .extend(part.sources.iter().map(|(key, source)| (format!("{path}.{key}"), source.clone())));
        Some(self)
    }

    /// Fills in free parameters, and that they are calibrated to a paper's claims.
    #[must_use]
    pub fn calibrated(mut self, free: &[FreeParameter], paper: &str) -> Self {
        for free in free {
            if free.fill(&mut self.parameters) {
                self.sources.insert(free.path.clone(), free.source(paper));
            }
        }
        self
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

impl fmt::Display for StudyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
