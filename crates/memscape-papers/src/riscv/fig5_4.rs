//! Fig. 5.4: a square matrix times one vector on one core.

use memscape_explore::{Parameters, Table};
use memscape_plot::{Axis, Figure, Lines};
use serde_json::json;

use super::common::{compare, curves, of_gemm, of_kernel};
use crate::error::Error;
use crate::sweeps::{concat, with};

/// Rows and columns; the thesis prints 2048 alone.
const SIZES: [u64; 5] = [1024, 2048, 4096, 8192, 16384];

pub fn table(changed: &Parameters) -> Result<Table, Error> {
    let kernels = [("default", "Default"), ("vector", "Vector"), ("complex", "Complex")];
    let methods = [("openblas-gemv", "OpenBLAS SGEMV"), ("openblas", "OpenBLAS SGEMM")];
    let kernels = compare("riscv.kernel", of_kernel(changed)?, ("kernel", &kernels), &["m", "k"], &SIZES)?;
    let base = with(&of_gemm(changed)?, [("n", json!(1))]);
    let gemms = compare("riscv.gemm", base, ("method", &methods), &["m", "k"], &SIZES)?;
    let columns = ["series", "m", "gops", "time_ns"];
    concat([Ok(kernels.select(&columns)?), Ok(gemms.select(&columns)?)])
}

pub fn plot(table: &Table) -> Result<Figure, Error> {
    let lines = Lines::new(Axis::log2("Rows and columns"), Axis::linear("Performance (GOPS)"));
    Ok(Figure::one_column().panel("", curves(table, "m", "gops", lines)?))
}
