//! The study `pim.gemv`: one matrix-vector product on PIM beside the processor.

use std::num::{NonZeroU32, NonZeroU64};

use memscape_dram::{CommandCounts, Dram, MEMORIES, RefreshPolicy, UNUSED_BY_ALL_BANKS};
use memscape_study::{
    Bound, CostEngine, Energy, EnergyColumns, Estimate, Laws, Recorder, Slot, Study, StudyError, TraceFormat,
};
use memscape_units::{Nanoseconds, Picoseconds};
use memscape_workload::{AskedError, Format, Gemv, MODELS, Matrix, Model};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::laws;
use super::site::Site;
use crate::cost::{
    CommandStream, GemvCost, GemvPart, Traffic, command_energy, idle_energy, least_time, peak_speedup,
    reduction, roofline_speedup, soc_time, time_on_pim, traffic_energy, weight_bytes,
};
use crate::hardware::{DEFAULT_MACHINE, HardwareError, MACHINES, Machine, PimUnit, Soc};
use crate::mapping::placement::{CrDegree, Placement, Policy, RegisterRule, TilePolicy};
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
    /// How tile and CR degree are chosen and weights lie: the best of all, PIMnast's algorithms as
    /// printed, or a baseline
    pub placement: Placement,
    /// Tile height: `auto`, as the placement chooses, or rows per tile
    pub tile: TilePolicy,
    /// Row-blocks that share one pass over the input: `auto`, as the placement chooses, or a degree
    pub cr_degree: CrDegree,
    /// Parts into which the columns are cut, each with its share of the channels
    pub split_k: NonZeroU32,
    /// Which registers tile height and CR degree are held to
    pub register_rule: RegisterRule,
    /// Whether the processor's adding of split-K partial sums is charged, which the paper's Fig. 15 leaves out; a fixed
    /// tile's always are
    pub charge_reduction: bool,
    /// Whether refresh is on (the paper's models have it off)
    pub refresh: bool,
    /// Closed form, or the command stream on the DRAM engine: equal. Refresh counts as stalls of
    /// its own in both, in the mean; the trace shows what they meet
    pub engine: CostEngine,
}

/// What `pim.gemv` answers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct GemvAnswer {
    /// Time on the processor over time on PIM
    pub speedup: f64,
    /// The speedup that row opening alone would leave, over a processor that waits for its bytes
    pub roofline_speedup: f64,
    /// The speedup of banks and command rate alone, over a processor that waits for its bytes
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
    /// All-bank refreshes, in the mean over many such products
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
    /// Bytes that they and the outputs take in memory, padding included
    pub memory_bytes: u64,
    /// Bytes of the memory
    pub memory_limit_bytes: u64,
    /// What the memory takes on PIM, its units included
    #[serde(flatten)]
    pub energy: EnergyColumns,
    /// Energy of the memory for the same on the processor; null where nothing is known of it
    pub soc_energy_j: Option<f64>,
    /// The least that it can be
    pub soc_energy_low_j: Option<f64>,
    /// The most that it can be
    pub soc_energy_high_j: Option<f64>,
}

/// Why a GEMV cannot be placed or timed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum GemvError {
    /// No such matrix.
    #[error(transparent)]
    Matrix(#[from] AskedError),
    /// The machine contradicts itself.
    #[error(transparent)]
    Hardware(#[from] HardwareError),
    /// No placement.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The matrix occupies several ranks.
    #[error("`memory.ranks` is {0}; a PIM command reaches the banks of one rank, so use 1")]
    Ranks(u32),
    /// A stream that breaks the protocol.
    #[error("the command stream breaks the DRAM protocol: {0}")]
    Protocol(#[from] memscape_dram::ProtocolError),
}

/// A matrix placed and timed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Solved {
    /// Its placement.
    pub plan: Plan,
    /// What it costs on PIM.
    pub cost: GemvCost,
    /// Its time on the processor.
    pub soc: Nanoseconds,
}

impl Default for GemvStudy {
    /// OPT-6.7B's QKV on the paper's machine, in the best of PIMnast's placements.
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
            placement: Placement::Best,
            tile: TilePolicy::Auto,
            cr_degree: CrDegree::Auto,
            split_k: NonZeroU32::MIN,
            register_rule: RegisterRule::Accumulators,
            charge_reduction: true,
            refresh: false,
            engine: CostEngine::Closed,
        }
    }
}

impl GemvStudy {
    /// The machine.
    #[must_use]
    pub fn machine(&self) -> Machine {
        let Self { memory, interleave_bytes, pim, soc, .. } = *self;
        Machine { memory: memory.easing(UNUSED_BY_ALL_BANKS), interleave_bytes, pim, soc }
    }

    /// What decides the placement.
    #[must_use]
    pub const fn policy(&self) -> Policy {
        Policy {
            placement: self.placement,
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
        Ok(self.model.asked_gemv(self.gemv, self.m, self.k)?)
    }

    /// The placement, with what is `best` resolved by time.
    ///
    /// # Errors
    /// [`GemvError`] says what does not fit.
    pub fn plan(&self) -> Result<Plan, GemvError> {
        self.plan_on(&self.site()?)
    }

    /// The machine, checked.
    pub(super) fn site(&self) -> Result<Site, GemvError> {
        let site = Site::new(&self.machine(), self.refresh)?;
        match self.memory.ranks.get() {
            1 => Ok(site),
            ranks => Err(GemvError::Ranks(ranks)),
        }
    }

    fn plan_on(&self, site: &Site) -> Result<Plan, GemvError> {
        let Site { machine, delays, .. } = site;
        let (gemv, policy) = (self.shape()?, self.policy());
        let candidates = self.candidates(gemv, site);
        if candidates.is_empty() {
            // Nothing to choose from, or nothing fits: the policy itself, or why not.
            return Plan::new(gemv, self.format, machine, &policy)
                .map_err(|why| self.most_row_blocks(gemv, machine, why).into());
        }
        let mut best: Option<(Picoseconds, Plan)> = None;
        for (least, candidate) in candidates {
            // Those that follow cannot be faster.
            if best.as_ref().is_some_and(|it| it.0 <= least) {
                break;
            }
            let on_pim = time_on_pim(&candidate, machine, delays, CostEngine::Closed, false)?.time.total();
            let time = on_pim + self.reduction(&candidate, site);
            if best.as_ref().is_none_or(|it| time < it.0) {
                best = Some((time, candidate));
            }
        }
        best.map(|it| it.1).ok_or(GemvError::Ranks(machine.memory.ranks.get()))
    }

    /// Why no tile has as many row-blocks in a pass as asked for: by that which allows most.
    fn most_row_blocks(&self, gemv: Gemv, machine: &Machine, why: PlanError) -> PlanError {
        let policy = self.policy();
        let of = |tile| Plan::new(gemv, self.format, machine, &Policy { tile, ..policy }).err();
        let most = |it: &PlanError| match it {
            PlanError::CrDegree { most, .. } => Some(*most),
            _ => None,
        };
        let others = self.tiles(machine).into_iter().filter_map(of);
        match most(&why) {
            Some(_) => {
                others.chain([why.clone()]).filter(|it| most(it).is_some()).max_by_key(most).unwrap_or(why)
            }
            None => why,
        }
    }

    /// Whether there is more than one tile to choose from.
    fn has_tiles(&self) -> bool {
        self.tile == TilePolicy::Auto && matches!(self.placement, Placement::Best | Placement::ColumnMajor)
    }

    /// The tiles to choose from.
    fn tiles(&self, machine: &Machine) -> Vec<TilePolicy> {
        if !self.has_tiles() {
            return vec![self.tile];
        }
        let elements = machine.interleave_bytes.get().saturating_mul(8) / self.format.element_bits();
        let heights = (0..32).map(|it| 1_u32 << it).take_while(|it| u64::from(*it) <= elements);
        heights.filter_map(NonZeroU32::new).map(TilePolicy::Fixed).collect()
    }

    /// The placements to choose from that fit, with the least time that each can
    /// take, least first.
    fn candidates(&self, gemv: Gemv, site: &Site) -> Vec<(Picoseconds, Plan)> {
        let Site { machine, .. } = site;
        let policy = self.policy();
        // A fixed tile still leaves the degree to choose.
        let any_tile = self.has_tiles();
        let any_degree = policy.cr_degree == CrDegree::Auto
            && matches!(policy.placement, Placement::Best | Placement::FixedTile);
        if !any_tile && !any_degree {
            return Vec::new();
        }
        let mut candidates = Vec::new();
        for tile in self.tiles(machine) {
            let try_degree =
                |cr_degree| Plan::new(gemv, self.format, machine, &Policy { tile, cr_degree, ..policy });
            if !any_degree {
                candidates.extend(try_degree(policy.cr_degree));
                continue;
            }
            for degree in (1..=machine.pim.registers.get()).filter_map(NonZeroU32::new) {
                match try_degree(CrDegree::Fixed(degree)) {
                    Ok(plan) => candidates.push(plan),
                    // More row-blocks share what pads a row, so that a bank may hold a higher degree.
                    Err(PlanError::Capacity { .. }) => {}
                    Err(_) => break,
                }
            }
        }
        let least = |it: &Plan| least_time(it, &site.delays) + self.reduction(it, site);
        let mut candidates: Vec<_> = candidates.into_iter().map(|it| (least(&it), it)).collect();
        candidates.sort_by_key(|it| it.0);
        candidates
    }

    /// A time that the placement cannot fall below.
    pub(super) fn least_ns(&self, site: &Site) -> Result<f64, GemvError> {
        Ok(least_time(&self.plan_on(site)?, &site.delays).as_ns())
    }

    /// All that the columns are made of.
    pub(super) fn solve(&self, site: &Site) -> Result<Solved, GemvError> {
        let plan = self.plan_on(site)?;
        let mut cost = time_on_pim(&plan, &site.machine, &site.delays, self.engine, site.refresh)?;
        cost.time[GemvPart::SocReduction] = self.reduction(&plan, site);
        let soc = soc_time(&plan, &self.soc, site.bandwidth);
        Ok(Solved { plan, cost, soc })
    }

    /// Bytes of partial sums that the processor is charged for.
    fn partial_sum_bytes(&self, plan: &Plan) -> u64 {
        let partial = plan.split_k * plan.chunks;
        let charged = partial > 1 && (self.charge_reduction || plan.chunks > 1);
        if charged { plan.spilled_bytes() } else { 0 }
    }

    /// Its time to read them, which a lower tile makes more: fewer sums to a word.
    fn reduction(&self, plan: &Plan, site: &Site) -> Picoseconds {
        reduction(self.partial_sum_bytes(plan), site.bandwidth)
    }

    /// What the processor reads of partial sums.
    #[expect(clippy::cast_precision_loss, reason = "sums stay far below 2^53")]
    pub(super) fn reduction_traffic(&self, plan: &Plan) -> Traffic {
        Traffic { read: self.partial_sum_bytes(plan) as f64, written: 0.0 }
    }

    /// What the memory takes for it all, on PIM.
    fn energy(&self, site: &Site, solved: &Solved) -> Option<Energy> {
        let idle = idle_energy(&site.machine, solved.cost.time.total().into(), site.refresh)?;
        let reduction = self.reduction_traffic(&solved.plan);
        Some(dynamic_energy(site, &solved.cost.commands, reduction)? + idle)
    }

    /// The same on the processor, which reads all weights.
    fn soc_energy(site: &Site, solved: &Solved) -> Option<Estimate> {
        let traffic = Traffic { read: weight_bytes(&solved.plan), written: 0.0 };
        let idle = idle_energy(&site.machine, solved.soc, site.refresh)?;
        Some((traffic_energy(&site.machine, traffic)? + idle).total())
    }

    /// Shows the command stream that the study asks about.
    fn with_stream(
        &self,
        show: impl FnOnce(&CommandStream<'_>) -> Result<(), StudyError>,
    ) -> Result<(), StudyError> {
        let site = self.site()?;
        let (plan, machine) = (&self.plan_on(&site)?, &site.machine);
        let refresh =
            if self.refresh { RefreshPolicy::all_bank(&machine.memory) } else { RefreshPolicy::Off };
        show(&CommandStream { plan, machine, refresh })
    }
}

/// What the memory takes for commands and for the processor's part, whatever the time; none
/// where nothing is known of it.
pub(super) fn dynamic_energy(site: &Site, commands: &CommandCounts, reduction: Traffic) -> Option<Energy> {
    Some(command_energy(&site.machine, commands)? + traffic_energy(&site.machine, reduction)?)
}

impl Study for GemvStudy {
    const NAME: &'static str = "pim.gemv";
    const SUMMARY: &'static str =
        "One matrix-vector product on LPDDR-PIM, placed by PIMnast, beside the processor";
    type Answer = GemvAnswer;

    const SUMS: &'static [(&'static str, &'static [&'static str])] = &[
        (
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
        ),
        EnergyColumns::SUM,
    ];

    const LAWS: Laws = laws::GEMV;

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

    fn bounds(&self) -> Vec<Bound> {
        let split_k = f64::from(self.split_k.get());
        self.shape().map_or(Vec::new(), |it| laws::gemv_bounds(it, split_k, self.format, &self.memory))
    }

    fn slots() -> Vec<Slot> {
        vec![
            Slot::whole("hardware", &MACHINES, DEFAULT_MACHINE),
            Slot::part("memory", &MEMORIES, "lpddr5x-7500"),
            Slot::part("model", &MODELS, "opt-6.7b"),
        ]
    }

    fn answer(&self) -> Result<GemvAnswer, StudyError> {
        let site = &self.site()?;
        let solved = self.solve(site)?;
        let Solved { plan, cost, soc } = solved;
        let GemvCost { time, .. } = cost;
        let delays = &site.delays;
        let (time_ns, soc_time_ns) = (time.total().as_ns(), soc.as_f64());
        let soc_energy = Self::soc_energy(site, &solved);
        Ok(GemvAnswer {
            speedup: soc_time_ns / time_ns,
            roofline_speedup: roofline_speedup(&self.memory, delays, site.unrefreshed),
            peak_speedup: peak_speedup(&self.memory, delays, site.unrefreshed),
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
            rows_opened: cost.rows_opened(&plan),
            weight_bytes: weight_bytes(&plan),
            memory_bytes: plan.memory_rows() * self.memory.row_of_all_banks().0,
            memory_limit_bytes: self.memory.capacity().0,
            energy: EnergyColumns::of(self.energy(site, &solved).as_ref()),
            soc_energy_j: soc_energy.map(|it| it.value),
            soc_energy_low_j: soc_energy.map(|it| it.low),
            soc_energy_high_j: soc_energy.map(|it| it.high),
        })
    }
}
