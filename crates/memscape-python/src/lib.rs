//! `memscape._memscape`: unwrap, call, wrap.
//!
//! Everything that computes goes through `compute`, so that Python's other
//! threads run meanwhile, Ctrl-C is noticed and no panic crosses the border.

mod arrow;
mod asking;
mod compute;
mod description;
mod error;
mod figure;
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
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use memscape::prelude::report;
use memscape::{explore, systems};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use compute::{Stoppable, compute_anywhere};
use error::{explore_error, papers_error, to_py_err};
use watched::waited;

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
        let written = explore::write_atomically(&path, |out| {
            let mut out = Stoppable { out, stopped: &stopped };
            study.trace(&layers.iter().collect::<Vec<_>>(), &form, &mut out)
        });
        written.map_err(|it| match it {
            explore::Error::Write(error) => to_py_err(explore::unwritable(&path, &error)),
            other => explore_error(other),
        })
    };
    let written = compute_anywhere(py, write);
    // Who was interrupted no longer waits for it, and it could fill a disk.
    stop.store(true, Ordering::Relaxed);
    written?
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
    use super::asking::{
        compare, fit, front, front_of, hypervolume, laws, search, sensitivity, sweep, uncertainty,
    };
    #[pymodule_export]
    use super::description::{Description, describe, difference, edition, preset, presets, schema, studies};
    #[pymodule_export]
    use super::figure::{Experiment, Figure, draw, experiment, experiments, figure};
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
    use super::{calibrate, claims, main, predictions, run, score, timeline, trace};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        let py = module.py();
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("MemscapeError", py.get_type::<MemscapeError>())?;
        module.add("InternalError", py.get_type::<InternalError>())
    }
}
