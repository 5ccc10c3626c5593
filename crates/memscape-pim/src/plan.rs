//! What a placement means for one bank: the plan that the functional machine
//! executes, the DRAM engine times and the closed form counts.
//!
//! All banks do the same at the same time, so one bank's plan is every bank's.
//! The weights lie in the order in which they are used: pass by pass (a group of
//! row-blocks that share the input vector), burst by burst (the input elements
//! that the registers hold), row-block by row-block.

use memscape_dram::Dram;
use memscape_workload::{Format, Gemv};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hardware::{CrossLane, PimUnit};
use crate::placement::{CrDegree, RegisterRule, TilePolicy, TileShape, max_cr_degree, tile_shape};

/// What decides a placement, beside matrix and hardware.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    /// Tile height: `algorithm1`, `best`, or rows per tile
    pub tile: TilePolicy,
    /// Row-blocks that share one pass over the input: `max` (algorithm 3), `divisor`, or a degree
    pub cr_degree: CrDegree,
    /// Parts into which the columns are cut, each with its share of the channels
    pub split_k: std::num::NonZeroU32,
    /// Which registers tile height and CR degree are held to
    pub register_rule: RegisterRule,
}

/// The placement of one weight matrix, resolved.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plan {
    /// The matrix; `k` is the whole input vector, before split-K.
    pub gemv: Gemv,
    /// How its elements are stored.
    pub format: Format,
    /// Parts of the input vector that different banks work on.
    pub split_k: u64,
    /// Banks of all channels that share one part.
    pub banks: u64,
    /// Banks of one channel.
    pub banks_per_channel: u64,
    /// Tile shape.
    pub tile: TileShape,
    /// SIMD lanes: elements in one column access.
    pub lanes: u64,
    /// Sums that one register holds.
    pub sums_per_register: u64,
    /// Registers that the sums of one row-block take until they are folded.
    pub accumulators: u64,
    /// Registers that they take afterwards.
    pub output_registers: u64,
    /// Row-blocks in the fullest bank.
    pub row_blocks: u64,
    /// Row-blocks that share a pass.
    pub cr_degree: u64,
    /// Registers of the unit.
    pub registers: u64,
    /// Registers for the input vector.
    pub input_registers: u64,
    /// Input elements in one register.
    pub inputs_per_register: u64,
    /// Input elements of one burst of register writes.
    pub burst_inputs: u64,
    /// Input elements between two applications of scale factors; 0 without.
    pub event_inputs: u64,
    /// Column accesses of one DRAM row that hold weights.
    pub row_words: u64,
    /// Column accesses of one DRAM row that hold scale factors.
    pub scale_words: u64,
    /// Cross-lane hardware.
    pub cross_lane: CrossLane,
    /// PIM commands to exchange one accumulator register.
    pub swap_commands: u64,
}

/// Why there is no plan.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// A width that the bit-sliced SIMD unit cannot have.
    #[error("{key} is {given}; it must be a power of two")]
    NotPowerOfTwo {
        /// The parameter.
        key: &'static str,
        /// Its value.
        given: u64,
    },
    /// An interleaving unit that is no whole number of column accesses.
    #[error(
        "`interleave_bytes` is {given}; it must be a power of two from {column_bytes} (one column access) \
         to {row_bytes} (one row)"
    )]
    Interleave {
        /// Bytes as given.
        given: u64,
        /// Bytes of one column access.
        column_bytes: u64,
        /// Bytes of one row.
        row_bytes: u64,
    },
    /// Split-K does not divide the input vector or the channels.
    #[error(
        "`split_k` is {split_k}, which must divide both K = {k} and the {channels} channels; \
         use {allowed}"
    )]
    SplitK {
        /// The degree as given.
        split_k: u64,
        /// Columns of the matrix.
        k: u64,
        /// Channels of the memory.
        channels: u64,
        /// Degrees that work.
        allowed: String,
    },
    /// Blocks that share a scale do not divide the input vector.
    #[error(
        "K = {k} per split-K part is not a whole number of scale blocks of {block}; \
         pad the matrix or use another block"
    )]
    ScaleBlock {
        /// Columns of one part.
        k: u64,
        /// Elements that share a scale.
        block: u64,
    },
    /// No room for even one row-block.
    #[error(
        "a tile of {m} rows needs {need} registers for its sums and at least {inputs} for inputs, but the unit \
         has {have}; use more registers, a lower tile, wider elements or narrower sums"
    )]
    Registers {
        /// Rows of the tile.
        m: u64,
        /// Registers for sums (and scales).
        need: u64,
        /// Registers for inputs.
        inputs: u64,
        /// Registers of the unit.
        have: u64,
    },
    /// A tile height that does not exist.
    #[error(
        "`tile` is {m}, and a tile of that many rows does not exist; allowed are powers of two up to {max}"
    )]
    TileHeight {
        /// Rows as given.
        m: u64,
        /// Elements of one interleaving unit.
        max: u64,
    },
    /// The printed register rule with scale factors.
    #[error(
        "`register_rule = \"printed\"` has no place for the second set of sums that scale factors need; \
         use `accumulators`"
    )]
    PrintedScales,
    /// More weights than a bank holds.
    #[error(
        "{m} x {k} weights take {need} rows of the fullest bank, but a bank has {have}; use more banks or \
         fewer bits"
    )]
    Capacity {
        /// Rows of the matrix.
        m: u64,
        /// Columns of the matrix.
        k: u64,
        /// DRAM rows needed.
        need: u64,
        /// DRAM rows of a bank.
        have: u64,
    },
    /// A CR degree that row-blocks or registers do not allow.
    #[error(
        "`cr_degree` is {given}, but this matrix and these registers allow {most} at most; use a lower one or `max`"
    )]
    CrDegree {
        /// As given.
        given: u64,
        /// The most that fits.
        most: u64,
    },
    /// Outputs of one row-block that do not fit one DRAM row.
    #[error(
        "the outputs of one row-block take {need} column accesses, but a DRAM row has {have}; use a lower tile or \
         longer rows"
    )]
    OutputRow {
        /// Column accesses needed.
        need: u64,
        /// Column accesses of a row.
        have: u64,
    },
    /// A register that does not hold even one input or sum.
    #[error(
        "`pim.register_bits` is {register_bits}, too narrow for one element of {element_bits} or one sum of {sum_bits} bit"
    )]
    NarrowRegister {
        /// Bits of a register.
        register_bits: u64,
        /// Bits of one input.
        element_bits: u64,
        /// Bits of one sum.
        sum_bits: u64,
    },
    /// A value beyond any PIM unit.
    #[error("`{key}` is {given:e}; at most {max:e} is allowed")]
    TooLarge {
        /// The parameter.
        key: &'static str,
        /// Its value.
        given: f64,
        /// The largest allowed.
        max: f64,
    },
    /// A command ratio below 1 or not a number.
    #[error("`pim.command_ratio` is {given:e}; it must be from 1 (as fast as plain reads) to 1000")]
    CommandRatio {
        /// As given.
        given: f64,
    },
}

impl Plan {
    /// Resolves the placement of `gemv`.
    ///
    /// `TilePolicy::Best` needs a cost and is resolved by the caller; here it
    /// means algorithm 1.
    ///
    /// # Errors
    /// [`PlanError`] says which rule matrix, format and hardware break.
    pub fn new(
        gemv: Gemv,
        format: Format,
        memory: &Dram,
        interleave_bytes: u64,
        pim: &PimUnit,
        policy: &Policy,
    ) -> Result<Self, PlanError> {
        let column_bytes = u64::from(memory.column_bytes.get());
        let row_bytes = u64::from(memory.row_bytes.get());
        let register_bits = u64::from(pim.register_bits.get());
        let sum_bits = u64::from(pim.sum_bits.get());
        let banks_per_channel = u64::from(memory.banks_per_channel.get());
        let channels = u64::from(memory.channels.get());
        check_unit(memory, interleave_bytes, pim)?;
        let split_k = check_split_k(gemv, channels, policy)?;
        let k = gemv.k() / split_k;
        let element_bits = format.element_bits();
        let lanes = column_bytes * 8 / element_bits;
        let tile_elements = interleave_bytes * 8 / element_bits;
        if register_bits < element_bits || register_bits < sum_bits {
            return Err(PlanError::NarrowRegister { register_bits, element_bits, sum_bits });
        }
        let inputs_per_register = register_bits / element_bits;
        let sums_per_register = register_bits / sum_bits;
        let banks = banks_per_channel * channels / split_k;

        let block = scale_block(format, k, policy)?;

        // Registers for the sums of one row-block, and those shared by all.
        let accumulators = |m: u64| lanes.max(m).div_ceil(sums_per_register);
        let per_row_block = |m: u64| match (policy.register_rule, block) {
            (RegisterRule::Printed, _) => m.div_ceil(sums_per_register),
            (RegisterRule::Accumulators, None) => accumulators(m),
            (RegisterRule::Accumulators, Some(_)) => 2 * accumulators(m),
        };
        let shared = if block.is_some() { 2 } else { 0 };
        let registers = u64::from(pim.registers.get());
        // A word may hold several columns of a short tile: that many inputs at least.
        let least_inputs = |m: u64| (lanes / m.min(lanes)).div_ceil(inputs_per_register);
        let fits = |m: u64| per_row_block(m) + shared + least_inputs(m) <= registers;

        let tile = match policy.tile {
            TilePolicy::Fixed(m) => fixed_tile(u64::from(m.get()), tile_elements)?,
            TilePolicy::Algorithm1 | TilePolicy::Best => tile_shape(gemv.m(), banks, tile_elements, fits),
        };
        let m = tile.m;
        if !fits(m) {
            return Err(PlanError::Registers {
                m,
                need: per_row_block(m) + shared,
                inputs: least_inputs(m),
                have: registers,
            });
        }
        let input_registers = u64::from(pim.input_registers.get())
            .min(registers - per_row_block(m) - shared)
            .max(least_inputs(m));
        let row_blocks = gemv.m().div_ceil(m * banks);
        let columns = row_bytes / column_bytes;
        let output_registers = m.div_ceil(sums_per_register);
        if output_registers > columns {
            return Err(PlanError::OutputRow { need: output_registers, have: columns });
        }
        let most =
            max_cr_degree(gemv.m() / (m * banks), registers - shared - input_registers, per_row_block(m))
                .min(columns / output_registers);
        let cr_degree = match policy.cr_degree {
            CrDegree::Max => most,
            CrDegree::Divisor => (1..=most).rev().find(|it| row_blocks.is_multiple_of(*it)).unwrap_or(1),
            CrDegree::Fixed(degree) => Some(u64::from(degree.get()))
                .filter(|it| *it <= most)
                .ok_or(PlanError::CrDegree { given: u64::from(degree.get()), most })?,
        };

        let word_inputs = (lanes / m.min(lanes)).max(1);
        let event_inputs = block.map_or(0, |(block, _)| block.max(word_inputs));
        // Bursts hold whole words and, where they can, whole scale blocks; where
        // they cannot, whole bursts fill a block.
        let unit = event_inputs.max(word_inputs);
        let held = input_registers * inputs_per_register;
        let burst_inputs = if held >= unit { held / unit * unit } else { 1 << held.ilog2() };

        let scale_words = block.map_or(0, |(block, bits)| {
            // Where bursts are shorter than blocks, the blocks of several row-blocks
            // end one visit apart.
            let event_words = (event_inputs.min(burst_inputs) * m).div_ceil(lanes).max(1);
            scale_words(columns, column_bytes, event_words, m * (event_inputs / block) * bits)
        });
        let plan = Self {
            gemv,
            format,
            split_k,
            banks,
            banks_per_channel,
            tile,
            lanes,
            sums_per_register,
            accumulators: accumulators(m),
            output_registers,
            row_blocks,
            cr_degree,
            registers,
            input_registers,
            inputs_per_register,
            burst_inputs,
            event_inputs,
            row_words: columns - scale_words,
            scale_words,
            cross_lane: pim.cross_lane,
            swap_commands: u64::from(pim.swap_commands),
        };
        let need = plan.weight_rows() + plan.passes();
        let have = u64::from(memory.rows.get());
        if need > have {
            return Err(PlanError::Capacity { m: gemv.m(), k: gemv.k(), need, have });
        }
        Ok(plan)
    }

    /// Columns of the matrix that one split-K part works on.
    #[must_use]
    pub fn k(&self) -> u64 {
        self.gemv.k() / self.split_k
    }

    /// Column accesses that read `inputs` columns of one row-block.
    #[must_use]
    pub fn words(&self, inputs: u64) -> u64 {
        if self.tile.m >= self.lanes {
            inputs * (self.tile.m / self.lanes)
        } else {
            inputs.div_ceil(self.lanes / self.tile.m)
        }
    }

    /// Column accesses of one row-block.
    #[must_use]
    pub fn row_block_words(&self) -> u64 {
        self.words(self.k())
    }

    /// Passes over the input vector.
    #[must_use]
    pub fn passes(&self) -> u64 {
        self.row_blocks.div_ceil(self.cr_degree)
    }

    /// Row-blocks of one pass; the last may have fewer.
    #[must_use]
    pub fn pass_row_blocks(&self, pass: u64) -> u64 {
        (self.row_blocks - pass * self.cr_degree).min(self.cr_degree)
    }

    /// Bursts of register writes in one pass.
    #[must_use]
    pub fn bursts(&self) -> u64 {
        self.k().div_ceil(self.burst_inputs)
    }

    /// Inputs of one burst; the last may have fewer.
    #[must_use]
    pub fn inputs_of_burst(&self, burst: u64) -> u64 {
        (self.k() - burst * self.burst_inputs).min(self.burst_inputs)
    }

    /// Register writes of a burst of `inputs`, the scale register's included.
    #[must_use]
    pub fn register_writes(&self, inputs: u64) -> u64 {
        inputs.div_ceil(self.inputs_per_register) + u64::from(self.has_scales())
    }

    /// Whether blocks of weights and inputs share scale factors.
    #[must_use]
    pub fn has_scales(&self) -> bool {
        self.event_inputs > 0
    }

    /// DRAM rows of the fullest bank that hold weights.
    #[must_use]
    pub fn weight_rows(&self) -> u64 {
        (self.row_blocks * self.row_block_words()).div_ceil(self.row_words)
    }

    /// Bits of the weights' scales of one event.
    #[must_use]
    pub fn event_scale_bits(&self) -> u64 {
        self.format
            .scale()
            .map_or(0, |scale| self.tile.m * (self.event_inputs / scale.elements()) * scale.bits())
    }

    /// Reads that fetch the weights' scales of one event.
    #[must_use]
    pub fn scale_loads(&self) -> u64 {
        self.event_scale_bits().div_ceil(self.lanes * self.format.element_bits())
    }

    /// Register commands after those reads: sums times the weights' scales, then
    /// times the inputs' and onto the scaled sums.
    #[must_use]
    pub fn scale_commands(&self) -> u64 {
        if self.has_scales() { 2 * self.accumulators } else { 0 }
    }

    /// Register commands that exchange one row-block's sums for the next one's.
    #[must_use]
    pub fn visit_swaps(&self, pass_row_blocks: u64) -> u64 {
        if pass_row_blocks > 1 { self.swap_commands * self.accumulators } else { 0 }
    }

    /// Steps of the fold, widest first: by how many lanes sums are shifted.
    pub fn fold_steps(&self) -> impl Iterator<Item = u64> {
        let (widest, m) = (self.sums_per_register.min(self.lanes) / 2, self.tile.m);
        std::iter::successors(Some(widest), |it| Some(it / 2)).take_while(move |it| *it >= m && *it > 0)
    }

    /// Whether sums of one row lie in several lanes when the pass ends.
    #[must_use]
    pub fn needs_fold(&self) -> bool {
        self.cross_lane != CrossLane::Tree && self.tile.m < self.lanes
    }

    /// Register commands that fold one row-block.
    #[must_use]
    pub fn fold_commands(&self) -> u64 {
        if !self.needs_fold() {
            return 0;
        }
        let adds = self.accumulators - self.output_registers;
        let steps = self.fold_steps().count() as u64;
        let lanes: u64 = self.fold_steps().sum();
        match self.cross_lane {
            CrossLane::LaneShift => self.accumulators * (lanes + steps) + adds,
            CrossLane::LaneShiftLast => adds + self.output_registers * (lanes + steps),
            CrossLane::AnyShift => self.accumulators * 2 * steps + adds,
            CrossLane::Tree => 0,
        }
    }
}

/// The split-K degree, if it divides columns and channels.
fn check_split_k(gemv: Gemv, channels: u64, policy: &Policy) -> Result<u64, PlanError> {
    let split_k = u64::from(policy.split_k.get());
    let divides = |it: u64| gemv.k().is_multiple_of(it) && channels.is_multiple_of(it);
    if divides(split_k) {
        return Ok(split_k);
    }
    let allowed: Vec<_> =
        (1..=channels.min(1024)).filter(|it| divides(*it)).map(|it| it.to_string()).collect();
    Err(PlanError::SplitK { split_k, k: gemv.k(), channels, allowed: allowed.join(", ") })
}

/// Elements that share a scale, and its bits.
fn scale_block(format: Format, k: u64, policy: &Policy) -> Result<Option<(u64, u64)>, PlanError> {
    let Some(scale) = format.scale() else { return Ok(None) };
    let block = scale.elements();
    if policy.register_rule == RegisterRule::Printed {
        return Err(PlanError::PrintedScales);
    }
    if !block.is_power_of_two() {
        return Err(PlanError::NotPowerOfTwo { key: "the scale block of `format`", given: block });
    }
    if !k.is_multiple_of(block) {
        return Err(PlanError::ScaleBlock { k, block });
    }
    Ok(Some((block, scale.bits())))
}

/// The tile of a given height.
fn fixed_tile(m: u64, tile_elements: u64) -> Result<TileShape, PlanError> {
    if m.is_power_of_two() && m <= tile_elements {
        Ok(TileShape { m, k: tile_elements / m })
    } else {
        Err(PlanError::TileHeight { m, max: tile_elements })
    }
}

/// Checks what does not depend on the matrix.
fn check_unit(memory: &Dram, interleave_bytes: u64, pim: &PimUnit) -> Result<(), PlanError> {
    let (column_bytes, row_bytes) = (u64::from(memory.column_bytes.get()), u64::from(memory.row_bytes.get()));
    let widths = [
        ("`memory.column_bytes`", column_bytes),
        ("`pim.register_bits`", u64::from(pim.register_bits.get())),
        ("`pim.sum_bits`", u64::from(pim.sum_bits.get())),
    ];
    if let Some((key, given)) = widths.into_iter().find(|it| !it.1.is_power_of_two()) {
        return Err(PlanError::NotPowerOfTwo { key, given });
    }
    let limits = [
        ("memory.column_bytes", f64::from(memory.column_bytes.get()), 65_536.0),
        ("pim.register_bits", f64::from(pim.register_bits.get()), 65_536.0),
        ("pim.registers", f64::from(pim.registers.get()), 1024.0),
        ("pim.host_turnaround_ns", pim.host_turnaround_ns.as_f64(), 1e6),
        ("pim.swap_commands", f64::from(pim.swap_commands), 1000.0),
    ];
    if let Some((key, given, max)) = limits.into_iter().find(|it| it.1 > it.2) {
        return Err(PlanError::TooLarge { key, given, max });
    }
    if !interleave_bytes.is_power_of_two() || !(column_bytes..=row_bytes).contains(&interleave_bytes) {
        return Err(PlanError::Interleave { given: interleave_bytes, column_bytes, row_bytes });
    }
    if !(1.0..=1000.0).contains(&pim.command_ratio) {
        return Err(PlanError::CommandRatio { given: pim.command_ratio });
    }
    Ok(())
}

/// The least number of scale words in a DRAM row that hold the scales of all
/// events which end in the row's weight words.
fn scale_words(columns: u64, column_bytes: u64, event_words: u64, event_bits: u64) -> u64 {
    (1..columns)
        .find(|scale| (columns - scale).div_ceil(event_words) * event_bits <= scale * column_bytes * 8)
        .unwrap_or(columns - 1)
}
