//! Products in single precision: OpenBLAS, and the thesis' vector SGEMM.

use std::num::{NonZeroU32, NonZeroU64};

use memscape_study::{PresetParameter, Study, StudyError};
use memscape_workload::{Gemm, ShapeError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cycles::float;
use crate::numa::{NumaError, Policy, place};
use crate::platform::{
    Cache, Core, DEFAULT_MACHINE, Dram, Numa, Os, OutOfRange, find_groups, machine_preset,
};
use crate::quant::{BLOCK, Quantisation};
use crate::reuse::{Level, Rates};
use crate::vector::{Class, Counts, Floats, Sew, VectorMachine};

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

/// Rows of OpenBLAS' micro-kernel for the C910V.
///
/// # Source
/// OpenBLAS, `KERNEL.C910V`: `sgemm_kernel_16x4_c910v.c`, with generic packing.
pub const MICRO_ROWS: u64 = 16;
/// Columns of OpenBLAS' micro-kernel for the C910V.
pub const MICRO_COLUMNS: u64 = 4;

/// A product `m x k x n` of weights and `n` vectors, on one or many cores.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GemmStudy {
    /// Rows of the weights
    pub m: NonZeroU64,
    /// Shared dimension
    pub k: NonZeroU64,
    /// Columns: vectors multiplied
    pub n: NonZeroU64,
    /// How the weights are stored; OpenBLAS needs them dequantised first
    pub quantisation: Quantisation,
    /// Who multiplies
    pub method: Method,
    /// Registers that a vector takes, of `listing` and `blocked`: 1, 2, 4 or 8
    pub lmul: u32,
    /// Threads
    pub threads: NonZeroU32,
    /// How threads and pages are kept to nodes
    pub policy: Policy,
    /// Nodes to bind to, for policies that bind; as few as hold the threads if null
    pub bind_nodes: Option<NonZeroU32>,
    /// One core
    pub core: Core,
    /// The caches
    pub cache: Cache,
    /// The NUMA nodes
    pub numa: Numa,
    /// The memory
    pub dram: Dram,
    /// Operating system and runtime
    pub os: Os,
}

/// What `riscv.gemm` answers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct GemmAnswer {
    /// Operations per second, two per multiply-accumulate
    pub gops: f64,
    /// Time of the product
    pub time_ns: f64,
    /// Dequantising the weights
    pub dequantise_ns: f64,
    /// Packing the weights
    pub pack_ns: f64,
    /// Multiplying
    pub multiply_ns: f64,
    /// Reading what the caches do not hold
    pub memory_ns: f64,
    /// What NUMA balancing adds
    pub balancing_ns: f64,
    /// Share of the vector unit's multiply-accumulate peak
    pub peak_share: f64,
}

/// Why there is no such product.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum GemmError {
    /// A group of registers that does not exist.
    #[error("`lmul` is {0}; it must be 1, 2, 4 or 8")]
    Lmul(u32),
    /// Not a register width.
    #[error("`core.vlen_bits` is {0}; it must be a power of two from 64 to 1024")]
    Vlen(u32),
    /// Code that takes single precision only.
    #[error(
        "`{0:?}` multiplies f32 weights; use `quantisation = \"f32\"`, or `method = \"openblas\"`, which dequantises"
    )]
    Quantised(Method),
    /// A shape beyond counting.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// Threads that cannot be placed.
    #[error(transparent)]
    Numa(#[from] NumaError),
    /// A number the model is not for.
    #[error(transparent)]
    OutOfRange(#[from] OutOfRange),
}

/// What of a machine a product meets.
const GROUPS: &[&str] = &["core", "cache", "numa", "dram", "os"];

impl Default for GemmStudy {
    /// Table 5.2's product on one core.
    fn default() -> Self {
        static BASELINE: std::sync::LazyLock<GemmStudy> = std::sync::LazyLock::new(|| {
            let mut tree =
                find_groups(DEFAULT_MACHINE, GROUPS).expect("the default machine is built in").parameters;
            let rest = serde_json::json!({
                "m": 4096, "k": 4096, "n": 128, "quantisation": "f32", "method": "openblas", "lmul": 4,
                "threads": 1, "policy": "no-balancing", "bind_nodes": null,
            });
            let table = tree.as_object_mut().expect("a machine is a table");
            table.extend(rest.as_object().expect("an object").clone());
            serde_json::from_value(tree).expect("the baseline is checked by tests")
        });
        *BASELINE
    }
}

/// Scalar instructions that dequantise one block, and what they move.
///
/// # Source
/// ggml's `dequantize_row_q4_0` and `dequantize_row_q8_0` as GCC 12.2 compiles them (-O3,
/// rv64gc): Q4_0 unrolled, 184 instructions; Q8_0 a loop, 234.
fn dequantise_counts(quantisation: Quantisation) -> Counts {
    let mut machine = VectorMachine::<false>::new(128, 128);
    let block = BLOCK as u64;
    match quantisation {
        Quantisation::Q4_0 => {
            // lbu; andi, srliw, two addiw, two fcvt, two fmul; two fsw
            for _ in 0..block / 2 {
                machine.scalar(8);
                machine.spill(1, 2);
            }
            machine.scalar(6);
            machine.spill(2, 0);
        }
        Quantisation::Q8_0 => {
            // lb; two addi, fcvt, fmul, bne; fsw
            for _ in 0..block {
                machine.scalar(5);
                machine.spill(1, 1);
            }
            machine.scalar(8);
            machine.spill(2, 0);
        }
        Quantisation::F16 => {
            // lhu, table; two addi, slli, add, bne; fsw
            for _ in 0..block {
                machine.scalar(5);
                machine.spill(2, 1);
            }
        }
        Quantisation::F32 => {}
    }
    machine.counts
}

/// Time of one core to dequantise one weight into memory.
pub(crate) fn dequantise_ns(core: &Core, quantisation: Quantisation) -> f64 {
    if quantisation == Quantisation::F32 {
        return 0.0;
    }
    let cycles = core.cycles(&dequantise_counts(quantisation)).total;
    let moved = float(quantisation.block_bytes() + Quantisation::F32.block_bytes());
    (cycles + moved / core.dram_bytes_per_cycle) * core.cycle_ns() / float(BLOCK as u64)
}

/// One step of OpenBLAS' micro-kernel along the shared dimension: 16 weights and
/// four inputs make 64 multiply-accumulates.
fn micro_step(core: &Core) -> Counts {
    let mut machine = VectorMachine::<false>::new(core.vlen_bits, core.load_bits.get());
    let lanes = machine.vlmax(Sew::E32, 1).min(16);
    machine.set(Sew::E32, 1, lanes);
    let before = machine.counts;
    for _ in 0..16 / lanes {
        machine.load_floats(&[], 0);
    }
    for _ in 0..MICRO_COLUMNS {
        let input = machine.load_float(&[], 0);
        for _ in 0..16 / lanes {
            machine.multiply_add(&mut Floats::new(), input, &Floats::new());
        }
    }
    machine.scalar(3);
    machine.counts - before
}

/// OpenBLAS' micro-kernel on one core: time per weight and [`MICRO_COLUMNS`] columns.
/// Fewer columns take as long.
pub(crate) fn openblas_ns(core: &Core) -> f64 {
    core.cycles(&micro_step(core)).total * core.cycle_ns() / float(MICRO_ROWS)
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

/// One step of SGEMV: a vector of weights and one of inputs, at LMUL 4.
fn gemv_step(core: &Core) -> (Counts, u64) {
    let mut machine = VectorMachine::<false>::new(core.vlen_bits, core.load_bits.get());
    let lanes = machine.vlmax(Sew::E32, 4);
    machine.set(Sew::E32, 4, lanes);
    let before = machine.counts;
    machine.load_floats(&[], 0);
    machine.load_floats(&[], 0);
    machine.multiply_add(&mut Floats::new(), 0.0, &Floats::new());
    machine.scalar(4);
    (machine.counts - before, lanes as u64)
}

impl GemmStudy {
    fn check(&self) -> Result<Gemm, GemmError> {
        self.core.check()?;
        self.os.check()?;
        let vlen = self.core.vlen_bits;
        if !vlen.is_power_of_two() || !(64..=1024).contains(&vlen) {
            return Err(GemmError::Vlen(vlen));
        }
        if ![1, 2, 4, 8].contains(&self.lmul) {
            return Err(GemmError::Lmul(self.lmul));
        }
        if matches!(self.method, Method::Listing | Method::Blocked) && self.quantisation != Quantisation::F32
        {
            return Err(GemmError::Quantised(self.method));
        }
        Ok(Gemm::new(self.m.get(), self.k.get(), self.n.get())?)
    }

    /// Bytes that the listing's inputs move to the core for one row of weights.
    ///
    /// The panel of one vector's width stays where it fits; a line that holds more
    /// than the vector is fetched again for the next one unless the panel fits the
    /// first-level cache.
    fn panel(&self, rates: &Rates) -> (u64, Level) {
        const LINE: u64 = 64;
        let (k, n) = (self.k.get(), self.n.get());
        let whole = k.saturating_mul(n).saturating_mul(4);
        if self.method == Method::Blocked || whole <= self.cache.l1_bytes {
            return (0, Level::L2);
        }
        let vector = u64::from(self.core.vlen_bits / 8 * self.lmul);
        let again = if k.saturating_mul(LINE) <= self.cache.l1_bytes { 1 } else { LINE.div_ceil(vector) };
        (whole.saturating_mul(again), rates.level(whole))
    }
}

impl Study for GemmStudy {
    const NAME: &'static str = "riscv.gemm";
    const SUMMARY: &'static str =
        "One product in single precision on the SG2042: OpenBLAS or vector code by LMUL";
    type Answer = GemmAnswer;

    fn presets() -> Vec<PresetParameter> {
        vec![PresetParameter { find: |name| find_groups(name, GROUPS), ..machine_preset() }]
    }

    fn answer(&self) -> Result<GemmAnswer, StudyError> {
        let gemm = self.check()?;
        let bind = self.bind_nodes.map(NonZeroU32::get);
        let placed = place(self.policy, self.threads.get(), bind, &self.numa, &self.cache)?;
        let rates = Rates::of(&placed, &self.core, &self.cache, &self.numa, &self.dram);
        let cores = f64::from(placed.active_cores);
        let weights = float(gemm.m()) * float(gemm.k());
        let cycle = self.core.cycle_ns();
        let f32_bytes = |elements: f64| elements * 4.0;
        let once = f32_bytes(weights) / rates.dram_gb_s;
        let (mut dequantise, mut pack, mut memory) = (0.0, 0.0, 0.0);
        if matches!(self.method, Method::Openblas | Method::OpenblasGemv) {
            dequantise = weights * dequantise_ns(&self.core, self.quantisation) / cores;
        }
        let multiply = match self.method {
            Method::Openblas => {
                pack = weights * self.core.pack_ns / cores;
                weights * openblas_ns(&self.core) * float(gemm.n().div_ceil(MICRO_COLUMNS)) / cores
            }
            Method::OpenblasGemv => {
                let (step, elements) = gemv_step(&self.core);
                memory = once * float(gemm.n());
                weights * float(gemm.n()) / float(elements) * self.core.cycles(&step).total * cycle / cores
            }
            Method::Listing | Method::Blocked => {
                let mut machine = VectorMachine::<false>::new(self.core.vlen_bits, self.core.load_bits.get());
                let lanes = machine.vlmax(Sew::E32, self.lmul);
                machine.set(Sew::E32, self.lmul, lanes);
                let before = machine.counts;
                listing_step(&mut machine, &mut Floats::new(), (&[], 0), (&[], 0));
                let throughput = self.core.cycles(&(machine.counts - before)).total;
                // One group of sums: each step waits for the one before it.
                let step = throughput.max(f64::from(self.core.fma_latency_cycles));
                let (bytes, level) = self.panel(&rates);
                memory = rates.read_ns(bytes, level) * float(gemm.m());
                weights * float(gemm.n().div_ceil(lanes as u64)) * step * cycle / cores
            }
        };
        let busy = dequantise + pack + multiply + memory;
        let balancing = busy * self.os.balancing_share(self.policy, &placed, &self.numa);
        let time = busy + balancing;
        let lanes = f64::from(self.core.vlen_bits / 32);
        let peak = cores * 2.0 * lanes / (self.core.fma_cycles * cycle);
        let gops = float(gemm.operations()) / time;
        Ok(GemmAnswer {
            gops,
            time_ns: time,
            dequantise_ns: dequantise,
            pack_ns: pack,
            multiply_ns: multiply,
            memory_ns: memory,
            balancing_ns: balancing,
            peak_share: gops / peak,
        })
    }
}

// Named in the classes' order, so that a change there is noticed here.
const _: () = assert!(Class::Fma as usize == crate::vector::CLASSES - 1);
