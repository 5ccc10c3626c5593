//! The same GEMV on the processor.

use memscape_units::{GbPerS, Nanoseconds};

use crate::hardware::Soc;
use crate::mapping::Plan;

/// The same GEMV on the processor: the slower of computing and reading.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "operations stay far below 2^53")]
pub fn soc_time(plan: &Plan, soc: &Soc, bandwidth: GbPerS) -> Nanoseconds {
    soc.gemv_time(plan.gemv.operations() as f64, plan.format.element_bits(), weight_bytes(plan), bandwidth)
}

/// Bytes of the weights, their scale factors included.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "bytes stay far below 2^53")]
pub fn weight_bytes(plan: &Plan) -> f64 {
    plan.gemv.weight_bytes(plan.format).0 as f64
}
