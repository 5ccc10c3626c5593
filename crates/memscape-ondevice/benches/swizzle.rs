//! The swizzled copy beside a plain one of the same bytes, and the studies.
//!
//! `cargo bench -p memscape-ondevice` prints bytes per second; compare `swizzled`
//! with `plain` of the same run. The floor for bit slices is 60 % of plain.

use std::hint::black_box;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use memscape_ondevice::mapping::layout::{HostOrder, Layout, Placement};
use memscape_ondevice::{InferenceStudy, LayoutStudy, MapText, PrefillStudy, Swizzle};
use memscape_study::{CostEngine, Study};

fn copies(criterion: &mut Criterion) {
    let study = LayoutStudy::default();
    let matrix = study.shape().expect("a matrix of the model");
    let layout = |placement| {
        Layout::new(matrix, study.format.element(), placement, &study.memory, &study.pim, 0).expect("it fits")
    };
    let mut group = criterion.benchmark_group("copy");
    group.throughput(Throughput::Bytes(matrix.weight_bytes(study.format).0)).sample_size(20);
    let columns = layout(Placement::ColumnBursts);
    let phone = study.address_map.map(columns.dims).expect("the phone's map");
    let swizzle = |layout, map: &_, order| Swizzle::new(layout, map, order).expect("whole bytes");
    let plain = swizzle(columns, &phone, HostOrder::ColumnMajor);
    let image: Vec<u8> = (0..plain.image_bytes()).map(|it| it.to_le_bytes()[0]).collect();
    let mut host = vec![0; plain.host_bytes()];
    group.bench_function("plain", |bench| {
        bench.iter(|| host.copy_from_slice(black_box(&image[..plain.host_bytes()])));
    });
    let maps = [
        ("swizzled, bit slices", "column:2 channel:* column:* bank:* rank:* row:*"),
        ("swizzled, channel lowest", "channel:* column:* bank:* rank:* row:*"),
        ("swizzled, banks hashed", "column:2 channel:* column:* bank:* rank:* row:* bank0^row0 bank1^row1"),
        ("swizzled, digits", "column channel bank rank row"),
    ];
    for (name, text) in maps {
        let map = text.parse::<MapText>().and_then(|it| it.map(columns.dims)).expect("a map");
        let copy = swizzle(columns, &map, HostOrder::ColumnMajor);
        assert!(copy.image_bytes() <= image.len(), "{name}");
        group.bench_function(name, |bench| {
            bench.iter(|| copy.copy(black_box(&image), 0..copy.elements(), &mut host));
        });
    }
    let rows = swizzle(layout(Placement::RowBursts), &phone, HostOrder::RowMajor);
    group.bench_function("swizzled, row bursts", |bench| {
        bench.iter(|| rows.copy(black_box(&image), 0..rows.elements(), &mut host));
    });
    group.bench_function("converted", |bench| {
        bench.iter_batched_ref(
            || image.clone(),
            |image| plain.convert(black_box(&host), image),
            BatchSize::LargeInput,
        );
    });
    group.finish();
}

fn studies(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("study");
    let prefill = PrefillStudy::default();
    group.bench_function("prefill", |bench| bench.iter(|| black_box(&prefill).answer()));
    let events = PrefillStudy { engine: CostEngine::Events, ..PrefillStudy::default() };
    group.bench_function("prefill, events", |bench| bench.iter(|| black_box(&events).answer()));
    let inference = InferenceStudy::default();
    group.bench_function("inference", |bench| bench.iter(|| black_box(&inference).answer()));
    let layout = LayoutStudy::default();
    group.bench_function("layout", |bench| bench.iter(|| black_box(&layout).answer()));
    group.finish();
}

criterion_group!(benches, copies, studies);
criterion_main!(benches);
