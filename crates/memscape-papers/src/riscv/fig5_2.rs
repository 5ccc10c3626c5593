//! Fig. 5.2: OpenBLAS' SGEMM over threads, with NUMA balancing and without. The thesis
//! prints no number of it.

use memscape_explore::{Parameters, Table};
use memscape_plot::{Axis, Figure, Lines};
use serde_json::json;

use super::common::{THREADS, compare, curves, of_gemm};
use crate::error::Error;
use crate::sweeps::with;

pub fn table(changed: &Parameters) -> Result<Table, Error> {
    let base = with(&of_gemm(changed)?, [("m", json!(4096)), ("k", json!(4096)), ("n", json!(4096))]);
    let policies = [("base", "Balancing"), ("no-balancing", "No balancing")];
    compare("riscv.gemm", base, ("policy", &policies), &["threads"], &THREADS)
}

#[expect(clippy::cast_precision_loss, reason = "a few threads")]
pub fn plot(table: &Table) -> Result<Figure, Error> {
    let one = table.filter("series", "No balancing")?.f64("gops")?.first().copied().flatten();
    let ideal = THREADS.iter().map(|it| *it as f64).map(|threads| (threads, one.map(|one| one * threads)));
    let threads = Axis::log2("Threads").marks(THREADS.map(|it| it as f64));
    let lines = curves(table, "threads", "gops", Lines::new(threads, Axis::log10("Performance (GFLOPS)")))?;
    Ok(Figure::one_column().panel("", lines.bound("Ideal", ideal)))
}
