//! What is built: an NPU, memory with PIM units, and the cores that copy between them.

use std::num::{NonZeroU16, NonZeroU32, NonZeroU64};

use memscape_dram::{Dram, MEMORIES};
use memscape_npu::{DEVICES, Device, DramPath};
use memscape_ondevice::cost::memory::Bandwidth;
use memscape_pim::hardware as pim;
use memscape_study::{Catalog, Nested, OutOfRange, within};
use memscape_units::GbPerS;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::names;

/// The cores that copy weights, keys and values. The array computes, so all of them may.
///
/// # Source
/// PIM-SHERPA's copy threads: a copy is as fast as the threads are, or the memory.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Copier {
    /// Cores that copy
    #[schemars(range(min = 1, max = 4096))]
    pub cores: NonZeroU32,
    /// Copy by one core between cacheable regions, as long as the memory keeps up
    pub core_gb_s: GbPerS,
    /// How much longer a core takes to read weights from the region in which PIM has them, which is
    /// not cacheable
    #[schemars(range(min = 1.0, max = 1e3))]
    pub uncached_slowdown: f64,
    /// DRAM transactions of a copy per byte: 3 through caches, 2 with stores that bypass them
    #[schemars(range(max = 1000))]
    pub transactions: NonZeroU32,
    /// Bursts that a copy takes of a DRAM row of PIM's layout before it goes on to another; no more
    /// than a row has
    #[schemars(range(min = 1))]
    pub together: NonZeroU64,
    /// Bandwidth that cores reach when they copy in a row, over the peak; what only reads, head and attention, has
    /// all of the peak, as beside PIM alone
    #[schemars(range(min = 1e-6, max = 1.0))]
    pub memory_efficiency: f64,
}

/// An NPU beside memory with a PIM unit at each bank. There is one memory: what the NPU's
/// description says of the DRAM behind its path does not count.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// The NPU, which reads prompts
    pub npu: Device,
    /// Memory, PIM units and processor, which generate tokens
    pub pim: pim::Machine,
    /// The cores that copy
    pub copy: Copier,
}

/// The machines of `data/hardware/mixed`, and the form of a user's own.
pub static MACHINES: Catalog<Machine> = Catalog::new(
    "hardware",
    "NPUs beside memory with a PIM unit at each bank",
    &[
        include_str!("../../../data/hardware/mixed/xdna-lpddr5x-pim.toml"),
        include_str!("../../../data/hardware/mixed/xdna2-lpddr5x-pim.toml"),
    ],
)
.with_nested(&[
    Nested { path: "npu", catalog: &DEVICES },
    Nested { path: "pim", catalog: &pim::MACHINES },
    Nested { path: "pim.memory", catalog: &MEMORIES },
])
.checked_by(|it| it.check().map_err(|error| error.to_string()));

/// A machine that cannot be.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum HardwareError {
    /// A number out of its range, NaN included.
    #[error(transparent)]
    OutOfRange(#[from] OutOfRange),
    /// A copy that DRAM does not hold.
    #[error(
        "`copy.transactions` is 1, a copy that goes to on-chip memory, but the array reads it from buffers in \
         `pim.memory`; use 2 (stores that bypass caches) or 3 (through caches)"
    )]
    OnChip,
    /// Memory or PIM units contradict themselves.
    #[error("{}", names::of_pim(.0))]
    Pim(#[from] pim::HardwareError),
}

impl Copier {
    /// Checks what the types do not.
    ///
    /// # Errors
    /// [`HardwareError::OutOfRange`] names the first field at fault, [`HardwareError::OnChip`] what the
    /// model has no place for.
    pub fn check(&self) -> Result<(), HardwareError> {
        if self.transactions.get() < 2 {
            return Err(HardwareError::OnChip);
        }
        Ok(within([
            ("copy.cores", f64::from(self.cores.get()), 1.0, 4096.0),
            ("copy.uncached_slowdown", self.uncached_slowdown, 1.0, 1e3),
            ("copy.transactions", f64::from(self.transactions.get()), 2.0, 1000.0),
            ("copy.memory_efficiency", self.memory_efficiency, 1e-6, 1.0),
        ])?)
    }

    /// All cores together from a cacheable region, if the memory keeps up, in 10^9 bytes per second.
    #[must_use]
    pub fn cached_gb_s(&self) -> f64 {
        self.core_gb_s.as_f64() * f64::from(self.cores.get())
    }

    /// The same from the region in which PIM has its weights.
    #[must_use]
    pub fn uncached_gb_s(&self) -> f64 {
        self.cached_gb_s() / self.uncached_slowdown
    }

    /// What the memory gives to the cores, with its refreshes or without.
    #[must_use]
    pub fn bandwidth(&self, memory: &Dram, refresh: bool) -> Bandwidth {
        Bandwidth::of(memory, self.memory_efficiency, self.together.get(), refresh)
    }
}

impl Machine {
    /// Checks that the numbers can describe one machine.
    ///
    /// # Errors
    /// [`HardwareError`] names the parameter at fault.
    pub fn check(&self) -> Result<(), HardwareError> {
        self.pim.check()?;
        self.copy.check()
    }

    /// The NPU with the one memory behind its path, from which it reads no more than the processor beside
    /// it does; the peak stands for a memory that contradicts itself, which [`Self::check`] refuses.
    #[must_use]
    pub fn device(&self, refresh: bool) -> Device {
        let memory = &self.pim.memory;
        let line = NonZeroU16::new(u16::try_from(memory.column_bytes()).unwrap_or(u16::MAX));
        let dram = DramPath {
            line_bytes: line.unwrap_or(self.npu.dram.line_bytes),
            memory_gb_s: Some(self.pim.stream_gb_s(refresh).unwrap_or_else(|_| memory.peak_gb_s())),
            ..self.npu.dram
        };
        Device { dram, ..self.npu }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_array_reads_the_memory_that_pim_is_in() {
        let machine = *MACHINES.get("xdna2-lpddr5x-pim");
        let dram = machine.device(false).dram;
        assert!((dram.bus_gb_s() - 120.0).abs() < 1e-9, "eight channels of 16 bits at 7500 MT/s");
        assert!((dram.port_gb_s() - machine.npu.dram.read_gb_s.as_f64()).abs() < 1e-9);
        assert_eq!(dram.line_bytes.get(), 32);
    }

    #[test]
    fn a_copier_out_of_range_is_named() {
        let machine = *MACHINES.get("xdna-lpddr5x-pim");
        let bad = Copier { memory_efficiency: 2.0, ..machine.copy };
        let error = Machine { copy: bad, ..machine }.check().unwrap_err().to_string();
        assert_eq!(error, "`copy.memory_efficiency` is 2; it must be from 0.000001 to 1");
    }
}
