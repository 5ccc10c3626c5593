//! Command streams for other programs and for people.
//!
//! Every writer is a [`Sink`]: feed it from
//! [`Engine::issue_into`](crate::Engine::issue_into) and call its `finish`,
//! which returns the first error of the stream and hands the output back.
//! Writers write small pieces; pass a [`BufWriter`](std::io::BufWriter).

use std::io::{self, Write};

use memscape_study::{Output, Recorder, Span, TrackId};
use memscape_units::Picoseconds;

use crate::address::{AddressMap, Place};
use crate::constraint::Kind;
use crate::device::{Dram, Geometry};
use crate::engine::{Address, Command, Origin, Sink};

/// Timed commands as CSV, in the columns of Ramulator 2's command recorder, with our own names of
/// commands:
/// `clock,command,Channel,Rank,BankGroup,Bank,Row,Column,type,source`.
///
/// * `clock`: start in ticks, rounded up to the edge at which a clocked
///   controller could issue it; a tick of 1 ps gives the exact time
/// * `command`: [`Kind::name`]
/// * places are -1 where the command has none (all-bank forms, row commands)
/// * `type`: 0 for commands that read (RD, MAC), 1 for commands that write (WR,
///   SPILL, REGWR), -1 for all others
/// * `source`: 0 for the stream, 1 for what refresh inserted
#[derive(Debug)]
pub struct CommandCsv<W> {
    output: Output<W>,
    channel: u32,
    tick: Picoseconds,
}

impl<W: Write> CommandCsv<W> {
    /// Writes the header. A `tick` of zero counts as 1 ps.
    pub fn new(writer: W, channel: u32, tick: Picoseconds) -> Self {
        let mut output = Output::new(writer);
        output.put(|it| writeln!(it, "clock,command,Channel,Rank,BankGroup,Bank,Row,Column,type,source"));
        Self { output, channel, tick }
    }

    /// Flushes and returns the output.
    ///
    /// # Errors
    /// The first error of the output.
    pub fn finish(self) -> io::Result<W> {
        self.output.finish()
    }
}

impl<W: Write> Sink for CommandCsv<W> {
    fn accept(&mut self, at: Picoseconds, command: &Command, origin: Origin) {
        let Command { kind, at: place } = *command;
        let clock = at.0.div_ceil(self.tick.0.max(1));
        let when = |holds: bool, value: u32| if holds { i64::from(value) } else { -1 };
        let group = when(kind.is_per_bank(), place.bank_group);
        let bank = when(kind.is_per_bank(), place.bank);
        let row = when(kind.has_row(), place.row);
        let column = when(kind.has_column(), place.column);
        let direction = match kind {
            Kind::Rd | Kind::Mac => 0,
            Kind::Wr | Kind::Spill | Kind::RegWrite => 1,
            _ => -1,
        };
        let source = u8::from(origin == Origin::Refresh);
        let (name, channel, rank) = (kind.name(), self.channel, place.rank);
        self.output.put(|it| {
            writeln!(it, "{clock},{name},{channel},{rank},{group},{bank},{row},{column},{direction},{source}")
        });
    }
}

/// Ramulator 2's `ReadWriteTrace`, by place: `R ch,ra,bg,ba,row,col` for reads,
/// `W ...` for writes; the simulator decides on all other commands.
///
/// A MAC reads and a spill writes the column in every bank, so each becomes one
/// line per bank. A register write has no place in the array and is left out.
#[derive(Debug)]
pub struct RamulatorTrace<W> {
    output: Output<W>,
    channel: u32,
    geometry: Geometry,
}

impl<W: Write> RamulatorTrace<W> {
    /// A trace of one channel.
    pub fn new(writer: W, channel: u32, geometry: Geometry) -> Self {
        Self { output: Output::new(writer), channel, geometry }
    }

    /// Flushes and returns the output.
    ///
    /// # Errors
    /// The first error of the output.
    pub fn finish(self) -> io::Result<W> {
        self.output.finish()
    }
}

impl<W: Write> Sink for RamulatorTrace<W> {
    fn accept(&mut self, _: Picoseconds, command: &Command, _: Origin) {
        for_each_access(self.geometry, command, |reads, at| {
            let letter = if reads { 'R' } else { 'W' };
            let Address { rank, bank_group, bank, row, column } = at;
            let channel = self.channel;
            self.output
                .put(|it| writeln!(it, "{letter} {channel},{rank},{bank_group},{bank},{row},{column}"));
        });
    }
}

/// `DRAMsim3`'s trace: `0xADDR READ|WRITE CYCLE`, one line per column access,
/// all-bank forms as in [`RamulatorTrace`].
///
/// The address comes from an [`AddressMap`]; configure the simulator's
/// `address_mapping` to the same order of digits. `CYCLE` is the start in
/// ticks, rounded up.
#[derive(Debug)]
pub struct DramSim3Trace<W> {
    output: Output<W>,
    channel: u32,
    tick: Picoseconds,
    geometry: Geometry,
    map: AddressMap,
    column_bytes: u64,
}

impl<W: Write> DramSim3Trace<W> {
    /// A trace of one channel of `dram`, which `map` is of: a command elsewhere
    /// would have no address. A `tick` of zero counts as 1 ps.
    pub fn new(writer: W, dram: &Dram, map: AddressMap, channel: u32, tick: Picoseconds) -> Self {
        let (geometry, column_bytes) = (dram.geometry(), dram.column_bytes().into());
        Self { output: Output::new(writer), channel, tick, geometry, map, column_bytes }
    }

    /// Flushes and returns the output.
    ///
    /// # Errors
    /// The first error of the output.
    pub fn finish(self) -> io::Result<W> {
        self.output.finish()
    }
}

impl<W: Write> Sink for DramSim3Trace<W> {
    fn accept(&mut self, at: Picoseconds, command: &Command, _: Origin) {
        let cycle = at.0.div_ceil(self.tick.0.max(1));
        for_each_access(self.geometry, command, |reads, at| {
            let word = if reads { "READ" } else { "WRITE" };
            let burst = self.map.encode(&Place::of(self.channel, at));
            let address = burst.expect("the map is of this memory") * self.column_bytes;
            self.output.put(|it| writeln!(it, "0x{address:X} {word} {cycle}"));
        });
    }
}

/// Every column access of a command: whether it reads, and where.
fn for_each_access(geometry: Geometry, command: &Command, mut visit: impl FnMut(bool, Address)) {
    match command.kind {
        Kind::Rd | Kind::Wr => visit(command.kind == Kind::Rd, command.at),
        Kind::Mac | Kind::Spill => {
            for bank_group in 0..geometry.bank_groups {
                for bank in 0..geometry.banks {
                    visit(command.kind == Kind::Mac, Address { bank_group, bank, ..command.at });
                }
            }
        }
        _ => {}
    }
}

/// Tells a [`Recorder`] of commands: a track for each bank, one for what all
/// banks of a rank do, and one for their PIM units, which may still be busy when
/// rows are closed.
///
/// A command lasts as long as it keeps its bank or bus busy: an activate tRCD,
/// a precharge tRP, a column command its burst, a refresh tRFCab, a PIM command
/// one PIM slot. Commands that refresh inserted have the category `refresh`.
pub struct CommandTimeline<'a> {
    recorder: &'a mut dyn Recorder,
    geometry: Geometry,
    /// Per rank: all banks, the PIM units, then bank by bank.
    tracks: Vec<TrackId>,
    durations: [Picoseconds; Kind::ALL.len()],
}

impl<'a> CommandTimeline<'a> {
    /// Declares the tracks. `pim_slot` is how long a PIM command is drawn.
    pub fn new(recorder: &'a mut dyn Recorder, dram: &Dram, channel: u32, pim_slot: Picoseconds) -> Self {
        let durations = Kind::ALL.map(|kind| match kind {
            Kind::Act | Kind::ActAll => dram.trcd_ns.to_picoseconds(),
            Kind::Pre => dram.trp_ns.to_picoseconds(),
            Kind::PreAll => dram.trp_ab_ns.to_picoseconds(),
            Kind::Rd | Kind::Wr => dram.burst().to_picoseconds(),
            Kind::Ref => dram.trfc_ab_ns.to_picoseconds(),
            Kind::Mac | Kind::RegWrite | Kind::Spill | Kind::Alu => pim_slot,
        });
        let geometry = dram.geometry();
        let channel = format!("channel {channel}");
        let mut tracks = Vec::new();
        for rank in 0..geometry.ranks {
            tracks.push(recorder.track(&channel, &format!("rank {rank}, all banks")));
            tracks.push(recorder.track(&channel, &format!("rank {rank}, PIM units")));
            for bank_group in 0..geometry.bank_groups {
                for bank in 0..geometry.banks {
                    let name = format!("rank {rank}, group {bank_group}, bank {bank}");
                    tracks.push(recorder.track(&channel, &name));
                }
            }
        }
        Self { recorder, geometry, tracks, durations }
    }

    /// The rank's own tracks come before its banks'.
    fn track(&self, command: &Command) -> TrackId {
        let [groups, banks] = [self.geometry.bank_groups, self.geometry.banks].map(|it| it as usize);
        let Address { rank, bank_group, bank, .. } = command.at;
        let of_rank = rank as usize * (2 + groups * banks);
        let own = match command.kind {
            Kind::Mac | Kind::RegWrite | Kind::Spill | Kind::Alu => 1,
            kind if kind.is_per_bank() => 2 + bank_group as usize * banks + bank as usize,
            _ => 0,
        };
        self.tracks[of_rank + own]
    }
}

impl Sink for CommandTimeline<'_> {
    fn accept(&mut self, at: Picoseconds, command: &Command, origin: Origin) {
        let Command { kind, at: place } = *command;
        let category = match origin {
            Origin::Stream => "stream",
            Origin::Refresh => "refresh",
        };
        let details = [("row", u64::from(place.row)), ("column", u64::from(place.column))];
        let known = usize::from(kind.has_row()) + usize::from(kind.has_column());
        let end = at + self.durations[kind as usize];
        let span = Span { name: kind.name(), category, start: at, end, details: &details[..known] };
        self.recorder.span(self.track(command), span);
    }
}
