//! Kernels that the paper names, with their device and step.

use std::num::NonZeroU16;

use memscape_study::{Catalog, Nested};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hardware::device::{CALIBRATION, DEVICES, Device};
use crate::hardware::precision::Precision;
use crate::mapping::design::check_step;
use crate::mapping::tile::{OutputBuffers, Tile};

/// A kernel, the device that it is for, and the step that it takes through the memory
/// tiles.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KernelDesign {
    /// The NPU
    pub device: Device,
    /// Types of inputs and output
    pub precision: Precision,
    /// Rows of A and C in L1
    pub m_ct: NonZeroU16,
    /// Columns of A and rows of B in L1
    pub k_ct: NonZeroU16,
    /// Columns of B and C in L1
    pub n_ct: NonZeroU16,
    /// Length of the reduction that memory tiles hold at once, a multiple of `k_ct`
    pub k_mt: NonZeroU16,
    /// Buffers of C in L1
    pub output_buffers: OutputBuffers,
}

impl KernelDesign {
    /// What a core multiplies at once.
    #[must_use]
    pub fn tile(&self) -> Tile {
        Tile::of(self.m_ct, self.k_ct, self.n_ct)
    }

    /// Whether the kernel can run on its device.
    fn check(&self) -> Result<(), String> {
        let tile = self.tile();
        tile.mmul(&self.device, self.precision).map_err(|it| it.to_string())?;
        check_step(tile, self.k_mt.get().into()).map_err(|it| it.to_string())
    }
}

/// The built-in designs: those of `data/hardware/npu/designs/`. The searches find most of
/// them again: see `npu.search` and `npu.balance`.
///
/// ```
/// use memscape_npu::DESIGNS;
/// let design = DESIGNS.find("xdna2-int8-int16")?;
/// assert_eq!((design.parameters.tile().m, design.parameters.device.columns.get()), (128, 8));
/// # Ok::<(), memscape_study::Unknown>(())
/// ```
pub static DESIGNS: Catalog<KernelDesign> = Catalog::new("design", "kernels for NPUs and their steps", FILES)
    .with_nested(&[Nested { path: "device", catalog: &DEVICES }])
    .calibrated(&CALIBRATION, "")
    .checked_by(KernelDesign::check);

/// The paper's balanced int8 kernel of XDNA.
pub const DEFAULT_DESIGN: &str = "xdna-int8-int8";

/// Lists the files of `data/hardware/npu/designs/`.
macro_rules! embedded {
    ($($name:literal),* $(,)?) => {
        &[$(include_str!(concat!("../../../../data/hardware/npu/designs/", $name, ".toml"))),*]
    };
}

const FILES: &[&str] = embedded!(
    "xdna-int8-int8",
    "xdna-int8-int8-second",
    "xdna-int8-int16",
    "xdna-int8-int16-second",
    "xdna-int8-int32",
    "xdna-int8-int32-second",
    "xdna-bf16-bf16",
    "xdna-bf16-bf16-second",
    "xdna2-int8-int8",
    "xdna2-int8-int8-second",
    "xdna2-int8-int16",
    "xdna2-int8-int16-second",
    "xdna2-int8-int32",
    "xdna2-int8-int32-second",
    "xdna2-bf16-bf16",
    "xdna2-bf16-bf16-second",
    "xdna-int8-int8-single-core",
    "xdna-int8-int16-single-core",
    "xdna-int8-int32-single-core",
    "xdna-bf16-bf16-single-core",
    "xdna2-int8-int8-single-core",
    "xdna2-int8-int16-single-core",
    "xdna2-int8-int32-single-core",
    "xdna2-bf16-bf16-single-core",
    "xdna-bf16-bf16-double",
    "xdna2-int8-int16-double",
);

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use memscape_study::{AnyCatalog, Form};

    use super::*;

    #[test]
    fn every_file_is_embedded_under_its_name() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/hardware/npu/designs");
        let files = std::fs::read_dir(folder).unwrap();
        let names = files.map(|it| it.unwrap().file_name().into_string().unwrap().replace(".toml", ""));
        assert_eq!(names.collect::<BTreeSet<_>>(), DESIGNS.names().map(str::to_owned).collect());
    }

    #[test]
    fn a_design_has_its_devices_sources_beside_its_own() {
        let design = DESIGNS.find("xdna-int8-int8-second").unwrap();
        assert_eq!(design.source("m_ct"), Some("printed: GEMM on Ryzen AI NPUs, Table 2, second row"));
        assert!(design.source("k_mt").unwrap().contains("not printed"));
        assert!(design.source("device.rows").unwrap().contains("Sec. 3.1"));
        assert!(design.source("device.dispatch_ns").unwrap().starts_with("calibrated: "));
    }

    #[test]
    fn a_design_that_cannot_run_is_refused() {
        let text = "base = \"xdna-int8-int8\"\n[parameters]\nk_mt = 300";
        let form = Form::from_toml("mine", text).unwrap();
        let find = |catalog: &dyn AnyCatalog, name: &str| Ok(catalog.find_plain(name)?.clone());
        let error = DESIGNS.complete(form, &find).unwrap_err();
        let text = "`k_mt` is 300, which is not a multiple of `k_ct` = 112; use 336 or 224";
        assert_eq!(error.to_string(), text);
    }
}
