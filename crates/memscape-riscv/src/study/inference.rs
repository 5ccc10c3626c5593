//! The study `riscv.inference`: llama.cpp on all cores, prompt and reply.

use std::num::{NonZeroU32, NonZeroU64};

use memscape_study::{PresetParameter, Study, StudyError};
use memscape_workload::{Matrix, ModelName, Projections};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cycles::float;
use crate::gemm::{MICRO_COLUMNS, dequantise_ns, openblas_ns};
use crate::graph::Graph;
use crate::kernels::{Code, Immediates, Kernel, KernelError};
use crate::numa::{NumaError, Placed, Policy, place};
use crate::platform::{
    Cache, Core, DEFAULT_MACHINE, Dram, Numa, Os, OutOfRange, WeightPages, find_machine, machine_preset,
    within,
};
use crate::quant::{BLOCK, Quantisation};
use crate::reuse::Rates;
use crate::study::{TooLong, check_length};

/// llama.cpp on a many-core RISC-V machine: tokens per second of prompt and reply,
/// and where the time goes.
///
/// Computing, reading and synchronising add up: the kernels do not overlap with
/// their memory accesses.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InferenceStudy {
    /// Language model
    pub model: ModelName,
    /// Whether Q, K and V (and gate and up) are one matrix
    pub projections: Projections,
    /// How the weights are stored
    pub quantisation: Quantisation,
    /// Which kernel multiplies them
    pub kernel: Kernel,
    /// Rows of a tile, of `simple` and `complex`
    pub tile_rows: NonZeroU32,
    /// Blocks of a tile, of `simple` and `complex`
    pub tile_blocks: NonZeroU32,
    /// Registers that a vector of bytes takes: 1, 2 or 4
    pub lmul: u32,
    /// Whether small constants are part of the instruction
    pub immediates: Immediates,
    /// Cycles of the kernels' code relative to Clang 19's; the thesis prints no number
    /// that separates its compilers
    #[schemars(range(min = 0.01, max = 100.0), extend("unit" = "x"))]
    pub compiler_factor: f64,
    /// Threads
    pub threads: NonZeroU32,
    /// How threads and pages are kept to nodes
    pub policy: Policy,
    /// Nodes to bind to, for policies that bind; as few as hold the threads if null
    pub bind_nodes: Option<NonZeroU32>,
    /// Tokens of the prompt
    pub prompt_tokens: NonZeroU64,
    /// Tokens generated; the last one is not evaluated
    pub generated_tokens: NonZeroU64,
    /// Tokens of the warm-up; 0 without one
    pub warm_up_tokens: u64,
    /// Cells of the key-value cache (llama.cpp's `n_ctx`)
    #[schemars(extend("unit" = "cells"))]
    pub context_cells: NonZeroU64,
    /// Cells that the attended part of the cache is rounded up to
    #[schemars(extend("unit" = "cells"))]
    pub kv_padding: NonZeroU64,
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

/// What `riscv.inference` answers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct InferenceAnswer {
    /// Generated tokens per second, at the mean context of the reply
    pub generation_tokens_per_s: f64,
    /// Prompt tokens per second
    pub prompt_tokens_per_s: f64,
    /// Time of one generated token
    pub token_ns: f64,
    /// Multiplying with the weights, per token
    pub kernel_ns: f64,
    /// Reading weights, per token
    pub weights_ns: f64,
    /// Attention: computing and reading the cache, per token
    pub attention_ns: f64,
    /// Synchronising, per token
    pub sync_ns: f64,
    /// What NUMA balancing adds, per token
    pub balancing_ns: f64,
    /// What the token's time is mostly spent on
    pub bound_by: Bound,
    /// Matrix products, per token, as ggml's counters see them
    pub mul_mat_ns: f64,
    /// Share of matrix products in a token's time
    pub mul_mat_share: f64,
    /// Time of the prompt
    pub prompt_ns: f64,
    /// Multiplying with the weights, whole prompt
    pub prompt_kernel_ns: f64,
    /// Reading weights, whole prompt
    pub prompt_weights_ns: f64,
    /// Synchronising, whole prompt
    pub prompt_sync_ns: f64,
    /// Processor time of warm-up, prompt and reply: waiting threads spin
    pub task_clock_ms: f64,
    /// Page faults that cannot be avoided: the cache's pages, and the weights' if they
    /// are mapped lazily
    pub page_faults: u64,
    /// What all threads read from memory together
    pub bandwidth_gb_s: f64,
    /// Mean SLIT distance from threads to weights
    pub mean_distance: f64,
    /// Bytes of the weights that a token reads
    pub weight_bytes: u64,
}

/// What a token's time is mostly spent on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Bound {
    /// Kernels.
    Compute,
    /// Reading weights.
    Memory,
    /// Attention.
    Attention,
    /// Synchronising.
    Synchronisation,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum InferenceError {
    /// The cache is smaller than the conversation.
    #[error(
        "{prompt} prompt tokens and {generated} generated ones do not fit the {cells} cells of `context_cells`; raise it"
    )]
    Context {
        /// Tokens of the prompt.
        prompt: u64,
        /// Tokens generated.
        generated: u64,
        /// Cells there are.
        cells: u64,
    },
    /// No such kernel.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// Threads that cannot be placed.
    #[error(transparent)]
    Numa(#[from] NumaError),
    /// A number the model is not for.
    #[error(transparent)]
    OutOfRange(#[from] OutOfRange),
    /// A run too long to be counted.
    #[error(transparent)]
    TooLong(#[from] TooLong),
}

impl Default for InferenceStudy {
    /// Llama 2 7B in Q4_0 on 32 threads, pages interleaved, as in Fig. 5.11.
    fn default() -> Self {
        static BASELINE: std::sync::LazyLock<InferenceStudy> = std::sync::LazyLock::new(|| {
            let mut tree = find_machine(DEFAULT_MACHINE).expect("the default machine is built in").parameters;
            let rest = serde_json::json!({
                "model": "llama-2-7b", "projections": "separate", "quantisation": "q4_0", "kernel": "complex",
                "tile_rows": 2, "tile_blocks": 2, "lmul": 1, "immediates": "as-compiled", "compiler_factor": 1.0,
                "threads": 32, "policy": "interleave", "bind_nodes": null, "prompt_tokens": 10,
                "warm_up_tokens": 2, "context_cells": 512, "kv_padding": 32,
            });
            tree.as_object_mut()
                .expect("a machine is a table")
                .extend(rest.as_object().expect("an object").clone());
            serde_json::from_value(tree).expect("the baseline is checked by tests")
        });
        *BASELINE
    }
}

/// Time of one graph by cause.
#[derive(Debug, Clone, Copy, Default)]
struct Pass {
    kernel: f64,
    weights: f64,
    attention: f64,
    sync: f64,
}

impl Pass {
    const fn total(&self) -> f64 {
        self.kernel + self.weights + self.attention + self.sync
    }
}

/// What all graphs of a run share.
struct Machine {
    placed: Placed,
    rates: Rates,
    /// Time of one core per block and `columns` columns.
    block_ns: f64,
    /// Columns that take as long as one.
    columns: u64,
    /// Time of one core per block, whatever the columns: OpenBLAS' preparation.
    block_once_ns: f64,
    /// Time of one core per multiply-accumulate of attention.
    attention_ns: f64,
    graph: Graph,
    sync_point_ns: f64,
}

impl InferenceStudy {
    fn check(&self) -> Result<(), InferenceError> {
        self.core.check()?;
        self.os.check()?;
        within([("compiler_factor", self.compiler_factor, 0.01, 100.0)])?;
        let (prompt, generated) = (self.prompt_tokens.get(), self.generated_tokens.get());
        check_length(prompt.max(self.warm_up_tokens), generated)?;
        let cells = self.context_cells.get();
        // The last token is not evaluated, so it takes no cell.
        if prompt.max(self.warm_up_tokens).saturating_add(generated - 1) > cells {
            return Err(InferenceError::Context { prompt, generated, cells });
        }
        Ok(())
    }

    fn code(&self, kernel: Kernel, quantisation: Quantisation) -> Code {
        Code {
            kernel,
            quantisation,
            immediates: self.immediates,
            rows: self.tile_rows.get() as usize,
            blocks: self.tile_blocks.get() as usize,
            lmul: self.lmul,
            vlen_bits: self.core.vlen_bits,
            load_bits: self.core.load_bits.get(),
        }
    }

    /// Time of one core per block of a kernel.
    fn block_ns(&self, kernel: Kernel, quantisation: Quantisation) -> Result<f64, KernelError> {
        let code = self.code(kernel, quantisation);
        let (rows, blocks) = code.tile();
        let cycles = self.core.cycles(&code.per_tile()?).total;
        Ok(self.compiler_factor * cycles * self.core.cycle_ns() / float((rows * blocks) as u64))
    }

    fn machine(&self) -> Result<Machine, InferenceError> {
        let bind = self.bind_nodes.map(NonZeroU32::get);
        let placed = place(self.policy, self.threads.get(), bind, &self.numa, &self.cache)?;
        let rates = Rates::of(&placed, &self.core, &self.cache, &self.numa, &self.dram);
        let block = float(BLOCK as u64);
        let (block_ns, columns, block_once_ns) = match self.kernel {
            Kernel::Openblas => {
                let once = dequantise_ns(&self.core, self.quantisation) + self.core.pack_ns;
                (openblas_ns(&self.core) * block, MICRO_COLUMNS, once * block)
            }
            kernel => (self.block_ns(kernel, self.quantisation)?, 1, 0.0),
        };
        let products = self.model.layer_gemvs(self.projections).count() as u64;
        let oversubscribed = f64::from(placed.threads) / f64::from(placed.active_cores);
        Ok(Machine {
            placed,
            rates,
            block_ns,
            columns,
            block_once_ns,
            attention_ns: self.block_ns(Kernel::Default, Quantisation::F16)? / block,
            graph: Graph::of(&self.model, products),
            // Threads without a core of their own wait for their turn, too.
            sync_point_ns: self.os.sync_ns * f64::from(placed.threads) * oversubscribed,
        })
    }

    /// One graph: `tokens` columns, attending to `attended` cells on average.
    fn pass(&self, machine: &Machine, tokens: u64, attended: f64) -> Pass {
        let cores = f64::from(machine.placed.active_cores);
        let mut pass = Pass::default();
        let layers = u64::from(self.model.layers);
        let mut product = |rows: u64, columns: u64, tokens: u64, count: u64| {
            let blocks = rows * columns.div_ceil(BLOCK as u64);
            let bytes = blocks * self.quantisation.block_bytes();
            let per_block =
                machine.block_once_ns + machine.block_ns * float(tokens.div_ceil(machine.columns));
            pass.kernel += float(count) * float(blocks) * per_block / cores;
            // The first reading is from memory: the weights exceed every cache.
            let again = float(self.kernel.passes(tokens) - 1);
            let level = machine.rates.level(bytes);
            let read = float(bytes) / machine.rates.dram_gb_s + again * machine.rates.read_ns(bytes, level);
            pass.weights += float(count) * read;
        };
        for (matrix, gemv) in self.model.layer_gemvs(self.projections) {
            // After its attention, the last layer goes on with one row.
            let feed_forward =
                !matches!(matrix, Matrix::Qkv | Matrix::Q | Matrix::K | Matrix::V | Matrix::Out);
            if feed_forward && tokens > 1 {
                product(gemv.m(), gemv.k(), tokens, layers - 1);
                product(gemv.m(), gemv.k(), 1, 1);
            } else {
                product(gemv.m(), gemv.k(), tokens, layers);
            }
        }
        let [inwards, outwards, head] = self.outside_layers();
        for ((rows, columns), tokens) in [(inwards, tokens), (outwards, 1), (head, 1)] {
            product(rows, columns, tokens, u64::from(rows > 0));
        }
        // Scores and sums: every query head meets every attended cell twice.
        let cells = attended * float(layers);
        let macs = 2.0 * cells * float(self.model.q_size()) * float(tokens);
        let cache_bytes = 2.0 * cells * float(self.model.kv_size()) * 2.0;
        pass.attention = macs * machine.attention_ns / cores + cache_bytes / machine.rates.dram_gb_s;
        let syncs = machine.graph.other_syncs() + machine.graph.product_syncs();
        pass.sync = float(syncs) * machine.sync_point_ns;
        pass
    }

    /// Rows and columns of the projections in and out, which most models do not have,
    /// and of the language-model head.
    fn outside_layers(&self) -> [(u64, u64); 3] {
        let (hidden, embedding) = (u64::from(self.model.hidden_size), u64::from(self.model.embedding_size));
        let head = (u64::from(self.model.vocab_size), embedding);
        if self.model.projects_embedding() {
            [(hidden, embedding), (embedding, hidden), head]
        } else {
            [(0, 0), (0, 0), head]
        }
    }

    /// Cells attended to on average while the reply is generated.
    fn mean_attended(&self) -> f64 {
        let (prompt, padding) = (self.prompt_tokens.get(), self.kv_padding.get());
        let last = self.generated_tokens.get() - 1;
        if last == 0 {
            return float(prompt.saturating_add(1).div_ceil(padding).saturating_mul(padding));
        }
        // Sum of `ceil(used / padding)` over the used cells, in closed form.
        let steps = |to: u64| {
            let (whole, rest) = (to / padding, to % padding);
            padding * whole * (whole + 1) / 2 + rest * (whole + 1)
        };
        float(steps(prompt + last) - steps(prompt)) * float(padding) / float(last)
    }

    /// # Source
    /// Linux and llama.cpp (June 2024): the cache is cleared when it is made, which
    /// touches every page of it; the weights' mapping is populated at once.
    fn page_faults(&self) -> u64 {
        let page = u64::from(self.os.page_bytes.get());
        let elements = self.context_cells.get().saturating_mul(u64::from(self.model.layers));
        let cache = elements.saturating_mul(2 * 2 * self.model.kv_size());
        let weights = match self.os.weights {
            WeightPages::Populated => 0,
            WeightPages::Lazy => {
                let file = self.model.parameters() / BLOCK as u64 * self.quantisation.block_bytes();
                file.div_ceil(page * u64::from(self.os.fault_around_pages.get()))
            }
        };
        cache.div_ceil(page) + weights
    }

    /// Weights that one token reads.
    fn weight_bytes(&self) -> u64 {
        let blocks = |rows: u64, columns: u64| rows * columns.div_ceil(BLOCK as u64);
        let layer: u64 = self.model.layer_gemvs(self.projections).map(|it| blocks(it.1.m(), it.1.k())).sum();
        let rest: u64 = self.outside_layers().iter().map(|(rows, columns)| blocks(*rows, *columns)).sum();
        (u64::from(self.model.layers) * layer + rest) * self.quantisation.block_bytes()
    }
}

impl Study for InferenceStudy {
    const NAME: &'static str = "riscv.inference";
    const SUMMARY: &'static str =
        "llama.cpp on the many-core RISC-V SG2042: tokens per second over kernels, threads, NUMA";
    type Answer = InferenceAnswer;

    fn presets() -> Vec<PresetParameter> {
        vec![machine_preset()]
    }

    fn answer(&self) -> Result<InferenceAnswer, StudyError> {
        self.check()?;
        let machine = self.machine()?;
        let attended = |used: u64| float(used.div_ceil(self.kv_padding.get()) * self.kv_padding.get());
        let prompt_tokens = self.prompt_tokens.get();
        let token = self.pass(&machine, 1, self.mean_attended());
        let prompt = self.pass(&machine, prompt_tokens, attended(prompt_tokens));
        let warm_up = match self.warm_up_tokens {
            0 => 0.0,
            tokens => self.pass(&machine, tokens, attended(tokens)).total(),
        };
        let balancing = self.os.balancing_share(self.policy, &machine.placed, &self.numa);
        let slowed = |ns: f64| ns * (1.0 + balancing);
        let (token_ns, prompt_ns) = (slowed(token.total()), slowed(prompt.total()));
        let other_ns = slowed(float(machine.graph.other_syncs()) * machine.sync_point_ns);
        let causes = [
            (token.kernel, Bound::Compute),
            (token.weights, Bound::Memory),
            (token.attention, Bound::Attention),
            (token.sync, Bound::Synchronisation),
        ];
        let most = causes.into_iter().max_by(|a, b| a.0.total_cmp(&b.0));
        let evaluated = float(self.generated_tokens.get() - 1);
        let run_ns = slowed(warm_up) + prompt_ns + evaluated * token_ns;
        Ok(InferenceAnswer {
            generation_tokens_per_s: 1e9 / token_ns,
            prompt_tokens_per_s: float(prompt_tokens) * 1e9 / prompt_ns,
            token_ns,
            kernel_ns: token.kernel,
            weights_ns: token.weights,
            attention_ns: token.attention,
            sync_ns: token.sync,
            balancing_ns: token_ns - token.total(),
            bound_by: most.map_or(Bound::Compute, |it| it.1),
            mul_mat_ns: token_ns - other_ns,
            mul_mat_share: 1.0 - other_ns / token_ns,
            prompt_ns,
            prompt_kernel_ns: prompt.kernel,
            prompt_weights_ns: prompt.weights,
            prompt_sync_ns: prompt.sync,
            task_clock_ms: f64::from(machine.placed.active_cores) * run_ns * 1e-6,
            page_faults: self.page_faults(),
            bandwidth_gb_s: machine.rates.dram_gb_s,
            mean_distance: machine.placed.mean_distance,
            weight_bytes: self.weight_bytes(),
        })
    }
}
