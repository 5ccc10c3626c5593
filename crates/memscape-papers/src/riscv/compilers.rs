//! Figs. 5.7 and 5.8: prompt processing and token generation over threads by compiler,
//! policy base. The thesis' kernel is assembly, the same for all of them.

use memscape_explore::{Parameters, Table};
use memscape_plot::Figure;
use serde_json::json;

use super::common::{THREADS, compare, of_inference, threads_figure};
use crate::error::Error;
use crate::sweeps::with;

pub fn table(changed: &Parameters) -> Result<Table, Error> {
    let compilers =
        [("xuantie-gcc-10", "Xuantie GCC 10.4"), ("gcc-13", "GCC 13.2"), ("clang-19", "Clang 19")];
    let base = with(&of_inference(changed), [("policy", json!("base"))]);
    compare("riscv.inference", base, ("compiler", &compilers), &["threads"], &THREADS)
}

pub fn plot_prompt(table: &Table) -> Result<Figure, Error> {
    Ok(threads_figure(table, "prompt_tokens_per_s", "Prompt processing (tokens/s)")?.caption(CAPTION))
}

pub fn plot_generation(table: &Table) -> Result<Figure, Error> {
    Ok(threads_figure(table, "generation_tokens_per_s", "Token generation (tokens/s)")?.caption(CAPTION))
}

const CAPTION: &str =
    "The thesis' kernel is the same assembly in all; the compilers differ in llama.cpp's own code.";
