//! The weight matrices of a model, by name and shape.

use std::fmt;
use std::num::NonZeroU64;

use memscape_study::Implied;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Gemv, Llm, ShapeError};

/// A weight matrix of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Matrix {
    /// Query, key and value projections stacked.
    Qkv,
    /// Query projection.
    Q,
    /// Key projection.
    K,
    /// Value projection.
    V,
    /// Attention output projection.
    Out,
    /// Scores of the experts, one row each (Mixtral).
    Router,
    /// First matrix of a feed-forward network without a gate.
    Fc1,
    /// Second matrix of a feed-forward network without a gate.
    Fc2,
    /// Gate and up projections stacked.
    GateUp,
    /// Gate projection.
    Gate,
    /// Up projection.
    Up,
    /// Down projection.
    Down,
    /// From the embedding's width to the layers' (OPT-350M).
    ProjectIn,
    /// From the layers' width to the embedding's (OPT-350M).
    ProjectOut,
    /// LM head.
    LmHead,
}

impl Matrix {
    /// All of them, in the order they are used.
    pub const ALL: [Self; 15] = [
        Self::ProjectIn,
        Self::Qkv,
        Self::Q,
        Self::K,
        Self::V,
        Self::Out,
        Self::Router,
        Self::Fc1,
        Self::Fc2,
        Self::GateUp,
        Self::Gate,
        Self::Up,
        Self::Down,
        Self::ProjectOut,
        Self::LmHead,
    ];

    /// Those of a feed-forward network, or of an expert, in the order they are used.
    pub const FFN: [Self; 6] = [Self::Fc1, Self::Fc2, Self::GateUp, Self::Gate, Self::Up, Self::Down];

    /// Those that follow the layers: of a prompt, for its last token.
    pub const AFTER_LAYERS: [Self; 2] = [Self::ProjectOut, Self::LmHead];

    /// Those that are of no layer, in the order they are used.
    pub const OUTSIDE: [Self; 3] = [Self::ProjectIn, Self::ProjectOut, Self::LmHead];

    /// Whether one of these has the name, for example of an operator.
    #[must_use]
    pub fn is_among(name: &str, all: &[Self]) -> bool {
        all.iter().any(|it| it.name() == name)
    }

    /// The name, for example `fc1`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Qkv => "qkv",
            Self::Q => "q",
            Self::K => "k",
            Self::V => "v",
            Self::Out => "out",
            Self::Router => "router",
            Self::Fc1 => "fc1",
            Self::Fc2 => "fc2",
            Self::GateUp => "gate_up",
            Self::Gate => "gate",
            Self::Up => "up",
            Self::Down => "down",
            Self::ProjectIn => "project_in",
            Self::ProjectOut => "project_out",
            Self::LmHead => "lm_head",
        }
    }
}

impl fmt::Display for Matrix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A matrix that a model does not have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the model has no matrix `{asked}`; it has {available}")]
pub struct NoSuchMatrix {
    /// The matrix asked for.
    pub asked: Matrix,
    /// Names of those it has.
    pub available: String,
}

/// Why there is no matrix that a study asks for by `m` and `k`, or by its name.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum AskedError {
    /// Only one of `m` and `k`.
    #[error("`m` and `k` go together: give both for a matrix of your own, or neither for one of the model's")]
    HalfShape,
    /// The model has no such matrix.
    #[error(transparent)]
    Matrix(#[from] NoSuchMatrix),
    /// A shape of no elements or too many.
    #[error(transparent)]
    Shape(#[from] ShapeError),
}

/// Whether projections of the same input are one matrix or several.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Projections {
    /// Q, K and V stacked into one, gate and up stacked into one.
    #[default]
    Merged,
    /// Each on its own.
    Separate,
}

/// The projections of a model as its files have them, for studies of software that multiplies
/// them so.
pub const AS_STACKED: Implied = Implied {
    parameter: "projections",
    value: |model| {
        let stacked = model.get("stacked")?.as_bool()?;
        serde_json::to_value(if stacked { Projections::Merged } else { Projections::Separate }).ok()
    },
};
impl Llm {
    /// The projections as the model's files have them.
    #[must_use]
    pub const fn file_projections(&self) -> Projections {
        if self.stacked { Projections::Merged } else { Projections::Separate }
    }

    /// The matrices of one layer in the order they are used.
    ///
    /// For OPT, merged: `qkv` (3d x d), `out` (d x d), `fc1` (4d x d), `fc2`
    /// (d x 4d).
    ///
    /// With experts, what one token meets: the router, then the matrices of an
    /// expert as often as experts are active, so that work and weights add up
    /// to those of [`Llm::decode_operators`]. `n` tokens times these are the
    /// work of a prompt, but not its weights, of which it reads more (see
    /// [`Llm::prefill_operators`]).
    pub fn layer_gemvs(&self, projections: Projections) -> impl Iterator<Item = (Matrix, Gemv)> + use<> {
        let ffn = self.ffn_gemvs(projections);
        let experts = (0..self.active_ffn_count()).flat_map(move |_| ffn.into_iter().flatten());
        self.attention_gemvs(projections).into_iter().flatten().chain(experts)
    }

    /// The matrices of one layer that memory holds, each with how many there are of it: one, or as many as
    /// experts, whether or not a token meets them.
    pub fn layer_matrices(
        &self,
        projections: Projections,
    ) -> impl Iterator<Item = (Matrix, Gemv, u64)> + use<> {
        let once = self.attention_gemvs(projections).into_iter().flatten().map(|it| (it.0, it.1, 1));
        let experts = self.ffn_count();
        once.chain(self.ffn_gemvs(projections).into_iter().flatten().map(move |it| (it.0, it.1, experts)))
    }

    /// The matrices of one layer before its feed-forward network.
    pub(crate) fn attention_gemvs(&self, projections: Projections) -> [Option<(Matrix, Gemv)>; 5] {
        let [first, second, third] = match projections {
            Projections::Merged => [Some(Matrix::Qkv), None, None],
            Projections::Separate => [Some(Matrix::Q), Some(Matrix::K), Some(Matrix::V)],
        };
        [first, second, third, Some(Matrix::Out), Some(Matrix::Router)].map(|it| self.named_shape(it?))
    }

    /// The matrices of one feed-forward network, or one expert.
    pub(crate) fn ffn_gemvs(&self, projections: Projections) -> [Option<(Matrix, Gemv)>; 3] {
        let matrices = match (projections, self.gated) {
            (_, false) => [Some(Matrix::Fc1), Some(Matrix::Fc2), None],
            (Projections::Merged, true) => [Some(Matrix::GateUp), Some(Matrix::Down), None],
            (Projections::Separate, true) => [Some(Matrix::Gate), Some(Matrix::Up), Some(Matrix::Down)],
        };
        matrices.map(|it| self.named_shape(it?))
    }

    /// The matrix and its shape, if the model has it.
    pub(crate) fn named_shape(&self, matrix: Matrix) -> Option<(Matrix, Gemv)> {
        self.shape(matrix).map(|shape| (matrix, shape))
    }

    /// The shape of one matrix; of one expert's, where a layer has several.
    ///
    /// # Errors
    /// [`NoSuchMatrix`] lists those the model has.
    pub fn gemv(&self, matrix: Matrix) -> Result<Gemv, NoSuchMatrix> {
        self.shape(matrix).ok_or_else(|| {
            let has = Matrix::ALL.iter().filter(|it| self.shape(**it).is_some());
            let available = has.map(|it| it.name()).collect::<Vec<_>>().join(", ");
            NoSuchMatrix { asked: matrix, available }
        })
    }

    /// The shape of a matrix of a user's own if it is given, else of one of the model's.
    ///
    /// # Errors
    /// [`AskedError`] if the model has no such matrix or the shape is incomplete.
    pub fn asked_gemv(
        &self,
        matrix: Matrix,
        m: Option<NonZeroU64>,
        k: Option<NonZeroU64>,
    ) -> Result<Gemv, AskedError> {
        match (m, k) {
            (Some(m), Some(k)) => Ok(Gemv::new(m.get(), k.get())?),
            (None, None) => Ok(self.gemv(matrix)?),
            _ => Err(AskedError::HalfShape),
        }
    }

    fn shape(&self, matrix: Matrix) -> Option<Gemv> {
        let hidden = u64::from(self.hidden_size);
        let embedding = u64::from(self.embedding_width());
        let ffn = u64::from(self.ffn_size);
        let (present, m, k) = match matrix {
            Matrix::Qkv => (true, self.q_size() + 2 * self.kv_size(), hidden),
            Matrix::Q => (true, self.q_size(), hidden),
            Matrix::K | Matrix::V => (true, self.kv_size(), hidden),
            Matrix::Out => (true, hidden, self.q_size()),
            Matrix::Router => (self.experts.is_some(), self.ffn_count(), hidden),
            Matrix::Fc1 => (!self.gated, ffn, hidden),
            Matrix::Fc2 => (!self.gated, hidden, ffn),
            Matrix::GateUp => (self.gated, 2 * ffn, hidden),
            Matrix::Gate | Matrix::Up => (self.gated, ffn, hidden),
            Matrix::Down => (self.gated, hidden, ffn),
            Matrix::ProjectIn => (self.projects_embedding(), hidden, embedding),
            Matrix::ProjectOut => (self.projects_embedding(), embedding, hidden),
            Matrix::LmHead => (true, self.vocab_size.into(), embedding),
        };
        if present { Gemv::new(m, k).ok() } else { None }
    }

    /// Whether what the matrix gives has a bias added to it.
    pub(crate) const fn has_bias(&self, matrix: Matrix) -> bool {
        match matrix {
            Matrix::Qkv | Matrix::Q | Matrix::K | Matrix::V => self.qkv_bias,
            Matrix::Out => self.out_bias,
            Matrix::Fc1 | Matrix::Fc2 | Matrix::GateUp | Matrix::Gate | Matrix::Up | Matrix::Down => {
                self.ffn_bias
            }
            Matrix::Router | Matrix::ProjectIn | Matrix::ProjectOut | Matrix::LmHead => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Model;

    #[test]
    fn head_width_times_heads_need_not_be_the_hidden_size() {
        let out = Model::named("qwen3-0.6b").unwrap().gemv(Matrix::Out).unwrap();
        assert_eq!((out.m(), out.k()), (1024, 2048));
    }

    #[test]
    fn a_missing_matrix_is_an_error_that_names_the_others() {
        let error = Model::named("llama-2-7b").unwrap().gemv(Matrix::Fc1).unwrap_err().to_string();
        assert_eq!(
            error,
            "the model has no matrix `fc1`; it has qkv, q, k, v, out, gate_up, gate, up, down, lm_head"
        );
    }

    #[test]
    fn names_are_those_of_the_files() {
        for matrix in Matrix::ALL {
            assert_eq!(serde_json::to_value(matrix).unwrap(), matrix.name());
        }
    }
}
