//! The study `ondevice.gemv`: one matrix-vector product on the PIM blocks.

use std::num::NonZeroU64;

use memscape_dram::{Dram, DramError, ProtocolError, RefreshPolicy};
use memscape_study::{CostEngine, PresetParameter, Study, StudyError};
use memscape_workload::{Format, Gemv, Matrix, ModelName, NoSuchMatrix, ShapeError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cost::{Breakdown, closed_form, delays, on_engine};
use crate::hardware::{default_part, presets};
use crate::layout::{Layout, LayoutError, PimBlocks, Placement};
use crate::schedule::Counts;

/// One matrix-vector product on PIM blocks, by Algorithm 1, beside the host at its
/// peak bandwidth.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GemvStudy {
    /// Language model that the matrix belongs to
    pub model: ModelName,
    /// Which of its matrices
    pub gemv: Matrix,
    /// Rows, for a matrix of one's own (with `k`; then `model` and `gemv` are ignored)
    pub m: Option<NonZeroU64>,
    /// Columns, for a matrix of one's own
    pub k: Option<NonZeroU64>,
    /// How weights are stored: `bf16`, `fp16`, `int8`, `int4`
    pub format: Format,
    /// Which elements share a burst
    pub placement: Placement,
    /// The DRAM
    pub memory: Dram,
    /// The PIM blocks
    pub pim: PimBlocks,
    /// Whether refresh is on
    pub refresh: bool,
    /// Closed form, or the command stream on the DRAM engine: equal but for refresh
    pub engine: CostEngine,
}

/// What `ondevice.gemv` answers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct GemvAnswer {
    /// Time on PIM, everything included
    pub time_ns: f64,
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
    /// All-bank refreshes
    pub refresh_ns: f64,
    /// Rows of the matrix
    pub rows: u64,
    /// Columns of the matrix
    pub columns: u64,
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

/// Why a GEMV has no time.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum GemvError {
    /// Only one of `m` and `k`.
    #[error("`m` and `k` go together: give both for a matrix of your own, or neither for one of the model's")]
    HalfShape,
    /// The model has no such matrix.
    #[error(transparent)]
    Matrix(#[from] NoSuchMatrix),
    /// A shape of no elements or too many.
    #[error(transparent)]
    Shape(#[from] ShapeError),
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

impl Default for GemvStudy {
    /// The gate projection of Llama 3.2 1B on the paper's phone.
    fn default() -> Self {
        Self {
            model: "llama-3.2-1b".parse().expect("a built-in model"),
            gemv: Matrix::Gate,
            m: None,
            k: None,
            format: Format::BF16,
            placement: Placement::ColumnBursts,
            memory: default_part("memory"),
            pim: default_part("pim"),
            refresh: true,
            engine: CostEngine::Closed,
        }
    }
}

impl GemvStudy {
    /// The matrix asked for.
    ///
    /// # Errors
    /// [`GemvError`] if the model has no such matrix or the shape is incomplete.
    pub fn shape(&self) -> Result<Gemv, GemvError> {
        match (self.m, self.k) {
            (Some(m), Some(k)) => Ok(Gemv::new(m.get(), k.get())?),
            (None, None) => Ok(self.model.gemv(self.gemv)?),
            _ => Err(GemvError::HalfShape),
        }
    }

    /// Where its weights lie.
    ///
    /// # Errors
    /// [`GemvError`] says what does not fit.
    pub fn layout(&self) -> Result<Layout, GemvError> {
        self.memory.check()?;
        if self.memory.ranks.get() > 1 {
            return Err(GemvError::Ranks(self.memory.ranks.get()));
        }
        if self.format.scale().is_some() {
            return Err(GemvError::Scaled(self.format));
        }
        let (element, placement) = (self.format.element(), self.placement);
        Ok(Layout::new(self.shape()?, element, placement, &self.memory, &self.pim, 0)?)
    }

    /// The time of a layout on PIM.
    ///
    /// # Errors
    /// [`GemvError`] if the stream cannot be walked.
    pub fn time(&self, layout: &Layout) -> Result<Breakdown, GemvError> {
        let delays = delays(&self.memory);
        let closed = closed_form(layout, &delays);
        let mut parts = closed.unwrap_or_default();
        let walk = |refresh| on_engine(layout, &self.memory, &delays, refresh, &mut ()).map(|it| it.0);
        let refreshed = self.refresh && self.engine == CostEngine::Events;
        if closed.is_none() || self.engine == CostEngine::Events {
            let busy = walk(RefreshPolicy::Off)?;
            // Where nothing else tells, waiting for rows is row opening.
            parts.row_open += busy - parts.total();
            if refreshed {
                parts.refresh = walk(RefreshPolicy::all_bank(&self.memory))?.saturating_sub(busy);
            }
        }
        if self.refresh && !refreshed {
            parts.refresh = delays.refresh_ps(&self.memory, parts.total());
        }
        Ok(parts)
    }
}

impl Study for GemvStudy {
    const NAME: &'static str = "ondevice.gemv";
    const SUMMARY: &'static str =
        "One matrix-vector product on a phone's PIM blocks, by HBM-PIM's command sequence";
    type Answer = GemvAnswer;

    fn presets() -> Vec<PresetParameter> {
        presets!("memory", "pim")
    }

    #[expect(clippy::cast_precision_loss, reason = "picoseconds and bytes stay far below 2^53")]
    fn answer(&self) -> Result<GemvAnswer, StudyError> {
        let layout = self.layout()?;
        let time = self.time(&layout)?;
        let counts = Counts::of(&layout);
        let delays = delays(&self.memory);
        let ns = |ps: u64| ps as f64 * 1e-3;
        let weights = Gemv::new(layout.rows, layout.columns)?.weight_bytes(self.format);
        let host_peak_ns = self.memory.peak_gb_s().time_of(weights).as_f64();
        let time_ns = ns(time.total());
        let banks_at_once = layout.units as f64 / layout.dims.channels as f64;
        let used = layout.rows as f64 * layout.columns as f64;
        let offered = layout.units as f64 * layout.slots() as f64 * layout.lanes as f64;
        Ok(GemvAnswer {
            time_ns,
            host_peak_ns,
            bandwidth_gain: host_peak_ns / time_ns,
            peak_bandwidth_gain: banks_at_once * self.memory.burst().as_f64() / ns(delays.slot),
            mac_ns: ns(time.mac),
            row_open_ns: ns(time.row_open),
            input_ns: ns(time.input),
            drain_ns: ns(time.drain),
            sums_ns: ns(time.sums),
            refresh_ns: ns(time.refresh),
            rows: layout.rows,
            columns: layout.columns,
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
