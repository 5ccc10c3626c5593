//! How long the commands of a GEMV take: the closed form, and the stream on the
//! DRAM engine. They agree to the picosecond.

use memscape_dram::{
    Dram, DramError, Engine, PimDelays, PimTiming, ProtocolError, RefreshPolicy, Sink, pim_constraints,
};
use memscape_study::{Breakdown, CostEngine, parts};
use memscape_units::Picoseconds;
use memscape_workload::{Format, Gemv};

use crate::hardware::PimBlocks;
use crate::mapping::layout::{Layout, LayoutError, Placement};
use crate::mapping::schedule::{self, DRAIN_READS, input_writes};

parts! {
    /// Where the time of one GEMV goes.
    pub enum GemvPart {
        /// Reading weights into the SIMD units.
        Mac = "mac",
        /// Opening rows of weights.
        RowOpen = "row_open",
        /// Writing inputs to registers, with the turnarounds around it.
        Input = "input",
        /// Draining the pipeline.
        Drain = "drain",
        /// Writing sums: opening their row, write recovery, closing it.
        Sums = "sums",
        /// All-bank refreshes.
        Refresh = "refresh",
    }
}

/// PIM, and how weights lie in it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PimMemory {
    /// The DRAM.
    pub memory: Dram,
    /// The PIM blocks.
    pub pim: PimBlocks,
    /// How weights are stored.
    pub format: Format,
    /// Which elements share a burst.
    pub placement: Placement,
    /// Whether refresh is on.
    pub refresh: bool,
}

/// Why a GEMV has no time.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum GemvError {
    /// The memory contradicts itself.
    #[error("`memory`: {0}")]
    Memory(#[from] DramError),
    /// No layout.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// The matrix occupies several ranks.
    #[error("`memory.ranks` is {0}; a PIM command reaches the banks of one rank, so use 1")]
    Ranks(u32),
    /// Scale factors, which the PIM blocks do not apply.
    #[error("`format` is {0}; PIM blocks have no scale factors, so use bf16, fp16, int8 or int4")]
    Scaled(Format),
    /// A stream that breaks the protocol.
    #[error("the command stream breaks the DRAM protocol: {0}")]
    Protocol(#[from] ProtocolError),
}

impl PimMemory {
    /// Where the weights of a matrix lie.
    ///
    /// # Errors
    /// [`GemvError`] says what does not fit.
    pub fn layout(&self, matrix: Gemv) -> Result<Layout, GemvError> {
        self.memory.check()?;
        if self.memory.ranks.get() > 1 {
            return Err(GemvError::Ranks(self.memory.ranks.get()));
        }
        if self.format.scale().is_some() {
            return Err(GemvError::Scaled(self.format));
        }
        Ok(Layout::new(matrix, self.format.element(), self.placement, &self.memory, &self.pim, 0)?)
    }

    /// The time of a matrix that lies so.
    ///
    /// # Errors
    /// [`GemvError`] if the stream cannot be walked.
    pub fn time(&self, layout: &Layout, engine: CostEngine) -> Result<Breakdown<GemvPart>, GemvError> {
        let delays = delays(&self.memory);
        let closed = closed_form(layout, &delays);
        let mut parts = closed.unwrap_or_default();
        let walk = |refresh| on_engine(layout, &self.memory, refresh, &mut ());
        let refreshed = self.refresh && engine == CostEngine::Events;
        if closed.is_none() || engine == CostEngine::Events {
            let busy = walk(RefreshPolicy::Off)?;
            // Where nothing else tells, waiting for rows is row opening.
            let untold = busy - parts.total();
            parts[GemvPart::RowOpen] += untold;
            if refreshed {
                parts[GemvPart::Refresh] = walk(self.refresh_policy())?.saturating_sub(busy);
            }
        }
        if self.refresh && !refreshed {
            parts[GemvPart::Refresh] = delays.refresh(&self.memory, parts.total());
        }
        Ok(parts)
    }

    /// How the engine refreshes.
    #[must_use]
    pub fn refresh_policy(&self) -> RefreshPolicy {
        if self.refresh { RefreshPolicy::all_bank(&self.memory) } else { RefreshPolicy::Off }
    }
}

/// The delays of PIM commands on this memory. As a command reaches every bank
/// group, two are `tCCD_L` apart.
#[must_use]
pub fn delays(memory: &Dram) -> PimDelays {
    PimDelays::new(memory, &PimTiming::NONE)
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
    refresh: RefreshPolicy,
    sink: &mut impl Sink,
) -> Result<Picoseconds, ProtocolError> {
    let mut engine = Engine::new(memory.geometry(), &pim_constraints(memory, &PimTiming::NONE))
        .and_then(|it| it.with_refresh(refresh))
        .expect("a checked device has valid rules");
    let mut end = Picoseconds::ZERO;
    schedule::for_each(layout, |op| {
        end = engine.issue_into(op.command(layout), sink)?;
        Ok(())
    })?;
    Ok(end + memory.trp_ab_ns.to_picoseconds().max(engine.command_slot()))
}

/// Counts the command stream without walking it.
///
/// `None` where a row is left so soon that its activate, rather than the accesses,
/// decides when it can close: then only the stream itself can tell.
#[must_use]
pub fn closed_form(layout: &Layout, t: &PimDelays) -> Option<Breakdown<GemvPart>> {
    let held = |accesses: u64, close: Picoseconds| t.open_to_access + t.slot * (accesses - 1) + close;
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
        let written = t.slot * (first_writes - 1);
        let (before, closed) =
            if pass == 0 { (Picoseconds::ZERO, Picoseconds::ZERO) } else { (t.bus, t.close_to_open) };
        let open = (before + written + t.bus).max(closed);
        let read = (open + t.open_to_access).max(before + written + t.write_to_read);
        sum[GemvPart::Input] += before + written;
        sum[GemvPart::RowOpen] += read - before - written - t.slot;

        // Between reads: a row ends, a tile ends, or both.
        let row_ends = (slot + macs - 1) / row_slots - slot / row_slots;
        let row_gap = t.read_to_close + t.close_to_open + t.open_to_access;
        let tile_gap = |writes: u64, row: bool| {
            let written = t.read_to_write + t.slot * (writes - 1);
            let opened = (written + t.bus).max(t.read_to_close) + t.close_to_open + t.open_to_access;
            let read = written + t.write_to_read;
            if row { read.max(opened) } else { read }
        };
        let mut both = 0;
        for tile in 1..tiles {
            let row = (slot + tile * tile_macs).is_multiple_of(row_slots);
            let writes = if tile + 1 < tiles { full_writes } else { last_writes };
            let plain = tile_gap(writes, false);
            sum[GemvPart::Input] += plain - t.slot;
            if row {
                both += 1;
                sum[GemvPart::RowOpen] += tile_gap(writes, true) - plain;
            }
        }
        sum[GemvPart::RowOpen] += (row_gap - t.slot) * (row_ends - both);
        sum[GemvPart::Mac] += t.slot * macs;
        sum[GemvPart::Drain] += t.slot * DRAIN_READS;

        // Out of it.
        let opened = t.read_to_close + t.close_to_open;
        let first_sum = (opened + t.open_to_access).max(t.read_to_write);
        sum[GemvPart::Sums] += first_sum + t.slot * (lines - 1) + t.spill_to_close;
        slot += macs;
    }
    sum[GemvPart::Sums] += t.close_to_open;
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
