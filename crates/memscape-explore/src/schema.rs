//! What a study's schema says about its parameters and columns.

use memscape_study::Study;
use memscape_study::node::Node;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde_json::{Map, Value};

/// The types of a table's columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// 64-bit floating point, always finite.
    Float,
    /// 64-bit signed integer.
    Int,
    /// True or false.
    Bool,
    /// UTF-8 text.
    Text,
}

/// A study's parameters as its type declares them.
#[derive(Debug)]
pub(crate) enum Shape {
    /// A struct: parameters below a common prefix.
    Group {
        fields: Vec<(String, Shape)>,
        /// Whether it may be null as a whole.
        nullable: bool,
        /// Whether it is null by default.
        absent: bool,
        schema: Map<String, Value>,
    },
    /// One parameter, whatever its value looks like.
    Leaf { default: Value, schema: Map<String, Value> },
}

impl Shape {
    /// The shape of a whole study.
    pub(crate) fn of<S: Study>(defaults: &Value) -> Self {
        let settings = SchemaSettings::draft2020_12().for_deserialize();
        Self::new(schema_of::<S>(settings), defaults)
    }

    fn new(schema: Map<String, Value>, default: &Value) -> Self {
        let Some(properties) = properties(&schema) else {
            return Self::Leaf { default: default.clone(), schema };
        };
        let child = |name: &str| default.get(name).unwrap_or(&Value::Null);
        let object = |schema: &Value| schema.as_object().cloned().unwrap_or_default();
        // The order of the defaults is that of the declaration.
        let names: Vec<&String> = match default {
            Value::Object(defaults) => defaults.keys().filter(|it| properties.contains_key(*it)).collect(),
            _ => properties.keys().collect(),
        };
        let fields = names
            .into_iter()
            .map(|name| (name.clone(), Self::new(object(&properties[name]), child(name))))
            .collect();
        Self::Group { fields, nullable: is_nullable(&schema), absent: default.is_null(), schema }
    }

    /// What is at `path`, itself if `path` is empty.
    pub(crate) fn at(&self, path: &str) -> Option<&Self> {
        if path.is_empty() {
            return Some(self);
        }
        path.split('.').try_fold(self, |shape, name| match shape {
            Self::Group { fields, .. } => fields.iter().find(|(it, _)| it == name).map(|(_, shape)| shape),
            Self::Leaf { .. } => None,
        })
    }

    /// Puts a description into a tree of this shape, as far as the shape has room
    /// for it.
    pub(crate) fn fill(&self, tree: &mut Node, description: &Value) {
        match (self, description) {
            // What is null has no fields to fill.
            (Self::Group { fields, .. }, Value::Object(given)) if matches!(tree, Node::Table(_)) => {
                for (name, shape) in fields {
                    let Some(value) = given.get(name) else { continue };
                    if let Some(child) = tree.child_mut(name) {
                        shape.fill(child, value);
                    }
                }
            }
            _ => *tree = Node::from(description),
        }
    }

    /// The path of every parameter, in order; a group that is null by default
    /// counts as one.
    pub(crate) fn leaves(&self) -> Vec<(String, &Self)> {
        let mut leaves = Vec::new();
        self.collect("", &mut leaves);
        leaves
    }

    /// Whether it holds a number that may have a fraction.
    pub(crate) fn is_real(&self) -> bool {
        matches!(self, Self::Leaf { schema, .. } if types(schema).contains(&"number"))
    }

    fn collect<'a>(&'a self, path: &str, leaves: &mut Vec<(String, &'a Self)>) {
        match self {
            Self::Group { fields, absent: false, .. } => {
                for (name, shape) in fields {
                    shape.collect(&join(path, name), leaves);
                }
            }
            Self::Group { .. } | Self::Leaf { .. } => leaves.push((path.to_owned(), self)),
        }
    }

    pub(crate) fn schema(&self) -> &Map<String, Value> {
        match self {
            Self::Group { schema, .. } | Self::Leaf { schema, .. } => schema,
        }
    }

    /// Whether it is a number that need not be whole.
    pub(crate) fn is_float(&self) -> bool {
        matches!(self, Self::Leaf { schema, .. } if kind(schema) == Kind::Float)
    }
}

/// `a` below `prefix`.
pub(crate) fn join(prefix: &str, name: &str) -> String {
    if prefix.is_empty() { name.to_owned() } else { format!("{prefix}.{name}") }
}

/// The columns of an answer: name, schema and kind, in order.
pub(crate) fn columns_of<A: JsonSchema>() -> Vec<(String, Map<String, Value>, Kind)> {
    let schema = schema_of::<A>(SchemaSettings::draft2020_12().for_serialize());
    let Some(properties) = properties(&schema) else { return Vec::new() };
    let column = |(name, schema): (&String, &Value)| {
        let schema = schema.as_object().cloned().unwrap_or_default();
        let kind = kind(&schema);
        (name.clone(), schema, kind)
    };
    properties.iter().map(column).collect()
}

fn schema_of<T: JsonSchema>(settings: SchemaSettings) -> Map<String, Value> {
    let settings = settings.with(|it| it.inline_subschemas = true);
    let schema = settings.into_generator().into_root_schema_for::<T>();
    schema.as_object().cloned().unwrap_or_default()
}

/// The parameters of a struct, also of one that may be null. An enum is not a
/// struct though its variants may be.
fn properties(schema: &Map<String, Value>) -> Option<&Map<String, Value>> {
    if schema.contains_key("oneOf") {
        return None;
    }
    match alternatives(schema) {
        Some(any) => match any.iter().filter(|it| !is_null(it)).collect::<Vec<_>>()[..] {
            [one] => properties(one.as_object()?),
            _ => None,
        },
        None => schema.get("properties")?.as_object(),
    }
}

pub(crate) fn alternatives(schema: &Map<String, Value>) -> Option<&Vec<Value>> {
    schema.get("anyOf").or_else(|| schema.get("oneOf"))?.as_array()
}

pub(crate) fn is_null(schema: &Value) -> bool {
    schema.get("type").is_some_and(|it| it == "null")
}

/// Whether null is a value of it.
pub(crate) fn is_nullable(schema: &Map<String, Value>) -> bool {
    types(schema).contains(&"null")
        || alternatives(schema).is_some_and(|any| any.iter().any(is_null))
        || schema.get("enum").and_then(Value::as_array).is_some_and(|all| all.contains(&Value::Null))
}

/// The types a schema names, none if it leaves them open.
pub(crate) fn types(schema: &Map<String, Value>) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(it)) => vec![it.as_str()],
        Some(Value::Array(all)) => all.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

/// How a table holds it: anything that is not a number or truth value is text.
fn kind(schema: &Map<String, Value>) -> Kind {
    let types = types(schema);
    match types.iter().find(|it| **it != "null") {
        Some(&"number") => Kind::Float,
        Some(&"integer") => Kind::Int,
        Some(&"boolean") => Kind::Bool,
        Some(_) => Kind::Text,
        None => match alternatives(schema) {
            Some(any) => {
                let mut kinds = any.iter().filter(|it| !is_null(it)).filter_map(Value::as_object).map(kind);
                let first = kinds.next().unwrap_or(Kind::Text);
                if kinds.all(|it| it == first) { first } else { Kind::Text }
            }
            None => Kind::Text,
        },
    }
}
