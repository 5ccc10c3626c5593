//! Fig. 5.3: a 4096 x 4096 matrix times N columns on one core.

use memscape_explore::{Parameters, Table};
use serde_json::json;

use super::{curves, of_gemm, of_kernel, series};
use crate::error::Error;
use crate::plot::{Axis, Figure, Lines};
use crate::sweeps::{concat, variant};

/// Numbers of columns; the thesis does not print its own.
const COLUMNS: [u64; 10] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];

pub fn table(changed: &Parameters) -> Result<Table, Error> {
    let kernel = |name: &str, kernel: &str| {
        variant(name, [("kernel", json!(kernel)), ("m", json!(4096)), ("k", json!(4096))])
    };
    let kernels = [kernel("Default", "default"), kernel("Vector", "vector"), kernel("Complex", "complex")];
    let gemm = |name: &str, quantisation: &str| {
        variant(name, [("quantisation", json!(quantisation)), ("m", json!(4096)), ("k", json!(4096))])
    };
    let gemms = [gemm("OpenBLAS, Q4_0", "q4_0"), gemm("OpenBLAS, f32", "f32")];
    let columns = ["series", "n", "gops", "time_ns"];
    let kernels = series("riscv.kernel", &of_kernel(changed), &kernels, &["n"], &COLUMNS)?;
    let gemms = series("riscv.gemm", &of_gemm(changed), &gemms, &["n"], &COLUMNS)?;
    concat([Ok(kernels.select(&columns)?), Ok(gemms.select(&columns)?)])
}

pub fn plot(table: &Table) -> Result<Figure, Error> {
    let lines = Lines::new(Axis::log2("Columns"), Axis::linear("Performance (GOPS)"));
    Ok(Figure::one_column().panel("", curves(table, "n", "gops", lines)?))
}
