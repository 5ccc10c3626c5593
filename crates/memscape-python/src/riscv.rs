//! Census, quantised blocks and kernels, below the studies `riscv.*`.

use memscape::explore;
use memscape::riscv::census::{Census, Observed, Operand, Shape};
use memscape::riscv::quant::{
    BLOCK, Q8_0_BYTES, dequantise_q4_0, dequantise_q8_0, matrix_bytes, quantise_q4_0, quantise_q8_0,
};
use memscape::riscv::vector::Counts;
use memscape::riscv::{CensusStudy, KernelStudy};
use memscape::workload::GgmlType;
use memscape::{Runs, explain_census};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::compute::compute;
use crate::error::to_py_err;
use crate::{explore_error, value};

/// Shared dimension, result's dimensions, first operand, count.
type Row = (u64, u64, u64, &'static str, u64);

#[pyfunction]
pub fn riscv_census(py: Python<'_>, parameters: &Bound<'_, PyDict>) -> PyResult<Vec<Row>> {
    let study: CensusStudy = explore::read(&value::parameters(parameters)?).map_err(explore_error)?;
    study.check().map_err(to_py_err)?;
    let census = compute(py, move || Census::of(&study.model, study.projections, &study.run()))?;
    let mut rows: Vec<_> = census
        .rows()
        .map(|(shape, operand, count)| {
            let operand = match operand {
                Operand::Weights => "weights",
                Operand::Cache => "cache",
            };
            (shape.shared, shape.dst0, shape.dst1, operand, count)
        })
        .collect();
    rows.sort_by_key(|it| std::cmp::Reverse(it.4));
    Ok(rows)
}

/// Ranges are closed; returns repetitions, prompt and generated tokens.
#[pyfunction]
pub fn riscv_explain(
    py: Python<'_>,
    counts: Vec<(u64, u64, u64, u64)>,
    parameters: &Bound<'_, PyDict>,
    repetitions: (u32, u32),
    prompt_tokens: (u64, u64),
    generated_tokens: (u64, u64),
) -> PyResult<Vec<(u32, u64, u64)>> {
    let study: CensusStudy = explore::read(&value::parameters(parameters)?).map_err(explore_error)?;
    if generated_tokens.1.max(prompt_tokens.1) > 1 << 24 {
        return Err(to_py_err("a run of over 2^24 tokens is not searched; narrow the ranges"));
    }
    study.check().map_err(to_py_err)?;
    let observed = Observed {
        model: *study.model,
        projections: study.projections,
        counts: counts
            .into_iter()
            .map(|(shared, dst0, dst1, count)| (Shape { shared, dst0, dst1 }, count))
            .collect(),
    };
    let runs = Runs {
        repetitions: repetitions.0..=repetitions.1,
        prompt_tokens: prompt_tokens.0..=prompt_tokens.1,
        generated_tokens: generated_tokens.0..=generated_tokens.1,
        warm_up_tokens: study.warm_up_tokens,
        kv_padding: study.kv_padding,
        ubatch_tokens: study.ubatch_tokens,
        output_rows: study.output_rows,
    };
    let found = compute(py, move || explain_census(&observed, &runs))?.map_err(to_py_err)?;
    let plain =
        found.iter().map(|it| (it.repetitions.get(), it.prompt_tokens.get(), it.generated_tokens.get()));
    Ok(plain.collect())
}

fn block_format(name: &str) -> PyResult<GgmlType> {
    match name.parse() {
        Ok(kind @ (GgmlType::Q4_0 | GgmlType::Q8_0)) => Ok(kind),
        _ => Err(to_py_err(format!("`{name}` has no blocks; allowed are \"q4_0\", \"q8_0\""))),
    }
}

#[pyfunction]
pub fn riscv_quantise<'py>(py: Python<'py>, kind: &str, weights: Vec<f32>) -> PyResult<Bound<'py, PyBytes>> {
    let format = block_format(kind)?;
    let bytes = compute(py, move || match format {
        GgmlType::Q4_0 => quantise_q4_0(&weights),
        _ => quantise_q8_0(&weights),
    })?;
    Ok(PyBytes::new(py, &bytes.map_err(to_py_err)?))
}

#[pyfunction]
pub fn riscv_dequantise(py: Python<'_>, kind: &str, data: Vec<u8>) -> PyResult<Vec<f32>> {
    let format = block_format(kind)?;
    let weights = compute(py, move || match format {
        GgmlType::Q4_0 => dequantise_q4_0(&data),
        _ => dequantise_q8_0(&data),
    })?;
    weights.map_err(to_py_err)
}

/// Results column by column, and named counts.
type Executed = (Vec<f32>, Vec<(&'static str, u64)>);

/// Executes a kernel on the vector machine: results column by column, and counts.
#[pyfunction]
pub fn riscv_multiply(
    py: Python<'_>,
    parameters: &Bound<'_, PyDict>,
    weights: Vec<u8>,
    vectors: Vec<u8>,
    columns: usize,
) -> PyResult<Executed> {
    let study: KernelStudy = explore::read(&value::parameters(parameters)?).map_err(explore_error)?;
    if columns == 0 || !columns.is_multiple_of(BLOCK) {
        return Err(to_py_err(format!(
            "rows of {columns} weights are no whole blocks; use a multiple of 32"
        )));
    }
    let blocks = columns / BLOCK;
    let row_bytes = usize::try_from(matrix_bytes(1, columns as u64, study.format)).unwrap_or(usize::MAX);
    if vectors.len() < blocks * Q8_0_BYTES {
        return Err(to_py_err(format!("the vectors have {} bytes, fewer than one row takes", vectors.len())));
    }
    let rows = weights.len() / row_bytes;
    let computed = compute(py, move || study.code().multiply(&weights, &vectors, rows, blocks))?;
    let (results, counts) = computed.map_err(to_py_err)?;
    Ok((results, named(&counts)))
}

fn named(counts: &Counts) -> Vec<(&'static str, u64)> {
    vec![
        ("instructions", counts.instructions()),
        ("vector_instructions", counts.vector_instructions()),
        ("vset", counts.vset),
        ("scalar", counts.scalar),
        ("scalar_loads", counts.scalar_loads),
        ("scalar_stores", counts.scalar_stores),
        ("vector_loads", counts.vector_loads),
        ("vector_stores", counts.vector_stores),
        ("weight_bytes", counts.weight_bytes),
        ("activation_bytes", counts.activation_bytes),
    ]
}
