//! The time of a GEMM, event by event.
//!
//! Five things work at the same time and wait for each other: DRAM reads into two
//! buffers of the memory tiles, the cores, the way of finished tiles to the memory
//! tiles, DRAM writes from their one buffer of C, and the command processor.

use std::fmt::Write as _;

use memscape_study::{Breakdown, Recorder, Span};
use memscape_units::Picoseconds;
use serde::Serialize;

use crate::cost::schedule::{GemmPart, Schedule};
use crate::mapping::design::BdReconfiguration;
use crate::mapping::tile::OutputBuffers;

/// One thing that took time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// What worked.
    pub unit: Unit,
    /// The block of C.
    pub block: u64,
    /// The step of its reduction, where there is one.
    pub step: Option<u64>,
    /// When it started, after dispatch.
    pub start: Picoseconds,
    /// When it ended.
    pub end: Picoseconds,
}

/// What works.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Reading A and B from DRAM.
    Read,
    /// The cores.
    Core,
    /// Finished tiles of C on their way to the memory tiles.
    Drain,
    /// Writing C to DRAM.
    Write,
    /// The command processor.
    Commands,
}

/// Blocks submitted ahead at the most: an interface tile has up to 255 descriptors
/// for three matrices.
pub const MAX_DEPTH: usize = 85;

/// Walks all steps of all blocks.
///
/// # Panics
/// If the schedule's depth is 0 or above [`MAX_DEPTH`], which none made by
/// [`Schedule::new`] from a checked design has.
pub fn walk(schedule: &Schedule, sink: &mut impl FnMut(Event)) -> Breakdown<GemmPart> {
    let it = schedule;
    let mut times = Breakdown::default();
    times[GemmPart::Dispatch] = it.dispatch;
    // When the descriptors of a block are ready, round and round.
    let mut ready = [Picoseconds::ZERO; MAX_DEPTH];
    let mut commands = Picoseconds::ZERO;
    let [mut read, mut core, mut drained, mut written] = [Picoseconds::ZERO; 4];
    // When the buffers of the memory tiles are free.
    let mut free = [Picoseconds::ZERO; 2];

    for block in 0..it.blocks {
        let slot = usize::try_from(block % it.depth).expect("at most MAX_DEPTH");
        if it.bd_reconfiguration == BdReconfiguration::Sequential
            && block > 0
            && block.is_multiple_of(it.depth)
        {
            // Everything is written; then one set after the other, and all start together.
            let sets = it.depth.min(it.blocks - block);
            let start = written;
            commands = start + it.descriptors * sets;
            sink(Event { unit: Unit::Commands, block, step: None, start, end: commands });
            ready = [commands; MAX_DEPTH];
        }
        let [load, write] = it.transfers(block);
        for step in 0..it.steps {
            let mut start = read.max(free[0]);
            if step == 0 {
                start = start.max(ready[slot]);
            }
            read = start + load;
            sink(Event { unit: Unit::Read, block, step: Some(step), start, end: read });
            let start = core.max(read + it.fill);
            times[GemmPart::InputWait] += start - core;
            core = start + it.compute;
            times[GemmPart::Compute] += it.compute;
            sink(Event { unit: Unit::Core, block, step: Some(step), start, end: core });
            free = [free[1], core - it.call];
        }
        // The memory tiles hold one block of C.
        let start = core.max(written);
        let before = core;
        let end = start + it.drain;
        sink(Event { unit: Unit::Drain, block, step: None, start, end });
        core = match it.output_buffers {
            OutputBuffers::Single => end,
            // The other buffer must have left.
            OutputBuffers::Double => core.max(drained),
        } + it.zero;
        drained = end;
        written = end + write;
        sink(Event { unit: Unit::Write, block, step: None, start: end, end: written });
        if block + 1 < it.blocks {
            times[GemmPart::OutputWait] += core - before;
        } else {
            times[GemmPart::Epilogue] = written - before;
        }
        if it.bd_reconfiguration == BdReconfiguration::Overlapped && block + it.depth < it.blocks {
            let start = commands.max(written);
            commands = start + it.descriptors;
            sink(Event { unit: Unit::Commands, block: block + it.depth, step: None, start, end: commands });
            ready[slot] = commands;
        }
    }
    times
}

impl Unit {
    /// All of them, in the order that data takes.
    pub const ALL: [Self; 5] = [Self::Read, Self::Core, Self::Drain, Self::Write, Self::Commands];

    /// The name, for example `read`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Core => "core",
            Self::Drain => "drain",
            Self::Write => "write",
            Self::Commands => "commands",
        }
    }
}

/// Walks a GEMM and tells what happens when. The clock is the host's: dispatch comes
/// first.
///
/// # Panics
/// As [`walk`].
pub fn record(schedule: &Schedule, recorder: &mut dyn Recorder) {
    let host = recorder.track("host", "dispatch");
    let tracks = Unit::ALL.map(|it| recorder.track("array", it.name()));
    let dispatch = schedule.dispatch;
    let span =
        Span { name: "dispatch", category: "host", start: Picoseconds::ZERO, end: dispatch, details: &[] };
    recorder.span(host, span);
    let mut name = String::new();
    walk(schedule, &mut |it| {
        let both = [("block", it.block), ("step", it.step.unwrap_or(0))];
        let details = if it.step.is_some() { &both[..] } else { &both[..1] };
        name.clear();
        let step = it.step.map_or(Ok(()), |step| write!(name, "step {step} of "));
        step.and_then(|()| write!(name, "block {}", it.block)).expect("a string takes everything");
        let (start, end) = (dispatch + it.start, dispatch + it.end);
        let span = Span { name: &name, category: it.unit.name(), start, end, details };
        recorder.span(tracks[it.unit as usize], span);
    });
}
