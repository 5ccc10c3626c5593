//! Fig. 5.3: a 4096 x 4096 matrix times N columns on one core.

use memscape_explore::{Parameters, Table};
use memscape_plot::{Axis, Figure, Lines};
use serde_json::json;

use super::common::{compare, curves, of_gemm, of_kernel};
use crate::error::Error;
use crate::sweeps::{concat, with};

/// Numbers of columns; the thesis does not print its own.
/// OpenBLAS overtakes the thesis' kernel near the end.
const COLUMNS: [u64; 12] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048];

pub fn table(changed: &Parameters) -> Result<Table, Error> {
    let square = [("m", json!(4096)), ("k", json!(4096))];
    let kernels = [("default", "Default"), ("vector", "Vector"), ("complex", "Complex")];
    let stored = [("q4_0", "OpenBLAS, Q4_0"), ("fp32", "OpenBLAS, f32")];
    let base = with(&of_kernel(changed)?, square.clone());
    let kernels = compare("riscv.kernel", base, ("kernel", &kernels), &["n"], &COLUMNS)?;
    let base = with(&of_gemm(changed)?, square);
    let gemms = compare("riscv.gemm", base, ("format", &stored), &["n"], &COLUMNS)?;
    let columns = ["series", "n", "gops", "time_ns"];
    concat([Ok(kernels.select(&columns)?), Ok(gemms.select(&columns)?)])
}

pub fn plot(table: &Table) -> Result<Figure, Error> {
    let lines = Lines::new(Axis::log2("Columns"), Axis::linear("Performance (GOPS)"));
    Ok(Figure::one_column().panel("", curves(table, "n", "gops", lines)?))
}
