//! What prefill does, in order: which weights lie in which cacheable buffer when,
//! and which are copied meanwhile.
//!
//! The same plan is timed by [`crate::cost::threads`] and run on real buffers.

use std::cmp::Reverse;
use std::fmt;
use std::ops::Range;

use memscape_workload::{Format, Gemv, Llm, Matrix, Projections};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the first feed-forward matrix is divided among the copies beside Q, K, V
/// and O.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Split {
    /// In equal parts: quarters, as the paper does.
    Equal,
    /// In proportion to the work of the GEMM beside it.
    ByCompute,
}

/// A weight matrix of one layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Weights {
    /// The layer.
    pub layer: u64,
    /// Which of its matrices, as an index into [`StagePlan::matrices`].
    pub matrix: usize,
}

/// Part of a matrix, to be copied to a buffer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// The matrix.
    pub of: Weights,
    /// Which of its elements, counted in the host's order.
    pub elements: Range<u64>,
    /// The buffer.
    pub buffer: usize,
    /// The byte of the buffer at which the matrix starts.
    pub matrix_byte: u64,
}

/// One GEMM, and what is copied beside it. All threads meet before the next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stage {
    /// The weights that GEMM reads.
    pub gemm: Weights,
    /// The buffer in which they lie.
    pub buffer: usize,
    /// The byte of the buffer at which they start.
    pub matrix_byte: u64,
    /// What the copy threads bring meanwhile.
    pub copies: Vec<Piece>,
}

/// Prefill with DRAM double buffering.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StagePlan {
    /// The matrices of a layer, in the order they are used.
    pub matrices: Vec<(Matrix, Gemv)>,
    /// Bytes of each buffer.
    pub buffer_bytes: u64,
    /// What is copied before the first stage.
    pub preload: Vec<Piece>,
    /// The stages of all layers.
    pub stages: Vec<Stage>,
}

/// Why there is no plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StageError {
    /// A cacheable buffer cannot hold what is computed with at one time.
    #[error(
        "{matrices} of a layer {} {need} B, but a cacheable buffer has {have} B; give `buffer_bytes` = {need} at least, \
         null for just as many, or a narrower `format`", if matrices.0.len() == 1 { "takes" } else { "take" }
    )]
    BufferTooSmall {
        /// What it is to hold.
        matrices: Names,
        /// Bytes it takes.
        need: u64,
        /// Bytes there are.
        have: u64,
    },
    /// A router decides which weights are read.
    #[error(
        "the model has {0} experts in each layer, of which a router picks some for each token; how many of a prompt's \
         tokens each of them multiplies, and which weights are copied for them, is not modelled on a phone: use a model \
         without experts"
    )]
    Experts(u32),
}

/// Names of matrices, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Names(pub Vec<Matrix>);

impl fmt::Display for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.0.iter().map(|it| it.name()).collect();
        f.write_str(&names.join(" + "))
    }
}

/// The linear layers of one decoder layer, each on its own.
///
/// # Errors
/// [`StageError::Experts`] if a router picks among several feed-forward networks.
pub fn layer_matrices(model: &Llm) -> Result<Vec<(Matrix, Gemv)>, StageError> {
    match model.experts {
        Some(experts) => Err(StageError::Experts(experts.count)),
        None => Ok(model.layer_gemvs(Projections::Separate).collect()),
    }
}

/// Bytes of so many weights, which need not be whole.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "elements stay far below 2^53")]
pub fn elements_bytes(elements: u64, format: Format) -> f64 {
    format.bits_per_element() / 8.0 * elements as f64
}

/// Which matrices share a buffer: those of attention, then each on its own.
fn groups(matrices: &[(Matrix, Gemv)]) -> Vec<Range<usize>> {
    let attention = matrices.iter().take_while(|it| is_attention(it.0)).count();
    let rest = (attention..matrices.len()).map(|it| it..it + 1);
    std::iter::once(0..attention).chain(rest).collect()
}

const fn is_attention(matrix: Matrix) -> bool {
    matches!(matrix, Matrix::Qkv | Matrix::Q | Matrix::K | Matrix::V | Matrix::Out)
}

/// Bytes of the least buffer: the largest single matrix for one buffer that holds
/// one at a time (OWR); what is computed with together for double buffering.
///
/// # Errors
/// As [`layer_matrices`].
pub fn least_buffer_bytes(model: &Llm, format: Format, double: bool) -> Result<u64, StageError> {
    let matrices = layer_matrices(model)?;
    let bytes = |it: &(Matrix, Gemv)| it.1.weight_bytes(format).0;
    let together =
        if double { groups(&matrices) } else { (0..matrices.len()).map(|it| it..it + 1).collect() };
    Ok(together.into_iter().map(|it| matrices[it].iter().map(bytes).sum()).max().unwrap_or(0))
}

/// Checks that one buffer holds each matrix on its own.
///
/// # Errors
/// [`StageError::BufferTooSmall`] names the largest.
pub fn check_single_buffer(model: &Llm, format: Format, have: u64) -> Result<(), StageError> {
    let matrices = layer_matrices(model)?;
    check_buffer(&matrices, (0..matrices.len()).map(|it| it..it + 1), format, have)
}

/// Checks that a buffer holds each of these groups of matrices, and names the largest if it does not.
fn check_buffer(
    matrices: &[(Matrix, Gemv)],
    groups: impl Iterator<Item = Range<usize>>,
    format: Format,
    have: u64,
) -> Result<(), StageError> {
    let bytes = |it: &Range<usize>| matrices[it.clone()].iter().map(|it| it.1.weight_bytes(format).0).sum();
    let largest =
        groups.map(|it| (bytes(&it), it)).max_by_key(|it: &(u64, Range<usize>)| (it.0, Reverse(it.1.start)));
    match largest {
        Some((need, group)) if have < need => {
            let names = matrices[group].iter().map(|it| it.0).collect();
            Err(StageError::BufferTooSmall { matrices: Names(names), need, have })
        }
        _ => Ok(()),
    }
}

impl StagePlan {
    /// Double buffering over `layers` layers of a model.
    ///
    /// While a group of matrices is computed with, the next one is copied to the
    /// other buffer: beside Q, K, V and O the first feed-forward matrix, in one part
    /// each; beside each feed-forward matrix the next; beside the last of them Q, K,
    /// V and O of the next layer. A buffer is overwritten only after the meeting that
    /// follows its last reader.
    ///
    /// # Errors
    /// [`StageError`] says what does not fit.
    pub fn double_buffered(
        model: &Llm,
        layers: u64,
        format: Format,
        split: Split,
        buffer_bytes: Option<u64>,
    ) -> Result<Self, StageError> {
        let matrices = layer_matrices(model)?;
        let groups = groups(&matrices);
        let bytes = |it: usize| matrices[it].1.weight_bytes(format).0;
        let have = buffer_bytes.map_or_else(|| least_buffer_bytes(model, format, true), Ok)?;
        check_buffer(&matrices, groups.iter().cloned(), format, have)?;
        let first_byte = |group: &Range<usize>, matrix: usize| (group.start..matrix).map(bytes).sum();
        let whole = |layer: u64, turn: usize, buffer: usize| -> Vec<Piece> {
            let group = groups[turn].clone();
            group
                .clone()
                .map(|matrix| Piece {
                    of: Weights { layer, matrix },
                    elements: 0..matrices[matrix].1.macs(),
                    buffer,
                    matrix_byte: first_byte(&group, matrix),
                })
                .collect()
        };
        let mut stages = Vec::new();
        let mut buffer = 0;
        for layer in 0..layers {
            for (turn, group) in groups.iter().enumerate() {
                let other = 1 - buffer;
                let next = if turn + 1 < groups.len() {
                    whole(layer, turn + 1, other)
                } else if layer + 1 < layers {
                    whole(layer + 1, 0, other)
                } else {
                    Vec::new()
                };
                let shares = shares(&matrices[group.clone()], split);
                for (matrix, share) in group.clone().zip(shares) {
                    stages.push(Stage {
                        gemm: Weights { layer, matrix },
                        buffer,
                        matrix_byte: first_byte(group, matrix),
                        copies: next.iter().map(|it| part(it, &share)).collect(),
                    });
                }
                buffer = other;
            }
        }
        let preload = whole(0, 0, 0);
        Ok(Self { matrices, buffer_bytes: have, preload, stages })
    }

    /// Stages of one layer.
    #[must_use]
    pub const fn stages_per_layer(&self) -> usize {
        self.matrices.len()
    }
}

/// Which share of the next group is copied beside each matrix of this one, as
/// numerators of a common denominator.
fn shares(group: &[(Matrix, Gemv)], split: Split) -> Vec<(u64, u64, u64)> {
    let weight = |it: &(Matrix, Gemv)| match split {
        Split::Equal => 1,
        Split::ByCompute => it.1.macs(),
    };
    let all: u64 = group.iter().map(weight).sum();
    let mut from = 0;
    group
        .iter()
        .map(|it| {
            let share = (from, from + weight(it), all);
            from = share.1;
            share
        })
        .collect()
}

/// A share of a piece's elements; the shares of one denominator tile it.
fn part(piece: &Piece, &(from, to, all): &(u64, u64, u64)) -> Piece {
    let at = |numerator: u64| {
        let elements = u128::from(piece.elements.end) * u128::from(numerator) / u128::from(all);
        u64::try_from(elements).expect("no more than there are")
    };
    Piece { elements: at(from)..at(to), ..piece.clone() }
}
