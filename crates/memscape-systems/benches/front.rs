//! How fast fronts are found: `cargo bench -p memscape-systems --bench front`.
//!
//! `table`: the front of a million rows in three objectives, from table to table: a cloud,
//! of which hardly anything is on the front, and a shell, of which everything is.
//! `space`: a proven front of a quarter of a million designs, none of which is kept; "elem/s"
//! is designs per second.

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use memscape_explore::{Column, Objective, Space, Table, front, front_of};
use memscape_study::random::Key;

const ROWS: u64 = 1_000_000;

fn table(point: impl Fn([f64; 3]) -> [f64; 3]) -> Table {
    let key = Key::new(1);
    let points: Vec<[f64; 3]> =
        (0..ROWS).map(|row| point([0, 1, 2].map(|it| key.fork(it).uniform(row)))).collect();
    let column = |goal: usize| Column::Float(points.iter().map(|it| Some(it[goal])).collect());
    Table::from_columns([("a", column(0)), ("b", column(1)), ("c", column(2))]).expect("three columns")
}

fn on_a_shell([a, b, c]: [f64; 3]) -> [f64; 3] {
    let length = (a * a + b * b + c * c).sqrt();
    [1.0 - a / length, 1.0 - b / length, 1.0 - c / length]
}

fn space() -> Space {
    Space::default()
        .axis("memory.banks_per_channel", [4, 8, 16, 32, 64])
        .axis("pim.registers", 11..=30)
        .axis("split_k", [1, 2, 4, 8])
        .axis("memory.trcd_ns", (0..625).map(|it| 10.0 + f64::from(it) / 50.0))
        .constraint("pim.registers * memory.banks_per_channel <= 1024")
}

fn bench(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("front");
    group.sample_size(10).measurement_time(Duration::from_secs(10));
    let goals = ["a", "b", "c"].map(Objective::minimize);
    for (name, table) in [("table/cloud", table(|it| it)), ("table/shell", table(on_a_shell))] {
        group.throughput(Throughput::Elements(ROWS));
        group.bench_function(name, |it| {
            it.iter(|| black_box(front(&table, &goals, &[]).expect("a front")));
        });
    }
    let study = memscape_systems::study("pim.gemv").expect("a study");
    let goals = ["time_ns", "pim.registers * memory.banks_per_channel"].map(Objective::minimize);
    let size = space().size().expect("a space").and_then(|it| u64::try_from(it).ok()).unwrap_or(0);
    group.throughput(Throughput::Elements(size));
    group.bench_function("space/pim.gemv", |it| {
        it.iter(|| black_box(front_of(study, &[], &space(), &goals, &()).expect("a front")));
    });
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
