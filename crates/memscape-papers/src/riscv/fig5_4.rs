//! Fig. 5.4: a square matrix times one vector on one core.

use memscape_explore::{Parameters, Table};
use serde_json::json;

use super::{curves, of_gemm, of_kernel, series};
use crate::error::Error;
use crate::plot::{Axis, Figure, Lines};
use crate::sweeps::{concat, variant};

/// Rows and columns; the thesis prints 2048 alone.
const SIZES: [u64; 5] = [1024, 2048, 4096, 8192, 16384];

pub fn table(changed: &Parameters) -> Result<Table, Error> {
    let kernel = |name: &str, kernel: &str| variant(name, [("kernel", json!(kernel))]);
    let kernels = [kernel("Default", "default"), kernel("Vector", "vector"), kernel("Complex", "complex")];
    let gemm = |name: &str, method: &str| variant(name, [("method", json!(method)), ("n", json!(1))]);
    let gemms = [gemm("OpenBLAS SGEMV", "openblas-gemv"), gemm("OpenBLAS SGEMM", "openblas")];
    let columns = ["series", "m", "gops", "time_ns"];
    let kernels = series("riscv.kernel", &of_kernel(changed), &kernels, &["m", "k"], &SIZES)?;
    let gemms = series("riscv.gemm", &of_gemm(changed), &gemms, &["m", "k"], &SIZES)?;
    concat([Ok(kernels.select(&columns)?), Ok(gemms.select(&columns)?)])
}

pub fn plot(table: &Table) -> Result<Figure, Error> {
    let lines = Lines::new(Axis::log2("Rows and columns"), Axis::linear("Performance (GOPS)"));
    Ok(Figure::one_column().panel("", curves(table, "m", "gops", lines)?))
}
