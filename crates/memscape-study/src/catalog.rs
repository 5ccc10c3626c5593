//! Descriptions by name: what is built in, and how a user's own are read.

use std::fmt::Debug;
use std::io::Read;
use std::path::Path;
use std::sync::OnceLock;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::calibration::Calibration;
use crate::nearest::Unknown;
use crate::node::Node;
use crate::preset::{Form, Found, Preset, PresetError, find_source, value_in};

/// The named descriptions of one kind, such as all memories: those of `data/`,
/// and the form in which a user writes one of his own.
///
/// A description may give the name of another catalog's in place of one of its
/// tables, or what differs of it, leave out what a paper's claims fix (the free parameters), and name a
/// `base` of the same catalog of which it only says what differs.
///
/// ```
/// use memscape_study::Catalog;
/// use memscape_units::Nanoseconds;
///
/// #[derive(Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
/// #[serde(deny_unknown_fields)]
/// struct Row { trcd_ns: Nanoseconds }
///
/// static ROWS: Catalog<Row> = Catalog::new("row", "Row timing", &[r#"
///     name = "toy"
///     summary = "One timing"
///     [parameters]
///     trcd_ns = 18
///     [sources]
///     trcd_ns = "datasheet: JESD209-5B, table 1"
/// "#]);
///
/// assert_eq!(ROWS.find("toy")?.parameters.trcd_ns.as_f64(), 18.0);
/// assert_eq!(ROWS.find("toys").unwrap_err().to_string(), "there is no row `toys`; did you mean `toy`?");
/// # Ok::<(), memscape_study::Unknown>(())
/// ```
#[derive(Debug)]
pub struct Catalog<T: 'static> {
    kind: &'static str,
    summary: &'static str,
    files: &'static [&'static str],
    nested: &'static [Nested],
    calibration: Option<(&'static Calibration, &'static str)>,
    foreign: &'static [Foreign],
    check: Option<fn(&T) -> Result<(), String>>,
    inherited: &'static [&'static str],
    anchor: Option<fn(&mut Map<String, Value>, &Path)>,
    presets: OnceLock<Presets<T>>,
}

/// Built-in descriptions, typed and as plain values, in the same order.
#[derive(Debug)]
struct Presets<T> {
    typed: Vec<Preset<T>>,
    plain: Vec<Preset<Value>>,
}

/// Where in a description the name of another catalog's may stand.
#[derive(Debug, Clone, Copy)]
pub struct Nested {
    /// Dotted path of the table.
    pub path: &'static str,
    /// What can be named there.
    pub catalog: &'static dyn AnyCatalog,
}

/// Another form in which descriptions are published, such as `config.json`.
#[derive(Debug)]
pub struct Foreign {
    /// How such files end, without the dot.
    pub extension: &'static str,
    /// What it is called in messages.
    pub what: &'static str,
    /// How it is read.
    pub holds: Holds,
}

/// What a file of a [`Foreign`] form holds.
#[derive(Debug, Clone, Copy)]
pub enum Holds {
    /// A JSON text, which may also stand inline.
    Text {
        /// Whether a table is of this form.
        recognises: fn(&Map<String, Value>) -> bool,
        /// The description it holds, as this catalog's parameters, and what else it says.
        read: fn(&str) -> Result<(Value, Map<String, Value>), String>,
    },
    /// Far more than a description, so that only its beginning is read: given the
    /// file's name, and the folder in which it is and others that belong to it.
    Beginning(fn(&str, &dyn Folder) -> Result<Found, String>),
}

/// A folder whose files can be read from their beginning, by whoever may read files.
pub trait Folder {
    /// The file of this name: its length, and its bytes one after the other.
    ///
    /// # Errors
    /// Why it cannot be read; and of a name that is a path, that it leaves the folder.
    fn open(&self, name: &str) -> Result<Opened<'_>, String>;
}

/// A file of a [`Folder`].
pub struct Opened<'a> {
    /// Its bytes.
    pub length: u64,
    /// From the first on.
    pub bytes: Box<dyn Read + 'a>,
}

/// A file that a user names, read by whoever may read files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Its name, without the folder.
    pub name: String,
    /// What it holds.
    pub bytes: Vec<u8>,
}

/// What a catalog reads as a description.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Takes {
    /// How file names end, without the dot.
    pub extensions: Vec<&'static str>,
    /// Whether a folder of such files is one description.
    pub folders: bool,
    /// The largest file.
    pub max_bytes: u64,
}

/// Finds a name, or whatever else stands for a description, in a catalog.
pub type Find<'a> = &'a dyn Fn(&dyn AnyCatalog, &str) -> Result<Preset<Value>, CatalogError>;

/// A [`Catalog`] whose type is not known.
pub trait AnyCatalog: Sync + Debug {
    /// What one of its descriptions is called, for example `memory`.
    fn kind(&self) -> &'static str;

    /// What its descriptions describe.
    fn summary(&self) -> &'static str;

    /// Those that are built in, complete: nothing is left out or named.
    fn presets(&self) -> &[Preset<Value>];

    /// What it reads.
    fn takes(&self) -> Takes;

    /// Reads a description as a user wrote it.
    ///
    /// # Errors
    /// [`CatalogError`] names the line, the key or the file at fault.
    fn read(&self, files: &[File]) -> Result<Form, CatalogError>;

    /// Reads the beginning of a file whose rest is no matter of descriptions; `None` if
    /// files that end so are read whole.
    ///
    /// # Errors
    /// As [`AnyCatalog::read`].
    fn read_beginning(&self, name: &str, folder: &dyn Folder) -> Option<Result<Form, CatalogError>> {
        let _ = (name, folder);
        None
    }

    /// What a table stands for that is more than some parameters: this catalog's
    /// form, or a foreign one.
    ///
    /// # Errors
    /// As [`AnyCatalog::read`].
    fn inline(&self, table: &Map<String, Value>) -> Option<Result<Form, CatalogError>>;

    /// Makes paths among a description's parameters that are for others be seen from its folder.
    fn anchor(&self, parameters: &mut Map<String, Value>, folder: &Path) {
        let _ = (parameters, folder);
    }

    /// Puts in what a description names and leaves out, and checks it.
    ///
    /// # Errors
    /// [`CatalogError`] names the parameter at fault.
    fn complete(&self, form: Form, find: Find<'_>) -> Result<Preset<Value>, CatalogError>;

    /// JSON Schema of the form, for editors.
    fn schema(&self) -> Value;

    /// The free parameters that descriptions may leave out, if there are any.
    fn calibration(&self) -> Option<&'static Calibration> {
        None
    }

    /// Where studies of these parameters' own hold a description: their paths begin so.
    fn calibrated_below(&self) -> &'static str {
        ""
    }

    /// The built-in description of this name, in any case.
    ///
    /// # Errors
    /// [`Unknown`] suggests the nearest name.
    fn find_plain(&self, name: &str) -> Result<&Preset<Value>, Unknown> {
        let found = self.presets().iter().find(|it| it.name.eq_ignore_ascii_case(name));
        found.ok_or_else(|| Unknown::new(self.kind(), name, self.presets().iter().map(|it| it.name.as_str())))
    }
}

impl dyn AnyCatalog {
    /// Whether both are one catalog. Types without a byte may share an address, and several catalogs a kind.
    #[must_use]
    pub fn is(&self, other: &Self) -> bool {
        std::ptr::addr_eq(self, other) && self.kind() == other.kind()
    }
}

/// Why a description cannot be read or completed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CatalogError {
    /// A name that the catalog does not have.
    #[error(transparent)]
    Unknown(#[from] Unknown),
    /// Not of the form.
    #[error(transparent)]
    Preset(#[from] PresetError),
    /// Not UTF-8, not one file, or of another ending.
    #[error("{0}")]
    File(String),
    /// A foreign form that is none.
    #[error("{0}")]
    Foreign(String),
    /// A parameter that is missing, unknown or out of range.
    #[error("`{path}`{}: {problem}", if given.is_empty() { String::new() } else { format!(" = {given}") })]
    Parameter {
        /// Dotted path within the description.
        path: String,
        /// The value as given; empty if there is none to show.
        given: String,
        /// What is wrong.
        problem: String,
    },
    /// Parameters that contradict each other.
    #[error("{0}")]
    Contradiction(String),
}

impl CatalogError {
    /// Of a description of this kind that stands at a path within another.
    fn below(self, outer: &str, kind: &str) -> Self {
        match self {
            Self::Parameter { path, given, problem } if path == kind => {
                Self::Parameter { path: outer.to_owned(), given, problem }
            }
            Self::Parameter { path, given, problem } => {
                Self::Parameter { path: format!("{outer}.{path}"), given, problem }
            }
            other => Self::File(format!("`{outer}`: {other}")),
        }
    }
}

/// More text than this is no description.
const MAX_BYTES: u64 = 1 << 24;

impl<T> Catalog<T> {
    /// A catalog of the descriptions in these TOML texts.
    #[must_use]
    pub const fn new(kind: &'static str, summary: &'static str, files: &'static [&'static str]) -> Self {
        Self {
            kind,
            summary,
            files,
            nested: &[],
            calibration: None,
            foreign: &[],
            check: None,
            inherited: &[],
            anchor: None,
            presets: OnceLock::new(),
        }
    }

    /// Facts that hold of what is changed from a description as well, unless it says otherwise.
    #[must_use]
    pub const fn inheriting(mut self, facts: &'static [&'static str]) -> Self {
        self.inherited = facts;
        self
    }

    /// Tables in whose place another catalog's names may stand.
    #[must_use]
    pub const fn with_nested(mut self, nested: &'static [Nested]) -> Self {
        self.nested = nested;
        self
    }

    /// Free parameters that descriptions may leave out. `below` is the path at
    /// which studies hold a description of this catalog, empty for a whole study.
    #[must_use]
    pub const fn calibrated(mut self, calibration: &'static Calibration, below: &'static str) -> Self {
        self.calibration = Some((calibration, below));
        self
    }

    /// Other forms that it reads.
    #[must_use]
    pub const fn with_foreign(mut self, foreign: &'static [Foreign]) -> Self {
        self.foreign = foreign;
        self
    }

    /// What makes paths among parameters that are for others be seen from the description's folder.
    #[must_use]
    pub const fn anchored_by(mut self, anchor: fn(&mut Map<String, Value>, &Path)) -> Self {
        self.anchor = Some(anchor);
        self
    }

    /// What must hold between the numbers of a description.
    #[must_use]
    pub const fn checked_by(mut self, check: fn(&T) -> Result<(), String>) -> Self {
        self.check = Some(check);
        self
    }
}

impl<T: Debug + Serialize + DeserializeOwned + JsonSchema + Send + Sync> Catalog<T> {
    /// Those that are built in.
    ///
    /// # Panics
    /// If one of them is none, which tests exclude.
    #[must_use]
    pub fn all(&self) -> &[Preset<T>] {
        &self.load().typed
    }

    /// Names of those that are built in.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.all().iter().map(|it| it.name.as_str())
    }

    /// The built-in description of this name, in any case.
    ///
    /// # Errors
    /// [`Unknown`] suggests the nearest name.
    pub fn find(&self, name: &str) -> Result<&Preset<T>, Unknown> {
        // A sweep asks at each point, mostly by the very name.
        let exact = self.all().iter().find(|it| it.name == name);
        let found = exact.or_else(|| self.all().iter().find(|it| it.name.eq_ignore_ascii_case(name)));
        found.ok_or_else(|| Unknown::new(self.kind, name, self.names()))
    }

    /// The parameters of a description that is known to be built in, for defaults.
    ///
    /// # Panics
    /// If there is none of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> &T {
        match self.find(name) {
            Ok(found) => &found.parameters,
            Err(unknown) => panic!("{unknown}"),
        }
    }

    /// The built-in description of the same thing as another: equal to it, or different in nothing but what its
    /// sources leave open.
    ///
    /// * `other`: the description, beside each of these, whose part it may take for what is no matter
    pub fn same(&self, other: impl Fn(&T) -> T) -> Option<&Preset<T>>
    where
        T: PartialEq + Serialize,
    {
        let Presets { typed, plain } = self.load();
        // A sweep asks at each point, mostly by the very description.
        let equal = typed.iter().find(|it| it.parameters == other(&it.parameters));
        let open = |(typed, plain): &(&Preset<T>, &Preset<Value>)| {
            let other = serde_json::to_value(other(&typed.parameters));
            other.is_ok_and(|it| typed.differs_openly("", &plain.parameters, &it))
        };
        equal.or_else(|| Some(typed.iter().zip(plain).find(open)?.0))
    }

    fn load(&self) -> &Presets<T> {
        self.presets.get_or_init(|| {
            let both = self.files.iter().map(|text| {
                let by_name: Find<'_> = &|catalog, name| Ok(catalog.find_plain(name)?.clone());
                let both = Form::builtin(text).map_err(CatalogError::from);
                let both = both.and_then(|mut form| {
                    self.complete_nested(&mut form, by_name)?;
                    self.complete_typed(form)
                });
                both.unwrap_or_else(|error| panic!("a built-in {} cannot be read: {error}", self.kind))
            });
            let (typed, plain) = both.unzip();
            Presets { typed, plain }
        })
    }

    /// Puts in what stands in the place of tables: a name, or a description of what differs. Returns
    /// where something did.
    fn complete_nested(&self, form: &mut Form, find: Find<'_>) -> Result<Vec<&'static str>, CatalogError> {
        let mut completed = Vec::new();
        for Nested { path, catalog } in self.nested {
            let Some(place) = place_in(&mut form.parameters, path) else { continue };
            let other = match &*place {
                Value::String(named) => find(*catalog, named)?,
                Value::Object(table) => match catalog.inline(table) {
                    Some(inner) => inner
                        .and_then(|it| catalog.complete(it, find))
                        .map_err(|it| it.below(path, catalog.kind()))?,
                    None => continue,
                },
                _ => continue,
            };
            *place = other.parameters;
            form.sources.remove(*path);
            for (inner, source) in other.sources {
                form.sources.entry(format!("{path}.{inner}")).or_insert(source);
            }
            for (inner, interval) in other.intervals {
                form.intervals.entry(format!("{path}.{inner}")).or_insert(interval);
            }
            completed.push(*path);
        }
        Ok(completed)
    }

    fn complete_typed(&self, form: Form) -> Result<(Preset<T>, Preset<Value>), CatalogError> {
        let Form { name, summary, parameters, mut sources, intervals, facts, .. } = form;
        let mut parameters = Value::Object(parameters);
        if let Some((calibration, below)) = self.calibration {
            for free in calibration.of(&name) {
                let Some(path) = free.below(below) else { continue };
                if free.fill(path, &mut parameters) {
                    sources.insert(path.to_owned(), calibration.source(free));
                }
            }
        }
        let read = T::deserialize(&mut Node::from(&parameters)).map_err(|fault| {
            let (path, given, problem) = fault.into_parts();
            let path = if path.is_empty() { self.kind.to_owned() } else { path };
            CatalogError::Parameter { path, given, problem }
        })?;
        if let Some(check) = self.check {
            check(&read).map_err(CatalogError::Contradiction)?;
        }
        // With what the form left to its defaults.
        let plain = serde_json::to_value(&read).expect("a description is plain data");
        let typed = Preset {
            name: name.clone(),
            summary: summary.clone(),
            parameters: read,
            sources: sources.clone(),
            intervals: intervals.clone(),
            facts: facts.clone(),
        };
        Ok((typed, Preset { name, summary, parameters: plain, sources, intervals, facts }))
    }
}

impl<T: Debug + Serialize + DeserializeOwned + JsonSchema + Send + Sync> AnyCatalog for Catalog<T> {
    fn kind(&self) -> &'static str {
        self.kind
    }

    fn summary(&self) -> &'static str {
        self.summary
    }

    fn presets(&self) -> &[Preset<Value>] {
        &self.load().plain
    }

    fn calibration(&self) -> Option<&'static Calibration> {
        self.calibration.map(|it| it.0)
    }

    fn anchor(&self, parameters: &mut Map<String, Value>, folder: &Path) {
        if let Some(anchor) = self.anchor {
            anchor(parameters, folder);
        }
    }

    fn calibrated_below(&self) -> &'static str {
        self.calibration.map_or("", |it| it.1)
    }

    fn takes(&self) -> Takes {
        let extensions = std::iter::once("toml").chain(self.foreign.iter().map(|it| it.extension)).collect();
        Takes { extensions, folders: false, max_bytes: MAX_BYTES }
    }

    fn read(&self, files: &[File]) -> Result<Form, CatalogError> {
        let [file] = files else {
            return Err(CatalogError::File(format!("a {} is one file, not {}", self.kind, files.len())));
        };
        let text = std::str::from_utf8(&file.bytes)
            .map_err(|it| CatalogError::File(format!("not UTF-8 text: {it}")))?;
        let stem = file.name.rsplit_once('.').map_or(file.name.as_str(), |it| it.0);
        match self.foreign.iter().find(|it| ends(&file.name, it.extension)) {
            Some(Foreign { what, holds: Holds::Text { read, .. }, .. }) => {
                let said = read(text).map_err(CatalogError::Foreign)?;
                Ok(Form::foreign(what, Found::of_text(stem, what, said)))
            }
            _ => Ok(Form::from_toml(stem, text)?),
        }
    }

    fn read_beginning(&self, name: &str, folder: &dyn Folder) -> Option<Result<Form, CatalogError>> {
        let foreign = self.foreign.iter().find(|it| ends(name, it.extension))?;
        let Holds::Beginning(read) = foreign.holds else { return None };
        Some(read(name, folder).map(|it| Form::foreign(foreign.what, it)).map_err(CatalogError::Foreign))
    }

    fn inline(&self, table: &Map<String, Value>) -> Option<Result<Form, CatalogError>> {
        for foreign in self.foreign {
            let Holds::Text { recognises, read } = foreign.holds else { continue };
            if recognises(table) {
                let read = read(&Value::Object(table.clone()).to_string());
                let form =
                    read.map(|it| Form::foreign(foreign.what, Found::of_text("inline", foreign.what, it)));
                return Some(form.map_err(CatalogError::Foreign));
            }
        }
        let is_form = table.contains_key("parameters") || table.contains_key("base");
        is_form.then(|| Ok(Form::from_value(table.clone())?))
    }

    fn complete(&self, mut form: Form, find: Find<'_>) -> Result<Preset<Value>, CatalogError> {
        // Before what it is merged with: a description's `base` is no key of the table that it stands for.
        let nested = self.complete_nested(&mut form, find)?;
        if let Some(base) = form.base.take() {
            let base = find(self, &base)?;
            // What is given anew is given for sure, and has not the base's source.
            for (path, interval) in base.intervals {
                if !gives(&form.parameters, &path) {
                    form.intervals.entry(path).or_insert(interval);
                }
            }
            let was = into_table(base.parameters);
            let mut changed = Vec::new();
            // What another description says has its sources, be it the same.
            let is_nested = |path: &str| {
                nested.iter().any(|it| path.strip_prefix(it).is_some_and(|it| it.starts_with('.')))
            };
            let same = |path: &str| {
                !is_nested(path) && is_same(value_in(&was, path), value_in(&form.parameters, path))
            };
            for path in form.paths().into_iter().filter(|it| !is_nested(it)) {
                let old = value_in(&was, &path).filter(|it| !it.is_object());
                if !same(&path) && old.is_some() && find_source(&form.sources, &path).is_none() {
                    let old = old.map_or_else(String::new, ToString::to_string);
                    changed.push((path, format!("changed here, where {} has {old}", base.name)));
                }
            }
            for (path, source) in base.sources {
                let replaced = gives(&form.parameters, &path) && (path.ends_with('*') || !same(&path));
                if !replaced {
                    form.sources.entry(path).or_insert(source);
                }
            }
            form.sources.extend(changed);
            let mut parameters = Value::Object(was);
            merge(&mut parameters, Value::Object(form.parameters));
            form.parameters = into_table(parameters);
            let facts = base.facts.into_iter().filter(|it| self.inherited.contains(&it.0.as_str()));
            for (name, fact) in facts {
                form.facts.entry(name).or_insert(fact);
            }
        }
        Ok(self.complete_typed(form)?.1)
    }

    fn schema(&self) -> Value {
        let settings =
            SchemaSettings::draft2020_12().for_deserialize().with(|it| it.inline_subschemas = true);
        let mut parameters = Value::from(settings.into_generator().into_root_schema_for::<T>());
        // A base, or the calibration, gives what is left out.
        drop_required(&mut parameters);
        for nested in self.nested {
            let pointer = format!("/properties/{}", nested.path.replace('.', "/properties/"));
            if let Some(place) = parameters.pointer_mut(&pointer) {
                let kind = nested.catalog.kind();
                let name = json!({ "type": "string", "description": format!("Name of a {kind}, or a path") });
                *place = json!({ "anyOf": [name, place.take()] });
            }
        }
        let text = |description: &str| json!({ "type": "string", "description": description });
        json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": format!("{} ({})", self.kind, self.summary),
            "type": "object",
            "properties": {
                "name": text("What it is called; the file's name if missing"),
                "summary": text("One line for a list"),
                "base": text("Name or path of another one, of which `parameters` says what differs"),
                "parameters": parameters,
                "sources": {
                    "type": "object",
                    "description": "Dotted path of a parameter, or a beginning and `*`, to where it comes from",
                    "additionalProperties": { "type": "string" },
                },
                "intervals": {
                    "type": "object",
                    "description": "Dotted path of a parameter to two numbers between which it may be, or to the values \
                                    that a reading may take",
                    "additionalProperties": { "type": "array", "minItems": 2 },
                },
                "facts": { "type": "object", "description": "What else is published of it" },
            },
            "required": ["parameters"],
            "additionalProperties": false,
        })
    }
}

/// Whether a file name has this extension, in any case.
fn ends(name: &str, extension: &str) -> bool {
    name.rsplit_once('.').is_some_and(|it| it.1.eq_ignore_ascii_case(extension))
}

/// The value at a dotted path, if there is one.
fn place_in<'a>(table: &'a mut Map<String, Value>, path: &str) -> Option<&'a mut Value> {
    let (first, rest) = path.split_once('.').map_or((path, None), |(first, rest)| (first, Some(rest)));
    let place = table.get_mut(first)?;
    rest.into_iter().flat_map(|it| it.split('.')).try_fold(place, |place, key| place.get_mut(key))
}

/// Tables merge key by key; of anything else, what comes last holds.
pub fn merge(below: &mut Value, over: Value) {
    match (below, over) {
        (Value::Object(below), Value::Object(over)) => {
            for (key, value) in over {
                merge(below.entry(key).or_insert(Value::Null), value);
            }
        }
        (below, over) => *below = over,
    }
}

/// 18 is 18.0.
fn is_same(one: Option<&Value>, other: Option<&Value>) -> bool {
    let number = |it: Option<&Value>| it.and_then(Value::as_f64);
    one == other || number(one).is_some() && number(one) == number(other)
}

/// Whether a table says something of what stands at a dotted path.
fn gives(table: &Map<String, Value>, path: &str) -> bool {
    let (first, rest) = path.split_once('.').map_or((path, None), |(first, rest)| (first, Some(rest)));
    match (table.get(first), rest) {
        (Some(Value::Object(inner)), Some(rest)) => gives(inner, rest),
        (found, _) => found.is_some(),
    }
}

fn into_table(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(table) => table,
        _ => Map::new(),
    }
}

/// Removes `required` at every depth.
fn drop_required(schema: &mut Value) {
    match schema {
        Value::Object(table) => {
            table.retain(|key, it| key != "required" || !it.is_array());
            table.values_mut().for_each(drop_required);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_required),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Row {
        trcd_ns: f64,
        trp_ns: f64,
    }

    static ROWS: Catalog<Row> = Catalog::new(
        "row",
        "Row timing",
        &[r#"
            name = "toy"
            summary = "Two timings"
            [parameters]
            trcd_ns = 18
            trp_ns = 18
            [sources]
            "*" = "datasheet: JESD209-5B"
            trp_ns = "datasheet: JESD209-5B, table 1"
        "#],
    );

    #[derive(Debug, Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Bank {
        rows: u32,
        row: Row,
    }

    static BANKS: Catalog<Bank> = Catalog::new(
        "bank",
        "Rows",
        &[r#"
            name = "large"
            summary = "Many rows"
            [parameters]
            rows = 4096
            row = "toy"
            [sources]
            rows = "datasheet: JESD209-5B"
            row = "datasheet: JESD209-5B"
        "#],
    )
    .with_nested(&[Nested { path: "row", catalog: &ROWS }]);

    #[test]
    fn a_description_within_one_says_what_differs_of_its_own_base() {
        let read = |row: Value| {
            let table = json!({ "base": "large", "parameters": { "row": row } });
            let form = Form::from_value(table.as_object().unwrap().clone()).unwrap();
            BANKS.complete(form, &|catalog, name| Ok(catalog.find_plain(name)?.clone()))
        };
        let found = read(json!({ "base": "toy", "parameters": { "trcd_ns": 14 } })).unwrap();
        assert_eq!(found.parameters, json!({ "rows": 4096, "row": { "trcd_ns": 14.0, "trp_ns": 18.0 } }));
        assert_eq!(found.source("row.trcd_ns"), Some("changed here, where toy has 18.0"));
        assert_eq!(found.source("row.trp_ns"), Some("datasheet: JESD209-5B, table 1"));
        assert_eq!(found.source("rows"), Some("datasheet: JESD209-5B"));
        let refused = |row| read(row).unwrap_err().to_string();
        assert_eq!(refused(json!({ "base": "toys" })), "`row`: there is no row `toys`; did you mean `toy`?");
        let unknown = refused(json!({ "base": "toy", "parameters": { "trcd": 14 } }));
        assert!(unknown.starts_with("`row`: there is no `trcd` in it"), "{unknown}");
        let wrong = refused(json!({ "base": "toy", "parameters": { "trcd_ns": "x" } }));
        assert!(wrong.starts_with("`row.trcd_ns` = \"x\""), "{wrong}");
    }

    #[test]
    fn what_is_changed_of_a_base_has_not_the_base_s_source() {
        let read = |parameters: &str| {
            let form = Form::from_toml("mine", &format!("base = \"toy\"\n{parameters}")).unwrap();
            ROWS.complete(form, &|catalog, name| Ok(catalog.find_plain(name)?.clone())).unwrap()
        };
        let (rcd, rp) = (Some("datasheet: JESD209-5B"), Some("datasheet: JESD209-5B, table 1"));
        for (parameters, sources) in [
            ("", (rcd, rp)),
            ("[parameters]\ntrcd_ns = 18\ntrp_ns = 18.0", (rcd, rp)),
            ("[parameters]\ntrp_ns = 14", (rcd, Some("changed here, where toy has 18.0"))),
            ("[parameters]\ntrcd_ns = 14", (Some("changed here, where toy has 18.0"), rp)),
            (
                "[parameters]\ntrp_ns = 14\n[sources]\ntrp_ns = \"measured: mine\"",
                (rcd, Some("measured: mine")),
            ),
        ] {
            let it = read(parameters);
            assert_eq!((it.source("trcd_ns"), it.source("trp_ns")), sources, "{parameters}");
        }
    }
}
