//! Blocks against ggml's, kernels against the reference product, all on real numbers.

use memscape_riscv::cost::sgemm::listing;
use memscape_riscv::hardware::MACHINES;
use memscape_riscv::kernels::{Code, Compiler, Immediates, Kernel, Layout};
use memscape_riscv::quant::{QuantError, dequantise_q4_0, dequantise_q8_0, quantise_q4_0, quantise_q8_0};
use memscape_workload::{Format, Gemm, GgmlType, ScalePlace};
use proptest::prelude::*;

/// Weights, bytes and restored weights of one golden block.
type Golden = (Vec<f32>, Vec<u8>, Vec<f32>);

fn golden(text: &str) -> Vec<Golden> {
    let bytes = |hex: &str| -> Vec<u8> {
        (0..hex.len()).step_by(2).map(|it| u8::from_str_radix(&hex[it..it + 2], 16).unwrap()).collect()
    };
    let floats = |hex: &str| -> Vec<f32> {
        bytes(hex).as_chunks().0.iter().map(|it| f32::from_be_bytes(*it)).collect()
    };
    text.lines()
        .map(|line| {
            let mut fields = line.split(' ');
            let mut next = || fields.next().unwrap();
            (floats(next()), bytes(next()), floats(next()))
        })
        .collect()
}

fn check_golden(
    text: &str,
    quantise: fn(&[f32]) -> Result<Vec<u8>, QuantError>,
    dequantise: fn(&[u8]) -> Result<Vec<f32>, QuantError>,
) {
    let blocks = golden(text);
    assert_eq!(blocks.len(), 94);
    for (index, (weights, bytes, restored)) in blocks.iter().enumerate() {
        assert_eq!(&quantise(weights).unwrap(), bytes, "block {index}");
        let bits = |it: &[f32]| it.iter().map(|it| it.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&dequantise(bytes).unwrap()), bits(restored), "block {index}");
    }
}

/// `gguf` 0.19.0, see `golden/make.py`.
#[test]
fn published_q4_0_blocks() {
    check_golden(include_str!("golden/q4_0.txt"), quantise_q4_0, dequantise_q4_0);
}

/// `gguf` 0.19.0, see `golden/make.py`.
#[test]
fn published_q8_0_blocks() {
    check_golden(include_str!("golden/q8_0.txt"), quantise_q8_0, dequantise_q8_0);
}

#[test]
fn what_a_block_cannot_hold_is_refused() {
    let with = |value| {
        let mut weights = [0.5_f32; 64];
        weights[40] = value;
        quantise_q4_0(&weights).unwrap_err().to_string()
    };
    assert_eq!(with(f32::INFINITY), "weight 40 is inf; only finite numbers can be quantised");
    assert_eq!(with(f32::NAN), "weight 40 is NaN; only finite numbers can be quantised");
    assert!(with(6e5).starts_with("block 1 reaches 6e5, so its scale exceeds the 65504 of fp16"));
    assert_eq!(
        quantise_q8_0(&[0.0; 33]).unwrap_err().to_string(),
        "33 weights are no whole number of blocks of 32; pad them"
    );
    assert!(dequantise_q4_0(&[0; 17]).is_err());
}

/// Blocks are as long as their format says, and their scale lies where it says.
#[test]
fn blocks_are_what_their_formats_are() {
    let mut weights = [0.0; 64];
    weights[32] = 8.0 * 127.0;
    for (format, bytes, scale) in [
        (Format::Q4_0, quantise_q4_0(&weights).unwrap(), -127.0),
        (Format::Q8_0, quantise_q8_0(&weights).unwrap(), 8.0),
    ] {
        assert_eq!(bytes.len() as u64, format.storage_bytes(64).0, "{format}");
        assert_eq!(format.scale().unwrap().place(), ScalePlace::Before);
        let second = &bytes[bytes.len() / 2..];
        let stored = half::f16::from_le_bytes([second[0], second[1]]);
        assert_eq!(stored, half::f16::from_f32(scale), "{format}");
    }
}

/// Numbers that C divides by zero for are a block of zeros.
#[test]
fn a_scale_without_inverse_makes_zeros() {
    let tiny = [f32::from_bits(9); 32];
    assert!(dequantise_q4_0(&quantise_q4_0(&tiny).unwrap()).unwrap().iter().all(|it| *it == 0.0));
    assert!(dequantise_q8_0(&quantise_q8_0(&tiny).unwrap()).unwrap().iter().all(|it| *it == 0.0));
}

fn any_code() -> impl Strategy<Value = Code> {
    let kernels = [Kernel::Default, Kernel::Vector, Kernel::Simple, Kernel::Complex];
    let immediates = [Immediates::AsCompiled, Immediates::Always, Immediates::Never];
    (
        prop::sample::select(kernels.to_vec()),
        any::<bool>(),
        prop::sample::select(immediates.to_vec()),
        (1..=4_usize, 1..=4_usize),
        prop::sample::select(vec![1_u32, 2, 4]),
        prop::sample::select(vec![64_u32, 128, 256, 512, 1024]),
        prop::sample::select(vec![Layout::Halves, Layout::Whole]),
    )
        .prop_map(|(kernel, q8, immediates, (rows, blocks), lmul, vlen_bits, layout)| {
            let q8 = q8 && matches!(kernel, Kernel::Default | Kernel::Vector);
            let format = if q8 { GgmlType::Q8_0 } else { GgmlType::Q4_0 };
            let printed = Code::as_printed(kernel);
            Code { format, immediates, layout, rows, blocks, lmul, vlen_bits, ..printed }
        })
}

fn weights(count: usize) -> impl Strategy<Value = Vec<f32>> {
    prop::collection::vec(-2.0_f32..2.0, count)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Every kernel, tile, register width and group computes the product of what the
    /// blocks hold, odd rows and odd blocks included.
    #[test]
    fn a_kernel_computes_the_product(
        code in any_code(), rows in 1..7_usize, blocks in 1..6_usize, columns in 1..3_usize,
        seed in weights(7 * 5 * 32 + 2 * 5 * 32),
    ) {
        let (a, b) = seed.split_at(7 * 5 * 32);
        let (a, b) = (&a[..rows * blocks * 32], &b[..columns * blocks * 32]);
        let q4 = code.format == GgmlType::Q4_0;
        let matrix = if q4 { quantise_q4_0(a) } else { quantise_q8_0(a) }.unwrap();
        let restored = if q4 { dequantise_q4_0(&matrix) } else { dequantise_q8_0(&matrix) }.unwrap();
        let vectors = quantise_q8_0(b).unwrap();
        let inputs = dequantise_q8_0(&vectors).unwrap();
        let (computed, counts) = code.multiply(&matrix, &vectors, rows, blocks).unwrap();
        prop_assert_eq!(computed.len(), rows * columns);
        for column in 0..columns {
            for row in 0..rows {
                let terms = (0..blocks * 32).map(|it| {
                    f64::from(restored[row * blocks * 32 + it]) * f64::from(inputs[column * blocks * 32 + it])
                });
                let (expected, size) = terms.fold((0.0, 0.0), |(sum, size), it| (sum + it, size + it.abs()));
                let error = (f64::from(computed[column * rows + row]) - expected).abs();
                // Integer sums are exact; a few roundings of f32 are left.
                prop_assert!(error <= 1e-6 * size + 1e-30, "row {row}: off by {error} of {size}");
            }
        }
        // No byte of the matrix is left out, none is read twice per column.
        prop_assert_eq!(counts.weight_bytes, (columns * matrix.len()) as u64);
    }

    /// What a tile is said to cost is what it costs in a long row.
    #[test]
    fn the_cost_of_a_tile_is_what_a_row_is_made_of(code in any_code(), tiles in 2..6_usize) {
        let per_tile = code.per_tile().unwrap();
        let (rows, blocks) = code.tile();
        let count = |tiles: usize| {
            let weights = vec![1.0; rows * tiles * blocks * 32];
            let q4 = code.format == GgmlType::Q4_0;
            let matrix = if q4 { quantise_q4_0(&weights) } else { quantise_q8_0(&weights) }.unwrap();
            let vector = quantise_q8_0(&vec![1.0; tiles * blocks * 32]).unwrap();
            code.multiply(&matrix, &vector, rows, tiles * blocks).unwrap().1
        };
        prop_assert_eq!(count(tiles) - count(tiles - 1), per_tile);
    }

    /// Listing 4.2 computes the product at any LMUL and register width.
    #[test]
    fn the_vector_sgemm_computes_the_product(
        (m, k, n) in (1..5_usize, 1..9_usize, 1..40_usize), lmul in prop::sample::select(vec![1_u32, 2, 4, 8]),
        vlen_bits in prop::sample::select(vec![128_u32, 256, 1024]), seed in weights(4 * 8 + 8 * 39),
    ) {
        let (a, b) = (&seed[..m * k], &seed[32..32 + k * n]);
        let mut c = vec![0.0; m * n];
        let shape = Gemm::new(m as u64, k as u64, n as u64).unwrap();
        let counts = listing(vlen_bits, lmul, &shape, a, b, &mut c);
        for row in 0..m {
            for column in 0..n {
                let expected: f64 =
                    (0..k).map(|it| f64::from(a[row * k + it]) * f64::from(b[it * n + column])).sum();
                prop_assert!((f64::from(c[row * n + column]) - expected).abs() < 1e-4);
            }
        }
        let groups = n.div_ceil((vlen_bits * lmul / 32) as usize);
        prop_assert_eq!(counts.vector[memscape_riscv::vector::Class::Fma as usize], (m * k * groups) as u64);
    }
}

/// clang-16 (-O3, RVV 1.0), executed in an emulator: 26 instructions per block for Listing
/// 4.4, of which 11 are vector ones, three loads among them, and three change the
/// configuration; 10 vector instructions per block for Listing A.1.
#[test]
fn published_instruction_counts_of_a_compiler() {
    let code = |kernel| Code { immediates: Immediates::Always, ..Code::as_printed(kernel) };
    let vector = code(Kernel::Vector).per_tile().unwrap();
    assert_eq!((vector.instructions(), vector.vector_instructions(), vector.vset), (26, 11, 3));
    assert_eq!((vector.vector_loads, vector.scalar_loads), (3, 2));
    assert_eq!((vector.weight_bytes, vector.activation_bytes), (18, 34));
    let complex = code(Kernel::Complex).per_tile().unwrap();
    assert_eq!((complex.vector_instructions(), complex.vector_loads, complex.scalar_loads), (40, 8, 6));
    assert_eq!((complex.weight_bytes, complex.activation_bytes), (4 * 18, 4 * 17));
    // The compiler takes 88 for the four blocks: it reorders across configurations and
    // changes them nine times where the listing's order needs three.
    assert_eq!((complex.instructions(), complex.vset), (79, 3));
    // GCC 12.2 (-O3, rv64gc): 246 for the scalar loop, with 27 values on the stack; Clang
    // 19.1.7 with the flags of Table 5.3: 154, and 8 for an element of fp16.
    let scalar = |compiler, format| {
        let code = Code { compiler, format, ..code(Kernel::Default) };
        code.per_tile().unwrap().instructions()
    };
    assert!(scalar(Compiler::Gcc13, GgmlType::Q4_0).abs_diff(246) <= 1);
    assert_eq!(scalar(Compiler::Clang19, GgmlType::Q4_0), 154);
    assert_eq!(scalar(Compiler::Clang19, GgmlType::F16), 32 * 8);
    // Blocks of 256, executed.
    for (format, clang, gcc) in
        [(GgmlType::Q4K, 2014, 3915), (GgmlType::Q5K, 4077, 6519), (GgmlType::Q6K, 3004, 4458)]
    {
        let [by_clang, vendor, by_gcc] =
            [Compiler::Clang19, Compiler::XuantieGcc10, Compiler::Gcc13].map(|it| scalar(it, format));
        assert_eq!((by_clang, by_gcc), (clang, gcc), "{format}");
        // A multiply-accumulate for each of 256 sums.
        assert!((256..300).contains(&(gcc - vendor)), "{format}: {vendor}");
        let code = Code { format, compiler: Compiler::Clang19, ..code(Kernel::Default) };
        assert_eq!(code.tile(), (1, 8));
        let counts = code.per_tile().unwrap();
        assert_eq!((counts.weight_bytes, counts.activation_bytes), (format.block_bytes(), 292));
    }
}

#[test]
fn kernels_that_do_not_exist_are_refused() {
    let good = Code::as_printed(Kernel::Complex);
    let core = MACHINES.get("sg2042").core;
    let error = |code: Code| {
        let told = code.per_tile().unwrap_err();
        assert_eq!(code.multiply(&[0; 18], &[0; 34], 1, 1).unwrap_err(), told);
        assert_eq!(code.tiles(&core, 1, 1).unwrap_err(), told);
        assert_eq!(code.laid_out_for(&core).unwrap_err(), told);
        told.to_string()
    };
    assert_eq!(
        error(Code { format: GgmlType::Q8_0, ..good }),
        "the kernel `complex` does not multiply q8_0; it is written for q4_0: use `kernel` = \"default\""
    );
    for (kernel, written_for) in [
        (Kernel::Default, "q4_0, q4_k, q5_k, q6_k, q8_0, fp16 and fp32"),
        (Kernel::Vector, "q4_0 and q8_0"),
        (Kernel::Simple, "q4_0"),
    ] {
        assert_eq!(
            error(Code { kernel, format: GgmlType::Bf16, ..good }),
            format!(
                "the kernel `{}` does not multiply bf16; it is written for {written_for}: change `format`",
                kernel.name()
            )
        );
    }
    assert!(error(Code { vlen_bits: 96, ..good }).contains("a power of two from 64 to 1024"));
    assert!(error(Code { lmul: 8, ..good }).contains("must be 1, 2 or 4"));
    assert!(error(Code { rows: 9, ..good }).contains("rows and blocks must be from 1 to 8"));
    assert!(error(Code { kernel: Kernel::Openblas, ..good }).contains("riscv.gemm"));
    let short = good.multiply(&[0; 18], &[0; 34], 2, 1).unwrap_err().to_string();
    assert_eq!(short, "the matrix has 18 bytes, but 2 rows of 1 blocks take 36");
}
