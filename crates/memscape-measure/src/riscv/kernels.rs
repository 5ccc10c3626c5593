//! The kernels themselves: safe Rust, shaped so that the compiler vectorises them.

use std::sync::LazyLock;

use half::f16;
use memscape_riscv::quant::{BLOCK, Q4_0_BYTES, Q8_0_BYTES};
use serde::{Deserialize, Serialize};

/// Which kernel runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HostKernel {
    /// Q4_0 times Q8_0, one row and one block at a time, as llama.cpp's own loop.
    OneRow,
    /// Q4_0 times Q8_0, two rows by two blocks: the inputs are loaded once for both.
    TwoRows,
    /// Single precision times single precision.
    F32,
}

impl HostKernel {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::OneRow, Self::TwoRows, Self::F32];

    /// The name, for example `two-rows`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::OneRow => "one-row",
            Self::TwoRows => "two-rows",
            Self::F32 => "f32",
        }
    }

    /// Bytes of 32 weights.
    #[must_use]
    pub const fn block_bytes(self) -> usize {
        match self {
            Self::OneRow | Self::TwoRows => Q4_0_BYTES,
            Self::F32 => 4 * BLOCK,
        }
    }
}

/// Every fp16 as f32, looked up as llama.cpp does.
static HALVES: LazyLock<Vec<f32>> =
    LazyLock::new(|| (0..=u16::MAX).map(|bits| f16::from_bits(bits).to_f32()).collect());

/// A quantised matrix times a quantised vector: one result per row.
///
/// * `weights`: `rows` rows of Q4_0 blocks
/// * `vector`: as many Q8_0 blocks as a row has
/// * `results`: one per row
///
/// # Panics
/// If the lengths do not belong together, or for [`HostKernel::F32`].
pub fn multiply(kernel: HostKernel, weights: &[u8], vector: &[u8], results: &mut [f32]) {
    assert!(kernel != HostKernel::F32, "the f32 kernel takes floats");
    let blocks = vector.len() / Q8_0_BYTES;
    let row_bytes = blocks * Q4_0_BYTES;
    assert_eq!(weights.len(), results.len() * row_bytes, "rows and weights differ");
    let (inputs, rest) = vector.as_chunks::<Q8_0_BYTES>();
    assert!(rest.is_empty(), "partial blocks of inputs");
    let halves = HALVES.as_slice();
    match kernel {
        HostKernel::TwoRows => {
            let mut pairs = weights.chunks_exact(2 * row_bytes);
            let mut outputs = results.chunks_exact_mut(2);
            for (pair, output) in (&mut pairs).zip(&mut outputs) {
                let (first, second) = pair.split_at(row_bytes);
                [output[0], output[1]] = two_rows(halves, blocks_of(first), blocks_of(second), inputs);
            }
            // An odd last row is done alone.
            if let Some(last) = outputs.into_remainder().first_mut() {
                *last = one_row(halves, blocks_of(pairs.remainder()), inputs);
            }
        }
        _ => {
            for (row, output) in weights.chunks_exact(row_bytes).zip(results) {
                *output = one_row(halves, blocks_of(row), inputs);
            }
        }
    }
}

fn blocks_of(row: &[u8]) -> &[[u8; Q4_0_BYTES]] {
    row.as_chunks().0
}

fn one_row(halves: &[f32], row: &[[u8; Q4_0_BYTES]], inputs: &[[u8; Q8_0_BYTES]]) -> f32 {
    let mut sum = 0.0;
    for (weights, input) in row.iter().zip(inputs) {
        sum += scaled(halves, weights, input);
    }
    sum
}

fn two_rows(
    halves: &[f32],
    first: &[[u8; Q4_0_BYTES]],
    second: &[[u8; Q4_0_BYTES]],
    inputs: &[[u8; Q8_0_BYTES]],
) -> [f32; 2] {
    let mut sums = [0.0; 2];
    let pairs = |row: &'_ [[u8; Q4_0_BYTES]]| row.as_chunks::<2>().0.len();
    let even = 2 * pairs(first);
    let (first_pairs, second_pairs) = (first.as_chunks::<2>().0, second.as_chunks::<2>().0);
    for ((a, b), y) in first_pairs.iter().zip(second_pairs).zip(inputs.as_chunks::<2>().0) {
        sums[0] += scaled(halves, &a[0], &y[0]) + scaled(halves, &a[1], &y[1]);
        sums[1] += scaled(halves, &b[0], &y[0]) + scaled(halves, &b[1], &y[1]);
    }
    for ((a, b), y) in first[even..].iter().zip(&second[even..]).zip(&inputs[even..]) {
        sums[0] += scaled(halves, a, y);
        sums[1] += scaled(halves, b, y);
    }
    sums
}

/// The product of two blocks, scales included.
#[inline]
fn scaled(halves: &[f32], weights: &[u8; Q4_0_BYTES], input: &[u8; Q8_0_BYTES]) -> f32 {
    let scale = |bytes: &[u8]| halves[usize::from(u16::from_le_bytes([bytes[0], bytes[1]]))];
    let (nibbles, (low, high)) = (&weights[2..], input[2..].split_at(BLOCK / 2));
    let mut sum = 0_i32;
    for ((byte, low), high) in nibbles.iter().zip(low).zip(high) {
        sum += (i32::from(byte & 0xf) - 8) * i32::from(low.cast_signed());
        sum += (i32::from(byte >> 4) - 8) * i32::from(high.cast_signed());
    }
    #[expect(clippy::cast_precision_loss, reason = "sums of a block stay below 2^24")]
    let sum = sum as f32;
    sum * scale(weights) * scale(input)
}

/// A matrix of floats times a vector of floats.
///
/// # Panics
/// If the lengths do not belong together.
pub(super) fn multiply_f32(weights: &[f32], vector: &[f32], results: &mut [f32]) {
    assert_eq!(weights.len(), results.len() * vector.len(), "rows and weights differ");
    for (row, output) in weights.chunks_exact(vector.len()).zip(results) {
        // As many sums as lanes of wide registers, so that they need not wait.
        const LANES: usize = 32;
        let mut sums = [0.0_f32; LANES];
        let (rows, rest) = row.as_chunks::<LANES>();
        let (inputs, rest_inputs) = vector.as_chunks::<LANES>();
        for (weights, inputs) in rows.iter().zip(inputs) {
            for (sum, (weight, input)) in sums.iter_mut().zip(weights.iter().zip(inputs)) {
                *sum += weight * input;
            }
        }
        let tail: f32 = rest.iter().zip(rest_inputs).map(|(a, b)| a * b).sum();
        *output = sums.iter().sum::<f32>() + tail;
    }
}

#[cfg(test)]
mod tests {
    use memscape_riscv::kernels::{Code, Immediates, Kernel};
    use memscape_riscv::quant::{quantise_q4_0, quantise_q8_0};

    use super::*;

    /// What runs here is what runs on the vector machine, odd rows and blocks included.
    #[test]
    fn host_kernels_compute_what_the_modelled_ones_do() {
        let code = Code { immediates: Immediates::Always, ..Code::as_printed(Kernel::Complex) };
        for (rows, blocks) in [(1, 1), (2, 2), (5, 3), (6, 4)] {
            #[expect(clippy::cast_precision_loss, reason = "small numbers")]
            let numbers = |count: usize, step: usize| -> Vec<f32> {
                (0..count).map(|it| (it * step % 97) as f32 / 24.0 - 2.0).collect()
            };
            let weights = quantise_q4_0(&numbers(rows * blocks * BLOCK, 31)).unwrap();
            let vector = quantise_q8_0(&numbers(blocks * BLOCK, 17)).unwrap();
            let expected = code.multiply(&weights, &vector, rows, blocks).unwrap().0;
            for kernel in [HostKernel::OneRow, HostKernel::TwoRows] {
                let mut results = vec![0.0; rows];
                multiply(kernel, &weights, &vector, &mut results);
                for (found, expected) in results.iter().zip(&expected) {
                    assert!((found - expected).abs() <= 1e-4 * expected.abs().max(1.0), "{kernel:?}");
                }
            }
        }
    }

    #[test]
    fn floats_are_summed_to_the_end() {
        let weights: Vec<f32> = (0..3 * 67_u8).map(|it| f32::from(it % 7)).collect();
        let vector: Vec<f32> = (0..67_u8).map(|it| f32::from(it % 5)).collect();
        let mut results = vec![0.0; 3];
        multiply_f32(&weights, &vector, &mut results);
        for (row, found) in weights.chunks(67).zip(results) {
            let expected: f32 = row.iter().zip(&vector).map(|(a, b)| a * b).sum();
            assert!((found - expected).abs() < 1e-3);
        }
    }
}
