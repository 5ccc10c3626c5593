//! What is built: a GPU, NDP-DIMMs, the link between them, and the host.

use std::num::NonZeroU32;
use std::sync::LazyLock;

use memscape_dram::{Dram, Pattern};
use memscape_study::{Filling, FreeParameter, Preset, PresetParameter};
use memscape_units::{GbPerS, Tops};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::activity::Share;

/// A number that is finite and not negative.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "f64", into = "f64")]
#[schemars(extend("minimum" = 0))]
pub struct Amount(f64);

impl Amount {
    /// The bare number.
    #[must_use]
    pub const fn as_f64(self) -> f64 {
        self.0
    }
}

impl TryFrom<f64> for Amount {
    type Error = String;
    fn try_from(value: f64) -> Result<Self, String> {
        if value.is_finite() && value >= 0.0 {
            Ok(Self(value))
        } else {
            Err(format!("{value} must be finite and at least 0"))
        }
    }
}

impl From<Amount> for f64 {
    fn from(it: Amount) -> Self {
        it.0
    }
}

/// A graphics card.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Gpu {
    /// Memory, in 10^9 bytes
    pub memory_gb: Amount,
    /// Peak bandwidth of its memory
    pub bandwidth_gb_s: GbPerS,
    /// Peak rate with FP16 operands
    pub fp16_tops: Tops,
    /// Bandwidth to the host's memory with pinned pages
    pub pcie_gb_s: GbPerS,
    /// Price of one
    pub price_usd: Amount,
}

/// A DIMM whose center buffer computes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dimm {
    /// One rank, which the center buffer reads by itself
    pub memory: Dram,
    /// Ranks that are read at the same time
    pub ranks: NonZeroU32,
    /// Capacity, in 10^9 bytes
    pub capacity_gb: Amount,
    /// How a neuron's bytes lie in the banks of a rank
    pub interleave: Interleave,
    /// Bit-serial multipliers of the GEMV unit
    pub multipliers: NonZeroU32,
    /// FP16 values that a multiplier works on at once
    pub lanes: NonZeroU32,
    /// Cycles of one FP16 multiplication
    pub cycles_per_multiply: NonZeroU32,
    /// Clock of the GEMV and activation units
    #[schemars(range(min = 0.001, max = 100.0))]
    pub clock_ghz: Amount,
    /// FP16 units of each kind (exponential, add, multiply) for softmax and ReLU
    pub activation_units: NonZeroU32,
    /// Price of one
    pub price_usd: Amount,
}

/// How consecutive bytes lie in the banks of a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Interleave {
    /// A whole row of one bank, then one of another bank group: bursts are
    /// `tCCD_L` apart.
    RowByRow,
    /// Bank groups in turn: bursts are `tCCD_S` apart.
    BankGroups,
}

impl Interleave {
    /// The stream of the DRAM engine that it stands for.
    #[must_use]
    pub const fn pattern(self) -> Pattern {
        match self {
            Self::RowByRow => Pattern::RowByRow,
            Self::BankGroups => Pattern::Interleaved,
        }
    }
}

impl Dimm {
    /// Bandwidth between the ranks and the center buffer: that of one rank's
    /// stream, times the ranks. Rows are opened ahead in other banks.
    #[must_use]
    pub fn bandwidth_gb_s(&self) -> f64 {
        self.interleave.pattern().bandwidth_gb_s(&self.memory).as_f64() * f64::from(self.ranks.get())
    }

    /// Multiply-accumulates per nanosecond.
    #[must_use]
    pub fn macs_per_ns(&self) -> f64 {
        f64::from(self.multipliers.get()) * f64::from(self.lanes.get())
            / f64::from(self.cycles_per_multiply.get())
            * self.clock_ghz.as_f64()
    }
}

/// The processor that hosts the GPU and the DIMMs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Peak bandwidth of its memory
    pub bandwidth_gb_s: GbPerS,
    /// Share of the peak that it reaches
    pub bandwidth_efficiency: Share,
    /// Bandwidth of its last-level cache
    pub cache_gb_s: GbPerS,
    /// One pass over pageable memory by one thread: a copy into the driver's pinned buffer
    pub copy_gb_s: GbPerS,
    /// Passes that Accelerate makes over an offloaded weight, of which FlexGen makes one
    #[schemars(range(min = 1, max = 16))]
    pub accelerate_passes: NonZeroU32,
    /// One call that copies a neuron's weights to the GPU, or between DIMMs through the host
    pub copy_call_us: Amount,
    /// Handing one active neuron to a core, one after the other
    pub dispatch_us: Amount,
}

/// What kernels and software reach.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Overhead {
    /// Share of the GPU's memory that weights can take
    pub gpu_usable: Share,
    /// Share of the GPU's peak bandwidth that kernels reach
    pub gpu_bandwidth_efficiency: Share,
    /// Share of the GPU's peak rate that kernels reach
    pub gpu_compute_efficiency: Share,
    /// One direction of a synchronisation between GPU and DIMMs
    pub sync_us: Amount,
    /// Launch of one kernel
    pub launch_us: Amount,
    /// Share of the GPUs' joint bandwidth that TensorRT-LLM reaches over all of them
    pub tensorrt_efficiency: Share,
    /// Inner width of the low-rank predictors of Deja Vu
    #[schemars(range(min = 0.0, max = 16384.0))]
    pub predictor_rank: Amount,
}

/// A named system: what [`Filling`] gives to the studies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Machine {
    gpu: String,
    dimms: u32,
    link_gb_s: GbPerS,
    dimm: toml::Table,
    host: toml::Table,
    overhead: toml::Table,
    predictor: crate::online::Predictor,
    remap: crate::remap::Remap,
    activity: toml::Table,
}

/// `data/calibration/hermes.toml`: all free parameters of this model.
pub const CALIBRATION: &str = include_str!("../../../data/calibration/hermes.toml");

/// The free parameters of [`CALIBRATION`].
pub static FREE_PARAMETERS: LazyLock<Vec<FreeParameter>> = LazyLock::new(|| {
    FreeParameter::all_from_toml(CALIBRATION).expect("the built-in calibration is checked by tests")
});

static GPUS: LazyLock<Vec<Preset<Gpu>>> = LazyLock::new(|| {
    [
        include_str!("../../../data/hardware/gpu/rtx-4090.toml"),
        include_str!("../../../data/hardware/gpu/rtx-3090.toml"),
        include_str!("../../../data/hardware/gpu/tesla-t4.toml"),
        include_str!("../../../data/hardware/gpu/a100-40gb.toml"),
    ]
    .iter()
    .map(|it| Preset::from_toml(it).expect("the built-in GPUs are checked by tests"))
    .collect()
});

static MACHINES: LazyLock<Vec<Preset<Machine>>> = LazyLock::new(|| {
    [include_str!("../../../data/hardware/ndp/hermes.toml")]
        .iter()
        .map(|it| Preset::from_toml(it).expect("the built-in systems are checked by tests"))
        .collect()
});

static RANK: LazyLock<Preset<Dram>> = LazyLock::new(|| {
    let text = include_str!("../../../data/hardware/ndp/ndp-dimm-rank.toml");
    Dram::from_toml(text).expect("the built-in rank is checked by tests")
});

/// The paper's system.
pub const DEFAULT_MACHINE: &str = "hermes";

/// The built-in GPUs.
#[must_use]
pub fn gpus() -> &'static [Preset<Gpu>] {
    &GPUS
}

/// The built-in systems of GPU and DIMMs: name and one line.
#[must_use]
pub fn machines() -> Vec<(&'static str, &'static str)> {
    MACHINES.iter().map(|it| (it.name.as_str(), it.summary.as_str())).collect()
}

fn gpu_names() -> Vec<&'static str> {
    GPUS.iter().map(|it| it.name.as_str()).collect()
}

/// The built-in GPU of this name.
#[must_use]
pub fn find_gpu(name: &str) -> Option<&'static Preset<Gpu>> {
    GPUS.iter().find(|it| it.name == name)
}

fn fill_gpu(name: &str) -> Option<Filling> {
    Filling::of(find_gpu(name)?)
}

fn machine_names() -> Vec<&'static str> {
    MACHINES.iter().map(|it| it.name.as_str()).collect()
}

/// A system's parameters as the studies hold them, free parameters included.
#[must_use]
pub fn find_machine(name: &str) -> Option<Filling> {
    let machine = MACHINES.iter().find(|it| it.name == name)?;
    let gpu = find_gpu(&machine.parameters.gpu)?;
    let filling = Filling::of(machine)?.with("gpu", gpu)?.with("dimm.memory", &RANK)?;
    Some(filling.calibrated(&FREE_PARAMETERS, "hermes"))
}

/// The presets of the studies that hold a whole system.
pub(crate) fn presets() -> Vec<PresetParameter> {
    vec![
        PresetParameter {
            name: "hardware",
            meaning: "System that fills everything but model, lengths and policy",
            fills: "",
            default: DEFAULT_MACHINE,
            names: machine_names,
            find: find_machine,
        },
        PresetParameter {
            name: "gpu",
            meaning: "GPU that fills `gpu.*`, by name",
            fills: "gpu",
            default: "rtx-4090",
            names: gpu_names,
            find: fill_gpu,
        },
    ]
}
