//! What a point is, by content: the same parameters have the same key, whether axes, a
//! base, a file or a default gives them.
//!
//! A key is the sum of a number for each parameter, made of its path and its value, so
//! that a step along an axis costs an addition and not another look at the whole tree.
//! The numbers have 128 bits: among 10^9 points two share a key with a chance of 10^-21.

use std::sync::OnceLock;

use serde_json::{Number, Value};
use xxhash_rust::xxh3::xxh3_128;

use super::axis::{Axis, Values};
use super::cursor::Cursor;
use super::plan::{Plan, Tree};
use crate::schema::join;

/// Which point of which study: equal for equal questions.
pub(crate) type Key = u128;

/// What the points' keys are made of.
pub(crate) struct Keys {
    /// What all have in common: who answers.
    seed: Key,
    /// A number for each value of each axis; none for a range, whose values' are made
    /// when they are wanted.
    axes: Vec<Vec<Key>>,
    /// Made when first wanted, as the plan's trees are.
    trees: Vec<OnceLock<OfTree>>,
}

/// What a tree adds.
struct OfTree {
    /// All but the leaves that axes set.
    rest: Key,
    /// Those leaves as the tree has them, for where their axes do not exist.
    leaves: Vec<Key>,
}

impl Keys {
    pub(crate) fn new(plan: &Plan<'_>, seed: Key) -> Self {
        let of_axis = |axis: &Axis| match &axis.values {
            Values::Listed { nodes, .. } => nodes.iter().map(|it| content(&axis.path, &it.into())).collect(),
            Values::Whole(_) | Values::Real(_) => Vec::new(),
        };
        let axes = plan.axes().map(of_axis).collect();
        let trees = std::iter::repeat_with(OnceLock::new).take(plan.trees()).collect();
        Self { seed, axes, trees }
    }

    /// The key of the point at which a cursor stands.
    pub(crate) fn at(&self, plan: &Plan<'_>, cursor: &Cursor<'_>) -> Key {
        let (rest, leaves) = match plan.tree(cursor.tree()) {
            Ok(tree) => {
                let found = self.trees[cursor.tree()].get_or_init(|| OfTree::of(plan, tree));
                (found.rest, Some(&found.leaves))
            }
            // There are no parameters, only what was asked for and why it is nothing.
            Err(problem) => (named("error", b'!', problem.as_bytes()), None),
        };
        let mut key = self.seed.wrapping_add(rest);
        for (dimension, digit) in plan.dimensions.iter().zip(cursor.digits()) {
            for axis in &dimension.axes {
                let part = match leaves {
                    Some(_) if !axis.is_leaf() => continue,
                    Some(leaves) if !cursor.has(axis) => leaves[axis.index],
                    None if !cursor.has(axis) => continue,
                    _ => self.of_value(axis, *digit),
                };
                key = key.wrapping_add(part);
            }
        }
        key
    }

    fn of_value(&self, axis: &Axis, digit: u64) -> Key {
        match self.axes[axis.index].get(axis.pick(digit)) {
            Some(listed) => *listed,
            None => content(&axis.path, &(&axis.node(digit)).into()),
        }
    }
}

impl OfTree {
    fn of(plan: &Plan<'_>, tree: &Tree) -> Self {
        let mut rest = content("", &(&tree.node).into());
        let leaf = |axis: &Axis| {
            let node = tree.node.at(&axis.path).filter(|_| axis.is_leaf());
            node.map_or(0, |it| content(&axis.path, &it.into()))
        };
        let leaves: Vec<Key> = plan.axes().map(leaf).collect();
        for leaf in &leaves {
            rest = rest.wrapping_sub(*leaf);
        }
        Self { rest, leaves }
    }
}

/// The sum over all leaves at and below a path. 8 and 8.0 are the same number.
fn content(path: &str, value: &Value) -> Key {
    match value {
        Value::Object(table) if !table.is_empty() => {
            table.iter().map(|(name, it)| content(&join(path, name), it)).fold(0, Key::wrapping_add)
        }
        Value::Null => named(path, b'n', &[]),
        Value::Bool(it) => named(path, b'b', &[u8::from(*it)]),
        Value::Number(it) => number(path, it),
        Value::String(it) => named(path, b't', it.as_bytes()),
        list_or_empty => named(path, b'l', list_or_empty.to_string().as_bytes()),
    }
}

fn number(path: &str, number: &Number) -> Key {
    /// Beyond it, not every whole number is a float.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if let Some(it) = number.as_i64() {
        return named(path, b'i', &it.to_le_bytes());
    }
    match (number.as_u64(), number.as_f64()) {
        (Some(it), _) => named(path, b'u', &it.to_le_bytes()),
        #[expect(clippy::cast_possible_truncation, reason = "whole and in range")]
        (None, Some(it)) if it.fract() == 0.0 && it.abs() < EXACT && it.to_bits() != (-0.0_f64).to_bits() => {
            named(path, b'i', &(it as i64).to_le_bytes())
        }
        (None, it) => named(path, b'f', &it.unwrap_or_default().to_bits().to_le_bytes()),
    }
}

/// A path has no zero byte, so that it ends where it ends.
fn named(path: &str, kind: u8, value: &[u8]) -> Key {
    let mut bytes = Vec::with_capacity(path.len() + 2 + value.len());
    bytes.extend_from_slice(path.as_bytes());
    bytes.extend_from_slice(&[0, kind]);
    bytes.extend_from_slice(value);
    xxh3_128(&bytes)
}
