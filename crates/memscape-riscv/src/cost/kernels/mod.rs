//! The kernels of the thesis, executed on a [`VectorMachine`].
//!
//! `vector`, `simple` and `complex` are one kernel: a tile of rows by blocks, with
//! constants as immediates or in scalar registers, inlined or behind a call.

use std::cell::RefCell;
use std::collections::HashMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::quant::{BLOCK, Q4_0_BYTES, Q8_0_BYTES, Quantisation};
use crate::vector::{Class, Counts, Integers, Memory, Sew, VectorMachine};

/// Which kernel multiplies quantised weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Kernel {
    /// llama.cpp's scalar code.
    Default,
    /// One block of one row in vector registers (Listing 4.4).
    Vector,
    /// Two rows by two blocks behind a function call for each tile (Listing 4.5).
    Simple,
    /// Two rows by two blocks, the loop over the row inside (Listing A.1).
    Complex,
    /// Dequantise and call OpenBLAS.
    Openblas,
}

impl Kernel {
    /// All of them, slowest code first.
    pub const ALL: [Self; 5] = [Self::Default, Self::Vector, Self::Simple, Self::Complex, Self::Openblas];

    /// The name, for example `complex`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Vector => "vector",
            Self::Simple => "simple",
            Self::Complex => "complex",
            Self::Openblas => "openblas",
        }
    }
}

/// Whether small constants are part of the instruction.
///
/// # Source
/// Thesis, Sec. 4.2.3: the Xuantie compiler, which built `vector` and `simple`, "did
/// not use all the immediate functions available"; `complex` is GCC 14.2's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Immediates {
    /// As the kernel's compiler did: `complex` only.
    AsCompiled,
    /// In every kernel.
    Always,
    /// In none.
    Never,
}

/// One way to compile one kernel for one machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Code {
    /// Which kernel.
    pub kernel: Kernel,
    /// What it multiplies.
    pub quantisation: Quantisation,
    /// Whether constants are immediates.
    pub immediates: Immediates,
    /// Rows of a tile; of `simple` and `complex`, else 1.
    pub rows: usize,
    /// Blocks of a tile; of `simple` and `complex`, else 1.
    pub blocks: usize,
    /// Registers that an eight-bit vector takes: 1, 2 or 4.
    pub lmul: u32,
    /// Bits of a register.
    pub vlen_bits: u32,
    /// Bits of the load pipe.
    pub load_bits: u32,
}

/// Why there is no such kernel.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum KernelError {
    /// A format the kernel is not written for.
    #[error("the kernel `{}` does not multiply {}; it is written for {written_for}", kernel.name(), quantisation.name())]
    Unsupported {
        /// The kernel.
        kernel: Kernel,
        /// The format.
        quantisation: Quantisation,
        /// Formats it knows.
        written_for: &'static str,
    },
    /// Not a register width.
    #[error("`core.vlen_bits` is {0}; it must be a power of two from 64 to 1024")]
    Vlen(u32),
    /// A group that widening does not leave registers for.
    #[error("`lmul` is {0}; the kernels widen twice, so it must be 1, 2 or 4")]
    Lmul(u32),
    /// A tile of nothing, or of more than the registers hold.
    #[error("a tile of {rows} x {blocks} blocks is not supported; rows and blocks must be from 1 to 8")]
    Tile {
        /// Rows asked for.
        rows: usize,
        /// Blocks asked for.
        blocks: usize,
    },
    /// OpenBLAS is not code on this machine.
    #[error(
        "`openblas` is modelled by its packing and micro-kernel (`riscv.gemm`), not as quantised code; choose another kernel"
    )]
    Blas,
    /// Operands of the wrong length.
    #[error("{what} has {given} bytes, but {rows} rows of {blocks} blocks take {expected}")]
    Operand {
        /// Which one.
        what: &'static str,
        /// Its length.
        given: usize,
        /// Rows asked for.
        rows: usize,
        /// Blocks of each.
        blocks: usize,
        /// The length these take.
        expected: usize,
    },
}

/// Values that GCC 12.2 (-O3, rv64gc) keeps on the stack in one block of the scalar Q4_0
/// loop: it loads all 48 bytes ahead, more than there are registers.
const SPILLS: u64 = 27;

impl Code {
    /// Checks that the kernel exists for this format and machine.
    ///
    /// # Errors
    /// [`KernelError`] says what to change.
    pub fn check(&self) -> Result<(), KernelError> {
        let Self { kernel, quantisation, rows, blocks, lmul, vlen_bits, .. } = *self;
        if !vlen_bits.is_power_of_two() || !(64..=1024).contains(&vlen_bits) {
            return Err(KernelError::Vlen(vlen_bits));
        }
        if ![1, 2, 4].contains(&lmul) {
            return Err(KernelError::Lmul(lmul));
        }
        if !(1..=8).contains(&rows) || !(1..=8).contains(&blocks) {
            return Err(KernelError::Tile { rows, blocks });
        }
        let unsupported = |written_for| Err(KernelError::Unsupported { kernel, quantisation, written_for });
        match (kernel, quantisation) {
            (Kernel::Openblas, _) => Err(KernelError::Blas),
            (Kernel::Default, _) | (_, Quantisation::Q4_0) | (Kernel::Vector, Quantisation::Q8_0) => Ok(()),
            (Kernel::Vector, _) => unsupported("q4_0 and q8_0"),
            _ => unsupported("q4_0"),
        }
    }

    /// Rows and blocks of a tile.
    #[must_use]
    pub const fn tile(&self) -> (usize, usize) {
        match self.kernel {
            Kernel::Simple | Kernel::Complex => (self.rows, self.blocks),
            _ => (1, 1),
        }
    }

    /// What one more tile costs, once the loop runs: the difference between two
    /// tiles of a row and one.
    ///
    /// # Errors
    /// As [`Code::check`].
    pub fn per_tile(&self) -> Result<Counts, KernelError> {
        /// More codes than a sweep meets are counted anew.
        const REMEMBERED: usize = 4096;
        thread_local! {
            static COUNTED: RefCell<HashMap<Code, Counts>> = RefCell::default();
        }
        self.check()?;
        COUNTED.with_borrow_mut(|counted| {
            if counted.len() >= REMEMBERED {
                counted.clear();
            }
            Ok(*counted.entry(*self).or_insert_with(|| self.count_tile()))
        })
    }

    fn count_tile(&self) -> Counts {
        let (rows, blocks) = self.tile();
        let nothing: [&[u8]; 8] = [&[]; 8];
        let count = |tiles: usize| {
            let mut machine = VectorMachine::<false>::new(self.vlen_bits, self.load_bits);
            let mut sums = [0.0; 8];
            for tile in 0..tiles {
                self.run_tile(&mut machine, &nothing[..rows], &[], tile * blocks, blocks, &mut sums[..rows]);
            }
            machine.counts
        };
        count(2) - count(1)
    }

    /// Multiplies a quantised matrix with quantised vectors (Q8_0) on a machine that
    /// executes: `rows x columns` results, column by column, and what it took.
    ///
    /// Rows and blocks that fill no whole tile are done in smaller tiles; the
    /// thesis' listings read past the end there.
    ///
    /// # Errors
    /// [`KernelError`] if the kernel does not exist or an operand has the wrong length.
    pub fn multiply(
        &self,
        weights: &[u8],
        activations: &[u8],
        rows: usize,
        blocks: usize,
    ) -> Result<(Vec<f32>, Counts), KernelError> {
        self.check()?;
        let block_bytes = match self.quantisation {
            Quantisation::Q4_0 => Q4_0_BYTES,
            Quantisation::Q8_0 => Q8_0_BYTES,
            // The scalar kernels of these take plain numbers: see `dot_f16`.
            quantisation => {
                let written_for = "q4_0 and q8_0 here";
                return Err(KernelError::Unsupported { kernel: self.kernel, quantisation, written_for });
            }
        };
        let row_bytes = blocks * block_bytes;
        let wrong = |what, given, expected| KernelError::Operand { what, given, rows, blocks, expected };
        if rows == 0 || blocks == 0 || weights.len() != rows * row_bytes {
            return Err(wrong("the matrix", weights.len(), rows * row_bytes));
        }
        let vector_bytes = blocks * Q8_0_BYTES;
        if !activations.len().is_multiple_of(vector_bytes) {
            return Err(wrong("the vectors", activations.len(), vector_bytes));
        }
        let mut machine = VectorMachine::<true>::new(self.vlen_bits, self.load_bits);
        let (tile_rows, tile_blocks) = self.tile();
        let row = |row: usize| &weights[row * row_bytes..(row + 1) * row_bytes];
        let mut results = Vec::with_capacity(rows * activations.len() / vector_bytes);
        for vector in activations.chunks_exact(vector_bytes) {
            for first in (0..rows).step_by(tile_rows) {
                let slices: Vec<_> = (first..rows.min(first + tile_rows)).map(row).collect();
                let mut sums = vec![0.0; slices.len()];
                for block in (0..blocks).step_by(tile_blocks) {
                    let count = tile_blocks.min(blocks - block);
                    self.run_tile(&mut machine, &slices, vector, block, count, &mut sums);
                }
                results.extend(sums);
            }
        }
        Ok((results, machine.counts))
    }

    fn run_tile<const EXECUTE: bool>(
        &self,
        machine: &mut VectorMachine<EXECUTE>,
        rows: &[&[u8]],
        vector: &[u8],
        block: usize,
        blocks: usize,
        sums: &mut [f32],
    ) {
        match (self.kernel, self.quantisation) {
            (Kernel::Default, Quantisation::Q4_0) => {
                scalar_q4_0(machine, rows[0], vector, block, &mut sums[0]);
            }
            (Kernel::Default, Quantisation::Q8_0) => {
                scalar_q8_0(machine, rows[0], vector, block, &mut sums[0]);
            }
            (Kernel::Default, Quantisation::F16) => count_scalar_f16(machine),
            (Kernel::Default, Quantisation::F32) => count_scalar_f32(machine),
            _ => self.vector_tile(machine, rows, vector, block, blocks, sums),
        }
    }

    fn constants(&self) -> (Class, Class) {
        let immediates = match self.immediates {
            Immediates::AsCompiled => self.kernel == Kernel::Complex,
            Immediates::Always => true,
            Immediates::Never => false,
        };
        if immediates { (Class::Alu, Class::Shift) } else { (Class::AluScalar, Class::AluScalar) }
    }

    /// A tile of `rows.len() x blocks` blocks, in the listings' order: load all, unpack
    /// all, multiply all, sum all, scale all.
    fn vector_tile<const EXECUTE: bool>(
        &self,
        machine: &mut VectorMachine<EXECUTE>,
        rows: &[&[u8]],
        vector: &[u8],
        block: usize,
        blocks: usize,
        sums: &mut [f32],
    ) {
        let q4 = self.quantisation == Quantisation::Q4_0;
        let block_bytes = if q4 { Q4_0_BYTES } else { Q8_0_BYTES };
        let (lmul, vlmax) = (self.lmul, machine.vlmax(Sew::E8, self.lmul));
        // A block in one vector if it fits, else its two halves, each in strips.
        let whole = vlmax >= BLOCK;
        let strip = if whole { BLOCK } else { vlmax.min(BLOCK / 2) };
        let strips = BLOCK / strip;
        let (and_add, shift) = self.constants();

        // Bytes of a Q8_0 block, strip by strip.
        let load_q8 =
            |machine: &mut VectorMachine<EXECUTE>, from: Memory<'_>, start: usize| -> Vec<Integers> {
                machine.set(Sew::E8, lmul, strip);
                (0..strips).map(|it| machine.load_bytes(from, start + 2 + it * strip, true)).collect()
            };
        let load_q4 =
            |machine: &mut VectorMachine<EXECUTE>, from: Memory<'_>, start: usize| -> Vec<Integers> {
                let nibbles = strip.min(BLOCK / 2);
                machine.set(Sew::E8, lmul, nibbles);
                (0..BLOCK / 2 / nibbles)
                    .map(|it| machine.load_bytes(from, start + 2 + it * nibbles, false))
                    .collect()
            };
        let unpack = |machine: &mut VectorMachine<EXECUTE>, packed: &[Integers]| -> Vec<Integers> {
            machine.set(Sew::E8, lmul, strip.min(BLOCK / 2));
            let low: Vec<_> =
                packed.iter().map(|it| machine.with_constant(and_add, it, 0xf, |a, b| a & b)).collect();
            let high: Vec<_> =
                packed.iter().map(|it| machine.with_constant(shift, it, 4, |a, b| a >> b)).collect();
            let halves = if whole {
                machine.set(Sew::E8, lmul, BLOCK);
                vec![machine.slide_up(&low[0], &high[0], BLOCK / 2)]
            } else {
                low.into_iter().chain(high).collect()
            };
            halves.iter().map(|it| machine.with_constant(and_add, it, -8, |a, b| a + b)).collect()
        };

        let mut packed = Vec::with_capacity(rows.len() * blocks);
        for row in rows {
            for it in 0..blocks {
                let (from, start) = (Memory::Weights(row), (block + it) * block_bytes);
                packed.push(if q4 { load_q4(machine, from, start) } else { load_q8(machine, from, start) });
            }
        }
        let inputs: Vec<_> = (0..blocks)
            .map(|it| load_q8(machine, Memory::Activations(vector), (block + it) * Q8_0_BYTES))
            .collect();
        let weights: Vec<_> =
            if q4 { packed.iter().map(|it| unpack(machine, it)).collect() } else { packed.clone() };
        machine.set(Sew::E8, lmul, strip);
        let mut products = Vec::with_capacity(weights.len());
        for (index, weights) in weights.iter().enumerate() {
            let inputs = &inputs[index % blocks];
            // Two products of eight bits fit a 16-bit sum; the low and the high half share one.
            let pairs = strips.div_ceil(2);
            products.push(
                (0..pairs)
                    .map(|it| {
                        let mut sum = machine.widening_multiply(&weights[it], &inputs[it]);
                        if let (Some(weights), Some(inputs)) =
                            (weights.get(pairs + it), inputs.get(pairs + it))
                        {
                            machine.widening_accumulate(&mut sum, weights, inputs);
                        }
                        sum
                    })
                    .collect::<Vec<_>>(),
            );
        }
        machine.set(Sew::E16, 2 * lmul, strip);
        let reduced: Vec<i32> = products
            .iter()
            .map(|strips| strips.iter().fold(0, |start, strip| machine.reduce(strip, start)))
            .collect();
        machine.set(Sew::E32, 1, 1);
        let totals: Vec<i32> = reduced.into_iter().map(|it| machine.first(it)).collect();
        self.scale(machine, rows, vector, block, blocks, &totals, sums);
        self.step(machine, rows.len(), blocks, strips);
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
        let block_bytes = if self.quantisation == Quantisation::Q4_0 { Q4_0_BYTES } else { Q8_0_BYTES };
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
        let weight_loads = if self.quantisation == Quantisation::Q4_0 { strips.div_ceil(2) } else { strips };
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

/// fp16 to f32 by llama.cpp's table: two instructions for the address, a load.
fn table_lookup<const EXECUTE: bool>(machine: &mut VectorMachine<EXECUTE>) {
    machine.scalar(2);
    machine.spill(1, 0);
}

/// llama.cpp's scalar loop over one Q4_0 block.
fn scalar_q4_0<const EXECUTE: bool>(
    machine: &mut VectorMachine<EXECUTE>,
    row: &[u8],
    vector: &[u8],
    block: usize,
    sum: &mut f32,
) {
    let (weights, inputs) = (Memory::Weights(row), Memory::Activations(vector));
    let (x, y) = (block * Q4_0_BYTES, block * Q8_0_BYTES);
    let mut total = 0;
    for it in 0..BLOCK / 2 {
        let byte = machine.load_byte(weights, x + 2 + it, false);
        let low = machine.load_byte(inputs, y + 2 + it, true);
        let high = machine.load_byte(inputs, y + 2 + BLOCK / 2 + it, true);
        // andi, addiw, srliw, addiw, mulw, mulw, addw, addw
        machine.scalar(8);
        total += ((byte & 0xf) - 8) * low + ((byte >> 4) - 8) * high;
    }
    machine.spill(SPILLS, SPILLS);
    scalar_scale(machine, weights, x, inputs, y, total, sum);
}

/// llama.cpp's scalar loop over one Q8_0 block, which GCC does not unroll.
fn scalar_q8_0<const EXECUTE: bool>(
    machine: &mut VectorMachine<EXECUTE>,
    row: &[u8],
    vector: &[u8],
    block: usize,
    sum: &mut f32,
) {
    let (weights, inputs) = (Memory::Weights(row), Memory::Activations(vector));
    let (x, y) = (block * Q8_0_BYTES, block * Q8_0_BYTES);
    let mut total = 0;
    machine.scalar(3);
    for it in 0..BLOCK {
        let (a, b) =
            (machine.load_byte(weights, x + 2 + it, true), machine.load_byte(inputs, y + 2 + it, true));
        // addi, addi, mulw, addw, bne
        machine.scalar(5);
        total += a * b;
    }
    scalar_scale(machine, weights, x, inputs, y, total, sum);
}

fn scalar_scale<const EXECUTE: bool>(
    machine: &mut VectorMachine<EXECUTE>,
    weights: Memory<'_>,
    x: usize,
    inputs: Memory<'_>,
    y: usize,
    total: i32,
    sum: &mut f32,
) {
    let (a, b) = (machine.load_half(weights, x), machine.load_half(inputs, y));
    table_lookup(machine);
    table_lookup(machine);
    // fcvt, fmul, fmadd; two pointers, a counter and the branch
    machine.scalar(3 + 4);
    #[expect(clippy::cast_precision_loss, reason = "sums of a block stay below 2^24")]
    let total = total as f32;
    *sum = (total * a).mul_add(b, *sum);
}

/// llama.cpp's scalar f16 dot product, 32 elements: both from the table, summed in
/// double precision.
fn count_scalar_f16<const EXECUTE: bool>(machine: &mut VectorMachine<EXECUTE>) {
    for _ in 0..BLOCK {
        machine.spill(2, 0);
        table_lookup(machine);
        table_lookup(machine);
        // fmul, fcvt, fadd, two pointers, branch
        machine.scalar(6);
        machine.counts.weight_bytes += 2;
        machine.counts.activation_bytes += 2;
    }
}

/// llama.cpp's scalar f32 dot product, 32 elements, summed in double precision.
fn count_scalar_f32<const EXECUTE: bool>(machine: &mut VectorMachine<EXECUTE>) {
    for _ in 0..BLOCK {
        machine.spill(2, 0);
        machine.scalar(6);
        machine.counts.weight_bytes += 4;
        machine.counts.activation_bytes += 4;
    }
}
