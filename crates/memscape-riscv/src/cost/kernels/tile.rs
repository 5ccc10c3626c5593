//! A tile of rows by blocks on vector registers: `vector`, `simple` and `complex` are one
//! kernel, with constants as immediates or in scalar registers, inlined or behind a call.

use memscape_workload::GgmlType;

use super::code::{Code, Kernel, Layout};
use crate::cost::vector::{Class, Integers, Memory, Sew, VectorMachine};
use crate::mapping::quant::{BLOCK, Q4_0_BYTES, Q8_0_BYTES};

/// How a block lies in vector registers: whole if it fits, else its two halves, each
/// in strips.
#[derive(Debug, Clone, Copy)]
struct Strips {
    lmul: u32,
    /// Elements of one.
    width: usize,
}

impl Strips {
    const fn of<const EXECUTE: bool>(machine: &VectorMachine<EXECUTE>, lmul: u32, layout: Layout) -> Self {
        let most = machine.vlmax(Sew::E8, lmul);
        let width = match layout {
            Layout::Whole if most >= BLOCK => BLOCK,
            _ if most < BLOCK / 2 => most,
            _ => BLOCK / 2,
        };
        Self { lmul, width }
    }

    /// Registers that do not fit, over the listings' order: with all loaded, all unpacked,
    /// all multiplied and all summed. What does not fit at the end of a step is stored, and
    /// loaded again in the next.
    fn spilled(self, rows: usize, blocks: usize, packed: bool, registers: u32) -> u64 {
        let (all, strips) = (rows * blocks, self.count());
        let inputs = blocks * strips;
        let loaded = if packed { all * strips.div_ceil(2) + inputs } else { 0 };
        let products = all * 2 * strips.div_ceil(2);
        // Sums take a register each, and the zero that they begin with.
        let (wide, single) = ([loaded, all * strips + inputs, products], [all + 1]);
        let groups = wide.map(|it| it as u64 * u64::from(self.lmul));
        let over = |it: u64| it.saturating_sub(registers.into());
        groups.into_iter().chain(single.map(|it| it as u64)).map(over).sum()
    }

    /// Strips of a block.
    const fn count(self) -> usize {
        BLOCK / self.width
    }

    /// Bytes of a Q8_0 block, strip by strip.
    fn load_q8<const EXECUTE: bool>(
        self,
        machine: &mut VectorMachine<EXECUTE>,
        from: Memory<'_>,
        start: usize,
    ) -> Vec<Integers> {
        machine.set(Sew::E8, self.lmul, self.width);
        (0..self.count()).map(|it| machine.load_bytes(from, start + 2 + it * self.width, true)).collect()
    }

    /// Bytes of a Q4_0 block: two weights in each.
    fn load_q4<const EXECUTE: bool>(
        self,
        machine: &mut VectorMachine<EXECUTE>,
        from: Memory<'_>,
        start: usize,
    ) -> Vec<Integers> {
        let nibbles = self.width.min(BLOCK / 2);
        machine.set(Sew::E8, self.lmul, nibbles);
        (0..BLOCK / 2 / nibbles).map(|it| machine.load_bytes(from, start + 2 + it * nibbles, false)).collect()
    }

    /// The weights of a Q4_0 block.
    fn unpack<const EXECUTE: bool>(
        self,
        machine: &mut VectorMachine<EXECUTE>,
        (and_add, shift): (Class, Class),
        packed: &[Integers],
    ) -> Vec<Integers> {
        machine.set(Sew::E8, self.lmul, self.width.min(BLOCK / 2));
        let low: Vec<_> =
            packed.iter().map(|it| machine.with_constant(and_add, it, 0xf, |a, b| a & b)).collect();
        let high: Vec<_> =
            packed.iter().map(|it| machine.with_constant(shift, it, 4, |a, b| a >> b)).collect();
        let halves = if self.width == BLOCK {
            machine.set(Sew::E8, self.lmul, BLOCK);
            vec![machine.slide_up(&low[0], &high[0], BLOCK / 2)]
        } else {
            low.into_iter().chain(high).collect()
        };
        halves.iter().map(|it| machine.with_constant(and_add, it, -8, |a, b| a + b)).collect()
    }

    /// Products of a block. Two of eight bits fit a 16-bit sum; the low and the high
    /// half share one.
    fn multiply<const EXECUTE: bool>(
        self,
        machine: &mut VectorMachine<EXECUTE>,
        weights: &[Integers],
        inputs: &[Integers],
    ) -> Vec<Integers> {
        let pairs = self.count().div_ceil(2);
        let product = |it: usize| {
            let mut sum = machine.widening_multiply(&weights[it], &inputs[it]);
            if let (Some(weights), Some(inputs)) = (weights.get(pairs + it), inputs.get(pairs + it)) {
                machine.widening_accumulate(&mut sum, weights, inputs);
            }
            sum
        };
        (0..pairs).map(product).collect()
    }
}

impl Code {
    /// A tile of `rows.len() x blocks` blocks, in the listings' order: load all, unpack
    /// all, multiply all, sum all, scale all.
    pub(super) fn vector_tile<const EXECUTE: bool>(
        &self,
        machine: &mut VectorMachine<EXECUTE>,
        rows: &[&[u8]],
        vector: &[u8],
        block: usize,
        blocks: usize,
        sums: &mut [f32],
    ) {
        let strips = Strips::of(machine, self.lmul, self.layout);
        let weights = self.load_weights(machine, strips, rows, block, blocks);
        let inputs: Vec<_> = (0..blocks)
            .map(|it| strips.load_q8(machine, Memory::Activations(vector), (block + it) * Q8_0_BYTES))
            .collect();
        let weights: Vec<_> = if self.format == GgmlType::Q4_0 {
            let constants = self.constants();
            weights.iter().map(|it| strips.unpack(machine, constants, it)).collect()
        } else {
            weights
        };
        machine.set(Sew::E8, self.lmul, strips.width);
        let packed = self.format == GgmlType::Q4_0;
        let spilled = strips.spilled(rows.len(), blocks, packed, self.vector_registers);
        machine.spill_vectors(spilled, strips.width.div_ceil(self.lmul as usize));
        let products: Vec<_> = weights
            .iter()
            .enumerate()
            .map(|(index, it)| strips.multiply(machine, it, &inputs[index % blocks]))
            .collect();
        machine.set(Sew::E16, 2 * self.lmul, strips.width);
        let reduced: Vec<i32> = products
            .iter()
            .map(|strips| strips.iter().fold(0, |start, strip| machine.reduce(strip, start)))
            .collect();
        machine.set(Sew::E32, 1, 1);
        let totals: Vec<i32> = reduced.into_iter().map(|it| machine.first(it)).collect();
        self.scale(machine, rows, vector, block, blocks, &totals, sums);
        self.step(machine, rows.len(), blocks, strips.count());
    }

    /// The classes of an addition or a conjunction with a constant, and of a shift.
    fn constants(&self) -> (Class, Class) {
        if self.has_immediates() { (Class::Alu, Class::Shift) } else { (Class::AluScalar, Class::AluScalar) }
    }

    /// The bytes of all weights of a tile, row by row.
    fn load_weights<const EXECUTE: bool>(
        &self,
        machine: &mut VectorMachine<EXECUTE>,
        strips: Strips,
        rows: &[&[u8]],
        block: usize,
        blocks: usize,
    ) -> Vec<Vec<Integers>> {
        let mut loaded = Vec::with_capacity(rows.len() * blocks);
        for row in rows {
            let from = Memory::Weights(row);
            for it in block..block + blocks {
                loaded.push(if self.format == GgmlType::Q4_0 {
                    strips.load_q4(machine, from, it * Q4_0_BYTES)
                } else {
                    strips.load_q8(machine, from, it * Q8_0_BYTES)
                });
            }
        }
        loaded
    }

    /// Multiplies the integer sums by their blocks' scales and adds them up.
    #[expect(clippy::too_many_arguments, reason = "a kernel's operands")]
    fn scale<const EXECUTE: bool>(
        &self,
        machine: &mut VectorMachine<EXECUTE>,
        rows: &[&[u8]],
        vector: &[u8],
        block: usize,
        blocks: usize,
        totals: &[i32],
        sums: &mut [f32],
    ) {
        let block_bytes = if self.format == GgmlType::Q4_0 { Q4_0_BYTES } else { Q8_0_BYTES };
        let mut scale = |from, at| {
            let scale = machine.load_half(from, at);
            machine.scalar(1); // fcvt.s.h
            scale
        };
        let inputs: Vec<f32> =
            (0..blocks).map(|it| scale(Memory::Activations(vector), (block + it) * Q8_0_BYTES)).collect();
        let weights: Vec<f32> = rows
            .iter()
            .flat_map(|row| (0..blocks).map(move |it| (row, it)))
            .map(|(row, it)| scale(Memory::Weights(row), (block + it) * block_bytes))
            .collect();
        for (row, sum) in sums.iter_mut().enumerate() {
            let scaled = |it: usize| {
                #[expect(clippy::cast_precision_loss, reason = "sums of a block stay below 2^24")]
                let total = totals[row * blocks + it] as f32;
                total * weights[row * blocks + it]
            };
            // Per block: convert, multiply by the weights' scale, and multiply-add the
            // inputs'; several blocks are added up before they meet the sum.
            machine.scalar(if blocks == 1 { 3 } else { 3 * blocks as u64 + 1 });
            *sum = if blocks == 1 {
                scaled(0).mul_add(inputs[0], *sum)
            } else {
                let first = scaled(0) * inputs[0];
                *sum + (1..blocks).fold(first, |tile, it| scaled(it).mul_add(inputs[it], tile))
            };
        }
    }

    /// Addresses, pointers and the loop.
    fn step<const EXECUTE: bool>(
        &self,
        machine: &mut VectorMachine<EXECUTE>,
        rows: usize,
        blocks: usize,
        strips: usize,
    ) {
        let (rows, blocks, strips) = (rows as u64, blocks as u64, strips as u64);
        let weight_loads = if self.format == GgmlType::Q4_0 { strips.div_ceil(2) } else { strips };
        // A pointer per row and one to the inputs address one load each.
        let addresses = rows * (blocks * weight_loads - 1) + blocks * strips - 1;
        machine.scalar(addresses + rows + 1 + 2);
        if self.kernel == Kernel::Simple {
            // Per tile: one more argument to move, two addresses of sums, call and return;
            // the ninth argument through the stack; the sums through memory.
            machine.scalar(5);
            machine.spill(1 + rows, 1 + rows);
        }
    }
}
