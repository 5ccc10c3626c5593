//! From what a user gives to a study's full tree of parameters.

use std::collections::HashSet;

use memscape_study::{Filling, PresetParameter, Study};
use serde_json::Value;

use crate::describe::Description;
use crate::error::{Error, hint, list};
use crate::node::Node;
use crate::schema::{Shape, join};

/// Parameters as a user gives them: keys are dotted paths, or nested tables, or
/// both.
pub type Parameters = serde_json::Map<String, Value>;

/// What there is to know about a study's parameters, found out once.
#[derive(Debug)]
pub(crate) struct Anatomy {
    pub(crate) shape: Shape,
    pub(crate) defaults: Node,
    pub(crate) presets: Vec<PresetParameter>,
    pub(crate) description: Description,
}

/// One value for one parameter, or for one preset.
pub(crate) type Assignment = (String, Value);

/// A preset that names a preset that names a preset ...: no more than this.
const NESTING: usize = 8;

impl Anatomy {
    pub(crate) fn of<S: Study>() -> Self {
        let defaults = serde_json::to_value(S::default()).unwrap_or_default();
        let shape = Shape::of::<S>(&defaults);
        let description = Description::of::<S>(&shape);
        Self { shape, defaults: Node::from(&defaults), presets: S::presets(), description }
    }

    /// The full tree: the defaults, then presets, then the other parameters.
    pub(crate) fn expand(&self, assignments: &[Assignment]) -> Result<Node, Error> {
        let mut tree = self.defaults.clone();
        self.apply(&mut tree, assignments, 0)?;
        Ok(tree)
    }

    /// Parameters one by one, each path checked and given once.
    pub(crate) fn flatten(&self, parameters: &Parameters) -> Result<Vec<Assignment>, Error> {
        let mut assignments = Vec::new();
        self.collect("", parameters, &mut assignments)?;
        let mut seen = HashSet::new();
        match assignments.iter().find(|(path, _)| !seen.insert(path)) {
            Some((path, value)) => Err(Error::BadParameter {
                path: path.clone(),
                given: value.to_string(),
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
            let bad = |problem: String| {
                Err(Error::BadParameter { path: path.clone(), given: value.to_string(), problem })
            };
            if self.presets.iter().any(|it| it.name == path) {
                assignments.push((path, value.clone()));
                continue;
            }
            match (self.shape.at(&path), value) {
                (Some(Shape::Group { .. }), Value::Object(table)) => {
                    self.collect(&path, table, assignments)?;
                }
                (Some(Shape::Group { .. }), Value::String(_)) if self.preset(&path).is_some() => {
                    assignments.push((path, value.clone()));
                }
                (Some(Shape::Group { nullable: true, .. }), Value::Null) => {
                    assignments.push((path, value.clone()));
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
                (Some(Shape::Leaf { .. }), _) => assignments.push((path, value.clone())),
                (None, _) => return Err(self.unknown(path)),
            }
        }
        Ok(())
    }

    /// The preset whose name can stand at this path.
    fn preset(&self, path: &str) -> Option<&PresetParameter> {
        self.presets.iter().find(|it| it.name == path || (it.fills == path && !path.is_empty()))
    }

    /// Whether a value at this path is a matter of presets rather than of one
    /// leaf that every tree has at the same place.
    pub(crate) fn reshapes(&self, path: &str) -> bool {
        self.presets.iter().any(|it| it.name == path)
            || matches!(self.shape.at(path), Some(Shape::Group { .. }))
            || path.match_indices('.').any(|(end, _)| {
                matches!(self.shape.at(&path[..end]), Some(Shape::Group { nullable: true, .. }))
            })
    }

    /// Whether there is such a parameter at all.
    pub(crate) fn check_path(&self, path: &str) -> Result<(), Error> {
        if self.presets.iter().any(|it| it.name == path) || self.shape.at(path).is_some() {
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
            return Error::UnknownParameter { hint: format!("; `{leaf}` is a single value"), path };
        }
        let below = known
            .filter_map(|it| match self.shape.at(it) {
                Some(Shape::Group { fields, .. }) => Some((it, fields)),
                _ => None,
            })
            .next_back();
        let all: Vec<&str> = self.description.parameters.iter().map(|it| it.path.as_str()).collect();
        let near = hint(&path, all.iter().copied());
        let hint = match below {
            Some((group, fields)) if !near.contains("did you mean") => {
                let names: Vec<&String> = fields.iter().map(|(name, _)| name).collect();
                format!("; `{group}` has {}", list(&names))
            }
            _ => near,
        };
        Error::UnknownParameter { path, hint }
    }

    fn apply(&self, tree: &mut Node, assignments: &[Assignment], depth: usize) -> Result<(), Error> {
        if depth > NESTING {
            return Err(Error::Internal("a preset names itself".to_owned()));
        }
        let is_preset = |preset: &PresetParameter, (path, value): &Assignment| {
            preset.name == *path || (preset.fills == *path && !path.is_empty() && value.is_string())
        };
        for preset in &self.presets {
            for (path, value) in assignments.iter().filter(|it| is_preset(preset, it)) {
                let filling = filling(preset, path, value)?;
                let mut inner = Vec::new();
                self.collect(preset.fills, &filling, &mut inner)?;
                self.apply(tree, &inner, depth + 1)?;
            }
        }
        let leaves = assignments.iter().filter(|it| !self.presets.iter().any(|preset| is_preset(preset, it)));
        for (path, value) in leaves {
            let node = path.split('.').try_fold(&mut *tree, |node, name| node.child_mut(name));
            *node.ok_or_else(|| self.unknown(path.clone()))? = Node::from(value);
        }
        Ok(())
    }
}

/// What a preset parameter's value stands for: a preset's name, or the
/// description itself.
fn filling(preset: &PresetParameter, path: &str, value: &Value) -> Result<Parameters, Error> {
    let parameters = match value {
        Value::String(name) => match (preset.find)(name) {
            Some(Filling { parameters, .. }) => parameters,
            None => {
                return Err(Error::UnknownPreset {
                    parameter: path.to_owned(),
                    name: name.clone(),
                    hint: hint(name, (preset.names)()),
                });
            }
        },
        inline => inline.clone(),
    };
    match parameters {
        Value::Object(parameters) => Ok(parameters),
        other => Err(Error::BadParameter {
            path: path.to_owned(),
            given: other.to_string(),
            problem: format!("expected a table or one of {}", list(&(preset.names)())),
        }),
    }
}
