//! Fig. 11: what each thread does in one decoder layer with double buffering.

use memscape_explore::{Parameters, Table};
use memscape_plot::Figure;

use super::common::with;
use super::layer;
use crate::error::Error;

pub fn table_64(changed: &Parameters) -> Result<Table, Error> {
    layer::table(&with(changed, "prompt_tokens", 64))
}

pub fn table_128(changed: &Parameters) -> Result<Table, Error> {
    layer::table(&with(changed, "prompt_tokens", 128))
}

pub fn plot(table: &Table) -> Result<Figure, Error> {
    let caption = "Strong colours: what the others wait for. Dashed: all threads meet. The operating system's delays \
                   are not modelled.";
    layer::plot(table, caption)
}
