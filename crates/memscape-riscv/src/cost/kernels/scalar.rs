//! llama.cpp's scalar code, block by block.

use memscape_workload::GgmlType;

use super::code::Compiler;
use crate::cost::vector::{Counts, Memory, VectorMachine};
use crate::mapping::quant::{BLOCK, Q4_0_BYTES, Q8_0_BYTES};

/// Values that GCC 12.2 (-O3, rv64gc) keeps on the stack in one block of the scalar Q4_0
/// loop: it loads all 48 bytes ahead, more than there are registers. Clang does not.
const fn spills(compiler: Compiler) -> u64 {
    match compiler {
        Compiler::XuantieGcc10 | Compiler::Gcc13 => 27,
        Compiler::Clang19 => 0,
    }
}

/// fp16 to f32 by llama.cpp's table: a load, and two instructions for the address where
/// there are no indexed loads.
fn table_lookup<const EXECUTE: bool>(machine: &mut VectorMachine<EXECUTE>, compiler: Compiler) {
    if compiler == Compiler::Gcc13 {
        machine.scalar(2);
    }
    machine.spill(1, 0);
}

/// llama.cpp's scalar loop over one Q4_0 block.
pub(super) fn q4_0<const EXECUTE: bool>(
    machine: &mut VectorMachine<EXECUTE>,
    compiler: Compiler,
    row: &[u8],
    vector: &[u8],
    block: usize,
    sum: &mut f32,
) {
    let (weights, inputs) = (Memory::Weights(row), Memory::Activations(vector));
    let (x, y) = (block * Q4_0_BYTES, block * Q8_0_BYTES);
    // andi, addiw, srliw, addiw; then mulw, mulw, addw, addw, or mulw, th.mulaw, addw, or th.mula
    // and th.mulah.
    let arithmetic = match compiler {
        Compiler::Gcc13 => 8,
        Compiler::XuantieGcc10 => 7,
        Compiler::Clang19 => 6,
    };
    let mut total = 0;
    for it in 0..BLOCK / 2 {
        let byte = machine.load_byte(weights, x + 2 + it, false);
        let low = machine.load_byte(inputs, y + 2 + it, true);
        let high = machine.load_byte(inputs, y + 2 + BLOCK / 2 + it, true);
        machine.scalar(arithmetic);
        total += ((byte & 0xf) - 8) * low + ((byte >> 4) - 8) * high;
    }
    machine.spill(spills(compiler), spills(compiler));
    scale(machine, compiler, weights, x, inputs, y, total, sum);
}

/// llama.cpp's scalar loop over one Q8_0 block, which is not unrolled.
pub(super) fn q8_0<const EXECUTE: bool>(
    machine: &mut VectorMachine<EXECUTE>,
    compiler: Compiler,
    row: &[u8],
    vector: &[u8],
    block: usize,
    sum: &mut f32,
) {
    let (weights, inputs) = (Memory::Weights(row), Memory::Activations(vector));
    let (x, y) = (block * Q8_0_BYTES, block * Q8_0_BYTES);
    // addi, addi, bne and mulw, addw or th.mula; Clang's loads move their pointers.
    let arithmetic = match compiler {
        Compiler::Gcc13 => 5,
        Compiler::XuantieGcc10 => 4,
        Compiler::Clang19 => 2,
    };
    let mut total = 0;
    machine.scalar(3);
    for it in 0..BLOCK {
        let (a, b) =
            (machine.load_byte(weights, x + 2 + it, true), machine.load_byte(inputs, y + 2 + it, true));
        machine.scalar(arithmetic);
        total += a * b;
    }
    scale(machine, compiler, weights, x, inputs, y, total, sum);
}

#[expect(clippy::too_many_arguments, reason = "a kernel's operands")]
fn scale<const EXECUTE: bool>(
    machine: &mut VectorMachine<EXECUTE>,
    compiler: Compiler,
    weights: Memory<'_>,
    x: usize,
    inputs: Memory<'_>,
    y: usize,
    total: i32,
    sum: &mut f32,
) {
    let (a, b) = (machine.load_half(weights, x), machine.load_half(inputs, y));
    table_lookup(machine, compiler);
    table_lookup(machine, compiler);
    // fcvt, fmul, fmadd; two pointers, a counter and the branch: Clang has no counter
    machine.scalar(if compiler == Compiler::Clang19 { 3 + 3 } else { 3 + 4 });
    #[expect(clippy::cast_precision_loss, reason = "sums of a block stay below 2^24")]
    let total = total as f32;
    *sum = (total * a).mul_add(b, *sum);
}

/// llama.cpp's scalar f16 dot product, 32 elements: both from the table, summed in
/// double precision.
pub(super) fn count_fp16<const EXECUTE: bool>(machine: &mut VectorMachine<EXECUTE>, compiler: Compiler) {
    for _ in 0..BLOCK {
        machine.spill(2, 0);
        table_lookup(machine, compiler);
        table_lookup(machine, compiler);
        // fmul, fcvt, fadd, branch, and two pointers, which Clang's loads move
        machine.scalar(if compiler == Compiler::Clang19 { 4 } else { 6 });
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

/// llama.cpp's scalar dot products of blocks of 256: instructions, loads and stores of one.
///
/// # Source
/// `ggml_vec_dot_q4_K_q8_K` and those of five and six bits (June 2024, without vectors), executed: as Clang 19.1.7
/// compiles them with the flags of the thesis' Table 5.3, and as GCC 12.2 does (-O3, rv64gc). Both take the quants apart
/// into memory first and keep eight sums. The vendor's GCC, not at hand, is GCC's with the additions to these sums
/// and the addresses of two fp16 look-ups left out, which its multiply-accumulates and indexed loads do.
pub(super) fn count_k<const EXECUTE: bool>(
    machine: &mut VectorMachine<EXECUTE>,
    compiler: Compiler,
    kind: GgmlType,
) {
    let (clang, gcc, fused) = match kind {
        GgmlType::Q4K => ([2014, 830, 280], [3915, 1213, 660], 256 + 15 + 4),
        GgmlType::Q5K => ([4077, 1289, 541], [6519, 1727, 916], 256 + 15 + 4),
        _ => ([3004, 731, 261], [4458, 1001, 537], 256 + 2),
    };
    let ([all, loads, stores], fused) = match compiler {
        Compiler::Clang19 => (clang, 0),
        Compiler::Gcc13 => (gcc, 0),
        Compiler::XuantieGcc10 => (gcc, fused),
    };
    machine.scalar(all - loads - stores - fused);
    machine.spill(loads, stores);
    machine.counts.weight_bytes += kind.block_bytes();
    machine.counts.activation_bytes += GgmlType::Q8K.block_bytes();
}

/// What makes one block of inputs of what weights of a type meet, and how many it holds.
#[must_use]
pub fn count_inputs(compiler: Compiler, made: GgmlType) -> (Counts, u64) {
    let counts = match made {
        GgmlType::F32 => Counts::default(),
        GgmlType::F16 => return (count_halve(compiler), BLOCK as u64),
        GgmlType::Q8K => count_quantise_k(compiler),
        _ => count_quantise(compiler),
    };
    (counts, made.block_elements())
}

/// llama.cpp's `quantize_row_q8_K`, one block of 256 inputs.
///
/// # Source
/// June 2024, executed on random inputs, compiled as `count_k` says.
fn count_quantise_k(compiler: Compiler) -> Counts {
    let mut machine = VectorMachine::<false>::new(128, 128);
    let [all, loads, stores] = match compiler {
        Compiler::Clang19 => [5926, 768, 273],
        Compiler::XuantieGcc10 | Compiler::Gcc13 => [4946, 768, 273],
    };
    machine.scalar(all - loads - stores);
    machine.spill(loads, stores);
    machine.counts
}

/// llama.cpp's `quantize_row_q8_0`, one block of inputs.
///
/// # Source
/// As Clang 19.1.7 compiles it with the flags of the thesis' Table 5.3: two loops of six
/// instructions per element, one of which loads, and twenty around them. GCC calls `roundf`,
/// a dozen more per element.
fn count_quantise(compiler: Compiler) -> Counts {
    let mut machine = VectorMachine::<false>::new(128, 128);
    for _ in 0..BLOCK {
        // flw; fabs, flt, two branches, addi; then flw; fmul, fcvt, addi, bne; sb
        machine.scalar(5 + 4);
        machine.spill(2, 1);
        if compiler != Compiler::Clang19 {
            machine.scalar(12);
        }
    }
    machine.scalar(19);
    machine.spill(0, 1);
    machine.counts
}

/// llama.cpp's `ggml_fp32_to_fp16_row`, 32 elements: there is no table for this way.
///
/// # Source
/// Compiled (-O3): a loop of 26 instructions per element by Clang 19.1.7 with the flags of the thesis' Table 5.3, of 28 by
/// GCC 12.2; one loads and one stores.
#[must_use]
pub fn count_halve(compiler: Compiler) -> Counts {
    let mut machine = VectorMachine::<false>::new(128, 128);
    for _ in 0..BLOCK {
        machine.scalar(if compiler == Compiler::Clang19 { 24 } else { 26 });
        machine.spill(1, 1);
    }
    machine.counts
}
