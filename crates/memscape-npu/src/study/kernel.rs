//! The study `npu.kernel`: one core and one tile.

use std::num::NonZeroU16;

use memscape_study::{Aim, Bound, Laws, Slot, Study, StudyError, either, faster, neutral, slower, unused};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cost::kernel::{Kernel, KernelBound};
use crate::hardware::device::Device;
use crate::hardware::precision::Precision;
use crate::mapping::tile::{L1Rule, L1Use, OutputBuffers, Tile};
use crate::study::gemm::GemmStudy;
use crate::study::{laws, slots};

/// One core of an NPU multiplying one tile of A with one of B.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KernelStudy {
    /// The NPU
    pub device: Device,
    /// Types of inputs and output: `int8-int8`, `int8-int16`, `int8-int32`, `bf16-bf16`
    pub precision: Precision,
    /// Rows of A and C in L1
    pub m_ct: NonZeroU16,
    /// Columns of A and rows of B in L1
    pub k_ct: NonZeroU16,
    /// Columns of B and C in L1
    pub n_ct: NonZeroU16,
    /// Buffers of C in L1
    pub output_buffers: OutputBuffers,
    /// Whether buffers may fill L1 to the last byte
    pub l1_rule: L1Rule,
}

/// What `npu.kernel` answers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct KernelAnswer {
    /// Throughput of the core in multiply-accumulates per cycle
    pub macs_per_cycle: f64,
    /// Throughput over the instruction's peak
    pub efficiency: f64,
    /// What bounds it
    pub bound: KernelBound,
    /// Cycles of one call
    pub cycles: f64,
    /// Issue slots of the products, or of the conversions or loads that they wait for
    pub issue_cycles: f64,
    /// Loads of A and B that wait for each other, as L1 has both in one bank
    pub conflict_cycles: f64,
    /// Software pipelines filling and draining
    pub fill_cycles: f64,
    /// Loading and storing sums
    pub sum_cycles: f64,
    /// Waiting for the DMA
    pub dma_wait_cycles: f64,
    /// The DMA's time for the next tile of A
    pub dma_a_cycles: f64,
    /// The DMA's time for the next tile of B
    pub dma_b_cycles: f64,
    /// Multiply-accumulates of one call
    pub macs: f64,
    /// Elements of C
    pub outputs: u64,
    /// Throughput of the array if all cores run at this pace
    pub peak_tops: f64,
    /// Both buffers of A in L1
    pub l1_a_bytes: u64,
    /// Both buffers of B in L1
    pub l1_b_bytes: u64,
    /// Buffers of C in L1
    pub l1_c_bytes: u64,
    /// All buffers in L1, without the stack
    pub l1_bytes: u64,
    /// Share of L1 that the buffers take
    pub l1_share: f64,
    /// Zeroing a tile of C over one call
    pub zero_share: f64,
    /// Share of the core's accumulators that a register block takes
    pub accumulator_share: f64,
}

impl Default for KernelStudy {
    /// The balanced int8 kernel of XDNA.
    fn default() -> Self {
        let GemmStudy { device, precision, m_ct, k_ct, n_ct, output_buffers, l1_rule, .. } =
            GemmStudy::default();
        Self { device, precision, m_ct, k_ct, n_ct, output_buffers, l1_rule }
    }
}

impl KernelStudy {
    /// The answer for a kernel, whoever chose it.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "bytes of L1")]
    pub(crate) fn describe(
        device: &Device,
        precision: Precision,
        output_buffers: OutputBuffers,
        kernel: &Kernel,
    ) -> KernelAnswer {
        let l1 = L1Use::of(kernel.tile, precision, output_buffers);
        let outputs = kernel.tile.outputs();
        let zero = outputs as f64 * f64::from(precision.output_bytes())
            / f64::from(device.port_bytes_per_cycle.get());
        KernelAnswer {
            macs_per_cycle: kernel.macs_per_cycle(),
            efficiency: kernel.efficiency(),
            bound: kernel.bound(),
            cycles: kernel.call().as_f64(),
            issue_cycles: kernel.issue.as_f64(),
            conflict_cycles: kernel.conflicts.as_f64(),
            fill_cycles: kernel.fill.as_f64(),
            sum_cycles: kernel.sums.as_f64(),
            dma_wait_cycles: kernel.dma_wait().as_f64(),
            dma_a_cycles: kernel.dma_a.as_f64(),
            dma_b_cycles: kernel.dma_b.as_f64(),
            macs: kernel.tile.macs(),
            outputs,
            peak_tops: device.tops(kernel.macs_per_cycle()),
            l1_a_bytes: l1.a,
            l1_b_bytes: l1.b,
            l1_c_bytes: l1.c,
            l1_bytes: l1.total(),
            l1_share: l1.total() as f64 / f64::from(device.l1_bytes.get()),
            zero_share: zero / kernel.call().as_f64(),
            accumulator_share: device.accumulator_share(&kernel.mmul),
        }
    }
}

impl Study for KernelStudy {
    const NAME: &'static str = "npu.kernel";
    const SUMMARY: &'static str = "One core of a Ryzen AI NPU: throughput of a kernel and its use of L1";
    type Answer = KernelAnswer;

    const SUMS: &'static [(&'static str, &'static [&'static str])] = &[
        ("cycles", &["issue_cycles", "conflict_cycles", "fill_cycles", "sum_cycles", "dma_wait_cycles"]),
        ("l1_bytes", &["l1_a_bytes", "l1_b_bytes", "l1_c_bytes"]),
    ];

    const LAWS: Laws = Laws {
        aim: Some(Aim::more("peak_tops")),
        effects: &[&[
            either("m_ct", laws::TILE),
            either("k_ct", laws::TILE),
            either("n_ct", laws::TILE),
            faster("device.rows"),
            faster("device.columns"),
            faster("device.clock_mhz"),
            neutral("device.l1_bytes"),
            either("device.l1_bank_bytes", laws::BANKS),
            either("device.stack_bytes", laws::BANKS),
            faster("device.dma_bytes_per_cycle"),
            faster("device.port_bytes_per_cycle"),
            neutral("device.accumulator_bytes"),
            faster("device.int8.*").only(laws::INT8),
            either("device.int8.r", laws::WORDS).only(laws::INT8),
            either("device.int8.s", laws::WORDS).only(laws::INT8),
            either("device.int8.t", laws::WORDS).only(laws::INT8),
            slower("device.int8.conversions").only(laws::INT8),
            faster("device.bf16.*").only(laws::BF16),
            either("device.bf16.r", laws::WORDS).only(laws::BF16),
            either("device.bf16.s", laws::WORDS).only(laws::BF16),
            either("device.bf16.t", laws::WORDS).only(laws::BF16),
            slower("device.bf16.conversions").only(laws::BF16),
            slower("device.pipeline_cycles").only(laws::ROUNDED),
            unused("device.*", "one core works on what L1 has already"),
        ]],
        ..Laws::NONE
    };

    fn answer(&self) -> Result<KernelAnswer, StudyError> {
        let tile = Tile::of(self.m_ct, self.k_ct, self.n_ct);
        let kernel = Kernel::new(&self.device, self.precision, tile, self.output_buffers)?;
        tile.check_l1(&self.device, self.precision, self.output_buffers, self.l1_rule)?;
        Ok(Self::describe(&self.device, self.precision, self.output_buffers, &kernel))
    }

    fn bounds(&self) -> Vec<Bound> {
        let Ok(mmul) = self.device.mmul(self.precision) else { return Vec::new() };
        let tile = Tile::of(self.m_ct, self.k_ct, self.n_ct);
        let products = tile.macs() / f64::from(mmul.macs());
        let a = f64::from(tile.m) * f64::from(tile.k) * f64::from(self.precision.input_bytes());
        let dma = f64::from(self.device.dma_bytes_per_cycle.get());
        vec![
            Bound::at_least("cycles", products, "one product a cycle"),
            Bound::at_least("cycles", a / dma, "the next A through its DMA channel"),
            Bound::at_most("l1_bytes", laws::l1_bytes(&self.device), "L1 without the stack"),
        ]
    }

    fn slots() -> Vec<Slot> {
        vec![slots::design(), slots::device()]
    }
}
