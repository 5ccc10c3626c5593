//! Fig. 11: speedup over the width of weights and inputs.

use memscape_explore::{Parameters, Table};
use serde_json::json;

use super::common::suite;
use crate::error::Error;
use crate::sweeps::variant;

pub fn table(changed: &Parameters) -> Result<Table, Error> {
    let format = |name: &str, format: &str| variant(name, [("format", json!(format))]);
    suite(changed, &[format("4b", "int4"), format("8b", "int8"), format("16b", "fp16")])
}
