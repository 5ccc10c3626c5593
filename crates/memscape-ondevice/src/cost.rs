//! How long the commands of a GEMV take: the closed form, and the stream on the
//! DRAM engine. They agree to the picosecond.

use memscape_dram::{Dram, Engine, PimDelays, ProtocolError, RefreshPolicy, Sink};
use memscape_units::{Nanoseconds, Picoseconds};

use crate::layout::Layout;
use crate::schedule::{self, DRAIN_READS, input_writes};

/// The delays of PIM commands on this memory. As a command reaches every bank
/// group, two are `tCCD_L` apart.
#[must_use]
pub fn delays(memory: &Dram) -> PimDelays {
    let slot = memory.tccd_l_ns.to_picoseconds().max(memory.burst().to_picoseconds());
    PimDelays::new(memory, slot, Nanoseconds::ZERO)
}

/// Where the time of one GEMV goes, in picoseconds; the parts add up to the whole.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Breakdown {
    /// Reading weights into the SIMD units.
    pub mac: u64,
    /// Opening rows of weights.
    pub row_open: u64,
    /// Writing inputs to registers, with the turnarounds around it.
    pub input: u64,
    /// Draining the pipeline.
    pub drain: u64,
    /// Writing sums: opening their row, write recovery, closing it.
    pub sums: u64,
    /// All-bank refreshes.
    pub refresh: u64,
}

impl Breakdown {
    /// The whole time, in picoseconds.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.mac + self.row_open + self.input + self.drain + self.sums + self.refresh
    }
}

/// Walks the command stream on the DRAM engine; the time includes closing the last
/// row.
///
/// # Errors
/// [`ProtocolError`] if the stream breaks the DRAM protocol, which would be a bug.
///
/// # Panics
/// Never for a checked device: its rules and geometry always make an engine.
pub fn on_engine(
    layout: &Layout,
    memory: &Dram,
    delays: &PimDelays,
    refresh: RefreshPolicy,
    sink: &mut impl Sink,
) -> Result<Picoseconds, ProtocolError> {
    let mut engine = Engine::new(memory.geometry(), &delays.constraints(memory))
        .and_then(|it| it.with_refresh(refresh))
        .expect("a checked device has valid rules");
    let mut end = Picoseconds::ZERO;
    schedule::for_each(layout, |op| {
        end = engine.issue_into(op.command(layout), sink)?;
        Ok(())
    })?;
    Ok(end + Picoseconds(delays.close_to_open))
}

/// Counts the command stream without walking it.
///
/// `None` where a row is left so soon that its activate, rather than the accesses,
/// decides when it can close: then only the stream itself can tell.
#[must_use]
pub fn closed_form(layout: &Layout, t: &PimDelays) -> Option<Breakdown> {
    let held = |accesses: u64, close: u64| t.open_to_access + (accesses - 1) * t.slot + close;
    let least_sums = layout.pass_lines(layout.passes() - 1);
    if least_visit(layout).is_some_and(|it| held(it, t.read_to_close) < t.open_to_close)
        || held(least_sums, t.spill_to_close) < t.open_to_close
        || t.open_to_close + t.close_to_open < t.open_to_open
    {
        return None;
    }
    let mut sum = Breakdown::default();
    let row_slots = layout.row_slots();
    let full_writes = input_writes(layout, layout.tile_bursts());
    let mut slot = 0;
    for pass in 0..layout.passes() {
        let lines = layout.pass_lines(pass);
        let macs = lines * layout.line_bursts();
        let (tiles, tile_macs) = (layout.input_tiles(), lines * layout.tile_bursts());
        let last_writes = input_writes(layout, layout.input_tile_bursts(tiles - 1));

        // Into the pass. Every read is counted with the slot before it.
        let first_writes = if tiles > 1 { full_writes } else { last_writes };
        let written = (first_writes - 1) * t.slot;
        let (before, closed) = if pass == 0 { (0, 0) } else { (t.bus, t.close_to_open) };
        let open = (before + written + t.bus).max(closed);
        let read = (open + t.open_to_access).max(before + written + t.write_to_read);
        sum.input += before + written;
        sum.row_open += read - before - written - t.slot;

        // Between reads: a row ends, a tile ends, or both.
        let row_ends = (slot + macs - 1) / row_slots - slot / row_slots;
        let row_gap = t.read_to_close + t.close_to_open + t.open_to_access;
        let tile_gap = |writes: u64, row: bool| {
            let written = t.read_to_write + (writes - 1) * t.slot;
            let opened = (written + t.bus).max(t.read_to_close) + t.close_to_open + t.open_to_access;
            let read = written + t.write_to_read;
            if row { read.max(opened) } else { read }
        };
        let mut both = 0;
        for tile in 1..tiles {
            let row = (slot + tile * tile_macs).is_multiple_of(row_slots);
            let writes = if tile + 1 < tiles { full_writes } else { last_writes };
            let plain = tile_gap(writes, false);
            sum.input += plain - t.slot;
            if row {
                both += 1;
                sum.row_open += tile_gap(writes, true) - plain;
            }
        }
        sum.row_open += (row_ends - both) * (row_gap - t.slot);
        sum.mac += macs * t.slot;
        sum.drain += DRAIN_READS * t.slot;

        // Out of it.
        let opened = t.read_to_close + t.close_to_open;
        let first_sum = (opened + t.open_to_access).max(t.read_to_write);
        sum.sums += first_sum + (lines - 1) * t.slot + t.spill_to_close;
        slot += macs;
    }
    sum.sums += t.close_to_open;
    Some(sum)
}

/// The fewest reads of any visit to a row, the last of a pass with its drain;
/// `None` if there is nothing to visit.
fn least_visit(layout: &Layout) -> Option<u64> {
    let row_slots = layout.row_slots();
    let per_pass = layout.output_registers * layout.line_bursts();
    (0..layout.passes())
        .flat_map(|pass| {
            let first = pass * per_pass;
            let end = first + layout.pass_lines(pass) * layout.line_bursts();
            let to_row_end = row_slots - first % row_slots;
            if end - first <= to_row_end {
                return [end - first + DRAIN_READS; 3];
            }
            let last = (end - 1) % row_slots + 1;
            let inner = if end - first > to_row_end + last { row_slots } else { to_row_end };
            [to_row_end, last + DRAIN_READS, inner]
        })
        .min()
}
