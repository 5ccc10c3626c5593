//! The ways of keeping weights for host and PIM.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the host computes with weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scheme {
    /// A second, host-friendly copy in cacheable memory (WD).
    WeightDuplication,
    /// One copy, rearranged by an ideal memory controller (FACIL-O).
    FacilO,
    /// DRAM double buffering: swizzled copies beside GEMM (S-DDB).
    Ddb,
    /// Online rearrangement: swizzled copy, then GEMM (S-OWR).
    Owr,
    /// One host-friendly copy, no PIM (C-GEMM).
    CacheableGemm,
    /// One PIM-aware copy, read uncached for every token (NC-GEMM).
    NonCacheableGemm,
}

impl Scheme {
    /// Copies of the weights that it keeps.
    #[must_use]
    pub const fn copies(self) -> u64 {
        match self {
            Self::WeightDuplication => 2,
            _ => 1,
        }
    }

    /// Cacheable buffers that it keeps.
    #[must_use]
    pub const fn buffers(self) -> u64 {
        match self {
            Self::Ddb => 2,
            Self::Owr => 1,
            _ => 0,
        }
    }

    /// Whether decode runs on PIM.
    #[must_use]
    pub const fn decodes_on_pim(self) -> bool {
        !matches!(self, Self::CacheableGemm)
    }

    /// How host and PIM both get weights in memory of the attribute they need.
    ///
    /// # Source
    /// PIM-SHERPA, Table 1.
    #[must_use]
    pub const fn resolves_attribute(self) -> Resolves {
        match self {
            Self::WeightDuplication => Resolves::BySecondCopy,
            Self::Ddb | Self::Owr => Resolves::Yes,
            // FACIL leaves it open; its oracle supposes it.
            Self::FacilO | Self::CacheableGemm | Self::NonCacheableGemm => Resolves::No,
        }
    }

    /// How host and PIM both get weights in the order they need.
    ///
    /// # Source
    /// PIM-SHERPA, Table 1.
    #[must_use]
    pub const fn resolves_layout(self) -> Resolves {
        match self {
            Self::WeightDuplication => Resolves::BySecondCopy,
            Self::Ddb | Self::Owr | Self::FacilO => Resolves::Yes,
            Self::CacheableGemm | Self::NonCacheableGemm => Resolves::No,
        }
    }

    /// Whether it runs on a memory controller as it is.
    #[must_use]
    pub const fn is_software(self) -> bool {
        !matches!(self, Self::FacilO)
    }
}

/// Whether both needs are met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resolves {
    /// They are.
    Yes,
    /// Each has a copy of its own.
    BySecondCopy,
    /// One is not.
    No,
}

impl Resolves {
    /// The word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::BySecondCopy => "by a second copy",
            Self::No => "no",
        }
    }
}
