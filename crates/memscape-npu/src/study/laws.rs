//! What the laws of several studies say, and what no product of matrices goes below.

use memscape_study::{Effect, When, either, faster, neutral, slower};

use crate::hardware::device::{Device, Mmul};
use crate::hardware::precision::Precision;

/// Of what the DRAM takes.
pub(super) const NO_ENERGY: &str = "no column is an energy";

/// Of a tile's dimensions.
pub(super) const TILE: &str = "a larger tile reads A or B less often; it pads more, leaves less for the others, and meets other banks of L1";

/// Of the step.
pub(super) const STEP: &str = "a longer step makes longer runs, pads K more and starts and ends more slowly";

/// Of rows and columns that work.
pub(super) const ROWS: &str =
    "more cores make a larger block of C, which reads A or B less often and pads M or N more";

/// Of where A lies.
pub(super) const STRIDE: &str = "it moves tiles of A between columns: where fewer stream A, each streams more of it, and needs more descriptors";

/// Of what moves buffers against banks.
pub(super) const BANKS: &str = "it decides which buffers of A and B share a bank of L1";

/// Of the instruction and its register block, where tiles are searched.
pub(super) const GRID: &str = "larger blocks keep more in registers and leave fewer tiles to choose from";

/// Of the instruction's sizes, where the tile is given.
pub(super) const WORDS: &str = "it multiplies more at once, but operands that are no whole numbers of what a port loads take one more load";

/// Where the instruction for integers works.
pub(super) const INT8: &[When] = &[When::is_not("precision", &["bf16-bf16"])];

/// Where the instruction for bf16 works.
pub(super) const BF16: &[When] = &[When::is("precision", &["bf16-bf16"])];

/// Where sums are rounded on their way out, which a pipeline does.
pub(super) const ROUNDED: &[When] = &[When::is_not("precision", &["int8-int32"])];

/// What more of a device does where designs are chosen for it.
pub(super) const DEVICE: &[Effect] = &[
    faster("bds_in_flight"),
    either("device.rows", ROWS),
    either("device.columns", ROWS),
    either("device.a_column_stride", STRIDE),
    faster("device.clock_mhz"),
    faster("device.l1_bytes"),
    either("device.l1_bank_bytes", BANKS),
    either("device.stack_bytes", BANKS),
    faster("device.l2_bytes"),
    faster("device.dma_bytes_per_cycle"),
    faster("device.port_bytes_per_cycle"),
    neutral("device.accumulator_bytes"),
    either("device.int8.*", GRID).only(INT8),
    slower("device.int8.conversions").only(INT8),
    either("device.bf16.*", GRID).only(BF16),
    slower("device.bf16.conversions").only(BF16),
    slower("device.pipeline_cycles").only(ROUNDED),
    neutral("device.memory_channels"),
    neutral("device.shim_bds"),
    slower("device.bd_cycles"),
    slower("device.dispatch_ns"),
    faster("device.dram.*"),
    slower("device.dram.run_bytes"),
    either("device.dram.line_bytes", LINES),
];

const LINES: &str = "a longer line brings more that nobody asked for, unless chunks are whole numbers of it";

/// How far the closed form may be from the events: few steps per block, where the
/// longest path zigzags between blocks.
pub(super) const ENGINES: f64 = 0.06;

/// What a product takes at least, whatever the design, in nanoseconds.
pub(super) struct Floors {
    /// Every multiply-accumulate at the instruction's rate, on all cores.
    pub(super) compute: f64,
    /// A and B once, at the bandwidth of the port.
    pub(super) read: f64,
    /// C once, at the bandwidth of the port.
    pub(super) write: f64,
    /// All three over the DRAM's bus.
    pub(super) bus: f64,
}

impl Floors {
    /// What a product takes at least: they may run at the same time.
    pub(super) const fn least(&self) -> f64 {
        self.compute.max(self.read).max(self.write).max(self.bus)
    }

    /// `weight_bytes`: what an element of B takes in DRAM, if not as many as it is multiplied with.
    #[expect(clippy::cast_precision_loss, reason = "sizes are limited to 2^31")]
    pub(super) fn of(
        device: &Device,
        mmul: Mmul,
        precision: Precision,
        size: [u64; 3],
        weight_bytes: Option<f64>,
    ) -> Self {
        let [m, k, n] = size.map(|it| it as f64);
        let cores = f64::from(device.rows.get()) * f64::from(device.columns.get());
        let macs_per_ns = f64::from(mmul.macs()) * cores * device.clock_mhz.as_f64() * 1e-3;
        let (input, output) = (f64::from(precision.input_bytes()), f64::from(precision.output_bytes()));
        let (inputs, outputs) = (m * k * input + k * n * weight_bytes.unwrap_or(input), m * n * output);
        let port = device.dram.read_gb_s.as_f64();
        Self {
            compute: m * k * n / macs_per_ns,
            read: inputs / port,
            write: outputs / port,
            bus: (inputs + outputs) / device.dram.bus_gb_s(),
        }
    }
}

/// L1 without the stack.
pub(super) fn l1_bytes(device: &Device) -> f64 {
    f64::from(device.l1_bytes.get().saturating_sub(device.stack_bytes))
}
