//! A named description whose every number says where it comes from.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::doubt::{Grade, Spread};
use crate::node::value_at;

/// A description: parameters, and the source of each.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    /// Dotted path of each parameter that may well be another to what it may be: two
    /// numbers, or the values among which a reading chooses.
    #[serde(default)]
    pub intervals: BTreeMap<String, Vec<Value>>,
    /// What else is published of it and no parameter needs, such as a count to
    /// check it by.
    #[serde(default)]
    pub facts: Map<String, Value>,
}

impl<T> Preset<T> {
    /// How well the parameter at this dotted path is known, if its source says so.
    #[must_use]
    pub fn grade(&self, path: &str) -> Option<Grade> {
        Grade::of(self.source(path)?)
    }

    /// What the parameter at this dotted path may be beside `value`, if it may.
    #[must_use]
    pub fn spread(&self, path: &str, value: &Value) -> Option<Spread> {
        let reading = self.grade(path) == Some(Grade::Reading);
        Spread::read(self.intervals.get(path)?, reading, value).ok()
    }

    /// Whether a description, as a value, differs from this one in nothing but what its sources leave open: one of
    /// the same thing.
    pub(crate) fn differs_openly(&self, path: &str, mine: &Value, other: &Value) -> bool {
        if let (Value::Object(mine), Value::Object(other)) = (mine, other) {
            // A number that stands with its own factor is open by it.
            let has_factor = ["value", "within", "grade"].iter().all(|it| mine.contains_key(*it));
            return has_factor
                || mine.iter().all(|(key, value)| {
                    let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                    self.differs_openly(&path, value, other.get(key).unwrap_or(&Value::Null))
                });
        }
        let open = [Grade::Reading, Grade::Prior, Grade::Calibrated].map(Some);
        mine == other || open.contains(&self.grade(path))
    }

    /// Where the parameter at this dotted path comes from.
    #[must_use]
    pub fn source(&self, path: &str) -> Option<&str> {
        find_source(&self.sources, path)
    }
}

/// What a file of another form says.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// What it is called.
    pub name: String,
    /// One line for a list.
    pub summary: String,
    /// The description, as the parameters of the catalog that reads it.
    pub parameters: Value,
    /// What else the file says.
    pub facts: Map<String, Value>,
}

impl Found {
    /// What a text held: parameters, and facts beside them.
    pub(crate) fn of_text(name: &str, what: &str, (parameters, facts): (Value, Map<String, Value>)) -> Self {
        let (name, summary) = (name.to_owned(), format!("Read from {what}"));
        Self { name, summary, parameters, facts }
    }
}

/// A description as it is written, before names in it are looked up: the form of
/// every file in `data/`, and of a user's own.
///
/// ```
/// use memscape_study::Form;
///
/// let form = Form::from_toml("mine", "base = \"lpddr5-6400\"\n[parameters]\nchannels = 8")?;
/// assert_eq!((form.name.as_str(), form.base.as_deref()), ("mine", Some("lpddr5-6400")));
/// # Ok::<(), memscape_study::PresetError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Form {
    /// What it is called; the file's name unless given.
    pub name: String,
    /// One line for a list; empty unless given.
    pub summary: String,
    /// Another description, of which this says only what differs.
    pub base: Option<String>,
    /// What it says.
    pub parameters: Map<String, Value>,
    /// Where it says it from.
    pub sources: BTreeMap<String, String>,
    /// What some of it may be as well.
    pub intervals: BTreeMap<String, Vec<Value>>,
    /// What else is published of it.
    pub facts: Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    name: Option<String>,
    summary: Option<String>,
    base: Option<String>,
    parameters: Option<Map<String, Value>>,
    sources: Option<BTreeMap<String, String>>,
    intervals: Option<BTreeMap<String, Vec<Value>>>,
    facts: Option<Map<String, Value>>,
}

/// Why a description could not be read.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PresetError {
    /// Not TOML, or an unknown key.
    #[error("not a description: {0}")]
    Toml(String),
    /// NaN, infinity or a date.
    #[error("`{parameter}` = {given}: a description holds finite numbers, texts, lists and tables")]
    Value {
        /// The parameter's dotted path.
        parameter: String,
        /// As given.
        given: String,
    },
    /// A parameter without a source.
    #[error("`{preset}`: `{parameter}` has no source; add it to [sources]")]
    NoSource {
        /// The preset's name.
        preset: String,
        /// The parameter's dotted path.
        parameter: String,
    },
    /// A source that does not say how well the parameter is known.
    #[error(
        "`{preset}`: the source of `{parameter}` has no grade; begin it with one of {grades} and a colon"
    )]
    NoGrade {
        /// The preset's name.
        preset: String,
        /// The key as it stands in `[sources]`.
        parameter: String,
        /// What there is.
        grades: String,
    },
    /// A parameter that may be another, nobody says which.
    #[error("`{preset}`: `{parameter}` is a {grade}; say in [intervals] what else it may be")]
    NoInterval {
        /// The preset's name.
        preset: String,
        /// The parameter's dotted path.
        parameter: String,
        /// Why it may be another.
        grade: Grade,
    },
    /// An interval that is none.
    #[error("`{preset}`: [intervals] `{parameter}`: {problem}")]
    BadInterval {
        /// The preset's name.
        preset: String,
        /// The key as it stands in `[intervals]`.
        parameter: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A source for a parameter that is not given.
    #[error(
        "`{preset}`: [sources] names `{parameter}`, of which there is no value here; give one in [parameters], or \
         remove it"
    )]
    StraySource {
        /// The preset's name.
        preset: String,
        /// The key as it stands in `[sources]`.
        parameter: String,
    },
    /// A parameter with two values.
    #[error("`{parameter}` is given twice; remove one")]
    Twice {
        /// The parameter's dotted path.
        parameter: String,
    },
    /// A parameter of what is given as a whole.
    #[error(
        "`{parameter}` is given, but `{above}` = {given} is no table; `{above} = {{ base = \"NAME\", parameters = {{ \
         {below} = ... }} }}` changes what has a name"
    )]
    BelowValue {
        /// The parameter's dotted path.
        parameter: String,
        /// What of it has a value itself.
        above: String,
        /// The rest of the path.
        below: String,
        /// That value.
        given: String,
    },
}

impl Form {
    /// A description in TOML. Sources may be missing: it is the user's own.
    ///
    /// # Errors
    /// [`PresetError`] names the line or the key at fault.
    pub fn from_toml(name: &str, text: &str) -> Result<Self, PresetError> {
        let bad =
            |error: toml::de::Error| PresetError::Toml(unknown_key(error.to_string().trim_end().to_owned()));
        let table: toml::Table = toml::from_str(text).map_err(bad)?;
        check_values("", &toml::Value::Table(table))?;
        let raw: Raw = toml::from_str(text).map_err(bad)?;
        Self::new(name, raw)
    }

    /// A description as a table.
    ///
    /// # Errors
    /// [`PresetError`] names the key at fault.
    pub fn from_value(table: Map<String, Value>) -> Result<Self, PresetError> {
        let raw = serde_json::from_value(Value::Object(table));
        Self::new("inline", raw.map_err(|it| PresetError::Toml(unknown_key(it.to_string())))?)
    }

    /// A file of `data/`, whose every number must have a source.
    ///
    /// # Errors
    /// [`PresetError`] names the parameter without one.
    pub fn builtin(text: &str) -> Result<Self, PresetError> {
        let form = Self::from_toml("", text)?;
        let mut paths = Vec::new();
        collect_paths(&mut paths, "", &form.parameters);
        collect_paths(&mut paths, "facts.", &form.facts);
        if let Some(parameter) = paths.iter().find(|it| find_source(&form.sources, it).is_none()) {
            return Err(PresetError::NoSource { preset: form.name, parameter: parameter.clone() });
        }
        if let Some((parameter, _)) = form.sources.iter().find(|it| Grade::of(it.1).is_none()) {
            let grades = Grade::ALL.map(Grade::name).join(", ");
            return Err(PresetError::NoGrade { preset: form.name, parameter: parameter.clone(), grades });
        }
        let says_itself = |path: &str| {
            let (table, name) = path.rsplit_once('.').unwrap_or_default();
            name != "value" && value_in(&form.parameters, &format!("{table}.within")).is_some()
        };
        let open = |path: &&String| {
            let grade = find_source(&form.sources, path).and_then(Grade::of)?;
            // No answer is asked of what else a fact may be.
            let is_fact = path.starts_with("facts.");
            let said = is_fact || form.intervals.contains_key(*path) || says_itself(path);
            (grade.is_open() && !said).then(|| ((*path).clone(), grade))
        };
        match paths.iter().find_map(|it| open(&it)) {
            Some((parameter, grade)) => Err(PresetError::NoInterval { preset: form.name, parameter, grade }),
            None => Ok(form),
        }
    }

    /// Dotted paths of the parameters it says.
    pub(crate) fn paths(&self) -> Vec<String> {
        let mut paths = Vec::new();
        collect_paths(&mut paths, "", &self.parameters);
        paths
    }

    /// What another form held, of which `what` is the source.
    pub(crate) fn foreign(what: &str, found: Found) -> Self {
        let Found { name, summary, parameters, facts } = found;
        let parameters = match parameters {
            Value::Object(parameters) => parameters,
            _ => Map::new(),
        };
        let sources = BTreeMap::from([("*".to_owned(), what.to_owned())]);
        Self { name, summary, base: None, parameters, sources, intervals: BTreeMap::new(), facts }
    }

    fn new(name: &str, raw: Raw) -> Result<Self, PresetError> {
        let mut form = Self {
            name: raw.name.unwrap_or_else(|| name.to_owned()),
            summary: raw.summary.unwrap_or_default(),
            base: raw.base,
            parameters: nested(raw.parameters.unwrap_or_default())?,
            sources: raw.sources.unwrap_or_default(),
            intervals: raw.intervals.unwrap_or_default(),
            facts: raw.facts.unwrap_or_default(),
        };
        collect_ends(&mut form.intervals, "", &form.parameters);
        let mut paths = Vec::new();
        collect_paths(&mut paths, "", &form.parameters);
        collect_paths(&mut paths, "facts.", &form.facts);
        let stray = form.sources.keys().find(|key| match key.strip_suffix('*') {
            Some(prefix) => !paths.iter().any(|it| it.starts_with(prefix)),
            None => !paths.contains(key),
        });
        if let Some(key) = stray {
            return Err(PresetError::StraySource { preset: form.name, parameter: key.clone() });
        }
        for (path, entry) in &form.intervals {
            let reading = find_source(&form.sources, path).and_then(Grade::of) == Some(Grade::Reading);
            let read = match value_in(&form.parameters, path) {
                Some(value) => Spread::read(entry, reading, value),
                None => {
                    Err("there is no value of it here; give one in [parameters], or remove it".to_owned())
                }
            };
            if let Err(problem) = read {
                let parameter = path.clone();
                return Err(PresetError::BadInterval { preset: form.name, parameter, problem });
            }
        }
        Ok(form)
    }
}

/// What differs from a base is easily written beside it.
fn unknown_key(mut problem: String) -> String {
    if problem.contains("unknown field") {
        problem.push_str("; parameters stand in the table `parameters`");
    }
    problem
}

/// What stands at a dotted path.
pub(crate) fn value_in<'a>(table: &'a Map<String, Value>, path: &str) -> Option<&'a Value> {
    match path.split_once('.') {
        None => table.get(path),
        Some((first, rest)) => value_at(table.get(first)?, rest),
    }
}

/// The exact key, else the longest matching `prefix*`.
pub(crate) fn find_source<'a>(sources: &'a BTreeMap<String, String>, path: &str) -> Option<&'a str> {
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

/// Tables in place of dotted names: `{"pim.registers": 32}` is `{"pim": {"registers": 32}}`, as on the command
/// line. Names in tables stay, for their keys may be paths.
fn nested(parameters: Map<String, Value>) -> Result<Map<String, Value>, PresetError> {
    let mut all = Map::new();
    // Tables and values first: what stands below a value is told of, whichever comes first.
    let (whole, dotted): (Vec<_>, Vec<_>) = parameters.into_iter().partition(|it| !it.0.contains('.'));
    for (name, value) in whole.into_iter().chain(dotted) {
        put(&mut all, "", &name, value)?;
    }
    Ok(all)
}

/// No description has as many tables in each other.
const DEEPEST: usize = 16;

fn put(all: &mut Map<String, Value>, above: &str, name: &str, value: Value) -> Result<(), PresetError> {
    let Some((head, rest)) = name
        .split_once('.')
        .filter(|(head, rest)| !head.is_empty() && !rest.is_empty() && name.split('.').count() <= DEEPEST)
    else {
        return merge(all, above, name.to_owned(), value);
    };
    match all.entry(head).or_insert_with(|| Value::Object(Map::new())) {
        Value::Object(known) => put(known, &format!("{above}{head}."), rest, value),
        other => Err(PresetError::BelowValue {
            parameter: format!("{above}{name}"),
            above: format!("{above}{head}"),
            below: rest.to_owned(),
            given: other.to_string(),
        }),
    }
}

/// Puts in a value, of a table what is not there yet.
fn merge(all: &mut Map<String, Value>, above: &str, name: String, value: Value) -> Result<(), PresetError> {
    match (all.get_mut(&name), value) {
        (Some(Value::Object(known)), Value::Object(fields)) => {
            let above = format!("{above}{name}.");
            fields.into_iter().try_for_each(|(name, value)| merge(known, &above, name, value))
        }
        (Some(_), _) => Err(PresetError::Twice { parameter: format!("{above}{name}") }),
        (None, value) => {
            all.insert(name, value);
            Ok(())
        }
    }
}

fn collect_paths(paths: &mut Vec<String>, prefix: &str, table: &Map<String, Value>) {
    for (key, value) in table {
        let path = format!("{prefix}{key}");
        match value {
            Value::Object(inner) => collect_paths(paths, &format!("{path}."), inner),
            _ => paths.push(path),
        }
    }
}

/// The ends of what is known within a factor, which says itself what else it may be.
fn collect_ends(ends: &mut BTreeMap<String, Vec<Value>>, prefix: &str, table: &Map<String, Value>) {
    let number = |name: &str| table.get(name).and_then(Value::as_f64);
    if let (Some(value), Some(within)) = (number("value"), number("within"))
        && value > 0.0
        && within > 1.0
    {
        let all = vec![(value / within).into(), (value * within).into()];
        ends.entry(format!("{prefix}value")).or_insert(all);
    }
    for (key, value) in table {
        if let Value::Object(inner) = value {
            collect_ends(ends, &format!("{prefix}{key}."), inner);
        }
    }
}

/// Numbers that are not finite would silently become null, dates a table.
fn check_values(path: &str, value: &toml::Value) -> Result<(), PresetError> {
    match value {
        toml::Value::Float(it) if it.is_finite() => Ok(()),
        toml::Value::Float(_) | toml::Value::Datetime(_) => {
            Err(PresetError::Value { parameter: path.to_owned(), given: value.to_string() })
        }
        toml::Value::Array(items) => items.iter().try_for_each(|it| check_values(path, it)),
        toml::Value::Table(table) => table.iter().try_for_each(|(key, it)| {
            let below = path.strip_prefix("parameters").unwrap_or(path).trim_start_matches('.');
            let joined = if below.is_empty() { key.clone() } else { format!("{below}.{key}") };
            check_values(&joined, it)
        }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOY: &str = r#"
        name = "toy"
        summary = "One timing"
        [parameters]
        trcd_ns = 18
        [sources]
        trcd_ns = "datasheet: JESD209-5B, table 1"
    "#;

    #[test]
    fn what_is_built_in_needs_sources_what_is_given_does_not() {
        assert_eq!(Form::builtin(TOY).unwrap().name, "toy");
        let without = TOY.replace("trcd_ns = \"datasheet: JESD209-5B, table 1\"", "");
        let error = Form::builtin(&without).unwrap_err();
        assert_eq!(error.to_string(), "`toy`: `trcd_ns` has no source; add it to [sources]");
        assert!(Form::from_toml("toy", &without).is_ok());
    }

    #[test]
    fn what_is_built_in_says_how_well_it_is_known() {
        let error = |text: &str| Form::builtin(text).unwrap_err().to_string();
        let plain = TOY.replace("datasheet: ", "");
        assert_eq!(
            error(&plain),
            "`toy`: the source of `trcd_ns` has no grade; begin it with one of printed, datasheet, measured, \
             derived, choice, reading, prior, calibrated and a colon"
        );
        assert!(Form::from_toml("toy", &plain).is_ok());
        let open = TOY.replace("datasheet", "prior");
        assert_eq!(error(&open), "`toy`: `trcd_ns` is a prior; say in [intervals] what else it may be");
        let with = |interval: &str| format!("{open}\n[intervals]\n{interval}");
        assert_eq!(Form::builtin(&with("trcd_ns = [15, 21]")).unwrap().intervals.len(), 1);
        assert_eq!(
            error(&with("trcd_ns = [19, 21]")),
            "`toy`: [intervals] `trcd_ns`: expected a number below and one above 18, not 19 and 21"
        );
        assert_eq!(
            error(&with("trcd_ns = [15, 21]\ntrp_ns = [1, 2]")),
            "`toy`: [intervals] `trp_ns`: there is no value of it here; give one in [parameters], or remove it"
        );
    }

    #[test]
    fn a_factor_says_what_else_a_number_may_be() {
        let text = r#"
            name = "toy"
            summary = ""
            [parameters]
            read = { value = 6.0, within = 2.0, grade = "prior" }
            [sources]
            "read.*" = "prior: as another's"
        "#;
        let form = Form::builtin(text).unwrap();
        assert_eq!(
            form.intervals,
            BTreeMap::from([("read.value".to_owned(), vec![3.0.into(), 12.0.into()])])
        );
        // What is certain needs none, and what is said counts.
        let none = Form::from_toml("toy", "[parameters]\nread = { value = 0.0, within = 2.0 }").unwrap();
        assert!(none.intervals.is_empty());
        let said = format!("{text}\n[intervals]\n\"read.value\" = [5, 7]");
        assert_eq!(Form::builtin(&said).unwrap().intervals["read.value"], [5, 7]);
    }

    #[test]
    fn dotted_names_are_tables() {
        let of = |text: &str| Form::from_toml("", text).unwrap().parameters;
        let long = of("[parameters]\n\"pim.registers\" = 32\n\"pim.unit.lanes\" = 4\npim.width = 8\n");
        assert_eq!(long, of("[parameters.pim]\nregisters = 32\nwidth = 8\nunit = { lanes = 4 }\n"));
        // What cannot be below anything is refused by its reader.
        assert!(of("[parameters]\n\"..\" = 1\n").contains_key(".."));
        let paths = of("[parameters.any_of]\n\"pim.registers\" = [8, 16]\n");
        assert_eq!(paths["any_of"]["pim.registers"], serde_json::json!([8, 16]));
    }

    /// Nothing that is given is dropped, however deep it stands and whichever comes first.
    #[test]
    fn both_ways_to_a_table_meet() {
        let (dotted, table) = ("\"energy.io.value\" = 0.9\n", "[parameters.energy]\nio = { within = 1.1 }\n");
        let of = |text: &str| Form::from_toml("", text).unwrap().parameters;
        let met = of(&format!("[parameters]\n{dotted}{table}"));
        assert_eq!(
            serde_json::json!(met),
            serde_json::json!({ "energy": { "io": { "value": 0.9, "within": 1.1 } } })
        );
        let value = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        let both = [
            r#"{"energy.io.value": 0.9, "energy": {"io": {"within": 1.1}}}"#,
            r#"{"energy": {"io": {"within": 1.1}}, "energy.io.value": 0.9}"#,
        ];
        for text in both {
            let table = serde_json::json!({ "parameters": value(text) });
            assert_eq!(Form::from_value(table.as_object().unwrap().clone()).unwrap().parameters, met);
        }
        let error = |text: &str| {
            let table = serde_json::json!({ "parameters": value(text) });
            Form::from_value(table.as_object().unwrap().clone()).unwrap_err().to_string()
        };
        for text in [
            r#"{"pim": {"registers": 32}, "pim.registers": 24}"#,
            r#"{"pim.registers": 24, "pim": {"registers": 32}}"#,
        ] {
            assert_eq!(error(text), "`pim.registers` is given twice; remove one");
        }
        assert_eq!(
            error(r#"{"memory.channels": 2, "memory": "lpddr5x-8533"}"#),
            "`memory.channels` is given, but `memory` = \"lpddr5x-8533\" is no table; `memory = { base = \"NAME\", \
             parameters = { channels = ... } }` changes what has a name"
        );
    }

    #[test]
    fn bad_forms_are_told() {
        let error = |text: &str| Form::from_toml("toy", text).unwrap_err().to_string();
        let stray = "[parameters]\na = 1\n[sources]\nb = \"x\"";
        assert_eq!(
            error(stray),
            "`toy`: [sources] names `b`, of which there is no value here; give one in [parameters], or remove it"
        );
        let nan = "[parameters.memory]\na = nan";
        assert_eq!(
            error(nan),
            "`memory.a` = nan: a description holds finite numbers, texts, lists and tables"
        );
        assert!(
            error("[parameter]\na = 1").contains("unknown field `parameter`"),
            "{}",
            error("[parameter]")
        );
    }
}
