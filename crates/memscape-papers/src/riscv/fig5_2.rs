//! Fig. 5.2: OpenBLAS' SGEMM over threads, with NUMA balancing and without. The thesis
//! prints no number of it.

use memscape_explore::{Parameters, Table};
use serde_json::json;

use super::{THREADS, of_gemm, series, threads_figure};
use crate::error::Error;
use crate::plot::Figure;
use crate::sweeps::variant;

pub fn table(changed: &Parameters) -> Result<Table, Error> {
    let size = [("m", json!(4096)), ("k", json!(4096)), ("n", json!(4096))];
    let with = |name: &str, policy: &str| {
        let [m, k, n] = size.clone();
        variant(name, [m, k, n, ("policy", json!(policy))])
    };
    let variants = [with("Balancing", "base"), with("No balancing", "no-balancing")];
    series("riscv.gemm", &of_gemm(changed), &variants, &["threads"], &THREADS)
}

pub fn plot(table: &Table) -> Result<Figure, Error> {
    threads_figure(table, "gops", "Performance (GFLOPS)")
}
