//! The study `pim.gemv`: one matrix-vector product on PIM beside the processor.

use std::num::{NonZeroU32, NonZeroU64};

use memscape_dram::{Dram, MEMORIES, RefreshPolicy};
use memscape_study::{CostEngine, Recorder, Slot, Study, StudyError, TraceFormat};
use memscape_units::{GbPerS, Nanoseconds, Picoseconds};
use memscape_workload::{Format, Gemv, MODELS, Matrix, Model};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cost::{
    CommandStream, GemvCost, GemvPart, Timing, column_major, reduction, roofline_speedup, soc_time,
    time_on_pim, weight_bytes,
};
use crate::hardware::{DEFAULT_MACHINE, HardwareError, MACHINES, Machine, PimUnit, Soc};
use crate::mapping::placement::{CrDegree, Policy, RegisterRule, TilePolicy};
use crate::mapping::{Plan, PlanError};

/// One matrix-vector product on PIM, beside the same on the processor.
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
    /// The machine contradicts itself.
    #[error(transparent)]
    Hardware(#[from] HardwareError),
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

/// A matrix placed and timed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Solved {
    /// Its placement.
    pub plan: Plan,
    /// The delays of PIM commands.
    pub timing: Timing,
    /// What it costs on PIM.
    pub cost: GemvCost,
    /// Its time on the processor.
    pub soc: Nanoseconds,
}

impl Default for GemvStudy {
    /// OPT-6.7B's QKV on the paper's machine, with the CR degree at its maximum.
    fn default() -> Self {
        let Machine { memory, interleave_bytes, pim, soc } = *MACHINES.get(DEFAULT_MACHINE);
        Self {
            model: Model::named("opt-6.7b").expect("a built-in model"),
            gemv: Matrix::Qkv,
            m: None,
            k: None,
            format: Format::INT8,
            memory,
            interleave_bytes,
            pim,
            soc,
            tile: TilePolicy::Algorithm1,
            cr_degree: CrDegree::Max,
            split_k: NonZeroU32::MIN,
            register_rule: RegisterRule::Accumulators,
            placement: Placement::Pimnast,
            charge_reduction: false,
            refresh: false,
            engine: CostEngine::Closed,
        }
    }
}

impl GemvStudy {
    /// The machine.
    #[must_use]
    pub const fn machine(&self) -> Machine {
        let Self { memory, interleave_bytes, pim, soc, .. } = *self;
        Machine { memory, interleave_bytes, pim, soc }
    }

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
        let machine = self.machine();
        self.plan_on(&machine, &Timing::new(&machine))
    }

    fn plan_on(&self, machine: &Machine, timing: &Timing) -> Result<Plan, GemvError> {
        machine.check()?;
        if machine.memory.ranks.get() > 1 {
            return Err(GemvError::Ranks(machine.memory.ranks.get()));
        }
        let gemv = self.shape()?;
        if self.tile == TilePolicy::Best
            && let Some(best) = self.best_plan(gemv, machine, timing)?
        {
            return Ok(best);
        }
        // If no height fits, algorithm 1 says why.
        Ok(Plan::new(gemv, self.format, machine, &self.policy())?)
    }

    /// The plan of the tile height that takes least time, if one fits.
    fn best_plan(&self, gemv: Gemv, machine: &Machine, timing: &Timing) -> Result<Option<Plan>, GemvError> {
        let tile_elements = machine.interleave_bytes.get().saturating_mul(8) / self.format.element_bits();
        let heights = (0..32).map(|it| 1_u32 << it).take_while(|it| u64::from(*it) <= tile_elements);
        let mut best: Option<(Picoseconds, Plan)> = None;
        for height in heights.filter_map(NonZeroU32::new) {
            let policy = Policy { tile: TilePolicy::Fixed(height), ..self.policy() };
            let Ok(candidate) = Plan::new(gemv, self.format, machine, &policy) else { continue };
            let time = self.time(&candidate, timing)?.time.total();
            if best.as_ref().is_none_or(|it| time < it.0) {
                best = Some((time, candidate));
            }
        }
        Ok(best.map(|it| it.1))
    }

    /// The time of a plan on PIM.
    fn time(&self, plan: &Plan, timing: &Timing) -> Result<GemvCost, GemvError> {
        Ok(time_on_pim(plan, &self.memory, timing, self.engine, self.refresh)?)
    }

    /// The cost of the placement asked for.
    fn cost(&self, plan: &Plan, timing: &Timing) -> Result<GemvCost, GemvError> {
        if self.placement == Placement::Pimnast {
            let mut cost = self.time(plan, timing)?;
            if self.charge_reduction && plan.split_k > 1 {
                let sums = plan.split_k * plan.gemv.m();
                cost.time[GemvPart::SocReduction] =
                    reduction(sums, self.pim.sum_bits.get(), self.bandwidth());
            }
            return Ok(cost);
        }
        if self.engine == CostEngine::Events {
            return Err(GemvError::NoStream);
        }
        let mut cost = column_major(plan, timing, self.register_rule);
        if self.refresh {
            cost.time[GemvPart::Refresh] = timing.refresh(&self.memory, cost.time.total());
        }
        Ok(cost)
    }

    /// All that the columns are made of.
    pub(super) fn solve(&self) -> Result<Solved, GemvError> {
        let machine = self.machine();
        let timing = Timing::new(&machine);
        let plan = self.plan_on(&machine, &timing)?;
        let cost = self.cost(&plan, &timing)?;
        let soc = soc_time(&plan, &self.soc, self.bandwidth());
        Ok(Solved { plan, timing, cost, soc })
    }

    /// Shows the command stream that the study asks about.
    fn with_stream(
        &self,
        show: impl FnOnce(&CommandStream<'_>) -> Result<(), StudyError>,
    ) -> Result<(), StudyError> {
        if self.placement == Placement::ColumnMajor {
            return Err(GemvError::NoStream.into());
        }
        let timing = Timing::new(&self.machine());
        let plan = &self.plan()?;
        let memory = &self.memory;
        let refresh = if self.refresh { RefreshPolicy::all_bank(memory) } else { RefreshPolicy::Off };
        show(&CommandStream { plan, memory, timing: &timing, refresh })
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

    const SUMS: &'static [(&'static str, &'static [&'static str])] = &[(
        "time_ns",
        &[
            "mac_ns",
            "row_open_ns",
            "input_vector_ns",
            "turnaround_ns",
            "swap_ns",
            "cross_lane_ns",
            "scale_factor_ns",
            "spill_ns",
            "refresh_ns",
            "soc_reduction_ns",
        ],
    )];

    /// The memory commands of one channel; all channels of a split get the same.
    const TIMELINE: Option<fn(&Self, &mut dyn Recorder) -> Result<(), StudyError>> =
        Some(|it, recorder| it.with_stream(|stream| Ok(stream.tell(recorder)?)));

    const TRACES: &'static [TraceFormat<Self>] = &[
        TraceFormat {
            name: "commands",
            summary: "Memory commands as CSV, in the columns of Ramulator 2's command recorder",
            write: |it, out| it.with_stream(|stream| stream.write_commands(out)),
        },
        TraceFormat {
            name: "ramulator",
            summary: "Loads and stores for Ramulator 2, by place",
            write: |it, out| it.with_stream(|stream| stream.write_ramulator(out)),
        },
        TraceFormat {
            name: "dramsim3",
            summary: "Reads and writes for DRAMsim3, by address (address_mapping = rochrababgco)",
            write: |it, out| it.with_stream(|stream| stream.write_dramsim3(out)),
        },
    ];

    fn slots() -> Vec<Slot> {
        vec![
            Slot::whole("hardware", &MACHINES, DEFAULT_MACHINE),
            Slot::part("memory", &MEMORIES, "lpddr5x-7500"),
            Slot::part("model", &MODELS, "opt-6.7b"),
        ]
    }

    fn answer(&self) -> Result<GemvAnswer, StudyError> {
        let Solved { plan, timing, cost: GemvCost { time, rows_opened }, soc } = self.solve()?;
        let (time_ns, soc_time_ns) = (time.total().as_ns(), soc.as_f64());
        Ok(GemvAnswer {
            speedup: soc_time_ns / time_ns,
            roofline_speedup: roofline_speedup(&self.memory, &timing),
            peak_speedup: f64::from(self.memory.banks_per_channel.get()) / self.pim.command_ratio,
            time_ns,
            soc_time_ns,
            mac_ns: time.ns(GemvPart::Mac),
            row_open_ns: time.ns(GemvPart::RowOpen),
            input_vector_ns: time.ns(GemvPart::InputVector),
            turnaround_ns: time.ns(GemvPart::Turnaround),
            swap_ns: time.ns(GemvPart::Swap),
            cross_lane_ns: time.ns(GemvPart::CrossLane),
            scale_factor_ns: time.ns(GemvPart::ScaleFactor),
            spill_ns: time.ns(GemvPart::Spill),
            refresh_ns: time.ns(GemvPart::Refresh),
            soc_reduction_ns: time.ns(GemvPart::SocReduction),
            rows: plan.gemv.m(),
            columns: plan.gemv.k(),
            m_tile: plan.tile.m,
            k_tile: plan.tile.k,
            row_blocks_per_bank: plan.row_blocks,
            cr_degree_used: plan.cr_degree,
            input_registers_used: plan.input_registers,
            rows_opened,
            weight_bytes: weight_bytes(&plan),
        })
    }
}
