//! The command stream of a plan on the DRAM engine, for its time and for whoever
//! wants to see the commands.

use std::io::Write;

use memscape_dram::export::{CommandCsv, CommandTimeline, DramSim3Trace, RamulatorTrace};
use memscape_dram::{AddressMap, Dims, Engine, Field, ProtocolError, RefreshPolicy, Sink, pim_constraints};
use memscape_study::{Recorder, StudyError};
use memscape_units::Picoseconds;

use crate::hardware::Machine;
use crate::mapping::{Plan, schedule};

/// All channels of a split get the same commands, so a stream is that of one.
const CHANNEL: u32 = 0;

/// Lowest digit first: `DRAMsim3`'s `address_mapping = rochrababgco`.
const DRAMSIM3_ORDER: [Field; 6] =
    [Field::Column, Field::BankGroup, Field::Bank, Field::Rank, Field::Channel, Field::Row];

/// The commands of one GEMV, and the memory that they go to.
#[derive(Debug, Clone, Copy)]
pub struct CommandStream<'a> {
    /// What is to be done.
    pub plan: &'a Plan,
    /// The machine, which must have been checked.
    pub machine: &'a Machine,
    /// When refreshes come between.
    pub refresh: RefreshPolicy,
}

impl CommandStream<'_> {
    /// Walks the stream; the time includes closing the last row.
    ///
    /// # Errors
    /// [`ProtocolError`] if the stream breaks the DRAM protocol, which would be a
    /// bug.
    ///
    /// # Panics
    /// Never for a checked memory: its rules and geometry always make an engine.
    pub fn walk(&self, sink: &mut impl Sink) -> Result<Picoseconds, ProtocolError> {
        let memory = &self.machine.memory;
        let rules = pim_constraints(memory, &self.machine.pim_timing());
        let mut engine = Engine::new(memory.geometry(), &rules)
            .and_then(|it| it.with_refresh(self.refresh))
            .expect("a checked device has valid rules");
        let mut end = Picoseconds::ZERO;
        schedule::for_each(self.plan, |op| {
            end = engine.issue_into(op.command(), sink)?;
            Ok(())
        })?;
        Ok(end + memory.trp_ab_ns.to_picoseconds().max(engine.command_slot()))
    }

    /// Tells each command as a span of what it keeps busy.
    ///
    /// # Errors
    /// As [`CommandStream::walk`].
    pub fn tell(&self, recorder: &mut dyn Recorder) -> Result<(), ProtocolError> {
        let slot = self.machine.pim_delays().slot;
        self.walk(&mut CommandTimeline::new(recorder, &self.machine.memory, CHANNEL, slot)).map(drop)
    }

    /// Writes the columns of [`CommandCsv`], in clocks, as a controller issues them that knows no parts of one.
    ///
    /// # Errors
    /// Those of [`CommandStream::walk`], and the writer's first.
    pub fn write_commands(&self, out: &mut dyn Write) -> Result<(), StudyError> {
        self.clocked(|stream, clock| {
            let mut sink = CommandCsv::new(out, CHANNEL, clock);
            stream.walk(&mut sink)?;
            Ok(sink.finish().map(drop)?)
        })
    }

    /// Writes the lines of [`RamulatorTrace`].
    ///
    /// # Errors
    /// Those of [`CommandStream::walk`], and the writer's first.
    pub fn write_ramulator(&self, out: &mut dyn Write) -> Result<(), StudyError> {
        let mut sink = RamulatorTrace::new(out, CHANNEL, self.machine.memory.geometry());
        self.walk(&mut sink)?;
        Ok(sink.finish().map(drop)?)
    }

    /// Writes the lines of [`DramSim3Trace`], in clocks, as [`CommandStream::write_commands`] does.
    ///
    /// # Errors
    /// Those of [`CommandStream::walk`], and the writer's first.
    pub fn write_dramsim3(&self, out: &mut dyn Write) -> Result<(), StudyError> {
        self.clocked(|stream, clock| {
            let memory = &stream.machine.memory;
            let map = AddressMap::of(Dims::of(memory), &DRAMSIM3_ORDER)?;
            let mut sink = DramSim3Trace::new(out, memory, map, CHANNEL, clock);
            stream.walk(&mut sink)?;
            Ok(sink.finish().map(drop)?)
        })
    }

    /// The same commands on clock edges only, and the clock: otherwise gaps of a trace in clocks
    /// would be shorter than timings allow.
    fn clocked(
        &self,
        write: impl FnOnce(&CommandStream<'_>, Picoseconds) -> Result<(), StudyError>,
    ) -> Result<(), StudyError> {
        let machine = &self.machine.on_whole_clock()?;
        // Rounded, refreshes may leave no time where they did.
        if self.refresh != RefreshPolicy::Off {
            machine.check()?;
            machine.pim_delays().check_refresh(&machine.memory)?;
        }
        let refresh = match self.refresh {
            RefreshPolicy::Off => RefreshPolicy::Off,
            RefreshPolicy::AllBank { .. } => RefreshPolicy::all_bank(&machine.memory),
        };
        write(&CommandStream { plan: self.plan, machine, refresh }, machine.memory.tck().to_picoseconds())
    }
}
