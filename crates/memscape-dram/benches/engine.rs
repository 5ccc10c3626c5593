//! Commands per second of the timing engine, on one core.
//!
//! `cargo bench -p memscape-dram` prints elements per second; an element is a
//! command. The floor for a PIM stream is 20 million.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use memscape_dram::{
    Address, Command, Engine, Kind, MEMORIES, Pattern, PimTiming, RefreshPolicy, constraints,
    pim_constraints, stream,
};

/// One row of a matrix-vector product: open, then bursts of input registers and
/// MACs, spill, close.
fn pim_row(row: u32) -> Vec<Command> {
    let at = |column| Address { row, column, ..Address::default() };
    let mut commands = vec![Kind::ActAll.at(at(0))];
    for burst in 0..8 {
        commands.extend((0..8).map(|register| Kind::RegWrite.at(at(register))));
        commands.extend((0..8).map(|column| Kind::Mac.at(at(8 * burst + column))));
    }
    commands.push(Kind::Alu.at(at(0)));
    commands.extend([Kind::Spill.at(at(0)), Kind::Spill.at(at(1)), Kind::PreAll.at(at(0))]);
    commands
}

fn benches(criterion: &mut Criterion) {
    let dram = MEMORIES.find("lpddr5x-7500").expect("a built-in device").parameters;
    let rules = pim_constraints(&dram, &PimTiming::NONE);
    let commands: Vec<_> = (0..1_000).flat_map(pim_row).collect();

    let mut group = criterion.benchmark_group("engine");
    group.throughput(Throughput::Elements(commands.len() as u64));
    for (name, policy) in [("pim", RefreshPolicy::Off), ("pim with refresh", RefreshPolicy::all_bank(&dram))]
    {
        group.bench_function(name, |bench| {
            bench.iter(|| {
                let engine = Engine::new(dram.geometry(), &rules).expect("rules of a checked device");
                let mut engine = engine.with_refresh(policy).expect("a positive interval");
                for command in &commands {
                    engine.issue(*command).expect("a legal stream");
                }
                black_box(engine.now())
            });
        });
    }
    group.finish();

    let ddr4 = MEMORIES.find("ddr4-3200").expect("a built-in device").parameters;
    let accesses = 100_000;
    let mut group = criterion.benchmark_group("stream");
    group.throughput(Throughput::Elements(accesses as u64));
    group.bench_function("interleaved reads", |bench| {
        bench.iter(|| {
            let mut engine = Engine::new(ddr4.geometry(), &constraints(&ddr4)).expect("checked rules");
            let reads = Pattern::Interleaved.addresses(&ddr4).take(accesses).map(|it| Kind::Rd.at(it));
            black_box(
                stream::serve(&mut engine, reads, 64, stream::Policy::InOrder, &mut ())
                    .expect("a legal stream"),
            )
        });
    });
    group.finish();
}

criterion_group!(engine, benches);
criterion_main!(engine);
