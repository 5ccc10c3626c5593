//! Graphics cards.

use memscape_study::Catalog;
use memscape_units::{GbPerS, Gigabytes, Tops, Usd};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::numbers::RatedWatts;

/// A graphics card.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Gpu {
    /// Memory, in 10^9 bytes
    pub memory_gb: Gigabytes,
    /// Peak bandwidth of its memory
    pub bandwidth_gb_s: GbPerS,
    /// Peak rate with FP16 operands
    pub fp16_tops: Tops,
    /// Bandwidth to the host's memory with pinned pages
    pub pcie_gb_s: GbPerS,
    /// Bandwidth from one card to another, each way; null where they meet over PCIe alone
    #[serde(default)]
    pub link_gb_s: Option<GbPerS>,
    /// Price of one; null takes what is published of this very card, if anything is
    #[serde(default)]
    pub price_usd: Option<Usd>,
    /// What the board takes at most; null takes what is published of this very card, if anything is
    #[serde(default)]
    pub board_w: Option<RatedWatts>,
}

/// Graphics cards: those of `data/hardware/gpu`, and the form of a user's own.
///
/// ```
/// use memscape_ndp::hardware::GPUS;
/// assert_eq!(GPUS.find("rtx-4090")?.parameters.memory_gb.as_f64(), 24.0);
/// let error = GPUS.find("rtx-4900").unwrap_err();
/// assert_eq!(error.to_string(), "there is no gpu `rtx-4900`; did you mean `rtx-4090`?");
/// # Ok::<(), memscape_study::Unknown>(())
/// ```
pub static GPUS: Catalog<Gpu> = Catalog::new("gpu", "graphics cards", FILES);

const FILES: &[&str] = &[
    include_str!("../../../../data/hardware/gpu/rtx-4090.toml"),
    include_str!("../../../../data/hardware/gpu/rtx-3090.toml"),
    include_str!("../../../../data/hardware/gpu/tesla-t4.toml"),
    include_str!("../../../../data/hardware/gpu/a100-40gb.toml"),
];
