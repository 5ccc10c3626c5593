//! What cannot be is refused, with what to change.

use memscape_dram::Dram;
use memscape_riscv::cost::sgemm::Method;
use memscape_riscv::hardware::{Distances, PoolLife};
use memscape_riscv::kernels::Kernel;
use memscape_riscv::placement::{Nodes, Policy};
use memscape_riscv::{CensusStudy, GemmStudy, InferenceStudy, KernelStudy};
use memscape_study::{Headline, Study};
use memscape_units::Nanoseconds;
use memscape_workload::{FileType, GgmlType, Llm, Model};

use crate::common::{ask, count, error, tokens};

/// All studies that read from the memory ask whether there can be such a one.
#[test]
fn a_memory_that_cannot_be_is_refused() {
    let refused = |change: fn(&mut Dram), rule: &str| {
        let mut memory = InferenceStudy::default().memory;
        change(&mut memory);
        let answers = [
            InferenceStudy { memory, ..InferenceStudy::default() }.answer().map(|_| ()),
            GemmStudy { memory, ..GemmStudy::default() }.answer().map(|_| ()),
            KernelStudy { memory, ..KernelStudy::default() }.answer().map(|_| ()),
        ];
        for it in answers {
            let error = it.unwrap_err().to_string();
            assert!(error.contains(rule), "{error}");
        }
    };
    refused(|it| it.trefi_ns = Nanoseconds::new(100.0).unwrap(), "tRPab + tRFCab + tRAS < tREFI");
    refused(|it| it.banks_per_channel = count(1), "banks_per_channel is a multiple of ranks x bank_groups");
    refused(|it| it.trcd_ns = it.tras_ns * 2.0, "tRAS >= tRCD");
}

#[test]
fn bad_questions_say_what_to_change() {
    let base = InferenceStudy::default();
    assert_eq!(
        error(InferenceStudy { policy: Policy::BindCores, threads: count(65), ..base }),
        "65 threads do not fit 64 cores on 4 nodes, one each; use fewer threads"
    );
    assert_eq!(
        error(InferenceStudy {
            policy: Policy::BindCoresMemory,
            bind_nodes: Some(Nodes::Count(2)),
            threads: count(33),
            ..base
        }),
        "33 threads do not fit 32 cores on 2 nodes, one each; use fewer threads, or bind to more nodes"
    );
    assert_eq!(
        error(InferenceStudy { policy: Policy::BindCores, bind_nodes: Some(Nodes::Count(5)), ..base }),
        "`bind_nodes` is 5, but the machine has 4 nodes"
    );
    assert_eq!(
        error(InferenceStudy { policy: Policy::BindCores, bind_nodes: Some(Nodes::These(0b10010)), ..base }),
        "`bind_nodes` is [1, 4], but the machine has 4 nodes"
    );
    assert!(
        error(InferenceStudy { threads: count(1000), ..base })
            .starts_with("1000 threads do not fit 64 cores")
    );
    let large = "llama-2-70b".parse().unwrap();
    let large = InferenceStudy { model: large, format: FileType::Fp16, kernel: Kernel::Default, ..base };
    assert_eq!(
        error(large),
        "the weights and the graphs' buffers take 128.482 GiB and the key-value cache 160 MiB, but the memory that the \
         threads may use has 128 GiB: 653.109 MiB are missing; use a smaller model or format, fewer tokens, \
         `ubatch_tokens` or `context_cells`, or more `memory.rows`, `memory.banks_per_channel` or `memory.channels`"
    );
    let mut more_nodes = base;
    more_nodes.numa.nodes = count(8);
    assert!(error(more_nodes).starts_with("`numa.distances` is for 4 nodes, but `numa.nodes` is 8"));
    assert!(
        error(InferenceStudy { prompt_tokens: tokens(500), ..base }).contains("do not fit the 512 cells")
    );
    assert_eq!(
        error(InferenceStudy { batch: count(16), ..base }),
        "10 prompt tokens and 32 generated ones of each of 16 sequences do not fit the 512 cells of `context_cells`; \
         raise it to 656 at least"
    );
    assert_eq!(
        error(InferenceStudy { format: FileType::Fp16, ..base }),
        "the kernel `complex` does not multiply fp16; it is written for q4_0: use `kernel` = \"default\""
    );
    assert_eq!(
        error(InferenceStudy { format: FileType::Q4KM, ..base }),
        "the kernel `complex` is not written for q4_k, which most of a file of q4_k_m is; use `kernel` = \"default\""
    );
    let mut slow =
        InferenceStudy { prompt_tokens: tokens(1 << 23), context_cells: Some(tokens(1 << 24)), ..base };
    slow.memory.rows = count(1 << 30);
    slow.core.frequency_mhz = memscape_units::Megahertz::new(1.0).unwrap();
    slow.threads = count(1);
    assert!(error(slow).contains("at most 104 are modelled: ask for fewer tokens"), "{}", error(slow));
    let mut broken = base;
    broken.core.move_cycles = -1.0;
    assert_eq!(error(broken), "`core.move_cycles` is -1; it must be from 0 to 100");
    broken.core.move_cycles = f64::NAN;
    assert!(error(broken).starts_with("`core.move_cycles` is NaN"));
    let gemm = GemmStudy { method: Method::Listing, format: GgmlType::Q4_0, ..GemmStudy::default() };
    assert!(gemm.answer().unwrap_err().to_string().contains("multiplies fp32 weights"));
    let gemm = GemmStudy { format: GgmlType::Bf16, ..GemmStudy::default() };
    assert!(
        gemm.answer()
            .unwrap_err()
            .to_string()
            .ends_with("there are q4_0, q4_k, q5_k, q6_k, q8_0, fp16 and fp32")
    );
    for (text, problem) in [
        ("[[10, 20], [20]]", "must be square"),
        ("[[10, 20], [20, 11]]", "the diagonal of a SLIT matrix is 10"),
        ("[[10, 5], [20, 10]]", "remote distances are 10 or more"),
        ("[]", "a distance matrix of 0 nodes"),
        ("9", "remote distances are 10 or more"),
        ("-3", "one number for every remote node"),
    ] {
        let error = serde_json::from_str::<Distances>(text).unwrap_err().to_string();
        assert!(error.contains(problem), "{text}: {error}");
    }
}

/// ggml has no tensor whose rows are no whole blocks.
#[test]
fn rows_are_whole_blocks() {
    let odd = Model::of(Llm { hidden_size: 2047, ..*Model::named("llama-3.2-1b").unwrap() }).unwrap();
    let base = InferenceStudy { model: odd, ..InferenceStudy::default() };
    assert_eq!(
        error(base),
        "`format` is q4_0, whose blocks are 32 weights of one row, but a row of the model's `q` has 2047; no block \
         divides it: give `format` = \"fp16\""
    );
    assert!(ask(InferenceStudy { format: FileType::Fp16, kernel: Kernel::Default, ..base }).weight_bytes > 0);
    let census = CensusStudy { model: odd, ..CensusStudy::default() };
    assert!(census.answer().unwrap_err().to_string().contains("a row of the model's `q` has 2047"));
}

/// Who asks for another format is told at once which there are.
#[test]
fn formats_without_code_are_told_from_those_with_it() {
    let (files, kernels) = (
        "give `format` as one of q4_0, q4_k_s, q4_k_m, q5_k_s, q5_k_m, q6_k, q8_0, fp16, fp32",
        "there are q4_0, q4_k, q5_k, q6_k, q8_0, fp16 and fp32",
    );
    for name in ["q5_0", "f16", "int8", "mx-int8-b32", "stored"] {
        let answers = [
            (
                files,
                serde_json::from_value::<InferenceStudy>(with_format(&InferenceStudy::default(), name)).err(),
            ),
            (files, serde_json::from_value::<CensusStudy>(with_format(&CensusStudy::default(), name)).err()),
            (kernels, serde_json::from_value::<GemmStudy>(with_format(&GemmStudy::default(), name)).err()),
            (
                kernels,
                serde_json::from_value::<KernelStudy>(with_format(&KernelStudy::default(), name)).err(),
            ),
        ];
        for (there_are, it) in answers {
            let text = it.unwrap().to_string();
            assert!(text.ends_with(there_are) && text.contains(name), "{text}");
        }
    }
}

/// A study's defaults, but for the format.
fn with_format(study: &impl serde::Serialize, name: &str) -> serde_json::Value {
    let mut all = serde_json::to_value(study).unwrap();
    all["format"] = name.into();
    all
}

/// What must fit is the file and all cells of the cache; there are 128 GB.
#[test]
fn memory_is_the_file_and_the_cache() {
    let base = InferenceStudy::default();
    let it = ask(base).headline;
    // The head is of Q6_K, norms are in single precision.
    let (head, norms) = (32_000 * 4096, 65 * 4096);
    let file = (base.model.parameters() - head - norms) / 32 * 18 + head / 256 * 210 + 4 * norms;
    // Scores of 32 heads in single precision: ten columns by 32 cells of the prompt are most.
    let scores = 4 * 32 * 10 * 32;
    assert_eq!(it.memory_bytes, file + 2 * base.model.kv_cache_elements(512) + scores);
    assert_eq!(it.memory_limit_bytes, Some(128 << 30));
    let batch = InferenceStudy { batch: count(4), ..base };
    assert_eq!(
        ask(batch).headline.memory_bytes,
        it.memory_bytes + 3 * scores,
        "the cells are those of all sequences, which have their columns in one graph"
    );
    // A graph of 512 columns at the end of 4096 cells: 32 x 4 B x 512 x 4096.
    let long = InferenceStudy { prompt_tokens: tokens(4096), context_cells: Some(tokens(8192)), ..base };
    let none = 2 * (base.model.kv_cache_elements(8192) - base.model.kv_cache_elements(512));
    assert_eq!(ask(long).headline.memory_bytes - it.memory_bytes, none + (1 << 28) - scores);
}

/// What is advised is accepted, and one cell less is not.
#[test]
fn advised_cells_suffice() {
    let base = InferenceStudy::default();
    let with = |batch, warm_up_tokens, cells| InferenceStudy {
        batch: count(batch),
        warm_up_tokens,
        context_cells: Some(tokens(cells)),
        ..base
    };
    for (batch, warm_up, few, advised) in
        [(1, 2, 40, 41), (16, 2, 40, 656), (1, 600, 40, 600), (16, 50, 40, 656)]
    {
        let found = error(with(batch, warm_up, few));
        assert!(found.ends_with(&format!("raise it to {advised} at least")), "{found}");
        assert!(with(batch, warm_up, advised).answer().is_ok(), "{advised}");
        assert!(with(batch, warm_up, advised - 1).answer().is_err(), "{advised}");
    }
}

/// What one core does not depend on is not asked of it.
#[test]
fn distances_are_no_matter_of_one_core() {
    let base = KernelStudy::default();
    let mut nodes = base;
    nodes.numa.nodes = count(8);
    assert!(nodes.answer().is_ok(), "{:?}", nodes.answer());
    let mut far = base;
    far.numa.distances = Distances::uniform(255).unwrap();
    assert_eq!(far.answer().unwrap(), base.answer().unwrap());
}

#[test]
fn a_package_of_nothing_is_refused() {
    let nothing = Some(memscape_units::Watts::new(0.0).unwrap());
    let base = InferenceStudy::default();
    assert_eq!(
        error(InferenceStudy { package_w: nothing, ..base }),
        "`package_w` is 0; it must be from 0.001 to 1000000000"
    );
}

/// A changed processor may take more or less; the same one does not by what runs on it.
#[test]
fn what_is_rated_is_of_the_machine_as_it_is() {
    let base = InferenceStudy::default();
    let watts = |it: &InferenceStudy| {
        let Headline { energy_package_limit_j, total_s, .. } = it.answer().unwrap().headline;
        energy_package_limit_j.map(|it| it / total_s)
    };
    let is = |it: &InferenceStudy, rated: f64| watts(it).is_some_and(|it| (it / rated - 1.0).abs() < 1e-9);
    let mut changed = base;
    changed.core.vlen_bits = 256;
    let mut software = base;
    software.os.pool_life = PoolLife::Run;
    assert!(is(&base, 120.0) && is(&software, 120.0));
    assert_eq!(watts(&changed), None);
    changed.package_w = Some(memscape_units::Watts::new(90.0).unwrap());
    assert!(is(&changed, 90.0));
}

#[test]
fn products_that_the_memory_does_not_hold_name_what_there_could_be_more_of() {
    let mut kernel = KernelStudy::default();
    kernel.memory.rows = count(1);
    let found = kernel.answer().unwrap_err().to_string();
    let advised = "4.01 MiB are missing; use a smaller product or a narrower `format`, or more `memory.rows`, \
                   `memory.banks_per_channel` or `memory.channels`";
    assert!(found.ends_with(advised), "{found}");
}

/// What a description says of a number is what the model is for.
#[test]
fn described_bounds_are_the_true_ones() {
    fn bounds<S: schemars::JsonSchema>(path: &str) -> [f64; 2] {
        let mut generator = schemars::generate::SchemaSettings::default()
            .with(|it| it.inline_subschemas = true)
            .into_generator();
        let schema = serde_json::to_value(generator.root_schema_for::<S>()).unwrap();
        let found = path.split('.').fold(&schema, |it, name| &it["properties"][name]);
        ["minimum", "maximum"].map(|it| found[it].as_f64().unwrap_or(f64::NAN))
    }
    for (path, least, most) in [
        ("core.frequency_mhz", 1.0, 1e5),
        ("core.vlen_bits", 64.0, 1024.0),
        ("core.vector_registers", 8.0, 4096.0),
        ("core.unaligned_load_slots", 1.0, 100.0),
        ("core.fma_latency_cycles", 0.0, 1000.0),
        ("numa.nodes", 1.0, 8.0),
        ("numa.cores_per_node", 1.0, 4096.0),
        ("tile_rows", 1.0, 8.0),
        ("tile_blocks", 1.0, 8.0),
        ("lmul", 1.0, 4.0),
        ("threads", 1.0, 32768.0),
        ("package_w", 0.001, 1e9),
    ] {
        assert_eq!(bounds::<InferenceStudy>(path), [least, most], "{path}");
    }
    assert_eq!(bounds::<KernelStudy>("tile_rows"), [1.0, 8.0]);
    assert_eq!(bounds::<GemmStudy>("lmul"), [1.0, 8.0]);
}
