//! The memory commands of one GEMV.

use std::io::{BufWriter, Write};

use memscape::dram::export::{ChromeTrace, CommandCsv, DramSim3Trace, RamulatorTrace};
use memscape::dram::stream::{AddressMap, Field};
use memscape::dram::{RefreshPolicy, Sink};
use memscape::explore::read;
use memscape::pim::GemvStudy;
use memscape::pim::cost::{Timing, on_engine};
use memscape::pim::gemv::{GemvError, Placement};
use memscape::pim::plan::Plan;
use memscape::prelude::Parameters;
use memscape::units::Picoseconds;

use crate::args::Format;
use crate::failure::Failure;

/// All channels of a split get the same commands, so the trace has one.
const CHANNEL: u32 = 0;
/// Lowest digit first: `DRAMsim3`'s `address_mapping = rochrababgco`.
const ORDER: [Field; 6] =
    [Field::Column, Field::BankGroup, Field::Bank, Field::Rank, Field::Channel, Field::Row];

/// What is to be traced.
pub struct Trace {
    study: GemvStudy,
    plan: Plan,
    timing: Timing,
}

impl Trace {
    /// The command stream of `pim.gemv` with these parameters.
    pub fn of(parameters: &Parameters) -> Result<Self, Failure> {
        let study: GemvStudy = read(parameters).map_err(Failure::of)?;
        if study.placement == Placement::ColumnMajor {
            return Err(Failure::of(GemvError::NoStream));
        }
        let plan = study.plan().map_err(Failure::of)?;
        let timing = Timing::new(&study.memory, &study.pim);
        Ok(Self { study, plan, timing })
    }

    /// Walks it into `out`.
    pub fn write(&self, format: Format, out: &mut dyn Write) -> Result<(), Failure> {
        let memory = &self.study.memory;
        let tick = memory.tck_ns.to_picoseconds();
        let out = BufWriter::new(out);
        match format {
            Format::Csv => {
                let mut sink = CommandCsv::new(out, CHANNEL, tick);
                self.walk(&mut sink)?;
                sink.finish()?;
            }
            Format::Ramulator => {
                let mut sink = RamulatorTrace::new(out, CHANNEL, memory.geometry());
                self.walk(&mut sink)?;
                sink.finish()?;
            }
            Format::Dramsim3 => {
                let map = AddressMap::new(memory, ORDER);
                let mut sink = DramSim3Trace::new(out, memory, map, CHANNEL, tick);
                self.walk(&mut sink)?;
                sink.finish()?;
            }
            Format::Perfetto => {
                let mut sink = ChromeTrace::new(out, memory, CHANNEL, Picoseconds(self.timing.slot));
                self.walk(&mut sink)?;
                sink.finish()?;
            }
        }
        Ok(())
    }

    fn walk(&self, sink: &mut impl Sink) -> Result<(), Failure> {
        let memory = &self.study.memory;
        let refresh = if self.study.refresh { RefreshPolicy::all_bank(memory) } else { RefreshPolicy::Off };
        on_engine(&self.plan, memory, &self.timing, refresh, sink).map(drop).map_err(Failure::of)
    }
}
