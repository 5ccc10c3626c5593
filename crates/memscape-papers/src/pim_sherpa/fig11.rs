//! Fig. 11: what each thread does in one decoder layer with double buffering.

use memscape_explore::{Parameters, Table};
use memscape_plot::Figure;
use serde_json::json;

use super::layer;
use crate::error::Error;
use crate::sweeps::with;

/// The longer of the two layers: both figures have one axis.
const UNTIL_MS: f64 = 165.0;

pub fn table_64(changed: &Parameters) -> Result<Table, Error> {
    layer::table(&with(changed, [("prompt_tokens", json!(64))]))
}

pub fn table_128(changed: &Parameters) -> Result<Table, Error> {
    layer::table(&with(changed, [("prompt_tokens", json!(128))]))
}

pub fn plot(table: &Table) -> Result<Figure, Error> {
    let caption = "Strong colours: what the others wait for. Dashed: all threads meet. A copy's name is what it brings: \
                   quarters of FF0 beside Q, K, V and O, else the next matrix. The operating system's delays are not \
                   modelled.";
    layer::plot(table, caption, UNTIL_MS, beside)
}

/// What is copied beside the GEMM of a matrix: buffers hold those of attention together.
fn beside(matrix: &str) -> &str {
    match matrix {
        "q" | "k" | "v" | "out" => "gate",
        "gate" => "up",
        "up" => "down",
        "down" => "q–o",
        other => other,
    }
}
