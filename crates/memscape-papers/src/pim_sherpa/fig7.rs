//! Fig. 7: what each thread does in one decoder layer with online rearrangement.

use memscape_explore::{Parameters, Table};
use memscape_plot::Figure;
use serde_json::json;

use super::layer;
use crate::error::Error;
use crate::sweeps::with;

pub fn table(changed: &Parameters) -> Result<Table, Error> {
    layer::table(&with(changed, [("scheme", json!("owr")), ("prompt_tokens", json!(128))]))
}

pub fn plot(table: &Table) -> Result<Figure, Error> {
    let caption = "The paper's figure is a sketch without times. Strong colours: what the \
                   others wait for. Dashed: threads are joined and started.";
    layer::plot(table, caption, 0.0, |it| it)
}
