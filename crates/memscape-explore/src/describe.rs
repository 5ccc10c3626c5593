//! What a study's parameters and columns mean.

use std::fmt;

use memscape_study::node::value_at;
use memscape_study::{Laws, Preset, Slot, Study, list};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::schema::{Kind, Shape, alternatives, columns_of, is_null, is_nullable, types};
use crate::units::unit_of;

/// Everything there is to know about a study before asking it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Description {
    /// The study, for example `pim.gemv`.
    pub name: String,
    /// One line.
    pub summary: String,
    /// Parameters that name a preset first, then the others as declared.
    pub parameters: Vec<Parameter>,
    /// What an answer holds.
    pub columns: Vec<AnswerColumn>,
    /// The column that matters, if one does more than others.
    pub aim: Option<String>,
}

/// One parameter of a study.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Parameter {
    /// Dotted path, for example `memory.trcd_ns`.
    pub path: String,
    /// From its doc comment.
    pub meaning: String,
    /// From the end of its name, or as its schema says.
    pub unit: Option<String>,
    /// What it is unless given.
    pub default: Value,
    /// Type, range or list of values, in words.
    pub allowed: String,
    /// The same for programs.
    pub values: Values,
    /// Whether it may be null.
    pub nullable: bool,
    /// What more of it does to the study's aim, if it is a number.
    pub more: Option<String>,
    /// Where the default comes from.
    pub source: String,
}

/// The values that a parameter can take.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Values {
    /// A number.
    Number {
        /// Whether it is whole.
        whole: bool,
        /// The least, if its type says one.
        min: Option<f64>,
        /// The greatest, if its type says one.
        max: Option<f64>,
    },
    /// One of these.
    OneOf(Vec<Value>),
    /// True or false.
    Flag,
    /// The name of one of these descriptions, or another's path or table.
    Description(Vec<String>),
    /// A text, a list, a table.
    Other,
}

impl Values {
    pub(crate) fn of(schema: &Map<String, Value>) -> Self {
        let number = |whole| {
            let limit = |key: &str| schema.get(key).and_then(Value::as_f64);
            Self::Number {
                whole,
                min: limit("minimum").or_else(|| limit("exclusiveMinimum")),
                max: limit("maximum").or_else(|| limit("exclusiveMaximum")),
            }
        };
        if let Some(all) = schema.get("enum").and_then(Value::as_array) {
            return Self::OneOf(all.iter().filter(|it| !it.is_null()).cloned().collect());
        }
        if let Some(any) = alternatives(schema) {
            let any: Vec<&Value> = any.iter().filter(|it| !is_null(it)).collect();
            if let [Value::Object(one)] = any[..] {
                return Self::of(one);
            }
            let constants = |it: &&Value| match (it.get("const"), it.get("enum").and_then(Value::as_array)) {
                (Some(one), _) => Some(vec![one.clone()]),
                (None, all) => all.cloned(),
            };
            let all: Option<Vec<Vec<Value>>> = any.iter().map(constants).collect();
            return all.map_or(Self::Other, |it| Self::OneOf(it.concat()));
        }
        match types(schema).into_iter().find(|it| *it != "null") {
            Some("number") => number(false),
            Some("integer") => number(true),
            Some("boolean") => Self::Flag,
            _ => Self::Other,
        }
    }

    fn of_slot(slot: &Slot) -> Self {
        Self::Description(slot.catalog.presets().iter().map(|it| it.name.clone()).collect())
    }
}

/// One column of a study's answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AnswerColumn {
    /// Its name in a table.
    pub name: String,
    /// From its doc comment.
    pub meaning: String,
    /// From the end of its name, or as its schema says.
    pub unit: Option<String>,
    /// What a table holds for it.
    pub kind: Kind,
}

/// What is said of a default that no preset and no schema gives a source for.
const STUDY_DEFAULT: &str = "study default";

impl Description {
    pub(crate) fn of<S: Study>(shape: &Shape, slots: &[Slot]) -> Self {
        // Innermost last, so that the nearest description's source wins.
        let defaults: Vec<(&Slot, &Preset<Value>)> =
            slots.iter().filter_map(|it| Some((it, it.catalog.find_plain(it.default).ok()?))).collect();
        let of_slot = |it: &Slot| Parameter {
            path: it.path.to_owned(),
            meaning: slot_meaning(it, shape),
            unit: None,
            default: it.default.into(),
            allowed: slot_allowed(it),
            values: Values::of_slot(it),
            nullable: false,
            more: None,
            source: STUDY_DEFAULT.to_owned(),
        };
        let of_leaf = |(path, leaf): (String, &Shape)| {
            let schema = leaf.schema();
            let default = match leaf {
                Shape::Leaf { default, .. } => default.clone(),
                Shape::Group { .. } => Value::Null,
            };
            let filled = told_by(&defaults, &path, &default).find_map(|(_, it, below)| it.source(below));
            let source = filled.or_else(|| text(schema, "source")).unwrap_or(STUDY_DEFAULT);
            let slot = slots.iter().find(|it| it.path == path);
            Parameter {
                meaning: meaning(schema),
                unit: unit(&path, schema),
                default,
                allowed: match slot {
                    Some(slot) if is_nullable(schema) => format!("{} or null", slot_allowed(slot)),
                    Some(slot) => slot_allowed(slot),
                    None => allowed(schema),
                },
                values: slot.map_or_else(|| Values::of(schema), Values::of_slot),
                nullable: is_nullable(schema),
                more: S::LAWS.effect_on(&path).map(ToString::to_string),
                source: source.to_owned(),
                path,
            }
        };
        // What nothing depends on is no parameter.
        let is_used = |(path, _): &(String, &Shape)| !is_unused(&S::LAWS, path);
        let column = |(name, schema, kind): (String, Map<String, Value>, Kind)| AnswerColumn {
            meaning: meaning(&schema),
            unit: unit(&name, &schema),
            kind,
            name,
        };
        Self {
            name: S::NAME.to_owned(),
            summary: S::SUMMARY.to_owned(),
            parameters: slots
                .iter()
                .filter(|it| !matches!(shape.at(it.path), Some(Shape::Leaf { .. })))
                .map(of_slot)
                .chain(shape.leaves().into_iter().filter(is_used).map(of_leaf))
                .collect(),
            columns: columns_of::<S::Answer>().into_iter().map(column).collect(),
            aim: S::LAWS.aim.map(|it| it.to_string()),
        }
    }
}

/// Whether no answer can depend on a parameter, though a description holds it.
pub(crate) fn is_unused(laws: &Laws, path: &str) -> bool {
    laws.is_unused(path)
}

/// The descriptions that really say of what a study has at `path` that it is `value`, each with its slot and its own
/// path of it; the nearest, which stands last, first.
pub(crate) fn told_by<'a, 'b>(
    standing: &'b [(&'a Slot, &'a Preset<Value>)],
    path: &'b str,
    value: &'b Value,
) -> impl Iterator<Item = (&'a Slot, &'a Preset<Value>, &'b str)> {
    standing.iter().rev().filter_map(move |&(slot, preset)| {
        let below = slot.field(path)?;
        same(value_at(&preset.parameters, below)?, value).then_some((slot, preset, below))
    })
}

/// Equal also where one is 18 and the other 18.0.
pub(crate) fn same(a: &Value, b: &Value) -> bool {
    a == b || (a.is_number() && a.as_f64() == b.as_f64())
}

/// What giving a description does.
fn slot_meaning(slot: &Slot, shape: &Shape) -> String {
    if !slot.whole {
        return format!("One of the {}; fills `{}.*`", slot.catalog.summary(), slot.path);
    }
    let first = slot.catalog.presets().first().and_then(|it| it.parameters.as_object());
    let filled = first.into_iter().flatten().map(|it| it.0.as_str());
    let filled: Vec<&str> = filled.filter(|it| shape.at(it).is_some()).collect();
    format!("One of the {}; fills {}", slot.catalog.summary(), list(&filled))
}

fn slot_allowed(slot: &Slot) -> String {
    let takes = slot.catalog.takes();
    let endings: Vec<String> = takes.extensions.iter().map(|it| format!(".{it}")).collect();
    let names = quoted(slot.catalog.presets().iter().map(|it| &it.name));
    let table = if takes.extensions.contains(&"toml") { ", or a table" } else { "" };
    format!("{names}, a path to {}{table}", endings.join(" or "))
}

fn text<'a>(schema: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
    schema.get(key)?.as_str()
}

/// The doc comment as one paragraph.
fn meaning(schema: &Map<String, Value>) -> String {
    text(schema, "description").unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
}

fn unit(path: &str, schema: &Map<String, Value>) -> Option<String> {
    text(schema, "unit").map(str::to_owned).or_else(|| unit_of(path))
}

fn quoted(names: impl IntoIterator<Item: fmt::Display>) -> String {
    names.into_iter().map(|it| format!("\"{it}\"")).collect::<Vec<_>>().join(", ")
}

/// What a schema allows, in words.
fn allowed(schema: &Map<String, Value>) -> String {
    let of = |schema: &Value| schema.as_object().map(allowed).unwrap_or_default();
    let constant = |value: &Value| match value {
        Value::String(it) => format!("\"{it}\""),
        other => other.to_string(),
    };
    let or_null = |words: String| if is_nullable(schema) { format!("{words} or null") } else { words };
    if let Some(value) = schema.get("const") {
        return constant(value);
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        let values: Vec<String> = values.iter().filter(|it| !it.is_null()).map(constant).collect();
        return or_null(values.join(", "));
    }
    if let Some(any) = alternatives(schema) {
        let any: Vec<&Value> = any.iter().filter(|it| !is_null(it)).collect();
        let plain = |it: &&Value| it.get("const").is_some() || it.get("enum").is_some();
        let separator = if any.iter().all(plain) { ", " } else { " or " };
        return or_null(any.into_iter().map(of).collect::<Vec<_>>().join(separator));
    }
    let words = match types(schema).into_iter().find(|it| *it != "null") {
        Some("number") => format!("number{}", bounds(schema)),
        Some("integer") => format!("whole number{}", bounds(schema)),
        Some("boolean") => "true or false".to_owned(),
        Some("string") => "text".to_owned(),
        Some("array") => match schema.get("items").map(of) {
            Some(items) if !items.is_empty() => format!("list of: {items}"),
            _ => "list".to_owned(),
        },
        Some("object") => match schema.get("properties").and_then(Value::as_object) {
            Some(properties) => {
                let entry = |(name, it): (&String, &Value)| format!("{name}: {}", of(it));
                format!("{{ {} }}", properties.iter().map(entry).collect::<Vec<_>>().join(", "))
            }
            None => "table".to_owned(),
        },
        _ => "any value".to_owned(),
    };
    or_null(words)
}

/// ", at least 1, at most 255".
fn bounds(schema: &Map<String, Value>) -> String {
    // The ends of 32- and 64-bit types are no information.
    let limit = |key: &str, words: &str| {
        let value = schema.get(key).filter(|it| it.as_f64().is_some_and(|it| it.abs() < 4.0e9))?;
        let whole = value.as_f64().filter(|it| it.fract() == 0.0).map(|it| format!("{it}"));
        Some(format!(", {words} {}", whole.unwrap_or_else(|| value.to_string())))
    };
    let limits = [
        limit("minimum", "at least"),
        limit("exclusiveMinimum", "above"),
        limit("maximum", "at most"),
        limit("exclusiveMaximum", "below"),
        limit("multipleOf", "a multiple of"),
    ];
    limits.into_iter().flatten().collect()
}

/// The width of a description printed as text.
const WIDTH: usize = 100;

/// Names and values aligned, parameters grouped by prefix, at most 100 columns.
impl fmt::Display for Description {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}", self.name, self.summary)?;
        writeln!(f, "\nParameters")?;
        let mut groups: Vec<(&str, Vec<[String; 3]>)> = Vec::new();
        for it in &self.parameters {
            let (prefix, name) = it.path.rsplit_once('.').unwrap_or(("", &it.path));
            let row = [name.to_owned(), it.shown_default(), it.words()];
            match groups.iter_mut().find(|(it, _)| *it == prefix) {
                Some((_, rows)) => rows.push(row),
                None => groups.push((prefix, vec![row])),
            }
        }
        for (prefix, rows) in groups {
            if !prefix.is_empty() {
                writeln!(f, "\n  {prefix}")?;
            }
            write_rows(f, &rows)?;
        }
        writeln!(f, "\nAnswer")?;
        let row = |it: &AnswerColumn| {
            [
                it.name.clone(),
                it.unit.clone().unwrap_or_default(),
                it.meaning.trim_end_matches('.').to_owned(),
            ]
        };
        write_rows(f, &self.columns.iter().map(row).collect::<Vec<_>>())?;
        match &self.aim {
            Some(aim) => {
                writeln!(f, "\nAim: {aim}; after \"more:\" stands what more of a parameter does to it")
            }
            None => Ok(()),
        }
    }
}

impl Parameter {
    /// `18 ns`, `max`, `null`.
    fn shown_default(&self) -> String {
        match (&self.default, self.default.as_f64(), &self.unit) {
            (Value::String(text), ..) => text.clone(),
            (_, Some(number), Some(unit)) => format!("{number} {unit}"),
            (_, Some(number), None) => number.to_string(),
            (value, None, _) => value.to_string(),
        }
    }

    /// Meaning, what is allowed and source in one paragraph.
    fn words(&self) -> String {
        let source = match self.source.as_str() {
            STUDY_DEFAULT => String::new(),
            source => format!(" [{source}]"),
        };
        let meaning = self.meaning.trim_end_matches('.');
        let more = self.more.as_ref().map(|it| format!("; more: {it}")).unwrap_or_default();
        format!("{meaning} ({}{more}){source}", self.allowed).trim_start().to_owned()
    }
}

fn write_rows(f: &mut fmt::Formatter<'_>, rows: &[[String; 3]]) -> fmt::Result {
    let width = |column: usize, most: usize| {
        rows.iter().map(|it| it[column].chars().count()).max().unwrap_or(0).min(most)
    };
    let (names, values) = (width(0, 30), width(1, 20));
    let indent = 4 + names + 2 + values + 2;
    for [name, value, words] in rows {
        let head = format!("    {name:names$}  {value:values$}  ");
        let too_long = head.chars().count() > indent;
        let mut lines = wrapped(words, WIDTH - indent).into_iter();
        if too_long {
            writeln!(f, "{}", head.trim_end())?;
        } else {
            writeln!(f, "{}", format!("{head}{}", lines.next().unwrap_or_default()).trim_end())?;
        }
        for line in lines {
            writeln!(f, "{:indent$}{line}", "")?;
        }
    }
    Ok(())
}

fn wrapped(words: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in words.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}
