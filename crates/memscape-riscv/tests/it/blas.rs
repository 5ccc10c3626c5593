//! Products that OpenBLAS multiplies, and what it packs for them.

use memscape_riscv::cost::sgemm::Method;
use memscape_riscv::dispatch::Build;
use memscape_riscv::kernels::Kernel;
use memscape_riscv::mapping::quant::file_bytes;
use memscape_riscv::placement::{Nodes, Policy};
use memscape_riscv::{GemmAnswer, GemmStudy, InferenceStudy, KernelStudy};
use memscape_study::Study;
use memscape_units::Nanoseconds;
use memscape_workload::{FileType, GgmlType, Llm, Model};

use crate::common::{ask, base_model, count, tokens};

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
        beside(FileType::Q4_0),
        beside(FileType::Fp32) + 4 * 4096 * 32000,
        "single precision needs no copy"
    );
}

/// A file without blocks has each weight, also those beyond the last 32.
#[test]
fn files_without_blocks_are_counted_to_the_weight() {
    let odd = Llm { vocab_size: 32001, hidden_size: 4095, ..*base_model() };
    assert!(!odd.parameters().is_multiple_of(32));
    assert_eq!(file_bytes(&odd, FileType::Fp32), 4 * odd.parameters());
    let norms = (2 * u64::from(odd.layers) + 1) * u64::from(odd.hidden_size);
    assert_eq!(file_bytes(&odd, FileType::Fp16), 2 * (odd.parameters() + norms), "norms in single precision");
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
    let weights = 32.0 * (4.0 * 4096.0 * 4096.0 + 3.0 * 4096.0 * 11008.0);
    // The head is Q6_K.
    let moved = weights * (18.0 / 32.0 + 4.0 + 4.0) + 4096.0 * 32000.0 * (210.0 / 256.0 + 4.0 + 4.0);
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
        format: GgmlType::Q4_0,
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

/// Single precision is packed from memory, where it lies, however well a cache would hold it.
#[test]
fn cold_weights_are_packed_from_memory() {
    let of = |k| {
        let shape = GemmStudy { m: tokens(4096), k: tokens(k), n: tokens(36), ..GemmStudy::default() };
        GemmStudy { format: GgmlType::F32, threads: count(64), ..shape }.answer().unwrap().time_ns
    };
    // 64 MiB, as much as four caches hold, and a little more.
    assert!((of(4100) / of(4096) - 4100.0 / 4096.0).abs() < 1e-2, "{} {}", of(4096), of(4100));
}

/// Inputs are packed by all threads, and every cluster reads what the others packed.
#[test]
fn inputs_are_packed_and_read_by_all() {
    let of = |m, n, threads, policy| {
        let shape = GemmStudy { m: tokens(m), k: tokens(4096), n: tokens(n), ..GemmStudy::default() };
        let format = GgmlType::F32;
        GemmStudy { format, threads: count(threads), policy, ..shape }.answer().unwrap()
    };
    let pack = |n, threads| of(16, n, threads, Policy::NoBalancing).pack_inputs_ns;
    let slots = pack(4096, 1) * 2.0 / (4096.0 * 4096.0);
    assert!((slots - 1.0).abs() < 1e-9, "a load beside a store, in a cycle of two gigahertz: {slots}");
    assert!((pack(16, 1) * 256.0 / pack(4096, 1) - 1.0).abs() < 1e-9);
    assert!((pack(4096, 64) * 64.0 / pack(4096, 1) - 1.0).abs() < 1e-9);
    let memory = |policy| of(4096, 512, 64, policy).memory_ns;
    let panels = 15.0 * 4096.0 * 512.0 * 4.0;
    assert!(memory(Policy::NoBalancing) * 25.6 > panels && memory(Policy::Interleave) * 102.4 > panels);
    assert!(memory(Policy::Interleave) < memory(Policy::NoBalancing));
    assert_eq!(of(4096, 512, 1, Policy::NoBalancing).memory_ns, 0.0, "one core packs what it reads");
    // A thread that comes second to a cluster reads nothing less; nor does a column that makes it come.
    let short = |n, threads| of(1, n, threads, Policy::NoBalancing).memory_ns;
    assert!(short(512, 33) > 0.99 * short(512, 32), "{} {}", short(512, 33), short(512, 32));
    // Nor are more rows faster than fewer, which leave threads without a tile.
    let time = |m| of(m, 128, 64, Policy::NoBalancing).time_ns;
    assert!((1..64).all(|m| time(m) <= time(m + 1)), "{} {}", time(16), time(17));
    assert!(short(129, 64) > 0.99 * short(128, 64), "{} {}", short(129, 64), short(128, 64));
}

/// A line is fetched for each vector that has some of it, and no row of inputs has more of them than it has numbers.
#[test]
fn a_listing_fetches_lines_for_vectors_that_there_are() {
    let fetched = |columns: u32| {
        let (m, k, n) = (tokens(64), tokens(1 << 23), tokens(columns.into()));
        let method = Method::Listing;
        GemmStudy { method, m, k, n, lmul: 1, threads: count(64), ..GemmStudy::default() }
            .answer()
            .unwrap()
            .memory_ns
            / f64::from(columns)
    };
    // Four numbers are one vector, sixteen four, each of which fetches the line.
    assert!((fetched(16) / fetched(4) - 4.0).abs() < 0.5, "{} {}", fetched(16), fetched(4));
}

/// A line of inputs that several vectors need waits for them in the second-level cache, of which each of a cluster's
/// threads has a share, as well as in the first.
#[test]
fn lines_for_the_next_vector_wait_in_either_cache() {
    let memory = |k: u64, threads: u32, l1_bytes: u64| {
        let (m, k, n) = (tokens(4096), tokens(k), tokens(256));
        let mut study = GemmStudy {
            method: Method::Listing,
            m,
            k,
            n,
            lmul: 1,
            threads: count(threads),
            ..GemmStudy::default()
        };
        study.cache.l1_bytes = l1_bytes;
        study.answer().unwrap().memory_ns
    };
    // Half of a cluster's megabyte: a first-level cache that had the lines as well would save nothing.
    assert!((memory(8192, 1, 1 << 16) / memory(8192, 1, 1 << 19) - 1.0).abs() < 1e-9);
    // More than that: four vectors fetch each line.
    let (few, many) = (memory(16384, 1, 1 << 16), memory(16385, 1, 1 << 16));
    assert!((many / few - 4.0).abs() < 0.01, "{few} {many}");
    // Of 64 threads, four share one.
    let (few, many) = (memory(4096, 64, 1 << 16), memory(4097, 64, 1 << 16));
    assert!((many / few - 4.0).abs() < 0.01, "{few} {many}");
}

/// Half precision has no blocks that a row could be padded to.
#[test]
fn rows_of_half_precision_are_not_padded() {
    let bytes = |format| {
        let (m, k, n) = (tokens(1000), tokens(33), tokens(1));
        GemmStudy { m, k, n, format, ..GemmStudy::default() }.answer().unwrap().memory_bytes
    };
    let vectors = 4 * (33_000 + 33 + 1000);
    let time = |k| {
        let study = KernelStudy {
            kernel: Kernel::Default,
            format: GgmlType::F16,
            k: tokens(k),
            ..KernelStudy::default()
        };
        study.answer().unwrap().time_ns
    };
    assert!((time(33) / time(32) - 33.0 / 32.0).abs() < 1e-9, "{} {}", time(33), time(32));
    assert_eq!(bytes(GgmlType::F16), 2 * 33_000 + vectors);
    assert_eq!(bytes(GgmlType::Q8_0), 1000 * 2 * 34 + vectors);
}

/// Packing is the read of what it packs, a dequantised copy or not.
#[test]
fn weights_that_are_packed_are_read_once() {
    let with = |threads, pack_ns| {
        let mut it = InferenceStudy {
            kernel: Kernel::Openblas,
            format: FileType::Fp32,
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
    assert_eq!(of(GgmlType::Q4_0, 512).memory_ns, 0.0, "1 MiB");
    assert!(of(GgmlType::Q4_0, 1024).memory_ns > 0.0, "4 MiB");
    assert!(of(GgmlType::F32, 512).memory_ns > 0.0, "what was in memory");
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
    // Packed in no time, a model's rows are multiplied by sixteens too, as many on each of 32 threads.
    let mut everywhere =
        InferenceStudy { kernel: Kernel::Openblas, format: FileType::Fp32, ..InferenceStudy::default() };
    everywhere.core.pack_ns = Nanoseconds::ZERO;
    let with = |vocab_size| {
        let model = Model::of(Llm { vocab_size, ..*everywhere.model }).unwrap();
        ask(InferenceStudy { model, ..everywhere }).kernel_ns
    };
    assert_eq!(everywhere.threads, count(32));
    assert_eq!(with(16 * 32 * 62 + 1), with(16 * 32 * 63));
    assert!(with(16 * 32 * 63) < with(16 * 32 * 63 + 1));
}

/// SGEMV makes one column at a time, without padding it to a micro-kernel's four, from weights that are
/// read for each of them.
#[test]
fn a_gemv_takes_each_column_by_itself() {
    let of = |method, n| {
        let shape = GemmStudy { m: tokens(16384), k: tokens(4096), n: tokens(n), ..GemmStudy::default() };
        GemmStudy { method, format: GgmlType::F32, threads: count(64), ..shape }.answer().unwrap()
    };
    let [one, five] = [1, 5].map(|n| of(Method::OpenblasGemv, n));
    assert!((five.multiply_ns / one.multiply_ns - 5.0).abs() < 1e-9);
    let time = |it: &GemmAnswer| it.multiply_ns + it.memory_ns;
    assert!((time(&five) / time(&one) - 5.0).abs() < 0.05, "{} of {}", time(&five), time(&one));
    assert!(one.multiply_ns < of(Method::Openblas, 1).multiply_ns, "it multiplies by no padding");
}

/// Threads without rows leave the others where all of them are: as few nodes as hold them, whether said or not.
#[test]
fn threads_without_rows_move_no_others() {
    let of = |method, policy, bind_nodes| {
        let shape = GemmStudy { m: tokens(8), k: tokens(8192), n: tokens(64), ..GemmStudy::default() };
        GemmStudy { method, policy, bind_nodes, format: GgmlType::F32, threads: count(64), ..shape }
            .answer()
            .unwrap()
    };
    for method in [Method::Listing, Method::Blocked, Method::Openblas, Method::OpenblasGemv] {
        let open = of(method, Policy::BindCores, None);
        assert_eq!(open, of(method, Policy::BindCores, Some(Nodes::Count(4))), "{method:?}");
        assert_eq!(open, of(method, Policy::NoBalancing, None), "{method:?}");
    }
}

/// A thread that has two rows waits for them as long beside others as alone, at the least; a thread more for the rows
/// that are too many helps it no more.
#[test]
fn the_busiest_thread_reads_all_of_its_rows() {
    let of = |method, m, threads| {
        let shape = GemmStudy { m: tokens(m), k: tokens(4096), n: tokens(2048), ..GemmStudy::default() };
        let it = GemmStudy { method, policy: Policy::Interleave, format: GgmlType::F32, ..shape };
        GemmStudy { threads: count(threads), ..it }.answer().unwrap()
    };
    for method in [Method::Listing, Method::OpenblasGemv] {
        let alone = of(method, 2, 1);
        for (m, threads) in [(5, 3), (5, 4), (7, 4), (127, 64)] {
            let beside = of(method, m, threads);
            assert_eq!(beside.multiply_ns, alone.multiply_ns);
            assert!(beside.memory_ns > alone.memory_ns, "{method:?}, {m} rows: {beside:?} {alone:?}");
        }
        assert!(of(method, 8, 4).memory_ns > of(method, 7, 4).memory_ns);
    }
}

/// Rows are dequantised and packed by those that have rows, however many columns there are. More rows and columns take
/// no less, but for a thousandth: they bring threads, which read together what others have packed.
#[test]
fn rows_of_weights_are_read_by_those_that_have_some() {
    let base = GemmStudy {
        method: Method::Openblas,
        policy: Policy::Interleave,
        k: tokens(1555),
        threads: count(64),
        ..GemmStudy::default()
    };
    for format in [GgmlType::F32, GgmlType::Q4_0] {
        let of = |m, n| GemmStudy { format, m: tokens(m), n: tokens(n), ..base }.answer().unwrap();
        let one = of(1, 1);
        assert!((1..300).all(|n| of(1, n).dequantise_ns == one.dequantise_ns), "{format:?}");
        for other in [1, 8, 33, 128] {
            let rises = |times: Vec<f64>| times.windows(2).all(|it| it[0] <= it[1] * 1.001);
            let rows = (1..300).map(|m| of(m, other).time_ns).collect();
            let columns = (1..300).map(|n| of(other, n).time_ns).collect();
            assert!(rises(rows), "{format:?}, rows of {other}");
            assert!(rises(columns), "{format:?}, columns of {other}");
        }
    }
}
