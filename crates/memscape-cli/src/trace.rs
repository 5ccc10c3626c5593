//! The memory commands of one GEMV, and the events of one GEMM.

use std::io::{BufWriter, Write};

use memscape::dram::export::{ChromeTrace, CommandCsv, DramSim3Trace, RamulatorTrace};
use memscape::dram::stream::{AddressMap, Field};
use memscape::dram::{RefreshPolicy, Sink};
use memscape::explore::read;
use memscape::npu::GemmStudy;
use memscape::npu::array::Schedule;
use memscape::npu::events::{csv, perfetto};
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
pub enum Trace {
    /// The command stream of `pim.gemv`.
    Gemv(Box<Stream>),
    /// The events of `npu.gemm`.
    Gemm(Schedule),
}

/// A GEMV's commands, before they are walked.
pub struct Stream {
    study: GemvStudy,
    plan: Plan,
    timing: Timing,
}

impl Trace {
    /// What this study does with these parameters.
    pub fn of(study: &str, parameters: &Parameters) -> Result<Self, Failure> {
        match study {
            "pim.gemv" => Ok(Self::Gemv(Box::new(Stream::of(parameters)?))),
            "npu.gemm" => {
                let study: GemmStudy = read(parameters).map_err(Failure::of)?;
                Ok(Self::Gemm(study.schedule().map_err(Failure::of)?.0))
            }
            other => Err(Failure::BadInput(format!(
                "`{other}` has no trace; `pim.gemv` (memory commands) and `npu.gemm` (events) have"
            ))),
        }
    }

    /// Walks it into `out`.
    pub fn write(&self, format: Format, out: &mut dyn Write) -> Result<(), Failure> {
        match (self, format) {
            (Self::Gemv(stream), _) => stream.write(format, out),
            (Self::Gemm(schedule), Format::Perfetto) => Ok(write!(out, "{}", perfetto(schedule))?),
            (Self::Gemm(schedule), Format::Csv) => Ok(write!(out, "{}", csv(schedule))?),
            (Self::Gemm(_), Format::Ramulator | Format::Dramsim3) => Err(Failure::BadInput(
                "`npu.gemm` has events, not memory commands; use `--format csv` or `perfetto`".to_owned(),
            )),
        }
    }
}

impl Stream {
    fn of(parameters: &Parameters) -> Result<Self, Failure> {
        let study: GemvStudy = read(parameters).map_err(Failure::of)?;
        if study.placement == Placement::ColumnMajor {
            return Err(Failure::of(GemvError::NoStream));
        }
        let plan = study.plan().map_err(Failure::of)?;
        let timing = Timing::new(&study.memory, &study.pim);
        Ok(Self { study, plan, timing })
    }

    fn write(&self, format: Format, out: &mut dyn Write) -> Result<(), Failure> {
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
