//! What a placement means for one bank: the plan that the functional machine
//! executes, the DRAM engine times and the closed form counts.
//!
//! All banks do the same at the same time, so one bank's plan is every bank's.
//! The weights lie in the order in which they are used: pass by pass (a group of
//! row-blocks that share the input vector), burst by burst (the input elements
//! that the registers hold), row-block by row-block.

use memscape_dram::Dram;
use memscape_workload::{Format, Gemv};

use super::placement::{
    CrDegree, Placement, Policy, RegisterRule, TilePolicy, TileShape, max_cr_degree, tile_shape,
};
use super::registers::Registers;
use crate::hardware::{CrossLane, HardwareError, Machine};

/// The placement of one weight matrix, resolved.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plan {
    /// The matrix; `k` is the whole input vector, before split-K.
    pub gemv: Gemv,
    /// How its elements are stored.
    pub format: Format,
    /// In which order the weights lie.
    pub placement: Placement,
    /// Parts of the input vector that different banks work on.
    pub split_k: u64,
    /// Parts of the input vector that a bank works on one after the other, each with outputs of its
    /// own.
    pub chunks: u64,
    /// Banks of all channels that share one part.
    pub banks: u64,
    /// Banks of one channel.
    pub banks_per_channel: u64,
    /// Tile shape; of a column-major order, the part of an interleaving unit that the registers hold.
    pub tile: TileShape,
    /// Matrix rows that a bank gets at a time: a tile's, or a column-major interleaving unit's.
    pub dealt_rows: u64,
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
    /// Bits of one.
    pub register_bits: u64,
    /// Registers for the input vector.
    pub input_registers: u64,
    /// Input elements in one register.
    pub inputs_per_register: u64,
    /// Input elements that one write command carries: those of a register, or of a
    /// burst if that is less.
    pub inputs_per_write: u64,
    /// Sums that one spill command carries.
    pub sums_per_spill: u64,
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
    /// The machine contradicts itself.
    #[error(transparent)]
    Hardware(#[from] HardwareError),
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
    /// Blocks that the bit-sliced SIMD unit cannot have.
    #[error("the scale block of `format` is {block}; it must be a power of two")]
    BlockNotPowerOfTwo {
        /// Elements that share a scale.
        block: u64,
    },
    /// Blocks that share a scale do not divide the input vector.
    #[error(
        "K = {k} of a matrix, or of its split-K part, is not a whole number of the scale blocks of {block} of `format`; \
         use a format of smaller blocks, or parts that are whole blocks"
    )]
    ScaleBlock {
        /// Columns of one part.
        k: u64,
        /// Elements that share a scale.
        block: u64,
    },
    /// No room for even one row-block.
    #[error(
        "a tile of {} needs {need} registers for its sums and scales beside {inputs} for inputs, but the \
         unit has {have}; use {}more registers, {}wider elements or narrower sums",
        if *m == 1 { "1 row".to_owned() } else { format!("{m} rows") },
        input_registers(*least, have.saturating_sub(*need)),
        if *lower { "a lower tile, " } else { "" }
    )]
    Registers {
        /// Rows of the tile.
        m: u64,
        /// Registers for sums (and scales).
        need: u64,
        /// Registers for inputs, as asked for.
        inputs: u64,
        /// Registers for the inputs of one word.
        least: u64,
        /// Registers of the unit.
        have: u64,
        /// Whether there is a lower tile that it has room for.
        lower: bool,
    },
    /// A tile height that does not exist.
    #[error(
        "`tile` is {m}, and a tile of that many rows does not exist; allowed are powers of two {}{max}",
        if *min == 1 { "up to ".to_owned() } else { format!("from {min} to ") }
    )]
    TileHeight {
        /// Rows as given.
        m: u64,
        /// Elements of a word where columns lie one after the other, else 1.
        min: u64,
        /// Elements of one interleaving unit.
        max: u64,
    },
    /// A baseline that does not know a parameter.
    #[error("`placement = \"{placement}\"` has no {what}; use {instead}")]
    Baseline {
        /// The baseline.
        placement: &'static str,
        /// What it ignores.
        what: &'static str,
        /// What to change.
        instead: &'static str,
    },
    /// Columns that are no whole number of fixed tiles.
    #[error("K = {k} is not a whole number of the {tile} columns of a fixed tile; use another `tile`")]
    FixedTileColumns {
        /// Columns of the matrix, or of its split-K part.
        k: u64,
        /// Columns of the tile.
        tile: u64,
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
        "`cr_degree` is {given}, but this matrix and these registers allow {most} at most; use at most {most}, or \
         `auto`"
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
    /// A column access that does not hold even one weight.
    #[error("a burst of `memory` has {burst_bits} bit, too few for one element of {element_bits}")]
    NarrowBurst {
        /// Bits of a burst.
        burst_bits: u64,
        /// Bits of one weight.
        element_bits: u64,
    },
    /// Sums that do not hold even one input.
    #[error(
        "`pim.sum_bits` is {sum_bits}, too narrow to add up elements of {element_bits} bit; make it at least as wide, \
         or use a narrower `format`"
    )]
    NarrowSum {
        /// Bits of one sum.
        sum_bits: u64,
        /// Bits of one input.
        element_bits: u64,
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
}

impl Plan {
    /// Resolves the placement of `gemv`.
    ///
    /// [`Placement::Best`] needs a cost and is resolved by the caller; here it means
    /// algorithms 1 and 3.
    ///
    /// # Errors
    /// [`PlanError`] says which rule matrix, format and hardware break.
    pub fn new(gemv: Gemv, format: Format, machine: &Machine, policy: &Policy) -> Result<Self, PlanError> {
        machine.check_unit()?;
        let Machine { memory, interleave_bytes, pim, .. } = machine;
        let [row_bytes, channels, banks_per_channel] =
            [memory.row_bytes, memory.channels, memory.banks_per_channel].map(|it| u64::from(it.get()));
        let column_bytes = u64::from(memory.column_bytes());
        let columns = row_bytes / column_bytes;
        check_baseline(format, policy)?;

        let split_k = check_split_k(gemv, channels, policy)?;
        let banks = banks_per_channel * channels / split_k;
        let (burst_bits, element_bits) = (column_bytes * 8, format.element_bits());
        if burst_bits < element_bits {
            return Err(PlanError::NarrowBurst { burst_bits, element_bits });
        }
        let lanes = burst_bits / element_bits;
        let (inputs_per_register, sums_per_register) = register_contents(format, machine)?;
        let per_command = |contents: u64| {
            let register_bits = u64::from(pim.register_bits.get());
            contents * (column_bytes * 8).min(register_bits) / register_bits
        };
        let block = scale_block(format, gemv.k() / split_k, policy)?;
        let registers = Registers {
            count: u64::from(pim.registers.get()),
            inputs: u64::from(pim.input_registers.get()),
            lanes,
            inputs_per_register,
            sums_per_register,
            rule: policy.register_rule,
            scaled: block.is_some(),
        };

        let tile_elements = interleave_bytes.get() * 8 / format.element_bits();
        let tile = choose_tile(gemv, banks, tile_elements, &registers, policy)?;
        let dealt_rows = if policy.placement == Placement::ColumnMajor { tile_elements } else { tile.m };
        let chunks = choose_chunks(gemv.k() / split_k, tile, policy)?;
        let row_blocks = Share::of(gemv.m(), tile.m, dealt_rows, banks);
        let sums_per_spill = per_command(sums_per_register).max(1);
        let outputs = tile.m.div_ceil(sums_per_spill);
        let cr_degree = choose_cr_degree(row_blocks, tile, &registers, (outputs, columns), policy)?;
        let bursts = Bursts::new(tile, lanes, registers.inputs * inputs_per_register, block);
        let scale_words =
            block.map_or(0, |block| bursts.scale_words(tile, lanes, block, columns, column_bytes));

        let plan = Self {
            gemv,
            format,
            placement: policy.placement,
            split_k,
            chunks,
            banks,
            banks_per_channel,
            tile,
            dealt_rows,
            lanes,
            sums_per_register,
            accumulators: registers.accumulators(tile.m),
            output_registers: registers.outputs(tile.m),
            row_blocks: row_blocks.fullest,
            cr_degree,
            registers: registers.count,
            register_bits: u64::from(pim.register_bits.get()),
            input_registers: registers.inputs,
            inputs_per_register,
            inputs_per_write: per_command(inputs_per_register).max(1),
            sums_per_spill,
            burst_inputs: bursts.inputs,
            event_inputs: bursts.event_inputs,
            row_words: columns - scale_words,
            scale_words,
            cross_lane: pim.cross_lane,
            swap_commands: u64::from(pim.swap_commands),
        };
        plan.check_capacity(memory)?;
        Ok(plan)
    }

    /// Whether a bank has the rows for weights and outputs.
    fn check_capacity(&self, memory: &Dram) -> Result<(), PlanError> {
        let (need, have) = (self.memory_rows(), u64::from(memory.rows.get()));
        if need > have {
            return Err(PlanError::Capacity { m: self.gemv.m(), k: self.gemv.k(), need, have });
        }
        Ok(())
    }

    /// Columns of the matrix that one split-K part works on.
    #[must_use]
    pub fn part_k(&self) -> u64 {
        self.gemv.k() / self.split_k
    }

    /// Columns of the matrix that one chunk of them works on.
    #[must_use]
    pub fn k(&self) -> u64 {
        self.part_k() / self.chunks
    }

    /// Whether weights lie column by column rather than in the order of use.
    #[must_use]
    pub fn is_column_major(&self) -> bool {
        self.placement == Placement::ColumnMajor
    }

    /// Row-blocks of one interleaving unit of a column-major order; else 1.
    #[must_use]
    pub fn row_blocks_of_unit(&self) -> u64 {
        self.dealt_rows / self.tile.m
    }

    /// Column accesses between one matrix column and the next in a bank of a
    /// column-major order: all interleaving units that it has of a column.
    #[must_use]
    pub fn column_words(&self) -> u64 {
        self.row_blocks.div_ceil(self.row_blocks_of_unit()) * self.dealt_rows / self.lanes
    }

    /// Weight words that a pass reads from each DRAM row, if from each as many.
    #[must_use]
    pub fn words_of_a_row(&self) -> Option<u64> {
        if !self.is_column_major() {
            return Some(self.row_words);
        }
        let (stride, used) = (self.column_words(), self.tile.m / self.lanes);
        if self.row_words.is_multiple_of(stride) {
            Some(self.row_words / stride * used)
        } else {
            // A unit never lies across two rows: both are powers of two.
            stride.is_multiple_of(self.row_words).then_some(used)
        }
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

    /// Whether the input registers hold all inputs of a chunk at once, so that its passes after
    /// the first find them there.
    #[must_use]
    pub fn keeps_inputs(&self) -> bool {
        self.bursts() == 1
    }

    /// Passes for which inputs are sent, over all chunks.
    #[must_use]
    pub fn sending_passes(&self) -> u64 {
        if self.keeps_inputs() { self.chunks } else { self.chunks * self.passes() }
    }

    /// Whether inputs are sent for a pass of a chunk.
    #[must_use]
    pub fn sends_inputs(&self, pass: u64) -> bool {
        pass == 0 || !self.keeps_inputs()
    }

    /// Register writes of a burst of `inputs`, the scale register's included.
    #[must_use]
    pub fn register_writes(&self, inputs: u64) -> u64 {
        inputs.div_ceil(self.inputs_per_write) + u64::from(self.has_scales())
    }

    /// Spill commands of one row-block.
    #[must_use]
    pub fn spill_words(&self) -> u64 {
        self.tile.m.div_ceil(self.sums_per_spill)
    }

    /// Bytes of the words that all spills write: a whole column access each, however few sums
    /// of a row-block it carries. The processor reads no less of them.
    #[must_use]
    pub fn spilled_bytes(&self) -> u64 {
        let row_blocks = self.gemv.m().div_ceil(self.tile.m) * self.split_k * self.chunks;
        row_blocks * self.spill_words() * self.lanes * self.format.element_bits() / 8
    }

    /// Whether blocks of weights and inputs share scale factors.
    #[must_use]
    pub fn has_scales(&self) -> bool {
        self.event_inputs > 0
    }

    /// DRAM rows of the fullest bank that hold weights.
    #[must_use]
    pub fn weight_rows(&self) -> u64 {
        let words = if self.is_column_major() {
            self.k() * self.column_words()
        } else {
            self.chunks * self.row_blocks * self.row_block_words()
        };
        words.div_ceil(self.row_words)
    }

    /// DRAM rows of the fullest bank that hold weights and outputs.
    #[must_use]
    pub fn memory_rows(&self) -> u64 {
        self.weight_rows() + self.chunks * self.passes()
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

/// What the baselines do not know is refused rather than ignored.
fn check_baseline(format: Format, policy: &Policy) -> Result<(), PlanError> {
    let placement = match policy.placement {
        Placement::Best | Placement::Pimnast => return Ok(()),
        Placement::ColumnMajor => "column-major",
        Placement::FixedTile => "fixed-tile",
    };
    let refuse = |what, instead| Err(PlanError::Baseline { placement, what, instead });
    if format.scale().is_some() {
        return refuse("place for scale factors", "a format without blocks");
    }
    if policy.placement == Placement::FixedTile {
        return Ok(());
    }
    if matches!(policy.cr_degree, CrDegree::Fixed(degree) if degree.get() > 1) {
        return refuse("CR degree", "`cr_degree = 1`");
    }
    Ok(())
}

/// Parts of the input vector that a bank works on one after the other.
fn choose_chunks(k: u64, tile: TileShape, policy: &Policy) -> Result<u64, PlanError> {
    if policy.placement != Placement::FixedTile {
        return Ok(1);
    }
    if k.is_multiple_of(tile.k) {
        Ok(k / tile.k)
    } else {
        Err(PlanError::FixedTileColumns { k, tile: tile.k })
    }
}

/// Input elements and sums in one register.
fn register_contents(format: Format, machine: &Machine) -> Result<(u64, u64), PlanError> {
    let element_bits = format.element_bits();
    let [register_bits, sum_bits] =
        [machine.pim.register_bits, machine.pim.sum_bits].map(|it| u64::from(it.get()));
    if register_bits < element_bits || register_bits < sum_bits {
        return Err(PlanError::NarrowRegister { register_bits, element_bits, sum_bits });
    }
    if sum_bits < element_bits {
        return Err(PlanError::NarrowSum { sum_bits, element_bits });
    }
    Ok((register_bits / element_bits, register_bits / sum_bits))
}

/// Elements that share a scale factor, and its bits.
#[derive(Debug, Clone, Copy)]
struct ScaleBlock {
    elements: u64,
    bits: u64,
}

fn scale_block(format: Format, k: u64, policy: &Policy) -> Result<Option<ScaleBlock>, PlanError> {
    let Some(scale) = format.scale() else { return Ok(None) };
    let block = scale.elements();
    if policy.register_rule == RegisterRule::Printed {
        return Err(PlanError::PrintedScales);
    }
    if !block.is_power_of_two() {
        return Err(PlanError::BlockNotPowerOfTwo { block });
    }
    if !k.is_multiple_of(block) {
        return Err(PlanError::ScaleBlock { k, block });
    }
    Ok(Some(ScaleBlock { elements: block, bits: scale.bits() }))
}

/// Row-blocks of the matrix, dealt out to the banks.
#[derive(Debug, Clone, Copy)]
struct Share {
    /// Row-blocks of the fullest bank.
    fullest: u64,
    /// Row-blocks that every bank has.
    every: u64,
}

impl Share {
    /// `rows` in pieces of `dealt`, which are row-blocks of `m` rows.
    fn of(rows: u64, m: u64, dealt: u64, banks: u64) -> Self {
        let blocks = dealt / m;
        Self {
            fullest: (rows.div_ceil(dealt * banks) * blocks).min(rows.div_ceil(m)),
            every: rows / (dealt * banks) * blocks,
        }
    }
}

/// How many input registers would do, if any.
fn input_registers(least: u64, most: u64) -> String {
    match most.checked_sub(least) {
        Some(0) => format!("`pim.input_registers = {least}`, "),
        Some(_) => format!("{least} to {most} `pim.input_registers`, "),
        None => String::new(),
    }
}

/// The tile that the policy asks for, if the registers hold a row-block of it.
fn choose_tile(
    gemv: Gemv,
    banks: u64,
    tile_elements: u64,
    registers: &Registers,
    policy: &Policy,
) -> Result<TileShape, PlanError> {
    let tile = match (policy.placement, policy.tile) {
        (Placement::ColumnMajor, TilePolicy::Auto) => {
            // As much of an interleaving unit, or of a column if that is shorter, as the registers hold, at least a
            // word.
            let column = gemv.m().checked_next_power_of_two().unwrap_or(tile_elements);
            let mut m = tile_elements.min(column.max(registers.lanes));
            while m > registers.lanes && !registers.fit(m) {
                m /= 2;
            }
            fixed_tile(m, 1, tile_elements)?
        }
        // A word holds nothing but rows of one column.
        (Placement::ColumnMajor, TilePolicy::Fixed(m)) => {
            fixed_tile(u64::from(m.get()), registers.lanes.min(tile_elements), tile_elements)?
        }
        (_, TilePolicy::Fixed(m)) => fixed_tile(u64::from(m.get()), 1, tile_elements)?,
        (Placement::FixedTile, _) => fixed_tile(1, 1, tile_elements)?,
        (Placement::Best | Placement::Pimnast, TilePolicy::Auto) => {
            tile_shape(gemv.m(), banks, tile_elements, |m| registers.fit(m))
        }
    };
    let m = tile.m;
    if !registers.fit(m) {
        return Err(PlanError::Registers {
            m,
            need: registers.for_sums(m),
            inputs: registers.inputs,
            least: registers.least_inputs(m),
            have: registers.count,
            lower: (0..m.ilog2())
                .map(|it| 1 << it)
                .filter(|it| policy.placement != Placement::ColumnMajor || registers.lanes <= *it)
                .any(|it| registers.fit(it)),
        });
    }
    Ok(tile)
}

/// The tile of a given height, which is at least `min`.
fn fixed_tile(m: u64, min: u64, tile_elements: u64) -> Result<TileShape, PlanError> {
    if m.is_power_of_two() && (min..=tile_elements).contains(&m) {
        Ok(TileShape { m, k: tile_elements / m })
    } else {
        Err(PlanError::TileHeight { m, min, max: tile_elements })
    }
}

/// How many row-blocks share a pass: as the policy asks, if the registers hold
/// their sums and a DRAM row their outputs, which take so many of so many columns
/// per row-block.
fn choose_cr_degree(
    row_blocks: Share,
    tile: TileShape,
    registers: &Registers,
    (outputs, columns): (u64, u64),
    policy: &Policy,
) -> Result<u64, PlanError> {
    if outputs > columns {
        return Err(PlanError::OutputRow { need: outputs, have: columns });
    }
    if policy.placement == Placement::ColumnMajor {
        return Ok(1);
    }
    let free = registers.count - registers.for_scales() - registers.inputs;
    let most =
        |row_blocks| max_cr_degree(row_blocks, free, registers.per_row_block(tile.m)).min(columns / outputs);
    match policy.cr_degree {
        // Algorithm 3 counts the row-blocks that every bank has.
        CrDegree::Auto => Ok(most(row_blocks.every)),
        CrDegree::Fixed(degree) => {
            let (given, most) = (u64::from(degree.get()), most(row_blocks.fullest));
            if given <= most { Ok(given) } else { Err(PlanError::CrDegree { given, most }) }
        }
    }
}

/// In which portions a row-block meets inputs and scale factors.
#[derive(Debug, Clone, Copy)]
struct Bursts {
    /// Input elements of one burst of register writes.
    inputs: u64,
    /// Input elements between two applications of scale factors; 0 without.
    event_inputs: u64,
}

impl Bursts {
    /// Bursts hold whole words and, where the registers can, whole scale blocks;
    /// where they cannot, whole bursts fill a block.
    fn new(tile: TileShape, lanes: u64, held: u64, block: Option<ScaleBlock>) -> Self {
        let word_inputs = (lanes / tile.m.min(lanes)).max(1);
        let event_inputs = block.map_or(0, |block| block.elements.max(word_inputs));
        let unit = event_inputs.max(word_inputs);
        let inputs = if held >= unit { held / unit * unit } else { 1 << held.ilog2() };
        Self { inputs, event_inputs }
    }

    /// The least number of scale words in a DRAM row of so many columns that hold
    /// the scales of all events which end in the row's weight words.
    fn scale_words(
        self,
        tile: TileShape,
        lanes: u64,
        block: ScaleBlock,
        columns: u64,
        column_bytes: u64,
    ) -> u64 {
        // Where bursts are shorter than blocks, the blocks of several row-blocks
        // end one visit apart.
        let event_words = (self.event_inputs.min(self.inputs) * tile.m).div_ceil(lanes).max(1);
        let event_bits = tile.m * (self.event_inputs / block.elements) * block.bits;
        let holds =
            |scale: u64| (columns - scale).div_ceil(event_words) * event_bits <= scale * column_bytes * 8;
        (1..columns).find(|it| holds(*it)).unwrap_or(columns - 1)
    }
}
