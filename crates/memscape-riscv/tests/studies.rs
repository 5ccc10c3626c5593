//! Laws of the cost, and what bad questions are answered.
#![expect(clippy::float_cmp, reason = "the same arithmetic gives the same bits")]

use std::borrow::Borrow;
use std::num::{NonZeroU32, NonZeroU64};

use memscape_dram::Dram;
use memscape_riscv::cost::memory::Hierarchy;
use memscape_riscv::cost::sgemm::Method;
use memscape_riscv::dispatch::Build;
use memscape_riscv::hardware::{Distances, MACHINES, SlcScope, WeightPages};
use memscape_riscv::kernels::Kernel;
use memscape_riscv::mapping::conversation::{Columns, Conversation};
use memscape_riscv::mapping::quant::file_bytes;
use memscape_riscv::placement::{Bind, Nodes, Placed, Policy, place};
use memscape_riscv::{GemmStudy, InferenceAnswer, InferenceStudy, KernelStudy};
use memscape_study::{BoundBy, Limited, Pass, Study};
use memscape_units::Nanoseconds;
use memscape_workload::{Experts, Format, Llm, Matrix, Model};
use proptest::prelude::*;

fn count(value: u32) -> NonZeroU32 {
    NonZeroU32::new(value).unwrap()
}

fn tokens(value: u64) -> NonZeroU64 {
    NonZeroU64::new(value).unwrap()
}

fn ask(study: impl Borrow<InferenceStudy>) -> InferenceAnswer {
    study.borrow().answer().unwrap()
}

fn token_ns(study: impl Borrow<InferenceStudy>) -> f64 {
    ask(study).headline.token_ns
}

fn ttft_s(study: impl Borrow<InferenceStudy>) -> f64 {
    ask(study).headline.ttft_s
}

/// Columns that are said to be sums are.
fn check_sums<S: Study>(study: &S) -> Result<(), TestCaseError> {
    let answer =
        serde_json::to_value(study.answer().map_err(|it| TestCaseError::fail(it.to_string()))?).unwrap();
    let column = |name: &str| answer[name].as_f64().unwrap();
    prop_assert!(!S::SUMS.is_empty());
    for (whole, parts) in S::SUMS {
        let sum: f64 = parts.iter().map(|it| column(it)).sum();
        prop_assert!((sum / column(whole) - 1.0).abs() < 1e-9, "{}: {sum} is not {}", whole, column(whole));
    }
    Ok(())
}

fn error(study: impl Borrow<InferenceStudy>) -> String {
    study.borrow().answer().unwrap_err().to_string()
}

fn policy() -> impl Strategy<Value = Policy> {
    prop::sample::select(Policy::ALL.to_vec())
}

fn kernel() -> impl Strategy<Value = Kernel> {
    prop::sample::select(Kernel::ALL.to_vec())
}

prop_compose! {
    fn study()(
        policy in policy(), kernel in kernel(), threads in 1..65_u32, prompt in 1..200_u64, generated in 1..200_u64,
        model in prop::sample::select(Model::all().filter(|it| it.experts.is_none() && it.parameters() < 20_000_000_000).collect::<Vec<_>>()),
    ) -> InferenceStudy {
        InferenceStudy {
            policy,
            kernel,
            threads: count(threads),
            prompt_tokens: tokens(prompt),
            generated_tokens: tokens(generated),
            model,
            ..InferenceStudy::default()
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn the_whole_is_the_sum_of_its_parts(
        study in study(), method in prop::sample::select(vec![Method::Listing, Method::Openblas, Method::OpenblasGemv]),
        (m, k, n) in (1..5000_u64, 1..5000_u64, 1..300_u64),
    ) {
        check_sums(&study)?;
        let (m, k, n) = (tokens(m), tokens(k), tokens(n));
        if study.kernel != Kernel::Openblas {
            check_sums(&KernelStudy { kernel: study.kernel, m, k, n, ..KernelStudy::default() })?;
        }
        let (policy, threads) = (study.policy, study.threads);
        check_sums(&GemmStudy { m, k, n, method, policy, threads, ..GemmStudy::default() })?;
        let it = ask(study);
        prop_assert!(0.0 < it.mul_mat_share && it.mul_mat_share < 1.0);
    }

    /// Weights are read once per step by llama.cpp's own kernel, and once per column by
    /// the thesis'; each sequence has attention of its own, and all meet together.
    #[test]
    fn a_batch_shares_the_weights_and_the_meetings(study in study(), batch in 2..=16_u32) {
        let one = InferenceStudy { context_cells: Some(tokens(1 << 13)), ..study };
        let (one, all) = (ask(one), ask(InferenceStudy { batch: count(batch), ..one }));
        let same = |a: f64, b: f64| a.to_bits() == b.to_bits();
        let times = |whole: f64, part: f64| (whole / part - f64::from(batch)).abs() < 1e-6;
        prop_assert!(same(all.synchronisation_ns, one.synchronisation_ns));
        prop_assert!(times(all.attention_ns, one.attention_ns));
        match study.kernel {
            Kernel::Default | Kernel::Vector => {
                prop_assert!(same(all.weights_ns, one.weights_ns));
                prop_assert!(times(all.kernel_ns, one.kernel_ns));
            }
            Kernel::Simple | Kernel::Complex => {
                prop_assert!(all.weights_ns >= one.weights_ns, "again from a cache, at no cost if it is the nearest");
                prop_assert!(times(all.kernel_ns, one.kernel_ns));
            }
            Kernel::Openblas => prop_assert!(same(all.weights_ns, one.weights_ns)),
        }
        let (one, all) = (one.headline, all.headline);
        prop_assert!(all.token_ns >= one.token_ns && all.ttft_s >= one.ttft_s);
        prop_assert!(all.tokens_per_s >= one.tokens_per_s * (1.0 - 1e-9));
        prop_assert!(all.prompt_tokens_per_s >= one.prompt_tokens_per_s * (1.0 - 1e-9));
        prop_assert!((all.generation_tokens_per_s * all.token_ns / 1e9 - f64::from(batch)).abs() < 1e-9);
    }

    #[test]
    fn more_memory_is_never_slower(study in study(), more in 1.0..4.0_f64) {
        let mut faster = study;
        faster.memory.data_rate_mt_s = memscape_units::Megahertz::new(3200.0 * more).unwrap();
        prop_assert!(token_ns(faster) <= token_ns(study));
        let mut wider = study;
        wider.memory.channels = count(8);
        prop_assert!(token_ns(wider) <= token_ns(study));
        prop_assert!(ttft_s(wider) <= ttft_s(study));
        let mut roomier = study;
        roomier.cache.slc_bytes_per_node *= 4;
        prop_assert!(ttft_s(roomier) <= ttft_s(study));
    }

    #[test]
    fn farther_is_never_faster(study in study(), remote in 10..=254_u8) {
        let with = |remote| {
            let mut it = study;
            it.numa.distances = Distances::uniform(remote).unwrap();
            ask(it).headline
        };
        prop_assert!(with(remote).token_ns <= with(remote + 1).token_ns);
        prop_assert!(with(remote).ttft_s <= with(remote + 1).ttft_s);
    }

    #[test]
    fn a_longer_context_is_never_faster(study in study(), more in 1..300_u64) {
        let longer = InferenceStudy { prompt_tokens: tokens(study.prompt_tokens.get() + more), context_cells: Some(tokens(1024)), ..study };
        prop_assert!(token_ns(study) <= token_ns(longer));
        prop_assert!(ttft_s(study) <= ttft_s(longer));
    }

    /// Graphs told in closed form are those that one counts: token by token of all sequences, as many
    /// columns as a graph may have, each attending to what its sequence has in use by its end, padded as far as
    /// the cache goes.
    #[test]
    fn a_prompt_is_split_as_llama_cpp_splits_it(
        prompt_tokens in 1..150_u64, batch in 1..12_u64, most in 1..300_u64, padding in 1..40_u64, free in 0..200_u64,
    ) {
        let run = Conversation {
            warm_up_tokens: 0, prompt_tokens, generated_tokens: 2, batch, cells: prompt_tokens * batch + free,
            kv_padding: tokens(padding), ubatch_tokens: tokens(most),
        };
        let (mut graphs, mut columns, mut outputs, mut scores, mut cells) = (0, 0, 0, 0, 0);
        let all = prompt_tokens * batch;
        for first in (0..all).step_by(usize::try_from(most).unwrap()) {
            let last = all.min(first + most);
            let attended = last.div_ceil(batch).next_multiple_of(padding).min(run.cells / batch);
            graphs += 1;
            columns += last - first;
            outputs += last.saturating_sub(first.max(all - batch));
            scores += attended * (last - first);
            cells += attended * batch.min(last - first);
        }
        let sum = |of: &dyn Fn(&Columns) -> f64| -> f64 {
            #[expect(clippy::cast_precision_loss, reason = "small counts")]
            run.prompt().iter().map(|it| it.count as f64 * of(&it.columns)).sum()
        };
        #[expect(clippy::cast_precision_loss, reason = "small counts")]
        for (closed, counted) in [
            (sum(&|_| 1.0), graphs),
            (sum(&|it| it.all as f64), columns),
            (sum(&|it| it.outputs as f64), outputs),
            (sum(&|it| it.attended * it.all as f64), scores),
            (sum(&|it| it.attended * it.sequences as f64), cells),
        ] {
            prop_assert!((closed / counted as f64 - 1.0).abs() < 1e-12, "{closed} is not {counted}");
        }
        prop_assert_eq!(outputs, batch);
        prop_assert!(run.prompt().iter().all(|it| it.columns.outputs <= it.columns.all));
    }

    /// Cycles of a row are cycles of its blocks: twice the rows take twice as long
    /// wherever the matrix stays on the same level.
    #[test]
    fn a_kernel_is_linear_in_its_rows(kernel in kernel(), rows in 1..200_u64) {
        prop_assume!(kernel != Kernel::Openblas);
        let of = |rows| KernelStudy { kernel, m: tokens(rows * 64), k: tokens(16384), ..KernelStudy::default() }.answer().unwrap();
        let (one, two) = (of(rows), of(2 * rows));
        prop_assume!(one.level == two.level);
        prop_assert!((two.time_ns / one.time_ns - 2.0).abs() < 1e-9);
    }
}

#[test]
fn binding_follows_the_threads_and_interleaving_the_pages() {
    let study = InferenceStudy::default();
    let at = |policy, threads, nodes| {
        place(policy, threads, Bind { nodes, cores: None }, &study.numa, &study.cache).unwrap()
    };
    let bound = at(Policy::BindCores, 32, None);
    assert_eq!((bound.mean_distance, bound.data_nodes, bound.in_fullest_cluster), (12.5, 1, 4));
    let with_memory = at(Policy::BindCoresMemory, 32, None);
    assert_eq!(with_memory.memory_nodes, 2, "of four");
    assert_eq!(Placed { memory_nodes: 4, ..with_memory }, bound, "the first touch decides");
    let these = at(Policy::BindCores, 32, Some(Nodes::These(0b1100)));
    assert_eq!((these.mean_distance, these.thread_distance), (12.5, 12.5), "nodes 2 and 3");
    let apart = at(Policy::BindCores, 32, Some(Nodes::These(0b1001)));
    assert_eq!(apart.mean_distance, 20.0, "nodes 0 and 3");
    let listed = |cores: &str| {
        let bind = Bind { nodes: None, cores: Some(cores.parse().unwrap()) };
        place(Policy::BindCores, 16, bind, &study.numa, &study.cache)
    };
    assert_eq!(listed("0-7,16-23").unwrap(), at(Policy::BindCores, 16, Some(Nodes::Count(1))), "Fig. 4.4");
    let apart = "0,4,8,12,16,20,24,28,32,36,40,44,48,52,56,60";
    assert_eq!(listed(apart).unwrap().in_fullest_cluster, 1, "each core has its cluster's cache");
    assert_eq!(listed("2-17").unwrap().in_fullest_cluster, 4, "all but the first and the last are full");
    assert_eq!(listed("0-63").unwrap().in_fullest_cluster, 1, "sixteen threads, each in its own");
    assert_eq!(listed("0-3,4,8,12-23").unwrap().in_fullest_cluster, 4, "where others have one core");
    assert_eq!(listed("0-15").unwrap().thread_distance, 12.5, "eight of node 0, eight of node 1");
    assert_eq!(
        listed("60-75").unwrap_err().to_string(),
        "of the 16 cores of `bind_cores`, 4 are on the 4 nodes of `numa.cores`; list cores of these"
    );
    let anywhere = at(Policy::Base, 32, None);
    assert_eq!((anywhere.mean_distance, anywhere.data_nodes, anywhere.stay), (20.0, 1, false));
    assert!(at(Policy::Base, 1, None).stay && at(Policy::NoBalancing, 64, None).stay);
    let interleaved = at(Policy::Interleave, 32, None);
    assert_eq!(
        (interleaved.mean_distance, interleaved.data_nodes, interleaved.in_fullest_cluster),
        (20.0, 4, 2)
    );
    let one_of_four = at(Policy::BindCores, 1, Some(Nodes::Count(4)));
    assert_eq!(one_of_four.thread_stretch(&study.numa), 1.0, "a thread is where it is");
    let alone = at(Policy::NoBalancing, 1, None);
    assert_eq!((alone.mean_distance, alone.in_fullest_cluster), (10.0, 1), "a thread touches its own node");
    for nodes in [Nodes::Count(4), Nodes::These(0b1100)] {
        assert_eq!(at(Policy::BindCores, 1, Some(nodes)).mean_distance, 10.0, "whatever it is bound to");
    }
    assert_eq!(at(Policy::NoBalancing, 24, None).in_fullest_cluster, 2, "eight of sixteen have two");
}

/// Memory keeps its own time: half the clock, and reading takes as long.
#[test]
fn memory_does_not_follow_the_cores_clock() {
    let fast = InferenceStudy::default();
    let mut slow = fast;
    slow.core.frequency_mhz = memscape_units::Megahertz::new(1000.0).unwrap();
    let (fast, slow) = (ask(fast), ask(slow));
    assert!((slow.weights_ns / fast.weights_ns - 1.0).abs() < 1e-12);
    assert!((slow.kernel_ns / fast.kernel_ns - 2.0).abs() < 1e-12);
}

/// rvv-bench, SG2042: 5 GB/s from memory and 11.6 from the system-level cache, one core.
#[test]
fn one_core_reads_as_measured() {
    let one = InferenceStudy { policy: Policy::NoBalancing, threads: count(1), ..InferenceStudy::default() };
    let InferenceStudy { core, cache, numa, memory, controller, .. } = &one;
    let placed = place(one.policy, 1, Bind::default(), numa, cache).unwrap();
    let hierarchy = Hierarchy { core, cache, numa, memory, controller };
    assert!((hierarchy.dram(&placed).as_f64() - 5.0).abs() < 5e-4, "{}", hierarchy.dram(&placed));
    assert!((hierarchy.slc(&placed).as_f64() - 11.6).abs() < 1e-2, "{}", hierarchy.slc(&placed));
    let mut slow = *memory;
    slow.data_rate_mt_s = memscape_units::Megahertz::new(40.0).unwrap();
    let slow = Hierarchy { memory: &slow, ..hierarchy };
    assert!(slow.dram(&placed).as_f64() < 0.32, "no more than the controllers deliver");
}

/// A build with BLAS hands it prompts of 32 tokens or more, and keeps tokens.
#[test]
fn blas_gets_long_prompts_alone() {
    let build = Build { blas: true, ..Build::default() };
    let at = |dispatch, prompt| {
        ask(InferenceStudy { dispatch, prompt_tokens: tokens(prompt), ..InferenceStudy::default() })
    };
    let (without, with) = (at(Build::default(), 31), at(build, 31));
    assert_eq!((without.headline.ttft_s, without.kernel_ns), (with.headline.ttft_s, with.kernel_ns));
    let (without, with) = (at(Build::default(), 32), at(build, 32));
    assert!(with.prompt_kernel_s != without.prompt_kernel_s);
    assert_eq!(with.kernel_ns, without.kernel_ns);
    // The head has one column, which BLAS does not get.
    let unpacked = 4 * 4096 * 11008;
    assert_eq!(
        with.headline.memory_bytes,
        without.headline.memory_bytes + unpacked,
        "the largest matrix in fp32 that BLAS gets"
    );
    let everywhere =
        |format| ask(InferenceStudy { kernel: Kernel::Openblas, format, ..InferenceStudy::default() });
    let beside = |format| everywhere(format).headline.memory_bytes - file_bytes(&base_model(), format);
    assert_eq!(
        beside(Format::Q4_0),
        beside(Format::FP32) + 4 * 4096 * 32000,
        "single precision needs no copy"
    );
}

/// OpenBLAS packs what is dequantised no faster than the memory gives it back.
#[test]
fn packing_reads_the_copy_back() {
    let floor = |it: f64, gb_s: f64| it / gb_s;
    // One node's controller, at 64 threads; Q4_0 in, fp32 out and back.
    let base = InferenceStudy {
        kernel: Kernel::Openblas,
        threads: count(64),
        policy: Policy::NoBalancing,
        prompt_tokens: tokens(32),
        ..InferenceStudy::default()
    };
    let it = ask(base);
    let weights = 32.0 * (4.0 * 4096.0 * 4096.0 + 3.0 * 4096.0 * 11008.0) + 4096.0 * 32000.0;
    let moved = weights * (18.0 / 32.0 + 4.0 + 4.0);
    assert!(it.headline.ttft_s * 1e9 > floor(moved, it.bandwidth_gb_s), "{}", it.headline.ttft_s);
    assert!(it.headline.token_ns > floor(moved, it.bandwidth_gb_s));
    let energy = it.headline.energy.energy_access_j.unwrap();
    let mut less = base;
    less.core.pack_ns = Nanoseconds::new(100.0).unwrap();
    assert!(
        ask(less).headline.energy.energy_access_j.unwrap() == energy,
        "it is read however long packing takes"
    );
    let product = GemmStudy {
        m: tokens(11008),
        n: tokens(1),
        format: Format::Q4_0,
        threads: count(64),
        ..GemmStudy::default()
    };
    let moved = 11008.0 * 4096.0 * (18.0 / 32.0 + 4.0 + 4.0);
    let time = product.answer().unwrap().time_ns;
    assert!(time > floor(moved, it.bandwidth_gb_s), "{time}");
    // One core packs more slowly than it reads.
    let alone = GemmStudy { threads: count(1), ..product };
    let packed = alone.answer().unwrap().pack_ns / (11008.0 * 4096.0 * alone.core.pack_ns.as_f64());
    assert!((packed - 1.0).abs() < 1e-9);
}

fn base_model() -> Model {
    InferenceStudy::default().model
}

/// A prompt longer than a graph is several, each of which meets, reads the weights and attends to
/// the cells in use by its end.
#[test]
fn a_long_prompt_is_several_graphs() {
    let at = |prompt, ubatch| {
        ask(InferenceStudy {
            prompt_tokens: tokens(prompt),
            ubatch_tokens: tokens(ubatch),
            context_cells: Some(tokens(1 << 16)),
            ..InferenceStudy::default()
        })
    };
    let near = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-9;
    assert_eq!(at(512, 512), at(512, 1 << 20), "one graph is one, whatever it may be");
    let (one, two, whole) = (at(512, 512), at(1024, 512), at(1024, 1024));
    assert!(near(two.prompt_synchronisation_s, 2.0 * one.prompt_synchronisation_s));
    assert!(near(whole.prompt_synchronisation_s, one.prompt_synchronisation_s));
    let cells = |graphs: &[(f64, f64)]| graphs.iter().map(|it| it.0 * it.1).sum::<f64>();
    let per_token = |it: &InferenceAnswer| it.prompt_attention_s;
    // Nearly all of attention is computing: columns by cells.
    let expected = cells(&[(512.0, 512.0), (512.0, 1024.0)]) / cells(&[(1024.0, 1024.0)]);
    assert!((per_token(&two) / per_token(&whole) / expected - 1.0).abs() < 0.01);
    // BLAS dequantises the weights once per graph, and gets no graph of fewer than 32 columns.
    let blas = |prompt| {
        ask(InferenceStudy {
            prompt_tokens: tokens(prompt),
            dispatch: Build { blas: true, ..Build::default() },
            context_cells: Some(tokens(1 << 16)),
            ..InferenceStudy::default()
        })
    };
    let (full, rest) =
        (blas(512 + 31).prompt_kernel_s - blas(512).prompt_kernel_s, at(31, 512).prompt_kernel_s);
    assert!((full / rest - 1.0).abs() < 0.01, "{full} {rest}");
    assert!(blas(1024).prompt_weights_s > 1.9 * blas(512).prompt_weights_s);
    let scores = |cells: u64| 32 * 4 * 512 * cells;
    assert_eq!(
        blas(2048).headline.memory_bytes - scores(2048),
        blas(512).headline.memory_bytes - scores(512),
        "a graph's copy of a matrix is the next one's"
    );
    // Told in closed form.
    let mut long = InferenceStudy {
        prompt_tokens: tokens(1 << 23),
        ubatch_tokens: tokens(1),
        context_cells: Some(tokens(1 << 24)),
        ..InferenceStudy::default()
    };
    long.memory.rows = count(1 << 27);
    assert!(long.answer().is_ok() || error(long).contains("at most 104 are modelled"));
}

/// Tiles that do not fit the registers go to memory and back.
#[test]
fn tiles_beyond_the_registers_spill() {
    let with = |rows, registers| {
        let mut it =
            KernelStudy { tile_rows: count(rows), tile_blocks: count(rows), ..KernelStudy::default() };
        it.core.vector_registers = count(registers);
        it.answer().unwrap().core_cycles_per_block
    };
    assert!(with(2, 32) < with(1, 32));
    assert_eq!(with(2, 32), with(2, 64));
    assert!(with(8, 32) > with(2, 32));
    assert!(with(8, 32) > with(8, 256) && with(8, 256) < with(2, 256));
}

/// All weights come from the level that holds all of them, if the threads that have read them stay.
#[test]
fn weights_that_a_cache_holds_are_read_from_it() {
    let with = |policy, slc: u64, l2: u64| {
        let mut it = InferenceStudy { policy, ..InferenceStudy::default() };
        (it.cache.slc_bytes_per_node, it.cache.l2_bytes) = (slc, l2);
        for bound in it.bounds() {
            let answer = serde_json::to_value(ask(it)).unwrap();
            let value = answer[bound.column].as_f64().unwrap();
            let holds = match bound.limit {
                Limited::AtLeast(least) => value >= least,
                Limited::AtMost(most) => value <= most,
            };
            assert!(holds, "{}: {value}", bound.why);
        }
        ask(it)
    };
    let cache = MACHINES.get("sg2042").cache;
    let (slc, l2) = (cache.slc_bytes_per_node, cache.l2_bytes);
    let still = Policy::Interleave;
    let weights = with(still, slc, l2).weight_bytes;
    let memory = with(still, slc, l2);
    let almost = with(still, weights / 4 - 1, l2);
    assert_eq!(almost.weights_ns, memory.weights_ns, "a level that does not hold all holds none");
    assert_eq!(almost.headline.token_energy_j, memory.headline.token_energy_j);
    let mut shared = InferenceStudy { policy: still, ..InferenceStudy::default() };
    shared.cache.slc_bytes_per_node = weights.div_ceil(4);
    shared.cache.slc_gb_s_per_node = memscape_units::GbPerS::new(1000.0).unwrap();
    assert!(ask(shared).weights_ns < memory.weights_ns, "from the system-level cache");
    assert!(ask(shared).headline.token_energy_j < memory.headline.token_energy_j);
    shared.cache.slc_gb_s_per_node = memscape_units::GbPerS::new(0.001).unwrap();
    let later = ask(shared);
    assert_eq!(later.weights_ns, memory.weights_ns, "what memory delivers sooner");
    assert_eq!(later.headline.token_energy_j, memory.headline.token_energy_j, "comes from there");
    assert_eq!(with(still, slc, weights / 16).weights_ns, 0.0, "sixteen clusters keep up");
    let mut uneven = InferenceStudy { policy: still, threads: count(24), ..InferenceStudy::default() };
    uneven.cache.l2_bytes = weights / 16;
    assert!(ask(uneven).weights_ns > 0.0, "two threads of a cluster have a twelfth");
    uneven.cache.l2_bytes = weights / 12 + 1;
    assert_eq!(ask(uneven).weights_ns, 0.0);
    for it in uneven.operators().unwrap() {
        let parts: f64 = it.parts.iter().map(|it| it.1).sum();
        assert!(it.least_ns <= parts, "{}", it.operator);
    }
    assert!(with(Policy::Base, slc, weights / 16).weights_ns > 0.0, "threads that move leave it behind");
}

/// Rows and blocks that a tile leaves over are multiplied by smaller ones.
#[test]
fn what_fills_no_tile_is_done_in_smaller_ones() {
    let with = |m, k, rows, blocks| {
        let (tile_rows, tile_blocks) = (count(rows), count(blocks));
        let it = KernelStudy { m: tokens(m), k: tokens(k), tile_rows, tile_blocks, ..KernelStudy::default() };
        it.answer().unwrap()
    };
    assert_eq!(with(1, 4096, 2, 2), with(1, 4096, 1, 2), "one row is no two");
    assert_eq!(with(4096, 32, 2, 2), with(4096, 32, 2, 1), "nor one block");
    let near = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-12;
    let instructions = |m, rows| with(m, 4096, rows, 2).instructions;
    assert!(near(5.0 * instructions(5, 2), 4.0 * instructions(4, 2) + instructions(1, 1)));
    let cycles = |k, blocks| with(3, k, 3, blocks).core_cycles_per_block;
    assert!(near(4.0 * cycles(128, 3), 3.0 * cycles(96, 3) + cycles(32, 1)));

    // Most of Llama's matrices have no multiple of three rows.
    let study = InferenceStudy::default();
    let step = |rows| ask(InferenceStudy { tile_rows: count(rows), ..study }).kernel_ns;
    let blocks = |m, k, rows| {
        let (tile_rows, compiler) = (count(rows), study.compiler);
        let it = KernelStudy { m: tokens(m), k: tokens(k), tile_rows, compiler, ..KernelStudy::default() };
        #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
        let blocks = (m * k / 32) as f64;
        blocks * it.answer().unwrap().core_cycles_per_block
    };
    let all = |rows| -> f64 {
        let layer = study.model.layer_gemvs(study.projections).map(|it| (it.1.m(), it.1.k(), 32.0));
        layer.chain([(32_000, 4096, 1.0)]).map(|(m, k, times)| times * blocks(m, k, rows)).sum()
    };
    let grown = (all(3) - all(2)) * study.core.cycle().as_f64() / f64::from(study.threads.get());
    assert!(((step(3) - step(2)) / grown - 1.0).abs() < 1e-6, "{} {grown}", step(3) - step(2));
}

/// What must fit is more than the matrices.
#[test]
fn a_kernel_has_room_for_its_vectors() {
    let it = KernelStudy::default().answer().unwrap();
    assert_eq!(it.memory_bytes, 2 * 2048 * 64 * 18 + 64 * 34 + 4 * 2048);
    let wide = KernelStudy { n: tokens(1_000_000_000), ..KernelStudy::default() };
    let error = wide.answer().unwrap_err().to_string();
    assert!(
        error.starts_with(
            "the operands take 9.43 TiB, but the memory that the threads may use has 128 GiB: 9.305"
        ),
        "{error}"
    );
}

/// Computing is multiplying with weights and with the cache, reading is reading both.
#[test]
fn a_step_is_bound_by_what_takes_longest_in_all() {
    let mut tipped = 0;
    for prompt in (1..=40).map(|it| 100 * it) {
        let study = InferenceStudy {
            threads: count(24),
            prompt_tokens: tokens(prompt),
            context_cells: Some(tokens(1 << 13)),
            ..InferenceStudy::default()
        };
        let operators = study.operators().unwrap();
        let of = |part: &str| -> f64 {
            let parts = operators.iter().filter(|it| it.pass == Pass::Token).flat_map(|it| &it.parts);
            parts.filter(|it| it.0 == part).map(|it| it.1).sum()
        };
        let (compute, read) = (of("kernel") + of("attention"), of("weights") + of("cache"));
        let expected = if compute.max(read) < of("synchronisation") {
            BoundBy::Synchronisation
        } else if compute > read {
            BoundBy::Compute
        } else {
            BoundBy::DramBandwidth
        };
        assert_eq!(ask(study).headline.bound_by, expected, "{prompt}");
        tipped +=
            u32::from(compute > read && of("weights") > of("kernel").max(of("attention") + of("cache")));
    }
    assert!(tipped > 0, "no prompt is bound by two parts together");
}

#[test]
fn scopes_caches_and_mappings_are_options() {
    let base = InferenceStudy { policy: Policy::NoBalancing, threads: count(1), ..InferenceStudy::default() };
    let mut of_node = base;
    of_node.cache.slc_scope = SlcScope::Node;
    assert!(ttft_s(base) < ttft_s(of_node), "25 MB fit 64 MiB, not 16");
    let mut lazy = base;
    lazy.os.weights = WeightPages::Lazy;
    // 512 cells of 32 layers, 4096 wide, keys and values in f16; 32 000 entries of 209 bytes; 10 x 32 scores of 32 heads.
    assert_eq!(ask(base).page_faults, 65_536 + 1_633 + 10);
    assert!(ask(lazy).page_faults > ask(base).page_faults + 50_000);
    let bound_by =
        ask(InferenceStudy { policy: Policy::NoBalancing, ..InferenceStudy::default() }).headline.bound_by;
    assert_eq!(bound_by, BoundBy::DramBandwidth);
}

/// Weights that the system-level cache holds are bound by it.
#[test]
fn a_cache_that_binds_is_no_memory() {
    let mut study = InferenceStudy {
        model: "opt-125m".parse().unwrap(),
        policy: Policy::NoBalancing,
        compiler_factor: 0.01,
        threads: count(16),
        ..InferenceStudy::default()
    };
    study.os.sync_ns = Nanoseconds::ZERO;
    study.cache.l2_bytes = 0;
    assert_eq!(ask(study).headline.bound_by, BoundBy::DramBandwidth);
    study.cache.slc_bytes_per_node = 1 << 30;
    assert_eq!(ask(study).headline.bound_by, BoundBy::CacheBandwidth);
}

/// A burst of two lines moves one for nothing.
#[test]
fn energy_is_that_of_whole_bursts() {
    let of = |burst_length: u32| {
        let mut study = InferenceStudy::default();
        study.memory.burst_length = count(burst_length);
        let it = ask(study).headline.energy;
        [it.energy_activate_j, it.energy_access_j, it.energy_io_j].map(Option::unwrap)
    };
    assert_eq!(of(8), of(4));
    let [opened, access, io] = of(8);
    assert_eq!(of(16), [opened, 2.0 * access, 2.0 * io]);
}

/// The warm-up is one sequence, and over when prompt and reply begin.
#[test]
fn a_warm_up_takes_cells_for_itself() {
    let warm = |warm_up_tokens, batch| InferenceStudy {
        warm_up_tokens,
        batch: count(batch),
        prompt_tokens: tokens(1),
        ..InferenceStudy::default()
    };
    assert!(warm(500, 1).answer().is_ok() && warm(512, 16).answer().is_ok());
    assert_eq!(
        error(warm(513, 1)),
        "the 513 tokens of `warm_up_tokens` do not fit the 512 cells of `context_cells`; use fewer, or raise it"
    );
    assert!(error(warm(2, 17)).contains("of each of 17 sequences do not fit the 512 cells"));
    let taken = |it: InferenceStudy| ask(InferenceStudy { context_cells: None, ..it }).page_faults;
    // 16 sequences of 32 cells, or the warm-up's 512.
    for it in [warm(500, 16), warm(512, 1)] {
        assert_eq!(taken(it), ask(InferenceStudy { context_cells: Some(tokens(512)), ..it }).page_faults);
    }
}

/// A kernel's inputs and results move once where no cache holds them.
#[test]
fn a_kernel_moves_its_vectors() {
    let of = |n| {
        KernelStudy { m: tokens(2), k: tokens(4096), n: tokens(n), ..KernelStudy::default() }
            .answer()
            .unwrap()
    };
    assert_eq!(of(10).memory_cycles, 0.0, "what a cache holds is there when it is needed");
    let many = of(1_000_000);
    // 4096 q8_0 and two results in single precision.
    let bytes = 1e6 * (4096.0 / 32.0 * 34.0 + 2.0 * 4.0);
    let machine = MACHINES.get("sg2042");
    let waiting = many.memory_cycles * 2.0 * 128.0 * 1e6 * machine.core.cycle().as_f64();
    assert!(waiting > bytes / machine.memory.peak_gb_s().as_f64(), "{waiting}");
}

/// Rows and micro-tiles are whole: what there is less of than of threads leaves some idle.
#[test]
fn a_row_is_one_threads() {
    let multiply = |method, m, n, threads| {
        let it =
            GemmStudy { method, m: tokens(m), n: tokens(n), threads: count(threads), ..GemmStudy::default() };
        it.answer().unwrap().multiply_ns
    };
    for (method, m, n) in [(Method::Listing, 1, 256), (Method::Openblas, 16, 4), (Method::OpenblasGemv, 1, 1)]
    {
        assert_eq!(multiply(method, m, n, 64), multiply(method, m, n, 1), "{method:?}");
    }
    assert!(
        (multiply(Method::Listing, 65, 256, 64) / multiply(Method::Listing, 64, 256, 64) - 2.0).abs() < 1e-12
    );
    // 2 by 32 tiles.
    assert_eq!(multiply(Method::Openblas, 32, 128, 64), multiply(Method::Openblas, 16, 4, 1));
}

/// Single precision that has just been made of narrower weights is in the cache that holds it.
#[test]
fn a_dequantised_copy_is_read_from_where_it_was_written() {
    let of = |format, side| {
        let (method, policy) = (Method::OpenblasGemv, Policy::NoBalancing);
        let (m, k, n) = (tokens(side), tokens(side), tokens(1));
        GemmStudy { method, policy, format, m, k, n, threads: count(1), ..GemmStudy::default() }
            .answer()
            .unwrap()
    };
    assert_eq!(of(Format::Q4_0, 512).memory_ns, 0.0, "1 MiB");
    assert!(of(Format::Q4_0, 1024).memory_ns > 0.0, "4 MiB");
    assert!(of(Format::FP32, 512).memory_ns > 0.0, "what was in memory");
}

/// A product moves its inputs and its result too, whoever multiplies.
#[test]
fn a_product_moves_all_operands() {
    let wide = (1, 4096, 1_000_000);
    let shallow = (30_000, 1, 100_000);
    for method in [Method::Listing, Method::Blocked, Method::Openblas, Method::OpenblasGemv] {
        for (m, k, n) in [wide, shallow] {
            let (threads, m, k, n) = (count(64), tokens(m), tokens(k), tokens(n));
            let study = GemmStudy { method, threads, m, k, n, ..GemmStudy::default() };
            let it = study.answer().unwrap();
            #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
            let least = it.memory_bytes as f64 / study.memory.peak_gb_s().as_f64();
            assert!(it.time_ns > least, "{method:?}: {} for {least}", it.time_ns);
        }
    }
    let small = GemmStudy { m: tokens(64), k: tokens(64), n: tokens(64), ..GemmStudy::default() };
    assert_eq!(small.answer().unwrap().memory_ns, 0.0, "what a cache holds is there when it is needed");
}

/// Every thread reads all inputs: what keeps them for it is its own cluster's cache, not all clusters' together.
#[test]
fn inputs_are_read_by_every_thread() {
    let of = |method, threads| {
        let [m, k, n] = [4096, 1024, 1024].map(tokens);
        GemmStudy { method, threads: count(threads), m, k, n, ..GemmStudy::default() }
    };
    let panel = 4.0 * 1024.0 * 1024.0;
    for (method, reads) in [(Method::Listing, 4096.0), (Method::Blocked, 4096.0 / 16.0)] {
        let study = of(method, 64);
        // The system-level cache delivers no more than all its ports.
        let ports = 4.0 * study.cache.slc_gb_s_per_node.as_f64();
        let it = study.answer().unwrap();
        assert!(it.memory_ns > reads * panel / ports, "{method:?}: {}", it.memory_ns);
        let mut large = study;
        large.cache.l2_bytes = 1 << 23;
        assert!(large.answer().unwrap().memory_ns < 0.05 * it.memory_ns, "a cluster that holds them");
    }
}

/// OpenBLAS' micro-kernel is 16 rows by 4 columns: fewer take as long.
#[test]
fn openblas_multiplies_whole_micro_kernels() {
    let multiply = |m, n| {
        let it = GemmStudy { m: tokens(m), n: tokens(n), ..GemmStudy::default() };
        it.answer().unwrap().multiply_ns
    };
    assert_eq!(multiply(1, 1), multiply(16, 4));
    assert_eq!(multiply(17, 4), multiply(32, 4));
    assert!((multiply(17, 4) / multiply(16, 4) - 2.0).abs() < 1e-12);
    // Packed in no time, a model's rows are multiplied by sixteens too.
    let mut everywhere =
        InferenceStudy { kernel: Kernel::Openblas, format: Format::FP32, ..InferenceStudy::default() };
    everywhere.core.pack_ns = Nanoseconds::ZERO;
    let with = |vocab_size| {
        let model = Model::of(Llm { vocab_size, ..*everywhere.model }).unwrap();
        ask(InferenceStudy { model, ..everywhere }).kernel_ns
    };
    assert_eq!(with(32_001), with(32_016));
    assert!(with(32_000) < with(32_001));
}

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
    let large = InferenceStudy { model: large, format: Format::FP16, kernel: Kernel::Default, ..base };
    assert_eq!(
        error(large),
        "the weights and the graphs' buffers take 128.479 GiB and the key-value cache 160 MiB, but the memory that the \
         threads may use has 128 GiB: 650.594 MiB are missing; use a smaller model or format, fewer tokens, \
         `ubatch_tokens` or `context_cells`, or more memory"
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
         raise it"
    );
    assert_eq!(
        error(InferenceStudy { format: Format::FP16, ..base }),
        "the kernel `complex` does not multiply fp16; it is written for q4_0: use `kernel` = \"default\""
    );
    assert_eq!(
        error(InferenceStudy { kernel: Kernel::Openblas, format: Format::INT8, ..base }),
        "llama.cpp has no code here for weights stored as `int8`; there are q4_0, q8_0, fp16 and fp32"
    );
    let experts = Some(Experts { count: 8, active: 2 });
    let mixtral = Model::of(Llm { experts, ..*base.model }).unwrap();
    assert!(error(InferenceStudy { model: mixtral, ..base }).contains("use a model without experts"));
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
    let gemm = GemmStudy { method: Method::Listing, format: Format::Q4_0, ..GemmStudy::default() };
    assert!(gemm.answer().unwrap_err().to_string().contains("multiplies fp32 weights"));
    let gemm = GemmStudy { format: Format::BF16, ..GemmStudy::default() };
    assert!(gemm.answer().unwrap_err().to_string().ends_with("there are q4_0, q8_0, fp16 and fp32"));
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
    for old in ["q5_0", "f16", "f32"] {
        assert!(serde_json::from_value::<Format>(old.into()).is_err());
    }
}

/// What a policy does not bind to is refused under it, rather than left unheard.
#[test]
fn bindings_are_heard_or_refused() {
    let base = InferenceStudy::default();
    let bound = |policy, nodes: Option<&str>, cores: Option<&str>| InferenceStudy {
        policy,
        bind_nodes: nodes.map(|it| serde_json::from_str(it).unwrap()),
        bind_cores: cores.map(|it| serde_json::from_value(it.into()).unwrap()),
        ..base
    };
    for policy in Policy::ALL {
        assert!(error(bound(policy, Some("[1]"), Some("60-70"))).contains("are both given"));
        let (nodes, cores) = (bound(policy, Some("[7]"), None), bound(policy, None, Some("60-70")));
        if policy.binds() {
            assert_eq!(error(nodes), "`bind_nodes` is [7], but the machine has 4 nodes");
            assert!(error(cores).starts_with("of the 11 cores of `bind_cores`, 4 are on the 4 nodes"));
        } else {
            let text = |it| {
                format!(
                    "`{it}` is given, but `policy` does not bind; use \"bind-cores\" or \"bind-cores-memory\", or \
                     leave `{it}` out"
                )
            };
            assert_eq!([error(nodes), error(cores)], ["bind_nodes", "bind_cores"].map(text));
            let product = GemmStudy { policy, bind_cores: "0-7".parse().ok(), ..GemmStudy::default() };
            assert_eq!(product.answer().unwrap_err().to_string(), text("bind_cores"));
        }
    }
    // Who lists cores is not sent to nodes.
    let listed = InferenceStudy { threads: count(9), ..bound(Policy::BindCoresMemory, None, Some("0-7")) };
    assert_eq!(
        error(listed),
        "9 threads do not fit 8 cores on 1 node, one each; use fewer threads, or list more `bind_cores`"
    );
    let listed = InferenceStudy { threads: count(8), model: "llama-3.1-70b".parse().unwrap(), ..listed };
    assert!(
        error(listed).ends_with("`policy` = \"bind-cores\" or `bind_cores` on more nodes, or more memory"),
        "{}",
        error(listed)
    );
}

/// `numa.cores` says which of the cores are whose, for lists of them alone.
#[test]
fn lists_of_cores_are_of_as_many_as_there_are() {
    let of = |cores_per_node, threads, bind_cores: Option<&str>| {
        let mut study = InferenceStudy {
            policy: Policy::BindCores,
            threads: count(threads),
            bind_cores: bind_cores.map(|it| it.parse().unwrap()),
            ..InferenceStudy::default()
        };
        study.numa.cores_per_node = count(cores_per_node);
        study
    };
    for cores in [8, 64] {
        assert_eq!(
            error(of(cores, 64, Some("0-63"))),
            format!(
                "`numa.cores` lists 16 cores of node 0, but `numa.cores_per_node` is {cores}; make them agree, or leave \
                 `bind_cores` out"
            )
        );
        ask(of(cores, 4 * cores, None));
    }
    ask(of(16, 64, Some("0-63")));
    // Lists of nodes that are left out are nobody's.
    let mut two = of(16, 32, Some("0-31"));
    two.numa.nodes = count(2);
    two.numa.distances = serde_json::from_str("20").unwrap();
    ask(two);
}

/// What must fit is the file and all cells of the cache; there are 128 GB.
#[test]
fn memory_is_the_file_and_the_cache() {
    let base = InferenceStudy::default();
    let it = ask(base).headline;
    // Scores of 32 heads in single precision: ten columns by 32 cells of the prompt are most.
    let scores = 4 * 32 * 10 * 32;
    assert_eq!(
        it.memory_bytes,
        base.model.parameters() / 32 * 18 + 2 * base.model.kv_cache_elements(512) + scores
    );
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

/// llama.cpp pads what it attends to up to the end of the cache, not beyond.
#[test]
fn attention_reads_no_cells_that_there_are_not() {
    let base = InferenceStudy {
        // It is one sequence, which may have all cells.
        warm_up_tokens: 0,
        prompt_tokens: tokens(260),
        context_cells: Some(tokens(300)),
        kv_padding: tokens(300),
        ..InferenceStudy::default()
    };
    for batch in [1, 2] {
        let cells = 300 * u64::from(batch);
        let all = InferenceStudy { batch: count(batch), context_cells: Some(tokens(cells)), ..base };
        let beyond = InferenceStudy { kv_padding: tokens(4096), ..all };
        assert_eq!(ask(beyond), ask(all), "all cells of each sequence");
    }
    let more = InferenceStudy { kv_padding: tokens(4096), context_cells: Some(tokens(600)), ..base };
    let ratio = ask(more).attention_ns / ask(base).attention_ns;
    // But for the queries, of which there are as many.
    assert!((ratio / 2.0 - 1.0).abs() < 0.05, "{ratio}");
}

#[test]
fn a_study_begins_as_the_machine_of_its_slot() {
    let plain = serde_json::to_value(MACHINES.get("sg2042")).unwrap();
    let study = serde_json::to_value(InferenceStudy::default()).unwrap();
    for (table, value) in plain.as_object().unwrap() {
        assert_eq!(&study[table], value, "{table}");
    }
}

/// Weights outside of the layers are those that the workload crate knows.
#[test]
fn a_token_reads_every_matrix_once() {
    for model in Model::all().filter(|it| it.experts.is_none()) {
        let study = InferenceStudy { model, ..InferenceStudy::default() };
        let mut matrices: Vec<_> =
            model.layer_gemvs(study.projections).map(|it| (it.1, u64::from(model.layers))).collect();
        matrices.extend(
            [Matrix::ProjectIn, Matrix::ProjectOut, Matrix::LmHead]
                .iter()
                .filter_map(|it| Some((model.gemv(*it).ok()?, 1))),
        );
        let bytes: u64 = matrices.iter().map(|(it, count)| count * it.m() * it.k().div_ceil(32) * 18).sum();
        assert_eq!(ask(study).weight_bytes, bytes, "{model}");
    }
}

/// Packing is the read of what it packs, a dequantised copy or not.
#[test]
fn weights_that_are_packed_are_read_once() {
    let with = |threads, pack_ns| {
        let mut it = InferenceStudy {
            kernel: Kernel::Openblas,
            format: Format::FP32,
            threads: count(threads),
            policy: Policy::NoBalancing,
            ..InferenceStudy::default()
        };
        it.core.pack_ns = Nanoseconds::new(pack_ns).unwrap();
        ask(it)
    };
    assert_eq!(with(1, 13.0).weights_ns, 0.0, "one core packs more slowly than memory delivers");
    let (fast, slow) = (with(64, 1.0), with(64, 13.0));
    assert!(slow.weights_ns > 0.0);
    let sums = [&fast, &slow].map(|it| it.kernel_ns + it.weights_ns);
    assert!((sums[0] / sums[1] - 1.0).abs() < 1e-9, "{sums:?}: bound by memory, packing is for nothing");
}

/// Sixteen columns meet sixteen rows, which each read them again, from where they are.
#[test]
fn a_chunk_of_weights_is_kept_where_it_fits() {
    let memory = |kernel, shape: [u64; 3], l2_bytes| {
        let [m, k, n] = shape.map(tokens);
        let mut it = KernelStudy { kernel, format: Format::FP32, m, k, n, ..KernelStudy::default() };
        (it.matrices, it.cache.l2_bytes) = (count(1), l2_bytes);
        let answer = it.answer().unwrap();
        answer.time_ns * answer.memory_cycles / answer.cycles_per_block
    };
    let of = |k, n, l2_bytes| memory(Kernel::Default, [64, k, n], l2_bytes);
    let (long, l2) = (1 << 20, 1 << 20);
    assert!(of(long, 16, l2) > 5.0 * of(long, 1, l2), "16 rows are 64 MiB");
    assert!(of(long, 16, 1 << 26) < 1.5 * of(long, 1, 1 << 26), "which a cache of as much holds");
    assert!(of(8192, 16, l2) < 1.5 * of(8192, 1, l2), "16 rows are 512 KiB");
    // Four threads of a cluster have four chunks in its cache, and are done with them before balancing moves them.
    let prompt = |policy, l2_bytes| {
        let mut it = InferenceStudy {
            kernel: Kernel::Default,
            format: Format::FP16,
            threads: count(64),
            policy,
            prompt_tokens: tokens(64),
            ..InferenceStudy::default()
        };
        it.cache.l2_bytes = l2_bytes;
        ask(it).prompt_weights_s
    };
    let largest = 4 * 16 * 11008 * 2;
    for policy in [Policy::Base, Policy::Interleave] {
        assert!(prompt(policy, largest) < prompt(policy, largest - 1), "chunks of `down`");
    }
}

/// A block's rows are one thread's, and what has none reads none.
#[test]
fn threads_read_for_rows_of_their_own() {
    let of = |method, [m, k, n]: [u64; 3], threads| {
        let [m, k, n] = [m, k, n].map(tokens);
        let policy = Policy::Interleave;
        let it = GemmStudy { method, m, k, n, threads: count(threads), policy, ..GemmStudy::default() };
        it.answer().unwrap()
    };
    let memory = |method| of(method, [64, 1024, 8192], 64).memory_ns;
    assert!((memory(Method::Blocked) / memory(Method::Listing) - 1.0).abs() < 0.1, "a row for each");
    assert!(of(Method::Blocked, [17 * 64, 1024, 8192], 64).memory_ns > 1.9 * memory(Method::Blocked));
    for method in [Method::OpenblasGemv, Method::Listing, Method::Openblas] {
        let alone = of(method, [1, 1 << 24, 1], 1).time_ns;
        assert_eq!(of(method, [1, 1 << 24, 1], 64).time_ns, alone, "{method:?}");
    }
}

/// A block is sixteen columns wide, whatever a vector holds.
#[test]
fn no_vector_is_wider_than_a_block() {
    let multiply = |n, vlen_bits| {
        let (method, n, lmul) = (Method::Blocked, tokens(n), 8);
        let mut it = GemmStudy { method, m: tokens(1024), k: tokens(1024), n, lmul, ..GemmStudy::default() };
        it.core.vlen_bits = vlen_bits;
        it.answer().unwrap().multiply_ns
    };
    for vlen_bits in [128, 1024] {
        assert!((multiply(128, vlen_bits) / multiply(16, vlen_bits) - 8.0).abs() < 1e-9);
    }
}

/// No cache has what nobody has read.
#[test]
fn the_first_graph_of_a_run_reads_memory() {
    let with = |warm_up_tokens, prompt, slc_bytes_per_node| {
        let mut it = InferenceStudy {
            warm_up_tokens,
            prompt_tokens: tokens(prompt),
            ubatch_tokens: tokens(1),
            ..InferenceStudy::default()
        };
        it.cache.slc_bytes_per_node = slc_bytes_per_node;
        it.cache.slc_gb_s_per_node = memscape_units::GbPerS::new(500.0).unwrap();
        ask(it)
    };
    let (all, none) = (1_000_000_000, 0);
    let memory = with(0, 1, none);
    assert_eq!(with(0, 1, all).prompt_weights_s, memory.prompt_weights_s);
    let warm = with(2, 1, all);
    assert!(warm.prompt_weights_s < 0.5 * memory.prompt_weights_s);
    // Only the first of several, which has no outputs yet.
    let (cold, after) = (with(0, 3, all), with(2, 3, all));
    let more = cold.prompt_weights_s - after.prompt_weights_s;
    assert!((more / (memory.prompt_weights_s - warm.prompt_weights_s) - 1.0).abs() < 0.05, "{more}");
    assert_eq!(cold.headline.token_ns, after.headline.token_ns);
}

/// Distances are those between threads, not between cores that they may run on.
#[test]
fn cores_without_a_thread_are_no_ones_way() {
    let machine = MACHINES.get("sg2042");
    let at = |cores: &str, threads| {
        let bind = Bind { cores: cores.parse().ok(), ..Bind::default() };
        let it = place(Policy::BindCores, threads, bind, &machine.numa, &machine.cache).unwrap();
        (it.mean_distance, it.thread_distance)
    };
    assert_eq!(at("0,8", 2), at("0,8-15,24-31", 2));
    // One core of the first node, as many as needed of the second: 1 thread at 10, 3 at 15.
    assert_eq!(at("0,8-15,24-31", 4).0, 13.75);
}

/// What meets weights, keys or values in half precision is halved by one thread, whatever the others do.
#[test]
fn one_thread_halves_inputs() {
    let with = |format, threads| {
        ask(InferenceStudy {
            kernel: Kernel::Default,
            format,
            threads: count(threads),
            prompt_tokens: tokens(256),
            ..InferenceStudy::default()
        })
    };
    // Kernels are shared by threads, inputs are not: 11008 of `down`, 4096 of six others, and all layers but the last.
    let shared = |format| {
        let [one, all] = [1, 64].map(|threads| with(format, threads).prompt_kernel_s);
        (64.0 * all - one) / 63.0
    };
    let inputs = 256.0 * 31.0 * (6.0 * 4096.0 + 11008.0);
    let each_ns = shared(Format::FP16) * 1e9 / inputs;
    assert!((each_ns / (26.0 / 3.0 / 2.0) - 1.0).abs() < 0.05, "26 instructions, three a cycle: {each_ns}");
    assert!(shared(Format::FP32).abs() < 1e-6);
    // Queries and scores are inputs of attention, in any format.
    let attention = [1, 64].map(|threads| with(Format::FP32, threads).prompt_attention_s);
    assert!(64.0 * attention[1] > 1.2 * attention[0], "{attention:?}");
}
