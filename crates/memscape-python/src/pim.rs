//! The placement itself, below the study `pim.gemv`.

use memscape::explore;
use memscape::pim::mapping::execute::{Memory, Operands, execute};
use memscape::pim::mapping::layout::Place;
use memscape::pim::mapping::placement::tile_shape;
use memscape::pim::{GemvStudy, Plan};
use memscape::prelude::Parameters;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::compute::compute;
use crate::error::to_py_err;
use crate::pickle::function;
use crate::{explore_error, value};

/// Where the weights of one matrix lie.
#[pyclass(frozen, eq, module = "memscape._memscape")]
pub struct PimPlan {
    plan: Plan,
    /// What it was asked with.
    parameters: Parameters,
}

impl PartialEq for PimPlan {
    fn eq(&self, other: &Self) -> bool {
        self.plan == other.plan
    }
}

#[pymethods]
impl PimPlan {
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyDict>,))> {
        Ok((
            function(py, "pim_plan")?,
            (value::dict(py, self.parameters.iter().map(|(path, it)| (path.as_str(), it)))?,),
        ))
    }

    #[getter]
    fn shape(&self) -> (u64, u64) {
        (self.plan.gemv.m(), self.plan.gemv.k())
    }

    #[getter]
    fn tile(&self) -> (u64, u64) {
        (self.plan.tile.m, self.plan.tile.k)
    }

    #[getter]
    fn cr_degree(&self) -> u64 {
        self.plan.cr_degree
    }

    #[getter]
    fn row_blocks_per_bank(&self) -> u64 {
        self.plan.row_blocks
    }

    #[getter]
    fn input_registers(&self) -> u64 {
        self.plan.input_registers
    }

    #[getter]
    fn split_k(&self) -> u64 {
        self.plan.split_k
    }

    #[getter]
    fn banks(&self) -> u64 {
        self.plan.banks * self.plan.split_k
    }

    /// Bank, row, column and lane of one element.
    fn place(&self, row: &Bound<'_, PyAny>, column: &Bound<'_, PyAny>) -> PyResult<(u64, u64, u64, u64)> {
        let (row, column) = (value::count("row", row)?, value::count("column", column)?);
        let (m, k) = self.shape();
        if row >= m || column >= k {
            return Err(to_py_err(format!("element ({row}, {column}) is outside the {m} x {k} matrix")));
        }
        let Place { bank, row, column, lane } = self.plan.place(row, column);
        Ok((bank, row, column, lane))
    }

    /// Computes the product by executing the command stream on real numbers.
    fn execute(
        &self,
        py: Python<'_>,
        weights: &Bound<'_, PyAny>,
        inputs: &Bound<'_, PyAny>,
    ) -> PyResult<Vec<f64>> {
        let (weights, inputs) = (value::numbers("weights", weights)?, value::numbers("inputs", inputs)?);
        let plan = self.plan;
        let computed = compute(py, move || {
            let operands =
                Operands { weights: &weights, inputs: &inputs, weight_scales: &[], input_scales: &[] };
            execute(&plan, &Memory::place(&plan, &operands)?, &operands)
        })?;
        computed.map_err(to_py_err)
    }

    fn __repr__(&self) -> String {
        let Plan { gemv, tile, cr_degree, split_k, .. } = self.plan;
        format!(
            "Plan({} x {} in tiles of {} x {}, CR degree {cr_degree}, split-K {split_k}, {} banks)",
            gemv.m(),
            gemv.k(),
            tile.m,
            tile.k,
            self.banks(),
        )
    }
}

#[pyfunction]
pub fn pim_plan(py: Python<'_>, parameters: &Bound<'_, PyDict>) -> PyResult<PimPlan> {
    let parameters = value::parameters(parameters)?;
    let study: GemvStudy = explore::read(&parameters).map_err(explore_error)?;
    let plan = compute(py, move || study.plan().map_err(|it| it.to_string()))?.map_err(to_py_err)?;
    Ok(PimPlan { plan, parameters })
}

#[pyfunction]
pub fn pim_tile_shape(rows: u64, banks: u64, tile_elements: u64, most_rows: u64) -> PyResult<(u64, u64)> {
    if rows == 0 || banks == 0 || !tile_elements.is_power_of_two() {
        return Err(to_py_err(format!(
            "rows = {rows}, banks = {banks} and tile_elements = {tile_elements}: rows and banks must be at \
             least 1, tile_elements a power of two"
        )));
    }
    let tile = tile_shape(rows, banks, tile_elements, |m| m <= most_rows);
    Ok((tile.m, tile.k))
}
