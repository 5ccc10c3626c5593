//! What widgets are made of.

use memscape::{explore, page, systems};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::compute::{compute, compute_anywhere};
use crate::error::{explore_error, to_py_err};
use crate::{arrow, value};

/// The module that draws, and its style sheet.
#[pyfunction]
pub fn explorer_module() -> (&'static str, &'static str) {
    (page::module(), page::styles())
}

/// A study behind a form.
#[pyclass(frozen, module = "memscape._memscape")]
pub struct Explorer(page::Explorer);

#[pymethods]
impl Explorer {
    #[new]
    #[expect(clippy::needless_pass_by_value, reason = "as the binding hands it over")]
    fn new(py: Python<'_>, study: &str, layers: Vec<Bound<'_, PyDict>>) -> PyResult<Self> {
        let study = systems::study(study).map_err(explore_error)?;
        let layers = value::layers(&layers)?;
        let made = move || page::Explorer::new(study, &layers.iter().collect::<Vec<_>>());
        Ok(Self(compute_anywhere(py, made)?.map_err(page_error)?))
    }

    fn spec<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let explorer = self.0.clone();
        value::to_python(py, &compute_anywhere(py, move || explorer.spec())?)
    }

    fn ask<'py>(&self, py: Python<'py>, question: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyAny>> {
        let explorer = self.0.clone();
        let question = value::parameters(question)?.into();
        value::to_python(py, &compute(py, move || explorer.ask(question))?.map_err(page_error)?)
    }
}

/// A table as the module reads it: what it is, and its values.
#[pyfunction]
pub fn explorer_table<'py>(
    py: Python<'py>,
    table: &Bound<'py, PyAny>,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyBytes>)> {
    let table = explore::Table::from_frame(arrow::from_python(table)?);
    let view = compute_anywhere(py, move || page::TableView::new(&table))?.map_err(page_error)?;
    Ok((value::to_python(py, view.spec())?, PyBytes::new(py, view.bytes())))
}

fn page_error(error: page::Error) -> PyErr {
    match error {
        page::Error::Explore(error) => explore_error(error),
        error => to_py_err(error),
    }
}
