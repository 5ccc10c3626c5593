//! The processor: it runs what PIM does not, and is what PIM is compared with.

use memscape_units::{GbPerS, Nanoseconds, Tops};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The processor that runs what PIM does not, and the baseline.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Soc {
    /// Peak compute rate for 8-bit operands; half of it for 16-bit, twice for 4-bit, which is the narrowest
    #[schemars(extend("unit" = "TOPS"))]
    pub tops_8bit: Tops,
}

/// Bits of the narrowest operands that a processor multiplies.
const NARROWEST_BITS: u64 = 4;

impl Soc {
    /// Time of a GEMV that reads `bytes` and computes `operations`: the slower of
    /// the two, at peak rates. Operands of other widths are multiplied as the next that there is: 4, 8, 16, ...
    ///
    /// # Panics
    /// If `bytes` is not finite.
    #[must_use]
    pub fn gemv_time(
        &self,
        operations: f64,
        element_bits: u64,
        bytes: f64,
        bandwidth: GbPerS,
    ) -> Nanoseconds {
        #[expect(clippy::cast_precision_loss, reason = "a width")]
        let width = element_bits.max(NARROWEST_BITS).next_power_of_two() as f64;
        let compute = operations / (self.tops_8bit.as_f64() * 1e3 * 8.0 / width);
        let reading = bytes / bandwidth.as_f64();
        Nanoseconds::new(compute.max(reading)).expect("a quotient of finite positive numbers")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operands_are_as_wide_as_the_processor_has_them() {
        let soc = Soc { tops_8bit: Tops::new(10.0).unwrap() };
        let time = |bits| soc.gemv_time(1e7, bits, 0.0, GbPerS::new(1.0).unwrap()).as_f64();
        let times = [1, 4, 5, 8, 16, 17, 32].map(time);
        for (time, expected) in times.iter().zip([500.0, 500.0, 1000.0, 1000.0, 2000.0, 4000.0, 4000.0]) {
            assert!((time / expected - 1.0).abs() < 1e-12, "{times:?}");
        }
    }
}
