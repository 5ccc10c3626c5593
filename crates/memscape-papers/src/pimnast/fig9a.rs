//! Fig. 9(a): speedup with CR degree 1 and the largest.

use memscape_explore::{Parameters, Table};
use serde_json::json;

use super::common::suite;
use crate::error::Error;
use crate::sweeps::variant;

pub fn table(changed: &Parameters) -> Result<Table, Error> {
    suite(changed, &[variant("PIMnast", [("cr_degree", json!(1))]), variant("PIMnast-opt", [])])
}
