//! Questions of many points: sweeps, searches, fronts and what is told of a space.

use memscape::explore::{self, Space, StudyFile, Table};
use memscape::prelude::{Control, DynStudy, Parameters};
use memscape::systems;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrow;
use crate::compute::compute;
use crate::error::{explore_error, to_py_err};
use crate::watched::{answered, stopped, watched};
use crate::{store, value};

/// Who is asked, what stays, and what varies.
fn of_space(spec: &StudyFile) -> PyResult<(&'static dyn DynStudy, [Parameters; 1], Space)> {
    let study = systems::study(&spec.study).map_err(explore_error)?;
    Ok((study, [spec.parameters(study)], spec.space(study).map_err(explore_error)?))
}

/// A table, and whether it is complete.
fn told<'py>(py: Python<'py>, table: &Table) -> PyResult<(Bound<'py, PyAny>, bool)> {
    Ok((arrow::to_python(py, table.frame())?, table.is_complete()))
}

/// `spec` is a study file's content as a dict, `leaf_names` whether columns of axes
/// are called by the last part of their path, `progress` is called with rows done and
/// rows in all. Returns the table and whether it is complete.
#[pyfunction]
pub fn sweep<'py>(
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
    told(py, &answered(py, progress, answer)?)
}

/// The best points of a space: `spec` as for `sweep`, with `search`. Returns the table and
/// whether it is complete.
#[pyfunction]
pub fn search<'py>(
    py: Python<'py>,
    spec: &Bound<'py, PyDict>,
    progress: &Bound<'py, PyAny>,
) -> PyResult<(Bound<'py, PyAny>, bool)> {
    let spec = value::study_file(spec)?;
    let (study, base, space) = of_space(&spec)?;
    let question = spec.search.unwrap_or_default();
    let asked = question.clone();
    let work = move |control: &dyn Control| explore::search(study, &base, &space, &asked, control);
    let (table, stop) = watched(py, progress, work)?;
    store::searched(py, &table.map_err(explore_error)?, &question, stop)
}

/// How much each axis of a space matters: `spec` as for `sweep`, with `sensitivity`. Returns
/// the table and whether it is complete.
#[pyfunction]
pub fn sensitivity<'py>(
    py: Python<'py>,
    spec: &Bound<'py, PyDict>,
    progress: &Bound<'py, PyAny>,
) -> PyResult<(Bound<'py, PyAny>, bool)> {
    let spec = value::study_file(spec)?;
    let (study, base, space) = of_space(&spec)?;
    let question = spec.sensitivity.unwrap_or_default();
    let work = move |control: &dyn Control| explore::sensitivity(study, &base, &space, &question, control);
    told(py, &answered(py, progress, work)?)
}

/// What answers may be: `spec` as for `sweep`, with `of`, `draws` and `seed` beside. Returns
/// the table and whether it is complete.
#[pyfunction]
pub fn uncertainty<'py>(
    py: Python<'py>,
    spec: &Bound<'py, PyDict>,
    of: Vec<String>,
    draws: u64,
    seed: u64,
    progress: &Bound<'py, PyAny>,
) -> PyResult<(Bound<'py, PyAny>, bool)> {
    let spec = value::study_file(spec)?;
    let (study, base, space) = of_space(&spec)?;
    let question = explore::Uncertainty { of, draws, seed };
    let work = move |control: &dyn Control| explore::uncertainty(study, &base, &space, &question, control);
    told(py, &answered(py, progress, work)?)
}

/// The same prompt and reply on many platforms, all that are built in if `spec` names
/// none. Returns the table and whether it is complete.
#[pyfunction]
pub fn compare<'py>(
    py: Python<'py>,
    spec: &Bound<'py, PyDict>,
    progress: &Bound<'py, PyAny>,
) -> PyResult<(Bound<'py, PyAny>, bool)> {
    let spec = value::parameters(spec)?;
    let (workload, asked, operators) = systems::compare::read(spec).map_err(explore_error)?;
    let ask = if operators { systems::operators::operators } else { systems::compare::compare };
    let work = move |control: &dyn Control| ask(&workload, &asked, control);
    told(py, &answered(py, progress, work)?)
}

/// What nothing in a finite space is better than: the table, values of axes of which it says nothing, and whether
/// all were looked at.
#[pyfunction]
pub fn front_of<'py>(
    py: Python<'py>,
    spec: &Bound<'py, PyDict>,
    progress: &Bound<'py, PyAny>,
) -> PyResult<(Bound<'py, PyAny>, Vec<String>, bool)> {
    let spec = value::study_file(spec)?;
    let (study, base, space) = of_space(&spec)?;
    let goals = spec.search.unwrap_or_default().objectives().map_err(explore_error)?;
    let work = move |control: &dyn Control| explore::front_of(study, &base, &space, &goals, control);
    let found = answered(py, progress, work)?;
    Ok((arrow::to_python(py, found.table.frame())?, found.unanswered, found.table.is_complete()))
}

/// Which rows of any table no other row dominates.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "as the binding hands it over")]
pub fn front(
    py: Python<'_>,
    table: &Bound<'_, PyAny>,
    minimize: Vec<String>,
    maximize: Vec<String>,
    constraints: Vec<String>,
) -> PyResult<Vec<u32>> {
    let goals = explore::Objective::all(&minimize, &maximize).map_err(explore_error)?;
    let table = Table::from_frame(arrow::from_python(table)?);
    compute(py, move || explore::front_rows(&table, &goals, &constraints))?.map_err(explore_error)
}

/// The volume between a table's rows and a reference, worst values if none is given.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "as the binding hands it over")]
pub fn hypervolume(
    py: Python<'_>,
    table: &Bound<'_, PyAny>,
    minimize: Vec<String>,
    maximize: Vec<String>,
    reference: Option<Vec<f64>>,
    constraints: Vec<String>,
) -> PyResult<f64> {
    let goals = explore::Objective::all(&minimize, &maximize).map_err(explore_error)?;
    let table = Table::from_frame(arrow::from_python(table)?);
    let work = move || explore::hypervolume(&table, &goals, reference.as_deref(), &constraints);
    compute(py, work)?.map_err(explore_error)
}

/// What a study promises, held against random points: counts, broken laws as dicts,
/// and whether all points were looked at.
#[pyfunction]
pub fn laws<'py>(
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
    let (table, complete) = answered(py, progress, work)?;
    Ok((arrow::to_python(py, table.frame())?, complete))
}

/// Values of `free` with which the study is nearest to `measured`: rows of point,
/// column, value and standard deviation.
#[pyfunction]
pub fn fit<'py>(
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
    stopped(stop)?;
    value::to_python(py, &serde_json::to_value(found.map_err(to_py_err)?).map_err(to_py_err)?)
}
