//! The paper's own estimates, Eq. 6 to 10: no waiting, no padding, no descriptors.

use crate::hardware::device::Device;
use crate::mapping::design::Design;

/// Bytes of A and B that a product reads from DRAM, and of C that it writes (Eq. 6 to 8).
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "sizes are limited to 2^31")]
pub fn dram_bytes(device: &Device, design: &Design, size: [u64; 3]) -> (f64, f64) {
    let [m, k, n] = size.map(|it| it as f64);
    let [native_m, _, native_n] = design.native(device).map(|it| it as f64);
    let (input, output) = (design.precision.input_bytes(), design.precision.output_bytes());
    let read = m * k * n * f64::from(input) * (1.0 / native_n + 1.0 / native_m);
    (read, m * n * f64::from(output))
}

/// The time that the cores take (Eq. 9).
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "sizes are limited to 2^31")]
pub fn compute_ns(device: &Device, macs_per_cycle: f64, size: [u64; 3]) -> f64 {
    let [m, k, n] = size.map(|it| it as f64);
    2.0 * m * k * n / device.tops(macs_per_cycle) * 1e-3
}

/// The time that DRAM takes, at the bandwidth of long runs (Eq. 10).
#[must_use]
pub fn memory_ns(device: &Device, design: &Design, size: [u64; 3]) -> f64 {
    let (read, write) = dram_bytes(device, design, size);
    (read + write) / device.dram.port_gb_s()
}
