//! How long the commands of a GEMV take: the closed form, and the stream on the
//! DRAM engine. They agree to the picosecond.

use memscape_dram::{
    Dram, DramError, Engine, OnlyRefreshing, PimDelays, PimTiming, ProtocolError, RefreshPolicy, Sink,
    UNUSED_BY_ALL_BANKS, pim_constraints,
};
use memscape_study::{Breakdown, CostEngine, Part, parts};
use memscape_units::Picoseconds;
use memscape_workload::{Format, Gemv};
use serde::Deserializer;

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
        /// Reading partial sums on the host, which takes longer than adding them.
        HostSums = "host_sums",
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
    /// Refreshes leave no time to compute.
    #[error(transparent)]
    Refreshing(#[from] OnlyRefreshing),
    /// Scale factors, which the PIM blocks do not apply.
    #[error("`format` is {0}; PIM blocks have no scale factors, so use fp32, bf16, fp16, int8 or int4")]
    Scaled(Format),
    /// A stream that breaks the protocol.
    #[error("the command stream breaks the DRAM protocol: {0}")]
    Protocol(#[from] ProtocolError),
}

/// A name that is no format of this system.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{given}` is not a format here; PIM blocks have no scale factors, so use fp32, bf16, fp16, int8 or int4{}",
    if *on_host {
        ", or with `scheme` = \"cacheable-gemm\", which keeps weights for the processor alone, q4_0, q8_0 or \
         mx-ELEMENT-bBLOCK[-sBITS], for example mx-int8-b32"
    } else {
        ""
    }
)]
pub struct NoFormat {
    /// The name as given.
    pub given: String,
    /// Whether the processor may have the weights alone.
    pub on_host: bool,
}

/// Reads a format that PIM blocks may get.
///
/// # Errors
/// [`NoFormat`] lists them.
pub fn format_on_pim<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Format, D::Error> {
    Format::deserialize_by(deserializer, |name| {
        name.parse().map_err(|_| NoFormat { given: name.to_owned(), on_host: false })
    })
}

/// The same, or one that the processor may get.
///
/// # Errors
/// [`NoFormat`] lists them.
pub fn format_on_phone<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Format, D::Error> {
    Format::deserialize_by(deserializer, |name| {
        name.parse().map_err(|_| NoFormat { given: name.to_owned(), on_host: true })
    })
}

impl PimMemory {
    /// Weights so stored and placed in the memory; timings of it that nothing depends on here give way to others.
    #[must_use]
    pub fn new(memory: &Dram, pim: PimBlocks, format: Format, placement: Placement, refresh: bool) -> Self {
        Self { memory: memory.easing(UNUSED_BY_ALL_BANKS), pim, format, placement, refresh }
    }

    /// Whether PIM blocks compute with weights that are stored so: they have no scale factors.
    #[must_use]
    pub fn computes_in_format(&self) -> bool {
        self.format.scale().is_none()
    }

    /// Where the weights of a matrix lie: for as many input registers as are best.
    ///
    /// With more of them, inputs are written less often; but where writing them hides
    /// the opening of a row, a half or a quarter of them can be better.
    ///
    /// # Errors
    /// [`GemvError`] says what does not fit.
    pub fn layout(&self, matrix: Gemv) -> Result<Layout, GemvError> {
        self.memory.check()?;
        if self.memory.ranks.get() > 1 {
            return Err(GemvError::Ranks(self.memory.ranks.get()));
        }
        if !self.computes_in_format() {
            return Err(GemvError::Scaled(self.format));
        }
        let delays = delays(&self.memory);
        if self.refresh {
            delays.check_refresh(&self.memory)?;
        }
        let all = Layout::new(matrix, self.format.element(), self.placement, &self.memory, &self.pim, 0)?;
        let layouts = register_counts(&all).map(|input_registers| Layout { input_registers, ..all });
        Ok(layouts.min_by_key(|it| closed_form(it, &delays).total()).unwrap_or(all))
    }

    /// The mean time of a matrix that lies so, one GEMV among many.
    ///
    /// Either way refreshes stall it for as long as they take by themselves. On the walked
    /// stream they fall on some change of rows, or not at all where that is short.
    ///
    /// # Errors
    /// [`GemvError`] if the stream cannot be walked.
    pub fn time(&self, layout: &Layout, engine: CostEngine) -> Result<Breakdown<GemvPart>, GemvError> {
        let mut parts = closed_form(layout, &delays(&self.memory));
        if engine == CostEngine::Events {
            let walked = on_engine(layout, &self.memory, RefreshPolicy::Off, &mut ())?;
            // What the stream takes beyond the count would be waiting for rows.
            let untold = walked.saturating_sub(parts.total());
            parts[GemvPart::RowOpen] += untold;
        }
        Ok(self.with_refreshes(parts))
    }

    /// The same in closed form, which always has an answer.
    #[must_use]
    pub fn mean_time(&self, layout: &Layout) -> Breakdown<GemvPart> {
        self.with_refreshes(closed_form(layout, &delays(&self.memory)))
    }

    fn with_refreshes(&self, mut parts: Breakdown<GemvPart>) -> Breakdown<GemvPart> {
        if self.refresh {
            parts[GemvPart::Refresh] = delays(&self.memory).mean_refresh(&self.memory, parts.total());
        }
        parts
    }

    /// How the engine refreshes.
    #[must_use]
    pub fn refresh_policy(&self) -> RefreshPolicy {
        if self.refresh { RefreshPolicy::all_bank(&self.memory) } else { RefreshPolicy::Off }
    }
}

/// Counts of input registers to choose from, those that whoever has more of them has too: powers
/// of two, since so do rows end, and of all that make as many input tiles the least, whose
/// tiles are the most alike.
fn register_counts(all: &Layout) -> impl Iterator<Item = u64> + use<> {
    let inputs = input_writes(all, all.line_bursts());
    let most = all.input_registers.max(1);
    let halves = std::iter::successors(Some(1 << most.ilog2()), |it| Some(it / 2).filter(|it| *it > 0));
    // The least for as many tiles, then the least for one more of them, and so on.
    let fewer = std::iter::successors(Some(most.min(inputs)), move |it| {
        let tiles = inputs.div_ceil(*it);
        Some(inputs.div_ceil(tiles + 1).min(it - 1)).filter(|it| *it > 0)
    });
    let least = fewer.map(move |it| inputs.div_ceil(inputs.div_ceil(it)));
    halves.chain(least.filter(|it| !it.is_power_of_two()))
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

/// What the host reads of the sums that so many GEMVs leave, at so many bytes per nanosecond.
#[must_use]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "bytes stay far below 2^53, and `as` saturates"
)]
pub fn host_sums(bytes: u64, stream: f64) -> Picoseconds {
    Picoseconds((bytes as f64 / stream * 1e3).round() as u64)
}

/// Times the command stream without issuing it: runs of reads, writes and sums are
/// jumped over, from one row or input tile to the next, and passes that begin as an earlier
/// one did, all at once.
#[must_use]
pub fn closed_form(layout: &Layout, t: &PimDelays) -> Breakdown<GemvPart> {
    let mut runs = Runs { t, last: None, read: None, write: None, spill: None, opened: None, closed: None };
    let mut sum: Breakdown<GemvPart> = Breakdown::default();
    let row_slots = layout.row_slots();
    let (mut slot, mut now) = (0, Picoseconds::ZERO);
    let mut begun: Vec<Begun<'_>> = Vec::new();
    let (mut pass, passes) = (0, layout.passes());
    while pass < passes {
        let lines = layout.pass_lines(pass);
        let this = Begun { pass, slot: slot % row_slots, runs: runs.since(now), now, sum };
        match begun.iter().find(|it| (it.slot, it.runs) == (this.slot, this.runs)) {
            Some(first) => {
                // The last pass may have fewer lines.
                let round = pass - first.pass;
                let rounds = (passes - 1 - pass) / round;
                for part in GemvPart::ALL {
                    sum[*part] += (this.sum[*part] - first.sum[*part]) * rounds;
                }
                let later = (now - first.now) * rounds;
                (now, runs) = (now + later, runs.after(later));
                pass += round * rounds;
                if rounds > 0 {
                    continue;
                }
            }
            None if begun.len() < MOST_BEGUN => begun.push(this),
            None => {}
        }
        pass += 1;
        let mut add = |part: GemvPart, from: Picoseconds, to: Picoseconds| sum[part] += to - from;
        let mut row = None;
        for tile in 0..layout.input_tiles() {
            let bursts = layout.input_tile_bursts(tile);
            runs.write_inputs(input_writes(layout, bursts));
            // What reading would wait for if no row had to be opened.
            let mut ready = runs.read_after_columns().max(now);
            let end = slot + lines * bursts;
            while slot < end {
                let macs = (end - slot).min(row_slots - slot % row_slots);
                if row != Some(slot / row_slots) {
                    if row.is_some() {
                        runs.close();
                    }
                    runs.open();
                    row = Some(slot / row_slots);
                }
                let first = runs.reads(macs);
                add(GemvPart::Input, now, ready);
                add(GemvPart::RowOpen, ready, first);
                now = first + t.slot * macs;
                add(GemvPart::Mac, first, now);
                ready = now;
                slot += macs;
            }
        }
        runs.reads(DRAIN_READS);
        let drained = now + t.slot * DRAIN_READS;
        add(GemvPart::Drain, now, drained);
        runs.close();
        runs.open();
        runs.spills(lines * layout.line_registers);
        runs.close();
        now = drained.max(runs.last_issued());
        add(GemvPart::Sums, drained, now);
    }
    sum[GemvPart::Sums] += now.max(runs.last_issued() + t.close_to_open) - now;
    sum
}

/// Passes whose beginnings are compared: rows and passes rarely take longer to fall into step.
const MOST_BEGUN: usize = 64;

/// How a pass begins, and what had been done before.
struct Begun<'a> {
    pass: u64,
    /// Its first in its DRAM row.
    slot: u64,
    /// How long ago commands were issued.
    runs: Runs<'a>,
    now: Picoseconds,
    sum: Breakdown<GemvPart>,
}

/// When commands were issued that later ones wait for.
#[derive(Clone, Copy, PartialEq)]
struct Runs<'a> {
    t: &'a PimDelays,
    last: Option<Picoseconds>,
    read: Option<Picoseconds>,
    write: Option<Picoseconds>,
    spill: Option<Picoseconds>,
    opened: Option<Picoseconds>,
    closed: Option<Picoseconds>,
}

impl Runs<'_> {
    fn map(self, change: impl Fn(Picoseconds) -> Picoseconds) -> Self {
        let Self { t, last, read, write, spill, opened, closed } = self;
        let [last, read, write, spill, opened, closed] =
            [last, read, write, spill, opened, closed].map(|it| it.map(&change));
        Self { t, last, read, write, spill, opened, closed }
    }

    /// How long ago, seen from a time that none is later than.
    fn since(self, now: Picoseconds) -> Self {
        self.map(|it| now - it)
    }

    /// The same so much later.
    fn after(self, later: Picoseconds) -> Self {
        self.map(|it| it + later)
    }

    fn last_issued(&self) -> Picoseconds {
        self.last.unwrap_or(Picoseconds::ZERO)
    }

    /// The first time that keeps these delays after what was issued, and the bus free.
    fn earliest<const N: usize>(&self, after: [(Option<Picoseconds>, Picoseconds); N]) -> Picoseconds {
        let delays = after.into_iter().chain([(self.last, self.t.bus)]);
        delays.filter_map(|(issued, delay)| Some(issued? + delay)).max().unwrap_or(Picoseconds::ZERO)
    }

    fn run(&mut self, first: Picoseconds, count: u64) -> Picoseconds {
        let end = first + self.t.slot * (count - 1);
        self.last = Some(end);
        end
    }

    fn write_inputs(&mut self, count: u64) {
        let first = self.earliest([(self.read, self.t.read_to_write), (self.write, self.t.slot)]);
        self.write = Some(self.run(first, count));
    }

    fn read_after_columns(&self) -> Picoseconds {
        self.earliest([(self.read, self.t.slot), (self.write, self.t.write_to_read)])
    }

    /// Reads in a row, and when the first is issued.
    fn reads(&mut self, count: u64) -> Picoseconds {
        let first = self.read_after_columns().max(self.earliest([(self.opened, self.t.open_to_access)]));
        self.read = Some(self.run(first, count));
        first
    }

    fn spills(&mut self, count: u64) {
        let t = self.t;
        let column = self.earliest([(self.read, t.read_to_write), (self.write, t.slot)]);
        let end = self.run(column.max(self.earliest([(self.opened, t.open_to_access)])), count);
        (self.write, self.spill) = (Some(end), Some(end));
    }

    fn close(&mut self) {
        let t = self.t;
        let at = self.earliest([
            (self.read, t.read_to_close),
            (self.spill, t.spill_to_close),
            (self.opened, t.open_to_close),
        ]);
        (self.closed, self.last) = (Some(at), Some(at));
    }

    fn open(&mut self) {
        let at = self.earliest([(self.closed, self.t.close_to_open), (self.opened, self.t.open_to_open)]);
        (self.opened, self.last) = (Some(at), Some(at));
    }
}
