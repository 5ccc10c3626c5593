//! From point to point of a space, each time changing only what differs.

use memscape_study::Study;
use memscape_study::node::Node;

use super::axis::{Axis, Change, datum};
use super::check::Source;
use super::plan::Plan;
use crate::error::Error;
use crate::expression::Datum;
use crate::limits::Excess;

/// A point of a space and its tree of parameters.
pub(crate) struct Cursor<'a> {
    plan: &'a Plan<'a>,
    digits: Vec<u64>,
    /// Whether each axis exists here.
    active: Vec<bool>,
    tree: Result<Node, String>,
    /// What of the tree is beyond its limits, whatever axes set.
    excess: Option<&'a Excess>,
    tree_index: usize,
    /// The slowest dimension that has moved since the point was last found allowed.
    moved: usize,
    /// Whether it has gone beyond the last point.
    over: bool,
}

/// What can make an excluded point an allowed one.
enum Mends {
    /// That this dimension, or a slower one, moves.
    Moving(usize),
    Nothing,
}

impl From<Option<usize>> for Mends {
    fn from(dimension: Option<usize>) -> Self {
        dimension.map_or(Self::Nothing, Self::Moving)
    }
}

impl<'a> Cursor<'a> {
    /// At a point of a finite space, allowed or not, counted with the last dimension
    /// fastest.
    pub(crate) fn new(plan: &'a Plan<'a>, place: u64) -> Self {
        let digits = digits_of(plan, place);
        Self::at(plan, digits)
    }

    /// At the point of these digits.
    pub(crate) fn at(plan: &'a Plan<'a>, digits: Vec<u64>) -> Self {
        let active = vec![true; plan.axes().count()];
        let tree = Ok(Node::Null);
        let mut cursor =
            Self { plan, digits, active, tree, excess: None, tree_index: usize::MAX, moved: 0, over: false };
        cursor.update(0);
        cursor
    }

    /// Goes to the point of these digits.
    pub(crate) fn go(&mut self, digits: &[u64]) {
        let changed = self.digits.iter().zip(digits).position(|(one, other)| one != other);
        let Some(changed) = changed else { return };
        self.digits.copy_from_slice(digits);
        self.moved = 0;
        self.update(changed);
    }

    /// Goes to a point of a finite space.
    pub(crate) fn go_to(&mut self, place: u64) {
        let digits = digits_of(self.plan, place);
        self.go(&digits);
    }

    /// Goes to the next point of a finite space, allowed or not.
    pub(crate) fn advance(&mut self) {
        if let Some(last) = self.plan.dimensions.len().checked_sub(1) {
            self.step(last);
        } else {
            self.over = true;
        }
    }

    /// Goes on to the first allowed point from here on that stands before `end`, and
    /// says whether there is one.
    pub(crate) fn settle(&mut self, end: u64) -> bool {
        loop {
            if self.over || self.place() >= end {
                return false;
            }
            match self.refused() {
                None => {
                    self.moved = self.digits.len();
                    return true;
                }
                Some(Mends::Moving(dimension)) => self.step(dimension),
                Some(Mends::Nothing) => self.over = true,
            }
        }
    }

    /// Whether the point is one of the space.
    pub(crate) fn is_allowed(&mut self) -> bool {
        self.moved = 0;
        self.refused().is_none()
    }

    pub(crate) fn digits(&self) -> &[u64] {
        &self.digits
    }

    /// Which of the plan's trees it stands on.
    pub(crate) fn tree(&self) -> usize {
        self.tree_index
    }

    /// Where the point stands among all of a finite space.
    pub(crate) fn place(&self) -> u64 {
        self.plan.dimensions.iter().zip(&self.digits).map(|(it, digit)| digit * it.stride).sum()
    }

    /// The study here.
    ///
    /// # Errors
    /// [`Error`] if a description or a value is none.
    pub(crate) fn study<S: Study>(&mut self) -> Result<S, Error> {
        match &mut self.tree {
            Ok(tree) => {
                let study = S::deserialize(tree).map_err(|it| self.plan.anatomy.told(it))?;
                self.check()?;
                Ok(study)
            }
            Err(error) => Err(Error::NoAnswer(error.clone())),
        }
    }

    /// Limits are held against values when a plan and its trees are made, not again
    /// at each point.
    fn check(&self) -> Result<(), Error> {
        for (dimension, digit) in self.plan.dimensions.iter().zip(&self.digits) {
            for axis in &dimension.axes {
                if let Some(excess) = axis.excess(*digit).filter(|_| self.has(axis)) {
                    return Err(excess.at(&axis.path));
                }
            }
        }
        self.excess.map_or(Ok(()), |it| Err(it.at("")))
    }

    /// Whether an axis exists here.
    pub(crate) fn has(&self, axis: &Axis) -> bool {
        self.active[axis.index]
    }

    /// Sets the digits of axes that do not exist here to the first, so that each
    /// point has one name.
    pub(crate) fn normalise(&mut self) {
        for (index, dimension) in self.plan.dimensions.iter().enumerate() {
            let first = dimension.first();
            if self.digits[index] != first && !dimension.axes.iter().any(|it| self.has(it)) {
                self.digits[index] = first;
                self.update(index);
            }
        }
    }

    /// What a name of a formula stands for here; columns are not known.
    pub(crate) fn datum<'t>(&'t self, source: &'t Source) -> Datum<'t> {
        match source {
            Source::Leaf(route) => {
                self.tree.as_ref().ok().and_then(|it| it.at_route(route)).map_or(Datum::Null, datum)
            }
            Source::Path(path) => {
                self.tree.as_ref().ok().and_then(|it| it.at(path)).map_or(Datum::Null, datum)
            }
            Source::Axis { dimension, axis } => self.of_axis(*dimension, *axis),
            Source::Given(node) => datum(node),
            Source::Column(_) => Datum::Null,
        }
    }

    fn of_axis(&self, dimension: usize, axis: usize) -> Datum<'a> {
        let it = &self.plan.dimensions[dimension].axes[axis];
        if self.has(it) { it.datum(self.digits[dimension]) } else { Datum::Null }
    }

    /// What must happen for the point to become allowed, if it is not.
    fn refused(&self) -> Option<Mends> {
        if self.plan.conditional {
            let all = self.plan.dimensions.iter().zip(&self.digits).enumerate().skip(self.moved);
            for (index, (dimension, digit)) in all {
                if *digit != dimension.first() && !dimension.axes.iter().any(|it| self.has(it)) {
                    return Some(Mends::from(index.checked_sub(1)));
                }
            }
        }
        if self.tree.is_err() {
            // The row says what is wrong.
            return None;
        }
        let moved = |deepest: Option<usize>| deepest.map_or(0, |it| it + 1) > self.moved || self.moved == 0;
        let broken = self.plan.prunes.iter().filter(|it| moved(it.deepest));
        broken.filter(|it| !it.holds(|source| self.datum(source))).map(|it| it.deepest.into()).next()
    }

    /// Moves a dimension one on, and all faster ones to their first point.
    fn step(&mut self, dimension: usize) {
        let mut changed = dimension;
        for (index, it) in self.plan.dimensions.iter().enumerate().skip(dimension + 1) {
            self.digits[index] = it.first();
        }
        loop {
            self.digits[changed] += 1;
            if self.digits[changed] < self.plan.dimensions[changed].length.unwrap_or(1) {
                break;
            }
            self.digits[changed] = 0;
            let Some(slower) = changed.checked_sub(1) else {
                self.over = true;
                return;
            };
            changed = slower;
        }
        self.moved = self.moved.min(changed);
        self.update(changed);
    }

    /// Brings the tree up to date with the digits from `changed` on.
    fn update(&mut self, changed: usize) {
        let plan = self.plan;
        if plan.conditional {
            for (dimension, it) in plan.dimensions.iter().enumerate().skip(changed) {
                for axis in &it.axes {
                    let Some(when) = &axis.when else { continue };
                    let exists = when.holds(|source| match source {
                        Source::Axis { dimension: before, axis } if *before < dimension => {
                            self.of_axis(*before, *axis)
                        }
                        _ => Datum::Null,
                    });
                    self.active[axis.index] = exists;
                }
            }
        }
        let mut changed = changed;
        if plan.trees() > 1 || self.tree_index == usize::MAX {
            let index = self.wanted_tree();
            if index != self.tree_index {
                let tree = plan.tree(index);
                self.excess = tree.as_ref().ok().and_then(|it| it.excess.as_ref());
                self.tree = tree.map(|it| it.node.clone());
                self.tree_index = index;
                changed = 0;
            }
        }
        let Ok(tree) = &mut self.tree else { return };
        for (dimension, digit) in plan.dimensions.iter().zip(&self.digits).skip(changed) {
            for axis in &dimension.axes {
                let Change::Leaf(route) = &axis.change else { continue };
                let node = if self.active[axis.index] {
                    axis.node(*digit)
                } else {
                    // As the base has it.
                    let base = plan.tree(self.tree_index).ok().and_then(|it| it.node.at_route(route));
                    base.cloned().unwrap_or(Node::Null)
                };
                tree.patch(route, node);
            }
        }
    }

    fn wanted_tree(&self) -> usize {
        let all = self.plan.dimensions.iter().zip(&self.digits);
        let steps = all.flat_map(|(dimension, digit)| {
            dimension.axes.iter().map(|axis| match &axis.change {
                Change::Tree { values, stride } if !self.active[axis.index] => (values.len() - 1) * stride,
                Change::Tree { stride, .. } => axis.pick(*digit) * stride,
                Change::Leaf(_) => 0,
            })
        });
        steps.sum()
    }
}

/// The digits of a point of a finite space.
pub(crate) fn digits_of(plan: &Plan<'_>, place: u64) -> Vec<u64> {
    plan.dimensions.iter().map(|it| place / it.stride % it.length.unwrap_or(1)).collect()
}
