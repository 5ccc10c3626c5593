//! `memscape._memscape`: unwrap, call, wrap.
//!
//! Everything that computes goes through `compute`, so that Python's other
//! threads run meanwhile, Ctrl-C is noticed and no panic crosses the border.

mod arrow;
mod compute;
mod error;
mod ndp;
mod npu;
mod ondevice;
mod page;
mod pickle;
mod pim;
mod riscv;
mod store;
mod value;
mod watched;

use std::ffi::OsString;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use memscape::prelude::{Control, report};
use memscape::{explore, papers, plot, systems};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use serde_json::Value;

use compute::{Stoppable, compute, compute_anywhere};
use error::{explore_error, papers_error, to_py_err};
use pickle::function;
use watched::{waited, watched};

/// Name and summary of every study.
#[pyfunction]
fn studies() -> Vec<(&'static str, &'static str)> {
    systems::studies().map(|it| (it.name(), it.summary())).collect()
}

/// What a study asks and answers.
#[pyclass(frozen, eq, module = "memscape._memscape")]
#[derive(PartialEq)]
struct Description(explore::Description);

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
fn edition<'py>(py: Python<'py>, study: &str) -> PyResult<Bound<'py, PyAny>> {
    let study = systems::study(study).map_err(explore_error)?;
    value::to_python(py, &serde_json::to_value(explore::Edition::of(study)).map_err(to_py_err)?)
}

#[pyfunction]
fn describe(study: &str) -> PyResult<Description> {
    systems::study(study).map(|it| Description(it.describe())).map_err(explore_error)
}

/// Kind, name and summary of every built-in description.
#[pyfunction]
fn presets() -> Vec<(String, &'static str, &'static str)> {
    memscape::presets().into_iter().map(|(kind, it)| (kind, it.name.as_str(), it.summary.as_str())).collect()
}

/// A description by name or path: name, summary, parameters, facts, and the source
/// of each value by dotted path.
#[pyfunction]
fn preset(py: Python<'_>, name: String) -> PyResult<Bound<'_, PyAny>> {
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
fn difference(py: Python<'_>, a: String, b: String) -> PyResult<Bound<'_, PyAny>> {
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
fn schema<'py>(py: Python<'py>, kind: &str) -> PyResult<Bound<'py, PyAny>> {
    let catalog = systems::registry().catalog(kind).map_err(explore_error)?;
    value::to_python(py, &catalog.schema())
}

/// Later layers of parameters go over earlier ones.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "as the binding hands it over")]
fn run<'py>(py: Python<'py>, study: &str, layers: Vec<Bound<'_, PyDict>>) -> PyResult<Bound<'py, PyDict>> {
    let study = systems::study(study).map_err(explore_error)?;
    let layers = value::layers(&layers)?;
    let answer = move || study.run_layers(&layers.iter().collect::<Vec<_>>());
    let row = compute_anywhere(py, answer)?.map_err(explore_error)?;
    value::dict(py, row.iter().map(|(column, value)| (column.as_str(), value)))
}

/// What happens when, a row for each span.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "as the binding hands it over")]
fn timeline<'py>(
    py: Python<'py>,
    study: &str,
    layers: Vec<Bound<'_, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let study = systems::study(study).map_err(explore_error)?;
    let layers = value::layers(&layers)?;
    let record = move || {
        let timeline = study.timeline(&layers.iter().collect::<Vec<_>>())?;
        explore::Table::from_timeline(&timeline)
    };
    let table = compute_anywhere(py, record)?.map_err(explore_error)?;
    arrow::to_python(py, table.frame())
}

/// Writes what happens in one of a study's forms, such as `perfetto`.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "as the binding hands it over")]
fn trace(
    py: Python<'_>,
    study: &str,
    layers: Vec<Bound<'_, PyDict>>,
    form: String,
    path: std::path::PathBuf,
) -> PyResult<()> {
    let study = systems::study(study).map_err(explore_error)?;
    let layers = value::layers(&layers)?;
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let write = move || {
        explore::write_atomically(&path, |out| {
            let mut out = Stoppable { out, stopped: &stopped };
            study.trace(&layers.iter().collect::<Vec<_>>(), &form, &mut out)
        })
    };
    let written = compute_anywhere(py, write);
    // Who was interrupted no longer waits for it, and it could fill a disk.
    stop.store(true, Ordering::Relaxed);
    written?.map_err(explore_error)
}

/// `spec` is a study file's content as a dict, `leaf_names` whether columns of axes
/// are called by the last part of their path, `progress` is called with rows done and
/// rows in all. Returns the table and whether it is complete.
#[pyfunction]
fn sweep<'py>(
    py: Python<'py>,
    spec: &Bound<'py, PyDict>,
    leaf_names: bool,
    progress: &Bound<'py, PyAny>,
) -> PyResult<(Bound<'py, PyAny>, bool)> {
    let spec = value::study_file(spec)?;
    let study = systems::study(&spec.study).map_err(explore_error)?;
    let sweep = spec.sweep(study).map_err(explore_error)?;
    if leaf_names {
        sweep.check_leaf_names().map_err(explore_error)?;
    }
    let answer = move |control: &dyn Control| match study.sweep(&sweep, control) {
        Ok(table) if leaf_names => table.with_leaf_names(),
        table => table,
    };
    let (table, stop) = watched(py, progress, answer)?;
    let table = table.map_err(explore_error)?;
    match stop {
        Some(error) if !error.is_instance_of::<PyKeyboardInterrupt>(py) => Err(error),
        _ => Ok((arrow::to_python(py, table.frame())?, table.is_complete())),
    }
}

/// The best points of a space: `spec` as for `sweep`, with `search`. Returns the table and
/// whether it is complete.
#[pyfunction]
fn search<'py>(
    py: Python<'py>,
    spec: &Bound<'py, PyDict>,
    progress: &Bound<'py, PyAny>,
) -> PyResult<(Bound<'py, PyAny>, bool)> {
    let spec = value::study_file(spec)?;
    let study = systems::study(&spec.study).map_err(explore_error)?;
    let space = spec.space(study).map_err(explore_error)?;
    let question = spec.search.clone().unwrap_or_default();
    let base = [spec.parameters(study)];
    let asked = question.clone();
    let work = move |control: &dyn Control| explore::search(study, &base, &space, &asked, control);
    let (table, stop) = watched(py, progress, work)?;
    store::searched(py, &table.map_err(explore_error)?, &question, stop)
}

/// How much each axis of a space matters: `spec` as for `sweep`, with `sensitivity`. Returns
/// the table and whether it is complete.
#[pyfunction]
fn sensitivity<'py>(
    py: Python<'py>,
    spec: &Bound<'py, PyDict>,
    progress: &Bound<'py, PyAny>,
) -> PyResult<(Bound<'py, PyAny>, bool)> {
    let spec = value::study_file(spec)?;
    let study = systems::study(&spec.study).map_err(explore_error)?;
    let space = spec.space(study).map_err(explore_error)?;
    let question = spec.sensitivity.clone().unwrap_or_default();
    let base = [spec.parameters(study)];
    let work = move |control: &dyn Control| explore::sensitivity(study, &base, &space, &question, control);
    let (table, stop) = watched(py, progress, work)?;
    let table = table.map_err(explore_error)?;
    match stop {
        Some(error) if !error.is_instance_of::<PyKeyboardInterrupt>(py) => Err(error),
        _ => Ok((arrow::to_python(py, table.frame())?, table.is_complete())),
    }
}

/// What answers may be: `spec` as for `sweep`, with `of`, `draws` and `seed` beside. Returns
/// the table and whether it is complete.
#[pyfunction]
fn uncertainty<'py>(
    py: Python<'py>,
    spec: &Bound<'py, PyDict>,
    of: Vec<String>,
    draws: u64,
    seed: u64,
    progress: &Bound<'py, PyAny>,
) -> PyResult<(Bound<'py, PyAny>, bool)> {
    let spec = value::study_file(spec)?;
    let study = systems::study(&spec.study).map_err(explore_error)?;
    let space = spec.space(study).map_err(explore_error)?;
    let question = explore::Uncertainty { of, draws, seed };
    let base = [spec.parameters(study)];
    let work = move |control: &dyn Control| explore::uncertainty(study, &base, &space, &question, control);
    let (table, stop) = watched(py, progress, work)?;
    let table = table.map_err(explore_error)?;
    match stop {
        Some(error) if !error.is_instance_of::<PyKeyboardInterrupt>(py) => Err(error),
        _ => Ok((arrow::to_python(py, table.frame())?, table.is_complete())),
    }
}

/// The same prompt and reply on many platforms, all that are built in if `spec` names
/// none. Returns the table and whether it is complete.
#[pyfunction]
fn compare<'py>(
    py: Python<'py>,
    spec: &Bound<'py, PyDict>,
    progress: &Bound<'py, PyAny>,
) -> PyResult<(Bound<'py, PyAny>, bool)> {
    let spec = value::parameters(spec)?;
    let (workload, asked, operators) = systems::compare::read(spec).map_err(explore_error)?;
    let ask = if operators { systems::operators::operators } else { systems::compare::compare };
    let work = move |control: &dyn Control| ask(&workload, &asked, control);
    let (table, stop) = watched(py, progress, work)?;
    let table = table.map_err(explore_error)?;
    match stop {
        Some(error) if !error.is_instance_of::<PyKeyboardInterrupt>(py) => Err(error),
        _ => Ok((arrow::to_python(py, table.frame())?, table.is_complete())),
    }
}

/// What nothing in a finite space is better than: the table, counts of points, and whether
/// all were looked at.
#[pyfunction]
fn front_of<'py>(
    py: Python<'py>,
    spec: &Bound<'py, PyDict>,
    progress: &Bound<'py, PyAny>,
) -> PyResult<(Bound<'py, PyAny>, [u64; 4], bool)> {
    let spec = value::study_file(spec)?;
    let study = systems::study(&spec.study).map_err(explore_error)?;
    let space = spec.space(study).map_err(explore_error)?;
    let goals = spec.search.clone().unwrap_or_default().objectives().map_err(explore_error)?;
    let base = [spec.parameters(study)];
    let work = move |control: &dyn Control| explore::front_of(study, &base, &space, &goals, control);
    let (found, stop) = watched(py, progress, work)?;
    let found = found.map_err(explore_error)?;
    match stop {
        Some(error) if !error.is_instance_of::<PyKeyboardInterrupt>(py) => Err(error),
        _ => {
            let counts = [found.points, found.allowed, found.answered, found.feasible];
            Ok((arrow::to_python(py, found.table.frame())?, counts, found.table.is_complete()))
        }
    }
}

/// The rows of any table that no other row dominates.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "as the binding hands it over")]
fn front<'py>(
    py: Python<'py>,
    table: &Bound<'py, PyAny>,
    minimize: Vec<String>,
    maximize: Vec<String>,
    constraints: Vec<String>,
) -> PyResult<Bound<'py, PyAny>> {
    let goals = explore::Objective::all(&minimize, &maximize).map_err(explore_error)?;
    let table = explore::Table::from_frame(arrow::from_python(table)?);
    let found = compute(py, move || explore::front(&table, &goals, &constraints))?.map_err(explore_error)?;
    arrow::to_python(py, found.frame())
}

/// The volume between a table's rows and a reference, worst values if none is given.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "as the binding hands it over")]
fn hypervolume(
    py: Python<'_>,
    table: &Bound<'_, PyAny>,
    minimize: Vec<String>,
    maximize: Vec<String>,
    reference: Option<Vec<f64>>,
    constraints: Vec<String>,
) -> PyResult<f64> {
    let goals = explore::Objective::all(&minimize, &maximize).map_err(explore_error)?;
    let table = explore::Table::from_frame(arrow::from_python(table)?);
    let work = move || explore::hypervolume(&table, &goals, reference.as_deref(), &constraints);
    compute(py, work)?.map_err(explore_error)
}

/// What a study promises, held against random points: counts, broken laws as dicts,
/// and whether all points were looked at.
#[pyfunction]
fn laws<'py>(
    py: Python<'py>,
    study: &str,
    fixed: &Bound<'py, PyDict>,
    points: u64,
    seed: u64,
    progress: &Bound<'py, PyAny>,
) -> PyResult<(Bound<'py, PyAny>, bool)> {
    let study = systems::study(study).map_err(explore_error)?;
    let fixed = value::parameters(fixed)?;
    let work = move |control: &dyn Control| {
        let it = explore::examine(study, &fixed, points, seed, control)?;
        Ok((it.table()?, it.complete))
    };
    let (looked, stop) = watched(py, progress, work)?;
    let (table, complete) = looked.map_err(explore_error)?;
    match stop {
        Some(error) if !error.is_instance_of::<PyKeyboardInterrupt>(py) => Err(error),
        _ => Ok((arrow::to_python(py, table.frame())?, complete)),
    }
}

/// Values of `free` with which the study is nearest to `measured`: rows of point,
/// column, value and standard deviation.
#[pyfunction]
fn fit<'py>(
    py: Python<'py>,
    study: &str,
    base: &Bound<'py, PyDict>,
    measured: Vec<(Bound<'py, PyDict>, String, f64, Option<f64>)>,
    free: Vec<(String, f64, f64, Option<f64>, bool, bool)>,
    progress: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let study = systems::study(study).map_err(explore_error)?;
    let base = value::parameters(base)?;
    let measured = measured
        .into_iter()
        .map(|(point, column, value, sigma)| {
            Ok(explore::Measurement { parameters: value::parameters(&point)?, column, value, sigma })
        })
        .collect::<PyResult<Vec<_>>>()?;
    let free: Vec<explore::FitParameter> = free
        .into_iter()
        .map(|(path, min, max, start, whole, logarithmic)| {
            let it = explore::FitParameter::new(path, min, max);
            let it = if logarithmic { it.logarithmic() } else { it };
            let it = if whole { it.whole() } else { it };
            match start {
                Some(start) => it.starting_at(start),
                None => it,
            }
        })
        .collect();
    let work = move |control: &dyn Control| {
        explore::fit_study(study, &base, &measured, &free, control).map_err(|it| it.to_string())
    };
    let (found, stop) = watched(py, progress, work)?;
    match stop {
        Some(error) => Err(error),
        None => value::to_python(py, &serde_json::to_value(found.map_err(to_py_err)?).map_err(to_py_err)?),
    }
}

/// One figure or table of a paper.
#[pyclass(frozen, eq, hash, module = "memscape._memscape")]
struct Experiment(&'static papers::Experiment);

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
struct Figure(plot::Figure);

/// A figure that was pickled.
#[pyfunction]
fn figure(parts: &Bound<'_, PyDict>) -> PyResult<Figure> {
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
fn draw(py: Python<'_>, table: &Bound<'_, PyAny>, spec: &Bound<'_, PyDict>) -> PyResult<Figure> {
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
fn experiments() -> Vec<Experiment> {
    papers::experiments().map(Experiment).collect()
}

#[pyfunction]
fn experiment(id: &str) -> PyResult<Experiment> {
    memscape::experiment(id).map(Experiment).map_err(papers_error)
}

#[pyfunction]
fn claims<'py>(
    py: Python<'py>,
    source: Option<String>,
    progress: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let report = waited(py, progress, move || report(source.as_deref()))?.map_err(papers_error)?;
    value::to_python(py, &serde_json::to_value(report.claims).map_err(to_py_err)?)
}

/// What was said before it was measured, a dict for each prediction.
#[pyfunction]
fn predictions(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    let said = memscape::papers::predictions::record().map_err(papers_error)?;
    value::to_python(py, &serde_json::to_value(said).map_err(to_py_err)?)
}

/// Measurements, as TOML, against what was said of them.
#[pyfunction]
fn score<'py>(py: Python<'py>, measured: &str) -> PyResult<Bound<'py, PyAny>> {
    let scores = memscape::papers::predictions::score(measured).map_err(papers_error)?;
    value::to_python(py, &serde_json::to_value(scores).map_err(to_py_err)?)
}

#[pyfunction]
fn calibrate<'py>(
    py: Python<'py>,
    paper: String,
    progress: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let fit = waited(py, progress, move || memscape::prelude::calibrate(&paper))?.map_err(papers_error)?;
    value::to_python(py, &serde_json::to_value(fit).map_err(to_py_err)?)
}

/// The command line of the same name; returns its exit code.
#[pyfunction]
fn main(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| memscape_cli::run(arguments, &mut std::io::stdout(), &mut std::io::stderr()))
}

#[pymodule]
mod _memscape {
    use pyo3::prelude::*;

    use super::error::{InternalError, MemscapeError};

    #[pymodule_export]
    use super::arrow::Frame;
    #[pymodule_export]
    use super::ndp::{NdpPartition, ndp_add_recording, ndp_partition, ndp_placed, ndp_solve};
    #[pymodule_export]
    use super::npu::{npu_balance, npu_chains, npu_multiply, npu_search};
    #[pymodule_export]
    use super::ondevice::{OndeviceLayout, ondevice_layout};
    #[pymodule_export]
    use super::page::{Explorer, explorer_module, explorer_table};
    #[pymodule_export]
    use super::pim::{PimPlan, pim_plan, pim_tile_shape};
    #[pymodule_export]
    use super::riscv::{riscv_census, riscv_dequantise, riscv_explain, riscv_multiply, riscv_quantise};
    #[pymodule_export]
    use super::store::Store;
    #[pymodule_export]
    use super::{
        Description, Experiment, Figure, calibrate, claims, compare, describe, difference, draw, edition,
        experiment, experiments, figure, fit, front, front_of, hypervolume, laws, main, predictions, preset,
        presets, run, schema, score, search, sensitivity, studies, sweep, timeline, trace, uncertainty,
    };

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        let py = module.py();
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("MemscapeError", py.get_type::<MemscapeError>())?;
        module.add("InternalError", py.get_type::<InternalError>())
    }
}
