//! The time of one GEMV on PIM, by either engine.

use memscape_dram::{CommandCounts, Dram, PimDelays, ProtocolError, RefreshPolicy};
use memscape_study::CostEngine;
use memscape_units::{GbPerS, Nanoseconds, Picoseconds};

use super::closed::{closed_form, unhindered};
use super::parts::{GemvCost, GemvPart};
use super::stream::CommandStream;
use crate::hardware::Machine;
use crate::mapping::Plan;

/// The time of a plan on a machine with these delays. Where the closed form has no answer,
/// the engine has: what it takes beyond the same without waiting for the row before, or with all of a pass in one row
/// where each has its own number of words, is then row opening.
///
/// Either way a refresh stalls the stream for as long as it takes by itself, and strikes it as often as
/// one among many, as it does what the processor reads. On the walked stream it may fall on a change of
/// rows, which it then hides, or not at all where that is short.
///
/// # Errors
/// [`ProtocolError`] if the stream breaks the DRAM protocol, which would be a
/// bug.
pub fn time_on_pim(
    plan: &Plan,
    machine: &Machine,
    delays: &PimDelays,
    engine: CostEngine,
    refresh: bool,
) -> Result<GemvCost, ProtocolError> {
    let closed = closed_form(plan, delays);
    let mut cost = closed.unwrap_or_else(|| unhindered(plan, delays));
    // Beyond the end of the clock there is nothing to walk to.
    let ends = cost.time.total().as_ns().is_finite();
    if ends && (closed.is_none() || engine == CostEngine::Events) {
        cost.commands = CommandCounts::default();
        let stream = CommandStream { plan, machine, refresh: RefreshPolicy::Off };
        let walked = stream.walk(&mut cost.commands)?;
        let untold = walked.saturating_sub(cost.time.total());
        cost.time[GemvPart::RowOpen] += untold;
    }
    if refresh {
        cost.time[GemvPart::Refresh] = delays.mean_refresh(&machine.memory, cost.time.total());
    }
    Ok(cost)
}

/// Reading so many bytes of partial sums back over the memory bus, which takes longer
/// than adding them.
///
/// # Panics
/// Never: a count over a bandwidth is a time.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "sums stay far below 2^53")]
pub fn reduction(bytes: u64, bandwidth: GbPerS) -> Picoseconds {
    Nanoseconds::new(bytes as f64 / bandwidth.as_f64())
        .expect("a quotient of finite positive numbers")
        .to_picoseconds()
}

/// A time that a plan cannot fall below: a slot for each command that needs one,
/// and an opening for each row.
#[must_use]
pub fn least_time(plan: &Plan, delays: &PimDelays) -> Picoseconds {
    let row_blocks = plan.row_blocks * plan.chunks;
    let (passes, sending) = (plan.passes() * plan.chunks, plan.sending_passes());
    let full = plan.register_writes(plan.burst_inputs) * (plan.bursts() - 1);
    let writes = full + plan.register_writes(plan.inputs_of_burst(plan.bursts() - 1));
    let per_row_block = plan.row_block_words() + plan.fold_commands() + plan.spill_words();
    let commands = sending * writes + row_blocks * per_row_block;
    // The switches between input bursts and reads; rows may open meanwhile.
    let switches = passes * (plan.bursts() - 1);
    let turn = (delays.read_to_write + delays.write_to_read).saturating_sub(delays.slot * 2);
    let open = delays.row_open().saturating_sub(delays.slot * 2);
    (delays.slot * commands + turn * switches + open * passes).saturating_sub(delays.slot)
}

/// The speedup of banks and command rate alone over a processor that reads at `bandwidth` and waits for
/// nothing else.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "picoseconds of a command")]
pub fn peak_speedup(memory: &Dram, delays: &PimDelays, bandwidth: GbPerS) -> f64 {
    f64::from(memory.banks_per_channel.get()) * access_ns(memory, bandwidth) * 1e3 / delays.slot.0 as f64
}

/// The speedup that row opening leaves of a perfect placement: whole rows, all
/// banks busy, nothing else.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "picoseconds of one row")]
pub fn roofline_speedup(memory: &Dram, delays: &PimDelays, bandwidth: GbPerS) -> f64 {
    let columns = f64::from(memory.columns_per_row());
    let banks = f64::from(memory.banks_per_channel.get());
    let read = columns * delays.slot.0 as f64;
    banks * columns * access_ns(memory, bandwidth) * 1e3 / (read + delays.row_open().0 as f64)
}

/// How long the processor waits for a column access of a channel: a burst, if it reaches the peak.
fn access_ns(memory: &Dram, bandwidth: GbPerS) -> f64 {
    memory.burst().as_f64() * (memory.peak_gb_s().as_f64() / bandwidth.as_f64())
}
