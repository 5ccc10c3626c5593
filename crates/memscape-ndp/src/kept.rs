//! How catalogs tell of what is kept by its content: a description holds no numbers but a name of what was read.

use std::collections::BTreeMap;

use memscape_study::{Form, Preset};
use serde_json::{Map, Value};

/// The key of a form that says which content it is of.
pub(crate) const KEY: &str = "content";

/// The source of what a user's file holds.
pub(crate) const READ: &str = "read from a file";

/// A description that is the name of what is kept; a handful, so they stay for good.
pub(crate) fn preset(name: &str, summary: String, source: &str, kept: &str) -> &'static Preset<Value> {
    Box::leak(Box::new(Preset {
        name: name.to_owned(),
        summary,
        parameters: Value::from(kept),
        sources: [("*".to_owned(), source.to_owned())].into(),
        intervals: BTreeMap::new(),
        facts: Map::new(),
    }))
}

/// What a user's file says: the name of what is kept of it.
pub(crate) fn form(name: String, summary: String, kept: &str) -> Form {
    Form {
        name,
        summary,
        base: None,
        parameters: Map::from_iter([(KEY.to_owned(), Value::from(kept))]),
        sources: [(KEY.to_owned(), READ.to_owned())].into(),
        intervals: BTreeMap::new(),
        facts: Map::new(),
    }
}
