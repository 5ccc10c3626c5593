//! A whole machine, and those that are built in.

use std::num::NonZeroU64;

use memscape_dram::{Dram, MEMORIES};
use memscape_study::{Calibration, Catalog, FreeParameter, Nested, OutOfRange, within};
use memscape_units::Watts;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::platform::{Cache, Controller, Core, Numa, Os};

/// A many-core RISC-V machine as its tables describe it.
///
/// What a user writes in place of a built-in name, as a file or a table:
///
/// ```
/// use memscape_riscv::hardware::MACHINES;
/// use memscape_study::{AnyCatalog, Form};
///
/// let form = Form::from_toml(
///     "mine",
///     r#"
///     base = "sg2042"
///     [parameters]
///     memory = "lpddr5x-8533"
///     core.vlen_bits = 256
///     "#,
/// )?;
/// let mine = MACHINES.complete(form, &|catalog, name| Ok(catalog.find_plain(name)?.clone()))?;
/// assert_eq!(mine.parameters["memory"]["data_rate_mt_s"], 8533.0);
/// assert_eq!(mine.parameters["os"]["balancing_cost"].is_f64(), true, "calibrated");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// One core
    pub core: Core,
    /// The caches
    pub cache: Cache,
    /// The NUMA nodes
    pub numa: Numa,
    /// The DRAM behind the nodes, a controller for each channel
    pub memory: Dram,
    /// The memory controllers
    pub controller: Controller,
    /// Operating system and runtime
    pub os: Os,
    /// What the processor's package takes at most; null for what a source rates it at, if it is not changed
    #[serde(default)]
    #[schemars(with = "Option<f64>", range(min = 0.001, max = 1e9))]
    pub package_w: Option<Watts>,
}

impl Machine {
    /// Checks that the numbers belong together.
    ///
    /// # Errors
    /// What does not fit, in one line.
    fn check(&self) -> Result<(), String> {
        self.core.check().map_err(|it| it.to_string())?;
        self.numa.distances.check(self.numa.nodes.get()).map_err(|it| it.to_string())?;
        self.memory.check().map_err(|it| format!("`memory`: {it}"))?;
        self.cache.check().map_err(|it| it.to_string())?;
        self.controller.check().map_err(|it| it.to_string())?;
        self.os.check().map_err(|it| it.to_string())?;
        check_package(self.package_w).map_err(|it| it.to_string())
    }
}

/// A package of 0 W would say that nothing is taken.
///
/// # Errors
/// [`OutOfRange`] if it is given as nothing.
pub(crate) fn check_package(package_w: Option<Watts>) -> Result<(), OutOfRange> {
    package_w.map_or(Ok(()), |it| within([("package_w", it.as_f64(), 0.001, 1e9)]))
}

/// `data/calibration/riscv-sg2042.toml`: all free parameters of this model.
pub static CALIBRATION: Calibration =
    Calibration::new("riscv-sg2042", include_str!("../../../../data/calibration/riscv-sg2042.toml"));

/// Machines: those of `data/hardware/riscv`, and the form of a user's own.
pub static MACHINES: Catalog<Machine> = Catalog::new(
    "RISC-V machine",
    "many-core RISC-V processors: cores, caches, NUMA nodes, memory and operating system",
    &[include_str!("../../../../data/hardware/riscv/sg2042.toml")],
)
.with_nested(&[Nested { path: "memory", catalog: &MEMORIES }])
.calibrated(&CALIBRATION, "")
.checked_by(Machine::check);

/// A count that is inferred from what a run printed.
///
/// # Panics
/// If the calibration has no such parameter, which tests exclude.
#[must_use]
pub fn inferred(run: &str, path: &str) -> NonZeroU64 {
    let of_run = |it: &&FreeParameter| it.preset.as_deref() == Some(run) && it.path == path;
    let found = CALIBRATION.parameters().iter().find(of_run).and_then(|it| it.json(it.value).as_u64());
    found.and_then(NonZeroU64::new).expect("a count of the calibration")
}

/// The machine of the thesis.
pub const DEFAULT_MACHINE: &str = "sg2042";
/// Its memory.
pub const DEFAULT_MEMORY: &str = "ddr4-3200-4ch";

#[cfg(test)]
mod tests {
    use memscape_units::Bytes;

    use super::*;

    /// SG2042 thesis, Sec. 3.1.3: four DDR4-3200 controllers; Fig. 4.4: four nodes of
    /// 32 GB.
    #[test]
    fn published_memory() {
        let machine = MACHINES.get(DEFAULT_MACHINE);
        assert_eq!(&machine.memory, MEMORIES.get(DEFAULT_MEMORY));
        assert!((machine.memory.channel_gb_s().as_f64() - 25.6).abs() < 1e-12);
        assert_eq!((machine.memory.channels.get(), machine.memory.capacity()), (4, Bytes(128 << 30)));
        assert_eq!(machine.numa.all_cores(), 64);
    }

    #[test]
    fn every_free_parameter_lies_within_its_bounds() {
        for it in CALIBRATION.parameters() {
            assert!((it.min..=it.max).contains(&it.value), "{}", it.path);
        }
    }
}
