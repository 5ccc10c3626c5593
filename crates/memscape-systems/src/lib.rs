//! All systems: one line each.
//!
//! ```
//! let row = memscape_systems::study("pim.gemv")?.run(&Default::default())?;
//! assert_eq!(row[0].0, "speedup");
//! # Ok::<(), memscape_explore::Error>(())
//! ```

use std::sync::LazyLock;

use memscape_explore::{DynStudy, Error, Registry};

static REGISTRY: LazyLock<Registry> = LazyLock::new(|| {
    Registry::new()
        .with(memscape_pim::SYSTEM)
        .with(memscape_ondevice::SYSTEM)
        .with(memscape_ndp::SYSTEM)
        .with(memscape_npu::SYSTEM)
        .with(memscape_riscv::SYSTEM)
        .with(memscape_cxl::SYSTEM)
});

/// Every system with its studies, descriptions and free parameters.
#[must_use]
pub fn registry() -> &'static Registry {
    &REGISTRY
}

/// The study of this name.
///
/// # Errors
/// [`Error::Unknown`] suggests the nearest name.
pub fn study(name: &str) -> Result<&'static dyn DynStudy, Error> {
    REGISTRY.study(name)
}

/// All studies, system by system.
pub fn studies() -> impl Iterator<Item = &'static dyn DynStudy> {
    REGISTRY.studies()
}
