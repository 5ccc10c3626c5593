//! Kernels: their rows, tiles, registers and vectors.

use memscape_riscv::cost::sgemm::Method;
use memscape_riscv::hardware::MACHINES;
use memscape_riscv::kernels::Kernel;
use memscape_riscv::mapping::quant::CODED;
use memscape_riscv::{GemmStudy, InferenceStudy, KernelStudy};
use memscape_study::Study;
use memscape_workload::{FileType, GgmlType, Llm, Model};
use proptest::prelude::*;

use crate::common::{ask, count, kernel, tokens};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Cycles of a row are cycles of its blocks: twice the rows take twice as long
    /// wherever the matrix stays on the same level.
    #[test]
    fn a_kernel_is_linear_in_its_rows(kernel in kernel(), rows in 1..200_u64) {
        prop_assume!(kernel != Kernel::Openblas);
        let of = |rows| KernelStudy { kernel, m: tokens(rows * 64), k: tokens(16384), ..KernelStudy::default() }.answer().unwrap();
        let (one, two) = (of(rows), of(2 * rows));
        prop_assume!(one.level == two.level);
        prop_assert!((two.time_ns / one.time_ns - 2.0).abs() < 1e-9);
    }
}

/// Tiles that do not fit the registers go to memory and back.
#[test]
fn tiles_beyond_the_registers_spill() {
    let with = |rows, registers| {
        let mut it =
            KernelStudy { tile_rows: count(rows), tile_blocks: count(rows), ..KernelStudy::default() };
        it.core.vector_registers = count(registers);
        it.answer().unwrap().core_cycles_per_block
    };
    assert!(with(2, 32) < with(1, 32));
    assert_eq!(with(2, 32), with(2, 64));
    assert!(with(8, 32) > with(2, 32));
    assert!(with(8, 32) > with(8, 256) && with(8, 256) < with(2, 256));
}

/// Rows and blocks that a tile leaves over are multiplied by smaller ones.
#[test]
fn what_fills_no_tile_is_done_in_smaller_ones() {
    let with = |m, k, rows, blocks| {
        let (tile_rows, tile_blocks) = (count(rows), count(blocks));
        let it = KernelStudy { m: tokens(m), k: tokens(k), tile_rows, tile_blocks, ..KernelStudy::default() };
        it.answer().unwrap()
    };
    assert_eq!(with(1, 4096, 2, 2), with(1, 4096, 1, 2), "one row is no two");
    assert_eq!(with(4096, 32, 2, 2), with(4096, 32, 2, 1), "nor one block");
    let near = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-12;
    let instructions = |m, rows| with(m, 4096, rows, 2).instructions;
    assert!(near(5.0 * instructions(5, 2), 4.0 * instructions(4, 2) + instructions(1, 1)));
    let cycles = |k, blocks| with(3, k, 3, blocks).core_cycles_per_block;
    assert!(near(4.0 * cycles(128, 3), 3.0 * cycles(96, 3) + cycles(32, 1)));

    // Most of Llama's matrices have no multiple of three rows.
    let study = InferenceStudy::default();
    let step = |rows| ask(InferenceStudy { tile_rows: count(rows), ..study }).kernel_ns;
    let blocks = |m, k, rows| {
        let (tile_rows, compiler) = (count(rows), study.compiler);
        let it = KernelStudy { m: tokens(m), k: tokens(k), tile_rows, compiler, ..KernelStudy::default() };
        #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
        let blocks = (m * k / 32) as f64;
        blocks * it.answer().unwrap().core_cycles_per_block
    };
    let all = |rows| -> f64 {
        let layer = study.model.layer_gemvs(study.projections).map(|it| (it.1.m(), it.1.k(), 32.0));
        // The head is of Q6_K, which no tile is for.
        layer.map(|(m, k, times)| times * blocks(m, k, rows)).sum()
    };
    let grown = (all(3) - all(2)) * study.core.cycle().as_f64() / f64::from(study.threads.get());
    assert!(((step(3) - step(2)) / grown - 1.0).abs() < 1e-6, "{} {grown}", step(3) - step(2));
}

/// What must fit is more than the matrices.
#[test]
fn a_kernel_has_room_for_its_vectors() {
    let it = KernelStudy::default().answer().unwrap();
    assert_eq!(it.memory_bytes, 2 * 2048 * 64 * 18 + 64 * 34 + 4 * 2048);
    let wide = KernelStudy { n: tokens(1_000_000_000), ..KernelStudy::default() };
    let error = wide.answer().unwrap_err().to_string();
    assert!(
        error.starts_with(
            "the operands take 9.43 TiB, but the memory that the threads may use has 128 GiB: 9.305"
        ),
        "{error}"
    );
}

/// A kernel's inputs and results move once where no cache holds them.
#[test]
fn a_kernel_moves_its_vectors() {
    let of = |n| {
        KernelStudy { m: tokens(2), k: tokens(4096), n: tokens(n), ..KernelStudy::default() }
            .answer()
            .unwrap()
    };
    assert_eq!(of(10).memory_cycles, 0.0, "what a cache holds is there when it is needed");
    let many = of(1_000_000);
    // 4096 q8_0 and two results in single precision.
    let bytes = 1e6 * (4096.0 / 32.0 * 34.0 + 2.0 * 4.0);
    let machine = MACHINES.get("sg2042");
    let waiting = many.memory_cycles * 2.0 * 128.0 * 1e6 * machine.core.cycle().as_f64();
    assert!(waiting > bytes / machine.memory.peak_gb_s().as_f64(), "{waiting}");
}

/// Rows and micro-tiles are whole: what there is less of than of threads leaves some idle.
#[test]
fn a_row_is_one_threads() {
    let multiply = |method, m, n, threads| {
        let it =
            GemmStudy { method, m: tokens(m), n: tokens(n), threads: count(threads), ..GemmStudy::default() };
        it.answer().unwrap().multiply_ns
    };
    for (method, m, n) in [(Method::Listing, 1, 256), (Method::Openblas, 16, 4), (Method::OpenblasGemv, 1, 1)]
    {
        assert_eq!(multiply(method, m, n, 64), multiply(method, m, n, 1), "{method:?}");
    }
    assert!(
        (multiply(Method::Listing, 65, 256, 64) / multiply(Method::Listing, 64, 256, 64) - 2.0).abs() < 1e-12
    );
    // 2 by 32 tiles.
    assert_eq!(multiply(Method::Openblas, 32, 128, 64), multiply(Method::Openblas, 16, 4, 1));
}

/// In a model as well: a prompt's head has as many rows as words, of which a thread has whole ones.
#[test]
fn a_row_of_a_model_is_one_threads() {
    // The thesis' kernel takes pairs of rows.
    for (kernel, more) in [(Kernel::Default, 1), (Kernel::Simple, 2)] {
        let kernel_ns = |vocab_size, threads| {
            let base = InferenceStudy { kernel, ..InferenceStudy::default() };
            let model = Model::of(Llm { vocab_size, ..*base.model }).unwrap();
            ask(InferenceStudy { model, threads: count(threads), ..base }).kernel_ns
        };
        // Of 4096 and 11008 rows all threads have the same; of few words more, some have a row more.
        let rows = |words: u32| (kernel_ns(words, 64) - kernel_ns(64 * 500, 64)).max(0.0);
        let one = rows(64 * 500 + more);
        assert!(one > 0.0, "{kernel:?}");
        assert!((rows(64 * 501) / one - 1.0).abs() < 1e-6, "{kernel:?}: {} {one}", rows(64 * 501));
        // A row takes what it takes a thread by itself.
        let alone = (kernel_ns(64 * 500 + more, 1) - kernel_ns(64 * 500, 1)) / f64::from(more);
        assert!((alone / one - 1.0).abs() < 1e-6, "{kernel:?}: {alone} {one}");
    }
}

/// A block is sixteen columns wide, whatever a vector holds.
#[test]
fn no_vector_is_wider_than_a_block() {
    let multiply = |n, vlen_bits| {
        let (method, n, lmul) = (Method::Blocked, tokens(n), 8);
        let mut it = GemmStudy { method, m: tokens(1024), k: tokens(1024), n, lmul, ..GemmStudy::default() };
        it.core.vlen_bits = vlen_bits;
        it.answer().unwrap().multiply_ns
    };
    for vlen_bits in [128, 1024] {
        assert!((multiply(128, vlen_bits) / multiply(16, vlen_bits) - 8.0).abs() < 1e-9);
    }
}

/// Of a block each byte is loaded once, by llama.cpp's own code and by vectors.
#[test]
fn a_kernel_loads_each_weight_once() {
    let by_default = CODED.into_iter().map(|it| (Kernel::Default, it));
    for (kernel, format) in
        by_default.chain([(Kernel::Vector, GgmlType::Q8_0), (Kernel::Complex, GgmlType::Q4_0)])
    {
        let it = KernelStudy { kernel, format, ..KernelStudy::default() }.answer().unwrap();
        assert_eq!(it.weight_bytes, format.bits_per_element() * 32.0 / 8.0, "{kernel:?} {format}");
    }
}

/// A row that ends within a block of 256 weights takes what the whole block does.
#[test]
fn blocks_of_256_are_padded() {
    let time = |k| {
        let it = KernelStudy {
            kernel: Kernel::Default,
            format: GgmlType::Q6K,
            k: tokens(k),
            ..KernelStudy::default()
        };
        it.answer().unwrap()
    };
    let (whole, more) = (time(2048), time(1793));
    assert!((whole.core_cycles_per_block - more.core_cycles_per_block).abs() < 1e-9);
    assert_eq!(whole.memory_bytes - more.memory_bytes, 0, "both are eight blocks");
    assert!((whole.time_ns / more.time_ns - 1.0).abs() < 1e-9);
    // 4458 - 258 instructions a block, three a cycle.
    assert!(
        (whole.core_cycles_per_block - 4200.0 / 3.0 / 8.0).abs() < 0.1,
        "{}",
        whole.core_cycles_per_block
    );
}

/// Vectors of floats take a slot of the load unit for each of its widths: SGEMV loads a weight and an input
/// for each product, the listings an input, and OpenBLAS sixteen weights for 64 products.
#[test]
#[expect(clippy::cast_precision_loss, reason = "products in ratio")]
fn vectors_of_floats_wait_for_the_width_of_loads() {
    for (method, floats) in [
        (Method::Listing, 1.0),
        (Method::Blocked, 1.0),
        (Method::OpenblasGemv, 2.0),
        (Method::Openblas, 0.25),
    ] {
        let base = GemmStudy { method, ..GemmStudy::default() };
        let products = (base.m.get() * base.k.get() * base.n.get()) as f64 / f64::from(base.threads.get());
        let cycles = |bits, fma_cycles| {
            let mut it = base;
            (it.core.load_bits, it.core.fma_cycles) = (count(bits), fma_cycles);
            it.answer().unwrap().multiply_ns / base.core.cycle().as_f64() / products
        };
        let [wide, half, quarter] = [128, 64, 32].map(|bits| cycles(bits, 2.0));
        // Four products in a register of the C920.
        assert!((cycles(128, 6.0) - wide - (6.0 - 2.0) / 4.0).abs() < 1e-9, "{method:?}: {wide}");
        assert!(((half - wide) / (floats * 32.0 / 128.0) - 1.0).abs() < 1e-9, "{method:?}: {wide} {half}");
        assert!(((quarter - half) / (half - wide) - 2.0).abs() < 1e-9, "{method:?}: {half} {quarter}");
    }
}

/// What meets weights, keys or values in half precision is halved by one thread, whatever the others do.
#[test]
fn one_thread_halves_inputs() {
    let with = |format, threads| {
        ask(InferenceStudy {
            kernel: Kernel::Default,
            format,
            threads: count(threads),
            prompt_tokens: tokens(256),
            ..InferenceStudy::default()
        })
    };
    // Kernels are shared by threads, inputs are not: 11008 of `down`, 4096 of six others, and all layers but the last.
    let shared = |format| {
        let [one, all] = [1, 64].map(|threads| with(format, threads).prompt_kernel_s);
        (64.0 * all - one) / 63.0
    };
    let inputs = 256.0 * 31.0 * (6.0 * 4096.0 + 11008.0);
    let each_ns = shared(FileType::Fp16) * 1e9 / inputs;
    assert!((each_ns / (26.0 / 3.0 / 2.0) - 1.0).abs() < 0.05, "26 instructions, three a cycle: {each_ns}");
    assert!(shared(FileType::Fp32).abs() < 1e-6);
    // Queries and scores are inputs of attention, in any format.
    let attention = [1, 64].map(|threads| with(FileType::Fp32, threads).prompt_attention_s);
    assert!(64.0 * attention[1] > 1.2 * attention[0], "{attention:?}");
}
