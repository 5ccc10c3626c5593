//! What there is: studies, descriptions and where they differ.

use memscape::{explore, systems};
use pyo3::prelude::*;
use serde_json::Value;

use crate::compute::compute_anywhere;
use crate::error::{explore_error, to_py_err};
use crate::pickle::function;
use crate::value;

/// Name and summary of every study.
#[pyfunction]
pub fn studies() -> Vec<(&'static str, &'static str)> {
    systems::studies().map(|it| (it.name(), it.summary())).collect()
}

/// What a study asks and answers.
#[pyclass(frozen, eq, module = "memscape._memscape")]
#[derive(PartialEq)]
pub struct Description(explore::Description);

#[pymethods]
impl Description {
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        Ok((function(py, "describe")?, (self.0.name.clone(),)))
    }

    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    #[getter]
    fn summary(&self) -> &str {
        &self.0.summary
    }

    #[getter]
    fn parameters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        value::to_python(py, &serde_json::to_value(&self.0.parameters).map_err(to_py_err)?)
    }

    #[getter]
    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        value::to_python(py, &serde_json::to_value(&self.0.columns).map_err(to_py_err)?)
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        self.0.to_string()
    }

    fn _repr_html_(&self) -> String {
        memscape::description_html(&self.0)
    }
}

/// What decides a study's answers beside its parameters.
#[pyfunction]
pub fn edition<'py>(py: Python<'py>, study: &str) -> PyResult<Bound<'py, PyAny>> {
    let study = systems::study(study).map_err(explore_error)?;
    value::to_python(py, &serde_json::to_value(explore::Edition::of(study)).map_err(to_py_err)?)
}

#[pyfunction]
pub fn describe(study: &str) -> PyResult<Description> {
    systems::study(study).map(|it| Description(it.describe())).map_err(explore_error)
}

/// Kind, name and summary of every built-in description.
#[pyfunction]
pub fn presets() -> Vec<(String, &'static str, &'static str)> {
    memscape::presets().into_iter().map(|(kind, it)| (kind, it.name.as_str(), it.summary.as_str())).collect()
}

/// A description by name or path: name, summary, parameters, facts, and the source
/// of each value by dotted path.
#[pyfunction]
pub fn preset(py: Python<'_>, name: String) -> PyResult<Bound<'_, PyAny>> {
    let look = move || {
        memscape::preset(&name).map_err(|error| match error {
            explore::Error::Unknown(_) => memscape::neither(&name).into(),
            error => error,
        })
    };
    let found = compute_anywhere(py, look)?.map_err(explore_error)?;
    let facts = serde_json::json!({ "facts": found.facts });
    let sources: serde_json::Map<String, Value> = [&found.parameters, &facts]
        .into_iter()
        .flat_map(memscape::leaves)
        .filter_map(|(path, _)| Some((path.clone(), found.source(&path)?.into())))
        .collect();
    let all = serde_json::json!({
        "name": found.name, "summary": found.summary, "parameters": found.parameters, "sources": sources,
        "facts": found.facts,
    });
    value::to_python(py, &all)
}

/// Where two descriptions differ: path, and what each says.
#[pyfunction]
pub fn difference(py: Python<'_>, a: String, b: String) -> PyResult<Bound<'_, PyAny>> {
    let found = compute_anywhere(py, move || Ok((memscape::preset(&a)?, memscape::preset(&b)?)))?;
    let (a, b) = found.map_err(explore_error)?;
    let rows: Vec<Value> = memscape::difference(&a, &b)
        .into_iter()
        .map(|it| serde_json::json!({ "path": it.path, "a": it.a, "b": it.b }))
        .collect();
    value::to_python(py, &Value::Array(rows))
}

/// JSON Schema of a kind of description.
#[pyfunction]
pub fn schema<'py>(py: Python<'py>, kind: &str) -> PyResult<Bound<'py, PyAny>> {
    let catalog = systems::registry().catalog(kind).map_err(explore_error)?;
    value::to_python(py, &catalog.schema())
}
