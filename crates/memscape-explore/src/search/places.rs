//! Points as places in a cube, which is what most methods move in.

use memscape_study::node::Node;

use crate::points::Point;
use crate::space::{Dimension, Plan, Values};

/// A space seen as a cube: each dimension goes from 0 to 1.
pub(crate) struct Cube<'a> {
    plan: &'a Plan<'a>,
    ordered: Vec<bool>,
}

impl<'a> Cube<'a> {
    pub(crate) fn new(plan: &'a Plan<'a>) -> Self {
        Self { plan, ordered: plan.dimensions.iter().map(is_ordered).collect() }
    }

    pub(crate) fn dimensions(&self) -> usize {
        self.ordered.len()
    }

    /// Whether near places of a dimension are near values: ranges, and numbers that rise
    /// or fall.
    pub(crate) fn is_ordered(&self, dimension: usize) -> bool {
        self.ordered[dimension]
    }

    /// How many points a dimension has, if it has an end.
    pub(crate) fn length(&self, dimension: usize) -> Option<u64> {
        self.plan.dimensions[dimension].length
    }

    /// The point at a place.
    pub(crate) fn point(&self, places: &[f64]) -> Point {
        self.plan.dimensions.iter().zip(places).map(|(it, place)| digit(it, *place)).collect()
    }

    /// The digit at a place of one dimension.
    pub(crate) fn digit(&self, dimension: usize, place: f64) -> u64 {
        digit(&self.plan.dimensions[dimension], place)
    }

    /// Where a point is; values in the middle of the stretch that means them.
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
    pub(crate) fn place(&self, dimension: usize, digit: u64) -> f64 {
        let it = &self.plan.dimensions[dimension];
        match it.axes.first().map(|it| &it.values) {
            Some(Values::Real(range)) => range.place(f64::from_bits(digit)),
            Some(Values::Whole(range)) => range.place(range.min + digit as f64),
            _ => (digit as f64 + 0.5) / it.length.unwrap_or(1) as f64,
        }
    }

    /// The way from one digit of a dimension to another, as a share of the way from its first value to
    /// its last; between values that have no order it is the whole.
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
    pub(crate) fn share_between(&self, dimension: usize, from: u64, to: u64) -> f64 {
        let it = &self.plan.dimensions[dimension];
        let steps = to as f64 - from as f64;
        match it.axes.first().map(|it| &it.values) {
            Some(Values::Real(range)) => range.share_between(f64::from_bits(from), f64::from_bits(to)),
            Some(Values::Whole(range)) => range.share_between(range.min + from as f64, range.min + to as f64),
            _ if from == to => 0.0,
            _ if self.ordered[dimension] => steps / (it.length.unwrap_or(1) - 1) as f64,
            _ => steps.signum(),
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "clamped to the number of points"
)]
fn digit(dimension: &Dimension, place: f64) -> u64 {
    let place = place.clamp(0.0, 1.0);
    match dimension.axes.first().map(|it| &it.values) {
        Some(Values::Real(range)) => range.at(place).to_bits(),
        Some(Values::Whole(range)) => (range.at(place) - range.min) as u64,
        _ => {
            let length = dimension.length.unwrap_or(1);
            ((place * length as f64) as u64).min(length - 1)
        }
    }
}

fn is_ordered(dimension: &Dimension) -> bool {
    let Some(Values::Listed { nodes, .. }) = dimension.axes.first().map(|it| &it.values) else { return true };
    let Some(numbers) = nodes.iter().map(Node::as_f64).collect::<Option<Vec<f64>>>() else { return false };
    numbers.len() > 2
        && (numbers.is_sorted_by(|one, other| one < other) || numbers.is_sorted_by(|one, other| one > other))
}
