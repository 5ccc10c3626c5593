//! A space resolved against a study.

use std::borrow::Cow;
use std::sync::OnceLock;

use memscape_study::Unknown;
use memscape_study::node::Node;
use serde_json::{Map, Value};

use super::axis::{Axis, Change, Values};
use super::check::{Check, Source};
use super::draw::{Drawn, Sample};
use super::range::Range;
use super::space::{Axes, Space};
use crate::describe::Values as Listed;
use crate::error::Error;
use crate::expression::{Expression, Sort, conjuncts};
use crate::limits::Excess;
use crate::parameters::{Anatomy, Assignment, Given, Parameters};
use crate::schema::{Kind, Shape, alternatives, is_null, types};

/// A space resolved against a study.
pub(crate) struct Plan<'a> {
    pub(crate) anatomy: &'a Anatomy,
    /// Slowest first.
    pub(crate) dimensions: Vec<Dimension>,
    /// The base without what axes give everywhere.
    pub(crate) base: Vec<Assignment>,
    /// What must hold of parameters alone, those first that need the fewest
    /// dimensions.
    pub(crate) prunes: Vec<Check>,
    /// What must hold of the answer too.
    pub(crate) checks: Vec<Check>,
    /// Whether some axes do not exist everywhere.
    pub(crate) conditional: bool,
    /// The points that constraints over parameters allow, if there are any such
    /// constraints or conditions and somebody has looked.
    pub(crate) allowed: Option<Vec<u64>>,
    /// One tree per combination of presets, made when first needed, with why
    /// there is none.
    trees: Vec<OnceLock<Result<Tree, String>>>,
}

/// A study's parameters before the axes set leaves of them, and what of the rest is
/// beyond its limits.
pub(crate) struct Tree {
    pub(crate) node: Node,
    pub(crate) excess: Option<Excess>,
}

/// Axes that move together.
pub(crate) struct Dimension {
    /// How many points it has, `None` if it is a range of real numbers.
    pub(crate) length: Option<u64>,
    /// How many points its value stays the same.
    pub(crate) stride: u64,
    pub(crate) axes: Vec<Axis>,
}

/// More combinations of presets are more likely a mistake than a question.
const MOST_TREES: usize = 1_000_000;

impl<'a> Plan<'a> {
    /// A space of a study; with a sample, its ranges are drawn instead of gone
    /// through.
    pub(crate) fn new(
        anatomy: &'a Anatomy,
        base: &[Parameters],
        space: &Space,
        sample: Option<&Sample>,
    ) -> Result<Self, Error> {
        let mut base = anatomy.flatten_layers(&base.iter().collect::<Vec<_>>())?;
        let mut dimensions = dimensions(anatomy, space, sample)?;
        check_paths(&dimensions)?;
        read_conditions(anatomy, &mut dimensions, space, sample.is_some())?;
        settle(anatomy, &base, &mut dimensions);
        let mut stride = 1_u64;
        for dimension in dimensions.iter_mut().rev() {
            dimension.stride = stride;
            stride = stride.saturating_mul(dimension.length.unwrap_or(1));
        }
        for (index, axis) in dimensions.iter_mut().flat_map(|it| &mut it.axes).enumerate() {
            axis.index = index;
            if axis.when.is_some()
                && let Change::Tree { values, .. } = &mut axis.change
            {
                values.push(Ok(base.iter().filter(|it| it.path == axis.path).cloned().collect()));
            }
        }
        // An axis replaces what the base says of the same parameter.
        let axes = || dimensions.iter().flat_map(|it| &it.axes);
        let replaces = |axis: &Axis| axis.when.is_none() || matches!(axis.change, Change::Tree { .. });
        base.retain(|given| !axes().any(|it| replaces(it) && it.path == given.path));
        let conditional = axes().any(|it| it.when.is_some());
        let trees = number_trees(&mut dimensions)?;
        let trees = std::iter::repeat_with(OnceLock::new).take(trees).collect();
        let (prunes, checks) = (Vec::new(), Vec::new());
        let mut plan = Self { anatomy, dimensions, base, prunes, checks, conditional, allowed: None, trees };
        for text in &space.constraints {
            let whole = plan.check(text, Sort::Bool, "a constraint is")?;
            if !whole.needs_answer() {
                plan.prunes.push(whole);
                continue;
            }
            // What of it needs no answer is held against parameters before there is one.
            let parts = conjuncts(text)?;
            let parts = parts.iter().map(|it| plan.check(it, Sort::Bool, "a constraint is"));
            let (checks, prunes): (Vec<_>, Vec<_>) =
                parts.collect::<Result<Vec<_>, _>>()?.into_iter().partition(Check::needs_answer);
            plan.prunes.extend(prunes);
            plan.checks.extend(checks);
        }
        plan.prunes.sort_by_key(|it| it.deepest);
        Ok(plan)
    }

    /// How many points there are before conditions and constraints.
    ///
    /// # Errors
    /// [`Error::BadSweep`] names the range of real numbers that has no number of
    /// points, or says that there are more than can be counted.
    pub(crate) fn size(&self) -> Result<u64, Error> {
        let mut size = 1_u64;
        for dimension in &self.dimensions {
            let Some(length) = dimension.length else {
                let path = &dimension.axes[0].path;
                return Err(Error::BadSweep(format!(
                    "axis `{path}` is a range of real numbers, which has no end of points; give `step` or \
                     `count` in it, draw from it with a sample, or search"
                )));
            };
            size = size.checked_mul(length).filter(|it| *it < 1 << 62).ok_or_else(|| {
                Error::BadSweep("the space has more than 2^62 points; shorten an axis, or search".to_owned())
            })?;
        }
        Ok(size)
    }

    pub(crate) fn axes(&self) -> impl Iterator<Item = &Axis> {
        self.dimensions.iter().flat_map(|it| &it.axes)
    }

    /// How many trees there are.
    pub(crate) fn trees(&self) -> usize {
        self.trees.len()
    }

    /// The tree with the presets that these axes name.
    pub(crate) fn tree(&self, index: usize) -> Result<&Tree, String> {
        let make = || {
            let mut assignments = self.base.clone();
            for axis in self.axes() {
                if let Change::Tree { values, stride } = &axis.change {
                    let given = values[index / stride % values.len()].as_ref().map_err(Clone::clone)?;
                    assignments.retain(|it| !given.iter().any(|new| new.path == it.path));
                    assignments.extend(given.iter().cloned());
                }
            }
            let node = self.anatomy.expand(&assignments).map_err(|it| it.to_string())?;
            let is_set = |path: &str| self.axes().any(|it| it.is_leaf() && it.path == path);
            let excess = self.anatomy.limits.check_but(&node, "", &is_set).err();
            Ok(Tree { node, excess })
        };
        let tree = self.trees[index].get_or_init(make);
        tree.as_ref().map_err(Clone::clone)
    }

    /// A formula over parameters and columns of this study.
    ///
    /// # Errors
    /// [`Error::BadExpression`] points at the character.
    pub(crate) fn check(&self, text: &str, wanted: Sort, what: &str) -> Result<Check, Error> {
        let expression = Expression::parse(text)?;
        let mut sources = Vec::new();
        let mut sorts = Vec::new();
        for (index, name) in expression.names().enumerate() {
            let (source, sort) = self.find(name).map_err(|it| expression.fault_at(index, it))?;
            sources.push(source);
            sorts.push(sort);
        }
        expression.check(&sorts, wanted, what)?;
        expression.check_texts(|it| texts_of(self.anatomy, it))?;
        let deepest = expression.names().filter_map(|it| self.deepest(it)).max();
        Check::new(expression, sources, deepest)
    }

    /// An objective as a formula: of a name that both a parameter and a column have, and no axis
    /// moves, the column is meant. The parameter may be null where the study finds its value.
    pub(crate) fn of_answer<'t>(&self, objective: &'t str) -> Cow<'t, str> {
        let name = objective.trim();
        let is_column = self.anatomy.columns.builders.iter().any(|it| it.name == name);
        let is_both = is_column && self.anatomy.shape.at(name).is_some();
        if is_both && !self.axes().any(|it| it.path == name) {
            return format!("answer.{name}").into();
        }
        objective.into()
    }

    /// Where the value of a name is, and of what sort it is.
    fn find(&self, name: &str) -> Result<(Source, Option<Sort>), String> {
        let columns = &self.anatomy.columns.builders;
        let column = |name: &str| {
            let index = columns.iter().position(|it| it.name == name)?;
            Some((Source::Column(index), Some(sort_of_kind(columns[index].kind()))))
        };
        if let Some(own) = name.strip_prefix("answer.") {
            return column(own).ok_or_else(|| self.unknown(name));
        }
        let of_tree = self.dimensions.iter().enumerate().find_map(|(dimension, it)| {
            let found = it.axes.iter().position(|axis| axis.path == name)?;
            matches!(it.axes[found].change, Change::Tree { .. })
                .then_some((Source::Axis { dimension, axis: found }, None))
        });
        if let Some(found) = of_tree {
            return Ok(found);
        }
        match (self.anatomy.shape.at(name), self.anatomy.slot(name)) {
            (Some(Shape::Leaf { schema, .. }), _) => {
                let source = match self.anatomy.defaults.route(name) {
                    Some(route) if !self.anatomy.reshapes(name) => Source::Leaf(route),
                    _ => Source::Path(name.to_owned()),
                };
                Ok((source, sort_of_schema(schema)))
            }
            (_, Some(slot)) => {
                if self.trees() > 1 {
                    return Err(format!(
                        "`{name}` is a description that other axes may change; compare one of its parameters"
                    ));
                }
                let given = self.base.iter().find(|it| it.path == name).map(|it| &it.given);
                let text = match given {
                    None => slot.default.to_owned(),
                    Some(Given::Description(it)) => it.name.clone(),
                    Some(_) => {
                        return Err(format!("`{name}` is a table here; compare one of its parameters"));
                    }
                };
                Ok((Source::Given(Node::Text(text.into())), Some(Sort::Text)))
            }
            (Some(Shape::Group { fields, .. }), None) => {
                let names: Vec<&String> = fields.iter().map(|(name, _)| name).collect();
                Err(format!("`{name}` is a table; it has {}", memscape_study::list(&names)))
            }
            (None, None) => column(name).ok_or_else(|| self.unknown(name)),
        }
    }

    fn unknown(&self, name: &str) -> String {
        let parameters = self.anatomy.description.parameters.iter().map(|it| it.path.as_str());
        let columns = self.anatomy.columns.builders.iter().map(|it| it.name.as_str());
        // There are fewer columns, and an objective is one.
        Unknown::new("parameter or column", name, columns.chain(parameters)).to_string()
    }

    /// The fastest dimension that a parameter's value depends on.
    fn deepest(&self, name: &str) -> Option<usize> {
        let moves = |axis: &Axis| axis.path == name || matches!(axis.change, Change::Tree { .. });
        self.dimensions.iter().rposition(|it| it.axes.iter().any(moves))
    }
}

impl Dimension {
    /// Its first point.
    pub(crate) fn first(&self) -> u64 {
        match self.axes.first().map(|it| &it.values) {
            Some(Values::Real(range)) => range.min.to_bits(),
            _ => 0,
        }
    }
}

fn dimensions(anatomy: &Anatomy, space: &Space, sample: Option<&Sample>) -> Result<Vec<Dimension>, Error> {
    let mut dimensions = Vec::new();
    let mut drawn: Vec<(&str, Range)> = Vec::new();
    for linked in &space.dimensions {
        let length = linked.length()?;
        let axes = match &linked.axes {
            Axes::Values(axes) => axes
                .iter()
                .map(|(path, listed)| {
                    let nodes = listed.values.iter().map(Node::from).collect();
                    Axis::listed(anatomy, path, nodes, None, || listed.values.clone())
                })
                .collect::<Result<_, _>>()?,
            Axes::Range(path, range) if sample.is_some() => {
                drawn.push((path, *range));
                continue;
            }
            Axes::Range(path, range) => vec![Axis::range(anatomy, path, *range)?],
        };
        dimensions.push(Dimension { length, stride: 1, axes });
    }
    let Some(sample) = sample else { return Ok(dimensions) };
    let axes = sample.draw(&drawn)?.into_iter().map(|(path, drawn)| match drawn {
        Drawn::Ints(values) => {
            let nodes = values.iter().map(|it| Node::Int(*it)).collect();
            Axis::listed(anatomy, &path, nodes, None, || values.iter().map(|it| (*it).into()).collect())
        }
        Drawn::Floats(values) => {
            let nodes = values.iter().map(|it| Node::Float(*it)).collect();
            Axis::listed(anatomy, &path, nodes, None, || values.iter().map(|it| (*it).into()).collect())
        }
        Drawn::Choices(picks, choices) => {
            let nodes = choices.iter().map(Node::from).collect();
            Axis::listed(anatomy, &path, nodes, Some(picks), || choices)
        }
    });
    let axes = axes.collect::<Result<_, _>>()?;
    dimensions.push(Dimension { length: Some(sample.count), stride: 1, axes });
    Ok(dimensions)
}

/// Leaves of a group that may be missing are leaves as all others where no axis changes which
/// groups there are: one tree then serves all points.
fn settle(anatomy: &Anatomy, base: &[Assignment], dimensions: &mut [Dimension]) {
    let reshapes = |it: &Axis| {
        let is_value = matches!(anatomy.shape.at(&it.path), Some(Shape::Leaf { .. }));
        let is_alone = is_value && anatomy.slot(&it.path).is_none();
        it.when.is_some() || !(it.is_leaf() || is_alone)
    };
    let axes = || dimensions.iter().flat_map(|it| &it.axes);
    if axes().all(Axis::is_leaf) || axes().any(reshapes) {
        return;
    }
    let Ok(tree) = anatomy.expand(base) else { return };
    // All or none: an axis that puts a group into the tree moves the routes of others.
    let routes: Option<Vec<_>> = axes().map(|it| tree.route(&it.path)).collect();
    let Some(routes) = routes else { return };
    for (axis, route) in dimensions.iter_mut().flat_map(|it| &mut it.axes).zip(routes) {
        axis.settle(anatomy, route);
    }
}

/// Each condition is over axes that stand before its own.
fn read_conditions(
    anatomy: &Anatomy,
    dimensions: &mut [Dimension],
    space: &Space,
    sampled: bool,
) -> Result<(), Error> {
    for linked in &space.dimensions {
        let Some(text) = &linked.when else { continue };
        let own: Vec<&str> = linked.paths().collect();
        let of_own = |it: &Dimension| it.axes.iter().any(|axis| own.contains(&axis.path.as_str()));
        let Some(place) = dimensions.iter().position(of_own) else { continue };
        let expression = Expression::parse(text)?;
        expression.check_texts(|it| texts_of(anatomy, it))?;
        let sources: Result<Vec<Source>, Error> = expression
            .names()
            .enumerate()
            .map(|(index, name)| {
                let found = dimensions[..place].iter().enumerate().find_map(|(dimension, it)| {
                    let axis = it.axes.iter().position(|axis| axis.path == name)?;
                    Some(Source::Axis { dimension, axis })
                });
                found.ok_or_else(|| {
                    let drawn = if sampled { " that is not drawn" } else { "" };
                    expression.fault_at(
                        index,
                        format!(
                            "`{name}` is no axis{drawn} before `{}`, which exists only where this holds",
                            own[0]
                        ),
                    )
                })
            })
            .collect();
        let sources = sources?;
        expression.check(&vec![None; sources.len()], Sort::Bool, "a condition is")?;
        let check = Check::new(expression, sources, None)?;
        for axis in dimensions[place].axes.iter_mut().filter(|it| own.contains(&it.path.as_str())) {
            axis.when = Some(check.clone());
        }
    }
    Ok(())
}

/// The texts that a parameter may be, if it is one of some.
fn texts_of(anatomy: &Anatomy, path: &str) -> Option<Vec<String>> {
    match Listed::of(anatomy.shape.at(path)?.schema()) {
        Listed::OneOf(all) => all.iter().map(|it| it.as_str().map(str::to_owned)).collect(),
        _ => None,
    }
}

fn sort_of_kind(kind: Kind) -> Sort {
    match kind {
        Kind::Float | Kind::Int => Sort::Number,
        Kind::Bool => Sort::Bool,
        Kind::Text => Sort::Text,
    }
}

/// None if a parameter may be of several.
fn sort_of_schema(schema: &Map<String, Value>) -> Option<Sort> {
    let of_value = |it: &Value| match it {
        Value::Bool(_) => Some(Sort::Bool),
        Value::Number(_) => Some(Sort::Number),
        Value::String(_) => Some(Sort::Text),
        _ => None,
    };
    let same = |mut all: Box<dyn Iterator<Item = Option<Sort>> + '_>| {
        let first = all.next()??;
        all.all(|it| it == Some(first)).then_some(first)
    };
    if let Some(value) = schema.get("const") {
        return of_value(value);
    }
    if let Some(Value::Array(values)) = schema.get("enum") {
        return same(Box::new(values.iter().filter(|it| !it.is_null()).map(of_value)));
    }
    if let Some(any) = alternatives(schema) {
        let given = any.iter().filter(|it| !is_null(it));
        return same(Box::new(given.map(|it| it.as_object().and_then(sort_of_schema))));
    }
    match types(schema).into_iter().filter(|it| *it != "null").collect::<Vec<_>>()[..] {
        ["number" | "integer"] => Some(Sort::Number),
        ["boolean"] => Some(Sort::Bool),
        ["string"] => Some(Sort::Text),
        _ => None,
    }
}

fn check_paths(dimensions: &[Dimension]) -> Result<(), Error> {
    let paths: Vec<&str> = dimensions.iter().flat_map(|it| &it.axes).map(|it| it.path.as_str()).collect();
    let twice = paths.iter().enumerate().find(|(i, it)| paths[..*i].contains(it));
    match twice {
        Some((_, path)) => Err(Error::BadSweep(format!("there are two axes over `{path}`; remove one"))),
        None => Ok(()),
    }
}

/// Gives each combination of presets its tree, and says how many there are.
fn number_trees(dimensions: &mut [Dimension]) -> Result<usize, Error> {
    let mut trees = 1_usize;
    for axis in dimensions.iter_mut().flat_map(|it| &mut it.axes) {
        if let Change::Tree { values, stride } = &mut axis.change {
            *stride = trees;
            trees = trees.saturating_mul(values.len());
        }
    }
    if trees > MOST_TREES {
        return Err(Error::BadSweep(format!(
            "the axes over presets have {trees} combinations; at most {MOST_TREES} are possible"
        )));
    }
    Ok(trees)
}
