//! What a study's schema allows, held against a tree of parameters: the one place
//! that enforces minima, maxima and lengths, for single points, sweeps and traces.
//!
//! A type says by its constructor what it can be at all; its schema says what is
//! answered in reasonable time and memory.

use memscape_study::node::Node;
use serde_json::{Map, Value};

use crate::error::Error;
use crate::schema::{alternatives, join, types};

/// The largest magnitude of a number whose schema names no limit of its own: far
/// beyond any hardware, and far below where doubles stop being exact.
pub(crate) const MOST: f64 = 1e15;

/// The schema of one parameter or table, as far as it limits values.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Limits {
    /// Anything, as far as this module is concerned.
    Open,
    Number {
        whole: bool,
        low: End,
        high: End,
        multiple: Option<f64>,
    },
    Text(Length),
    List(Length, Box<Limits>),
    Table(Vec<(String, Limits)>),
    /// Any one of these.
    Either(Vec<Limits>),
}

/// An end of a range.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct End {
    at: f64,
    /// Whether it is outside.
    open: bool,
    /// Whether the schema says it, rather than the house.
    stated: bool,
}

/// From the least to the most characters or items.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Length {
    least: u64,
    most: u64,
}

/// What is wrong with a value: its path below where the check began, itself, and
/// what is allowed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Excess {
    path: String,
    given: String,
    problem: String,
}

impl Excess {
    /// As the error of a parameter that stands at `path`.
    pub(crate) fn at(&self, path: &str) -> Error {
        let path = match (path, self.path.as_str()) {
            ("", below) => below.to_owned(),
            (path, "") => path.to_owned(),
            (path, below) => join(path, below),
        };
        Error::BadParameter { path, given: self.given.clone(), problem: self.problem.clone() }
    }
}

impl Limits {
    pub(crate) fn of(schema: &Map<String, Value>) -> Self {
        let of = |it: &Value| it.as_object().map_or(Self::Open, Self::of);
        if let Some(any) = alternatives(schema) {
            let any: Vec<Self> = any.iter().map(of).collect();
            return if any.iter().all(|it| *it == Self::Open) { Self::Open } else { Self::Either(any) };
        }
        let size = |key: &str| schema.get(key).and_then(Value::as_u64);
        let length = |least: &str, most: &str| Length {
            least: size(least).unwrap_or(0),
            most: size(most).unwrap_or(u64::MAX),
        };
        match types(schema).into_iter().find(|it| *it != "null") {
            Some(kind @ ("number" | "integer")) => Self::number(kind == "integer", schema),
            Some("string") => Self::Text(length("minLength", "maxLength")),
            Some("array") => {
                let items = schema.get("items").map_or(Self::Open, of);
                Self::List(length("minItems", "maxItems"), Box::new(items))
            }
            Some("object") => {
                let properties = schema.get("properties").and_then(Value::as_object);
                let fields = properties.into_iter().flatten().map(|(name, it)| (name.clone(), of(it)));
                Self::Table(fields.filter(|it| it.1 != Self::Open).collect())
            }
            _ => Self::Open,
        }
    }

    fn number(whole: bool, schema: &Map<String, Value>) -> Self {
        let end = |closed: &str, open: &str, house: f64| {
            let limit = |key: &str| schema.get(key).and_then(Value::as_f64);
            match (limit(closed), limit(open)) {
                (_, Some(at)) => End { at, open: true, stated: true },
                (Some(at), None) => End { at, open: false, stated: true },
                (None, None) => End { at: house, open: false, stated: false },
            }
        };
        // What the type holds.
        let most = match schema.get("format").and_then(Value::as_str) {
            Some("uint8") => f64::from(u8::MAX),
            Some("uint16") => f64::from(u16::MAX),
            Some("uint32") => f64::from(u32::MAX),
            _ => MOST,
        };
        Self::Number {
            whole,
            low: end("minimum", "exclusiveMinimum", -MOST),
            high: end("maximum", "exclusiveMaximum", most),
            multiple: schema.get("multipleOf").and_then(Value::as_f64),
        }
    }

    /// What is at `path`.
    pub(crate) fn below(&self, path: &str) -> Option<&Self> {
        path.split('.').try_fold(self, |it, name| match it {
            Self::Table(fields) => fields.iter().find(|it| it.0 == name).map(|it| &it.1),
            // A table that may be null.
            Self::Either(any) => any.iter().find_map(|it| it.below(name)),
            _ => None,
        })
    }

    /// What a number may be, if the schema says more than that it is one.
    pub(crate) fn in_words(&self) -> Option<String> {
        match self {
            Self::Number { whole, low, high, multiple } if low.stated || high.stated => {
                Some(in_words(*whole, *low, *high, *multiple))
            }
            Self::Either(any) => any.iter().find_map(Self::in_words),
            _ => None,
        }
    }

    /// Whether a number is none that there may be.
    pub(crate) fn forbid(&self, it: f64) -> bool {
        match self {
            Self::Number { low, high, multiple, .. } => {
                !(low.is_below(it) && high.is_above(it) && is_multiple(it, *multiple))
            }
            Self::Either(any) => any.iter().any(|limits| limits.forbid(it)),
            _ => false,
        }
    }

    /// Holds a value against the limits. A value of another type is a matter of who
    /// reads it.
    pub(crate) fn check(&self, value: &Node) -> Result<(), Excess> {
        self.check_but(value, "", &|_| false)
    }

    /// As [`Limits::check`], without the paths that are skipped.
    pub(crate) fn check_but(
        &self,
        value: &Node,
        path: &str,
        skip: &dyn Fn(&str) -> bool,
    ) -> Result<(), Excess> {
        let excess = |problem: String| {
            Err(Excess {
                path: path.to_owned(),
                given: value.to_string(),
                problem: format!("expected {problem}"),
            })
        };
        if !path.is_empty() && skip(path) {
            return Ok(());
        }
        match (self, value) {
            (Self::Number { whole, low, high, multiple }, _) => {
                let Some(number) = value.as_f64() else { return Ok(()) };
                if !self.forbid(number) {
                    return Ok(());
                }
                excess(in_words(*whole, *low, *high, *multiple))
            }
            (Self::Text(length), Node::Text(it)) if !length.fits(it.chars().count()) => {
                excess(format!("a text of {} characters", length.in_words()))
            }
            (Self::List(length, item), Node::List(all)) => {
                if !length.fits(all.len()) {
                    return excess(format!("a list of {} items", length.in_words()));
                }
                let mut items = all.iter().enumerate();
                items.try_for_each(|(at, it)| item.check_but(it, &below(path, &at.to_string()), skip))
            }
            (Self::Table(fields), Node::Table(_)) => fields.iter().try_for_each(|(name, limits)| {
                let Some(child) = value.child(name) else { return Ok(()) };
                limits.check_but(child, &below(path, name), skip)
            }),
            (Self::Either(any), _) => {
                // The first of its own type says what is wrong, if none is content.
                let mut refused = None;
                for it in any.iter().filter(|it| it.is_of_type(value)) {
                    match it.check_but(value, path, skip) {
                        Ok(()) => return Ok(()),
                        Err(error) => refused = refused.or(Some(error)),
                    }
                }
                refused.map_or(Ok(()), Err)
            }
            _ => Ok(()),
        }
    }

    fn is_of_type(&self, value: &Node) -> bool {
        match self {
            Self::Number { .. } => value.as_f64().is_some(),
            Self::Text(_) => matches!(value, Node::Text(_)),
            Self::List(..) => matches!(value, Node::List(_)),
            // Of variants, the one that is meant.
            Self::Table(fields) => {
                matches!(value, Node::Table(_)) && fields.iter().any(|it| value.child(&it.0).is_some())
            }
            Self::Either(any) => any.iter().any(|it| it.is_of_type(value)),
            Self::Open => false,
        }
    }
}

impl End {
    fn is_below(self, number: f64) -> bool {
        if self.open { self.at < number } else { self.at <= number }
    }

    fn is_above(self, number: f64) -> bool {
        if self.open { number < self.at } else { number <= self.at }
    }
}

impl Length {
    fn fits(self, length: usize) -> bool {
        (self.least..=self.most).contains(&(length as u64))
    }

    fn in_words(self) -> String {
        match self.most {
            u64::MAX => format!("at least {}", self.least),
            most if most == self.least => most.to_string(),
            most => format!("{} to {most}", self.least),
        }
    }
}

fn below(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { join(path, name) }
}

fn is_multiple(number: f64, of: Option<f64>) -> bool {
    of.is_none_or(|of| (number / of).fract() == 0.0)
}

/// "a whole number from 1 to 4096".
fn in_words(whole: bool, low: End, high: End, multiple: Option<f64>) -> String {
    let what = if whole { "a whole number" } else { "a number" };
    let range = match (low, high) {
        (End { stated: false, .. }, high) if high.stated => format!("{} {high}", upper(high)),
        (low, high) if !low.open && !high.open => format!("from {low} to {high}"),
        (low, high) => {
            let lower = if low.open { "above" } else { "at least" };
            format!("{lower} {low}, {} {high}", upper(high))
        }
    };
    let steps = multiple.map(|it| format!(", a multiple of {it}")).unwrap_or_default();
    format!("{what} {range}{steps}")
}

fn upper(end: End) -> &'static str {
    if end.open { "below" } else { "at most" }
}

/// As a person writes it: no twelve zeros.
impl std::fmt::Display for End {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.at.abs() {
            0.0 => f.write_str("0"),
            size if (1e-4..1e10).contains(&size) => write!(f, "{}", self.at),
            _ => write!(f, "{:e}", self.at),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(schema: &Value, value: &Value) -> Result<(), String> {
        let limits = Limits::of(schema.as_object().unwrap());
        limits.check(&Node::from(value)).map_err(|it| it.at("p").to_string())
    }

    #[test]
    fn numbers_keep_to_their_ends() {
        let share = json!({ "type": "number", "exclusiveMinimum": 0, "maximum": 1 });
        assert_eq!(check(&share, &json!(1)), Ok(()));
        for bad in [json!(0), json!(-0.1), json!(1.001)] {
            let error = check(&share, &bad).unwrap_err();
            assert_eq!(error, format!("`p` = {bad}: expected a number above 0, at most 1"));
        }
        let count = json!({ "type": ["integer", "null"], "minimum": 1, "maximum": 64, "multipleOf": 8 });
        assert!([json!(null), json!(8), json!(64.0)].iter().all(|it| check(&count, it).is_ok()));
        assert_eq!(
            check(&count, &json!(12)).unwrap_err(),
            "`p` = 12: expected a whole number from 1 to 64, a multiple of 8"
        );
    }

    #[test]
    fn what_no_schema_limits_the_house_does() {
        let free = json!({ "type": "number" });
        assert_eq!(check(&free, &json!(-1e15)), Ok(()));
        assert_eq!(
            check(&free, &json!(1e16)).unwrap_err(),
            "`p` = 1e16: expected a number from -1e15 to 1e15"
        );
        // What says that it takes all numbers of its type does.
        let seed = json!({ "type": "integer", "minimum": 0, "maximum": u64::MAX });
        assert_eq!(check(&seed, &json!(u64::MAX)), Ok(()));
    }

    #[test]
    fn lists_tables_and_texts_are_looked_into() {
        let schema = json!({ "type": "object", "properties": {
            "list": { "type": "array", "maxItems": 2, "items": { "type": "integer", "minimum": 1 } },
            "name": { "type": "string", "minLength": 1, "maxLength": 3 },
        } });
        assert_eq!(check(&schema, &json!({ "list": [1, 2], "name": "äöü" })), Ok(()));
        let error = |value: Value| check(&schema, &value).unwrap_err();
        assert_eq!(
            error(json!({ "list": [1, 0] })),
            "`p.list.1` = 0: expected a whole number from 1 to 1e15"
        );
        assert_eq!(
            error(json!({ "list": [1, 1, 1] })),
            "`p.list` = [1, 1, 1]: expected a list of 0 to 2 items"
        );
        assert_eq!(error(json!({ "name": "" })), "`p.name` = \"\": expected a text of 1 to 3 characters");
    }

    #[test]
    fn one_of_several_is_enough() {
        let schema = json!({ "anyOf": [
            { "type": "string", "const": "auto" },
            { "type": "integer", "minimum": 1, "maximum": 8 },
            { "type": "object", "properties": { "fixed": { "type": "integer", "maximum": 3 } } },
            { "type": "null" },
        ] });
        for good in [json!("auto"), json!(8), json!(null), json!({ "fixed": 3 })] {
            assert_eq!(check(&schema, &good), Ok(()));
        }
        assert!(check(&schema, &json!(9)).unwrap_err().starts_with("`p` = 9: expected"));
        assert!(check(&schema, &json!({ "fixed": 4 })).unwrap_err().starts_with("`p.fixed` = 4: expected"));
    }
}
