//! Fig. 5.1: square SGEMM on one core, by LMUL, blocked, and OpenBLAS. The thesis prints
//! no number of it.

use memscape_explore::{Parameters, Table};
use memscape_plot::{Axis, Figure, Lines};
use serde_json::json;

use super::common::{curves, of_gemm, series};
use crate::error::Error;
use crate::sweeps::variant;

pub fn table(changed: &Parameters) -> Result<Table, Error> {
    let listing =
        |lmul: u32| variant(format!("LMUL {lmul}"), [("method", json!("listing")), ("lmul", json!(lmul))]);
    let variants = [
        listing(1),
        listing(2),
        listing(4),
        listing(8),
        variant("Blocked 16 × 16", [("method", json!("blocked")), ("lmul", json!(4))]),
        variant("OpenBLAS", [("method", json!("openblas"))]),
    ];
    let sizes = [32, 64, 128, 256, 512, 1024, 2048];
    series("riscv.gemm", &of_gemm(changed)?, &variants, &["m", "k", "n"], &sizes)
}

pub fn plot(table: &Table) -> Result<Figure, Error> {
    let lines = Lines::new(Axis::log2("Rows and columns"), Axis::linear("Performance (GFLOPS)"));
    Ok(Figure::two_columns().panel("", curves(table, "m", "gops", lines)?))
}
