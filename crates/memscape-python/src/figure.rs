//! Papers' figures, and figures of any table.

use std::hash::{Hash, Hasher};

use memscape::{explore, papers, plot};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use serde_json::Value;

use crate::arrow;
use crate::compute::{compute, compute_anywhere};
use crate::error::{papers_error, to_py_err};
use crate::pickle::function;
use crate::value;

/// One figure or table of a paper.
#[pyclass(frozen, eq, hash, module = "memscape._memscape")]
pub struct Experiment(&'static papers::Experiment);

impl PartialEq for Experiment {
    fn eq(&self, other: &Self) -> bool {
        self.0.id == other.0.id
    }
}

impl Hash for Experiment {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.id.hash(state);
    }
}

#[pymethods]
impl Experiment {
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (&'static str,))> {
        Ok((function(py, "experiment")?, (self.0.id,)))
    }

    #[getter]
    fn id(&self) -> &'static str {
        self.0.id
    }

    #[getter]
    fn title(&self) -> &'static str {
        self.0.title
    }

    fn table<'py>(&self, py: Python<'py>, parameters: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyAny>> {
        let parameters = value::parameters(parameters)?;
        let experiment = self.0;
        let table = compute(py, move || experiment.table_of(&parameters))?.map_err(papers_error)?;
        arrow::to_python(py, table.frame())
    }

    #[pyo3(signature = (table, parameters, published, style))]
    fn plot(
        &self,
        py: Python<'_>,
        table: Option<&Bound<'_, PyAny>>,
        parameters: &Bound<'_, PyDict>,
        published: bool,
        style: &str,
    ) -> PyResult<Figure> {
        let given = table.map(arrow::from_python).transpose()?;
        let style = memscape::export::style_named(style).map_err(papers_error)?;
        let look =
            papers::Look { style, without_published: !published, changed: value::parameters(parameters)? };
        let experiment = self.0;
        let draw = move || {
            let ask = || experiment.table_of(&look.changed);
            let table = given.map_or_else(ask, |it| Ok(explore::Table::from_frame(it)))?;
            papers::draw(experiment, &table, &look)
        };
        compute(py, draw)?.map(Figure).map_err(papers_error)
    }
}

/// A drawn figure.
#[pyclass(frozen, eq, module = "memscape._memscape")]
#[derive(PartialEq)]
pub struct Figure(plot::Figure);

/// A figure that was pickled.
#[pyfunction]
pub fn figure(parts: &Bound<'_, PyDict>) -> PyResult<Figure> {
    let parts = Value::Object(value::parameters(parts)?);
    serde_json::from_value(parts).map(Figure).map_err(to_py_err)
}

#[pymethods]
impl Figure {
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyAny>,))> {
        let parts = serde_json::to_value(&self.0).map_err(to_py_err)?;
        Ok((function(py, "figure")?, (value::to_python(py, &parts)?,)))
    }

    fn svg(&self, py: Python<'_>) -> PyResult<String> {
        let figure = self.0.clone();
        compute_anywhere(py, move || figure.svg())?.map_err(to_py_err)
    }

    fn png<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let figure = self.0.clone();
        let png = compute_anywhere(py, move || figure.png())?.map_err(to_py_err)?;
        Ok(PyBytes::new(py, &png))
    }

    fn pdf<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let figure = self.0.clone();
        let pdf = compute_anywhere(py, move || figure.pdf())?.map_err(to_py_err)?;
        Ok(PyBytes::new(py, &pdf))
    }

    fn alt_text(&self) -> String {
        self.0.alt_text()
    }

    fn styled(&self, style: &str) -> PyResult<Self> {
        let style = memscape::export::style_named(style).map_err(papers_error)?;
        Ok(Self(self.0.clone().style(style)))
    }
}

/// Any table as a figure: `spec` is a `Drawing`.
#[pyfunction]
pub fn draw(py: Python<'_>, table: &Bound<'_, PyAny>, spec: &Bound<'_, PyDict>) -> PyResult<Figure> {
    let spec = serde_json::Value::Object(value::parameters(spec)?);
    let drawing: memscape::drawing::Drawing = serde_json::from_value(spec)
        .map_err(|it| papers_error(papers::Error::BadChart(format!("a figure of a table: {it}"))))?;
    let table = explore::Table::from_frame(arrow::from_python(table)?);
    // Once for nothing, so that what cannot be drawn is told here and not by the notebook that shows it.
    let checked = move || drawing.draw(&table).and_then(|it| it.svg().map(|_| it).map_err(Into::into));
    let figure = compute_anywhere(py, checked)?.map_err(papers_error)?;
    Ok(Figure(figure))
}

#[pyfunction]
pub fn experiments() -> Vec<Experiment> {
    papers::experiments().map(Experiment).collect()
}

#[pyfunction]
pub fn experiment(id: &str) -> PyResult<Experiment> {
    memscape::experiment(id).map(Experiment).map_err(papers_error)
}
