//! The study `riscv.kernel`: one quantised product on one core.

use std::num::{NonZeroU32, NonZeroU64};

use memscape_dram::Dram;
use memscape_study::{
    Aim, Bound, Effect, Laws, Slot, Study, StudyError, When, either, faster, slower, unused,
};
use memscape_units::{Bytes, float};
use memscape_workload::{Gemm, GgmlType};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::laws::{GROUP, MEMORY, NEAR, NO_ENERGY, SLC, TILE, TILED};
use super::slots;
use crate::cost::cycles::CoreCycles;
use crate::cost::kernels::{Code, Compiler, Immediates, Kernel};
use crate::cost::memory::{Hierarchy, Level, Rates, check_room};
use crate::cost::vector::Counts;
use crate::hardware::{Cache, Controller, Core, DEFAULT_MACHINE, Distances, MACHINES, Numa};
use crate::mapping::placement::{Bind, Policy, place};
use crate::mapping::quant::{BLOCK, coded, input_type, matrix_bytes, stored_columns};
use crate::number::{count, long};

/// One quantised product on one core: instructions counted, cycles modelled.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KernelStudy {
    /// Which kernel
    pub kernel: Kernel,
    /// How the weights are stored
    #[serde(with = "coded")]
    #[schemars(schema_with = "coded::schema")]
    pub format: GgmlType,
    /// Rows of the matrix
    pub m: NonZeroU64,
    /// Its columns
    pub k: NonZeroU64,
    /// Vectors multiplied
    pub n: NonZeroU64,
    /// Matrices used in turn, so that the caches hold less of each
    pub matrices: NonZeroU32,
    /// Rows of a tile, of `simple` and `complex`
    #[schemars(range(min = 1, max = 8))]
    pub tile_rows: NonZeroU32,
    /// Blocks of a tile, of `simple` and `complex`
    #[schemars(range(min = 1, max = 8))]
    pub tile_blocks: NonZeroU32,
    /// Registers that a vector of bytes takes: 1, 2 or 4
    #[schemars(range(min = 1, max = 4))]
    pub lmul: u32,
    /// Whether small constants are part of the instruction
    pub immediates: Immediates,
    /// Who compiled the scalar code
    pub compiler: Compiler,
    /// One core
    pub core: Core,
    /// The caches
    pub cache: Cache,
    /// The NUMA nodes
    pub numa: Numa,
    /// The DRAM behind the nodes, a controller for each channel
    pub memory: Dram,
    /// The memory controllers
    pub controller: Controller,
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
    /// Waiting for weights, inputs and results, per block
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
    /// What the matrices, the vectors and the result take
    pub memory_bytes: u64,
    /// Where they must fit
    pub memory_limit_bytes: u64,
}

impl Default for KernelStudy {
    /// The thesis' fastest point: `complex`, 2048 x 2048 times one vector.
    fn default() -> Self {
        let machine = MACHINES.get(DEFAULT_MACHINE);
        Self {
            kernel: Kernel::Complex,
            format: GgmlType::Q4_0,
            m: long(2048),
            k: long(2048),
            n: long(1),
            matrices: count(2),
            tile_rows: count(2),
            tile_blocks: count(2),
            lmul: 1,
            immediates: Immediates::AsCompiled,
            compiler: Compiler::XuantieGcc10,
            core: machine.core,
            cache: machine.cache,
            numa: machine.numa,
            memory: machine.memory,
            controller: machine.controller,
        }
    }
}

impl KernelStudy {
    /// The kernel as it is compiled for the core.
    const fn compiled(&self) -> Code {
        Code {
            format: self.format,
            immediates: self.immediates,
            compiler: self.compiler,
            rows: self.tile_rows.get() as usize,
            blocks: self.tile_blocks.get() as usize,
            lmul: self.lmul,
            ..Code::on(self.kernel, &self.core)
        }
    }

    /// The kernel as it is compiled for the core, laid out as is faster there.
    #[must_use]
    pub fn code(&self) -> Code {
        let code = self.compiled();
        // Code that does not exist says so when it is counted.
        code.laid_out_for(&self.core).unwrap_or(code)
    }

    /// The vectors as the kernel takes them, and the result.
    fn vector_bytes(&self, gemm: &Gemm) -> u64 {
        let vector =
            u128::from(matrix_bytes(1, gemm.k(), input_type(self.format))) + 4 * u128::from(gemm.m());
        u64::try_from(vector * u128::from(gemm.n())).unwrap_or(u64::MAX)
    }

    /// The matrices, and what they are multiplied with and into.
    fn memory_bytes(&self, gemm: &Gemm) -> u64 {
        let matrix = matrix_bytes(gemm.m(), gemm.k(), self.format);
        matrix.saturating_mul(self.matrices.get().into()).saturating_add(self.vector_bytes(gemm))
    }

    const fn hierarchy(&self) -> Hierarchy<'_> {
        let Self { core, cache, numa, memory, controller, .. } = self;
        Hierarchy { core, cache, numa, memory, controller }
    }
}

/// What more of a parameter does.
/// Where vectors are.
const VECTORISED: &[When] = &[When::is_not("kernel", &["default"])];

const EFFECTS: &[&[Effect]] = &[
    &[
        slower("m"),
        slower("k"),
        slower("n"),
        slower("matrices"),
        unused("memory.energy.*", NO_ENERGY),
        either("tile_rows", TILE).only(TILED),
        either("tile_blocks", TILE).only(TILED),
        either("lmul", GROUP).only(VECTORISED),
        faster("core.vector_registers").only(TILED),
        faster("core.vlen_bits").only(VECTORISED),
        faster("core.load_bits").only(VECTORISED),
        slower("core.unaligned_load_slots").only(VECTORISED),
        slower("core.alu*").only(VECTORISED),
        slower("core.shift_cycles").only(VECTORISED),
        slower("core.multiply_cycles").only(VECTORISED),
        slower("core.reduce_cycles").only(VECTORISED),
        slower("core.move_cycles").only(VECTORISED),
        unused("core.fma*", "no kernel of these multiplies floats"),
        unused("core.pack_ns", "no kernel of these packs"),
        unused("cache.l1_bytes", "the second-level cache keeps up with the kernels"),
        unused("cache.cores_per_cluster", "one core has its cluster's cache"),
        either("numa.nodes", "each has fewer of the channels, and all have more system-level cache"),
        unused("numa.cores_per_node", "one core works"),
        unused("numa.distance*", "one core reads its own node"),
    ],
    NEAR,
    SLC,
    MEMORY,
];

impl Study for KernelStudy {
    const NAME: &'static str = "riscv.kernel";
    const SUMMARY: &'static str = "One quantised matrix product on one RISC-V core: instructions and cycles";
    type Answer = KernelAnswer;
    const SUMS: &'static [(&'static str, &'static [&'static str])] =
        &[("cycles_per_block", &["core_cycles_per_block", "memory_cycles"])];

    const LAWS: Laws = Laws { aim: Some(Aim::less("time_ns")), effects: EFFECTS, ..Laws::NONE };

    fn bounds(&self) -> Vec<Bound> {
        let operations = float(self.m.get()) * float(self.k.get()) * float(self.n.get());
        let least = operations / self.core.most_products_per_ns(self.lmul);
        let vectors =
            Gemm::new(self.m.get(), self.k.get(), self.n.get()).map_or(0, |it| self.vector_bytes(&it));
        // What a cache holds need not come from memory.
        let held = vectors <= self.cache.most_bytes(&self.numa, NonZeroU32::MIN);
        let peak = self.memory.peak_gb_s().as_f64();
        vec![
            Bound::at_least("time_ns", least, "multiply-accumulates over what the decoder lets through"),
            Bound::at_least(
                "time_ns",
                if held { 0.0 } else { float(vectors) / peak },
                "inputs and results that exceed every cache over the peak of all channels",
            ),
        ]
    }

    fn slots() -> Vec<Slot> {
        vec![slots::hardware(), slots::memory()]
    }

    fn answer(&self) -> Result<KernelAnswer, StudyError> {
        self.hierarchy().check()?;
        let gemm = Gemm::new(self.m.get(), self.k.get(), self.n.get())?;
        let row_blocks = stored_columns(gemm.k(), self.format).div_ceil(BLOCK as u64);
        let mut tiles = Vec::with_capacity(4);
        for (code, share) in self.compiled().tiles(&self.core, gemm.m(), row_blocks)? {
            let (counts, (rows, blocks)) = (code.per_tile()?, code.tile());
            tiles.push((counts, self.core.cycles(&counts), float((rows * blocks) as u64), share));
        }
        // Means over the matrix's blocks.
        let mean = |of: &dyn Fn(&Counts, &CoreCycles) -> f64| -> f64 {
            tiles.iter().map(|(counts, cycles, blocks, share)| of(counts, cycles) / blocks * share).sum()
        };
        let per_block = |of: fn(&Counts) -> u64| mean(&|counts, _| float(of(counts)));
        let core_cycles = mean(&|_, it| it.total.as_f64());

        // One core reads its own node, so that distances are none of its matters.
        let near = Numa { distances: Distances::LOCAL, ..self.numa };
        let placed = place(Policy::NoBalancing, 1, Bind::default(), &near, &self.cache)?;
        let rates = Rates::of(&placed, &self.hierarchy());
        let bytes = Bytes(matrix_bytes(gemm.m(), gemm.k(), self.format));
        let memory_bytes = self.memory_bytes(&gemm);
        check_room(memory_bytes, self.memory.capacity().0)?;
        let found = rates.find(Bytes(bytes.0.saturating_mul(self.matrices.get().into())));
        // The next pass over the same matrix finds what the caches kept of it.
        let again = float(self.kernel.passes(gemm.n()) - 1);
        let chunks = float(self.kernel.passes_of_chunks(gemm.n()));
        let weights = rates.read(bytes, found)
            + rates.read(bytes, rates.find(bytes)) * again
            + rates.read(bytes, rates.find_chunks(gemm.m(), bytes)) * chunks;
        // Inputs are there since they were quantised, and move once, as results do.
        let vectors = Bytes(self.vector_bytes(&gemm));
        let reading = weights + rates.read(vectors, rates.find(vectors));
        // What has no blocks is not padded to whole ones.
        let met = float(stored_columns(gemm.k(), self.format)) / float(BLOCK as u64);
        let products = float(gemm.m()) * met * float(gemm.n());
        let memory_cycles = reading.as_f64() / self.core.cycle().as_f64() / products;
        let total = core_cycles + memory_cycles;
        let time = self.core.cycle() * (total * products);
        Ok(KernelAnswer {
            gops: float(gemm.operations()) / time.as_f64(),
            time_ns: time.as_f64(),
            cycles_per_block: total,
            core_cycles_per_block: core_cycles,
            decode_cycles: mean(&|_, it| it.decode.as_f64()),
            arithmetic_cycles: mean(&|_, it| it.arithmetic.as_f64()),
            load_cycles: mean(&|_, it| it.load.as_f64()),
            memory_cycles,
            instructions: per_block(Counts::instructions),
            vector_instructions: per_block(Counts::vector_instructions),
            vset_instructions: per_block(|it| it.vset),
            loads: per_block(|it| it.scalar_loads + it.vector_loads),
            weight_bytes: per_block(|it| it.weight_bytes),
            activation_bytes: per_block(|it| it.activation_bytes),
            level: found.level,
            memory_bytes,
            memory_limit_bytes: self.memory.capacity().0,
        })
    }
}
