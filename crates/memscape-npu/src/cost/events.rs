//! The time of a GEMM, event by event.
//!
//! Five things work at the same time and wait for each other: DRAM reads into two
//! buffers of the memory tiles, the cores, the way of finished tiles to the memory
//! tiles, DRAM writes from their one buffer of C, and the command processor.

use std::fmt::Write as _;

use memscape_units::Picoseconds;
use serde::Serialize;

use crate::array::{BdReconfiguration, Schedule};
use crate::kernel::OutputBuffers;

/// One thing that took time, for a timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// What worked.
    pub unit: Unit,
    /// The block of C.
    pub block: u64,
    /// The step of its reduction, where there is one.
    pub step: Option<u64>,
    /// When it started.
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

/// Where the time of a GEMM went; the parts add up to the whole.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Times {
    /// Everything.
    pub total: Picoseconds,
    /// Cores at work.
    pub compute: Picoseconds,
    /// Cores waiting for A and B, and for descriptors.
    pub input_wait: Picoseconds,
    /// Cores waiting for a tile of C to leave, and zeroing it.
    pub output_wait: Picoseconds,
    /// The last block on its way to DRAM.
    pub epilogue: Picoseconds,
    /// Dispatch.
    pub dispatch: Picoseconds,
}

/// Blocks submitted ahead at the most: an interface tile has up to 255 descriptors
/// for three matrices.
pub const MAX_DEPTH: usize = 85;

/// Walks all steps of all blocks.
///
/// # Panics
/// If the schedule's depth is 0 or above [`MAX_DEPTH`], which none made by
/// [`Schedule::new`] from a checked design has.
pub fn walk(schedule: &Schedule, sink: &mut impl FnMut(Event)) -> Times {
    let it = schedule;
    let mut times = Times { dispatch: it.dispatch, ..Times::default() };
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
        for step in 0..it.steps {
            let mut start = read.max(free[0]);
            if step == 0 {
                start = start.max(ready[slot]);
            }
            read = start + it.load;
            sink(Event { unit: Unit::Read, block, step: Some(step), start, end: read });
            let start = core.max(read + it.fill);
            times.input_wait += start - core;
            core = start + it.compute;
            times.compute += it.compute;
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
        written = end + it.write;
        sink(Event { unit: Unit::Write, block, step: None, start: end, end: written });
        if block + 1 < it.blocks {
            times.output_wait += core - before;
        } else {
            times.epilogue = written - before;
        }
        if it.bd_reconfiguration == BdReconfiguration::Overlapped && block + it.depth < it.blocks {
            let start = commands.max(written);
            commands = start + it.descriptors;
            sink(Event { unit: Unit::Commands, block: block + it.depth, step: None, start, end: commands });
            ready[slot] = commands;
        }
    }
    times.total = written + it.dispatch;
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

/// All events as a table in CSV, in the order in which they are walked.
#[must_use]
pub fn csv(schedule: &Schedule) -> String {
    let mut text = "unit,block,step,start_ns,end_ns\n".to_owned();
    walk(schedule, &mut |it| {
        let step = it.step.map(|it| it.to_string()).unwrap_or_default();
        let (start, end) = (it.start.as_ns(), it.end.as_ns());
        writeln!(text, "{},{},{step},{start},{end}", it.unit.name(), it.block)
            .expect("a string takes everything");
    });
    text
}

/// A timeline that Chrome and Perfetto open, as JSON.
#[must_use]
pub fn perfetto(schedule: &Schedule) -> String {
    let thread = |unit: Unit| Unit::ALL.iter().position(|it| *it == unit).unwrap_or(0) + 1;
    let mut lines: Vec<String> = Unit::ALL
        .iter()
        .map(|it| {
            let (thread, name) = (thread(*it), it.name());
            format!(r#"{{"ph":"M","pid":1,"tid":{thread},"name":"thread_name","args":{{"name":"{name}"}}}}"#)
        })
        .collect();
    walk(schedule, &mut |it| {
        let thread = thread(it.unit);
        let step = it.step.map(|it| format!(" step {it}")).unwrap_or_default();
        let (start, length) = (it.start.as_ns() * 1e-3, (it.end - it.start).as_ns() * 1e-3);
        lines.push(format!(
            r#"{{"ph":"X","pid":1,"tid":{thread},"ts":{start},"dur":{length},"name":"block {}{step}"}}"#,
            it.block
        ));
    });
    format!("[\n{}\n]\n", lines.join(",\n"))
}
