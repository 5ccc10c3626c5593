//! Products in single precision: OpenBLAS, and the thesis' vector SGEMM.

use memscape_units::{Bytes, Nanoseconds, float};
use memscape_workload::{Format, Gemm, GgmlType};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::memory::{Found, Hierarchy, Rates};
use super::openblas::{
    MICRO_COLUMNS, MICRO_ROWS, dequantise, dequantised_bytes, gemv_step, micro_kernel, pack_input,
};
use super::vector::{Class, Counts, Floats, Sew, VectorMachine};
use crate::hardware::{Core, LINE_BYTES};
use crate::mapping::quant::matrix_bytes;

/// Who multiplies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// The vector SGEMM of Listing 4.2, one row at a time.
    Listing,
    /// The same on blocks of 16 x 16, which stay in the first-level cache.
    Blocked,
    /// OpenBLAS' SGEMM: packs the weights, then multiplies by its micro-kernel.
    Openblas,
    /// OpenBLAS' SGEMV: one column at a time, no packing.
    OpenblasGemv,
}

/// Rows of a block of [`Method::Blocked`].
const BLOCKED_ROWS: u64 = 16;
/// Its columns.
const BLOCKED_COLUMNS: u64 = 16;

/// How a product is made: by whom, from which weights.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sgemm {
    /// Its shape.
    pub gemm: Gemm,
    /// How the weights are stored; single precision for vector code.
    pub format: GgmlType,
    /// Who multiplies.
    pub method: Method,
    /// Registers that a vector takes, of vector code.
    pub lmul: u32,
}

/// The rates of threads that read. One without a share reads nothing, and the busiest decides.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Readers {
    /// Of those that have rows of the weights.
    pub rows: Rates,
    /// Of those that have some of the result.
    pub tiles: Rates,
    /// Of those that read the listing's inputs for their rows.
    pub panels: Rates,
}

/// How something is dealt to threads.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shares {
    /// Those that have some of it.
    pub threads: u32,
    /// What the busiest of them has over their mean.
    pub busiest: f64,
}

impl Shares {
    /// So many pieces, of which the busiest thread has `most`.
    fn of(pieces: u64, threads: u32, most: u64) -> Self {
        let threads = u32::try_from(pieces).map_or(threads, |it| it.min(threads));
        Self { threads, busiest: float(most) * f64::from(threads) / float(pieces) }
    }

    /// So many pieces, as evenly as they can be dealt.
    fn even(pieces: u64, threads: u32) -> Self {
        Self::of(pieces, threads, pieces.div_ceil(threads.into()))
    }
}

/// The time of a product by cause. The causes add up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SgemmCost {
    /// Dequantising the weights.
    pub dequantise: Nanoseconds,
    /// Packing the weights.
    pub pack: Nanoseconds,
    /// Packing the inputs.
    pub pack_inputs: Nanoseconds,
    /// Multiplying.
    pub multiply: Nanoseconds,
    /// Reading and writing what the caches do not hold.
    pub memory: Nanoseconds,
}

impl SgemmCost {
    /// All of it.
    #[must_use]
    pub fn total(&self) -> Nanoseconds {
        self.dequantise + self.pack + self.pack_inputs + self.multiply + self.memory
    }
}

impl Sgemm {
    /// What it takes on so many threads, each of which has whole rows, and micro-tiles of the result, that read at
    /// these rates. All threads pack panels of inputs.
    #[must_use]
    pub fn cost(&self, threads: u32, hierarchy: &Hierarchy<'_>, readers: &Readers) -> SgemmCost {
        let Readers { rows: rates, tiles: of_tiles, panels: of_panels } = readers;
        let core = hierarchy.core;
        let (columns, shared) = (self.gemm.n(), float(self.gemm.k()));
        // What the busiest core has of so many, none of which is shared.
        let busiest = |units: u64| float(units.div_ceil(threads.into()));
        let weights = busiest(self.gemm.m()) * shared;
        let zero = Nanoseconds::ZERO;
        let mut cost =
            SgemmCost { dequantise: zero, pack: zero, pack_inputs: zero, multiply: zero, memory: zero };
        if matches!(self.method, Method::Openblas | Method::OpenblasGemv) {
            let moved = Bytes(dequantised_bytes(self.gemm.m(), self.gemm.k(), self.format));
            cost.dequantise = dequantise(core, self.format) * weights + rates.from_memory().time_of(moved);
        }
        match self.method {
            Method::Openblas => {
                // Packing is no faster than the weights, or what they are dequantised into, are read.
                let bytes = self.gemm.weight_bytes(Format::FP32);
                let first = if self.format == GgmlType::F32 { Found::IN_MEMORY } else { rates.find(bytes) };
                cost.pack = core.pack_ns * weights;
                cost.memory = rates.read(bytes, first) - cost.pack;
                // The busiest thread's panels are whole ones.
                let whole = columns.div_ceil(MICRO_COLUMNS).saturating_mul(MICRO_COLUMNS);
                let inputs = self.gemm.k().saturating_mul(whole);
                let row_tiles = self.gemm.m().div_ceil(MICRO_ROWS);
                cost.memory += of_tiles.read_panels(Bytes(inputs.saturating_mul(4)), row_tiles);
                let tiles = busiest(self.micro_tiles());
                cost.multiply = micro_kernel(core) * (tiles * float(MICRO_ROWS) * shared);
                // A panel is one thread's.
                let panels = columns.div_ceil(MICRO_COLUMNS).div_ceil(threads.into());
                let packed = panels.saturating_mul(MICRO_COLUMNS).min(columns);
                cost.pack_inputs = pack_input(core) * (float(packed) * shared);
            }
            Method::OpenblasGemv => {
                let (step, elements) = gemv_step(core);
                let cycles = weights * float(columns) / float(elements) * step.as_f64();
                cost.multiply = core.cycle() * cycles;
                // Columns after the first find what caches still hold, the first what has just been dequantised.
                let (bytes, again) = (self.gemm.weight_bytes(Format::FP32), float(columns) - 1.0);
                let kept = rates.find(bytes);
                let first = if self.format == GgmlType::F32 { Found::IN_MEMORY } else { kept };
                cost.memory = rates.read(bytes, first) + rates.read(bytes, kept) * again;
            }
            Method::Listing | Method::Blocked => {
                // No vector is wider than a block.
                let widest = if self.method == Method::Blocked { BLOCKED_COLUMNS } else { u64::MAX };
                let lanes = u64::from(core.vlen_bits / 32 * self.lmul).min(widest);
                let whole = float(columns / lanes) * vector_step(core, self.lmul, lanes);
                let rest = columns % lanes;
                let steps = if rest == 0 { whole } else { whole + vector_step(core, self.lmul, rest) };
                let (bytes, found) = self.panel(hierarchy, of_panels);
                cost.multiply = core.cycle() * (weights * steps);
                cost.memory = of_panels.read(bytes, found) * float(self.panels(threads.into()));
            }
        }
        // Every operand moves once, beside computing; what that does not hide is waited for.
        cost.memory += self.operands(readers) - cost.total();
        cost
    }

    /// Time to read the weights from memory, and to read the inputs and write the result where the
    /// nearest level has room for all three.
    fn operands(&self, readers: &Readers) -> Nanoseconds {
        let weights = Bytes(matrix_bytes(self.gemm.m(), self.gemm.k(), self.format));
        let vectors = self.vector_bytes();
        let found = readers.tiles.find(Bytes(weights.0.saturating_add(vectors.0)));
        readers.rows.from_memory().time_of(weights) + readers.tiles.read(vectors, found)
    }

    /// Inputs and result, in single precision.
    #[must_use]
    pub fn vector_bytes(&self) -> Bytes {
        let side = self.gemm.k().saturating_add(self.gemm.m());
        Bytes(side.saturating_mul(self.gemm.n()).saturating_mul(4))
    }

    /// How often so many threads read the panel, all together: each for rows of its own, of which a block's meet it
    /// while it is in the first-level cache.
    const fn panels(&self, threads: u64) -> u64 {
        let together = self.rows_together();
        let (rows, one_more) = (self.gemm.m() / threads, self.gemm.m() % threads);
        one_more * (rows + 1).div_ceil(together) + (threads - one_more) * rows.div_ceil(together)
    }

    /// Rows that meet a panel at once.
    const fn rows_together(&self) -> u64 {
        if matches!(self.method, Method::Blocked) { BLOCKED_ROWS } else { 1 }
    }

    /// How rows of the weights are dealt to so many threads.
    #[must_use]
    pub fn rows_of(&self, threads: u32) -> Shares {
        Shares::even(self.gemm.m(), threads)
    }

    /// How many of so many threads have some of the result: micro-tiles, or whole rows. What they read is not dealt
    /// with it.
    #[must_use]
    pub fn tiles_of(&self, threads: u32) -> Shares {
        let of = match self.method {
            Method::Openblas => Shares::even(self.micro_tiles(), threads),
            _ => self.rows_of(threads),
        };
        Shares { busiest: 1.0, ..of }
    }

    /// How the reading of panels is dealt: a thread's rows are its own.
    #[must_use]
    pub fn panels_of(&self, threads: u32) -> Shares {
        let most = self.gemm.m().div_ceil(threads.into()).div_ceil(self.rows_together());
        Shares::of(self.panels(threads.into()), self.rows_of(threads).threads, most)
    }

    /// Micro-tiles of the result. Rows and columns that fill no whole micro-kernel take as long as one.
    fn micro_tiles(&self) -> u64 {
        self.gemm.m().div_ceil(MICRO_ROWS).saturating_mul(self.gemm.n().div_ceil(MICRO_COLUMNS))
    }

    /// Bytes that the listing's inputs move to the core for one row of weights, or one row of blocks, and
    /// from where: every thread reads all of them.
    ///
    /// The panel of one vector's width stays where it fits; a line that holds more
    /// than the vector is fetched again for the next one unless the caches of the core hold
    /// the panel: its own, or its share of its cluster's, whose cores are each elsewhere in theirs.
    /// Blocks are as wide as lines.
    fn panel(&self, hierarchy: &Hierarchy<'_>, rates: &Rates) -> (Bytes, Found) {
        let (k, n, l1) = (self.gemm.k(), self.gemm.n(), hierarchy.cache.l1_bytes);
        let whole = k.saturating_mul(n).saturating_mul(4);
        if whole <= l1 {
            return (Bytes(0), rates.find_shared(Bytes(0)));
        }
        let found = rates.find_shared(Bytes(whole));
        if self.method == Method::Blocked {
            return (Bytes(whole), found);
        }
        let vector = u64::from(hierarchy.core.vlen_bits / 8 * self.lmul);
        // No line is fetched for more vectors than meet it, and no row of inputs has more.
        let meet = LINE_BYTES.div_ceil(vector).min(n.saturating_mul(4).div_ceil(vector));
        let own = l1.max(rates.chunk_l2.everywhere.0 / u64::from(rates.threads));
        let again = if k.saturating_mul(LINE_BYTES) <= own { 1 } else { meet };
        (Bytes(whole.saturating_mul(again)), found)
    }
}

/// Cycles of one step of Listing 4.2 on so many columns, on one core.
fn vector_step(core: &Core, lmul: u32, columns: u64) -> f64 {
    let mut machine = VectorMachine::<false>::new(core.vlen_bits, core.load_bits.get());
    machine.set(Sew::E32, lmul, usize::try_from(columns).expect("no more than a group holds"));
    let before = machine.counts;
    listing_step(&mut machine, &mut Floats::new(), (&[], 0), (&[], 0));
    let throughput = core.cycles(&(machine.counts - before)).total.as_f64();
    // One group of sums: each step waits for the one before it.
    throughput.max(f64::from(core.fma_latency_cycles))
}

/// The inner loop of Listing 4.2: loads a vector of inputs, multiplies it with one
/// weight, and adds.
fn listing_step<const EXECUTE: bool>(
    machine: &mut VectorMachine<EXECUTE>,
    sums: &mut Floats,
    weight: (&[f32], usize),
    input: (&[f32], usize),
) {
    let row = machine.load_floats(input.0, input.1);
    let weight = machine.load_float(weight.0, weight.1);
    machine.multiply_add(sums, weight, &row);
    machine.scalar(3);
}

/// Executes Listing 4.2 and counts: `result += weights x inputs`, all row-major, of
/// shape `m x k`, `k x n` and `m x n`.
///
/// # Panics
/// If a slice is shorter than its shape.
#[must_use]
pub fn listing(
    vlen_bits: u32,
    lmul: u32,
    shape: &Gemm,
    weights: &[f32],
    inputs: &[f32],
    result: &mut [f32],
) -> Counts {
    let side = |it: u64| usize::try_from(it).expect("a shape in memory");
    let (rows, shared, columns) = (side(shape.m()), side(shape.k()), side(shape.n()));
    let mut machine = VectorMachine::<true>::new(vlen_bits, 128);
    let vlmax = machine.vlmax(Sew::E32, lmul);
    for row in 0..rows {
        for column in (0..columns).step_by(vlmax) {
            machine.set(Sew::E32, lmul, vlmax.min(columns - column));
            let at = row * columns + column;
            let mut sums = machine.load_floats(result, at);
            for inner in 0..shared {
                let (weight, input) = ((weights, row * shared + inner), (inputs, inner * columns + column));
                listing_step(&mut machine, &mut sums, weight, input);
            }
            machine.store_floats(result, at, &sums);
        }
    }
    machine.counts
}

// Named in the classes' order, so that a change there is noticed here.
const _: () = assert!(Class::Fma as usize == super::vector::CLASSES - 1);
