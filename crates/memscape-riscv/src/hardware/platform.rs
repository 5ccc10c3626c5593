//! What is built: cores, caches, NUMA nodes, memory and what the operating
//! system adds.

use std::num::NonZeroU32;
use std::sync::LazyLock;

use memscape_study::{Filling, FreeParameter, Preset, PresetParameter};
use memscape_units::{GbPerS, Megahertz};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::numa::{Distances, Placed, Policy};

/// One core and its vector unit. Vector rates are cycles per register: an
/// instruction at LMUL 4 takes four times as long, as measured.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Core {
    /// Clock
    pub frequency_mhz: Megahertz,
    /// Bits of one vector register, a power of two from 64 to 1024
    pub vlen_bits: u32,
    /// Instructions decoded per cycle
    pub decode_width: NonZeroU32,
    /// Width of the load pipe
    pub load_bits: NonZeroU32,
    /// Slots of the load pipe that one unaligned vector load of a block takes
    pub unaligned_load_slots: u32,
    /// Vector and, add, move with an immediate
    #[schemars(range(min = 0.0, max = 100.0))]
    pub alu_cycles: f64,
    /// The same with a scalar register as operand (.vx)
    #[schemars(range(min = 0.0, max = 100.0))]
    pub alu_scalar_cycles: f64,
    /// Vector shift, and slide
    #[schemars(range(min = 0.0, max = 100.0))]
    pub shift_cycles: f64,
    /// Widening multiply and multiply-accumulate, per source register
    #[schemars(range(min = 0.0, max = 100.0))]
    pub multiply_cycles: f64,
    /// Widening sum over a vector, per source register
    #[schemars(range(min = 0.0, max = 100.0))]
    pub reduce_cycles: f64,
    /// From a vector's first element to a scalar register
    #[schemars(range(min = 0.0, max = 100.0))]
    pub move_cycles: f64,
    /// f32 multiply-accumulate with a scalar (vfmacc.vf)
    #[schemars(range(min = 0.01, max = 100.0))]
    pub fma_cycles: f64,
    /// From one multiply-accumulate to the next on the same register
    pub fma_latency_cycles: u32,
    /// Whether vector loads and vector arithmetic of a kernel run side by side
    pub overlap: Overlap,
    /// OpenBLAS' scalar packing of one weight
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub pack_ns: f64,
    /// Read rate of one core from the system-level cache
    #[schemars(range(min = 0.01, max = 1024.0))]
    pub slc_bytes_per_cycle: f64,
    /// Read rate of one core from local DRAM
    #[schemars(range(min = 0.01, max = 1024.0))]
    pub dram_bytes_per_cycle: f64,
}

/// Whether vector loads and vector arithmetic run side by side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Overlap {
    /// One after the other: their times add up.
    Serial,
    /// Side by side: the longer one counts.
    Overlapped,
}

impl Core {
    /// Time of one cycle.
    #[must_use]
    pub fn cycle_ns(&self) -> f64 {
        1e3 / self.frequency_mhz.as_f64()
    }

    /// Read rate of one core at `bytes_per_cycle`.
    #[must_use]
    pub fn rate_gb_s(&self, bytes_per_cycle: f64) -> f64 {
        bytes_per_cycle / self.cycle_ns()
    }
}

/// The caches.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cache {
    /// First-level data cache of each core
    pub l1_bytes: u64,
    /// Second-level cache of each cluster
    pub l2_bytes: u64,
    /// Cores that share a second-level cache
    pub cores_per_cluster: NonZeroU32,
    /// System-level cache of each node
    pub slc_bytes_per_node: u64,
    /// Which part of the system-level cache holds a matrix
    pub slc_scope: SlcScope,
}

/// Which part of the system-level cache may hold a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SlcScope {
    /// That of the node whose memory the line is in.
    Node,
    /// All of it.
    Global,
}

/// The NUMA nodes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Numa {
    /// Nodes, 1 to 8
    pub nodes: NonZeroU32,
    /// Cores of each
    pub cores_per_node: NonZeroU32,
    /// SLIT distances: a list of rows, or one number for every remote node
    pub distances: Distances,
    /// Growth of an access' time from distance 10 (local) to 20
    #[schemars(range(min = 0.0, max = 100.0), extend("unit" = "x"))]
    pub distance_penalty: f64,
}

impl Numa {
    /// Cores of the machine.
    #[must_use]
    pub fn cores(&self) -> u32 {
        self.nodes.get().saturating_mul(self.cores_per_node.get())
    }
}

/// The memory behind the nodes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dram {
    /// Controllers of the machine, spread evenly over its nodes
    pub controllers: NonZeroU32,
    /// Transfers per second of one controller
    pub data_rate_mt_s: Megahertz,
    /// Width of one controller's bus
    pub bus_bits: NonZeroU32,
    /// Banks per controller: streams beyond that close each other's rows
    pub banks: NonZeroU32,
    /// Extra time of a line whose row another stream closed, relative to the line's own
    #[schemars(range(min = 0.0, max = 100.0), extend("unit" = "x"))]
    pub row_conflict: f64,
}

impl Dram {
    /// Peak rate of one controller.
    ///
    /// # Panics
    /// Never: both factors are positive and finite.
    #[must_use]
    pub fn controller_gb_s(&self) -> GbPerS {
        GbPerS::new(self.data_rate_mt_s.as_f64() * 1e-3 * f64::from(self.bus_bits.get()) / 8.0)
            .expect("positive and finite")
    }
}

/// What the operating system and the threads' runtime add.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Os {
    /// Base page
    pub page_bytes: NonZeroU32,
    /// Pages that one fault of a file mapping maps
    pub fault_around_pages: NonZeroU32,
    /// How the weights come into memory
    pub weights: WeightPages,
    /// What each thread adds to one synchronisation of all threads
    #[schemars(range(min = 0.0, max = 1e9))]
    pub sync_ns: f64,
    /// Slowdown by NUMA balancing when all cores run the program
    #[schemars(range(min = 0.0, max = 100.0), extend("unit" = "x"))]
    pub balancing_cost: f64,
}

/// How the weights' file mapping gets its pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WeightPages {
    /// All at once when the file is mapped, without faults.
    Populated,
    /// At the first touch, a fault for each `fault_around_pages`.
    Lazy,
}

/// A value outside what the model is for.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error("`{path}` is {given}; it must be from {min} to {max}")]
pub struct OutOfRange {
    /// Dotted path of the parameter.
    pub path: &'static str,
    /// Its value.
    pub given: f64,
    /// Lowest value.
    pub min: f64,
    /// Highest value.
    pub max: f64,
}

/// Checks numbers whose type allows more than the model does.
pub(crate) fn within<const N: usize>(numbers: [(&'static str, f64, f64, f64); N]) -> Result<(), OutOfRange> {
    match numbers.into_iter().find(|(_, given, min, max)| !(min..=max).contains(&given)) {
        Some((path, given, min, max)) => Err(OutOfRange { path, given, min, max }),
        None => Ok(()),
    }
}

impl Core {
    /// # Errors
    /// [`OutOfRange`] names the first number the model is not for.
    pub fn check(&self) -> Result<(), OutOfRange> {
        within([
            ("core.vlen_bits", f64::from(self.vlen_bits), 64.0, 1024.0),
            ("core.frequency_mhz", self.frequency_mhz.as_f64(), 1.0, 1e5),
            ("core.unaligned_load_slots", f64::from(self.unaligned_load_slots), 1.0, 100.0),
            ("core.alu_cycles", self.alu_cycles, 0.0, 100.0),
            ("core.alu_scalar_cycles", self.alu_scalar_cycles, 0.0, 100.0),
            ("core.shift_cycles", self.shift_cycles, 0.0, 100.0),
            ("core.multiply_cycles", self.multiply_cycles, 0.0, 100.0),
            ("core.reduce_cycles", self.reduce_cycles, 0.0, 100.0),
            ("core.move_cycles", self.move_cycles, 0.0, 100.0),
            ("core.fma_cycles", self.fma_cycles, 0.01, 100.0),
            ("core.fma_latency_cycles", f64::from(self.fma_latency_cycles), 0.0, 1000.0),
            ("core.pack_ns", self.pack_ns, 0.0, 1000.0),
            ("core.slc_bytes_per_cycle", self.slc_bytes_per_cycle, 0.01, 1024.0),
            ("core.dram_bytes_per_cycle", self.dram_bytes_per_cycle, 0.01, 1024.0),
        ])
    }
}

impl Os {
    /// What NUMA balancing adds, as a share of the time: hinting faults flush the
    /// TLBs of all cores that run the program, so it grows with their number.
    #[must_use]
    pub fn balancing_share(&self, policy: Policy, placed: &Placed, numa: &Numa) -> f64 {
        match policy {
            // A single thread is where its pages are.
            Policy::Base if placed.active_cores > 1 => {
                self.balancing_cost * f64::from(placed.active_cores) / f64::from(numa.cores())
            }
            _ => 0.0,
        }
    }

    /// # Errors
    /// [`OutOfRange`] names the first number the model is not for.
    pub fn check(&self) -> Result<(), OutOfRange> {
        within([
            ("os.sync_ns", self.sync_ns, 0.0, 1e9),
            ("os.balancing_cost", self.balancing_cost, 0.0, 100.0),
        ])
    }
}

/// A machine as a preset holds it, without its free parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// One core.
    pub core: toml::Table,
    /// The caches.
    pub cache: toml::Table,
    /// The NUMA nodes.
    pub numa: toml::Table,
    /// The memory.
    pub dram: toml::Table,
    /// Operating system and runtime.
    pub os: toml::Table,
}

/// `data/calibration/riscv-sg2042.toml`: all free parameters of this model.
pub const CALIBRATION: &str = include_str!("../../../data/calibration/riscv-sg2042.toml");

/// The free parameters of [`CALIBRATION`].
pub static FREE_PARAMETERS: LazyLock<Vec<FreeParameter>> = LazyLock::new(|| {
    FreeParameter::all_from_toml(CALIBRATION).expect("the built-in calibration is checked by tests")
});

static MACHINES: LazyLock<Vec<Preset<Machine>>> = LazyLock::new(|| {
    [include_str!("../../../data/hardware/riscv/sg2042.toml")]
        .iter()
        .map(|it| Preset::from_toml(it).expect("the built-in machines are checked by tests"))
        .collect()
});

/// The machine of the thesis.
pub const DEFAULT_MACHINE: &str = "sg2042";

/// Names of the built-in machines.
#[must_use]
pub fn machine_names() -> Vec<&'static str> {
    MACHINES.iter().map(|it| it.name.as_str()).collect()
}

/// A machine's parameters as a study holds them (`core`, `cache`, `numa`, `dram`,
/// `os`), free parameters included.
#[must_use]
pub fn find_machine(name: &str) -> Option<Filling> {
    let machine = MACHINES.iter().find(|it| it.name == name)?;
    Some(Filling::of(machine)?.calibrated(&FREE_PARAMETERS, "riscv-sg2042"))
}

/// The preset that names a machine, for a study that holds all of it.
pub(crate) fn machine_preset() -> PresetParameter {
    PresetParameter {
        name: "machine",
        meaning: "Machine that fills `core`, `cache`, `numa`, `dram` and `os`",
        fills: "",
        default: DEFAULT_MACHINE,
        names: machine_names,
        find: find_machine,
    }
}

/// Only some groups of a machine, for a study that has no others.
pub(crate) fn find_groups(name: &str, groups: &[&str]) -> Option<Filling> {
    let mut machine = find_machine(name)?;
    if let Some(parameters) = machine.parameters.as_object_mut() {
        parameters.retain(|group, _| groups.contains(&group.as_str()));
    }
    machine.sources.retain(|path, _| path.split('.').next().is_some_and(|it| groups.contains(&it)));
    Some(machine)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SG2042 thesis, Sec. 3.1.3: four DDR4-3200 controllers.
    #[test]
    fn published_peak_bandwidth() {
        let machine = find_machine(DEFAULT_MACHINE).unwrap().parameters;
        let dram: Dram = serde_json::from_value(machine["dram"].clone()).unwrap();
        assert!((dram.controller_gb_s().as_f64() - 25.6).abs() < 1e-12);
        let numa: Numa = serde_json::from_value(machine["numa"].clone()).unwrap();
        assert_eq!(numa.cores(), 64);
    }

    #[test]
    fn every_free_parameter_lies_within_its_bounds() {
        for it in FREE_PARAMETERS.iter() {
            assert!((it.min..=it.max).contains(&it.value), "{}", it.path);
        }
    }
}
