//! Searches and iterations of NPUs, below the studies `npu.*`.

use memscape::explore;
use memscape::npu::mapping::chain::{Chains, table};
use memscape::npu::mapping::machine::{PartialSums, Rounding, execute};
use memscape::npu::study::balance::{Point, Step};
use memscape::npu::{BalanceStudy, GemmStudy, Precision, SearchStudy};
use pyo3::prelude::*;
use pyo3::types::PyDict;

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
    let steps: Vec<Step> = trace.iter().map(Point::step).collect();
    value::to_python(py, &serde_json::to_value(steps).map_err(to_py_err)?)
}

/// The DMA chains of A, B and C as a printable table.
#[pyfunction]
pub fn npu_chains(py: Python<'_>, parameters: &Bound<'_, PyDict>) -> PyResult<String> {
    let (chains, size) = chains(parameters)?;
    let size = chains.pad(size).map_err(to_py_err)?;
    compute(py, move || {
        let (a, b, c) = (chains.a(size, 0), chains.b(size, 0), chains.c(size, 0, 0));
        let mut transfers = a.transfers();
        transfers.extend(b.transfers());
        transfers.extend(c.transfers());
        table(&transfers)
    })
}

/// Multiplies real integers on the functional array.
#[pyfunction]
pub fn npu_multiply(
    py: Python<'_>,
    parameters: &Bound<'_, PyDict>,
    a: Vec<i8>,
    b: Vec<i8>,
    shift: u32,
) -> PyResult<Vec<i32>> {
    let (chains, size) = chains(parameters)?;
    let product = compute(py, move || {
        let rounding = Rounding { shift, partial_sums: PartialSums::Wide };
        match chains.precision() {
            Precision::Int8Int8 => execute::<i8>(&chains, size, &a, &b, rounding)
                .map(|it| it.into_iter().map(i32::from).collect()),
            Precision::Int8Int16 => execute::<i16>(&chains, size, &a, &b, rounding)
                .map(|it| it.into_iter().map(i32::from).collect()),
            _ => execute::<i32>(&chains, size, &a, &b, rounding),
        }
    })?;
    product.map_err(to_py_err)
}

fn chains(parameters: &Bound<'_, PyDict>) -> PyResult<(Chains, [u64; 3])> {
    let study: GemmStudy = explore::read(&value::parameters(parameters)?).map_err(explore_error)?;
    let design = study.design();
    design.check(&study.device).map_err(to_py_err)?;
    let chains = Chains::new(&study.device, design.precision, design.tile, design.k_mt, design.b_layout);
    Ok((chains.map_err(to_py_err)?, study.size()))
}
