//! Searches and timelines of NPUs, below the studies `npu.*`.

use memscape::explore;
use memscape::npu::{BalanceStudy, GemmStudy, SearchStudy, events};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Value, json};

use crate::compute::compute;
use crate::error::to_py_err;
use crate::{explore_error, value};

/// The best tiles, best first, as rows.
#[pyfunction]
pub fn npu_search<'py>(
    py: Python<'py>,
    parameters: &Bound<'py, PyDict>,
    count: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let study: SearchStudy = explore::read(&value::parameters(parameters)?).map_err(explore_error)?;
    let found = compute(py, move || study.ranked(count))?.map_err(to_py_err)?;
    value::to_python(py, &serde_json::to_value(found).map_err(to_py_err)?)
}

/// The points that the balanced-point iteration measures, as rows.
#[pyfunction]
pub fn npu_balance<'py>(py: Python<'py>, parameters: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyAny>> {
    let study: BalanceStudy = explore::read(&value::parameters(parameters)?).map_err(explore_error)?;
    let trace = compute(py, move || study.trace())?.map_err(to_py_err)?;
    let row = |it: &memscape::npu::balance::Point| {
        let (tile, [m, k, n]) = (it.kernel.tile, it.size);
        json!({
            "m_ct": tile.m, "k_ct": tile.k, "n_ct": tile.n, "k_mt": it.k_mt, "m": m, "k": k, "n": n,
            "macs_per_cycle": it.kernel.macs_per_cycle(), "tops": it.tops,
        })
    };
    value::to_python(py, &Value::Array(trace.iter().map(row).collect()))
}

/// What worked when, as rows.
#[pyfunction]
pub fn npu_timeline<'py>(py: Python<'py>, parameters: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyAny>> {
    let study: GemmStudy = explore::read(&value::parameters(parameters)?).map_err(explore_error)?;
    let rows = compute(py, move || {
        let (schedule, _) = study.schedule()?;
        let mut rows = Vec::new();
        events::walk(&schedule, &mut |it| {
            rows.push(json!({
                "unit": it.unit, "block": it.block, "step": it.step,
                "start_ns": it.start.as_ns(), "end_ns": it.end.as_ns(),
            }));
        });
        Ok::<_, memscape::study::StudyError>(Value::Array(rows))
    })?;
    value::to_python(py, &rows.map_err(to_py_err)?)
}
