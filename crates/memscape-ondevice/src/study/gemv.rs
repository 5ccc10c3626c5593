//! The study `ondevice.gemv`: one matrix-vector product on the PIM blocks.

use std::num::NonZeroU64;

use memscape_dram::Dram;
use memscape_dram::export::CommandTimeline;
use memscape_study::{Bound, CostEngine, Laws, Recorder, Slot, Span, Study, StudyError};
use memscape_units::Picoseconds;
use memscape_workload::{Format, Gemv, Matrix, Model};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{floors, laws, slots};
use crate::cost::gemv::{GemvPart, PimMemory, delays, format_on_pim, host_sums, on_engine};
use crate::cost::memory::Bandwidth;
use crate::hardware::PimBlocks;
use crate::mapping::layout::{Layout, Placement};
use crate::mapping::schedule::Counts;

/// One matrix-vector product on PIM blocks, by Algorithm 1, beside the host at its
/// peak bandwidth.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GemvStudy {
    /// Language model that the matrix belongs to
    pub model: Model,
    /// Which of its matrices
    pub gemv: Matrix,
    /// Rows, for a matrix of one's own (with `k`; then `model` and `gemv` are ignored)
    pub m: Option<NonZeroU64>,
    /// Columns, for a matrix of one's own
    pub k: Option<NonZeroU64>,
    /// How weights are stored: `bf16`, `fp16`, `int8`, `int4`
    #[serde(deserialize_with = "format_on_pim")]
    pub format: Format,
    /// Which elements share a burst
    pub placement: Placement,
    /// The DRAM
    pub memory: Dram,
    /// The PIM blocks
    pub pim: PimBlocks,
    /// Whether refresh is on
    pub refresh: bool,
    /// Closed form, or the command stream on the DRAM engine: equal. Refresh counts as stalls of
    /// its own in both, in the mean; the trace shows what they meet
    pub engine: CostEngine,
}

/// What `ondevice.gemv` answers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct GemvAnswer {
    /// Time on PIM, everything included
    pub time_ns: f64,
    /// Time on PIM without refreshes
    pub busy_ns: f64,
    /// Time of the host to read the weights at peak bandwidth
    pub host_peak_ns: f64,
    /// The host's time at peak bandwidth over that on PIM
    pub bandwidth_gain: f64,
    /// The most that banks and command rate allow
    pub peak_bandwidth_gain: f64,
    /// Reading weights into the SIMD units
    pub mac_ns: f64,
    /// Opening rows of weights
    pub row_open_ns: f64,
    /// Writing inputs to registers, with the turnarounds around it
    pub input_ns: f64,
    /// Draining the pipeline
    pub drain_ns: f64,
    /// Writing sums to DRAM
    pub sums_ns: f64,
    /// All-bank refreshes, in the mean over many such products
    pub refresh_ns: f64,
    /// Reading and adding partial sums on the host at its peak bandwidth
    pub host_sums_ns: f64,
    /// Rows of the matrix
    pub rows: u64,
    /// Columns of the matrix
    pub columns: u64,
    /// Input registers that are used: as many as are best
    pub input_registers_used: u64,
    /// Rows of each bank that the weights take, over those there are
    pub rows_share: f64,
    /// Output tiles: passes over the input
    pub output_tiles: u64,
    /// Input tiles of one pass
    pub input_tiles: u64,
    /// Register writes per channel
    pub input_writes: u64,
    /// Reads per channel that multiply
    pub macs: u64,
    /// Reads per channel that drain the pipeline
    pub drains: u64,
    /// Writes per channel of sums to DRAM
    pub sum_writes: u64,
    /// Rows of weights opened, in all banks at once
    pub rows_opened: u64,
    /// Share of the lanes' work that is on padding
    pub padding_share: f64,
}

impl Default for GemvStudy {
    /// The gate projection of Llama 3.2 1B on the paper's phone.
    fn default() -> Self {
        let phone = slots::phone();
        Self {
            model: slots::model(),
            gemv: Matrix::Gate,
            m: None,
            k: None,
            format: Format::BF16,
            placement: Placement::ColumnBursts,
            memory: phone.memory,
            pim: phone.pim,
            refresh: true,
            engine: CostEngine::Closed,
        }
    }
}

impl GemvStudy {
    /// The matrix asked for.
    ///
    /// # Errors
    /// [`StudyError`] if the model has no such matrix or the shape is incomplete.
    pub fn shape(&self) -> Result<Gemv, StudyError> {
        Ok(self.model.asked_gemv(self.gemv, self.m, self.k)?)
    }

    /// The PIM that computes it.
    #[must_use]
    pub fn pim_memory(&self) -> PimMemory {
        PimMemory::new(&self.memory, self.pim, self.format, self.placement, self.refresh)
    }

    /// Where its weights lie.
    ///
    /// # Errors
    /// [`StudyError`] says what does not fit.
    pub fn layout(&self) -> Result<Layout, StudyError> {
        Ok(self.pim_memory().layout(self.shape()?)?)
    }

    /// What the host takes to read partial sums after it.
    fn host_sums(&self, layout: &Layout, refresh: bool) -> Picoseconds {
        host_sums(layout.host_sum_bytes(), Bandwidth::of(&self.memory, 1.0, 1, refresh).stream)
    }

    /// The commands of one channel, which all get the same, and then the host's reads.
    fn walk(&self, recorder: &mut dyn Recorder) -> Result<(), StudyError> {
        let (pim, layout) = (self.pim_memory(), self.layout()?);
        let reads = self.host_sums(&layout, self.refresh);
        let host = (reads > Picoseconds::ZERO).then(|| recorder.track("host", "partial sums"));
        let mut commands = CommandTimeline::new(recorder, &self.memory, 0, delays(&self.memory).slot);
        let start = on_engine(&layout, &self.memory, pim.refresh_policy(), &mut commands)?;
        if let Some(track) = host {
            let end = start + reads;
            recorder.span(track, Span { name: "read sums", category: "host", start, end, details: &[] });
        }
        Ok(())
    }
}

impl Study for GemvStudy {
    const NAME: &'static str = "ondevice.gemv";
    const SUMMARY: &'static str =
        "One matrix-vector product on a phone's PIM blocks, by HBM-PIM's command sequence";
    type Answer = GemvAnswer;

    const SUMS: &'static [(&'static str, &'static [&'static str])] = &[
        ("time_ns", &["busy_ns", "refresh_ns"]),
        ("busy_ns", &["mac_ns", "row_open_ns", "input_ns", "drain_ns", "sums_ns", "host_sums_ns"]),
    ];

    const TIMELINE: Option<fn(&Self, &mut dyn Recorder) -> Result<(), StudyError>> = Some(Self::walk);

    const LAWS: Laws = laws::GEMV;

    fn bounds(&self) -> Vec<Bound> {
        self.shape().map_or(Vec::new(), |shape| {
            floors::gemv_ns(shape.weight_bytes(self.format).0, &self.memory, &self.pim, "busy_ns")
        })
    }

    fn slots() -> Vec<Slot> {
        slots::all()
    }

    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
    fn answer(&self) -> Result<GemvAnswer, StudyError> {
        let layout = self.layout()?;
        let mut time = self.pim_memory().time(&layout, self.engine)?;
        let reads = self.host_sums(&layout, false);
        time[GemvPart::HostSums] = reads;
        time[GemvPart::Refresh] += self.host_sums(&layout, self.refresh) - reads;
        let counts = Counts::of(&layout);
        let slot = delays(&self.memory).slot;
        let weights = Gemv::new(layout.rows, layout.columns)?.weight_bytes(self.format);
        let host_peak_ns = self.memory.peak_gb_s().time_of(weights).as_f64();
        let time_ns = time.total().as_ns();
        let banks_at_once = layout.units as f64 / layout.dims.channels as f64;
        let used = layout.rows as f64 * layout.columns as f64;
        let offered = layout.units as f64 * layout.slots() as f64 * layout.lanes as f64;
        Ok(GemvAnswer {
            time_ns,
            busy_ns: (time.total() - time[GemvPart::Refresh]).as_ns(),
            host_peak_ns,
            bandwidth_gain: host_peak_ns / time_ns,
            peak_bandwidth_gain: banks_at_once * self.memory.burst().as_f64() / slot.as_ns(),
            mac_ns: time.ns(GemvPart::Mac),
            row_open_ns: time.ns(GemvPart::RowOpen),
            input_ns: time.ns(GemvPart::Input),
            drain_ns: time.ns(GemvPart::Drain),
            sums_ns: time.ns(GemvPart::Sums),
            refresh_ns: time.ns(GemvPart::Refresh),
            host_sums_ns: time.ns(GemvPart::HostSums),
            rows: layout.rows,
            columns: layout.columns,
            input_registers_used: layout.input_registers,
            rows_share: layout.end_row() as f64 / layout.dims.rows as f64,
            output_tiles: layout.passes(),
            input_tiles: layout.input_tiles(),
            input_writes: counts.input_writes,
            macs: counts.macs,
            drains: counts.drains,
            sum_writes: counts.sum_writes,
            rows_opened: counts.rows_opened,
            padding_share: 1.0 - used / offered,
        })
    }
}
