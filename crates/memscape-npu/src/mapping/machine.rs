//! The functional array: multiplies real matrices with every element going through
//! the DMA chains.
//!
//! DRAM holds plain matrices, padded with zeros to the native size. Chains bring
//! tiles to L1, each core runs the blocked kernel on what it finds there, and the
//! chain of C writes the product back. A wrong pattern gives a wrong product.

use half::bf16;

use crate::hardware::device::Mmul;
use crate::hardware::precision::Precision;
use crate::mapping::chain::{ChainError, Chains, PaddedSize};
use crate::mapping::design::BLayout;

/// Where the partial sums of a tile of C are between two calls of the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartialSums {
    /// In 32 bits: they are rounded once, at the end.
    Wide,
    /// In the output's type, as the budget of L1 has it (Eq. 5): they are rounded
    /// after every `k_ct` of the reduction, and narrow types saturate on the way.
    Output,
}

/// How sums become outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rounding {
    /// Bits that integer sums are shifted right before they saturate; halves go to
    /// even. From 0 to as many bits as a sum is wider than an output.
    pub shift: u32,
    /// When it happens.
    pub partial_sums: PartialSums,
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for i8 {}
    impl Sealed for i16 {}
    impl Sealed for i32 {}
    impl Sealed for half::bf16 {}
}

/// A type of C. It decides the types of A and B and of the sums: `i8`, `i16` and `i32`
/// come from 8-bit inputs and 32-bit sums that wrap, `bf16` from bf16 and f32.
pub trait Output: sealed::Sealed + Copy + Default {
    /// Of A and B.
    type Input: Copy + Default;
    /// Of an accumulator.
    type Sum: Copy + Default;
    /// All of them.
    const PRECISION: Precision;
    /// Most that sums are shifted.
    const MAX_SHIFT: u32;

    /// One multiply-accumulate.
    #[must_use]
    fn multiply_add(sum: Self::Sum, a: Self::Input, b: Self::Input) -> Self::Sum;

    /// A sum as an output.
    #[must_use]
    fn round(sum: Self::Sum, shift: u32) -> Self;

    /// An output as a sum to go on with.
    #[must_use]
    fn widen(self, shift: u32) -> Self::Sum;
}

/// `sum / 2^shift`, halves to even.
fn shift_right(sum: i32, shift: u32) -> i64 {
    let sum = i64::from(sum);
    let floor = sum >> shift;
    let twice_rest = 2 * (sum - (floor << shift));
    let one = 1 << shift;
    floor + i64::from(twice_rest > one || (twice_rest == one && floor % 2 != 0))
}

macro_rules! integer_output {
    ($type:ty, $precision:ident) => {
        impl Output for $type {
            type Input = i8;
            type Sum = i32;
            const PRECISION: Precision = Precision::$precision;
            const MAX_SHIFT: u32 = i32::BITS - <$type>::BITS;

            fn multiply_add(sum: i32, a: i8, b: i8) -> i32 {
                sum.wrapping_add(i32::from(a) * i32::from(b))
            }

            fn round(sum: i32, shift: u32) -> Self {
                let shifted = shift_right(sum, shift).clamp(<$type>::MIN.into(), <$type>::MAX.into());
                Self::try_from(shifted).expect("clamped to the type")
            }

            fn widen(self, shift: u32) -> i32 {
                i32::from(self) << shift
            }
        }
    };
}

integer_output!(i8, Int8Int8);
integer_output!(i16, Int8Int16);
integer_output!(i32, Int8Int32);

impl Output for bf16 {
    type Input = bf16;
    type Sum = f32;
    const PRECISION: Precision = Precision::Bf16Bf16;
    const MAX_SHIFT: u32 = 0;

    fn multiply_add(sum: f32, a: bf16, b: bf16) -> f32 {
        // The product of two 8-bit significands is exact: one rounding.
        sum + f32::from(a) * f32::from(b)
    }

    fn round(sum: f32, _: u32) -> Self {
        Self::from_f32(sum)
    }

    fn widen(self, _: u32) -> f32 {
        self.into()
    }
}

/// Why the array did not run.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum MachineError {
    /// No chain for this size.
    #[error(transparent)]
    Chain(#[from] ChainError),
    /// A matrix of the wrong length.
    #[error("`{operand}` has {given} elements, but {rows} x {columns} needs {}", rows * columns)]
    Length {
        /// `a` or `b`.
        operand: &'static str,
        /// Its length.
        given: usize,
        /// Rows asked for.
        rows: u64,
        /// Columns asked for.
        columns: u64,
    },
    /// Matrices of other types than the chains are for.
    #[error("the chains move {chains}, but the matrices are {given}; build the chains for {given}")]
    Precision {
        /// Of the chains.
        chains: Precision,
        /// Of the matrices.
        given: Precision,
    },
    /// A shift that leaves nothing.
    #[error("`shift` is {given}, but a 32-bit sum of {precision} can be shifted by 0 to {most}")]
    Shift {
        /// As given.
        given: u32,
        /// Most.
        most: u32,
        /// Types.
        precision: Precision,
    },
}

/// Multiplies A (`m x k`, row-major) with B (`k x n`, in the layout that the chains are
/// for) on the whole array; C is `m x n`, row-major. `size` is `[m, k, n]`, of any length.
///
/// Each sum starts at zero and adds products in the order of the reduction, so that a
/// plain loop gives the same bits, in bf16 too. (The block floating point in which XDNA2
/// emulates bf16 is not modelled: products are exact.)
///
/// # Errors
/// [`MachineError`] if a matrix is of the wrong length or type, or a chain cannot be
/// programmed for this size.
///
/// # Example
/// ```
/// use memscape_npu::mapping::design::BLayout;
/// use memscape_npu::mapping::chain::Chains;
/// use memscape_npu::mapping::machine::{PartialSums, Rounding, execute};
/// use memscape_npu::{DEVICES, Precision, Tile};
///
/// let device = DEVICES.get("xdna");
/// let tile = Tile { m: 16, k: 16, n: 16 };
/// let chains = Chains::new(device, Precision::Int8Int16, tile, 32, BLayout::RowMajor)?;
/// let rounding = Rounding { shift: 0, partial_sums: PartialSums::Wide };
/// let product = execute::<i16>(&chains, [2, 3, 2], &[1, 2, 3, 4, 5, 6], &[1, 0, 0, 1, 1, 1], rounding)?;
/// assert_eq!(product, [4, 5, 10, 11]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[expect(clippy::many_single_char_names, reason = "the names that everyone gives them")]
pub fn execute<O: Output>(
    chains: &Chains,
    size: [u64; 3],
    a: &[O::Input],
    b: &[O::Input],
    rounding: Rounding,
) -> Result<Vec<O>, MachineError> {
    let [m, k, n] = size;
    if chains.precision() != O::PRECISION {
        return Err(MachineError::Precision { chains: chains.precision(), given: O::PRECISION });
    }
    if rounding.shift > O::MAX_SHIFT {
        let (given, most) = (rounding.shift, O::MAX_SHIFT);
        return Err(MachineError::Shift { given, most, precision: O::PRECISION });
    }
    let padded = chains.pad(size)?;
    for (operand, given, rows, columns) in [("a", a.len(), m, k), ("b", b.len(), k, n)] {
        if given as u64 != rows * columns {
            return Err(MachineError::Length { operand, given, rows, columns });
        }
    }
    let a = copy(a, [m, k], [padded.m(), padded.k()]);
    let b = match chains.b_layout() {
        BLayout::ColumnMajor => copy(b, [n, k], [padded.n(), padded.k()]),
        BLayout::RowMajor => copy(b, [k, n], [padded.k(), padded.n()]),
    };
    let c = multiply::<O>(chains, padded, &a, &b, rounding);
    Ok(copy(&c, [padded.m(), padded.n()], [m, n]))
}

/// The common part of a row-major matrix in one of another shape, else zeros.
fn copy<T: Copy + Default>(from: &[T], [rows, columns]: [u64; 2], [to_rows, to_columns]: [u64; 2]) -> Vec<T> {
    let [columns, to_columns] = [columns, to_columns].map(at);
    let mut to = vec![T::default(); at(to_rows) * to_columns];
    let common = columns.min(to_columns);
    let both = to.chunks_exact_mut(to_columns).zip(from.chunks_exact(columns));
    both.take(at(rows)).for_each(|(to, from)| to[..common].copy_from_slice(&from[..common]));
    to
}

/// An index of something that is in memory.
fn at(index: u64) -> usize {
    usize::try_from(index).expect("a matrix in memory has indices that fit")
}

fn multiply<O: Output>(
    chains: &Chains,
    size: PaddedSize,
    a: &[O::Input],
    b: &[O::Input],
    rounding: Rounding,
) -> Vec<O> {
    let [rows, _] = chains.cores();
    let core = Core::new(chains);
    let mut c = vec![O::default(); at(size.m() * size.n())];
    // Every column of cores works alone, and what order blocks of C come in changes
    // no sum: A is brought once for a row of blocks, not once for each.
    for block in 0..size.m() / (rows * u64::from(chains.tile().m)) {
        let a: Vec<_> = (0..rows).map(|row| chains.a(size, block * rows + row).run(a)).collect();
        for column in 0..size.n() / u64::from(chains.tile().n) {
            let b = chains.b(size, column).run(b);
            let tiles: Vec<_> = a.iter().map(|a| core.multiply::<O>(a, &b, rounding)).collect();
            chains.c(size, block, column).run(&tiles, &mut c);
        }
    }
    c
}

/// The kernel of one core.
struct Core {
    /// Elements of a tile of A, B and C.
    tiles: [usize; 3],
    /// Blocks of A, B and C along the rows, the reduction and the columns.
    blocks: [usize; 3],
    mmul: Mmul,
    b_layout: BLayout,
}

impl Core {
    fn new(chains: &Chains) -> Self {
        let (mmul, tile) = (chains.mmul(), chains.tile());
        let [r, s, t] = block(mmul);
        let [rows, steps, columns] = [tile.m, tile.k, tile.n].map(|it| it as usize);
        Self {
            tiles: [rows * steps, steps * columns, rows * columns],
            blocks: [rows / r, steps / s, columns / t],
            mmul,
            b_layout: chains.b_layout(),
        }
    }

    /// A whole reduction: L1 tiles of A and B one after the other, to a tile of C.
    fn multiply<O: Output>(&self, a: &[O::Input], b: &[O::Input], rounding: Rounding) -> Vec<O> {
        let round = |sum: &O::Sum| O::round(*sum, rounding.shift);
        let mut sums = vec![O::Sum::default(); self.tiles[2]];
        for (a, b) in a.chunks_exact(self.tiles[0]).zip(b.chunks_exact(self.tiles[1])) {
            self.call::<O>(a, b, &mut sums);
            if rounding.partial_sums == PartialSums::Output {
                for sum in &mut sums {
                    *sum = round(sum).widen(rounding.shift);
                }
            }
        }
        sums.iter().map(round).collect()
    }

    /// One call of the kernel: register block by register block.
    #[expect(clippy::many_single_char_names, reason = "the names that everyone gives them")]
    fn call<O: Output>(&self, a: &[O::Input], b: &[O::Input], sums: &mut [O::Sum]) {
        let [r, s, t] = block(self.mmul);
        let [rows, steps, columns] = self.blocks;
        let (height, width) =
            (usize::from(self.mmul.block_rows.get()), usize::from(self.mmul.block_columns.get()));
        let mut shuffled = vec![O::Input::default(); s * t];
        for (top, left) in
            (0..rows).step_by(height).flat_map(|top| (0..columns).step_by(width).map(move |it| (top, it)))
        {
            for (step, column) in
                (0..steps).flat_map(|step| (left..left + width).map(move |column| (step, column)))
            {
                let b_block = match self.b_layout {
                    BLayout::RowMajor => &b[(step * columns + column) * s * t..][..s * t],
                    BLayout::ColumnMajor => {
                        let block = &b[(column * steps + step) * t * s..][..t * s];
                        transpose(block, s, &mut shuffled);
                        &shuffled
                    }
                };
                for row in top..top + height {
                    let a_block = &a[(row * steps + step) * r * s..][..r * s];
                    let sums = &mut sums[(row * columns + column) * r * t..][..r * t];
                    mmul::<O>(a_block, b_block, sums, s, t);
                }
            }
        }
    }
}

fn block(mmul: Mmul) -> [usize; 3] {
    [mmul.r, mmul.s, mmul.t].map(|it| it.get().into())
}

/// A `t x s` block as `s x t`: the shuffle in registers.
fn transpose<T: Copy>(block: &[T], s: usize, to: &mut [T]) {
    let t = block.len() / s;
    for (column, run) in block.chunks_exact(s).enumerate() {
        run.iter().enumerate().for_each(|(row, it)| to[row * t + column] = *it);
    }
}

/// One matrix instruction: `r x s` times `s x t`, added to `r x t` sums.
fn mmul<O: Output>(a: &[O::Input], b: &[O::Input], sums: &mut [O::Sum], s: usize, t: usize) {
    for (a, sums) in a.chunks_exact(s).zip(sums.chunks_exact_mut(t)) {
        for (a, b) in a.iter().zip(b.chunks_exact(t)) {
            for (sum, b) in sums.iter_mut().zip(b) {
                *sum = O::multiply_add(*sum, *a, *b);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_round_half_to_even_and_saturate() {
        let rounded = [-5, -3, -2, -1, 0, 1, 2, 3, 5, 6, 7].map(|it| i8::round(it, 1));
        assert_eq!(rounded, [-2, -2, -1, 0, 0, 0, 1, 2, 2, 3, 4]);
        assert_eq!([i32::MIN, 255, i32::MAX].map(|it| i8::round(it, 1)), [-128, 127, 127]);
        assert_eq!([i32::MIN, i32::MAX].map(|it| i16::round(it, 16)), [-32768, 32767]);
        assert_eq!(i32::round(i32::MIN, 0), i32::MIN);
        assert!((i8::MIN..=i8::MAX).all(|it| i8::round(it.widen(24), 24) == it));
    }
}
