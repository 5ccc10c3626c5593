//! What is read from where, and how fast.

use memscape_riscv::cost::memory::Hierarchy;
use memscape_riscv::cost::sgemm::Method;
use memscape_riscv::hardware::MACHINES;
use memscape_riscv::kernels::Kernel;
use memscape_riscv::placement::{Bind, Policy, place};
use memscape_riscv::{GemmStudy, InferenceStudy, KernelStudy};
use memscape_study::{BoundBy, Limited, Study};
use memscape_units::Nanoseconds;
use memscape_workload::{FileType, GgmlType};
use proptest::prelude::*;

use crate::common::{ask, count, study, token_ns, tokens, ttft_s};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn more_memory_is_never_slower(study in study(), more in 1.0..4.0_f64) {
        let mut faster = study;
        faster.memory.data_rate_mt_s = memscape_units::MtPerS::new(3200.0 * more).unwrap();
        prop_assert!(token_ns(faster) <= token_ns(study));
        let mut wider = study;
        wider.memory.channels = count(8);
        prop_assert!(token_ns(wider) <= token_ns(study));
        prop_assert!(ttft_s(wider) <= ttft_s(study));
        let mut roomier = study;
        roomier.cache.slc_bytes_per_node *= 4;
        prop_assert!(ttft_s(roomier) <= ttft_s(study));
    }
}

/// Memory keeps its own time: half the clock, and reading takes as long.
#[test]
fn memory_does_not_follow_the_cores_clock() {
    let fast = InferenceStudy::default();
    let mut slow = fast;
    slow.core.frequency_mhz = memscape_units::Megahertz::new(1000.0).unwrap();
    let (fast, slow) = (ask(fast), ask(slow));
    assert!((slow.weights_ns / fast.weights_ns - 1.0).abs() < 1e-12);
    assert!((slow.kernel_ns / fast.kernel_ns - 2.0).abs() < 1e-9);
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
    slow.data_rate_mt_s = memscape_units::MtPerS::new(40.0).unwrap();
    let slow = Hierarchy { memory: &slow, ..hierarchy };
    assert!(slow.dram(&placed).as_f64() < 0.32, "no more than the controllers deliver");
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
    // What it does not hold passes its ports, too.
    let mut narrow = InferenceStudy { policy: still, ..InferenceStudy::default() };
    narrow.cache.slc_gb_s_per_node = memscape_units::GbPerS::new(2.0).unwrap();
    let passing = ask(narrow);
    assert!((7.4..=8.0).contains(&passing.bandwidth_gb_s), "four ports: {}", passing.bandwidth_gb_s);
    shared.cache.slc_gb_s_per_node = narrow.cache.slc_gb_s_per_node;
    assert!(memory.weights_ns < ask(shared).weights_ns && ask(shared).weights_ns <= passing.weights_ns);
    assert!(ask(shared).headline.token_energy_j < passing.headline.token_energy_j);
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

/// Sixteen columns meet sixteen rows, which each read them again, from where they are.
#[test]
fn a_chunk_of_weights_is_kept_where_it_fits() {
    let memory = |kernel, shape: [u64; 3], l2_bytes| {
        let [m, k, n] = shape.map(tokens);
        let mut it = KernelStudy { kernel, format: GgmlType::F32, m, k, n, ..KernelStudy::default() };
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
            format: FileType::Fp16,
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

/// Of 17 threads on 16 clusters, two share a cache that has no room for what both have of a 4096 x 4096 matrix: these two
/// wait for each other at the ports, while 15 find theirs as 16 do.
#[test]
fn what_one_cluster_has_no_room_for_its_own_threads_read() {
    let prompt = |threads| {
        let policy = Policy::NoBalancing;
        ask(InferenceStudy { policy, threads: count(threads), ..InferenceStudy::default() }).prompt_weights_s
    };
    let [even, odd] = [16, 17].map(prompt);
    assert!(even < odd && odd < 1.1 * even, "{even} {odd}");
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
