//! The processor: it runs what PIM does not, and is what PIM is compared with.

use memscape_units::{GbPerS, Nanoseconds, Tops};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The processor that runs what PIM does not, and the baseline.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Soc {
    /// Peak compute rate for 8-bit operands; half of it for 16-bit, twice for 4-bit
    pub tops_8bit: Tops,
}

impl Soc {
    /// Time of a GEMV that reads `bytes` and computes `operations`: the slower of
    /// the two, at peak rates.
    ///
    /// # Panics
    /// If `bytes` is not finite or `element_bits` is 0.
    #[must_use]
    pub fn gemv_time(
        &self,
        operations: f64,
        element_bits: u64,
        bytes: f64,
        bandwidth: GbPerS,
    ) -> Nanoseconds {
        #[expect(clippy::cast_precision_loss, reason = "a width")]
        let compute = operations / (self.tops_8bit.as_f64() * 1e3 * 8.0 / element_bits as f64);
        let reading = bytes / bandwidth.as_f64();
        Nanoseconds::new(compute.max(reading)).expect("a quotient of finite positive numbers")
    }
}
