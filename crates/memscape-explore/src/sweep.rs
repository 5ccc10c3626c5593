//! Many points of one study at once.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use memscape_study::Study;
use memscape_study::node::Node;
use rayon::prelude::*;
use serde::Serialize;
use serde_json::{Value, json};

use crate::columns::{ColumnBuilder, Columns, NotAnAnswer};
use crate::digest::digest;
use crate::error::Error;
use crate::guard::{guarded, quietly};
use crate::limits::Excess;
use crate::parameters::{Anatomy, Assignment, Parameters};
use crate::sample::{Drawn, Sample};
use crate::schema::Kind;
use crate::table::{Table, leaf_name};

/// Points to ask a study at: a base, and axes over it.
///
/// Rows come in the order in which axes are added, the last one fastest; a
/// sample is faster than all axes, so that each grid point sees the same
/// sampled points.
///
/// ```
/// use memscape_explore::Sweep;
///
/// let sweep = Sweep::default()
///     .axis("memory.banks_per_channel", [8, 16, 32])
///     .zip([("shape.m", [768, 1024]), ("shape.k", [3072, 4096])]);
/// assert_eq!(sweep.points()?, 6);
/// # Ok::<(), memscape_explore::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Sweep {
    /// Later layers over earlier ones.
    base: Vec<Parameters>,
    /// Each group moves together.
    dimensions: Vec<Vec<(String, Vec<Value>)>>,
    sample: Option<Sample>,
}

/// Who watches a sweep. Both are called on the thread that asked, several times
/// a second as long as single points are fast.
pub trait Control: Sync {
    /// So many rows are done.
    fn advanced(&self, done: u64, total: u64) {
        let _ = (done, total);
    }

    /// Something went wrong that did not end the work.
    fn warned(&self, remark: &str) {
        let _ = remark;
    }

    /// Whether to stop and return the rows done so far.
    fn cancelled(&self) -> bool {
        false
    }
}

/// Nobody watches.
impl Control for () {}

impl Sweep {
    /// A sweep of one point, until axes are added.
    #[must_use]
    pub fn of(base: Parameters) -> Self {
        Self { base: vec![base], ..Self::default() }
    }

    /// Parameters that go over those of the base: a table and dotted keys merge
    /// with what a name there stands for.
    #[must_use]
    pub fn over(mut self, parameters: Parameters) -> Self {
        self.base.push(parameters);
        self
    }

    /// Every value of one parameter, or of one that names a preset.
    ///
    /// A NaN becomes null on its way into a [`Value`] and is refused where the
    /// parameter must be a number.
    #[must_use]
    pub fn axis(self, path: impl Into<String>, values: impl IntoIterator<Item: Into<Value>>) -> Self {
        let values = values.into_iter().map(Into::into).collect();
        self.with([(path.into(), values)])
    }

    /// Parameters that move together: the first value of each, then the second
    /// of each, and so on.
    #[must_use]
    pub fn zip<P: Into<String>, V: IntoIterator<Item: Into<Value>>>(
        self,
        axes: impl IntoIterator<Item = (P, V)>,
    ) -> Self {
        let of_values = |(path, values): (P, V)| (path.into(), values.into_iter().map(Into::into).collect());
        self.with(axes.into_iter().map(of_values))
    }

    /// Points drawn from ranges, at each point of the axes.
    #[must_use]
    pub fn sample(mut self, sample: Sample) -> Self {
        self.sample = Some(sample);
        self
    }

    fn with(mut self, axes: impl IntoIterator<Item = (String, Vec<Value>)>) -> Self {
        self.dimensions.push(axes.into_iter().collect());
        self
    }

    /// Whether the axes can be called by the last parts of their paths.
    ///
    /// # Errors
    /// [`Error::BadSweep`] names two that end alike.
    pub fn check_leaf_names(&self) -> Result<(), Error> {
        let sampled = self.sample.iter().flat_map(|it| it.ranges.keys());
        let axes = self.dimensions.iter().flatten().map(|(path, _)| path).chain(sampled);
        let paths: Vec<&String> = axes.collect();
        for (index, path) in paths.iter().enumerate() {
            let leaf = leaf_name(path);
            if let Some(other) = paths[..index].iter().find(|it| leaf_name(it) == leaf) {
                return Err(Error::BadSweep(format!(
                    "`{other}` and `{path}` would both be called `{leaf}`; keep the dotted names"
                )));
            }
        }
        Ok(())
    }

    /// How many points there are, at most 2^31.
    ///
    /// # Errors
    /// [`Error::BadSweep`] if an axis is empty, zipped axes differ in length,
    /// or there are too many points.
    pub fn points(&self) -> Result<u64, Error> {
        let sample = self.sample.as_ref().map_or(Ok(1), Sample::points)?;
        let points = self.dimensions.iter().try_fold(u128::from(sample), |points, axes| {
            Ok::<_, Error>(points.saturating_mul(u128::from(dimension_length(axes)?)))
        })?;
        u64::try_from(points).ok().filter(|it| *it <= MOST_POINTS).ok_or_else(|| {
            Error::BadSweep(format!(
                "the sweep has {points} points, and a table holds at most {MOST_POINTS}; \
                 shorten an axis, or use a sample"
            ))
        })
    }
}

/// What one table can hold.
const MOST_POINTS: u64 = 1 << 31;

fn dimension_length(axes: &[(String, Vec<Value>)]) -> Result<u64, Error> {
    let Some((path, values)) = axes.first() else {
        return Err(Error::BadSweep("zip: give at least one axis".to_owned()));
    };
    if values.is_empty() {
        return Err(Error::BadSweep(format!("axis `{path}` has no values")));
    }
    match axes.iter().find(|(_, it)| it.len() != values.len()) {
        Some((other, it)) => Err(Error::BadSweep(format!(
            "zip: `{path}` has {} values and `{other}` {}; they must be as many",
            values.len(),
            it.len()
        ))),
        None => Ok(values.len() as u64),
    }
}

/// A sweep resolved against a study.
struct Plan<'a> {
    anatomy: &'a Anatomy,
    /// Slowest first.
    dimensions: Vec<Dimension>,
    points: u64,
    /// The base without what axes over presets give.
    base: Vec<Assignment>,
    /// One tree per combination of presets, made when first needed, with why
    /// there is none.
    trees: Vec<OnceLock<Result<Tree, String>>>,
}

/// A study's parameters before the axes set leaves of them, and what of the rest is
/// beyond its limits.
struct Tree {
    node: Node,
    excess: Option<Excess>,
}

struct Dimension {
    length: u64,
    /// How many rows its value stays the same.
    stride: u64,
    axes: Vec<Axis>,
}

struct Axis {
    path: String,
    /// Distinct values, or one per point of the dimension.
    nodes: Vec<Node>,
    /// Which of them each point of the dimension takes; by position if none.
    picks: Option<Vec<u32>>,
    /// Which of them are beyond the limits of the leaf that they set.
    excesses: BTreeMap<usize, Excess>,
    change: Change,
}

enum Change {
    /// Sets a leaf of the tree.
    Leaf(Vec<usize>),
    /// Chooses the tree: the values, and how far apart their trees stand.
    Tree { values: Vec<Resolved>, stride: usize },
}

/// A value of an axis, with what it stands for, or why it stands for nothing.
type Resolved = Result<Vec<Assignment>, String>;

/// More combinations of presets are more likely a mistake than a question.
const MOST_TREES: usize = 1_000_000;

impl Axis {
    fn pick(&self, digit: u64) -> usize {
        let digit = usize::try_from(digit).unwrap_or(usize::MAX);
        self.picks.as_ref().map_or(digit, |it| it[digit] as usize)
    }

    /// As a column of the table, one row per distinct value.
    fn column(&self, float: bool) -> ColumnBuilder {
        let is_int = |it: &Node| matches!(it, Node::Int(_));
        let is_number = |it: &Node| matches!(it, Node::Int(_) | Node::UInt(_) | Node::Float(_));
        // A whole float is a whole number where the parameter is one.
        let is_whole = |it: &Node| matches!(it, Node::Float(it) if it.fract() == 0.0 && it.abs() < 9.0e15);
        let all = |test: &dyn Fn(&Node) -> bool| self.nodes.iter().all(|it| *it == Node::Null || test(it));
        let kind = if all(&is_int) && !float && self.nodes.iter().any(is_int) {
            Kind::Int
        } else if all(&is_number) && self.nodes.iter().any(is_number) {
            let whole = !float && all(&|it| is_int(it) || is_whole(it));
            if whole { Kind::Int } else { Kind::Float }
        } else if all(&|it| matches!(it, Node::Bool(_))) && self.nodes.iter().any(|it| *it != Node::Null) {
            Kind::Bool
        } else {
            Kind::Text
        };
        let mut column = ColumnBuilder::new(self.path.clone(), kind);
        column.reserve(self.nodes.len());
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
        let pushed = self.nodes.iter().try_for_each(push);
        debug_assert!(pushed.is_ok(), "the kind fits all values");
        match &self.picks {
            Some(picks) => column.gather(picks),
            None => column,
        }
    }
}

impl<'a> Plan<'a> {
    fn new(anatomy: &'a Anatomy, sweep: &Sweep) -> Result<Self, Error> {
        let points = sweep.points()?;
        let layers: Vec<&Parameters> = sweep.base.iter().collect();
        let mut base = anatomy.flatten_layers(&layers)?;
        let mut dimensions = Vec::new();
        for axes in &sweep.dimensions {
            let axes = axes.iter().map(|(path, values)| {
                let nodes = values.iter().map(Node::from).collect();
                Axis::new(anatomy, path, nodes, None, || values.clone())
            });
            let axes: Vec<Axis> = axes.collect::<Result<_, _>>()?;
            dimensions.push(Dimension { length: axes[0].nodes.len() as u64, stride: 1, axes });
        }
        if let Some(sample) = &sweep.sample {
            let axes = sample.draw()?.into_iter().map(|(path, drawn)| match drawn {
                Drawn::Ints(values) => {
                    let nodes = values.iter().map(|it| Node::Int(*it)).collect();
                    Axis::new(anatomy, &path, nodes, None, || values.iter().map(|it| (*it).into()).collect())
                }
                Drawn::Floats(values) => {
                    let nodes = values.iter().map(|it| Node::Float(*it)).collect();
                    Axis::new(anatomy, &path, nodes, None, || values.iter().map(|it| (*it).into()).collect())
                }
                Drawn::Choices(picks, choices) => {
                    let nodes = choices.iter().map(Node::from).collect();
                    Axis::new(anatomy, &path, nodes, Some(picks), || choices)
                }
            });
            let axes = axes.collect::<Result<_, _>>()?;
            dimensions.push(Dimension { length: sample.count, stride: 1, axes });
        }
        let mut stride = 1;
        for dimension in dimensions.iter_mut().rev() {
            dimension.stride = stride;
            stride *= dimension.length;
        }
        check_paths(&dimensions)?;
        // An axis replaces what the base says of the same parameter.
        base.retain(|given| !dimensions.iter().flat_map(|it| &it.axes).any(|it| it.path == given.path));
        let trees = number_trees(&mut dimensions)?;
        let trees = std::iter::repeat_with(OnceLock::new).take(trees).collect();
        Ok(Self { anatomy, dimensions, points, base, trees })
    }

    /// A fault of the base, in a parameter that no axis changes, would be the
    /// same in each row, so it is reported at once.
    fn check_base<S: Study>(&self) -> Result<(), Error> {
        let mut tree = self.anatomy.expand(&self.base)?;
        match self.anatomy.read::<S>(&mut tree) {
            Err(Error::BadParameter { path, given, problem })
                if !path.is_empty()
                    && !self.axes().any(|it| {
                        it.path == path
                            || path.starts_with(&format!("{}.", it.path))
                            || matches!(it.change, Change::Tree { .. })
                    }) =>
            {
                Err(Error::BadParameter { path, given, problem })
            }
            _ => Ok(()),
        }
    }

    fn axes(&self) -> impl Iterator<Item = &Axis> {
        self.dimensions.iter().flat_map(|it| &it.axes)
    }

    /// The tree with the presets that these axes name.
    fn tree(&self, index: usize) -> Result<&Tree, String> {
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

    /// Asks the study at each of these rows, or at the first of them if that is
    /// all there is time for. The last chunks of a batch may get no time at all.
    fn run<S: Study>(&self, rows: Range<u64>, batch: &Batch, empty: &Columns) -> Columns {
        let all = || {
            let mut columns = empty.clone();
            columns.reserve(usize::try_from(rows.end - rows.start).unwrap_or(0));
            let mut cursor = Cursor::new(self, rows.start);
            for row in rows.clone() {
                if batch.is_over(row) {
                    break;
                }
                columns.push(cursor.ask::<S>());
                cursor.advance();
            }
            columns
        };
        if batch.is_over(rows.start) {
            return empty.clone();
        }
        quietly(all).unwrap_or_else(|_| self.run_apart::<S>(rows.clone(), batch, empty))
    }

    /// As [`Plan::run`], but a panic at one row does not touch the others.
    fn run_apart<S: Study>(&self, rows: Range<u64>, batch: &Batch, empty: &Columns) -> Columns {
        let mut columns = empty.clone();
        for row in rows.take_while(|row| !batch.is_over(*row)) {
            let one = quietly(|| {
                let mut one = empty.clone();
                one.push(Cursor::new(self, row).ask::<S>());
                one
            });
            match one {
                Ok(one) => columns.append(one),
                Err(error) => columns.push::<S::Answer>(Err(error)),
            }
        }
        columns
    }

    /// The axes' columns for these rows.
    fn columns(&self, first: u64, rows: usize) -> Vec<polars::prelude::Column> {
        let of_axis = |(dimension, axis): &(&Dimension, &Axis)| {
            let float = self.anatomy.shape.at(&axis.path).is_some_and(crate::schema::Shape::is_float);
            axis.column(float).spread(dimension.stride, first, rows).into_polars()
        };
        let axes: Vec<_> =
            self.dimensions.iter().flat_map(|it| it.axes.iter().map(move |a| (it, a))).collect();
        axes.par_iter().map(of_axis).collect()
    }
}

impl Axis {
    fn new(
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
        let limits = match change {
            Change::Leaf(_) => anatomy.limits.below(path),
            Change::Tree { .. } => None,
        };
        let excess = |(at, node)| Some((at, limits?.check(node).err()?));
        let excesses = nodes.iter().enumerate().filter_map(excess).collect();
        Ok(Self { path: path.to_owned(), nodes, picks, excesses, change })
    }

    fn is_leaf(&self) -> bool {
        matches!(self.change, Change::Leaf(_))
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

/// Walks through consecutive points, each time changing only what differs.
struct Cursor<'a> {
    plan: &'a Plan<'a>,
    digits: Vec<u64>,
    tree: Result<Node, String>,
    excess: Option<&'a Excess>,
    tree_index: usize,
}

impl<'a> Cursor<'a> {
    fn new(plan: &'a Plan<'a>, row: u64) -> Self {
        let digits = plan.dimensions.iter().map(|it| row / it.stride % it.length).collect();
        let mut cursor = Self { plan, digits, tree: Ok(Node::Null), excess: None, tree_index: usize::MAX };
        cursor.patch(0);
        cursor
    }

    fn advance(&mut self) {
        for (i, dimension) in self.plan.dimensions.iter().enumerate().rev() {
            self.digits[i] += 1;
            if self.digits[i] < dimension.length {
                self.patch(i);
                return;
            }
            self.digits[i] = 0;
        }
    }

    /// Brings the tree up to date with the digits from `changed` on.
    fn patch(&mut self, changed: usize) {
        let plan = self.plan;
        let all = || plan.dimensions.iter().zip(&self.digits);
        let has_trees = plan.trees.len() > 1 || self.tree_index == usize::MAX;
        let mut changed = changed;
        if has_trees {
            let steps = all().flat_map(|(dimension, digit)| {
                dimension.axes.iter().map(|axis| match axis.change {
                    Change::Tree { stride, .. } => axis.pick(*digit) * stride,
                    Change::Leaf(_) => 0,
                })
            });
            let index = steps.sum();
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
                if let Change::Leaf(route) = &axis.change {
                    tree.patch(route, axis.nodes[axis.pick(*digit)].clone());
                }
            }
        }
    }

    fn ask<S: Study>(&mut self) -> Result<S::Answer, Error> {
        match &mut self.tree {
            Ok(tree) => {
                let study = S::deserialize(tree)?;
                self.check()?;
                ask(&study)
            }
            Err(error) => Err(Error::NoAnswer(error.clone())),
        }
    }

    /// Limits are held against values when a plan and its trees are made, not again
    /// at each point.
    fn check(&self) -> Result<(), Error> {
        for (dimension, digit) in self.plan.dimensions.iter().zip(&self.digits) {
            for axis in &dimension.axes {
                if let Some(excess) = axis.excesses.get(&axis.pick(*digit)) {
                    return Err(excess.at(&axis.path));
                }
            }
        }
        self.excess.map_or(Ok(()), |it| Err(it.at("")))
    }
}

fn ask<S: Study>(study: &S) -> Result<S::Answer, Error> {
    study.answer().map_err(|it| Error::NoAnswer(it.to_string()))
}

/// Answers one point.
pub(crate) fn answer<S: Study>(
    anatomy: &Anatomy,
    layers: &[&Parameters],
) -> Result<Vec<(String, Value)>, Error> {
    guarded(|| {
        let mut tree = anatomy.expand(&anatomy.flatten_layers(layers)?)?;
        let answer = ask(&anatomy.read::<S>(&mut tree)?)?;
        let mut columns = anatomy.columns.clone();
        columns.push(Ok(answer));
        columns.into_row().map_err(Error::NotAnAnswer)
    })
}

/// What a sweep asks, by content: the study, and what every name, path and table
/// of base and axes stands for.
pub(crate) fn identity<S: Study>(anatomy: &Anatomy, sweep: &Sweep) -> Result<String, Error> {
    let plan = Plan::new(anatomy, sweep)?;
    let base: Vec<Value> = plan.base.iter().map(Assignment::content).collect();
    let values = |axis: &Axis| -> Value {
        match &axis.change {
            Change::Leaf(_) => axis.nodes.iter().map(Value::from).collect(),
            Change::Tree { values, .. } => values
                .iter()
                .map(|it| match it {
                    Ok(given) => given.iter().map(Assignment::content).collect(),
                    Err(error) => Value::from(error.as_str()),
                })
                .collect(),
        }
    };
    let picks = |axis: &Axis| axis.picks.clone().map_or(Value::Null, Value::from);
    let axes: Vec<Value> = plan.axes().map(|it| json!([it.path, values(it), picks(it)])).collect();
    let lengths: Vec<u64> = plan.dimensions.iter().map(|it| it.length).collect();
    let question = json!([S::NAME, base, axes, lengths]);
    Ok(digest(question.to_string().as_bytes()))
}

/// The axes' columns of the first rows.
pub(crate) fn axes(anatomy: &Anatomy, sweep: &Sweep, rows: usize) -> Result<Table, Error> {
    let columns = Plan::new(anatomy, sweep)?.columns(0, rows);
    Ok(Table::from_frame(polars::prelude::DataFrame::new(rows, columns)?))
}

/// About how long all threads work before the caller is asked whether to go on.
const BREATH: Duration = Duration::from_millis(100);

/// When they stop even if rows turned out slower than those before.
const LONGEST_BREATH: Duration = Duration::from_millis(200);

/// Looking at the clock takes a tenth of a fast row's time, so not every row does.
const CLOCK_EVERY: u64 = 8;

/// Rows that are done without asking the caller.
struct Batch {
    first: u64,
    start: Instant,
}

impl Batch {
    /// Whether there is no time for this row. There always is for the first,
    /// so that every batch gets somewhere.
    fn is_over(&self, row: u64) -> bool {
        row != self.first && row.is_multiple_of(CLOCK_EVERY) && self.start.elapsed() >= LONGEST_BREATH
    }
}

/// Answers all points from row `first` on, in order, until done or cancelled.
pub(crate) fn sweep<S: Study>(
    anatomy: &Anatomy,
    sweep: &Sweep,
    first: u64,
    control: &dyn Control,
) -> Result<Table, Error> {
    guarded(|| {
        let plan = Plan::new(anatomy, sweep)?;
        plan.check_base::<S>()?;
        let empty = Columns::of::<S>();
        let mut columns = empty.clone();
        columns.reserve(
            usize::try_from(plan.points - first.min(plan.points)).unwrap_or(MOST_RESERVED).min(MOST_RESERVED),
        );
        let threads = rayon::current_num_threads() as u64;
        let mut next = first.min(plan.points);
        let mut breath = threads;
        while next < plan.points && !control.cancelled() {
            let batch = Batch { first: next, start: Instant::now() };
            let end = next.saturating_add(breath).min(plan.points);
            // Several chunks per thread, so that none waits long for another.
            let chunk = breath.div_ceil(threads * 8).max(1);
            // Whoever is free takes the first chunk not yet taken, so that
            // little is lost behind a chunk that could not be finished.
            let taken = AtomicU64::new(0);
            let mut parts: Vec<(u64, Columns)> = (0..(end - next).div_ceil(chunk))
                .into_par_iter()
                .map(|_| {
                    let start = next + taken.fetch_add(1, Ordering::Relaxed) * chunk;
                    (start, plan.run::<S>(start..start.saturating_add(chunk).min(end), &batch, &empty))
                })
                .collect();
            parts.sort_unstable_by_key(|(start, _)| *start);
            for (start, part) in parts {
                if start != next {
                    break;
                }
                next += part.rows() as u64;
                columns.append(part);
            }
            control.advanced(next, plan.points);
            breath = next_breath(next - batch.first, batch.start.elapsed());
        }
        let rows = columns.rows();
        let mut all = plan.columns(first, rows);
        all.extend(named_apart(columns, &plan).into_polars());
        let frame = polars::prelude::DataFrame::new(rows, all)?;
        Ok(Table::new(frame, next == plan.points))
    })
}

/// Room made in advance; beyond it, vectors grow as they fill.
const MOST_RESERVED: usize = 1 << 22;

/// How many rows to do at once, after so many took so long.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a rough guess"
)]
fn next_breath(rows: u64, took: Duration) -> u64 {
    let fitting = rows as f64 * BREATH.as_secs_f64() / took.as_secs_f64().max(1e-6);
    (fitting as u64).clamp(1, rows.saturating_mul(8))
}

/// A column that has an axis's name is called `answer.<name>` in the table.
fn named_apart(mut columns: Columns, plan: &Plan<'_>) -> Columns {
    for column in &mut columns.builders {
        if plan.axes().any(|it| it.path == column.name) {
            column.name = format!("answer.{}", column.name);
        }
    }
    columns
}
