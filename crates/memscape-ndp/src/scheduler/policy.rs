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
    /// The GPU has the best neurons for each token, the DIMMs are level.
    Oracle,
}

impl Strategy {
    pub(super) const fn adjusts(self) -> bool {
        matches!(self, Self::Token | Self::Layer | Self::Adjustment | Self::Full)
    }

    pub(super) const fn sees_states(self) -> bool {
        !matches!(self, Self::Layer)
    }

    pub(super) const fn sees_parents(self) -> bool {
        !matches!(self, Self::Token)
    }
}

/// How far the exchange goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Exchange {
    /// As long as the GPU's neurons become hotter, as printed.
    Unchecked,
    /// And until the GPU would be the slower side, by the neurons predicted active.
    UntilLevel,
}
