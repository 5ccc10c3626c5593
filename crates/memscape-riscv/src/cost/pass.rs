//! What graphs cost: passes of some columns through the model.

use std::ops::Range;

use memscape_study::{Breakdown, parts};
use memscape_units::{Bytes, Nanoseconds, float};
use memscape_workload::operators::ATTENTION;
use memscape_workload::{FileType, Gemv, GgmlType, Llm, Matrix, Projections};

use super::kernels::{Code, Kernel, KernelError, count_halve, count_inputs};
use super::memory::{Found, Hierarchy, Level, Rates};
use super::openblas::{MICRO_COLUMNS, MICRO_ROWS, dequantise, micro_kernel, pack_input};
use crate::hardware::Core;
use crate::mapping::census::Shape;
use crate::mapping::conversation::{Columns, Graphs};
use crate::mapping::dispatch::{Build, Criteria, Path, Product, dispatch};
use crate::mapping::graph::{Graph, SYNCS_PER_PRODUCT, follows_attention};
use crate::mapping::placement::Placed;
use crate::mapping::quant::{BLOCK, input_type, matrix_bytes, stored_columns};

parts! {
    /// What the time of a graph is spent on.
    pub enum GraphPart {
        /// Multiplying with the weights
        Kernel = "kernel",
        /// Reading weights
        Weights = "weights",
        /// Attention: computing and reading the cache
        Attention = "attention",
        /// Synchronising
        Synchronisation = "synchronisation",
        /// What NUMA balancing adds
        Balancing = "balancing",
    }
}

/// The time of a graph, or of one of its operations, by cause. The causes add up: the
/// kernels do not overlap with their memory accesses.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GraphCost {
    /// Multiplying with the weights.
    pub kernel: Nanoseconds,
    /// What of that packs where reading what it packs from memory takes longer.
    pub packed_in_reading: Nanoseconds,
    /// The same where caches deliver it.
    pub packed_from_caches: Nanoseconds,
    /// Reading weights.
    pub weights: Nanoseconds,
    /// What of that caches deliver.
    pub cached_weights: Nanoseconds,
    /// Attention: computing.
    pub attention: Nanoseconds,
    /// Attention: reading the cache.
    pub cache: Nanoseconds,
    /// Synchronising.
    pub synchronisation: Nanoseconds,
    /// Bytes read from memory.
    pub read_bytes: f64,
    /// Bytes written to it.
    pub written_bytes: f64,
}

impl GraphCost {
    /// Nothing yet.
    pub const ZERO: Self = Self {
        kernel: Nanoseconds::ZERO,
        packed_in_reading: Nanoseconds::ZERO,
        packed_from_caches: Nanoseconds::ZERO,
        weights: Nanoseconds::ZERO,
        cached_weights: Nanoseconds::ZERO,
        attention: Nanoseconds::ZERO,
        cache: Nanoseconds::ZERO,
        synchronisation: Nanoseconds::ZERO,
        read_bytes: 0.0,
        written_bytes: 0.0,
    };

    /// This, and another so often.
    #[must_use]
    pub fn and(self, other: Self, times: u64) -> Self {
        let other = other.share(float(times));
        Self {
            kernel: self.kernel + other.kernel,
            packed_in_reading: self.packed_in_reading + other.packed_in_reading,
            packed_from_caches: self.packed_from_caches + other.packed_from_caches,
            weights: self.weights + other.weights,
            cached_weights: self.cached_weights + other.cached_weights,
            attention: self.attention + other.attention,
            cache: self.cache + other.cache,
            synchronisation: self.synchronisation + other.synchronisation,
            read_bytes: self.read_bytes + other.read_bytes,
            written_bytes: self.written_bytes + other.written_bytes,
        }
    }

    /// So much of it.
    #[must_use]
    pub fn share(self, of: f64) -> Self {
        Self {
            kernel: self.kernel * of,
            packed_in_reading: self.packed_in_reading * of,
            packed_from_caches: self.packed_from_caches * of,
            weights: self.weights * of,
            cached_weights: self.cached_weights * of,
            attention: self.attention * of,
            cache: self.cache * of,
            synchronisation: self.synchronisation * of,
            read_bytes: self.read_bytes * of,
            written_bytes: self.written_bytes * of,
        }
    }

    /// All of it, before NUMA balancing slows it down.
    #[must_use]
    pub fn total(&self) -> Nanoseconds {
        self.kernel + self.weights + (self.attention + self.cache) + self.synchronisation
    }

    /// The causes in whole picoseconds, slowed down by `balancing` of the time.
    ///
    /// # Errors
    /// [`TooSlow`] beyond the clock of whole picoseconds.
    pub fn breakdown(&self, balancing: f64) -> Result<Breakdown<GraphPart>, TooSlow> {
        let total = self.total();
        let added = total * balancing;
        if (total + added).as_f64() > LONGEST_NS {
            return Err(TooSlow { days: (total + added).as_f64() / 86_400e9 });
        }
        Ok([
            (GraphPart::Kernel, self.kernel),
            (GraphPart::Weights, self.weights),
            (GraphPart::Attention, self.attention + self.cache),
            (GraphPart::Synchronisation, self.synchronisation),
            (GraphPart::Balancing, added),
        ]
        .into_iter()
        .map(|(part, time)| (part, time.to_picoseconds()))
        .collect())
    }
}

/// Half of what a clock of 64 bits can tell.
const LONGEST_NS: f64 = 9e15;

/// A graph longer than a clock.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error("one pass through the model takes {days:.0} days; at most 104 are modelled: ask for fewer tokens")]
pub struct TooSlow {
    /// How long it takes.
    pub days: f64,
}

/// One way to multiply a weight matrix.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Work {
    /// Which kernel multiplies.
    pub kernel: Kernel,
    /// Time of one core per block and so many columns.
    pub block: Nanoseconds,
    /// Rows that take as long as any fewer.
    pub rows: u64,
    /// Columns that take as long as one.
    pub columns: u64,
    /// Time of one core to dequantise a block, whatever the columns.
    pub dequantise: Nanoseconds,
    /// Time of one core to pack a block.
    pub pack: Nanoseconds,
    /// Time of one core to pack an input.
    pub pack_input: Nanoseconds,
    /// Bytes per block of the copy that dequantising writes to memory and packing reads back.
    pub copied: u64,
}

impl Work {
    /// OpenBLAS: dequantises, packs, then multiplies four columns at a time.
    fn blas(core: &Core, kind: GgmlType) -> Self {
        let weights = float(BLOCK as u64);
        Self {
            kernel: Kernel::Openblas,
            block: micro_kernel(core) * weights,
            rows: MICRO_ROWS,
            columns: MICRO_COLUMNS,
            dequantise: dequantise(core, kind) * weights,
            pack: core.pack_ns * weights,
            pack_input: pack_input(core),
            copied: if kind == GgmlType::F32 { 0 } else { 4 * BLOCK as u64 },
        }
    }

    /// Code on quantised blocks, at `factor` times the counted cycles.
    fn of(kernel: &Code, core: &Core, factor: f64) -> Result<Self, KernelError> {
        let (rows, blocks) = kernel.tile();
        let cycles = core.cycles(&kernel.laid_out_for(core)?.per_tile()?).total.as_f64();
        let block = core.cycle() * (factor * cycles) / float((rows * blocks) as u64);
        let none = Nanoseconds::ZERO;
        Ok(Self {
            kernel: kernel.kernel,
            block,
            rows: 1,
            columns: 1,
            dequantise: none,
            pack: none,
            pack_input: none,
            copied: 0,
        })
    }
}

/// The ways to multiply with weights of one type.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ways {
    /// The type.
    pub kind: GgmlType,
    /// The code that is asked for, or llama.cpp's own where that is not written for the type.
    code: Code,
    /// OpenBLAS.
    blas: Work,
    /// The thesis' kernels.
    custom: Work,
    /// What is left for everything else: llama.cpp's own code, or `vector` in its place.
    default: Work,
    /// Time per input to make what the weights are multiplied with of it: one thread does it for all.
    convert: Nanoseconds,
}

impl Ways {
    fn of(kind: GgmlType, core: &Core, software: &Software) -> Result<Self, KernelError> {
        let (asked, factor) = (Code { format: kind, ..software.code }, software.compiler_factor);
        let own = Code { kernel: Kernel::Default, ..asked };
        let written = asked.kernel == Kernel::Openblas || asked.check().is_ok();
        let taken = if written { asked } else { own };
        let blas = Work::blas(core, kind);
        let custom = if taken.kernel == Kernel::Openblas { blas } else { Work::of(&taken, core, factor)? };
        let default = match taken.kernel {
            Kernel::Default | Kernel::Vector => custom,
            _ => Work::of(&own, core, factor)?,
        };
        let (counts, inputs) = count_inputs(asked.compiler, input_type(kind));
        let convert = core.cycle() * (factor * core.cycles(&counts).total.as_f64()) / float(inputs);
        Ok(Self { kind, code: taken, blas, custom, default, convert })
    }
}

/// How ggml is built and compiled for a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Software {
    /// The code for products that BLAS does not get, for the type of most weights; `openblas` if it gets all.
    pub code: Code,
    /// How the weights are stored.
    pub file: FileType,
    /// Cycles of that code relative to those counted.
    pub compiler_factor: f64,
    /// With BLAS or without.
    pub build: Build,
}

impl Software {
    /// What is asked of a product before BLAS or the thesis' kernel may have it.
    #[must_use]
    pub fn criteria(&self) -> Criteria {
        let custom = matches!(self.code.kernel, Kernel::Simple | Kernel::Complex);
        match self.code.kernel {
            Kernel::Openblas => Criteria {
                min_rows: 0,
                min_shared: 0,
                ..Build { blas: true, min_columns: 0 }.criteria(false)
            },
            _ => self.build.criteria(custom),
        }
    }

    /// Who multiplies a weight matrix of `rows` x `columns` of a type with so many vectors; one of experts, which an
    /// index picks, if it is `indexed`.
    #[must_use]
    pub fn path(&self, format: GgmlType, [rows, columns]: [u64; 2], vectors: u64, indexed: bool) -> Path {
        let product = Product {
            shape: Shape { shared: columns, dst0: rows, dst1: vectors },
            format,
            first_contiguous: true,
            second_contiguous: true,
            indexed,
        };
        dispatch(&product, &self.criteria())
    }
}

/// Threads at work on one model: the rates and times that all its graphs share.
#[derive(Debug, Clone, PartialEq)]
pub struct Crew {
    /// Where they are.
    pub placed: Placed,
    /// How fast they read.
    pub rates: Rates,
    /// Where weights are when a graph comes to them that is not the first: the level that holds all of the model's.
    pub weights: Found,
    /// What each thread computes on.
    pub core: Core,
    /// How ggml chooses between the ways to multiply.
    pub software: Software,
    /// How each type of weights is multiplied.
    pub ways: Vec<Ways>,
    /// Time of one core per multiply-accumulate of attention.
    pub attention: Nanoseconds,
    /// Time per input of attention, a query's or a score, to halve its precision: one thread does it for all.
    pub halve: Nanoseconds,
    /// Time of all threads to meet once.
    pub sync_point: Nanoseconds,
    /// What NUMA balancing adds, as a share.
    pub balancing: f64,
}

impl Crew {
    /// Threads placed so, with this code for the products with so many bytes of weights of these types.
    ///
    /// # Errors
    /// [`KernelError`] if there is no such code.
    pub fn new(
        placed: Placed,
        software: Software,
        kinds: &[GgmlType],
        weights: Bytes,
        hierarchy: &Hierarchy<'_>,
        sync: Nanoseconds,
        balancing: f64,
    ) -> Result<Self, KernelError> {
        let (core, asked, factor) = (hierarchy.core, software.code, software.compiler_factor);
        // Nobody asks for a kernel that has nothing to do.
        if asked.kernel != Kernel::Openblas {
            asked.check()?;
        }
        let ways = kinds.iter().map(|it| Ways::of(*it, core, &software)).collect::<Result<_, _>>()?;
        let scalar = Code { kernel: Kernel::Default, format: GgmlType::F16, ..asked };
        let halve = core.cycle() * (factor * core.cycles(&count_halve(asked.compiler)).total.as_f64());
        let attention = Work::of(&scalar, core, factor)?.block / float(BLOCK as u64);
        let sync_point = sync * (f64::from(placed.threads) * placed.thread_stretch(hierarchy.numa));
        let rates = Rates::of(&placed, hierarchy);
        Ok(Self {
            placed,
            rates,
            core: *core,
            weights: rates.find(weights),
            software,
            ways,
            attention,
            halve: halve / float(BLOCK as u64),
            sync_point,
            balancing,
        })
    }

    /// How weights of a type are multiplied.
    ///
    /// # Panics
    /// If none of the model's is of it.
    fn ways(&self, kind: GgmlType) -> &Ways {
        self.ways.iter().find(|it| it.kind == kind).expect("all types of the file are there")
    }

    fn cores(&self) -> f64 {
        f64::from(self.placed.threads)
    }

    /// Time of one core per block of a matrix of so many rows and blocks, and so many columns: a
    /// tile's, or the mean where some are left over.
    fn block(&self, code: &Code, work: &Work, rows: u64, row_blocks: u64) -> Nanoseconds {
        let (tile_rows, tile_blocks) = code.tile();
        let whole = rows.is_multiple_of(tile_rows as u64) && row_blocks.is_multiple_of(tile_blocks as u64);
        if whole || work.kernel != code.kernel {
            return work.block;
        }
        let tiles = code.tiles(&self.core, rows, row_blocks).expect("checked code has smaller tiles");
        let block = |it: &Code| Work::of(it, &self.core, self.software.compiler_factor).map(|it| it.block);
        let shares = tiles.iter().map(|(it, share)| block(it).expect("checked code") * *share);
        shares.fold(Nanoseconds::ZERO, |sum, it| sum + it)
    }

    /// A weight matrix of `rows` x `columns` of a type times `vectors` vectors: computing and
    /// reading, from memory where nobody has read them yet. ggml's own code meets quantised weights with quantised
    /// inputs.
    ///
    /// # Source
    /// ggml (June 2024), `ggml_compute_forward_mul_mat`: in its first phase the first thread
    /// converts all inputs to what the weights' format is multiplied with, and the others wait.
    #[must_use]
    pub fn product(&self, kind: GgmlType, shape: [u64; 2], vectors: u64, cold: bool) -> GraphCost {
        let multiplied = self.multiply(kind, shape, vectors, cold, false);
        match self.software.path(kind, shape, vectors, false) {
            Path::Blas => multiplied,
            Path::Custom | Path::Default => multiplied.and(self.converted(kind, shape[1], vectors), 1),
        }
    }

    /// One matrix of the experts that so many vectors meet in `layers` layers, each times those that meet it.
    ///
    /// # Source
    /// ggml (June 2024), `ggml_compute_forward_mul_mat_id`: the first thread converts all inputs, of which gate and up
    /// have one for each vector and the matrix after them one for each expert of it; then expert follows expert,
    /// whose rows all threads share, in chunks as of any product, and nobody waits between.
    #[must_use]
    pub fn experts(
        &self,
        model: &Llm,
        (matrix, gemv, kind): (Matrix, Gemv, GgmlType),
        layers: u64,
        vectors: u64,
        cold: bool,
    ) -> ExpertsCost {
        let some = Llm { layers: u32::try_from(layers).unwrap_or(u32::MAX), ..*model };
        let of_each = if layers == 0 || vectors == 0 { [(0, 0); 2] } else { some.ffn_instances(vectors) };
        let (mut cost, mut instances) = (GraphCost::ZERO, 0);
        for (count, met) in of_each {
            cost = cost.and(self.multiply(kind, [gemv.m(), gemv.k()], met, cold, true), count);
            instances += count;
        }
        let after = matches!(matrix, Matrix::Down | Matrix::Fc2);
        let inputs = if after { model.active_ffn_count() } else { 1 };
        let cost = cost.and(self.converted(kind, gemv.k(), inputs * vectors), layers);
        ExpertsCost { cost, instances, visits: model.active_ffn_count() * vectors * layers }
    }

    /// Inputs of so many elements each made what weights of a type are multiplied with: whole blocks.
    fn converted(&self, kind: GgmlType, elements: u64, inputs: u64) -> GraphCost {
        let block = input_type(kind).block_elements().max(BLOCK as u64);
        let made = elements.next_multiple_of(block) * inputs;
        GraphCost { kernel: self.ways(kind).convert * float(made), ..GraphCost::ZERO }
    }

    /// A matrix times vectors that are what it is multiplied with: each thread has whole rows, or whole vectors where
    /// that leaves the busiest less, and of OpenBLAS micro-tiles. OpenBLAS packs weights, or their dequantised copy, no
    /// faster than they are read.
    ///
    /// # Source
    /// ggml (June 2024), `ggml_compute_forward_mul_mat`: of fewer than four chunks for each thread, all get one
    /// slice of the longer side. More than that are taken as threads come to them, which is read as no more even
    /// (chunks of 64 rows of one vector would be up to 12 % less so), unless it was told of NUMA nodes.
    fn multiply(
        &self,
        kind: GgmlType,
        [rows, columns]: [u64; 2],
        vectors: u64,
        cold: bool,
        indexed: bool,
    ) -> GraphCost {
        if vectors == 0 {
            return GraphCost::ZERO;
        }
        let ways = self.ways(kind);
        let work = match self.software.path(kind, [rows, columns], vectors, indexed) {
            Path::Blas => &ways.blas,
            Path::Custom => &ways.custom,
            Path::Default => &ways.default,
        };
        let block = BLOCK as u64;
        let stored = stored_columns(columns, kind);
        let row_blocks = float(stored) / float(block);
        let bytes = Bytes(matrix_bytes(rows, columns, kind));
        let copy = Bytes(rows * stored * work.copied / block);
        let (blas, elements) = (work.kernel == Kernel::Openblas, columns * vectors);
        // What the busiest thread has of what is not shared.
        let busiest = |units: u64| units.div_ceil(self.placed.threads.into());
        let blocks = float(busiest(rows)) * row_blocks;
        let (tall, wide) = (rows.div_ceil(work.rows), vectors.div_ceil(work.columns));
        let tiles = if blas {
            busiest(tall.saturating_mul(wide))
        } else {
            busiest(tall).saturating_mul(wide).min(tall.saturating_mul(busiest(wide)))
        };
        // Whole vectors meet all rows, which takes no less to read than a thread's own.
        let rates = self.rates.where_busiest_has(float(busiest(rows)) * self.cores() / float(rows));
        let block = self.block(&ways.code, work, rows, stored.div_ceil(block));
        let multiply = block * (float(tiles) * float(work.rows) * row_blocks);
        let pack = work.pack * blocks;
        let panel = busiest(wide).saturating_mul(work.columns).min(vectors);
        let packed_inputs = work.pack_input * (float(columns) * float(panel));
        let computed = work.dequantise * blocks + pack + packed_inputs + multiply;
        let panels = if blas {
            self.rates.read_panels(Bytes(4 * elements), rows.div_ceil(MICRO_ROWS))
        } else {
            Nanoseconds::ZERO
        };
        // From graph to graph, a matrix is behind all others; from column to column, behind itself.
        let first = if cold { Found::IN_MEMORY } else { self.weights };
        let [kept, kept_copy] = [bytes, copy].map(|it| rates.find(it));
        let chunk = rates.find_chunks(rows, bytes);
        let again = float(work.kernel.passes(vectors) - 1);
        let chunks = float(work.kernel.passes_of_chunks(vectors));
        // Packing is the read of what it packs.
        let (read, read_copy) = (rates.read(bytes, first), rates.read(copy, kept_copy));
        let (packed, from) = if work.copied == 0 { (read, first) } else { (read_copy, kept_copy) };
        let hidden = if packed > pack { pack } else { Nanoseconds::ZERO };
        let from_memory = from.level == Level::Dram;
        let reads = [
            (first, if work.copied == 0 { read - pack } else { read }, bytes, 1.0),
            (kept, rates.read(bytes, kept) * again, bytes, again),
            (chunk, rates.read(bytes, chunk) * chunks, bytes, chunks),
            (kept_copy, read_copy - pack, copy, 1.0),
        ];
        let sum = |cached: bool| {
            let of = reads.iter().filter(|it| (it.0.level != Level::Dram) == cached);
            of.fold(Nanoseconds::ZERO, |sum, it| sum + it.1)
        };
        let moved =
            |it: &(Found, Nanoseconds, Bytes, f64)| float(it.2.0) * it.3 * rates.share_from_memory(it.0);
        GraphCost {
            kernel: computed + panels,
            packed_in_reading: if from_memory { hidden } else { Nanoseconds::ZERO },
            packed_from_caches: if from_memory { Nanoseconds::ZERO } else { hidden },
            weights: sum(false) + rates.from_memory().time_of(copy) + sum(true),
            cached_weights: sum(true),
            read_bytes: reads.iter().map(moved).sum(),
            written_bytes: float(copy.0),
            ..GraphCost::ZERO
        }
    }

    /// Attention of so many layers: every query head meets every attended cell twice, keys as queries in half
    /// precision, values as scores. Keys and values of new columns are written. Of a head's values each thread has whole
    /// elements, or whole vectors; of keys, cells, which are taken to be many.
    #[must_use]
    pub fn attention(&self, model: &Llm, columns: &Columns, layers: u64) -> GraphCost {
        let cells = columns.attended * float(layers);
        let vectors = u64::from(model.heads) * columns.all;
        let of_a_head = model.q_size() / u64::from(model.heads);
        let busiest = |units: u64| units.div_ceil(self.placed.threads.into());
        let values = (busiest(of_a_head) * vectors).min(of_a_head * busiest(vectors));
        let macs = cells * (float(of_a_head * vectors) / self.cores() + float(values));
        let of_a_cell = Bytes(2 * 2 * model.kv_size());
        let of_all = cells * float(columns.sequences);
        let inputs = float(layers) * float(model.q_size()) + f64::from(model.heads) * cells;
        let new = float(layers) * float(columns.all);
        GraphCost {
            attention: self.attention * macs + self.halve * (inputs * float(columns.all)),
            cache: self.rates.from_memory().time_of(of_a_cell) * (of_all + new),
            read_bytes: float(of_a_cell.0) * of_all,
            written_bytes: float(of_a_cell.0) * new,
            ..GraphCost::ZERO
        }
    }

    /// All threads meet so often.
    #[must_use]
    pub fn meet(&self, times: u64) -> GraphCost {
        GraphCost { synchronisation: self.sync_point * float(times), ..GraphCost::ZERO }
    }

    /// All of these graphs.
    #[must_use]
    pub fn pass(&self, model: &Llm, projections: Projections, graphs: &[Graphs]) -> GraphCost {
        let operators = self.operators(model, projections, graphs);
        operators.into_iter().fold(GraphCost::ZERO, |sum, it| sum.and(it.cost, 1))
    }

    /// All of these graphs, operator by operator; those that only synchronise are one, the last.
    #[must_use]
    pub fn operators(&self, model: &Llm, projections: Projections, graphs: &[Graphs]) -> Vec<GraphOperator> {
        let (layers, file) = (u64::from(model.layers), self.software.file);
        let count: u64 = graphs.iter().map(|it| it.count).sum();
        let mut operators = Vec::with_capacity(16);
        // `of`: vectors of each product, and the layers that have it.
        let mut product =
            |matrix: Matrix, gemv: Gemv, of: &dyn Fn(&Columns) -> [(u64, Range<u32>); 2], meetings: u64| {
                let mut cost = self.meet(meetings * count);
                let (mut macs, mut bytes) = (0.0, 0.0);
                let (rows, width) = (gemv.m(), gemv.k());
                for it in graphs {
                    let of_types =
                        of(&it.columns).into_iter().filter(|it| it.0 > 0).flat_map(|(vectors, of)| {
                            file.types(model, matrix, of)
                                .into_iter()
                                .map(move |(kind, products)| (vectors, kind, products))
                        });
                    for (vectors, kind, products) in of_types {
                        let (once, visits, read) = if is_experts(model, matrix) {
                            let it = self.experts(model, (matrix, gemv, kind), products, vectors, it.cold);
                            (it.cost, it.visits, it.instances)
                        } else {
                            let once = self.product(kind, [rows, width], vectors, it.cold);
                            (GraphCost::ZERO.and(once, products), vectors * products, products)
                        };
                        cost = cost.and(once, it.count);
                        macs += float(it.count) * float(visits) * float(rows * width);
                        bytes += float(it.count) * float(read) * float(matrix_bytes(rows, width, kind));
                    }
                }
                operators.push(GraphOperator { name: matrix.name(), cost, macs, bytes });
            };
        for (matrix, gemv, _) in model.layer_matrices(projections) {
            // After its attention, the last layer goes on with the outputs alone.
            let of = |it: &Columns| {
                if follows_attention(matrix) && it.all > it.outputs {
                    [(it.all, 0..model.layers - 1), (it.outputs, model.layers - 1..model.layers)]
                } else {
                    [(it.all, 0..model.layers), (0, 0..0)]
                }
            };
            product(matrix, gemv, &of, layers * SYNCS_PER_PRODUCT);
        }
        let all = |it: &Columns| [(it.all, 0..1), (0, 0..0)];
        let outputs = |it: &Columns| [(it.outputs, 0..1), (0, 0..0)];
        if model.projects_embedding() {
            let inwards = model.gemv(Matrix::ProjectIn).into_iter();
            inwards.for_each(|it| product(Matrix::ProjectIn, it, &all, SYNCS_PER_PRODUCT));
            let outwards = model.gemv(Matrix::ProjectOut).into_iter();
            outwards.for_each(|it| product(Matrix::ProjectOut, it, &outputs, SYNCS_PER_PRODUCT));
        }
        let head = model.gemv(Matrix::LmHead).into_iter();
        head.for_each(|it| product(Matrix::LmHead, it, &outputs, SYNCS_PER_PRODUCT));
        let mut attention = GraphOperator {
            name: ATTENTION,
            cost: self.meet(2 * layers * SYNCS_PER_PRODUCT * count),
            macs: 0.0,
            bytes: 0.0,
        };
        for Graphs { count, columns, .. } in graphs {
            let cells = float(*count) * columns.attended * float(layers);
            attention.cost = attention.cost.and(self.attention(model, columns, layers), *count);
            attention.macs += 2.0 * cells * float(model.q_size()) * float(columns.all);
            attention.bytes += cells * float(2 * 2 * model.kv_size()) * float(columns.sequences);
        }
        operators.push(attention);
        let graph = Graph::of(model, projections);
        let cost = self.meet(graph.other_syncs() * count);
        operators.push(GraphOperator { name: "rest", cost, macs: 0.0, bytes: 0.0 });
        operators
    }
}

/// Whether an index picks the matrix from those of a layer's experts.
#[must_use]
pub fn is_experts(model: &Llm, matrix: Matrix) -> bool {
    model.experts.is_some() && Matrix::FFN.contains(&matrix)
}

/// One matrix of experts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ExpertsCost {
    /// What it takes, threads' meetings left out.
    pub cost: GraphCost,
    /// Experts that some vector meets.
    pub instances: u64,
    /// Vectors that meet one, of all.
    pub visits: u64,
}

/// Operators of graphs of one kind, all together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GraphOperator {
    /// What it is called.
    pub name: &'static str,
    /// What it takes.
    pub cost: GraphCost,
    /// Multiply-accumulates.
    pub macs: f64,
    /// Bytes of weights, keys and values in memory, read once.
    pub bytes: f64,
}

/// Rows and columns of the projections in and out, which most models do not have, and
/// of the language-model head.
#[must_use]
pub fn outside_layers(model: &Llm) -> [(u64, u64); 3] {
    let (hidden, embedding) = (u64::from(model.hidden_size), u64::from(model.embedding_width()));
    let head = (u64::from(model.vocab_size), embedding);
    if model.projects_embedding() {
        [(hidden, embedding), (embedding, hidden), head]
    } else {
        [(0, 0), (0, 0), head]
    }
}
