//! What pickle calls to have an object again.

use pyo3::prelude::*;

/// A function of this module, by its name.
pub fn function<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("memscape._memscape")?.getattr(name)
}
