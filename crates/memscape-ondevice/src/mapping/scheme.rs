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
    /// Whether decode runs on PIM.
    #[must_use]
    pub const fn decodes_on_pim(self) -> bool {
        !matches!(self, Self::CacheableGemm)
    }
}
