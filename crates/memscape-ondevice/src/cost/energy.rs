//! What the memory takes of energy for a prompt and a token.
//!
//! Weights, keys and values only, as in the times: activations stay in the caches.

use memscape_dram::{CommandCounts, Dram, Meter};
use memscape_study::{Energy, Graded};
use memscape_units::{Picoseconds, float};

use super::prefill::{Prefill, PrefillError, Prompt};
use super::token::{Token, WithPim};
use crate::hardware::{Cpu, PimBlocks};
use crate::mapping::Scheme;

/// A memory with PIM blocks, as far as its energy goes.
#[derive(Debug, Clone, Copy)]
pub struct PimEnergy<'a> {
    /// The DRAM.
    pub memory: &'a Dram,
    /// The PIM blocks.
    pub pim: &'a PimBlocks,
    /// What a multiply-accumulate takes.
    pub mac_pj_per_bit: Option<Graded>,
    /// Whether refresh is on.
    pub refresh: bool,
}

impl PimEnergy<'_> {
    /// A token of each sequence, on PIM or on the host; none where nothing is known of the memory or
    /// the blocks.
    #[must_use]
    pub fn of_token(&self, token: &Token, on: Option<&WithPim>) -> Option<Energy> {
        let (weights, time) = match on {
            Some(it) => {
                let sums = self.read(float(it.host_sum_bytes))?;
                (self.of_commands(&it.commands)? + sums, it.time.total())
            }
            None => (self.read(token.weight_bytes)?, token.on_host.total()),
        };
        let attends = self.memory.meter()?.stream_of_rows(token.cache_bytes, token.written_bytes);
        Some(weights + attends + self.idle(time)?)
    }

    /// The prompts of all sequences.
    ///
    /// # Errors
    /// [`PrefillError`] as of its time.
    pub fn of_prompt(
        &self,
        prompt: &Prompt,
        prefill: &Prefill,
        cpu: &Cpu,
    ) -> Result<Option<Energy>, PrefillError> {
        let attention = prompt.attends()?;
        let Some(meter) = self.memory.meter() else { return Ok(None) };
        let weights = match prompt.scheme {
            Scheme::NonCacheableGemm => {
                let run = gathered_run(self.memory, prompt.run_bursts);
                meter.stream(prefill.gemm_read_bytes, 0.0, run)
            }
            _ => meter.stream_of_rows(prefill.gemm_read_bytes, 0.0),
        };
        let (copied, transactions) = (float(prefill.copied.0), cpu.copy_transactions.get());
        let swizzled = swizzle_energy(&meter, self.memory, copied, prompt.run_bursts, transactions);
        let reads = (attention.query_bytes / cpu.gemm_block_tokens).max(attention.cache_bytes);
        let attends = meter.stream_of_rows(reads, attention.written_bytes);
        let idle = self.idle(prefill.time.total());
        Ok(idle.map(|it| it + weights + swizzled + attends))
    }

    fn of_commands(&self, commands: &CommandCounts) -> Option<Energy> {
        let banks = f64::from(self.memory.banks_per_channel.get());
        let units = banks / f64::from(self.pim.banks_per_block.get());
        Some(self.memory.meter()?.commands_of_all(commands, units, self.mac_pj_per_bit?))
    }

    fn read(&self, bytes: f64) -> Option<Energy> {
        Some(self.memory.meter()?.stream_of_rows(bytes, 0.0))
    }

    fn idle(&self, time: Picoseconds) -> Option<Energy> {
        Some(self.memory.meter()?.idle(time.into(), self.refresh))
    }
}

/// A swizzled copy of so many bytes: it reads the weights as they lie, `run_bursts` of each
/// row, and writes them in the host's order; what transactions it takes beyond these two, which a checked
/// machine has, are reads.
#[must_use]
pub fn swizzle_energy(
    meter: &Meter<'_>,
    memory: &Dram,
    bytes: f64,
    run_bursts: u64,
    transactions: u32,
) -> Energy {
    let read_again = bytes * (f64::from(transactions) - 2.0);
    meter.stream(bytes, 0.0, gathered_run(memory, run_bursts)) + meter.stream_of_rows(read_again, bytes)
}

/// Bytes of a row that a copy takes before it goes on to another.
fn gathered_run(memory: &Dram, run_bursts: u64) -> f64 {
    let columns = u32::try_from(run_bursts).unwrap_or(u32::MAX).min(memory.columns_per_row());
    f64::from(columns) * f64::from(memory.column_bytes())
}
