//! The functional PIM machine: executes the broadcast command stream on real
//! data, bank by bank, lane by lane.
//!
//! Memory is filled by the placement ([`Plan::place`]), the commands come from
//! the schedule; they meet only here. A placement that cannot compute gives a
//! wrong vector or an error.

use memscape_workload::{Element, EncodeError};

use super::plan::Plan;
use super::schedule::{self, Op, ScaleSide};
use crate::hardware::CrossLane;

/// How the machine adds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sums {
    /// Without end: what the placement computes.
    Exact,
    /// In the width that the registers have, `pim.sum_bits`: sums of integers wrap,
    /// sums of floats are rounded to half or single precision.
    Registers,
}

/// Numbers of one GEMV, row-major.
#[derive(Debug, Clone, Copy)]
pub struct Operands<'a> {
    /// `m x k` weights.
    pub weights: &'a [f32],
    /// `k` inputs.
    pub inputs: &'a [f32],
    /// `m x k / block` binary exponents of the weights' scales; empty without.
    pub weight_scales: &'a [i8],
    /// `k / block` binary exponents of the inputs' scales; empty without.
    pub input_scales: &'a [i8],
}

/// Why the machine stopped.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ExecuteError {
    /// Numbers that the format cannot hold.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// An operand of the wrong length.
    #[error("`{operand}` has {given} numbers, but the matrix needs {need}")]
    Length {
        /// Which operand.
        operand: &'static str,
        /// Its length.
        given: usize,
        /// The length the shape asks for.
        need: u64,
    },
    /// Scale factors of another width than the machine multiplies with.
    #[error("the machine computes with 8-bit scale exponents, not {bits}-bit ones")]
    ScaleBits {
        /// Bits of the format's scale.
        bits: u64,
    },
    /// Sums of a width that has no arithmetic here.
    #[error("sums of {bits} bit are not computed; use 8 to 32 bit for integers, 16 or 32 bit for floats")]
    SumBits {
        /// Width of a sum.
        bits: u64,
    },
    /// A command finds the unit in a state in which it makes no sense.
    #[error("{op:?}: {what}")]
    Broken {
        /// The command.
        op: Op,
        /// What is wrong.
        what: &'static str,
    },
}

/// The memory of all banks, filled with one matrix.
#[derive(Debug, Clone)]
pub struct Memory {
    /// Per bank, its rows end to end.
    banks: Vec<Vec<u8>>,
    word_bytes: usize,
    row_bytes: usize,
}

/// A `u64` of a plan that has been laid out in memory, as an index.
fn at(index: u64) -> usize {
    usize::try_from(index).expect("a matrix in memory has indices that fit")
}

impl Memory {
    /// Fills memory with weights and scales as `plan` places them.
    ///
    /// # Errors
    /// [`ExecuteError`] if lengths do not match or a number does not fit the
    /// format.
    pub fn place(plan: &Plan, operands: &Operands<'_>) -> Result<Self, ExecuteError> {
        let (m, k) = (plan.gemv.m(), plan.gemv.k());
        let blocks = plan.format.scale().map_or(0, |it| k / it.elements());
        let lengths = [
            ("weights", operands.weights.len(), m * k),
            ("inputs", operands.inputs.len(), k),
            ("weight_scales", operands.weight_scales.len(), m * blocks),
            ("input_scales", operands.input_scales.len(), blocks),
        ];
        for (operand, given, need) in lengths {
            if given as u64 != need {
                return Err(ExecuteError::Length { operand, given, need });
            }
        }
        if let Some(scale) = plan.format.scale().filter(|it| it.bits() != 8) {
            return Err(ExecuteError::ScaleBits { bits: scale.bits() });
        }
        let bits = at(plan.format.element_bits());
        let word_bytes = at(plan.lanes) * bits / 8;
        let row_bytes = at(plan.row_words + plan.scale_words) * word_bytes;
        let bank = vec![0; at(plan.weight_rows()) * row_bytes];
        let mut memory = Self { banks: vec![bank; at(plan.banks * plan.split_k)], word_bytes, row_bytes };

        for (index, weight) in operands.weights.iter().enumerate() {
            let place = plan.place(index as u64 / k, index as u64 % k);
            let code = plan.format.element().encode(&[*weight])?;
            let bit = at(place.lane) * bits;
            let start = at(place.row) * row_bytes + at(place.column) * word_bytes + bit / 8;
            let bytes = &mut memory.banks[at(place.bank)][start..];
            if bits == 4 {
                bytes[0] |= (code[0] & 0xf) << (bit % 8);
            } else {
                bytes[..code.len()].copy_from_slice(&code);
            }
        }
        if blocks > 0 {
            memory.place_scales(plan, operands.weight_scales, blocks);
        }
        Ok(memory)
    }

    /// Scales lie in the row in which their block ends, in the order of use.
    fn place_scales(&mut self, plan: &Plan, scales: &[i8], blocks: u64) {
        let block = plan.format.scale().expect("there are scales").elements();
        let places = plan.event_places();
        for part in 0..plan.split_k {
            for local in 0..plan.row_blocks * plan.banks {
                let (row_block, bank) = (local / plan.banks, part * plan.banks + local % plan.banks);
                let first_row = plan.row_of_bank(local % plan.banks, row_block, 0);
                if first_row >= plan.gemv.m() {
                    continue;
                }
                for event in 0..plan.k().div_ceil(plan.event_inputs) {
                    let (row, index) = places[at(row_block)][at(event)];
                    let start = at(row) * self.row_bytes
                        + at(plan.row_words) * self.word_bytes
                        + at(index * plan.event_scale_bits() / 8);
                    let per_row = plan.event_inputs / block;
                    for (i, b) in (0..plan.tile.m).flat_map(|i| (0..per_row).map(move |b| (i, b))) {
                        let column = part * (plan.k() / block) + event * per_row + b;
                        if first_row + i < plan.gemv.m() && event * per_row + b < plan.k() / block {
                            let scale = scales[at((first_row + i) * blocks + column)];
                            self.banks[at(bank)][start + at(i * per_row + b)] = scale.to_le_bytes()[0];
                        }
                    }
                }
            }
        }
    }

    /// The bytes of one column access.
    fn word(&self, bank: usize, row: u64, column: u64) -> &[u8] {
        let start = at(row) * self.row_bytes + at(column) * self.word_bytes;
        &self.banks[bank][start..start + self.word_bytes]
    }

    /// Exchanges two column accesses of a bank, for tests of wrong placements.
    ///
    /// # Panics
    /// If there is no such word.
    pub fn exchange_words(&mut self, bank: u64, one: (u64, u64), other: (u64, u64)) {
        let words = [one, other].map(|(row, column)| at(row) * self.row_bytes + at(column) * self.word_bytes);
        for byte in 0..self.word_bytes {
            self.banks[at(bank)].swap(words[0] + byte, words[1] + byte);
        }
    }
}

impl Plan {
    /// For each row-block of a bank and each of its scale events, the row in which
    /// the event's scales lie and how many events of that row come before.
    fn event_places(&self) -> Vec<Vec<(u64, u64)>> {
        let events = self.k().div_ceil(self.event_inputs);
        let row_of = |row_block: u64, event: u64| {
            let last = ((event + 1) * self.event_inputs).min(self.k()) - 1;
            let place = self.place_unbounded(self.row_of_bank(0, row_block, self.tile.m - 1), last);
            (place.row, place.column)
        };
        let mut order: Vec<_> = (0..self.row_blocks)
            .flat_map(|row_block| (0..events).map(move |event| (row_block, event)))
            .map(|(row_block, event)| (row_of(row_block, event), row_block, event))
            .collect();
        order.sort_unstable();
        let mut places = vec![vec![(0, 0); at(events)]; at(self.row_blocks)];
        for in_row in order.chunk_by(|one, other| one.0.0 == other.0.0) {
            for (before, ((row, _), row_block, event)) in in_row.iter().enumerate() {
                places[at(*row_block)][at(*event)] = (*row, before as u64);
            }
        }
        places
    }
}

/// Computes the GEMV by executing the command stream; `m` sums, added exactly.
///
/// # Errors
/// [`ExecuteError`] if operands do not fit, or if the stream makes no sense for
/// this memory.
///
/// # Example
/// ```
/// use memscape_pim::GemvStudy;
/// use memscape_pim::mapping::Plan;
/// use memscape_pim::mapping::execute::{Memory, Operands, execute};
/// use memscape_workload::{Format, Gemv};
///
/// let study = GemvStudy::default();
/// let plan = Plan::new(Gemv::new(256, 64)?, Format::INT8, &study.machine(), &study.policy())?;
/// let weights: Vec<f32> = (0..256 * 64).map(|it| (it % 7) as f32).collect();
/// let inputs = vec![1.0; 64];
/// let operands = Operands { weights: &weights, inputs: &inputs, weight_scales: &[], input_scales: &[] };
/// let sums = execute(&plan, &Memory::place(&plan, &operands)?, &operands)?;
/// assert_eq!(sums[3], weights[3 * 64..4 * 64].iter().sum::<f32>() as f64);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn execute(plan: &Plan, memory: &Memory, operands: &Operands<'_>) -> Result<Vec<f64>, ExecuteError> {
    Ok(execute_with(plan, memory, operands, Sums::Exact)?.sums)
}

/// What a machine computed.
#[derive(Debug, Clone, PartialEq)]
pub struct Computed {
    /// The output vector.
    pub sums: Vec<f64>,
    /// Additions whose result did not fit a sum and wrapped, or became infinite.
    pub overflows: u64,
}

/// As [`execute`], with sums of a chosen kind.
///
/// # Errors
/// As [`execute`], and if sums of that width have no arithmetic.
pub fn execute_with(
    plan: &Plan,
    memory: &Memory,
    operands: &Operands<'_>,
    sums: Sums,
) -> Result<Computed, ExecuteError> {
    let adder = Adder::new(plan, sums)?;
    let units = at(plan.banks * plan.split_k);
    let sums = vec![0.0; at(plan.accumulators * plan.sums_per_register)];
    let row_block = RowBlock { sums: sums.clone(), scaled: sums };
    let unit = Unit {
        row_blocks: vec![row_block; at(plan.cr_degree)],
        weight_scales: Vec::new(),
        shifted: vec![0.0; at(plan.sums_per_register)],
    };
    let mut execution = Execution {
        plan,
        memory,
        operands,
        units: vec![unit; units],
        open: None,
        inputs: 0..0,
        active: vec![0; at(plan.accumulators)],
        outputs: vec![0.0; at(plan.gemv.m())],
        adder,
    };
    schedule::for_each(plan, |op| execution.step(op))?;
    Ok(Computed { sums: execution.outputs, overflows: execution.adder.overflows })
}

/// Adds as the registers do.
struct Adder {
    width: Width,
    overflows: u64,
}

#[derive(Clone, Copy)]
enum Width {
    Endless,
    /// Integers of so many bits.
    Wrapping(u32),
    Half,
    Single,
}

impl Adder {
    fn new(plan: &Plan, sums: Sums) -> Result<Self, ExecuteError> {
        let bits = plan.register_bits / plan.sums_per_register;
        let width = match (sums, matches!(plan.format.element(), Element::Int4 | Element::Int8), bits) {
            (Sums::Exact, _, _) => Width::Endless,
            // Scaled sums are no whole numbers: the second set of sums is of floats.
            (_, true, 8 | 16 | 32) if !plan.has_scales() => {
                Width::Wrapping(u32::try_from(bits).expect("at most 32"))
            }
            (_, _, 16) => Width::Half,
            (_, _, 32) => Width::Single,
            _ => return Err(ExecuteError::SumBits { bits }),
        };
        Ok(Self { width, overflows: 0 })
    }

    /// What a register holds of a result.
    fn hold(&mut self, exact: f64) -> f64 {
        let held = match self.width {
            Width::Endless => return exact,
            Width::Wrapping(bits) => {
                let (range, half) = (f64::from(bits).exp2(), f64::from(bits - 1).exp2());
                (exact + half).rem_euclid(range) - half
            }
            Width::Half => half::f16::from_f64(exact).to_f64(),
            #[expect(clippy::cast_possible_truncation, reason = "rounding is what is asked for")]
            Width::Single => f64::from(exact as f32),
        };
        let overflown = match self.width {
            Width::Wrapping(_) => (held - exact).abs() > 0.5,
            _ => held.is_infinite(),
        };
        self.overflows += u64::from(overflown);
        held
    }
}

/// The sums of one row-block.
#[derive(Clone)]
struct RowBlock {
    sums: Vec<f64>,
    scaled: Vec<f64>,
}

/// The registers of one bank's unit, the shared input registers left out.
#[derive(Clone)]
struct Unit {
    row_blocks: Vec<RowBlock>,
    weight_scales: Vec<i8>,
    shifted: Vec<f64>,
}

/// A stream being executed.
struct Execution<'a> {
    plan: &'a Plan,
    memory: &'a Memory,
    operands: &'a Operands<'a>,
    units: Vec<Unit>,
    open: Option<u64>,
    /// Columns whose inputs are in the registers.
    inputs: std::ops::Range<u64>,
    /// Whose sums each accumulator register holds.
    active: Vec<u64>,
    outputs: Vec<f64>,
    adder: Adder,
}

impl Execution<'_> {
    fn step(&mut self, op: Op) -> Result<(), ExecuteError> {
        if let Some(what) = self.problem(op) {
            return Err(ExecuteError::Broken { op, what });
        }
        match op {
            Op::Close => self.open = None,
            Op::Open { row } => self.open = Some(row),
            Op::WriteInputs { first, count, starts_burst } => {
                let start = if starts_burst { first } else { self.inputs.start };
                self.inputs = start..first + count;
            }
            Op::WriteInputScales => {}
            Op::Mac { row, column, row_block, first_input, first_row } => {
                self.mac(row, column, row_block, first_input, first_row)?;
            }
            Op::LoadScales { row, column, first_bit, starts } => {
                self.load_scales(row, column, first_bit, starts);
            }
            Op::Scale { row_block, register, end_input, side } => {
                self.scale(at(row_block), register, end_input, side);
            }
            Op::Swap { to, register, completes } => {
                if completes {
                    self.active[at(register)] = to;
                }
            }
            Op::Shift { row_block, register, lanes, starts } => {
                self.shift(at(row_block), register, at(lanes), starts);
            }
            Op::AddShifted { row_block, register } => self.add_shifted(at(row_block), register),
            Op::AddRegister { row_block, from, into } => self.add_register(at(row_block), from, into),
            Op::Spill { row_block, bank_row_block, word, .. } => {
                self.spill(at(row_block), bank_row_block, word);
            }
        }
        Ok(())
    }

    /// Why a command makes no sense now.
    fn problem(&self, op: Op) -> Option<&'static str> {
        match op {
            Op::Close => self.open.is_none().then_some("no row is open"),
            Op::Open { .. } => self.open.is_some().then_some("another row is open"),
            Op::Mac { row, .. } | Op::LoadScales { row, .. } | Op::Spill { row, .. }
                if self.open != Some(row) =>
            {
                Some("its row is not open")
            }
            Op::WriteInputs { first, count, starts_burst } => self.input_problem(first, count, starts_burst),
            Op::Mac { row_block, first_input, .. } => self.mac_problem(row_block, first_input),
            _ => None,
        }
    }

    fn input_problem(&self, first: u64, count: u64, starts_burst: bool) -> Option<&'static str> {
        let plan = self.plan;
        let start = if starts_burst { first } else { self.inputs.start };
        if (!starts_burst && self.inputs.end != first) || count > plan.inputs_per_write {
            return Some("inputs are not in order");
        }
        let registers = (first + count - start).div_ceil(plan.inputs_per_register);
        (registers > plan.input_registers).then_some("more inputs than registers")
    }

    fn mac_problem(&self, row_block: u64, first_input: u64) -> Option<&'static str> {
        let plan = self.plan;
        if plan.swap_commands > 0 && self.active.iter().any(|it| *it != row_block) {
            return Some("the accumulators hold another row-block's sums");
        }
        let columns = (plan.lanes / plan.tile.m.min(plan.lanes)).max(1);
        let last = (first_input + columns).min(plan.part_k());
        let held = self.inputs.start <= first_input && last <= self.inputs.end;
        (!held).then_some("its inputs are not in the registers")
    }

    fn registers(&self, register: u64) -> std::ops::Range<usize> {
        let width = at(self.plan.sums_per_register);
        at(register) * width..(at(register) + 1) * width
    }

    fn mac(
        &mut self,
        row: u64,
        column: u64,
        row_block: u64,
        first_input: u64,
        first_row: u64,
    ) -> Result<(), ExecuteError> {
        let plan = self.plan;
        for (bank, unit) in self.units.iter_mut().enumerate() {
            let part = bank as u64 / plan.banks;
            let weights =
                plan.format.element().decode(self.memory.word(bank, row, column), at(plan.lanes))?;
            let sums = &mut unit.row_blocks[at(row_block)].sums;
            for (lane, weight) in (0..plan.lanes).zip(weights) {
                let (input, sum) = if plan.tile.m >= plan.lanes {
                    (first_input, first_row + lane)
                } else {
                    (first_input + lane / plan.tile.m, lane)
                };
                if input < plan.part_k() {
                    let input = self.operands.inputs[at(part * plan.part_k() + input)];
                    let sum = &mut sums[at(sum)];
                    *sum = self.adder.hold(*sum + f64::from(weight) * f64::from(input));
                }
            }
        }
        Ok(())
    }

    fn load_scales(&mut self, row: u64, column: u64, first_bit: u64, starts: bool) {
        let word_bits = (self.memory.word_bytes * 8) as u64;
        let bits = self.plan.event_scale_bits().min(word_bits);
        let first = at(first_bit % word_bits / 8);
        for (bank, unit) in self.units.iter_mut().enumerate() {
            if starts {
                unit.weight_scales.clear();
            }
            let bytes = &self.memory.word(bank, row, column)[first..first + at(bits / 8)];
            unit.weight_scales.extend(bytes.iter().map(|it| i8::from_le_bytes([*it])));
        }
    }

    fn scale(&mut self, row_block: usize, register: u64, end_input: u64, side: ScaleSide) {
        let plan = self.plan;
        let block = plan.format.scale().expect("only scaled formats scale").elements();
        let per_row = plan.event_inputs / block;
        let first_block = (end_input - 1) / plan.event_inputs * per_row;
        let registers = self.registers(register);
        for (bank, unit) in self.units.iter_mut().enumerate() {
            let part = bank as u64 / plan.banks;
            for sum in registers.clone() {
                let (row, column) = (sum as u64 % plan.tile.m, sum as u64 / plan.tile.m);
                // Only where a word spans several blocks do lanes differ in theirs.
                let in_event = if per_row > 1 { column / block } else { 0 };
                let block_index = first_block + in_event;
                if sum as u64 >= plan.lanes.max(plan.tile.m) || block_index >= plan.k() / block {
                    continue;
                }
                let sums = &mut unit.row_blocks[row_block];
                match side {
                    ScaleSide::Weights => {
                        let exponent = unit.weight_scales[at(row * per_row + in_event)];
                        sums.sums[sum] = self.adder.hold(sums.sums[sum] * f64::from(exponent).exp2());
                    }
                    ScaleSide::Inputs => {
                        let exponent =
                            self.operands.input_scales[at(part * (plan.k() / block) + block_index)];
                        let product = sums.sums[sum] * f64::from(exponent).exp2();
                        sums.scaled[sum] = self.adder.hold(sums.scaled[sum] + product);
                        sums.sums[sum] = 0.0;
                    }
                }
            }
        }
    }

    fn shift(&mut self, row_block: usize, register: u64, lanes: usize, starts: bool) {
        let (plan, registers) = (self.plan, self.registers(register));
        for unit in &mut self.units {
            if starts {
                unit.shifted = unit.row_blocks[row_block].result(plan)[registers.clone()].to_vec();
            }
            unit.shifted.rotate_left(lanes);
        }
    }

    fn add_shifted(&mut self, row_block: usize, register: u64) {
        let (plan, registers) = (self.plan, self.registers(register));
        for unit in &mut self.units {
            let sums = &mut unit.row_blocks[row_block].result_mut(plan)[registers.clone()];
            sums.iter_mut()
                .zip(&unit.shifted)
                .for_each(|(sum, shifted)| *sum = self.adder.hold(*sum + shifted));
        }
    }

    fn add_register(&mut self, row_block: usize, from: u64, into: u64) {
        let (plan, from, into) = (self.plan, self.registers(from), self.registers(into));
        for unit in &mut self.units {
            let sums = unit.row_blocks[row_block].result_mut(plan);
            for (from, into) in from.clone().zip(into.clone()) {
                sums[into] = self.adder.hold(sums[into] + sums[from]);
            }
        }
    }

    /// Outputs of split-K parts and of chunks are added by the processor, which has
    /// wide sums.
    fn spill(&mut self, row_block: usize, bank_row_block: u64, word: u64) {
        let plan = self.plan;
        for (bank, unit) in self.units.iter_mut().enumerate() {
            let sums = unit.row_blocks[row_block].result_mut(plan);
            for lane in 0..plan.sums_per_spill {
                let i = word * plan.sums_per_spill + lane;
                let row = plan.row_of_bank(bank as u64 % plan.banks, bank_row_block, i);
                if i >= plan.tile.m || row >= plan.gemv.m() {
                    continue;
                }
                let sum: f64 = if plan.cross_lane == CrossLane::Tree {
                    sums.iter().skip(at(i)).step_by(at(plan.tile.m)).sum()
                } else {
                    sums[at(i)]
                };
                let sum = self.adder.hold(sum);
                self.outputs[at(row)] += sum;
            }
            if word + 1 == plan.spill_words() {
                // The next pass multiplies where it would otherwise add.
                sums.fill(0.0);
            }
        }
    }
}

impl RowBlock {
    /// The sums that the fold works on.
    fn result(&self, plan: &Plan) -> &[f64] {
        if plan.has_scales() { &self.scaled } else { &self.sums }
    }

    fn result_mut(&mut self, plan: &Plan) -> &mut [f64] {
        if plan.has_scales() { &mut self.scaled } else { &mut self.sums }
    }
}
