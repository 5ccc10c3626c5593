//! OpenBLAS on one core: dequantising for it, its packing and its micro-kernels.

use memscape_units::{Cycles, Nanoseconds, float};
use memscape_workload::GgmlType;

use super::vector::{Counts, Floats, Sew, VectorMachine};
use crate::hardware::Core;
use crate::mapping::quant::{BLOCK, matrix_bytes, stored_columns};

/// Rows of OpenBLAS' micro-kernel for the C910V.
///
/// # Source
/// OpenBLAS, `KERNEL.C910V`: `sgemm_kernel_16x4_c910v.c`, with generic packing.
pub const MICRO_ROWS: u64 = 16;
/// Columns of OpenBLAS' micro-kernel for the C910V.
pub const MICRO_COLUMNS: u64 = 4;

/// Scalar instructions that dequantise one block, what they move, and its weights.
///
/// # Source
/// ggml's `dequantize_row_q4_0` and `dequantize_row_q8_0` as GCC 12.2 compiles them (-O3,
/// rv64gc): Q4_0 unrolled, 184 instructions; Q8_0 a loop, 234. Those of blocks of 256 as it compiles them, executed.
fn dequantise_counts(kind: GgmlType) -> (Counts, u64) {
    let mut machine = VectorMachine::<false>::new(128, 128);
    let block = BLOCK as u64;
    let mut of_256 = |all: u64, loads: u64| {
        machine.scalar(all - loads - 256);
        machine.spill(loads, 256);
        (machine.counts, 256)
    };
    match kind {
        GgmlType::Q4K => return of_256(2330, 280),
        GgmlType::Q5K => return of_256(3895, 536),
        GgmlType::Q6K => return of_256(3676, 450),
        GgmlType::Q4_0 => {
            // lbu; andi, srliw, two addiw, two fcvt, two fmul; two fsw
            for _ in 0..block / 2 {
                machine.scalar(8);
                machine.spill(1, 2);
            }
            machine.scalar(6);
            machine.spill(2, 0);
        }
        GgmlType::Q8_0 => {
            // lb; two addi, fcvt, fmul, bne; fsw
            for _ in 0..block {
                machine.scalar(5);
                machine.spill(1, 1);
            }
            machine.scalar(8);
            machine.spill(2, 0);
        }
        _ => {
            // fp16: lhu, table; two addi, slli, add, bne; fsw
            for _ in 0..block {
                machine.scalar(5);
                machine.spill(2, 1);
            }
        }
    }
    (machine.counts, block)
}

/// Time of one core to compute one dequantised weight of a type that there is code for.
#[must_use]
pub fn dequantise(core: &Core, kind: GgmlType) -> Nanoseconds {
    if kind == GgmlType::F32 {
        return Nanoseconds::ZERO;
    }
    let (counts, weights) = dequantise_counts(kind);
    core.cycle() * core.cycles(&counts).total.as_f64() / float(weights)
}

/// Bytes that dequantising so many rows and columns moves: as stored in, single precision out.
#[must_use]
pub fn dequantised_bytes(rows: u64, columns: u64, kind: GgmlType) -> u64 {
    if kind == GgmlType::F32 {
        return 0;
    }
    let out = matrix_bytes(rows, stored_columns(columns, kind), GgmlType::F32);
    matrix_bytes(rows, columns, kind).saturating_add(out)
}

/// Time of one core to pack one input: a load from a column that lies in a row, and a store to its place among four.
#[must_use]
pub fn pack_input(core: &Core) -> Nanoseconds {
    let mut machine = VectorMachine::<false>::new(core.vlen_bits, core.load_bits.get());
    machine.spill(1, 1);
    core.cycle() * core.cycles(&machine.counts).total.as_f64()
}

/// One step of the micro-kernel along the shared dimension: 16 weights and four
/// inputs make 64 multiply-accumulates.
fn micro_step(core: &Core) -> Counts {
    let mut machine = VectorMachine::<false>::new(core.vlen_bits, core.load_bits.get());
    let lanes = machine.vlmax(Sew::E32, 1).min(16);
    machine.set(Sew::E32, 1, lanes);
    let before = machine.counts;
    for _ in 0..16 / lanes {
        machine.load_floats(&[], 0);
    }
    // Sums of all columns, and the weights; what does not fit goes to memory and back.
    let held = 16 / lanes as u64 * (MICRO_COLUMNS + 1);
    machine.spill_vectors(held.saturating_sub(core.vector_registers.get().into()), 4 * lanes);
    for _ in 0..MICRO_COLUMNS {
        let input = machine.load_float(&[], 0);
        for _ in 0..16 / lanes {
            machine.multiply_add(&mut Floats::new(), input, &Floats::new());
        }
    }
    machine.scalar(3);
    machine.counts - before
}

/// The micro-kernel on one core: time per weight and [`MICRO_COLUMNS`] columns. Fewer
/// columns take as long.
#[must_use]
pub fn micro_kernel(core: &Core) -> Nanoseconds {
    core.cycle() * core.cycles(&micro_step(core)).total.as_f64() / float(MICRO_ROWS)
}

/// SGEMV on one core: one step, a vector of weights and one of inputs at LMUL 4, and the
/// weights of it.
#[must_use]
pub fn gemv_step(core: &Core) -> (Cycles, u64) {
    let mut machine = VectorMachine::<false>::new(core.vlen_bits, core.load_bits.get());
    let lanes = machine.vlmax(Sew::E32, 4);
    machine.set(Sew::E32, 4, lanes);
    let before = machine.counts;
    machine.load_floats(&[], 0);
    machine.load_floats(&[], 0);
    machine.multiply_add(&mut Floats::new(), 0.0, &Floats::new());
    machine.scalar(4);
    (core.cycles(&(machine.counts - before)).total, lanes as u64)
}
