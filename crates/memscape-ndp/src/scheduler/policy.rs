//! What the scheduler may do.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which of the scheduler's steps are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// Neurons lie anywhere.
    Random,
    /// Where the offline partition puts them.
    Partition,
    /// And are exchanged by their states alone.
    Token,
    /// Or by their parents alone.
    Layer,
    /// Or by both.
    Adjustment,
    /// And moved between DIMMs after each window: all of Hermes.
    Full,
    /// The GPU has the best neurons for each token, the DIMMs are level, and nothing is predicted wrongly.
    Oracle,
}

impl Strategy {
    /// Whether hot and cold neurons are exchanged.
    #[must_use]
    pub const fn adjusts(self) -> bool {
        matches!(self, Self::Token | Self::Layer | Self::Adjustment | Self::Full)
    }

    pub(super) const fn sees_states(self) -> bool {
        !matches!(self, Self::Layer)
    }

    pub(super) const fn sees_parents(self) -> bool {
        !matches!(self, Self::Token)
    }
}

/// Who computes a neuron that the GPU holds: the DIMMs have it as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Exchange {
    /// Always the GPU, as printed. It is given no more neurons offline than make both sides level; exchange
    /// may then make it the slower side.
    Unchecked,
    /// The GPU, until it would be the slower side. It holds as many as fit.
    UntilLevel,
}

/// What becomes of an active neuron that was not predicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Missed {
    /// It is left out of the sum.
    Dropped,
    /// It is computed when the others are done.
    Late,
}
