//! How fast questions are answered on one core: `cargo bench -p memscape-riscv`,
//! "elem/s" is points per second. The floor for `inference` is 200 000, and a census
//! of a 70B model with 4096 generated tokens is to take less than a millisecond.

use std::hint::black_box;
use std::num::NonZeroU64;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use memscape_riscv::census::Census;
use memscape_riscv::kernels::Kernel;
use memscape_riscv::{CensusStudy, InferenceStudy, KernelStudy};
use memscape_study::Study;

fn benches(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("riscv");
    let census = CensusStudy {
        model: "llama-2-70b".parse().expect("a built-in model"),
        generated_tokens: NonZeroU64::new(4096).expect("not zero"),
        ..CensusStudy::default()
    };
    group.bench_function("census of 70B, 4096 tokens", |bencher| {
        bencher.iter(|| Census::of(&census.model, census.projections, black_box(&census.run())));
    });
    group.throughput(Throughput::Elements(1));
    for kernel in [Kernel::Default, Kernel::Complex, Kernel::Openblas] {
        let study = InferenceStudy { kernel, ..InferenceStudy::default() };
        group.bench_function(format!("inference, {}", kernel.name()), |bencher| {
            bencher.iter(|| black_box(&study).answer().expect("an answer"));
        });
    }
    let study = KernelStudy::default();
    group.bench_function("kernel, complex", |bencher| {
        bencher.iter(|| black_box(&study).answer().expect("an answer"));
    });
    group.finish();
}

criterion_group!(all, benches);
criterion_main!(all);
