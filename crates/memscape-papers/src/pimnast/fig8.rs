//! Fig. 8: speedup over the registers that hold inputs, and column-major order.

use memscape_explore::{Parameters, Table};
use serde_json::json;

use super::common::suite;
use crate::error::Error;
use crate::sweeps::variant;

pub fn table(changed: &Parameters) -> Result<Table, Error> {
    let registers = |count: u32| {
        variant(
            format!("#in-reg = {count}"),
            [("pim.input_registers", json!(count)), ("cr_degree", json!(1))],
        )
    };
    let column_major = variant("col-major", [("placement", json!("column-major"))]);
    suite(changed, &[column_major, registers(2), registers(8), registers(14)])
}
