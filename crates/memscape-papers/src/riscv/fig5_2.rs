//! Fig. 5.2: OpenBLAS' SGEMM over threads, with NUMA balancing and without. The thesis
//! prints no number of it.

use memscape_explore::{Parameters, Table};
use memscape_plot::Figure;
use serde_json::json;

use super::common::{THREADS, compare, of_gemm, threads_figure, with};
use crate::error::Error;

pub fn table(changed: &Parameters) -> Result<Table, Error> {
    let base = with(&of_gemm(changed)?, [("m", json!(4096)), ("k", json!(4096)), ("n", json!(4096))]);
    let policies = [("base", "Balancing"), ("no-balancing", "No balancing")];
    compare("riscv.gemm", base, ("policy", &policies), &["threads"], &THREADS)
}

pub fn plot(table: &Table) -> Result<Figure, Error> {
    threads_figure(table, "gops", "Performance (GFLOPS)")
}
