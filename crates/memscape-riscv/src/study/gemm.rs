//! The study `riscv.gemm`: one product in single precision.

use std::num::{NonZeroU32, NonZeroU64};

use memscape_dram::{Dram, MEMORIES};
use memscape_study::{Slot, Study, StudyError};
use memscape_workload::{Format, Gemm, ShapeError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cost::memory::{Hierarchy, Rates};
use crate::cost::sgemm::{Method, Sgemm};
use crate::hardware::{
    Cache, Controller, Core, DEFAULT_MACHINE, DEFAULT_MEMORY, MACHINES, Numa, Os, OutOfRange,
};
use crate::mapping::placement::{NumaError, Policy, place};
use crate::mapping::quant::{NoCode, check_format};
use crate::number::{count, float, long};

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
    pub format: Format,
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
            format: Format::FP32,
            method: Method::Openblas,
            lmul: 4,
            threads: count(1),
            policy: Policy::NoBalancing,
            bind_nodes: None,
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
        self.core.check()?;
        self.controller.check()?;
        self.os.check()?;
        let vlen = self.core.vlen_bits;
        if !vlen.is_power_of_two() || !(64..=1024).contains(&vlen) {
            return Err(GemmError::Vlen(vlen));
        }
        if ![1, 2, 4, 8].contains(&self.lmul) {
            return Err(GemmError::Lmul(self.lmul));
        }
        check_format(self.format)?;
        let vector = matches!(self.method, Method::Listing | Method::Blocked);
        if vector && self.format != Format::FP32 {
            return Err(GemmError::Quantised(self.method));
        }
        let gemm = Gemm::new(self.m.get(), self.k.get(), self.n.get())?;
        Ok(Sgemm { gemm, format: self.format, method: self.method, lmul: self.lmul })
    }

    const fn hierarchy(&self) -> Hierarchy<'_> {
        let Self { core, cache, numa, memory, controller, .. } = self;
        Hierarchy { core, cache, numa, memory, controller }
    }
}

impl Study for GemmStudy {
    const NAME: &'static str = "riscv.gemm";
    const SUMMARY: &'static str =
        "One product in single precision on the SG2042: OpenBLAS or vector code by LMUL";
    type Answer = GemmAnswer;
    const SUMS: &'static [(&'static str, &'static [&'static str])] =
        &[("time_ns", &["dequantise_ns", "pack_ns", "multiply_ns", "memory_ns", "balancing_ns"])];

    fn slots() -> Vec<Slot> {
        vec![
            Slot::whole("hardware", &MACHINES, DEFAULT_MACHINE),
            Slot::part("memory", &MEMORIES, DEFAULT_MEMORY),
        ]
    }

    fn answer(&self) -> Result<GemmAnswer, StudyError> {
        let product = self.check()?;
        let bind = self.bind_nodes.map(NonZeroU32::get);
        let placed = place(self.policy, self.threads.get(), bind, &self.numa, &self.cache)?;
        let hierarchy = self.hierarchy();
        let cost = product.cost(placed.active_cores, &hierarchy, &Rates::of(&placed, &hierarchy));
        let balancing = cost.total() * placed.balancing_share(self.policy, &self.os, &self.numa);
        let time = cost.total() + balancing;
        let lanes = f64::from(self.core.vlen_bits / 32);
        let cycles = self.core.fma_cycles * self.core.cycle().as_f64();
        let peak = f64::from(placed.active_cores) * 2.0 * lanes / cycles;
        let gops = float(product.gemm.operations()) / time.as_f64();
        Ok(GemmAnswer {
            gops,
            time_ns: time.as_f64(),
            dequantise_ns: cost.dequantise.as_f64(),
            pack_ns: cost.pack.as_f64(),
            multiply_ns: cost.multiply.as_f64(),
            memory_ns: cost.memory.as_f64(),
            balancing_ns: balancing.as_f64(),
            peak_share: gops / peak,
        })
    }
}
