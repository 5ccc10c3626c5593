//! Kernels executed on a [`VectorMachine`], or only counted.

use std::cell::RefCell;
use std::collections::HashMap;

use memscape_units::float;
use memscape_workload::GgmlType;

use super::code::{Code, Kernel, KernelError, Layout};
use super::scalar;
use crate::cost::vector::{Counts, VectorMachine};
use crate::hardware::Core;
use crate::mapping::quant::{BLOCK, Q4_0_BYTES, Q8_0_BYTES};

impl Code {
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

    /// The same code with its blocks laid out as this core takes less time for.
    ///
    /// # Errors
    /// As [`Code::check`].
    pub fn laid_out_for(self, core: &Core) -> Result<Self, KernelError> {
        // Where a group does not hold a block, there is one way alone.
        let holds = u64::from(self.vlen_bits) * u64::from(self.lmul) >= 8 * BLOCK as u64;
        if !holds || self.kernel == Kernel::Default {
            self.check()?;
            return Ok(self);
        }
        let cycles = |layout| {
            let laid_out = Self { layout, ..self };
            Ok((laid_out, core.cycles(&laid_out.per_tile()?).total.as_f64()))
        };
        let (halves, whole) = (cycles(Layout::Halves)?, cycles(Layout::Whole)?);
        Ok(if whole.1 < halves.1 { whole.0 } else { halves.0 })
    }

    /// The tiles that cover a matrix of `rows` by `blocks`, each as this core takes less time for, and
    /// the share of the matrix in tiles of each kind: whole ones, and smaller ones for rows and blocks
    /// left over, as [`Code::multiply`] does them.
    ///
    /// # Errors
    /// As [`Code::check`].
    pub fn tiles(&self, core: &Core, rows: u64, blocks: u64) -> Result<Vec<(Self, f64)>, KernelError> {
        self.check()?;
        let split = |all: u64, of_tile: usize| {
            let rest = all % of_tile as u64;
            [(of_tile, all - rest), (usize::try_from(rest).unwrap_or(of_tile), rest)]
                .map(|(tile, covered)| (tile, float(covered) / float(all)))
        };
        let (tile_rows, tile_blocks) = self.tile();
        let mut tiles = Vec::with_capacity(4);
        for (rows, of_rows) in split(rows, tile_rows).into_iter().filter(|it| it.1 > 0.0) {
            for (blocks, of_blocks) in split(blocks, tile_blocks).into_iter().filter(|it| it.1 > 0.0) {
                tiles.push((Self { rows, blocks, ..*self }.laid_out_for(core)?, of_rows * of_blocks));
            }
        }
        Ok(tiles)
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
        let block_bytes = match self.format {
            GgmlType::Q4_0 => Q4_0_BYTES,
            GgmlType::Q8_0 => Q8_0_BYTES,
            // The scalar kernels of others are only counted.
            format => {
                let written_for = "q4_0 and q8_0 here";
                return Err(KernelError::Unsupported { kernel: self.kernel, format, written_for });
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
        match (self.kernel, self.format) {
            (Kernel::Default, GgmlType::Q4_0) => {
                scalar::q4_0(machine, self.compiler, rows[0], vector, block, &mut sums[0]);
            }
            (Kernel::Default, GgmlType::Q8_0) => {
                scalar::q8_0(machine, self.compiler, rows[0], vector, block, &mut sums[0]);
            }
            (Kernel::Default, GgmlType::F16) => scalar::count_fp16(machine, self.compiler),
            (Kernel::Default, GgmlType::F32) => scalar::count_fp32(machine),
            (Kernel::Default, kind) => scalar::count_k(machine, self.compiler, kind),
            _ => self.vector_tile(machine, rows, vector, block, blocks, sums),
        }
    }
}
