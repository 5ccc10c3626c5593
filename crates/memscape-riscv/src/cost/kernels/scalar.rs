//! llama.cpp's scalar code, block by block.

use crate::cost::vector::{Memory, VectorMachine};
use crate::mapping::quant::{BLOCK, Q4_0_BYTES, Q8_0_BYTES};

/// Values that GCC 12.2 (-O3, rv64gc) keeps on the stack in one block of the scalar Q4_0
/// loop: it loads all 48 bytes ahead, more than there are registers.
const SPILLS: u64 = 27;

/// fp16 to f32 by llama.cpp's table: two instructions for the address, a load.
fn table_lookup<const EXECUTE: bool>(machine: &mut VectorMachine<EXECUTE>) {
    machine.scalar(2);
    machine.spill(1, 0);
}

/// llama.cpp's scalar loop over one Q4_0 block.
pub(super) fn q4_0<const EXECUTE: bool>(
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
    scale(machine, weights, x, inputs, y, total, sum);
}

/// llama.cpp's scalar loop over one Q8_0 block, which GCC does not unroll.
pub(super) fn q8_0<const EXECUTE: bool>(
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
    scale(machine, weights, x, inputs, y, total, sum);
}

fn scale<const EXECUTE: bool>(
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
pub(super) fn count_fp16<const EXECUTE: bool>(machine: &mut VectorMachine<EXECUTE>) {
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
pub(super) fn count_fp32<const EXECUTE: bool>(machine: &mut VectorMachine<EXECUTE>) {
    for _ in 0..BLOCK {
        machine.spill(2, 0);
        machine.scalar(6);
        machine.counts.weight_bytes += 4;
        machine.counts.activation_bytes += 4;
    }
}
