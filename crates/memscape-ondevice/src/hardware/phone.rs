//! Phones, and what the paper's claims fix of them.

use memscape_dram::{Dram, MEMORIES};
use memscape_study::{Calibration, Catalog, Graded, Nested};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::blocks::PimBlocks;
use super::cpu::Cpu;
use super::map_text::MapText;

/// A phone whose memory has PIM blocks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Phone {
    /// The DRAM
    pub memory: Dram,
    /// How addresses spread over it, lowest first
    pub address_map: MapText,
    /// The PIM blocks
    pub pim: PimBlocks,
    /// The processor
    pub cpu: Cpu,
    /// What a PIM block's multiply-accumulate takes for each bit of its weight; null where nothing is
    /// known of it
    #[serde(default)]
    pub mac_pj_per_bit: Option<Graded>,
}

/// All free parameters of this model: `data/calibration/pim-sherpa.toml`.
pub static CALIBRATION: Calibration =
    Calibration::new("pim-sherpa", include_str!("../../../../data/calibration/pim-sherpa.toml"));

/// Phones; the first is the paper's.
pub static PHONES: Catalog<Phone> = Catalog::new(
    "phone",
    "phones with PIM: memory, PIM blocks and CPU cores",
    &[include_str!("../../../../data/hardware/ondevice/galaxy-s24-plus.toml")],
)
.with_nested(&[Nested { path: "memory", catalog: &MEMORIES }])
.calibrated(&CALIBRATION, "")
.checked_by(check);

fn check(phone: &Phone) -> Result<(), String> {
    phone.memory.check().map_err(|it| format!("`memory`: {it}"))?;
    phone.cpu.check().map_err(|it| it.to_string())
}
