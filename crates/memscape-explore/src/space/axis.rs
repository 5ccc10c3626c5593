//! One parameter that moves.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::OnceLock;

use memscape_study::node::Node;
use serde_json::{Value, json};

use super::check::Check;
use super::range::Range;
use crate::columns::{ColumnBuilder, NotAnAnswer};
use crate::digest::digest;
use crate::error::Error;
use crate::expression::Datum;
use crate::limits::Excess;
use crate::parameters::{Anatomy, Assignment, Parameters};
use crate::schema::Kind;
use crate::schema::types;

/// One parameter that moves. A point of it is a digit: the place among its values,
/// or the bits of a real number.
pub(crate) struct Axis {
    pub(crate) path: String,
    /// Its place among all axes.
    pub(crate) index: usize,
    pub(crate) values: Values,
    /// Which of its listed values are beyond the limits of the leaf that they set.
    pub(crate) excesses: BTreeMap<usize, Excess>,
    pub(crate) change: Change,
    /// Where it exists, if not everywhere.
    pub(crate) when: Option<Check>,
    /// What a column of its listed values holds, once somebody has looked through them.
    kind: OnceLock<Kind>,
}

pub(crate) enum Values {
    /// Distinct values, or one per point of the dimension, and which of them each
    /// point takes; by position if none.
    Listed { nodes: Vec<Node>, picks: Option<Vec<u32>> },
    /// All whole numbers of a range.
    Whole(Range),
    /// All real numbers of a range.
    Real(Range),
}

impl Values {
    /// How many digits there are; none of a range of real numbers, which takes any bits.
    pub(crate) fn count(&self) -> u64 {
        match self {
            Self::Listed { nodes, picks } => picks.as_ref().map_or(nodes.len(), Vec::len) as u64,
            Self::Whole(range) => range.count().unwrap_or(0),
            Self::Real(_) => 0,
        }
    }
}

pub(crate) enum Change {
    /// Sets a leaf of the tree.
    Leaf(Vec<usize>),
    /// Chooses the tree: the values, and last what stands there if the axis does not
    /// exist; and how far apart their trees stand.
    Tree { values: Vec<Resolved>, stride: usize },
}

/// A value of an axis, with what it stands for, or why it stands for nothing.
pub(crate) type Resolved = Result<Vec<Assignment>, String>;

/// Which values are beyond the limits of the leaf at a path.
fn excesses(anatomy: &Anatomy, path: &str, nodes: &[Node]) -> BTreeMap<usize, Excess> {
    let Some(limits) = anatomy.limits.below(path) else { return BTreeMap::new() };
    nodes.iter().enumerate().filter_map(|(at, node)| Some((at, limits.check(node).err()?))).collect()
}

impl Axis {
    pub(crate) fn listed(
        anatomy: &Anatomy,
        path: &str,
        nodes: Vec<Node>,
        picks: Option<Vec<u32>>,
        values: impl FnOnce() -> Vec<Value>,
    ) -> Result<Self, Error> {
        anatomy.check_path(path)?;
        let change = match anatomy.defaults.route(path) {
            Some(route) if !anatomy.reshapes(path) => Change::Leaf(route),
            _ => {
                let resolved = |value: Value| {
                    let given = Parameters::from_iter([(path.to_owned(), value)]);
                    anatomy.flatten(&given).map_err(|it| it.to_string())
                };
                Change::Tree { values: values().into_iter().map(resolved).collect(), stride: 1 }
            }
        };
        let excesses = match change {
            Change::Leaf(_) => excesses(anatomy, path, &nodes),
            Change::Tree { .. } => BTreeMap::new(),
        };
        let values = Values::Listed { nodes, picks };
        let (path, kind) = (path.to_owned(), OnceLock::new());
        Ok(Self { path, index: 0, values, excesses, change, when: None, kind })
    }

    /// Sets a leaf of the one tree that there is.
    pub(crate) fn settle(&mut self, anatomy: &Anatomy, route: Vec<usize>) {
        if let (Values::Listed { nodes, .. }, Change::Tree { .. }) = (&self.values, &self.change) {
            self.excesses = excesses(anatomy, &self.path, nodes);
            self.change = Change::Leaf(route);
        }
    }

    pub(crate) fn range(anatomy: &Anatomy, path: &str, range: Range) -> Result<Self, Error> {
        anatomy.check_path(path)?;
        let Some(route) = anatomy.defaults.route(path).filter(|_| !anatomy.reshapes(path)) else {
            return Err(Error::BadSweep(format!(
                "axis `{path}` is a range, and it takes descriptions or is not always there; give a list of \
                 values, or `step` or `count`"
            )));
        };
        let kinds = anatomy.shape.at(path).map(|it| types(it.schema())).unwrap_or_default();
        if !range.integer && kinds.contains(&"integer") && !kinds.contains(&"number") {
            return Err(Error::BadSweep(format!(
                "axis `{path}` is a range of real numbers, and it takes whole ones; add `integer = true`"
            )));
        }
        let values = if range.integer { Values::Whole(range) } else { Values::Real(range) };
        let (change, excesses) = (Change::Leaf(route), BTreeMap::new());
        // What is allowed has no gaps but those between whole numbers.
        if let Some(limits) = anatomy.limits.below(path) {
            let ends = [Node::Float(range.min), Node::Float(range.max)];
            ends.iter().try_for_each(|it| limits.check(it)).map_err(|it| it.at(path))?;
        }
        let (path, kind) = (path.to_owned(), OnceLock::new());
        Ok(Self { path, index: 0, values, excesses, change, when: None, kind })
    }

    pub(crate) fn is_leaf(&self) -> bool {
        matches!(self.change, Change::Leaf(_))
    }

    /// Why the value of a digit is beyond its limits, if it is.
    pub(crate) fn excess(&self, digit: u64) -> Option<&Excess> {
        if self.excesses.is_empty() { None } else { self.excesses.get(&self.pick(digit)) }
    }

    /// Which of its listed values a digit takes.
    pub(crate) fn pick(&self, digit: u64) -> usize {
        let digit = usize::try_from(digit).unwrap_or(usize::MAX);
        match &self.values {
            Values::Listed { picks: Some(picks), .. } => picks[digit] as usize,
            _ => digit,
        }
    }

    /// The value of a digit.
    pub(crate) fn node(&self, digit: u64) -> Node {
        match &self.values {
            Values::Listed { nodes, .. } => nodes[self.pick(digit)].clone(),
            Values::Whole(range) => Node::Int(whole(range, digit)),
            Values::Real(_) => Node::Float(f64::from_bits(digit)),
        }
    }

    /// The same for formulas.
    #[expect(clippy::cast_precision_loss, reason = "formulas have floats only")]
    pub(crate) fn datum(&self, digit: u64) -> Datum<'_> {
        match &self.values {
            Values::Listed { nodes, .. } => datum(&nodes[self.pick(digit)]),
            Values::Whole(range) => Datum::Number(whole(range, digit) as f64),
            Values::Real(_) => Datum::Number(f64::from_bits(digit)),
        }
    }

    /// The same as plain data: a list by its digest, as it may have millions.
    pub(crate) fn content(&self) -> Value {
        match &self.values {
            Values::Listed { nodes, .. } => {
                let mut text = String::new();
                for it in nodes {
                    let _ = writeln!(text, "{}", Value::from(it));
                }
                digest(text.as_bytes()).into()
            }
            Values::Whole(range) | Values::Real(range) => json!(range),
        }
    }

    /// As a column of the table: a row per digit; or, if it does not exist everywhere, a
    /// row per distinct value and a null. Empty for a range of real numbers.
    pub(crate) fn column(&self, float: bool) -> ColumnBuilder {
        let mut column = match &self.values {
            Values::Listed { nodes, .. } if self.when.is_some() => self.listed_column(nodes.iter(), float),
            values => self.column_of(0..values.count(), float),
        };
        if self.when.is_some() && !matches!(self.values, Values::Real(_)) {
            column.push_null();
        }
        column
    }

    /// The same for some digits of an axis that exists everywhere: it may have millions.
    pub(crate) fn column_of(&self, digits: impl Iterator<Item = u64>, float: bool) -> ColumnBuilder {
        match &self.values {
            Values::Listed { nodes, .. } => self.listed_column(digits.map(|it| &nodes[self.pick(it)]), float),
            Values::Whole(range) => {
                let mut column =
                    ColumnBuilder::new(self.path.clone(), if float { Kind::Float } else { Kind::Int });
                let pushed: Result<(), NotAnAnswer> =
                    digits.map(|it| whole(range, it)).try_for_each(|it| column.push_int(it));
                debug_assert!(pushed.is_ok(), "the kind fits all values");
                column
            }
            Values::Real(_) => ColumnBuilder::new(self.path.clone(), Kind::Float),
        }
    }

    /// Some of its listed values, in a column that could hold them all.
    fn listed_column<'n>(&self, values: impl Iterator<Item = &'n Node>, float: bool) -> ColumnBuilder {
        let kind = *self.kind.get_or_init(|| match &self.values {
            Values::Listed { nodes, .. } => kind_of(nodes, float),
            Values::Whole(_) | Values::Real(_) => Kind::Float,
        });
        let mut column = ColumnBuilder::new(self.path.clone(), kind);
        column.reserve(values.size_hint().0);
        #[expect(clippy::cast_precision_loss, reason = "beyond the range of integers only")]
        #[expect(clippy::cast_possible_truncation, reason = "checked to be whole and in range")]
        let push = |node: &Node| -> Result<(), NotAnAnswer> {
            match (node, kind) {
                (Node::Null, _) => {
                    column.push_null();
                    Ok(())
                }
                (Node::Int(it), Kind::Int | Kind::Float) => column.push_int(*it),
                (Node::UInt(it), Kind::Float) => column.push_float(*it as f64),
                (Node::Float(it), Kind::Int) => column.push_int(*it as i64),
                (Node::Float(it), Kind::Float) => column.push_float(*it),
                (Node::Bool(it), Kind::Bool) => column.push_bool(*it),
                (Node::Text(it), _) => column.push_text(it),
                (other, _) => column.push_text(&other.to_string()),
            }
        };
        let pushed = values.into_iter().try_for_each(push);
        debug_assert!(pushed.is_ok(), "the kind fits all values");
        column
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "checked to be whole, below 2^53"
)]
fn whole(range: &Range, digit: u64) -> i64 {
    range.min as i64 + digit as i64
}

/// What a column of these values holds.
fn kind_of(nodes: &[Node], float: bool) -> Kind {
    let is_int = |it: &Node| matches!(it, Node::Int(_));
    let is_number = |it: &Node| matches!(it, Node::Int(_) | Node::UInt(_) | Node::Float(_));
    // A whole float is a whole number where the parameter is one.
    let is_whole = |it: &Node| matches!(it, Node::Float(it) if it.fract() == 0.0 && it.abs() < 9.0e15);
    let all = |test: &dyn Fn(&Node) -> bool| nodes.iter().all(|it| *it == Node::Null || test(it));
    if all(&is_int) && !float && nodes.iter().any(is_int) {
        Kind::Int
    } else if all(&is_number) && nodes.iter().any(is_number) {
        let whole = !float && all(&|it| is_int(it) || is_whole(it));
        if whole { Kind::Int } else { Kind::Float }
    } else if all(&|it| matches!(it, Node::Bool(_))) && nodes.iter().any(|it| *it != Node::Null) {
        Kind::Bool
    } else {
        Kind::Text
    }
}

/// A node as formulas see it; lists and tables are nothing to them.
#[expect(clippy::cast_precision_loss, reason = "formulas have floats only")]
pub(crate) fn datum(node: &Node) -> Datum<'_> {
    match node {
        Node::Bool(it) => Datum::Bool(*it),
        Node::Int(it) => Datum::Number(*it as f64),
        Node::UInt(it) => Datum::Number(*it as f64),
        Node::Float(it) => Datum::Number(*it),
        Node::Text(it) => Datum::Text(it),
        Node::Null | Node::List(_) | Node::Table(_) => Datum::Null,
    }
}
