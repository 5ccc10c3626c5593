//! A named description whose every number says where it comes from.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// A description read from `data/`: parameters, and the source of each.
///
/// ```
/// use memscape_study::Preset;
/// use memscape_units::Nanoseconds;
///
/// #[derive(Debug, serde::Deserialize)]
/// #[serde(deny_unknown_fields)]
/// struct Row { trcd_ns: Nanoseconds }
///
/// let text = r#"
///     name = "toy"
///     summary = "One timing"
///     [parameters]
///     trcd_ns = 18
///     [sources]
///     trcd_ns = "JESD209-5B, table 1"
/// "#;
/// let row = Preset::<Row>::from_toml(text)?;
/// assert_eq!(row.parameters.trcd_ns.as_f64(), 18.0);
///
/// let without = text.replace("trcd_ns = \"JESD209-5B, table 1\"", "");
/// let error = Preset::<Row>::from_toml(&without).unwrap_err();
/// assert_eq!(error.to_string(), "`toy`: `trcd_ns` has no source; add it to [sources]");
/// # Ok::<(), memscape_study::PresetError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Preset<T> {
    /// What it is called, for example `lpddr5-6400`.
    pub name: String,
    /// One line for a list.
    pub summary: String,
    /// The description itself.
    pub parameters: T,
    /// Dotted path of each parameter to where its value comes from. A key that
    /// ends in `*` stands for every parameter that starts so and has no key of
    /// its own.
    pub sources: BTreeMap<String, String>,
}

/// Why a preset could not be read.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PresetError {
    /// Not TOML, a value of the wrong type or range, or an unknown key.
    #[error("cannot read the preset: {0}")]
    Toml(#[from] toml::de::Error),
    /// A parameter without a source.
    #[error("`{preset}`: `{parameter}` has no source; add it to [sources]")]
    NoSource {
        /// The preset's name.
        preset: String,
        /// The parameter's dotted path.
        parameter: String,
    },
    /// A source for a parameter that does not exist.
    #[error("`{preset}`: [sources] names `{parameter}`, which is not a parameter; remove it")]
    StraySource {
        /// The preset's name.
        preset: String,
        /// The key as it stands in `[sources]`.
        parameter: String,
    },
}

impl<T: DeserializeOwned> Preset<T> {
    /// Reads a preset and checks that parameters and sources match.
    ///
    /// # Errors
    /// [`PresetError`] names the line, the parameter or the source at fault.
    pub fn from_toml(text: &str) -> Result<Self, PresetError> {
        #[derive(Deserialize)]
        struct Raw {
            name: String,
            parameters: toml::Table,
            sources: BTreeMap<String, String>,
        }
        let preset: Self = toml::from_str(text)?;
        let raw: Raw = toml::from_str(text)?;
        let mut paths = Vec::new();
        collect_paths(&mut paths, "", &raw.parameters);
        if let Some(path) = paths.iter().find(|it| find_source(&raw.sources, it).is_none()) {
            return Err(PresetError::NoSource { preset: raw.name, parameter: path.clone() });
        }
        let stray = raw.sources.keys().find(|key| match key.strip_suffix('*') {
            Some(prefix) => !paths.iter().any(|it| it.starts_with(prefix)),
            None => !paths.contains(key),
        });
        match stray {
            Some(key) => Err(PresetError::StraySource { preset: raw.name, parameter: key.clone() }),
            None => Ok(preset),
        }
    }
}

impl<T> Preset<T> {
    /// Where the parameter at this dotted path comes from.
    #[must_use]
    pub fn source(&self, path: &str) -> Option<&str> {
        find_source(&self.sources, path)
    }
}

/// The exact key, else the longest matching `prefix*`.
fn find_source<'a>(sources: &'a BTreeMap<String, String>, path: &str) -> Option<&'a str> {
    let wildcard = || {
        sources
            .iter()
            .filter_map(|(key, source)| Some((key.strip_suffix('*')?, source)))
            .filter(|(prefix, _)| path.starts_with(prefix))
            .max_by_key(|(prefix, _)| prefix.len())
            .map(|(_, source)| source)
    };
    sources.get(path).or_else(wildcard).map(String::as_str)
}

fn collect_paths(paths: &mut Vec<String>, prefix: &str, table: &toml::Table) {
    for (key, value) in table {
        let path = format!("{prefix}{key}");
        match value {
            toml::Value::Table(inner) => collect_paths(paths, &format!("{path}."), inner),
            _ => paths.push(path),
        }
    }
}
