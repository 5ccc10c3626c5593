//! Every named description in `data/`, whatever it describes, and a user's own.

use std::path::Path;

use memscape_explore::{DynStudy, Error};
use memscape_study::{Preset, Unknown};
use memscape_systems::registry;
use serde_json::Value;

/// All built-in descriptions with the kind of each, such as `memory`.
#[must_use]
pub fn presets() -> Vec<(String, &'static Preset<Value>)> {
    registry().presets().collect()
}

/// The built-in description of this name, or the one in a file, of whichever kind
/// the file turns out to be.
///
/// # Errors
/// [`Error`] suggests the nearest name, or says why the file is no description.
///
/// ```
/// let opt = memscape::preset("opt-6.7b")?;
/// assert_eq!(opt.parameters["layers"], 32);
/// assert!(opt.source("layers").is_some());
/// # Ok::<(), memscape::explore::Error>(())
/// ```
pub fn preset(name: &str) -> Result<Preset<Value>, Error> {
    match registry().preset(name) {
        Err(_) if Path::new(name).is_file() => registry().preset_in_file(name),
        found => found.cloned(),
    }
}

/// Where a study or a description is looked for: what neither has is perhaps a
/// slip in either.
#[must_use]
pub fn neither(name: &str) -> Unknown {
    let studies = registry().studies().map(DynStudy::name);
    let presets = registry().presets().map(|it| it.1.name.as_str());
    Unknown::new("study or preset", name, studies.chain(presets).collect::<Vec<_>>())
}

/// A parameter that two descriptions do not share.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// Its dotted path.
    pub path: String,
    /// What the first says, if it has the parameter.
    pub a: Option<Value>,
    /// What the second says, if it has the parameter.
    pub b: Option<Value>,
}

/// Where two descriptions differ, in the order of the first.
#[must_use]
pub fn difference(a: &Preset<Value>, b: &Preset<Value>) -> Vec<Difference> {
    let (of_a, of_b) = (leaves(&a.parameters), leaves(&b.parameters));
    let value = |leaves: &[(String, Value)], path: &str| {
        leaves.iter().find(|(it, _)| it == path).map(|(_, value)| value.clone())
    };
    let only_b = of_b.iter().filter(|(path, _)| value(&of_a, path).is_none());
    of_a.iter()
        .chain(only_b)
        .map(|(path, _)| Difference { path: path.clone(), a: value(&of_a, path), b: value(&of_b, path) })
        .filter(|it| it.a != it.b)
        .collect()
}

/// Each value of a nested table with its dotted path; what is null is left out.
#[must_use]
pub fn leaves(table: &Value) -> Vec<(String, Value)> {
    fn collect(found: &mut Vec<(String, Value)>, path: &str, value: &Value) {
        match value {
            Value::Object(entries) => {
                for (key, value) in entries {
                    let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                    collect(found, &path, value);
                }
            }
            Value::Null => {}
            leaf => found.push((path.to_owned(), leaf.clone())),
        }
    }
    let mut found = Vec::new();
    collect(&mut found, "", table);
    found
}
