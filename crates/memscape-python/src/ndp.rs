//! Traces and partitions themselves, below the `ndp` studies.

use memscape::explore;
use memscape::ndp::PartitionStudy;
use memscape::ndp::activity::{Recording, register};
use memscape::ndp::partition::{Block, Devices, Partition, Sizes, solve};
use memscape::study::File;
use memscape::units::Nanoseconds;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::compute::compute;
use crate::error::to_py_err;
use crate::pickle::function;
use crate::{explore_error, value};

/// Where each neuron lies: 0 is the GPU, the DIMMs follow.
#[pyclass(frozen, eq, module = "memscape._memscape")]
#[derive(PartialEq)]
pub struct NdpPartition(Partition);

/// Devices of each block's neurons, bytes of each device, objective and lower bound (ns).
type Placed = (Vec<Vec<u16>>, Vec<f64>, f64, f64);

/// A partition that was pickled.
#[pyfunction]
pub fn ndp_placed(
    device: Vec<Vec<u16>>,
    bytes: Vec<f64>,
    objective_ns: f64,
    lower_bound_ns: f64,
) -> PyResult<NdpPartition> {
    let time = |ns: f64| Nanoseconds::new(ns).map_err(to_py_err);
    let (objective, lower_bound) = (time(objective_ns)?, time(lower_bound_ns)?);
    Ok(NdpPartition(Partition { device, objective, lower_bound, bytes }))
}

#[pymethods]
impl NdpPartition {
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Placed)> {
        let Partition { device, objective, lower_bound, bytes } = self.0.clone();
        Ok((function(py, "ndp_placed")?, (device, bytes, objective.as_f64(), lower_bound.as_f64())))
    }

    #[getter]
    fn objective_ms(&self) -> f64 {
        self.0.objective.as_f64() * 1e-6
    }

    #[getter]
    fn lower_bound_ms(&self) -> f64 {
        self.0.lower_bound.as_f64() * 1e-6
    }

    #[getter]
    fn gap(&self) -> f64 {
        self.0.gap()
    }

    #[getter]
    fn bytes(&self) -> Vec<f64> {
        self.0.bytes.clone()
    }

    #[getter]
    fn blocks(&self) -> usize {
        self.0.device.len()
    }

    /// Device of each neuron of one block.
    fn device(&self, block: &Bound<'_, PyAny>) -> PyResult<Vec<u16>> {
        let block = value::count("block", block)?;
        usize::try_from(block).ok().and_then(|it| self.0.device.get(it)).cloned().ok_or_else(|| {
            to_py_err(format!("block {block} of {}; blocks are counted from 0", self.0.device.len()))
        })
    }

    fn __repr__(&self) -> String {
        let neurons: usize = self.0.device.iter().map(Vec::len).sum();
        let hot = self.0.device.iter().flatten().filter(|it| **it == 0).count();
        format!(
            "Partition({hot} of {neurons} neurons on the GPU, {} DIMMs, {:.6} ms, at most {:.4} % above the optimum)",
            self.0.bytes.len() - 1,
            self.0.objective.as_f64() * 1e-6,
            self.0.gap() * 100.0,
        )
    }
}

#[pyfunction]
pub fn ndp_partition(py: Python<'_>, parameters: &Bound<'_, PyDict>) -> PyResult<NdpPartition> {
    let study: PartitionStudy = explore::read(&value::parameters(parameters)?).map_err(explore_error)?;
    compute(py, move || study.partition())?.map(NdpPartition).map_err(to_py_err)
}

/// Rows are blocks, columns neurons; the first device is the GPU.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "Python hands over what it converts")]
pub fn ndp_solve(
    py: Python<'_>,
    size_bytes: Vec<Vec<f64>>,
    frequency: Vec<Vec<f32>>,
    bandwidth: Vec<f64>,
    capacity: Vec<f64>,
) -> PyResult<NdpPartition> {
    let (Some((gpu_bandwidth, dimm_bandwidth)), Some((gpu_capacity, dimm_capacity))) =
        (bandwidth.split_first(), capacity.split_first())
    else {
        return Err(to_py_err("`bandwidth` and `capacity` need one number for the GPU and one per DIMM"));
    };
    if size_bytes.len() != frequency.len() {
        return Err(to_py_err(format!(
            "{} rows of sizes but {} of frequencies; give one of each per block",
            size_bytes.len(),
            frequency.len()
        )));
    }
    let devices = Devices {
        gpu_multiplies: f64::INFINITY,
        dimm_multiplies: f64::INFINITY,
        gpu_bandwidth: *gpu_bandwidth,
        gpu_capacity: *gpu_capacity,
        dimm_bandwidth: dimm_bandwidth.to_vec(),
        dimm_capacity: dimm_capacity.to_vec(),
    };
    let solved = compute(py, move || {
        let block = |(bytes, frequency)| Block {
            bytes: Sizes::Each(bytes),
            frequency,
            multiplied: None,
            gpu_fixed: Nanoseconds::ZERO,
        };
        let rows = size_bytes.iter().map(Vec::as_slice).zip(frequency.iter().map(Vec::as_slice));
        solve(&rows.map(block).collect::<Vec<_>>(), &devices)
    })?;
    solved.map(NdpPartition).map_err(to_py_err)
}

/// Makes a recording known by its name; returns what it is in one line. Files are
/// names and contents, one sequence each.
#[pyfunction]
pub fn ndp_add_recording(
    py: Python<'_>,
    name: String,
    sequences: Vec<(String, Vec<u8>)>,
    profile: Option<(String, Vec<u8>)>,
) -> PyResult<String> {
    let file = |(name, bytes): (String, Vec<u8>)| File { name, bytes };
    let (sequences, profile): (Vec<File>, Option<File>) =
        (sequences.into_iter().map(file).collect(), profile.map(file));
    let kept = compute(py, move || {
        let sequences: Vec<&File> = sequences.iter().collect();
        let recording = Recording::from_files(&name, &sequences, profile.as_ref());
        let kept = register(recording.map_err(|it| it.to_string())?).map_err(|it| it.to_string())?;
        Ok::<_, String>(format!("{name}: {}", kept.summary()))
    })?;
    kept.map_err(to_py_err)
}
