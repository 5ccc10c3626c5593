//! `cargo bench -p memscape-npu`: the exhaustive searches, and the events of a GEMM.
//!
//! `search`: all tiles of one device and precision; at most 20 ms on one core.
//! `events`: one GEMM of about 4K; a panel of Fig. 8 is 800 of them.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use memscape_npu::{BalanceStudy, DEVICES, GemmStudy, Precision, SearchStudy};
use memscape_study::{CostEngine, Study};

fn benches(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("search");
    for device in DEVICES.all() {
        for precision in [Precision::Int8Int8, Precision::Int8Int32] {
            let study = SearchStudy { device: device.parameters, precision, ..SearchStudy::default() };
            let name = format!("{}/{precision}", device.name);
            group.bench_function(name, |it| it.iter(|| black_box(study).answer()));
        }
    }
    group.bench_function("balance", |it| it.iter(|| black_box(BalanceStudy::default()).answer()));
    group.finish();

    let mut group = criterion.benchmark_group("gemm");
    for (name, engine) in [("closed", CostEngine::Closed), ("events", CostEngine::Events)] {
        let study = GemmStudy { engine, ..GemmStudy::default() };
        group.bench_function(name, |it| it.iter(|| black_box(study).answer()));
    }
    group.finish();
}

criterion_group!(npu, benches);
criterion_main!(npu);
