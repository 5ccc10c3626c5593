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

/// Walks the command stream of `pim.gemv` with these parameters into `out`.
pub fn trace(parameters: &Parameters, format: Format, out: &mut dyn Write) -> Result<(), Failure> {
    let study: GemvStudy = read(parameters).map_err(Failure::of)?;
    if study.placement == Placement::ColumnMajor {
        return Err(Failure::of(GemvError::NoStream));
    }
    let plan = study.plan().map_err(Failure::of)?;
    let timing = Timing::new(&study.memory, &study.pim);
    let memory = &study.memory;
    let tick = memory.tck_ns.to_picoseconds();
    let out = BufWriter::new(out);
    match format {
        Format::Csv => {
            let mut sink = CommandCsv::new(out, CHANNEL, tick);
            walk(&study, &plan, &timing, &mut sink)?;
            sink.finish()?;
        }
        Format::Ramulator => {
            let mut sink = RamulatorTrace::new(out, CHANNEL, memory.geometry());
            walk(&study, &plan, &timing, &mut sink)?;
            sink.finish()?;
        }
        Format::Dramsim3 => {
            let mut sink = DramSim3Trace::new(out, memory, AddressMap::new(memory, ORDER), CHANNEL, tick);
            walk(&study, &plan, &timing, &mut sink)?;
            sink.finish()?;
        }
        Format::Perfetto => {
            let mut sink = ChromeTrace::new(out, memory, CHANNEL, Picoseconds(timing.slot));
            walk(&study, &plan, &timing, &mut sink)?;
            sink.finish()?;
        }
    }
    Ok(())
}

fn walk(study: &GemvStudy, plan: &Plan, timing: &Timing, sink: &mut impl Sink) -> Result<(), Failure> {
    let memory = &study.memory;
    let refresh = if study.refresh { RefreshPolicy::all_bank(memory) } else { RefreshPolicy::Off };
    on_engine(plan, memory, timing, refresh, sink).map(drop).map_err(Failure::of)
}
