//! The broadcast command stream of one GEMV, in order: what every bank of a
//! split-K part does at the same time.
//!
//! One stream serves three masters. The functional machine computes with it, the
//! DRAM engine times it, and the closed form must count exactly it.

use memscape_dram::{Address, Command, Kind};

use super::plan::Plan;
use crate::hardware::CrossLane;

/// One broadcast command with what it means to the PIM unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    /// Close the open row.
    Close,
    /// Open a row.
    Open {
        /// The row.
        row: u64,
    },
    /// Put input elements into the next input register; the burst's first write
    /// starts over.
    WriteInputs {
        /// First column, within the split-K part.
        first: u64,
        /// How many.
        count: u64,
        /// Whether it starts a burst.
        starts_burst: bool,
    },
    /// Put the input scales of a burst into the scale register.
    WriteInputScales,
    /// Read weights and add their products with the inputs to the sums of the
    /// active row-block.
    Mac {
        /// Where the word lies.
        row: u64,
        /// Where the word lies.
        column: u64,
        /// Row-block of the pass.
        row_block: u64,
        /// First matrix column of the word, within the split-K part.
        first_input: u64,
        /// First matrix row of the word, within the row-block.
        first_row: u64,
    },
    /// Read weight scales into the scale register.
    LoadScales {
        /// Where they lie.
        row: u64,
        /// Where the word lies.
        column: u64,
        /// First bit within the row's scale words.
        first_bit: u64,
        /// Whether it is the first load of a block.
        starts: bool,
    },
    /// One of the commands that scale the sums of a row-block.
    Scale {
        /// Row-block of the pass.
        row_block: u64,
        /// Which accumulator register.
        register: u64,
        /// Last matrix column (exclusive) of the scaled block.
        end_input: u64,
        /// First the weights' scales, then the inputs'.
        side: ScaleSide,
    },
    /// Exchange an accumulator register with that of another row-block.
    Swap {
        /// The row-block that becomes active.
        to: u64,
        /// Which accumulator register.
        register: u64,
        /// Whether this command completes the exchange of the register.
        completes: bool,
    },
    /// Shift a copy of a sum register; the first of a step copies it.
    Shift {
        /// Row-block of the pass.
        row_block: u64,
        /// Which accumulator register.
        register: u64,
        /// By how many lanes.
        lanes: u64,
        /// Whether it starts from the register rather than the shifted copy.
        starts: bool,
    },
    /// Add the shifted copy to the register it came from.
    AddShifted {
        /// Row-block of the pass.
        row_block: u64,
        /// Which accumulator register.
        register: u64,
    },
    /// Add one sum register to another.
    AddRegister {
        /// Row-block of the pass.
        row_block: u64,
        /// Where the sums come from.
        from: u64,
        /// Where they go.
        into: u64,
    },
    /// Write finished sums to memory.
    Spill {
        /// Where they go.
        row: u64,
        /// Where they go.
        column: u64,
        /// Row-block of the pass.
        row_block: u64,
        /// Row-block of the bank.
        bank_row_block: u64,
        /// Which command's worth of its outputs.
        word: u64,
    },
}

/// Which scale factors a [`Op::Scale`] applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScaleSide {
    /// The weights': the sums are multiplied in place.
    Weights,
    /// The inputs': the product is added to the scaled sums.
    Inputs,
}

impl Op {
    /// The DRAM command that carries the operation.
    ///
    /// # Panics
    /// Above 2^32 rows or columns, which [`Plan::new`] refuses.
    #[must_use]
    pub fn command(&self) -> Command {
        let (kind, row, column) = match *self {
            Self::Close => (Kind::PreAll, 0, 0),
            Self::Open { row } => (Kind::ActAll, row, 0),
            Self::WriteInputs { .. } | Self::WriteInputScales => (Kind::RegWrite, 0, 0),
            Self::Mac { row, column, .. } | Self::LoadScales { row, column, .. } => (Kind::Mac, row, column),
            Self::Spill { row, column, .. } => (Kind::Spill, row, column),
            Self::Scale { .. }
            | Self::Swap { .. }
            | Self::Shift { .. }
            | Self::AddShifted { .. }
            | Self::AddRegister { .. } => (Kind::Alu, 0, 0),
        };
        let part = |value: u64| u32::try_from(value).expect("a plan's rows and columns fit its memory");
        kind.at(Address { row: part(row), column: part(column), ..Address::default() })
    }
}

/// Emits the whole stream of `plan`, ending with all rows closed.
///
/// Stops early with the first error of `emit`.
///
/// # Errors
/// What `emit` returns.
pub fn for_each<E>(plan: &Plan, mut emit: impl FnMut(Op) -> Result<(), E>) -> Result<(), E> {
    let mut weights = Cursor { plan, next: 0, open: None, event_bits: 0 };
    for (chunk, pass) in (0..plan.chunks).flat_map(|chunk| (0..plan.passes()).map(move |pass| (chunk, pass)))
    {
        let row_blocks = plan.pass_row_blocks(pass);
        for burst in 0..plan.bursts() {
            let first = chunk * plan.k() + burst * plan.burst_inputs;
            let inputs = plan.inputs_of_burst(burst);
            if plan.sends_inputs(pass) {
                send(plan, first, inputs, &mut emit)?;
            }
            for row_block in 0..row_blocks {
                visit(&mut weights, (pass, row_block), first, inputs, &mut emit)?;
                let next = (row_block + 1) % row_blocks;
                if row_blocks > 1 {
                    for register in 0..plan.accumulators {
                        for part in 1..=plan.swap_commands {
                            emit(Op::Swap { to: next, register, completes: part == plan.swap_commands })?;
                        }
                    }
                }
            }
        }
        for row_block in 0..row_blocks {
            fold(plan, row_block, &mut emit)?;
        }
        spill(plan, chunk, pass, &mut emit)?;
        weights.open = None;
    }
    Ok(())
}

/// Puts the inputs of a burst into registers, with their scale factors.
fn send<E>(
    plan: &Plan,
    first: u64,
    inputs: u64,
    emit: &mut impl FnMut(Op) -> Result<(), E>,
) -> Result<(), E> {
    let mut sent = 0;
    while sent < inputs {
        let count = (inputs - sent).min(plan.inputs_per_write);
        emit(Op::WriteInputs { first: first + sent, count, starts_burst: sent == 0 })?;
        sent += count;
    }
    if plan.has_scales() { emit(Op::WriteInputScales) } else { Ok(()) }
}

/// Where the next weight word lies.
struct Cursor<'a> {
    plan: &'a Plan,
    next: u64,
    open: Option<u64>,
    /// Scale bits of the open row that are used up.
    event_bits: u64,
}

/// Reads the columns `first..first + inputs` of one row-block.
fn visit<E>(
    weights: &mut Cursor<'_>,
    (pass, row_block): (u64, u64),
    first: u64,
    inputs: u64,
    emit: &mut impl FnMut(Op) -> Result<(), E>,
) -> Result<(), E> {
    let plan = weights.plan;
    let (m, lanes) = (plan.tile.m, plan.lanes);
    let word_inputs = (lanes / m.min(lanes)).max(1);
    let words_per_column = (m / lanes).max(1);
    for word in 0..plan.words(inputs) {
        let first_input = first + word / words_per_column * word_inputs;
        let at = if plan.is_column_major() {
            plan.column_major_word(pass, first_input) + word % words_per_column
        } else {
            weights.next
        };
        let (row, column) = (at / plan.row_words, at % plan.row_words);
        if weights.open != Some(row) {
            if weights.open.is_some() {
                emit(Op::Close)?;
            }
            emit(Op::Open { row })?;
            if column == 0 {
                weights.event_bits = 0;
            }
            weights.open = Some(row);
        }
        emit(Op::Mac { row, column, row_block, first_input, first_row: word % words_per_column * lanes })?;
        weights.next += 1;
        // Scaled formats have one chunk.
        let end_input = (first_input + word_inputs).min(plan.part_k());
        let column_done = (word + 1) % words_per_column == 0;
        if plan.has_scales()
            && column_done
            && (end_input.is_multiple_of(plan.event_inputs) || end_input == plan.part_k())
        {
            apply_scales(weights, row, row_block, end_input, emit)?;
        }
    }
    Ok(())
}

/// Scales the sums of the block that ends before `end_input`.
fn apply_scales<E>(
    weights: &mut Cursor<'_>,
    row: u64,
    row_block: u64,
    end_input: u64,
    emit: &mut impl FnMut(Op) -> Result<(), E>,
) -> Result<(), E> {
    let plan = weights.plan;
    let word_bits = plan.lanes * plan.format.element_bits();
    for load in 0..plan.scale_loads() {
        let first_bit = weights.event_bits + load * word_bits;
        let column = plan.row_words + (first_bit / word_bits).min(plan.scale_words - 1);
        emit(Op::LoadScales { row, column, first_bit, starts: load == 0 })?;
    }
    weights.event_bits += plan.event_scale_bits();
    for side in [ScaleSide::Weights, ScaleSide::Inputs] {
        for register in 0..plan.accumulators {
            emit(Op::Scale { row_block, register, end_input, side })?;
        }
    }
    Ok(())
}

/// Brings the sums of each matrix row into one lane.
fn fold<E>(plan: &Plan, row_block: u64, emit: &mut impl FnMut(Op) -> Result<(), E>) -> Result<(), E> {
    if !plan.needs_fold() {
        return Ok(());
    }
    let fold_register = |register, emit: &mut dyn FnMut(Op) -> Result<(), E>| {
        for step in plan.fold_steps() {
            if plan.cross_lane == CrossLane::AnyShift {
                emit(Op::Shift { row_block, register, lanes: step, starts: true })?;
            } else {
                for lane in 0..step {
                    emit(Op::Shift { row_block, register, lanes: 1, starts: lane == 0 })?;
                }
            }
            emit(Op::AddShifted { row_block, register })?;
        }
        Ok(())
    };
    let add_registers = |emit: &mut dyn FnMut(Op) -> Result<(), E>| {
        (plan.output_registers..plan.accumulators).try_for_each(|from| {
            emit(Op::AddRegister { row_block, from, into: from % plan.output_registers })
        })
    };
    if plan.cross_lane == CrossLane::LaneShiftLast {
        add_registers(emit)?;
        (0..plan.output_registers).try_for_each(|it| fold_register(it, emit))
    } else {
        (0..plan.accumulators).try_for_each(|it| fold_register(it, emit))?;
        add_registers(emit)
    }
}

/// Writes the outputs of a pass to a row of their own, below the weights.
fn spill<E>(plan: &Plan, chunk: u64, pass: u64, emit: &mut impl FnMut(Op) -> Result<(), E>) -> Result<(), E> {
    let row = plan.weight_rows() + chunk * plan.passes() + pass;
    emit(Op::Close)?;
    emit(Op::Open { row })?;
    for row_block in 0..plan.pass_row_blocks(pass) {
        for word in 0..plan.spill_words() {
            let column = row_block * plan.spill_words() + word;
            let bank_row_block = pass * plan.cr_degree + row_block;
            emit(Op::Spill { row, column, row_block, bank_row_block, word })?;
        }
    }
    emit(Op::Close)
}
