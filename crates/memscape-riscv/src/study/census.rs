//! The studies `riscv.census` and `riscv.kernel`.

use std::num::{NonZeroU32, NonZeroU64};

use memscape_study::{PresetParameter, Study, StudyError};
use memscape_workload::{Gemm, ModelName, Projections};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::census::{Census, OutputRows, Run};
use crate::cycles::float;
use crate::dispatch::{Criteria, shares};
use crate::kernels::{Code, Immediates, Kernel};
use crate::numa::{Policy, place};
use crate::platform::{Cache, Core, DEFAULT_MACHINE, Dram, Numa, find_groups, find_machine, machine_names};
use crate::quant::{BLOCK, Quantisation};
use crate::reuse::{Level, Rates};

/// The matrix products of a llama.cpp run, and who makes them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CensusStudy {
    /// Language model
    pub model: ModelName,
    /// Whether Q, K and V (and gate and up) are one matrix, as in Phi-3
    pub projections: Projections,
    /// How the weights are stored
    pub quantisation: Quantisation,
    /// Tokens of the prompt
    pub prompt_tokens: NonZeroU64,
    /// Tokens generated
    pub generated_tokens: NonZeroU64,
    /// How often the run is made, or each product logged
    pub repetitions: NonZeroU32,
    /// Tokens of the warm-up; 0 without one
    pub warm_up_tokens: u64,
    /// Cells that the attended part of the cache is rounded up to
    #[schemars(extend("unit" = "cells"))]
    pub kv_padding: NonZeroU64,
    /// Rows that the last layer computes after its attention
    pub output_rows: OutputRows,
    /// What is asked of a product before BLAS or the custom kernel may have it
    pub dispatch: Criteria,
}

/// What `riscv.census` answers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct CensusAnswer {
    /// Matrix products of the run
    pub products: u64,
    /// Different shapes among them
    pub shapes: u64,
    /// Share of products with one column: matrix-vector products
    pub vector_share: f64,
    /// Share of products with the warm-up's columns
    pub warm_up_share: f64,
    /// Share of products with the prompt's columns
    pub prompt_share: f64,
    /// Share made by BLAS
    pub blas_share: f64,
    /// Share made by the thesis' kernel
    pub custom_share: f64,
    /// Share made by llama.cpp's own code
    pub default_share: f64,
    /// Share kept from BLAS by a dimension alone
    pub dimension_only_share: f64,
    /// Share kept from BLAS by contiguity alone
    pub contiguity_only_share: f64,
    /// Share kept from BLAS by both
    pub dimension_and_contiguity_share: f64,
}

impl Default for CensusStudy {
    /// The run of Table 4.2.
    fn default() -> Self {
        let count = |it| NonZeroU64::new(it).expect("not zero");
        Self {
            model: "llama-2-7b".parse().expect("a built-in model"),
            projections: Projections::Separate,
            quantisation: Quantisation::Q4_0,
            prompt_tokens: count(6),
            generated_tokens: count(32),
            repetitions: NonZeroU32::new(3).expect("not zero"),
            warm_up_tokens: 2,
            kv_padding: count(32),
            output_rows: OutputRows::Last,
            dispatch: Criteria::default(),
        }
    }
}

impl CensusStudy {
    /// What llama.cpp is asked to do.
    #[must_use]
    pub const fn run(&self) -> Run {
        Run {
            prompt_tokens: self.prompt_tokens,
            generated_tokens: self.generated_tokens,
            repetitions: self.repetitions,
            warm_up_tokens: self.warm_up_tokens,
            kv_padding: self.kv_padding,
            output_rows: self.output_rows,
        }
    }
}

/// A run too long to be counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{prompt} prompt tokens and {generated} generated ones are not supported; together they may be 2^24")]
pub struct TooLong {
    prompt: u64,
    generated: u64,
}

/// # Errors
/// [`TooLong`] above what a census is for.
pub(crate) fn check_length(prompt: u64, generated: u64) -> Result<(), TooLong> {
    if prompt.saturating_add(generated) <= 1 << 24 { Ok(()) } else { Err(TooLong { prompt, generated }) }
}

impl Study for CensusStudy {
    const NAME: &'static str = "riscv.census";
    const SUMMARY: &'static str = "Which matrix products a llama.cpp run makes, and which code ggml chooses";
    type Answer = CensusAnswer;

    fn answer(&self) -> Result<CensusAnswer, StudyError> {
        check_length(self.prompt_tokens.get().max(self.warm_up_tokens), self.generated_tokens.get())?;
        let run = self.run();
        let census = Census::of(&self.model, self.projections, &run);
        let total = float(census.total());
        let columns = |columns: u64| {
            if columns == 0 { 0.0 } else { float(census.with_columns(columns)) / total }
        };
        let shares = shares(&self.model, self.projections, &run, self.quantisation, &self.dispatch);
        Ok(CensusAnswer {
            products: census.total(),
            shapes: census.by_shape().len() as u64,
            vector_share: columns(1),
            warm_up_share: columns(self.warm_up_tokens),
            prompt_share: columns(self.prompt_tokens.get()),
            blas_share: shares.blas,
            custom_share: shares.custom,
            default_share: shares.default,
            dimension_only_share: shares.dimension_only,
            contiguity_only_share: shares.contiguity_only,
            dimension_and_contiguity_share: shares.dimension_and_contiguity,
        })
    }
}

/// One quantised product on one core: instructions counted, cycles modelled.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KernelStudy {
    /// Which kernel
    pub kernel: Kernel,
    /// How the weights are stored
    pub quantisation: Quantisation,
    /// Rows of the matrix
    pub m: NonZeroU64,
    /// Its columns
    pub k: NonZeroU64,
    /// Vectors multiplied
    pub n: NonZeroU64,
    /// Matrices used in turn, so that the caches hold less of each
    pub matrices: NonZeroU32,
    /// Rows of a tile, of `simple` and `complex`
    pub tile_rows: NonZeroU32,
    /// Blocks of a tile, of `simple` and `complex`
    pub tile_blocks: NonZeroU32,
    /// Registers that a vector of bytes takes: 1, 2 or 4
    pub lmul: u32,
    /// Whether small constants are part of the instruction
    pub immediates: Immediates,
    /// One core
    pub core: Core,
    /// The caches
    pub cache: Cache,
    /// The NUMA nodes
    pub numa: Numa,
    /// The memory
    pub dram: Dram,
}

/// What `riscv.kernel` answers. "Per block" is per 32 weights and vector.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct KernelAnswer {
    /// Operations per second, two per multiply-accumulate
    pub gops: f64,
    /// Time of the product
    pub time_ns: f64,
    /// Cycles per block, memory included
    pub cycles_per_block: f64,
    /// Cycles per block with everything in the first-level cache
    pub core_cycles_per_block: f64,
    /// Decoding, per block
    pub decode_cycles: f64,
    /// Vector arithmetic, per block
    pub arithmetic_cycles: f64,
    /// Load pipe, per block
    pub load_cycles: f64,
    /// Waiting for weights, per block
    pub memory_cycles: f64,
    /// Instructions per block
    pub instructions: f64,
    /// Vector instructions per block, configuration left out
    pub vector_instructions: f64,
    /// Changes of the vector configuration per block
    pub vset_instructions: f64,
    /// Loads per block, scalar and vector
    pub loads: f64,
    /// Bytes of the matrix loaded per block
    pub weight_bytes: f64,
    /// Bytes of the vector loaded per block
    pub activation_bytes: f64,
    /// Where the matrix is when it is read
    pub level: Level,
}

impl Default for KernelStudy {
    /// The thesis' fastest point: `complex`, 2048 x 2048 times one vector.
    fn default() -> Self {
        static BASELINE: std::sync::LazyLock<KernelStudy> = std::sync::LazyLock::new(|| {
            let mut tree = find_groups(DEFAULT_MACHINE, KernelStudy::GROUPS)
                .expect("the default machine is built in")
                .parameters;
            let rest = serde_json::json!({
                "kernel": "complex", "quantisation": "q4_0", "m": 2048, "k": 2048, "n": 1, "matrices": 2,
                "tile_rows": 2, "tile_blocks": 2, "lmul": 1, "immediates": "as-compiled",
            });
            tree.as_object_mut()
                .expect("a machine is a table")
                .extend(rest.as_object().expect("an object").clone());
            serde_json::from_value(tree).expect("the baseline is checked by tests")
        });
        *BASELINE
    }
}

impl KernelStudy {
    const GROUPS: &'static [&'static str] = &["core", "cache", "numa", "dram"];

    /// The kernel as it is compiled for the core.
    #[must_use]
    pub fn code(&self) -> Code {
        Code {
            kernel: self.kernel,
            quantisation: self.quantisation,
            immediates: self.immediates,
            rows: self.tile_rows.get() as usize,
            blocks: self.tile_blocks.get() as usize,
            lmul: self.lmul,
            vlen_bits: self.core.vlen_bits,
            load_bits: self.core.load_bits.get(),
        }
    }
}

impl Study for KernelStudy {
    const NAME: &'static str = "riscv.kernel";
    const SUMMARY: &'static str = "One quantised matrix product on one RISC-V core: instructions and cycles";
    type Answer = KernelAnswer;

    fn presets() -> Vec<PresetParameter> {
        vec![PresetParameter {
            name: "machine",
            meaning: "Machine that fills `core`, `cache`, `numa` and `dram`",
            fills: "",
            default: DEFAULT_MACHINE,
            names: machine_names,
            find: |name| find_machine(name).and_then(|_| find_groups(name, KernelStudy::GROUPS)),
        }]
    }

    fn answer(&self) -> Result<KernelAnswer, StudyError> {
        self.core.check()?;
        let gemm = Gemm::new(self.m.get(), self.k.get(), self.n.get())?;
        let code = self.code();
        let counts = code.per_tile()?;
        let (rows, blocks) = code.tile();
        let per_block = |it: u64| float(it) / float((rows * blocks) as u64);
        let cycles = self.core.cycles(&counts);
        let core_cycles = cycles.total / float((rows * blocks) as u64);

        let placed = place(Policy::NoBalancing, 1, None, &self.numa, &self.cache)?;
        let rates = Rates::of(&placed, &self.core, &self.cache, &self.numa, &self.dram);
        let row_blocks = gemm.k().div_ceil(BLOCK as u64);
        let matrix_blocks = gemm.m() * row_blocks;
        let bytes = matrix_blocks * self.quantisation.block_bytes();
        let level = rates.level(bytes.saturating_mul(self.matrices.get().into()));
        // The next pass over the same matrix finds what the caches kept of it.
        let again = float(self.kernel.passes(gemm.n()) - 1);
        let memory_ns = rates.read_ns(bytes, level) + again * rates.read_ns(bytes, rates.level(bytes));
        let products = float(matrix_blocks) * float(gemm.n());
        let memory_cycles = memory_ns / self.core.cycle_ns() / products;
        let total = core_cycles + memory_cycles;
        let time = total * products * self.core.cycle_ns();
        Ok(KernelAnswer {
            gops: float(gemm.operations()) / time,
            time_ns: time,
            cycles_per_block: total,
            core_cycles_per_block: core_cycles,
            decode_cycles: cycles.decode / float((rows * blocks) as u64),
            arithmetic_cycles: cycles.arithmetic / float((rows * blocks) as u64),
            load_cycles: cycles.load / float((rows * blocks) as u64),
            memory_cycles,
            instructions: per_block(counts.instructions()),
            vector_instructions: per_block(counts.vector_instructions()),
            vset_instructions: per_block(counts.vset),
            loads: per_block(counts.scalar_loads + counts.vector_loads),
            weight_bytes: per_block(counts.weight_bytes),
            activation_bytes: per_block(counts.activation_bytes),
            level,
        })
    }
}
