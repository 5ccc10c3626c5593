//! Free parameters: what a model cannot know from first principles.

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

/// A free parameter of a model, its value and what fixes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FreeParameter {
    /// Dotted path in the study.
    pub path: String,
    /// The preset whose value it is, such as one of two devices; every preset's
    /// if missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
    /// The fitted value.
    pub value: f64,
    /// Its unit.
    pub unit: String,
    /// Its physical meaning.
    pub meaning: String,
    /// The claims it is fitted to.
    pub fixed_by: Vec<String>,
    /// Lowest value of the fit.
    pub min: f64,
    /// Highest value of the fit.
    pub max: f64,
    /// Whether only whole numbers make sense.
    #[serde(default)]
    pub whole: bool,
    /// How its error goes with that of each parameter of the file, in order: the row of
    /// the covariance; empty if nobody has looked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub covariance: Vec<f64>,
}

impl FreeParameter {
    /// The parameters of a file in `data/calibration`.
    ///
    /// ```
    /// let text = r#"
    ///     [[parameter]]
    ///     path = "device.dispatch_ns"
    ///     preset = "xdna"
    ///     value = 200_000
    ///     unit = "ns"
    ///     meaning = "From the call to the first command"
    ///     fixed_by = ["toy.claim"]
    ///     min = 0
    ///     max = 1e6
    /// "#;
    /// let parameters = memscape_study::FreeParameter::all_from_toml(text)?;
    /// assert_eq!(parameters[0].key(), "xdna:device.dispatch_ns");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The TOML error names the line and the key.
    pub fn all_from_toml(text: &str) -> Result<Vec<Self>, toml::de::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct File {
            parameter: Vec<FreeParameter>,
        }
        Ok(toml::from_str::<File>(text)?.parameter)
    }

    /// How a fit names it: the path, after the preset's name and a colon if it
    /// belongs to one.
    #[must_use]
    pub fn key(&self) -> String {
        match &self.preset {
            Some(preset) => format!("{preset}:{}", self.path),
            None => self.path.clone(),
        }
    }

    /// A value of this parameter as a study takes it.
    #[must_use]
    pub fn json(&self, value: f64) -> serde_json::Value {
        #[expect(clippy::cast_possible_truncation, reason = "whole, from 0 to a few")]
        if self.whole { serde_json::json!(value.round() as i64) } else { serde_json::json!(value) }
    }

    /// Its path within what a study holds at `place`; the whole study if that is
    /// empty.
    #[must_use]
    pub fn below(&self, place: &str) -> Option<&str> {
        match place {
            "" => Some(&self.path),
            place => self.path.strip_prefix(place)?.strip_prefix('.'),
        }
    }

    /// Puts the value where `path` leads in `tree` if nothing is there yet; whether
    /// it did.
    pub(crate) fn fill(&self, path: &str, tree: &mut serde_json::Value) -> bool {
        let mut place = tree;
        let mut keys = path.split('.').peekable();
        while let Some(key) = keys.next() {
            match place.as_object_mut() {
                Some(table) => place = table.entry(key).or_insert(serde_json::Value::Null),
                None => return false,
            }
            if place.is_null() && keys.peek().is_some() {
                *place = serde_json::json!({});
            }
        }
        let empty = place.is_null();
        if empty {
            *place = self.json(self.value);
        }
        empty
    }
}

/// The free parameters of one paper's model: `data/calibration/<paper>.toml`.
#[derive(Debug)]
pub struct Calibration {
    /// The paper, for example `pimnast`.
    pub paper: &'static str,
    text: &'static str,
    parameters: OnceLock<Vec<FreeParameter>>,
}

impl Calibration {
    /// The calibration in this TOML text.
    #[must_use]
    pub const fn new(paper: &'static str, text: &'static str) -> Self {
        Self { paper, text, parameters: OnceLock::new() }
    }

    /// All free parameters.
    ///
    /// # Panics
    /// If the text is none, which tests exclude.
    #[must_use]
    pub fn parameters(&self) -> &[FreeParameter] {
        self.parameters.get_or_init(|| match FreeParameter::all_from_toml(self.text) {
            Ok(parameters) => parameters,
            Err(error) => panic!("the calibration of {} is none: {error}", self.paper),
        })
    }

    /// Those that belong to the description of this name, or to every one.
    pub fn of<'a>(&'a self, preset: &'a str) -> impl Iterator<Item = &'a FreeParameter> {
        self.parameters().iter().filter(move |it| it.preset.as_deref().is_none_or(|it| it == preset))
    }

    /// What `describe` gives as a parameter's source.
    #[must_use]
    pub fn source(&self, free: &FreeParameter) -> String {
        format!("calibrated: data/calibration/{}.toml, from {}", self.paper, free.fixed_by.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_parameter_is_filled_in_at_its_last_key() {
        let text = r#"
            [[parameter]]
            path = "cost.base_cost"
            value = 2.5
            unit = "ns"
            meaning = "A call"
            fixed_by = ["toy.claim"]
            min = 0
            max = 10
        "#;
        let free = &FreeParameter::all_from_toml(text).unwrap()[0];
        for before in [json!({}), json!({ "cost": null }), json!({ "cost": {} })] {
            let mut tree = before.clone();
            assert!(free.fill(&free.path, &mut tree), "{before}");
            assert_eq!(tree, json!({ "cost": { "base_cost": 2.5 } }));
        }
        let mut given = json!({ "cost": { "base_cost": 1 } });
        assert!(!free.fill(&free.path, &mut given));
        assert_eq!(given, json!({ "cost": { "base_cost": 1 } }));
    }
}
