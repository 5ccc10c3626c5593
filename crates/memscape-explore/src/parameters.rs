//! From what a user gives to a study's full tree of parameters.
//!
//! Parameters are flattened to assignments: each path checked, each description
//! found. Assignments are then applied to the study's defaults, descriptions of
//! whole machines first, then those of parts, then single values: a table and
//! dotted keys merge, whatever the order in which they were given.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use memscape_study::node::{Fault, Node};
use memscape_study::{CatalogError, Form, Laws, More, Preset, Slot, Study, Unknown, list, merge};
use serde_json::{Map, Value, json};

use crate::columns::Columns;
use crate::describe::Description;
use crate::descriptions;
use crate::error::Error;
use crate::limits::Limits;
use crate::schema::{Shape, join};

/// Parameters as a user gives them: keys are dotted paths, or nested tables, or
/// both.
pub type Parameters = Map<String, Value>;

/// What there is to know about a study's parameters, found out once.
#[derive(Debug)]
pub(crate) struct Anatomy {
    pub(crate) shape: Shape,
    pub(crate) defaults: Node,
    pub(crate) slots: Vec<Slot>,
    pub(crate) description: Description,
    pub(crate) laws: &'static Laws,
    pub(crate) limits: Limits,
    /// No rows yet.
    pub(crate) columns: Columns,
}

/// What one path is given.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Assignment {
    pub(crate) path: String,
    pub(crate) given: Given,
}

/// A value, or what a slot's value stands for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Given {
    /// Of a parameter, or of a field of a description that is one parameter.
    Value(Value),
    /// A whole description.
    Description(Box<Preset<Value>>),
    /// Some parameters of a whole machine.
    Partial(Vec<Assignment>),
}

impl Assignment {
    fn value(path: impl Into<String>, value: Value) -> Self {
        Self { path: path.into(), given: Given::Value(value) }
    }

    /// By content: what decides the answer, whatever it was called.
    pub(crate) fn content(&self) -> Value {
        let given = match &self.given {
            Given::Value(value) => value.clone(),
            Given::Description(it) => it.parameters.clone(),
            Given::Partial(all) => all.iter().map(Self::content).collect(),
        };
        json!([self.path, given])
    }
}

impl Anatomy {
    pub(crate) fn of<S: Study>() -> Self {
        let defaults = serde_json::to_value(S::default()).unwrap_or_default();
        let shape = Shape::of::<S>(&defaults);
        let slots = S::slots();
        let description = Description::of::<S>(&shape, &slots);
        let limits = Limits::of(shape.schema());
        Self {
            shape,
            defaults: Node::from(&defaults),
            slots,
            description,
            laws: &S::LAWS,
            limits,
            columns: Columns::of::<S>(),
        }
    }

    /// The study of a full tree, each value within its limits.
    pub(crate) fn read<S: Study>(&self, tree: &mut Node) -> Result<S, Error> {
        let study = S::deserialize(&mut *tree).map_err(|it| self.told(it))?;
        self.limits.check(tree).map_err(|it| it.at(""))?;
        Ok(study)
    }

    /// Of a value that a type cannot hold, says what is allowed, which is less than the type can.
    pub(crate) fn told(&self, fault: Fault) -> Error {
        let allowed = |path: &str, given: Option<f64>| {
            let limits = self.limits.below(path)?;
            limits.in_words().filter(|_| given.is_none_or(|it| limits.forbid(it)))
        };
        fault.narrowed(allowed).into()
    }

    /// The full tree: the defaults, then descriptions, then the other parameters.
    pub(crate) fn expand(&self, assignments: &[Assignment]) -> Result<Node, Error> {
        let mut tree = self.defaults.clone();
        self.apply(&mut tree, assignments)?;
        Ok(tree)
    }

    /// Later layers over earlier ones: what both give, the last one decides.
    pub(crate) fn flatten_layers(&self, layers: &[&Parameters]) -> Result<Vec<Assignment>, Error> {
        let mut all: Vec<Assignment> = Vec::new();
        for layer in layers {
            let given = self.flatten(layer)?;
            all.retain(|it| !given.iter().any(|new| new.path == it.path));
            all.extend(given);
        }
        Ok(all)
    }

    /// Parameters one by one, each path checked and given once.
    pub(crate) fn flatten(&self, parameters: &Parameters) -> Result<Vec<Assignment>, Error> {
        let mut assignments = Vec::new();
        self.collect("", parameters, &mut assignments)?;
        let mut seen = HashSet::new();
        match assignments.iter().find(|it| !seen.insert(&it.path)) {
            Some(twice) => Err(Error::BadParameter {
                path: twice.path.clone(),
                given: match &twice.given {
                    Given::Value(value) => value.to_string(),
                    Given::Description(_) | Given::Partial(_) => String::new(),
                },
                problem: "it is given twice; remove one".to_owned(),
            }),
            None => Ok(assignments),
        }
    }

    fn collect(
        &self,
        prefix: &str,
        parameters: &Parameters,
        assignments: &mut Vec<Assignment>,
    ) -> Result<(), Error> {
        for (key, value) in parameters {
            let path = join(prefix, key);
            match self.slot(&path) {
                Some(slot) => self.collect_slot(slot, value, assignments)?,
                None => self.collect_value(path, value, assignments)?,
            }
        }
        Ok(())
    }

    /// What a slot says of a name that another slot of the study has.
    fn elsewhere(&self, slot: &Slot, error: CatalogError) -> CatalogError {
        let CatalogError::Unknown(unknown) = &error else { return error };
        let takes = |it: &&Slot| it.path != slot.path && built_in(it, &unknown.name).is_some();
        match self.slots.iter().find(takes) {
            Some(other) => CatalogError::File(format!(
                "there is no {} `{}`; `{}` takes that name",
                unknown.what, unknown.name, other.path
            )),
            None => error,
        }
    }

    /// What takes a description.
    fn collect_slot(
        &self,
        slot: &Slot,
        value: &Value,
        assignments: &mut Vec<Assignment>,
    ) -> Result<(), Error> {
        let path = slot.path.to_owned();
        let bad = |error: CatalogError| Error::BadDescription {
            parameter: slot.path.to_owned(),
            given: shortened(value),
            error: Box::new(self.elsewhere(slot, error)),
        };
        let here = Path::new("");
        match value {
            // One parameter, whose type knows the names that are built in. What else a
            // catalog finds is put in by content.
            Value::String(name) if self.is_leaf(slot) && built_in(slot, name).is_some() => {
                assignments.push(Assignment::value(path, value.clone()));
            }
            Value::String(text) => {
                let found = descriptions::find(slot.catalog, text, here).map_err(bad)?;
                assignments.push(Assignment { path, given: Given::Description(Box::new(found)) });
            }
            Value::Object(table) => match descriptions::inline(slot.catalog, table, here) {
                Some(found) => {
                    let given = Given::Description(Box::new(found.map_err(bad)?));
                    assignments.push(Assignment { path, given });
                }
                None if slot.whole => {
                    let mut partial = Vec::new();
                    self.collect("", table, &mut partial)?;
                    assignments.push(Assignment { path, given: Given::Partial(partial) });
                }
                // Half a model would be completed by one that nobody named.
                None if self.is_leaf(slot) => {
                    let whole = descriptions::whole(slot.catalog, table, here);
                    let found = whole.map_err(|error| {
                        let (path, kind) = (slot.path, slot.catalog.kind());
                        let key = table.keys().next().map_or("...", String::as_str);
                        bad(CatalogError::File(format!(
                            "{error}; a table is a whole {kind} unless it names a `base`: write \
                             {{base = \"{}\", parameters = {{...}}}} with what differs, or `{path}.{key}` for one parameter",
                            slot.default
                        )))
                    })?;
                    assignments.push(Assignment { path, given: Given::Description(Box::new(found)) });
                }
                None => self.collect(slot.path, table, assignments)?,
            },
            Value::Null if !slot.whole && self.is_nullable(slot.path) => {
                assignments.push(Assignment::value(path, Value::Null));
            }
            other => {
                let names: Vec<&str> = slot.catalog.presets().iter().map(|it| it.name.as_str()).collect();
                return Err(Error::BadParameter {
                    path,
                    given: other.to_string(),
                    problem: format!("expected a table, a path, or one of {}", list(&names)),
                });
            }
        }
        Ok(())
    }

    /// What is a parameter or a table of them.
    fn collect_value(
        &self,
        path: String,
        value: &Value,
        assignments: &mut Vec<Assignment>,
    ) -> Result<(), Error> {
        let bad = |problem: String| {
            Err(Error::BadParameter { path: path.clone(), given: shortened(value), problem })
        };
        self.check_used(&path)?;
        match (self.shape.at(&path), value) {
            (Some(Shape::Group { .. }), Value::Object(table)) => self.collect(&path, table, assignments)?,
            (Some(Shape::Group { nullable: true, .. }), Value::Null) => {
                assignments.push(Assignment::value(path, value.clone()));
            }
            (Some(Shape::Group { fields, .. }), _) => {
                let names: Vec<&String> = fields.iter().map(|(name, _)| name).collect();
                return bad(format!("expected a table; it has {}", list(&names)));
            }
            (Some(Shape::Leaf { default, schema }), Value::Object(_))
                if !default.is_object()
                    && !default.is_null()
                    && !crate::schema::types(schema).is_empty()
                    && !crate::schema::types(schema).contains(&"object") =>
            {
                return bad(format!("expected a single value such as {default}, not a table"));
            }
            (Some(Shape::Leaf { .. }), _) => assignments.push(Assignment::value(path, value.clone())),
            (None, _) if self.field_of(&path).is_some() => {
                assignments.push(Assignment::value(path, value.clone()));
            }
            (None, _) => return Err(self.unknown(path)),
        }
        Ok(())
    }

    pub(crate) fn slot(&self, path: &str) -> Option<&Slot> {
        self.slots.iter().find(|it| it.path == path)
    }

    /// Whether a slot is one parameter rather than a group of them.
    fn is_leaf(&self, slot: &Slot) -> bool {
        !slot.whole && matches!(self.shape.at(slot.path), Some(Shape::Leaf { .. }))
    }

    fn is_nullable(&self, path: &str) -> bool {
        match self.shape.at(path) {
            Some(Shape::Group { nullable, .. }) => *nullable,
            Some(Shape::Leaf { schema, .. }) => crate::schema::is_nullable(schema),
            None => false,
        }
    }

    /// The slot that is one parameter and has this path as a field of its
    /// description, and the field: `model` and `layers` for `model.layers`.
    fn field_of<'a>(&self, path: &'a str) -> Option<(&Slot, &'a str)> {
        self.slots.iter().filter(|it| self.is_leaf(it)).find_map(|slot| {
            let field = slot.field(path)?;
            let fields = slot.catalog.presets().first()?.parameters.as_object()?;
            let first = field.split('.').next()?;
            let schema = || slot.catalog.schema();
            let known = fields.contains_key(first)
                || schema()["properties"]["parameters"]["properties"].get(first).is_some();
            known.then_some((slot, field))
        })
    }

    /// Whether a value at this path is a matter of descriptions rather than of one
    /// leaf that every tree has at the same place.
    pub(crate) fn reshapes(&self, path: &str) -> bool {
        self.slots.iter().any(|it| it.path == path)
            || matches!(self.shape.at(path), Some(Shape::Group { .. }))
            || path.match_indices('.').any(|(end, _)| {
                matches!(self.shape.at(&path[..end]), Some(Shape::Group { nullable: true, .. }))
            })
    }

    /// What no answer depends on is refused where it is given by itself; a group is, if nothing in it counts.
    fn check_used(&self, path: &str) -> Result<(), Error> {
        let is_below = |it: &str| it.strip_prefix(path).is_some_and(|rest| rest.starts_with('.'));
        let counts =
            || self.laws.effects().any(|it| is_below(it.path) && !matches!(it.more, More::Unused(_)));
        match self.laws.effect_on(path).map(|it| it.more) {
            Some(More::Unused(reason)) if self.shape.at(path).is_some() && !counts() => {
                Err(Error::UnknownParameter {
                    path: path.to_owned(),
                    hint: format!(": nothing here depends on it, since {reason}"),
                })
            }
            _ => Ok(()),
        }
    }

    /// Whether there is such a parameter at all.
    pub(crate) fn check_path(&self, path: &str) -> Result<(), Error> {
        self.check_used(path)?;
        if self.slot(path).is_some() || self.shape.at(path).is_some() || self.field_of(path).is_some() {
            Ok(())
        } else {
            Err(self.unknown(path.to_owned()))
        }
    }

    fn unknown(&self, path: String) -> Error {
        // Where the path leaves what there is.
        let known = path.match_indices('.').map(|(end, _)| &path[..end]);
        let leaf = known.clone().find(|it| matches!(self.shape.at(it), Some(Shape::Leaf { .. })));
        if let Some(leaf) = leaf {
            let hint = match self.slot(leaf).and_then(|it| it.catalog.presets().first()) {
                Some(preset) => {
                    let fields = preset.parameters.as_object().into_iter().flatten();
                    let fields: Vec<String> = fields.map(|it| join(leaf, it.0)).collect();
                    Unknown::new("parameter", path.as_str(), fields.iter().map(String::as_str)).hint()
                }
                None => format!("; `{leaf}` is a single value"),
            };
            return Error::UnknownParameter { hint, path };
        }
        let below = known
            .filter_map(|it| match self.shape.at(it) {
                Some(Shape::Group { fields, .. }) => Some((it, fields)),
                _ => None,
            })
            .next_back();
        let all = self.description.parameters.iter().map(|it| it.path.as_str());
        let unknown = Unknown::new("parameter", path.as_str(), all);
        let hint = match below {
            Some((group, fields)) if unknown.nearest.is_none() => {
                let names: Vec<&String> = fields.iter().map(|(name, _)| name).collect();
                format!("; `{group}` has {}", list(&names))
            }
            _ => unknown.hint(),
        };
        Error::UnknownParameter { path, hint }
    }

    fn apply(&self, tree: &mut Node, assignments: &[Assignment]) -> Result<(), Error> {
        // Whole machines before their parts.
        let whole = self.slots.iter().filter(|it| it.whole);
        for slot in whole.chain(self.slots.iter().filter(|it| !it.whole)) {
            for it in assignments.iter().filter(|it| it.path == slot.path) {
                match &it.given {
                    Given::Description(preset) if slot.whole => self.shape.fill(tree, &preset.parameters),
                    Given::Description(preset) => self.put_part(tree, slot, &preset.parameters)?,
                    Given::Partial(inner) => self.apply(tree, inner)?,
                    Given::Value(value) => self.put(tree, slot.path, value)?,
                }
            }
        }
        let (mut fields, mut others) = (Vec::new(), Vec::new());
        for it in assignments.iter().filter(|it| self.slot(&it.path).is_none()) {
            let Given::Value(value) = &it.given else { continue };
            match self.field_of(&it.path) {
                Some((slot, field)) => fields.push((slot, field, value)),
                None => others.push((&it.path, value)),
            }
        }
        for slot in &self.slots {
            let own: Vec<_> = fields.iter().filter(|it| it.0.path == slot.path).collect();
            if own.is_empty() {
                let given = assignments.iter().filter(|it| it.path == slot.path);
                given.filter_map(|it| description(slot, it)).try_for_each(|it| self.imply(tree, slot, it))?;
            } else {
                let changed = changed(tree, slot, &own)?;
                self.put(tree, slot.path, &changed)?;
                self.imply(tree, slot, &changed)?;
            }
        }
        others.into_iter().try_for_each(|(path, value)| self.put(tree, path, value))
    }

    /// What a description says of parameters beside it, which whoever gives those goes over.
    fn imply(&self, tree: &mut Node, slot: &Slot, description: &Value) -> Result<(), Error> {
        for implied in slot.implied {
            if let Some(value) = (implied.value)(description) {
                self.put(tree, implied.parameter, &value)?;
            }
        }
        Ok(())
    }

    /// A description at a slot's place: what the study has of it, or the one
    /// parameter that it is.
    fn put_part(&self, tree: &mut Node, slot: &Slot, description: &Value) -> Result<(), Error> {
        match self.shape.at(slot.path) {
            Some(shape @ Shape::Group { nullable: false, .. }) => {
                let node = slot.path.split('.').try_fold(tree, |node, name| node.child_mut(name));
                shape.fill(node.ok_or_else(|| self.unknown(slot.path.to_owned()))?, description);
                Ok(())
            }
            _ => self.put(tree, slot.path, description),
        }
    }

    fn put(&self, tree: &mut Node, path: &str, value: &Value) -> Result<(), Error> {
        let node = path.split('.').try_fold(tree, |node, name| node.child_mut(name));
        *node.ok_or_else(|| self.unknown(path.to_owned()))? = Node::from(value);
        Ok(())
    }

    /// Makes paths in slots absolute, seen from `folder`.
    pub(crate) fn anchor(&self, parameters: &mut Parameters, folder: &Path) {
        self.anchor_below("", parameters, folder);
    }

    fn anchor_below(&self, prefix: &str, parameters: &mut Parameters, folder: &Path) {
        for (key, value) in parameters {
            let path = join(prefix, key);
            match self.slot(&path) {
                Some(slot) => self.anchor_value(slot, value, folder),
                None => {
                    if let Value::Object(table) = value {
                        self.anchor_below(&path, table, folder);
                    }
                }
            }
        }
    }

    /// The value of a slot, or of one of an axis over it.
    pub(crate) fn anchor_value(&self, slot: &Slot, value: &mut Value, folder: &Path) {
        match value {
            Value::String(text) if descriptions::looks_like_path(slot.catalog, text) => {
                *text = absolute(folder, text);
            }
            Value::Object(table) => {
                if let Some(Value::String(base)) = table.get_mut("base")
                    && descriptions::looks_like_path(slot.catalog, base)
                {
                    *base = absolute(folder, base);
                }
                let inner = match table.get_mut("parameters") {
                    Some(Value::Object(inner)) => inner,
                    _ => table,
                };
                self.anchor_below(if slot.whole { "" } else { slot.path }, inner, folder);
            }
            _ => {}
        }
    }
}

/// What is given to a slot, if it is a description or the name of one.
fn description<'a>(slot: &Slot, it: &'a Assignment) -> Option<&'a Value> {
    match &it.given {
        Given::Description(preset) => Some(&preset.parameters),
        Given::Value(Value::String(name)) => Some(&built_in(slot, name)?.parameters),
        _ => None,
    }
}

fn built_in(slot: &Slot, name: &str) -> Option<&'static Preset<Value>> {
    slot.catalog.presets().iter().find(|it| it.name.eq_ignore_ascii_case(name))
}

/// A description that is one parameter, with some of its fields changed.
fn changed(tree: &Node, slot: &Slot, fields: &[&(&Slot, &str, &Value)]) -> Result<Value, Error> {
    let bad = |error: CatalogError| {
        let (parameter, given) = match fields {
            [(_, field, value)] => (join(slot.path, field), value.to_string()),
            several => {
                let given = several.iter().map(|(_, field, value)| format!("{field} = {value}"));
                (slot.path.to_owned(), given.collect::<Vec<_>>().join(", "))
            }
        };
        Error::BadDescription { parameter, given, error: Box::new(error) }
    };
    let current = tree.at(slot.path).map(Value::from).unwrap_or_default();
    let mut all = match current {
        Value::String(name) => {
            slot.catalog.find_plain(&name).map_err(|it| bad(it.into()))?.parameters.clone()
        }
        // Nothing to change: it must be described whole.
        Value::Null => json!({}),
        table => table,
    };
    for (_, field, value) in fields {
        let nested = field.rsplit('.').fold((*value).clone(), |inner, key| json!({ key: inner }));
        merge(&mut all, nested);
    }
    let form = json!({ "parameters": all });
    let form = Form::from_value(form.as_object().cloned().unwrap_or_default());
    let form = form.map_err(|it| bad(it.into()))?;
    let complete = descriptions::complete_in(slot.catalog, form, Path::new("")).map_err(bad)?;
    Ok(complete.parameters)
}

fn absolute(folder: &Path, text: &str) -> String {
    let joined: PathBuf = folder.join(text);
    std::path::absolute(&joined).unwrap_or(joined).to_string_lossy().into_owned()
}

/// A value for a message: the beginning of a long one.
fn shortened(value: &Value) -> String {
    const MOST: usize = 80;
    let text = value.to_string();
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{} ...", &text[..end]),
        None => text,
    }
}
