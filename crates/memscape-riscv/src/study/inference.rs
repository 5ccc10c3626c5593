//! The study `riscv.inference`: llama.cpp on all cores, prompt and reply.

use std::num::{NonZeroU32, NonZeroU64};

use memscape_dram::Dram;
use memscape_study::{
    Aim, Bound, BoundBy, Breakdown, Effect, Energy, EnergyColumns, EnergyPart, Exception, Headline, Laws,
    OperatorCost, OutOfRange, Pass, Recorder, Served, Slot, Study, StudyError, When, either, faster, lowers,
    neutral, raises, slower, unused, within,
};
use memscape_units::{Bytes, Nanoseconds, UnitError, Watts, float};
use memscape_workload::{AS_STACKED, FileType, GgmlType, MODELS, Matrix, Model, Projections};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::laws::{
    BOUND, CLUSTERS, CORES, GROUP, KERNEL_RATES, MEMORY, NEAR, NODES, SLC, TILE, TILED, VECTORS,
};
use super::slots;
use crate::cost::faults::{Touched, page_faults};
use crate::cost::kernels::{Code, Compiler, Immediates, Kernel, KernelError};
use crate::cost::memory::{Hierarchy, HierarchyError, Wait, bytes_per_line, memory_limit, rows_opened};
use crate::cost::pass::{Crew, GraphCost, GraphPart, Software, TooSlow, is_experts, outside_layers};
use crate::cost::timeline;
use crate::hardware::{
    Cache, Controller, Core, CoreList, DEFAULT_MACHINE, LINE_BYTES, MACHINES, Machine, Numa, Os,
    check_package,
};
use crate::mapping::census::{TooLong, check_length};
use crate::mapping::conversation::{Conversation, Graphs};
use crate::mapping::dispatch::{Build, Path};
use crate::mapping::graph::Graph;
use crate::mapping::placement::{Bind, Nodes, NumaError, Policy, place};
use crate::mapping::quant::{FILE_FORMAT, FILE_KERNEL, FormatError, check_stored, file_bytes, matrix_bytes};
use crate::number::{count, long};

/// llama.cpp on a many-core RISC-V machine: tokens per second of prompt and reply,
/// and where the time goes.
///
/// Computing, reading and synchronising add up: the kernels do not overlap with
/// their memory accesses; one thread makes `q8_0` or `fp16` of inputs. A step multiplies
/// the weights with one column of each sequence of the batch; how often that reads them is the kernel's choice. Each
/// sequence attends to its own cells.
///
/// # Source
/// llama.cpp of June 2024, the thesis', keeps all cells of every layer and multiplies with all of them; where a
/// model attends through a sliding window (Gemma 3, Phi-3), it masks those outside. So does this study. Later ones
/// keep no more than the window.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InferenceStudy {
    /// Language model
    pub model: Model,
    /// Whether Q, K and V (and gate and up) are one matrix; as in the model's files (one in Phi-3 and Falcon) unless
    /// given
    pub projections: Projections,
    /// File of llama.cpp's quantiser: how most weights are stored, and by its rule the others, such as the
    /// language-model head; as a GGUF file is, if it is one of these, unless given
    pub format: FileType,
    /// Which kernel multiplies them where BLAS does not; `openblas` gives it every
    /// product, as the thesis did by leaving out ggml's checks. What of a file a kernel is not written for is llama.cpp's
    /// own code's, as all of a GGUF file is that is not of `q4_0`, unless given
    pub kernel: Kernel,
    /// How ggml is built, and what it asks of a product before BLAS may have it
    pub dispatch: Build,
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
    /// Who compiled llama.cpp's scalar code
    pub compiler: Compiler,
    /// Cycles of the kernels' code relative to those counted
    #[schemars(range(min = 0.01, max = 100.0), extend("unit" = "x"))]
    pub compiler_factor: f64,
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
    /// Tokens of each prompt
    #[schemars(range(min = 1, max = 16_777_216))]
    pub prompt_tokens: NonZeroU64,
    /// Tokens generated of each sequence. llama.cpp does not evaluate the last one, and `task_clock_ms` leaves it
    /// out; prompt and reply have a step for each, as on all machines
    #[schemars(range(min = 1, max = 16_777_216))]
    pub generated_tokens: NonZeroU64,
    /// Sequences at once: their prompts are one batch, and each step is one token of all
    #[schemars(range(min = 1, max = 65_536))]
    pub batch: NonZeroU32,
    /// Tokens of the warm-up; 0 without one
    pub warm_up_tokens: u64,
    /// Cells of the key-value cache of all sequences (llama.cpp's `n_ctx`); null for as many as they take
    #[schemars(extend("unit" = "cells"))]
    pub context_cells: Option<NonZeroU64>,
    /// Cells that the attended part of the cache is rounded up to, as far as it has them
    #[schemars(extend("unit" = "cells"))]
    pub kv_padding: NonZeroU64,
    /// Most columns of one graph (llama.cpp's `n_ubatch`)
    pub ubatch_tokens: NonZeroU64,
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
    /// What the processor's package takes at most; null for what a source rates it at, if it is not changed
    #[schemars(with = "Option<f64>", range(min = 0.001, max = 1e9))]
    pub package_w: Option<Watts>,
}

/// What `riscv.inference` answers. A step is one token of each sequence.
///
/// As in every system, `total_s` takes a step for each generated token; llama.cpp does not
/// evaluate the last one, and `task_clock_ms` leaves it out.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct InferenceAnswer {
    /// What all systems answer; a step at the mean context of the reply
    #[serde(flatten)]
    pub headline: Headline,
    /// Multiplying with the weights, per step
    pub kernel_ns: f64,
    /// Reading weights, per step
    pub weights_ns: f64,
    /// Attention: computing and reading the cache, per step
    pub attention_ns: f64,
    /// Synchronising, per step
    pub synchronisation_ns: f64,
    /// What NUMA balancing adds, per step
    pub balancing_ns: f64,
    /// Matrix products, per step, as ggml's counters see them
    pub mul_mat_ns: f64,
    /// Share of matrix products in a step's time
    pub mul_mat_share: f64,
    /// Multiplying with the weights, whole prompt
    pub prompt_kernel_s: f64,
    /// Reading weights, whole prompt
    pub prompt_weights_s: f64,
    /// Attention: computing and reading the cache, whole prompt
    pub prompt_attention_s: f64,
    /// Synchronising, whole prompt
    pub prompt_synchronisation_s: f64,
    /// What NUMA balancing adds, whole prompt
    pub prompt_balancing_s: f64,
    /// Processor time of warm-up, prompt and reply: waiting threads spin
    pub task_clock_ms: f64,
    /// Page faults at least: the cache's pages, buffers, vocabulary and the stacks of new threads, and the weights'
    /// if they are mapped lazily
    pub page_faults: u64,
    /// Bandwidth at which all threads together read what no cache has
    pub bandwidth_gb_s: f64,
    /// Mean SLIT distance from threads to weights
    pub mean_distance: f64,
    /// Bytes of the weights that a token meets
    pub weight_bytes: u64,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum InferenceError {
    /// The cache is smaller than the conversation.
    #[error(
        "{prompt} prompt tokens and {generated} generated ones{} do not fit the {cells} cells of `context_cells`; raise it to \
         {needed} at least",
        if *batch == 1 { String::new() } else { format!(" of each of {batch} sequences") }
    )]
    Context {
        /// Sequences.
        batch: u64,
        /// Tokens of the prompt.
        prompt: u64,
        /// Tokens generated.
        generated: u64,
        /// Cells there are.
        cells: u64,
        /// Cells that would do.
        needed: u64,
    },
    /// The cache is smaller than the warm-up.
    #[error(
        "the {warm_up} tokens of `warm_up_tokens` do not fit the {cells} cells of `context_cells`; use fewer, or raise it \
         to {needed} at least"
    )]
    WarmUp {
        /// Tokens of the warm-up.
        warm_up: u64,
        /// Cells there are.
        cells: u64,
        /// Cells that would do, for prompts and replies too.
        needed: u64,
    },
    /// A model and a cache that the memory does not hold.
    #[error(
        "the weights and the graphs' buffers take {} and the key-value cache {}, but the memory that the threads may \
         use has {}: {} are missing; use a smaller model or format, fewer tokens, `ubatch_tokens` or `context_cells`{}, or more \
         `memory.rows`, `memory.banks_per_channel` or `memory.channels`",
        Bytes(*weights), Bytes(*cache), Bytes(*limit), Bytes(weights.saturating_add(*cache) - limit),
        match bound {
            Some(nodes) => format!(", `policy` = \"bind-cores\" or {nodes}"),
            None => String::new(),
        }
    )]
    Memory {
        /// Bytes of the weights, of attention's scores, and of what BLAS dequantises weights into.
        weights: u64,
        /// Bytes of the cache.
        cache: u64,
        /// Bytes there are.
        limit: u64,
        /// What binds the run to more nodes, if their memory is not all that there is.
        bound: Option<&'static str>,
    },
    /// A kernel that is not written for most of a mixture.
    #[error(
        "the kernel `{}` is not written for {main}, which most of a file of {file} is; use `kernel` = \"default\"",
        kernel.name()
    )]
    Unwritten {
        /// The kernel.
        kernel: Kernel,
        /// The file.
        file: FileType,
        /// The type of most of it.
        main: GgmlType,
    },
    /// No such kernel.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// Threads that cannot be placed.
    #[error(transparent)]
    Numa(#[from] NumaError),
    /// Core, caches and memory that do not exist so.
    #[error(transparent)]
    Hierarchy(#[from] HierarchyError),
    /// A number the model is not for.
    #[error(transparent)]
    OutOfRange(#[from] OutOfRange),
    /// A format without code, or without such a matrix.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// A run too long to be counted.
    #[error(transparent)]
    TooLong(#[from] TooLong),
    /// A graph too long to be timed.
    #[error(transparent)]
    TooSlow(#[from] TooSlow),
}

impl Default for InferenceStudy {
    /// Llama 2 7B in Q4_0 on 32 threads, pages interleaved, as in Fig. 5.11.
    fn default() -> Self {
        let machine = MACHINES.get(DEFAULT_MACHINE);
        Self {
            model: Model::named(DEFAULT_MODEL).expect("a built-in model"),
            projections: Projections::Separate,
            format: FileType::Q4_0,
            kernel: Kernel::Complex,
            dispatch: Build::default(),
            tile_rows: count(2),
            tile_blocks: count(2),
            lmul: 1,
            immediates: Immediates::AsCompiled,
            compiler: Compiler::Clang19,
            compiler_factor: 1.0,
            threads: count(32),
            policy: Policy::Interleave,
            bind_nodes: None,
            bind_cores: None,
            prompt_tokens: long(10),
            generated_tokens: long(32),
            batch: count(1),
            warm_up_tokens: 2,
            context_cells: Some(long(512)),
            kv_padding: long(32),
            ubatch_tokens: long(512),
            core: machine.core,
            cache: machine.cache,
            numa: machine.numa,
            memory: machine.memory,
            controller: machine.controller,
            os: machine.os,
            package_w: machine.package_w,
        }
    }
}

/// The model of the thesis.
const DEFAULT_MODEL: &str = "llama-2-7b";

impl InferenceStudy {
    /// What is given of the processor's package, or else published of it: of one that was changed nothing is,
    /// whatever runs on it.
    fn rated_w(&self) -> Option<f64> {
        let Self { core, cache, numa, memory, controller, .. } = *self;
        let of = |it: &Machine| Machine { core, cache, numa, memory, controller, os: it.os, package_w: None };
        let published = || MACHINES.same(of)?.facts.get("package_w")?.as_f64();
        self.package_w.map(Watts::as_f64).or_else(published)
    }

    fn check(&self) -> Result<Conversation, InferenceError> {
        self.hierarchy().check()?;
        self.os.check()?;
        check_package(self.package_w)?;
        within([("compiler_factor", self.compiler_factor, 0.01, 100.0)])?;
        // What a kernel is written for is said where its code is counted.
        check_stored(self.format, &self.model, self.projections)?;
        let (prompt, generated) = (self.prompt_tokens.get(), self.generated_tokens.get());
        let (batch, warm_up, cells) = (u64::from(self.batch.get()), self.warm_up_tokens, self.cells());
        check_length(prompt.saturating_mul(batch), generated.saturating_mul(batch))?;
        check_length(warm_up, 0)?;
        let needed = self.least_cells();
        if warm_up > cells {
            return Err(InferenceError::WarmUp { warm_up, cells, needed });
        }
        if needed > cells {
            return Err(InferenceError::Context { batch, prompt, generated, cells, needed });
        }
        Ok(Conversation {
            warm_up_tokens: warm_up,
            prompt_tokens: prompt,
            generated_tokens: generated,
            batch,
            cells,
            kv_padding: self.kv_padding,
            ubatch_tokens: self.ubatch_tokens,
        })
    }

    const fn hierarchy(&self) -> Hierarchy<'_> {
        let Self { core, cache, numa, memory, controller, .. } = self;
        Hierarchy { core, cache, numa, memory, controller }
    }

    const fn code(&self) -> Code {
        Code {
            format: self.format.main(),
            immediates: self.immediates,
            compiler: self.compiler,
            rows: self.tile_rows.get() as usize,
            blocks: self.tile_blocks.get() as usize,
            lmul: self.lmul,
            ..Code::on(self.kernel, &self.core)
        }
    }

    fn crew(&self, run: &Conversation) -> Result<Crew, InferenceError> {
        let bind = Bind { nodes: self.bind_nodes, cores: self.bind_cores };
        let placed = place(self.policy, self.threads.get(), bind, &self.numa, &self.cache)?;
        let software = Software {
            code: self.code(),
            file: self.format,
            compiler_factor: self.compiler_factor,
            build: self.dispatch,
        };
        let main = self.format.main();
        let unwritten = matches!(self.code().check(), Err(KernelError::Unsupported { .. }));
        if unwritten && FileType::MIXTURES.contains(&self.format) {
            return Err(InferenceError::Unwritten { kernel: self.kernel, file: self.format, main });
        }
        let balancing = placed.balancing_share(self.policy, &self.os, &self.numa);
        let crew = Crew::new(
            placed,
            software,
            &self.types(),
            Bytes(self.matrix_bytes()),
            &self.hierarchy(),
            self.os.sync_ns,
            balancing,
        )?;
        let (weights, cache) = (self.bytes_beside_cache(&software, run), self.cache_bytes());
        let limit = memory_limit(&self.memory, &self.numa, &placed);
        let nodes = if bind.cores.is_some() { "`bind_cores` on more nodes" } else { "more `bind_nodes`" };
        let bound = (placed.memory_nodes < self.numa.nodes.get()).then_some(nodes);
        if weights.saturating_add(cache) > limit {
            return Err(InferenceError::Memory { weights, cache, limit, bound });
        }
        Ok(crew)
    }

    /// The file, what BLAS dequantises the largest matrix into, and attention's scores.
    fn bytes_beside_cache(&self, software: &Software, run: &Conversation) -> u64 {
        let file = file_bytes(&self.model, self.format);
        file.saturating_add(self.copy_bytes(software, run)).saturating_add(self.score_bytes(run))
    }

    /// What BLAS dequantises the largest matrix that it gets into, by the columns that each is multiplied with.
    fn copy_bytes(&self, software: &Software, run: &Conversation) -> u64 {
        let columns = |matrix| match matrix {
            Matrix::ProjectOut | Matrix::LmHead => run.most_outputs(),
            _ => run.most_columns(),
        };
        self.format
            .matrices(&self.model, self.projections)
            // Experts are not for BLAS.
            .filter(|(matrix, _, kind, _)| *kind != GgmlType::F32 && !is_experts(&self.model, *matrix))
            .map(|(matrix, shape, kind, _)| (kind, [shape.m(), shape.k()], columns(matrix)))
            .filter(|(kind, shape, columns)| software.path(*kind, *shape, *columns, false) == Path::Blas)
            .map(|(_, [rows, shared], _)| matrix_bytes(rows, shared, GgmlType::F32))
            .max()
            .unwrap_or(0)
    }

    /// Attention scores of the largest graph, all heads of one layer, in single precision.
    ///
    /// # Source
    /// llama.cpp (June 2024), `llm_build_kqv`: keys times queries make a tensor in single precision, soft-max takes
    /// its place, and layers take turns. It makes room for a graph of `ubatch_tokens` columns at a full cache, and
    /// for activations and logits, which are left out.
    fn score_bytes(&self, run: &Conversation) -> u64 {
        run.most_scores().saturating_mul(u64::from(self.model.heads) * 4)
    }

    /// Cells that prompts and replies take. The last token is not evaluated, so it takes none.
    fn conversation_cells(&self) -> u64 {
        let each = self.prompt_tokens.get().saturating_add(self.generated_tokens.get() - 1);
        each.saturating_mul(self.batch.get().into())
    }

    /// Cells that do for all: the warm-up's are free again when it is over.
    fn least_cells(&self) -> u64 {
        self.conversation_cells().max(self.warm_up_tokens)
    }

    /// Cells of the cache.
    fn cells(&self) -> u64 {
        let taken = || {
            let most = self.least_cells();
            most.checked_next_multiple_of(self.kv_padding.get()).unwrap_or(u64::MAX)
        };
        self.context_cells.map_or_else(taken, NonZeroU64::get)
    }

    /// Bytes of the key-value cache, in half precision: all cells, as llama.cpp makes it.
    fn cache_bytes(&self) -> u64 {
        let elements = self.cells().saturating_mul(u64::from(self.model.layers));
        elements.saturating_mul(2 * 2 * self.model.kv_size())
    }

    /// What the memory takes for a graph that takes so long; none where nothing is known of it.
    fn energy(&self, crew: &Crew, graph: &GraphCost, time: Nanoseconds) -> Option<Energy> {
        let meter = self.memory.meter()?;
        let streams = f64::from(crew.placed.threads) / self.hierarchy().controllers(&crew.placed);
        let run = float(LINE_BYTES) / rows_opened(&self.memory, streams);
        let mut moved = meter.stream(graph.read_bytes, graph.written_bytes, run);
        // A burst longer than a line moves what nobody asked for, too, of the rows that are open anyway.
        let per_byte = bytes_per_line(&self.memory) / float(LINE_BYTES);
        for part in [EnergyPart::Access, EnergyPart::Io] {
            moved[part] = moved[part] * per_byte;
        }
        Some(moved + meter.idle(time, true))
    }

    fn touched(&self, crew: &Crew, run: &Conversation) -> Touched {
        let prompts = run.warm_up().into_iter().chain(run.prompt());
        let in_prompts: u64 = prompts.map(|it| it.count).sum();
        Touched {
            file_bytes: file_bytes(&self.model, self.format),
            cache_bytes: self.cache_bytes(),
            buffer_bytes: self.score_bytes(run).saturating_add(self.copy_bytes(&crew.software, run)),
            vocabulary: self.model.vocab_size.into(),
            threads: self.threads.get().into(),
            graphs: in_prompts.saturating_add(run.step_graphs()),
        }
    }

    /// Weights that one token meets.
    fn weight_bytes(&self) -> u64 {
        let met = |matrix| if is_experts(&self.model, matrix) { self.model.active_ffn_count() } else { 1 };
        let all = |matrix| if is_experts(&self.model, matrix) { self.model.ffn_count() } else { 1 };
        let matrices = self.format.matrices(&self.model, self.projections);
        matrices
            .map(|(matrix, shape, kind, count)| {
                count / all(matrix) * met(matrix) * matrix_bytes(shape.m(), shape.k(), kind)
            })
            .sum()
    }

    /// Types of its matrices.
    fn types(&self) -> Vec<GgmlType> {
        let mut types: Vec<_> = self.format.matrices(&self.model, self.projections).map(|it| it.2).collect();
        types.sort_unstable();
        types.dedup();
        types
    }

    /// All matrices, those of every expert too.
    fn matrix_bytes(&self) -> u64 {
        let matrices = self.format.matrices(&self.model, self.projections);
        matrices.map(|(_, shape, kind, count)| count * matrix_bytes(shape.m(), shape.k(), kind)).sum()
    }

    /// Prompt and token, operator by operator.
    ///
    /// # Errors
    /// As of the study.
    pub fn operators(&self) -> Result<Vec<OperatorCost>, StudyError> {
        let run = self.check()?;
        let crew = self.crew(&run)?;
        let peak = self.memory.peak_gb_s().as_f64();
        let rate = self.most_products_per_ns();
        let mut costs = Vec::new();
        for (pass, graphs) in [(Pass::Prompt, run.prompt()), (Pass::Token, run.mean_step())] {
            for it in crew.operators(&self.model, self.projections, &graphs) {
                // What a cache holds need not come from memory; keys and values do.
                let attends = it.name.starts_with("attention");
                let moved = if attends { 1.0 } else { crew.rates.share_from_memory(crew.weights) };
                let reading = moved * it.bytes / peak;
                let least = Nanoseconds::new((it.macs / rate).max(reading))?;
                let cost = it.cost;
                let parts = [
                    ("kernel", cost.kernel),
                    ("weights", cost.weights),
                    ("attention", cost.attention),
                    ("cache", cost.cache),
                    ("synchronisation", cost.synchronisation),
                    ("balancing", cost.total() * crew.balancing),
                ];
                costs.push(OperatorCost::new(pass, it.name, least, parts));
            }
        }
        Ok(costs)
    }

    /// Multiply-accumulates that the decoders let through, on all threads.
    fn most_products_per_ns(&self) -> f64 {
        let rate = f64::from(self.threads.get()) * self.core.most_products_per_ns(self.lmul.max(4));
        rate / self.compiler_factor.min(1.0)
    }

    fn record(&self, recorder: &mut dyn Recorder) -> Result<(), StudyError> {
        let conversation = self.check()?;
        timeline::record(&self.crew(&conversation)?, &self.model, self.projections, &conversation, recorder);
        Ok(())
    }
}

/// What a step is mostly spent on, NUMA balancing aside, which slows everything alike: computing, reading or
/// synchronising, and where that is reading, what of it takes longest. To pack while one reads is reading.
///
/// * `wait`: for what is read from memory
fn bound_by(step: &GraphCost, wait: Wait) -> BoundBy {
    let longest = |of: [(Nanoseconds, BoundBy); 3]| {
        of.into_iter()
            .max_by(|a, b| a.0.as_f64().total_cmp(&b.0.as_f64()))
            .map_or(BoundBy::Compute, |it| it.1)
    };
    let from_memory = step.weights - step.cached_weights + step.cache + step.packed_in_reading;
    let from_caches = step.cached_weights + step.packed_from_caches;
    let behind_others = from_memory * (1.0 - wait.on_the_way);
    let [by_controllers, by_ports] =
        if wait.at_ports { [Nanoseconds::ZERO, behind_others] } else { [behind_others, Nanoseconds::ZERO] };
    let reading = longest([
        (by_controllers, BoundBy::DramBandwidth),
        (from_memory * wait.on_the_way, BoundBy::DramLatency),
        (from_caches + by_ports, BoundBy::CacheBandwidth),
    ]);
    longest([
        (step.kernel - step.packed_in_reading - step.packed_from_caches + step.attention, BoundBy::Compute),
        (from_memory + from_caches, reading),
        (step.synchronisation, BoundBy::Synchronisation),
    ])
}

fn total(breakdown: &Breakdown<GraphPart>) -> Result<Nanoseconds, UnitError> {
    Nanoseconds::new(breakdown.total().as_ns())
}

/// Where ggml's own rule breaks the law.
const BLAS: &[Exception] = &[Exception {
    when: When::is("dispatch.blas", &["true"]),
    reason: "ggml hands products of 32 columns on to BLAS, faster or not (Listing 4.3)",
}];
/// What the least number of columns is a matter of.
const LEAST: &str = "BLAS is faster or slower than ggml's own code";
/// Where there is a least number.
const WITH_BLAS: &[When] = &[When::is("dispatch.blas", &["true"]), When::is_not("kernel", &["openblas"])];

/// What more of a parameter does.
const EFFECTS: &[&[Effect]] = &[
    &[
        slower("prompt_tokens").except(BLAS),
        slower("generated_tokens"),
        neutral("memory.energy.*"),
        unused("memory.energy.bank_share.*", "nothing computes in the memory"),
        neutral("package_w"),
        slower("batch").except(BLAS),
        faster("warm_up_tokens"),
        slower("context_cells"),
        either("kv_padding", "multiples of one number are not those of another"),
        either("ubatch_tokens", "larger graphs read weights less often, smaller ones attend to fewer cells"),
        either("tile_rows", TILE).only(TILED),
        either("tile_blocks", TILE).only(TILED),
        either("lmul", GROUP).only(&[When::is("kernel", &["vector", "simple", "complex"])]),
        slower("compiler_factor"),
        either("threads", "more cores compute, close each other's rows of memory and wait for each other"),
        either("bind_nodes", "farther, and with more caches").only(BOUND),
        either("dispatch.min_columns", LEAST).only(WITH_BLAS),
        slower("core.fma_cycles"),
        unused("core.fma_latency_cycles", "OpenBLAS has sums enough to hide it"),
        slower("core.pack_ns"),
        faster("core.vector_registers"),
        unused("cache.l1_bytes", "the second-level cache keeps up with the kernels"),
        either("cache.cores_per_cluster", CLUSTERS),
        either("numa.nodes", NODES),
        either("numa.cores_per_node", CORES),
        slower("numa.distance*"),
        neutral("os.page_bytes"),
        neutral("os.fault_around_bytes").only(&[When::is("os.weights", &["lazy"])]),
        neutral("os.kept_stacks").only(&[When::is("os.pool_life", &["graph"])]),
        neutral("os.stack_pages"),
        neutral("os.vocabulary_entry_bytes"),
        slower("os.sync_ns"),
        slower("os.balancing_cost").only(&[When::is("policy", &["base"])]),
    ],
    NEAR,
    VECTORS,
    KERNEL_RATES,
    SLC,
    MEMORY,
];

impl Study for InferenceStudy {
    const NAME: &'static str = "riscv.inference";
    const SUMMARY: &'static str =
        "llama.cpp on the many-core RISC-V SG2042: tokens per second over kernels, threads, NUMA";
    type Answer = InferenceAnswer;
    const SUMS: &'static [(&'static str, &'static [&'static str])] = &[
        ("token_ns", &["kernel_ns", "weights_ns", "attention_ns", "synchronisation_ns", "balancing_ns"]),
        (
            "ttft_s",
            &[
                "prompt_kernel_s",
                "prompt_weights_s",
                "prompt_attention_s",
                "prompt_synchronisation_s",
                "prompt_balancing_s",
            ],
        ),
        EnergyColumns::SUM,
    ];
    const LAWS: Laws = Laws {
        aim: Some(Aim::less("total_s")),
        effects: EFFECTS,
        trends: &[&[
            raises("memory.energy.*", "energy_j"),
            raises("memory.energy.*", "energy_high_j"),
            lowers("memory.trefi_ns", "energy_refresh_j"),
            raises("generated_tokens", "energy_j"),
            raises("package_w", "energy_package_limit_j"),
        ]],
        ..Laws::NONE
    };
    const TIMELINE: Option<fn(&Self, &mut dyn Recorder) -> Result<(), StudyError>> = Some(Self::record);
    const OPERATORS: Option<fn(&Self) -> Result<Vec<OperatorCost>, StudyError>> = Some(Self::operators);

    fn bounds(&self) -> Vec<Bound> {
        let peak = self.memory.peak_gb_s();
        // What a cache holds need not come from memory.
        let held = self.matrix_bytes() <= self.cache.most_bytes(&self.numa, self.threads);
        let read = if held { 0.0 } else { peak.time_of(Bytes(self.weight_bytes())).as_f64() };
        let why = "weights that exceed every cache over the peak of all channels";
        let rate = self.most_products_per_ns();
        let layer: u64 = self.model.layer_gemvs(self.projections).map(|it| it.1.macs()).sum();
        let rest: u64 = outside_layers(&self.model).iter().map(|it| it.0 * it.1).sum();
        let weights = float(u64::from(self.model.layers) * layer + rest);
        let step = weights * f64::from(self.batch.get()) / rate;
        // The last layer's feed-forward and the head meet one column of a prompt.
        let whole_layers = float(u64::from(self.model.layers - 1)) * float(layer);
        let columns = float(self.prompt_tokens.get()) * f64::from(self.batch.get());
        let prompt = whole_layers * columns / rate;
        vec![
            Bound::at_least("token_ns", read, why),
            Bound::at_least("ttft_s", read * 1e-9, why),
            Bound::at_least("ttft_s", prompt * 1e-9, "multiply-accumulates of all layers but the last"),
            Bound::at_least("token_ns", step, "multiply-accumulates over what the decoders let through"),
            Bound::at_most("bandwidth_gb_s", peak.as_f64(), "the peak of all channels"),
            Bound::at_most("memory_bytes", float(self.memory.capacity().0), "the memory"),
        ]
    }

    fn slots() -> Vec<Slot> {
        vec![
            slots::hardware(),
            slots::memory(),
            Slot::part("model", &MODELS, DEFAULT_MODEL).implying(&[FILE_FORMAT, FILE_KERNEL, AS_STACKED]),
        ]
    }

    fn answer(&self) -> Result<InferenceAnswer, StudyError> {
        let run = self.check()?;
        let crew = self.crew(&run)?;
        let pass = |graphs: &[Graphs]| crew.pass(&self.model, self.projections, graphs);
        let (mean_step, whole_prompt) = (pass(&run.mean_step()), pass(&run.prompt()));
        let step = mean_step.breakdown(crew.balancing)?;
        let prompt = whole_prompt.breakdown(crew.balancing)?;
        let (prompt_time, step_time) = (total(&prompt)?, total(&step)?);
        let energies =
            self.energy(&crew, &whole_prompt, prompt_time).zip(self.energy(&crew, &mean_step, step_time));
        let headline = Headline::of(&Served {
            prompt_tokens: run.prompt_tokens,
            generated_tokens: run.generated_tokens,
            batch: run.batch,
            prompt: prompt_time,
            step: step_time,
            memory_bytes: self.bytes_beside_cache(&crew.software, &run).saturating_add(self.cache_bytes()),
            memory_limit_bytes: Some(memory_limit(&self.memory, &self.numa, &crew.placed)),
            bound_by: bound_by(&mean_step, crew.rates.dram_wait),
            energy: energies.map(<[_; 2]>::from),
            package_w: self.rated_w(),
            cost_usd: None,
        });
        let slowed = 1.0 + crew.balancing;
        let graph = Graph::of(&self.model, self.projections);
        let graphs: u64 = run.mean_step().iter().map(|it| it.count).sum();
        let others = crew.meet(graph.other_syncs() * graphs).total().as_f64() * slowed;
        let warm_up = pass(&run.warm_up()).total().as_f64() * slowed;
        let run_ns = warm_up + prompt.total().as_ns() + float(run.steps()) * headline.token_ns;
        let prompt_s = |part| float(prompt[part].0) / 1e12;
        Ok(InferenceAnswer {
            headline,
            kernel_ns: step.ns(GraphPart::Kernel),
            weights_ns: step.ns(GraphPart::Weights),
            attention_ns: step.ns(GraphPart::Attention),
            synchronisation_ns: step.ns(GraphPart::Synchronisation),
            balancing_ns: step.ns(GraphPart::Balancing),
            mul_mat_ns: headline.token_ns - others,
            mul_mat_share: 1.0 - others / headline.token_ns,
            prompt_kernel_s: prompt_s(GraphPart::Kernel),
            prompt_weights_s: prompt_s(GraphPart::Weights),
            prompt_attention_s: prompt_s(GraphPart::Attention),
            prompt_synchronisation_s: prompt_s(GraphPart::Synchronisation),
            prompt_balancing_s: prompt_s(GraphPart::Balancing),
            task_clock_ms: f64::from(crew.placed.threads) * run_ns * 1e-6,
            page_faults: page_faults(&self.os, &self.touched(&crew, &run)),
            bandwidth_gb_s: crew.rates.from_memory().as_f64(),
            mean_distance: crew.placed.mean_distance,
            weight_bytes: self.weight_bytes(),
        })
    }
}
