//! A whole machine: the memory, its PIM units and the processor.

use std::num::NonZeroU64;

use memscape_dram::{Dram, DramError, MEMORIES, OnlyRefreshing, Pattern, PimDelays, PimTiming};
use memscape_study::{Calibration, Catalog, Nested, Recent};
use memscape_units::{GbPerS, Nanoseconds, UnitError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::soc::Soc;
use super::unit::{PimUnit, RowAfterWrite};

/// Memory with a PIM unit beside each bank, and a processor.
///
/// What a user writes in place of a built-in name, as a file or a table:
///
/// ```
/// use memscape_pim::hardware::MACHINES;
/// use memscape_study::{AnyCatalog, Form};
///
/// let form = Form::from_toml(
///     "mine",
///     r#"
///     base = "lpddr5x-7500-pim"
///     [parameters]
///     memory = "lpddr5x-8533"
///     pim.registers = 32
///     "#,
/// )?;
/// let mine = MACHINES.complete(form, &|catalog, name| Ok(catalog.find_plain(name)?.clone()))?;
/// assert_eq!(mine.parameters["memory"]["data_rate_mt_s"], 8533.0);
/// assert_eq!(mine.parameters["pim"]["swap_commands"], 2, "calibrated");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// The DRAM
    pub memory: Dram,
    /// Bytes in one interleaving unit of memory, which a tile fills
    #[schemars(range(min = 1))]
    pub interleave_bytes: NonZeroU64,
    /// The PIM unit of each bank
    pub pim: PimUnit,
    /// The processor
    pub soc: Soc,
}

/// The free parameters of this model: `data/calibration/pimnast.toml`.
pub static CALIBRATION: Calibration =
    Calibration::new("pimnast", include_str!("../../../../data/calibration/pimnast.toml"));

/// Machines with PIM: those of `data/hardware/pim`, and the form of a user's own.
pub static MACHINES: Catalog<Machine> = Catalog::new(
    "hardware",
    "memories with a PIM unit at each bank, and a processor",
    &[include_str!("../../../../data/hardware/pim/lpddr5x-7500-pim.toml")],
)
.with_nested(&[Nested { path: "memory", catalog: &MEMORIES }])
.calibrated(&CALIBRATION, "")
.checked_by(|it| it.check().map_err(|error| error.to_string()));

/// The machine of the paper.
pub const DEFAULT_MACHINE: &str = "lpddr5x-7500-pim";

/// Why there is no such machine.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum HardwareError {
    /// The memory contradicts itself.
    #[error("`memory`: {0}")]
    Memory(#[from] DramError),
    /// Refreshes leave no time to compute.
    #[error(transparent)]
    Refreshing(#[from] OnlyRefreshing),
    /// A width that the bit-sliced SIMD unit cannot have.
    #[error("`{key}` is {given}; it must be a power of two")]
    NotPowerOfTwo {
        /// The parameter.
        key: &'static str,
        /// Its value.
        given: u32,
    },
    /// An interleaving unit that is no whole number of column accesses.
    #[error(
        "`interleave_bytes` is {given}; it must be a power of two from {column_bytes} (one column access) \
         to {row_bytes} (one row)"
    )]
    Interleave {
        /// Bytes as given.
        given: u64,
        /// Bytes of one column access.
        column_bytes: u64,
        /// Bytes of one row.
        row_bytes: u64,
    },
    /// A value beyond any PIM unit.
    #[error("`{key}` is {given}; at most {max} is allowed")]
    TooLarge {
        /// The parameter.
        key: &'static str,
        /// Its value.
        given: f64,
        /// The largest allowed.
        max: f64,
    },
    /// A command ratio below 1 or not a number.
    #[error("`pim.command_ratio` is {given}; it must be from 1 (as fast as plain reads) to 1000")]
    CommandRatio {
        /// As given.
        given: f64,
    },
}

impl Machine {
    /// Checks that the numbers can describe one machine.
    ///
    /// # Errors
    /// [`HardwareError`] names the parameter at fault.
    pub fn check(&self) -> Result<(), HardwareError> {
        self.memory.check()?;
        self.check_unit()
    }

    /// What a processor beside the memory reads at best, less what refresh takes where it is on: a stream
    /// over all bank groups of all channels.
    ///
    /// # Errors
    /// [`HardwareError`] if the memory contradicts itself.
    pub fn stream_gb_s(&self, refresh: bool) -> Result<GbPerS, HardwareError> {
        let unrefreshed = KEPT.with(|it| it.get(self.memory, unrefreshed))?;
        let left = if refresh { 1.0 - self.memory.refresh_share() } else { 1.0 };
        Ok(GbPerS::new(unrefreshed.as_f64() * left).unwrap_or(unrefreshed))
    }

    /// What its PIM units add to the timing of its memory.
    #[must_use]
    pub fn pim_timing(&self) -> PimTiming {
        PimTiming {
            command: self.memory.tccd_s() * self.pim.command_ratio,
            host_turnaround: self.pim.host_turnaround_ns,
            rows_wait_for_writes: self.pim.row_after_write == RowAfterWrite::InOrder,
        }
    }

    /// The same machine on a clock of whole picoseconds ([`Dram::on_whole_clock`]), what PIM adds in whole
    /// cycles too: a controller that issues commands on clock edges only.
    ///
    /// # Errors
    /// [`UnitError`] if a rounded time is no longer a finite number, which a checked machine excludes.
    pub fn on_whole_clock(&self) -> Result<Self, UnitError> {
        let memory = self.memory.on_whole_clock()?;
        let (cycle, burst) = (memory.tck().as_f64(), memory.tccd_s().as_f64());
        let up = |ns: f64| (ns / cycle - 1e-3).ceil().max(0.0) * cycle;
        let pim = PimUnit {
            command_ratio: up(burst * self.pim.command_ratio) / burst,
            host_turnaround_ns: Nanoseconds::new(up(self.pim.host_turnaround_ns.as_f64()))?,
            ..self.pim
        };
        Ok(Self { memory, pim, ..*self })
    }

    /// The delays of PIM commands on it, as the closed form adds them up.
    #[must_use]
    pub fn pim_delays(&self) -> PimDelays {
        PimDelays::new(&self.memory, &self.pim_timing())
    }

    /// What the PIM unit and the interleaving ask for, the memory being one.
    pub(crate) fn check_unit(&self) -> Result<(), HardwareError> {
        let Self { memory, pim, .. } = self;
        let widths = [
            ("burst of `memory`, in bytes,", memory.column_bytes()),
            ("pim.register_bits", pim.register_bits.get()),
            ("pim.sum_bits", pim.sum_bits.get()),
        ];
        if let Some((key, given)) = widths.into_iter().find(|it| !it.1.is_power_of_two()) {
            return Err(HardwareError::NotPowerOfTwo { key, given });
        }
        let limits = [
            ("burst of `memory`, in bytes,", f64::from(memory.column_bytes()), 65_536.0),
            ("pim.register_bits", f64::from(pim.register_bits.get()), 65_536.0),
            ("pim.registers", f64::from(pim.registers.get()), 1024.0),
            ("pim.host_turnaround_ns", pim.host_turnaround_ns.as_f64(), 1e6),
            ("pim.swap_commands", f64::from(pim.swap_commands), 1000.0),
        ];
        if let Some((key, given, max)) = limits.into_iter().find(|it| it.1 > it.2) {
            return Err(HardwareError::TooLarge { key, given, max });
        }
        let given = self.interleave_bytes.get();
        let [column_bytes, row_bytes] = [memory.column_bytes(), memory.row_bytes.get()].map(u64::from);
        if !given.is_power_of_two() || !(column_bytes..=row_bytes).contains(&given) {
            return Err(HardwareError::Interleave { given, column_bytes, row_bytes });
        }
        if !(1.0..=1000.0).contains(&pim.command_ratio) {
            return Err(HardwareError::CommandRatio { given: pim.command_ratio });
        }
        Ok(())
    }
}

thread_local!(static KEPT: Recent<Dram, GbPerS> = const { Recent::new() });

/// A stream while nothing is refreshed. Checks the memory.
fn unrefreshed(memory: &Dram) -> Result<GbPerS, HardwareError> {
    memory.check()?;
    let channel = Pattern::Interleaved.bandwidth_gb_s(memory).as_f64();
    Ok(GbPerS::new(channel * f64::from(memory.channels.get())).unwrap_or_else(|_| memory.peak_gb_s()))
}
