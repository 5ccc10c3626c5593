//! Free parameters: what a model cannot know from first principles.

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

    /// What `describe` gives as its source.
    #[must_use]
    pub fn source(&self, paper: &str) -> String {
        format!("calibrated: data/calibration/{paper}.toml, from {}", self.fixed_by.join(", "))
    }

    /// Puts the value where its path leads in `tree`; whether there is such a
    /// place.
    pub fn fill(&self, tree: &mut serde_json::Value) -> bool {
        let mut place = tree;
        for key in self.path.split('.') {
            match place.as_object_mut() {
                Some(table) => place = table.entry(key).or_insert(serde_json::Value::Null),
                None => return false,
            }
        }
        *place = self.json(self.value);
        true
    }
}
