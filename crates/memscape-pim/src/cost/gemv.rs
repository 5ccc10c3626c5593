//! The time of one GEMV on PIM, by either engine.

use memscape_dram::{Dram, ProtocolError, RefreshPolicy};
use memscape_study::CostEngine;
use memscape_units::{GbPerS, Nanoseconds, Picoseconds};

use super::closed::closed_form;
use super::parts::{GemvCost, GemvPart};
use super::stream::CommandStream;
use super::timing::Timing;
use crate::mapping::Plan;

/// The time of a plan on PIM. Where the closed form has no answer, the engine
/// has: waiting for rows is then row opening.
///
/// # Errors
/// [`ProtocolError`] if the stream breaks the DRAM protocol, which would be a
/// bug.
pub fn time_on_pim(
    plan: &Plan,
    memory: &Dram,
    timing: &Timing,
    engine: CostEngine,
    refresh: bool,
) -> Result<GemvCost, ProtocolError> {
    let walked = |refresh| CommandStream { plan, memory, timing, refresh }.walk(&mut ());
    let closed = closed_form(plan, timing);
    let mut cost = closed.unwrap_or_default();
    if closed.is_none() || engine == CostEngine::Events {
        let uncounted = walked(RefreshPolicy::Off)? - cost.time.total();
        cost.time[GemvPart::RowOpen] += uncounted;
    }
    if refresh {
        let busy = cost.time.total();
        cost.time[GemvPart::Refresh] = match engine {
            CostEngine::Events => walked(RefreshPolicy::all_bank(memory))?.saturating_sub(busy),
            CostEngine::Closed => timing.refresh(memory, busy),
        };
    }
    Ok(cost)
}

/// Reading partial sums back over the memory bus, which takes longer than adding
/// them.
///
/// # Panics
/// Never: a count over a bandwidth is a time.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "sums stay far below 2^53")]
pub fn reduction(partial_sums: u64, sum_bits: u32, bandwidth: GbPerS) -> Picoseconds {
    Nanoseconds::new(partial_sums as f64 * f64::from(sum_bits) / 8.0 / bandwidth.as_f64())
        .expect("a quotient of finite positive numbers")
        .to_picoseconds()
}

/// The speedup that row opening leaves of a perfect placement: whole rows, all
/// banks busy, nothing else.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "picoseconds of one row")]
pub fn roofline_speedup(memory: &Dram, timing: &Timing) -> f64 {
    let columns = f64::from(memory.columns_per_row());
    let banks = f64::from(memory.banks_per_channel.get());
    let read = columns * timing.slot.0 as f64;
    banks * columns * memory.burst().as_f64() * 1e3 / (read + timing.row_open().0 as f64)
}
