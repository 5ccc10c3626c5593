//! How many points a sweep answers per second, from the axes to a finished
//! frame: `cargo bench -p memscape-systems`, "elem/s" is points per second.
//!
//! `overhead`: a study as wide as a real one (45 parameters in three groups, 18
//! columns) whose model is almost nothing, so this is the sweep's own cost.
//! `pim.gemv`, `npu.gemm`, `riscv.inference`: real ones, in closed form.
//! `npu.gemm/events`: the sizes of a panel of the NPU paper's Fig. 8, event by event.

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use memscape_explore::{DynStudy, Entry, Sweep};
use memscape_study::{Study, StudyError};
use memscape_units::Nanoseconds;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Defines a struct of many fields with defaults.
macro_rules! parameters {
    ($name:ident { $($field:ident: $type:ty = $default:expr,)* }) => {
        #[derive(Clone, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        struct $name { $($field: $type,)* }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default,)* }
            }
        }
    };
}

fn ns(value: f64) -> Nanoseconds {
    Nanoseconds::new(value).expect("a time")
}

parameters!(Memory {
    channels: u32 = 8,
    ranks: u32 = 1,
    bank_groups: u32 = 4,
    banks_per_channel: u32 = 16,
    rows: u32 = 65_536,
    row_bytes: u32 = 2048,
    column_bytes: u32 = 32,
    bus_bits: u32 = 16,
    burst_length: u32 = 16,
    data_rate_mt_s: f64 = 7500.0,
    tck_ns: Nanoseconds = ns(1.0),
    trcd_ns: Nanoseconds = ns(18.0),
    trp_ns: Nanoseconds = ns(18.0),
    trp_ab_ns: Nanoseconds = ns(21.0),
    tras_ns: Nanoseconds = ns(42.0),
    twr_ns: Nanoseconds = ns(34.0),
    trtp_ns: Nanoseconds = ns(7.5),
    tccd_s_ns: Nanoseconds = ns(2.0),
    tccd_l_ns: Nanoseconds = ns(4.0),
    tfaw_ns: Nanoseconds = ns(20.0),
    twtr_ns: Nanoseconds = ns(12.0),
    trtw_ns: Nanoseconds = ns(18.13),
    trefi_ns: Nanoseconds = ns(3904.0),
    trfc_ns: Nanoseconds = ns(280.0),
});
parameters!(Pim {
    registers: u32 = 16, register_bits: u32 = 256, in_reg: u32 = 8, command_ratio: u32 = 2,
    clock_mhz: f64 = 800.0, cross_lane: bool = false, interleave_bytes: u32 = 256, shift_slots: f64 = 1.0,
    spill_slots: Option<f64> = None, split_k: u32 = 1, order: Order = Order::Column,
});
parameters!(Host {
    bandwidth_gb_s: f64 = 120.0,
    efficiency: f64 = 0.9,
    tops: f64 = 10.0,
    cores: u32 = 8,
    cache_bytes: u64 = 1 << 23,
});
parameters!(Gemv {
    m: u32 = 4096,
    k: u32 = 4096,
    weight_format: Format = Format::Int8,
    scale_block: u32 = 0,
    refresh: bool = false,
    memory: Memory = Memory::default(),
    pim: Pim = Pim::default(),
    host: Host = Host::default(),
});

#[derive(Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Order {
    Row,
    Column,
}

#[derive(Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Format {
    Int4,
    Int8,
}

#[derive(Serialize, JsonSchema)]
struct Answer {
    time_ns: f64,
    speedup: f64,
    roofline: f64,
    mac_ns: f64,
    row_open_ns: f64,
    input_vector_ns: f64,
    turnaround_ns: f64,
    cross_lane_ns: f64,
    spill_ns: f64,
    scale_factor_ns: f64,
    soc_reduction_ns: f64,
    refresh_ns: Option<f64>,
    tile_rows: u32,
    tile_columns: u32,
    commands: u64,
    bytes: u64,
    fits: bool,
    order: Order,
}

impl Study for Gemv {
    const NAME: &'static str = "bench.gemv";
    const SUMMARY: &'static str = "A wide study with a thin model";
    type Answer = Answer;

    fn answer(&self) -> Result<Answer, StudyError> {
        let (memory, pim) = (&self.memory, &self.pim);
        let bytes = u64::from(self.m) * u64::from(self.k);
        let columns = bytes / u64::from(memory.column_bytes * memory.banks_per_channel * memory.channels);
        let mac_ns = f64::from(u32::try_from(columns)?) * memory.tccd_l_ns.as_f64();
        let row_open_ns = mac_ns / 64.0 * (memory.trcd_ns.as_f64() + memory.trp_ab_ns.as_f64());
        let turnaround_ns = mac_ns / f64::from(pim.registers) * memory.trtw_ns.as_f64();
        let time_ns = mac_ns + row_open_ns + turnaround_ns;
        Ok(Answer {
            time_ns,
            speedup: self.host.bandwidth_gb_s / time_ns,
            roofline: f64::from(memory.banks_per_channel) / 2.0,
            mac_ns,
            row_open_ns,
            input_vector_ns: turnaround_ns / 2.0,
            turnaround_ns,
            cross_lane_ns: 1.0,
            spill_ns: 2.0,
            scale_factor_ns: 3.0,
            soc_reduction_ns: f64::from(pim.split_k),
            refresh_ns: self.refresh.then_some(1.0),
            tile_rows: pim.registers,
            tile_columns: pim.in_reg,
            commands: columns,
            bytes,
            fits: bytes < self.host.cache_bytes,
            order: pim.order,
        })
    }
}

static STUDY: Entry<Gemv> = Entry::new();

fn overhead() -> Sweep {
    Sweep::default()
        .axis("weight_format", ["int4", "int8"])
        .axis("m", (1..=50).map(|it| it * 256))
        .axis("pim.registers", 1..=100)
        .axis("memory.trcd_ns", (0..10).map(|it| 10.0 + f64::from(it)))
        .axis("memory.banks_per_channel", (1..=10).map(|it| it * 4))
}

fn gemv() -> Sweep {
    Sweep::default()
        .axis("model", ["opt-1.3b", "opt-6.7b", "opt-13b", "opt-30b", "opt-66b"])
        .axis("gemv", ["qkv", "out", "fc1", "fc2"])
        .axis("split_k", [1, 2, 4, 8])
        .axis("memory.banks_per_channel", [4, 8, 16, 32, 64])
        .axis("pim.registers", 11..=30)
        .axis("memory.trcd_ns", (0..125).map(|it| 10.0 + f64::from(it) / 10.0))
}

fn gemm() -> Sweep {
    Sweep::default()
        .axis("m", (1..=20).map(|it| it * 448))
        .axis("k", (1..=20).map(|it| it * 448))
        .axis("n", (1..=20).map(|it| it * 448))
        .axis("b_layout", ["column-major", "row-major"])
        .axis("k_mt", [112, 224, 336, 448, 560])
        .axis("device.dram.read_gb_s", (1..=13).map(|it| 5 * it))
}

fn panel() -> Sweep {
    let base = [("engine", "events"), ("design", "xdna2-int8-int8")];
    Sweep::of(base.map(|(key, value)| (key.to_owned(), value.into())).into_iter().collect())
        .axis("b_layout", ["column-major", "row-major"])
        .axis("m", (1..=7).map(|it| it * 1152))
        .axis("k", (1..=10).map(|it| it * 864))
        .axis("n", (1..=6).map(|it| it * 1152))
}

fn inference() -> Sweep {
    Sweep::default()
        .axis("threads", 1..=64)
        .axis("policy", ["base", "no-balancing", "bind-cores", "interleave"])
        .axis("kernel", ["default", "vector", "simple", "complex"])
        .axis("memory.data_rate_mt_s", [2400, 3200, 4800, 6400])
        .axis("numa.distance_penalty", (0..50).map(|it| f64::from(it) / 50.0))
}

fn bench(criterion: &mut Criterion) {
    let study = |name| memscape_systems::study(name).expect("a study");
    let studies: [(&str, &dyn DynStudy, Sweep); 5] = [
        ("overhead", &STUDY, overhead()),
        ("pim.gemv", study("pim.gemv"), gemv()),
        ("npu.gemm", study("npu.gemm"), gemm()),
        ("npu.gemm/events", study("npu.gemm"), panel()),
        ("riscv.inference", study("riscv.inference"), inference()),
    ];
    let mut group = criterion.benchmark_group("million_points_to_a_frame");
    group.sample_size(10).measurement_time(Duration::from_secs(10));
    for (name, study, sweep) in studies {
        group.throughput(Throughput::Elements(sweep.points().expect("a sweep")));
        group.bench_function(name, |it| {
            it.iter(|| black_box(study.sweep(&sweep, &()).expect("a table")));
        });
    }
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
