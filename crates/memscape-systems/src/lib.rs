//! All systems: one line each.
//!
//! ```
//! let row = memscape_systems::study("pim.gemv")?.run(&Default::default())?;
//! assert_eq!(row[0].0, "speedup");
//! # Ok::<(), memscape_explore::Error>(())
//! ```

pub mod compare;
pub mod operators;
pub mod platform;

use std::sync::LazyLock;

use memscape_explore::{DynStudy, Error, Registry};

/// Registers systems, and shows their crates under short names.
macro_rules! systems {
    ($($name:ident: $system:ident,)*) => {
        /// Each system's crate, with the algorithms that its studies are made of.
        pub mod all {
            $(pub use $system as $name;)*
            pub use memscape_mixed as mixed;
        }

        // What is put together of systems comes after them.
        static REGISTRY: LazyLock<Registry> = LazyLock::new(|| {
            Registry::new()$(.with($system::SYSTEM))*.with(memscape_mixed::SYSTEM).beside(&platform::PLATFORMS)
        });
    };
}

systems! {
    pim: memscape_pim,
    ondevice: memscape_ondevice,
    ndp: memscape_ndp,
    npu: memscape_npu,
    riscv: memscape_riscv,
    cxl: memscape_cxl,
}

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
