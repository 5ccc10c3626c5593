//! The study `riscv.gemm`: one product in single precision.

use std::num::{NonZeroU32, NonZeroU64};

use memscape_dram::Dram;
use memscape_study::{
    Aim, Bound, Effect, Laws, Limit, OutOfRange, Slot, Study, StudyError, When, either, faster, slower,
    unused,
};
use memscape_units::float;
use memscape_workload::{Gemm, GgmlType, ShapeError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::laws::{BOUND, CLUSTERS, CORES, GROUP, MEMORY, NEAR, NO_ENERGY, NODES, SLC, VECTORS};
use super::slots;
use crate::cost::memory::{Hierarchy, HierarchyError, NoRoom, Rates, check_room, memory_limit};
use crate::cost::sgemm::{Method, Readers, Sgemm, Shares};
use crate::hardware::{Cache, Controller, Core, CoreList, DEFAULT_MACHINE, MACHINES, Numa, Os};
use crate::mapping::placement::{Bind, Nodes, NumaError, Policy, place};
use crate::mapping::quant::{NoCode, check_format, coded, matrix_bytes};
use crate::number::{count, long};

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
    #[serde(with = "coded")]
    #[schemars(schema_with = "coded::schema")]
    pub format: GgmlType,
    /// Who multiplies
    pub method: Method,
    /// Registers that a vector takes, of `listing` and `blocked`: 1, 2, 4 or 8
    #[schemars(range(min = 1, max = 8))]
    pub lmul: u32,
    /// Threads
    #[schemars(range(min = 1, max = 32768))]
    pub threads: NonZeroU32,
    /// How threads and pages are kept to nodes
    pub policy: Policy,
    /// Nodes to bind to, for policies that bind: so many, or a list of them; as few as
    /// hold the threads if null
    pub bind_nodes: Option<Nodes>,
    /// Cores to bind to in place of nodes, for policies that bind, as `numactl` lists them: `0-7,16-23`
    pub bind_cores: Option<CoreList>,
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
    /// Packing the inputs
    pub pack_inputs_ns: f64,
    /// Multiplying
    pub multiply_ns: f64,
    /// Reading and writing what the caches do not hold
    pub memory_ns: f64,
    /// What NUMA balancing adds
    pub balancing_ns: f64,
    /// Share of the vector unit's multiply-accumulate peak
    pub peak_share: f64,
    /// What the operands take
    pub memory_bytes: u64,
    /// Where they must fit
    pub memory_limit_bytes: u64,
}

/// Why there is no such product.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum GemmError {
    /// A group of registers that does not exist.
    #[error("`lmul` is {0}; it must be 1, 2, 4 or 8")]
    Lmul(u32),
    /// Groups that leave no room for sums and operands.
    #[error("two groups of `lmul` = {lmul} do not fit {registers} vector registers; use a lower `lmul`")]
    Registers {
        /// Registers of a group.
        lmul: u32,
        /// Registers there are.
        registers: u32,
    },
    /// Operands that the memory does not hold.
    #[error(transparent)]
    NoRoom(#[from] NoRoom),
    /// Not a register width.
    #[error("`core.vlen_bits` is {0}; it must be a power of two from 64 to 1024")]
    Vlen(u32),
    /// Code that takes single precision only.
    #[error(
        "`{0:?}` multiplies fp32 weights; use `format = \"fp32\"`, or `method = \"openblas\"`, which dequantises"
    )]
    Quantised(Method),
    /// A format that ggml does not dequantise.
    #[error(transparent)]
    Format(#[from] NoCode),
    /// A shape beyond counting.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// Threads that cannot be placed.
    #[error(transparent)]
    Numa(#[from] NumaError),
    /// Core, caches and memory that do not exist so.
    #[error(transparent)]
    Hierarchy(#[from] HierarchyError),
    /// A number the model is not for.
    #[error(transparent)]
    OutOfRange(#[from] OutOfRange),
}

impl Default for GemmStudy {
    /// Table 5.2's product on one core.
    fn default() -> Self {
        let machine = MACHINES.get(DEFAULT_MACHINE);
        Self {
            m: long(4096),
            k: long(4096),
            n: long(128),
            format: GgmlType::F32,
            method: Method::Openblas,
            lmul: 4,
            threads: count(1),
            policy: Policy::NoBalancing,
            bind_nodes: None,
            bind_cores: None,
            core: machine.core,
            cache: machine.cache,
            numa: machine.numa,
            memory: machine.memory,
            controller: machine.controller,
            os: machine.os,
        }
    }
}

impl GemmStudy {
    fn check(&self) -> Result<Sgemm, GemmError> {
        self.hierarchy().check()?;
        self.os.check()?;
        let vlen = self.core.vlen_bits;
        if !vlen.is_power_of_two() || !(64..=1024).contains(&vlen) {
            return Err(GemmError::Vlen(vlen));
        }
        if ![1, 2, 4, 8].contains(&self.lmul) {
            return Err(GemmError::Lmul(self.lmul));
        }
        let vector = matches!(self.method, Method::Listing | Method::Blocked);
        if vector && 2 * self.lmul > self.core.vector_registers.get() {
            return Err(GemmError::Registers {
                lmul: self.lmul,
                registers: self.core.vector_registers.get(),
            });
        }
        check_format(self.format)?;
        if vector && self.format != GgmlType::F32 {
            return Err(GemmError::Quantised(self.method));
        }
        let gemm = Gemm::new(self.m.get(), self.k.get(), self.n.get())?;
        Ok(Sgemm { gemm, format: self.format, method: self.method, lmul: self.lmul })
    }

    /// The weights, unpacked too if they are quantised, the inputs and the result.
    fn memory_bytes(&self, gemm: &Gemm) -> u64 {
        let (m, k, n) = (u128::from(gemm.m()), u128::from(gemm.k()), u128::from(gemm.n()));
        let stored = u128::from(matrix_bytes(gemm.m(), gemm.k(), self.format));
        let unpacked = if self.format == GgmlType::F32 { 0 } else { m * k };
        u64::try_from(stored + 4 * (unpacked + k * n + m * n)).unwrap_or(u64::MAX)
    }

    const fn hierarchy(&self) -> Hierarchy<'_> {
        let Self { core, cache, numa, memory, controller, .. } = self;
        Hierarchy { core, cache, numa, memory, controller }
    }
}

/// What more of a parameter does.
const OPENBLAS: &[When] = &[When::is("method", &["openblas"])];

const EFFECTS: &[&[Effect]] = &[
    &[
        slower("m"),
        slower("k"),
        slower("n"),
        either("lmul", GROUP).only(VECTOR),
        either("threads", "more cores compute, and close each other's rows of memory"),
        either("bind_nodes", "farther, and with more caches").only(BOUND),
        slower("core.fma_cycles"),
        slower("core.fma_latency_cycles").only(VECTOR),
        slower("core.pack_ns").only(OPENBLAS),
        faster("core.vector_registers").only(OPENBLAS),
        unused("core.unaligned_load_slots", FLOATS),
        unused("core.alu*", FLOATS),
        unused("core.shift_cycles", FLOATS),
        unused("core.multiply_cycles", FLOATS),
        unused("core.reduce_cycles", FLOATS),
        unused("core.move_cycles", FLOATS),
        faster("cache.l1_bytes").only(&[When::is("method", &["listing", "blocked"])]),
        either("cache.cores_per_cluster", CLUSTERS).only(&[When::above("threads", 1.0)]),
        either("numa.nodes", NODES),
        either("numa.cores_per_node", CORES),
        slower("numa.distance*"),
        unused("memory.energy.*", NO_ENERGY),
        unused("os.sync_ns", "one product has no one to wait for"),
        unused("os.page_bytes", "no column counts faults"),
        unused("os.fault_around_bytes", "no column counts faults"),
        unused("os.kept_stacks", "no column counts faults"),
        unused("os.stack_pages", "no column counts faults"),
        unused("os.vocabulary_entry_bytes", "no column counts faults"),
        slower("os.balancing_cost").only(&[When::is("policy", &["base"])]),
    ],
    NEAR,
    VECTORS,
    SLC,
    MEMORY,
];

/// Why a rate of the integer kernels is none of this study's.
const FLOATS: &str = "a product in single precision needs none";
/// Where vector code is the thesis'.
const VECTOR: &[When] = &[When::is("method", &["listing", "blocked"])];

impl Study for GemmStudy {
    const NAME: &'static str = "riscv.gemm";
    const SUMMARY: &'static str =
        "One product in single precision on the SG2042: OpenBLAS or vector code by LMUL";
    type Answer = GemmAnswer;
    const SUMS: &'static [(&'static str, &'static [&'static str])] = &[(
        "time_ns",
        &["dequantise_ns", "pack_ns", "pack_inputs_ns", "multiply_ns", "memory_ns", "balancing_ns"],
    )];

    const LAWS: Laws = Laws {
        aim: Some(Aim::less("time_ns")),
        effects: EFFECTS,
        limits: &[Limit { grow: &[("core.pack_ns", 1e-9)], vanish: &["pack_ns"] }],
        ..Laws::NONE
    };

    fn bounds(&self) -> Vec<Bound> {
        let operations = float(self.m.get()) * float(self.k.get()) * float(self.n.get());
        // No code works on more registers at once than the widest group has.
        let rate = f64::from(self.threads.get()) * self.core.most_products_per_ns(8) / 4.0;
        let product = Gemm::new(self.m.get(), self.k.get(), self.n.get());
        let weights = product.map_or(0, |it| matrix_bytes(it.m(), it.k(), self.format));
        let vectors = (float(self.m.get()) + float(self.k.get())) * float(self.n.get()) * 4.0;
        let (operands, caches) = (float(weights) + vectors, self.cache.most_bytes(&self.numa, self.threads));
        // What a cache holds need not come from memory.
        let moved = if operands > float(caches) { operands } else { 0.0 };
        let peak = self.memory.peak_gb_s().as_f64();
        vec![
            Bound::at_least(
                "time_ns",
                operations / rate,
                "multiply-accumulates over what the decoders let through",
            ),
            Bound::at_least("time_ns", float(weights) / peak, "all weights over the peak of all channels"),
            Bound::at_least(
                "time_ns",
                moved / peak,
                "operands that exceed every cache over the peak of all channels",
            ),
        ]
    }

    fn slots() -> Vec<Slot> {
        vec![slots::hardware(), slots::memory()]
    }

    fn answer(&self) -> Result<GemmAnswer, StudyError> {
        let product = self.check()?;
        let bind = Bind { nodes: self.bind_nodes, cores: self.bind_cores };
        let placed = place(self.policy, self.threads.get(), bind, &self.numa, &self.cache)?;
        let limit = memory_limit(&self.memory, &self.numa, &placed);
        check_room(self.memory_bytes(&product.gemm), limit)?;
        let hierarchy = self.hierarchy();
        let of_some = bind.of_some(self.policy, placed.threads, &self.numa);
        let rates = |Shares { threads, busiest }| {
            place(self.policy, threads, of_some, &self.numa, &self.cache)
                .map(|it| Rates::of(&it, &hierarchy).where_busiest_has(busiest))
        };
        let readers = Readers {
            rows: rates(product.rows_of(placed.threads))?,
            tiles: rates(product.tiles_of(placed.threads))?,
            panels: rates(product.panels_of(placed.threads))?,
        };
        let cost = product.cost(placed.threads, &hierarchy, &readers);
        let balancing = cost.total() * placed.balancing_share(self.policy, &self.os, &self.numa);
        let time = cost.total() + balancing;
        let lanes = f64::from(self.core.vlen_bits / 32);
        let cycles = self.core.fma_cycles * self.core.cycle().as_f64();
        let peak = f64::from(placed.threads) * 2.0 * lanes / cycles;
        let gops = float(product.gemm.operations()) / time.as_f64();
        Ok(GemmAnswer {
            gops,
            time_ns: time.as_f64(),
            dequantise_ns: cost.dequantise.as_f64(),
            pack_ns: cost.pack.as_f64(),
            pack_inputs_ns: cost.pack_inputs.as_f64(),
            multiply_ns: cost.multiply.as_f64(),
            memory_ns: cost.memory.as_f64(),
            balancing_ns: balancing.as_f64(),
            peak_share: gops / peak,
            memory_bytes: self.memory_bytes(&product.gemm),
            memory_limit_bytes: limit,
        })
    }
}
