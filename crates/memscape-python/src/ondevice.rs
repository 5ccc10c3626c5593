//! The layout and the copy themselves, below the study `ondevice.layout`.

use memscape::explore;
use memscape::ondevice::hardware::BurstMap;
use memscape::ondevice::{LayoutStudy, Swizzle};
use memscape::prelude::Parameters;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::compute::compute;
use crate::error::to_py_err;
use crate::pickle::function;
use crate::{explore_error, value};

/// Where the weights of one matrix lie for PIM.
#[pyclass(frozen, eq, module = "memscape._memscape")]
pub struct OndeviceLayout {
    swizzle: Swizzle,
    map: BurstMap,
    /// What it was asked with.
    parameters: Parameters,
}

impl PartialEq for OndeviceLayout {
    fn eq(&self, other: &Self) -> bool {
        self.swizzle.layout() == other.swizzle.layout() && self.parameters == other.parameters
    }
}

#[pymethods]
impl OndeviceLayout {
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyDict>,))> {
        Ok((
            function(py, "ondevice_layout")?,
            (value::dict(py, self.parameters.iter().map(|(path, it)| (path.as_str(), it)))?,),
        ))
    }

    #[getter]
    fn shape(&self) -> (u64, u64) {
        let layout = self.swizzle.layout();
        (layout.rows, layout.columns)
    }

    #[getter]
    fn units(&self) -> u64 {
        self.swizzle.layout().units
    }

    #[getter]
    fn lanes(&self) -> u64 {
        self.swizzle.layout().lanes
    }

    #[getter]
    fn tile_rows(&self) -> u64 {
        self.swizzle.layout().tile_rows()
    }

    #[getter]
    fn host_bytes(&self) -> usize {
        self.swizzle.host_bytes()
    }

    #[getter]
    fn image_bytes(&self) -> usize {
        self.swizzle.image_bytes()
    }

    /// Channel, rank, bank, row, column and lane of one element.
    fn place(
        &self,
        row: &Bound<'_, PyAny>,
        column: &Bound<'_, PyAny>,
    ) -> PyResult<(u64, u64, u64, u64, u64, u64)> {
        let (row, column) = self.element(row, column)?;
        let (place, lane) = self.swizzle.layout().element_place(row, column);
        Ok((place.channel, place.rank, place.bank, place.row, place.column, lane))
    }

    /// Physical byte address of one element.
    fn address(&self, row: &Bound<'_, PyAny>, column: &Bound<'_, PyAny>) -> PyResult<u64> {
        let (row, column) = self.element(row, column)?;
        Ok(self.swizzle.layout().element_bit(&self.map, row, column) / 8)
    }

    /// The host's matrix in the PIM-aware layout.
    fn convert<'py>(&self, py: Python<'py>, host: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
        let host = value::bytes("host", host)?;
        let swizzle = self.swizzle.clone();
        let image = compute(py, move || {
            let mut image = vec![0; swizzle.image_bytes()];
            swizzle.convert(&host, &mut image).map(|()| image)
        })?;
        Ok(PyBytes::new(py, &image.map_err(to_py_err)?))
    }

    /// Elements `start..stop` of the host's matrix, copied out of the image.
    fn copy<'py>(
        &self,
        py: Python<'py>,
        image: &Bound<'py, PyAny>,
        start: &Bound<'py, PyAny>,
        stop: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let (image, start, stop) =
            (value::bytes("image", image)?, value::count("start", start)?, value::count("stop", stop)?);
        let swizzle = self.swizzle.clone();
        let host = compute(py, move || {
            let elements = usize::try_from(stop.saturating_sub(start).min(swizzle.elements())).unwrap_or(0);
            let size = usize::try_from(swizzle.layout().element.bits() / 8).unwrap_or(0);
            let mut host = vec![0; elements * size];
            swizzle.copy(&image, start..stop, &mut host).map(|()| host)
        })?;
        Ok(PyBytes::new(py, &host.map_err(to_py_err)?))
    }

    fn __repr__(&self) -> String {
        let layout = self.swizzle.layout();
        format!(
            "Layout({} x {} {}, {} units of {} lanes, {} DRAM rows)",
            layout.rows,
            layout.columns,
            layout.element,
            layout.units,
            layout.lanes,
            layout.end_row() - layout.first_row,
        )
    }
}

impl OndeviceLayout {
    fn element(&self, row: &Bound<'_, PyAny>, column: &Bound<'_, PyAny>) -> PyResult<(u64, u64)> {
        let (row, column) = (value::count("row", row)?, value::count("column", column)?);
        let (rows, columns) = self.shape();
        if row < rows && column < columns {
            return Ok((row, column));
        }
        Err(to_py_err(format!("element ({row}, {column}) is outside the {rows} x {columns} matrix")))
    }
}

#[pyfunction]
pub fn ondevice_layout(py: Python<'_>, parameters: &Bound<'_, PyDict>) -> PyResult<OndeviceLayout> {
    let parameters = value::parameters(parameters)?;
    let study: LayoutStudy = explore::read(&parameters).map_err(explore_error)?;
    let made = compute(py, move || {
        let (layout, map) = study.layout().map_err(|it| it.to_string())?;
        let swizzle = Swizzle::new(layout, &map, study.host_order).map_err(|it| it.to_string())?;
        Ok::<_, String>(OndeviceLayout { swizzle, map, parameters })
    })?;
    made.map_err(to_py_err)
}
