//! Figs. 5.7 and 5.8: what if a compiler's code took more cycles. The thesis draws four
//! compilers, but prints no number that tells them apart, so these curves are no
//! compiler's; only factor 1 is Clang 19, as in Figs. 5.9 to 5.11.

use memscape_explore::{Parameters, Table};
use memscape_plot::Figure;
use serde_json::json;

use super::common::{THREADS, series, threads_figure};
use crate::error::Error;
use crate::sweeps::variant;

pub fn table(changed: &Parameters) -> Result<Table, Error> {
    let factor = |factor: f64| {
        variant(
            format!("{factor} × the cycles"),
            [("compiler_factor", json!(factor)), ("policy", json!("base"))],
        )
    };
    series(
        "riscv.inference",
        changed,
        &[factor(1.0), factor(1.25), factor(1.5), factor(2.0)],
        &["threads"],
        &THREADS,
    )
}

pub fn plot_prompt(table: &Table) -> Result<Figure, Error> {
    Ok(threads_figure(table, "prompt_tokens_per_s", "Prompt processing (tokens/s)")?.caption(CAPTION))
}

pub fn plot_generation(table: &Table) -> Result<Figure, Error> {
    Ok(threads_figure(table, "generation_tokens_per_s", "Token generation (tokens/s)")?.caption(CAPTION))
}

const CAPTION: &str = "A what-if, not a result: factors on the cycles of the kernels' code. No printed number \
                       says which factor is which compiler's.";
