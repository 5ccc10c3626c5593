//! Who answers: the program, the model of the study, and the data that is built in.

use memscape_study::AnyCatalog;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::digest::digest;
use crate::registry::DynStudy;

/// What decides a study's answers beside its parameters. Answers of another edition are
/// another's answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edition {
    /// The study.
    pub study: String,
    /// The program's version.
    pub memscape: String,
    /// The commit that it was built from, if whoever built it set `MEMSCAPE_COMMIT`.
    pub commit: Option<String>,
    /// [`memscape_study::Study::MODEL`].
    pub model: u32,
    /// The built-in descriptions that the study takes, by content: 32 hexadecimal digits.
    pub data: String,
}

impl Edition {
    /// Of this program.
    ///
    /// ```ignore
    /// assert_eq!(Edition::of(study("pim.gemv")?).model, 1);
    /// ```
    #[must_use]
    pub fn of(study: &dyn DynStudy) -> Self {
        let mut taken: Vec<&dyn AnyCatalog> = Vec::new();
        for catalog in study.slots().iter().map(|it| it.catalog) {
            if !taken.iter().any(|it| it.is(catalog)) {
                taken.push(catalog);
            }
        }
        let presets = |it: &dyn AnyCatalog| -> Vec<Value> {
            it.presets().iter().map(|it| json!([it.name, it.parameters])).collect()
        };
        let catalogs: Vec<(&str, Vec<Value>)> = taken.iter().map(|it| (it.kind(), presets(*it))).collect();
        Self {
            study: study.name().to_owned(),
            memscape: env!("CARGO_PKG_VERSION").to_owned(),
            commit: option_env!("MEMSCAPE_COMMIT").map(str::to_owned),
            model: study.model(),
            data: digest(json!(catalogs).to_string().as_bytes()),
        }
    }

    /// Of what is no study, by its name: it has no model and no data of its own.
    pub(crate) fn of_command(name: &str) -> Self {
        Self {
            study: name.to_owned(),
            memscape: env!("CARGO_PKG_VERSION").to_owned(),
            commit: option_env!("MEMSCAPE_COMMIT").map(str::to_owned),
            model: 0,
            data: String::new(),
        }
    }

    /// Equal for equal answers: 32 hexadecimal digits of all but the commit, which is
    /// not always known.
    #[must_use]
    pub fn id(&self) -> String {
        digest(json!([self.study, self.memscape, self.model, self.data]).to_string().as_bytes())
    }

    /// The same as a number: what the keys of all its points have in common.
    pub(crate) fn key(&self) -> u128 {
        u128::from_str_radix(&self.id(), 16).unwrap_or_default()
    }
}
