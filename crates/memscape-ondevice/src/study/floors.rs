//! What no answer can be below or above, from descriptions alone.

use memscape_dram::Dram;
use memscape_study::Bound;
use memscape_workload::{Format, Llm};

use crate::hardware::{Cpu, PimBlocks};
use crate::mapping::Scheme;

/// A prompt on a phone.
pub(super) struct Floor<'a> {
    pub model: &'a Llm,
    pub layers: u64,
    pub format: Format,
    pub cpu: &'a Cpu,
    pub memory: &'a Dram,
}

#[expect(clippy::cast_precision_loss, reason = "floors")]
impl Floor<'_> {
    fn parameters(&self) -> f64 {
        self.model.layer_matrix_parameters() as f64 * self.layers as f64
    }

    fn read_s(&self) -> f64 {
        let bytes = self.parameters() * self.format.bits_per_element() / 8.0;
        bytes / self.memory.peak_gb_s().as_f64() * 1e-9
    }

    /// Of the time of `times` prompts of `tokens`, which read weights together.
    pub(super) fn prompt(&self, tokens: u64, times: u64, column: &'static str) -> Vec<Bound> {
        let computed = 2.0 * self.parameters() * tokens as f64 / self.cpu.gemm_peak_gflops() * 1e-9;
        let times = times as f64;
        vec![
            Bound::at_least(
                column,
                times * computed,
                "operations of the linear layers over the peaks of GEMM threads",
            ),
            Bound::at_least(column, self.read_s(), "weights of the layers over the channels' peak"),
        ]
    }

    /// Of the time of the copies of a scheme.
    pub(super) fn copies(&self, scheme: Scheme, column: &'static str) -> Vec<Bound> {
        let transactions = f64::from(self.cpu.copy_transactions.get());
        let why = "transactions of the copies over the channels' peak";
        match scheme {
            Scheme::Ddb | Scheme::Owr => vec![Bound::at_least(column, transactions * self.read_s(), why)],
            _ => Vec::new(),
        }
    }
}

/// So many bytes of weights, a burst for each PIM block at a time.
#[expect(clippy::cast_precision_loss, reason = "few banks")]
pub(super) fn on_blocks_ns(bytes: f64, memory: &Dram, pim: &PimBlocks) -> f64 {
    let blocks = memory.total_banks() as f64 / f64::from(pim.banks_per_block.get());
    let burst = f64::from(memory.column_bytes()) / memory.tccd_l().as_f64();
    bytes / (blocks * burst)
}

/// Of the time of a GEMV on PIM, where one is made of so many bytes.
#[expect(clippy::cast_precision_loss, reason = "floors")]
pub(super) fn gemv_ns(bytes: u64, memory: &Dram, pim: &PimBlocks, column: &'static str) -> Vec<Bound> {
    vec![Bound::at_least(
        column,
        on_blocks_ns(bytes as f64, memory, pim),
        "weights over a burst per PIM block and tCCD_L",
    )]
}

/// Of what must fit.
#[expect(clippy::cast_precision_loss, reason = "a capacity")]
pub(super) fn capacity(memory: &Dram) -> Bound {
    Bound::at_most("memory_bytes", memory.capacity().0 as f64, "the DRAM's capacity")
}
