//! Whole systems: a GPU, NDP-DIMMs, the links between them, and the host.

use std::num::NonZeroU32;

use memscape_dram::MEMORIES;
use memscape_study::{Catalog, Graded, Nested};
use memscape_units::{GbPerS, Microseconds};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::activity::{ACTIVITIES, ActivityLaw};
use super::calibration::CALIBRATION;
use super::dimm::{DIMMS, Dimm};
use super::gpu::{GPUS, Gpu};
use super::host::{HOSTS, Host};
use super::scheduler::{Predictor, Remap};
use crate::numbers::{Efficiency, MeanNeurons, Share};

/// A GPU, NDP-DIMMs, the links between them and the host, with the scheduler's
/// settings and the activity of the models that it is made for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// The GPU
    pub gpu: Gpu,
    /// One NDP-DIMM
    pub dimm: Dimm,
    /// NDP-DIMMs
    #[schemars(range(min = 1, max = 1024))]
    pub dimms: NonZeroU32,
    /// Bandwidth of one link between DIMMs
    pub link_gb_s: GbPerS,
    /// What such a link takes; null where no source says
    #[serde(default)]
    pub link_pj_per_bit: Option<Graded>,
    /// The host
    pub host: Host,
    /// What kernels and software reach
    pub overhead: Overhead,
    /// The 4-bit state predictor
    pub predictor: Predictor,
    /// How cold neurons are moved between DIMMs
    pub remap: Remap,
    /// How often neurons are active, and when
    pub activity: ActivityLaw,
}

impl Machine {
    /// Bytes of weights, keys and values that a GPU can hold.
    #[must_use]
    pub fn usable_bytes(&self) -> f64 {
        self.gpu.memory_gb.as_f64() * 1e9 * self.overhead.gpu_usable.as_f64()
    }

    /// What all modules' pins carry together: DIMMs of one channel take turns on it.
    #[must_use]
    pub fn pins_gb_s(&self) -> f64 {
        let modules = self.dimms.get();
        let apart = match self.dimm.units {
            Some(_) => modules,
            None => modules.div_ceil(self.host.dimms_per_channel.get()),
        };
        self.dimm.pins_gb_s() * f64::from(apart)
    }
}

/// What kernels and software reach.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Overhead {
    /// Share of a GPU's memory that weights, keys and values can take
    pub gpu_usable: Share,
    /// Share of the GPU's peak bandwidth that kernels reach
    pub gpu_bandwidth_efficiency: Efficiency,
    /// Share of the GPU's peak rate that kernels reach
    pub gpu_compute_efficiency: Efficiency,
    /// One direction of a synchronisation between GPU and DIMMs
    pub sync_us: Microseconds,
    /// Launch of one kernel
    pub launch_us: Microseconds,
    /// One hop of a sum over several GPUs, from one to the next, beside its bytes
    pub hop_us: Microseconds,
    /// Inner width of the low-rank predictors of Deja Vu
    #[schemars(range(min = 0.0, max = 16384.0))]
    pub predictor_rank: MeanNeurons,
}

/// Systems: those of `data/hardware/ndp`, and the form of a user's own. `gpu`,
/// `dimm`, `dimm.memory`, `host` and `activity` are names of their catalogs.
pub static MACHINES: Catalog<Machine> = Catalog::new("ndp-machine", "GPUs with NDP-DIMMs", FILES)
    .with_nested(NESTED)
    .calibrated(&CALIBRATION, "");

const FILES: &[&str] = &[
    include_str!("../../../../data/hardware/ndp/hermes.toml"),
    include_str!("../../../../data/hardware/ndp/hermes-pim.toml"),
];

const NESTED: &[Nested] = &[
    Nested { path: "gpu", catalog: &GPUS },
    Nested { path: "dimm", catalog: &DIMMS },
    Nested { path: "dimm.memory", catalog: &MEMORIES },
    Nested { path: "host", catalog: &HOSTS },
    Nested { path: "activity", catalog: &ACTIVITIES },
];
