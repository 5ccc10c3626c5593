//! The study `pim.gemv`: one matrix-vector product on PIM beside the processor.

use std::num::{NonZeroU32, NonZeroU64};

use memscape_dram::{Dram, DramError, RefreshPolicy};
use memscape_study::{CostEngine, Filling, PresetParameter, Study, StudyError};
use memscape_units::{GbPerS, Nanoseconds};
use memscape_workload::{Format, Gemv, Matrix, ModelName};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::column_major::column_major;
use crate::cost::{Breakdown, Timing, closed_form, on_engine, roofline_speedup, soc_time, weight_bytes};
use crate::hardware::{DEFAULT_MACHINE, PimUnit, Soc, find_machine, machine_names};
use crate::placement::{CrDegree, RegisterRule, TilePolicy};
use crate::plan::{Plan, PlanError, Policy};

/// One matrix-vector product on PIM, beside the same on the processor.
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
    /// How weights and inputs are stored: `int8`, `int4`, `fp16`, or scaled blocks such as `mx-int8-b32`
    pub format: Format,
    /// The DRAM
    pub memory: Dram,
    /// Bytes in one interleaving unit of memory, which a tile fills
    #[schemars(range(min = 1))]
    pub interleave_bytes: NonZeroU64,
    /// The PIM unit of each bank
    pub pim: PimUnit,
    /// The processor
    pub soc: Soc,
    /// Tile height: `algorithm1`, `best`, or rows per tile
    pub tile: TilePolicy,
    /// Row-blocks that share one pass over the input: `max` (algorithm 3), `divisor`, or a degree
    pub cr_degree: CrDegree,
    /// Parts into which the columns are cut, each with its share of the channels
    pub split_k: NonZeroU32,
    /// Which registers tile height and CR degree are held to
    pub register_rule: RegisterRule,
    /// How the weights are placed
    pub placement: Placement,
    /// Whether the processor's adding of split-K partial sums is charged
    pub charge_reduction: bool,
    /// Whether refresh is on (the paper's models have it off)
    pub refresh: bool,
    /// Closed form, or the command stream on the DRAM engine: equal but for refresh
    pub engine: CostEngine,
}

/// How the weights are placed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// Algorithms 1 to 3.
    Pimnast,
    /// Interleaving units along matrix columns: the baseline.
    ColumnMajor,
}

/// What `pim.gemv` answers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct GemvAnswer {
    /// Time on the processor over time on PIM
    pub speedup: f64,
    /// The speedup that row opening alone would leave
    pub roofline_speedup: f64,
    /// The speedup of banks and command rate alone
    pub peak_speedup: f64,
    /// Time on PIM, everything included
    pub time_ns: f64,
    /// Time on the processor: the slower of reading and computing at peak
    pub soc_time_ns: f64,
    /// Reading weights into the MAC units
    pub mac_ns: f64,
    /// Opening rows of weights
    pub row_open_ns: f64,
    /// Writing the input vector into registers
    pub input_vector_ns: f64,
    /// Waiting between reads and writes
    pub turnaround_ns: f64,
    /// Exchanging the sums of row-blocks
    pub swap_ns: f64,
    /// Adding up sums that lie in different lanes
    pub cross_lane_ns: f64,
    /// Loading and applying scale factors
    pub scale_factor_ns: f64,
    /// Writing outputs to memory, with row opening and write recovery
    pub spill_ns: f64,
    /// All-bank refreshes
    pub refresh_ns: f64,
    /// Reading and adding partial sums on the processor
    pub soc_reduction_ns: f64,
    /// Rows of the matrix
    pub rows: u64,
    /// Columns of the matrix
    pub columns: u64,
    /// Rows per tile
    pub m_tile: u64,
    /// Columns per tile
    pub k_tile: u64,
    /// Row-blocks in the fullest bank
    pub row_blocks_per_bank: u64,
    /// Row-blocks that share one pass over the input, as resolved
    pub cr_degree_used: u64,
    /// Registers that hold inputs, as resolved
    pub input_registers_used: u64,
    /// Rows of weights opened per bank
    pub rows_opened: u64,
    /// Bytes of the weights with their scale factors
    pub weight_bytes: f64,
}

/// Why a GEMV cannot be placed or timed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum GemvError {
    /// Only one of `m` and `k`.
    #[error("`m` and `k` go together: give both for a matrix of your own, or neither for one of the model's")]
    HalfShape,
    /// The model has no such matrix.
    #[error(transparent)]
    Matrix(#[from] memscape_workload::NoSuchMatrix),
    /// A shape of no elements or too many.
    #[error(transparent)]
    Shape(#[from] memscape_workload::ShapeError),
    /// The memory contradicts itself.
    #[error("`memory`: {0}")]
    Memory(#[from] DramError),
    /// No placement.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The matrix occupies several ranks.
    #[error("`memory.ranks` is {0}; a PIM command reaches the banks of one rank, so use 1")]
    Ranks(u32),
    /// A time that cannot be counted.
    #[error("the column-major baseline has no command stream; use `engine = \"closed\"`")]
    NoStream,
    /// A stream that breaks the protocol.
    #[error("the command stream breaks the DRAM protocol: {0}")]
    Protocol(#[from] memscape_dram::ProtocolError),
}

impl Default for GemvStudy {
    /// OPT-6.7B's QKV on the paper's machine, with the CR degree at its maximum.
    fn default() -> Self {
        static BASELINE: std::sync::LazyLock<GemvStudy> = std::sync::LazyLock::new(|| {
            let mut tree = find_machine(DEFAULT_MACHINE).expect("the default machine is built in").parameters;
            let rest = serde_json::json!({
                "model": "opt-6.7b", "gemv": "qkv", "m": null, "k": null, "format": "int8",
                "tile": "algorithm1", "cr_degree": "max", "split_k": 1, "register_rule": "accumulators",
                "placement": "pimnast", "charge_reduction": false, "refresh": false, "engine": "closed",
            });
            for (key, value) in rest.as_object().expect("an object") {
                tree[key] = value.clone();
            }
            serde_json::from_value(tree).expect("the baseline is checked by tests")
        });
        *BASELINE
    }
}

impl GemvStudy {
    /// What decides the placement.
    #[must_use]
    pub const fn policy(&self) -> Policy {
        Policy {
            tile: self.tile,
            cr_degree: self.cr_degree,
            split_k: self.split_k,
            register_rule: self.register_rule,
        }
    }

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

    /// The placement, with `tile = "best"` resolved by time.
    ///
    /// # Errors
    /// [`GemvError`] says what does not fit.
    pub fn plan(&self) -> Result<Plan, GemvError> {
        self.memory.check()?;
        if self.memory.ranks.get() > 1 {
            return Err(GemvError::Ranks(self.memory.ranks.get()));
        }
        let gemv = self.shape()?;
        let interleave = self.interleave_bytes.get();
        let plan =
            |policy: &Policy| Plan::new(gemv, self.format, &self.memory, interleave, &self.pim, policy);
        if self.tile != TilePolicy::Best {
            return Ok(plan(&self.policy())?);
        }
        let timing = Timing::new(&self.memory, &self.pim);
        let tile_elements = interleave.saturating_mul(8) / self.format.element_bits();
        let mut best: Option<(u64, Plan)> = None;
        for height in (0..32).map(|it| 1_u32 << it).take_while(|it| u64::from(*it) <= tile_elements) {
            let Some(height) = NonZeroU32::new(height) else { continue };
            let Ok(candidate) = plan(&Policy { tile: TilePolicy::Fixed(height), ..self.policy() }) else {
                continue;
            };
            let time = self.time(&candidate, &timing)?.total();
            if best.as_ref().is_none_or(|it| time < it.0) {
                best = Some((time, candidate));
            }
        }
        // If none fits, algorithm 1 says why.
        best.map_or_else(|| Ok(plan(&self.policy())?), |it| Ok(it.1))
    }

    /// The time of a plan on PIM.
    ///
    /// # Errors
    /// [`GemvError`] if the stream cannot be walked.
    pub fn time(&self, plan: &Plan, timing: &Timing) -> Result<Breakdown, GemvError> {
        let closed = closed_form(plan, timing);
        let mut breakdown = closed.unwrap_or_default();
        let refreshed = self.refresh && self.engine == CostEngine::Events;
        if closed.is_none() || self.engine == CostEngine::Events {
            let busy = on_engine(plan, &self.memory, timing, RefreshPolicy::Off, &mut ())?.0;
            // Where nothing else tells, waiting for rows is row opening.
            breakdown.row_open += busy - breakdown.total();
            if refreshed {
                let policy = RefreshPolicy::all_bank(&self.memory);
                let whole = on_engine(plan, &self.memory, timing, policy, &mut ())?.0;
                breakdown.refresh = whole.saturating_sub(busy);
            }
        }
        if self.refresh && !refreshed {
            breakdown.refresh = timing.refresh_ps(&self.memory, breakdown.total());
        }
        Ok(breakdown)
    }

    /// What the processor can read at best: the peak, less what refresh takes.
    #[must_use]
    pub fn bandwidth(&self) -> GbPerS {
        let peak = self.memory.peak_gb_s();
        if !self.refresh {
            return peak;
        }
        GbPerS::new(peak.as_f64() * (1.0 - self.memory.refresh_share())).unwrap_or(peak)
    }
}

impl Study for GemvStudy {
    const NAME: &'static str = "pim.gemv";
    const SUMMARY: &'static str =
        "One matrix-vector product on LPDDR-PIM, placed by PIMnast, beside the processor";
    type Answer = GemvAnswer;

    fn presets() -> Vec<PresetParameter> {
        presets()
    }

    #[expect(clippy::cast_precision_loss, reason = "picoseconds and bytes stay far below 2^53")]
    fn answer(&self) -> Result<GemvAnswer, StudyError> {
        let plan = self.plan()?;
        let timing = Timing::new(&self.memory, &self.pim);
        let bandwidth = self.bandwidth();
        let (time, reduction) = match self.placement {
            Placement::Pimnast => {
                let partial_sums = if self.charge_reduction { plan.split_k * plan.gemv.m() } else { 0 };
                (self.time(&plan, &timing)?, if plan.split_k > 1 { partial_sums } else { 0 })
            }
            Placement::ColumnMajor if self.engine == CostEngine::Events => {
                return Err(GemvError::NoStream.into());
            }
            Placement::ColumnMajor => {
                let mut time = column_major(&plan, &timing, self.register_rule);
                if self.refresh {
                    time.refresh = timing.refresh_ps(&self.memory, time.total());
                }
                (time, 0)
            }
        };
        let reduction_ns = reduction_time(reduction, self.pim.sum_bits.get(), bandwidth).as_f64();
        let soc_ns = soc_time(&plan, &self.soc, bandwidth).as_f64();
        let ns = |ps: u64| ps as f64 * 1e-3;
        let time_ns = ns(time.total()) + reduction_ns;
        Ok(GemvAnswer {
            speedup: soc_ns / time_ns,
            roofline_speedup: roofline_speedup(&self.memory, &timing),
            peak_speedup: f64::from(self.memory.banks_per_channel.get()) / self.pim.command_ratio,
            time_ns,
            soc_time_ns: soc_ns,
            mac_ns: ns(time.mac),
            row_open_ns: ns(time.row_open),
            input_vector_ns: ns(time.input_vector),
            turnaround_ns: ns(time.turnaround),
            swap_ns: ns(time.swap),
            cross_lane_ns: ns(time.cross_lane),
            scale_factor_ns: ns(time.scale_factor),
            spill_ns: ns(time.spill),
            refresh_ns: ns(time.refresh),
            soc_reduction_ns: reduction_ns,
            rows: plan.gemv.m(),
            columns: plan.gemv.k(),
            m_tile: plan.tile.m,
            k_tile: plan.tile.k,
            row_blocks_per_bank: plan.row_blocks,
            cr_degree_used: plan.cr_degree,
            input_registers_used: plan.input_registers,
            rows_opened: time.rows_opened,
            weight_bytes: weight_bytes(&plan),
        })
    }
}

/// The presets of all PIM studies.
pub(crate) fn presets() -> Vec<PresetParameter> {
    fn find_memory(name: &str) -> Option<Filling> {
        let preset = Dram::find(name).ok()?;
        let parameters = serde_json::to_value(preset.parameters).ok()?;
        Some(Filling { parameters, sources: preset.sources.clone() })
    }
    vec![
        PresetParameter {
            name: "hardware",
            meaning: "Machine that fills `memory`, `interleave_bytes`, `pim` and `soc`",
            fills: "",
            default: DEFAULT_MACHINE,
            names: machine_names,
            find: find_machine,
        },
        PresetParameter {
            name: "memory",
            meaning: "DRAM that fills `memory.*`, by name",
            fills: "memory",
            default: "lpddr5x-7500",
            names: Dram::names,
            find: find_memory,
        },
    ]
}

/// Reading partial sums back over the memory bus.
#[expect(clippy::cast_precision_loss, reason = "sums stay far below 2^53")]
fn reduction_time(partial_sums: u64, sum_bits: u32, bandwidth: GbPerS) -> Nanoseconds {
    Nanoseconds::new(partial_sums as f64 * f64::from(sum_bits) / 8.0 / bandwidth.as_f64())
        .expect("a quotient of finite positive numbers")
}
