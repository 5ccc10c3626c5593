//! What partition and predictor depend on of GPU, DIMMs, host and kernels: fewer
//! parameters than their descriptions have, by the same names.

use std::num::NonZeroU32;

use memscape_dram::Dram;
use memscape_units::{GbPerS, Gigabytes, Gigahertz, Microseconds, Tops};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cost::ColdSide;
use crate::error::NdpError;
use crate::hardware::{AtBanks, Dimm, Gpu, Host, Interleave, MACHINES, Machine, Overhead, check_memory};
use crate::numbers::{Efficiency, Share};

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

/// A graphics card, without its price.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GpuSpeed {
    /// Memory, in 10^9 bytes
    pub memory_gb: Gigabytes,
    /// Peak bandwidth of its memory
    pub bandwidth_gb_s: GbPerS,
    /// Peak rate with FP16 operands
    pub fp16_tops: Tops,
    /// Bandwidth to the host's memory with pinned pages
    pub pcie_gb_s: GbPerS,
}

/// A DIMM that computes, without softmax units and price.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DimmSpeed {
    /// One rank, which the center buffer reads by itself
    pub memory: Dram,
    /// Ranks that are read at the same time
    pub ranks: NonZeroU32,
    /// Capacity, in 10^9 bytes
    pub capacity_gb: Gigabytes,
    /// How a neuron's bytes lie in the banks of a rank
    pub interleave: Interleave,
    /// Bit-serial multipliers of the GEMV unit
    pub multipliers: NonZeroU32,
    /// FP16 values that a multiplier works on at once
    pub lanes: NonZeroU32,
    /// Cycles of one FP16 multiplication
    pub cycles_per_multiply: NonZeroU32,
    /// Clock of the GEMV units
    #[schemars(range(min = 0.001, max = 100.0))]
    pub clock_ghz: Gigahertz,
    /// How inputs and sums come to and from units that stand at banks; null for one unit in the buffer
    #[serde(default)]
    pub units: Option<AtBanks>,
}

/// The host, as far as it computes cold neurons.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostSpeed {
    /// Peak bandwidth of its memory
    pub bandwidth_gb_s: GbPerS,
    /// Share of the peak that it reaches
    pub bandwidth_efficiency: Efficiency,
    /// DIMMs that share a channel, and so its pins
    #[schemars(range(min = 1, max = 16))]
    pub dimms_per_channel: NonZeroU32,
    /// Peak of all its cores, in single precision
    pub fp32_tops: Tops,
    /// Handing one active neuron to a core, one after the other
    pub dispatch_us: Microseconds,
}

/// What Hermes' kernels and software reach.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KernelSpeed {
    /// Share of the GPU's memory that weights can take
    pub gpu_usable: Share,
    /// Share of the GPU's peak bandwidth that kernels reach
    pub gpu_bandwidth_efficiency: Efficiency,
    /// Share of the GPU's peak rate that kernels reach
    pub gpu_compute_efficiency: Efficiency,
    /// One direction of a synchronisation between GPU and DIMMs
    pub sync_us: Microseconds,
    /// Launch of one kernel
    pub launch_us: Microseconds,
}

impl From<Gpu> for GpuSpeed {
    fn from(it: Gpu) -> Self {
        let Gpu { memory_gb, bandwidth_gb_s, fp16_tops, pcie_gb_s, .. } = it;
        Self { memory_gb, bandwidth_gb_s, fp16_tops, pcie_gb_s }
    }
}

impl From<Dimm> for DimmSpeed {
    fn from(it: Dimm) -> Self {
        let Dimm {
            memory,
            ranks,
            capacity_gb,
            interleave,
            multipliers,
            lanes,
            cycles_per_multiply,
            clock_ghz,
            units,
            ..
        } = it;
        Self {
            memory,
            ranks,
            capacity_gb,
            interleave,
            multipliers,
            lanes,
            cycles_per_multiply,
            clock_ghz,
            units,
        }
    }
}

impl From<Host> for HostSpeed {
    fn from(it: Host) -> Self {
        let Host { bandwidth_gb_s, bandwidth_efficiency, dimms_per_channel, fp32_tops, dispatch_us, .. } = it;
        Self { bandwidth_gb_s, bandwidth_efficiency, dimms_per_channel, fp32_tops, dispatch_us }
    }
}

impl From<Overhead> for KernelSpeed {
    fn from(it: Overhead) -> Self {
        let Overhead {
            gpu_usable, gpu_bandwidth_efficiency, gpu_compute_efficiency, sync_us, launch_us, ..
        } = it;
        Self { gpu_usable, gpu_bandwidth_efficiency, gpu_compute_efficiency, sync_us, launch_us }
    }
}

/// A whole machine of these parts. What they leave out is the paper's, and changes
/// no answer of who asks with them.
///
/// # Errors
/// [`NdpError::Memory`] if the memory's numbers contradict each other.
pub(super) fn machine(
    gpu: &GpuSpeed,
    dimm: &DimmSpeed,
    dimms: NonZeroU32,
    host: &HostSpeed,
    overhead: &KernelSpeed,
) -> Result<Machine, NdpError> {
    check_memory(&dimm.memory)?;
    let mut machine = *MACHINES.get("hermes");
    let GpuSpeed { memory_gb, bandwidth_gb_s, fp16_tops, pcie_gb_s } = *gpu;
    machine.gpu = Gpu { memory_gb, bandwidth_gb_s, fp16_tops, pcie_gb_s, ..machine.gpu };
    let DimmSpeed {
        memory,
        ranks,
        capacity_gb,
        interleave,
        multipliers,
        lanes,
        cycles_per_multiply,
        clock_ghz,
        units,
    } = *dimm;
    machine.dimm = Dimm {
        memory,
        ranks,
        capacity_gb,
        interleave,
        multipliers,
        lanes,
        cycles_per_multiply,
        clock_ghz,
        units,
        ..machine.dimm
    };
    machine.dimms = dimms;
    let HostSpeed { bandwidth_gb_s, bandwidth_efficiency, dimms_per_channel, fp32_tops, dispatch_us } = *host;
    machine.host = Host {
        bandwidth_gb_s,
        bandwidth_efficiency,
        dimms_per_channel,
        fp32_tops,
        dispatch_us,
        ..machine.host
    };
    let KernelSpeed { gpu_usable, gpu_bandwidth_efficiency, gpu_compute_efficiency, sync_us, launch_us } =
        *overhead;
    machine.overhead = Overhead {
        gpu_usable,
        gpu_bandwidth_efficiency,
        gpu_compute_efficiency,
        sync_us,
        launch_us,
        ..machine.overhead
    };
    Ok(machine)
}
