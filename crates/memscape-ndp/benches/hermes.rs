//! Speed of the partition, of the walk and of expected values.
//!
//! `cargo bench -p memscape-ndp`. Floors: the 40 x 64 groups instance in a second
//! and Llama-2-70B's neurons in two, on one core; the walk over Llama-2-70B in four
//! seconds on two cores; 4,000 closed points per second on one core.

use std::hint::black_box;
use std::num::NonZeroU32;
use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use memscape_ndp::InferenceStudy;
use memscape_ndp::activity::npz::Npz;
use memscape_ndp::partition::{Block, Devices, Sizes, solve};
use memscape_study::{CostEngine, Study};
use memscape_units::Nanoseconds;

const INSTANCE: &[u8] = include_bytes!("../../../data/partition/placement.npz");

fn on_one_core() -> rayon::ThreadPool {
    rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread")
}

#[expect(clippy::cast_possible_truncation, reason = "shares")]
fn partition(criterion: &mut Criterion) {
    let mut file = Npz::open(INSTANCE).expect("a built-in file");
    let mut read = |name: &str| file.array(name).expect("there").floats(name).expect("numbers");
    let (size, frequency, bandwidth, capacity) = (read("size"), read("freq"), read("bw"), read("cap"));
    let frequency: Vec<f32> = frequency.iter().map(|it| *it as f32).collect();
    let block = |(size, frequency)| Block {
        bytes: Sizes::Each(size),
        frequency,
        multiplied: None,
        gpu_fixed: Nanoseconds::ZERO,
    };
    let blocks: Vec<Block> = size.chunks(64).zip(frequency.chunks(64)).map(block).collect();
    let devices = Devices {
        gpu_bandwidth: bandwidth[0],
        gpu_multiplies: f64::INFINITY,
        gpu_capacity: capacity[0],
        dimm_bandwidth: bandwidth[1..].to_vec(),
        dimm_multiplies: f64::INFINITY,
        dimm_capacity: capacity[1..].to_vec(),
    };
    let pool = on_one_core();
    let mut group = criterion.benchmark_group("partition");
    group.bench_function("40 x 64 groups, one core", |bench| {
        bench.iter(|| pool.install(|| black_box(solve(&blocks, &devices).expect("it fits"))));
    });

    // Llama-2-70B: two blocks per layer, activity by the law.
    let study = InferenceStudy::default();
    let work = study.work().expect("the default");
    let source = work.source().expect("the law");
    let shape = work.shape;
    let kinds = memscape_ndp::activity::BlockKind::ALL;
    let order = (0..shape.layers).flat_map(|layer| kinds.map(|block| (layer, block)));
    let rows: Vec<_> = order.map(|(layer, block)| (block, source.frequency(block, layer))).collect();
    let blocks: Vec<Block> = rows
        .iter()
        .map(|(block, frequency)| Block {
            bytes: Sizes::Equal(2.0 * shape.neuron_weights(*block)),
            frequency,
            multiplied: None,
            gpu_fixed: Nanoseconds::new(15e3).expect("a time"),
        })
        .collect();
    let devices = Devices {
        gpu_bandwidth: 796e9,
        gpu_multiplies: f64::INFINITY,
        gpu_capacity: 9e9,
        dimm_bandwidth: vec![51.2e9; 8],
        dimm_multiplies: f64::INFINITY,
        dimm_capacity: vec![32e9; 8],
    };
    group.sample_size(10).measurement_time(Duration::from_secs(20));
    group.bench_function("Llama-2-70B, 2.9 million neurons, one core", |bench| {
        bench.iter(|| pool.install(|| black_box(solve(&blocks, &devices).expect("it fits"))));
    });
    group.finish();
}

fn walk(criterion: &mut Criterion) {
    let study = InferenceStudy { engine: CostEngine::Events, ..InferenceStudy::default() };
    let mut group = criterion.benchmark_group("walk");
    group.sample_size(10).measurement_time(Duration::from_secs(40));
    group.bench_function("Llama-2-70B, 128 tokens, 8 DIMMs", |bench| {
        bench.iter(|| black_box(study.answer().expect("it fits")));
    });
    group.finish();
}

/// A sweep over hardware: DIMMs, links, PCIe and memory sizes.
fn closed(criterion: &mut Criterion) {
    let base = InferenceStudy::default();
    let number = |it: u32| NonZeroU32::new(it).expect("not zero");
    let points: Vec<InferenceStudy> = (0..1000_u32)
        .map(|it| {
            let mut study = base.clone();
            study.dimms = number(6 + it % 11);
            study.dimm.multipliers = number(32 + 8 * (it % 61));
            study.gpu.memory_gb = f64::from(20 + it % 29).try_into().expect("a capacity");
            study
        })
        .collect();
    let pool = on_one_core();
    let mut group = criterion.benchmark_group("closed");
    group.throughput(Throughput::Elements(points.len() as u64));
    group.bench_function("points, one core", |bench| {
        bench.iter(|| {
            pool.install(|| {
                points.iter().map(|it| it.answer().expect("it fits").headline.tokens_per_s).sum::<f64>()
            })
        });
    });
    group.finish();
}

criterion_group!(hermes, partition, walk, closed);
criterion_main!(hermes);
