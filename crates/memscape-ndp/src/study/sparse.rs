//! Who computes what a GPU does not hold, where that is DIMMs or their host.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cost::ColdSide;

/// Who computes cold neurons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SparseSystem {
    /// NDP-DIMMs.
    Hermes,
    /// The host processor.
    HermesHost,
}

impl SparseSystem {
    /// The side that is not the GPU.
    #[must_use]
    pub const fn cold(self) -> ColdSide {
        match self {
            Self::Hermes => ColdSide::Dimms,
            Self::HermesHost => ColdSide::Host,
        }
    }
}
